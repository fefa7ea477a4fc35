/* Scratch blocks: a list that grows in number and in bytes. */
#include "device/scratch.h"

#include <stdatomic.h>

#include "base/array.h"

struct rlx_scratch {
  atomic_uint refs;
  rlx_block_pool *pool;
  RLX_ARRAY(rlx_block *) blocks; /* NULL: none yet, or freed when a larger one could not be allocated */
  uint64_t generation;
  _Atomic(const void *) owner; /* atomic: an owner may be freed in another thread */
};

rlx_status rlx_scratch_create(rlx_block_pool *pool, rlx_scratch **out) {
  rlx_scratch *s = *out = rlx_new(rlx_scratch);
  if (!s) return RLX_FAIL(RLX_NO_MEMORY, "scratch");
  atomic_init(&s->refs, 1);
  s->pool = rlx_block_pool_retain(pool);
  s->generation = 1;
  return RLX_OK;
}

rlx_scratch *rlx_scratch_retain(rlx_scratch *s) {
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  return s;
}

void rlx_scratch_release(rlx_scratch *s) {
  if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1) return;
  for (size_t i = 0; i < s->blocks.n; i++) rlx_block_pool_put(s->pool, s->blocks.v[i]);
  rlx_array_deinit(&s->blocks);
  rlx_block_pool_release(s->pool);
  rlx_mem_free(s);
}

/* Grows a block. A block that grew once will grow again, so a quarter more is allocated if available, to keep moves
 * rare. The old block is freed first and returns to the device, because its size will not be requested again. */
static rlx_status grow(rlx_scratch *s, uint32_t i, uint64_t bytes) {
  bool is_first = !s->blocks.v[i];
  rlx_block_pool_drop(s->pool, s->blocks.v[i]);
  s->blocks.v[i] = NULL;
  s->generation++;
  atomic_store(&s->owner, NULL);
  if (!is_first && bytes <= UINT64_MAX - bytes / 4 &&
      !rlx_block_pool_get(s->pool, bytes + bytes / 4, false, &s->blocks.v[i]))
    return RLX_OK;
  return rlx_block_pool_get(s->pool, bytes, false, &s->blocks.v[i]);
}

rlx_status rlx_scratch_fit(rlx_scratch *s, const uint64_t *bytes, uint32_t n) {
  while (s->blocks.n < n)
    if (!rlx_array_push(&s->blocks, (rlx_block *)NULL))
      return RLX_FAIL(RLX_NO_MEMORY, "%u scratch blocks", (unsigned)n);
  for (uint32_t i = 0; i < n; i++)
    if (!s->blocks.v[i] || s->blocks.v[i]->bytes < bytes[i])
      RLX_TRY_AT(grow(s, i, bytes[i]), "scratch block %u of %u", (unsigned)i, (unsigned)n);
  return RLX_OK;
}

uint64_t rlx_scratch_growth(const rlx_scratch *s, const uint64_t *bytes, uint32_t n) {
  uint64_t more = 0;
  for (uint32_t i = 0; i < n; i++) {
    const rlx_block *b = rlx_scratch_block(s, i);
    uint64_t has = b ? b->bytes : 0;
    if (bytes[i] > has) more += bytes[i] - has;
  }
  return more;
}

rlx_block *rlx_scratch_block(const rlx_scratch *s, uint32_t i) { return i < s->blocks.n ? s->blocks.v[i] : NULL; }
uint64_t rlx_scratch_generation(const rlx_scratch *s) { return s->generation; }
const void *rlx_scratch_owner(const rlx_scratch *s) { return atomic_load(&s->owner); }
void rlx_scratch_set_owner(rlx_scratch *s, const void *owner) { atomic_store(&s->owner, owner); }
void rlx_scratch_forget_owner(rlx_scratch *s, const void *owner) {
  atomic_compare_exchange_strong(&s->owner, &owner, NULL);
}
