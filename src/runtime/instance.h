/* An instance: the memory and program of an executable for one set of sizes. It holds the weights and states that its
 * compiled graph reads, and has for each step the exact byte ranges that the step reads and writes. Its scratch is
 * shared with instances that never run at the same time: those for other sizes, and those of executables that were
 * given the same scratch.
 *
 * Created in two steps. Creation allocates the memory. Binding, before the first run, needs the blocks of weights that
 * are computed at load, and creates the device's program and the host's calls. After that a run does no lookups. If the
 * scratch moved because another instance needed more, the instance is bound again. */
#ifndef RLX_RUNTIME_INSTANCE_H
#define RLX_RUNTIME_INSTANCE_H

#include "ref/eval.h"
#include "runtime/compiled.h"
#include "runtime/states.h"
#include "runtime/weights.h"

/* A value of a host step: a tensor in the device's memory if the host can access it, otherwise in staging memory. */
typedef struct rlx_host_value {
  rlx_tensor tensor;
  rlx_bound at;
  uint32_t layout;
  bool staged; /* copied in before the step, or out after it */
} rlx_host_value;

typedef struct rlx_host_step {
  rlx_host_value *in, *out;
  const rlx_tensor **in_tensors; /* NULL: absent */
  rlx_tensor *out_tensors;
} rlx_host_step;

typedef struct rlx_instance {
  rlx_compiled *compiled;
  rlx_session *session;
  rlx_weights *weights;
  rlx_states *states;
  rlx_scratch *scratch;
  rlx_queue *queue;    /* of the session that owns the states: all users of one set of states execute in order */
  uint64_t generation; /* of the scratch when the locations were registered */
  rlx_arena *arena;
  rlx_weight_hold *holds; /* by slot; constants have none */
  rlx_weight_reading reading;
  rlx_state_entry **state;   /* by slot */
  uint64_t ready_generation; /* of the weight store when all weights were last found ready; 0: never */
  bool is_bound;
  bool has_ends;              /* rlx_instance_end_inputs was called for these locations */
  bool has_run;               /* the outputs are those of a successful run */
  rlx_executable *executable; /* whose list contains it; NULL: none. Under the cache's lock */
  rlx_cached cached;
  uint64_t bytes, program_bytes; /* host memory: of the instance, and of what binding created */

  rlx_bump bump; /* memory of the steps below */
  rlx_bound_step *device_steps;
  rlx_program_desc desc;
  rlx_program *program;      /* NULL if the host executes everything */
  rlx_host_step *host_steps; /* by step of the plan; empty for device steps */
  unsigned char *staging;
  rlx_bump step_memory; /* of one host step; reset after it */
} rlx_instance;

rlx_status rlx_instance_create(rlx_session *s, rlx_compiled *c, rlx_weights *w, rlx_states *st, rlx_scratch *scratch,
                               rlx_instance **out);
void rlx_instance_destroy(rlx_instance *i); /* NULL is fine */
/* Makes all weights available (computes those with recipes) and binds all steps. Costs one comparison if nothing
 * changed. */
rlx_status rlx_instance_ready(rlx_instance *i, const rlx_watch *watch);
/* Before each run, when its inputs are there: rlx_bound_end for them, once per binding. */
rlx_status rlx_instance_end_inputs(rlx_instance *i);

/* Between the two calls no weight that the instance reads can be set. */
void rlx_instance_begin_reading(rlx_instance *i);
void rlx_instance_end_reading(rlx_instance *i);
/* rlx_instance_holds: whether the scratch contains its values. rlx_instance_take makes it the owner of the scratch,
 * whatever is there; *lost: the values it had are gone. */
bool rlx_instance_holds(const rlx_instance *i);
rlx_status rlx_instance_take(rlx_instance *i, bool *lost);

/* Converts a window of the plan to a byte range of a block. */
rlx_bound rlx_instance_bound(const rlx_instance *i, const rlx_window *w);

/* host.c */
rlx_status rlx_host_bind(rlx_instance *i);
rlx_status rlx_host_run_step(rlx_instance *i, size_t step, const rlx_eval_context *ctx);

#endif
