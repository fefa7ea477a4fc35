/* Lowers conv and conv_transpose. The kernels: conv_tile, a tiled implicit GEMM that handles nearly all cases;
 * conv_coop and conv_wide, the same on matrix units (lower_conv_matrix.c); conv_depthwise for most depthwise
 * convolutions; conv_direct for others with few output channels per group; and conv_transpose, a gather, for those not
 * done by phases.
 *
 * A conv_transpose with stride s is s convolutions with stride 1 along each axis. The output positions that are equal
 * modulo s (a phase) use the same taps, at distances that do not depend on the position. So each phase is a conv_tile
 * dispatch of its own. */
#include <string.h>

#include "base/mem.h"
#include "gpu/conv.h"

enum {
  TILE = 128, /* output positions per tile, and invocations */
  MAX_PHASES = 32,
};

/* False if there is nothing to do or the lowering was refused. */
static bool conv_init(gpu_lowering *l, const rlx_conv_window *w, int64_t groups, bool transposed, gpu_conv *c) {
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
  c->transposed = transposed;
  c->weight_is_transposed = l->layout[1] == GPU_LAYOUT_TRANSPOSED;
  return true;
}

/* ---- direct: one output after the other ---- */

static void lower_direct(gpu_lowering *l, const gpu_conv *c) {
  uint32_t words = gpu_words(gpu_out_type(l)), n = gpu_count(gpu_out_type(l));
  gpu_constants_conv_direct constants = {.t = (uint32_t)c->t, .tw = (uint32_t)c->tw, .has_bias = c->has_bias};
  gpu_divider channels = gpu_divider_of(c->out_channels);
  gpu_params_conv_direct p = {GPU_WINDOW_PARAMS(c->v), GPU_DIVIDER(channels, channels), .in_channels = c->in_channels,
                              .each_in = c->each_in,   .each_out = c->each_out,         .n = n};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(conv_direct, p, constants), .groups = gpu_ceil_div(words, 128),
                            .group_size = 128, .windows = {gpu_in(l, 0), gpu_in(l, 1), gpu_in(l, 2), gpu_out(l)}});
}

static void lower_gather(gpu_lowering *l, const gpu_conv *c) {
  uint32_t words = gpu_words(gpu_out_type(l)), n = gpu_count(gpu_out_type(l));
  gpu_constants_conv_transpose constants = {.t = (uint32_t)c->t, .tw = (uint32_t)c->tw, .has_bias = c->has_bias};
  gpu_divider channels = gpu_divider_of(c->out_channels);
  gpu_params_conv_transpose p = {GPU_WINDOW_PARAMS(c->v),       GPU_DIVIDER(channels, channels),
                                 .in_channels = c->in_channels, .each_in = c->each_in,
                                 .each_out = c->each_out,       .n = n};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(conv_transpose, p, constants), .groups = gpu_ceil_div(words, 128),
                            .group_size = 128, .windows = {gpu_in(l, 0), gpu_in(l, 1), gpu_in(l, 2), gpu_out(l)}});
}

/* Two axes, one input channel per group, a kernel whose loops can be unrolled, rows of whole words. */
static bool is_depthwise(const gpu_conv *c) {
  const gpu_sliding *v = &c->v;
  if (c->each_in != 1 || v->in[0] != 1 || v->out[0] != 1 || v->kernel[0] != 1 || v->out[1] < 2) return false;
  bool unrolls = v->taps <= 49 && v->stride[1] <= 3 && v->dilation[1] <= 4;
  return unrolls && v->out[2] % gpu_elements_per_word(c->t) == 0;
}

static void lower_depthwise(gpu_lowering *l, const gpu_conv *c) {
  const gpu_sliding *v = &c->v;
  gpu_divider words = gpu_divider_of(v->out[2] / gpu_elements_per_word(c->t));
  gpu_divider blocks = gpu_divider_of(gpu_ceil_div(v->out[1], 4)), channels = gpu_divider_of(c->out_channels);
  gpu_params_conv_depthwise p = {.in_y = v->in[1],
                                 .in_x = v->in[2],
                                 .pad_y = (uint32_t)v->pad[1],
                                 .pad_x = (uint32_t)v->pad[2],
                                 .out_y = v->out[1],
                                 GPU_DIVIDER(words, words),
                                 GPU_DIVIDER(blocks, blocks),
                                 GPU_DIVIDER(channels, channels),
                                 .each_out = c->each_out,
                                 .n = c->batch * c->out_channels * blocks.d * words.d};
  gpu_constants_conv_depthwise constants = {.t = (uint32_t)c->t,
                                            .tw = (uint32_t)c->tw,
                                            .has_bias = c->has_bias,
                                            .ky = v->kernel[1],
                                            .kx = v->kernel[2],
                                            .sy = (uint32_t)v->stride[1],
                                            .sx = (uint32_t)v->stride[2],
                                            .dy = (uint32_t)v->dilation[1],
                                            .dx = (uint32_t)v->dilation[2]};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(conv_depthwise, p, constants), .groups = gpu_ceil_div(p.n, 128),
                            .group_size = 128, .windows = {gpu_in(l, 0), gpu_in(l, 1), gpu_in(l, 2), gpu_out(l)}});
}

/* ---- implicit GEMM: one conv, or one phase of a conv_transpose ---- */

static void no_memory(gpu_lowering *l) {
  if (!l->status) l->status = RLX_FAIL(RLX_NO_MEMORY, "a table of taps");
}

static void push(gpu_lowering *l, gpu_conv_words *to, uint32_t word) {
  if (!gpu_failed(l) && !rlx_array_push(to, word)) no_memory(l);
}
void gpu_conv_push4(gpu_lowering *l, gpu_conv_words *to, const uint32_t v[4]) {
  for (int i = 0; i < 4; i++) push(l, to, v[i]);
}

/* The table of conv_tile.k. */
static void push_table(gpu_lowering *l, const gpu_conv_product *p, gpu_conv_words *to) {
  const gpu_conv *c = p->c;
  uint32_t n = (uint32_t)p->taps.n, k = c->each_in * n;
  gpu_conv_push4(l, to, (const uint32_t[]){(uint32_t)p->stride[0], (uint32_t)p->stride[1], (uint32_t)p->stride[2], 0});
  gpu_conv_push4(l, to, (const uint32_t[]){(uint32_t)p->pad[0], (uint32_t)p->pad[1], (uint32_t)p->pad[2], 0});
  gpu_conv_push4(l, to, (const uint32_t[]){p->step[0], p->step[1], p->step[2], p->first});
  for (uint32_t i = 0; p->is_masked && i < n; i++) {
    const int64_t *d = p->taps.v[i].d;
    gpu_conv_push4(l, to, (const uint32_t[]){(uint32_t)d[0], (uint32_t)d[1], (uint32_t)d[2], 0});
  }
  for (uint32_t i = 0; i < k && !gpu_failed(l); i += GPU_CONV_STEP)
    for (uint32_t j = i; j < i + GPU_CONV_STEP; j += 4) {
      uint32_t offset[4], delta[3][4]; /* the tap's number, or its offset along each axis */
      for (uint32_t e = 0; e < 4; e++) {
        bool there = j + e < k;
        uint32_t number = there ? (j + e) % n : 0;
        const int64_t *d = p->taps.v[number].d;
        int64_t in = (d[0] * c->v.in[1] + d[1]) * c->v.in[2] + d[2];
        offset[e] = there ? (uint32_t)((int64_t)((j + e) / n * gpu_conv_in_plane(c)) + in) : 0;
        for (int a = 0; a < RLX_SPATIAL; a++) delta[a][e] = there ? (uint32_t)d[a] : 1u << 30;
        if (p->is_masked) delta[0][e] = there ? number : GPU_CONV_MAX_MASKED;
      }
      gpu_conv_push4(l, to, offset);
      for (int a = 0; a < (p->is_masked ? 1 : RLX_SPATIAL); a++) gpu_conv_push4(l, to, delta[a]);
    }
}

/* The offset of each k in the weight: [C, O/groups, taps] of a conv_transpose, or a transposed weight. */
static void push_weights(gpu_lowering *l, const gpu_conv_product *p, gpu_conv_words *to) {
  const gpu_conv *c = p->c;
  uint32_t n = (uint32_t)p->taps.n, filled = gpu_conv_filled(c);
  for (uint32_t i = 0; i < c->each_in * n; i++) {
    uint32_t channel = i / n, at = p->taps.v[i % n].w;
    push(l, to, c->weight_is_transposed ? at * filled + channel : channel * c->each_out * c->v.taps + at);
  }
}

/* Height of a tile in units of eight channels; the number of invocations is the same for all. */
static uint32_t tile_rows(const gpu_conv *c) {
  return c->each_out > 32 ? 8 : c->each_out > 16 ? 4 : c->each_out > 8 ? 2 : 1;
}

/* The number of parts to split the sums into (split-K) so that units are evenly loaded: minimises the largest share of
 * a unit plus a small cost per part for its memory traffic. */
uint32_t gpu_conv_parts(const gpu_lowering *l, uint32_t tiles, uint32_t k, uint64_t bytes) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  uint32_t units = l->caps->units, max = gpu_ceil_div(k, GPU_CONV_STEP) / tuned->conv_part_steps, best = 1;
  double min = 0;
  for (uint32_t parts = 1; parts <= tuned->conv_max_parts && (parts == 1 || parts <= max); parts++) {
    double share = (double)gpu_ceil_div(tiles * parts, units) / parts;
    double alone = tiles * parts < 2 * units ? 1.25 : 1; /* a single tile cannot hide a unit's memory latency */
    double cost = share * alone + 0.03 * share * (parts > 1 ? 1 + parts : 0);
    if (parts > 1 && bytes * parts > l->caps->max_window_bytes) break;
    if (parts == 1 || cost < min) min = cost, best = parts;
  }
  return tiles < 1u << 20 ? best : 1;
}

static void emit_product(gpu_lowering *l, const gpu_conv_product *p, const gpu_conv_target *t) {
  const gpu_conv *c = p->c;
  gpu_conv_words table = {0}, weights = {0};
  push_table(l, p, &table);
  bool is_tabled = c->transposed || c->weight_is_transposed;
  if (is_tabled) push_weights(l, p, &weights);
  uint32_t rows = tile_rows(c), plane = p->out[0] * p->out[1] * p->out[2], k = c->each_in * (uint32_t)p->taps.n;
  uint32_t steps = gpu_ceil_div(k, GPU_CONV_STEP);
  gpu_divider by_plane = gpu_divider_of(plane), by_row = gpu_divider_of(p->out[2]);
  gpu_divider by_slice = gpu_divider_of(p->out[1] * p->out[2]);
  gpu_params_conv_tile params = {.places = c->batch * plane,
                                 GPU_DIVIDER(plane, by_plane),
                                 GPU_DIVIDER(slice, by_slice),
                                 GPU_DIVIDER(row, by_row),
                                 .in_z = c->v.in[0],
                                 .in_y = c->v.in[1],
                                 .in_x = c->v.in[2],
                                 .x_image = c->in_channels * gpu_conv_in_plane(c),
                                 .x_group = c->each_in * gpu_conv_in_plane(c),
                                 .y_image = c->out_channels * gpu_conv_out_plane(c),
                                 .y_plane = gpu_conv_out_plane(c),
                                 .y_part = gpu_count(gpu_out_type(l)),
                                 .w_group = c->each_in * c->each_out * c->v.taps,
                                 .w_channel = c->weight_is_transposed ? c->v.taps * gpu_conv_filled(c)
                                              : c->transposed         ? c->v.taps
                                                                      : k,
                                 .each_out = c->each_out,
                                 .k = k,
                                 .k_part = gpu_ceil_div(steps, t->parts) * GPU_CONV_STEP,
                                 .taps = (uint32_t)p->taps.n,
                                 .tiles_o = gpu_ceil_div(c->each_out, 8 * rows),
                                 .tiles_p = gpu_ceil_div(c->batch * plane, TILE),
                                 .conv_groups = c->groups};
  gpu_constants_conv_tile constants = {.t = (uint32_t)c->t,
                                       .tw = (uint32_t)c->tw,
                                       .cols = TILE / rows,
                                       .each = rows,
                                       .size_w = 4 * (8 * rows + 2),
                                       .masked = p->is_masked,
                                       .tabled = is_tabled,
                                       .w4 = !is_tabled && c->tw == RLX_F32 && k % 4 == 0,
                                       .has_bias = t->is_final && c->has_bias,
                                       .stepped = c->transposed};
  gpu_emit(l,
           &(gpu_launch){GPU_KERNEL(conv_tile, params, constants),
                         .groups = t->parts * c->groups * params.tiles_p * params.tiles_o, .group_size = TILE,
                         .windows = {gpu_in(l, 0), gpu_in(l, 1), gpu_in(l, 1), gpu_in(l, 2),
                                     gpu_table(l, table.v, (uint32_t)table.n),
                                     weights.n ? gpu_table(l, weights.v, (uint32_t)weights.n) : (gpu_window){0}, t->to},
                         .cost = (uint64_t)params.places * c->out_channels * k});
  rlx_array_deinit(&table);
  rlx_array_deinit(&weights);
}

void gpu_conv_sum(gpu_lowering *l, const gpu_conv *c, const gpu_conv_target *t) {
  const rlx_type *y = gpu_out_type(l);
  gpu_divider channels = gpu_divider_of(c->out_channels);
  gpu_params_conv_sum p = {GPU_DIVIDER(plane, c->v.plane), GPU_DIVIDER(channels, channels), .parts = t->parts,
                           .n = gpu_count(y)};
  gpu_constants_conv_sum constants = {.t = (uint32_t)c->t, .has_bias = c->has_bias};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(conv_sum, p, constants), .groups = gpu_ceil_div(gpu_words(y), 128),
                            .group_size = 128, .windows = {t->to, gpu_in(l, 2), gpu_out(l)}});
}

/* Chooses where the sums are written; false if they do not fit a binding. */
static bool choose_target(gpu_lowering *l, const gpu_conv *c, uint32_t parts, gpu_conv_target *out) {
  uint64_t bytes = (uint64_t)gpu_count(gpu_out_type(l)) * 4 * parts;
  *out = (gpu_conv_target){.is_final = parts == 1 && c->t == RLX_F32, .parts = parts};
  if (!out->is_final && bytes > l->caps->max_window_bytes) return false;
  out->to = out->is_final ? gpu_out(l) : gpu_work(l, bytes);
  return true;
}

/* ---- conv ---- */

static void push_tap(gpu_lowering *l, gpu_conv_product *p, gpu_conv_tap t) {
  if (!gpu_failed(l) && !rlx_array_push(&p->taps, t)) no_memory(l);
}

void gpu_conv_taps(gpu_lowering *l, const gpu_conv *c, gpu_conv_product *p) {
  const gpu_sliding *v = &c->v;
  *p = (gpu_conv_product){.c = c, .step = {v->slice.d, v->row.d, 1}};
  memcpy(p->out, v->out, sizeof p->out);
  memcpy(p->stride, v->stride, sizeof p->stride);
  memcpy(p->pad, v->pad, sizeof p->pad);
  for (uint32_t i = 0, n = 0; i < v->kernel[0]; i++)
    for (uint32_t j = 0; j < v->kernel[1]; j++)
      for (uint32_t k = 0; k < v->kernel[2]; k++, n++)
        push_tap(
          l, p,
          (gpu_conv_tap){{(int64_t)i * v->dilation[0], (int64_t)j * v->dilation[1], (int64_t)k * v->dilation[2]}, n});
  p->is_masked = p->taps.n <= GPU_CONV_MAX_MASKED;
}

static bool lower_tiles(gpu_lowering *l, const gpu_conv *c) {
  gpu_conv_product p;
  gpu_conv_target t;
  uint32_t k = c->each_in * c->v.taps;
  uint32_t tiles =
    gpu_ceil_div(c->batch * gpu_conv_out_plane(c), TILE) * gpu_ceil_div(c->each_out, 8 * tile_rows(c)) * c->groups;
  uint32_t parts = gpu_conv_parts(l, tiles, k, (uint64_t)gpu_count(gpu_out_type(l)) * 4);
  uint32_t steps = gpu_ceil_div(k, GPU_CONV_STEP), part = gpu_ceil_div(steps, parts);
  parts = part ? gpu_ceil_div(steps, part) : 1; /* no empty part */
  if (!choose_target(l, c, parts, &t)) return false;
  gpu_conv_taps(l, c, &p);
  emit_product(l, &p, &t);
  if (!t.is_final) gpu_conv_sum(l, c, &t);
  rlx_array_deinit(&p.taps);
  return true;
}

/* ---- entry ---- */

void gpu_lower_conv(gpu_lowering *l) {
  const rlx_attrs_conv *a = RLX_ATTRS(conv, l->node);
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *w = &gpu_in_type(l, 1)->shape;
  rlx_conv_window window;
  gpu_conv c;
  if (RLX_WINDOW_READ(a, w->v + 2, x->n - 2, &window)) {
    gpu_refuse(l, "a window that does not fit");
    return;
  }
  if (!conv_init(l, &window, a->groups, false, &c)) return;
  if (l->layouts_open && gpu_conv_suits_matrix_units(l, &c)) gpu_prefer_layout(l, 1, GPU_LAYOUT_TRANSPOSED);
  if (gpu_conv_on_matrix_units(l, &c)) return;
  if (is_depthwise(&c)) lower_depthwise(l, &c);
  else if (c.each_out >= gpu_tuned(l->caps)->conv_min_channels && lower_tiles(l, &c)) return;
  else if (c.weight_is_transposed) gpu_refuse(l, "a convolution whose sums do not fit a binding");
  else lower_direct(l, &c);
}

/* ---- conv_transpose ---- */

/* Whether tap k contributes to the output positions of a phase along an axis; *d: offset of its input position. */
static bool reaches(const gpu_sliding *v, int a, uint32_t phase, uint32_t k, int64_t *d) {
  int64_t at = (int64_t)phase + v->pad[a] - (int64_t)k * v->dilation[a];
  *d = at / v->stride[a];
  return at % v->stride[a] == 0;
}

static void phase_product(gpu_lowering *l, const gpu_conv *c, const uint32_t phase[RLX_SPATIAL], gpu_conv_product *p) {
  const gpu_sliding *v = &c->v;
  uint32_t n = 0;
  *p = (gpu_conv_product){
    .c = c,
    .stride = {1, 1, 1},
    .first = (phase[0] * v->out[1] + phase[1]) * v->out[2] + phase[2],
    .step = {v->slice.d * (uint32_t)v->stride[0], v->row.d * (uint32_t)v->stride[1], (uint32_t)v->stride[2]}};
  for (int a = 0; a < RLX_SPATIAL; a++) p->out[a] = gpu_ceil_div(v->out[a] - phase[a], (uint32_t)v->stride[a]);
  for (uint32_t i = 0; i < v->kernel[0]; i++)
    for (uint32_t j = 0; j < v->kernel[1]; j++)
      for (uint32_t k = 0; k < v->kernel[2]; k++, n++) {
        gpu_conv_tap t = {.w = n};
        if (reaches(v, 0, phase[0], i, &t.d[0]) && reaches(v, 1, phase[1], j, &t.d[1]) &&
            reaches(v, 2, phase[2], k, &t.d[2]))
          push_tap(l, p, t);
      }
  p->is_masked = p->taps.n <= GPU_CONV_MAX_MASKED;
}

static uint32_t phases_of(const gpu_sliding *v, int a) {
  return (uint32_t)v->stride[a] < v->out[a] ? (uint32_t)v->stride[a] : v->out[a];
}

static bool lower_phases(gpu_lowering *l, const gpu_conv *c) {
  uint32_t n[RLX_SPATIAL];
  gpu_conv_target t;
  uint64_t all = 1;
  for (int a = 0; a < RLX_SPATIAL; a++) all *= n[a] = phases_of(&c->v, a);
  if (all > MAX_PHASES || !choose_target(l, c, 1, &t)) return false;
  for (uint32_t i = 0; i < n[0]; i++)
    for (uint32_t j = 0; j < n[1]; j++)
      for (uint32_t k = 0; k < n[2]; k++) {
        gpu_conv_product p;
        phase_product(l, c, (const uint32_t[]){i, j, k}, &p);
        emit_product(l, &p, &t);
        rlx_array_deinit(&p.taps);
      }
  if (!t.is_final) gpu_conv_sum(l, c, &t);
  return true;
}

void gpu_lower_conv_transpose(gpu_lowering *l) {
  const rlx_attrs_conv_transpose *a = RLX_ATTRS(conv_transpose, l->node);
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *w = &gpu_in_type(l, 1)->shape;
  rlx_conv_window window;
  gpu_conv c;
  if (RLX_WINDOW_READ(a, w->v + 2, x->n - 2, &window)) {
    gpu_refuse(l, "a window that does not fit");
    return;
  }
  if (!conv_init(l, &window, a->groups, true, &c)) return;
  if (c.each_out < gpu_tuned(l->caps)->conv_min_channels || !lower_phases(l, &c)) lower_gather(l, &c);
}
