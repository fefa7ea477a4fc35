/* The staging ring and the open batch. The ring is created on first use; if the device's memory is host-visible, it has
 * only command buffers. */
#include "vulkan/staging.h"

#include "base/log.h"

#include <string.h>

#include "vulkan/vk.h"

/* ---- the ring ---- */

rlx_status vk_staging_init(vk_queue *q) {
  if (!rlx_cond_init(&q->staging.released)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a condition variable");
  q->staging.has_condition = true;
  return RLX_OK;
}

void vk_staging_deinit(vk_queue *q) {
  vk_staging *s = &q->staging;
  if (s->pool) q->device->DestroyCommandPool(q->device->handle, s->pool, NULL);
  vk_range_free(q->device, &q->device->host_heap, &s->memory);
  if (s->has_condition) rlx_cond_destroy(&s->released);
}

static rlx_status make_commands(vk_queue *q) {
  vk_staging *s = &q->staging;
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = q->device->physical->queue_family};
  VkResult r = s->pool ? VK_SUCCESS : q->device->CreateCommandPool(q->device->handle, &pool, NULL, &s->pool);
  if (r) return vk_fail(q->device, r, "the command pool of the staging ring");
  const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = s->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = VK_N_SLOTS};
  VkCommandBuffer cmds[VK_N_SLOTS];
  r = q->device->AllocateCommandBuffers(q->device->handle, &info, cmds);
  if (r) return vk_fail(q->device, r, "the command buffers of the staging ring");
  for (uint32_t i = 0; i < VK_N_SLOTS; i++) s->slots[i] = (vk_slot){.cmd = cmds[i]};
  return RLX_OK;
}

static rlx_status ready(vk_queue *q) {
  vk_staging *s = &q->staging;
  if (s->is_ready) return RLX_OK;
  s->slot_bytes = gpu_tuned(&q->device->caps)->staging_slot_bytes;
  if (!s->memory.chunk && !q->device->base.info.is_mapped)
    RLX_TRY(
      vk_range_alloc(q->device, &q->device->host_heap, s->slot_bytes * VK_N_SLOTS, "the staging ring", &s->memory));
  RLX_TRY(make_commands(q));
  s->is_ready = true;
  return RLX_OK;
}

static uint64_t slot_offset(const vk_queue *q, const vk_slot *slot) {
  return q->staging.memory.offset + (uint64_t)(slot - q->staging.slots) * q->staging.slot_bytes;
}

static unsigned char *slot_map(const vk_queue *q, const vk_slot *slot) {
  return q->staging.memory.chunk->map + slot_offset(q, slot);
}

/* A slot that is not in use. If there is none, *oldest is the slot to wait for; NULL if threads hold all of them. */
static vk_slot *find_free(vk_queue *q, vk_slot **oldest) {
  vk_staging *s = &q->staging;
  *oldest = NULL;
  for (vk_slot *slot = s->slots; slot < s->slots + VK_N_SLOTS; slot++) {
    if (slot->is_held || slot == s->open) continue;
    if (vk_is_done_locked(q, slot->serial)) return slot;
    if (!*oldest || slot->serial < (*oldest)->serial) *oldest = slot;
  }
  return NULL;
}

static rlx_status take(vk_queue *q, vk_slot **out) {
  *out = NULL;
  RLX_TRY(ready(q));
  for (;;) {
    RLX_TRY(vk_check(q->device));
    vk_slot *oldest;
    *out = find_free(q, &oldest);
    if (*out) return RLX_OK;
    if (oldest) RLX_TRY(vk_wait_locked(q, oldest->serial));
    else rlx_cond_wait(&q->staging.released, &q->lock);
  }
}

static void release(vk_queue *q, vk_slot *slot) {
  slot->is_held = false;
  rlx_cond_broadcast(&q->staging.released);
}

/* Begins a slot's command buffer with a barrier, after all work submitted before. */
static rlx_status begin(vk_queue *q, const vk_slot *slot) {
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                         .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  VkResult r = q->device->BeginCommandBuffer(slot->cmd, &info);
  if (r) return vk_fail(q->device, r, "recording a transfer");
  vk_barrier(q->device, slot->cmd, false);
  return RLX_OK;
}

static rlx_status end(vk_queue *q, const vk_slot *slot) {
  VkResult r = q->device->EndCommandBuffer(slot->cmd);
  return r ? vk_fail(q->device, r, "recording a transfer") : RLX_OK;
}

static void copy_bytes(const vk_queue *q, VkCommandBuffer cmd, const vk_chunk *from, uint64_t from_offset,
                       const vk_chunk *to, uint64_t to_offset, uint64_t bytes) {
  const VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = bytes};
  q->device->CmdCopyBuffer(cmd, from->buffer, to->buffer, 1, &region);
}

/* ---- the batch ---- */

rlx_status vk_batch_end_locked(vk_queue *q, vk_slot **out) {
  vk_slot *slot = *out = q->staging.open;
  if (!slot || slot->is_ended) return RLX_OK;
  if (q->staging.fills_host) vk_barrier(q->device, slot->cmd, true);
  rlx_status s = end(q, slot);
  slot->is_ended = !s;
  if (s) q->staging.open = *out = NULL; /* its commands are lost; the returned status reports it */
  return s;
}

static bool has_room(const vk_queue *q, uint64_t bytes) {
  const vk_slot *open = q->staging.open;
  return open && !open->is_ended && open->used + bytes <= q->staging.slot_bytes;
}

static rlx_status open_batch(vk_queue *q) {
  vk_slot *slot;
  RLX_TRY(take(q, &slot));
  if (q->staging.open) return RLX_OK; /* another thread opened one while the lock was released */
  RLX_TRY(begin(q, slot));
  slot->used = 0;
  slot->is_ended = false;
  q->staging.hazards.n = 0;
  q->staging.fills_host = false;
  q->staging.open = slot;
  return RLX_OK;
}

/* The open batch, with room for `bytes` in its slot. */
static rlx_status batch(vk_queue *q, uint64_t bytes, vk_slot **out) {
  uint64_t serial;
  *out = NULL;
  RLX_TRY(vk_check(q->device));
  while (!has_room(q, bytes)) {
    if (q->staging.open) RLX_TRY(vk_submit_locked(q, VK_NULL_HANDLE, &serial));
    RLX_TRY(open_batch(q));
  }
  *out = q->staging.open;
  return RLX_OK;
}

static void order(vk_queue *q, const vk_slot *slot, const gpu_access *a, uint32_t n) {
  if (gpu_hazards_meet(&q->staging.hazards, a, n)) vk_barrier(q->device, slot->cmd, false);
}

static rlx_status write_small(vk_queue *q, const vk_range *to, uint64_t offset, const void *src, uint64_t bytes) {
  vk_slot *slot;
  RLX_TRY(batch(q, bytes, &slot));
  memcpy(slot_map(q, slot) + slot->used, src, (size_t)bytes);
  const uint64_t at = to->offset + offset;
  order(q, slot, &(gpu_access){to->chunk, at, at + bytes, true}, 1);
  copy_bytes(q, slot->cmd, q->staging.memory.chunk, slot_offset(q, slot) + slot->used, to->chunk, at, bytes);
  slot->used += (bytes + 15) / 16 * 16;
  return RLX_OK;
}

/* Fills whole 4-byte words; the bytes left at both ends are copied from a range of zeros. */
static rlx_status zero(vk_queue *q, const vk_range *to, uint64_t offset, uint64_t bytes) {
  vk_slot *slot;
  const uint64_t from = to->offset + offset, until = from + bytes;
  uint64_t first = (from + 3) / 4 * 4, last = until / 4 * 4;
  if (first >= last) first = last = until;
  RLX_TRY(batch(q, 0, &slot));
  order(q, slot, &(gpu_access){to->chunk, from, until, true}, 1);
  if (first < last) q->device->CmdFillBuffer(slot->cmd, to->chunk->buffer, first, last - first, 0);
  const vk_range *zeros = &q->device->nothing;
  if (from < first) copy_bytes(q, slot->cmd, zeros->chunk, zeros->offset, to->chunk, from, first - from);
  if (last < until) copy_bytes(q, slot->cmd, zeros->chunk, zeros->offset, to->chunk, last, until - last);
  return RLX_OK;
}

static rlx_status copy(vk_queue *q, const gpu_access access[2], uint64_t bytes) {
  vk_slot *slot;
  RLX_TRY(batch(q, 0, &slot));
  order(q, slot, access, 2);
  copy_bytes(q, slot->cmd, access[0].memory, access[0].begin, access[1].memory, access[1].begin, bytes);
  return RLX_OK;
}

/* ---- large transfers ---- */

/* Uploads bytes [from, from + bytes) of what the producer makes. This thread holds the slot while filling it; then the
 * device uses it. */
static rlx_status write_piece(vk_queue *q, const vk_range *to, uint64_t offset, const rlx_producer *p, uint64_t from,
                              uint64_t bytes) {
  vk_slot *slot;
  uint64_t serial;
  RLX_TRY(take(q, &slot));
  slot->is_held = true;
  rlx_log_unlock(&q->lock);
  rlx_status s = p->produce(p->user, from, slot_map(q, slot), bytes);
  rlx_log_lock(&q->lock);
  if (!s) s = begin(q, slot);
  if (!s) {
    copy_bytes(q, slot->cmd, q->staging.memory.chunk, slot_offset(q, slot), to->chunk, to->offset + offset + from,
               bytes);
    s = end(q, slot);
  }
  if (!s) s = vk_submit_locked(q, slot->cmd, &serial);
  if (!s) slot->serial = serial;
  release(q, slot);
  return s;
}

static rlx_status write_large(vk_queue *q, const vk_range *to, uint64_t offset, const rlx_producer *p, uint64_t bytes) {
  RLX_TRY(ready(q));
  const uint64_t max = q->staging.slot_bytes;
  for (uint64_t at = 0; at < bytes; at += max)
    RLX_TRY(write_piece(q, to, offset, p, at, bytes - at < max ? bytes - at : max));
  return RLX_OK;
}

static rlx_status produce_copy(void *user, uint64_t from, void *to, uint64_t bytes) {
  memcpy(to, (const unsigned char *)user + from, (size_t)bytes);
  return RLX_OK;
}

typedef struct read_piece {
  vk_slot *slot;
  unsigned char *dst;
  uint64_t bytes;
} read_piece;

static rlx_status ask_piece(vk_queue *q, const vk_range *from, uint64_t at, vk_slot *slot, uint64_t bytes) {
  uint64_t serial;
  RLX_TRY(begin(q, slot));
  copy_bytes(q, slot->cmd, from->chunk, at, q->staging.memory.chunk, slot_offset(q, slot), bytes);
  vk_barrier(q->device, slot->cmd, true);
  RLX_TRY(end(q, slot));
  RLX_TRY(vk_submit_locked(q, slot->cmd, &serial));
  slot->serial = serial;
  slot->is_held = true;
  return RLX_OK;
}

/* Downloads in chunks. Copies are submitted in advance while slots are free. Only the first chunk may wait for a slot,
 * so two threads cannot each hold a slot that the other waits for. */
static rlx_status read_pieces(vk_queue *q, const vk_range *from, uint64_t offset, unsigned char *dst, uint64_t bytes) {
  read_piece ahead[VK_N_SLOTS];
  uint32_t n = 0;
  uint64_t asked = 0;
  rlx_status s = ready(q);
  const uint64_t max = q->staging.slot_bytes;
  while (!s && (asked < bytes || n)) {
    vk_slot *slot = NULL, *oldest;
    if (asked < bytes && n < VK_N_SLOTS) {
      if (n) slot = find_free(q, &oldest);
      else s = take(q, &slot);
    }
    if (slot) {
      uint64_t piece = bytes - asked < max ? bytes - asked : max;
      s = ask_piece(q, from, from->offset + offset + asked, slot, piece);
      if (!s) ahead[n++] = (read_piece){slot, dst + asked, piece};
      asked += piece;
    } else if (!s) {
      rlx_log_unlock(&q->lock);
      s = vk_wait(q, ahead[0].slot->serial);
      if (!s) memcpy(ahead[0].dst, slot_map(q, ahead[0].slot), (size_t)ahead[0].bytes);
      rlx_log_lock(&q->lock);
      release(q, ahead[0].slot);
      memmove(ahead, ahead + 1, --n * sizeof *ahead);
    }
  }
  for (uint32_t i = 0; i < n; i++) release(q, ahead[i].slot);
  return s;
}

/* ---- pending copies ---- */

static vk_block *block_of(const rlx_block *b) { return (vk_block *)(uintptr_t)b; } /* only `pending` changes */

/* Under the lock. The block is used by the open batch or by a submission that was just made. */
static void note_pending(const vk_queue *q, const rlx_block *b, uint64_t serial) {
  atomic_store(&block_of(b)->pending, (uint64_t)(q->id & VK_MAX_QUEUE_ID) << VK_SERIAL_BITS | serial);
}

/* Waits for copies of the block on other queues and, with `own`, on this one. */
static rlx_status wait_for_copies(const vk_queue *q, const rlx_block *b, bool own) {
  uint64_t pending = atomic_load(&block_of(b)->pending);
  if (!pending || (!own && pending >> VK_SERIAL_BITS == (q->id & VK_MAX_QUEUE_ID))) return RLX_OK;
  RLX_TRY(vk_wait_pending(q->device, pending));
  atomic_compare_exchange_strong(&block_of(b)->pending, &pending, 0);
  return RLX_OK;
}

static bool is_idle_locked(vk_queue *q) { return !q->staging.open && vk_is_done_locked(q, q->submitted); }

/* ---- backend calls ---- */

static rlx_status check_range(vk_queue *q, const char *what, const rlx_block *b, uint64_t offset, uint64_t bytes) {
  RLX_TRY(vk_check(q->device));
  if (!b) return RLX_FAIL(RLX_INVALID, "vulkan: %s: the block is NULL", what);
  if (offset > b->bytes || bytes > b->bytes - offset)
    return RLX_FAIL(RLX_INVALID, "vulkan: %s: %llu bytes at %llu are not inside a block of %llu", what,
                    (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
  return RLX_OK;
}

rlx_status vk_write(rlx_queue *base, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  vk_queue *q = vk_queue_of(base);
  RLX_TRY(check_range(q, "write", b, offset, bytes));
  if (!bytes) return RLX_OK;
  RLX_TRY(wait_for_copies(q, b, b->map != NULL));
  if (b->map) {
    memcpy((unsigned char *)b->map + offset, src, (size_t)bytes);
    return RLX_OK;
  }
  const rlx_producer copy_of_src = {produce_copy, (void *)(uintptr_t)src};
  rlx_log_lock(&q->lock);
  rlx_status s = bytes <= VK_MAX_BATCH_WRITE ? write_small(q, vk_range_of(b), offset, src, bytes)
                                             : write_large(q, vk_range_of(b), offset, &copy_of_src, bytes);
  note_pending(q, b, q->submitted + (q->staging.open != NULL));
  rlx_log_unlock(&q->lock);
  return s;
}

rlx_status vk_write_from(rlx_queue *base, rlx_block *b, uint64_t offset, uint64_t bytes, const rlx_producer *p) {
  vk_queue *q = vk_queue_of(base);
  RLX_TRY(check_range(q, "write", b, offset, bytes));
  if (!bytes) return RLX_OK;
  RLX_TRY(wait_for_copies(q, b, false));
  rlx_log_lock(&q->lock);
  rlx_status s = write_large(q, vk_range_of(b), offset, p, bytes);
  note_pending(q, b, q->submitted + (q->staging.open != NULL));
  rlx_log_unlock(&q->lock);
  return s;
}

rlx_status vk_read(rlx_queue *base, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  vk_queue *q = vk_queue_of(base);
  RLX_TRY(check_range(q, "read", b, offset, bytes));
  if (!bytes) return RLX_OK;
  RLX_TRY(wait_for_copies(q, b, b->map != NULL));
  if (b->map) {
    memcpy(dst, (const unsigned char *)b->map + offset, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&q->lock);
  rlx_status s = read_pieces(q, vk_range_of(b), offset, dst, bytes);
  rlx_log_unlock(&q->lock);
  return s;
}

static rlx_status check_copy(vk_queue *q, const rlx_block *dst, uint64_t dst_offset, const rlx_block *src,
                             uint64_t src_offset, uint64_t bytes) {
  RLX_TRY(check_range(q, "copy to", dst, dst_offset, bytes));
  RLX_TRY(check_range(q, "copy from", src, src_offset, bytes));
  if (bytes && dst == src && dst_offset < src_offset + bytes && src_offset < dst_offset + bytes)
    return RLX_FAIL(RLX_INVALID, "vulkan: copy of %llu bytes from %llu to %llu of one block: they overlap",
                    (unsigned long long)bytes, (unsigned long long)src_offset, (unsigned long long)dst_offset);
  return RLX_OK;
}

rlx_status vk_copy(rlx_queue *base, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                   uint64_t bytes) {
  vk_queue *q = vk_queue_of(base);
  RLX_TRY(check_copy(q, dst, dst_offset, src, src_offset, bytes));
  if (!bytes) return RLX_OK;
  RLX_TRY(wait_for_copies(q, dst, false));
  RLX_TRY(wait_for_copies(q, src, false));
  const vk_range *from = vk_range_of(src), *to = vk_range_of(dst);
  const uint64_t a = from->offset + src_offset, z = to->offset + dst_offset;
  const gpu_access access[2] = {{from->chunk, a, a + bytes, false}, {to->chunk, z, z + bytes, true}};
  rlx_log_lock(&q->lock);
  const bool is_direct = dst->map && src->map && is_idle_locked(q);
  rlx_status s = is_direct ? RLX_OK : copy(q, access, bytes);
  if (!s && !is_direct) {
    q->staging.fills_host = q->staging.fills_host || dst->map;
    note_pending(q, dst, q->submitted + 1);
    note_pending(q, src, q->submitted + 1);
  }
  rlx_log_unlock(&q->lock);
  if (is_direct)
    memcpy((unsigned char *)dst->map + dst_offset, (const unsigned char *)src->map + src_offset, (size_t)bytes);
  return s;
}

rlx_status vk_zero(rlx_queue *base, rlx_block *b, uint64_t offset, uint64_t bytes) {
  vk_queue *q = vk_queue_of(base);
  RLX_TRY(check_range(q, "zero", b, offset, bytes));
  if (!bytes) return RLX_OK;
  RLX_TRY(wait_for_copies(q, b, b->map != NULL));
  if (b->map) {
    memset((unsigned char *)b->map + offset, 0, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&q->lock);
  rlx_status s = zero(q, vk_range_of(b), offset, bytes);
  if (!s) note_pending(q, b, q->submitted + 1);
  rlx_log_unlock(&q->lock);
  return s;
}

rlx_status vk_range_zero(vk_queue *q, const vk_range *r) {
  void *map = vk_range_map(r);
  if (map) {
    memset(map, 0, (size_t)r->bytes);
    return RLX_OK;
  }
  rlx_log_lock(&q->lock);
  rlx_status s = zero(q, r, 0, r->bytes);
  rlx_log_unlock(&q->lock);
  return s;
}
