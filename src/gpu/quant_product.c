/* Matrix products with a weight of a block type: chooses the kernel.
 *
 *   2 to 32 rows of x, Hopper, q4_k and q8_0
 *                        quant_few*: multiplies codes as they are and scales the sums; not with `exact`
 *   many rows of x, Hopper
 *                        quant_wide*: decodes to f16 in registers, for products of warp groups; not with `exact`
 *   2 to 32 rows of x, matrix units of known mapping
 *                        rows_direct*: decodes to f16 while loading, bound by the bytes of the weight; not with `exact`
 *   up to eight rows     quant_matvec: the weight is [n, k] in planes, bound by its bytes; also few rows with experts
 *   more, matrix units   quant_coop: decodes to f16 while loading; not with `exact`
 *   otherwise            matmul_blocks: the tiles of dense products (matmul_plan.h), decoding while loading
 *
 * By default x may be rounded: to 8 bits in runs of 16, if the device has packed 4 x 8 bit dot products, or to f16. The
 * elements of the weight may be rounded to f16 as well; one above 65504 becomes infinite there. With `exact`, or if the
 * weight is small, x stays f32: a small weight takes next to no time, and with few results their relative error is not
 * an average but may be that of one bad sum. */
#include "gpu/library.h"
#include "gpu/quant.h"

#include <stddef.h>
#include <string.h>

#include "gpu/lines.h"

enum {
  MAX_ROWS = 8, /* rows of x per pass over the weight */
  GROUP = 128,
};

/* One product of an input with a weight, or with two (gate and up). */
typedef struct product {
  uint32_t m, n, k;
  uint32_t w, v; /* input numbers; v 0: one weight */
  gpu_window x, y;
  uint32_t extra; /* encoded as in quant_matvec.k */
  gpu_window extra_window;
  int32_t act;
  const rlx_type *idx; /* experts; NULL: none */
  gpu_window idx_window;
  uint32_t experts;
  gpu_window gamma; /* if set, x is normalised first */
  float eps;
} product;

/* ---- the weight ---- */

typedef product_planes planes;

static planes open_planes(const gpu_lowering *l, uint32_t input) {
  const rlx_type *t = gpu_in_type(l, input);
  const gpu_plane *plane = gpu_planes_of(t->dtype);
  uint32_t n_blocks = gpu_blocks(t), n_wide = 1;
  while (n_wide < GPU_MAX_PLANES && plane[n_wide].bytes && plane[n_wide].bytes % 16 == 0) n_wide++;
  uint64_t start[GPU_MAX_PLANES + 1];
  for (uint32_t i = 0; i <= GPU_MAX_PLANES; i++) start[i] = gpu_plane_start(t->dtype, n_blocks, i);
  uint64_t split = start[n_wide], end = start[GPU_MAX_PLANES];
  planes p = {.wide = gpu_part(gpu_in(l, input), 0, split)};
  if (end > split) p.narrow = gpu_part(gpu_in(l, input), split, end - split);
  if (n_wide > 1) p.a1 = (uint32_t)(start[1] / 16);
  if (n_wide > 2) p.a2 = (uint32_t)(start[2] / 16);
  if (n_wide + 1 < GPU_MAX_PLANES) p.b1 = (uint32_t)((start[n_wide + 1] - split) / 4);
  return p;
}

static uint32_t unit_elements(rlx_dtype t) { /* per 16 bytes of codes */
  return 16 * rlx_dtype_describe(t)->block_elements / gpu_planes_of(t)[0].bytes;
}

/* Whether the codes' high bits are in another plane: that takes more registers per row. */
static bool has_high_bits(rlx_dtype t) { return t == RLX_Q3_K || t == RLX_Q5_K || t == RLX_Q6_K; }

/* ---- skinny: up to eight rows of x ---- */

static bool takes_matvec(const gpu_lowering *l, const product *p, bool trans_b) {
  rlx_dtype t = gpu_in_type(l, p->w)->dtype;
  bool same = !p->v || (gpu_in_type(l, p->v)->dtype == t && gpu_in_planes(l, p->v));
  return trans_b && gpu_in_planes(l, p->w) && same && t != RLX_TQ1_0 && (p->idx || p->m <= MAX_ROWS);
}

typedef struct matvec_shape {
  uint32_t mode, rows, cols, lanes, group;
  uint32_t ahead; /* units of a row in flight */
} matvec_shape;

/* Whether a large workgroup rounds the row of x once, into shared memory. */
static bool takes_staged(const gpu_lowering *l, const product *p) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  return l->caps->max_group >= GROUP && p->m == 1 && !p->idx && p->k <= tuned->block_staged_max_k &&
         p->k / 16 * 24 + 8 * 1024 <= l->caps->max_shared;
}

/* The units of a row that an invocation has in flight: as many as fit its registers and the row. */
static uint32_t units_ahead(rlx_dtype t, uint32_t rows, uint32_t steps) {
  const uint32_t slots = has_high_bits(t) || t == RLX_Q4_K ? 4 : 8;
  uint32_t ahead = 1;
  while (ahead < steps && 2 * ahead * rows <= slots) ahead *= 2;
  return ahead;
}

/* The number of rows and lanes whose tiles take least time, all of a multiprocessor's together: instructions of an
 * invocation, as counted in the kernel. A workgroup per multiprocessor takes all its tiles. */
static void choose_staged(const gpu_lowering *l, const product *p, matvec_shape *s) {
  enum { PER_TILE = 60, PER_SUM = 12, PER_STEP = 25, PER_UNIT = 15, PER_RUN = 20, PER_PAIR = 75, MAX_LANES = 32 };
  const rlx_dtype t = gpu_in_type(l, p->w)->dtype;
  const bool is_paired = t == RLX_Q4_K; /* as in the kernel: two units at once, three vectors */
  const uint32_t elements = unit_elements(t) * (is_paired ? 2 : 1), units = p->k / elements,
                 per_unit = is_paired ? PER_PAIR : PER_UNIT + elements / 16 * PER_RUN,
                 max_rows = has_high_bits(t) ? 2 : 4;
  uint64_t best = UINT64_MAX;
  s->group = gpu_tuned(l->caps)->block_staged_group;
  if (s->group > l->caps->max_group) s->group = l->caps->max_group;
  for (uint32_t lanes = 8; lanes <= MAX_LANES; lanes *= 2)
    for (uint32_t rows = p->v ? 2 : 1; rows <= max_rows; rows *= 2) {
      const uint32_t columns = s->group / lanes * (p->v ? rows / 2 : rows), steps = gpu_ceil_div(units, lanes);
      const uint64_t tiles = gpu_ceil_div(gpu_ceil_div(p->n, columns), l->caps->units);
      const uint64_t time = tiles * (PER_TILE + (uint64_t)steps * (PER_STEP + rows * per_unit) + rows * PER_SUM);
      if (time >= best) continue;
      best = time;
      s->lanes = lanes, s->rows = rows, s->ahead = units_ahead(t, rows, steps);
    }
}

static matvec_shape choose_shape(const gpu_lowering *l, const product *p) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  rlx_dtype t = gpu_in_type(l, p->w)->dtype;
  uint32_t m = p->idx ? 1 : p->m, units = p->k / unit_elements(t), width;
  matvec_shape s = {.group = GROUP, .cols = m <= 2 ? m : m <= 4 ? 4 : 8};
  bool rounds = !gpu_is_exact(l) && l->caps->has_dot8 && (uint64_t)p->n * p->k >= gpu_tuned(l->caps)->block_round_from;
  s.mode = !rounds ? 0 : takes_staged(l, p) ? 3 : m <= tuned->block_round_in_place ? 1 : 2;
  if (s.mode == 3) {
    choose_staged(l, p, &s);
    return s;
  }
  /* Eight rows are much code: the compilers of software devices, which have small groups, take minutes and GBs. */
  bool narrow = l->caps->subgroup ? l->caps->subgroup < 8 : l->caps->max_group < 256;
  s.rows = s.cols > 1 || has_high_bits(t) || narrow ? 4 : 8;
  uint32_t longest = gpu_power_of_two(units) < s.group ? gpu_power_of_two(units) : s.group;
  uint64_t wanted = (uint64_t)l->caps->units * tuned->block_min_invocations,
           columns = (uint64_t)p->n * gpu_ceil_div(p->m, s.cols);
  while (s.rows > 2 && columns * longest * (p->v ? 2 : 1) / s.rows < wanted) s.rows /= 2;
  width = p->v ? s.rows / 2 : s.rows;
  /* Enough lanes to fill the device, as long as each has work. */
  uint64_t sets = (uint64_t)gpu_ceil_div(p->n, width) * gpu_ceil_div(p->m, s.cols);
  for (s.lanes = 32; s.lanes > 4 && s.lanes / 2 >= units;) s.lanes /= 2;
  uint64_t busy = (uint64_t)l->caps->units * (tuned->block_invocations / (unit_elements(t) > 16 ? 2 : 1));
  while (s.lanes < s.group && s.lanes < units && sets * s.lanes < busy) s.lanes *= 2;
  s.ahead = s.cols > 1 ? 1 : units_ahead(t, s.rows, gpu_ceil_div(units, s.lanes));
  return s;
}

/* x rounded to 8 bits, for MODE 2: the output of quant_rows. *runs: offset of the rounded runs, in vectors. */
static gpu_window round_rows(gpu_lowering *l, const product *p, uint32_t *runs) {
  gpu_params_quant_rows params = {.count = p->m * (p->k / 16)};
  gpu_window to = gpu_work(l, (uint64_t)params.count * 96);
  *runs = 4 * params.count;
  gpu_emit(l, &(gpu_launch){GPU_KERNEL0(quant_rows, params), .groups = gpu_ceil_div(params.count, GROUP),
                            .group_size = GROUP, .windows = {p->x, to}});
  return to;
}

static void emit_matvec(gpu_lowering *l, const product *p) {
  matvec_shape s = choose_shape(l, p);
  planes w = open_planes(l, p->w), v = {0};
  if (p->v) v = open_planes(l, p->v);
  bool normed = p->gamma.from != GPU_NONE;
  uint32_t sums = s.rows * s.cols + (normed && s.mode != 3), width = p->v ? s.rows / 2 : s.rows,
           sets = s.group / s.lanes;
  uint32_t shuffled = l->caps->subgroup ? (l->caps->subgroup < s.lanes ? l->caps->subgroup : s.lanes) : 1;
  gpu_params_quant_matvec params = {.m = p->m,
                                    .n = p->n,
                                    .k = p->k,
                                    .tiles = gpu_ceil_div(p->n, sets * width),
                                    .a1 = w.a1,
                                    .a2 = w.a2,
                                    .b1 = w.b1,
                                    .experts = p->experts,
                                    .two_23 = 0x4b000000,
                                    .eps = p->eps};
  gpu_window x = s.mode == 2 ? round_rows(l, p, &params.runs) : p->x;
  gpu_constants_quant_matvec c = {.t = (uint32_t)gpu_in_type(l, p->w)->dtype,
                                  .rows = s.rows,
                                  .cols = s.cols,
                                  .lanes = s.lanes,
                                  .red = s.group / shuffled * sums,
                                  .mode = s.mode,
                                  .dual = p->v != 0,
                                  .extra = p->extra,
                                  .act = (uint32_t)p->act,
                                  .ti = p->idx ? (uint32_t)p->idx->dtype : 0,
                                  .runs = s.mode == 3 ? p->k / 16 : 1,
                                  .ahead = s.ahead};
  uint32_t groups = params.tiles * gpu_ceil_div(p->m, p->idx ? 1 : s.cols);
  if (s.mode == 3 && groups > l->caps->units) groups = l->caps->units;
  gpu_launch launch = {
    GPU_KERNEL(quant_matvec, params, c), .groups = groups, .group_size = s.group,
    .windows = {w.wide, w.narrow, x, p->extra_window, normed ? p->gamma : p->idx_window, v.wide, v.narrow, p->y},
    .reads_part = p->idx != NULL};
  if (normed) launch.kernel = &gpu_kernel_quant_matvec_norm; /* has the same parameters and constants */
  gpu_emit(l, &launch);
}

/* ---- many rows of x ---- */

bool gpu_coded_tile(const gpu_caps *caps, const gpu_product *p, uint32_t m, uint32_t batches, product_choice *out) {
  gpu_product dense = *p;
  dense.b_type = RLX_F32;
  if (!gpu_product_choose(caps, &dense, m, batches, out)) return false;
  if (out->tile.unit != PRODUCT_8X8) out->tile = (product_tile){PRODUCT_8X8, 2, 1, 8, 2, 1, 0};
  return true;
}

void gpu_coded_product(gpu_lowering *l, const gpu_product *p, const gpu_coded *b, const product_choice *choice,
                       const product_rows *rows) {
  const product_tile *t = &choice->tile;
  product_target to = gpu_product_target(l, p, choice->splits);
  uint32_t bm = gpu_tile_rows(t), bn = gpu_tile_columns(t), batches = gpu_product_batches(p);
  gpu_params_matmul_blocks params = {.m = p->m,
                                     .n = p->n,
                                     .k = p->k,
                                     .k_part = gpu_ceil_div(gpu_ceil_div(p->k, choice->splits), t->depth) * t->depth,
                                     .batches = batches,
                                     .tiles_m = rows ? rows->n_tiles : gpu_ceil_div(p->m, bm),
                                     .tiles_n = gpu_ceil_div(p->n, bn),
                                     .list = rows ? rows->list : 0,
                                     .experts = rows ? rows->n_experts : 0,
                                     PRODUCT_AXES(p),
                                     .n_blocks = b->number};
  bool vec_a = gpu_product_vectors(p->a_type, p->k), vec_y = to.type == RLX_F32 && p->n % 4 == 0;
  gpu_constants_matmul8 shared = {.wx = t->across,
                                  .wy = t->down,
                                  .bk = t->depth,
                                  .stages = t->stages,
                                  .size_a = t->stages * t->depth * bm / 4u,
                                  .size_b = t->stages * t->depth * bn / 4u,
                                  .size_rows = rows ? bm + 1 : 1,
                                  .ta = (uint32_t)p->a_type,
                                  .tb = (uint32_t)p->b_type,
                                  .trans = p->trans_b,
                                  .vec_a = vec_a,
                                  .vec_b = 0,
                                  /* b is read as words */ .vec_y = vec_y,
                                  .axes = p->n_axes,
                                  .gather = rows != NULL,
                                  .ty = (uint32_t)to.type,
                                  .extra = to.extra,
                                  .act = (uint32_t)to.act,
                                  .te = (uint32_t)to.extra_type};
  gpu_constants_matmul_blocks blocks = {.planes = b->planes};
  gpu_constants_matmul_codes codes = {.scheme = b->scheme, .has_scale = b->has_scale, .has_zero = b->has_zero};
  _Static_assert(offsetof(gpu_constants_matmul_blocks, planes) == sizeof shared, "the first constants of both kernels");
  _Static_assert(offsetof(gpu_constants_matmul_codes, scheme) == sizeof shared, "the first constants of both kernels");
  memcpy(&blocks, &shared, sizeof shared);
  memcpy(&codes, &shared, sizeof shared);
  const bool is_blocks = b->kernel == &gpu_kernel_matmul_blocks;
  gpu_emit(l, &(gpu_launch){.kernel = b->kernel,
                            .constants = is_blocks ? (const void *)&blocks : &codes,
                            .constants_bytes = is_blocks ? sizeof blocks : sizeof codes,
                            .params = &params, /* same layout in both kernels; the last field is the kernel's own */
                            .params_bytes = sizeof params,
                            .groups = params.tiles_m * params.tiles_n * batches * choice->splits,
                            .group_size = gpu_tile_group(t),
                            .windows = {gpu_window_if(!vec_a, p->a), gpu_window_if(vec_a, p->a), p->b, b->grid,
                                        b->more.from ? b->more : to.extra_window, rows ? rows->window : b->scale,
                                        gpu_window_if(!vec_y, to.y), gpu_window_if(vec_y, to.y)},
                            .cost = (uint64_t)batches * p->m * p->n * p->k / 8});
  if (to.is_part) gpu_product_sum(l, p, to.y, choice->splits);
}

static void emit_tiles(gpu_lowering *l, const gpu_product *p, uint32_t w, const product_choice *choice,
                       const product_rows *rows) {
  gpu_coded b = {.kernel = &gpu_kernel_matmul_blocks,
                 .number = gpu_blocks(gpu_in_type(l, w)),
                 .planes = gpu_in_planes(l, w),
                 .grid = gpu_block_grid(l, gpu_in_type(l, w)->dtype)};
  gpu_coded_product(l, p, &b, choice, rows);
}

/* ---- many rows of x, on matrix units ---- */

enum {
  COOP_ACROSS = 4, /* subgroups along n */
  COOP_ROWS = 32,  /* rows of x per subgroup along m */
  COOP_COLUMNS = 32 * COOP_ACROSS,
  COOP_DEPTH = 64,
};

/* Whether the weight can be decoded to f16 for matrix units: tq1_0 has no units of 16 (quant_units.kh), and the scales
 * of mxfp4 and q8_k exceed the range of f16 at both ends. */
static bool fits_f16(rlx_dtype t) { return t != RLX_TQ1_0 && t != RLX_MXFP4 && t != RLX_Q8_K; }

static bool takes_coop(const gpu_lowering *l, const gpu_product *p, uint32_t w) {
  bool fits = l->caps->max_group >= 32 * COOP_ACROSS && l->caps->max_shared >= 32 * 1024;
  return !gpu_is_exact(l) && l->caps->has_coopmat && fits && p->trans_b && p->n_axes == 0 && gpu_in_planes(l, w) &&
         fits_f16(p->b_type) && (uint64_t)p->n * p->k >= gpu_tuned(l->caps)->block_round_from;
}

/* Subgroups along m: two if there are enough rows. */
static uint32_t coop_down(const gpu_caps *caps, uint32_t m) {
  return m > COOP_ROWS && caps->max_group >= 64 * COOP_ACROSS ? 2 : 1;
}

/* ---- many rows of x, by the vendor's library: the weight is decoded to f16 in work memory ---- */

static gpu_product decoded(const gpu_product *p) {
  gpu_product dense = *p;
  dense.b_type = RLX_F16;
  return dense;
}

static bool takes_library(const gpu_lowering *l, const gpu_product *p) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const gpu_product dense = decoded(p);
  const uint64_t bytes = 2ull * p->n * p->k, max = (uint64_t)tuned->library_max_decoded_mib << 20;
  if (!l->caps->choices.library_min_products && p->m < tuned->library_block_min_rows) return false;
  return fits_f16(p->b_type) && p->trans_b && bytes <= max && bytes <= l->caps->max_window_bytes &&
         gpu_product_suits_library(l, &dense);
}

static void emit_library(gpu_lowering *l, const gpu_product *p, uint32_t w) {
  gpu_product dense = decoded(p);
  dense.b = gpu_work(l, 2ull * p->n * p->k);
  gpu_decode(l, w, RLX_F16, dense.b);
  const product_f16 x = gpu_product_to_f16(l, &dense, false, PRODUCT_BY_ROWS);
  gpu_product_of_f16(l, &dense, &x);
}

/* Few rows on Hopper: quant_few.c. */
static bool takes_few(const gpu_lowering *l, const gpu_product *p, uint32_t w) {
  return gpu_in_planes(l, w) && gpu_product_is_few_blocks(l, p);
}
static void emit_few(gpu_lowering *l, const gpu_product *p, uint32_t w, const product_groups *x) {
  const planes b = open_planes(l, w);
  const product_groups own = x ? *x : gpu_product_groups(l, p);
  gpu_product_few_blocks(l, p, &b, &own);
}

/* Hopper's products of warp groups: quant_wide.c. */
static bool takes_wide(const gpu_lowering *l, const gpu_product *p, uint32_t w) {
  return gpu_in_planes(l, w) && fits_f16(p->b_type) && gpu_product_is_wide_blocks(l, p);
}
static void emit_wide(gpu_lowering *l, const gpu_product *p, uint32_t w) {
  planes b = open_planes(l, w);
  gpu_product_wide_blocks(l, p, &b);
}

/* Narrow products: matmul_narrow.c. */
static bool takes_narrow(const gpu_lowering *l, const gpu_product *p, uint32_t w) {
  return !takes_wide(l, p, w) && !takes_library(l, p) && gpu_in_planes(l, w) && fits_f16(p->b_type) &&
         gpu_product_narrow_blocks(l, p) && (uint64_t)p->n * p->k >= gpu_tuned(l->caps)->block_round_from;
}
static void emit_narrow(gpu_lowering *l, const gpu_product *p, uint32_t w) {
  planes b = open_planes(l, w);
  gpu_product_narrow(l, p, &b);
}

static void emit_coop(gpu_lowering *l, const gpu_product *p, uint32_t w, uint32_t down, const product_rows *rows) {
  uint32_t bm = COOP_ROWS * down, line = COOP_DEPTH / 8 + 1;
  uint32_t tiles_m = rows ? rows->n_tiles : gpu_ceil_div(p->m, bm), tiles_n = gpu_ceil_div(p->n, COOP_COLUMNS);
  uint32_t splits = 1, wanted = l->caps->units * gpu_tuned(l->caps)->block_coop_groups;
  while ((uint64_t)tiles_m * tiles_n * splits < wanted &&
         p->k / (2 * splits) >= gpu_tuned(l->caps)->block_coop_min_part)
    splits *= 2;
  product_target to = gpu_product_target(l, p, splits);
  product_f16 x = gpu_product_to_f16(l, p, false, PRODUCT_BY_ROWS);
  gpu_window none = {0};
  planes b = open_planes(l, w);
  gpu_params_quant_coop params = {.m = p->m,
                                  .n = p->n,
                                  .k = p->k,
                                  .k_part = gpu_ceil_div(gpu_ceil_div(p->k, splits), COOP_DEPTH) * COOP_DEPTH,
                                  .batches = 1,
                                  .tiles_m = tiles_m,
                                  .tiles_n = tiles_n,
                                  .list = rows ? rows->list : 0,
                                  .experts = rows ? rows->n_experts : 0,
                                  .a1 = b.a1,
                                  .a2 = b.a2,
                                  .b1 = b.b1,
                                  .two_23 = 0x4b000000};
  bool vec_y = p->n % 4 == 0;
  gpu_constants_quant_coop c = {.tb = (uint32_t)p->b_type,
                                .sx = COOP_ACROSS,
                                .sy = down,
                                .bk = COOP_DEPTH,
                                .size_a = bm * line,
                                .size_tile = (bm + COOP_COLUMNS) * line,
                                .size_rows = rows ? bm + 1 : 1,
                                .vec_y = vec_y,
                                .gather = rows != NULL,
                                .extra = to.extra,
                                .act = (uint32_t)to.act};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(quant_coop, params, c), .groups = tiles_m * tiles_n * splits,
                            .group_size = 32 * COOP_ACROSS * down,
                            .windows = {x.a, b.wide, b.narrow, x.scales, to.extra_window, rows ? rows->window : none,
                                        gpu_window_if(!vec_y, to.y), gpu_window_if(vec_y, to.y)},
                            .cost = (uint64_t)p->m * p->n * p->k / 64});
  if (to.is_part) gpu_product_sum(l, p, to.y, splits);
}

/* ---- the ops ---- */

static bool is_empty(const gpu_product *p) { return p->m == 0 || p->n == 0 || gpu_product_batches(p) == 0; }

static product skinny_product(const gpu_product *p, uint32_t w) {
  return (product){.m = p->m,
                   .n = p->n,
                   .k = p->k,
                   .w = w,
                   .x = p->a,
                   .y = p->y,
                   .extra = p->extra == GPU_EXTRA_GATE ? 2 : p->extra == GPU_EXTRA_BIAS,
                   .extra_window = p->extra_window,
                   .act = (int32_t)p->act,
                   .gamma = p->gamma,
                   .eps = p->eps};
}

/* Emits the product with input w, which may or may not be of a block type. x: rounded for few rows; NULL: not yet. */
static void emit_product(gpu_lowering *l, gpu_product *p, uint32_t w, const product_groups *x) {
  p->b_type = gpu_in_type(l, w)->dtype;
  p->b = gpu_in(l, w);
  if (is_empty(p)) return;
  product skinny = skinny_product(p, w);
  bool is_block = rlx_dtype_is_block(p->b_type), few = is_block && takes_few(l, p, w),
       wide = is_block && !few && takes_wide(l, p, w), narrow = is_block && !few && takes_narrow(l, p, w),
       takes = is_block && !few && !wide && !narrow && p->n_axes == 0 && takes_matvec(l, &skinny, p->trans_b);
  if (is_block && !takes) gpu_product_norm_first(l, p);
  product_choice choice;
  if (!is_block) gpu_product_emit(l, p);
  else if (few) emit_few(l, p, w, x);
  else if (wide) emit_wide(l, p, w);
  else if (narrow) emit_narrow(l, p, w);
  else if (takes) emit_matvec(l, &skinny);
  else if (takes_library(l, p)) emit_library(l, p, w);
  else if (takes_coop(l, p, w)) emit_coop(l, p, w, coop_down(l->caps, p->m), NULL);
  else if (gpu_coded_tile(l->caps, p, p->m, gpu_product_batches(p), &choice)) emit_tiles(l, p, w, &choice, NULL);
  else gpu_refuse(l, gpu_no_tile);
}

void gpu_lower_matmul_blocks(gpu_lowering *l, const gpu_fused_product *f) {
  gpu_prefer_planes(l, 1);
  gpu_product p = gpu_product_of(l, 0, 1, f->trans_b);
  gpu_product_end(l, &p, f);
  emit_product(l, &p, 1, NULL);
}

void gpu_lower_gate_up_blocks(gpu_lowering *l, const gpu_fused_product *f) {
  gpu_prefer_planes(l, 1);
  gpu_prefer_planes(l, 2);
  gpu_product gate = gpu_product_of(l, 0, 1, f->trans_b);
  if (is_empty(&gate)) return;
  gpu_product_norm(l, &gate, 3, f->norm, f->eps);
  product both = skinny_product(&gate, 1);
  both.v = 2, both.act = f->act;
  gpu_product up = gate;
  up.b_type = gpu_in_type(l, 2)->dtype;
  bool narrow = takes_narrow(l, &gate, 1) && takes_narrow(l, &up, 2),
       wide = takes_wide(l, &gate, 1) && takes_wide(l, &up, 2), few = takes_few(l, &gate, 1) && takes_few(l, &up, 2);
  if (!few && !narrow && !wide && gate.n_axes == 0 && rlx_dtype_is_block(gate.b_type) &&
      takes_matvec(l, &both, f->trans_b)) {
    emit_matvec(l, &both);
    return;
  }
  gpu_product_norm_first(l, &gate);
  up = gate;
  gate.y = gpu_work(l, (uint64_t)gpu_count(gpu_out_type(l)) * 4);
  const product_groups x = few ? gpu_product_groups(l, &gate) : (product_groups){{0}, {0}};
  emit_product(l, &gate, 1, few ? &x : NULL);
  up.act = (rlx_act)f->act;
  up.extra = GPU_EXTRA_GATE, up.extra_type = RLX_F32, up.extra_window = gate.y;
  emit_product(l, &up, 2, few ? &x : NULL);
}

void gpu_lower_grouped_blocks(gpu_lowering *l) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const rlx_type *x = gpu_in_type(l, 0), *w = gpu_in_type(l, 1), *y = gpu_out_type(l), *idx = gpu_in_type(l, 2);
  gpu_prefer_planes(l, 1);
  gpu_product p = {.m = (uint32_t)y->shape.v[0],
                   .n = (uint32_t)y->shape.v[1],
                   .k = (uint32_t)x->shape.v[1],
                   .trans_b = RLX_ATTRS(dequant_grouped_matmul, l->node)->trans_b,
                   .a_type = RLX_F32,
                   .b_type = w->dtype,
                   .y_type = RLX_F32,
                   .a = gpu_in(l, 0),
                   .b = gpu_in(l, 1),
                   .y = gpu_out(l)};
  gpu_experts e = {.index = gpu_in(l, 2), .index_type = idx->dtype, .n_experts = (uint32_t)w->shape.v[0]};
  if (is_empty(&p)) return;
  product skinny = skinny_product(&p, 1);
  skinny.idx = idx, skinny.idx_window = e.index, skinny.experts = e.n_experts;
  bool is_skinny = p.m <= tuned->block_expert_rows_in_all || p.m / tuned->block_expert_rows <= e.n_experts;
  if (is_skinny && takes_matvec(l, &skinny, p.trans_b)) {
    emit_matvec(l, &skinny);
    return;
  }
  uint32_t used = e.n_experts < p.m ? e.n_experts + !e.n_experts : p.m;
  if (takes_coop(l, &p, 1)) {
    uint32_t down = coop_down(l->caps, gpu_ceil_div(p.m, used));
    product_rows sorted = gpu_product_sort_rows(l, &e, p.m, COOP_ROWS * down);
    emit_coop(l, &p, 1, down, &sorted);
    return;
  }
  product_choice choice;
  if (!gpu_coded_tile(l->caps, &p, gpu_ceil_div(p.m, used), used, &choice)) {
    gpu_refuse(l, gpu_no_tile);
    return;
  }
  product_rows rows = gpu_product_sort_rows(l, &e, p.m, gpu_tile_rows(&choice.tile));
  emit_tiles(l, &p, 1, &choice, &rows);
}
