/* Activation functions and the softmax family. */
#include "onnx/carry.h"
#include "onnx/ops.h"

static rlx_status set(onnx_call *c, rlx_node n) { return onnx_set_like(c, 0, n, 0); }
static rlx_node like_input(onnx_call *c, double v) { return onnx_number(c, onnx_in_type(c, 0), v); }

/* ---- without parameters ---- */

rlx_status onnx_op_hard_swish(onnx_call *c) { return set(c, rlx_op_hard_swish(c->g, onnx_in(c, 0))); }
rlx_status onnx_op_mish(onnx_call *c) { return set(c, rlx_op_mish(c->g, onnx_in(c, 0))); }
rlx_status onnx_op_sigmoid(onnx_call *c) { return set(c, rlx_op_sigmoid(c->g, onnx_in(c, 0))); }
rlx_status onnx_op_softplus(onnx_call *c) { return set(c, rlx_op_softplus(c->g, onnx_in(c, 0))); }

rlx_status onnx_op_relu(onnx_call *c) {
  rlx_node x = onnx_in(c, 0);
  return set(c, onnx_type_is_float(onnx_in_type(c, 0)) ? rlx_op_relu(c->g, x) : rlx_op_max(c->g, x, like_input(c, 0)));
}

rlx_status onnx_op_softsign(onnx_call *c) {
  rlx_node x = onnx_in(c, 0);
  return set(c, rlx_op_div(c->g, x, rlx_op_add(c->g, rlx_op_abs(c->g, x), like_input(c, 1))));
}

/* ---- with them ---- */

rlx_status onnx_op_elu(onnx_call *c) {
  double alpha;
  RLX_TRY(onnx_float(c, "alpha", 1, &alpha));
  return set(c, rlx_op_elu(c->g, onnx_in(c, 0), alpha));
}

/* alpha elu(x / alpha): above 0 it is x. */
rlx_status onnx_op_celu(onnx_call *c) {
  double alpha;
  RLX_TRY(onnx_float(c, "alpha", 1, &alpha));
  if (alpha == 0) return RLX_FAIL(RLX_INVALID, "attribute 'alpha' is 0");
  rlx_node a = like_input(c, alpha);
  return set(c, rlx_op_mul(c->g, rlx_op_elu(c->g, rlx_op_div(c->g, onnx_in(c, 0), a), 1), a));
}

rlx_status onnx_op_leaky_relu(onnx_call *c) {
  double alpha;
  RLX_TRY(onnx_float(c, "alpha", 0.01, &alpha));
  return set(c, rlx_op_leaky_relu(c->g, onnx_in(c, 0), alpha));
}

rlx_status onnx_op_selu(onnx_call *c) {
  bool old = c->opset < 6;
  double alpha, gamma;
  RLX_TRY(onnx_float(c, "alpha", old ? 1.6732 : 1.67326319217681884765625, &alpha));
  RLX_TRY(onnx_float(c, "gamma", old ? 1.0507 : 1.05070102214813232421875, &gamma));
  return set(c, rlx_op_selu_with(c->g, onnx_in(c, 0), alpha, gamma));
}

rlx_status onnx_op_hard_sigmoid(onnx_call *c) {
  double alpha, beta;
  RLX_TRY(onnx_float(c, "alpha", 0.2, &alpha));
  RLX_TRY(onnx_float(c, "beta", 0.5, &beta));
  return set(c, rlx_op_hard_sigmoid(c->g, onnx_in(c, 0), alpha, beta));
}

rlx_status onnx_op_gelu(onnx_call *c) {
  static const char *const forms[] = {"none", "tanh", NULL};
  int form;
  RLX_TRY(onnx_word(c, "approximate", forms, &form));
  rlx_node x = onnx_in(c, 0);
  return set(c, form ? rlx_op_gelu_approx(c->g, x) : rlx_op_gelu(c->g, x));
}

/* x sigmoid(alpha x) */
static rlx_status swish(onnx_call *c, rlx_node *out) {
  double alpha;
  RLX_TRY(onnx_float(c, "alpha", 1, &alpha));
  rlx_node x = onnx_in(c, 0);
  if (alpha == 1) *out = rlx_op_silu(c->g, x);
  else *out = rlx_op_mul(c->g, x, rlx_op_sigmoid(c->g, rlx_op_mul(c->g, x, like_input(c, alpha))));
  return RLX_OK;
}

rlx_status onnx_op_swish(onnx_call *c) {
  rlx_node y;
  RLX_TRY(swish(c, &y));
  return set(c, y);
}

rlx_status onnx_op_swiglu(onnx_call *c) {
  rlx_node gate;
  rlx_dims a = onnx_shape(c, 0), b = onnx_shape(c, 1);
  RLX_TRY(onnx_same_type(c, 2));
  if (!rlx_dims_equal(&a, &b)) return RLX_FAIL(RLX_INVALID, "gate and value have different shapes");
  RLX_TRY(swish(c, &gate));
  return set(c, rlx_op_mul(c->g, gate, onnx_in(c, 1)));
}

rlx_status onnx_op_thresholded_relu(onnx_call *c) {
  double alpha;
  RLX_TRY(onnx_float(c, "alpha", 1, &alpha));
  rlx_node x = onnx_in(c, 0);
  return set(c, rlx_op_where(c->g, rlx_op_gt(c->g, x, like_input(c, alpha)), x, like_input(c, 0)));
}

/* Integers are compared with the float `lambd`, so they go through f64. */
rlx_status onnx_op_shrink(onnx_call *c) {
  double lambda, bias;
  onnx_type t = onnx_in_type(c, 0), work = onnx_type_is_float(t) ? t : ONNX_DOUBLE;
  rlx_graph *g = c->g;
  rlx_node x, y;
  RLX_TRY(onnx_float(c, "lambd", 0.5, &lambda));
  RLX_TRY(onnx_float(c, "bias", 0, &bias));
  RLX_TRY(onnx_convert(c, onnx_in(c, 0), t, work, &x));
  rlx_node b = onnx_number(c, work, bias), zero = onnx_number(c, work, 0);
  rlx_node above = rlx_op_where(g, rlx_op_gt(g, x, onnx_number(c, work, lambda)), rlx_op_sub(g, x, b), zero);
  y = rlx_op_where(g, rlx_op_lt(g, x, onnx_number(c, work, -lambda)), rlx_op_add(g, x, b), above);
  RLX_TRY(onnx_convert(c, y, work, t, &y));
  return set(c, y);
}

/* Before opset 7 a slope of rank 1 is one per channel. */
rlx_status onnx_op_prelu(onnx_call *c) {
  rlx_graph *g = c->g;
  rlx_dims shape = onnx_shape(c, 1);
  int rank = onnx_rank(c, 0);
  RLX_TRY(onnx_same_type(c, 2));
  rlx_node x = onnx_in(c, 0), slope = onnx_in(c, 1);
  if (c->opset < 7 && shape.n == 1 && rank > 1) {
    for (int i = 2; i < rank; i++) shape.v[shape.n++] = 1;
    slope = rlx_op_reshape(g, slope, shape);
  }
  if (onnx_in_type(c, 0) == ONNX_UINT64) return onnx_set_value(c, 0, c->in[0]), RLX_OK;
  return set(c, rlx_op_where(g, rlx_op_lt(g, x, like_input(c, 0)), rlx_op_mul(g, x, slope), x));
}

/* ---- softmax and its kin ---- */

typedef rlx_node (*along_fn)(rlx_graph *g, rlx_node x, int64_t axis);

/* Before opset 13 all axes from `axis` on are one. */
static rlx_status along(onnx_call *c, along_fn fn) {
  rlx_dims shape = onnx_shape(c, 0), flat = RLX_DIMS(1, 1);
  int64_t at;
  int axis;
  RLX_TRY(onnx_int(c, "axis", c->opset < 13 ? 1 : -1, &at));
  if (shape.n == 0) shape = RLX_DIMS(1), at = 0;
  if (c->opset < 13 && at == shape.n) axis = shape.n; /* all axes in front of it */
  else RLX_TRY(onnx_axis(c, at, shape.n, &axis));
  rlx_node x = onnx_in(c, 0);
  if (c->opset >= 13 && onnx_rank(c, 0) > 0) return set(c, fn(c->g, x, axis));
  for (int i = 0; i < shape.n; i++) flat.v[i >= axis] = rlx_size_mul(c->g, flat.v[i >= axis], shape.v[i]);
  return set(c, rlx_op_reshape(c->g, fn(c->g, rlx_op_reshape(c->g, x, flat), 1), onnx_shape(c, 0)));
}

static rlx_node hardmax(rlx_graph *g, rlx_node x, int64_t axis) {
  rlx_dims shape = rlx_node_shape(g, x);
  if (shape.n == 0 || shape.v[axis] == 0) return x;
  rlx_node at = rlx_op_argmax(g, x, axis, false, RLX_I64);
  return rlx_op_one_hot(g, at, shape.v[axis], axis, 1, 0, rlx_node_dtype(g, x));
}

rlx_status onnx_op_softmax(onnx_call *c) { return along(c, rlx_op_softmax); }
rlx_status onnx_op_log_softmax(onnx_call *c) { return along(c, rlx_op_log_softmax); }
rlx_status onnx_op_hardmax(onnx_call *c) { return along(c, hardmax); }
