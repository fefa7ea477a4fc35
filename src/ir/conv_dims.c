/* Sliding windows: parses the attribute lists, computes result sizes, finds the taps inside the input. Sizes and
 * attributes are untrusted, so every sum and product is checked; what passes here can be iterated without overflow. */
#include "ir/conv_dims.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/arith.h"
#include "ir/algebra.h"

/* Copies one attribute list to the last `axes` entries of to[]. */
static rlx_status read_list(const char *what, const rlx_dims *list, int axes, int64_t fallback, int64_t min,
                            int64_t *to) {
  if (list->n != 0 && list->n != axes)
    return RLX_FAIL(RLX_INVALID, "%s %s must be empty or have one number for each of %d spatial axes", what,
                    RLX_DIMS_TEXT(*list), axes);
  for (int i = 0; i < list->n; i++)
    if (list->v[i] < min)
      return RLX_FAIL(RLX_INVALID, "%s %s must be at least %d on every axis", what, RLX_DIMS_TEXT(*list), (int)min);
  int lead = RLX_SPATIAL - axes;
  for (int i = 0; i < RLX_SPATIAL; i++) to[i] = i < lead || list->n == 0 ? fallback : list->v[i - lead];
  return RLX_OK;
}

rlx_status rlx_window_read(const rlx_dims *stride, const rlx_dims *dilation, const rlx_dims *pad_lo,
                           const rlx_dims *pad_hi, const int64_t *kernel, int axes, rlx_conv_window *out) {
  if (axes < 1 || axes > RLX_SPATIAL)
    return RLX_FAIL(RLX_INVALID, "takes 1 to %d spatial axes after N and C, not %d", RLX_SPATIAL, axes);
  out->axes = axes;
  RLX_TRY(read_list("stride", stride, axes, 1, 1, out->stride));
  RLX_TRY(read_list("dilation", dilation, axes, 1, 1, out->dilation));
  RLX_TRY(read_list("pad_lo", pad_lo, axes, 0, 0, out->pad_lo));
  RLX_TRY(read_list("pad_hi", pad_hi, axes, 0, 0, out->pad_hi));
  int lead = RLX_SPATIAL - axes;
  for (int i = 0; i < RLX_SPATIAL; i++) {
    out->kernel[i] = i < lead ? 1 : kernel[i - lead];
    if (out->kernel[i] < 1 && !rlx_dim_is_open(out->kernel[i]))
      return RLX_FAIL(RLX_INVALID, "the kernel has size %" PRId64 " on spatial axis %d but needs at least 1",
                      out->kernel[i], i - lead);
  }
  return RLX_OK;
}

/* ---- sizes ---- */

static rlx_status too_large(const rlx_conv_window *w, int axis) {
  return RLX_FAIL(RLX_INVALID,
                  "the sizes along spatial axis %d (kernel %" PRId64 ", stride %" PRId64 ", dilation %" PRId64
                  ", padding %" PRId64 " and %" PRId64 ") are too large to add up",
                  axis - (RLX_SPATIAL - w->axes), w->kernel[axis], w->stride[axis], w->dilation[axis], w->pad_lo[axis],
                  w->pad_hi[axis]);
}

/* dilation * (kernel - 1): the distance from the first tap to the last. The kernel must be a number. */
static bool reach_of(const rlx_conv_window *w, int axis, int64_t *reach) {
  return rlx_mul_i64(w->dilation[axis], w->kernel[axis] - 1, reach);
}

rlx_status rlx_window_out(const rlx_conv_window *w, int axis, int64_t in, bool ceil, int64_t *out) {
  int64_t reach, pads, padded, max;
  *out = RLX_DIM_UNKNOWN;
  if (rlx_dim_is_open(w->kernel[axis])) return RLX_OK;
  if (!reach_of(w, axis, &reach) || !rlx_add_i64(w->pad_lo[axis], w->pad_hi[axis], &pads)) return too_large(w, axis);
  if (rlx_dim_is_open(in)) {
    if (w->stride[axis] == 1 && pads == reach) *out = in;
    return RLX_OK;
  }
  /* With ceil the last window may end past the padding; its positions, and the sum below, must not overflow. */
  if (!rlx_add_i64(in, pads, &padded) || !rlx_add_i64(padded, reach, &max) || !rlx_add_i64(max, w->stride[axis], &max))
    return too_large(w, axis);
  if (padded <= reach)
    return RLX_FAIL(RLX_INVALID,
                    "a kernel of %" PRId64 " with dilation %" PRId64 " does not fit spatial axis %d: %" PRId64
                    " and padding %" PRId64 " and %" PRId64,
                    w->kernel[axis], w->dilation[axis], axis - (RLX_SPATIAL - w->axes), in, w->pad_lo[axis],
                    w->pad_hi[axis]);
  int64_t room = padded - reach - 1; /* the range of the first tap */
  int64_t places = room / w->stride[axis] + 1;
  if (ceil && room % w->stride[axis] != 0 && places * w->stride[axis] < in + w->pad_lo[axis]) places++;
  *out = places;
  return RLX_OK;
}

rlx_status rlx_window_out_transposed(const rlx_conv_window *w, int axis, int64_t in, int64_t output_pad, int64_t *out) {
  int64_t reach, pads, full;
  int spatial = axis - (RLX_SPATIAL - w->axes);
  *out = RLX_DIM_UNKNOWN;
  if (output_pad < 0 || (output_pad >= w->stride[axis] && output_pad >= w->dilation[axis]))
    return RLX_FAIL(RLX_INVALID,
                    "output_pad %" PRId64 " on spatial axis %d must be at least 0 and less than the stride %" PRId64
                    " or the dilation %" PRId64,
                    output_pad, spatial, w->stride[axis], w->dilation[axis]);
  if (rlx_dim_is_open(w->kernel[axis])) return RLX_OK;
  if (!reach_of(w, axis, &reach) || !rlx_add_i64(reach, output_pad, &full) ||
      !rlx_add_i64(w->pad_lo[axis], w->pad_hi[axis], &pads))
    return too_large(w, axis);
  if (rlx_dim_is_open(in)) {
    if (w->stride[axis] == 1 && pads == full) *out = in;
    return RLX_OK;
  }
  if (in < 1) return RLX_FAIL(RLX_INVALID, "spatial axis %d is empty", spatial);
  int64_t moved;
  if (!rlx_mul_i64(in - 1, w->stride[axis], &moved) || !rlx_add_i64(full, moved, &full) || !rlx_add_i64(full, 1, &full))
    return too_large(w, axis);
  if (full < pads)
    return RLX_FAIL(RLX_INVALID,
                    "pad_lo %" PRId64 " and pad_hi %" PRId64 " cut more than the %" PRId64
                    " elements of spatial axis %d",
                    w->pad_lo[axis], w->pad_hi[axis], full, spatial);
  *out = full - pads;
  return RLX_OK;
}

/* rlx_window_out for an open size, by the graph's algebra: (in + pads - reach - 1) / stride + 1. */
static int64_t window_out_open(const rlx_graph *g, const rlx_conv_window *w, int axis, int64_t in) {
  int64_t reach, pads;
  if (rlx_dim_is_open(w->kernel[axis]) || !reach_of(w, axis, &reach) ||
      !rlx_add_i64(w->pad_lo[axis], w->pad_hi[axis], &pads))
    return RLX_DIM_UNKNOWN;
  int64_t room = rlx_size_add(g, in, pads - reach - 1);
  return rlx_size_add(g, rlx_size_div(g, room, w->stride[axis]), 1);
}

rlx_status rlx_window_shape(const rlx_graph *g, const rlx_conv_window *w, const rlx_dims *x, bool ceil,
                            int64_t channels, rlx_dims *out) {
  *out = *x;
  out->v[1] = channels;
  for (int i = 0; i < w->axes; i++) {
    int axis = RLX_SPATIAL - w->axes + i;
    RLX_TRY(rlx_window_out(w, axis, x->v[2 + i], ceil, &out->v[2 + i]));
    if (out->v[2 + i] == RLX_DIM_UNKNOWN && !ceil) out->v[2 + i] = window_out_open(g, w, axis, x->v[2 + i]);
  }
  return RLX_OK;
}

/* ---- pools ---- */

/* Wider padding could hold a whole window, whose result would depend on no element. */
static rlx_status check_pool_padding(const rlx_conv_window *w) {
  for (int i = 0; i < RLX_SPATIAL; i++) {
    int64_t reach;
    if (!reach_of(w, i, &reach)) return too_large(w, i);
    if (w->pad_lo[i] > reach || w->pad_hi[i] > reach)
      return RLX_FAIL(RLX_INVALID,
                      "padding %" PRId64 " and %" PRId64 " on spatial axis %d must not pass dilation * (kernel"
                      " - 1), here %" PRId64,
                      w->pad_lo[i], w->pad_hi[i], i - (RLX_SPATIAL - w->axes), reach);
  }
  return RLX_OK;
}

rlx_status rlx_window_check_kernel(const rlx_dims *kernel, int axes) {
  if (kernel->n != axes)
    return RLX_FAIL(RLX_INVALID, "kernel %s must have one number for each of %d spatial axes", RLX_DIMS_TEXT(*kernel),
                    axes);
  for (int i = 0; i < axes; i++)
    if (kernel->v[i] < 1)
      return RLX_FAIL(RLX_INVALID, "kernel %s must be at least 1 on every axis", RLX_DIMS_TEXT(*kernel));
  return RLX_OK;
}

rlx_status rlx_pool_read(rlx_op op, const void *attrs, const rlx_dims *x, rlx_pool_window *out) {
  /* The row of pool_avg begins with the attributes of pool_max. */
  _Static_assert(offsetof(rlx_attrs_pool_avg, ceil) == offsetof(rlx_attrs_pool_max, ceil), "the rows differ");
  const rlx_attrs_pool_max *a = attrs;
  const rlx_dims none = {.n = 0};
  int axes = x->n - 2;
  *out = (rlx_pool_window){.whole = a->kernel.n == 0, .ceil = a->ceil};
  if (op == RLX_OP_pool_avg) out->count_pad = ((const rlx_attrs_pool_avg *)attrs)->count_pad;
  for (int i = 0; i < axes; i++)
    if (x->v[2 + i] == 0) return RLX_FAIL(RLX_INVALID, "x is %s: spatial axis %d is empty", RLX_DIMS_TEXT(*x), i);
  if (out->whole) {
    if (a->stride.n || a->dilation.n || a->pad_lo.n || a->pad_hi.n)
      return RLX_FAIL(RLX_INVALID, "over the whole plane (no kernel) takes no stride, dilation or padding");
    return rlx_window_read(&none, &none, &none, &none, x->v + 2, axes, &out->window);
  }
  RLX_TRY(rlx_window_check_kernel(&a->kernel, axes));
  RLX_TRY(rlx_window_read(a->stride.n ? &a->stride : &a->kernel, &a->dilation, &a->pad_lo, &a->pad_hi, a->kernel.v,
                          axes, &out->window));
  return check_pool_padding(&out->window);
}

/* ---- walking ---- */

void rlx_window_sizes(const rlx_dims *shape, int64_t size[RLX_SPATIAL]) {
  int lead = RLX_SPATIAL - (shape->n - 2);
  for (int i = 0; i < RLX_SPATIAL; i++) size[i] = i < lead ? 1 : shape->v[2 + i - lead];
}

void rlx_window_taps(const rlx_conv_window *w, int axis, int64_t o, int64_t in, int64_t *first, int64_t *end) {
  int64_t start = rlx_window_start(w, axis, o), dilation = w->dilation[axis], kernel = w->kernel[axis];
  /* The first tap at or past 0, and the first at or past `in`: quotients rounded up, written so that nothing
   * overflows. */
  int64_t k0 = start >= 0 ? 0 : (-start - 1) / dilation + 1;
  int64_t k1 = start >= in ? 0 : (in - 1 - start) / dilation + 1;
  *end = k1 < kernel ? k1 : kernel;
  *first = k0 < *end ? k0 : *end;
}
