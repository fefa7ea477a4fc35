/* Evaluates whole graphs with the reference kernels: the base of the public evaluator, constant folding and the
 * comparison of devices. */
#ifndef RLX_REF_EVAL_H
#define RLX_REF_EVAL_H

#include "ref/ref.h"

typedef struct rlx_eval_context {
  uint64_t draw;        /* the run's number */
  rlx_cancel_fn cancel; /* may be NULL; polled before each node */
  void *cancel_user;
  /* Called with each value as it is computed; may be NULL. Only for the outermost graph. */
  void (*observe)(void *user, rlx_node node, const rlx_tensor *value);
  void *observe_user;
} rlx_eval_context;

/* Runs a graph without symbols. leaves[id] is the value of each input, param and state that is needed (others NULL).
 * outputs[i] is storage of the type of output i. final_state may be NULL; where the entry of a state node has data, it
 * receives the state's value after the run (it must not overlap leaves[id]). */
rlx_status rlx_eval_graph(const rlx_graph *g, const rlx_eval_context *ctx, const rlx_tensor *const *leaves,
                          rlx_tensor *outputs, rlx_tensor *final_state);
/* Runs one node on given inputs into `out`, storage of the node's type. */
rlx_status rlx_eval_node(const rlx_node_rec *n, const rlx_eval_context *ctx, const rlx_tensor *const *in,
                         rlx_tensor *out);

/* The same for a planned step, which may be several control nodes that differ only in `index`: out[i] is storage for
 * nodes[i]. Temporary memory comes from the caller's bump allocator, which the caller resets. */
rlx_status rlx_eval_step(const rlx_graph *g, const rlx_node *nodes, uint32_t n, const rlx_eval_context *ctx,
                         const rlx_tensor *const *in, rlx_tensor *out, rlx_bump *scratch);

/* Tensors that own their memory. */
rlx_status rlx_tensor_create(const rlx_type *type, rlx_tensor *out); /* not zeroed */
void rlx_tensor_deinit(rlx_tensor *t);
/* Checks a tensor from outside: its bytes match its type and shape, there is data, and bools are 0 or 1. */
rlx_status rlx_tensor_check(const rlx_tensor *t);

#endif
