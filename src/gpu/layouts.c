/* Weights in layouts of their own, for all GPUs. */
#include "gpu/gpu.h"

uint64_t gpu_layout_bytes(uint32_t layout, const rlx_type *type) {
  (void)layout;
  (void)type;
  return 0;
}

rlx_status gpu_repack(uint32_t layout, const rlx_type *type, bool to_layout, const void *src, void *dst,
                      rlx_pool *pool) {
  (void)type, (void)to_layout, (void)src, (void)dst, (void)pool;
  return RLX_FAIL(RLX_INVALID, "there is no weight layout %u", (unsigned)layout);
}
