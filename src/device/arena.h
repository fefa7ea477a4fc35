/* The arena: where each value of an executable lies, and every way to read and write it. One for all backends.
 *
 * It owns the scratch blocks; windows of weights and states lie in blocks that others own, and are noted here so that
 * one set of calls serves them all. Every size is checked before a byte moves: a call does all or nothing. The public
 * calls are in rlx.h (rlx_arena_*); here is how the runtime builds one. */
#ifndef RLX_DEVICE_ARENA_H
#define RLX_DEVICE_ARENA_H

#include "base/lock.h"
#include "device/scratch.h"

typedef struct rlx_arena_entry {
  rlx_segment segment; /* NONE: the node has no place */
  uint32_t block;      /* its number within the segment, for reports */
  uint32_t layout;     /* of a weight; 0: as the graph has it */
  rlx_bound at;
  uint64_t capacity; /* bytes reserved from at.offset on; at.bytes of them are the value's */
  rlx_type type;
} rlx_arena_entry;

/* Takes `n_scratch` blocks of these sizes from the pool; retains pool and device. Nodes are 1 .. n_nodes, all without a
 * place. */
rlx_status rlx_arena_create(rlx_device *d, rlx_block_pool *pool, const uint64_t *scratch, uint32_t n_scratch,
                            uint32_t n_nodes, rlx_arena **out);
/* The same in blocks that others use too, which must fit; it is retained. When they move, nodes are put again. */
rlx_status rlx_arena_create_in(rlx_device *d, rlx_block_pool *pool, rlx_scratch *blocks, const uint64_t *scratch,
                               uint32_t n_scratch, uint32_t n_nodes, rlx_arena **out);
void rlx_arena_destroy(rlx_arena *a); /* NULL is fine; gives the scratch blocks back */
/* The graph whose nodes these are, so that those of others are refused. */
void rlx_arena_set_serial(rlx_arena *a, uint32_t serial);
/* The queue of its reads, writes and copies, instead of the pool's. */
void rlx_arena_set_queue(rlx_arena *a, rlx_queue *q);
/* From now on the calls of rlx.h that move bytes are made in this turn. NULL: in none. */
void rlx_arena_set_lock(rlx_arena *a, rlx_lock *lock);
rlx_block *rlx_arena_scratch(const rlx_arena *a, uint32_t i);
/* Says where a node lies, or (segment NONE) that it has no place. at.bytes must be what the type and layout need, and the
 * capacity be inside the block, of scratch inside what was asked of the pool. A value without bytes needs no block.
 * Weights and states: blocks are not retained, their numbers are at most n_nodes, and the largest value with a number is
 * the whole of it (others are views of it). */
rlx_status rlx_arena_put(rlx_arena *a, rlx_node n, const rlx_arena_entry *entry);
const rlx_arena_entry *rlx_arena_get(const rlx_arena *a, rlx_node n); /* NULL: no such node, or no place */

/* Whether a window is inside its block and holds exactly a value of this type in this layout. */
rlx_status rlx_bound_check(rlx_device *d, const rlx_bound *at, const rlx_type *type, uint32_t layout);
/* A bound window, with conversion: what rlx_arena_write and _read do once they have found it; also for weights and
 * states outside an arena. `type` is the stored one; `layout` as in backend.h. */
rlx_status rlx_bound_write(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype from,
                           const void *data, size_t count);
rlx_status rlx_bound_read(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype to,
                          void *data, size_t count);

#endif
