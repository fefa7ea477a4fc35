/* Narrow matrix products, up to 32 rows, on matrix units whose element-to-lane mapping is known
 * (kernels/rows_direct.kh). They are bound by the bytes of the weight [n, k], which are loaded from memory directly
 * into matrices, without shared memory.
 *
 * A workgroup owns 32 rows of the weight for each of its subgroups that lie side by side along n (`down`); the other
 * subgroups share k. Every workgroup reads x again, from the cache: so with more rows of x, and more workgroups than
 * multiprocessors, more subgroups lie side by side. If there are fewer workgroups than half the multiprocessors, k is
 * split, as long as each part is large enough to be worth the second pass. More than 16 rows of f32 are converted to
 * f16 first (matmul_f16.c). */
#include "gpu/matmul_plan.h"

enum {
  ROWS_OF_SUB = 32, /* rows of the weight per subgroup */
  NARROW_ROWS = 16, /* maximum of rows of x for the first kernel of a kind */
  MAX_ROWS = 32,    /* and for the second */
  MAX_SUBS = 16,
  K_UNIT = 256,         /* parts of k are multiples of this: whole blocks */
  SHARED_OF_SUB = 2560, /* bytes of shared memory per subgroup */
  SCALED_F16 = 99,      /* T_SCALED_F16 of kernels/rows_matrix.kh */
};

/* Per type of weight: its kernels for up to 16 and up to 32 rows of x (NULL: not supported); the number of rows of x
 * from which they are fastest; minimum and maximum of subgroups per workgroup; units prefetched. */
typedef struct kind {
  const gpu_kernel *kernels[2];
  uint32_t min_rows, min_subs, max_subs, ahead[2];
} kind;

static kind kind_of(const gpu_tuning *t, rlx_dtype weight) {
  if (weight == RLX_F16)
    return (kind){{&gpu_kernel_rows_direct1, &gpu_kernel_rows_direct2},
                  t->direct_f16_min_rows,
                  t->direct_f16_min_subs,
                  t->direct_f16_max_subs,
                  {t->direct_f16_ahead, t->direct_f16_ahead_many}};
  if (weight == RLX_F32)
    return (kind){{&gpu_kernel_rows_direct_f32},
                  t->direct_f32_min_rows,
                  t->direct_f32_min_subs,
                  t->direct_f32_max_subs,
                  {t->direct_f32_ahead}};
  if (!rlx_dtype_is_block(weight) || weight == RLX_TQ1_0) return (kind){{NULL}, 0, 0, 0, {0}};
  return (kind){{&gpu_kernel_rows_direct_blocks, &gpu_kernel_rows_direct2_blocks},
                t->direct_block_min_rows,
                t->direct_block_min_subs,
                t->direct_block_max_subs,
                {t->direct_block_ahead, t->direct_block_ahead}};
}

static product_narrow shape_of(const gpu_lowering *l, const gpu_product *p) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const kind of = kind_of(tuned, p->b_type);
  uint32_t tiles = gpu_ceil_div(p->n, ROWS_OF_SUB), units = l->caps->units;
  if (l->caps->choices.narrow) {
    product_narrow forced = *l->caps->choices.narrow;
    if (!forced.down) forced.down = 1;
    return forced;
  }
  product_narrow s = {.subs = (uint8_t)of.min_subs, .ahead = (uint8_t)of.ahead[p->m > NARROW_ROWS], .down = 1};
  if (p->m > NARROW_ROWS) {
    while (s.down < tuned->direct_max_down && tiles > s.down * units) s.down++;
    s.subs = s.down == 3 ? 12 : MAX_SUBS;
  } else {
    while (s.subs < of.max_subs && s.subs * tiles * 2 <= tuned->direct_subs_per_unit * units * 3 / 2) s.subs *= 2;
  }
  return s;
}

static bool fits(const gpu_caps *caps, const product_narrow *s) {
  uint32_t shared = SHARED_OF_SUB * (uint32_t)s->subs + (2 * MAX_ROWS + 1) * 4;
  return s->subs && s->subs % s->down == 0 && caps->max_group >= 32u * s->subs && caps->max_shared >= shared;
}

bool gpu_product_is_direct(const gpu_lowering *l, const gpu_product *p) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const kind of = kind_of(tuned, p->b_type);
  bool known = p->b_type == RLX_F32 ? l->caps->knows_fragments_bf16 : l->caps->knows_fragments;
  bool types = p->a_type == RLX_F32 ? !gpu_is_exact(l) : p->a_type == RLX_F16 && p->b_type == RLX_F16;
  bool vectors = p->k % 8 == 0 && p->trans_b && p->n_axes == 0;
  if (!of.kernels[0] || !known || !types || !vectors || l->caps->choices.tile) return false;
  if (p->m < of.min_rows || p->m > (of.kernels[1] ? MAX_ROWS : NARROW_ROWS)) return false;
  product_narrow s = shape_of(l, p);
  return fits(l->caps, &s) && p->k >= tuned->direct_min_k && p->n >= tuned->direct_min_n;
}

void gpu_product_direct(gpu_lowering *l, const gpu_product *p, const product_planes *planes) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const kind of = kind_of(tuned, p->b_type);
  product_narrow s = shape_of(l, p);
  bool more = p->m > NARROW_ROWS, converts = more && p->a_type == RLX_F32;
  uint32_t tiles = gpu_ceil_div(p->n, ROWS_OF_SUB * s.down), splits = 1;
  while (2 * tiles * splits <= l->caps->units && p->k / (2 * splits) >= tuned->direct_min_part &&
         splits < tuned->direct_max_splits)
    splits *= 2;
  if (s.splits) splits = s.splits;
  product_target to = gpu_product_target(l, p, splits);
  product_f16 x = {.a = p->a};
  if (converts) x = gpu_product_to_f16(l, p, !planes, planes ? PRODUCT_BY_EIGHTS_CROSSED : PRODUCT_BY_EIGHTS);
  gpu_params_rows_direct_blocks params = {.m = p->m,
                                          .n = p->n,
                                          .k = p->k,
                                          .k_part = gpu_ceil_div(gpu_ceil_div(p->k, splits), K_UNIT) * K_UNIT,
                                          .tiles = tiles};
  if (planes) params.a1 = planes->a1, params.a2 = planes->a2, params.b1 = planes->b1;
  bool vec_y = to.type == RLX_F32 && p->n % 4 == 0;
  gpu_constants_rows_direct_blocks c = {.subs = s.subs,
                                        .ahead = s.ahead,
                                        .tx = converts ? SCALED_F16 : (uint32_t)p->a_type,
                                        .vec_y = vec_y,
                                        .ty = (uint32_t)to.type,
                                        .extra = to.extra,
                                        .act = (uint32_t)to.act,
                                        .te = (uint32_t)to.extra_type,
                                        .packed = p->m <= 8,
                                        .down = s.down,
                                        .tb = (uint32_t)p->b_type};
  gpu_launch launch = {.kernel = of.kernels[more],
                       /* The dense kernels' constants and parameters are a prefix of these. */
                       .constants = &c,
                       .constants_bytes = planes ? sizeof c : sizeof(gpu_constants_rows_direct1),
                       .params = &params,
                       .params_bytes = planes ? sizeof params : sizeof(gpu_params_rows_direct1),
                       .groups = tiles * splits,
                       .group_size = 32u * s.subs,
                       .windows = {x.a, planes ? planes->wide : p->b, to.extra_window, gpu_window_if(!vec_y, to.y),
                                   gpu_window_if(vec_y, to.y), x.scales}};
  if (planes) launch.windows[6] = planes->narrow;
  gpu_emit(l, &launch);
  if (to.is_part) gpu_product_sum(l, p, to.y, splits);
}
