/* Matrix products, and Dropout, which is the identity in inference. */
#include "onnx/carry.h"
#include "onnx/ops.h"

/* Integers: RLX multiplies matrices of floats, so these are products summed along the middle of [.., M, K, N]. */
static rlx_status product(onnx_call *c, rlx_node a, rlx_node b, onnx_type t, rlx_node *out) {
  rlx_graph *g = c->g;
  rlx_dims sa = rlx_node_shape(g, a), sb = rlx_node_shape(g, b);
  if (onnx_type_is_float(t)) return *out = rlx_op_matmul(g, a, b), RLX_OK;
  if (sa.n == RLX_MAX_RANK || sb.n == RLX_MAX_RANK) return onnx_refuse(c, "integers of %d axes", RLX_MAX_RANK);
  if (!onnx_equal(c, sa.v[sa.n - 1], sb.v[sb.n - 2]))
    return RLX_FAIL(RLX_INVALID, "rows of %lld times columns of %lld", (long long)sa.v[sa.n - 1],
                    (long long)sb.v[sb.n - 2]);
  rlx_dims wide_a = sa, wide_b = sb, all = sa.n > sb.n ? sa : sb;
  wide_a.v[wide_a.n++] = 1;
  wide_b.v[wide_b.n++] = sb.v[sb.n - 1];
  wide_b.v[sb.n - 1] = sb.v[sb.n - 2];
  wide_b.v[sb.n - 2] = 1;
  all.v[all.n - 2] = sa.v[sa.n - 2];
  all.v[all.n - 1] = sa.v[sa.n - 1];
  all.v[all.n++] = sb.v[sb.n - 1];
  RLX_TRY(onnx_check_size(c, &all));
  rlx_node each = rlx_op_mul(g, rlx_op_reshape(g, a, wide_a), rlx_op_reshape(g, b, wide_b));
  *out = onnx_wrap(c, rlx_op_reduce_sum(g, each, RLX_DIMS(-2), false), t);
  return RLX_OK;
}

/* A vector is a row on the left and a column on the right; its axis is not in the result. */
rlx_status onnx_op_matmul(onnx_call *c) {
  rlx_graph *g = c->g;
  rlx_dims sa = onnx_shape(c, 0), sb = onnx_shape(c, 1);
  rlx_node y;
  RLX_TRY(onnx_same_type(c, 2));
  if (sa.n == 0 || sb.n == 0) return RLX_FAIL(RLX_INVALID, "a product of scalars");
  rlx_node a = onnx_in(c, 0), b = onnx_in(c, 1);
  if (sa.n == 1) a = rlx_op_reshape(g, a, RLX_DIMS(1, sa.v[0]));
  if (sb.n == 1) b = rlx_op_reshape(g, b, RLX_DIMS(sb.v[0], 1));
  RLX_TRY(product(c, a, b, onnx_in_type(c, 0), &y));
  RLX_TRY(rlx_graph_status(g));
  rlx_dims out = rlx_node_shape(g, y);
  if (sb.n == 1) out.n--;
  if (sa.n == 1) {
    if (sb.n != 1) out.v[out.n - 2] = out.v[out.n - 1];
    out.n--;
  }
  if (sa.n == 1 || sb.n == 1) y = rlx_op_reshape(g, y, out);
  return onnx_set_like(c, 0, y, 0);
}

static rlx_node scaled(onnx_call *c, rlx_node x, double by, onnx_type t) {
  return by == 1 ? x : rlx_op_mul(c->g, x, onnx_number(c, t, by));
}

rlx_status onnx_op_gemm(onnx_call *c) {
  rlx_graph *g = c->g;
  double alpha, beta;
  bool trans_a, trans_b;
  onnx_type t = onnx_in_type(c, 0);
  rlx_node y;
  RLX_TRY(onnx_float(c, "alpha", 1, &alpha));
  RLX_TRY(onnx_float(c, "beta", 1, &beta));
  RLX_TRY(onnx_flag(c, "transA", false, &trans_a));
  RLX_TRY(onnx_flag(c, "transB", false, &trans_b));
  RLX_TRY(onnx_same_type(c, 3));
  if (onnx_rank(c, 0) != 2 || onnx_rank(c, 1) != 2)
    return RLX_FAIL(RLX_INVALID, "a has %d axes and b %d, expected 2", onnx_rank(c, 0), onnx_rank(c, 1));
  rlx_node a = onnx_in(c, 0), b = onnx_in(c, 1);
  if (trans_a) a = rlx_op_transpose(g, a, RLX_DIMS(1, 0));
  if (trans_b && onnx_type_is_float(t)) {
    y = rlx_op_matmul_t(g, a, b);
  } else {
    if (trans_b) b = rlx_op_transpose(g, b, RLX_DIMS(1, 0));
    RLX_TRY(product(c, a, b, t, &y));
  }
  y = scaled(c, y, alpha, t);
  if (onnx_has(c, 2) && beta != 0) y = rlx_op_add(g, y, scaled(c, onnx_in(c, 2), beta, t));
  return onnx_set_like(c, 0, y, 0);
}

/* The mask is all true: nothing is dropped. */
static rlx_status set_mask(onnx_call *c) {
  if (!onnx_wants(c, 1)) return RLX_OK;
  onnx_type t = c->opset < 10 ? onnx_in_type(c, 0) : ONNX_BOOL;
  return onnx_set_as(c, 1, rlx_op_expand(c->g, onnx_number(c, t, 1), onnx_shape(c, 0)), t);
}

rlx_status onnx_op_dropout(onnx_call *c) {
  bool training = false, testing;
  double ratio = 0.5;
  RLX_TRY(onnx_flag(c, "is_test", true, &testing));
  if (!testing) return onnx_refuse(c, "is_test is 0: elements are dropped by chance");
  if (c->opset >= 12 && onnx_has(c, 2)) {
    RLX_TRY(onnx_need_bool(c, 2, &training));
    if (training && onnx_has(c, 1)) RLX_TRY(onnx_need_number(c, 1, &ratio));
  }
  if (training && ratio != 0) return onnx_refuse(c, "in training mode elements are dropped by chance");
  onnx_set_value(c, 0, c->in[0]);
  return set_mask(c);
}
