/* Pipelines: a kernel with its constants, compiled by the driver. Made when a program first needs them, several at a time,
 * each once per device; the driver's results are kept on disk (pipeline_cache.h). Those that no program uses any more
 * stay for the next one, up to a number: sizes that change without end must not fill the memory.
 *
 * Layouts are few: a kernel has some number of storage buffers in set 0 and at most 128 bytes of push constants, so there
 * is one layout per number of windows. */
#ifndef RLX_VULKAN_PIPELINES_H
#define RLX_VULKAN_PIPELINES_H

#include <pthread.h>

#include "gpu/codes.h"
#include "vulkan/pipeline_cache.h"

typedef struct vk_pipeline {
  const gpu_kernel *kernel;
  uint32_t group_size;
  uint32_t *constants; /* behind this struct */
  VkPipeline handle;
  uint64_t hash;
  struct vk_pipeline *next; /* in its bucket */
  size_t refs;              /* programs' dispatches; 0: idle, and in that list: */
  struct vk_pipeline *older, *newer;
} vk_pipeline;

enum { VK_PIPELINE_BUCKETS = 1024, VK_MAX_PIPELINE_THREADS = 8 };

typedef struct vk_pipelines {
  pthread_mutex_t lock; /* of all below, also while pipelines are made */
  bool has_lock;
  vk_pipeline *buckets[VK_PIPELINE_BUCKETS];
  size_t n, n_idle, max_idle;
  vk_pipeline *oldest, *newest;                           /* of the idle ones */
  size_t n_made, n_saved;                                 /* since the device was opened, and up to the last saving */
  VkDescriptorSetLayout set_layouts[GPU_MAX_WINDOWS + 1]; /* by number of windows */
  VkPipelineLayout layouts[GPU_MAX_WINDOWS + 1];
  gpu_codes codes;
  vk_pipeline_cache cache;
} vk_pipelines;

/* A pipeline that a program wants, and where it is told. */
typedef struct vk_pipeline_request {
  const gpu_kernel *kernel;
  uint32_t group_size;
  const uint32_t *constants; /* kernel->n_constants of them */
  vk_pipeline *made;
} vk_pipeline_request;

rlx_status vk_pipelines_init(vk_device *d);
void vk_pipelines_deinit(vk_device *d);
/* Fulfils all wishes, or none and *failed is the first that could not be. */
rlx_status vk_pipelines_get(vk_device *d, vk_pipeline_request *requests, size_t n, size_t *failed);
/* One wish's worth is not needed any more; NULL is fine. */
void vk_pipeline_release(vk_device *d, vk_pipeline *q);

#endif
