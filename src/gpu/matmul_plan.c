/* Which kernel makes a matrix product, in what tiles, with k in how many parts.
 *
 *   one to eight rows      matvec1, matvec8 (b is [n, k]) or matvec_kn (b is [k, n]): bound by the bytes of b
 *   else                   matmul8 or matmul4 in one of the tiles below: bound by arithmetic
 *   where a device has it  matmul_coop* for f16 and bf16 on matrix units: the same with other tiles (matmul_coop.c)
 *
 * All constants that were found by measuring are in this file's tables. The choice of a tile is a small model: the time is
 * what the busiest multiprocessor does, at the rate that this tile reaches, less where too few invocations are there to hide
 * latencies; splitting k makes more groups and costs a second pass. */
#include "gpu/matmul.h"

#include "gpu/matmul_plan.h"

void gpu_product_axis(gpu_product *p, uint32_t size, uint32_t a_step, uint32_t b_step) {
  if (size == 1) return;
  uint32_t last = p->n_axes - 1;
  if (p->n_axes && p->a_step[last] * p->size[last] == a_step && p->b_step[last] * p->size[last] == b_step) {
    p->size[last] *= size;
    return;
  }
  p->size[p->n_axes] = size;
  p->a_step[p->n_axes] = a_step;
  p->b_step[p->n_axes++] = b_step;
}

uint32_t gpu_product_batches(const gpu_product *p) {
  uint32_t n = 1;
  for (uint32_t i = 0; i < p->n_axes; i++) n *= p->size[i];
  return n;
}

/* Whether rows of `width` elements begin at 16 bytes, the batch's steps being multiples of them. */
bool gpu_product_vectors(rlx_dtype t, uint32_t width) { return width % (4 * gpu_elements_per_word(t)) == 0; }

/* ---- the second pass ---- */

void gpu_product_sum(gpu_lowering *l, const gpu_product *p, gpu_window parts, uint32_t splits) {
  uint32_t count = gpu_product_batches(p) * p->m * p->n;
  bool vectors = count % 4 == 0;
  gpu_params_matmul_sum params = {.n = p->n, .count = count, .splits = splits};
  uint32_t c[] = {vectors, (uint32_t)p->y_type, p->extra, (uint32_t)p->act, (uint32_t)p->extra_type};
  gpu_window none = {0};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(matmul_sum, params, c), .groups = gpu_ceil_div(gpu_ceil_div(count, 4), 128),
                            .group_size = 128,
                            .windows = {vectors ? none : parts, vectors ? parts : none, p->extra_window, p->y,
                                        vectors ? p->y : none}});
}

/* What a product kernel writes: the result itself, or f32 parts for the second pass. */
product_target gpu_product_target(gpu_lowering *l, const gpu_product *p, uint32_t splits) {
  uint32_t batches = gpu_product_batches(p);
  bool packs = p->y_type == RLX_F32 || p->n % 2 == 0 || batches * p->m == 1;
  if (splits == 1 && packs)
    return (product_target){.y = p->y,
                            .type = p->y_type,
                            .extra = p->extra,
                            .extra_type = p->extra_type,
                            .extra_window = p->extra_window,
                            .act = p->act};
  return (product_target){
    .y = gpu_work(l, (uint64_t)splits * batches * p->m * p->n * 4), .type = RLX_F32, .is_part = true};
}

/* ---- tiles ---- */

typedef struct tile {
  uint8_t each;          /* 8: matmul8, 4: matmul4 */
  uint8_t across, down;  /* patches of 32 invocations: the tile is 4 each down x 8 each across */
  uint8_t depth, stages; /* of k; buffers */
  uint8_t rate;          /* of the arithmetic that the best one reaches, percent */
} tile;

static const tile tiles[] = {
  {8, 2, 4, 16, 2, 100}, /* 128 x 128 */
  {8, 2, 2, 16, 2, 90},  /*  64 x 128 */
  {8, 1, 2, 16, 2, 80},  /*  64 x  64 */
  {8, 2, 1, 8, 2, 65},   /*  32 x 128 */
  {4, 1, 2, 16, 2, 45},  /*  32 x  32 */
  {4, 2, 1, 16, 2, 45},  /*  16 x  64 */
};

enum {
  FULL = 256,        /* invocations that keep a multiprocessor busy in these kernels */
  PROLOGUE = 48,     /* what a group does beside its products, as so many k */
  PASS = 500000,     /* a second pass, as products that one multiprocessor could have done meanwhile (2 us) */
  PART_TRAFFIC = 60, /* one element of a part written and read back, likewise */
  LEAST_PART = 128,  /* k of a split */
  MOST_SPLITS = 64,
};

static uint32_t tile_rows(const tile *t) { return 4u * t->each * t->down; }
static uint32_t tile_columns(const tile *t) { return 8u * t->each * t->across; }
static uint32_t tile_group(const tile *t) { return 32u * t->across * t->down; }
static uint32_t tile_shared(const tile *t) { return t->stages * t->depth * (tile_rows(t) + tile_columns(t)) * 4u; }

/* The tile with as many buffers and as much depth as the device has memory for; false where it does not fit at all. */
static bool tile_fit(const gpu_caps *caps, tile *t) {
  if (tile_group(t) > caps->max_group) return false;
  if (tile_shared(t) > caps->max_shared) t->stages = 1;
  while (tile_shared(t) > caps->max_shared && t->depth > 8) t->depth /= 2;
  return tile_shared(t) <= caps->max_shared;
}

uint64_t gpu_product_cost(const product_model *model, uint32_t units, uint64_t groups, uint32_t k, uint32_t splits,
                          uint64_t outputs) {
  uint64_t busiest = (groups * splits + units - 1) / units;
  uint64_t threads = busiest * model->group < model->full ? busiest * model->group : model->full;
  uint64_t work = busiest * model->rows * model->columns * (gpu_ceil_div(k, splits) + model->prologue);
  uint64_t time = work * 100 / model->rate * model->full / threads;
  if (splits > 1) time += model->pass + outputs * splits * model->part_traffic / units;
  return time;
}

typedef struct tile_choice {
  tile tile;
  uint32_t splits;
  uint64_t cost;
} tile_choice;

static bool choose_tile(const gpu_caps *caps, uint32_t m, uint32_t n, uint32_t k, uint32_t batches, tile_choice *best) {
  best->cost = UINT64_MAX;
  for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
    tile t = tiles[i];
    if (!tile_fit(caps, &t)) continue;
    product_model model = {.rows = tile_rows(&t),
                           .columns = tile_columns(&t),
                           .group = tile_group(&t),
                           .rate = t.rate,
                           .full = FULL,
                           .prologue = PROLOGUE,
                           .pass = PASS,
                           .part_traffic = PART_TRAFFIC};
    uint64_t groups = (uint64_t)gpu_ceil_div(m, model.rows) * gpu_ceil_div(n, model.columns) * batches;
    uint64_t outputs = (uint64_t)m * n * batches;
    for (uint32_t s = 1; s <= MOST_SPLITS && (s == 1 || (k / s >= LEAST_PART && outputs * s < INT32_MAX)); s *= 2) {
      uint64_t cost = gpu_product_cost(&model, caps->units, groups, k, s, outputs);
      if (cost < best->cost) *best = (tile_choice){t, s, cost};
    }
  }
  return best->cost != UINT64_MAX;
}

static gpu_window if_window(bool wanted, gpu_window w) { return wanted ? w : (gpu_window){0}; }

/* rows: which rows and experts (NULL: a plain product). */
static void emit_tiles(gpu_lowering *l, const gpu_product *p, const tile *t, uint32_t splits,
                       const product_rows *rows) {
  uint32_t bm = tile_rows(t), bn = tile_columns(t), batches = gpu_product_batches(p);
  product_target to = gpu_product_target(l, p, splits);
  bool vec_a = gpu_product_vectors(p->a_type, p->k), vec_b = gpu_product_vectors(p->b_type, p->trans_b ? p->k : p->n);
  bool vec_y = to.type == RLX_F32 && p->n % 4 == 0;
  uint32_t k_part = gpu_ceil_div(gpu_ceil_div(p->k, splits), t->depth) * t->depth;
  uint32_t tiles_m = rows ? rows->n_tiles : gpu_ceil_div(p->m, bm), tiles_n = gpu_ceil_div(p->n, bn);
  gpu_params_matmul8 params = {.m = p->m,
                               .n = p->n,
                               .k = p->k,
                               .k_part = k_part,
                               .batches = batches,
                               .tiles_m = tiles_m,
                               .tiles_n = tiles_n,
                               .list = rows ? rows->list : 0,
                               .experts = rows ? rows->n_experts : 0,
                               PRODUCT_AXES(p)};
  uint32_t c[] = {t->across,
                  t->down,
                  t->depth,
                  t->stages,
                  t->stages * t->depth * bm / 4,
                  t->stages * t->depth * bn / 4,
                  rows ? bm : 1,
                  (uint32_t)p->a_type,
                  (uint32_t)p->b_type,
                  p->trans_b,
                  vec_a,
                  vec_b,
                  vec_y,
                  p->n_axes,
                  rows != NULL,
                  (uint32_t)to.type,
                  to.extra,
                  (uint32_t)to.act,
                  (uint32_t)to.extra_type};
  gpu_launch launch = {GPU_KERNEL(matmul8, params, c), .groups = tiles_m * tiles_n * batches * splits,
                       .group_size = tile_group(t),
                       .windows = {if_window(!vec_a, p->a), if_window(vec_a, p->a), if_window(!vec_b, p->b),
                                   if_window(vec_b, p->b), to.extra_window, rows ? rows->window : (gpu_window){0},
                                   if_window(!vec_y, to.y), if_window(vec_y, to.y)},
                       .cost = (uint64_t)batches * p->m * p->n * p->k / 8};
  if (t->each == 4) launch.kernel = &gpu_kernel_matmul4; /* which has the same parameters and constants */
  gpu_emit(l, &launch);
  if (to.is_part) gpu_product_sum(l, p, to.y, splits);
}

/* ---- a few rows ---- */

enum {
  MOST_ROWS = 8,
  DUAL_ROWS_KN = 4,    /* matvec_kn with two weights */
  WARPS_PER_UNIT = 24, /* groups of 32 invocations that keep the memory busy */
  LEAST_VECTORS = 2,   /* per invocation and row of the weight */
  LEAST_K = 64,        /* below, a team that walks along k is mostly idle: tiles */
  MATVEC_GROUP = 128,
  MATVEC_KN_GROUP = 256,
};

static uint32_t at_most(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* How many parts of k bring the groups to `wanted`, each part at least `least` long. */
static uint32_t parts_of_k(uint64_t groups, uint64_t wanted, uint32_t k, uint32_t least) {
  uint32_t splits = 1;
  while (groups * splits < wanted && splits < MOST_SPLITS && k / (2 * splits) >= least) splits *= 2;
  return splits;
}

static void emit_matvec_nk(gpu_lowering *l, const gpu_product *p, const gpu_window *up, const product_rows *rows) {
  uint32_t batches = rows ? p->m : gpu_product_batches(p), m = rows ? 1 : p->m;
  bool vectors = gpu_product_vectors(p->a_type, p->k) && gpu_product_vectors(p->b_type, p->k);
  uint32_t wide = vectors ? 4 * gpu_elements_per_word(p->b_type) : 1, takes = up ? 2 : 4;
  /* As many lanes to a team as keep the device busy, while each has some vectors to walk along. */
  uint32_t group = at_most(MATVEC_GROUP, l->caps->max_group), team = 32;
  uint64_t teams = (uint64_t)gpu_ceil_div(p->n, takes) * batches, wanted = (uint64_t)l->caps->units * WARPS_PER_UNIT;
  while (team < group && teams * team / 32 < wanted && p->k / (2 * team * wide) >= LEAST_VECTORS) team *= 2;
  uint32_t lines = group / team, parts = gpu_ceil_div(p->n, takes * lines), splits = 1;
  if (!up) splits = parts_of_k(teams * team / 32, wanted / 4, p->k, team * wide * LEAST_VECTORS);
  product_target to = gpu_product_target(l, p, splits);
  if (up && to.is_part) to.act = p->act; /* of the first of two weights, which meet in the kernel */
  uint32_t unit = team * wide, k_part = gpu_ceil_div(gpu_ceil_div(p->k, splits), unit) * unit;
  gpu_params_matvec1 params = {.n = p->n,
                               .k = p->k,
                               .k_part = splits == 1 ? p->k : k_part,
                               .batches = batches,
                               .parts = parts,
                               .experts = rows ? rows->n_experts : 0,
                               PRODUCT_AXES(p)};
  uint32_t c[] = {team,
                  m,
                  (uint32_t)p->a_type,
                  (uint32_t)p->b_type,
                  vectors,
                  up != NULL,
                  rows != NULL,
                  rows ? (uint32_t)rows->index_type : RLX_I32,
                  p->n_axes,
                  (uint32_t)to.type,
                  to.extra,
                  (uint32_t)to.act,
                  (uint32_t)to.extra_type};
  gpu_window second = up ? *up : (gpu_window){0};
  gpu_launch launch = {GPU_KERNEL(matvec1, params, c), .groups = parts * batches * splits, .group_size = group,
                       .windows = {if_window(!vectors, p->a), if_window(vectors, p->a), if_window(!vectors, p->b),
                                   if_window(vectors, p->b), if_window(!vectors, second), if_window(vectors, second),
                                   rows ? rows->window : to.extra_window, to.y}};
  if (m > 1) launch.kernel = &gpu_kernel_matvec8; /* which has the same parameters and constants */
  gpu_emit(l, &launch);
  if (!to.is_part) return;
  gpu_product rest = *p;
  if (up) rest.act = RLX_ACT_NONE;
  gpu_product_sum(l, &rest, to.y, splits);
}

static void emit_matvec_kn(gpu_lowering *l, const gpu_product *p, const gpu_window *up, const product_rows *rows) {
  uint32_t batches = rows ? p->m : gpu_product_batches(p), m = rows ? 1 : p->m;
  bool vec_x = gpu_product_vectors(p->a_type, p->k), vec_w = gpu_product_vectors(p->b_type, p->n);
  uint32_t wide = vec_w ? 4 * gpu_elements_per_word(p->b_type) : 4, vectors = gpu_ceil_div(p->n, wide);
  uint32_t group = at_most(MATVEC_KN_GROUP, l->caps->max_group);
  while (group > 32 && group * 4 > p->k * 8) group /= 2; /* little k: fewer teams to share it */
  uint32_t team = group < 128 ? group / 4 : 16;
  uint64_t wanted = (uint64_t)l->caps->units * WARPS_PER_UNIT;
  while (team > 4 && (uint64_t)gpu_ceil_div(vectors, team) * batches * group / 32 < wanted) team /= 2;
  uint32_t parts = gpu_ceil_div(vectors, team), splits = 1;
  if (!up)
    splits = parts_of_k((uint64_t)parts * batches * group / 32, wanted / 2, p->k, group / team * 4 * LEAST_VECTORS);
  product_target to = gpu_product_target(l, p, splits);
  if (up && to.is_part) to.act = p->act;
  gpu_params_matvec_kn params = {.n = p->n,
                                 .k = p->k,
                                 .k_part = splits == 1 ? p->k : gpu_ceil_div(gpu_ceil_div(p->k, splits), 8) * 8,
                                 .batches = batches,
                                 .parts = parts,
                                 .experts = rows ? rows->n_experts : 0,
                                 PRODUCT_AXES(p)};
  uint32_t c[] = {team,
                  m,
                  (uint32_t)p->a_type,
                  (uint32_t)p->b_type,
                  vec_x,
                  vec_w,
                  up != NULL,
                  rows != NULL,
                  rows ? (uint32_t)rows->index_type : RLX_I32,
                  p->n_axes,
                  (uint32_t)to.type,
                  to.extra,
                  (uint32_t)to.act,
                  (uint32_t)to.extra_type};
  gpu_window second = up ? *up : (gpu_window){0};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(matvec_kn, params, c), .groups = parts * batches * splits, .group_size = group,
                            .windows = {if_window(!vec_x, p->a), if_window(vec_x, p->a), if_window(!vec_w, p->b),
                                        if_window(vec_w, p->b), if_window(!vec_w, second), if_window(vec_w, second),
                                        rows ? rows->window : to.extra_window, to.y}});
  if (!to.is_part) return;
  gpu_product rest = *p;
  if (up) rest.act = RLX_ACT_NONE;
  gpu_product_sum(l, &rest, to.y, splits);
}

/* ---- the choice ---- */

static bool is_empty(const gpu_product *p) { return p->m == 0 || p->n == 0 || gpu_product_batches(p) == 0; }

static bool has_few_rows(const gpu_product *p, uint32_t m) {
  return m <= MOST_ROWS && (!p->trans_b || p->k >= LEAST_K);
}

/* [m, k] x [k, 1] is [1, k] x [m, k]^T, and its result lies the same way. */
static gpu_product turned(const gpu_product *p) {
  gpu_product t = *p;
  t.m = 1, t.n = p->m, t.trans_b = true;
  t.a = p->b, t.b = p->a, t.a_type = p->b_type, t.b_type = p->a_type;
  for (uint32_t i = 0; i < p->n_axes; i++) t.a_step[i] = p->b_step[i], t.b_step[i] = p->a_step[i];
  if (p->extra == GPU_EXTRA_BIAS) t.extra = GPU_EXTRA_ONE_BIAS;
  return t;
}

void gpu_product_emit(gpu_lowering *l, const gpu_product *given) {
  if (is_empty(given)) return;
  gpu_product p = given->n == 1 && given->m > MOST_ROWS ? turned(given) : *given;
  if (has_few_rows(&p, p.m)) {
    if (p.trans_b) emit_matvec_nk(l, &p, NULL, NULL);
    else emit_matvec_kn(l, &p, NULL, NULL);
    return;
  }
  tile_choice best;
  if (choose_tile(l->caps, p.m, p.n, p.k, gpu_product_batches(&p), &best))
    emit_tiles(l, &p, &best.tile, best.splits, NULL);
  else gpu_refuse(l, "no tile of a matrix product fits the device");
}

void gpu_product_gate_up(gpu_lowering *l, const gpu_product *gate, gpu_window up, rlx_dtype up_type) {
  if (is_empty(gate)) return;
  if (up_type == gate->b_type && has_few_rows(gate, gate->m) && (gate->trans_b || gate->m <= DUAL_ROWS_KN)) {
    if (gate->trans_b) emit_matvec_nk(l, gate, &up, NULL);
    else emit_matvec_kn(l, gate, &up, NULL);
    return;
  }
  gpu_product first = *gate, second = *gate;
  uint64_t bytes = (uint64_t)gpu_product_batches(gate) * gate->m * gate->n * 4;
  first.y = gpu_work(l, bytes), first.y_type = RLX_F32, first.act = RLX_ACT_NONE;
  gpu_product_emit(l, &first);
  second.b = up, second.b_type = up_type;
  second.extra = GPU_EXTRA_GATE, second.extra_window = first.y, second.extra_type = RLX_F32;
  gpu_product_emit(l, &second);
}
