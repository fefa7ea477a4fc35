/* A graph compiled for one device and one set of sizes: the optimised graph, the plan, the layouts of its weights, and
 * the steps divided into spans of device steps and of host steps. Immutable once created, except for the upload of
 * constants, so any number of executables share it. Reference-counted.
 *
 * compiled.c has the pipeline and the cache, layouts.c chooses the weight layouts, recipes.c splits the load graph that
 * hoisting made, constants.c uploads the constants to the device. */
#ifndef RLX_RUNTIME_COMPILED_H
#define RLX_RUNTIME_COMPILED_H

#include "device/claims.h"
#include "pass/pass.h"
#include "plan/plan.h"
#include "runtime/session.h"

/* The arguments of a compile: the cache key. */
typedef struct rlx_compile_key {
  rlx_graph *graph;       /* the caller's; a template if it has symbols */
  int64_t *sizes;         /* by symbol */
  char *passes, *without; /* NULL: all, none */
  uint32_t switches;      /* rlx_switch */
} rlx_compile_key;

typedef enum rlx_weight_kind { RLX_WEIGHT_NAMED, RLX_WEIGHT_COMPUTED, RLX_WEIGHT_CONSTANT } rlx_weight_kind;

/* A weight that the steps read: slot i describes plan->weights[i]. */
typedef struct rlx_weight_slot {
  rlx_weight_kind kind;
  rlx_node node;
  rlx_type type;
  uint32_t layout;   /* 0: plain, as in the graph */
  uint64_t bytes;    /* in that layout */
  rlx_graph *recipe; /* of a computed weight: its one output is the value, its params are the sources */
  rlx_bound at;      /* of a constant, set by rlx_compiled_constants */
} rlx_weight_slot;

/* Consecutive steps that all run on the device or all on the host, executed together. */
typedef struct rlx_span {
  bool host;
  size_t first, n;      /* steps of the plan */
  size_t program_first; /* index of the first among the device's steps */
} rlx_span;

struct rlx_compiled {
  atomic_uint refs;
  rlx_compile_key key;
  uint64_t hash;        /* of the key */
  rlx_session *session; /* whose cache holds it; not retained */
  rlx_cached cached;
  uint64_t bytes; /* host memory, plus constants on the device */
  rlx_device *device;
  rlx_optimized *optimized;
  const rlx_graph *graph; /* the optimised graph */
  rlx_claims *claims;
  rlx_plan *plan;
  const rlx_claim **step_claims; /* by step of the plan; NULL for host steps and copies */
  uint32_t *layout;              /* by node; 0 for all but weights */
  uint32_t *uses;                /* by node; 0: unused */
  rlx_weight_slot *slots;
  rlx_span *spans;
  size_t n_spans, n_device_steps;
  double seconds;

  rlx_mutex lock; /* protects the constants */
  rlx_block_pool *blocks;
  RLX_ARRAY(rlx_block *) constants;
  bool constants_made;
};

/* Returns the session's cached result for this key, or compiles the graph. The key is copied; watch may be NULL. */
rlx_status rlx_compiled_get(rlx_session *s, const rlx_compile_key *key, bool no_cache, const rlx_watch *watch,
                            rlx_compiled **out);
rlx_compiled *rlx_compiled_retain(rlx_compiled *c);
void rlx_compiled_release(rlx_compiled *c); /* NULL is fine */

rlx_status rlx_compile_key_copy(const rlx_compile_key *from, rlx_compile_key *to);
void rlx_compile_key_deinit(rlx_compile_key *k);

/* Chooses the layout of each param and constant; *out is an array by node. layouts.c */
rlx_status rlx_layouts_decide(const rlx_device *d, const rlx_graph *g, rlx_claims *claims, uint32_t **out);
/* Extracts the part of a load graph that computes one output, as a graph with the single output "value". recipes.c */
rlx_status rlx_recipe_make(const rlx_graph *load, uint32_t output, rlx_graph **out);
/* Uploads the constants to the device on the first call. constants.c */
rlx_status rlx_compiled_constants(rlx_compiled *c, rlx_block_pool *blocks);
void rlx_compiled_constants_free(rlx_compiled *c);

#endif
