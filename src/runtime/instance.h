/* An instance: one executable's memory and program for one set of sizes. It holds the weights and states that its
 * compiled graph reads, and knows for each step the very bytes it reads and writes. Its scratch is shared with instances that never
 * run at the same time: those for other sizes, and those of executables that were given the same scratch.
 *
 * Made in two steps. Creating it takes the memory; binding it, before the first run, needs the blocks of weights that are
 * computed at load, and makes the device's program and the host's calls. After that a run looks nothing up, unless the scratch
 * moved because another instance needed more: then it is bound again. */
#ifndef RLX_RUNTIME_INSTANCE_H
#define RLX_RUNTIME_INSTANCE_H

#include "ref/eval.h"
#include "runtime/compiled.h"
#include "runtime/states.h"
#include "runtime/weights.h"

/* A host step: tensors over the device's memory where the host can see it, over staging memory elsewhere. */
typedef struct rlx_host_value {
  rlx_tensor tensor;
  rlx_bound at;
  uint32_t layout;
  bool staged; /* read before the step, or written after it */
} rlx_host_value;

typedef struct rlx_host_step {
  rlx_host_value *in, *out;
  const rlx_tensor **in_tensors; /* NULL where absent */
  rlx_tensor *out_tensors;
} rlx_host_step;

typedef struct rlx_instance {
  rlx_compiled *compiled;
  rlx_session *session;
  rlx_weights *weights;
  rlx_states *states;
  rlx_scratch *scratch;
  rlx_queue *queue;    /* of the session whose states it has: all that use one set of states are in order */
  uint64_t generation; /* of the scratch when the places were noted */
  rlx_arena *arena;
  rlx_weight_hold *holds; /* by slot; constants have none */
  rlx_weight_reading reading;
  rlx_state_entry **state;   /* by slot */
  uint64_t ready_generation; /* of the store when all weights were last seen to be ready; 0: never */
  bool is_bound;
  bool has_run;               /* outputs are those of a run that ended well */
  rlx_executable *executable; /* whose list it is in; NULL: in none. Under the cache's lock */
  rlx_cached cached;
  uint64_t bytes, program_bytes; /* of the host's memory: itself, and what binding made */

  rlx_bump bump; /* what follows, but for staging */
  rlx_bound_step *device_steps;
  rlx_program_desc desc;
  rlx_program *program;      /* NULL where the host runs everything */
  rlx_host_step *host_steps; /* by step of the plan; empty for the device's */
  unsigned char *staging;
  rlx_bump step_memory; /* of one host step */
} rlx_instance;

rlx_status rlx_instance_create(rlx_session *s, rlx_compiled *c, rlx_weights *w, rlx_states *st, rlx_scratch *scratch,
                               rlx_instance **out);
void rlx_instance_destroy(rlx_instance *i); /* NULL is fine */
/* All weights there (computed where they have recipes), all steps bound. Costs one comparison when nothing changed. */
rlx_status rlx_instance_ready(rlx_instance *i, const rlx_watch *watch);

/* Between the two nobody sets a weight that the instance reads. */
void rlx_instance_begin_reading(rlx_instance *i);
void rlx_instance_end_reading(rlx_instance *i);
/* Whether the scratch holds its values; and makes it so, whatever others had there. *lost: values that it had are gone. */
bool rlx_instance_holds(const rlx_instance *i);
rlx_status rlx_instance_take(rlx_instance *i, bool *lost);

/* A window of the plan as bytes of a block. */
rlx_bound rlx_instance_bound(const rlx_instance *i, const rlx_window *w);

/* host.c */
rlx_status rlx_host_bind(rlx_instance *i);
rlx_status rlx_host_run_step(rlx_instance *i, size_t step, const rlx_eval_context *ctx);

#endif
