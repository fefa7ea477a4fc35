/* Resolves slices by NumPy's rule for start:stop:step. */
#include "ir/slice.h"

#include "ir/infer.h"

/* An index of a slice: negative counts from the end, then clamped to lo..hi. */
static int64_t clamp_index(int64_t i, int64_t n, int64_t lo, int64_t hi) {
  if (i < 0) i += n; /* a negative number plus a size: no overflow */
  return i < lo ? lo : i > hi ? hi : i;
}

rlx_slice_axis rlx_slice_axis_of(int64_t start, int64_t stop, int64_t step, int64_t n) {
  /* Backwards, the position before the first is -1, which no caller can write: there -1 means the last. */
  int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? n : n - 1;
  start = clamp_index(start, n, lo, hi);
  stop = clamp_index(stop, n, lo, hi);
  if (step < -INT64_MAX) step = -INT64_MAX;
  int64_t span = step > 0 ? stop - start : start - stop, size = step > 0 ? step : -step;
  int64_t count = span > 0 ? (span - 1) / size + 1 : 0;
  return (rlx_slice_axis){count ? start : 0, count > 1 ? step : 1, count};
}

/* Whether start:stop:step selects every element in order (or in reverse order) for any size. */
static bool is_whole(int64_t start, int64_t stop, int64_t step, int64_t size) {
  if (rlx_dim_is_open(start)) return false;
  if (step == 1) return start == 0 && (stop == size || stop >= INT64_MAX / 4);
  return step == -1 && (start == -1 || start >= INT64_MAX / 4) && !rlx_dim_is_open(stop) && stop <= -(INT64_MAX / 4);
}

rlx_status rlx_slice_resolve(const rlx_attrs_slice *a, const rlx_dims *x, rlx_slice_axis out[RLX_MAX_RANK]) {
  int n = a->start.n;
  if (a->stop.n != n || (a->axes.n && a->axes.n != n) || (a->step.n && a->step.n != n))
    return RLX_FAIL(
      RLX_INVALID,
      "start, stop, axes and step have %d, %d, %d and %d entries; axes and step may be empty, else all must be as many",
      n, (int)a->stop.n, (int)a->axes.n, (int)a->step.n);
  if (n > x->n) return RLX_FAIL(RLX_INVALID, "cuts %d axes but x is %s", n, RLX_DIMS_TEXT(*x));
  uint32_t bits;
  RLX_TRY(rlx_axes_resolve(&a->axes, x->n, false, &bits));
  for (int i = 0; i < x->n; i++) out[i] = (rlx_slice_axis){0, 1, x->v[i]};
  for (int i = 0; i < n; i++) {
    int64_t axis = a->axes.n ? a->axes.v[i] : i, step = a->step.n ? a->step.v[i] : 1;
    if (axis < 0) axis += x->n;
    int64_t start = a->start.v[i], stop = a->stop.v[i], size = x->v[axis];
    if (step == 0) return RLX_FAIL(RLX_INVALID, "step of axis %d is 0", (int)axis);
    if (!rlx_dim_is_open(start) && !rlx_dim_is_open(stop) && !rlx_dim_is_open(size))
      out[axis] = rlx_slice_axis_of(start, stop, step, size);
    else if (is_whole(start, stop, step, size)) out[axis] = (rlx_slice_axis){0, step, size};
    else out[axis] = (rlx_slice_axis){0, step, RLX_DIM_UNKNOWN};
  }
  return RLX_OK;
}
