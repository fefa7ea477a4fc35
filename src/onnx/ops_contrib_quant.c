/* com.microsoft quantised ops: computed in floats, or as exact integer products. */
#include <inttypes.h>

#include "onnx/compose.h"

/* Inputs x, scale, zero from i on, as floats. */
static rlx_node dequantized(onnx_call *c, uint32_t i) {
  rlx_node scale = onnx_one(c, onnx_cast(c, onnx_in(c, i + 1), RLX_F32)), zero = onnx_in(c, i + 2);
  return rlx_op_dequantize(c->g, onnx_in(c, i), scale, zero ? onnx_one(c, zero) : RLX_NONE, -1);
}

/* And back, with the scale and zero point from i on; the result is of input `like`'s type. */
static rlx_status set_quantized(onnx_call *c, rlx_node y, uint32_t i, uint32_t like) {
  rlx_node scale = onnx_one(c, onnx_cast(c, onnx_in(c, i), RLX_F32)), zero = onnx_in(c, i + 1);
  y = rlx_op_quantize(c->g, y, scale, zero ? onnx_one(c, zero) : RLX_NONE, onnx_dtype(c, like), -1);
  return onnx_set_like(c, 0, y, like);
}

static rlx_status check_one(onnx_call *c, const uint32_t *at, size_t n) {
  for (size_t i = 0; i < n; i++) {
    rlx_dims d = onnx_shape(c, at[i]);
    if (onnx_has(c, at[i]) && rlx_dims_count(&d) != 1)
      return onnx_refuse(c, "a scale or zero point with %zu elements", rlx_dims_count(&d));
  }
  return RLX_OK;
}

static rlx_status binary(onnx_call *c, rlx_node (*fn)(rlx_graph *g, rlx_node a, rlx_node b)) {
  RLX_TRY(check_one(c, (const uint32_t[]){1, 2, 4, 5, 6, 7}, 6));
  return set_quantized(c, fn(c->g, dequantized(c, 0), dequantized(c, 3)), 6, 0);
}
rlx_status onnx_op_qlinear_add(onnx_call *c) { return binary(c, rlx_op_add); }
rlx_status onnx_op_qlinear_mul(onnx_call *c) { return binary(c, rlx_op_mul); }

static rlx_status check_unary(onnx_call *c) { return check_one(c, (const uint32_t[]){1, 2, 3, 4}, 4); }

rlx_status onnx_op_qlinear_sigmoid(onnx_call *c) {
  RLX_TRY(check_unary(c));
  return set_quantized(c, rlx_op_sigmoid(c->g, dequantized(c, 0)), 3, 0);
}

rlx_status onnx_op_qlinear_leaky_relu(onnx_call *c) {
  double alpha;
  RLX_TRY(check_unary(c));
  RLX_TRY(onnx_float(c, "alpha", 0.01, &alpha));
  return set_quantized(c, rlx_op_leaky_relu(c->g, dequantized(c, 0), alpha), 3, 0);
}

rlx_status onnx_op_qlinear_softmax(onnx_call *c) {
  int64_t at, opset;
  int axis;
  rlx_dims d = onnx_shape(c, 0), flat = RLX_DIMS(1, 1);
  RLX_TRY(check_unary(c));
  RLX_TRY(onnx_int(c, "axis", -1, &at));
  RLX_TRY(onnx_int(c, "opset", 13, &opset));
  RLX_TRY(onnx_axis(c, at, d.n, &axis));
  rlx_node x = dequantized(c, 0);
  if (opset >= 13) return set_quantized(c, rlx_op_softmax(c->g, x, axis), 3, 0);
  for (int i = 0; i < d.n; i++) flat.v[i >= axis] *= d.v[i];
  return set_quantized(c, onnx_reshape(c, rlx_op_softmax(c->g, onnx_reshape(c, x, flat), 1), d), 3, 0);
}

rlx_status onnx_op_qlinear_concat(onnx_call *c) {
  int64_t at;
  int axis;
  uint32_t n = c->n_in > 2 ? (c->n_in - 2) / 3 : 0;
  rlx_node *parts = onnx_alloc(c->imp, n + 1, sizeof *parts);
  RLX_TRY(onnx_int(c, "axis", 0, &at));
  if (!n || c->n_in != 2 + 3 * n) return RLX_FAIL(RLX_INVALID, "%u inputs", (unsigned)c->n_in);
  if (!parts) return RLX_FAIL(RLX_NO_MEMORY, "%u inputs", (unsigned)c->n_in);
  RLX_TRY(onnx_axis(c, at, onnx_rank(c, 2), &axis));
  for (uint32_t i = 0; i < n; i++) {
    if (!onnx_has(c, 2 + 3 * i) || !onnx_has(c, 3 + 3 * i))
      return RLX_FAIL(RLX_INVALID, "input %u is left out", 2 + 3 * i);
    RLX_TRY(check_one(c, (const uint32_t[]){3 + 3 * i, 4 + 3 * i}, 2));
    parts[i] = dequantized(c, 2 + 3 * i);
  }
  return set_quantized(c, rlx_op_concat(c->g, parts, n, axis), 0, 2);
}

/* ---- pools, perhaps with channels last ---- */

static rlx_node move_channels(onnx_call *c, rlx_node x, bool to_last) {
  rlx_dims p = onnx_dims(c, x);
  int n = p.n;
  for (int i = 0; i < n; i++) p.v[i] = i == 0 ? 0 : to_last ? (i == n - 1 ? 1 : i + 1) : (i == 1 ? n - 1 : i - 1);
  return n > 2 ? rlx_op_transpose(c->g, x, p) : x;
}

static rlx_status pool(onnx_call *c, rlx_status (*fn)(onnx_call *c)) {
  bool last;
  onnx_value *x;
  onnx_call inner = *c;
  RLX_TRY(check_unary(c));
  RLX_TRY(onnx_flag(c, "channels_last", false, &last));
  rlx_node n = dequantized(c, 0);
  if (last) n = move_channels(c, n, false);
  RLX_TRY(onnx_value_make(c, n, ONNX_FLOAT, &x));
  inner.in = &x;
  inner.n_in = 1;
  RLX_TRY(fn(&inner));
  rlx_node y = onnx_node_of(c, c->out[0]);
  return set_quantized(c, last ? move_channels(c, y, true) : y, 3, 0);
}
rlx_status onnx_op_qlinear_average_pool(onnx_call *c) { return pool(c, onnx_op_average_pool); }
rlx_status onnx_op_qlinear_global_average_pool(onnx_call *c) { return pool(c, onnx_op_global_average_pool); }

/* ---- products ---- */

static rlx_node scale_of(onnx_call *c, uint32_t i) {
  rlx_node s = onnx_cast(c, onnx_in(c, i), RLX_F32);
  rlx_dims d = onnx_dims(c, s);
  return s && rlx_dims_count(&d) == 1 ? onnx_one(c, s) : s;
}

rlx_status onnx_op_matmul_integer_to_float(onnx_call *c) {
  rlx_node sum = onnx_integer_matmul(c, onnx_centred_matrix(c, 0, 4, true), onnx_centred_matrix(c, 1, 5, false));
  rlx_node y = rlx_op_mul(c->g, rlx_op_cast(c->g, sum, RLX_F32), rlx_op_mul(c->g, scale_of(c, 2), scale_of(c, 3)));
  if (onnx_has(c, 6)) y = rlx_op_add(c->g, y, onnx_cast(c, onnx_in(c, 6), RLX_F32));
  return onnx_set_as(c, 0, onnx_cast(c, y, onnx_dtype(c, 2)), onnx_in_type(c, 2));
}

/* a is quantised by its own range, as DynamicQuantizeLinear does. */
rlx_status onnx_op_dynamic_quantize_matmul(onnx_call *c) {
  rlx_node x = onnx_in(c, 0), none = rlx_op_scalar(c->g, RLX_F32, 0);
  if (onnx_dtype(c, 0) != RLX_F32) return RLX_FAIL(RLX_INVALID, "a is %s", onnx_type_name(onnx_in_type(c, 0)));
  rlx_node hi = rlx_op_max(c->g, rlx_op_reduce_max(c->g, x, RLX_SCALAR, false), none);
  rlx_node lo = rlx_op_min(c->g, rlx_op_reduce_min(c->g, x, RLX_SCALAR, false), none);
  rlx_node scale = rlx_op_div(c->g, rlx_op_sub(c->g, hi, lo), rlx_op_scalar(c->g, RLX_F32, 255));
  rlx_node zero = rlx_op_round(c->g, rlx_op_clamp(c->g, rlx_op_sub(c->g, none, rlx_op_div(c->g, lo, scale)), 0, 255));
  rlx_node a = rlx_op_quantize(c->g, x, scale, rlx_op_cast(c->g, zero, RLX_U8), RLX_U8, -1);
  rlx_node sum =
    onnx_integer_matmul(c, rlx_op_sub(c->g, rlx_op_cast(c->g, a, RLX_F32), zero), onnx_centred_matrix(c, 1, 3, false));
  rlx_node y = rlx_op_mul(c->g, rlx_op_cast(c->g, sum, RLX_F32), rlx_op_mul(c->g, scale, scale_of(c, 2)));
  if (onnx_has(c, 4)) y = rlx_op_add(c->g, y, onnx_in(c, 4));
  return onnx_set_like(c, 0, y, 0);
}

/* alpha a b + c, c as integers of scale alpha a_scale b_scale. */
rlx_status onnx_op_qgemm(onnx_call *c) {
  bool ta, tb;
  double alpha;
  RLX_TRY(onnx_flag(c, "transA", false, &ta));
  RLX_TRY(onnx_flag(c, "transB", false, &tb));
  RLX_TRY(onnx_float(c, "alpha", 1, &alpha));
  if (onnx_rank(c, 0) != 2 || onnx_rank(c, 3) != 2) return RLX_FAIL(RLX_INVALID, "expected two matrices");
  rlx_node a = onnx_centred_matrix(c, 0, 2, true), b = rlx_op_cast(c->g, onnx_in(c, 3), RLX_F32), zero = onnx_in(c, 5);
  if (ta) a = onnx_transpose_last(c, a);
  if (tb) b = onnx_transpose_last(c, b);
  rlx_dims zs = onnx_dims(c, zero);
  if (zero) zero = rlx_op_cast(c->g, zero, RLX_F32);
  if (zero) b = rlx_op_sub(c->g, b, rlx_dims_count(&zs) == 1 ? onnx_one(c, zero) : zero); /* one per column */
  rlx_node sum = onnx_integer_matmul(c, a, b);
  if (onnx_has(c, 6)) sum = rlx_op_add(c->g, sum, onnx_in(c, 6));
  rlx_node y = rlx_op_mul(c->g, rlx_op_cast(c->g, sum, RLX_F32),
                          onnx_times(c, rlx_op_mul(c->g, scale_of(c, 1), scale_of(c, 4)), alpha));
  if (!onnx_has(c, 7)) return onnx_set(c, 0, y);
  return set_quantized(c, y, 7, onnx_has(c, 8) ? 8 : 0);
}
