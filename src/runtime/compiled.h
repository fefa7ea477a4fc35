/* A graph compiled for one device and one set of sizes: what the passes made of it, the plan, how its weights lie, and
 * the steps cut into runs of the device's and of the host's. Immutable once made, so any number of executables share it;
 * reference-counted.
 *
 * compiled.c is the pipeline and the cache, layouts.c decides how weights lie, recipes.c takes the graph that hoisting
 * made apart, constants.c puts the constants on the device. */
#ifndef RLX_RUNTIME_COMPILED_H
#define RLX_RUNTIME_COMPILED_H

#include "device/claims.h"
#include "pass/pass.h"
#include "plan/plan.h"
#include "runtime/session.h"

/* What was asked for: the key of the cache. */
typedef struct rlx_compile_key {
  rlx_graph *graph;       /* as given: a template where it has symbols */
  int64_t *sizes;         /* by symbol */
  char *passes, *without; /* NULL: all, none */
  uint32_t switches;      /* rlx_switch */
} rlx_compile_key;

typedef enum rlx_weight_kind { RLX_WEIGHT_NAMED, RLX_WEIGHT_COMPUTED, RLX_WEIGHT_CONSTANT } rlx_weight_kind;

/* A weight that the steps read: plan->weights[i] and slot i are the same. */
typedef struct rlx_weight_slot {
  rlx_weight_kind kind;
  rlx_node node;
  rlx_type type;
  uint32_t layout;   /* 0: as the graph has it */
  uint64_t bytes;    /* in that layout */
  rlx_graph *recipe; /* of a computed one: its one output is the value, its params are what it is computed from */
  rlx_bound at;      /* of a constant, once rlx_compiled_constants ran */
} rlx_weight_slot;

/* Steps that one side runs in one go. */
typedef struct rlx_span {
  bool host;
  size_t first, n;      /* steps of the plan */
  size_t program_first; /* where they are among the device's own steps */
} rlx_span;

struct rlx_compiled {
  atomic_uint refs;
  rlx_compile_key key;
  uint64_t hash;        /* of the key */
  rlx_session *session; /* in whose cache it is, which holds it; not retained */
  rlx_cached cached;
  uint64_t bytes; /* of the host's memory, and of constants on the device */
  rlx_device *device;
  rlx_optimized *optimized;
  const rlx_graph *graph; /* what runs */
  rlx_claims *claims;
  rlx_plan *plan;
  const rlx_claim **step_claims; /* by step of the plan; NULL for the host's and for copies */
  uint32_t *layout;              /* by node; 0 for all but weights */
  uint32_t *uses;                /* by node; 0: nothing needs it */
  rlx_weight_slot *slots;
  rlx_span *spans;
  size_t n_spans, n_device_steps;
  double seconds;

  pthread_mutex_t lock; /* of the constants */
  rlx_block_pool *blocks;
  RLX_ARRAY(rlx_block *) constants;
  bool constants_made;
};

/* Finds the graph among those the session has compiled, or compiles it. The key is copied; watch may be NULL. */
rlx_status rlx_compiled_get(rlx_session *s, const rlx_compile_key *key, bool no_cache, const rlx_watch *watch,
                            rlx_compiled **out);
rlx_compiled *rlx_compiled_retain(rlx_compiled *c);
void rlx_compiled_release(rlx_compiled *c); /* NULL is fine */

rlx_status rlx_compile_key_copy(const rlx_compile_key *from, rlx_compile_key *to);
void rlx_compile_key_deinit(rlx_compile_key *k);

/* Decides how each param and constant lies: an array by node. layouts.c */
rlx_status rlx_layouts_decide(const rlx_device *d, const rlx_graph *g, rlx_claims *claims, uint32_t **out);
/* The part of a load graph that computes output i alone, as a graph of that one output "value". recipes.c */
rlx_status rlx_recipe_make(const rlx_graph *load, uint32_t output, rlx_graph **out);
/* Puts the constants on the device, the first time it is called. constants.c */
rlx_status rlx_compiled_constants(rlx_compiled *c, rlx_block_pool *blocks);
void rlx_compiled_constants_free(rlx_compiled *c);

#endif
