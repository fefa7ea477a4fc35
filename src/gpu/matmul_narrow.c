/* Narrow matrix products, 2 to 64 rows, on matrix units. Like skinny products they are bound by the bytes of the weight
 * [n, k], but scalar arithmetic would be too slow. If the element-to-lane mapping of matrices is known,
 * matmul_direct.c handles up to 32 rows; the rest, and bf16, use kernels/rows_coop.kh here.
 *
 * A workgroup owns 32 rows of the weight (16 for f32); its subgroups share k. If there are fewer workgroups than half
 * the multiprocessors, k is split, as long as each part is large enough to be worth the second pass. */
#include "gpu/library.h"

enum {
  MIN_ROWS = 2, /* limits of the kernels */
  MAX_ROWS = 64,
  CHUNK = 64, /* of k, that a subgroup processes at a time */
};

/* Per type of weight: its kernels for 16, 32 and 64 rows; the columns of the result per workgroup; the number of rows
 * from which they are fastest, and the shape of a workgroup. */
typedef struct kind {
  const gpu_kernel *kernels[3];
  uint32_t columns, min_rows;
  product_narrow shape;
} kind;

static kind kind_of(const gpu_tuning *t, rlx_dtype weight) {
  const product_narrow shape = {.subs = (uint8_t)t->narrow_subs};
  kind f32 = {
    {&gpu_kernel_rows_full1, &gpu_kernel_rows_full2, &gpu_kernel_rows_full4}, 16, t->narrow_f32_min_rows, shape};
  kind f16 = {
    {&gpu_kernel_rows_coop1, &gpu_kernel_rows_coop2, &gpu_kernel_rows_coop4}, 32, t->narrow_f16_min_rows, shape};
  kind bf16 = {{&gpu_kernel_rows_coop1_bf16, &gpu_kernel_rows_coop2_bf16, &gpu_kernel_rows_coop4_bf16},
               32,
               t->narrow_bf16_min_rows,
               shape};
  f32.shape.ahead = (uint8_t)t->narrow_f32_ahead;
  f16.shape.ahead = (uint8_t)t->narrow_f16_ahead;
  bf16.shape.ahead = (uint8_t)t->narrow_bf16_ahead;
  return weight == RLX_F32 ? f32 : weight == RLX_F16 ? f16 : bf16;
}

static uint32_t shared_bytes(uint32_t subs) { return subs * 16 * 144 + (2 * MAX_ROWS + 1) * 4; }

static bool fits(const gpu_caps *caps, const product_narrow *s) {
  return caps->max_group >= 32u * s->subs && caps->max_shared >= shared_bytes(s->subs);
}

/* Whether the kernels support the operands. */
static bool supports(const gpu_lowering *l, const gpu_product *p, bool has_units) {
  const kind of = kind_of(gpu_tuned(l->caps), p->b_type);
  bool vectors = p->k % 8 == 0 && p->trans_b && p->n_axes == 0;
  return has_units && vectors && p->m >= MIN_ROWS && p->m <= MAX_ROWS && fits(l->caps, &of.shape) &&
         !l->caps->choices.tile;
}
static bool is_worth_it(const gpu_caps *caps, const gpu_product *p) {
  const gpu_tuning *tuned = gpu_tuned(caps);
  uint32_t max = p->b_type == RLX_F16 && p->a_type == RLX_F32 ? tuned->narrow_mixed_max_rows : MAX_ROWS;
  if (caps->choices.narrow) return caps->choices.narrow->subs > 0;
  return p->m >= kind_of(tuned, p->b_type).min_rows && p->m <= max && p->k >= tuned->narrow_min_k &&
         p->n >= tuned->narrow_min_n;
}

bool gpu_product_is_narrow(const gpu_lowering *l, const gpu_product *p) {
  if (l->caps->choices.narrow && !l->caps->choices.narrow->subs) return false;
  if (gpu_product_suits_library(l, p)) return false;
  if (gpu_product_is_direct(l, p)) return true;
  bool half = p->b_type == RLX_F16 && l->caps->has_coopmat;
  bool bf16 = (p->b_type == RLX_BF16 || p->b_type == RLX_F32) && l->caps->has_coopmat_bf16;
  if (p->b_type == RLX_F32 && gpu_is_exact(l)) return false;
  bool types = p->a_type == p->b_type || (p->a_type == RLX_F32 && !gpu_is_exact(l));
  return types && supports(l, p, half || bf16) && is_worth_it(l->caps, p);
}

bool gpu_product_narrow_blocks(const gpu_lowering *l, const gpu_product *p) {
  return (!l->caps->choices.narrow || l->caps->choices.narrow->subs) && gpu_product_is_direct(l, p);
}

void gpu_product_narrow(gpu_lowering *l, const gpu_product *p, const product_planes *planes) {
  if (gpu_product_is_direct(l, p)) {
    gpu_product_direct(l, p, planes);
    return;
  }
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const kind of = kind_of(tuned, p->b_type);
  const product_narrow *s = &of.shape, *chosen = l->caps->choices.narrow;
  if (chosen && fits(l->caps, chosen)) s = chosen;
  uint32_t tiles = gpu_ceil_div(p->n, of.columns), splits = 1, step = s->subs * CHUNK;
  while (2 * tiles * splits <= l->caps->units && p->k / (2 * splits) >= tuned->narrow_min_chunks * step &&
         splits < tuned->narrow_max_splits)
    splits *= 2;
  if (s->splits) splits = s->splits;
  product_target to = gpu_product_target(l, p, splits);
  gpu_params_rows_coop1 params = {
    .m = p->m, .n = p->n, .k = p->k, .k_part = gpu_ceil_div(gpu_ceil_div(p->k, splits), CHUNK) * CHUNK, .tiles = tiles};
  bool vec_y = to.type == RLX_F32 && p->n % 4 == 0;
  gpu_constants_rows_coop1 c = {.subs = s->subs,
                                .ahead = s->ahead,
                                .tx = p->a_type,
                                .vec_y = vec_y,
                                .ty = (uint32_t)to.type,
                                .extra = to.extra,
                                .act = (uint32_t)to.act,
                                .te = (uint32_t)to.extra_type};
  gpu_launch launch = {
    .kernel = of.kernels[p->m <= 16   ? 0
                         : p->m <= 32 ? 1
                                      : 2],
    GPU_CONSTANTS(rows_coop1, c),
    GPU_PARAMS(rows_coop1, params),
    .groups = tiles * splits,
    .group_size = 32u * s->subs,
    .windows = {p->a, p->b, to.extra_window, gpu_window_if(!vec_y, to.y), gpu_window_if(vec_y, to.y)}};
  gpu_emit(l, &launch);
  if (to.is_part) gpu_product_sum(l, p, to.y, splits);
}
