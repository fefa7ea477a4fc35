/* f32 times f16 on matrix units, which multiply only f16, or by a library, which does the same. This is the main
 * product of a language model's prefill.
 *
 * Each row of a is scaled by a power of two into the range of f16 and split into two f16 rows: the rounded elements and
 * the rounding residues (kernels/quant_f16.k). That keeps 22 bits of each element, and products of f16 are exact in
 * f32. A tile of matmul_coop has both rows and adds their products to the same sums, so b is read once, and its
 * epilogue (or the second pass of split-K) divides by the scale. This takes twice the products of plain f16, at about
 * eight times the rate of f32. With RLX_SWITCH_FAST_F16 there is only the first row.
 *
 * A library, and products of warp groups, have no such tile. There the two rows are a batch of two products with the
 * same b, or 2 m rows of one, and the second pass adds them.
 *
 * Not used with `exact`: an infinite element of b times a residue of 0 is NaN, where f32 gives infinity. */
#include "gpu/library.h"

bool gpu_product_can_f16(const gpu_lowering *l, const gpu_product *p) {
  const product_tile *forced = l->caps->choices.tile;
  uint64_t parts = 8ull * p->m * p->n; /* bytes without split-K, which so large a result does not use */
  return parts <= l->caps->max_window_bytes && !gpu_is_exact(l) && p->a_type == RLX_F32 && p->b_type == RLX_F16 &&
         p->n_axes == 0 && p->k % 8 == 0 && (p->trans_b || p->n % 8 == 0) && p->m > PRODUCT_SKINNY_ROWS &&
         (uint64_t)p->n * p->k >= gpu_tuned(l->caps)->f16_min_elements && !(forced && forced->unit < PRODUCT_COOP4);
}

bool gpu_product_takes_f16(const gpu_lowering *l, const gpu_product *p) {
  const bool suits_coop = l->caps->has_coopmat && gpu_product_suits_coop(l->caps, p, p->m);
  return gpu_product_can_f16(l, p) && (suits_coop || gpu_product_suits_library(l, p));
}

product_f16 gpu_product_to_f16(gpu_lowering *l, const gpu_product *p, bool with_rest, product_order order) {
  uint32_t rows = order == PRODUCT_BY_ROWS ? p->m : gpu_ceil_div(p->m, 8) * 8;
  product_f16 h = {.n_rows = with_rest ? 2 : 1, .a = gpu_work(l, (uint64_t)rows * p->k * (with_rest ? 4 : 2))};
  h.scales = gpu_work(l, (uint64_t)p->m * 4);
  gpu_params_quant_f16 params = {.k = p->k, .rest = rows * (p->k / 8)};
  gpu_constants_quant_f16 c = {
    .rest = with_rest, .eights = order != PRODUCT_BY_ROWS, .crossed = order == PRODUCT_BY_EIGHTS_CROSSED};
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const bool wide = p->m <= tuned->f16_many_rows && l->caps->max_group >= tuned->f16_wide_group;
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(quant_f16, params, c), .groups = p->m,
                            .group_size = wide ? tuned->f16_wide_group : tuned->f16_group,
                            .windows = {p->a, h.a, h.scales}});
  return h;
}

static gpu_product with_f16(const gpu_product *p, const product_f16 *a) {
  gpu_product own = *p;
  own.a_type = RLX_F16, own.a = a->a, own.scales = a->scales;
  if (a->n_rows > 1) own.residues = p->m * p->k;
  return own;
}

void gpu_product_of_f16(gpu_lowering *l, const gpu_product *p, const product_f16 *a) {
  const gpu_product own = with_f16(p, a);
  gpu_product both = {.m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .trans_b = p->trans_b,
                      .a_type = RLX_F16,
                      .b_type = RLX_F16,
                      .y_type = RLX_F32,
                      .a = a->a,
                      .b = p->b};
  product_choice choice;
  if (gpu_product_suits_library(l, p)) { /* the two rows have the same b: one product */
    both.m *= a->n_rows;
    gpu_product_sum(l, &own, gpu_product_sums_by_library(l, &both), a->n_rows);
  } else if (!gpu_product_choose(l->caps, &own, p->m, 1, &choice)) {
    gpu_refuse(l, gpu_no_tile);
  } else if (choice.tile.unit == PRODUCT_WIDE) {
    gpu_product_axis(&both, a->n_rows, p->m * p->k, 0);
    gpu_product_sum(l, &own, gpu_product_parts(l, &both, &choice), a->n_rows * choice.splits);
  } else {
    gpu_product_in_tiles(l, &own, &choice, NULL);
  }
}

void gpu_product_gate_up_of_f16(gpu_lowering *l, const gpu_product *gate, gpu_window up, const product_f16 *a) {
  const gpu_product own = with_f16(gate, a);
  if (!gpu_product_suits_library(l, gate) && gpu_product_in_one(l, &own, up)) return;
  gpu_product first, second;
  gpu_product_in_two(l, gate, up, RLX_F16, &first, &second);
  gpu_product_of_f16(l, &first, a);
  gpu_product_of_f16(l, &second, a);
}
