/* Carrier types: wrapping, ordering, division and conversion; and operands of binary ops. */
#include "onnx/carry.h"

#include <inttypes.h>

#include "base/arith.h"

enum { MAX_ELEMENTS = INT32_MAX };

/* ---- kinds ---- */

bool onnx_type_is_float(onnx_type t) {
  return t == ONNX_FLOAT || t == ONNX_FLOAT16 || t == ONNX_BFLOAT16 || t == ONNX_DOUBLE;
}

bool onnx_type_is_float8(onnx_type t) { return t == ONNX_FLOAT8E4M3FN || t == ONNX_FLOAT8E5M2; }

bool onnx_type_is_unsigned(onnx_type t) {
  return t == ONNX_UINT8 || t == ONNX_UINT16 || t == ONNX_UINT32 || t == ONNX_UINT64 || t == ONNX_UINT4 ||
         t == ONNX_UINT2;
}

bool onnx_type_is_integer(onnx_type t) {
  return onnx_type_is_unsigned(t) || t == ONNX_INT8 || t == ONNX_INT16 || t == ONNX_INT32 || t == ONNX_INT64 ||
         t == ONNX_INT4 || t == ONNX_INT2;
}

unsigned onnx_type_bits(onnx_type t) {
  size_t bytes;
  if (onnx_type_carrier(t) == RLX_DTYPE_UNKNOWN || onnx_raw_bytes(t, 8, &bytes)) return 0;
  return (unsigned)bytes;
}

/* ---- constants ---- */

rlx_node onnx_number(onnx_call *c, onnx_type t, double value) {
  return rlx_op_scalar(c->g, onnx_type_carrier(t), value);
}

rlx_node onnx_integer(onnx_call *c, int64_t value) {
  return rlx_op_constant(c->g, RLX_I64, RLX_SCALAR, &value, sizeof value);
}

/* ---- u16 and u64 ---- */

rlx_node onnx_wrap(onnx_call *c, rlx_node n, onnx_type t) {
  return t == ONNX_UINT16 ? rlx_op_bit_and(c->g, n, rlx_op_scalar(c->g, RLX_I32, 0xffff)) : n;
}

rlx_node onnx_ordered(onnx_call *c, rlx_node n, onnx_type t) {
  return t == ONNX_UINT64 ? rlx_op_bit_xor(c->g, n, onnx_integer(c, INT64_MIN)) : n;
}

static rlx_node halve_u64(onnx_call *c, rlx_node n) {
  return rlx_op_bit_and(c->g, rlx_op_shr(c->g, n, onnx_integer(c, 1)), onnx_integer(c, INT64_MAX));
}

static rlx_node max_u64(onnx_call *c, rlx_node a, rlx_node b) {
  return rlx_op_ge(c->g, onnx_ordered(c, a, ONNX_UINT64), onnx_ordered(c, b, ONNX_UINT64));
}

/* Half the dividend fits a signed division; twice its quotient is exact or one too small. A divisor with the top bit
 * set fits once or not at all. */
static rlx_node divide_u64(onnx_call *c, rlx_node a, rlx_node b) {
  rlx_graph *g = c->g;
  rlx_node zero = onnx_integer(c, 0), one = onnx_integer(c, 1);
  rlx_node q = rlx_op_shl(g, rlx_op_div(g, halve_u64(c, a), b), one);
  rlx_node rest = rlx_op_sub(g, a, rlx_op_mul(g, q, b));
  q = rlx_op_add(g, q, rlx_op_cast(g, max_u64(c, rest, b), RLX_I64));
  rlx_node high = rlx_op_cast(g, max_u64(c, a, b), RLX_I64);
  q = rlx_op_where(g, rlx_op_lt(g, b, zero), high, q);
  return rlx_op_where(g, rlx_op_eq(g, b, zero), zero, q);
}

rlx_node onnx_divide(onnx_call *c, rlx_node a, rlx_node b, onnx_type t) {
  return t == ONNX_UINT64 ? divide_u64(c, a, b) : rlx_op_div(c->g, a, b);
}

/* ---- conversion ---- */

static rlx_node cast(onnx_call *c, rlx_node n, rlx_dtype to) {
  return rlx_node_dtype(c->g, n) == to ? n : rlx_op_cast(c->g, n, to);
}

/* Every value of `from` is one of `to`. */
static bool holds(onnx_type to, onnx_type from) {
  unsigned a = onnx_type_bits(from), b = onnx_type_bits(to);
  if (onnx_type_is_unsigned(from)) return onnx_type_is_unsigned(to) ? b >= a : b > a;
  return !onnx_type_is_unsigned(to) && b >= a;
}

static rlx_node integer_to_integer(onnx_call *c, rlx_node n, onnx_type from, onnx_type to) {
  unsigned bits = onnx_type_bits(to);
  if (holds(to, from)) return cast(c, n, onnx_type_carrier(to));
  rlx_node wide = cast(c, n, RLX_I64);
  if (bits < 64 && onnx_type_is_unsigned(to)) {
    wide = rlx_op_bit_and(c->g, wide, onnx_integer(c, (int64_t)((UINT64_C(1) << bits) - 1)));
  } else if (bits < 64) {
    rlx_node by = onnx_integer(c, 64 - (int64_t)bits);
    wide = rlx_op_shr(c->g, rlx_op_shl(c->g, wide, by), by);
  }
  return cast(c, wide, onnx_type_carrier(to));
}

static rlx_node u64_to_float(onnx_call *c, rlx_node n, rlx_dtype to) {
  rlx_graph *g = c->g;
  /* The bit that halving drops decides ties: it is kept in the last place. */
  rlx_node half = rlx_op_bit_or(g, halve_u64(c, n), rlx_op_bit_and(g, n, onnx_integer(c, 1)));
  rlx_node large = rlx_op_mul(g, rlx_op_cast(g, half, to), rlx_op_scalar(g, to, 2));
  return rlx_op_where(g, rlx_op_lt(g, n, onnx_integer(c, 0)), large, rlx_op_cast(g, n, to));
}

static rlx_node float_to_u64(onnx_call *c, rlx_node n) {
  rlx_graph *g = c->g;
  rlx_node wide = cast(c, n, rlx_node_dtype(g, n) == RLX_F64 ? RLX_F64 : RLX_F32);
  rlx_node limit = rlx_op_scalar(g, rlx_node_dtype(g, wide), 0x1p63);
  rlx_node high = onnx_ordered(c, rlx_op_cast(g, rlx_op_sub(g, wide, limit), RLX_I64), ONNX_UINT64);
  return rlx_op_where(g, rlx_op_ge(g, wide, limit), high, rlx_op_cast(g, wide, RLX_I64));
}

/* Small types keep their low bits, as integers do. */
static rlx_node float_to_integer(onnx_call *c, rlx_node n, onnx_type to) {
  if (to == ONNX_UINT64) return float_to_u64(c, n);
  if (onnx_type_bits(to) < 8 || to == ONNX_UINT16) return integer_to_integer(c, cast(c, n, RLX_I32), ONNX_INT32, to);
  return cast(c, n, onnx_type_carrier(to));
}

/* Without `saturate`, what rounds past the largest number is infinite, or NaN where there is no infinity. */
rlx_node onnx_to_float8(onnx_call *c, rlx_node n, onnx_type to, bool saturate) {
  rlx_graph *g = c->g;
  rlx_dtype carrier = onnx_type_carrier(to), wide = rlx_node_dtype(g, n);
  if (saturate) return rlx_op_cast(g, n, carrier);
  bool is_e5m2 = to == ONNX_FLOAT8E5M2;
  rlx_node limit = rlx_op_scalar(g, wide, is_e5m2 ? 61440 : 464),
           size = rlx_op_abs(g, n);                                                /* half way to the next one */
  rlx_node past = is_e5m2 ? rlx_op_ge(g, size, limit) : rlx_op_gt(g, size, limit); /* a tie goes to the even one */
  const uint8_t codes[2] = {is_e5m2 ? 0x7c : 0x7f, is_e5m2 ? 0xfc : 0xff};
  rlx_node far[2];
  for (int i = 0; i < 2; i++) far[i] = rlx_op_constant(g, carrier, RLX_SCALAR, &codes[i], 1);
  rlx_node sign = rlx_op_lt(g, n, rlx_op_scalar(g, wide, 0));
  return rlx_op_where(g, past, rlx_op_where(g, sign, far[1], far[0]), rlx_op_cast(g, n, carrier));
}

rlx_status onnx_convert(onnx_call *c, rlx_node n, onnx_type from, onnx_type to, rlx_node *out) {
  rlx_dtype carrier = onnx_type_carrier(to);
  if (carrier == RLX_DTYPE_UNKNOWN || !onnx_type_bits(to) || from == ONNX_COMPLEX64 || to == ONNX_COMPLEX64)
    return onnx_refuse(c, "a conversion from %s to %s", onnx_type_name(from), onnx_type_name(to));
  if (from == to) *out = n;
  else if (onnx_type_is_float8(from)) return onnx_convert(c, rlx_op_cast(c->g, n, RLX_F32), ONNX_FLOAT, to, out);
  else if (onnx_type_is_float8(to) && !onnx_type_is_float(from)) {
    RLX_TRY(onnx_convert(c, n, from, ONNX_DOUBLE, &n));
    *out = onnx_to_float8(c, n, to, true);
  } else if (onnx_type_is_integer(from) && onnx_type_is_integer(to)) *out = integer_to_integer(c, n, from, to);
  else if (from == ONNX_UINT64 && onnx_type_is_float(to)) *out = u64_to_float(c, n, carrier);
  else if (onnx_type_is_float(from) && onnx_type_is_integer(to)) *out = float_to_integer(c, n, to);
  else *out = cast(c, n, carrier);
  return RLX_OK;
}

rlx_node onnx_widen(onnx_call *c, rlx_node x) {
  rlx_dtype dtype = rlx_node_dtype(c->g, x);
  return dtype == RLX_F16 || dtype == RLX_BF16 ? rlx_op_cast(c->g, x, RLX_F32) : x;
}

rlx_node onnx_narrow(onnx_call *c, rlx_node n, onnx_type t) { return n ? cast(c, n, onnx_type_carrier(t)) : n; }

/* ---- operands ---- */

rlx_status onnx_same_type(const onnx_call *c, uint32_t n) {
  for (uint32_t i = 1; i < n; i++)
    if (onnx_has(c, i) && onnx_in_type(c, i) != onnx_in_type(c, 0))
      return RLX_FAIL(RLX_INVALID, "input %u is %s, expected %s as input 0", (unsigned)i,
                      onnx_type_name(onnx_in_type(c, i)), onnx_type_name(onnx_in_type(c, 0)));
  return RLX_OK;
}

/* The shape under which b, which stands at `axis` of a, broadcasts from the end. */
static rlx_status align(const onnx_call *c, rlx_dims *shape) {
  int64_t at;
  int axis, rank = onnx_rank(c, 0);
  RLX_TRY(onnx_int(c, "axis", rank - shape->n, &at));
  if (rank < shape->n) return RLX_FAIL(RLX_INVALID, "b has %d axes, and a %d", (int)shape->n, rank);
  if (shape->n == 0) return RLX_OK;
  RLX_TRY(onnx_axis(c, at, rank, &axis));
  if (axis + shape->n > rank)
    return RLX_FAIL(RLX_INVALID, "b has %d axes, too many from axis %d of %d on", (int)shape->n, axis, rank);
  while (axis + shape->n < rank) shape->v[shape->n++] = 1;
  return RLX_OK;
}

rlx_status onnx_operands(onnx_call *c, rlx_node *a, rlx_node *b) {
  bool broadcast = false;
  rlx_dims shape = onnx_shape(c, 1);
  RLX_TRY(onnx_same_type(c, 2));
  if (c->opset < 7) RLX_TRY(onnx_flag(c, "broadcast", false, &broadcast));
  if (broadcast) RLX_TRY(align(c, &shape));
  else if (c->opset < 7) onnx_pass_over(c, "axis");
  *a = onnx_in(c, 0);
  *b = onnx_in(c, 1);
  if (broadcast) *b = rlx_op_reshape(c->g, *b, shape);
  return RLX_OK;
}

rlx_status onnx_axes_given(onnx_call *c, int64_t since, uint32_t input, rlx_dims *axes) {
  *axes = RLX_SCALAR;
  if (c->opset < since) return onnx_dims_of(c, "axes", axes);
  return onnx_has(c, input) ? onnx_need_dims(c, input, axes) : RLX_OK;
}

rlx_status onnx_check_size(onnx_call *c, const rlx_dims *shape) {
  uint64_t n = 1;
  if (rlx_dims_open(shape)) return RLX_OK; /* checked when it is bound */
  for (int i = 0; i < shape->n; i++) {
    if (shape->v[i] < 0) return RLX_FAIL(RLX_INVALID, "axis %d would have %" PRId64 " elements", i, shape->v[i]);
    if (!rlx_mul_u64(n, (uint64_t)shape->v[i], &n)) n = UINT64_MAX;
  }
  for (int i = 0; i < shape->n; i++)
    if (shape->v[i] == 0) return RLX_OK;
  if (n > MAX_ELEMENTS) return onnx_refuse(c, "a result of more than %d elements", (int)MAX_ELEMENTS);
  return RLX_OK;
}
