/* A queue of one session: submissions in order, each with a serial number; waiting for a number waits for all before it.
 *
 * A timeline semaphore counts the submissions where the driver has such. Otherwise a ring of fences does, and the queue's
 * lock is held while waiting: slower with several threads, but old drivers offer nothing else.
 *
 * The hardware's queues are few (VkQueue). Sessions share them when there are more sessions: each hardware queue has a
 * lock, held while it is submitted to. Locks are taken in this order: vk_queue.lock, then vk_hardware.lock. */
#ifndef RLX_VULKAN_QUEUE_H
#define RLX_VULKAN_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>

#include "vulkan/staging.h"

enum { VK_N_FENCES = 16, VK_MAX_HARDWARE_QUEUES = 4, VK_MAX_AFTER = 4 };

typedef struct vk_hardware {
  VkQueue handle;
  pthread_mutex_t lock;
  uint32_t n_users; /* under the device's lock */
} vk_hardware;

typedef struct vk_after { /* a point of another queue */
  VkSemaphore timeline;
  uint64_t value;
} vk_after;

struct vk_queue {
  rlx_queue base;
  vk_device *device;
  vk_hardware *hardware;
  uint32_t id; /* unique on the device, as far as blocks can remember it */
  struct vk_queue *next;
  uint32_t n_waiting; /* threads that wait for it without owning it; under the device's lock */

  pthread_mutex_t lock; /* of what follows */
  bool has_lock;
  uint64_t submitted;              /* serial */
  atomic_uint_least64_t completed; /* as far as is known */
  VkSemaphore timeline;            /* or: */
  VkFence fences[VK_N_FENCES];     /* of serial % VK_N_FENCES */
  vk_after after[VK_MAX_AFTER];    /* what the next submission waits for */
  uint32_t n_after;
  uint64_t last_after; /* serial of the last submission that waited for another queue */
  vk_staging staging;
  rlx_status lost_status; /* of copies that were dropped where no caller could be told: the next submission fails */
  char lost_why[256];
};

rlx_status vk_queue_create(rlx_device *d, rlx_queue **out);
void vk_queue_destroy(rlx_queue *q);
rlx_status vk_queue_mark(rlx_queue *q, uint64_t *value);
rlx_status vk_queue_wait(rlx_queue *q, uint64_t value);
rlx_status vk_queue_poll(rlx_queue *q, uint64_t value, bool *out);
rlx_status vk_queue_after(rlx_queue *q, rlx_point point);

static inline vk_queue *vk_queue_of(rlx_queue *q) { return (vk_queue *)q; }

/* Sends a command buffer, after the copies gathered in the open batch; VK_NULL_HANDLE: the batch alone. *serial is what
 * to wait for. */
rlx_status vk_submit(vk_queue *q, VkCommandBuffer cmd, uint64_t *serial);
rlx_status vk_submit_locked(vk_queue *q, VkCommandBuffer cmd, uint64_t *serial);
rlx_status vk_wait(vk_queue *q, uint64_t serial); /* of what was submitted; not under the lock */
rlx_status vk_wait_locked(vk_queue *q, uint64_t serial);
bool vk_is_done_locked(vk_queue *q, uint64_t serial);
/* Waits, on whatever queue, for the last copy that was gathered for a block (vk_block.pending). */
rlx_status vk_wait_pending(vk_device *d, uint64_t pending);
/* Of a lost device: returns when nothing runs any more, so that what was in use may be destroyed. */
void vk_settle(vk_device *d);

#endif
