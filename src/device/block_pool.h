/* The memory of a session: its queue, and freed blocks kept for reuse (best fit, up to a cap of idle bytes). The queue
 * writes and zeroes blocks, so the first use of a reused block is ordered after its last one. Thread-safe. */
#ifndef RLX_DEVICE_BLOCK_POOL_H
#define RLX_DEVICE_BLOCK_POOL_H

#include "device/queue.h"

typedef struct rlx_block_pool rlx_block_pool;

typedef struct rlx_block_pool_stats {
  uint64_t used_bytes, idle_bytes, cap_bytes, limit_bytes;
  uint64_t n_used, n_idle, n_reused, n_created;
} rlx_block_pool_stats;

/* Retains the device and creates the queue. */
rlx_status rlx_block_pool_create(rlx_device *d, uint64_t cap_bytes, rlx_block_pool **out);
/* Sets the limit of bytes in use at once. Default: nine tenths of the free memory, if that is known. */
void rlx_block_pool_set_limit(rlx_block_pool *p, uint64_t bytes);
/* Checks that `bytes` more may be in use; RLX_LIMIT reports the numbers. */
rlx_status rlx_block_pool_affords(rlx_block_pool *p, uint64_t bytes);
rlx_queue *rlx_block_pool_queue(const rlx_block_pool *p);
rlx_block_pool *rlx_block_pool_retain(rlx_block_pool *p);
void rlx_block_pool_release(rlx_block_pool *p); /* NULL is fine; the last release destroys the idle blocks */
/* Gets a block of at least `bytes`; an idle block more than twice as large is not used for it. If `zeroed`, the block
 * is zeroed. If the device is out of memory, idle blocks are trimmed and the allocation is tried once more. */
rlx_status rlx_block_pool_get(rlx_block_pool *p, uint64_t bytes, bool zeroed, rlx_block **out);
void rlx_block_pool_put(rlx_block_pool *p, rlx_block *b);  /* NULL is fine */
void rlx_block_pool_drop(rlx_block_pool *p, rlx_block *b); /* like put, but the block is not kept for reuse */
void rlx_block_pool_trim(rlx_block_pool *p, uint64_t keep_bytes);
void rlx_block_pool_stats_get(rlx_block_pool *p, rlx_block_pool_stats *out);

#endif
