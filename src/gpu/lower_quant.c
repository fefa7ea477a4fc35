/* Lowers the decoding of block types: cast, gather of rows, and the experts' weights. */
#include "gpu/quant.h"

#include "quant/blocks.h"

void gpu_prefer_planes(gpu_lowering *l, uint32_t i) {
  const rlx_type *t = gpu_in_type(l, i);
  if (t && rlx_dtype_is_block(t->dtype) && gpu_planes_of(t->dtype)->bytes) gpu_prefer_layout(l, i, GPU_LAYOUT_PLANES);
}

uint32_t gpu_blocks(const rlx_type *t) { return gpu_count(t) / rlx_dtype_describe(t->dtype)->block_elements; }

gpu_window gpu_block_grid(gpu_lowering *l, rlx_dtype dtype) {
  enum { MAX_WORDS = 1024 };
  uint32_t n, words[MAX_WORDS];
  const uint16_t *grid = rlx_grid_of(dtype, &n);
  if (!grid) return (gpu_window){0};
  for (uint32_t i = 0; i < n / 2; i++) words[i] = grid[2 * i] | (uint32_t)grid[2 * i + 1] << 16;
  return gpu_table(l, words, n / 2);
}

static void emit_decode(gpu_lowering *l, uint32_t w, gpu_params_decode p, const rlx_type *chosen, gpu_window idx,
                        rlx_dtype type, gpu_window to) {
  const rlx_type *t = gpu_in_type(l, w);
  gpu_prefer_planes(l, w);
  p.n_blocks = gpu_blocks(t);
  gpu_constants_decode c = {.t = (uint32_t)t->dtype,
                            .planes = gpu_in_planes(l, w),
                            .ty = (uint32_t)type,
                            .ti = chosen ? (uint32_t)chosen->dtype : 0};
  uint32_t stores = gpu_ceil_div(p.n, gpu_elements_per_word(type));
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(decode, p, c), .groups = gpu_ceil_div(stores, 128), .group_size = 128,
                            .windows = {gpu_in(l, w), idx, to, gpu_block_grid(l, t->dtype)},
                            .reads_part = chosen != NULL});
}

void gpu_decode(gpu_lowering *l, uint32_t i, rlx_dtype type, gpu_window to) {
  gpu_params_decode p = {.n = gpu_count(gpu_in_type(l, i)) / 4};
  emit_decode(l, i, p, NULL, (gpu_window){0}, type, to);
}

/* Decodes input 0 to the result's type. Input 1, if present, selects along the first axis; from_end: negative indices
 * count from its end. */
static void decode_chosen(gpu_lowering *l, bool from_end) {
  const rlx_type *w = gpu_in_type(l, 0), *y = gpu_out_type(l), *chosen = gpu_in_type(l, 1);
  if (!chosen) {
    gpu_decode(l, 0, y->dtype, gpu_out(l));
    return;
  }
  uint32_t experts = (uint32_t)w->shape.v[0];
  gpu_params_decode p = {
    .n = gpu_count(y) / 4, .per = experts ? gpu_blocks(w) / experts : 0, .experts = experts, .from_end = from_end};
  emit_decode(l, 0, p, chosen, gpu_in(l, 1), y->dtype, gpu_out(l));
}

void gpu_lower_cast_blocks(gpu_lowering *l) { gpu_decode(l, 0, gpu_out_type(l)->dtype, gpu_out(l)); }
void gpu_lower_moe_weights(gpu_lowering *l) { decode_chosen(l, false); }
void gpu_lower_gather_blocks(gpu_lowering *l) { decode_chosen(l, true); }
