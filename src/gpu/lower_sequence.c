/* Lowers sequence models with a linear state (selective_scan, mamba2, gated_delta_net: one kernel, linear_scan.k) and
 * the causal convolution that precedes them. rnn, gru and lstm are in lower_recurrent.c. */
#include <math.h>

#include "gpu/gpu.h"

/* ---- the linear scans ---- */

typedef struct scan {
  uint32_t mode; /* as in the kernel */
  uint32_t batches, steps, heads, inner, outers, groups_bc, n;
  bool wants_h;
  double scale;
  uint32_t x, dt, a, first, second, d, h0; /* input numbers; NO_INPUT: absent */
} scan;
enum { NO_INPUT = 31, GROUP = 128 };

typedef struct scan_shape {
  uint32_t lanes, fours, steps, red;
} scan_shape;

static uint32_t power_of_2_from(uint32_t n) {
  uint32_t p = 1;
  while (p < n) p *= 2;
  return p;
}

/* How many lanes share a channel's state, and how many steps shared memory holds; false: the state is too large. */
static bool choose_shape(const gpu_caps *caps, const scan *s, scan_shape *out) {
  uint32_t fours = gpu_ceil_div(s->n, 4), max_lanes = caps->subgroup && caps->subgroup < 32 ? caps->subgroup : 32;
  uint64_t channels = (uint64_t)s->batches * s->outers * s->inner;
  uint32_t per_lane = channels >= (uint64_t)gpu_tuned(caps)->linear_scan_channels * caps->units
                        ? 4
                        : 2; /* few channels: more lanes per channel */
  scan_shape t = {.lanes = power_of_2_from(gpu_ceil_div(fours, per_lane)), .steps = 16};
  if (t.lanes > max_lanes) t.lanes = max_lanes;
  t.fours = fours ? gpu_ceil_div(fours, t.lanes) : 1;
  t.red = s->mode == 2 && !caps->subgroup ? GROUP : 1;
  for (;; t.steps /= 2) {
    uint32_t per_step = 32 * t.lanes * t.fours + 4 * (2 * GROUP / t.lanes + 1 + GROUP);
    if (t.steps * per_step + 4 * t.red <= caps->max_shared || t.steps == 1) break;
  }
  *out = t;
  return t.fours <= 16 &&
         t.steps * (32 * t.lanes * t.fours + 4 * (2 * GROUP / t.lanes + 1 + GROUP)) + 4 * t.red <= caps->max_shared;
}

static void emit_scan(gpu_lowering *l, const scan *s) {
  scan_shape shape;
  if (gpu_count(gpu_out_type(l)) == 0) return;
  if (!choose_shape(l->caps, s, &shape)) {
    gpu_refuse(l, "a state too large for the device");
    return;
  }
  rlx_dtype type = gpu_out_type(l)->dtype;
  bool packs = type == RLX_F32 || (!s->wants_h && s->inner % gpu_elements_per_word(type) == 0);
  uint32_t n = gpu_count(gpu_out_type(l)), blocks = gpu_ceil_div(s->inner, GROUP / shape.lanes);
  gpu_window y = packs ? gpu_out(l) : gpu_work(l, (uint64_t)n * 4);
  gpu_params_linear_scan p = {.steps = s->steps,
                              .heads = s->heads,
                              .inner = s->inner,
                              .outers = s->outers,
                              .groups_bc = s->groups_bc,
                              .n = s->n,
                              .blocks = blocks,
                              .scale = (float)s->scale};
  gpu_constants_linear_scan c = {.t = (uint32_t)type,
                                 .mode = s->mode,
                                 .lanes = shape.lanes,
                                 .fours = shape.fours,
                                 .steps = shape.steps,
                                 .has_d = gpu_has_in(l, s->d),
                                 .has_h0 = gpu_has_in(l, s->h0),
                                 .wants_h = s->wants_h,
                                 .t_y = packs ? (uint32_t)type : (uint32_t)RLX_F32,
                                 .red = shape.red,
                                 .padded = 4 * shape.lanes * shape.fours != s->n};
  gpu_emit(l,
           &(gpu_launch){GPU_KERNEL(linear_scan, p, c), .groups = s->batches * s->outers * blocks, .group_size = GROUP,
                         .windows = {gpu_in(l, s->x), gpu_in(l, s->dt), gpu_in(l, s->a), gpu_in(l, s->first),
                                     gpu_in(l, s->second), gpu_in(l, s->d), gpu_in(l, s->h0), y},
                         .cost = (uint64_t)s->batches * s->outers * s->inner * s->steps * (s->n + 1)});
  if (!packs) gpu_convert(l, y, RLX_F32, gpu_out(l), type, n);
}

static uint32_t size_of(const gpu_lowering *l, uint32_t input, int axis) {
  return (uint32_t)gpu_in_type(l, input)->shape.v[axis];
}

void gpu_lower_selective_scan(gpu_lowering *l) {
  scan s = {.batches = size_of(l, 0, 0),
            .steps = size_of(l, 0, 1),
            .heads = size_of(l, 0, 2),
            .inner = size_of(l, 0, 2),
            .outers = 1,
            .groups_bc = 1,
            .n = size_of(l, 2, 1),
            .wants_h = RLX_ATTRS(selective_scan, l->node)->out == 1,
            .scale = 1,
            .x = 0,
            .dt = 1,
            .a = 2,
            .first = 3,
            .second = 4,
            .d = 5,
            .h0 = 6};
  emit_scan(l, &s);
}

void gpu_lower_mamba2(gpu_lowering *l) {
  scan s = {.mode = 1,
            .batches = size_of(l, 0, 0),
            .steps = size_of(l, 0, 1),
            .heads = size_of(l, 0, 2),
            .inner = size_of(l, 0, 3),
            .outers = size_of(l, 0, 2),
            .groups_bc = size_of(l, 3, 2),
            .n = size_of(l, 3, 3),
            .wants_h = RLX_ATTRS(mamba2, l->node)->out == 1,
            .scale = 1,
            .x = 0,
            .dt = 1,
            .a = 2,
            .first = 3,
            .second = 4,
            .d = 5,
            .h0 = 6};
  emit_scan(l, &s);
}

void gpu_lower_gated_delta_net(gpu_lowering *l) {
  enum { Q, K, V, G, BETA, H0 };
  scan s = {.mode = 2,
            .batches = size_of(l, V, 0),
            .steps = size_of(l, V, 1),
            .heads = size_of(l, V, 2),
            .inner = size_of(l, V, 3),
            .outers = size_of(l, V, 2),
            .groups_bc = size_of(l, V, 2),
            .n = size_of(l, K, 3),
            .wants_h = RLX_ATTRS(gated_delta_net, l->node)->out == 1,
            .x = V,
            .dt = G,
            .a = BETA,
            .first = K,
            .second = Q,
            .d = NO_INPUT,
            .h0 = H0};
  s.scale = s.n ? 1 / sqrt((double)s.n) : 0;
  emit_scan(l, &s);
}

/* ---- causal_conv ---- */

void gpu_lower_causal_conv(gpu_lowering *l) {
  enum { X, W, BIAS, STATE, PIECE = 4 };
  rlx_dtype type = gpu_out_type(l)->dtype;
  uint32_t per = gpu_elements_per_word(type), n = gpu_count(gpu_out_type(l));
  bool wants_state = RLX_ATTRS(causal_conv, l->node)->out == 1;
  if (n == 0) return;
  gpu_params_causal_conv p = {.lines = size_of(l, X, 0) * size_of(l, X, 1),
                              .channels = size_of(l, X, 1),
                              .steps = size_of(l, X, 2),
                              .taps = size_of(l, W, 1)};
  bool packs = wants_state || p.steps % per == 0;
  if (!packs) per = 1;
  p.pieces = wants_state ? gpu_ceil_div(n, per) : gpu_ceil_div(gpu_ceil_div(p.steps, per), PIECE);
  gpu_window y = packs ? gpu_out(l) : gpu_work(l, (uint64_t)n * 4);
  gpu_constants_causal_conv c = {.t = (uint32_t)type,
                                 .t_y = packs ? (uint32_t)type : (uint32_t)RLX_F32,
                                 .has_bias = gpu_has_in(l, BIAS),
                                 .has_state = gpu_has_in(l, STATE),
                                 .wants_state = wants_state};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(causal_conv, p, c),
                            .groups = gpu_ceil_div(wants_state ? p.pieces : p.lines * p.pieces, GROUP),
                            .group_size = GROUP,
                            .windows = {gpu_in(l, X), gpu_in(l, W), gpu_in(l, BIAS), gpu_in(l, STATE), y}});
  if (!packs) gpu_convert(l, y, RLX_F32, gpu_out(l), type, n);
}
