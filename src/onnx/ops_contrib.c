/* com.microsoft ops that model optimisers insert: fused element-wise ops, norms, products and convolutions. */
#include <inttypes.h>
#include <string.h>

#include "onnx/compose.h"

/* ---- element-wise ---- */

static rlx_node plus_bias(onnx_call *c, uint32_t x, uint32_t bias) {
  return onnx_has(c, bias) ? rlx_op_add(c->g, onnx_in(c, x), onnx_in(c, bias)) : onnx_in(c, x);
}

rlx_status onnx_op_fast_gelu(onnx_call *c) {
  return onnx_set_like(c, 0, rlx_op_gelu_approx(c->g, plus_bias(c, 0, 1)), 0);
}
rlx_status onnx_op_bias_gelu(onnx_call *c) { return onnx_set_like(c, 0, rlx_op_gelu(c->g, plus_bias(c, 0, 1)), 0); }

rlx_status onnx_op_quick_gelu(onnx_call *c) {
  double alpha;
  RLX_TRY(onnx_float(c, "alpha", 1.702, &alpha));
  rlx_node x = onnx_in(c, 0);
  return onnx_set_like(c, 0, rlx_op_mul(c->g, x, rlx_op_sigmoid(c->g, onnx_times(c, x, alpha))), 0);
}

/* The left half times gelu of the right, after a bias. */
rlx_status onnx_op_bias_split_gelu(onnx_call *c) {
  rlx_dims d = onnx_shape(c, 0);
  if (d.n < 1 || d.v[d.n - 1] % 2) return RLX_FAIL(RLX_INVALID, "an input that has no halves");
  int64_t half = d.v[d.n - 1] / 2;
  rlx_node x = plus_bias(c, 0, 1);
  rlx_node right = rlx_op_gelu(c->g, onnx_part(c, x, d.n - 1, half, 2 * half));
  return onnx_set_like(c, 0, rlx_op_mul(c->g, onnx_part(c, x, d.n - 1, 0, half), right), 0);
}

/* ---- norms ---- */

/* norm(input + skip + bias), and the sum itself. */
static rlx_status skip_norm(onnx_call *c, bool is_layer) {
  double eps;
  uint32_t bias = is_layer ? 4 : 3;
  RLX_TRY(onnx_float(c, "epsilon", 1e-12, &eps));
  rlx_node x = rlx_op_add(c->g, onnx_in(c, 0), onnx_in(c, 1)), gamma = onnx_in(c, 2);
  if (onnx_has(c, bias)) x = rlx_op_add(c->g, x, onnx_in(c, bias));
  rlx_node y = is_layer ? rlx_op_layer_norm(c->g, x, gamma, onnx_in(c, 3), -1, eps)
                        : rlx_op_rms_norm(c->g, x, gamma, RLX_NONE, -1, eps);
  RLX_TRY(onnx_set_like(c, 0, y, 0));
  for (uint32_t i = 1; i < 3; i++)
    if (onnx_wants(c, i)) return onnx_refuse(c, "output %u is of training", (unsigned)i);
  return onnx_wants(c, 3) ? onnx_set_like(c, 3, x, 0) : RLX_OK;
}

rlx_status onnx_op_skip_layer_normalization(onnx_call *c) { return skip_norm(c, true); }
rlx_status onnx_op_skip_simplified_layer_normalization(onnx_call *c) { return skip_norm(c, false); }

/* Looks up word, position and segment embeddings, sums them and normalises the sum. */
rlx_status onnx_op_embed_layer_normalization(onnx_call *c) {
  double eps;
  int64_t mask_type;
  rlx_dims ids = onnx_shape(c, 0);
  RLX_TRY(onnx_float(c, "epsilon", 1e-12, &eps));
  RLX_TRY(onnx_int(c, "mask_index_type", 0, &mask_type));
  if (mask_type && onnx_wants(c, 1)) return onnx_refuse(c, "mask_index_type is %d", (int)mask_type);
  if (ids.n != 2) return RLX_FAIL(RLX_INVALID, "input_ids has %d axes", (int)ids.n);
  rlx_node x = rlx_op_gather(c->g, onnx_in(c, 2), onnx_in(c, 0), 0);
  rlx_node places =
    onnx_has(c, 8) ? rlx_op_gather(c->g, onnx_in(c, 3), onnx_in(c, 8), 0) : onnx_part(c, onnx_in(c, 3), 0, 0, ids.v[1]);
  x = rlx_op_add(c->g, x, places);
  if (onnx_has(c, 1) && onnx_has(c, 4)) x = rlx_op_add(c->g, x, rlx_op_gather(c->g, onnx_in(c, 4), onnx_in(c, 1), 0));
  rlx_node y = rlx_op_layer_norm(c->g, x, onnx_in(c, 5), onnx_in(c, 6), -1, eps);
  RLX_TRY(onnx_set_like(c, 0, y, 2));
  rlx_node mask = onnx_has(c, 7) ? rlx_op_reduce_sum(c->g, onnx_cast(c, onnx_in(c, 7), RLX_I32), RLX_DIMS(1), false)
                                 : onnx_fill(c, RLX_I32, RLX_DIMS(ids.v[0]), 0);
  if (onnx_wants(c, 1)) RLX_TRY(onnx_set(c, 1, mask));
  return onnx_wants(c, 2) ? onnx_set_like(c, 2, x, 2) : RLX_OK;
}

/* ---- products ---- */

/* [M, batch.., K] as [batch.., M, K]. */
static rlx_node batch_first(onnx_call *c, rlx_node x) {
  rlx_dims perm = onnx_dims(c, x);
  for (int i = 0; i < perm.n; i++) perm.v[i] = i < perm.n - 2 ? i + 1 : i == perm.n - 2 ? 0 : i;
  return perm.n > 2 ? rlx_op_transpose(c->g, x, perm) : x;
}

static rlx_node matrix(onnx_call *c, uint32_t i, bool transpose, bool transpose_batch) {
  rlx_node x = onnx_in(c, i);
  if (transpose_batch) x = batch_first(c, x);
  return transpose && onnx_rank(c, i) >= 2 ? onnx_transpose_last(c, x) : x;
}

/* NumPy's product, also of vectors. */
static rlx_node product(onnx_call *c, rlx_node a, rlx_node b) {
  rlx_dims as = onnx_dims(c, a), bs = onnx_dims(c, b), out = {0};
  if (as.n < 1 || bs.n < 1) return RLX_NONE;
  if (as.n == 1) a = onnx_reshape(c, a, RLX_DIMS(1, as.v[0]));
  if (bs.n == 1) b = onnx_reshape(c, b, RLX_DIMS(bs.v[0], 1));
  rlx_node y = rlx_op_matmul(c->g, a, b);
  rlx_dims ys = onnx_dims(c, y);
  for (int i = 0; i < ys.n; i++)
    if (!(i == ys.n - 2 && as.n == 1) && !(i == ys.n - 1 && bs.n == 1)) out.v[out.n++] = ys.v[i];
  return onnx_reshape(c, y, out);
}

rlx_status onnx_op_fused_matmul(onnx_call *c) {
  bool ta, tb, ba, bb;
  double alpha;
  RLX_TRY(onnx_flag(c, "transA", false, &ta));
  RLX_TRY(onnx_flag(c, "transB", false, &tb));
  RLX_TRY(onnx_flag(c, "transBatchA", false, &ba));
  RLX_TRY(onnx_flag(c, "transBatchB", false, &bb));
  RLX_TRY(onnx_float(c, "alpha", 1, &alpha));
  return onnx_set_like(c, 0, onnx_times(c, product(c, matrix(c, 0, ta, ba), matrix(c, 1, tb, bb)), alpha), 0);
}

/* An activation by its name, with up to two numbers. */
static rlx_status activate(onnx_call *c, const char *name, const double *p, size_t n, rlx_node *x) {
  double a = n > 0 ? p[0] : (double)NAN, b = n > 1 ? p[1] : (double)NAN;
  if (!*name) return RLX_OK;
  if (strcmp(name, "Relu") == 0) *x = rlx_op_relu(c->g, *x);
  else if (strcmp(name, "Tanh") == 0) *x = rlx_op_tanh(c->g, *x);
  else if (strcmp(name, "Sigmoid") == 0) *x = rlx_op_sigmoid(c->g, *x);
  else if (strcmp(name, "LeakyRelu") == 0) *x = rlx_op_leaky_relu(c->g, *x, isnan(a) ? 0.01 : a);
  else if (strcmp(name, "Clip") == 0)
    *x = rlx_op_clamp(c->g, *x, isnan(a) ? -RLX_INFINITY : a, isnan(b) ? RLX_INFINITY : b);
  else if (strcmp(name, "HardSigmoid") == 0) *x = rlx_op_hard_sigmoid(c->g, *x, isnan(a) ? 0.2 : a, isnan(b) ? 0.5 : b);
  else return onnx_refuse(c, "activation '%.40s'", name);
  return RLX_OK;
}

rlx_status onnx_op_fused_gemm(onnx_call *c) {
  bool ta, tb;
  double alpha, beta, numbers[2];
  const char *act;
  RLX_TRY(onnx_flag(c, "transA", false, &ta));
  RLX_TRY(onnx_flag(c, "transB", false, &tb));
  RLX_TRY(onnx_float(c, "alpha", 1, &alpha));
  RLX_TRY(onnx_float(c, "beta", 1, &beta));
  RLX_TRY(onnx_text_of(c, "activation", "", &act));
  RLX_TRY(onnx_float(c, "activation_alpha", (double)NAN, &numbers[0]));
  RLX_TRY(onnx_float(c, "activation_beta", (double)NAN, &numbers[1]));
  if (onnx_rank(c, 0) != 2 || onnx_rank(c, 1) != 2) return RLX_FAIL(RLX_INVALID, "expected two matrices");
  rlx_node y = onnx_times(c, rlx_op_matmul(c->g, matrix(c, 0, ta, false), matrix(c, 1, tb, false)), alpha);
  if (onnx_has(c, 2)) y = rlx_op_add(c->g, y, onnx_times(c, onnx_in(c, 2), beta));
  RLX_TRY(activate(c, act, numbers, 2, &y));
  return onnx_set_like(c, 0, y, 0);
}

/* Conv, plus another value, and an activation. */
rlx_status onnx_op_fused_conv(onnx_call *c) {
  const char *act;
  const double *p;
  size_t n;
  RLX_TRY(onnx_text_of(c, "activation", "", &act));
  RLX_TRY(onnx_floats_of(c, "activation_params", &p, &n));
  RLX_TRY(onnx_op_conv(c));
  rlx_node y = onnx_node_of(c, c->out[0]);
  if (onnx_has(c, 3)) y = rlx_op_add(c->g, y, onnx_in(c, 3));
  RLX_TRY(activate(c, act, p, n, &y));
  return onnx_set_like(c, 0, y, 0);
}

/* ---- MatMulNBits: a weight [N, blocks, bytes], scales [N, blocks] ---- */

/* Two 4-bit numbers per byte along the last axis: the low one first. */
static rlx_node unpack_nibbles(onnx_call *c, rlx_node x, int64_t rows, int64_t bytes) {
  rlx_node low = rlx_op_bit_and(c->g, x, rlx_op_scalar(c->g, RLX_U8, 15)),
           high = rlx_op_shr(c->g, x, rlx_op_scalar(c->g, RLX_U8, 4));
  rlx_node parts[] = {onnx_reshape(c, low, RLX_DIMS(rows, bytes, 1)), onnx_reshape(c, high, RLX_DIMS(rows, bytes, 1))};
  return onnx_reshape(c, rlx_op_concat(c->g, parts, 2, 2), RLX_DIMS(rows, 2 * bytes));
}

typedef struct nbits {
  int64_t k, n, bits, block, n_blocks, blob;
} nbits;

static rlx_status read_nbits(onnx_call *c, nbits *b) {
  rlx_dims x = onnx_shape(c, 0), w = onnx_shape(c, 1), s = onnx_shape(c, 2);
  RLX_TRY(onnx_int(c, "K", 0, &b->k));
  RLX_TRY(onnx_int(c, "N", 0, &b->n));
  RLX_TRY(onnx_int(c, "bits", 4, &b->bits));
  RLX_TRY(onnx_int(c, "block_size", 0, &b->block));
  if (b->bits != 4 && b->bits != 8) return onnx_refuse(c, "weights of %" PRId64 " bits", b->bits);
  if (b->k < 1 || b->n < 1 || b->block < 2 || b->k > INT32_MAX || b->n > INT32_MAX || b->block > INT32_MAX ||
      b->block % 2)
    return RLX_FAIL(RLX_INVALID, "K %" PRId64 ", N %" PRId64 ", blocks of %" PRId64, b->k, b->n, b->block);
  b->n_blocks = (b->k + b->block - 1) / b->block;
  b->blob = b->block * b->bits / 8;
  if (x.n < 1 || x.v[x.n - 1] != b->k || onnx_dtype(c, 1) != RLX_U8 ||
      (int64_t)rlx_dims_count(&w) != b->n * b->n_blocks * b->blob || (int64_t)rlx_dims_count(&s) != b->n * b->n_blocks)
    return RLX_FAIL(RLX_INVALID, "the weight or its scales do not fit K %" PRId64 " and N %" PRId64, b->k, b->n);
  if (onnx_has(c, 4)) return onnx_refuse(c, "g_idx: blocks out of order");
  return RLX_OK;
}

/* Zero points as [N, blocks] of the codes' type; none: the middle. */
static rlx_status zero_points(onnx_call *c, const nbits *b, rlx_node *out) {
  rlx_dims z = onnx_shape(c, 3);
  int64_t bytes = b->bits == 4 ? (b->n_blocks + 1) / 2 : b->n_blocks;
  *out = RLX_NONE;
  if (!onnx_has(c, 3)) return RLX_OK;
  if ((int64_t)rlx_dims_count(&z) != b->n * bytes) return RLX_FAIL(RLX_INVALID, "the zero points do not fit");
  rlx_node n = onnx_reshape(c, onnx_in(c, 3), RLX_DIMS(b->n, bytes));
  if (b->bits == 4) n = onnx_part(c, unpack_nibbles(c, n, b->n, bytes), 1, 0, b->n_blocks);
  *out = n;
  return RLX_OK;
}

static rlx_node to_signed(onnx_call *c, rlx_node x) {
  return rlx_op_cast(c->g, onnx_plus(c, rlx_op_cast(c->g, x, RLX_I16), -128), RLX_I8);
}

/* Zero points that are floats: the weight is decoded whole. */
static rlx_node decode(onnx_call *c, const nbits *b, rlx_node codes, rlx_node scale) {
  rlx_node w = b->bits == 4 ? unpack_nibbles(c, codes, b->n, b->n_blocks * b->blob) : codes;
  rlx_node zero = onnx_reshape(c, onnx_cast(c, onnx_in(c, 3), RLX_F32), RLX_DIMS(b->n, b->n_blocks, 1));
  w = onnx_reshape(c, rlx_op_cast(c->g, w, RLX_F32), RLX_DIMS(b->n, b->n_blocks, b->block));
  w = rlx_op_mul(c->g, rlx_op_sub(c->g, w, zero), onnx_reshape(c, scale, RLX_DIMS(b->n, b->n_blocks, 1)));
  return onnx_part(c, onnx_reshape(c, w, RLX_DIMS(b->n, b->n_blocks * b->block)), 1, 0, b->k);
}

rlx_status onnx_op_matmul_nbits(onnx_call *c) {
  nbits b = {0};
  rlx_node zero = RLX_NONE, y;
  RLX_TRY(read_nbits(c, &b));
  bool float_zero = onnx_has(c, 3) && onnx_holds_floats(onnx_dtype(c, 3));
  rlx_node x = onnx_cast(c, onnx_in(c, 0), RLX_F32),
           codes = onnx_reshape(c, onnx_in(c, 1), RLX_DIMS(b.n, b.n_blocks * b.blob));
  rlx_node scale = onnx_reshape(c, onnx_cast(c, onnx_in(c, 2), RLX_F32), RLX_DIMS(b.n, b.n_blocks));
  rlx_dims xs = onnx_shape(c, 0);
  if (xs.n == 1) x = onnx_reshape(c, x, RLX_DIMS(1, b.k));
  if (float_zero) {
    y = rlx_op_matmul_t(c->g, x, decode(c, &b, codes, scale));
  } else {
    rlx_op_dequant_matmul_desc d = {RLX_OP_DEQUANT_MATMUL_DESC_INIT, .scheme = RLX_SCHEME_INT4, .block = b.block};
    RLX_TRY(zero_points(c, &b, &zero));
    codes = onnx_transpose_last(c, onnx_part(c, codes, 1, 0, b.bits == 4 ? (b.k + 1) / 2 : b.k));
    if (b.bits == 8) {
      d.scheme = zero ? RLX_SCHEME_INT8_ASYM : RLX_SCHEME_INT8;
      codes = to_signed(c, codes);
      if (zero) zero = to_signed(c, zero);
    }
    d.scale = onnx_transpose_last(c, scale);
    d.zero = zero ? onnx_transpose_last(c, zero) : RLX_NONE;
    y = rlx_op_dequant_matmul(c->g, x, codes, &d);
  }
  if (onnx_has(c, 5)) y = rlx_op_add(c->g, y, onnx_cast(c, onnx_in(c, 5), RLX_F32));
  if (xs.n == 1) y = onnx_reshape(c, y, RLX_DIMS(b.n));
  return onnx_set_like(c, 0, onnx_cast(c, y, onnx_dtype(c, 0)), 0);
}

/* ---- the rest ---- */

/* a X = 1. */
rlx_status onnx_op_inverse(onnx_call *c) {
  rlx_dims d = onnx_shape(c, 0);
  rlx_dtype dtype = onnx_dtype(c, 0);
  if (d.n < 2 || d.v[d.n - 1] != d.v[d.n - 2] || !onnx_holds_floats(dtype))
    return RLX_FAIL(RLX_INVALID, "expected square matrices of floats");
  rlx_node i = rlx_op_range(c->g, 0, 1, d.v[d.n - 1], RLX_I32);
  rlx_node one = rlx_op_one_hot(c->g, i, d.v[d.n - 1], -1, 1, 0, onnx_wide(dtype));
  rlx_node y = rlx_op_dense_solve(c->g, onnx_cast(c, onnx_in(c, 0), onnx_wide(dtype)), rlx_op_expand(c->g, one, d));
  return onnx_set_like(c, 0, onnx_cast(c, y, dtype), 0);
}

/* ONNX's own ops under another name: what they mean since that version of ONNX's opset. */
static rlx_status as_since(onnx_call *c, int64_t opset, rlx_status (*fn)(onnx_call *c)) {
  c->opset = opset;
  return fn(c);
}
rlx_status onnx_op_contrib_gather_nd(onnx_call *c) { return as_since(c, 12, onnx_op_gather_nd); }
rlx_status onnx_op_contrib_pad(onnx_call *c) { return as_since(c, 13, onnx_op_pad); }
rlx_status onnx_op_contrib_trilu(onnx_call *c) { return as_since(c, 14, onnx_op_trilu); }

/* MaxPool with channels last. */
rlx_status onnx_op_nhwc_max_pool(onnx_call *c) {
  rlx_dims d = onnx_shape(c, 0), to = {0}, back = {0};
  onnx_value *x;
  if (d.n < 3) return RLX_FAIL(RLX_INVALID, "an input with %d axes", (int)d.n);
  to.n = back.n = d.n;
  for (int i = 0; i < d.n; i++) to.v[i] = i == 0 ? 0 : i == 1 ? d.n - 1 : i - 1;
  for (int i = 0; i < d.n; i++) back.v[i] = i == 0 ? 0 : i == d.n - 1 ? 1 : i + 1;
  RLX_TRY(onnx_value_make(c, rlx_op_transpose(c->g, onnx_in(c, 0), to), onnx_in_type(c, 0), &x));
  c->in[0] = x;
  RLX_TRY(onnx_op_max_pool(c));
  return onnx_set_as(c, 0, rlx_op_transpose(c->g, onnx_node_of(c, c->out[0]), back), x->type);
}
