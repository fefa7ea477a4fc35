/* Shape rules of the matrix products.
 *
 * All but two are a product with further inputs: product_shape is the rule of [.., M, K] x [.., K, N], and each op adds
 * the checks of its own inputs. dot_general names its axes; dense_solve is square. */
#include "base/arith.h"
#include "ir/conv_dims.h"
#include "ir/infer.h"

static rlx_status expect_matrix(const rlx_infer *c, uint32_t i) {
  const rlx_dims *s = rlx_infer_shape(c, i);
  if (s->n >= 2) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "input %u (%s) is %s but must have rank 2 or more", (unsigned)i,
                  rlx_infer_input_name(c, i), RLX_DIMS_TEXT(*s));
}

/* Inputs a and b as [.., M, K] x [.., K, N] (trans_b: [.., N, K]); batch axes broadcast. */
static rlx_status product_shape(const rlx_infer *c, uint32_t a_in, uint32_t b_in, bool trans_b, rlx_dims *out) {
  RLX_TRY(expect_matrix(c, a_in));
  RLX_TRY(expect_matrix(c, b_in));
  rlx_dims a = *rlx_infer_shape(c, a_in), b = *rlx_infer_shape(c, b_in);
  int64_t m = a.v[a.n - 2], k;
  int64_t n = b.v[b.n - (trans_b ? 2 : 1)];
  if (!rlx_dim_unify(a.v[a.n - 1], b.v[b.n - (trans_b ? 1 : 2)], &k))
    return RLX_FAIL(RLX_INVALID, "%s is %s but %s is %s%s: the summed axes differ", rlx_infer_input_name(c, a_in),
                    RLX_DIMS_TEXT(a), rlx_infer_input_name(c, b_in), RLX_DIMS_TEXT(b), trans_b ? " with trans_b" : "");
  a.n -= 2;
  b.n -= 2;
  RLX_TRY_AT(rlx_dims_broadcast(c->graph, &a, &b), "batch axes");
  a.v[a.n++] = m;
  a.v[a.n++] = n;
  *out = a;
  return RLX_OK;
}

rlx_status rlx_shape_matmul(rlx_infer *c) {
  return product_shape(c, 0, 1, RLX_ATTRS(matmul, c)->trans_b, &c->out.shape);
}

rlx_status rlx_shape_lora_matmul(rlx_infer *c) {
  for (uint32_t i = 1; i < 4; i++) RLX_TRY(rlx_expect_rank(c, i, 2));
  RLX_TRY(product_shape(c, 0, 1, RLX_ATTRS(lora_matmul, c)->trans_b, &c->out.shape));
  const rlx_dims *x = rlx_infer_shape(c, 0), *a = rlx_infer_shape(c, 2);
  RLX_TRY(rlx_expect_shape(c, 2, RLX_DIMS(x->v[x->n - 1], RLX_DIM_UNKNOWN)));
  return rlx_expect_shape(c, 3, RLX_DIMS(a->v[1], c->out.shape.v[c->out.shape.n - 1]));
}

/* x [M, K], w [E, K, N] (trans_b: [E, N, K]), idx [M]; float and block-type experts alike. */
rlx_status rlx_shape_grouped_matmul(rlx_infer *c) {
  bool trans_b = c->op == RLX_OP_grouped_matmul ? RLX_ATTRS(grouped_matmul, c)->trans_b
                                                : RLX_ATTRS(dequant_grouped_matmul, c)->trans_b;
  RLX_TRY(rlx_expect_rank(c, 0, 2));
  RLX_TRY(rlx_expect_rank(c, 1, 3));
  const rlx_dims *x = rlx_infer_shape(c, 0), *w = rlx_infer_shape(c, 1);
  int64_t m = x->v[0], k = x->v[1];
  RLX_TRY(rlx_expect_shape(
    c, 1, trans_b ? RLX_DIMS(RLX_DIM_UNKNOWN, RLX_DIM_UNKNOWN, k) : RLX_DIMS(RLX_DIM_UNKNOWN, k, RLX_DIM_UNKNOWN)));
  RLX_TRY(rlx_expect_shape(c, 2, RLX_DIMS(m)));
  c->out.shape = RLX_DIMS(m, w->v[trans_b ? 1 : 2]);
  return RLX_OK;
}

rlx_status rlx_shape_moe_weights(rlx_infer *c) {
  const rlx_dims *w = rlx_infer_shape(c, 0), *idx = rlx_infer_shape(c, 1);
  RLX_TRY(expect_matrix(c, 0));
  if (idx) RLX_TRY(rlx_expect_rank(c, 1, 1));
  if (c->out.dtype != RLX_F32 && c->out.dtype != RLX_F16 && c->out.dtype != RLX_BF16)
    return RLX_FAIL(RLX_INVALID, "decodes to f32, f16 or bf16, not %s", rlx_dtype_name(c->out.dtype));
  c->out.shape = *w;
  if (idx) c->out.shape.v[0] = idx->v[0];
  return RLX_OK;
}

/* ---- dot_general ---- */

/* Marks the axes of one operand that `axes` names; each axis may be named once. */
static rlx_status take_axes(const rlx_dims *axes, int rank, const char *what, uint32_t *taken, rlx_dims *resolved) {
  resolved->n = axes->n;
  for (int i = 0; i < axes->n; i++) {
    int axis;
    RLX_TRY(rlx_axis_resolve(axes->v[i], rank, what, &axis));
    if (*taken & (1u << axis)) return RLX_FAIL(RLX_INVALID, "%s names axis %d, which has a use already", what, axis);
    *taken |= 1u << axis;
    resolved->v[i] = axis;
  }
  return RLX_OK;
}

/* Axes paired with each other must have equal sizes; *sizes are the more specific ones. */
static rlx_status pair_axes(const rlx_dims *a, const rlx_dims *axes_a, const rlx_dims *b, const rlx_dims *axes_b,
                            const char *what, rlx_dims *sizes) {
  if (axes_a->n != axes_b->n)
    return RLX_FAIL(RLX_INVALID, "%d %s axes of a but %d of b", (int)axes_a->n, what, (int)axes_b->n);
  sizes->n = axes_a->n;
  for (int i = 0; i < axes_a->n; i++)
    if (!rlx_dim_unify(a->v[axes_a->v[i]], b->v[axes_b->v[i]], &sizes->v[i]))
      return RLX_FAIL(RLX_INVALID, "a is %s and b is %s: %s axes %d and %d differ", RLX_DIMS_TEXT(*a),
                      RLX_DIMS_TEXT(*b), what, (int)axes_a->v[i], (int)axes_b->v[i]);
  return RLX_OK;
}

rlx_status rlx_shape_dot_general(rlx_infer *c) {
  const rlx_attrs_dot_general *attrs = c->attrs;
  const rlx_dims *a = rlx_infer_shape(c, 0), *b = rlx_infer_shape(c, 1);
  uint32_t taken_a = 0, taken_b = 0;
  rlx_dims batch_a, batch_b, sum_a, sum_b, batch, summed;
  RLX_TRY(take_axes(&attrs->batch_a, a->n, "batch_a", &taken_a, &batch_a));
  RLX_TRY(take_axes(&attrs->contract_a, a->n, "contract_a", &taken_a, &sum_a));
  RLX_TRY(take_axes(&attrs->batch_b, b->n, "batch_b", &taken_b, &batch_b));
  RLX_TRY(take_axes(&attrs->contract_b, b->n, "contract_b", &taken_b, &sum_b));
  RLX_TRY(pair_axes(a, &batch_a, b, &batch_b, "batch", &batch));
  RLX_TRY(pair_axes(a, &sum_a, b, &sum_b, "contract", &summed));
  int rank = a->n + b->n - batch.n - 2 * summed.n;
  if (rank > RLX_MAX_RANK) return RLX_FAIL(RLX_INVALID, "the result has rank %d, more than %d", rank, RLX_MAX_RANK);
  c->out.shape = batch;
  for (int i = 0; i < a->n; i++)
    if (!(taken_a >> i & 1)) c->out.shape.v[c->out.shape.n++] = a->v[i];
  for (int i = 0; i < b->n; i++)
    if (!(taken_b >> i & 1)) c->out.shape.v[c->out.shape.n++] = b->v[i];
  return RLX_OK;
}

/* ---- packed weights with scale inputs ---- */

/* ceil(k / unit) of a size; unit 0 means all of k. */
static int64_t parts_of(int64_t k, int64_t unit) {
  if (unit == 0) return 1;
  if (rlx_dim_is_open(k)) return RLX_DIM_UNKNOWN;
  return k / unit + (k % unit != 0);
}

enum { NEVER, MAY, MUST };

/* The inputs of each scheme of dequant_matmul. */
static const struct scheme_row {
  const char *name;
  rlx_dtype codes, scale;
  int64_t codes_per_byte;
  int has_scale, has_zero, has_global;
  rlx_dtype zero;
  bool has_block;      /* the attribute `block` applies */
  bool column_scale;   /* scale is [N], not [parts of K, N] */
  int64_t fixed_block; /* elements of k per scale if the attribute does not apply */
} schemes[] = {
  [RLX_SCHEME_INT8] = {"int8", RLX_I8, RLX_F32, 1, MUST, NEVER, NEVER, RLX_I8, true, false, 0},
  [RLX_SCHEME_INT8_ASYM] = {"int8_asym", RLX_I8, RLX_F32, 1, MUST, MUST, NEVER, RLX_I8, true, false, 0},
  [RLX_SCHEME_INT4] = {"int4", RLX_U8, RLX_F32, 2, MUST, MAY, NEVER, RLX_U8, true, false, 0},
  [RLX_SCHEME_FP8_E4M3] = {"fp8_e4m3", RLX_U8, RLX_F32, 1, MAY, NEVER, NEVER, RLX_U8, false, true, 0},
  [RLX_SCHEME_FP8_E5M2] = {"fp8_e5m2", RLX_U8, RLX_F32, 1, MAY, NEVER, NEVER, RLX_U8, false, true, 0},
  [RLX_SCHEME_NVFP4] = {"nvfp4", RLX_U8, RLX_U8, 2, MUST, NEVER, MUST, RLX_U8, false, false, 16},
};

/* Checks that input i is present or absent as the scheme requires, and has this type. */
static rlx_status expect_part(const rlx_infer *c, uint32_t i, int presence, rlx_dtype dtype, const char *scheme) {
  const rlx_type *t = rlx_infer_in(c, i);
  if (!t && presence == MUST)
    return RLX_FAIL(RLX_INVALID, "%s needs input %u (%s)", scheme, (unsigned)i, rlx_infer_input_name(c, i));
  if (t && presence == NEVER)
    return RLX_FAIL(RLX_INVALID, "%s takes no input %u (%s)", scheme, (unsigned)i, rlx_infer_input_name(c, i));
  if (t && t->dtype != dtype)
    return RLX_FAIL(RLX_INVALID, "input %u (%s) is %s but %s takes %s", (unsigned)i, rlx_infer_input_name(c, i),
                    rlx_dtype_name(t->dtype), scheme, rlx_dtype_name(dtype));
  return RLX_OK;
}

rlx_status rlx_shape_dequant_matmul(rlx_infer *c) {
  const rlx_attrs_dequant_matmul *attrs = c->attrs;
  const struct scheme_row *s = &schemes[attrs->scheme];
  if (attrs->block < 0) return RLX_FAIL(RLX_INVALID, "block %lld is negative", (long long)attrs->block);
  if (attrs->block && !s->has_block) return RLX_FAIL(RLX_INVALID, "block is for int8 and int4, not %s", s->name);
  RLX_TRY(expect_part(c, 1, MUST, s->codes, s->name));
  RLX_TRY(expect_part(c, 2, s->has_scale, s->scale, s->name));
  RLX_TRY(expect_part(c, 3, s->has_zero, s->zero, s->name));
  RLX_TRY(expect_part(c, 4, s->has_global, RLX_F32, s->name));
  RLX_TRY(expect_matrix(c, 0));
  RLX_TRY(rlx_expect_rank(c, 1, 2));
  const rlx_dims *x = rlx_infer_shape(c, 0), *w = rlx_infer_shape(c, 1);
  int64_t k = x->v[x->n - 1], n = w->v[1];
  RLX_TRY(rlx_expect_shape(c, 1, RLX_DIMS(s->codes_per_byte == 1 ? k : parts_of(k, 2), n)));
  rlx_dims scale = RLX_DIMS(parts_of(k, s->has_block ? attrs->block : s->fixed_block), n);
  if (s->column_scale) scale = RLX_DIMS(n);
  if (rlx_infer_in(c, 2)) RLX_TRY(rlx_expect_shape(c, 2, scale));
  if (rlx_infer_in(c, 3)) RLX_TRY(rlx_expect_shape(c, 3, scale));
  if (rlx_infer_in(c, 4)) RLX_TRY(rlx_expect_scalar_or_vector(c, 4, 1));
  c->out.shape = *x;
  c->out.shape.v[x->n - 1] = n;
  return RLX_OK;
}

/* ---- integer products ---- */

static bool is_byte(rlx_dtype t) { return t == RLX_I8 || t == RLX_U8; }

/* The inputs that q_matmul and q_conv2d share: a, b, three scales, three zero points, bias. Those of b are per tensor
 * or per channel of n. */
static rlx_status check_quantized(const rlx_infer *c, int64_t n) {
  static const bool per_channel[] = {[3] = true, [6] = true, [8] = false};
  const rlx_type *a = rlx_infer_in(c, 0), *b = rlx_infer_in(c, 1), *b_zero = rlx_infer_in(c, 6),
                 *y_zero = rlx_infer_in(c, 7);
  if (!is_byte(a->dtype) || !is_byte(b->dtype) || !is_byte(c->out.dtype))
    return RLX_FAIL(RLX_INVALID, "takes and gives i8 or u8, not %s x %s -> %s", rlx_dtype_name(a->dtype),
                    rlx_dtype_name(b->dtype), rlx_dtype_name(c->out.dtype));
  if (b_zero && b_zero->dtype != b->dtype)
    return RLX_FAIL(RLX_INVALID, "input 6 (%s) is %s but must be %s like input 1", rlx_infer_input_name(c, 6),
                    rlx_dtype_name(b_zero->dtype), rlx_dtype_name(b->dtype));
  if (y_zero && y_zero->dtype != c->out.dtype)
    return RLX_FAIL(RLX_INVALID, "input 7 (%s) is %s but must be %s like the result", rlx_infer_input_name(c, 7),
                    rlx_dtype_name(y_zero->dtype), rlx_dtype_name(c->out.dtype));
  for (uint32_t i = 2; i < 8; i++)
    if (rlx_infer_in(c, i)) RLX_TRY(rlx_expect_scalar_or_vector(c, i, per_channel[i] ? n : 1));
  if (rlx_infer_in(c, 8)) RLX_TRY(rlx_expect_shape(c, 8, RLX_DIMS(n)));
  return RLX_OK;
}

rlx_status rlx_shape_q_matmul(rlx_infer *c) {
  RLX_TRY(product_shape(c, 0, 1, false, &c->out.shape));
  return check_quantized(c, c->out.shape.v[c->out.shape.n - 1]);
}

/* x [N, C, H, W], w [O, C/groups, KH, KW]. */
rlx_status rlx_shape_q_conv2d(rlx_infer *c) {
  const rlx_attrs_q_conv2d *attrs = c->attrs;
  RLX_TRY(rlx_expect_rank(c, 0, 4));
  RLX_TRY(rlx_expect_rank(c, 1, 4));
  const rlx_dims *x = rlx_infer_shape(c, 0), *w = rlx_infer_shape(c, 1);
  int64_t groups = attrs->groups, channels;
  if (groups < 1) return RLX_FAIL(RLX_INVALID, "groups %lld must be 1 or more", (long long)groups);
  if (!rlx_dim_mul(c->graph, w->v[1], groups, &channels) || !rlx_dim_unify(x->v[1], channels, &channels) ||
      (!rlx_dim_is_open(w->v[0]) && w->v[0] % groups != 0))
    return RLX_FAIL(RLX_INVALID, "x is %s and w is %s: %lld groups do not fit the channels", RLX_DIMS_TEXT(*x),
                    RLX_DIMS_TEXT(*w), (long long)groups);
  rlx_conv_window window;
  RLX_TRY(RLX_WINDOW_READ(attrs, w->v + 2, 2, &window));
  RLX_TRY(rlx_window_shape(c->graph, &window, x, false, w->v[0], &c->out.shape));
  return check_quantized(c, w->v[0]);
}

/* ---- the rest ---- */

rlx_status rlx_shape_dense_solve(rlx_infer *c) {
  RLX_TRY(expect_matrix(c, 0));
  RLX_TRY(expect_matrix(c, 1));
  rlx_dims a = *rlx_infer_shape(c, 0), b = *rlx_infer_shape(c, 1);
  int64_t k = b.v[b.n - 1], n;
  if (!rlx_dim_unify(a.v[a.n - 2], a.v[a.n - 1], &n))
    return RLX_FAIL(RLX_INVALID, "a is %s but must be square", RLX_DIMS_TEXT(a));
  if (!rlx_dim_unify(n, b.v[b.n - 2], &n))
    return RLX_FAIL(RLX_INVALID, "a is %s but b is %s: b needs a row per equation", RLX_DIMS_TEXT(a), RLX_DIMS_TEXT(b));
  a.n -= 2;
  b.n -= 2;
  RLX_TRY_AT(rlx_dims_broadcast(c->graph, &a, &b), "batch axes");
  a.v[a.n++] = n;
  a.v[a.n++] = k;
  c->out.shape = a;
  return RLX_OK;
}

static int64_t last_size(const rlx_infer *c, uint32_t i) {
  const rlx_dims *s = rlx_infer_shape(c, i);
  return s->v[s->n - 1];
}

static rlx_status biased_product(rlx_infer *c, bool trans_b) {
  RLX_TRY(product_shape(c, 0, 1, trans_b, &c->out.shape));
  return rlx_infer_in(c, 2) ? rlx_expect_shape(c, 2, RLX_DIMS(c->out.shape.v[c->out.shape.n - 1])) : RLX_OK;
}

rlx_status rlx_shape_fused_matmul(rlx_infer *c) {
  return biased_product(c, RLX_ATTRS(fused_matmul_bias_act, c)->trans_b);
}

rlx_status rlx_shape_norm_matmul(rlx_infer *c) {
  RLX_TRY(biased_product(c, RLX_ATTRS(fused_norm_matmul, c)->trans_b));
  return rlx_expect_row_norm(c, 3, last_size(c, 0));
}

static rlx_status two_products(rlx_infer *c, bool trans_b) {
  RLX_TRY(rlx_expect_shape(c, 2, *rlx_infer_shape(c, 1)));
  rlx_dims up;
  RLX_TRY(product_shape(c, 0, 1, trans_b, &c->out.shape));
  RLX_TRY(product_shape(c, 0, 2, trans_b, &up));
  for (int i = 0; i < up.n; i++)
    (void)rlx_dim_unify(c->out.shape.v[i], up.v[i], &c->out.shape.v[i]); /* they agree: keep the more specific one */
  return RLX_OK;
}

rlx_status rlx_shape_gate_up(rlx_infer *c) { return two_products(c, RLX_ATTRS(fused_gate_up, c)->trans_b); }

rlx_status rlx_shape_norm_gate_up(rlx_infer *c) {
  RLX_TRY(two_products(c, RLX_ATTRS(fused_norm_gate_up, c)->trans_b));
  return rlx_expect_row_norm(c, 3, last_size(c, 0));
}
