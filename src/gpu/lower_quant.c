/* Block types: decoding them. */
#include "gpu/quant.h"

void gpu_wish_planes(gpu_lowering *l, uint32_t i) {
  const rlx_type *t = gpu_in_type(l, i);
  if (t && rlx_dtype_is_block(t->dtype)) gpu_wish(l, i, GPU_LAYOUT_PLANES);
}

uint32_t gpu_blocks(const rlx_type *t) { return gpu_count(t) / rlx_dtype_describe(t->dtype)->block_elements; }

/* Input 0 to the result's type; input `idx` (may be absent) chooses along the first axis, from_end: negative ones from its
 * end. */
static void decode(gpu_lowering *l, uint32_t idx, bool from_end) {
  const rlx_type *w = gpu_in_type(l, 0), *y = gpu_out_type(l), *chosen = gpu_in_type(l, idx);
  gpu_wish_planes(l, 0);
  uint32_t experts = chosen ? (uint32_t)w->shape.v[0] : 1, n_blocks = gpu_blocks(w);
  gpu_params_decode p = {.n = gpu_count(y) / 4,
                         .n_blocks = n_blocks,
                         .per = experts ? n_blocks / experts : 0,
                         .experts = experts,
                         .from_end = from_end};
  uint32_t c[] = {(uint32_t)w->dtype, gpu_in_planes(l, 0), (uint32_t)y->dtype, chosen ? (uint32_t)chosen->dtype : 0};
  uint32_t stores = gpu_ceil_div(p.n, gpu_elements_per_word(y->dtype));
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(decode, p, c), .groups = gpu_ceil_div(stores, 128), .group_size = 128,
                            .windows = {gpu_in(l, 0), gpu_in(l, idx), gpu_out(l)}});
}

void gpu_lower_cast_blocks(gpu_lowering *l) { decode(l, UINT32_MAX, false); }
void gpu_lower_moe_weights(gpu_lowering *l) { decode(l, 1, false); }
void gpu_lower_gather_blocks(gpu_lowering *l) { decode(l, 1, true); }
