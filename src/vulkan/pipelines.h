/* Pipelines: a kernel with its specialisation constants, compiled by the driver. They are created when a program first
 * needs them, several at a time, each once per device; the driver's results are kept on disk (pipeline_cache.h).
 * Pipelines that no program uses are kept for later programs up to a limit (LRU), because sizes that keep changing must
 * not fill the memory.
 *
 * A kernel has a number of storage buffers in set 0 and at most 128 bytes of push constants, so there is one pipeline
 * layout per number of windows. */
#ifndef RLX_VULKAN_PIPELINES_H
#define RLX_VULKAN_PIPELINES_H

#include <pthread.h>

#include "gpu/codes.h"
#include "vulkan/pipeline_cache.h"

typedef struct vk_pipeline {
  const gpu_kernel *kernel;
  uint32_t group_size;
  uint32_t *constants; /* stored after this struct */
  VkPipeline handle;
  uint64_t hash;
  struct vk_pipeline *next; /* in its hash bucket */
  size_t refs;              /* dispatches that use it; 0: idle, and in the LRU list: */
  struct vk_pipeline *older, *newer;
} vk_pipeline;

enum { VK_PIPELINE_BUCKETS = 1024, VK_MAX_PIPELINE_THREADS = 8 };

typedef struct vk_pipelines {
  pthread_mutex_t lock; /* guards all below, and is held while pipelines are compiled */
  bool has_lock;
  vk_pipeline *buckets[VK_PIPELINE_BUCKETS];
  size_t n, n_idle, max_idle;
  vk_pipeline *oldest, *newest;                           /* of the idle pipelines */
  size_t n_made, n_saved;                                 /* since the device was opened, and at the last save */
  VkDescriptorSetLayout set_layouts[GPU_MAX_WINDOWS + 1]; /* by number of windows */
  VkPipelineLayout layouts[GPU_MAX_WINDOWS + 1];
  gpu_codes codes;
  vk_pipeline_cache cache;
} vk_pipelines;

/* A pipeline that a program needs; the result is in `made`. */
typedef struct vk_pipeline_request {
  const gpu_kernel *kernel;
  uint32_t group_size;
  const uint32_t *constants; /* kernel->n_constants values */
  vk_pipeline *made;
} vk_pipeline_request;

rlx_status vk_pipelines_init(vk_device *d);
void vk_pipelines_deinit(vk_device *d);
/* Gets all requested pipelines, each with a reference, or none; then *failed is the index of the first that failed. */
rlx_status vk_pipelines_get(vk_device *d, vk_pipeline_request *requests, size_t n, size_t *failed);
/* Releases one reference; NULL is fine. */
void vk_pipeline_release(vk_device *d, vk_pipeline *q);

#endif
