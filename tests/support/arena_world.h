/* The fixture of the arena's contract: one arena, and an image of its scratch blocks in host memory.
 *
 * A case calls the arena and does the same to the image with memcpy and memmove; world_compare then reads all blocks
 * back and compares every byte. So each write also tests all its neighbours, which are poisoned before, and a call that
 * must fail also tests that nothing changed. */
#ifndef RLX_TESTS_ARENA_WORLD_H
#define RLX_TESTS_ARENA_WORLD_H

#include "device/arena.h"
#include "ir/op.h"
#include "test.h"

enum { N_BLOCKS = 2, MAX_NODES = 8, POISON = 0xa5, POOL_CAP = 64 << 20 };

/* Nodes 1 .. n alternate between two scratch blocks; node n + 1 has no location. */
typedef struct world {
  rlx_device *d;
  rlx_block_pool *pool;
  rlx_arena *a;
  uint64_t bytes[N_BLOCKS];
  unsigned char *image[N_BLOCKS];
  uint32_t n;
  rlx_type type[MAX_NODES + 1];
  rlx_bound at[MAX_NODES + 1];
} world;

#define TYPE(dtype, ...) ((rlx_type){(dtype), RLX_DIMS(__VA_ARGS__)})
/* After a helper that may have failed. */
#define STOP_IF_FAILED \
  if (test_has_failed()) return

/* With an empty unit of the device's alignment before, between and after the nodes; poisoned. */
void world_open(world *w, rlx_device *d, const rlx_type *types, uint32_t n);
void world_close(world *w);
void world_compare(const world *w);                /* all blocks must equal the image */
void world_arena(const world *w, rlx_arena **out); /* another arena with the same locations */
rlx_arena_entry world_entry(const world *w, rlx_node n);

static inline uint32_t block_of(rlx_node n) { return n % N_BLOCKS; }
static inline unsigned char *image_of(const world *w, rlx_node n) { return w->image[block_of(n)] + w->at[n].offset; }
static inline size_t count_of(const world *w, rlx_node n) { return rlx_dims_count(&w->type[n].shape); }
static inline uint64_t padded(const world *w, uint64_t bytes) {
  uint64_t align = w->d->info.align ? w->d->info.align : 1;
  return (bytes + align - 1) / align * align;
}
static inline size_t elements_bytes(rlx_dtype dtype, size_t count) {
  const rlx_dtype_info *t = rlx_dtype_describe(dtype);
  return count / t->block_elements * t->block_bytes;
}
uint64_t random_bits(void);

/* The cases in other files: arena_types.c, arena_copies.c. */
void every_pair_of_types(rlx_device *d);
void known_conversions(rlx_device *d);
void large_and_unaligned(rlx_device *d);
void wrong_counts(rlx_device *d);
void row_copies(rlx_device *d);
void copies_that_cannot_be(rlx_device *d);
void prefix_copies(rlx_device *d);
void long_moves(rlx_device *d);
void two_arenas(rlx_device *d);
void twins(rlx_device *d);

#endif
