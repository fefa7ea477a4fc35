/* Products with weights of block types on Hopper's products of warp groups (kernels/quant_wide.kh): several rows of x,
 * as many as tuning.def says (wide_block_*, wide_byte_min_rows).
 *
 * There is a kernel for each number of rows of x in a tile; the shape decides whether the two warp groups lie side by
 * side along n, and how many parts k has. All shapes are compared by an estimate in cycles of a multiprocessor. */
#include "gpu/quant.h"

enum {
  GROUP = 384, /* two warp groups that multiply, and one that loads */
  MULTIPLY = 2,
  ROWS_OF_GROUP = 64, /* rows of the weight */
  ROUND = 64,         /* elements of k */
  STAGES = 4,
  K_UNIT = 256, /* parts of k are multiples of this: whole blocks, and whole units of four */
  MAX_SPLITS = 16,
  LINE_BYTES = ROWS_OF_GROUP * 4 + 16, /* of the sums of a row of x */
};

/* Estimates, in cycles. */
enum {
  PROLOGUE = 2000,   /* the first bytes of a workgroup, its sums, its result */
  PASS = 5000,       /* a second pass, besides its bytes */
  ROUND_ITSELF = 90, /* barrier and waits */
  DECODE = 55,       /* a round of a warp group */
  BYTES_OF_MEMORY = 18,
  BYTES_OF_CACHE = 32, /* per cycle of a multiprocessor, if all are busy */
};

typedef struct tile {
  const gpu_kernel *kernel;
  uint32_t rows; /* of x */
} tile;
static const tile tiles[] = {
  {&gpu_kernel_quant_wide32, 32}, {&gpu_kernel_quant_wide64, 64}, {&gpu_kernel_quant_wide128, 128}};
enum { N_TILES = sizeof tiles / sizeof *tiles };

typedef struct shape {
  const tile *of;
  uint32_t down, splits, k_part, tiles_m, tiles_n;
} shape;

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* Runs of a unit, as k_run_shift in kernels/quant_units.kh. */
static uint32_t runs_of(rlx_dtype t) {
  if (t == RLX_Q8_0) return 1;
  return t == RLX_Q2_K || t == RLX_Q3_K || t == RLX_TQ2_0 ? 4 : 2;
}
/* Units of a row in flight: as registers allow. Those of q8_0 take fewest, and are used up fastest. */
static uint32_t ahead_of(rlx_dtype t) { return t == RLX_Q8_0 ? 4 : 2; }

static uint32_t dynamic_bytes(const shape *s) {
  const uint32_t x = STAGES * (MULTIPLY / s->down) * s->of->rows * 2 * ROUND,
                 sums = MULTIPLY * s->of->rows * LINE_BYTES;
  return larger(x, sums) + 1024;
}

static uint64_t cycles_of(const gpu_lowering *l, const gpu_product *p, const shape *s) {
  const rlx_dtype_info *block = rlx_dtype_describe(p->b_type);
  const uint32_t groups = MULTIPLY, beside = groups / s->down, runs = runs_of(p->b_type);
  const uint32_t spans = gpu_ceil_div(s->k_part, ROUND * runs), rounds = gpu_ceil_div(spans, beside) * runs;
  const uint32_t weight_bytes =
    (uint32_t)((uint64_t)groups * ROWS_OF_GROUP * ROUND * block->block_bytes / block->block_elements);
  const uint32_t products = groups * 2 * s->of->rows, memory = weight_bytes / BYTES_OF_MEMORY,
                 cache = beside * s->of->rows * 2 * ROUND / BYTES_OF_CACHE;
  const uint64_t a_round = ROUND_ITSELF + larger(larger(products, memory), larger(cache, groups * DECODE));
  const uint64_t workgroups = (uint64_t)s->tiles_m * s->tiles_n * s->splits;
  uint64_t cycles = (workgroups + l->caps->units - 1) / l->caps->units * (PROLOGUE + rounds * a_round);
  if (s->splits > 1)
    cycles += PASS + (uint64_t)s->splits * p->m * p->n * 8 / ((uint64_t)l->caps->units * BYTES_OF_CACHE);
  return cycles;
}

static bool choose(const gpu_lowering *l, const gpu_product *p, shape *out) {
  uint64_t best = UINT64_MAX;
  for (size_t t = 0; t < N_TILES; t++)
    for (uint32_t down = 1; down <= MULTIPLY; down *= 2)
      for (uint32_t splits = 1; splits <= MAX_SPLITS; splits *= 2) {
        shape s = {.of = &tiles[t],
                   .down = down,
                   .k_part = gpu_ceil_div(gpu_ceil_div(p->k, splits), K_UNIT) * K_UNIT,
                   .tiles_m = gpu_ceil_div(p->m, tiles[t].rows),
                   .tiles_n = gpu_ceil_div(p->n, ROWS_OF_GROUP * down)};
        s.splits = gpu_ceil_div(p->k, s.k_part);
        if (dynamic_bytes(&s) > l->caps->max_dynamic || GROUP > l->caps->max_group) continue;
        if (s.splits > 1 && (uint64_t)s.splits * p->m * p->n * 4 > l->caps->max_window_bytes) continue;
        const uint64_t cycles = cycles_of(l, p, &s);
        if (cycles >= best) continue;
        best = cycles;
        *out = s;
      }
  return best != UINT64_MAX;
}

bool gpu_product_is_wide_blocks(const gpu_lowering *l, const gpu_product *p) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const gpu_choices *chosen = &l->caps->choices;
  const uint32_t min_rows = p->b_type == RLX_Q8_0 ? tuned->wide_byte_min_rows : tuned->wide_block_min_rows;
  shape s;
  if (!l->caps->has_wgmma || gpu_is_exact(l) || chosen->tile || chosen->narrow) return false;
  return p->a_type == RLX_F32 && p->trans_b && p->n_axes == 0 && p->m >= min_rows &&
         p->m <= tuned->wide_block_max_rows && (uint64_t)p->n * p->k >= tuned->block_round_from && choose(l, p, &s);
}

/* x as f16 in the order of the kernel's rounds, and the scales of its rows. */
static product_f16 staged(gpu_lowering *l, const gpu_product *p) {
  const uint32_t runs = runs_of(p->b_type), rounds = gpu_ceil_div(p->k, ROUND * runs) * runs;
  product_f16 x = {.n_rows = 1, .a = gpu_work(l, (uint64_t)rounds * p->m * 2 * ROUND)};
  x.scales = gpu_work(l, (uint64_t)p->m * 4);
  gpu_params_quant_stages params = {.k = p->k, .rows = p->m, .rounds = rounds};
  gpu_constants_quant_stages c = {.tb = (uint32_t)p->b_type};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(quant_stages, params, c), .groups = p->m, .group_size = 256,
                            .windows = {p->a, x.a, x.scales}});
  return x;
}

void gpu_product_wide_blocks(gpu_lowering *l, const gpu_product *p, const product_planes *planes) {
  shape s;
  if (!choose(l, p, &s)) {
    gpu_refuse(l, gpu_no_tile);
    return;
  }
  const product_target to = gpu_product_target(l, p, s.splits);
  const product_f16 x = staged(l, p);
  const gpu_params_quant_wide64 params = {.m = p->m,
                                          .n = p->n,
                                          .k = p->k,
                                          .k_part = s.k_part,
                                          .tiles_m = s.tiles_m,
                                          .tiles_n = s.tiles_n,
                                          .a1 = planes->a1,
                                          .a2 = planes->a2,
                                          .b1 = planes->b1};
  const bool vec_y = to.type == RLX_F32 && p->n % 4 == 0;
  const gpu_constants_quant_wide64 c = {.tb = (uint32_t)p->b_type,
                                        .down = s.down,
                                        .ahead = ahead_of(p->b_type),
                                        .vec_y = vec_y,
                                        .ty = (uint32_t)to.type,
                                        .extra = to.extra,
                                        .act = (uint32_t)to.act,
                                        .te = (uint32_t)to.extra_type};
  gpu_emit(l, &(gpu_launch){.kernel = s.of->kernel, /* all have the same parameters and constants */
                            GPU_CONSTANTS(quant_wide64, c),
                            .params = &params,
                            .params_bytes = sizeof params,
                            .groups = s.tiles_m * s.tiles_n * s.splits,
                            .group_size = GROUP,
                            .dynamic_bytes = dynamic_bytes(&s),
                            .windows = {x.a, planes->wide, to.extra_window, gpu_window_if(!vec_y, to.y),
                                        gpu_window_if(vec_y, to.y), x.scales, planes->narrow},
                            .cost = (uint64_t)p->m * p->n * p->k / 64});
  if (to.is_part) gpu_product_sum(l, p, to.y, s.splits);
}
