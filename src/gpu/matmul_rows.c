/* Skinny matrix products, one to eight rows (GEMV-like). They are bound by the bytes of b, so enough loads must be in
 * flight.
 *
 * b [n, k]: a team of lanes processes four rows of b at once (eight if a has more than one row). The fewer rows b has,
 * the more lanes a team gets, up to a whole workgroup; if that is not enough, k is split. b [k, n]: neighbouring lanes
 * have neighbouring columns, and teams share k; the fewer columns, the narrower the teams. */
#include "gpu/matmul_plan.h"

enum {
  GROUP_NK = 128,
  GROUP_KN = 256,
  WIDEST_KN = 16, /* lanes side by side: 256 bytes */
  NARROWEST_KN = 4,
};

bool gpu_product_is_skinny(const gpu_caps *caps, const gpu_product *p, uint32_t m) {
  return m <= PRODUCT_SKINNY_ROWS && (!p->trans_b || p->k >= gpu_tuned(caps)->rows_min_k) && !caps->choices.tile;
}

static uint32_t at_most(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* The number of splits of k that raises `warps` to `wanted`, with parts of at least `min`. */
static uint32_t parts_of_k(const gpu_tuning *tuned, uint64_t warps, uint64_t wanted, uint32_t k, uint32_t min) {
  uint32_t splits = 1;
  while (warps * splits < wanted && splits < tuned->rows_max_splits && k / (2 * splits) >= min) splits *= 2;
  return splits;
}

/* Vectors of each row of b in flight. All of a short row, if all workgroups then still run at once: more registers are
 * fewer workgroups on a multiprocessor. */
static uint32_t vectors_ahead(const gpu_caps *caps, uint32_t per_lane, uint32_t groups) {
  enum { FEW = 2, ALL = 4 };
  return per_lane <= FEW                                                                 ? per_lane + !per_lane
         : per_lane <= ALL && groups <= caps->units * gpu_tuned(caps)->rows_groups_ahead ? ALL
                                                                                         : FEW;
}

typedef struct skinny { /* common to both kernels */
  uint32_t m, batches;
  uint32_t group, team, parts;
  uint32_t splits, k_part;
  product_target to;
  gpu_window up;
} skinny;

/* With two weights (`up`) the kernel applies the activation itself, and the second pass only converts. */
static skinny open_skinny(gpu_lowering *l, const gpu_product *p, const gpu_window *up, const product_rows *rows) {
  return (skinny){.m = rows ? 1 : p->m,
                  .batches = rows ? p->m : gpu_product_batches(p),
                  .splits = 1,
                  .k_part = p->k,
                  .up = up ? *up : (gpu_window){GPU_NONE, 0, 0, 0},
                  .group = l->caps->max_group};
}
static void set_target(gpu_lowering *l, const gpu_product *p, bool dual, uint32_t unit, skinny *f) {
  if (f->splits > 1) f->k_part = gpu_ceil_div(gpu_ceil_div(p->k, f->splits), unit) * unit;
  f->to = gpu_product_target(l, p, f->splits);
  if (dual) f->to.act = p->act;
}
static void close_skinny(gpu_lowering *l, const gpu_product *p, bool dual, const skinny *f) {
  if (!f->to.is_part) return;
  gpu_product rest = *p;
  if (dual) rest.act = RLX_ACT_NONE;
  gpu_product_sum(l, &rest, f->to.y, f->splits);
}

static void skinny_nk(gpu_lowering *l, const gpu_product *p, const gpu_window *up, const product_rows *rows) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  skinny f = open_skinny(l, p, up, rows);
  bool vectors = gpu_product_vectors(p->a_type, p->k) && gpu_product_vectors(p->b_type, p->k);
  uint32_t wide = vectors ? 4 * gpu_elements_per_word(p->b_type) : 1, rows_of_b = f.m > 1 ? 8 : 4,
           takes = up ? rows_of_b / 2 : rows_of_b;
  uint64_t teams = (uint64_t)gpu_ceil_div(p->n, takes) * f.batches,
           wanted = (uint64_t)l->caps->units * tuned->rows_warps_per_unit;
  f.group = at_most(GROUP_NK, f.group);
  f.team = 32;
  while (f.team < f.group && teams * f.team / 32 < wanted && p->k / (2 * f.team * wide) >= tuned->rows_min_vectors)
    f.team *= 2;
  f.parts = gpu_ceil_div(p->n, takes * (f.group / f.team));
  bool normed = p->gamma.from != GPU_NONE;
  if (!up && !normed)
    f.splits = parts_of_k(tuned, teams * f.team / 32, wanted / 4, p->k, f.team * wide * tuned->rows_min_vectors);
  set_target(l, p, up != NULL, f.team * wide, &f);
  gpu_params_matvec1 params = {.n = p->n,
                               .k = p->k,
                               .k_part = f.k_part,
                               .batches = f.batches,
                               .parts = f.parts,
                               .experts = rows ? rows->n_experts : 0,
                               PRODUCT_AXES(p),
                               .eps = p->eps};
  gpu_constants_matvec1 c = {.team = f.team,
                             .mr = f.m,
                             .tx = (uint32_t)p->a_type,
                             .tw = (uint32_t)p->b_type,
                             .vec = vectors,
                             .dual = up != NULL,
                             .indexed = rows != NULL,
                             .ti = rows ? (uint32_t)rows->index_type : RLX_I32,
                             .axes = p->n_axes,
                             .ty = (uint32_t)f.to.type,
                             .extra = f.to.extra,
                             .act = (uint32_t)f.to.act,
                             .te = (uint32_t)f.to.extra_type,
                             .ahead = 1};
  const uint32_t groups = f.parts * f.batches * f.splits;
  if (f.m == 1) c.ahead = vectors_ahead(l->caps, gpu_ceil_div(f.k_part, f.team * wide), groups);
  gpu_launch launch = {GPU_KERNEL(matvec1, params, c), .groups = groups, .group_size = f.group,
                       .windows = {gpu_window_if(!vectors, p->a), gpu_window_if(vectors, p->a),
                                   gpu_window_if(!vectors, p->b), gpu_window_if(vectors, p->b),
                                   normed ? p->gamma : gpu_window_if(!vectors, f.up), gpu_window_if(vectors, f.up),
                                   rows ? rows->window : f.to.extra_window, f.to.y},
                       .reads_part = rows != NULL};
  if (f.m > 1) launch.kernel = &gpu_kernel_matvec8; /* these have the same parameters and constants */
  if (normed) launch.kernel = &gpu_kernel_matvec1_norm;
  gpu_emit(l, &launch);
  close_skinny(l, p, up != NULL, &f);
}

static void skinny_kn(gpu_lowering *l, const gpu_product *p, const gpu_window *up, const product_rows *rows) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  skinny f = open_skinny(l, p, up, rows);
  bool vec_x = gpu_product_vectors(p->a_type, p->k), vec_w = gpu_product_vectors(p->b_type, p->n);
  uint32_t vectors = gpu_ceil_div(p->n, vec_w ? 4 * gpu_elements_per_word(p->b_type) : 4);
  uint64_t wanted = (uint64_t)l->caps->units * tuned->rows_warps_per_unit;
  f.group = at_most(GROUP_KN, f.group);
  while (f.group > 32 && p->k < f.group / 2) f.group /= 2; /* k is small: fewer teams */
  f.team = f.group < 128 ? f.group / 4 : WIDEST_KN;
  while (f.team > NARROWEST_KN && (uint64_t)gpu_ceil_div(vectors, f.team) * f.batches * f.group / 32 < wanted)
    f.team /= 2;
  f.parts = gpu_ceil_div(vectors, f.team);
  uint64_t warps = (uint64_t)f.parts * f.batches * f.group / 32;
  if (!up) f.splits = parts_of_k(tuned, warps, wanted / 2, p->k, f.group / f.team * 4 * tuned->rows_min_vectors);
  set_target(l, p, up != NULL, 8, &f);
  gpu_params_matvec_kn params = {.n = p->n,
                                 .k = p->k,
                                 .k_part = f.k_part,
                                 .batches = f.batches,
                                 .parts = f.parts,
                                 .experts = rows ? rows->n_experts : 0,
                                 PRODUCT_AXES(p)};
  gpu_constants_matvec_kn c = {.team_n = f.team,
                               .mr = f.m,
                               .tx = (uint32_t)p->a_type,
                               .tw = (uint32_t)p->b_type,
                               .vec_x = vec_x,
                               .vec = vec_w,
                               .dual = up != NULL,
                               .indexed = rows != NULL,
                               .ti = rows ? (uint32_t)rows->index_type : RLX_I32,
                               .axes = p->n_axes,
                               .ty = (uint32_t)f.to.type,
                               .extra = f.to.extra,
                               .act = (uint32_t)f.to.act,
                               .te = (uint32_t)f.to.extra_type};
  gpu_emit(
    l, &(gpu_launch){GPU_KERNEL(matvec_kn, params, c), .groups = f.parts * f.batches * f.splits, .group_size = f.group,
                     .windows = {gpu_window_if(!vec_x, p->a), gpu_window_if(vec_x, p->a), gpu_window_if(!vec_w, p->b),
                                 gpu_window_if(vec_w, p->b), gpu_window_if(!vec_w, f.up), gpu_window_if(vec_w, f.up),
                                 rows ? rows->window : f.to.extra_window, f.to.y},
                     .reads_part = rows != NULL});
  close_skinny(l, p, up != NULL, &f);
}

void gpu_product_skinny(gpu_lowering *l, const gpu_product *p, const gpu_window *up, const product_rows *rows) {
  if (p->trans_b) skinny_nk(l, p, up, rows);
  else skinny_kn(l, p, up, rows);
}
