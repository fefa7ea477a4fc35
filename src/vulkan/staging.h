/* Copies of a queue, and bytes in and out of memory that the host cannot see, through a ring of slots it can.
 *
 * A slot is a piece of host memory with a command buffer. Small writes, copies and fills are gathered in one slot, the
 * open batch, which is sent with the next submission of the queue: a few small inputs and the program that reads them are
 * one call into the driver. Where the host can see the blocks it moves the bytes itself, unless a copy of the queue is
 * pending. Large transfers take whole slots, one piece after another, several in flight. */
#ifndef RLX_VULKAN_STAGING_H
#define RLX_VULKAN_STAGING_H

#include <pthread.h>

#include "vulkan/hazards.h"

enum { VK_N_SLOTS = 4, VK_MAX_BATCH_WRITE = 64 << 10 };

typedef struct vk_slot {
  VkCommandBuffer cmd;
  uint64_t serial; /* of the submission that last used it */
  uint64_t used;   /* bytes, while it is the open batch */
  bool is_held;    /* by a thread that fills or empties it */
  bool is_ended;   /* the open batch, complete: it waits to be submitted */
} vk_slot;

typedef struct vk_staging { /* all under the queue's lock */
  bool has_condition, is_ready;
  pthread_cond_t released; /* a slot */
  VkCommandPool pool;
  vk_range memory;
  uint64_t slot_bytes;
  vk_slot slots[VK_N_SLOTS];
  vk_slot *open;      /* the batch; NULL: nothing is gathered */
  vk_hazards hazards; /* of the batch */
  bool fills_host;    /* a copy of the batch goes to memory that the host reads */
} vk_staging;

typedef struct vk_queue vk_queue;

rlx_status vk_staging_init(vk_queue *q);
void vk_staging_deinit(vk_queue *q);
/* Ends the open batch; NULL: there is none. It stays open until it is submitted. */
rlx_status vk_batch_end_locked(vk_queue *q, vk_slot **out);

rlx_status vk_write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes);
rlx_status vk_read(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes);
rlx_status vk_copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                   uint64_t bytes);
rlx_status vk_zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes);
/* Zeros in a range. */
rlx_status vk_range_zero(vk_queue *q, const vk_range *r);

#endif
