/* What has been read and written since the last barrier, so that the next one comes only where it must: before an access
 * that meets an earlier one in the same bytes, unless both only read. */
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

/* Notes the accesses of one command; true: a barrier must come before it (and those from before it are forgotten). */
bool vk_hazards_meet(vk_hazards *h, const vk_access *a, uint32_t n);

#endif
