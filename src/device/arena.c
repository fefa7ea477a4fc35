/* The arena: a table from nodes to windows, and the calls that use it.
 *
 * Typed reads and writes call rlx_bound_read and _write (bound.c) on the node's window. Copies stay on the device: the
 * queue copies a range. If source and destination overlap, the range goes through a temporary block of the pool in
 * chunks, in the order that reads every byte before it is overwritten.
 *
 * Weights and states: several nodes, a weight and views of it, may name one slot (a block index). The largest of them
 * is the slot's owner and represents the slot when bytes are counted or a segment is copied. */
#include "device/arena.h"

#include <string.h>

#include "base/arith.h"
#include "base/array.h"
#include "base/sized.h"
#include "device/convert.h"
#include "device/registry.h"

enum { MOVE_BYTES = 1 << 20 };

typedef struct slot_list {
  RLX_ARRAY(rlx_node) owner; /* by slot; 0: none */
} slot_list;

struct rlx_arena {
  rlx_device *device;
  rlx_queue *queue;
  rlx_block_pool *pool;
  rlx_scratch *scratch;
  uint64_t *scratch_bytes; /* as requested; the blocks may be larger */
  uint32_t n_scratch, n_nodes;
  uint32_t serial;          /* of the graph whose nodes these are; 0: none */
  rlx_arena_entry *entries; /* by node, [0] unused */
  slot_list weights, states;
  rlx_lock *lock; /* of the executable; NULL: none */
};

/* ---- building ---- */

void rlx_arena_destroy(rlx_arena *a) {
  if (!a) return;
  rlx_scratch_release(a->scratch);
  rlx_mem_free(a->scratch_bytes);
  rlx_mem_free(a->entries);
  rlx_array_deinit(&a->weights.owner);
  rlx_array_deinit(&a->states.owner);
  rlx_block_pool_release(a->pool);
  rlx_device_release(a->device);
  rlx_mem_free(a);
}

static rlx_status arena_fill(rlx_arena *a, const uint64_t *scratch) {
  size_t n_entries;
  if (!rlx_add_size(a->n_nodes, 1, &n_entries)) return RLX_FAIL(RLX_NO_MEMORY, "arena of %u nodes", a->n_nodes);
  a->entries = rlx_mem_calloc(n_entries, sizeof *a->entries);
  a->scratch_bytes = rlx_mem_calloc(a->n_scratch, sizeof *a->scratch_bytes);
  if (!a->entries || !a->scratch_bytes) return RLX_FAIL(RLX_NO_MEMORY, "arena of %u nodes", (unsigned)a->n_nodes);
  for (uint32_t i = 0; i < a->n_scratch; i++) a->scratch_bytes[i] = scratch[i];
  if (!a->scratch) RLX_TRY(rlx_scratch_create(a->pool, &a->scratch));
  return rlx_scratch_fit(a->scratch, scratch, a->n_scratch);
}

rlx_status rlx_arena_create(rlx_device *d, rlx_block_pool *pool, const uint64_t *scratch, uint32_t n_scratch,
                            uint32_t n_nodes, rlx_arena **out) {
  return rlx_arena_create_in(d, pool, NULL, scratch, n_scratch, n_nodes, out);
}

rlx_status rlx_arena_create_in(rlx_device *d, rlx_block_pool *pool, rlx_scratch *blocks, const uint64_t *scratch,
                               uint32_t n_scratch, uint32_t n_nodes, rlx_arena **out) {
  *out = NULL;
  if (!d || !pool || (!scratch && n_scratch))
    return RLX_FAIL(RLX_INVALID, "arena: the %s missing", !d ? "device is" : !pool ? "pool is" : "sizes are");
  rlx_arena *a = rlx_new(rlx_arena);
  if (!a) return RLX_FAIL(RLX_NO_MEMORY, "arena of %u nodes", (unsigned)n_nodes);
  a->device = rlx_device_retain(d);
  a->queue = rlx_block_pool_queue(pool);
  a->pool = rlx_block_pool_retain(pool);
  a->scratch = blocks ? rlx_scratch_retain(blocks) : NULL;
  a->n_scratch = n_scratch;
  a->n_nodes = n_nodes;
  rlx_status s = arena_fill(a, scratch);
  if (s) {
    rlx_arena_destroy(a);
    return s;
  }
  *out = a;
  return RLX_OK;
}

rlx_block *rlx_arena_scratch(const rlx_arena *a, uint32_t i) {
  return a && i < a->n_scratch ? rlx_scratch_block(a->scratch, i) : NULL;
}

static slot_list *slots_of(const rlx_arena *a, rlx_segment segment) {
  rlx_arena *owner = (rlx_arena *)(uintptr_t)a;
  return segment == RLX_SEGMENT_WEIGHTS ? &owner->weights : segment == RLX_SEGMENT_STATE ? &owner->states : NULL;
}

/* The entry of a slot's owner; NULL if that node is not in the slot any more. */
static const rlx_arena_entry *slot_entry(const rlx_arena *a, rlx_segment segment, uint32_t slot) {
  const slot_list *slots = slots_of(a, segment);
  const rlx_arena_entry *e = slot < slots->owner.n ? &a->entries[slots->owner.v[slot]] : &a->entries[0];
  return e->segment == segment && e->block == slot ? e : NULL;
}

static rlx_status slot_note(rlx_arena *a, rlx_node n, const rlx_arena_entry *e) {
  slot_list *slots = slots_of(a, e->segment);
  if (e->block > a->n_nodes)
    return RLX_FAIL(RLX_INVALID, "block %u of a segment, but there are only %u nodes", (unsigned)e->block,
                    (unsigned)a->n_nodes);
  while (slots->owner.n <= e->block)
    if (!rlx_array_push(&slots->owner, RLX_NONE)) return RLX_FAIL(RLX_NO_MEMORY, "the arena's list of weights");
  const rlx_arena_entry *now = slot_entry(a, e->segment, e->block);
  if (!now || now->capacity < e->capacity) slots->owner.v[e->block] = n;
  return RLX_OK;
}

static rlx_status check_entry(const rlx_arena *a, const rlx_arena_entry *e) {
  const bool is_scratch = e->segment == RLX_SEGMENT_SCRATCH;
  if (!is_scratch && !slots_of(a, e->segment)) return RLX_FAIL(RLX_INVALID, "unknown segment %d", (int)e->segment);
  if (e->layout && e->segment != RLX_SEGMENT_WEIGHTS)
    return RLX_FAIL(RLX_INVALID, "layout %u, but only weights are packed", (unsigned)e->layout);
  RLX_TRY(rlx_bound_check(a->device, &e->at, &e->type, e->layout));
  if (e->capacity < e->at.bytes)
    return RLX_FAIL(RLX_INVALID, "%llu bytes in a capacity of %llu", (unsigned long long)e->at.bytes,
                    (unsigned long long)e->capacity);
  if (!e->at.block && e->capacity == 0) return RLX_OK;
  if (!e->at.block) return RLX_FAIL(RLX_INVALID, "a capacity of %llu without a block", (unsigned long long)e->capacity);
  if (is_scratch && rlx_arena_scratch(a, e->block) != e->at.block)
    return RLX_FAIL(RLX_INVALID, "its block is not scratch block %u of %u", (unsigned)e->block, (unsigned)a->n_scratch);
  uint64_t has = is_scratch ? a->scratch_bytes[e->block] : e->at.block->bytes;
  if (e->at.offset > has || e->capacity > has - e->at.offset)
    return RLX_FAIL(RLX_INVALID, "%llu bytes at %llu are not inside a block of %llu", (unsigned long long)e->capacity,
                    (unsigned long long)e->at.offset, (unsigned long long)has);
  return RLX_OK;
}

/* Accepts a node of the arena's graph, or a plain node number. */
static bool has_node(const rlx_arena *a, rlx_node n) {
  return (uint32_t)n && (uint32_t)n <= a->n_nodes && (n >> 32 == 0 || n >> 32 == a->serial);
}

static rlx_status check_node(const rlx_arena *a, rlx_node n) {
  if (!a) return RLX_FAIL(RLX_INVALID, "the arena is NULL");
  if (n >> 32 && n >> 32 != a->serial)
    return RLX_FAIL(RLX_INVALID, "node %u is of another graph than the executable's", (unsigned)n);
  if (!has_node(a, n))
    return RLX_FAIL(RLX_INVALID, "node %u: the arena's nodes are 1 to %u", (unsigned)n, (unsigned)a->n_nodes);
  return RLX_OK;
}

rlx_status rlx_arena_put(rlx_arena *a, rlx_node n, const rlx_arena_entry *entry) {
  RLX_TRY(check_node(a, n));
  if (!entry) return RLX_FAIL(RLX_INVALID, "node %u: the entry is NULL", (unsigned)n);
  if (entry->segment == RLX_SEGMENT_NONE) {
    a->entries[n] = (rlx_arena_entry){0};
    return RLX_OK;
  }
  RLX_TRY_AT(check_entry(a, entry), "node %u", (unsigned)n);
  if (entry->segment != RLX_SEGMENT_SCRATCH) RLX_TRY_AT(slot_note(a, n, entry), "node %u", (unsigned)n);
  a->entries[n] = *entry;
  return RLX_OK;
}

void rlx_arena_set_serial(rlx_arena *a, uint32_t serial) { a->serial = serial; }

const rlx_arena_entry *rlx_arena_get(const rlx_arena *a, rlx_node n) {
  if (!a || !has_node(a, n) || a->entries[(uint32_t)n].segment == RLX_SEGMENT_NONE) return NULL;
  return &a->entries[(uint32_t)n];
}

/* ---- queries ---- */

static rlx_status find(const rlx_arena *a, rlx_node n, const rlx_arena_entry **out) {
  RLX_TRY(check_node(a, n));
  *out = rlx_arena_get(a, n);
  if (!*out)
    return RLX_FAIL(RLX_NOT_FOUND, "node %u has no place: it was fused away, or nothing needs it", (unsigned)n);
  return RLX_OK;
}

bool rlx_arena_has(const rlx_arena *a, rlx_node n) { return rlx_arena_get(a, n) != NULL; }

rlx_status rlx_arena_where(const rlx_arena *a, rlx_node n, rlx_arena_place *out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_arena_where: out is NULL");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_arena_place", out));
  const rlx_arena_entry *e;
  RLX_TRY(find(a, n, &e));
  rlx_arena_place place = {
    .segment = e->segment, .block = e->block, .offset = e->at.offset, .capacity = e->capacity, .used = e->at.bytes};
  return RLX_SIZED_WRITE("rlx_arena_place", &place, out);
}

uint64_t rlx_arena_bytes(const rlx_arena *a, rlx_segment segment) {
  uint64_t total = 0;
  if (!a) return 0;
  if (segment == RLX_SEGMENT_NONE) {
    for (int s = RLX_SEGMENT_WEIGHTS; s <= RLX_SEGMENT_SCRATCH; s++) total += rlx_arena_bytes(a, (rlx_segment)s);
    return total;
  }
  if (segment == RLX_SEGMENT_SCRATCH) {
    for (uint32_t i = 0; i < a->n_scratch; i++) total += a->scratch_bytes[i];
    return total;
  }
  const slot_list *slots = slots_of(a, segment);
  for (uint32_t i = 0; slots && i < slots->owner.n; i++) {
    const rlx_arena_entry *e = slot_entry(a, segment, i);
    total += e ? e->capacity : 0;
  }
  return total;
}

/* ---- typed and raw ---- */

static rlx_status write_typed(const rlx_arena *a, rlx_node n, rlx_dtype dtype, const void *data, size_t count) {
  const rlx_arena_entry *e;
  RLX_TRY(find(a, n, &e));
  RLX_TRY_AT(rlx_bound_write(a->queue, &e->at, &e->type, e->layout, dtype, data, count), "writing node %u",
             (unsigned)n);
  return RLX_OK;
}

static rlx_status read_typed(const rlx_arena *a, rlx_node n, rlx_dtype dtype, void *data, size_t count) {
  const rlx_arena_entry *e;
  RLX_TRY(find(a, n, &e));
  RLX_TRY_AT(rlx_bound_read(a->queue, &e->at, &e->type, e->layout, dtype, data, count), "reading node %u", (unsigned)n);
  return RLX_OK;
}

static rlx_status check_plain(rlx_node n, const rlx_arena_entry *e) {
  if (e->layout == 0) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED,
                  "node %u is a weight that is packed for the device (layout %u): its bytes mean nothing outside, use "
                  "typed reads and writes",
                  (unsigned)n, (unsigned)e->layout);
}

static rlx_status find_raw(const rlx_arena *a, rlx_node n, uint64_t offset, const void *data, size_t bytes,
                           const rlx_arena_entry **out) {
  RLX_TRY(find(a, n, out));
  RLX_TRY(check_plain(n, *out));
  const rlx_arena_entry *e = *out;
  if (offset > e->at.bytes || bytes > e->at.bytes - offset)
    return RLX_FAIL(RLX_INVALID, "node %u: %zu bytes at %llu are past the end of its %llu", (unsigned)n, bytes,
                    (unsigned long long)offset, (unsigned long long)e->at.bytes);
  if (!data && bytes) return RLX_FAIL(RLX_INVALID, "node %u: %zu bytes, but the data is NULL", (unsigned)n, bytes);
  return RLX_OK;
}

static rlx_status write_raw(const rlx_arena *a, rlx_node n, uint64_t offset, const void *data, size_t bytes) {
  const rlx_arena_entry *e;
  RLX_TRY(find_raw(a, n, offset, data, bytes, &e));
  if (bytes == 0) return RLX_OK;
  size_t at = e->type.dtype == RLX_BOOL ? rlx_bools_check(data, bytes) : bytes;
  if (at < bytes)
    return RLX_FAIL(RLX_INVALID, "node %u: byte %zu of the data is %u, but a bool is stored as 0 or 1", (unsigned)n, at,
                    ((const unsigned char *)data)[at]);
  RLX_TRY_AT(a->device->backend->write(a->queue, e->at.block, e->at.offset + offset, data, bytes), "writing node %u",
             (unsigned)n);
  return RLX_OK;
}

static rlx_status read_raw(const rlx_arena *a, rlx_node n, uint64_t offset, void *data, size_t bytes) {
  const rlx_arena_entry *e;
  RLX_TRY(find_raw(a, n, offset, data, bytes, &e));
  if (bytes == 0) return RLX_OK;
  RLX_TRY_AT(a->device->backend->read(a->queue, e->at.block, e->at.offset + offset, data, bytes), "reading node %u",
             (unsigned)n);
  return RLX_OK;
}

/* ---- copies inside the device ---- */

/* Moves a range of a block to an overlapping one. When it moves to a higher offset, the last chunk goes first. */
static rlx_status move_overlapping(const rlx_arena *a, rlx_block *b, uint64_t to, uint64_t from, uint64_t bytes) {
  rlx_device *d = a->device;
  if (b->map) {
    RLX_TRY(rlx_queue_sync(a->queue));
    memmove((char *)b->map + to, (char *)b->map + from, (size_t)bytes);
    return RLX_OK;
  }
  uint64_t piece = bytes < MOVE_BYTES ? bytes : MOVE_BYTES;
  rlx_block *temporary;
  RLX_TRY(rlx_block_pool_get(a->pool, piece, false, &temporary));
  rlx_status s = RLX_OK;
  for (uint64_t done = 0; done < bytes && !s; done += piece) {
    uint64_t n = bytes - done < piece ? bytes - done : piece;
    uint64_t at = to > from ? bytes - done - n : done;
    s = d->backend->copy(a->queue, temporary, 0, b, from + at, n);
    if (!s) s = d->backend->copy(a->queue, b, to + at, temporary, 0, n);
  }
  rlx_status synced = rlx_queue_sync(a->queue); /* the temporary may be destroyed as soon as it is returned */
  rlx_block_pool_put(a->pool, temporary);
  return s ? s : synced;
}

/* Copies on the destination arena's queue, ordered with the source arena's queue in both directions: the copy reads
 * what was written there before, and nothing overwrites the source before the copy has read it. */
static rlx_status move(const rlx_arena *a, const rlx_bound *to, uint64_t to_at, const rlx_arena *source,
                       const rlx_bound *from, uint64_t from_at, uint64_t bytes) {
  if (bytes == 0) return RLX_OK;
  to_at += to->offset;
  from_at += from->offset;
  if (to->block == from->block && to_at == from_at) return RLX_OK;
  RLX_TRY(rlx_queue_follow(a->queue, source->queue));
  if (to->block != from->block || to_at >= from_at + bytes || from_at >= to_at + bytes)
    RLX_TRY(a->device->backend->copy(a->queue, to->block, to_at, from->block, from_at, bytes));
  else RLX_TRY(move_overlapping(a, to->block, to_at, from_at, bytes));
  return rlx_queue_follow(source->queue, a->queue);
}

static rlx_status find_pair(const rlx_arena *to, rlx_node to_node, const rlx_arena *from, rlx_node from_node,
                            const rlx_arena_entry **out_to, const rlx_arena_entry **out_from) {
  RLX_TRY_AT(find(to, to_node, out_to), "copy to");
  RLX_TRY_AT(find(from, from_node, out_from), "copy from");
  RLX_TRY(check_plain(to_node, *out_to));
  RLX_TRY(check_plain(from_node, *out_from));
  if (to->device != from->device)
    return RLX_FAIL(RLX_INVALID, "copy from an arena on %s to one on %s: they are two devices", from->device->info.name,
                    to->device->info.name);
  if ((*out_to)->type.dtype != (*out_from)->type.dtype)
    return RLX_FAIL(RLX_INVALID, "copy of node %u (%s) to node %u (%s): the types differ", (unsigned)from_node,
                    rlx_dtype_name((*out_from)->type.dtype), (unsigned)to_node, rlx_dtype_name((*out_to)->type.dtype));
  return RLX_OK;
}

/* Converts a number of elements to bytes. A block type has only whole blocks. */
static rlx_status whole_bytes(rlx_dtype dtype, uint64_t elements, uint64_t *out) {
  const rlx_dtype_info *t = rlx_dtype_describe(dtype);
  if (elements % t->block_elements)
    return RLX_FAIL(RLX_INVALID, "%llu elements of %s are not whole blocks of %u", (unsigned long long)elements,
                    t->name, (unsigned)t->block_elements);
  *out = rlx_elements_bytes(dtype, elements);
  return RLX_OK;
}

static rlx_status check_rows(rlx_node n, const rlx_dims *shape, uint64_t first, uint64_t rows) {
  uint64_t has = (uint64_t)shape->v[0];
  if (first > has || rows > has - first)
    return RLX_FAIL(RLX_INVALID, "%llu rows from row %llu on are past the end of node %u, which is %s",
                    (unsigned long long)rows, (unsigned long long)first, (unsigned)n, RLX_DIMS_TEXT(*shape));
  return RLX_OK;
}

static rlx_status copy_rows(rlx_arena *to, rlx_node to_node, uint64_t to_row, const rlx_arena *from, rlx_node from_node,
                            uint64_t from_row, uint64_t rows) {
  const rlx_arena_entry *t, *f;
  RLX_TRY(find_pair(to, to_node, from, from_node, &t, &f));
  const rlx_dims *ts = &t->type.shape, *fs = &f->type.shape;
  bool is_equal = ts->n == fs->n && ts->n > 0;
  uint64_t row = 1; /* elements of one row; at most those of the tensor, unless it is empty */
  for (int i = 1; is_equal && i < ts->n; i++) {
    is_equal = ts->v[i] == fs->v[i];
    row *= (uint64_t)ts->v[i];
  }
  if (!is_equal)
    return RLX_FAIL(RLX_INVALID, "copy of rows of node %u, %s, to node %u, %s: %s", (unsigned)from_node,
                    RLX_DIMS_TEXT(*fs), (unsigned)to_node, RLX_DIMS_TEXT(*ts),
                    ts->n && fs->n ? "their rows differ" : "a scalar has no rows");
  RLX_TRY(check_rows(to_node, ts, to_row, rows));
  RLX_TRY(check_rows(from_node, fs, from_row, rows));
  uint64_t to_at, from_at, bytes;
  RLX_TRY(whole_bytes(t->type.dtype, to_row * row, &to_at));
  RLX_TRY(whole_bytes(t->type.dtype, from_row * row, &from_at));
  RLX_TRY(whole_bytes(t->type.dtype, rows * row, &bytes));
  RLX_TRY_AT(move(to, &t->at, to_at, from, &f->at, from_at, bytes), "copy of rows of node %u to node %u",
             (unsigned)from_node, (unsigned)to_node);
  return RLX_OK;
}

static rlx_status copy_prefix(rlx_arena *to, rlx_node to_node, const rlx_arena *from, rlx_node from_node,
                              uint64_t count) {
  const rlx_arena_entry *t, *f;
  RLX_TRY(find_pair(to, to_node, from, from_node, &t, &f));
  size_t to_has = rlx_dims_count(&t->type.shape), from_has = rlx_dims_count(&f->type.shape);
  if (count > to_has || count > from_has)
    return RLX_FAIL(RLX_INVALID, "copy of the first %llu elements of node %u, which has %zu, to node %u, which has %zu",
                    (unsigned long long)count, (unsigned)from_node, from_has, (unsigned)to_node, to_has);
  uint64_t bytes;
  RLX_TRY(whole_bytes(t->type.dtype, count, &bytes));
  RLX_TRY_AT(move(to, &t->at, 0, from, &f->at, 0, bytes), "copy of node %u to node %u", (unsigned)from_node,
             (unsigned)to_node);
  return RLX_OK;
}

/* ---- twins ---- */

static bool is_same_place(const rlx_arena_entry *a, const rlx_arena_entry *b) {
  if (a->segment != b->segment) return false;
  if (a->segment == RLX_SEGMENT_NONE) return true;
  return a->block == b->block && a->layout == b->layout && a->at.offset == b->at.offset && a->at.bytes == b->at.bytes &&
         a->capacity == b->capacity && rlx_type_equal(&a->type, &b->type);
}

static rlx_status check_twins(const rlx_arena *to, const rlx_arena *from) {
  if (!to || !from) return RLX_FAIL(RLX_INVALID, "copy of a segment: the arena to copy %s is NULL", to ? "from" : "to");
  if (to->device != from->device)
    return RLX_FAIL(RLX_INVALID, "copy of a segment from %s to %s: they are two devices", from->device->info.name,
                    to->device->info.name);
  if (to->n_nodes != from->n_nodes || to->n_scratch != from->n_scratch)
    return RLX_FAIL(RLX_INVALID, "not twins: %u nodes and %u scratch blocks, %u and %u", (unsigned)from->n_nodes,
                    (unsigned)from->n_scratch, (unsigned)to->n_nodes, (unsigned)to->n_scratch);
  for (uint32_t i = 0; i < to->n_scratch; i++)
    if (to->scratch_bytes[i] != from->scratch_bytes[i])
      return RLX_FAIL(RLX_INVALID, "not twins: scratch block %u has %llu bytes and %llu", (unsigned)i,
                      (unsigned long long)from->scratch_bytes[i], (unsigned long long)to->scratch_bytes[i]);
  for (rlx_node n = 1; n <= to->n_nodes; n++)
    if (!is_same_place(&to->entries[n], &from->entries[n]))
      return RLX_FAIL(RLX_INVALID, "not twins: node %u has another place or type", (unsigned)n);
  return RLX_OK;
}

/* Slots that both twins share need no copy. */
static rlx_status copy_slots(const rlx_arena *to, const rlx_arena *from, rlx_segment segment) {
  for (uint32_t i = 0; i < slots_of(from, segment)->owner.n; i++) {
    const rlx_arena_entry *f = slot_entry(from, segment, i), *t = slot_entry(to, segment, i);
    if (f && t && f->at.block != t->at.block) RLX_TRY(move(to, &t->at, 0, from, &f->at, 0, f->capacity));
  }
  return RLX_OK;
}

static rlx_status copy_segment(rlx_arena *to, const rlx_arena *from, rlx_segment segment) {
  RLX_TRY(check_twins(to, from));
  if (segment == RLX_SEGMENT_WEIGHTS || segment == RLX_SEGMENT_STATE) return copy_slots(to, from, segment);
  if (segment != RLX_SEGMENT_SCRATCH)
    return RLX_FAIL(RLX_INVALID, "copy of a segment: %d is none of weights, state and scratch", (int)segment);
  for (uint32_t i = 0; to != from && i < to->n_scratch; i++)
    RLX_TRY(move(to, &(rlx_bound){.block = rlx_arena_scratch(to, i)}, 0, from,
                 &(rlx_bound){.block = rlx_arena_scratch(from, i)}, 0, to->scratch_bytes[i]));
  return RLX_OK;
}

/* ---- the public calls that move bytes, each under the locks of the executables that own the arenas ---- */

void rlx_arena_set_queue(rlx_arena *a, rlx_queue *q) { a->queue = q; }
void rlx_arena_set_lock(rlx_arena *a, rlx_lock *lock) { a->lock = lock; }

static rlx_status enter(const rlx_arena *a, const char *call) {
  return a && a->lock ? rlx_lock_try_nested(a->lock, call) : RLX_OK;
}

static void leave(const rlx_arena *a) {
  if (a && a->lock) rlx_lock_release(a->lock);
}

static rlx_status enter_both(const rlx_arena *a, const rlx_arena *b, const char *call) {
  RLX_TRY(enter(a, call));
  rlx_status s = enter(b, call);
  if (s) leave(a);
  return s;
}

static rlx_status leave_both(const rlx_arena *a, const rlx_arena *b, rlx_status s) {
  leave(b);
  leave(a);
  return s;
}

rlx_status rlx_arena_write(rlx_arena *a, rlx_node n, rlx_dtype dtype, const void *data, size_t count) {
  RLX_TRY(enter(a, "rlx_arena_write"));
  rlx_status s = write_typed(a, n, dtype, data, count);
  leave(a);
  return s;
}

rlx_status rlx_arena_read(const rlx_arena *a, rlx_node n, rlx_dtype dtype, void *data, size_t count) {
  RLX_TRY(enter(a, "rlx_arena_read"));
  rlx_status s = read_typed(a, n, dtype, data, count);
  leave(a);
  return s;
}

rlx_status rlx_arena_write_raw(rlx_arena *a, rlx_node n, uint64_t offset, const void *data, size_t bytes) {
  RLX_TRY(enter(a, "rlx_arena_write_raw"));
  rlx_status s = write_raw(a, n, offset, data, bytes);
  leave(a);
  return s;
}

rlx_status rlx_arena_read_raw(const rlx_arena *a, rlx_node n, uint64_t offset, void *data, size_t bytes) {
  RLX_TRY(enter(a, "rlx_arena_read_raw"));
  rlx_status s = read_raw(a, n, offset, data, bytes);
  leave(a);
  return s;
}

rlx_status rlx_arena_copy_rows(rlx_arena *to, rlx_node to_node, uint64_t to_row, const rlx_arena *from,
                               rlx_node from_node, uint64_t from_row, uint64_t rows) {
  RLX_TRY(enter_both(to, from, "rlx_arena_copy_rows"));
  return leave_both(to, from, copy_rows(to, to_node, to_row, from, from_node, from_row, rows));
}

rlx_status rlx_arena_copy_prefix(rlx_arena *to, rlx_node to_node, const rlx_arena *from, rlx_node from_node,
                                 uint64_t count) {
  RLX_TRY(enter_both(to, from, "rlx_arena_copy_prefix"));
  return leave_both(to, from, copy_prefix(to, to_node, from, from_node, count));
}

rlx_status rlx_arena_copy_segment(rlx_arena *to, const rlx_arena *from, rlx_segment segment) {
  RLX_TRY(enter_both(to, from, "rlx_arena_copy_segment"));
  return leave_both(to, from, copy_segment(to, from, segment));
}
