/* The queue: submissions in order, each with a serial number; waiting for a number waits for all before it.
 *
 * A timeline semaphore counts them where the driver has such; else a ring of fences does, and the queue's lock is then
 * held while waiting: the way of old drivers, right but slower with several threads. */
#ifndef RLX_VULKAN_QUEUE_H
#define RLX_VULKAN_QUEUE_H

#include <stdatomic.h>

#include "vulkan/memory.h"

enum { VK_N_FENCES = 16 };

typedef struct vk_queue {
  VkQueue handle;
  uint64_t submitted;              /* serial */
  atomic_uint_least64_t completed; /* as far as is known */
  VkSemaphore timeline;            /* or: */
  VkFence fences[VK_N_FENCES];     /* of serial % VK_N_FENCES */
} vk_queue;

rlx_status vk_queue_init(vk_device *d);
void vk_queue_deinit(vk_device *d);
/* Sends a command buffer, behind what is gathered in the open batch; VK_NULL_HANDLE: that alone. *serial is what to wait
 * for. */
rlx_status vk_submit(vk_device *d, VkCommandBuffer cmd, uint64_t *serial);
rlx_status vk_submit_locked(vk_device *d, VkCommandBuffer cmd, uint64_t *serial);
rlx_status vk_wait(vk_device *d, uint64_t serial); /* not under the lock */
rlx_status vk_wait_locked(vk_device *d, uint64_t serial);
bool vk_is_done_locked(vk_device *d, uint64_t serial);
/* Returns when nothing runs any more, whatever state the device is in: what it used may then be destroyed. */
void vk_settle(vk_device *d);

#endif
