/* SPEC section 8 as code: the tolerance of an op and dtype, and the comparison. */
#include "ref/compare.h"

#include <math.h>

#include "ref/ref.h"

/* The number of elements that one filter computes from one image: the last axes of a convolution's result. The RMS of a
 * few elements may be near 0 by chance, so below MIN_ELEMENTS all count. */
static size_t plane_elements(const rlx_dims *shape) {
  enum { MIN_ELEMENTS = 16 };
  size_t n = 1;
  for (int i = 2; i < shape->n; i++) n *= (size_t)shape->v[i];
  return n < MIN_ELEMENTS ? SIZE_MAX : n;
}

static bool is_conv(rlx_op op) {
  return op == RLX_OP_conv || op == RLX_OP_conv_transpose || op == RLX_OP_fused_conv_bias_act;
}

/* The products in each sum of a convolution: w is [O, C/groups, ..], for a transposed one [C, O/groups, ..]. */
static double conv_depth(const rlx_graph *g, const rlx_node_rec *n) {
  const rlx_dims *w = &rlx_graph_at(g, n->in[1])->type.shape;
  bool is_transposed = n->op == RLX_OP_conv_transpose;
  double depth = is_transposed ? (double)w->v[0] / (double)RLX_ATTRS(conv_transpose, n)->groups : (double)w->v[1];
  for (int i = 2; i < w->n; i++) depth *= (double)w->v[i];
  return depth;
}

/* The contraction dimension K of the matrix product behind the result, the last one where an op has several; 1:
 * none. */
static double product_depth(const rlx_graph *g, const rlx_node_rec *n) {
  const rlx_dims *of = NULL;
  switch (n->op) {
    case RLX_OP_matmul:
    case RLX_OP_lora_matmul:
    case RLX_OP_grouped_matmul:
    case RLX_OP_dequant_matmul:
    case RLX_OP_dequant_grouped_matmul:
    case RLX_OP_fused_matmul_bias_act:
    case RLX_OP_fused_norm_matmul:
    case RLX_OP_fused_norm_gate_up:
    case RLX_OP_fused_gate_up: of = &rlx_graph_at(g, n->in[0])->type.shape; break;
    case RLX_OP_fused_attention_block: /* w_out: [K, E], or [E, K] */
      of = &rlx_graph_at(g, n->in[2])->type.shape;
      return (double)of->v[RLX_ATTRS(fused_attention_block, n)->trans_b ? of->n - 1 : of->n - 2];
    default: return is_conv(n->op) ? conv_depth(g, n) : 1;
  }
  return (double)of->v[of->n - 1];
}

static bool multiplies_twice(rlx_op op) { return op == RLX_OP_fused_gate_up || op == RLX_OP_fused_norm_gate_up; }

/* The error of a sum of K terms grows with sqrt(K); this holds for every op with a product.
 *
 * The error of a sum is relative to its terms, not to what remains after cancellation. Where the results of a filter
 * are in the thousands, one that happens to be near 0 has the same absolute error as they have. So for a convolution
 * atol is relative to the RMS of its filter's results. Networks with inputs of 0 .. 255 have such values.
 *
 * fused_gate_up is a product of two such products, act(a) b. If each is off by up to t (1 + |value|), the result is off
 * by up to t (|b| + |act(a)| + 2 |r|). The first two terms do not shrink with the result, as the error of a factor near
 * 0 is multiplied by the other factor. Only the product of the factors is known here. Where both are of size 1 or more,
 * neither is larger than the product, so atol is relative to the result's RMS. The limit on the whole tensor still
 * catches what this lets pass in single elements: it stays at a tenth of the rtol of a single element, without
 * sqrt(K). */
rlx_tolerance rlx_tolerance_of(const rlx_graph *g, rlx_node result) {
  const rlx_node_rec *n = rlx_graph_at(g, result);
  rlx_dtype t = n->type.dtype;
  bool exact = !(rlx_dtype_is_float(t) || t == RLX_C64) || rlx_op_table_has(n->op, RLX_TRAIT_MOVES | RLX_TRAIT_LEAF);
  if (exact) return (rlx_tolerance){.whole = 0};
  double rtol = rlx_op_table_has(n->op, RLX_TRAIT_POINTWISE) ? 1e-5 : 1e-4;
  if (t == RLX_F16) rtol = 2e-3;
  if (t == RLX_BF16) rtol = 1e-2;
  if (t == RLX_F64) rtol = 1e-10;
  double scale = fmax(1, sqrt(product_depth(g, n)));
  size_t rms_group = multiplies_twice(n->op) ? SIZE_MAX : is_conv(n->op) ? plane_elements(&n->type.shape) : 0;
  return (rlx_tolerance){.rtol = rtol * scale, .atol = rtol * scale, .whole = rtol / 10, .rms_group = rms_group};
}

rlx_tolerance rlx_tolerance_strict(const rlx_graph *g, rlx_node result) {
  rlx_tolerance t = rlx_tolerance_of(g, result);
  t.signs = rlx_op_table_has(rlx_graph_at(g, result)->op, RLX_TRAIT_POINTWISE | RLX_TRAIT_MOVES);
  return t;
}

static double excess(double y, double r, rlx_tolerance tol) {
  if (isnan(r)) return isnan(y) ? 0 : (double)INFINITY;
  if (isinf(r) || isnan(y) || isinf(y)) return y == r ? 0 : (double)INFINITY;
  double difference = fabs(y - r), limit = tol.atol + tol.rtol * fabs(r);
  return difference == 0 ? 0 : limit > 0 ? difference / limit : (double)INFINITY;
}

/* Whether the node multiplies floats with weights of a block type. */
static bool has_block_weights(const rlx_graph *g, const rlx_node_rec *n) {
  bool block = false, number = false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!n->in[i]) continue;
    rlx_dtype t = rlx_graph_at(g, n->in[i])->type.dtype;
    block = block || rlx_dtype_is_block(t);
    number = number || rlx_dtype_is_float(t);
  }
  return block && number;
}

rlx_tolerance rlx_tolerance_rounded(const rlx_graph *g, rlx_node result) {
  rlx_tolerance t = rlx_tolerance_of(g, result);
  const rlx_node_rec *n = rlx_graph_at(g, result);
  if (!has_block_weights(g, n)) return t;
  /* 1e-2 is for one product. The relative errors of two products that are multiplied add up: 2e-2. After a softmax
   * there is no bound: scores of size s that are off by 1e-2 s change its weights by any factor once s is large. */
  double whole = multiplies_twice(n->op) ? 2e-2 : n->op == RLX_OP_fused_attention_block ? (double)INFINITY : 1e-2;
  return (rlx_tolerance){.atol = (double)INFINITY, .whole = whole};
}

/* Whether the node multiplies f32 with f16. */
static bool mixes_f16(const rlx_graph *g, const rlx_node_rec *n) {
  bool f16 = false, f32 = false;
  if (product_depth(g, n) <= 1 && n->op != RLX_OP_attention) return false;
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!n->in[i]) continue;
    f16 = f16 || rlx_graph_at(g, n->in[i])->type.dtype == RLX_F16;
    f32 = f32 || rlx_graph_at(g, n->in[i])->type.dtype == RLX_F32;
  }
  return f16 && f32;
}

/* An element keeps 11 bits, as in f16 storage, so the tolerance per element is that of f16. It is off by at most 2^-11
 * of itself, and a sum of such errors by about as much of the sum's size: 5e-4 for the whole tensor. Measured: 1.9e-4
 * (docs/kernels.md). The factors of a gate add their errors. What follows the product in the graph takes its error
 * along. */
rlx_tolerance rlx_tolerance_fast_f16(const rlx_graph *g, rlx_tolerance t) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (!mixes_f16(g, n)) continue;
    const double scale = fmax(1, sqrt(product_depth(g, n)));
    t.rtol = fmax(t.rtol, 2e-3 * scale);
    t.atol = fmax(t.atol, 2e-3 * scale);
    t.whole = fmax(t.whole, multiplies_twice(n->op) ? 1e-3 : 5e-4);
  }
  return t;
}

/* NaN against a number counts as infinite. */
static void note_worst(double a, double b, size_t i, rlx_difference *out) {
  double d = isnan(a) && isnan(b) ? 0 : a == b ? 0 : fabs(a - b);
  if (isnan(d)) d = (double)INFINITY;
  if (d > out->worst) out->worst = d, out->at = i;
}

static rlx_status compare_whole(double sum_error, double sum, size_t count, rlx_tolerance tol, rlx_difference *out) {
  double whole = sum > 0 ? sqrt(sum_error / sum) : 0;
  if (isinf(tol.atol)) out->error = fmax(out->error, whole / tol.whole);
  /* Where all values are near zero, the absolute tolerance applies. */
  double near_zero = isinf(tol.atol) ? 0 : tol.atol / 10;
  if (tol.whole <= 0 || whole <= tol.whole || sqrt(sum_error / (double)count) <= near_zero) return RLX_OK;
  out->error = whole / tol.whole;
  return RLX_FAIL(RLX_INVALID, "the whole tensor is off by %.3g of its size; the limit is %.3g", whole, tol.whole);
}

/* The root mean square of the finite ones of these elements. */
static double rms_of(const rlx_tensor *r, size_t from, size_t count) {
  double sum = 0;
  for (size_t i = from; i < from + count; i++) {
    double b = rlx_load(r, i);
    if (isfinite(b)) sum += b * b;
  }
  return count ? sqrt(sum / (double)count) : 0;
}

static rlx_status compare_floats(const rlx_tensor *y, const rlx_tensor *r, size_t count, rlx_tolerance tol,
                                 rlx_difference *out) {
  double sum_error = 0, sum = 0;
  size_t worst = 0;
  rlx_tolerance each = tol;
  size_t group = tol.rms_group < count ? tol.rms_group : count;
  for (size_t i = 0; i < count; i++) {
    if (group && i % group == 0) each.atol = tol.atol * fmax(1, rms_of(r, i, group < count - i ? group : count - i));
    double a = rlx_load(y, i), b = rlx_load(r, i);
    double e = excess(a, b, each);
    if (e > out->error) out->error = e, worst = i;
    note_worst(a, b, i, out);
    if (tol.signs && a == 0 && b == 0 && !signbit(a) != !signbit(b) && out->error < (double)INFINITY) {
      out->error = (double)INFINITY;
      worst = i;
    }
    if (isfinite(a) && isfinite(b)) sum_error += (a - b) * (a - b), sum += b * b;
  }
  if (out->error > 1)
    return RLX_FAIL(RLX_INVALID, "element %zu is %.9g but must be %.9g (%.3g times the tolerance)", worst,
                    rlx_load(y, worst), rlx_load(r, worst), out->error);
  return compare_whole(sum_error, sum, count, tol, out);
}

/* Floats of 8 bits are compared by their codes too: they are moved and converted, not computed with. Both zeros are
 * one value, unless signs count: a sum of next to nothing may have either. */
static rlx_status compare_ints(const rlx_tensor *y, const rlx_tensor *r, size_t count, rlx_tolerance tol,
                               rlx_difference *out) {
  const bool has_two_zeros = rlx_dtype_is_float8(r->dtype) && !tol.signs;
  for (size_t i = 0; i < count; i++) {
    int64_t a = rlx_load_int(y, i), b = rlx_load_int(r, i);
    if (a == b || (has_two_zeros && rlx_load(y, i) == 0 && rlx_load(r, i) == 0)) continue;
    *out = (rlx_difference){.error = (double)INFINITY, .worst = fabs((double)a - (double)b), .at = i};
    return RLX_FAIL(RLX_INVALID, "element %zu is %lld but must be %lld", i, (long long)a, (long long)b);
  }
  return RLX_OK;
}

rlx_status rlx_compare_values(const rlx_tensor *y, const rlx_tensor *r, rlx_tolerance tol, rlx_difference *out) {
  *out = (rlx_difference){0};
  if (y->dtype != r->dtype || !rlx_dims_equal(&y->shape, &r->shape))
    return RLX_FAIL(RLX_INVALID, "is %s%s but must be %s%s", rlx_dtype_name(y->dtype), RLX_DIMS_TEXT(y->shape),
                    rlx_dtype_name(r->dtype), RLX_DIMS_TEXT(r->shape));
  size_t count = rlx_tensor_count(r);
  if (rlx_dtype_is_float(r->dtype)) return compare_floats(y, r, count, tol, out);
  if (r->dtype != RLX_C64) return compare_ints(y, r, count, tol, out);
  rlx_tensor y_parts = *y, r_parts = *r;
  y_parts.dtype = r_parts.dtype = RLX_F32;
  return compare_floats(&y_parts, &r_parts, 2 * count, tol, out);
}

rlx_status rlx_compare(const rlx_tensor *y, const rlx_tensor *r, rlx_tolerance tol, double *error) {
  rlx_difference d;
  rlx_status s = rlx_compare_values(y, r, tol, &d);
  *error = d.error;
  return s;
}
