/* Matrix products of windows: chooses the kind of kernel and emits what surrounds it.
 *
 *   up to 64 rows       rows_direct*, rows_coop* or rows_full* (matmul_narrow.c) on matrix units, if b is [n, k]: bound
 *                       by the bytes of b
 *   one to eight rows   matvec1, matvec8 or matvec_kn (matmul_rows.c): bound by the bytes of b
 *   more, f32 x f16     products of f16 in tiles (matmul_f16.c) on matrix units
 *   large               the vendor's library, where there is one (matmul_library.c)
 *   otherwise           tiles (matmul_tiles.c): bound by arithmetic
 *
 * If k is split, or the rows of a narrow result type are not whole words, the kernel writes f32 partial sums to work
 * memory and a second pass adds them, always in the same order. A gate product is fused with its up product in one
 * kernel for few rows, and in one of f16 tiles on matrix units where k need not be split. Otherwise they are two
 * products, and the second reads the first one's f32 from work memory. */
#include "gpu/library.h"

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

bool gpu_product_vectors(rlx_dtype t, uint32_t width) { return width % (4 * gpu_elements_per_word(t)) == 0; }

/* ---- second pass of split-K ---- */

void gpu_product_sum(gpu_lowering *l, const gpu_product *p, gpu_window parts, uint32_t splits) {
  uint32_t count = gpu_product_batches(p) * p->m * p->n;
  bool vectors = count % 4 == 0;
  gpu_params_matmul_sum params = {.n = p->n, .count = count, .splits = splits};
  gpu_constants_matmul_sum c = {.vec_y = vectors,
                                .ty = (uint32_t)p->y_type,
                                .extra = p->extra,
                                .act = (uint32_t)p->act,
                                .te = (uint32_t)p->extra_type,
                                .scaled = p->scales.from != GPU_NONE};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(matmul_sum, params, c), .groups = gpu_ceil_div(gpu_ceil_div(count, 4), 128),
                            .group_size = 128,
                            .windows = {gpu_window_if(!vectors, parts), gpu_window_if(vectors, parts), p->extra_window,
                                        gpu_window_if(!vectors || p->y_type != RLX_F32, p->y),
                                        gpu_window_if(vectors && p->y_type == RLX_F32, p->y), p->scales}});
}

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
  gpu_window parts = gpu_work(l, (uint64_t)splits * batches * p->m * p->n * 4);
  return (product_target){.y = parts, .type = RLX_F32, .is_part = true};
}

/* ---- a product ---- */

const char gpu_no_tile[] = "no tile of a matrix product fits the device";

static bool is_fast(const gpu_lowering *l) { return l->switches & RLX_SWITCH_FAST_F16; }
static bool is_empty(const gpu_product *p) { return p->m == 0 || p->n == 0 || gpu_product_batches(p) == 0; }

/* [m, k] x [k, 1] equals [1, k] x [m, k]^T, and the result has the same layout. */
static gpu_product transposed(const gpu_product *p) {
  gpu_product t = *p;
  t.m = 1, t.n = p->m, t.trans_b = true;
  t.a = p->b, t.b = p->a, t.a_type = p->b_type, t.b_type = p->a_type;
  for (uint32_t i = 0; i < p->n_axes; i++) t.a_step[i] = p->b_step[i], t.b_step[i] = p->a_step[i];
  if (p->extra == GPU_EXTRA_BIAS) t.extra = GPU_EXTRA_ONE_BIAS;
  return t;
}

void gpu_product_emit(gpu_lowering *l, const gpu_product *given) {
  if (is_empty(given)) return;
  gpu_product p = given->n == 1 && given->m > PRODUCT_SKINNY_ROWS ? transposed(given) : *given;
  product_choice choice;
  bool is_narrow = gpu_product_is_narrow(l, &p), is_skinny = !is_narrow && gpu_product_is_skinny(l->caps, &p, p.m);
  if (!is_skinny) gpu_product_norm_first(l, &p);
  if (is_narrow) gpu_product_narrow(l, &p, NULL);
  else if (is_skinny) gpu_product_skinny(l, &p, NULL, NULL);
  else if (gpu_product_takes_f16(l, &p)) {
    product_f16 a = gpu_product_to_f16(l, &p, !is_fast(l), PRODUCT_BY_ROWS);
    gpu_product_of_f16(l, &p, &a);
  } else if (gpu_product_suits_library(l, &p)) gpu_product_by_library(l, &p);
  else if (gpu_product_choose(l->caps, &p, p.m, gpu_product_batches(&p), &choice))
    gpu_product_in_tiles(l, &p, &choice, NULL);
  else gpu_refuse(l, gpu_no_tile);
}

void gpu_product_in_two(gpu_lowering *l, const gpu_product *gate, gpu_window up, rlx_dtype up_type, gpu_product *first,
                        gpu_product *second) {
  *first = *second = *gate;
  first->y = gpu_work(l, (uint64_t)gpu_product_batches(gate) * gate->m * gate->n * 4);
  first->y_type = RLX_F32, first->act = RLX_ACT_NONE;
  second->b = up, second->b_type = up_type;
  second->extra = GPU_EXTRA_GATE, second->extra_window = first->y, second->extra_type = RLX_F32;
}

void gpu_product_gate_up(gpu_lowering *l, const gpu_product *gate, gpu_window up, rlx_dtype up_type) {
  enum { MAX_ROWS_KN = 4 };
  if (is_empty(gate)) return;
  bool is_skinny = gpu_product_is_skinny(l->caps, gate, gate->m) && (gate->trans_b || gate->m <= MAX_ROWS_KN) &&
                   !gpu_product_is_narrow(l, gate);
  if (is_skinny && up_type == gate->b_type) {
    gpu_product_skinny(l, gate, &up, NULL);
    return;
  }
  gpu_product whole = *gate, first, second;
  gpu_product_norm_first(l, &whole);
  if (!is_skinny && up_type == RLX_F16 && gpu_product_takes_f16(l, &whole)) {
    product_f16 a = gpu_product_to_f16(l, &whole, !is_fast(l), PRODUCT_BY_ROWS); /* shared by both */
    gpu_product_gate_up_of_f16(l, &whole, up, &a);
    return;
  }
  gpu_product_in_two(l, &whole, up, up_type, &first, &second);
  gpu_product_emit(l, &first);
  gpu_product_emit(l, &second);
}

/* ---- experts ---- */

product_rows gpu_product_sort_rows(gpu_lowering *l, const gpu_experts *e, uint32_t m, uint32_t height) {
  uint32_t classes = e->n_experts + 1, n_tiles = m / height + (classes < m ? classes : m);
  uint32_t counts = 3 * n_tiles, starts = counts + classes, list = starts + classes;
  gpu_window window = gpu_work(l, ((uint64_t)list + m) * 4);
  gpu_params_moe_rows p = {.m = m, .experts = e->n_experts, .counts = counts, .starts = starts, .list = list};
  gpu_constants_moe_rows c = {.ti = (uint32_t)e->index_type};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(moe_rows, p, c), .groups = classes, .windows = {e->index, window}});
  gpu_params_moe_tiles t = {
    .experts = e->n_experts, .counts = counts, .starts = starts, .height = height, .n_tiles = n_tiles};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL0(moe_tiles, t), .groups = 1, .windows = {window}});
  return (product_rows){.window = window, .n_experts = e->n_experts, .n_tiles = n_tiles, .list = list};
}

void gpu_product_experts(gpu_lowering *l, const gpu_product *p, const gpu_experts *e) {
  if (is_empty(p)) return;
  product_rows rows = {.window = e->index, .index_type = e->index_type, .n_experts = e->n_experts};
  const gpu_tuning *tuned = gpu_tuned(l->caps); /* few rows: each is multiplied by its expert separately */
  bool is_skinny = p->m <= tuned->expert_rows_in_all || p->m / tuned->expert_rows <= e->n_experts;
  if (is_skinny && gpu_product_is_skinny(l->caps, p, 1)) {
    gpu_product_skinny(l, p, NULL, &rows);
    return;
  }
  uint32_t used = e->n_experts < p->m ? e->n_experts + !e->n_experts : p->m;
  product_choice choice;
  if (!gpu_product_choose(l->caps, p, gpu_ceil_div(p->m, used), used, &choice)) {
    gpu_refuse(l, gpu_no_tile);
    return;
  }
  rows = gpu_product_sort_rows(l, e, p->m, gpu_tile_rows(&choice.tile));
  gpu_product_in_tiles(l, p, &choice, &rows);
}
