/* Products of 2 to 32 rows with weights of q4_k and q8_0 on matrix units (kernels/quant_few.kh).
 *
 * There is a kernel for each number of rows of x. The shape decides how many warps lie side by side along n: with more,
 * fewer workgroups read x; with fewer, more of them share a small weight. Up to eight rows two workgroups of eight
 * warps fit a multiprocessor, above that one of sixteen, for which x is read half as often. The stages take the memory
 * that they have then. */
#include "gpu/quant.h"

enum {
  MAX_WARPS = 16,
  ROWS_OF_WARP = 16, /* of the weight */
  K_UNIT = 256,      /* elements of k: a superblock */
  X_BYTES = 548,     /* of a superblock of a row */
  SUMS_BYTES = 80,   /* of 16 rows of the weight and a row of x */
  MIN_STAGES = 2,
  MAX_STAGES = 4,
  MIN_ROWS = 2,
  ALIGNMENT = 1024,
  RESERVED = 2048, /* that, and what the driver takes of a workgroup's shared memory */
};

typedef struct tile {
  const gpu_kernel *kernel;
  uint32_t rows, warps; /* rows of x; warps of a workgroup */
} tile;
static const tile tiles[] = {
  {&gpu_kernel_quant_few8, 8, 8}, {&gpu_kernel_quant_few16, 16, 16}, {&gpu_kernel_quant_few32, 32, 16}};
enum { N_TILES = sizeof tiles / sizeof *tiles };

static const tile *tile_of(uint32_t m) {
  for (size_t i = 0; i < N_TILES; i++)
    if (m <= tiles[i].rows) return &tiles[i];
  return NULL;
}

typedef struct shape {
  const tile *of;
  uint32_t down, stages, dynamic_bytes;
} shape;

static bool choose(const gpu_lowering *l, const gpu_product *p, shape *out) {
  shape s = {.of = tile_of(p->m), .down = 1};
  if (!s.of) return false;
  const uint32_t warps = s.of->warps, beside = MAX_WARPS / warps, /* workgroups on a multiprocessor */
    weight = warps * ROWS_OF_WARP * (p->b_type == RLX_Q4_K ? 128 + 16 : 256),
                 groups = l->caps->units * (beside + 1) / 2;
  if (l->caps->max_dynamic < beside * RESERVED) return false;
  const uint32_t room = l->caps->max_dynamic / beside - RESERVED;
  while (s.down < warps && gpu_ceil_div(p->n, 2 * s.down * ROWS_OF_WARP) >= groups) s.down *= 2;
  uint32_t stage = weight + warps / s.down * s.of->rows * X_BYTES;
  while (room / stage < MIN_STAGES && s.down < warps) {
    s.down *= 2;
    stage = weight + warps / s.down * s.of->rows * X_BYTES;
  }
  s.stages = room / stage > MAX_STAGES ? MAX_STAGES : room / stage;
  const uint32_t sums = warps * s.of->rows * SUMS_BYTES;
  s.dynamic_bytes = (s.stages * stage > sums ? s.stages * stage : sums) + ALIGNMENT;
  *out = s;
  return s.stages >= MIN_STAGES && s.dynamic_bytes <= l->caps->max_dynamic && 32 * warps <= l->caps->max_group;
}

bool gpu_product_is_few_blocks(const gpu_lowering *l, const gpu_product *p) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const gpu_choices *chosen = &l->caps->choices;
  const uint32_t max_rows = p->b_type == RLX_Q4_K   ? tuned->few_q4_k_max_rows
                            : p->b_type == RLX_Q8_0 ? tuned->few_q8_0_max_rows
                                                    : 0;
  shape s;
  if (!l->caps->has_wgmma || gpu_is_exact(l) || chosen->tile || chosen->narrow) return false;
  return p->m >= MIN_ROWS && p->m <= max_rows && p->a_type == RLX_F32 && p->trans_b && p->n_axes == 0 &&
         p->k % K_UNIT == 0 && (uint64_t)p->n * p->k >= tuned->block_round_from && choose(l, p, &s);
}

product_groups gpu_product_groups(gpu_lowering *l, const gpu_product *p) {
  const uint32_t rows = tile_of(p->m)->rows, blocks = p->k / K_UNIT,
                 steps = gpu_ceil_div(blocks, MAX_WARPS) * MAX_WARPS; /* whole steps of every shape */
  const product_groups x = {gpu_work(l, (uint64_t)steps * rows * (X_BYTES - 4)),
                            gpu_work(l, (uint64_t)steps * rows * 4)};
  const gpu_params_quant_groups params = {.m = p->m, .bn = rows, .blocks = blocks, .steps = steps};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL0(quant_groups, params), .groups = gpu_ceil_div(steps * rows, 4),
                            .group_size = 128, .windows = {p->a, x.x, x.factors}});
  return x;
}

void gpu_product_few_blocks(gpu_lowering *l, const gpu_product *p, const product_planes *planes,
                            const product_groups *x) {
  shape s;
  if (!choose(l, p, &s)) {
    gpu_refuse(l, gpu_no_tile);
    return;
  }
  const product_target to = gpu_product_target(l, p, 1);
  const gpu_params_quant_few8 params = {
    .m = p->m, .n = p->n, .k = p->k, .a1 = planes->a1, .a2 = planes->a2, .b1 = planes->b1, .two_23 = 0x4b000000};
  const bool vec_y = to.type == RLX_F32 && p->n % 4 == 0;
  const gpu_constants_quant_few8 c = {.tb = (uint32_t)p->b_type,
                                      .down = s.down,
                                      .vec_y = vec_y,
                                      .ty = (uint32_t)to.type,
                                      .extra = to.extra,
                                      .act = (uint32_t)to.act,
                                      .te = (uint32_t)to.extra_type,
                                      .stages = s.stages};
  gpu_emit(l, &(gpu_launch){.kernel = s.of->kernel, /* all have the same parameters and constants */
                            GPU_CONSTANTS(quant_few8, c),
                            .params = &params,
                            .params_bytes = sizeof params,
                            .groups = gpu_ceil_div(p->n, ROWS_OF_WARP * s.down),
                            .group_size = 32 * s.of->warps,
                            .dynamic_bytes = s.dynamic_bytes,
                            .windows = {p->a, planes->wide, to.extra_window, gpu_window_if(!vec_y, to.y),
                                        gpu_window_if(vec_y, to.y), planes->narrow, x->x, x->factors}});
}
