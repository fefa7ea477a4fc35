/* Quantised values: integers with scale and zero point, per tensor, per axis, or per block of an axis. */
#include <inttypes.h>

#include "onnx/carry.h"
#include "onnx/compose.h"

/* ---- granularity ---- */

typedef struct grain {
  int axis;      /* of a scale per element of an axis, or of blocks */
  int64_t block; /* 0: not by blocks */
  bool is_one;   /* one scale for all */
} grain;

static rlx_status read_grain(onnx_call *c, grain *out) {
  rlx_dims x = onnx_shape(c, 0), s = onnx_shape(c, 1);
  int64_t axis, block;
  RLX_TRY(onnx_int(c, "axis", 1, &axis));
  RLX_TRY(onnx_int(c, "block_size", 0, &block));
  *out = (grain){.is_one = rlx_dims_count(&s) == 1 && s.n <= 1};
  if (out->is_one && !block) return RLX_OK;
  if (x.n == 1 && axis == 1) axis = 0;
  RLX_TRY(onnx_axis(c, axis, x.n, &out->axis));
  if (s.n == 1 && !block) {
    if (s.v[0] != x.v[out->axis])
      return RLX_FAIL(RLX_INVALID, "%" PRId64 " scales for %" PRId64 " elements of axis %d", s.v[0], x.v[out->axis],
                      out->axis);
    return RLX_OK;
  }
  if (s.n != x.n) return RLX_FAIL(RLX_INVALID, "the scale has %d axes, the input %d", (int)s.n, (int)x.n);
  int64_t n = s.v[out->axis], size = x.v[out->axis];
  if (!block) block = n ? (size + n - 1) / n : 1;
  if (block < 1 || n < 1 || (size + block - 1) / block != n)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " blocks of %" PRId64 " for %" PRId64 " elements", n, block, size);
  for (int i = 0; i < x.n; i++)
    if (i != out->axis && s.v[i] != x.v[i]) return RLX_FAIL(RLX_INVALID, "the scale does not fit axis %d", i);
  out->block = block;
  return RLX_OK;
}

/* A scale or zero point that broadcasts over the input. */
static rlx_node spread(onnx_call *c, rlx_node s, const grain *how) {
  rlx_dims x = onnx_shape(c, 0), shape = onnx_dims(c, s);
  if (!s) return s;
  if (how->is_one && !how->block) return onnx_one(c, s);
  if (!how->block) return onnx_along(c, s, how->axis, x.n);
  if (how->block == 1) return s;
  int64_t before = 1, after = 1, n = shape.v[how->axis];
  for (int i = 0; i < how->axis; i++) before *= shape.v[i];
  for (int i = how->axis + 1; i < shape.n; i++) after *= shape.v[i];
  s = onnx_reshape(c, s, RLX_DIMS(before, n, 1, after));
  s = rlx_op_expand(c->g, s, RLX_DIMS(before, n, how->block, after));
  s = onnx_reshape(c, s, RLX_DIMS(before, n * how->block, after));
  return onnx_reshape(c, onnx_part(c, s, 1, 0, x.v[how->axis]), x);
}

/* ---- QuantizeLinear ---- */

static bool range_of(onnx_type t, double *lo, double *hi) {
  static const struct {
    onnx_type type;
    double lo, hi;
  } ranges[] = {{ONNX_UINT8, 0, 255}, {ONNX_INT8, -128, 127}, {ONNX_UINT16, 0, 65535}, {ONNX_INT16, -32768, 32767},
                {ONNX_INT4, -8, 7},   {ONNX_UINT4, 0, 15},    {ONNX_INT2, -2, 1},      {ONNX_UINT2, 0, 3}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (ranges[i].type == t) return *lo = ranges[i].lo, *hi = ranges[i].hi, true;
  return false;
}

static rlx_status quantized_type(onnx_call *c, onnx_type *out) {
  int64_t asked;
  RLX_TRY(onnx_int(c, "output_dtype", 0, &asked));
  *out = onnx_has(c, 2) ? onnx_in_type(c, 2) : asked ? (onnx_type)asked : ONNX_UINT8;
  if (asked < 0 || asked >= ONNX_TYPES || (asked && onnx_has(c, 2) && asked != (int64_t)onnx_in_type(c, 2)))
    return RLX_FAIL(RLX_INVALID, "output_dtype is %" PRId64 ", the zero point %s", asked,
                    onnx_type_name(onnx_in_type(c, 2)));
  return RLX_OK;
}

rlx_status onnx_op_quantize_linear(onnx_call *c) {
  onnx_type type;
  double lo = 0, hi = 0;
  grain how;
  int64_t precision;
  RLX_TRY(quantized_type(c, &type));
  RLX_TRY(onnx_int(c, "precision", 0, &precision));
  bool is_float8 = onnx_type_is_float8(type), saturate;
  RLX_TRY(onnx_flag(c, "saturate", true, &saturate));
  if (!is_float8 && !range_of(type, &lo, &hi)) return onnx_refuse(c, "quantising to %s", onnx_type_name(type));
  RLX_TRY(read_grain(c, &how));
  rlx_node x = onnx_in(c, 0), scale = onnx_in(c, 1), zero = onnx_in(c, 2);
  if (!onnx_holds_floats(onnx_dtype(c, 0))) x = rlx_op_cast(c->g, x, RLX_F32);
  rlx_dtype wide = precision == ONNX_DOUBLE || onnx_dtype(c, 1) == RLX_F64 ? RLX_F64 : RLX_F32;
  bool is_byte = type == ONNX_UINT8 || type == ONNX_INT8 || type == ONNX_INT16;
  if (is_byte && !how.block && wide == RLX_F32 && onnx_dtype(c, 1) == RLX_F32) {
    if (how.is_one) scale = onnx_one(c, scale), zero = onnx_one(c, zero);
    rlx_node y = rlx_op_quantize(c->g, onnx_cast(c, x, RLX_F32), scale, zero, onnx_type_carrier(type), how.axis);
    return onnx_set_as(c, 0, y, type);
  }
  /* The division is rounded to the scale's type. */
  rlx_dtype narrow = precision && precision < ONNX_TYPES ? onnx_type_carrier((onnx_type)precision) : onnx_dtype(c, 1);
  rlx_node y = rlx_op_div(c->g, onnx_cast(c, x, wide), spread(c, onnx_cast(c, scale, wide), &how));
  if (onnx_holds_floats(narrow)) y = onnx_cast(c, onnx_cast(c, y, narrow), wide);
  if (!is_float8) y = rlx_op_round(c->g, y);
  if (zero) y = rlx_op_add(c->g, y, spread(c, rlx_op_cast(c->g, zero, wide), &how));
  y = is_float8 ? onnx_to_float8(c, y, type, saturate)
                : rlx_op_cast(c->g, rlx_op_clamp(c->g, y, lo, hi), onnx_type_carrier(type));
  return onnx_set_as(c, 0, y, type);
}

/* ---- DequantizeLinear ---- */

rlx_status onnx_op_dequantize_linear(onnx_call *c) {
  grain how;
  int64_t asked;
  RLX_TRY(onnx_int(c, "output_dtype", 0, &asked));
  if (asked < 0 || asked >= ONNX_TYPES || (asked && !onnx_holds_floats(onnx_type_carrier((onnx_type)asked))))
    return RLX_FAIL(RLX_INVALID, "output_dtype is %" PRId64, asked);
  RLX_TRY(read_grain(c, &how));
  rlx_dtype to = asked ? onnx_type_carrier((onnx_type)asked) : onnx_dtype(c, 1);
  if (!onnx_holds_floats(to) || onnx_holds_floats(onnx_dtype(c, 0)))
    return RLX_FAIL(RLX_INVALID, "%s with a scale of %s", onnx_type_name(onnx_in_type(c, 0)),
                    onnx_type_name(onnx_in_type(c, 1)));
  rlx_node x = onnx_in(c, 0), scale = onnx_in(c, 1), zero = onnx_in(c, 2);
  if (!onnx_type_is_float8(onnx_in_type(c, 0)) && !how.block && to == onnx_dtype(c, 1) &&
      (!zero || onnx_dtype(c, 2) == onnx_dtype(c, 0))) {
    if (how.is_one) scale = onnx_one(c, scale), zero = onnx_one(c, zero);
    return onnx_set(c, 0, rlx_op_dequantize(c->g, x, scale, zero, how.axis));
  }
  rlx_node y = rlx_op_cast(c->g, x, to);
  if (zero) y = rlx_op_sub(c->g, y, spread(c, rlx_op_cast(c->g, zero, to), &how));
  return onnx_set(c, 0, rlx_op_mul(c->g, y, spread(c, onnx_cast(c, scale, to), &how)));
}

/* scale = (max - min) / 255 with 0 in between, zero = where 0 goes. */
rlx_status onnx_op_dynamic_quantize_linear(onnx_call *c) {
  rlx_node x = onnx_in(c, 0), none = rlx_op_scalar(c->g, RLX_F32, 0);
  if (onnx_dtype(c, 0) != RLX_F32) return RLX_FAIL(RLX_INVALID, "the input is %s", onnx_type_name(onnx_in_type(c, 0)));
  rlx_node hi = rlx_op_max(c->g, rlx_op_reduce_max(c->g, x, RLX_SCALAR, false), none);
  rlx_node lo = rlx_op_min(c->g, rlx_op_reduce_min(c->g, x, RLX_SCALAR, false), none);
  rlx_node scale = rlx_op_div(c->g, rlx_op_sub(c->g, hi, lo), rlx_op_scalar(c->g, RLX_F32, 255));
  rlx_node zero = rlx_op_round(c->g, rlx_op_clamp(c->g, rlx_op_sub(c->g, none, rlx_op_div(c->g, lo, scale)), 0, 255));
  zero = rlx_op_cast(c->g, zero, RLX_U8);
  RLX_TRY(onnx_set(c, 0, rlx_op_quantize(c->g, x, scale, zero, RLX_U8, -1)));
  RLX_TRY(onnx_set(c, 1, scale));
  return onnx_set(c, 2, zero);
}

/* ---- products ---- */

static rlx_node run_matmul(onnx_call *c, rlx_node a, rlx_node b, const void *arg) {
  (void)arg;
  return rlx_op_matmul(c->g, a, b);
}

/* Zero points are one number, or one per row of a (column of b), whose rank may be 1 or the matrix's. */
rlx_node onnx_centred_matrix(onnx_call *c, uint32_t i, uint32_t zero, bool is_a) {
  rlx_node x = rlx_op_cast(c->g, onnx_in(c, i), RLX_F32), z = onnx_in(c, zero);
  if (!z) return x;
  rlx_dims shape = onnx_dims(c, z);
  z = rlx_op_cast(c->g, z, RLX_F32);
  if (rlx_dims_count(&shape) == 1) z = onnx_one(c, z);
  else if (shape.n == 1 && is_a) z = onnx_reshape(c, z, RLX_DIMS(shape.v[0], 1));
  return rlx_op_sub(c->g, x, z);
}

static rlx_status check_bytes(onnx_call *c, uint32_t i) {
  rlx_dtype t = onnx_dtype(c, i);
  if (t != RLX_I8 && t != RLX_U8)
    return RLX_FAIL(RLX_INVALID, "input %u is %s, expected 8-bit integers", (unsigned)i,
                    onnx_type_name(onnx_in_type(c, i)));
  return RLX_OK;
}

/* NumPy's matmul: vectors get an axis, which the result loses. */
rlx_node onnx_integer_matmul(onnx_call *c, rlx_node a, rlx_node b) {
  rlx_dims as = onnx_dims(c, a), bs = onnx_dims(c, b);
  if (as.n < 1 || bs.n < 1) return RLX_NONE;
  if (as.n == 1) a = onnx_reshape(c, a, RLX_DIMS(1, as.v[0]));
  if (bs.n == 1) b = onnx_reshape(c, b, RLX_DIMS(bs.v[0], 1));
  rlx_node y = onnx_exact(c, a, b, as.v[as.n - 1], run_matmul, NULL);
  rlx_dims ys = onnx_dims(c, y), out = {0};
  for (int i = 0; i < ys.n; i++)
    if (!(i == ys.n - 2 && as.n == 1) && !(i == ys.n - 1 && bs.n == 1)) out.v[out.n++] = ys.v[i];
  return onnx_reshape(c, y, out);
}

rlx_status onnx_op_matmul_integer(onnx_call *c) {
  RLX_TRY(check_bytes(c, 0));
  RLX_TRY(check_bytes(c, 1));
  return onnx_set(c, 0,
                  onnx_integer_matmul(c, onnx_centred_matrix(c, 0, 2, true), onnx_centred_matrix(c, 1, 3, false)));
}

/* A scalar of rank 0, as q_matmul requires. */
static rlx_node one_or_all(onnx_call *c, uint32_t i) {
  rlx_node n = onnx_in(c, i);
  rlx_dims shape = onnx_dims(c, n);
  return n && rlx_dims_count(&shape) == 1 ? onnx_one(c, n) : n;
}

static rlx_node row_scale(onnx_call *c, uint32_t i, bool is_a) {
  rlx_node n = onnx_cast(c, one_or_all(c, i), RLX_F32);
  rlx_dims shape = onnx_dims(c, n);
  return is_a && shape.n == 1 ? onnx_reshape(c, n, RLX_DIMS(shape.v[0], 1)) : n;
}

rlx_status onnx_op_qlinear_matmul(onnx_call *c) {
  for (uint32_t i = 0; i < 8; i++)
    if (i == 0 || i == 3 || i == 7) RLX_TRY(check_bytes(c, i));
  rlx_dims az = onnx_shape(c, 2), bz = onnx_shape(c, 5), as = onnx_shape(c, 1), bs = onnx_shape(c, 4);
  bool simple = rlx_dims_count(&az) == 1 && rlx_dims_count(&as) == 1 && onnx_rank(c, 0) >= 2 && onnx_rank(c, 3) >= 2 &&
                bz.n <= 1 && bs.n <= 1;
  rlx_dtype to = onnx_dtype(c, 7);
  if (simple) {
    rlx_op_q_matmul_desc d = {RLX_OP_Q_MATMUL_DESC_INIT,         .a_scale = row_scale(c, 1, true),
                              .b_scale = row_scale(c, 4, false), .y_scale = row_scale(c, 6, false),
                              .a_zero = one_or_all(c, 2),        .b_zero = one_or_all(c, 5),
                              .y_zero = one_or_all(c, 7),        .to = to};
    return onnx_set_like(c, 0, rlx_op_q_matmul(c->g, onnx_in(c, 0), onnx_in(c, 3), &d), 7);
  }
  rlx_node sum = onnx_integer_matmul(c, onnx_centred_matrix(c, 0, 2, true), onnx_centred_matrix(c, 3, 5, false));
  rlx_node y =
    rlx_op_mul(c->g, rlx_op_cast(c->g, sum, RLX_F32), rlx_op_mul(c->g, row_scale(c, 1, true), row_scale(c, 4, false)));
  y = rlx_op_round(c->g, rlx_op_div(c->g, y, row_scale(c, 6, true)));
  rlx_node zero = rlx_op_cast(c->g, onnx_in(c, 7), RLX_F32);
  rlx_dims zs = onnx_dims(c, zero);
  if (rlx_dims_count(&zs) == 1) zero = onnx_one(c, zero);
  else if (zs.n == 1) zero = onnx_reshape(c, zero, RLX_DIMS(zs.v[0], 1));
  return onnx_set_like(c, 0, rlx_op_cast(c->g, rlx_op_add(c->g, y, zero), to), 7);
}
