/* The weight store from inside.
 *
 * A weight has a name and is set by the caller, or a recipe and is computed from others. Its bytes lie in copies, one per
 * layout that somebody reads; nearly always that is one copy. While an executable is bound to a copy (users > 0) its block
 * stays where it is: setting the weight again writes into it. A copy that nobody is bound to is only kept where it is the
 * last one of a weight that has a value, and not at all where that can be computed again: a recipe for one size of a model would
 * stay when that size is forgotten.
 *
 * Weights that only recipes read lie plain until all those recipes have been computed, and are dropped then: every value
 * is on the device once. */
#ifndef RLX_RUNTIME_WEIGHTS_H
#define RLX_RUNTIME_WEIGHTS_H

#include "device/arena.h"
#include "runtime/session.h"

typedef struct rlx_weight_copy {
  struct rlx_weight_copy *next;
  uint32_t layout;
  uint32_t users;
  uint64_t bytes;
  rlx_block *block; /* NULL: not yet, of a weight that is to be computed */
} rlx_weight_copy;

typedef struct rlx_weight {
  char *name;        /* of one that is set; else NULL */
  rlx_graph *recipe; /* of one that is computed; else NULL */
  bool has_type;
  rlx_type type;
  bool has_value; /* its bytes are here */
  bool dropped;   /* they were, went into recipes, and are gone */
  uint64_t version;
  rlx_weight_copy *copies;
  RLX_ARRAY(struct rlx_weight *) readers; /* recipes that read it */
  uint32_t n_waiting;                     /* those of them that have not seen this version */
  uint64_t hash;                          /* of a recipe, */
  struct rlx_weight *next_recipe;         /* and the next in its bucket */
  RLX_ARRAY(struct rlx_weight *) sources; /* of a recipe, by its params in node order */
  uint64_t *seen;                         /* their versions when it was computed; 0: never */
} rlx_weight;

/* Fills in a named weight of this type; `to` has room for its bytes. RLX_NOT_FOUND: it does not know it. */
typedef struct rlx_weight_source {
  rlx_status (*read)(void *user, const char *name, const rlx_type *type, void *to);
  /* The same of some rows of axis 0; RLX_NOT_FOUND: only whole. May be NULL. */
  rlx_status (*read_rows)(void *user, const char *name, const rlx_type *type, size_t first, size_t rows, void *to);
  void *user;
} rlx_weight_source;

/* A weight in the layout that a compiled graph reads it in, for as long as it is held. */
typedef struct rlx_weight_hold {
  rlx_weight *weight;
  rlx_weight_copy *copy;
} rlx_weight_hold;

/* A run in progress and what it holds. While it is on the store's list, those weights cannot be set. */
typedef struct rlx_weight_reading {
  struct rlx_weight_reading *next;
  const rlx_weight_hold *holds;
  uint32_t n;
} rlx_weight_reading;

struct rlx_weights {
  atomic_uint refs;
  rlx_session *session;
  pthread_mutex_t lock; /* recursive: progress and cancel functions may look at the store */
  RLX_ARRAY(rlx_weight *) all;
  rlx_name_map names;               /* to `all`, which have one */
  rlx_weight *recipes[64];          /* the others, by hash */
  atomic_uint_least64_t generation; /* counts changes: who has seen this number need not look again */
  uint64_t bytes;
  rlx_weight_source source; /* or none */
  rlx_weight_reading *readings;
};

/* Where values that are not here can be had again, so that who computes others from them need not keep them. */
void rlx_weights_set_source(rlx_weights *w, rlx_weight_source source);

rlx_weights *rlx_weights_retain(rlx_weights *w);
void rlx_weights_release(rlx_weights *w); /* NULL is fine */

/* A named weight gets its block now, one with a recipe when it is computed. */
rlx_status rlx_weights_hold(rlx_weights *w, const char *name, const rlx_graph *recipe, const rlx_type *type,
                            uint32_t layout, rlx_weight_hold *out);
/* Whether a named weight has memory on the device already, in any layout. */
bool rlx_weights_has_memory(rlx_weights *w, const char *name);
void rlx_weights_let_go(rlx_weights *w, rlx_weight_hold *h); /* a zeroed one is fine */
/* Between the two a run reads r->holds; who sets one of those weights meanwhile, or one that they are computed from, gets RLX_BUSY. */
void rlx_weights_begin_reading(rlx_weights *w, rlx_weight_reading *r);
void rlx_weights_end_reading(rlx_weights *w, rlx_weight_reading *r);
/* Sees to it that the weight has its value, computing it where it has a recipe; an error names what is missing. Asks
 * cancel between nodes. *computed: something was. */
rlx_status rlx_weights_ready(rlx_weights *w, const rlx_weight_hold *h, const rlx_watch *watch, bool *computed);
/* Sets a weight that is stored as `type`; the value's own type may be another that converts. */
rlx_status rlx_weights_put(rlx_weights *w, const char *name, const rlx_type *type, const rlx_tensor *value);
/* Reads one that has a value into `count` elements of `dtype`. */
rlx_status rlx_weights_read(rlx_weights *w, const char *name, rlx_dtype dtype, void *data, size_t count);

/* Sets many, the largest first, each read into memory that they pass through; the items are sorted. watch may be NULL. */
typedef struct rlx_weight_item {
  const char *name;
  rlx_type type;
  size_t bytes;
  size_t at; /* the reader's own number of it */
} rlx_weight_item;
typedef struct rlx_weight_reader {
  rlx_status (*read)(void *user, size_t at, void *to);
  void *user;
} rlx_weight_reader;
rlx_status rlx_weights_set_all(rlx_weights *w, rlx_weight_item *items, size_t n, rlx_weight_reader reader,
                               const rlx_watch *watch);

#endif
