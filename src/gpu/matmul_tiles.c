/* Tiled matrix products (GEMM): the table of tiles, the choice of a tile, and its dispatch.
 *
 * f32 products, and f16 and bf16 on devices without matrix units for them, use matmul8 and matmul4. f16 and bf16
 * products use matmul_coop*, or on Hopper matmul_wide*, if k (and n, if b is [k, n]) is a multiple of eight.
 *
 * The choice minimises a cost model: the work of the busiest multiprocessor, at the rate that the tile reaches on full
 * tiles, slower if there are too few invocations to hide latencies. Split-K adds workgroups and costs a second pass.
 * Times are in units of one multiply-add on one multiprocessor. */
#include "gpu/matmul_plan.h"

/* ---- measured rates ---- */

/* clang-format off */
const product_tile gpu_product_tiles[] = {
  /* unit, across, down, depth, stages, rate, rate_t: percent of the best on 4096 x 4096 x 4096 (vk_matmul, H200) */
  {PRODUCT_8X8, 2, 4, 16, 2, 0, 92},    /* 128 x 128 */
  {PRODUCT_8X8, 2, 2, 16, 2, 0, 0},     /*  64 x 128 */
  {PRODUCT_8X8, 1, 2, 16, 2, 77, 74},   /*  64 x  64 */
  {PRODUCT_8X8, 2, 1, 8, 2, 46, 67},    /*  32 x 128 */
  {PRODUCT_4X4, 1, 2, 16, 2, 64, 54},   /*  32 x  32 */
  {PRODUCT_4X4, 2, 1, 16, 2, 27, 40},   /*  16 x  64 */
  {PRODUCT_8X8, 2, 4, 16, 1, 92, 0},    /* 128 x 128 */
  {PRODUCT_8X8, 2, 4, 8, 2, 0, 0},
  {PRODUCT_8X8, 1, 4, 16, 2, 79, 83},   /* 128 x  64 */
  {PRODUCT_8X8, 2, 2, 8, 2, 100, 100},  /*  64 x 128 */
  {PRODUCT_8X8, 4, 1, 8, 2, 51, 61},    /*  32 x 256 */

  {PRODUCT_COOP4, 4, 2, 32, 1, 100, 94}, /* 128 x 256 */
  {PRODUCT_COOP4, 2, 4, 32, 1, 95, 100}, /* 256 x 128 */
  {PRODUCT_COOP4, 2, 2, 32, 0, 98, 96},  /* 128 x 128 */
  {PRODUCT_COOP4, 2, 1, 32, 1, 83, 76},  /*  64 x 128 */
  {PRODUCT_COOP2, 4, 1, 64, 1, 59, 64},  /*  32 x 128 */
  {PRODUCT_COOP2, 2, 1, 64, 1, 48, 55},  /*  32 x  64 */
  {PRODUCT_COOP2, 2, 2, 32, 2, 38, 37},  /*  64 x  64 */
  {PRODUCT_COOP4, 4, 2, 32, 0, 0, 0},    /* 128 x 256 */
  {PRODUCT_COOP4, 4, 2, 16, 2, 0, 0},
  {PRODUCT_COOP4, 2, 2, 32, 1, 0, 0},    /* 128 x 128 */
  {PRODUCT_COOP4, 2, 2, 32, 2, 0, 0},
  {PRODUCT_COOP4, 2, 2, 64, 1, 0, 0},
  {PRODUCT_COOP4, 2, 2, 64, 0, 0, 0},
  {PRODUCT_COOP4, 4, 1, 32, 1, 0, 0},    /*  64 x 256 */
  {PRODUCT_COOP2, 4, 2, 64, 1, 0, 0},    /*  64 x 128 */
  {PRODUCT_COOP2, 2, 2, 64, 1, 0, 0},    /*  64 x  64 */

  {PRODUCT_WIDE, 4, 2, 64, 4, 200, 200}, /* 128 x 256; not measured: relative to matmul_coop4 */
  {PRODUCT_WIDE, 2, 2, 64, 4, 160, 160}, /* 128 x 128 */
};
/* The same with two matrices of a (gpu_product.residues), whose rows a tile all has. Not measured: the rates of the
 * same tiles with one matrix, or a little more where fewer loads of b are left. */
const product_tile gpu_product_pair_tiles[] = {
  {PRODUCT_COOP4, 4, 2, 32, 1, 100, 96}, /* 128 x 256 */
  {PRODUCT_COOP4, 2, 2, 32, 0, 98, 96},  /* 128 x 128 */
  {PRODUCT_COOP4, 2, 1, 32, 1, 83, 76},  /*  64 x 128 */
  {PRODUCT_COOP2, 4, 2, 64, 1, 72, 76},  /*  64 x 128, but 256 invocations */
  {PRODUCT_COOP2, 4, 1, 64, 1, 59, 64},  /*  32 x 128 */
  {PRODUCT_COOP2, 2, 1, 64, 1, 48, 55},  /*  32 x  64 */
  {PRODUCT_COOP4, 4, 1, 32, 1, 0, 0},    /*  64 x 256 */
  {PRODUCT_COOP4, 4, 1, 32, 0, 0, 0},
  {PRODUCT_COOP4, 2, 2, 32, 1, 0, 0},    /* 128 x 128 */
  {PRODUCT_COOP2, 4, 2, 64, 0, 0, 0},    /*  64 x 128 */
  {PRODUCT_COOP2, 4, 2, 32, 2, 0, 0},
  {PRODUCT_COOP2, 2, 2, 64, 1, 0, 0},    /*  64 x  64 */
  {PRODUCT_COOP2, 2, 2, 32, 2, 0, 0},

  {PRODUCT_WIDE, 4, 2, 64, 4, 200, 200}, /* 128 x 256, as a batch of two */
  {PRODUCT_WIDE, 2, 2, 64, 4, 160, 160}, /* 128 x 128 */
};
/* clang-format on */
const size_t gpu_product_tile_count = sizeof gpu_product_tiles / sizeof gpu_product_tiles[0];
const size_t gpu_product_pair_tile_count = sizeof gpu_product_pair_tiles / sizeof gpu_product_pair_tiles[0];

typedef struct speeds {  /* of one kind of arithmetic */
  uint32_t full;         /* invocations that saturate a multiprocessor */
  uint32_t prologue;     /* overhead of a workgroup, in equivalent steps of k */
  uint32_t pass;         /* a second pass: about 2 us */
  uint32_t part_traffic; /* writing and reading back one element of a partial sum */
} speeds;
static speeds speeds_of(const gpu_tuning *t, bool coop) {
  if (coop) return (speeds){t->tile_coop_full, t->tile_coop_prologue, t->tile_coop_pass, t->tile_coop_traffic};
  return (speeds){t->tile_plain_full, t->tile_plain_prologue, t->tile_plain_pass, t->tile_plain_traffic};
}

/* ---- tiles ---- */

static bool is_coop(const product_tile *t) { return t->unit >= PRODUCT_COOP4; } /* or wide */
static bool is_wide(const product_tile *t) { return t->unit == PRODUCT_WIDE; }
static uint32_t buffers(const product_tile *t) { return t->stages > 1 ? t->stages : 1; }

uint32_t gpu_tile_rows(const product_tile *t) {
  static const uint8_t rows[] = {
    [PRODUCT_8X8] = 32, [PRODUCT_4X4] = 16, [PRODUCT_COOP4] = 64, [PRODUCT_COOP2] = 32, [PRODUCT_WIDE] = 64};
  return (uint32_t)rows[t->unit] * t->down;
}
uint32_t gpu_tile_columns(const product_tile *t) {
  static const uint8_t columns[] = {
    [PRODUCT_8X8] = 64, [PRODUCT_4X4] = 32, [PRODUCT_COOP4] = 64, [PRODUCT_COOP2] = 32, [PRODUCT_WIDE] = 64};
  return (uint32_t)columns[t->unit] * t->across;
}
uint32_t gpu_tile_group(const product_tile *t) { return is_wide(t) ? 384 : 32u * t->across * t->down; }

/* Whether a tile has the rows of two matrices of a. Products of warp groups have no such form, but a batch of two. */
static bool is_pair(const gpu_product *p, const product_tile *t) { return p->residues && is_coop(t) && !is_wide(t); }
static uint32_t rows_of_a(const gpu_product *p, const product_tile *t) {
  return gpu_tile_rows(t) * (is_pair(p, t) ? 2 : 1);
}

/* Of the result; of two matrices b (gpu_product.up), a tile has as many of each. */
static bool is_dual(const gpu_product *p) { return p->up.from != GPU_NONE; }
static uint32_t columns_of(const gpu_product *p, const product_tile *t) {
  return gpu_tile_columns(t) / (is_dual(p) ? 2 : 1);
}

typedef struct tile_sizes { /* of shared memory, in 16-byte vectors */
  uint32_t a, b, rows;
} tile_sizes;

static tile_sizes sizes_of(const gpu_product *p, const product_tile *t, bool gathers) {
  uint32_t bm = gpu_tile_rows(t), bn = gpu_tile_columns(t),
           line = t->depth / 8u + 1; /* coop: in vectors of eight, padded by one */
  tile_sizes s = {.rows = gathers ? (bm + 1 + 3) / 4 : 1};
  s.a = buffers(t) * (is_coop(t) ? rows_of_a(p, t) * line : t->depth * bm / 4u);
  if (!is_coop(t)) s.b = buffers(t) * t->depth * bn / 4u;
  else s.b = buffers(t) * (p->trans_b ? bn * line : t->depth * (bn / 8u + 1));
  uint32_t min = is_coop(t) ? 144u * t->across * t->down : 0; /* the epilogue stores its sums here */
  if (s.a + s.b < min) s.b = min - s.a;
  return s;
}

static uint32_t shared_bytes(const gpu_product *p, const product_tile *t) {
  tile_sizes s = sizes_of(p, t, true);
  return (s.a + s.b + s.rows) * 16;
}

/* Whether matrix units support this product; whether they are fast for it is what gpu_product_suits_coop returns. */
static bool can_coop(const gpu_caps *caps, const gpu_product *p) {
  bool has = p->a_type == RLX_F16 ? caps->has_coopmat : p->a_type == RLX_BF16 && caps->has_coopmat_bf16;
  return has && p->b_type == p->a_type && p->k % 8 == 0 && (p->trans_b || p->n % 8 == 0);
}
bool gpu_product_suits_coop(const gpu_caps *caps, const gpu_product *p, uint32_t rows) {
  const gpu_tuning *tuned = gpu_tuned(caps);
  return p->k >= tuned->tile_coop_min_k && p->n >= tuned->tile_coop_min_n && rows > PRODUCT_SKINNY_ROWS;
}

/* Whether an invocation's share of a tile fits the registers that its kernel reserves for loads: eight vectors per
 * operand, or two blocks of 4 x 4. */
static bool can_load(const gpu_product *p, const product_tile *t) {
  uint32_t bm = rows_of_a(p, t), bn = gpu_tile_columns(t), group = gpu_tile_group(t);
  if (!is_coop(t)) return (bm + bn) * t->depth / 16 <= 2 * group;
  return (bm > bn ? bm : bn) * t->depth / 8 <= 8 * group;
}

static uint32_t wide_bytes(const product_tile *t) {
  return t->stages * (gpu_tile_rows(t) + gpu_tile_columns(t)) * t->depth * 2 + 1024;
}
static bool wide_fits(const gpu_caps *caps, const product_tile *t) {
  return caps->has_wgmma && gpu_tile_group(t) <= caps->max_group && wide_bytes(t) <= caps->max_dynamic;
}

/* Reduces buffers and depth of the tile to what the device has memory for; false if it does not fit at all. */
static bool fit(const gpu_caps *caps, const gpu_product *p, product_tile *t) {
  if (is_wide(t)) return wide_fits(caps, t);
  if (gpu_tile_group(t) > caps->max_group || !can_load(p, t)) return false;
  uint8_t min = is_coop(t) ? 16 : 8;
  if (shared_bytes(p, t) > caps->max_shared && t->stages > 1) t->stages = 1;
  while (shared_bytes(p, t) > caps->max_shared && t->depth > min) t->depth /= 2;
  return shared_bytes(p, t) <= caps->max_shared;
}

/* ---- the choice ---- */

static uint64_t time_of(const gpu_product *p, const product_tile *t, const speeds *s, uint32_t units, uint64_t groups,
                        uint32_t splits, uint64_t outputs) {
  uint64_t busiest = (groups * splits + units - 1) / units, threads = busiest * gpu_tile_group(t);
  if (threads > s->full) threads = s->full;
  uint64_t work = busiest * rows_of_a(p, t) * gpu_tile_columns(t) * (gpu_ceil_div(p->k, splits) + s->prologue);
  uint64_t time = work / t->rate * 100 / threads * s->full;
  return splits == 1 ? time : time + s->pass + outputs * splits * s->part_traffic / units;
}

static bool forced(const gpu_caps *caps, const gpu_product *p, product_choice *out) {
  const gpu_choices *f = &caps->choices;
  if (!f->tile || (is_coop(f->tile) && !can_coop(caps, p))) return false;
  *out = (product_choice){*f->tile, f->tile_splits ? f->tile_splits : 1, 0};
  return fit(caps, p, &out->tile);
}

bool gpu_product_choose(const gpu_caps *caps, const gpu_product *p, uint32_t m, uint32_t batches, product_choice *out) {
  if (forced(caps, p, out)) return true;
  const gpu_tuning *tuned = gpu_tuned(caps);
  bool coop = can_coop(caps, p) && gpu_product_suits_coop(caps, p, m * batches);
  const speeds speed = speeds_of(tuned, coop);
  uint64_t best = UINT64_MAX, outputs = (uint64_t)m * p->n * batches;
  const product_tile *tiles = p->residues ? gpu_product_pair_tiles : gpu_product_tiles;
  const size_t n_tiles = p->residues ? gpu_product_pair_tile_count : gpu_product_tile_count;
  for (size_t i = 0; i < n_tiles; i++) {
    product_tile t = tiles[i];
    t.rate = p->trans_b ? t.rate_t : t.rate;
    if (!t.rate || is_coop(&t) != coop || !fit(caps, p, &t)) continue;
    uint64_t groups = (uint64_t)gpu_ceil_div(m, gpu_tile_rows(&t)) * gpu_ceil_div(p->n, columns_of(p, &t)) * batches;
    if (p->residues && !is_pair(p, &t)) groups *= 2;
    const uint32_t max_splits = is_dual(p) ? 1 : tuned->tile_max_splits;
    for (uint32_t s = 1; s <= max_splits && (s == 1 || (p->k / s >= tuned->tile_min_part && outputs * s < INT32_MAX));
         s *= 2) {
      uint64_t time = time_of(p, &t, &speed, caps->units, groups, s, outputs);
      if (time >= best) continue;
      best = time;
      *out = (product_choice){t, s, time};
    }
  }
  return best != UINT64_MAX;
}

/* ---- the dispatch ---- */

typedef struct layout { /* common to both kinds of kernels */
  uint32_t k_part, tiles_m, tiles_n, batches;
  tile_sizes sizes;
  bool vec_y;
} layout;

static layout layout_of(const gpu_product *p, const product_choice *c, const product_target *to,
                        const product_rows *rows) {
  uint32_t depth = c->tile.depth;
  return (layout){.k_part = gpu_ceil_div(gpu_ceil_div(p->k, c->splits), depth) * depth,
                  .tiles_m = rows ? rows->n_tiles : gpu_ceil_div(p->m, gpu_tile_rows(&c->tile)),
                  .tiles_n = gpu_ceil_div(p->n, columns_of(p, &c->tile)),
                  .batches = gpu_product_batches(p),
                  .sizes = sizes_of(p, &c->tile, rows != NULL),
                  .vec_y = to->type == RLX_F32 && p->n % 4 == 0};
}

/* The parameters are the same in all tiled kernels. */
static gpu_params_matmul8 params_of(const gpu_product *p, const layout *at, const product_rows *rows) {
  return (gpu_params_matmul8){.m = p->m,
                              .n = p->n,
                              .k = p->k,
                              .k_part = at->k_part,
                              .batches = at->batches,
                              .tiles_m = at->tiles_m,
                              .tiles_n = at->tiles_n,
                              .list = rows ? rows->list : 0,
                              .experts = rows ? rows->n_experts : 0,
                              PRODUCT_AXES(p)};
}

static void emit_plain(gpu_lowering *l, const gpu_product *p, const product_choice *choice, const product_target *to,
                       const product_rows *rows) {
  const product_tile *t = &choice->tile;
  layout at = layout_of(p, choice, to, rows);
  bool vec_a = gpu_product_vectors(p->a_type, p->k), vec_b = gpu_product_vectors(p->b_type, p->trans_b ? p->k : p->n);
  gpu_params_matmul8 params = params_of(p, &at, rows);
  gpu_constants_matmul8 c = {.wx = t->across,
                             .wy = t->down,
                             .bk = t->depth,
                             .stages = t->stages,
                             .size_a = at.sizes.a,
                             .size_b = at.sizes.b,
                             .size_rows = at.sizes.rows * 4,
                             .ta = (uint32_t)p->a_type,
                             .tb = (uint32_t)p->b_type,
                             .trans = p->trans_b,
                             .vec_a = vec_a,
                             .vec_b = vec_b,
                             .vec_y = at.vec_y,
                             .axes = p->n_axes,
                             .gather = rows != NULL,
                             .ty = (uint32_t)to->type,
                             .extra = to->extra,
                             .act = (uint32_t)to->act,
                             .te = (uint32_t)to->extra_type};
  gpu_launch launch = {GPU_KERNEL(matmul8, params, c), .groups = at.tiles_m * at.tiles_n * at.batches * choice->splits,
                       .group_size = gpu_tile_group(t),
                       .windows = {gpu_window_if(!vec_a, p->a), gpu_window_if(vec_a, p->a), gpu_window_if(!vec_b, p->b),
                                   gpu_window_if(vec_b, p->b), to->extra_window,
                                   rows ? rows->window : (gpu_window){GPU_NONE, 0, 0, 0},
                                   gpu_window_if(!at.vec_y, to->y), gpu_window_if(at.vec_y, to->y)},
                       .cost = (uint64_t)at.batches * p->m * p->n * p->k / 8};
  if (t->unit == PRODUCT_4X4) launch.kernel = &gpu_kernel_matmul4;
  gpu_emit(l, &launch);
}

/* What the kernels on matrix units have in common; `own` has the kernel, its constants and its dynamic memory. */
static void emit_matrix(gpu_lowering *l, const gpu_product *p, const product_choice *choice, const product_target *to,
                        const product_rows *rows, const gpu_launch *own) {
  layout at = layout_of(p, choice, to, rows);
  gpu_params_matmul8 params = params_of(p, &at, rows);
  if (is_pair(p, &choice->tile)) params.sa0 = p->residues;
  gpu_launch launch = *own;
  launch.params = &params;
  launch.params_bytes = sizeof params;
  launch.groups = at.tiles_m * at.tiles_n * at.batches * choice->splits;
  launch.group_size = gpu_tile_group(&choice->tile);
  launch.windows[0] = p->a;
  launch.windows[1] = p->b;
  launch.windows[2] = to->extra_window;
  if (rows) launch.windows[3] = rows->window;
  launch.windows[4] = gpu_window_if(!at.vec_y, to->y);
  launch.windows[5] = gpu_window_if(at.vec_y, to->y);
  if (!is_wide(&choice->tile)) {
    if (!to->is_part) launch.windows[6] = p->scales;
    launch.windows[7] = p->up;
  }
  launch.cost = (uint64_t)at.batches * p->m * p->n * p->k / 64;
  if (is_pair(p, &choice->tile)) launch.cost *= 2;
  if (is_dual(p)) launch.cost *= 2;
  gpu_emit(l, &launch);
}

static const gpu_kernel *coop_kernel(const product_tile *t, rlx_dtype type) {
  if (t->unit == PRODUCT_COOP4) return type == RLX_F16 ? &gpu_kernel_matmul_coop4 : &gpu_kernel_matmul_coop4_bf16;
  return type == RLX_F16 ? &gpu_kernel_matmul_coop2 : &gpu_kernel_matmul_coop2_bf16;
}

static void emit_coop(gpu_lowering *l, const gpu_product *p, const product_choice *choice, const product_target *to,
                      const product_rows *rows) {
  const product_tile *t = &choice->tile;
  layout at = layout_of(p, choice, to, rows);
  bool even =
    !rows && p->m % gpu_tile_rows(t) == 0 && p->n % columns_of(p, t) == 0 && at.k_part * choice->splits == p->k;
  gpu_constants_matmul_coop4 c = {.sx = t->across,
                                  .sy = t->down,
                                  .bk = t->depth,
                                  .stages = buffers(t),
                                  .size_a = at.sizes.a,
                                  .size_tile = at.sizes.a + at.sizes.b,
                                  .size_rows = at.sizes.rows * 4,
                                  .trans = p->trans_b,
                                  .even = even,
                                  .vec_y = at.vec_y,
                                  .axes = p->n_axes,
                                  .gather = rows != NULL,
                                  .ty = (uint32_t)to->type,
                                  .extra = to->extra,
                                  .act = (uint32_t)to->act,
                                  .te = (uint32_t)to->extra_type,
                                  .ahead = t->stages > 0,
                                  .pair = is_pair(p, t),
                                  .scaled = !to->is_part && p->scales.from != GPU_NONE,
                                  .dual = is_dual(p)};
  emit_matrix(l, p, choice, to, rows,
              &(gpu_launch){.kernel = coop_kernel(t, p->a_type), GPU_CONSTANTS(matmul_coop4, c)});
}

static const gpu_kernel *wide_kernel(const product_tile *t, rlx_dtype type) {
  if (t->across == 4) return type == RLX_F16 ? &gpu_kernel_matmul_wide256 : &gpu_kernel_matmul_wide256_bf16;
  return type == RLX_F16 ? &gpu_kernel_matmul_wide128 : &gpu_kernel_matmul_wide128_bf16;
}

static void emit_wide(gpu_lowering *l, const gpu_product *p, const product_choice *choice, const product_target *to,
                      const product_rows *rows) {
  const product_tile *t = &choice->tile;
  layout at = layout_of(p, choice, to, rows);
  gpu_constants_matmul_wide256 c = {.trans = p->trans_b,
                                    .vec_y = at.vec_y,
                                    .axes = p->n_axes,
                                    .gather = rows != NULL,
                                    .ty = (uint32_t)to->type,
                                    .extra = to->extra,
                                    .act = (uint32_t)to->act,
                                    .te = (uint32_t)to->extra_type};
  emit_matrix(l, p, choice, to, rows,
              &(gpu_launch){
                .kernel = wide_kernel(t, p->a_type), GPU_CONSTANTS(matmul_wide256, c), .dynamic_bytes = wide_bytes(t)});
}

static void emit(gpu_lowering *l, const gpu_product *p, const product_choice *choice, const product_target *to,
                 const product_rows *rows) {
  if (is_wide(&choice->tile)) emit_wide(l, p, choice, to, rows);
  else if (is_coop(&choice->tile)) emit_coop(l, p, choice, to, rows);
  else emit_plain(l, p, choice, to, rows);
}

void gpu_product_in_tiles(gpu_lowering *l, const gpu_product *p, const product_choice *choice,
                          const product_rows *rows) {
  product_target to = gpu_product_target(l, p, choice->splits);
  emit(l, p, choice, &to, rows);
  if (to.is_part) gpu_product_sum(l, p, to.y, choice->splits);
}

bool gpu_product_in_one(gpu_lowering *l, const gpu_product *gate, gpu_window up) {
  gpu_product both = *gate;
  product_choice one, two;
  both.up = up;
  const bool packs = gate->y_type == RLX_F32 || gate->n % 2 == 0, is_bare = gate->extra == GPU_EXTRA_NONE;
  if (l->caps->choices.gate_up_apart || !gate->trans_b || !packs || !is_bare || !can_coop(l->caps, gate)) return false;
  if (!gpu_product_choose(l->caps, gate, gate->m, gpu_product_batches(gate), &two)) return false;
  if (!gpu_product_choose(l->caps, &both, gate->m, gpu_product_batches(gate), &one)) return false;
  if (!is_coop(&one.tile) || is_wide(&one.tile) || one.splits > 1 || one.time > 2 * two.time) return false;
  gpu_product_in_tiles(l, &both, &one, NULL);
  return true;
}

gpu_window gpu_product_parts(gpu_lowering *l, const gpu_product *p, const product_choice *choice) {
  uint64_t parts = (uint64_t)choice->splits * gpu_product_batches(p);
  product_target to = {.y = gpu_work(l, parts * p->m * p->n * 4), .type = RLX_F32, .is_part = true};
  emit(l, p, choice, &to, NULL);
  return to.y;
}
