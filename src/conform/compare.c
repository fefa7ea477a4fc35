/* When is a result right? SPEC section 8 as code: the tolerance of an op and type, and the comparison. */
#include <math.h>

#include "conform/conform.h"
#include "ref/ref.h"

rlx_tolerance rlx_tolerance_of(const rlx_graph *g, rlx_node result) {
  const rlx_node_rec *n = rlx_graph_at(g, result);
  rlx_dtype t = n->type.dtype;
  bool exact = !(rlx_dtype_is_float(t) || t == RLX_C64) || rlx_op_has(n->op, RLX_TRAIT_MOVES | RLX_TRAIT_LEAF);
  if (exact) return (rlx_tolerance){0, 0, 0};
  double rtol = rlx_op_has(n->op, RLX_TRAIT_POINTWISE) ? 1e-5 : 1e-4;
  if (t == RLX_F16) rtol = 2e-3;
  if (t == RLX_BF16) rtol = 1e-2;
  if (t == RLX_F64) rtol = 1e-10;
  double scale = 1;
  if (n->op == RLX_OP_matmul ||
      n->op == RLX_OP_fused_matmul_bias_act) { /* the error of a sum of K products grows with sqrt(K) */
    const rlx_dims *a = &rlx_graph_at(g, n->in[0])->type.shape;
    scale = fmax(1, sqrt((double)a->v[a->n - 1]));
  }
  return (rlx_tolerance){.rtol = rtol * scale, .atol = rtol * scale, .whole = rtol / 10};
}

static double excess(double y, double r, rlx_tolerance tol) {
  if (isnan(r)) return isnan(y) ? 0 : (double)INFINITY;
  if (isinf(r) || isnan(y) || isinf(y)) return y == r ? 0 : (double)INFINITY;
  double difference = fabs(y - r), limit = tol.atol + tol.rtol * fabs(r);
  return difference == 0 ? 0 : limit > 0 ? difference / limit : (double)INFINITY;
}

static rlx_status compare_floats(const rlx_tensor *y, const rlx_tensor *r, size_t count, rlx_tolerance tol,
                                 double *error) {
  double sum_error = 0, sum = 0;
  size_t worst = 0;
  for (size_t i = 0; i < count; i++) {
    double a = rlx_load(y, i), b = rlx_load(r, i), e = excess(a, b, tol);
    if (e > *error) *error = e, worst = i;
    if (isfinite(a) && isfinite(b)) sum_error += (a - b) * (a - b), sum += b * b;
  }
  if (*error > 1)
    return RLX_FAIL(RLX_INVALID, "element %zu is %.9g but must be %.9g (%.3g times the tolerance)", worst,
                    rlx_load(y, worst), rlx_load(r, worst), *error);
  /* Near zero everywhere, the absolute part of the tolerance is the one that counts. */
  double whole = sum > 0 ? sqrt(sum_error / sum) : 0;
  if (tol.whole > 0 && whole > tol.whole && sqrt(sum_error / (double)count) > tol.atol / 10) {
    *error = whole / tol.whole;
    return RLX_FAIL(RLX_INVALID, "the whole tensor is off by %.3g of its size; the limit is %.3g", whole, tol.whole);
  }
  return RLX_OK;
}

rlx_status rlx_compare(const rlx_tensor *y, const rlx_tensor *r, rlx_tolerance tol, double *error) {
  *error = 0;
  if (y->dtype != r->dtype || !rlx_dims_equal(&y->shape, &r->shape))
    return RLX_FAIL(RLX_INVALID, "is %s%s but must be %s%s", rlx_dtype_name(y->dtype), RLX_DIMS_TEXT(y->shape),
                    rlx_dtype_name(r->dtype), RLX_DIMS_TEXT(r->shape));
  size_t count = rlx_tensor_count(r);
  if (rlx_dtype_is_float(r->dtype)) return compare_floats(y, r, count, tol, error);
  if (r->dtype == RLX_C64) {
    rlx_tensor y_parts = *y, r_parts = *r;
    y_parts.dtype = r_parts.dtype = RLX_F32;
    return compare_floats(&y_parts, &r_parts, 2 * count, tol, error);
  }
  for (size_t i = 0; i < count; i++)
    if (rlx_load_int(y, i) != rlx_load_int(r, i)) {
      *error = (double)INFINITY;
      return RLX_FAIL(RLX_INVALID, "element %zu is %lld but must be %lld", i, (long long)rlx_load_int(y, i),
                      (long long)rlx_load_int(r, i));
    }
  return RLX_OK;
}
