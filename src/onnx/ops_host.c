/* Ops whose result size depends on data, and rare ops without device support: loops on the host. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "ir/element.h"
#include "ir/walk.h"
#include "onnx/carry.h"
#include "onnx/ops.h"

/* Allocates a tensor of this type and shape. */
static rlx_status allocate(rlx_tensor *t, rlx_dtype dtype, rlx_dims shape) {
  *t = (rlx_tensor){.dtype = dtype, .shape = shape};
  RLX_TRY(rlx_tensor_bytes(dtype, shape, &t->bytes));
  t->data = rlx_mem_alloc(t->bytes + 1);
  return t->data ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu bytes for a result", t->bytes);
}

/* ---- NonZero ---- */

static rlx_status non_zero(onnx_host_call *h) {
  const rlx_tensor *x = &h->in[0];
  size_t n = rlx_tensor_count(x), found = 0, rank = (size_t)x->shape.n;
  for (size_t i = 0; i < n; i++) found += rlx_load(x, i) != 0;
  RLX_TRY(allocate(&h->out[0], RLX_I64, RLX_DIMS((int64_t)rank, (int64_t)found)));
  int64_t *out = h->out[0].data, at[RLX_MAX_RANK] = {0};
  for (size_t i = 0, k = 0; i < n; i++) {
    if (rlx_load(x, i) != 0) {
      for (size_t a = 0; a < rank; a++) out[a * found + k] = at[a];
      k++;
    }
    rlx_next_index(&x->shape, at);
  }
  return RLX_OK;
}

rlx_status onnx_op_non_zero(onnx_call *c) { return onnx_on_host(c, non_zero, (const int64_t[ONNX_HOST_NUMBERS]){0}); }

/* ---- slices along an axis ---- */

/* A tensor as [outer, n, bytes]: slices of an axis, or elements of the whole where there is none (axis -1). */
typedef struct slices {
  size_t outer, n, inner, width;
} slices;

static slices slices_of(const rlx_tensor *x, int64_t axis) {
  slices s = {1, 1, 1, 1};
  size_t bytes;
  if (rlx_tensor_bytes(x->dtype, RLX_SCALAR, &bytes) == RLX_OK) s.width = bytes;
  for (int i = 0; i < x->shape.n; i++) {
    size_t size = (size_t)x->shape.v[i];
    if (axis < 0 || i == axis) s.n *= size;
    else if (i < axis) s.outer *= size;
    else s.inner *= size;
  }
  return s;
}

/* The chosen slices of x, in this order. */
static rlx_status take_slices(const rlx_tensor *x, int64_t axis, const size_t *chosen, size_t n, rlx_tensor *out) {
  slices s = slices_of(x, axis);
  size_t bytes = s.inner * s.width;
  rlx_dims shape = axis < 0 ? RLX_DIMS((int64_t)n) : x->shape;
  if (axis >= 0) shape.v[axis] = (int64_t)n;
  RLX_TRY(allocate(out, x->dtype, shape));
  for (size_t o = 0; o < s.outer; o++)
    for (size_t i = 0; i < n; i++)
      memcpy((char *)out->data + (o * n + i) * bytes, (const char *)x->data + (o * s.n + chosen[i]) * bytes, bytes);
  return RLX_OK;
}

/* ---- Compress ---- */

static rlx_status compress(onnx_host_call *h) {
  const rlx_tensor *x = &h->in[0], *keep = &h->in[1];
  size_t n = rlx_tensor_count(keep), max = slices_of(x, h->p[0]).n, found = 0;
  if (n > max) return RLX_FAIL(RLX_INVALID, "Compress: %zu conditions for %zu elements", n, max);
  size_t *chosen = rlx_mem_calloc(n + 1, sizeof *chosen);
  if (!chosen) return RLX_FAIL(RLX_NO_MEMORY, "Compress: %zu places", n);
  for (size_t i = 0; i < n; i++)
    if (rlx_load_int(keep, i)) chosen[found++] = i;
  rlx_status s = take_slices(x, h->p[0], chosen, found, &h->out[0]);
  rlx_mem_free(chosen);
  return s;
}

static rlx_status optional_axis(const onnx_call *c, int64_t *out) {
  int64_t at;
  int axis = -1;
  RLX_TRY(onnx_int(c, "axis", 0, &at));
  if (onnx_has_attribute(c, "axis")) RLX_TRY(onnx_axis(c, at, onnx_rank(c, 0), &axis));
  *out = axis;
  return RLX_OK;
}

rlx_status onnx_op_compress(onnx_call *c) {
  int64_t p[ONNX_HOST_NUMBERS] = {0};
  RLX_TRY(optional_axis(c, &p[0]));
  if (onnx_in_type(c, 1) != ONNX_BOOL || onnx_rank(c, 1) != 1)
    return RLX_FAIL(RLX_INVALID, "the condition is not a list of bools");
  RLX_TRY(onnx_on_host(c, compress, p));
  c->out[0]->type = onnx_in_type(c, 0);
  return RLX_OK;
}

/* ---- Unique ---- */

typedef struct sorter {
  const rlx_tensor *x;
  slices s;
  bool is_u64;
  size_t *order, *spare;
} sorter;

/* NaN is above all and equal to itself. */
static int compare_elements(const sorter *s, size_t a, size_t b) {
  const rlx_tensor *x = s->x;
  if (x->dtype == RLX_F32 || x->dtype == RLX_F64 || x->dtype == RLX_F16 || x->dtype == RLX_BF16) {
    double u = rlx_load(x, a), v = rlx_load(x, b);
    if (isnan(u) || isnan(v)) return isnan(u) - isnan(v);
    return (u > v) - (u < v);
  }
  int64_t u = rlx_load_int(x, a), v = rlx_load_int(x, b);
  if (s->is_u64) u ^= INT64_MIN, v ^= INT64_MIN;
  return (u > v) - (u < v);
}

static int compare_slices(const sorter *s, size_t a, size_t b) {
  for (size_t o = 0; o < s->s.outer; o++)
    for (size_t i = 0; i < s->s.inner; i++) {
      size_t base = o * s->s.n;
      int d = compare_elements(s, (base + a) * s->s.inner + i, (base + b) * s->s.inner + i);
      if (d) return d;
    }
  return 0;
}

/* Merges runs of doubling length; equal ones stay in their order. */
static void sort_slices(sorter *s) {
  size_t n = s->s.n;
  for (size_t i = 0; i < n; i++) s->order[i] = i;
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t lo = 0; lo < n; lo += 2 * run) {
      size_t mid = lo + run < n ? lo + run : n, hi = mid + run < n ? mid + run : n;
      for (size_t i = lo, k = mid, at = lo; at < hi; at++) {
        bool left = i < mid && (k >= hi || compare_slices(s, s->order[i], s->order[k]) <= 0);
        s->spare[at] = left ? s->order[i++] : s->order[k++];
      }
    }
    size_t *t = s->order;
    s->order = s->spare;
    s->spare = t;
  }
}

typedef struct groups {
  size_t *first;             /* of each group: the slice that stands for it, in the order of the result */
  size_t *of, *count, *rank; /* group of each slice; size of each group; its position in the result */
  size_t n;
} groups;

/* Groups in sorted order, or in order of first appearance. */
static void group_slices(const sorter *s, groups *g, bool sorted) {
  for (size_t i = 0; i < s->s.n; i++) {
    if (i == 0 || compare_slices(s, s->order[i - 1], s->order[i]) != 0) g->first[g->n++] = s->order[i];
    g->of[s->order[i]] = g->n - 1;
    g->count[g->n - 1]++;
  }
  size_t seen = 0;
  for (size_t i = 0; i < g->n; i++) g->rank[i] = i;
  for (size_t i = 0; i < s->s.n && !sorted; i++)
    if (g->first[g->of[i]] == i) g->rank[g->of[i]] = seen++;
}

static rlx_status unique_results(onnx_host_call *h, const groups *g, size_t n, size_t *chosen) {
  for (size_t i = 0; i < g->n; i++) chosen[g->rank[i]] = g->first[i];
  RLX_TRY(take_slices(&h->in[0], h->p[0], chosen, g->n, &h->out[0]));
  for (uint32_t k = 1; k < h->n_out; k++)
    RLX_TRY(allocate(&h->out[k], RLX_I64, RLX_DIMS((int64_t)(k == 2 ? n : g->n))));
  for (size_t i = 0; i < g->n; i++) {
    if (h->n_out > 1) ((int64_t *)h->out[1].data)[g->rank[i]] = (int64_t)g->first[i];
    if (h->n_out > 3) ((int64_t *)h->out[3].data)[g->rank[i]] = (int64_t)g->count[i];
  }
  for (size_t i = 0; i < n && h->n_out > 2; i++) ((int64_t *)h->out[2].data)[i] = (int64_t)g->rank[g->of[i]];
  return RLX_OK;
}

static rlx_status unique(onnx_host_call *h) {
  const rlx_tensor *x = &h->in[0];
  sorter s = {.x = x, .s = slices_of(x, h->p[0]), .is_u64 = h->p[2]};
  size_t n = s.s.n, cells;
  size_t *memory = rlx_mul_size(n + 1, 7, &cells) ? rlx_mem_calloc(cells, sizeof *memory) : NULL;
  if (!memory) return RLX_FAIL(RLX_NO_MEMORY, "Unique: %zu elements", n);
  size_t *at = memory;
  s.order = at;
  s.spare = at += n + 1;
  groups g = {.first = at += n + 1};
  g.of = at += n + 1;
  g.count = at += n + 1;
  g.rank = at += n + 1;
  sort_slices(&s);
  group_slices(&s, &g, h->p[1]);
  rlx_status status = unique_results(h, &g, n, at + n + 1);
  rlx_mem_free(memory);
  return status;
}

rlx_status onnx_op_unique(onnx_call *c) {
  int64_t p[ONNX_HOST_NUMBERS] = {0};
  bool sorted;
  RLX_TRY(optional_axis(c, &p[0]));
  RLX_TRY(onnx_flag(c, "sorted", true, &sorted));
  p[1] = sorted;
  p[2] = onnx_in_type(c, 0) == ONNX_UINT64;
  if (onnx_in_type(c, 0) == ONNX_COMPLEX64) return onnx_refuse(c, "of complex numbers");
  RLX_TRY(onnx_on_host(c, unique, p));
  c->out[0]->type = onnx_in_type(c, 0);
  return RLX_OK;
}

/* ---- Det ---- */

/* LU with partial pivoting: the product of the diagonal, negated for each row swap. */
static double determinant(double *a, size_t n) {
  double det = 1;
  for (size_t k = 0; k < n; k++) {
    size_t best = k;
    for (size_t i = k + 1; i < n; i++)
      if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
    for (size_t j = 0; j < n && best != k; j++) {
      double t = a[k * n + j];
      a[k * n + j] = a[best * n + j];
      a[best * n + j] = t;
    }
    double pivot = a[k * n + k];
    det *= best == k ? pivot : -pivot;
    if (pivot == 0) return 0;
    for (size_t i = k + 1; i < n; i++) {
      double f = a[i * n + k] / pivot;
      for (size_t j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
    }
  }
  return det;
}

static rlx_status det(onnx_host_call *h) {
  const rlx_tensor *x = &h->in[0];
  rlx_dims shape = x->shape;
  size_t n = (size_t)shape.v[shape.n - 1], cells;
  shape.n -= 2;
  double *a = rlx_mul_size(n, n, &cells) ? rlx_mem_calloc(cells + 1, sizeof *a) : NULL;
  if (!a) return RLX_FAIL(RLX_NO_MEMORY, "Det: %zu x %zu", n, n);
  rlx_status s = allocate(&h->out[0], x->dtype, shape);
  for (size_t b = 0; !s && b < rlx_dims_count(&shape); b++) {
    for (size_t i = 0; i < cells; i++) a[i] = rlx_load(x, b * cells + i);
    rlx_store(&h->out[0], b, determinant(a, n));
  }
  rlx_mem_free(a);
  return s;
}

rlx_status onnx_op_det(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0);
  if (shape.n < 2 || shape.v[shape.n - 1] != shape.v[shape.n - 2] || !onnx_type_is_float(onnx_in_type(c, 0)))
    return RLX_FAIL(RLX_INVALID, "the input is not square matrices of floats");
  return onnx_on_host(c, det, (const int64_t[ONNX_HOST_NUMBERS]){0});
}
