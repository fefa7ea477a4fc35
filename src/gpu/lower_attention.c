/* Lowers attention: chooses a kernel by sizes and types.
 *
 *   few rows (a row is a query of a head)   attention_decode.k: bound by the bytes of k and v (attention_decode.c)
 *   f16, bf16 on matrix units               attention_coop64 and attention_coop128, and the same with _bf16
 *   the same on Hopper                      attention_wide64 and attention_wide128, and the same with _bf16
 *   otherwise                               attention.k and attention4.k: tiles of rows that iterate over the keys
 *
 * With few rows and a small maximum of keys, one dispatch computes everything. If there are too few rows to fill the
 * device, the keys are split over workgroups (as in flash decoding): each writes a partial result to work memory, and
 * attention_combine.k merges them. The number of splits depends on the sizes of the tensors and the device, never on
 * values, and each split takes an equal share of the keys that a run has. So results are the same from run to run, and
 * no buffer grows with queries times keys. */
#include <math.h>

#include "gpu/attention.h"
#include "gpu/lines.h"

enum { Q, K, V, MASK, BIAS, SINKS, LEN, OFFSET }; /* inputs */
enum { MAX_SPLITS = 256 };                        /* limit of attention_combine.k */

/* ---- sizes ---- */

gpu_heads gpu_heads_of(const rlx_type *t, bool positions_first) {
  const int64_t *v = t->shape.v;
  uint32_t size = (uint32_t)v[3], row = (uint32_t)(v[2] * v[3]);
  return positions_first ? (gpu_heads){row, size} : (gpu_heads){size, row};
}

static void bias_strides(const rlx_type *bias, uint32_t stride[4]) {
  uint32_t step = 1;
  for (int k = 1; k <= 4; k++) {
    int64_t n = k <= bias->shape.n ? bias->shape.v[bias->shape.n - k] : 1;
    stride[4 - k] = n == 1 ? 0 : step;
    step *= (uint32_t)n;
  }
}

bool gpu_heads_are_vectors(const rlx_type *t) { return t->shape.v[3] * (int64_t)rlx_dtype_size(t->dtype) % 16 == 0; }

float gpu_attention_scale(double scale, uint32_t d) { return scale == 0 ? (float)(1 / sqrt((double)d)) : (float)scale; }

/* There are fewer than 2^30 keys, so a longer window masks nothing for a query whose position is near them. */
uint32_t gpu_attention_window(int64_t window) { return window <= 1 << 30 ? (uint32_t)window : 0; }

static bool is_per_batch(const gpu_lowering *l, uint32_t input) {
  return gpu_has_in(l, input) && gpu_count(gpu_in_type(l, input)) > 1;
}

static gpu_attention read_sizes(const gpu_lowering *l) {
  const rlx_attrs_attention *attrs = RLX_ATTRS(attention, l->node);
  bool positions_first = attrs->layout == RLX_LAYOUT_BSHD;
  int seq_axis = positions_first ? 1 : 2, head_axis = 3 - seq_axis;
  const rlx_type *q = gpu_in_type(l, Q), *k = gpu_in_type(l, K), *v = gpu_in_type(l, V);
  gpu_attention a = {.n_batch = (uint32_t)q->shape.v[0],
                     .n_q = (uint32_t)q->shape.v[seq_axis],
                     .n_keys = (uint32_t)k->shape.v[seq_axis],
                     .n_heads = (uint32_t)q->shape.v[head_axis],
                     .n_kv = (uint32_t)k->shape.v[head_axis],
                     .d = (uint32_t)q->shape.v[3],
                     .dv = (uint32_t)v->shape.v[3],
                     .q = gpu_heads_of(q, positions_first),
                     .k = gpu_heads_of(k, positions_first),
                     .v = gpu_heads_of(v, positions_first),
                     .q_type = q->dtype,
                     .k_type = k->dtype,
                     .v_type = v->dtype,
                     .softcap = (float)attrs->softcap,
                     .causal = attrs->causal,
                     .by_16_bytes = gpu_heads_are_vectors(q) && gpu_heads_are_vectors(k) && gpu_heads_are_vectors(v),
                     .splits = 1,
                     .mask = gpu_in(l, MASK),
                     .bias_window = gpu_in(l, BIAS),
                     .sinks = gpu_in(l, SINKS),
                     .len = gpu_in(l, LEN),
                     .offset = gpu_in(l, OFFSET),
                     .len_per_batch = is_per_batch(l, LEN),
                     .offset_per_batch = is_per_batch(l, OFFSET)};
  a.group = a.n_heads / a.n_kv;
  a.rows = a.group * a.n_q;
  a.y = positions_first ? (gpu_heads){a.n_heads, 1} : (gpu_heads){1, a.n_q};
  a.scale = gpu_attention_scale(attrs->scale, a.d);
  a.window = gpu_attention_window(attrs->window);
  if (gpu_has_in(l, BIAS)) bias_strides(gpu_in_type(l, BIAS), a.bias);
  return a;
}

/* ---- partial results of splits ---- */

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t all_rows(const gpu_attention *a) { return a->n_batch * a->n_heads * a->n_q; }

/* Word offset of the maxima and sums of softmax weights after the partial results; aligned to start a window. */
static uint32_t parts_stats(const gpu_attention *a) {
  return gpu_ceil_div(a->splits * all_rows(a) * a->dv, GPU_ALIGN / 4) * (GPU_ALIGN / 4);
}
gpu_window gpu_attention_parts(gpu_lowering *l, const gpu_attention *a) {
  return gpu_work(l, ((uint64_t)parts_stats(a) + 2ull * a->splits * all_rows(a)) * 4);
}

void gpu_attention_combine(gpu_lowering *l, const gpu_attention *a, gpu_window parts) {
  uint32_t rows = all_rows(a);
  gpu_params_attention_combine p = {.rows = rows,
                                    .dv = a->dv,
                                    .splits = a->splits,
                                    .stats = parts_stats(a),
                                    .heads = a->n_heads,
                                    .head_rows = a->y.head};
  /* Rows of a narrow type that are not whole words are written as f32 first. */
  bool odd = a->dv % gpu_elements_per_word(a->q_type) != 0;
  gpu_window y = odd ? gpu_work(l, (uint64_t)rows * a->dv * 4) : gpu_out(l);
  gpu_constants_attention_combine c = {
    .t_q = (uint32_t)a->q_type, .t_y = odd ? RLX_F32 : (uint32_t)a->q_type, .has_sinks = a->sinks.from != GPU_NONE};
  uint32_t words = odd ? a->dv : a->dv / gpu_elements_per_word(a->q_type), size = gpu_power_of_two(a->splits);
  if (size < 64) size = 64;
  while (size < words * smaller(a->splits, 8) && 2 * size <= smaller(l->caps->max_group, 512)) size *= 2;
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(attention_combine, p, c), .groups = rows, .group_size = size,
                            .windows = {parts, a->sinks, y}});
  if (odd) gpu_convert(l, y, RLX_F32, gpu_out(l), a->q_type, rows * a->dv);
}

/* ---- many rows ---- */

typedef struct tile {
  uint32_t group_size, rows_each, depth;
  uint32_t cols, v_step, piece, red;
  bool in_lanes;
} tile;

/* Fills in the tile; false if it does not fit the device. */
static bool tile_fits(const gpu_caps *caps, const gpu_attention *a, tile *t) {
  uint32_t rows = t->group_size / 16 * t->rows_each;
  t->cols = a->dv ? gpu_ceil_div(a->dv, 64) : 1;
  t->in_lanes = caps->subgroup >= 16;
  t->red = t->in_lanes ? 1 : rows * 16;
  t->piece = (rows + 64) * (t->depth + 1);
  if (t->piece < 64 * t->cols) t->piece = 64 * t->cols;
  for (t->v_step = 16; t->v_step * 64 * t->cols > t->piece;) t->v_step /= 2;
  uint32_t bytes = 16 * (t->piece + rows * 17) + 4 * (t->red + 2 + rows);
  return t->group_size <= caps->max_group && t->rows_each * t->cols <= 16 && bytes <= caps->max_shared;
}

/* Ordered from the tile for large devices to one that fits every device; few rows need small tiles. */
static tile choose_tile(const gpu_caps *caps, const gpu_attention *a) {
  static const uint32_t tiles[][3] = {{256, 4, 8}, {256, 4, 4}, {256, 2, 8}, {256, 2, 4},
                                      {128, 4, 4}, {128, 2, 4}, {128, 1, 4}};
  tile t = {0};
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
    t = (tile){.group_size = tiles[i][0], .rows_each = tiles[i][1], .depth = tiles[i][2]};
    uint32_t rows = t.group_size / 16 * t.rows_each;
    if (i + 1 < sizeof tiles / sizeof *tiles && rows >= 2 * a->rows) continue;
    if (tile_fits(caps, a, &t)) break;
  }
  return t;
}

uint32_t gpu_attention_splits(const gpu_caps *caps, const gpu_attention *a, uint32_t groups, uint32_t wanted,
                              uint32_t min) {
  uint64_t enough = (uint64_t)caps->units * wanted;
  uint32_t max = smaller(a->n_keys / min, caps->max_group < MAX_SPLITS ? 128 : MAX_SPLITS);
  uint32_t splits = (uint32_t)(enough / groups);
  if (splits > max) splits = max;
  return splits ? splits : 1;
}

gpu_params_attention gpu_attention_params(const gpu_attention *a, uint32_t row_blocks) {
  return (gpu_params_attention){.n_batch = a->n_batch,
                                .n_q = a->n_q,
                                .n_keys = a->n_keys,
                                .n_kv = a->n_kv,
                                .heads_per_kv = a->group,
                                .d = a->d,
                                .dv = a->dv,
                                .q_place = a->q.position,
                                .q_head = a->q.head,
                                .k_place = a->k.position,
                                .k_head = a->k.head,
                                .v_place = a->v.position,
                                .v_head = a->v.head,
                                .y_place = a->y.position,
                                .y_head = a->y.head,
                                .bias_batch = a->bias[0],
                                .bias_head = a->bias[1],
                                .bias_q = a->bias[2],
                                .bias_key = a->bias[3],
                                .len_step = a->len_per_batch,
                                .offset_step = a->offset_per_batch,
                                .window = a->window,
                                .splits = a->splits,
                                .row_blocks = row_blocks,
                                .stats = parts_stats(a),
                                .hidden = 0xff800000u, /* -inf */
                                .scale = a->scale,
                                .softcap = a->softcap};
}

static void lower_tiles(gpu_lowering *l, gpu_attention *a) {
  tile t = choose_tile(l->caps, a);
  uint32_t blocks = gpu_ceil_div(a->rows, t.group_size / 16 * t.rows_each), row_tiles = a->n_kv * a->n_batch * blocks;
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  a->splits = gpu_attention_splits(l->caps, a, row_tiles, tuned->attention_tile_groups, tuned->attention_tile_min_keys);
  /* The combine kernel packs rows that are not whole words. It also applies sinks when OFFSET uses their window. */
  bool odd = a->dv % gpu_elements_per_word(a->q_type) != 0;
  bool partial = a->splits > 1 || odd || (gpu_has_in(l, SINKS) && gpu_has_in(l, OFFSET));
  uint32_t extra = gpu_has_in(l, OFFSET) ? 1 : gpu_has_in(l, SINKS) && !partial ? 2 : 0;
  gpu_window y = partial ? gpu_attention_parts(l, a) : gpu_out(l);
  gpu_params_attention p = gpu_attention_params(a, blocks);
  gpu_constants_attention c = {.t_q = (uint32_t)a->q_type,
                               .t_k = (uint32_t)a->k_type,
                               .t_v = (uint32_t)a->v_type,
                               .rows_each = t.rows_each,
                               .cols = t.cols,
                               .depth = t.depth,
                               .v_step = t.v_step,
                               .piece = t.piece,
                               .red = t.red,
                               .in_lanes = t.in_lanes,
                               .causal = a->causal,
                               .has_mask = gpu_has_in(l, MASK),
                               .has_bias = gpu_has_in(l, BIAS),
                               .has_cap = a->softcap > 0,
                               .has_len = gpu_has_in(l, LEN),
                               .extra = extra,
                               .partial = partial};
  gpu_launch launch = {GPU_KERNEL(attention, p, c), .groups = row_tiles * a->splits, .group_size = t.group_size,
                       .windows = {gpu_in(l, Q), gpu_in(l, K), gpu_in(l, V), gpu_in(l, MASK), gpu_in(l, BIAS),
                                   gpu_in(l, LEN), gpu_in(l, extra == 2 ? SINKS : OFFSET), y},
                       .cost = (uint64_t)all_rows(a) * a->n_keys * (a->d + a->dv) / 8};
  if (a->by_16_bytes) launch.kernel = &gpu_kernel_attention4;
  gpu_emit(l, &launch);
  if (partial) gpu_attention_combine(l, a, y);
}

/* ---- matrix units ---- */

enum { COOP_MAX_SUBS = 8 }; /* in a workgroup; as many saturate a multiprocessor, in one or two workgroups */

static uint32_t coop_shared(uint32_t wide, uint32_t subs) {
  return 16 * (2 * 64 * (wide / 8 + 1) + subs * 80) + 4 * 16 * subs + 16;
}

static bool coop_fits(const gpu_caps *caps, uint32_t wide, uint32_t subs) {
  return 32 * subs <= caps->max_group && coop_shared(wide, subs) <= caps->max_shared;
}

/* Where a kernel on matrix units writes, once the number of splits is known. */
typedef struct results {
  bool partial;   /* combine() follows */
  uint32_t extra; /* constant of the kernels */
  gpu_window parts, y, stats;
} results;

static results results_of(gpu_lowering *l, const gpu_attention *a) {
  results r = {.partial = a->splits > 1 || (gpu_has_in(l, SINKS) && gpu_has_in(l, OFFSET))};
  r.extra = gpu_has_in(l, OFFSET) ? 1 : gpu_has_in(l, SINKS) && !r.partial ? 2 : 0;
  if (!r.partial) {
    r.y = gpu_out(l);
    return r;
  }
  r.parts = gpu_attention_parts(l, a);
  uint64_t at = (uint64_t)parts_stats(a) * 4;
  r.y = gpu_part(r.parts, 0, at);
  r.stats = gpu_part(r.parts, at, r.parts.bytes - at);
  return r;
}

/* A softmax weight is split into two numbers. As one f16, the weights cause a relative error of the result of 3.5e-4,
 * as one bf16 2.7e-3, but SPEC 8 allows 2e-4 and 1e-3. Scaling them first would not help: rounding is relative. As two
 * numbers the error is 2.7e-5 and 2.3e-4. */
static bool splits_weights(const gpu_lowering *l) { return l->caps->choices.attention.weights != 1; }

static uint64_t matrix_cost(const gpu_attention *a) { return (uint64_t)all_rows(a) * a->n_keys * (a->d + a->dv) / 64; }

/* q may be f32 with k and v of f16, as in a language model's prefill: it becomes two f16, which keeps 22 bits, or one
 * with RLX_SWITCH_FAST_F16. Not with `exact`: an infinite element of k times a residue of 0 is NaN. */
static bool matrices_take_types(const gpu_lowering *l, const gpu_attention *a) {
  if (a->k_type != a->v_type || (a->k_type != RLX_F16 && a->k_type != RLX_BF16)) return false;
  return a->q_type == a->k_type || (a->q_type == RLX_F32 && a->k_type == RLX_F16 && !gpu_is_exact(l));
}

static bool lower_coop(gpu_lowering *l, gpu_attention *a) {
  const gpu_attention_choice *force = &l->caps->choices.attention;
  const bool bf16 = a->k_type == RLX_BF16, has_units = bf16 ? l->caps->has_coopmat_bf16 : l->caps->has_coopmat;
  const bool q_f32 = a->q_type == RLX_F32, one_f16 = q_f32 && (l->switches & RLX_SWITCH_FAST_F16);
  uint32_t wide = a->d <= 64 && a->dv <= 64 ? 64 : 128, tiles = a->n_kv * a->n_batch * gpu_ceil_div(a->rows, 128);
  uint32_t subs = force->subs              ? force->subs
                  : tiles < l->caps->units ? 4
                                           : COOP_MAX_SUBS; /* small tiles if there are few */
  if (!has_units || force->no_coop || !matrices_take_types(l, a) || !a->by_16_bytes) return false;
  if (a->d > wide || a->dv > wide || a->dv == 0 || a->rows < gpu_tuned(l->caps)->attention_coop_min_rows) return false;
  if (gpu_has_in(l, MASK) || gpu_has_in(l, BIAS)) return false;
  if (!coop_fits(l->caps, wide, subs)) subs = 4;
  if (!coop_fits(l->caps, wide, subs)) return false;
  uint32_t blocks = gpu_ceil_div(a->rows, 16 * subs), row_tiles = a->n_kv * a->n_batch * blocks;
  a->splits = gpu_attention_splits(l->caps, a, row_tiles, COOP_MAX_SUBS / subs, 512);
  if (force->splits && force->splits <= MAX_SPLITS) a->splits = force->splits;
  results r = results_of(l, a);
  gpu_params_attention p = gpu_attention_params(a, blocks);
  gpu_constants_attention_coop128 c = {.subs = subs,
                                       .causal = a->causal,
                                       .has_cap = a->softcap > 0,
                                       .has_len = gpu_has_in(l, LEN),
                                       .extra = r.extra,
                                       .partial = r.partial,
                                       .split = splits_weights(l) && !one_f16,
                                       .q_f32 = q_f32,
                                       .q_split = q_f32 && !one_f16};
  static const gpu_kernel *const kernels[2][2] = {{&gpu_kernel_attention_coop64, &gpu_kernel_attention_coop64_bf16},
                                                  {&gpu_kernel_attention_coop128, &gpu_kernel_attention_coop128_bf16}};
  gpu_emit(l, &(gpu_launch){.kernel = kernels[wide == 128][bf16],
                            GPU_CONSTANTS(attention_coop128, c),
                            GPU_PARAMS(attention, p),
                            .groups = row_tiles * a->splits,
                            .group_size = 32 * subs,
                            .windows = {gpu_in(l, Q), gpu_in(l, K), gpu_in(l, V), gpu_in(l, LEN),
                                        gpu_in(l, r.extra == 2 ? SINKS : OFFSET), r.y, r.stats},
                            .cost = matrix_cost(a)});
  if (r.partial) gpu_attention_combine(l, a, r.parts);
  return true;
}

/* ---- products of warp groups ---- */

enum { WIDE_ROWS = 128, WIDE_GROUP = 384 };

static bool lower_wide(gpu_lowering *l, gpu_attention *a) {
  const gpu_attention_choice *force = &l->caps->choices.attention;
  const uint32_t wide = a->d <= 64 && a->dv <= 64 ? 64 : 128;
  if (!l->caps->has_wgmma || force->no_coop || force->subs || !matrices_take_types(l, a) || !a->by_16_bytes)
    return false;
  if (a->d > wide || a->dv > wide || a->dv == 0 || a->rows < gpu_tuned(l->caps)->attention_wide_min_rows) return false;
  if (gpu_has_in(l, MASK) || gpu_has_in(l, BIAS) || !(a->scale > 0)) return false;
  const bool q_f32 = a->q_type == RLX_F32, fast = l->switches & RLX_SWITCH_FAST_F16;
  const uint32_t tile_bytes = 128 * wide * 2, bytes = (q_f32 && !fast ? 6 : 5) * tile_bytes + 1024;
  if (bytes > l->caps->max_dynamic || l->caps->max_group < WIDE_GROUP) return false;
  uint32_t blocks = gpu_ceil_div(a->rows, WIDE_ROWS), row_tiles = a->n_kv * a->n_batch * blocks;
  a->splits = gpu_attention_splits(l->caps, a, row_tiles, 1, 512);
  results r = results_of(l, a);
  gpu_params_attention p = gpu_attention_params(a, blocks);
  gpu_constants_attention_wide128 c = {.q_f32 = q_f32,
                                       .causal = a->causal,
                                       .has_cap = a->softcap > 0,
                                       .has_len = gpu_has_in(l, LEN),
                                       .extra = r.extra,
                                       .partial = r.partial,
                                       .split = splits_weights(l) && !fast,
                                       .q_split = q_f32 && !fast};
  static const gpu_kernel *const kernels[2][2] = {{&gpu_kernel_attention_wide64, &gpu_kernel_attention_wide64_bf16},
                                                  {&gpu_kernel_attention_wide128, &gpu_kernel_attention_wide128_bf16}};
  gpu_emit(l, &(gpu_launch){.kernel = kernels[wide == 128][a->k_type == RLX_BF16],
                            GPU_CONSTANTS(attention_wide128, c),
                            GPU_PARAMS(attention, p),
                            .groups = row_tiles * a->splits,
                            .group_size = WIDE_GROUP,
                            .dynamic_bytes = bytes,
                            .windows = {gpu_in(l, Q), gpu_in(l, K), gpu_in(l, V), gpu_in(l, LEN),
                                        gpu_in(l, r.extra == 2 ? SINKS : OFFSET), r.y, r.stats},
                            .cost = matrix_cost(a)});
  if (r.partial) gpu_attention_combine(l, a, r.parts);
  return true;
}

void gpu_lower_attention(gpu_lowering *l) {
  const rlx_dims *out = &gpu_out_type(l)->shape;
  if (rlx_dims_count(out) == 0) return;
  if (rlx_dtype_is_block(gpu_in_type(l, K)->dtype) || rlx_dtype_is_block(gpu_in_type(l, V)->dtype)) {
    gpu_refuse(l, "keys and values of a block type");
    return;
  }
  gpu_attention a = read_sizes(l);
  if (a.n_q >= 1u << 30 || a.n_keys >= 1u << 30) {
    gpu_refuse(l, "2^30 or more queries or keys");
    return;
  }
  if (!gpu_attention_decode(l, &a) && !lower_wide(l, &a) && !lower_coop(l, &a)) lower_tiles(l, &a);
}
