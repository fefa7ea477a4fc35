/* Convolutions. */
#include "gpu/window.h"

typedef struct conv {
  gpu_sliding v;
  uint32_t batch, in_channels, out_channels, groups;
  uint32_t each_in, each_out; /* channels of a group */
  rlx_dtype t, tw;
  bool has_bias;
} conv;

/* false where there is nothing to do, or the lowering refused. */
static bool conv_init(gpu_lowering *l, const rlx_conv_window *w, int64_t groups, bool transposed, conv *c) {
  const rlx_type *x = gpu_in_type(l, 0), *y = gpu_out_type(l);
  if (!gpu_count(y) || !gpu_sliding_init(l, w, &x->shape, &y->shape, transposed, &c->v)) return false;
  c->batch = (uint32_t)x->shape.v[0];
  c->in_channels = (uint32_t)x->shape.v[1];
  c->out_channels = (uint32_t)y->shape.v[1];
  c->groups = (uint32_t)groups;
  c->each_in = c->in_channels / c->groups;
  c->each_out = c->out_channels / c->groups;
  c->t = x->dtype;
  c->tw = gpu_in_type(l, 1)->dtype;
  c->has_bias = gpu_has_in(l, 2);
  return true;
}

/* ---- one sum after the other ---- */

static void lower_direct(gpu_lowering *l, const conv *c) {
  uint32_t words = gpu_words(gpu_out_type(l)), n = gpu_count(gpu_out_type(l));
  uint32_t constants[] = {(uint32_t)c->t, (uint32_t)c->tw, c->has_bias};
  gpu_divider channels = gpu_divider_of(c->out_channels);
  gpu_params_conv_direct p = {GPU_WINDOW_PARAMS(c->v), GPU_DIVIDER(channels, channels), .in_channels = c->in_channels,
                              .each_in = c->each_in,   .each_out = c->each_out,         .n = n};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(conv_direct, p, constants), .groups = gpu_ceil_div(words, 128),
                            .group_size = 128, .windows = {gpu_in(l, 0), gpu_in(l, 1), gpu_in(l, 2), gpu_out(l)}});
}

static void lower_gather(gpu_lowering *l, const conv *c) {
  uint32_t words = gpu_words(gpu_out_type(l)), n = gpu_count(gpu_out_type(l));
  uint32_t constants[] = {(uint32_t)c->t, (uint32_t)c->tw, c->has_bias};
  gpu_divider channels = gpu_divider_of(c->out_channels);
  gpu_params_conv_transpose p = {GPU_WINDOW_PARAMS(c->v),       GPU_DIVIDER(channels, channels),
                                 .in_channels = c->in_channels, .each_in = c->each_in,
                                 .each_out = c->each_out,       .n = n};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(conv_transpose, p, constants), .groups = gpu_ceil_div(words, 128),
                            .group_size = 128, .windows = {gpu_in(l, 0), gpu_in(l, 1), gpu_in(l, 2), gpu_out(l)}});
}

/* ---- the ops ---- */

void gpu_lower_conv(gpu_lowering *l) {
  const rlx_attrs_conv *a = RLX_ATTRS(conv, l->node);
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *w = &gpu_in_type(l, 1)->shape;
  rlx_conv_window window;
  conv c;
  if (RLX_WINDOW_READ(a, w->v + 2, x->n - 2, &window)) {
    gpu_refuse(l, "a window that does not fit");
    return;
  }
  if (!conv_init(l, &window, a->groups, false, &c)) return;
  lower_direct(l, &c);
}

void gpu_lower_conv_transpose(gpu_lowering *l) {
  const rlx_attrs_conv_transpose *a = RLX_ATTRS(conv_transpose, l->node);
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *w = &gpu_in_type(l, 1)->shape;
  rlx_conv_window window;
  conv c;
  if (RLX_WINDOW_READ(a, w->v + 2, x->n - 2, &window)) {
    gpu_refuse(l, "a window that does not fit");
    return;
  }
  if (!conv_init(l, &window, a->groups, true, &c)) return;
  lower_gather(l, &c);
}
