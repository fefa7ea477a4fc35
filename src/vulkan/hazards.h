/* Tracks the reads and writes since the last barrier, so that barriers are recorded only where needed: before an access
 * that overlaps an earlier one in the same bytes, unless both only read. */
#ifndef RLX_VULKAN_HAZARDS_H
#define RLX_VULKAN_HAZARDS_H

#include "vulkan/memory.h"

typedef struct vk_access {
  const vk_chunk *chunk;
  uint64_t begin, end; /* bytes of the chunk */
  bool is_write;
} vk_access;

enum { VK_MAX_ACCESSES = 512 };

typedef struct vk_hazards {
  vk_access v[VK_MAX_ACCESSES];
  uint32_t n;
} vk_hazards;

/* Records the accesses of one command. True: a barrier must be recorded before it, and the earlier accesses are
 * cleared. */
bool vk_hazards_meet(vk_hazards *h, const vk_access *a, uint32_t n);

#endif
