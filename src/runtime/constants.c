/* Constants of a compiled graph on the device. Most are a few bytes, so they share as few blocks as the device's limits
 * allow. They belong to the compiled graph and are shared by all its executables. */
#include "base/arith.h"
#include "device/arena.h"
#include "runtime/compiled.h"

typedef struct layout_walk {
  uint64_t align, limit;
  uint64_t used; /* bytes of the open block */
} layout_walk;

/* Places a constant after the last one, or at the start of a new block if it does not fit. Returns true for a new
 * block. */
static bool place(layout_walk *w, uint64_t bytes, uint64_t *offset) {
  uint64_t at = 0;
  bool fits = rlx_pad_u64(w->used, w->align, &at) && bytes <= UINT64_MAX - at && (!w->limit || at + bytes <= w->limit);
  bool opens = w->used == UINT64_MAX || !fits;
  *offset = opens ? 0 : at;
  w->used = *offset + bytes;
  return opens;
}

/* A block is allocated when the next one is opened, because its size is known then. */
static rlx_status make_block(rlx_compiled *c, rlx_block_pool *blocks, uint64_t bytes) {
  rlx_block *b;
  if (!rlx_array_reserve(&c->constants, 1)) return RLX_FAIL(RLX_NO_MEMORY, "a list of blocks");
  RLX_TRY_AT(rlx_block_pool_get(blocks, bytes, false, &b), "%llu bytes of constants", (unsigned long long)bytes);
  c->constants.v[c->constants.n++] = b;
  return RLX_OK;
}

/* Allocates a block and assigns it to the constants of slots [first, last). */
static rlx_status close_block(rlx_compiled *c, rlx_block_pool *blocks, uint32_t first, uint32_t last, uint64_t bytes) {
  RLX_TRY(make_block(c, blocks, bytes));
  for (uint32_t i = first; i < last; i++)
    if (c->slots[i].kind == RLX_WEIGHT_CONSTANT) c->slots[i].at.block = c->constants.v[c->constants.n - 1];
  return RLX_OK;
}

static rlx_status place_all(rlx_compiled *c, rlx_block_pool *blocks) {
  const rlx_device_info *info = &c->device->info;
  layout_walk w = {.align = info->align ? info->align : 256, .limit = info->max_block_bytes, .used = UINT64_MAX};
  uint32_t first = 0, n = c->plan->n_weights;
  uint64_t bytes = 0;
  bool any = false;
  for (uint32_t i = 0; i < n; i++) {
    rlx_weight_slot *slot = &c->slots[i];
    if (slot->kind != RLX_WEIGHT_CONSTANT) continue;
    slot->at.bytes = slot->bytes;
    if (place(&w, slot->bytes, &slot->at.offset) && any) {
      RLX_TRY(close_block(c, blocks, first, i, bytes));
      first = i;
    }
    bytes = w.used;
    any = true;
  }
  return any ? close_block(c, blocks, first, n, bytes) : RLX_OK;
}

static rlx_status write_all(rlx_compiled *c) {
  for (uint32_t i = 0; i < c->plan->n_weights; i++) {
    const rlx_weight_slot *slot = &c->slots[i];
    if (slot->kind != RLX_WEIGHT_CONSTANT) continue;
    const rlx_attrs_constant *attrs = RLX_ATTRS(constant, rlx_graph_at(c->graph, slot->node));
    RLX_TRY_AT(rlx_bound_write(rlx_block_pool_queue(c->blocks), &slot->at, &slot->type, slot->layout, slot->type.dtype,
                               attrs->data->data, rlx_dims_count(&slot->type.shape)),
               "constant %u", (unsigned)slot->node);
    RLX_TRY(rlx_bound_end(rlx_block_pool_queue(c->blocks), &slot->at));
  }
  return RLX_OK;
}

void rlx_compiled_constants_free(rlx_compiled *c) {
  for (size_t i = 0; i < c->constants.n; i++) rlx_block_pool_put(c->blocks, c->constants.v[i]);
  rlx_array_deinit(&c->constants);
  rlx_block_pool_release(c->blocks);
  c->blocks = NULL;
}

rlx_status rlx_compiled_constants(rlx_compiled *c, rlx_block_pool *blocks) {
  rlx_mutex_lock(&c->lock);
  rlx_status s = RLX_OK;
  if (!c->constants_made) {
    c->blocks = rlx_block_pool_retain(blocks);
    s = place_all(c, blocks);
    if (!s) s = write_all(c);
    if (s) rlx_compiled_constants_free(c);
    c->constants_made = !s;
  }
  rlx_mutex_unlock(&c->lock);
  return s;
}
