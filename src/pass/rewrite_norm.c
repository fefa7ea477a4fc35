/* Rewrites of the norms and of softmax.
 *
 * They build on each other: a norm of channels becomes a layer_norm with a reshape or a transpose, a softmax over any
 * axis becomes one over the last. Only the two norms over last axes and the softmax over the last axis are decomposed
 * further, so a target that has those few supports all of them. */
#include "pass/rewrite.h"

/* x gamma + beta, either of which may be absent. */
static rlx_node affine(const rlx_rewrite *r, rlx_node x, rlx_node gamma, rlx_node beta) {
  if (gamma) x = rlx_op_mul(r->to, x, gamma);
  return beta ? rlx_op_add(r->to, x, beta) : x;
}

/* ---- over the last axes ---- */

/* The axes from `axis` to the last. */
static rlx_dims axes_from(int64_t axis, int rank) {
  rlx_dims axes = {.n = 0};
  for (int i = rlx_axis_of(axis, rank); i < rank; i++) axes = dims_append(axes, i);
  return axes;
}

/* sqrt(mean(d^2) + eps). Squares of f32 overflow from 2^64 on, unlike the reference's. There the mean is taken of d /
 * 2^70, to which eps contributes nothing. */
static rlx_node deviation_of(const rlx_rewrite *r, rlx_node d, rlx_dims axes, double eps) {
  rlx_graph *g = r->to;
  rlx_node variance = rlx_op_add(g, rlx_op_reduce_mean(g, rlx_op_mul(g, d, d), axes, true), scalar(r, d, eps));
  rlx_node deviation = rlx_op_sqrt(g, variance);
  if (r->type->dtype != RLX_F32 && r->type->dtype != RLX_BF16) return deviation;
  rlx_node small = rlx_op_mul(g, d, scalar(r, d, 0x1p-70));
  rlx_node huge = rlx_op_sqrt(g, rlx_op_reduce_mean(g, rlx_op_mul(g, small, small), axes, true));
  rlx_node in_range = rlx_op_lt(g, variance, scalar(r, d, RLX_INFINITY));
  return rlx_op_where(g, in_range, deviation, rlx_op_mul(g, huge, scalar(r, d, 0x1p70)));
}

/* d / deviation gamma + beta. gamma and beta have the last axes' shape, so they broadcast. */
static rlx_node scale_to_unit(const rlx_rewrite *r, rlx_node d, rlx_dims axes, double eps) {
  rlx_node y = rlx_op_div(r->to, d, deviation_of(r, d, axes, eps));
  return as_result(r, affine(r, y, wide_input(r, 1), wide_input(r, 2)));
}

/* The mean is rounded; for values far from zero the error is a visible part of their deviation. The remainder then has
 * a small mean of its own, which is subtracted as well. */
rlx_node rlx_rewrite_layer_norm(rlx_rewrite *r) {
  const rlx_attrs_layer_norm *a = RLX_ATTRS(layer_norm, r->node);
  rlx_graph *g = r->to;
  rlx_dims axes = axes_from(a->axis, r->type->shape.n);
  rlx_node x = wide_input(r, 0);
  rlx_node near = rlx_op_sub(g, x, rlx_op_reduce_mean(g, x, axes, true));
  return scale_to_unit(r, rlx_op_sub(g, near, rlx_op_reduce_mean(g, near, axes, true)), axes, a->eps);
}

rlx_node rlx_rewrite_rms_norm(rlx_rewrite *r) {
  const rlx_attrs_rms_norm *a = RLX_ATTRS(rms_norm, r->node);
  return scale_to_unit(r, wide_input(r, 0), axes_from(a->axis, r->type->shape.n), a->eps);
}

/* ---- [N, C, ..] ---- */

/* Transposes the channels to the last axis and back. */
rlx_node rlx_rewrite_layer_norm_2d(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node last = rlx_op_transpose(g, r->in[0], RLX_DIMS(0, 2, 3, 1));
  rlx_node y = rlx_op_layer_norm(g, last, input_of(r, 1), input_of(r, 2), -1, RLX_ATTRS(layer_norm_2d, r->node)->eps);
  return rlx_op_transpose(g, y, RLX_DIMS(0, 3, 1, 2));
}

/* Each group of a sample is a row. gamma and beta apply per channel, so they come afterwards, and everything is in the
 * work type: a layer_norm in f16 would round before them. */
static rlx_node norm_groups(const rlx_rewrite *r, int64_t groups, double eps) {
  rlx_graph *g = r->to;
  const rlx_dims *shape = &r->type->shape;
  int64_t per_group = groups ? shape->v[1] / groups * dims_product(shape, 2, shape->n) : 0;
  rlx_node rows = rlx_op_reshape(g, wide_input(r, 0), RLX_DIMS(shape->v[0], groups, per_group));
  rlx_node y = rlx_op_reshape(g, rlx_op_layer_norm(g, rows, RLX_NONE, RLX_NONE, -1, eps), *shape);
  rlx_node gamma = along_axis(r, wide_input(r, 1), 1, shape->n), beta = along_axis(r, wide_input(r, 2), 1, shape->n);
  return as_result(r, affine(r, y, gamma, beta));
}

rlx_node rlx_rewrite_group_norm(rlx_rewrite *r) {
  const rlx_attrs_group_norm *a = RLX_ATTRS(group_norm, r->node);
  return norm_groups(r, a->groups, a->eps);
}

rlx_node rlx_rewrite_instance_norm(rlx_rewrite *r) {
  return norm_groups(r, r->type->shape.v[1], RLX_ATTRS(instance_norm, r->node)->eps);
}

/* (x - mean) (gamma / sqrt(var + eps)) + beta: the second factor is one small vector. */
rlx_node rlx_rewrite_batch_norm_inference(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  int rank = r->type->shape.n;
  rlx_node mean = wide_input(r, 1), var = wide_input(r, 2), gamma = wide_input(r, 3), beta = wide_input(r, 4);
  rlx_node eps = scalar(r, var, RLX_ATTRS(batch_norm_inference, r->node)->eps);
  rlx_node deviation = rlx_op_sqrt(g, rlx_op_add(g, var, eps));
  rlx_node factor = rlx_op_div(g, gamma ? gamma : scalar(r, var, 1), deviation);
  rlx_node centred = rlx_op_sub(g, wide_input(r, 0), along_axis(r, mean, 1, rank));
  return as_result(r, affine(r, centred, along_axis(r, factor, 1, rank), along_axis(r, beta, 1, rank)));
}

/* ---- softmax ---- */

/* The transpose that exchanges an axis with the last; it is its own inverse. */
static rlx_node swap_last(const rlx_rewrite *r, rlx_node x, int axis, int rank) {
  rlx_dims perm = {.n = rank};
  for (int i = 0; i < rank; i++) perm.v[i] = i;
  perm.v[axis] = rank - 1;
  perm.v[rank - 1] = axis;
  return rlx_op_transpose(r->to, x, perm);
}

typedef rlx_node (*soft_fn)(rlx_graph *g, rlx_node x, int64_t axis);

/* Transposes another axis to the last and back. For the last axis: e^d / sum or d - log(sum) with d = x - max. */
static rlx_node soft(const rlx_rewrite *r, int64_t axis_attr, soft_fn fn, bool logarithm) {
  rlx_graph *g = r->to;
  int rank = r->type->shape.n, axis = rlx_axis_of(axis_attr, rank);
  if (axis != rank - 1) return swap_last(r, fn(g, swap_last(r, r->in[0], axis, rank), -1), axis, rank);
  rlx_node x = wide_input(r, 0), d = rlx_op_sub(g, x, rlx_op_reduce_max(g, x, RLX_DIMS(axis), true));
  rlx_node e = rlx_op_exp(g, d), sum = rlx_op_reduce_sum(g, e, RLX_DIMS(axis), true);
  return as_result(r, logarithm ? rlx_op_sub(g, d, rlx_op_log(g, sum)) : rlx_op_div(g, e, sum));
}

rlx_node rlx_rewrite_softmax(rlx_rewrite *r) {
  return soft(r, RLX_ATTRS(softmax, r->node)->axis, rlx_op_softmax, false);
}
rlx_node rlx_rewrite_log_softmax(rlx_rewrite *r) {
  return soft(r, RLX_ATTRS(log_softmax, r->node)->axis, rlx_op_log_softmax, true);
}
