/* Arithmetic and unary functions.
 *
 * Most are one RLX node. Functions that RLX does not have are composed of others in forms that keep their relative
 * precision near zero; f16 and bf16 are computed in f32 and rounded once. */
#include "onnx/carry.h"
#include "onnx/ops.h"

typedef rlx_node (*unary_fn)(rlx_graph *g, rlx_node x);
typedef rlx_node (*binary_fn)(rlx_graph *g, rlx_node a, rlx_node b);

static rlx_node number(rlx_graph *g, rlx_node like, double v) { return rlx_op_scalar(g, rlx_node_dtype(g, like), v); }

/* ---- one number ---- */

static rlx_status unary(onnx_call *c, unary_fn fn) { return onnx_set_like(c, 0, fn(c->g, onnx_in(c, 0)), 0); }

static rlx_status composed(onnx_call *c, unary_fn fn) {
  if (!onnx_type_is_float(onnx_in_type(c, 0)))
    return RLX_FAIL(RLX_INVALID, "the input is %s, expected floats", onnx_type_name(onnx_in_type(c, 0)));
  return onnx_set_like(c, 0, onnx_narrow(c, fn(c->g, onnx_widen(c, onnx_in(c, 0))), onnx_in_type(c, 0)), 0);
}

/* log(1 + z): the quotient repairs what rounding 1 + z loses. */
static rlx_node log1p_of(rlx_graph *g, rlx_node z) {
  rlx_node one = number(g, z, 1), u = rlx_op_add(g, z, one), log = rlx_op_log(g, u);
  rlx_node exact = rlx_op_div(g, rlx_op_mul(g, log, z), rlx_op_sub(g, u, one));
  rlx_node small = rlx_op_where(g, rlx_op_eq(g, u, one), z, exact);
  return rlx_op_where(g, rlx_op_gt(g, z, number(g, z, 1e6)), log, small);
}

/* sqrt(1 - x^2) */
static rlx_node other_leg(rlx_graph *g, rlx_node x) {
  rlx_node one = number(g, x, 1);
  return rlx_op_sqrt(g, rlx_op_mul(g, rlx_op_sub(g, one, x), rlx_op_add(g, one, x)));
}
static rlx_node asin_of(rlx_graph *g, rlx_node x) { return rlx_op_atan2(g, x, other_leg(g, x)); }
static rlx_node acos_of(rlx_graph *g, rlx_node x) { return rlx_op_atan2(g, other_leg(g, x), x); }

/* e^x / 2 and e^-x / 2, computed from e^(x/2) so that the first does not overflow before the sum does. */
static void half_exponentials(rlx_graph *g, rlx_node x, rlx_node *up, rlx_node *down) {
  rlx_node half = number(g, x, 0.5), root = rlx_op_exp(g, rlx_op_mul(g, x, half));
  *up = rlx_op_mul(g, rlx_op_mul(g, root, half), root);
  *down = rlx_op_div(g, rlx_op_div(g, half, root), root);
}

static rlx_node cosh_of(rlx_graph *g, rlx_node x) {
  rlx_node up, down;
  half_exponentials(g, x, &up, &down);
  return rlx_op_add(g, up, down);
}

/* Near zero 2 t / (1 - t^2) with t = tanh(x / 2), where the exponentials would cancel. */
static rlx_node sinh_of(rlx_graph *g, rlx_node x) {
  rlx_node up, down, one = number(g, x, 1);
  half_exponentials(g, x, &up, &down);
  rlx_node t = rlx_op_tanh(g, rlx_op_mul(g, x, number(g, x, 0.5)));
  rlx_node near_zero = rlx_op_div(g, rlx_op_add(g, t, t), rlx_op_sub(g, one, rlx_op_mul(g, t, t)));
  return rlx_op_where(g, rlx_op_lt(g, rlx_op_abs(g, x), one), near_zero, rlx_op_sub(g, up, down));
}

/* |x| + x^2 / (1 + sqrt(1 + x^2)) is what goes on top of 1; large x are log(2 |x|). */
static rlx_node asinh_of(rlx_graph *g, rlx_node x) {
  rlx_node one = number(g, x, 1), a = rlx_op_abs(g, x), limit = number(g, x, 1e9);
  rlx_node near = rlx_op_min(g, a, limit), square = rlx_op_mul(g, near, near);
  rlx_node root = rlx_op_sqrt(g, rlx_op_add(g, square, one));
  rlx_node z = rlx_op_add(g, near, rlx_op_div(g, square, rlx_op_add(g, root, one)));
  rlx_node large = rlx_op_add(g, rlx_op_log(g, a), number(g, x, 0.69314718055994531));
  rlx_node y = rlx_op_where(g, rlx_op_gt(g, a, limit), large, log1p_of(g, z));
  return rlx_op_where(g, rlx_op_lt(g, x, number(g, x, 0)), rlx_op_neg(g, y), y);
}

static rlx_node acosh_of(rlx_graph *g, rlx_node x) {
  rlx_node t = rlx_op_sub(g, x, number(g, x, 1));
  rlx_node root = rlx_op_mul(g, rlx_op_sqrt(g, t), rlx_op_sqrt(g, rlx_op_add(g, t, number(g, x, 2))));
  return log1p_of(g, rlx_op_add(g, t, root));
}

static rlx_node atanh_of(rlx_graph *g, rlx_node x) {
  rlx_node z = rlx_op_div(g, rlx_op_add(g, x, x), rlx_op_sub(g, number(g, x, 1), x));
  return rlx_op_mul(g, log1p_of(g, z), number(g, x, 0.5));
}

#define UNARY(name, fn) \
  rlx_status onnx_op_##name(onnx_call *c) { return unary(c, fn); }
#define COMPOSED(name) \
  rlx_status onnx_op_##name(onnx_call *c) { return composed(c, name##_of); }

UNARY(atan, rlx_op_atan)
UNARY(ceil, rlx_op_ceil)
UNARY(cos, rlx_op_cos)
UNARY(erf, rlx_op_erf)
UNARY(exp, rlx_op_exp)
UNARY(floor, rlx_op_floor)
UNARY(log, rlx_op_log)
UNARY(neg, rlx_op_neg)
UNARY(reciprocal, rlx_op_reciprocal)
UNARY(round, rlx_op_round)
UNARY(sin, rlx_op_sin)
UNARY(sqrt, rlx_op_sqrt)
UNARY(tan, rlx_op_tan)
UNARY(tanh, rlx_op_tanh)
COMPOSED(acos)
COMPOSED(acosh)
COMPOSED(asin)
COMPOSED(asinh)
COMPOSED(atanh)
COMPOSED(cosh)
COMPOSED(sinh)

rlx_status onnx_op_abs(onnx_call *c) {
  if (onnx_type_is_unsigned(onnx_in_type(c, 0))) return onnx_set_value(c, 0, c->in[0]), RLX_OK;
  return unary(c, rlx_op_abs);
}

rlx_status onnx_op_sign(onnx_call *c) {
  if (onnx_in_type(c, 0) != ONNX_UINT64) return unary(c, rlx_op_sign);
  rlx_node x = onnx_in(c, 0), is_zero = rlx_op_eq(c->g, x, onnx_integer(c, 0));
  return onnx_set_like(c, 0, rlx_op_where(c->g, is_zero, onnx_integer(c, 0), onnx_integer(c, 1)), 0);
}

/* ---- two numbers ---- */

static rlx_status binary(onnx_call *c, binary_fn fn) {
  rlx_node a, b;
  RLX_TRY(onnx_operands(c, &a, &b));
  return onnx_set_like(c, 0, onnx_wrap(c, fn(c->g, a, b), onnx_in_type(c, 0)), 0);
}

#define BINARY(name, fn) \
  rlx_status onnx_op_##name(onnx_call *c) { return binary(c, fn); }
BINARY(add, rlx_op_add)
BINARY(mul, rlx_op_mul)
BINARY(sub, rlx_op_sub)

rlx_status onnx_op_div(onnx_call *c) {
  rlx_node a, b;
  RLX_TRY(onnx_operands(c, &a, &b));
  return onnx_set_like(c, 0, onnx_divide(c, a, b, onnx_in_type(c, 0)), 0);
}

/* The rest of a division that is cut toward zero: the sign of a. */
static rlx_node truncated_mod(onnx_call *c, rlx_node a, rlx_node b) {
  rlx_graph *g = c->g;
  onnx_type t = onnx_in_type(c, 0);
  if (!onnx_type_is_float(t)) return rlx_op_sub(g, a, rlx_op_mul(g, onnx_divide(c, a, b, t), b));
  rlx_node rest = rlx_op_mod(g, rlx_op_abs(g, a), rlx_op_abs(g, b));
  return rlx_op_where(g, rlx_op_lt(g, a, number(g, a, 0)), rlx_op_neg(g, rest), rest);
}

rlx_status onnx_op_mod(onnx_call *c) {
  bool cut;
  rlx_node a, b;
  RLX_TRY(onnx_flag(c, "fmod", false, &cut));
  RLX_TRY(onnx_operands(c, &a, &b));
  if (onnx_in_type(c, 0) == ONNX_UINT64) cut = true; /* equivalent for unsigned values, and division handles the type */
  return onnx_set_like(c, 0, cut ? truncated_mod(c, a, b) : rlx_op_mod(c->g, a, b), 0);
}

/* The powers that models take most are products; 0: it is none of them. */
static rlx_node small_power(onnx_call *c) {
  double p = 0;
  rlx_dims shape = onnx_shape(c, 1);
  if (shape.n > onnx_rank(c, 0) || rlx_dims_open(&shape) || rlx_dims_count(&shape) != 1 || !onnx_is_known(c, 1))
    return RLX_NONE;
  if (onnx_need_number(c, 1, &p)) return RLX_NONE;
  rlx_node x = p == 2 || p == 3 ? onnx_in(c, 0) : RLX_NONE;
  if (!x) return RLX_NONE;
  rlx_node square = rlx_op_mul(c->g, x, x);
  return p == 2 ? square : rlx_op_mul(c->g, square, x);
}

/* The type is the base's. Integers by integers are computed as such; by floats, in f64. */
rlx_status onnx_op_pow(onnx_call *c) {
  onnx_type base = onnx_in_type(c, 0), power = onnx_in_type(c, 1), work = base;
  rlx_node a, b, y;
  if (c->opset < 7) return binary(c, rlx_op_pow);
  if ((y = small_power(c))) return onnx_set_like(c, 0, onnx_wrap(c, y, base), 0);
  if (!onnx_type_is_float(base) && onnx_type_is_float(power)) work = ONNX_DOUBLE;
  else if (!onnx_type_is_float(base) && base != power) work = ONNX_INT64;
  RLX_TRY(onnx_convert(c, onnx_in(c, 0), base, work, &a));
  RLX_TRY(onnx_convert(c, onnx_in(c, 1), power, work, &b));
  RLX_TRY(onnx_convert(c, rlx_op_pow(c->g, a, b), work, base, &y));
  return onnx_set_like(c, 0, onnx_wrap(c, y, base), 0);
}

/* ---- any number of them ---- */

static rlx_status need_inputs(const onnx_call *c) {
  for (uint32_t i = 0; i < c->n_in; i++)
    if (!c->in[i]) return RLX_FAIL(RLX_INVALID, "input %u is left out", (unsigned)i);
  if (!c->n_in) return RLX_FAIL(RLX_INVALID, "no input");
  return onnx_same_type(c, c->n_in);
}

static rlx_node fold(onnx_call *c, binary_fn fn) {
  onnx_type t = onnx_in_type(c, 0);
  rlx_node y = onnx_ordered(c, onnx_in(c, 0), t);
  for (uint32_t i = 1; i < c->n_in; i++) y = fn(c->g, y, onnx_ordered(c, onnx_in(c, i), t));
  return onnx_ordered(c, y, t);
}

rlx_status onnx_op_max(onnx_call *c) {
  RLX_TRY(need_inputs(c));
  return onnx_set_like(c, 0, fold(c, rlx_op_max), 0);
}
rlx_status onnx_op_min(onnx_call *c) {
  RLX_TRY(need_inputs(c));
  return onnx_set_like(c, 0, fold(c, rlx_op_min), 0);
}
rlx_status onnx_op_sum(onnx_call *c) {
  RLX_TRY(need_inputs(c));
  return onnx_set_like(c, 0, fold(c, rlx_op_add), 0);
}
rlx_status onnx_op_mean(onnx_call *c) {
  RLX_TRY(need_inputs(c));
  rlx_node n = onnx_number(c, onnx_in_type(c, 0), (double)c->n_in);
  return onnx_set_like(c, 0, rlx_op_div(c->g, fold(c, rlx_op_add), n), 0);
}

/* ---- bounds ---- */

static rlx_node bound(onnx_call *c, uint32_t i) {
  return onnx_ordered(c, rlx_op_reshape(c->g, onnx_in(c, i), RLX_SCALAR), onnx_in_type(c, 0));
}

static rlx_status clip_by_attributes(onnx_call *c) {
  double lo, hi;
  RLX_TRY(onnx_float(c, "min", -RLX_INFINITY, &lo));
  RLX_TRY(onnx_float(c, "max", RLX_INFINITY, &hi));
  return onnx_set_like(c, 0, rlx_op_clamp(c->g, onnx_in(c, 0), lo, hi), 0);
}

/* With bounds that are known one op, which others fuse with. */
static rlx_status clip_known(onnx_call *c) {
  double lo = -RLX_INFINITY, hi = RLX_INFINITY;
  if (onnx_has(c, 1)) RLX_TRY(onnx_need_number(c, 1, &lo));
  if (onnx_has(c, 2)) RLX_TRY(onnx_need_number(c, 2, &hi));
  return onnx_set_like(c, 0, rlx_op_clamp(c->g, onnx_in(c, 0), lo, hi), 0);
}

rlx_status onnx_op_clip(onnx_call *c) {
  onnx_type t = onnx_in_type(c, 0);
  if (c->opset < 11) return clip_by_attributes(c);
  RLX_TRY(onnx_same_type(c, 3));
  if (onnx_type_is_float(t) && (!onnx_has(c, 1) || onnx_is_known(c, 1)) && (!onnx_has(c, 2) || onnx_is_known(c, 2)))
    return clip_known(c);
  rlx_node x = onnx_ordered(c, onnx_in(c, 0), t);
  if (onnx_has(c, 1)) x = rlx_op_max(c->g, x, bound(c, 1));
  if (onnx_has(c, 2)) x = rlx_op_min(c->g, x, bound(c, 2));
  return onnx_set_like(c, 0, onnx_ordered(c, x, t), 0);
}
