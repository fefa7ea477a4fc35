/* Normalisation ops: ONNX's precision rules, extra outputs and training modes on top of RLX's ops. */
#include <inttypes.h>

#include "onnx/compose.h"

/* Gamma and beta of another float type than x (mixed precision) are converted: the norm is computed in the wider
 * type. */
static rlx_node in_as(onnx_call *c, uint32_t i, rlx_dtype to) { return onnx_cast(c, onnx_in(c, i), to); }

static rlx_status check_floats(onnx_call *c) {
  return onnx_holds_floats(onnx_dtype(c, 0))
           ? RLX_OK
           : RLX_FAIL(RLX_INVALID, "the input is %s, expected floats", onnx_type_name(onnx_in_type(c, 0)));
}

/* ---- BatchNormalization ---- */

static rlx_dims all_but(int rank, int axis) {
  rlx_dims d = {0};
  for (int i = 0; i < rank; i++)
    if (i != axis) d.v[d.n++] = i;
  return d;
}

/* By the batch's own mean and variance, which also move the running ones. */
static rlx_status batch_norm_training(onnx_call *c, rlx_dtype wide, double eps, double momentum) {
  int rank = onnx_rank(c, 0);
  rlx_dims axes = all_but(rank, 1);
  rlx_node x = in_as(c, 0, wide), mean = rlx_op_reduce_mean(c->g, x, axes, false);
  rlx_node off = rlx_op_sub(c->g, x, onnx_along(c, mean, 1, rank));
  rlx_node var = rlx_op_reduce_mean(c->g, rlx_op_mul(c->g, off, off), axes, false);
  rlx_node y = rlx_op_batch_norm_inference(c->g, x, mean, var, in_as(c, 1, wide), in_as(c, 2, wide), eps);
  RLX_TRY(onnx_set_like(c, 0, onnx_cast(c, y, onnx_dtype(c, 0)), 0));
  for (uint32_t i = 1; i <= 2; i++) {
    rlx_node old = in_as(c, i + 2, wide), now = i == 1 ? mean : var;
    rlx_node next = rlx_op_add(c->g, onnx_times(c, old, momentum), onnx_times(c, now, 1 - momentum));
    RLX_TRY(onnx_set_like(c, i, onnx_cast(c, next, onnx_dtype(c, i + 2)), i + 2));
  }
  return RLX_OK;
}

/* Before opset 9, spatial = 0 gave each element its own statistics. */
static rlx_status batch_norm_by_element(onnx_call *c, double eps) {
  rlx_node x = onnx_in(c, 0), var = onnx_plus(c, onnx_in(c, 4), eps);
  rlx_node y = rlx_op_div(c->g, rlx_op_sub(c->g, x, onnx_in(c, 3)), rlx_op_sqrt(c->g, var));
  return onnx_set_like(c, 0, rlx_op_add(c->g, rlx_op_mul(c->g, y, onnx_in(c, 1)), onnx_in(c, 2)), 0);
}

rlx_status onnx_op_batch_normalization(onnx_call *c) {
  double eps, momentum;
  bool spatial, training, testing;
  RLX_TRY(check_floats(c));
  RLX_TRY(onnx_float(c, "epsilon", 1e-5, &eps));
  RLX_TRY(onnx_float(c, "momentum", 0.9, &momentum));
  RLX_TRY(onnx_flag(c, "spatial", true, &spatial));
  RLX_TRY(onnx_flag(c, "training_mode", false, &training));
  RLX_TRY(onnx_flag(c, "is_test", c->opset >= 7, &testing));
  if (c->opset < 7 && !testing) return onnx_refuse(c, "is_test is 0: training");
  rlx_dtype wide = onnx_wide(onnx_dtype(c, 0));
  if (training) return batch_norm_training(c, wide, eps, momentum);
  if (!spatial && onnx_rank(c, 1) > 1) return batch_norm_by_element(c, eps);
  for (uint32_t i = 1; i < 5; i++)
    if (onnx_rank(c, i) != 1) return RLX_FAIL(RLX_INVALID, "input %u has %d axes, expected 1", i, onnx_rank(c, i));
  if (onnx_rank(c, 0) < 2) return RLX_FAIL(RLX_INVALID, "the input has %d axes", onnx_rank(c, 0));
  for (uint32_t i = 1; i < c->n_out; i++)
    if (onnx_wants(c, i)) return onnx_refuse(c, "output %u exists in training only", (unsigned)i);
  rlx_node y = rlx_op_batch_norm_inference(c->g, in_as(c, 0, wide), in_as(c, 3, wide), in_as(c, 4, wide),
                                           in_as(c, 1, wide), in_as(c, 2, wide), eps);
  return onnx_set_like(c, 0, onnx_cast(c, y, onnx_dtype(c, 0)), 0);
}

/* ---- the others ---- */

rlx_status onnx_op_instance_normalization(onnx_call *c) {
  double eps;
  RLX_TRY(check_floats(c));
  RLX_TRY(onnx_float(c, "epsilon", 1e-5, &eps));
  return onnx_set_like(c, 0, rlx_op_instance_norm(c->g, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2), eps), 0);
}

/* What the first stage is computed in: stash_type, but no narrower than needed for the input's own. */
static rlx_status read_stash(onnx_call *c, rlx_dtype *out) {
  int64_t stash;
  RLX_TRY(onnx_int(c, "stash_type", ONNX_FLOAT, &stash));
  if (stash < 0 || stash >= ONNX_TYPES || !onnx_holds_floats(onnx_type_carrier((onnx_type)stash)))
    return RLX_FAIL(RLX_INVALID, "stash_type is %" PRId64, stash);
  rlx_dtype t = onnx_type_carrier((onnx_type)stash);
  *out = onnx_dtype(c, 0) == RLX_F64 ? RLX_F64 : t;
  return RLX_OK;
}

static bool fits_axes(onnx_call *c, const rlx_dims *scale, const rlx_dims *x, int axis) {
  if (scale->n != x->n - axis) return false;
  for (int i = 0; i < scale->n; i++)
    if (!onnx_equal(c, scale->v[i], x->v[axis + i])) return false;
  return true;
}

/* Over the axes from `axis`; scale and bias may broadcast. */
static rlx_status norm_of(onnx_call *c, bool is_layer, rlx_node x, double eps, int axis, rlx_dtype stash,
                          rlx_node *out) {
  rlx_dims shape = onnx_shape(c, 0), scale = onnx_shape(c, 1), bias = onnx_shape(c, 2);
  rlx_dtype dtype = onnx_dtype(c, 0);
  rlx_node gamma = onnx_in(c, 1), beta = onnx_in(c, 2);
  bool fits = fits_axes(c, &scale, &shape, axis) && (!beta || fits_axes(c, &bias, &shape, axis));
  if (fits && dtype == stash && onnx_dtype(c, 1) == stash && (!beta || onnx_dtype(c, 2) == stash)) {
    *out =
      is_layer ? rlx_op_layer_norm(c->g, x, gamma, beta, axis, eps) : rlx_op_rms_norm(c->g, x, gamma, beta, axis, eps);
    return RLX_OK;
  }
  rlx_node y = onnx_cast(c, x, stash);
  y = is_layer ? rlx_op_layer_norm(c->g, y, 0, 0, axis, eps) : rlx_op_rms_norm(c->g, y, 0, 0, axis, eps);
  rlx_dtype second = gamma ? onnx_dtype(c, 1) : dtype;
  y = onnx_cast(c, y, second);
  if (gamma) y = rlx_op_mul(c->g, y, gamma);
  if (beta) y = rlx_op_add(c->g, y, onnx_cast(c, beta, second));
  *out = y;
  return RLX_OK;
}

/* Mean and 1 / sqrt(var + eps), with the normalised axes kept. */
static rlx_status set_moments(onnx_call *c, rlx_node x, double eps, int axis, rlx_dtype stash) {
  rlx_dims axes = {0};
  if (!onnx_wants(c, 1) && !onnx_wants(c, 2)) return RLX_OK;
  for (int i = axis; i < onnx_rank(c, 0); i++) axes.v[axes.n++] = i;
  x = onnx_cast(c, x, stash);
  rlx_node mean = rlx_op_reduce_mean(c->g, x, axes, true), off = rlx_op_sub(c->g, x, mean);
  rlx_node var = rlx_op_reduce_mean(c->g, rlx_op_mul(c->g, off, off), axes, true);
  RLX_TRY(onnx_set(c, 1, mean));
  return onnx_set(c, 2, rlx_op_rsqrt(c->g, onnx_plus(c, var, eps)));
}

static rlx_status norm_op(onnx_call *c, bool is_layer) {
  double eps;
  int64_t at;
  int axis;
  rlx_dtype stash;
  rlx_node y;
  RLX_TRY(check_floats(c));
  RLX_TRY(onnx_float(c, "epsilon", 1e-5, &eps));
  RLX_TRY(onnx_int(c, "axis", -1, &at));
  RLX_TRY(onnx_axis(c, at, onnx_rank(c, 0), &axis));
  RLX_TRY(read_stash(c, &stash));
  rlx_node x = onnx_in(c, 0);
  RLX_TRY(norm_of(c, is_layer, x, eps, axis, stash, &y));
  RLX_TRY(onnx_set(c, 0, y));
  return is_layer ? set_moments(c, x, eps, axis, stash) : RLX_OK;
}

rlx_status onnx_op_layer_normalization(onnx_call *c) { return norm_op(c, true); }
rlx_status onnx_op_rms_normalization(onnx_call *c) { return norm_op(c, false); }

/* RMSNormalization before it was ONNX's, which also gives 1 / sqrt(mean of squares + eps). */
rlx_status onnx_op_simplified_layer_normalization(onnx_call *c) {
  double eps;
  int64_t at;
  int axis;
  rlx_dtype stash = RLX_F32;
  rlx_dims axes = {0};
  RLX_TRY(norm_op(c, false));
  if (!onnx_wants(c, 1)) return RLX_OK;
  RLX_TRY(onnx_float(c, "epsilon", 1e-5, &eps));
  RLX_TRY(onnx_int(c, "axis", -1, &at));
  RLX_TRY(onnx_axis(c, at, onnx_rank(c, 0), &axis));
  RLX_TRY(read_stash(c, &stash));
  for (int i = axis; i < onnx_rank(c, 0); i++) axes.v[axes.n++] = i;
  rlx_node x = in_as(c, 0, stash), mean = rlx_op_reduce_mean(c->g, rlx_op_mul(c->g, x, x), axes, true);
  return onnx_set(c, 1, rlx_op_rsqrt(c->g, onnx_plus(c, mean, eps)));
}

/* Opset 18 has one gamma and beta per group, 21 and later one per channel. */
static rlx_node per_group(onnx_call *c, uint32_t i, int64_t groups, int64_t channels, rlx_dtype dtype) {
  rlx_node n = in_as(c, i, dtype);
  if (c->opset >= 21 || groups == channels) return n;
  n = rlx_op_expand(c->g, onnx_reshape(c, n, RLX_DIMS(groups, 1)), RLX_DIMS(groups, channels / groups));
  return onnx_reshape(c, n, RLX_DIMS(channels));
}

rlx_status onnx_op_group_normalization(onnx_call *c) {
  double eps;
  int64_t groups;
  rlx_dims shape = onnx_shape(c, 0);
  rlx_dtype stash;
  RLX_TRY(check_floats(c));
  RLX_TRY(onnx_float(c, "epsilon", 1e-5, &eps));
  RLX_TRY(onnx_int(c, "num_groups", 0, &groups));
  RLX_TRY(read_stash(c, &stash));
  if (shape.n < 2 || groups < 1 || shape.v[1] % groups)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " groups of %" PRId64 " channels", groups, shape.n < 2 ? 0 : shape.v[1]);
  rlx_dtype dtype = onnx_dtype(c, 0);
  if (c->opset < 21) stash = onnx_wide(dtype);
  rlx_node gamma = per_group(c, 1, groups, shape.v[1], dtype), beta = per_group(c, 2, groups, shape.v[1], dtype);
  if (stash == dtype) return onnx_set_like(c, 0, rlx_op_group_norm(c->g, onnx_in(c, 0), gamma, beta, groups, eps), 0);
  rlx_node y = rlx_op_group_norm(c->g, in_as(c, 0, stash), RLX_NONE, RLX_NONE, groups, eps);
  y = rlx_op_mul(c->g, onnx_cast(c, y, dtype), onnx_along(c, gamma, 1, shape.n));
  return onnx_set_like(c, 0, rlx_op_add(c->g, y, onnx_along(c, beta, 1, shape.n)), 0);
}

/* x / (bias + alpha / size * sum of squares of `size` channels around)^beta. */
rlx_status onnx_op_lrn(onnx_call *c) {
  double alpha, beta, bias;
  int64_t size;
  rlx_dims shape = onnx_shape(c, 0);
  RLX_TRY(check_floats(c));
  RLX_TRY(onnx_float(c, "alpha", 1e-4, &alpha));
  RLX_TRY(onnx_float(c, "beta", 0.75, &beta));
  RLX_TRY(onnx_float(c, "bias", 1, &bias));
  RLX_TRY(onnx_int(c, "size", 0, &size));
  if (shape.n < 2 || size < 1 || size > INT32_MAX)
    return RLX_FAIL(RLX_INVALID, "size %" PRId64 " of an input with %d axes", size, (int)shape.n);
  int64_t rest = 1;
  for (int i = 2; i < shape.n; i++) rest *= shape.v[i];
  int64_t before = (size - 1) / 2, after = size - 1 - before;
  rlx_op_conv_desc d = {RLX_OP_CONV_DESC_INIT, .pad_lo = RLX_DIMS(before, 0), .pad_hi = RLX_DIMS(after, 0)};
  rlx_node x = onnx_in(c, 0), ones = onnx_fill(c, onnx_dtype(c, 0), RLX_DIMS(1, 1, size, 1), 1);
  rlx_node squares = onnx_reshape(c, rlx_op_mul(c->g, x, x), RLX_DIMS(shape.v[0], 1, shape.v[1], rest));
  rlx_node sums = onnx_reshape(c, rlx_op_conv(c->g, squares, ones, RLX_NONE, &d), shape);
  rlx_node base = onnx_plus(c, onnx_times(c, sums, alpha / (double)size), bias);
  return onnx_set_like(c, 0, rlx_op_div(c->g, x, rlx_op_pow(c->g, base, onnx_scalar_like(c, x, beta))), 0);
}
