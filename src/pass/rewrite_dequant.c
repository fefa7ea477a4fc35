/* Rewrites of products with packed and integer weights.
 *
 * dequant_matmul becomes a decoded f32 weight and a matmul; the decoding depends on weights alone, so hoist moves it to
 * load time. The 8-bit products use float matmuls, because there is no integer one: in a type in which every partial
 * sum is an exact integer (f32 while the sums stay below 2^24, else f64), so the result equals that of an i32
 * accumulator. The requantisation repeats the reference's arithmetic, in f64. */
#include "pass/rewrite.h"
#include "quant/codes.h"

/* ---- dequant_matmul ---- */

#define NVFP4_BLOCK 16

static double value_e4m3(const void *user, int64_t code) {
  (void)user;
  return (double)rlx_e4m3_to_f32((uint8_t)code);
}
static double value_e5m2(const void *user, int64_t code) {
  (void)user;
  return (double)rlx_e5m2_to_f32((uint8_t)code);
}
static double value_e2m1(const void *user, int64_t code) {
  (void)user;
  return (double)rlx_e2m1_to_f32((uint8_t)code);
}

/* Looks codes up in a table of all n values. */
static rlx_node look_up(const rlx_rewrite *r, rlx_node codes, int64_t n, double (*value)(const void *, int64_t)) {
  rlx_node table = rlx_rewrite_constant(r, RLX_F32, RLX_DIMS(n), value, NULL);
  return rlx_op_gather(r->to, table, as_type(r, codes, RLX_I32), 0);
}

/* The 4-bit codes of w [ceil(k / 2), n] as i32 [k, n]: two per byte along k, the low nibble first. */
static rlx_node nibbles(const rlx_rewrite *r, rlx_node w, int64_t k) {
  rlx_graph *g = r->to;
  rlx_dims shape = shape_of(r, w), apart = RLX_DIMS(shape.v[0], 1, shape.v[1]);
  rlx_node bytes = rlx_op_cast(g, w, RLX_I32);
  rlx_node low = rlx_op_bit_and(g, bytes, rlx_op_scalar(g, RLX_I32, 15)),
           high = rlx_op_shr(g, bytes, rlx_op_scalar(g, RLX_I32, 4));
  rlx_node pairs[] = {rlx_op_reshape(g, low, apart), rlx_op_reshape(g, high, apart)};
  rlx_node codes = rlx_op_reshape(g, rlx_op_concat(g, pairs, 2, 1), RLX_DIMS(2 * shape.v[0], shape.v[1]));
  return k == 2 * shape.v[0] ? codes : rlx_op_narrow(g, codes, 0, 0, k);
}

/* v [parts, n], one row per `block` elements of k, expanded to broadcast with [k, n]. */
static rlx_node over_blocks(const rlx_rewrite *r, rlx_node v, int64_t parts, int64_t n, int64_t block, int64_t k) {
  rlx_graph *g = r->to;
  if (parts < 2) return v; /* it broadcasts already */
  rlx_node each = rlx_op_expand(g, rlx_op_reshape(g, v, RLX_DIMS(parts, 1, n)), RLX_DIMS(parts, block, n));
  rlx_node all = rlx_op_reshape(g, each, RLX_DIMS(parts * block, n)); /* block < k, so below 2 k */
  return parts * block == k ? all : rlx_op_narrow(g, all, 0, 0, k);
}

/* The weight [k, n] in f32. */
static rlx_node decode(const rlx_rewrite *r, int64_t k) {
  const rlx_attrs_dequant_matmul *attrs = RLX_ATTRS(dequant_matmul, r->node);
  rlx_graph *g = r->to;
  rlx_node w = r->in[1], scale = input_of(r, 2), zero = input_of(r, 3), values;
  bool is_nvfp4 = attrs->scheme == RLX_SCHEME_NVFP4;
  switch (attrs->scheme) {
    case RLX_SCHEME_FP8_E4M3: values = look_up(r, w, 256, value_e4m3); break;
    case RLX_SCHEME_FP8_E5M2: values = look_up(r, w, 256, value_e5m2); break;
    case RLX_SCHEME_NVFP4: values = look_up(r, nibbles(r, w, k), 16, value_e2m1); break;
    case RLX_SCHEME_INT4: values = rlx_op_cast(g, nibbles(r, w, k), RLX_F32); break;
    default: values = rlx_op_cast(g, w, RLX_F32); break; /* int8, int8_asym */
  }
  if (!scale) return values;
  rlx_dims shape = shape_of(r, scale);
  if (shape.n == 1) return rlx_op_mul(g, values, scale); /* fp8: one per column */
  int64_t block = is_nvfp4 ? NVFP4_BLOCK : attrs->block;
  if (zero)
    values = rlx_op_sub(g, values, over_blocks(r, rlx_op_cast(g, zero, RLX_F32), shape.v[0], shape.v[1], block, k));
  else if (attrs->scheme == RLX_SCHEME_INT4) values = rlx_op_sub(g, values, rlx_op_scalar(g, RLX_F32, 8));
  if (is_nvfp4) scale = look_up(r, scale, 256, value_e4m3);
  values = rlx_op_mul(g, values, over_blocks(r, scale, shape.v[0], shape.v[1], block, k));
  return is_nvfp4 ? rlx_op_mul(g, values, r->in[4]) : values;
}

rlx_node rlx_rewrite_dequant_matmul(rlx_rewrite *r) {
  rlx_dims x = shape_of(r, r->in[0]);
  return rlx_op_matmul(r->to, r->in[0], decode(r, x.v[x.n - 1]));
}

/* ---- 8-bit integers ---- */

/* The indices of the inputs that q_matmul and q_conv2d share. */
enum { IN_A, IN_B, IN_A_SCALE, IN_B_SCALE, IN_Y_SCALE, IN_A_ZERO, IN_B_ZERO, IN_Y_ZERO, IN_BIAS };

/* The largest |code - zero| of an input. */
static double reach(const rlx_rewrite *r, uint32_t codes, uint32_t zero) {
  return dtype_of(r, r->in[codes]) == RLX_I8 && !input_of(r, zero) ? 128 : 255;
}

/* An upper bound of the sums of `terms` products, and the type that is exact up to it; RLX_DTYPE_UNKNOWN if none is. */
static rlx_dtype exact_type(const rlx_rewrite *r, double terms, double *bound) {
  *bound = terms * reach(r, IN_A, IN_A_ZERO) * reach(r, IN_B, IN_B_ZERO);
  return *bound <= 0x1p24 ? RLX_F32 : *bound <= 0x1p52 ? RLX_F64 : RLX_DTYPE_UNKNOWN;
}

/* A per-channel vector, reshaped to broadcast with a tensor that has rank - 1 axes after its channel axis. */
static rlx_node per_channel(const rlx_rewrite *r, rlx_node v, int rank) {
  return v && shape_of(r, v).n == 1 && rank > 1 ? along_axis(r, v, 0, rank) : v;
}

/* code - zero as a float; `rank` as above. */
static rlx_node centred(const rlx_rewrite *r, uint32_t codes, uint32_t zero, int rank, rlx_dtype type) {
  rlx_node x = rlx_op_cast(r->to, r->in[codes], type), at = per_channel(r, input_of(r, zero), rank);
  return at ? rlx_op_sub(r->to, x, rlx_op_cast(r->to, at, type)) : x;
}

/* Converts exact float sums to the result. The bias is added in i32, which wraps as an accumulator would; larger sums
 * are wrapped before. */
static rlx_node requantise(const rlx_rewrite *r, rlx_node sums, double bound, int rank) {
  rlx_graph *g = r->to;
  rlx_node bias = per_channel(r, input_of(r, IN_BIAS), rank), y_zero = input_of(r, IN_Y_ZERO);
  if (bound >= 0x1p31) {
    rlx_node half = rlx_op_scalar(g, RLX_F64, 0x1p31);
    sums = rlx_op_sub(g, rlx_op_mod(g, rlx_op_add(g, sums, half), rlx_op_scalar(g, RLX_F64, 0x1p32)), half);
  }
  rlx_node total = rlx_op_cast(g, sums, RLX_I32);
  if (bias) total = rlx_op_add(g, total, bias);
  rlx_node a_scale = rlx_op_cast(g, r->in[IN_A_SCALE], RLX_F64), y_scale = rlx_op_cast(g, r->in[IN_Y_SCALE], RLX_F64);
  rlx_node b_scale = rlx_op_cast(g, per_channel(r, r->in[IN_B_SCALE], rank), RLX_F64);
  rlx_node scale = rlx_op_div(g, rlx_op_mul(g, a_scale, b_scale), y_scale);
  rlx_node y = rlx_op_round(g, rlx_op_mul(g, rlx_op_cast(g, total, RLX_F64), scale));
  if (y_zero) y = rlx_op_add(g, y, rlx_op_cast(g, y_zero, RLX_F64));
  return rlx_op_cast(g, y, r->type->dtype);
}

rlx_node rlx_rewrite_q_matmul(rlx_rewrite *r) {
  rlx_dims a = shape_of(r, r->in[IN_A]);
  double bound;
  rlx_dtype type = exact_type(r, (double)a.v[a.n - 1], &bound);
  if (type == RLX_DTYPE_UNKNOWN) return refuse(r, "the sums are too long to be exact in f64");
  rlx_node left = centred(r, IN_A, IN_A_ZERO, 1, type), right = centred(r, IN_B, IN_B_ZERO, 1, type);
  return requantise(r, rlx_op_matmul(r->to, left, right), bound, 1);
}

/* Padding is x_zero, which is 0 once centred. */
rlx_node rlx_rewrite_q_conv2d(rlx_rewrite *r) {
  const rlx_attrs_q_conv2d *attrs = RLX_ATTRS(q_conv2d, r->node);
  rlx_dims w = shape_of(r, r->in[IN_B]);
  double bound;
  rlx_dtype type = exact_type(r, (double)w.v[1] * (double)w.v[2] * (double)w.v[3], &bound);
  if (type == RLX_DTYPE_UNKNOWN) return refuse(r, "the sums are too long to be exact in f64");
  rlx_node x = centred(r, IN_A, IN_A_ZERO, 1, type), weight = centred(r, IN_B, IN_B_ZERO, 4, type);
  rlx_node sums =
    rlx_op_conv(r->to, x, weight, RLX_NONE,
                &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .stride = attrs->stride, .dilation = attrs->dilation,
                                    .pad_lo = attrs->pad_lo, .pad_hi = attrs->pad_hi, .groups = attrs->groups});
  return requantise(r, sums, bound, 3);
}
