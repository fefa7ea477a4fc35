/* The memory of a session: its queue, and freed blocks that are kept for reuse (best fit, up to a cap of idle bytes). Blocks
 * are written and zeroed by the queue, so a block that is reused is ordered after its last use. Any thread may use it. */
#ifndef RLX_DEVICE_BLOCK_POOL_H
#define RLX_DEVICE_BLOCK_POOL_H

#include "device/queue.h"

typedef struct rlx_block_pool rlx_block_pool;

typedef struct rlx_block_pool_stats {
  uint64_t used_bytes, idle_bytes, cap_bytes, limit_bytes;
  uint64_t n_used, n_idle, n_reused, n_created;
} rlx_block_pool_stats;

/* Retains the device, and makes the queue. */
rlx_status rlx_block_pool_create(rlx_device *d, uint64_t cap_bytes, rlx_block_pool **out);
/* Bytes that may be out at once, for others than the default: nine tenths of what is free, where that is known. */
void rlx_block_pool_set_limit(rlx_block_pool *p, uint64_t bytes);
/* Whether so many more bytes may be out at once; RLX_LIMIT says how many there are. */
rlx_status rlx_block_pool_affords(rlx_block_pool *p, uint64_t bytes);
rlx_queue *rlx_block_pool_queue(const rlx_block_pool *p);
rlx_block_pool *rlx_block_pool_retain(rlx_block_pool *p);
void rlx_block_pool_release(rlx_block_pool *p); /* NULL is fine; the last one destroys the idle blocks */
/* A block of at least `bytes` (a block more than twice as large is not given away for it); zeroed where promised. When the
 * device is out of memory, idle blocks are trimmed and it is asked once more. */
rlx_status rlx_block_pool_get(rlx_block_pool *p, uint64_t bytes, bool zeroed, rlx_block **out);
void rlx_block_pool_put(rlx_block_pool *p, rlx_block *b);  /* NULL is fine */
void rlx_block_pool_drop(rlx_block_pool *p, rlx_block *b); /* the same of one that nobody will want: it is not kept */
void rlx_block_pool_trim(rlx_block_pool *p, uint64_t keep_bytes);
void rlx_block_pool_stats_get(rlx_block_pool *p, rlx_block_pool_stats *out);

#endif
