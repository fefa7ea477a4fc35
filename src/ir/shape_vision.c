/* Shape rules of the vision ops: convolutions, pools, im2col, resize, grid_sample. The sliding-window arithmetic is in
 * conv_dims; ranks, channels and groups are checked here. */
#include <inttypes.h>
#include <math.h>

#include "ir/conv_dims.h"
#include "ir/infer.h"

/* Input 0 must be [N, C, ..] with lo .. hi spatial axes. */
static rlx_status expect_planes(const rlx_infer *c, int lo, int hi) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  if (x->n < 2 + lo || x->n > 2 + hi)
    return RLX_FAIL(RLX_INVALID, "x is %s but must be [N, C, ..] with %d to %d spatial axes", RLX_DIMS_TEXT(*x), lo,
                    hi);
  return RLX_OK;
}

/* A channel count that `groups` must divide; *each is the count per group. Open counts pass. */
static rlx_status split_channels(const char *what, int64_t channels, int64_t groups, int64_t *each) {
  if (groups < 1) return RLX_FAIL(RLX_INVALID, "groups is %" PRId64 " but must be at least 1", groups);
  *each = groups == 1 ? channels : RLX_DIM_UNKNOWN;
  if (rlx_dim_is_open(channels)) return RLX_OK;
  if (channels % groups != 0)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " groups do not divide the %" PRId64 " %s channels", groups, channels,
                    what);
  *each = channels / groups;
  return RLX_OK;
}

/* Checks the weight's first two axes; its spatial sizes are free. */
static rlx_status expect_weight(const rlx_infer *c, int64_t axis0, int64_t axis1) {
  rlx_dims want = *rlx_infer_shape(c, 1);
  RLX_TRY(rlx_expect_rank(c, 1, rlx_infer_shape(c, 0)->n));
  want.v[0] = axis0;
  want.v[1] = axis1;
  return rlx_expect_shape(c, 1, want);
}

static rlx_status expect_bias(const rlx_infer *c, int64_t channels) {
  return rlx_infer_in(c, 2) ? rlx_expect_shape(c, 2, RLX_DIMS(channels)) : RLX_OK;
}

static rlx_status conv_shape(rlx_infer *c, const rlx_attrs_conv *a) {
  const rlx_dims *x = rlx_infer_shape(c, 0), *w = rlx_infer_shape(c, 1);
  rlx_conv_window window;
  int64_t in_each, out_each;
  RLX_TRY(expect_planes(c, 1, RLX_SPATIAL));
  RLX_TRY(split_channels("input", x->v[1], a->groups, &in_each));
  RLX_TRY(expect_weight(c, RLX_DIM_UNKNOWN, in_each));
  RLX_TRY(split_channels("output", w->v[0], a->groups, &out_each));
  RLX_TRY(expect_bias(c, w->v[0]));
  RLX_TRY(RLX_WINDOW_READ(a, w->v + 2, x->n - 2, &window));
  return rlx_window_shape(c->graph, &window, x, false, w->v[0], &c->out.shape);
}

rlx_status rlx_shape_conv(rlx_infer *c) { return conv_shape(c, RLX_ATTRS(conv, c)); }

rlx_status rlx_shape_fused_conv(rlx_infer *c) {
  const rlx_attrs_fused_conv_bias_act *a = RLX_ATTRS(fused_conv_bias_act, c);
  RLX_TRY(conv_shape(c, &(rlx_attrs_conv){a->stride, a->dilation, a->pad_lo, a->pad_hi, a->groups}));
  return rlx_infer_in(c, 3) ? rlx_expect_shape(c, 3, c->out.shape) : RLX_OK;
}

rlx_status rlx_shape_conv_transpose(rlx_infer *c) {
  const rlx_attrs_conv_transpose *a = RLX_ATTRS(conv_transpose, c);
  const rlx_dims *x = rlx_infer_shape(c, 0), *w = rlx_infer_shape(c, 1);
  rlx_conv_window window;
  int64_t in_each, channels;
  RLX_TRY(expect_planes(c, 1, RLX_SPATIAL));
  RLX_TRY(split_channels("input", x->v[1], a->groups, &in_each));
  RLX_TRY(expect_weight(c, x->v[1], RLX_DIM_UNKNOWN));
  if (!rlx_dim_mul(c->graph, w->v[1], a->groups, &channels))
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " groups of %" PRId64 " output channels are too many", a->groups, w->v[1]);
  RLX_TRY(expect_bias(c, channels));
  RLX_TRY(RLX_WINDOW_READ(a, w->v + 2, x->n - 2, &window));
  if (a->output_pad.n != 0 && a->output_pad.n != window.axes)
    return RLX_FAIL(RLX_INVALID, "output_pad %s must be empty or have one number for each of %d spatial axes",
                    RLX_DIMS_TEXT(a->output_pad), window.axes);
  rlx_dims out = *x;
  out.v[1] = channels;
  for (int i = 0; i < window.axes; i++)
    RLX_TRY(rlx_window_out_transposed(&window, RLX_SPATIAL - window.axes + i, x->v[2 + i],
                                      a->output_pad.n ? a->output_pad.v[i] : 0, &out.v[2 + i]));
  c->out.shape = out;
  return RLX_OK;
}

rlx_status rlx_shape_pool(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  rlx_pool_window pool;
  RLX_TRY(expect_planes(c, 1, RLX_SPATIAL));
  RLX_TRY(rlx_pool_read(c->op, c->attrs, x, &pool));
  RLX_TRY(rlx_window_shape(c->graph, &pool.window, x, pool.ceil, x->v[1], &c->out.shape));
  for (int i = 2; pool.whole && i < x->n; i++) c->out.shape.v[i] = 1;
  return RLX_OK;
}

rlx_status rlx_shape_im2col(rlx_infer *c) {
  const rlx_attrs_im2col *a = RLX_ATTRS(im2col, c);
  const rlx_dims *x = rlx_infer_shape(c, 0);
  RLX_TRY(rlx_expect_rank(c, 0, 4));
  RLX_TRY(rlx_window_check_kernel(&a->kernel, 2));
  rlx_conv_window window;
  rlx_dims planes;
  RLX_TRY(RLX_WINDOW_READ(a, a->kernel.v, 2, &window));
  RLX_TRY(rlx_window_shape(c->graph, &window, x, false, x->v[1], &planes));
  int64_t taps, rows, places;
  if (!rlx_dim_mul(c->graph, a->kernel.v[0], a->kernel.v[1], &taps) || !rlx_dim_mul(c->graph, x->v[1], taps, &rows) ||
      !rlx_dim_mul(c->graph, planes.v[2], planes.v[3], &places))
    return RLX_FAIL(RLX_INVALID, "kernel %s over %s gives too many columns", RLX_DIMS_TEXT(a->kernel),
                    RLX_DIMS_TEXT(*x));
  c->out.shape = RLX_DIMS(x->v[0], rows, places);
  return RLX_OK;
}

rlx_status rlx_shape_resize(rlx_infer *c) {
  const rlx_attrs_resize *a = RLX_ATTRS(resize, c);
  const rlx_dims *x = rlx_infer_shape(c, 0);
  if (a->size.n != x->n)
    return RLX_FAIL(RLX_INVALID, "size %s must give every axis of x %s", RLX_DIMS_TEXT(a->size), RLX_DIMS_TEXT(*x));
  if (a->scale.n != 0 && a->scale.n != x->n)
    return RLX_FAIL(RLX_INVALID, "scale has %d entries but must be empty or have one for each of %d axes",
                    (int)a->scale.n, (int)x->n);
  for (int i = 0; i < x->n; i++) {
    int64_t from = x->v[i], to = a->size.v[i];
    if (to < 0 && !rlx_dim_is_open(to))
      return RLX_FAIL(RLX_INVALID, "size %s is negative on axis %d", RLX_DIMS_TEXT(a->size), i);
    if (from == 0 && to > 0)
      return RLX_FAIL(RLX_INVALID, "axis %d of x %s is empty and cannot become %" PRId64, i, RLX_DIMS_TEXT(*x), to);
    if (a->scale.n && !(a->scale.v[i] > 0 && isfinite(a->scale.v[i])))
      return RLX_FAIL(RLX_INVALID, "scale of axis %d is %g but must be finite and above 0", i, a->scale.v[i]);
  }
  c->out.shape = a->size;
  return RLX_OK;
}

rlx_status rlx_shape_grid_sample(rlx_infer *c) {
  enum { mode_cubic = 2 };
  const rlx_attrs_grid_sample *a = RLX_ATTRS(grid_sample, c);
  const rlx_dims *x = rlx_infer_shape(c, 0), *grid = rlx_infer_shape(c, 1);
  RLX_TRY(expect_planes(c, 2, 3));
  int axes = x->n - 2;
  if (a->mode == mode_cubic && axes != 2)
    return RLX_FAIL(RLX_INVALID, "mode cubic takes x [N, C, H, W], not %s", RLX_DIMS_TEXT(*x));
  for (int i = 0; i < axes; i++)
    if (x->v[2 + i] == 0) return RLX_FAIL(RLX_INVALID, "x is %s: spatial axis %d is empty", RLX_DIMS_TEXT(*x), i);
  RLX_TRY(rlx_expect_rank(c, 1, x->n));
  rlx_dims want = *grid;
  want.v[0] = x->v[0];
  want.v[x->n - 1] = axes;
  RLX_TRY(rlx_expect_shape(c, 1, want));
  rlx_dims out = *x;
  if (!rlx_dim_unify(x->v[0], grid->v[0], &out.v[0])) return RLX_FAIL(RLX_INVALID, "x and grid differ in N");
  for (int i = 0; i < axes; i++) out.v[2 + i] = grid->v[1 + i];
  c->out.shape = out;
  return RLX_OK;
}
