/* Evaluation of whole graphs through the reference kernels: what the public evaluator, constant folding and the
 * comparison of devices stand on. */
#ifndef RLX_REF_EVAL_H
#define RLX_REF_EVAL_H

#include "ref/ref.h"

typedef struct rlx_eval_context {
  uint64_t draw;        /* the run's number */
  rlx_cancel_fn cancel; /* may be NULL; asked before each node */
  void *cancel_user;
  /* Sees each value as it is computed; may be NULL. Only for the outermost graph. */
  void (*observe)(void *user, rlx_node node, const rlx_tensor *value);
  void *observe_user;
} rlx_eval_context;

/* Runs a graph of numbers. leaves[id] is the value of each input, param and state that is needed (others NULL);
 * outputs[i] is storage of the type of output i. final_state[id], where the array is given and the entry of a state node
 * has data, receives the state's value after the run (it may not overlap leaves[id]). */
rlx_status rlx_eval_graph(const rlx_graph *g, const rlx_eval_context *ctx, const rlx_tensor *const *leaves,
                          rlx_tensor *outputs, rlx_tensor *final_state);
/* Runs one node on given inputs into `out`, storage of the node's type. */
rlx_status rlx_eval_node(const rlx_node_rec *n, const rlx_eval_context *ctx, const rlx_tensor *const *in,
                         rlx_tensor *out);

/* The same for a planned step, which may be several control nodes that differ only in `index`: out[i] is storage for
 * nodes[i]. Temporary memory comes from the caller's bump, which the caller resets. */
rlx_status rlx_eval_step(const rlx_graph *g, const rlx_node *nodes, uint32_t n, const rlx_eval_context *ctx,
                         const rlx_tensor *const *in, rlx_tensor *out, rlx_bump *scratch);

/* Tensors with memory of their own. */
rlx_status rlx_tensor_create(const rlx_type *type, rlx_tensor *out); /* not cleared */
void rlx_tensor_deinit(rlx_tensor *t);
/* A tensor from outside: its bytes are those of its type and shape and are there, and bools are 0 or 1. */
rlx_status rlx_tensor_check(const rlx_tensor *t);

#endif
