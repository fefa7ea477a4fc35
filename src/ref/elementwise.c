/* Element-wise ops: unary, binary, compare, not, fma, where, clamp, cast, quantize, dequantize.
 *
 * One loop serves them all. It iterates over the result, loads the broadcast element of each input, calls a function of
 * up to three elements and stores the value, rounded once to the result's dtype. So each op is one small function. The
 * formulas of the families come from the tables through ir/scalar.h.
 *
 * Elements are held as f64 (any float dtype), int64 (integers and bool) or a pair (c64), and are not converted between
 * these: an i64 must not lose bits in an f64. 8-bit floats are held as their codes; where copies them unchanged. */
#include "ir/scalar.h"
#include "ir/scalar_table.h"
#include "ref/ref.h"

typedef union element {
  double f;
  int64_t i;
  float c[2];
} element;

/* ---- the loop ---- */

static element load_element(const rlx_tensor *t, size_t i) {
  element x = {.i = 0};
  if (t->dtype == RLX_C64) memcpy(x.c, (const float *)t->data + 2 * i, sizeof x.c);
  else if (rlx_dtype_is_float(t->dtype)) x.f = rlx_load(t, i);
  else x.i = rlx_load_int(t, i);
  return x;
}

static void store_element(rlx_tensor *t, size_t i, element x) {
  if (t->dtype == RLX_C64) memcpy((float *)t->data + 2 * i, x.c, sizeof x.c);
  else if (rlx_dtype_is_float(t->dtype)) rlx_store(t, i, x.f);
  else rlx_store_int(t, i, x.i);
}

/* The parameters of an element function besides its elements. */
typedef struct context {
  const rlx_scalar_row *row;
  rlx_dtype in, out; /* in: of the first input */
  double alpha, beta;
  int64_t lo, hi; /* integer bounds */
  int bits;       /* width of `in` */
} context;

typedef element (*element_fn)(const context *c, const element *x);

enum { MAX_IN = 3 };
typedef size_t strides[RLX_MAX_RANK];

static rlx_status each_element(rlx_ref_call *c, const context *ctx, element_fn fn, strides *stride) {
  const rlx_dims *shape = &c->out->shape;
  if (rlx_dims_count(shape) == 0) return RLX_OK;
  int64_t idx[RLX_MAX_RANK] = {0};
  size_t at = 0;
  do {
    element x[MAX_IN] = {{.i = 0}, {.i = 0}, {.i = 0}};
    for (uint32_t k = 0; k < c->n_in; k++)
      if (c->in[k]) x[k] = load_element(c->in[k], rlx_offset(shape->n, idx, stride[k]));
    store_element(c->out, at++, fn(ctx, x));
  } while (rlx_next_index(shape, idx) && rlx_ref_continues(c, 1));
  return RLX_OK;
}

static context context_of(const rlx_ref_call *c) {
  rlx_dtype in = c->in[0]->dtype;
  return (context){
    .row = rlx_scalar_get(c->node->op), .in = in, .out = c->out->dtype, .bits = 8 * (int)rlx_dtype_size(in)};
}

static rlx_status broadcast_elements(rlx_ref_call *c, const context *ctx, element_fn fn) {
  strides stride[MAX_IN];
  for (uint32_t k = 0; k < c->n_in; k++) rlx_broadcast_strides(&c->in[k]->shape, &c->out->shape, stride[k]);
  return each_element(c, ctx, fn, stride);
}

/* ---- the families ---- */

static element float_unary(const context *c, const element *x) {
  return (element){.f = c->row->unary(x->f, c->alpha, c->beta)};
}
static element int_unary(const context *c, const element *x) { return (element){.i = c->row->int_unary(x->i)}; }
static element float_binary(const context *c, const element *x) {
  return (element){.f = c->row->binary(x[0].f, x[1].f)};
}
static element int_binary(const context *c, const element *x) {
  return (element){.i = c->row->int_binary(x[0].i, x[1].i, c->bits)};
}
static element float_compare(const context *c, const element *x) {
  return (element){.i = c->row->compare(x[0].f, x[1].f)};
}
static element int_compare(const context *c, const element *x) {
  return (element){.i = c->row->int_compare(x[0].i, x[1].i)};
}

/* Only for eq and ne: two complex numbers are equal if both parts are. */
static element complex_compare(const context *c, const element *x) {
  bool equal = x[0].c[0] == x[1].c[0] && x[0].c[1] == x[1].c[1];
  return (element){.i = c->row->int_compare(equal, true)};
}

static rlx_status unary(rlx_ref_call *c) {
  context ctx = context_of(c);
  const rlx_op_table_row *row = rlx_op_table_get(c->node->op); /* its attributes are alpha and beta, in this order */
  if (row->n_attrs > 0) ctx.alpha = *(const double *)rlx_attr_at(c->attrs, &row->attrs[0]);
  if (row->n_attrs > 1) ctx.beta = *(const double *)rlx_attr_at(c->attrs, &row->attrs[1]);
  return broadcast_elements(c, &ctx, rlx_dtype_is_float(ctx.in) ? float_unary : int_unary);
}

static rlx_status binary(rlx_ref_call *c) {
  context ctx = context_of(c);
  return broadcast_elements(c, &ctx, rlx_dtype_is_float(ctx.in) ? float_binary : int_binary);
}

static element float8_compare(const context *c, const element *x) {
  float (*decode)(uint8_t) = c->in == RLX_F8E4M3 ? rlx_e4m3_to_f32 : rlx_e5m2_to_f32;
  return (element){.i = c->row->compare((double)decode((uint8_t)x[0].i), (double)decode((uint8_t)x[1].i))};
}

static rlx_status compare(rlx_ref_call *c) {
  context ctx = context_of(c);
  element_fn fn = rlx_dtype_is_float(ctx.in) ? float_compare : int_compare;
  if (ctx.in == RLX_C64) fn = complex_compare;
  if (rlx_dtype_is_float8(ctx.in)) fn = float8_compare;
  return broadcast_elements(c, &ctx, fn);
}

#define UNARY(name, types, traits, attrs, formula, doc) \
  rlx_status rlx_ref_##name(rlx_ref_call *c) { return unary(c); }
#include "ir/unary.def"
#undef UNARY
#define BINARY(name, types, traits, float_formula, int_formula, doc) \
  rlx_status rlx_ref_##name(rlx_ref_call *c) { return binary(c); }
#define COMPARE(name, operator, traits, doc) \
  rlx_status rlx_ref_##name(rlx_ref_call *c) { return compare(c); }
#include "ir/binary.def"
#undef BINARY
#undef COMPARE

/* ---- the rest ---- */

static element logical_not(const context *c, const element *x) {
  (void)c;
  return (element){.i = !x->i};
}

/* Rounded once, to the result's dtype. For f64 that is fma() itself. For narrower dtypes the product is exact in f64
 * and the sum is rounded to odd (the last bit is set where any was lost), so that the final rounding is correct. */
static element fused_multiply_add(const context *c, const element *x) {
  if (c->in == RLX_F64) return (element){.f = fma(x[0].f, x[1].f, x[2].f)};
  double product = x[0].f * x[1].f, sum = product + x[2].f;
  double part = sum - product, lost = (product - (sum - part)) + (x[2].f - part);
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  if (isfinite(sum) && lost != 0 && !(bits & 1)) sum = nextafter(sum, lost > 0 ? RLX_INFINITY : -RLX_INFINITY);
  return (element){.f = sum};
}

static element choose(const context *c, const element *x) {
  (void)c;
  return x[0].i ? x[1] : x[2];
}

static element float_clamp_element(const context *c, const element *x) {
  return (element){.f = float_clamp(x->f, c->alpha, c->beta)};
}

static element int_clamp_element(const context *c, const element *x) {
  int64_t up = x->i < c->lo ? c->lo : x->i;
  return (element){.i = up > c->hi ? c->hi : up};
}

rlx_status rlx_ref_not(rlx_ref_call *c) {
  context ctx = context_of(c);
  return broadcast_elements(c, &ctx, logical_not);
}

rlx_status rlx_ref_fma(rlx_ref_call *c) {
  context ctx = context_of(c);
  return broadcast_elements(c, &ctx, fused_multiply_add);
}

rlx_status rlx_ref_where(rlx_ref_call *c) {
  context ctx = context_of(c);
  return broadcast_elements(c, &ctx, choose);
}

/* An integral value as an integer of some dtype, saturated. */
static int64_t saturate(rlx_dtype dtype, double x) {
  union {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    int64_t i64;
  } storage;
  rlx_tensor one = {.dtype = dtype, .data = &storage};
  rlx_store_value(&one, 0, x);
  return rlx_load_int(&one, 0);
}

rlx_status rlx_ref_clamp(rlx_ref_call *c) {
  context ctx = context_of(c);
  ctx.alpha = RLX_ATTRS(clamp, c)->lo;
  ctx.beta = RLX_ATTRS(clamp, c)->hi;
  if (rlx_dtype_is_float(ctx.in)) return broadcast_elements(c, &ctx, float_clamp_element);
  ctx.lo = saturate(ctx.in, ceil(ctx.alpha));
  ctx.hi = saturate(ctx.in, floor(ctx.beta));
  return broadcast_elements(c, &ctx, int_clamp_element);
}

rlx_status rlx_ref_cast(rlx_ref_call *c) {
  const rlx_tensor *x = c->in[0];
  size_t n = rlx_tensor_count(x);
  if (x->dtype == c->out->dtype) {
    rlx_ref_copy(c, c->out->data, x->data, n * rlx_dtype_size(x->dtype));
    return RLX_OK;
  }
  rlx_tensor source = *x;
  if (rlx_dtype_is_block(x->dtype)) {
    const float *values;
    RLX_TRY(rlx_ref_as_f32(c, x, &values));
    source = (rlx_tensor){.dtype = RLX_F32, .shape = x->shape, .const_data = values};
  }
  RLX_REF_EACH(c, i, n) rlx_convert(c->out, i, &source, i);
  return RLX_OK;
}

/* ---- quantised codes ---- */

/* x is not broadcast; scale and zero are one value or one per index of the channel axis. */
static rlx_status each_code(rlx_ref_call *c, const context *ctx, element_fn fn, int64_t axis) {
  const rlx_dims *shape = &c->out->shape;
  strides stride[MAX_IN] = {{0}};
  rlx_strides(shape, stride[0]);
  for (uint32_t k = 1; k < c->n_in; k++)
    if (c->in[k] && c->in[k]->shape.n == 1 && c->in[k]->shape.v[0] != 1) stride[k][rlx_axis_of(axis, shape->n)] = 1;
  return each_element(c, ctx, fn, stride);
}

/* The quotient is rounded to f32 (f64 for f64) before it is rounded to an integer: codes must be the same on every
 * device, and devices divide in f32. NaN gives the zero point, as a cast of NaN gives 0. */
static element quantize_element(const context *c, const element *x) {
  double quotient = x[0].f / x[1].f;
  if (c->in != RLX_F64) quotient = (double)(float)quotient;
  double code = quotient != quotient ? 0 : nearbyint(quotient);
  return (element){.i = saturate(c->out, code + (double)x[2].i)};
}

static element dequantize_element(const context *c, const element *x) {
  (void)c;
  return (element){.f = (double)(x[0].i - x[2].i) * x[1].f};
}

rlx_status rlx_ref_quantize(rlx_ref_call *c) {
  context ctx = context_of(c);
  return each_code(c, &ctx, quantize_element, RLX_ATTRS(quantize, c)->axis);
}

rlx_status rlx_ref_dequantize(rlx_ref_call *c) {
  context ctx = context_of(c);
  return each_code(c, &ctx, dequantize_element, RLX_ATTRS(dequantize, c)->axis);
}
