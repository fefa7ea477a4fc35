/* Type inference: computes a node's type from its op, its attributes and its inputs' types.
 *
 * rlx_infer_run checks arity and element types by the op's row, then calls the row's shape rule. A rule reads its
 * inputs with rlx_infer_in, checks shapes and attributes, and sets c->out.shape (and c->out.dtype if the row has RULE).
 * Its message does not name the node; the caller adds that. Sizes may be open (shape.h): the rlx_dim_* helpers accept
 * open sizes and fail only on what is certainly wrong. */
#ifndef RLX_IR_INFER_H
#define RLX_IR_INFER_H

#include "ir/algebra.h"

typedef struct rlx_infer {
  const rlx_graph *graph;
  rlx_op op;
  const rlx_op_table_row *row;
  const void *attrs;
  const rlx_node *ids;
  uint32_t n_in;
  rlx_type out;
} rlx_infer;

rlx_status rlx_infer_run(rlx_infer *c);

/* The type of input i; NULL if it is absent. */
static inline const rlx_type *rlx_infer_in(const rlx_infer *c, uint32_t i) {
  return i < c->n_in && c->ids[i] ? &rlx_graph_at(c->graph, c->ids[i])->type : NULL;
}
static inline const rlx_dims *rlx_infer_shape(const rlx_infer *c, uint32_t i) {
  const rlx_type *t = rlx_infer_in(c, i);
  return t ? &t->shape : NULL;
}

/* Two sizes that must be equal: false if they certainly differ, else *out is the more specific one. */
bool rlx_dim_unify(int64_t a, int64_t b, int64_t *out);
/* Two sizes under broadcasting. */
bool rlx_dim_broadcast(const rlx_graph *g, int64_t a, int64_t b, int64_t *out);
/* a * b and a + b; open if either is; false on overflow. Multiplying by 1 and adding 0 keep a symbol. What else follows
 * from symbols is an expression of the graph's algebra, or unknown where it has none. */
bool rlx_dim_mul(const rlx_graph *g, int64_t a, int64_t b, int64_t *out);
bool rlx_dim_add(const rlx_graph *g, int64_t a, int64_t b, int64_t *out);
/* Broadcasts b into *acc, aligning the last axes. */
rlx_status rlx_dims_broadcast(const rlx_graph *g, rlx_dims *acc, const rlx_dims *b);
/* Converts an axis in -rank .. rank-1 to a non-negative one; the message names `what`. */
rlx_status rlx_axis_resolve(int64_t axis, int rank, const char *what, int *out);
/* A list of distinct axes as a bit set; empty means all when empty_is_all. */
rlx_status rlx_axes_resolve(const rlx_dims *axes, int rank, bool empty_is_all, uint32_t *bits);
/* Input i must have this rank, or a shape that unifies with these sizes. The message names the input. */
rlx_status rlx_expect_rank(const rlx_infer *c, uint32_t i, int rank);
rlx_status rlx_expect_shape(const rlx_infer *c, uint32_t i, rlx_dims want);
/* Input i must be a scalar (rank 0), or a vector of 1 or of n elements. */
rlx_status rlx_expect_scalar_or_vector(const rlx_infer *c, uint32_t i, int64_t n);
/* The result holds indices along an axis of n elements: i32 or i64, and wide enough. */
rlx_status rlx_expect_index_result(const rlx_infer *c, int64_t n);
/* Checks the norm of an op with the attribute `eps` over rows of this size: input `gamma` scales them. */
rlx_status rlx_expect_row_norm(const rlx_infer *c, uint32_t gamma, int64_t size);
/* Input 0 is a state, input 1 rows for it along an axis, input 2 their position; the result is the state. */
rlx_status rlx_expect_rows_of_state(rlx_infer *c, int axis);
const char *rlx_infer_input_name(const rlx_infer *c, uint32_t i);

#endif
