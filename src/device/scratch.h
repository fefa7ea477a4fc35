/* Scratch: the blocks that programs compute in. Programs that never run at the same time may share one scratch. Each
 * block is as large as the largest program needs, and running another program overwrites the contents.
 *
 * A block that has to grow moves, and the generation changes: windows bound to it must be bound again. */
#ifndef RLX_DEVICE_SCRATCH_H
#define RLX_DEVICE_SCRATCH_H

#include "device/block_pool.h"

typedef struct rlx_scratch rlx_scratch;

rlx_status rlx_scratch_create(rlx_block_pool *pool, rlx_scratch **out); /* retains the pool; has no blocks yet */
rlx_scratch *rlx_scratch_retain(rlx_scratch *s);
void rlx_scratch_release(rlx_scratch *s); /* NULL is fine; the last release returns the blocks to the pool */

/* Grows block i to at least bytes[i], for i < n. No program may run in it during the call. */
rlx_status rlx_scratch_fit(rlx_scratch *s, const uint64_t *bytes, uint32_t n);
/* The bytes that rlx_scratch_fit with these sizes would add. */
uint64_t rlx_scratch_growth(const rlx_scratch *s, const uint64_t *bytes, uint32_t n);
rlx_block *rlx_scratch_block(const rlx_scratch *s, uint32_t i); /* NULL: none */
uint64_t rlx_scratch_generation(const rlx_scratch *s);          /* changes when a block moves */

/* The owner of the values in it: an address that identifies the owner; it is not dereferenced. */
const void *rlx_scratch_owner(const rlx_scratch *s);
void rlx_scratch_set_owner(rlx_scratch *s, const void *owner);
/* Clears the owner if it is this one. Called before the owner is freed. */
void rlx_scratch_forget_owner(rlx_scratch *s, const void *owner);

#endif
