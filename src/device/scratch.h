/* Scratch: the blocks that programs compute in. Programs that never run at the same time may share one: each block is as large as the
 * largest of them needs, and what a run left there is gone when another program runs.
 *
 * A block that has to grow moves, and the generation says so: whoever has bound windows of it binds them again. */
#ifndef RLX_DEVICE_SCRATCH_H
#define RLX_DEVICE_SCRATCH_H

#include "device/block_pool.h"

typedef struct rlx_scratch rlx_scratch;

rlx_status rlx_scratch_create(rlx_block_pool *pool, rlx_scratch **out); /* retains the pool; no block yet */
rlx_scratch *rlx_scratch_retain(rlx_scratch *s);
void rlx_scratch_release(rlx_scratch *s); /* NULL is fine; the last one gives the blocks back */

/* Block i has bytes[i] or more from now on, for i < n. Nothing runs in it while this is called. */
rlx_status rlx_scratch_fit(rlx_scratch *s, const uint64_t *bytes, uint32_t n);
/* Bytes that fitting these would add to what is there. */
uint64_t rlx_scratch_growth(const rlx_scratch *s, const uint64_t *bytes, uint32_t n);
rlx_block *rlx_scratch_block(const rlx_scratch *s, uint32_t i); /* NULL: none */
uint64_t rlx_scratch_generation(const rlx_scratch *s);          /* changes when a block moves */

/* Who has values in it: an address that only its owner knows. */
const void *rlx_scratch_owner(const rlx_scratch *s);
void rlx_scratch_set_owner(rlx_scratch *s, const void *owner);
void rlx_scratch_forget_owner(rlx_scratch *s, const void *owner); /* if it is that one, which goes away */

#endif
