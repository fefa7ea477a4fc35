/* The driver's pipeline cache on disk, so that later starts of a program are fast.
 *
 * The file is in the user's cache folder ($XDG_CACHE_HOME or ~/.cache, folder rlx), one per device, driver and build of
 * the kernels. The driver must receive only bytes that it wrote itself, so the file begins with our own header with
 * sizes and a checksum. A file that is truncated, modified or from another device is ignored, and replaced at the next
 * save. Without a writable folder there is no cache, and only the log reports it. */
#ifndef RLX_VULKAN_PIPELINE_CACHE_H
#define RLX_VULKAN_PIPELINE_CACHE_H

#include "vulkan/memory.h"

typedef struct vk_pipeline_cache {
  VkPipelineCache handle;
  bool was_loaded; /* data was loaded from disk */
  uint64_t build;  /* hash of all kernels */
} vk_pipeline_cache;

rlx_status vk_pipeline_cache_open(vk_device *d, vk_pipeline_cache *c);
void vk_pipeline_cache_save(vk_device *d, const vk_pipeline_cache *c);
/* Replaces the cache object if its data is empty: a driver that exports nothing may still keep everything it ever
 * compiled in memory. */
void vk_pipeline_cache_trim(vk_device *d, vk_pipeline_cache *c);
void vk_pipeline_cache_close(vk_device *d, vk_pipeline_cache *c);
/* The path of the file, which need not exist; false: there is no folder for it. */
bool vk_pipeline_cache_path(const vk_device *d, char *out, size_t bytes);

#endif
