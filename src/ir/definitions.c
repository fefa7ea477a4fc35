/* Parts of op definitions that are more than a formula: see definitions.h. */
#include "ir/definitions.h"

#include <math.h>

#include "base/arith.h"
#include "ir/element.h"

double rlx_rope_frequency(double theta, int64_t i, int64_t pairs) { return pow(theta, -(double)i / (double)pairs); }

/* ---- range ---- */

static bool is_whole(double x) { return x == floor(x) && x >= -0x1p63 && x < 0x1p63; }

void rlx_range_fill(const rlx_attrs_range *a, rlx_tensor *out, size_t begin, size_t end) {
  bool whole = rlx_dtype_is_int(out->dtype) && is_whole(a->start) && is_whole(a->step);
  for (size_t i = begin; i < end; i++) {
    int64_t v;
    const rlx_tensor exact = {.dtype = RLX_I64, .data = &v};
    if (whole && rlx_mul_i64((int64_t)i, (int64_t)a->step, &v) && rlx_add_i64((int64_t)a->start, v, &v))
      rlx_convert(out, i, &exact, 0);
    else rlx_store_value(out, i, a->start + (double)i * a->step);
  }
}

/* ---- resize ---- */

enum { mode_nearest, mode_linear };
enum { half_pixel, align_corners, asymmetric, pytorch_half_pixel, half_pixel_symmetric };
enum { round_prefer_floor, round_prefer_ceil, nearest_floor, nearest_ceil };

/* An output coordinate scaled to the input. Without an explicit scale it is computed as x * in / out, so that integer
 * ratios are exact. */
static double shrink(double x, double scale, double n_in, double n_out) {
  return scale > 0 ? x / scale : x * n_in / n_out;
}

/* The input coordinate of output index i. */
static double coordinate(const rlx_attrs_resize *a, int axis, int64_t i, int64_t in, int64_t out) {
  double n_in = (double)in, n_out = (double)out, scale = a->scale.n ? a->scale.v[axis] : 0;
  double half = shrink((double)i + 0.5, scale, n_in, n_out) - 0.5;
  switch (a->coords) {
    case align_corners: return out == 1 ? 0 : (double)i * (n_in - 1) / (n_out - 1);
    case asymmetric: return shrink((double)i, scale, n_in, n_out);
    case pytorch_half_pixel: return out == 1 ? 0 : half;
    case half_pixel_symmetric: /* keeps the centre fixed if the scale does not match the sizes */
      return half + n_in / 2 * (1 - (scale > 0 ? n_out / (scale * n_in) : 1));
    default: return half;
  }
}

/* Coordinates are computed with a few roundings: 3.9999999999 and 4 are the same position, and the chosen neighbour
 * must not depend on the order of operations. */
static double round_nearest(int32_t how, double x) {
  x = nearbyint(x * 0x1p30) * 0x1p-30;
  switch (how) {
    case round_prefer_ceil: return floor(x + 0.5);
    case nearest_floor: return floor(x);
    case nearest_ceil: return ceil(x);
    default: return ceil(x - 0.5);
  }
}

rlx_resize_place rlx_resize_place_of(const rlx_attrs_resize *a, int axis, int64_t i, int64_t in, int64_t out) {
  double x = coordinate(a, axis, i, in, out);
  if (a->mode == mode_nearest) x = round_nearest(a->nearest, x);
  /* Clamped to the edge; an extreme scale can also yield NaN, which becomes 0. */
  x = x > 0 ? x < (double)(in - 1) ? x : (double)(in - 1) : 0;
  double whole = floor(x);
  int64_t lo = (int64_t)whole;
  return (rlx_resize_place){lo, lo + (x > whole), x - whole};
}
