/* The queue of one session: submissions in order, each with a serial number. Waiting for a serial waits for all
 * submissions before it.
 *
 * A timeline semaphore counts the submissions if the driver has them. Otherwise a ring of fences does, and the queue's
 * lock is held while waiting: slower with several threads, but old drivers offer nothing else.
 *
 * The hardware has few queues (VkQueue). If there are more sessions, they share them: each hardware queue has a lock,
 * held while it is submitted to. Lock order: vk_queue.lock, then vk_hardware.lock. */
#ifndef RLX_VULKAN_QUEUE_H
#define RLX_VULKAN_QUEUE_H

#include <stdatomic.h>

#include "base/os.h"
#include "vulkan/staging.h"

enum { VK_N_FENCES = 16, VK_MAX_HARDWARE_QUEUES = 4, VK_MAX_AFTER = 4 };

typedef struct vk_hardware {
  VkQueue handle;
  rlx_mutex lock;
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
  uint32_t id; /* unique on the device, in the bits that blocks store */
  struct vk_queue *next;
  uint32_t n_waiting; /* threads that wait for it without owning it; under the device's lock */

  rlx_mutex lock; /* guards what follows */
  bool has_lock;
  uint64_t submitted;              /* serial of the last submission */
  atomic_uint_least64_t completed; /* highest serial known to be done */
  VkSemaphore timeline;            /* NULL: the fences are used */
  VkFence fences[VK_N_FENCES];     /* fence i: of the serials with serial % VK_N_FENCES == i */
  vk_after after[VK_MAX_AFTER];    /* points that the next submission waits for */
  uint32_t n_after;
  uint64_t last_after; /* serial of the last submission that waited for another queue */
  vk_staging staging;
  /* The status of copies that were dropped when no caller could be informed; the next submission fails with it. */
  rlx_status lost_status;
  char lost_why[256];
};

rlx_status vk_queue_create(rlx_device *d, rlx_queue **out);
void vk_queue_destroy(rlx_queue *q);
rlx_status vk_queue_mark(rlx_queue *q, uint64_t *value);
rlx_status vk_queue_wait(rlx_queue *q, uint64_t value);
rlx_status vk_queue_poll(rlx_queue *q, uint64_t value, bool *out);
rlx_status vk_queue_after(rlx_queue *q, rlx_point point);

static inline vk_queue *vk_queue_of(rlx_queue *q) { return (vk_queue *)q; }

/* Submits a command buffer after the copies in the open batch; VK_NULL_HANDLE: only the batch. *serial is the serial to
 * wait for. */
rlx_status vk_submit(vk_queue *q, VkCommandBuffer cmd, uint64_t *serial);
rlx_status vk_submit_locked(vk_queue *q, VkCommandBuffer cmd, uint64_t *serial);
rlx_status vk_wait(vk_queue *q, uint64_t serial); /* for a submitted serial; the caller does not hold the lock */
rlx_status vk_wait_locked(vk_queue *q, uint64_t serial);
bool vk_is_done_locked(vk_queue *q, uint64_t serial);
/* Waits for the last copy recorded for a block (vk_block.pending), on the queue that has it. */
rlx_status vk_wait_pending(vk_device *d, uint64_t pending);
/* For a lost device: returns when nothing runs any more, so objects in use may be destroyed. */
void vk_settle(vk_device *d);

#endif
