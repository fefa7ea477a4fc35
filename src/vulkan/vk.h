/* An open Vulkan device and what the files of this room do with it.
 *
 * Work reaches the device through one queue (queue.h) in the order it was asked for; every submission begins with a
 * barrier, so that order is all anyone needs. Memory is chunks cut into ranges (memory.h); blocks are ranges. Transfers
 * that the caller need not wait for are gathered in a batch (staging.h), which goes out with the next submission.
 *
 * Three locks, never held together but in this order: pipelines.lock, lock (the queue, the batch, the staging ring),
 * memory_lock. */
#ifndef RLX_VULKAN_VK_H
#define RLX_VULKAN_VK_H

#include <pthread.h>
#include <stdatomic.h>

#include "vulkan/loader.h"
#include "vulkan/memory.h"
#include "vulkan/pipelines.h"
#include "vulkan/queue.h"
#include "vulkan/staging.h"

struct vk_device {
  rlx_device base;
  const vk_instance *instance;
  const vk_physical *physical;
  gpu_caps caps; /* of this variant */
  bool is_minimal;
  VkDevice handle;
#define VK_DEVICE(name) PFN_vk##name name;
#define VK_DEVICE_PROMOTED(name) PFN_vk##name name;
#include "vulkan/functions.def"
  uint64_t submit_cost; /* what one submission may hold, in units of gpu_dispatch.cost */

  pthread_mutex_t memory_lock;
  vk_heap device_heap, host_heap;

  pthread_mutex_t lock;
  vk_queue queue;
  vk_staging staging;

  vk_pipelines pipelines;
  vk_range nothing;       /* zeros, bound where a kernel has no window */
  atomic_bool lost_begun; /* base.is_lost follows when lost_why is written */
  char lost_why[256];
  int n_locks; /* that were made */
};

typedef struct vk_block {
  rlx_block base;
  vk_range at; /* chunk NULL: no bytes */
} vk_block;

static inline vk_device *vk_device_of(rlx_device *d) { return (vk_device *)d; }
static inline const vk_range *vk_range_of(const rlx_block *b) { return &((const vk_block *)b)->at; }

/* A status for a failed call: what was tried, and the driver's word for it. A lost device is noted. */
rlx_status vk_fail(vk_device *d, VkResult r, const char *fmt, ...) RLX_PRINTF(3, 4);
/* RLX_OK, or RLX_DEVICE_LOST if that has happened before. */
rlx_status vk_check(vk_device *d);

/* A whole-memory barrier between all computing and copying before and after it; `to_host`: and what the host reads. */
void vk_barrier(const vk_device *d, VkCommandBuffer cmd, bool to_host);

rlx_status vk_device_open(uint32_t index, const rlx_open_options *options, rlx_device **out);
void vk_device_close(rlx_device *d);
rlx_status vk_device_sync(rlx_device *d);

#endif
