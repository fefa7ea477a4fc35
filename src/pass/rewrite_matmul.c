/* Rewrites of the float matrix products: dot_general, lora_matmul, and products with the experts of a mixture.
 *
 * They all end in matmul. dot_general permutes its axes to matmul's order; an expert product gathers a matrix for every
 * row. Packed and integer weights are in rewrite_dequant.c. */
#include "pass/rewrite.h"

/* ---- dot_general ---- */

/* The axes of one operand by role. */
typedef struct roles {
  rlx_dims batch, summed, rest;
} roles;

static rlx_dims resolve(const rlx_dims *axes, int rank, uint32_t *taken) {
  rlx_dims out = *axes;
  for (int i = 0; i < out.n; i++) {
    out.v[i] = rlx_axis_of(out.v[i], rank);
    *taken |= 1u << out.v[i];
  }
  return out;
}

static roles roles_of(int rank, const rlx_dims *batch, const rlx_dims *summed) {
  uint32_t taken = 0;
  roles a = {.batch = resolve(batch, rank, &taken), .summed = resolve(summed, rank, &taken), .rest = {.n = 0}};
  for (int i = 0; i < rank; i++)
    if (!(taken >> i & 1)) a.rest.v[a.rest.n++] = i;
  return a;
}

static rlx_dims join(const rlx_dims *a, const rlx_dims *b, const rlx_dims *c) {
  rlx_dims out = {.n = 0};
  for (int i = 0; i < a->n; i++) out.v[out.n++] = a->v[i];
  for (int i = 0; i < b->n; i++) out.v[out.n++] = b->v[i];
  for (int i = 0; i < c->n; i++) out.v[out.n++] = c->v[i];
  return out;
}

static bool in_order(const rlx_dims *axes) {
  for (int i = 0; i < axes->n; i++)
    if (axes->v[i] != i) return false;
  return true;
}

/* Elements of these axes of x. */
static int64_t size_of(const rlx_rewrite *r, rlx_node x, const rlx_dims *axes) {
  rlx_dims shape = shape_of(r, x);
  int64_t n = 1;
  for (int i = 0; i < axes->n; i++) n *= shape.v[axes->v[i]];
  return n;
}

/* x as matrices [batch, rows, columns], each the product of a list of axes; without batch axes a single matrix. */
static rlx_node as_matrices(const rlx_rewrite *r, rlx_node x, const rlx_dims *batch, const rlx_dims *rows,
                            const rlx_dims *columns) {
  rlx_dims order = join(batch, rows, columns);
  rlx_dims shape = RLX_DIMS(size_of(r, x, batch), size_of(r, x, rows), size_of(r, x, columns));
  if (!batch->n) shape = dims_part(&shape, 1, 3);
  return rlx_op_reshape(r->to, in_order(&order) ? x : rlx_op_transpose(r->to, x, order), shape);
}

/* The result's axes are batch, rest of a, rest of b: the order that matmul produces. */
rlx_node rlx_rewrite_dot_general(rlx_rewrite *r) {
  const rlx_attrs_dot_general *attrs = RLX_ATTRS(dot_general, r->node);
  if (is_empty(r)) return nothing(r);
  rlx_node a = r->in[0], b = r->in[1];
  roles of_a = roles_of(shape_of(r, a).n, &attrs->batch_a, &attrs->contract_a);
  roles of_b = roles_of(shape_of(r, b).n, &attrs->batch_b, &attrs->contract_b);
  rlx_dims b_lies = join(&of_b.batch, &of_b.rest, &of_b.summed);
  bool trans_b = in_order(&b_lies);
  a = as_matrices(r, a, &of_a.batch, &of_a.rest, &of_a.summed);
  b = as_matrices(r, b, &of_b.batch, trans_b ? &of_b.rest : &of_b.summed, trans_b ? &of_b.summed : &of_b.rest);
  return rlx_op_reshape(r->to, product(r, a, b, trans_b), r->type->shape);
}

/* ---- lora_matmul ---- */

/* x w + scale (x a) b. Only x is widened: with an f32 x, f16 and bf16 are weight types that matmul takes. */
rlx_node rlx_rewrite_lora_matmul(rlx_rewrite *r) {
  const rlx_attrs_lora_matmul *attrs = RLX_ATTRS(lora_matmul, r->node);
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0);
  rlx_node full_rank = product(r, x, r->in[1], attrs->trans_b);
  rlx_node low_rank = rlx_op_matmul(g, rlx_op_matmul(g, x, r->in[2]), r->in[3]);
  return as_result(r, rlx_op_add(g, full_rank, rlx_op_mul(g, scalar(r, x, attrs->scale), low_rank)));
}

/* ---- experts ---- */

/* Elements of `experts` matrices of w [E, .., ..]. */
static double elements_of(const rlx_rewrite *r, rlx_node w, int64_t experts) {
  rlx_dims shape = shape_of(r, w);
  return (double)experts * (double)shape.v[1] * (double)shape.v[2];
}

/* Row i of x [M, K] times matrix i of w [M, K, N], or [M, N, K] with trans_b. */
static rlx_node each_row_times(const rlx_rewrite *r, rlx_node x, rlx_node w, bool trans_b) {
  rlx_dims shape = shape_of(r, x);
  rlx_node rows = rlx_op_reshape(r->to, x, RLX_DIMS(shape.v[0], 1, shape.v[1]));
  return rlx_op_reshape(r->to, product(r, rows, w, trans_b), r->type->shape);
}

/* The matrices are copied, one per row: suitable for the few rows of a decode step, not for a long prompt. */
rlx_node rlx_rewrite_grouped_matmul(rlx_rewrite *r) {
  rlx_node x = r->in[0], w = r->in[1];
  if (is_too_large(r, elements_of(r, w, r->type->shape.v[0])))
    return refuse(r, "a copy of an expert for every row would pass 2^28 elements");
  rlx_node chosen = rlx_op_gather(r->to, w, plain_index(r, r->in[2]), 0);
  return each_row_times(r, x, chosen, RLX_ATTRS(grouped_matmul, r->node)->trans_b);
}

/* Decodes the experts that the rows selected, or all of them if there are fewer. */
rlx_node rlx_rewrite_dequant_grouped_matmul(rlx_rewrite *r) {
  bool trans_b = RLX_ATTRS(dequant_grouped_matmul, r->node)->trans_b;
  rlx_node x = r->in[0], w = r->in[1], idx = r->in[2];
  int64_t rows = r->type->shape.v[0], experts = shape_of(r, w).v[0];
  if (is_too_large(r, elements_of(r, w, rows < experts ? rows : experts)))
    return refuse(r, "the decoded experts would pass 2^28 elements");
  if (rows < experts) return each_row_times(r, x, rlx_op_dequant_moe_weights(r->to, w, idx, RLX_F32), trans_b);
  return rlx_op_grouped_matmul(r->to, x, rlx_op_dequant_moe_weights(r->to, w, RLX_NONE, RLX_F32), idx, trans_b);
}

/* A gather of rows of a block type decodes them to f32. */
rlx_node rlx_rewrite_dequant_moe_weights(rlx_rewrite *r) {
  rlx_node w = r->in[0], idx = input_of(r, 1);
  return as_result(r, idx ? rlx_op_gather(r->to, w, plain_index(r, idx), 0) : w);
}
