/* Device memory: chunks, each one allocation with one buffer over it, cut into ranges.
 *
 * Small ranges share chunks, because drivers allow only some thousand allocations and take their time over each; a large
 * one has its own. A chunk that has become empty goes back to the driver: keeping blocks for reuse is the business of the
 * pool above. */
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
  unsigned char *map;       /* NULL: the host cannot see it */
  RLX_ARRAY(vk_span) holes; /* by offset; room for one more than there are ranges, so that giving back cannot fail */
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

enum { VK_RANGE_ALIGN = 256 }; /* no device asks for more of a buffer's window, and a rounded-up window stays inside */

/* `what` names the use, for messages. bytes > 0. */
rlx_status vk_range_alloc(vk_device *d, vk_heap *h, uint64_t bytes, const char *what, vk_range *out);
/* The device no longer uses it. An empty one is fine. */
void vk_range_free(vk_device *d, vk_heap *h, vk_range *r);
/* Chunks that are left: all of them, at the end. */
void vk_heap_deinit(vk_device *d, vk_heap *h);
static inline void *vk_range_map(const vk_range *r) {
  return r->chunk && r->chunk->map ? r->chunk->map + r->offset : NULL;
}

rlx_status vk_block_create(rlx_device *d, uint64_t bytes, rlx_block **out);
rlx_status vk_block_create_host(rlx_device *d, uint64_t bytes, rlx_block **out);
void vk_block_destroy(rlx_device *d, rlx_block *b);

#endif
