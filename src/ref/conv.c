/* conv, conv_transpose and im2col.
 *
 * All three iterate windows (ir/conv_dims.h) over three spatial axes; missing axes have size 1. conv sums, for each
 * output position, the taps inside the input. conv_transpose is its gradient, which scatters. Written as a gather (each
 * output position finds the input positions whose taps reach it), every result is one sum, rounded once. im2col only
 * moves bytes, so it takes any element type. */
#include "ir/conv_dims.h"
#include "ref/ref.h"

typedef struct {
  const rlx_tensor *x, *w, *bias, *residual;
  int32_t act;
  rlx_conv_window window;
  int64_t in[RLX_SPATIAL], out[RLX_SPATIAL]; /* spatial sizes */
  int64_t in_channels, out_channels, groups;
} conv;

/* The offset of a position; `plane` counts whole planes (a channel of a sample) of these sizes. */
static size_t offset_of(int64_t plane, const int64_t size[RLX_SPATIAL], int64_t z, int64_t y, int64_t x) {
  return (size_t)(((plane * size[0] + z) * size[1] + y) * size[2] + x);
}

/* ---- conv ---- */

/* One plane of the input times one plane of the weight, at the output position whose first tap reads `start`. */
static double correlate(rlx_ref_call *c, const conv *v, int64_t x_plane, int64_t w_plane,
                        const int64_t start[RLX_SPATIAL], const int64_t first[RLX_SPATIAL],
                        const int64_t end[RLX_SPATIAL]) {
  const int64_t *dilation = v->window.dilation;
  double sum = 0;
  for (int64_t i = first[0]; i < end[0]; i++)
    for (int64_t j = first[1]; j < end[1] && rlx_ref_continues(c, 1 + (size_t)(end[2] - first[2])); j++) {
      size_t x_row = offset_of(x_plane, v->in, start[0] + i * dilation[0], start[1] + j * dilation[1], 0);
      size_t w_row = offset_of(w_plane, v->window.kernel, i, j, 0);
      for (int64_t k = first[2]; k < end[2]; k++)
        sum += rlx_load(v->x, x_row + (size_t)(start[2] + k * dilation[2])) * rlx_load(v->w, w_row + (size_t)k);
    }
  return sum;
}

static double conv_at(rlx_ref_call *c, const conv *v, int64_t n, int64_t channel, const int64_t position[RLX_SPATIAL]) {
  int64_t start[RLX_SPATIAL], first[RLX_SPATIAL], end[RLX_SPATIAL];
  for (int a = 0; a < RLX_SPATIAL; a++) {
    start[a] = rlx_window_start(&v->window, a, position[a]);
    rlx_window_taps(&v->window, a, position[a], v->in[a], &first[a], &end[a]);
  }
  int64_t group_in = v->in_channels / v->groups, group = channel / (v->out_channels / v->groups);
  double sum = v->bias ? rlx_load(v->bias, (size_t)channel) : 0;
  for (int64_t i = 0; i < group_in && rlx_ref_continues(c, 1); i++)
    sum += correlate(c, v, n * v->in_channels + group * group_in + i, channel * group_in + i, start, first, end);
  return sum;
}

/* ---- conv_transpose ---- */

/* The input position whose tap k contributes to output position o; false if there is none. */
static bool source_of(const conv *v, int axis, int64_t o, int64_t k, int64_t *in) {
  int64_t at = o + v->window.pad_lo[axis] - k * v->window.dilation[axis];
  *in = at / v->window.stride[axis];
  return at >= 0 && at % v->window.stride[axis] == 0 && *in < v->in[axis];
}

static double gather_taps(rlx_ref_call *c, const conv *v, int64_t x_plane, int64_t w_plane,
                          const int64_t position[RLX_SPATIAL]) {
  const int64_t *kernel = v->window.kernel;
  int64_t z, y, x;
  double sum = 0;
  for (int64_t i = 0; i < kernel[0]; i++) {
    if (!source_of(v, 0, position[0], i, &z)) continue;
    for (int64_t j = 0; j < kernel[1] && rlx_ref_continues(c, (size_t)kernel[2]); j++) {
      if (!source_of(v, 1, position[1], j, &y)) continue;
      for (int64_t k = 0; k < kernel[2]; k++)
        if (source_of(v, 2, position[2], k, &x)) {
          double weight = rlx_load(v->w, offset_of(w_plane, kernel, i, j, k));
          sum += weight * rlx_load(v->x, offset_of(x_plane, v->in, z, y, x));
        }
    }
  }
  return sum;
}

static double conv_transpose_at(rlx_ref_call *c, const conv *v, int64_t n, int64_t channel,
                                const int64_t position[RLX_SPATIAL]) {
  int64_t group_in = v->in_channels / v->groups, group_out = v->out_channels / v->groups;
  int64_t group = channel / group_out;
  double sum = v->bias ? rlx_load(v->bias, (size_t)channel) : 0;
  for (int64_t i = group * group_in; i < (group + 1) * group_in && rlx_ref_continues(c, 1); i++)
    sum += gather_taps(c, v, n * v->in_channels + i, i * group_out + channel % group_out, position);
  return sum;
}

/* ---- both ---- */

typedef double (*conv_value)(rlx_ref_call *c, const conv *v, int64_t n, int64_t channel,
                             const int64_t position[RLX_SPATIAL]);

static rlx_status run(rlx_ref_call *c, conv *v, conv_value value_at) {
  rlx_tensor *out = c->out;
  if (rlx_tensor_count(out) == 0) return RLX_OK;
  v->in_channels = v->x->shape.v[1];
  v->out_channels = out->shape.v[1];
  rlx_window_sizes(&v->x->shape, v->in);
  rlx_window_sizes(&out->shape, v->out);
  size_t at = 0;
  for (int64_t n = 0; n < out->shape.v[0]; n++)
    for (int64_t channel = 0; channel < v->out_channels; channel++)
      for (int64_t z = 0; z < v->out[0]; z++)
        for (int64_t y = 0; y < v->out[1]; y++)
          for (int64_t x = 0; x < v->out[2]; x++) {
            if (!rlx_ref_continues(c, 1)) return RLX_OK;
            double value = value_at(c, v, n, channel, (const int64_t[]){z, y, x});
            if (v->residual) value += rlx_load(v->residual, at);
            rlx_store(out, at++, rlx_ref_activate(v->act, value));
          }
  return RLX_OK;
}

rlx_status rlx_ref_conv(rlx_ref_call *c) {
  const rlx_attrs_conv *a = RLX_ATTRS(conv, c);
  conv v = {.x = c->in[0], .w = c->in[1], .bias = rlx_ref_in(c, 2), .groups = a->groups};
  RLX_TRY(RLX_WINDOW_READ(a, v.w->shape.v + 2, v.x->shape.n - 2, &v.window));
  return run(c, &v, conv_at);
}

rlx_status rlx_ref_fused_conv_bias_act(rlx_ref_call *c) {
  const rlx_attrs_fused_conv_bias_act *a = RLX_ATTRS(fused_conv_bias_act, c);
  conv v = {.x = c->in[0],
            .w = c->in[1],
            .bias = rlx_ref_in(c, 2),
            .residual = rlx_ref_in(c, 3),
            .act = a->act,
            .groups = a->groups};
  RLX_TRY(RLX_WINDOW_READ(a, v.w->shape.v + 2, v.x->shape.n - 2, &v.window));
  return run(c, &v, conv_at);
}

rlx_status rlx_ref_conv_transpose(rlx_ref_call *c) {
  const rlx_attrs_conv_transpose *a = RLX_ATTRS(conv_transpose, c);
  conv v = {.x = c->in[0], .w = c->in[1], .bias = rlx_ref_in(c, 2), .groups = a->groups};
  RLX_TRY(RLX_WINDOW_READ(a, v.w->shape.v + 2, v.x->shape.n - 2, &v.window));
  return run(c, &v, conv_transpose_at);
}

/* ---- im2col ---- */

rlx_status rlx_ref_im2col(rlx_ref_call *c) {
  const rlx_attrs_im2col *a = RLX_ATTRS(im2col, c);
  const rlx_tensor *x = c->in[0];
  size_t size = rlx_dtype_size(x->dtype);
  rlx_conv_window w;
  RLX_TRY(RLX_WINDOW_READ(a, a->kernel.v, 2, &w));
  if (rlx_tensor_count(c->out) == 0) return RLX_OK;
  int64_t in[RLX_SPATIAL], rows, columns;
  rlx_window_sizes(&x->shape, in);
  RLX_TRY(rlx_window_out(&w, 1, in[1], false, &rows));
  RLX_TRY(rlx_window_out(&w, 2, in[2], false, &columns));
  char *to = c->out->data;
  for (int64_t plane = 0; plane < x->shape.v[0] * x->shape.v[1]; plane++)
    for (int64_t kh = 0; kh < w.kernel[1]; kh++)
      for (int64_t kw = 0; kw < w.kernel[2]; kw++)
        for (int64_t oh = 0; oh < rows; oh++)
          for (int64_t ow = 0; ow < columns; ow++, to += size) {
            if (!rlx_ref_continues(c, 1)) return RLX_OK;
            int64_t ih = rlx_window_start(&w, 1, oh) + kh * w.dilation[1];
            int64_t iw = rlx_window_start(&w, 2, ow) + kw * w.dilation[2];
            if (ih >= 0 && ih < in[1] && iw >= 0 && iw < in[2])
              memcpy(to, (const char *)x->data + offset_of(plane, in, 0, ih, iw) * size, size);
            else memset(to, 0, size);
          }
  return RLX_OK;
}
