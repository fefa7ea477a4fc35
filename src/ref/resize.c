/* resize: n-linear or nearest interpolation on every axis.
 *
 * The axes are independent, so each gets a small table first: for every output index the two input indices it lies
 * between and the weight of the second (for nearest: one index, weight 0). An output element is then the sum over the
 * corners of a box, each weighted by a product of table entries; a corner of weight 0 is not read, so an axis that does
 * not change costs nothing and an infinity beside an exact hit does no harm. */
#include "ref/resize.h"

#include <math.h>

#include "ref/ref.h"

enum { mode_nearest, mode_linear };
enum { half_pixel, align_corners, asymmetric, pytorch_half_pixel, half_pixel_symmetric };
enum { round_prefer_floor, round_prefer_ceil, nearest_floor, nearest_ceil };

/* An output coordinate in the input's measure. Without a scale of its own the ratio is written in / out, so that whole
 * ratios come out exact. */
static double shrink(double x, double scale, double n_in, double n_out) {
  return scale > 0 ? x / scale : x * n_in / n_out;
}

/* Where output index i lies among the input's indices. */
static double coordinate(const rlx_attrs_resize *a, int axis, int64_t i, int64_t in, int64_t out) {
  double n_in = (double)in, n_out = (double)out, scale = a->scale.n ? a->scale.v[axis] : 0;
  double half = shrink((double)i + 0.5, scale, n_in, n_out) - 0.5;
  switch (a->coords) {
    case align_corners: return out == 1 ? 0 : (double)i * (n_in - 1) / (n_out - 1);
    case asymmetric: return shrink((double)i, scale, n_in, n_out);
    case pytorch_half_pixel: return out == 1 ? 0 : half;
    case half_pixel_symmetric: /* keeps the centre in place where the scale does not fit the sizes */
      return half + n_in / 2 * (1 - (scale > 0 ? n_out / (scale * n_in) : 1));
    default: return half;
  }
}

/* Places are exact numbers that were computed with a few roundings: 3.9999999999 and 4 are the same place, and which
 * neighbour is taken must not depend on the order of operations. */
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
  /* To the edge; an extreme scale can also make a NaN of it, which goes to 0. */
  x = x > 0 ? x < (double)(in - 1) ? x : (double)(in - 1) : 0;
  double whole = floor(x);
  int64_t lo = (int64_t)whole;
  return (rlx_resize_place){lo, lo + (x > whole), x - whole};
}

/* The same with offsets in x instead of indices. */
typedef struct between {
  size_t lo, hi;
  double weight;
} between;

/* The value at an output index: over the corners of the box, counted in binary with one bit per axis. */
static double interpolate(const rlx_tensor *x, between *const *table, const int64_t *idx) {
  int rank = x->shape.n;
  double sum = 0;
  for (uint32_t corner = 0; corner < 1u << rank; corner++) {
    double weight = 1;
    size_t at = 0;
    for (int a = 0; a < rank && weight > 0; a++) {
      const between *b = &table[a][idx[a]];
      bool hi = corner >> a & 1u;
      weight *= hi ? b->weight : 1 - b->weight;
      at += hi ? b->hi : b->lo;
    }
    if (weight > 0) sum += weight * rlx_load(x, at);
  }
  return sum;
}

rlx_status rlx_ref_resize(rlx_ref_call *c) {
  const rlx_attrs_resize *a = RLX_ATTRS(resize, c);
  const rlx_tensor *x = c->in[0];
  rlx_tensor *out = c->out;
  size_t count = rlx_tensor_count(out), stride[RLX_MAX_RANK];
  if (count == 0) return RLX_OK;
  between *table[RLX_MAX_RANK];
  rlx_strides(&x->shape, stride);
  for (int axis = 0; axis < x->shape.n; axis++) {
    int64_t in_size = x->shape.v[axis], out_size = out->shape.v[axis];
    RLX_TRY(rlx_ref_scratch(c, (size_t)out_size, sizeof **table, &table[axis]));
    for (int64_t i = 0; i < out_size && rlx_ref_goes_on(c, 1); i++) {
      rlx_resize_place p = rlx_resize_place_of(a, axis, i, in_size, out_size);
      table[axis][i] = (between){(size_t)p.lo * stride[axis], (size_t)p.hi * stride[axis], p.weight};
    }
  }
  int64_t idx[RLX_MAX_RANK] = {0};
  size_t corners = (size_t)1 << x->shape.n;
  for (size_t i = 0; i < count && rlx_ref_goes_on(c, corners); i++) {
    rlx_store(out, i, interpolate(x, table, idx));
    rlx_next_index(&out->shape, idx);
  }
  return RLX_OK;
}
