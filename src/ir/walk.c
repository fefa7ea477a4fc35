/* Strides and iteration over indices. */
#include "ir/walk.h"

#include <string.h>

#include "base/status.h"

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
