/* Internals of the weight store.
 *
 * A weight either has a name and is set by the caller, or has a recipe and is computed from others. Its bytes are
 * stored in copies, one per layout that is read; nearly always there is one copy. While an executable is bound to a
 * copy (users > 0) its block does not move: setting the weight again writes into it. A copy without users is kept only
 * if it is the last one of a weight that has a value and that value cannot be computed again. Otherwise a recipe for
 * one size of a model would stay after that size is evicted.
 *
 * Weights that only recipes read are stored plain until all those recipes have been computed, and are then dropped:
 * every value is on the device once. */
#ifndef RLX_RUNTIME_WEIGHTS_H
#define RLX_RUNTIME_WEIGHTS_H

#include "device/fill.h"
#include "runtime/session.h"

/* The layout of a copy in memory of the host, plain: a weight larger than the device binds, until its parts are made of
 * it (weights_large.c). */
#define RLX_LAYOUT_IN_HOST UINT32_MAX

typedef struct rlx_weight_copy {
  struct rlx_weight_copy *next;
  uint32_t layout;
  uint32_t users;
  uint64_t bytes;
  rlx_block *block; /* NULL: not allocated yet (a weight to be computed), or */
  void *host;       /* the bytes, in a copy with RLX_LAYOUT_IN_HOST */
} rlx_weight_copy;

/* The bytes of a copy in memory of the host; NULL: it is on the device. A library without GPUs has none. */
#ifdef RLX_NO_GPUS
static inline void *rlx_weight_copy_host(const rlx_weight_copy *c) { return (void)c, NULL; }
#else
static inline void *rlx_weight_copy_host(const rlx_weight_copy *c) { return c->host; }
#endif

typedef struct rlx_weight {
  char *name;        /* of a weight that is set; else NULL */
  rlx_graph *recipe; /* of a weight that is computed; else NULL */
  bool has_type;
  rlx_type type;
  bool has_value; /* its bytes are stored */
  bool dropped;   /* its bytes were used by recipes and then freed */
  uint64_t version;
  rlx_weight_copy *copies;
  RLX_ARRAY(struct rlx_weight *) readers; /* recipes that read it */
  uint32_t n_waiting;                     /* readers that have not seen this version */
  uint64_t hash;                          /* of a recipe */
  struct rlx_weight *next_recipe;         /* next in its bucket */
  RLX_ARRAY(struct rlx_weight *) sources; /* of a recipe, by its params in node order */
  uint64_t *seen;                         /* their versions when it was computed; 0: never */
} rlx_weight;

/* Reads a named weight of this type; `to` has room for its bytes. RLX_NOT_FOUND: the source does not have it. */
typedef struct rlx_weight_source {
  rlx_status (*read)(void *user, const char *name, const rlx_type *type, void *to);
  /* The same for a range of rows of axis 0; RLX_NOT_FOUND: can only be read whole. May be NULL. */
  rlx_status (*read_rows)(void *user, const char *name, const rlx_type *type, size_t first, size_t rows, void *to);
  void *user;
} rlx_weight_source;

/* A reference to a weight, in the layout that a compiled graph reads. */
typedef struct rlx_weight_hold {
  rlx_weight *weight;
  rlx_weight_copy *copy;
} rlx_weight_hold;

/* A run in progress and the weights that it holds. While it is on the store's list, those weights cannot be set. */
typedef struct rlx_weight_reading {
  struct rlx_weight_reading *next;
  const rlx_weight_hold *holds;
  uint32_t n;
} rlx_weight_reading;

struct rlx_weights {
  atomic_uint refs;
  rlx_session *session;
  rlx_mutex lock; /* recursive: progress and cancel functions may query the store */
  RLX_ARRAY(rlx_weight *) all;
  rlx_name_map names;               /* index in `all`, the named weights */
  rlx_weight *recipes[64];          /* the computed weights, by hash */
  atomic_uint_least64_t generation; /* counts changes: if it is equal, nothing has changed */
  uint64_t bytes;
  rlx_weight_source source; /* or none */
  rlx_weight_reading *readings;
};

/* Sets where values that are not stored can be read again, so that sources of computed weights need not be kept. */
void rlx_weights_set_source(rlx_weights *w, rlx_weight_source source);

rlx_weights *rlx_weights_retain(rlx_weights *w);
void rlx_weights_release(rlx_weights *w); /* NULL is fine */

/* Allocates the block of a named weight now, that of a computed weight when it is computed. */
rlx_status rlx_weights_hold(rlx_weights *w, const char *name, const rlx_graph *recipe, const rlx_type *type,
                            uint32_t layout, rlx_weight_hold *out);
/* Whether a named weight already has memory on the device, in any layout. */
bool rlx_weights_has_memory(rlx_weights *w, const char *name);
void rlx_weights_let_go(rlx_weights *w, rlx_weight_hold *h); /* a zeroed one is fine */
/* Between the two calls a run reads r->holds. Setting one of those weights meanwhile, or a source of one, returns
 * RLX_BUSY. */
void rlx_weights_begin_reading(rlx_weights *w, rlx_weight_reading *r);
void rlx_weights_end_reading(rlx_weights *w, rlx_weight_reading *r);
/* Ensures that the weight has its value, computing it if it has a recipe; an error names what is missing. Checks cancel
 * between nodes. *computed: a value was computed. */
rlx_status rlx_weights_ready(rlx_weights *w, const rlx_weight_hold *h, const rlx_watch *watch, bool *computed);
/* Sets a weight that is stored as `type`; the value may have another type that converts to it. */
rlx_status rlx_weights_put(rlx_weights *w, const char *name, const rlx_type *type, const rlx_tensor *value);
/* Reads a weight that has a value into `count` elements of `dtype`. */
rlx_status rlx_weights_read(rlx_weights *w, const char *name, rlx_dtype dtype, void *data, size_t count);

/* Whether all copies of a named weight of this type are in the graph's layout, so that rlx_weights_put_from can write
 * it. */
bool rlx_weights_is_plain(rlx_weights *w, const char *name, const rlx_type *type);
/* The same as rlx_weights_put with bytes of the stored type, which go to the device as they are read. A failure while
 * they are read leaves the weight without a value. */
rlx_status rlx_weights_put_from(rlx_weights *w, const char *name, const rlx_type *type, const rlx_byte_source *source);

/* Sets many weights, the largest first; the items are sorted. watch may be NULL. */
typedef struct rlx_weight_item {
  const char *name;
  rlx_type type;
  size_t bytes;
  size_t at;     /* the reader's index of it */
  bool in_parts; /* the reader's read_part has it */
} rlx_weight_item;
typedef struct rlx_weight_reader {
  rlx_status (*read)(void *user, size_t at, void *to);
  /* Bytes [from, from + bytes) of it. Several threads call it at once. NULL if no item is in_parts. */
  rlx_status (*read_part)(void *user, size_t at, uint64_t from, void *to, size_t bytes);
  void *user;
} rlx_weight_reader;
rlx_status rlx_weights_set_all(rlx_weights *w, rlx_weight_item *items, size_t n, rlx_weight_reader reader,
                               const rlx_watch *watch);

#endif
