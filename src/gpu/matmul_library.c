/* Large products by the vendor's library. It adds a bias and computes relu itself; for other activations, gates and
 * types it writes f32 sums, which the second pass of split-K finishes (gpu_product_sum).
 *
 * Not used with `exact`: which algorithm a library chooses, and so the order of its sums, is its own. */
#include "gpu/library.h"

#include <stdio.h>
#include <string.h>

const gpu_kernel gpu_kernel_library = {.name = "library_product",
                                       .index = GPU_KERNEL_COUNT, /* no code */
                                       .n_windows = GPU_LIBRARY_WINDOWS,
                                       .writes = 1u << GPU_LIBRARY_Y | 1u << GPU_LIBRARY_WORK,
                                       .params_bytes = sizeof(gpu_params_library)};

void gpu_library_text(const gpu_dispatch *d, char *out, size_t bytes) {
  gpu_params_library p;
  memcpy(&p, d->params, sizeof p);
  snprintf(out, bytes, "cublasLt %s", rlx_dtype_name((rlx_dtype)p.type));
}

static bool has_units_of_8(const gpu_product *p) { return p->k % 8 == 0 && p->n % 8 == 0; }

bool gpu_product_suits_library(const gpu_lowering *l, const gpu_product *p) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  const gpu_choices *chosen = &l->caps->choices;
  if (!l->caps->has_library || gpu_is_exact(l) || chosen->tile || chosen->narrow) return false;
  const bool is_mixed = p->a_type == RLX_F32 && p->b_type == RLX_F16;
  if (is_mixed ? !gpu_product_can_f16(l, p) : !gpu_is_float(p->a_type) || p->a_type != p->b_type) return false;
  if (p->b_type != RLX_F32 && !has_units_of_8(p)) return false;
  const uint64_t products = (uint64_t)gpu_product_batches(p) * p->m * p->n;
  const uint64_t min = chosen->library_min_products ? chosen->library_min_products : tuned->library_min_products;
  const uint32_t min_rows = chosen->library_min_products ? PRODUCT_SKINNY_ROWS + 1 : tuned->library_min_rows;
  return p->n_axes <= 1 && p->m >= min_rows && products * p->k >= min && products * 4 <= l->caps->max_window_bytes;
}

static void emit(gpu_lowering *l, const gpu_product *p, const product_target *to) {
  const bool has_axis = p->n_axes > 0;
  const gpu_params_library params = {.m = p->m,
                                     .n = p->n,
                                     .k = p->k,
                                     .trans_b = p->trans_b,
                                     .type = (uint32_t)p->a_type,
                                     .y_type = (uint32_t)to->type,
                                     .batches = gpu_product_batches(p),
                                     .a_step = has_axis ? p->a_step[0] : 0,
                                     .b_step = has_axis ? p->b_step[0] : 0,
                                     .has_bias = to->extra == GPU_EXTRA_BIAS,
                                     .is_relu = to->act == RLX_ACT_RELU};
  const gpu_window work = gpu_work(l, (uint64_t)gpu_tuned(l->caps)->library_work_mib << 20);
  gpu_emit(l, &(gpu_launch){.kernel = &gpu_kernel_library,
                            .params = &params,
                            .params_bytes = sizeof params,
                            .groups = 1,
                            .windows = {p->a, p->b, to->extra_window, to->y, work},
                            .cost = (uint64_t)params.batches * p->m * p->n * p->k / 64});
}

/* Whether the library writes the result itself. */
static bool finishes(const gpu_product *p) {
  const bool adds = p->extra == GPU_EXTRA_NONE || (p->extra == GPU_EXTRA_BIAS && p->extra_type == p->y_type);
  const bool acts = p->act == RLX_ACT_NONE || p->act == RLX_ACT_RELU;
  return adds && acts && (p->y_type == RLX_F32 || p->y_type == p->a_type);
}

gpu_window gpu_product_sums_by_library(gpu_lowering *l, const gpu_product *p) {
  const product_target to = {.y = gpu_work(l, (uint64_t)gpu_product_batches(p) * p->m * p->n * 4), .type = RLX_F32};
  emit(l, p, &to);
  return to.y;
}

void gpu_product_by_library(gpu_lowering *l, const gpu_product *p) {
  if (finishes(p)) {
    const product_target to = gpu_product_target(l, p, 1);
    emit(l, p, &to);
  } else gpu_product_sum(l, p, gpu_product_sums_by_library(l, p), 1);
}
