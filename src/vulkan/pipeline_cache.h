/* The driver's compiled pipelines on disk, so that the second start of a program is fast.
 *
 * The file lies in the user's cache folder ($XDG_CACHE_HOME or ~/.cache, folder rlx), one per device, driver and build of
 * the kernels. The driver must be given only what it wrote itself, so our own head comes first with sizes and a checksum:
 * a file that is cut short, changed, or of another device is ignored, and replaced when there is something to save. No
 * folder, or one that cannot be written, means no cache and no complaint beyond the log. */
#ifndef RLX_VULKAN_PIPELINE_CACHE_H
#define RLX_VULKAN_PIPELINE_CACHE_H

#include "vulkan/memory.h"

typedef struct vk_pipeline_cache {
  VkPipelineCache handle;
  bool was_loaded; /* from disk */
  uint64_t build;  /* hash of all kernels */
} vk_pipeline_cache;

rlx_status vk_pipeline_cache_open(vk_device *d, vk_pipeline_cache *c);
void vk_pipeline_cache_save(vk_device *d, const vk_pipeline_cache *c);
/* A driver that puts nothing into the file may still hold in memory all that it ever compiled: it is made to forget. */
void vk_pipeline_cache_trim(vk_device *d, vk_pipeline_cache *c);
void vk_pipeline_cache_close(vk_device *d, vk_pipeline_cache *c);
/* Where the file is or would be; false: nowhere. */
bool vk_pipeline_cache_path(const vk_device *d, char *out, size_t bytes);

#endif
