/* Pipelines (gpu/pipelines.h) that a Vulkan driver compiles. Its results are kept on disk (pipeline_cache.h).
 *
 * A kernel has a number of storage buffers in set 0 and at most 128 bytes of push constants, so there is one pipeline
 * layout per number of windows. */
#ifndef RLX_VULKAN_PIPELINES_H
#define RLX_VULKAN_PIPELINES_H

#include "gpu/pipelines.h"
#include "vulkan/pipeline_cache.h"

typedef struct vk_pipeline {
  gpu_pipeline base;
  VkPipeline handle;
} vk_pipeline;

typedef struct vk_pipelines {
  gpu_pipelines table;
  size_t n_made, n_saved;                                 /* since the device was opened, and at the last save */
  VkDescriptorSetLayout set_layouts[GPU_MAX_WINDOWS + 1]; /* by number of windows */
  VkPipelineLayout layouts[GPU_MAX_WINDOWS + 1];
  vk_pipeline_cache cache;
} vk_pipelines;

rlx_status vk_pipelines_init(vk_device *d);
void vk_pipelines_deinit(vk_device *d);

static inline VkPipeline vk_pipeline_handle(const gpu_pipeline *q) { return ((const vk_pipeline *)q)->handle; }

#endif
