/* The copies of a queue, and transfers to and from memory that is not host-visible, through a ring of host-visible
 * slots.
 *
 * A slot is a range of host memory with a command buffer. Small writes, copies and fills are batched in one slot, the
 * open batch, which is submitted with the next submission of the queue: several small inputs and the program that reads
 * them are one call into the driver. If blocks are host-visible, the host moves the bytes itself unless a copy of the
 * queue is pending. Large transfers use whole slots, one chunk after another, with several in flight. A producer fills
 * a slot without the lock, so several threads can share that work. */
#ifndef RLX_VULKAN_STAGING_H
#define RLX_VULKAN_STAGING_H

#include "base/os.h"
#include "gpu/hazards.h"
#include "vulkan/memory.h"

enum { VK_N_SLOTS = 4, VK_MAX_BATCH_WRITE = 64 << 10 };

typedef struct vk_slot {
  VkCommandBuffer cmd;
  uint64_t serial; /* of the submission that last used it */
  uint64_t used;   /* bytes, while it is the open batch */
  bool is_held;    /* by a thread that fills or reads it */
  bool is_ended;   /* the open batch is complete and waits to be submitted */
} vk_slot;

typedef struct vk_staging { /* guarded by the queue's lock */
  bool has_condition, is_ready;
  rlx_cond released; /* a slot was released */
  VkCommandPool pool;
  vk_range memory;
  uint64_t slot_bytes;
  vk_slot slots[VK_N_SLOTS];
  vk_slot *open;       /* the open batch; NULL: nothing is batched */
  gpu_hazards hazards; /* of the batch */
  bool fills_host;     /* a copy in the batch writes memory that the host reads */
} vk_staging;

typedef struct vk_queue vk_queue;

rlx_status vk_staging_init(vk_queue *q);
void vk_staging_deinit(vk_queue *q);
/* Ends the command buffer of the open batch; *out is NULL if there is none. The batch stays open until it is
 * submitted. */
rlx_status vk_batch_end_locked(vk_queue *q, vk_slot **out);

rlx_status vk_write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes);
rlx_status vk_write_from(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes, const rlx_producer *p);
rlx_status vk_read(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes);
rlx_status vk_copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                   uint64_t bytes);
rlx_status vk_zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes);
/* Fills a range with zeros. */
rlx_status vk_range_zero(vk_queue *q, const vk_range *r);

#endif
