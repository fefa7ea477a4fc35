/* Device memory: a suballocator. A chunk is one allocation with one buffer over it, divided into ranges.
 *
 * Small ranges share chunks, because drivers allow only some thousand allocations and each is slow; a large range has a
 * chunk of its own. An empty chunk is freed at once: the block pool above keeps blocks for reuse. */
#ifndef RLX_VULKAN_MEMORY_H
#define RLX_VULKAN_MEMORY_H

#include "base/array.h"
#include "device/backend.h"
#include "vulkan/extra.h"

typedef struct vk_device vk_device;

typedef struct vk_span {
  uint64_t offset, bytes;
} vk_span;

typedef struct vk_chunk {
  VkDeviceMemory memory;
  VkBuffer buffer;
  uint64_t bytes;
  unsigned char *map; /* NULL: not host-visible */
  /* The free spans, by offset. There is room for one more than there are ranges, so freeing cannot fail. */
  RLX_ARRAY(vk_span) holes;
  size_t n_ranges;
  struct vk_chunk *next;
} vk_chunk;

typedef struct vk_heap { /* chunks of one memory type */
  uint32_t type;
  bool is_mapped;
  uint64_t chunk_bytes; /* of shared chunks */
  vk_chunk *chunks;
} vk_heap;

typedef struct vk_range {
  vk_chunk *chunk;
  uint64_t offset, bytes; /* multiples of VK_RANGE_ALIGN */
} vk_range;

enum { VK_RANGE_ALIGN = 256 }; /* no device requires a larger alignment of windows; a rounded-up window stays inside */

/* `what` names the use, for error messages. bytes > 0. */
rlx_status vk_range_alloc(vk_device *d, vk_heap *h, uint64_t bytes, const char *what, vk_range *out);
/* The device must not use the range any more. An empty range is fine. */
void vk_range_free(vk_device *d, vk_heap *h, vk_range *r);
/* Destroys all chunks that are left, when the device is closed. */
void vk_heap_deinit(vk_device *d, vk_heap *h);
static inline void *vk_range_map(const vk_range *r) {
  return r->chunk && r->chunk->map ? r->chunk->map + r->offset : NULL;
}

rlx_status vk_block_create(rlx_device *d, uint64_t bytes, rlx_block **out);
rlx_status vk_block_create_host(rlx_device *d, uint64_t bytes, rlx_block **out);
void vk_block_destroy(rlx_device *d, rlx_block *b);

#endif
