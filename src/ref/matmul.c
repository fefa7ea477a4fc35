/* Matrix products of float operands, and dense_solve.
 *
 * The inner loop is rlx_dot_row: a row of a times all columns of b, in f64. matmul stores it. lora_matmul adds a second
 * product of a low-rank one. dot_general has axes in any order and iterates over indices instead. Packed and integer
 * weights are in dequant.c, fused forms in fused.c. */
#include <math.h>

#include "base/arith.h"
#include "ref/product.h"

rlx_status rlx_operand_open(rlx_ref_call *c, const rlx_tensor *t, rlx_operand *out) {
  *out = (rlx_operand){t, NULL};
  if (t->dtype != RLX_F32 && !rlx_dtype_is_block(t->dtype)) return RLX_OK;
  return rlx_ref_as_f32(c, t, &out->f32);
}

void rlx_dot_row(rlx_ref_call *c, const rlx_operand *a, size_t a_at, const rlx_operand *b, size_t b_at, size_t b_k,
                 size_t b_n, size_t k, size_t n, double *out) {
  for (size_t j = 0; j < n && rlx_ref_continues(c, 1); j++) {
    double sum = 0;
    RLX_REF_EACH(c, i, k) sum += rlx_operand_at(a, a_at + i) * rlx_operand_at(b, b_at + i * b_k + j * b_n);
    out[j] = sum;
  }
}

/* Strides of a tensor along the batch axes of a result, in elements. */
static void batch_strides(const rlx_dims *shape, const rlx_dims *batch, size_t stride[RLX_MAX_RANK]) {
  rlx_dims own = *shape;
  own.n -= 2;
  rlx_broadcast_strides(&own, batch, stride);
  size_t matrix = (size_t)shape->v[shape->n - 2] * (size_t)shape->v[shape->n - 1];
  for (int i = 0; i < batch->n; i++) stride[i] *= matrix;
}

/* The offset of matrix `at` of a batch. */
static size_t batch_offset(const rlx_dims *batch, const size_t *stride, size_t at) {
  size_t offset = 0;
  for (int i = batch->n - 1; i >= 0; i--) {
    offset += at % (size_t)batch->v[i] * stride[i];
    at /= (size_t)batch->v[i];
  }
  return offset;
}

rlx_status rlx_product_open(rlx_ref_call *c, const rlx_tensor *a, const rlx_tensor *b, bool trans_b,
                            const rlx_dims *result, rlx_product *out) {
  RLX_TRY(rlx_operand_open(c, a, &out->a));
  RLX_TRY(rlx_operand_open(c, b, &out->b));
  const int64_t *tail_a = a->shape.v + a->shape.n - 2, *tail_b = b->shape.v + b->shape.n - 2;
  out->m = (size_t)tail_a[0];
  out->k = (size_t)tail_a[1];
  out->n = (size_t)tail_b[trans_b ? 0 : 1];
  out->b_k = trans_b ? 1 : out->n;
  out->b_n = trans_b ? out->k : 1;
  out->batch = *result;
  out->batch.n -= 2;
  batch_strides(&a->shape, &out->batch, out->a_batch);
  batch_strides(&b->shape, &out->batch, out->b_batch);
  return RLX_OK;
}

void rlx_product_at(const rlx_product *p, size_t row, size_t *a_at, size_t *b_at) {
  *a_at = batch_offset(&p->batch, p->a_batch, row / p->m) + row % p->m * p->k;
  *b_at = batch_offset(&p->batch, p->b_batch, row / p->m);
}

void rlx_product_row(rlx_ref_call *c, const rlx_product *p, size_t row, double *out) {
  size_t a_at, b_at;
  rlx_product_at(p, row, &a_at, &b_at);
  rlx_dot_row(c, &p->a, a_at, &p->b, b_at, p->b_k, p->b_n, p->k, p->n, out);
}

rlx_status rlx_ref_matmul(rlx_ref_call *c) {
  size_t count = rlx_tensor_count(c->out);
  if (count == 0) return RLX_OK;
  rlx_product p;
  double *row;
  RLX_TRY(rlx_product_open(c, c->in[0], c->in[1], RLX_ATTRS(matmul, c)->trans_b, &c->out->shape, &p));
  RLX_TRY(rlx_ref_scratch(c, p.n, sizeof *row, &row));
  for (size_t r = 0; r < count / p.n && rlx_ref_continues(c, 1); r++) {
    rlx_product_row(c, &p, r, row);
    RLX_REF_EACH(c, j, p.n) rlx_store(c->out, r * p.n + j, row[j]);
  }
  return RLX_OK;
}

/* x w + scale (x a) b; the low-rank product x a stays in f64. */
rlx_status rlx_ref_lora_matmul(rlx_ref_call *c) {
  const rlx_attrs_lora_matmul *attrs = c->attrs;
  size_t count = rlx_tensor_count(c->out);
  if (count == 0) return RLX_OK;
  rlx_dims narrow_shape = c->out->shape;
  narrow_shape.v[narrow_shape.n - 1] = c->in[2]->shape.v[1];
  rlx_product wide, narrow;
  rlx_operand b;
  double *row, *low;
  RLX_TRY(rlx_product_open(c, c->in[0], c->in[1], attrs->trans_b, &c->out->shape, &wide));
  RLX_TRY(rlx_product_open(c, c->in[0], c->in[2], false, &narrow_shape, &narrow));
  RLX_TRY(rlx_operand_open(c, c->in[3], &b));
  RLX_TRY(rlx_ref_scratch(c, wide.n, sizeof *row, &row));
  RLX_TRY(rlx_ref_scratch(c, narrow.n, sizeof *low, &low));
  for (size_t r = 0; r < count / wide.n && rlx_ref_continues(c, 1); r++) {
    rlx_product_row(c, &wide, r, row);
    rlx_product_row(c, &narrow, r, low);
    for (size_t j = 0; j < wide.n && rlx_ref_continues(c, 1); j++) {
      double sum = 0;
      RLX_REF_EACH(c, i, narrow.n) sum += low[i] * rlx_operand_at(&b, i * wide.n + j);
      rlx_store(c->out, r * wide.n + j, row[j] + attrs->scale * sum);
    }
  }
  return RLX_OK;
}

/* ---- dot_general ---- */

static uint32_t mark_axes(const rlx_dims *axes, int rank, rlx_dims *resolved) {
  uint32_t bits = 0;
  resolved->n = axes->n;
  for (int i = 0; i < axes->n; i++) {
    resolved->v[i] = rlx_axis_of(axes->v[i], rank);
    bits |= 1u << resolved->v[i];
  }
  return bits;
}

rlx_status rlx_ref_dot_general(rlx_ref_call *c) {
  const rlx_attrs_dot_general *attrs = c->attrs;
  const rlx_tensor *a = c->in[0], *b = c->in[1];
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  rlx_dims batch_a, batch_b, sum_a, sum_b;
  uint32_t taken_a =
    mark_axes(&attrs->batch_a, a->shape.n, &batch_a) | mark_axes(&attrs->contract_a, a->shape.n, &sum_a);
  uint32_t taken_b =
    mark_axes(&attrs->batch_b, b->shape.n, &batch_b) | mark_axes(&attrs->contract_b, b->shape.n, &sum_b);
  size_t own_a[RLX_MAX_RANK], own_b[RLX_MAX_RANK];
  rlx_strides(&a->shape, own_a);
  rlx_strides(&b->shape, own_b);

  /* Strides of both operands along each axis of the result, 0 where the operand does not have it. */
  size_t out_a[RLX_MAX_RANK] = {0}, out_b[RLX_MAX_RANK] = {0};
  int axis = 0;
  for (int i = 0; i < batch_a.n; i++, axis++) {
    out_a[axis] = own_a[batch_a.v[i]];
    out_b[axis] = own_b[batch_b.v[i]];
  }
  for (int i = 0; i < a->shape.n; i++)
    if (!(taken_a >> i & 1)) out_a[axis++] = own_a[i];
  for (int i = 0; i < b->shape.n; i++)
    if (!(taken_b >> i & 1)) out_b[axis++] = own_b[i];
  /* And along the contracted axes. */
  rlx_dims sum_shape = {.n = sum_a.n};
  size_t step_a[RLX_MAX_RANK] = {0}, step_b[RLX_MAX_RANK] = {0};
  for (int i = 0; i < sum_a.n; i++) {
    sum_shape.v[i] = a->shape.v[sum_a.v[i]];
    step_a[i] = own_a[sum_a.v[i]];
    step_b[i] = own_b[sum_b.v[i]];
  }

  bool terms = rlx_dims_count(&sum_shape) > 0;
  int64_t idx[RLX_MAX_RANK] = {0};
  size_t k = 0;
  do {
    size_t at_a = rlx_offset(c->out->shape.n, idx, out_a), at_b = rlx_offset(c->out->shape.n, idx, out_b);
    int64_t term[RLX_MAX_RANK] = {0};
    double sum = 0;
    if (terms) {
      do {
        sum += rlx_load(a, at_a + rlx_offset(sum_shape.n, term, step_a)) *
               rlx_load(b, at_b + rlx_offset(sum_shape.n, term, step_b));
      } while (rlx_next_index(&sum_shape, term) && rlx_ref_continues(c, 1));
    }
    rlx_store(c->out, k++, sum);
  } while (rlx_next_index(&c->out->shape, idx) && rlx_ref_continues(c, 1));
  return RLX_OK;
}

/* ---- dense_solve ---- */

static void swap_rows(double *m, size_t width, size_t i, size_t j) {
  for (size_t k = 0; k < width && i != j; k++) {
    double t = m[i * width + k];
    m[i * width + k] = m[j * width + k];
    m[j * width + k] = t;
  }
}

/* Gaussian elimination with partial pivoting, in place: a [n, n] becomes upper triangular, b [n, k] becomes x. */
static void solve(rlx_ref_call *c, double *a, double *b, size_t n, size_t k) {
  for (size_t col = 0; col < n && rlx_ref_continues(c, n + k); col++) {
    size_t pivot = col;
    for (size_t i = col + 1; i < n; i++)
      if (fabs(a[i * n + col]) > fabs(a[pivot * n + col])) pivot = i;
    swap_rows(a, n, col, pivot);
    swap_rows(b, k, col, pivot);
    for (size_t i = col + 1; i < n && rlx_ref_continues(c, n - col + k); i++) {
      double factor = a[i * n + col] / a[col * n + col];
      for (size_t j = col + 1; j < n; j++) a[i * n + j] -= factor * a[col * n + j];
      for (size_t j = 0; j < k; j++) b[i * k + j] -= factor * b[col * k + j];
    }
  }
  for (size_t i = n; i-- > 0;)
    for (size_t j = 0; j < k && rlx_ref_continues(c, n - i); j++) {
      double sum = b[i * k + j];
      for (size_t l = i + 1; l < n; l++) sum -= a[i * n + l] * b[l * k + j];
      b[i * k + j] = sum / a[i * n + i];
    }
}

rlx_status rlx_ref_dense_solve(rlx_ref_call *c) {
  size_t count = rlx_tensor_count(c->out);
  if (count == 0) return RLX_OK;
  const rlx_dims *shape = &c->out->shape;
  size_t n = (size_t)shape->v[shape->n - 2], k = (size_t)shape->v[shape->n - 1];
  rlx_dims batch = *shape;
  batch.n -= 2;
  size_t stride_a[RLX_MAX_RANK], stride_b[RLX_MAX_RANK];
  batch_strides(&c->in[0]->shape, &batch, stride_a);
  batch_strides(&c->in[1]->shape, &batch, stride_b);
  double *a, *b;
  size_t square;
  if (!rlx_mul_size(n, n, &square)) return RLX_FAIL(RLX_NO_MEMORY, "a system of %zu equations", n);
  RLX_TRY(rlx_ref_scratch(c, square, sizeof *a, &a));
  RLX_TRY(rlx_ref_scratch(c, n * k, sizeof *b, &b));
  for (size_t at = 0; at < count / (n * k) && rlx_ref_continues(c, 1); at++) {
    size_t a_at = batch_offset(&batch, stride_a, at), b_at = batch_offset(&batch, stride_b, at);
    RLX_REF_EACH(c, i, square) a[i] = rlx_load(c->in[0], a_at + i);
    RLX_REF_EACH(c, i, n * k) b[i] = rlx_load(c->in[1], b_at + i);
    solve(c, a, b, n, k);
    RLX_REF_EACH(c, i, n * k) rlx_store(c->out, at * n * k + i, b[i]);
  }
  return RLX_OK;
}
