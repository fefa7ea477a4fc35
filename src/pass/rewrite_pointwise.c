/* Rewrites of the element-wise composites: activations, fma, clamp, quantize and dequantize, regions.
 *
 * Each is its formula in unary.def or ops.def in terms of exp, log, tanh, erf, max, where and arithmetic. The forms
 * avoid cancellation (except in gelu, whose 1 + erf has no other form) and overflow where the reference, which computes
 * in double, has none. Infinities and NaN agree with the reference. */
#include <math.h>

#include "pass/rewrite.h"

/* ---- shared by several formulas ---- */

/* log(1 + u) for u >= 0, accurate even if u is small: the quotient u / ((1 + u) - 1) corrects what 1 + u loses. */
static rlx_node log_of_one_plus(const rlx_rewrite *r, rlx_node u) {
  rlx_graph *g = r->to;
  rlx_node one = scalar(r, u, 1), w = rlx_op_add(g, u, one);
  rlx_node ratio = rlx_op_div(g, u, rlx_op_sub(g, w, one));
  return rlx_op_where(g, rlx_op_eq(g, w, one), u, rlx_op_mul(g, rlx_op_log(g, w), ratio));
}

/* e^x - 1 for x <= 0: 2 t / (1 - t) with t = tanh(x / 2), without cancellation. */
static rlx_node exp_minus_one(const rlx_rewrite *r, rlx_node x) {
  rlx_graph *g = r->to;
  rlx_node t = rlx_op_tanh(g, rlx_op_mul(g, x, scalar(r, x, 0.5)));
  return rlx_op_div(g, rlx_op_add(g, t, t), rlx_op_sub(g, scalar(r, x, 1), t));
}

/* 1 + e^-x */
static rlx_node logistic_divisor(const rlx_rewrite *r, rlx_node x) {
  return rlx_op_add(r->to, scalar(r, x, 1), rlx_op_exp(r->to, rlx_op_neg(r->to, x)));
}

/* ---- activations ---- */

/* x / 2 (1 + erf(x / sqrt(2))) */
rlx_node rlx_rewrite_gelu(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0);
  rlx_node phi = rlx_op_erf(g, rlx_op_mul(g, x, scalar(r, x, 0.70710678118654752440)));
  return as_result(r, rlx_op_mul(g, rlx_op_mul(g, x, scalar(r, x, 0.5)), rlx_op_add(g, phi, scalar(r, x, 1))));
}

/* x / 2 (1 + tanh(sqrt(2 / pi) x (1 + 0.044715 x^2))) */
rlx_node rlx_rewrite_gelu_approx(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0), one = scalar(r, x, 1);
  rlx_node cubic = rlx_op_add(g, one, rlx_op_mul(g, rlx_op_mul(g, x, x), scalar(r, x, 0.044715)));
  rlx_node t = rlx_op_tanh(g, rlx_op_mul(g, rlx_op_mul(g, x, scalar(r, x, 0.79788456080286535588)), cubic));
  return as_result(r, rlx_op_mul(g, rlx_op_mul(g, x, scalar(r, x, 0.5)), rlx_op_add(g, one, t)));
}

rlx_node rlx_rewrite_silu(rlx_rewrite *r) {
  rlx_node x = wide_input(r, 0);
  return as_result(r, rlx_op_div(r->to, x, logistic_divisor(r, x)));
}

rlx_node rlx_rewrite_sigmoid(rlx_rewrite *r) {
  rlx_node x = wide_input(r, 0);
  return as_result(r, rlx_op_div(r->to, scalar(r, x, 1), logistic_divisor(r, x)));
}

rlx_node rlx_rewrite_relu(rlx_rewrite *r) { return rlx_op_max(r->to, r->in[0], scalar(r, r->in[0], 0)); }

rlx_node rlx_rewrite_leaky_relu(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0), below = rlx_op_mul(g, x, scalar(r, x, RLX_ATTRS(leaky_relu, r->node)->alpha));
  return as_result(r, rlx_op_where(g, rlx_op_ge(g, x, scalar(r, x, 0)), x, below));
}

/* max(x, 0) + log(1 + e^-|x|) */
rlx_node rlx_rewrite_softplus(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0), u = rlx_op_exp(g, rlx_op_neg(g, rlx_op_abs(g, x)));
  return as_result(r, rlx_op_add(g, rlx_op_max(g, x, scalar(r, x, 0)), log_of_one_plus(r, u)));
}

/* With e = e^x, tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2). From x = 20 on it is 1 in every type. */
rlx_node rlx_rewrite_mish(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0), two = scalar(r, x, 2);
  rlx_node e = rlx_op_exp(g, rlx_op_min(g, x, scalar(r, x, 20)));
  rlx_node n = rlx_op_mul(g, e, rlx_op_add(g, e, two));
  return as_result(r, rlx_op_mul(g, x, rlx_op_div(g, n, rlx_op_add(g, n, two))));
}

rlx_node rlx_rewrite_elu(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0);
  rlx_node below = rlx_op_mul(g, exp_minus_one(r, x), scalar(r, x, RLX_ATTRS(elu, r->node)->alpha));
  return as_result(r, rlx_op_where(g, rlx_op_gt(g, x, scalar(r, x, 0)), x, below));
}

rlx_node rlx_rewrite_selu(rlx_rewrite *r) {
  const rlx_attrs_selu *a = RLX_ATTRS(selu, r->node);
  rlx_node x = wide_input(r, 0);
  return as_result(r, rlx_op_mul(r->to, rlx_op_elu(r->to, x, a->alpha), scalar(r, x, a->beta)));
}

rlx_node rlx_rewrite_hard_sigmoid(rlx_rewrite *r) {
  const rlx_attrs_hard_sigmoid *a = RLX_ATTRS(hard_sigmoid, r->node);
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0);
  rlx_node line = rlx_op_add(g, rlx_op_mul(g, x, scalar(r, x, a->alpha)), scalar(r, x, a->beta));
  return as_result(r, rlx_op_clamp(g, line, 0, 1));
}

/* The quotient first: x times 6 may overflow though x does not. */
rlx_node rlx_rewrite_hard_swish(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0);
  rlx_node gate = rlx_op_clamp(g, rlx_op_add(g, x, scalar(r, x, 3)), 0, 6);
  return as_result(r, rlx_op_mul(g, x, rlx_op_div(g, gate, scalar(r, x, 6))));
}

/* ---- arithmetic ---- */

rlx_node rlx_rewrite_rsqrt(rlx_rewrite *r) {
  rlx_node x = wide_input(r, 0);
  return as_result(r, rlx_op_div(r->to, scalar(r, x, 1), rlx_op_sqrt(r->to, x)));
}

rlx_node rlx_rewrite_tan(rlx_rewrite *r) {
  rlx_node x = wide_input(r, 0);
  return as_result(r, rlx_op_div(r->to, rlx_op_sin(r->to, x), rlx_op_cos(r->to, x)));
}

rlx_node rlx_rewrite_reciprocal(rlx_rewrite *r) { return rlx_op_div(r->to, scalar(r, r->in[0], 1), r->in[0]); }

/* An fma is used where the product's rounding would show, so the product is computed in a type that holds it exactly:
 * f32 for f16 and bf16, f64 for f32. For f64 there is none, and the product is rounded. */
rlx_node rlx_rewrite_fma(rlx_rewrite *r) {
  rlx_dtype exact = r->type->dtype == RLX_F16 || r->type->dtype == RLX_BF16 ? RLX_F32 : RLX_F64;
  rlx_node a = as_type(r, r->in[0], exact), b = as_type(r, r->in[1], exact), c = as_type(r, r->in[2], exact);
  return as_result(r, rlx_op_add(r->to, rlx_op_mul(r->to, a, b), c));
}

/* In the node's own type: rounding a bound to it does not change which values are clamped. Infinite bounds are skipped;
 * an integer's bound is rounded inward and saturated. */
rlx_node rlx_rewrite_clamp(rlx_rewrite *r) {
  const rlx_attrs_clamp *a = RLX_ATTRS(clamp, r->node);
  rlx_dtype t = r->type->dtype;
  bool is_float = rlx_dtype_is_float(t);
  rlx_node x = r->in[0];
  if (a->lo > -RLX_INFINITY) x = rlx_op_max(r->to, x, cast_scalar(r, t, is_float ? a->lo : ceil(a->lo)));
  if (a->hi < RLX_INFINITY) x = rlx_op_min(r->to, x, cast_scalar(r, t, is_float ? a->hi : floor(a->hi)));
  return x;
}

/* ---- codes ---- */

/* A scale or zero point reshaped to broadcast with x: a scalar unchanged, a vector along the axis. */
static rlx_node per_channel(const rlx_rewrite *r, rlx_node v, int64_t axis) {
  if (!v || shape_of(r, v).n == 0) return v;
  return along_axis(r, v, rlx_axis_of(axis, r->type->shape.n), r->type->shape.n);
}

/* A type in which codes and zero points of type t can be added and subtracted. */
static rlx_dtype sum_type(rlx_dtype t) { return t == RLX_I32 ? RLX_I64 : RLX_I32; }

/* Without a zero point the cast saturates and converts NaN to 0. With one, that must happen before the sum, but wide
 * enough that the sum still saturates where it should: four times the range of any code. */
rlx_node rlx_rewrite_quantize(rlx_rewrite *r) {
  const rlx_attrs_quantize *a = RLX_ATTRS(quantize, r->node);
  rlx_graph *g = r->to;
  rlx_node zero = per_channel(r, input_of(r, 2), a->axis);
  rlx_node code = rlx_op_round(g, rlx_op_div(g, wide_input(r, 0), per_channel(r, wide_input(r, 1), a->axis)));
  if (!zero) return rlx_op_cast(g, code, a->to);
  rlx_dtype sum = sum_type(a->to);
  double limit = a->to == RLX_I32 ? 0x1p33 : 0x1p18;
  rlx_node whole = rlx_op_cast(g, rlx_op_clamp(g, code, -limit, limit), sum);
  return rlx_op_cast(g, rlx_op_add(g, whole, as_type(r, zero, sum)), a->to);
}

rlx_node rlx_rewrite_dequantize(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  int64_t axis = RLX_ATTRS(dequantize, r->node)->axis;
  rlx_node scale = per_channel(r, wide_input(r, 1), axis), zero = per_channel(r, input_of(r, 2), axis);
  rlx_node x = r->in[0];
  if (zero) {
    rlx_dtype sum = sum_type(dtype_of(r, r->in[0]));
    x = rlx_op_sub(g, as_type(r, x, sum), as_type(r, zero, sum));
  }
  return as_result(r, rlx_op_mul(g, rlx_op_cast(g, x, work_type(r->type->dtype)), scale));
}

/* ---- region ---- */

/* The body's nodes replace the region; the body's inputs are the region's. */
rlx_node rlx_rewrite_region(rlx_rewrite *r) {
  const rlx_graph *body = RLX_ATTRS(region, r->node)->body;
  rlx_node *map = rlx_mem_calloc(rlx_graph_end(body), sizeof *map);
  if (!map) return rlx_graph_set_error(r->to, RLX_FAIL(RLX_NO_MEMORY, "a region of %u nodes", rlx_graph_size(body)));
  uint32_t n_inputs = 0;
  for (rlx_node id = 1; id < rlx_graph_end(body); id++)
    map[id] =
      rlx_graph_at(body, id)->op == RLX_OP_input ? r->in[n_inputs++] : rlx_graph_copy_node(r->to, body, id, map);
  rlx_node result = map[body->outputs.v[0].node];
  rlx_mem_free(map);
  return result;
}
