/* Weight layouts of the GPU backends: dispatches to the function of each layout. */
#include "base/status.h"
#include "gpu/quant.h"
#include "gpu/window.h"

uint64_t gpu_layout_bytes(const rlx_device *d, uint32_t layout, const rlx_type *type) {
  (void)d; /* the same on all devices */
  if (layout == GPU_LAYOUT_TRANSPOSED) return gpu_transposed_bytes(type);
  return layout == GPU_LAYOUT_PLANES ? gpu_planes_bytes(type) : 0;
}

rlx_status gpu_repack(const rlx_device *d, uint32_t layout, const rlx_type *type, bool to_layout, const void *src,
                      void *dst, rlx_pool *pool) {
  (void)d;
  if (layout == GPU_LAYOUT_TRANSPOSED) return gpu_transposed_repack(type, to_layout, src, dst);
  if (layout == GPU_LAYOUT_PLANES) return gpu_planes_repack(type, to_layout, src, dst, pool);
  return RLX_FAIL(RLX_INVALID, "unknown weight layout %u", (unsigned)layout);
}

void gpu_repack_part(const rlx_device *d, uint32_t layout, const rlx_type *type, const void *src, uint64_t from,
                     void *dst, size_t bytes) {
  (void)d;
  if (layout == GPU_LAYOUT_TRANSPOSED) gpu_transposed_part(type, src, from, dst, bytes);
  else gpu_planes_part(type, src, from, dst, bytes);
}
