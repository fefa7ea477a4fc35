/* The fixture of the arena's contract: see arena_world.h. */
#include "arena_world.h"

#include <stdlib.h>

/* Compares all blocks with the image. */
void world_compare(const world *w) {
  for (uint32_t i = 0; i < N_BLOCKS; i++) {
    rlx_block *b = rlx_arena_scratch(w->a, i);
    unsigned char *found = malloc(w->bytes[i] + 1);
    CHECK(found && b && b->bytes >= w->bytes[i]);
    CHECK_OK(w->d->backend->read(rlx_block_pool_queue(w->pool), b, 0, found, w->bytes[i]));
    size_t at = memcmp(found, w->image[i], w->bytes[i]) == 0 ? w->bytes[i] : 0;
    while (at < w->bytes[i] && found[at] == w->image[i][at]) at++;
    unsigned value = at < w->bytes[i] ? found[at] : 0;
    free(found);
    if (at < w->bytes[i]) FAIL("block %u, byte %zu is %02x, expected %02x", i, at, value, (unsigned)w->image[i][at]);
  }
}

static void world_poison(world *w) {
  for (uint32_t i = 0; i < N_BLOCKS; i++) {
    for (size_t k = 0; k < w->bytes[i]; k++) w->image[i][k] = (unsigned char)(POISON + 31 * k + k / 251);
    CHECK_OK(
      w->d->backend->write(rlx_block_pool_queue(w->pool), rlx_arena_scratch(w->a, i), 0, w->image[i], w->bytes[i]));
  }
}

rlx_arena_entry world_entry(const world *w, rlx_node n) {
  return (rlx_arena_entry){.segment = RLX_SEGMENT_SCRATCH,
                           .block = block_of(n),
                           .at = w->at[n],
                           .capacity = padded(w, w->at[n].bytes),
                           .type = w->type[n]};
}

void world_arena(const world *w, rlx_arena **out) {
  CHECK_OK(rlx_arena_create(w->d, w->pool, w->bytes, N_BLOCKS, w->n + 1, out)); /* the last node has no location */
  for (rlx_node n = 1; n <= w->n; n++) {
    rlx_arena_entry e = world_entry(w, n);
    e.at.block = rlx_arena_scratch(*out, block_of(n));
    CHECK_OK(rlx_arena_put(*out, n, &e));
  }
}

/* Nodes 1 .. n of these types, with an empty unit of the device's alignment before, between and after them. */
void world_open(world *w, rlx_device *d, const rlx_type *types, uint32_t n) {
  *w = (world){.d = d, .n = n};
  CHECK(n <= MAX_NODES);
  CHECK_OK(rlx_block_pool_create(d, POOL_CAP, &w->pool));
  for (rlx_node i = 1; i <= n; i++) {
    size_t bytes;
    w->type[i] = types[i - 1];
    CHECK_OK(rlx_tensor_bytes(w->type[i].dtype, w->type[i].shape, &bytes));
    uint64_t *end = &w->bytes[block_of(i)];
    w->at[i] = (rlx_bound){.offset = *end + padded(w, 1), .bytes = bytes};
    *end = w->at[i].offset + padded(w, bytes);
  }
  for (uint32_t i = 0; i < N_BLOCKS; i++) {
    w->bytes[i] += padded(w, 1);
    w->image[i] = malloc(w->bytes[i]);
    CHECK(w->image[i]);
  }
  world_arena(w, &w->a);
  if (test_has_failed()) return;
  for (rlx_node i = 1; i <= n; i++) w->at[i].block = rlx_arena_scratch(w->a, block_of(i));
  world_poison(w);
}

void world_close(world *w) {
  rlx_arena_destroy(w->a);
  rlx_block_pool_release(w->pool);
  for (uint32_t i = 0; i < N_BLOCKS; i++) free(w->image[i]);
}

static uint64_t random_state = 88172645463325252u;
uint64_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}
