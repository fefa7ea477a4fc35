/* An open Vulkan device and what the files of this directory do with it.
 *
 * Work reaches the device through the queues of its sessions (queue.h), each in submission order; every submission begins
 * with a barrier, so the order is all that its commands rely on. Memory is chunks cut into ranges (memory.h); blocks are
 * ranges. Copies are gathered in a batch (staging.h), which is sent with the queue's next submission.
 *
 * Locks, taken in this order: pipelines.lock, lock (the list of queues), vk_queue.lock, vk_hardware.lock, memory_lock. */
#ifndef RLX_VULKAN_VK_H
#define RLX_VULKAN_VK_H

#include <pthread.h>
#include <stdatomic.h>

#include "vulkan/loader.h"
#include "vulkan/memory.h"
#include "vulkan/pipelines.h"
#include "vulkan/queue.h"

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

  pthread_mutex_t lock; /* of the queues' list */
  pthread_cond_t waited;
  vk_queue *queues;
  uint32_t last_queue_id;
  vk_hardware hardware[VK_MAX_HARDWARE_QUEUES];
  uint32_t n_hardware;

  vk_pipelines pipelines;
  vk_range nothing;       /* zeros, bound where a kernel has no window */
  atomic_bool lost_begun; /* base.is_lost follows when lost_why is written */
  char lost_why[256];
  int n_locks; /* that were made */
};

/* What a block remembers of the last copy that was gathered for it: a queue's number, and the serial. */
enum { VK_SERIAL_BITS = 48, VK_MAX_QUEUE_ID = 0xffff };

typedef struct vk_block {
  rlx_block base;
  vk_heap *heap;
  vk_range at;                   /* chunk NULL: no bytes */
  atomic_uint_least64_t pending; /* 0: none */
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

#endif
