/* Sliding windows: the parameters that their kernels share, pooling and im2col. Convolutions are in lower_conv.c. */
#include "gpu/window.h"

/* ---- parameters ---- */

/* A stride that is never taken and a dilation of a single tap may be any number: these become 1. */
static bool fits(gpu_sliding *v, int a, int64_t steps) {
  const int64_t max = 1 << 30;
  rlx_conv_window *w = &v->window;
  if (steps <= 1) w->stride[a] = 1;
  if (w->kernel[a] == 1) w->dilation[a] = 1;
  if (w->stride[a] > max || w->dilation[a] > max || w->kernel[a] > max || w->pad_lo[a] > max || w->pad_hi[a] > max)
    return false;
  return steps * w->stride[a] + w->kernel[a] * w->dilation[a] + w->pad_lo[a] + w->pad_hi[a] < max;
}

bool gpu_sliding_init(gpu_lowering *l, const rlx_conv_window *w, const rlx_dims *x, const rlx_dims *y, bool transposed,
                      gpu_sliding *out) {
  int64_t in[RLX_SPATIAL], size[RLX_SPATIAL];
  rlx_window_sizes(x, in);
  rlx_window_sizes(y, size);
  uint64_t taps = 1;
  *out = (gpu_sliding){.window = *w};
  for (int a = 0; a < RLX_SPATIAL; a++) {
    out->in[a] = (uint32_t)in[a];
    out->out[a] = (uint32_t)size[a];
    if (in[a] > INT32_MAX / 2 || !fits(out, a, transposed ? in[a] : size[a])) {
      gpu_refuse(l, "a window whose positions do not fit 30 bits");
      return false;
    }
    out->kernel[a] = (uint32_t)w->kernel[a];
    out->stride[a] = (int32_t)out->window.stride[a];
    out->dilation[a] = (int32_t)out->window.dilation[a];
    out->pad[a] = (int32_t)w->pad_lo[a];
    if (taps < INT32_MAX) taps *= (uint64_t)w->kernel[a];
  }
  out->taps = taps < INT32_MAX ? (uint32_t)taps : INT32_MAX;
  out->row = gpu_divider_of(out->out[2] ? out->out[2] : 1);
  out->slice = gpu_divider_of(out->out[1] && out->out[2] ? out->out[1] * out->out[2] : 1);
  out->plane = gpu_divider_of(out->out[0] && out->out[1] && out->out[2] ? out->out[0] * out->out[1] * out->out[2] : 1);
  return true;
}

/* ---- pools ---- */

static uint32_t padded(const gpu_sliding *v, int a) { return v->in[a] + (uint32_t)v->window.pad_hi[a]; }

void gpu_lower_pool(gpu_lowering *l) {
  const rlx_type *x = gpu_in_type(l, 0), *y = gpu_out_type(l);
  rlx_pool_window w;
  gpu_sliding v;
  if (rlx_pool_read(l->node->op, l->node->attrs, &x->shape, &w)) {
    gpu_refuse(l, "a window that does not fit");
    return;
  }
  if (!gpu_count(y) || !gpu_sliding_init(l, &w.window, &x->shape, &y->shape, false, &v)) return;
  uint32_t is_max = l->node->op == RLX_OP_pool_max, words = gpu_words(y);
  if (v.taps < gpu_tuned(l->caps)->pool_lanes_from) {
    gpu_params_pool p = {GPU_WINDOW_PARAMS(v), .padded_z = padded(&v, 0), .padded_y = padded(&v, 1),
                         .padded_x = padded(&v, 2), .n = gpu_count(y)};
    gpu_constants_pool c = {.t = (uint32_t)x->dtype, .is_max = is_max, .count_pad = w.count_pad};
    gpu_emit(l, &(gpu_launch){GPU_KERNEL(pool, p, c), .groups = gpu_ceil_div(words, 128), .group_size = 128,
                              .windows = {gpu_in(l, 0), gpu_out(l)}});
    return;
  }
  gpu_params_pool_lanes p = {GPU_WINDOW_PARAMS(v), .padded_z = padded(&v, 0), .padded_y = padded(&v, 1),
                             .padded_x = padded(&v, 2), .n = gpu_count(y)};
  uint32_t lanes = v.taps < gpu_tuned(l->caps)->pool_many_taps ? 32 : 128;
  gpu_constants_pool_lanes c = {.t = (uint32_t)x->dtype, .is_max = is_max, .count_pad = w.count_pad, .lanes = lanes};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(pool_lanes, p, c), .groups = gpu_ceil_div(words, 128 / lanes), .group_size = 128,
                            .windows = {gpu_in(l, 0), gpu_out(l)}});
}

/* ---- im2col ---- */

void gpu_lower_im2col(gpu_lowering *l) {
  const rlx_type *x = gpu_in_type(l, 0), *y = gpu_out_type(l);
  const rlx_attrs_im2col *a = RLX_ATTRS(im2col, l->node);
  rlx_conv_window w;
  gpu_sliding v;
  rlx_dims windows = x->shape; /* [N, C, rows, columns] */
  if (!gpu_count(y)) return;
  if (RLX_WINDOW_READ(a, a->kernel.v, 2, &w) || rlx_window_out(&w, 1, x->shape.v[2], false, &windows.v[2]) ||
      rlx_window_out(&w, 2, x->shape.v[3], false, &windows.v[3])) {
    gpu_refuse(l, "a window that does not fit");
    return;
  }
  if (!gpu_sliding_init(l, &w, &x->shape, &windows, false, &v)) return;
  gpu_divider kw = gpu_divider_of(v.kernel[2]), kh = gpu_divider_of(v.kernel[1]);
  gpu_params_im2col p = {GPU_WINDOW_PARAMS(v), GPU_DIVIDER(kw, kw), GPU_DIVIDER(kh, kh), .n = gpu_count(y)};
  uint32_t bytes = (uint32_t)rlx_dtype_size(x->dtype), each = bytes < 4 ? 4 / bytes : 1;
  gpu_constants_im2col c = {.bytes = bytes};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(im2col, p, c), .groups = gpu_ceil_div(gpu_ceil_div(p.n, each), 128),
                            .group_size = 128, .windows = {gpu_in(l, 0), gpu_out(l)}});
}
