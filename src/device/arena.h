/* The arena: maps each value of an executable to its memory, and reads, writes and copies values. One implementation
 * serves all backends.
 *
 * It owns the scratch blocks. Windows of weights and states are in blocks owned elsewhere; they are registered here so
 * that one set of calls serves all values. Every size is checked before a byte moves: a call completes or changes
 * nothing. The public calls are in rlx.h (rlx_arena_*); this header is how the runtime builds an arena. */
#ifndef RLX_DEVICE_ARENA_H
#define RLX_DEVICE_ARENA_H

#include "base/lock.h"
#include "device/scratch.h"

typedef struct rlx_arena_entry {
  rlx_segment segment; /* NONE: the node has no memory */
  uint32_t block;      /* index within the segment, for reports */
  uint32_t layout;     /* of a weight; 0: as in the graph */
  rlx_bound at;
  uint64_t capacity; /* bytes reserved from at.offset on; the value uses at.bytes of them */
  rlx_type type;
} rlx_arena_entry;

/* Gets `n_scratch` blocks of these sizes from the pool; retains pool and device. Nodes are 1 .. n_nodes, all without
 * memory at first. */
rlx_status rlx_arena_create(rlx_device *d, rlx_block_pool *pool, const uint64_t *scratch, uint32_t n_scratch,
                            uint32_t n_nodes, rlx_arena **out);
/* The same in scratch blocks shared with other arenas. They grow to fit and are retained. When a block moves,
 * rlx_arena_put must be called again for the nodes in it. */
rlx_status rlx_arena_create_in(rlx_device *d, rlx_block_pool *pool, rlx_scratch *blocks, const uint64_t *scratch,
                               uint32_t n_scratch, uint32_t n_nodes, rlx_arena **out);
void rlx_arena_destroy(rlx_arena *a); /* NULL is fine; returns the scratch blocks */
/* The graph the nodes belong to; nodes of other graphs are refused. */
void rlx_arena_set_serial(rlx_arena *a, uint32_t serial);
/* The queue for its reads, writes and copies, instead of the pool's. */
void rlx_arena_set_queue(rlx_arena *a, rlx_queue *q);
/* From now on the calls of rlx.h that move bytes hold this lock. NULL: no lock. */
void rlx_arena_set_lock(rlx_arena *a, rlx_lock *lock);
rlx_block *rlx_arena_scratch(const rlx_arena *a, uint32_t i);
/* Sets the memory of a node, or (segment NONE) removes it. at.bytes must be what the type and layout need. The capacity
 * must be inside the block; for scratch, inside the size requested from the pool. A value without bytes needs no block.
 * Blocks of weights and states are not retained and their indices are at most n_nodes; the largest value with an index
 * is the whole block's value, and the others are views of it. */
rlx_status rlx_arena_put(rlx_arena *a, rlx_node n, const rlx_arena_entry *entry);
const rlx_arena_entry *rlx_arena_get(const rlx_arena *a, rlx_node n); /* NULL: no such node, or it has no memory */

/* Checks that a window is inside its block and holds exactly a value of this type in this layout. */
rlx_status rlx_bound_check(rlx_device *d, const rlx_bound *at, const rlx_type *type, uint32_t layout);
/* Writes or reads a bound window, with conversion, as rlx_arena_write and _read do for the window of a node. Also for
 * weights and states outside an arena. `type` is the stored one; `layout` as in backend.h. */
rlx_status rlx_bound_write(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype from,
                           const void *data, size_t count);
/* On a backend that fills words: writes zeros behind a value up to the end of its last word, which no other value
 * shares. */
rlx_status rlx_bound_fill_end(rlx_queue *q, const rlx_bound *at);
static inline rlx_status rlx_bound_end(rlx_queue *q, const rlx_bound *at) {
  return rlx_backend_fills_words(q->device->backend) ? rlx_bound_fill_end(q, at) : RLX_OK;
}
rlx_status rlx_bound_read(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype to,
                          void *data, size_t count);

#endif
