/* Lowers conv of 16-bit types on matrix units: conv_coop, or on Hopper conv_wide. Both are implicit matrix products of
 * x and the weight with channels innermost, which x is rearranged to first; the weight is packed so where the plan
 * allows it (conv_layout.c). */
#include "base/mem.h"
#include "gpu/conv.h"
#include "gpu/move.h"

/* Depends only on the weight and the op: decides whether the transposed weight layout is preferred. */
bool gpu_conv_suits_matrix_units(const gpu_lowering *l, const gpu_conv *c) {
  bool has = c->t == RLX_F16 ? l->caps->has_coopmat : c->t == RLX_BF16 && l->caps->has_coopmat_bf16;
  return has && c->tw == c->t && c->groups == 1 && !c->transposed && c->v.taps <= GPU_CONV_MAX_MASKED &&
         c->out_channels >= 16 && c->in_channels * c->v.taps >= 32;
}

static bool fits_matrix_units(const gpu_lowering *l, const gpu_conv *c) {
  uint64_t bytes = (uint64_t)c->batch * gpu_conv_in_plane(c) * gpu_conv_filled(c) * 2;
  return gpu_conv_suits_matrix_units(l, c) && c->batch * gpu_conv_out_plane(c) >= 32 &&
         bytes <= l->caps->max_window_bytes;
}

/* Transposes [outer, channels, inner] to [outer, inner, channels], with the channels zero-padded to `filled`. */
static gpu_window transposed(gpu_lowering *l, gpu_window from, uint32_t outer, uint32_t channels, uint32_t inner,
                             uint32_t filled) {
  gpu_box box = {.n = 3, .size = 2};
  box.axis[0] = (gpu_axis){.dim = outer, .stride = (int64_t)channels * inner};
  box.axis[1] = (gpu_axis){.dim = inner, .stride = 1};
  box.axis[2] = (gpu_axis){.dim = filled, .stride = inner};
  if (filled != channels) box.axis[2].mode = GPU_AXIS_BORDER, box.axis[2].n = channels;
  if (inner == 1 && filled == channels) return from;
  gpu_window to = gpu_work(l, (uint64_t)outer * inner * filled * 2);
  gpu_move(l, box, from, to);
  return to;
}

static void push_table(gpu_lowering *l, const gpu_conv_product *p, uint32_t cv, gpu_conv_words *to) {
  const gpu_conv *c = p->c;
  gpu_conv_push4(l, to, (const uint32_t[]){(uint32_t)p->stride[0], (uint32_t)p->stride[1], (uint32_t)p->stride[2], 0});
  gpu_conv_push4(l, to, (const uint32_t[]){(uint32_t)p->pad[0], (uint32_t)p->pad[1], (uint32_t)p->pad[2], 0});
  for (size_t i = 0; i < p->taps.n; i++) {
    const int64_t *d = p->taps.v[i].d;
    int64_t at = ((d[0] * c->v.in[1] + d[1]) * c->v.in[2] + d[2]) * cv;
    gpu_conv_push4(l, to, (const uint32_t[]){(uint32_t)d[0], (uint32_t)d[1], (uint32_t)d[2], (uint32_t)at});
  }
}

/* How a workgroup computes a part of the result. */
typedef struct matrix_tile {
  uint32_t bm, bn; /* channels, output positions */
  uint32_t step;   /* vectors of eight along k */
  bool is_wide;
} matrix_tile;

enum { WIDE_GROUP = 384 };
/* Four stages of rows of 128 bytes. */
static uint32_t wide_bytes(const matrix_tile *t) { return 4 * (t->bm + t->bn) * 128 + 1024; }

/* Few channels or positions would leave most of a wide tile empty. */
static bool is_wide(const gpu_lowering *l, const gpu_conv *c) {
  return l->caps->has_wgmma && l->caps->max_group >= WIDE_GROUP && c->out_channels > 32 &&
         c->batch * gpu_conv_out_plane(c) >= 128 && gpu_conv_filled(c) * c->v.taps >= 256;
}

static matrix_tile choose_tile(const gpu_lowering *l, const gpu_conv *c) {
  if (is_wide(l, c)) {
    matrix_tile t = {.bm = 128, .bn = 128, .step = 8, .is_wide = true};
    if (c->out_channels <= 64) t.bm = 64, t.bn = 256;
    if (wide_bytes(&t) <= l->caps->max_dynamic) return t;
  }
  uint32_t tiles = gpu_ceil_div(c->batch * gpu_conv_out_plane(c), 128) * gpu_ceil_div(c->out_channels, 128);
  bool many = tiles >= 2 * l->caps->units && c->out_channels > 64;
  bool fits = l->caps->max_group >= 256 && l->caps->max_shared >= 24 * 1024;
  return (matrix_tile){.bm = many && fits ? 128 : 64, .bn = 128, .step = 4};
}

/* The number of parts of the sums of wide tiles, one of which fills a multiprocessor: minimises the time of the largest
 * share plus that of writing and adding the parts, by rates that are about those of an H200. */
static uint32_t wide_parts(const gpu_lowering *l, const matrix_tile *t, uint32_t tiles, uint32_t steps,
                           uint64_t bytes) {
  const double step_us = 2e-6 * t->bm * t->bn * 64 / 2.3, part_us = 2e-6 * (double)bytes / 3, pass_us = 3;
  uint32_t best = 1;
  double least = 0;
  for (uint32_t parts = 1; parts <= 16 && parts * 4 <= steps + 3; parts++) {
    if (parts > 1 && bytes * parts > l->caps->max_window_bytes) break;
    double share = (double)gpu_ceil_div(tiles * parts, l->caps->units) * gpu_ceil_div(steps, parts);
    double us = share * step_us + (parts > 1 ? parts * part_us + pass_us : 0);
    if (parts == 1 || us < least) least = us, best = parts;
  }
  return tiles < 1u << 20 ? best : 1;
}

static uint32_t parts_of(const gpu_lowering *l, const gpu_conv *c, const matrix_tile *t, uint32_t kv) {
  uint64_t bytes = (uint64_t)gpu_count(gpu_out_type(l)) * 4;
  uint32_t tiles = gpu_ceil_div(c->batch * gpu_conv_out_plane(c), t->bn) * gpu_ceil_div(c->out_channels, t->bm);
  uint32_t steps = gpu_ceil_div(kv, t->step);
  uint32_t parts =
    t->is_wide ? wide_parts(l, t, tiles, steps, bytes) : gpu_conv_parts(l, tiles, steps * GPU_CONV_STEP, bytes);
  return gpu_ceil_div(steps, gpu_ceil_div(steps, parts)); /* no empty part */
}

/* conv_coop: two subgroups along positions, each with 64, and one for each 32 channels. */
static void emit_coop(gpu_lowering *l, const gpu_conv *c, const matrix_tile *t, bool is_final, gpu_launch launch) {
  const uint32_t across = t->bn / 64, down = t->bm / 32;
  const uint32_t stages = 2u * 5 * 16 * (t->bm + t->bn) <= l->caps->max_shared ? 2 : 1;
  gpu_constants_conv_coop constants = {.sx = across,
                                       .sy = down,
                                       .stages = stages,
                                       .size_a = 5 * stages * t->bm,
                                       .size_tile = 5 * stages * (t->bm + t->bn),
                                       .t = (uint32_t)c->t,
                                       .final = is_final,
                                       .has_bias = c->has_bias};
  launch.kernel = c->t == RLX_BF16 ? &gpu_kernel_conv_coop_bf16 : &gpu_kernel_conv_coop;
  launch.group_size = 32 * across * down;
  launch.constants = &constants, launch.constants_bytes = sizeof constants;
  gpu_emit(l, &launch);
}

static void emit_wide(gpu_lowering *l, const gpu_conv *c, const matrix_tile *t, bool is_final, gpu_launch launch) {
  gpu_constants_conv_wide constants = {
    .across = t->bn / 128, .t = (uint32_t)c->t, .final = is_final, .has_bias = c->has_bias};
  launch.kernel = c->t == RLX_BF16 ? &gpu_kernel_conv_wide_bf16 : &gpu_kernel_conv_wide;
  launch.group_size = WIDE_GROUP;
  launch.dynamic_bytes = wide_bytes(t);
  launch.constants = &constants, launch.constants_bytes = sizeof constants;
  gpu_emit(l, &launch);
}

static void emit(gpu_lowering *l, const gpu_conv_product *p, const gpu_conv_target *to, const matrix_tile *t) {
  const gpu_conv *c = p->c;
  uint32_t cv = gpu_ceil_div(c->in_channels, 8), kv = cv * c->v.taps, places = c->batch * gpu_conv_out_plane(c);
  gpu_conv_words table = {0};
  push_table(l, p, cv, &table);
  gpu_params_conv_coop params = {.places = places, /* those of conv_wide are the same */
                                 GPU_DIVIDER(plane, c->v.plane),
                                 GPU_DIVIDER(slice, c->v.slice),
                                 GPU_DIVIDER(row, c->v.row),
                                 .in_z = c->v.in[0],
                                 .in_y = c->v.in[1],
                                 .in_x = c->v.in[2],
                                 .y_part = gpu_count(gpu_out_type(l)),
                                 .channels = c->out_channels,
                                 .kv = kv,
                                 .kv_part = gpu_ceil_div(gpu_ceil_div(kv, t->step), to->parts) * t->step,
                                 .cv = cv,
                                 .taps = c->v.taps,
                                 .tiles_o = gpu_ceil_div(c->out_channels, t->bm),
                                 .tiles_p = gpu_ceil_div(places, t->bn)};
  gpu_window x = transposed(l, gpu_in(l, 0), c->batch, c->in_channels, gpu_conv_in_plane(c), 8 * cv);
  gpu_window w = gpu_in(l, 1);
  if (!c->weight_is_transposed) w = transposed(l, w, c->out_channels, c->in_channels, c->v.taps, 8 * cv);
  gpu_launch launch = {GPU_PARAMS(conv_coop, params), .groups = to->parts * params.tiles_p * params.tiles_o,
                       .windows = {x, w, gpu_in(l, 2), gpu_table(l, table.v, (uint32_t)table.n), to->to},
                       .cost = (uint64_t)places * c->out_channels * kv};
  if (t->is_wide) emit_wide(l, c, t, to->is_final, launch);
  else emit_coop(l, c, t, to->is_final, launch);
  rlx_array_deinit(&table);
}

bool gpu_conv_on_matrix_units(gpu_lowering *l, const gpu_conv *c) {
  if (!fits_matrix_units(l, c)) return false;
  const matrix_tile tile = choose_tile(l, c);
  uint64_t bytes = (uint64_t)gpu_count(gpu_out_type(l)) * 4;
  uint32_t parts = parts_of(l, c, &tile, gpu_ceil_div(c->in_channels, 8) * c->v.taps);
  gpu_conv_target t = {.is_final = parts == 1 && gpu_conv_out_plane(c) % 2 == 0, .parts = parts};
  if (!t.is_final && bytes * parts > l->caps->max_window_bytes) return false;
  t.to = t.is_final ? gpu_out(l) : gpu_work(l, bytes * parts);
  gpu_conv_product p;
  gpu_conv_taps(l, c, &p);
  emit(l, &p, &t, &tile);
  if (!t.is_final) gpu_conv_sum(l, c, &t);
  rlx_array_deinit(&p.taps);
  return true;
}
