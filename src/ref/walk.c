/* What kernels share: conversion of one element, strides, index walks, scratch memory, decoded weights. */
#include <math.h>

#include "base/budget.h"
#include "quant/quant.h"
#include "ref/ref.h"

/* ---- conversion ---- */

void rlx_store_value(rlx_tensor *dst, size_t k, double x) {
  if (rlx_dtype_is_float(dst->dtype)) {
    rlx_store(dst, k, x);
  } else if (dst->dtype == RLX_BOOL) {
    rlx_store_int(dst, k, x != 0); /* NaN is not 0 */
  } else {
    int64_t lo = rlx_dtype_min(dst->dtype), hi = rlx_dtype_max(dst->dtype);
    rlx_store_int(dst, k, x != x ? 0 : x <= (double)lo ? lo : x >= (double)hi ? hi : (int64_t)x);
  }
}

/* An integer on its way to a float type narrower than f64: what a double cannot hold sets its last bit (round to odd),
 * so that the rounding to the narrow type is right and not a second one. */
static double int_to_odd(int64_t v) {
  uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  if (m >> 53) m = (m >> 11 | ((m & 0x7ff) != 0)) << 11;
  return v < 0 ? -(double)m : (double)m;
}

void rlx_convert(rlx_tensor *dst, size_t k, const rlx_tensor *src, size_t i) {
  if (rlx_dtype_is_float(src->dtype)) {
    rlx_store_value(dst, k, rlx_load(src, i));
    return;
  }
  int64_t v = rlx_load_int(src, i);
  if (rlx_dtype_is_float(dst->dtype)) {
    rlx_store(dst, k, dst->dtype == RLX_F64 ? (double)v : int_to_odd(v));
    return;
  }
  int64_t lo = rlx_dtype_min(dst->dtype), hi = rlx_dtype_max(dst->dtype);
  if (dst->dtype == RLX_BOOL) v = v != 0;
  rlx_store_int(dst, k, v < lo ? lo : v > hi ? hi : v);
}

/* Where it stops, the visits stay at the mark, so that every loop asks here again and ends. */
bool rlx_ref_tick(rlx_ref_call *c) {
  if (!c->stopped) c->stopped = rlx_budget_works(c->visits);
  c->visits = c->stopped ? RLX_REF_TICK : 0;
  return !c->stopped;
}

void rlx_ref_copy(rlx_ref_call *c, void *to, const void *from, size_t bytes) {
  enum { PIECE = 1 << 18, BYTES_OF_A_VISIT = 64 };
  for (size_t at = 0, n; at < bytes && rlx_ref_goes_on(c, 1); at += n) {
    n = bytes - at < PIECE ? bytes - at : PIECE;
    c->visits += n / BYTES_OF_A_VISIT;
    memcpy((char *)to + at, (const char *)from + at, n);
  }
}

rlx_status rlx_ref_decode(rlx_ref_call *c, rlx_dtype dtype, const void *blocks, float *out, size_t n) {
  const rlx_dtype_info *block = rlx_dtype_describe(dtype);
  size_t piece = 64 * block->block_elements;
  for (size_t at = 0, count; at < n && rlx_ref_goes_on(c, piece); at += count) {
    count = n - at < piece ? n - at : piece;
    const char *from = (const char *)blocks + at / block->block_elements * block->block_bytes;
    RLX_TRY(rlx_quant_decode(dtype, from, out + at, count));
  }
  return RLX_OK;
}

/* ---- walking ---- */

void rlx_strides(const rlx_dims *shape, size_t stride[RLX_MAX_RANK]) {
  size_t step = 1;
  for (int i = shape->n - 1; i >= 0; i--) {
    stride[i] = step;
    step *= (size_t)shape->v[i];
  }
}

void rlx_broadcast_strides(const rlx_dims *shape, const rlx_dims *to, size_t stride[RLX_MAX_RANK]) {
  size_t own[RLX_MAX_RANK];
  rlx_strides(shape, own);
  for (int i = 0; i < to->n; i++) {
    int k = i - (to->n - shape->n);
    stride[i] = k < 0 || shape->v[k] == 1 ? 0 : own[k];
  }
}

void rlx_reduced_strides(const rlx_dims *x, const rlx_dims *axes, size_t stride[RLX_MAX_RANK]) {
  bool reduced[RLX_MAX_RANK];
  for (int i = 0; i < x->n; i++) reduced[i] = axes->n == 0;
  for (int i = 0; i < axes->n; i++) reduced[rlx_axis_of(axes->v[i], x->n)] = true;
  size_t step = 1;
  for (int i = x->n - 1; i >= 0; i--) {
    stride[i] = reduced[i] ? 0 : step;
    if (!reduced[i]) step *= (size_t)x->v[i];
  }
}

bool rlx_next_index(const rlx_dims *shape, int64_t idx[RLX_MAX_RANK]) {
  for (int i = shape->n - 1; i >= 0; i--) {
    if (++idx[i] < shape->v[i]) return true;
    idx[i] = 0;
  }
  return false;
}

rlx_lines rlx_lines_of(const rlx_dims *shape, int64_t axis) {
  int at = rlx_axis_of(axis, shape->n);
  rlx_lines l = {1, (size_t)shape->v[at], 1};
  for (int i = 0; i < at; i++) l.outer *= (size_t)shape->v[i];
  for (int i = at + 1; i < shape->n; i++) l.inner *= (size_t)shape->v[i];
  return l;
}

rlx_status rlx_index_resolve(const char *what, int64_t index, int64_t n, size_t *out) {
  if (index < -n || index >= n)
    return RLX_FAIL(RLX_INVALID, "%s %lld is not in %lld..%lld", what, (long long)index, (long long)-n,
                    (long long)n - 1);
  *out = (size_t)(index < 0 ? index + n : index);
  return RLX_OK;
}

/* ---- memory and weights ---- */

rlx_status rlx_ref_scratch(rlx_ref_call *c, size_t n, size_t size, void *out_pointer) {
  void *p = rlx_bump_alloc(c->scratch, n ? n : 1, size);
  memcpy(out_pointer, &p, sizeof p);
  return p ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu elements of scratch", n);
}

rlx_status rlx_ref_as_f32(rlx_ref_call *c, const rlx_tensor *t, const float **out) {
  *out = t->data;
  if (t->dtype == RLX_F32) return RLX_OK;
  size_t n = rlx_tensor_count(t);
  float *values;
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *values, &values));
  *out = values;
  if (rlx_dtype_is_block(t->dtype)) return rlx_ref_decode(c, t->dtype, t->data, values, n);
  RLX_REF_EACH(c, i, n) values[i] = (float)rlx_load(t, i);
  return RLX_OK;
}
