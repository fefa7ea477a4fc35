/* An open Vulkan device: the state shared by the files of this directory.
 *
 * Work reaches the device through the queues of its sessions (queue.h), each in submission order. Every submission
 * begins with a barrier, so commands need no other ordering between submissions. Memory is chunks divided into ranges
 * (memory.h); blocks are ranges. Copies are gathered in a batch (staging.h), which is submitted with the queue's next
 * submission.
 *
 * Lock order: pipelines.lock, lock (the list of queues), vk_queue.lock, vk_hardware.lock, memory_lock. */
#ifndef RLX_VULKAN_VK_H
#define RLX_VULKAN_VK_H

#include <stdatomic.h>

#include "base/os.h"
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
  uint64_t submit_cost; /* maximum cost of one submission, in units of gpu_dispatch.cost */

  rlx_mutex memory_lock;
  vk_heap device_heap, host_heap;

  rlx_mutex lock; /* guards the list of queues */
  rlx_cond waited;
  vk_queue *queues;
  uint32_t last_queue_id;
  vk_hardware hardware[VK_MAX_HARDWARE_QUEUES];
  uint32_t n_hardware;

  vk_pipelines pipelines;
  vk_range nothing;       /* zeros, bound for an absent window of a kernel */
  atomic_bool lost_begun; /* base.is_lost is set after lost_why is written */
  char lost_why[256];
  int n_locks; /* number of locks that were initialised */
};

/* A block stores the last copy recorded for it: the queue's id and the serial. */
enum { VK_SERIAL_BITS = 48, VK_MAX_QUEUE_ID = 0xffff };

typedef struct vk_block {
  rlx_block base;
  vk_heap *heap;
  vk_range at;                   /* chunk NULL: empty */
  atomic_uint_least64_t pending; /* 0: none */
} vk_block;

static inline vk_device *vk_device_of(rlx_device *d) { return (vk_device *)d; }
static inline const vk_range *vk_range_of(const rlx_block *b) { return &((const vk_block *)b)->at; }

/* The status for a failed call; the message has the operation and the driver's result. Sets is_lost if the device is
 * lost. */
rlx_status vk_fail(vk_device *d, VkResult r, const char *fmt, ...) RLX_PRINTF(3, 4);
/* RLX_OK, or RLX_DEVICE_LOST if the device was lost before. */
rlx_status vk_check(vk_device *d);

/* A memory barrier between all compute and transfer work before and after it; with `to_host`, between that work and
 * host reads. */
void vk_barrier(const vk_device *d, VkCommandBuffer cmd, bool to_host);

rlx_status vk_device_open(uint32_t index, const rlx_open_options *options, rlx_device **out);
void vk_device_close(rlx_device *d);

#endif
