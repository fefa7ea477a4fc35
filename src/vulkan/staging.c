/* The ring and the batch. The ring is made on first use; of a device whose memory the host can see, its commands alone. */
#include "vulkan/staging.h"

#include "base/log.h"

#include <string.h>

#include "vulkan/vk.h"

/* ---- the ring ---- */

rlx_status vk_staging_init(vk_device *d) {
  if (pthread_cond_init(&d->staging.released, NULL)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a condition variable");
  d->staging.has_condition = true;
  return RLX_OK;
}

void vk_staging_deinit(vk_device *d) {
  vk_staging *s = &d->staging;
  if (s->pool) d->DestroyCommandPool(d->handle, s->pool, NULL);
  if (s->has_condition) pthread_cond_destroy(&s->released);
}

static rlx_status make_commands(vk_device *d) {
  vk_staging *s = &d->staging;
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                        .queueFamilyIndex = d->physical->queue_family};
  VkResult r = s->pool ? VK_SUCCESS : d->CreateCommandPool(d->handle, &pool, NULL, &s->pool);
  if (r) return vk_fail(d, r, "the command pool of the staging ring");
  const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = s->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = VK_N_SLOTS};
  VkCommandBuffer cmds[VK_N_SLOTS];
  r = d->AllocateCommandBuffers(d->handle, &info, cmds);
  if (r) return vk_fail(d, r, "the command buffers of the staging ring");
  for (uint32_t i = 0; i < VK_N_SLOTS; i++) s->slots[i] = (vk_slot){.cmd = cmds[i]};
  return RLX_OK;
}

static rlx_status ready(vk_device *d) {
  vk_staging *s = &d->staging;
  if (s->is_ready) return RLX_OK;
  s->slot_bytes = gpu_tuned(&d->caps)->staging_slot_bytes;
  if (!s->memory.chunk && !d->base.info.is_mapped)
    RLX_TRY(vk_range_alloc(d, &d->host_heap, s->slot_bytes * VK_N_SLOTS, "the staging ring", &s->memory));
  RLX_TRY(make_commands(d));
  s->is_ready = true;
  return RLX_OK;
}

static uint64_t slot_offset(const vk_device *d, const vk_slot *slot) {
  return d->staging.memory.offset + (uint64_t)(slot - d->staging.slots) * d->staging.slot_bytes;
}

static unsigned char *slot_map(const vk_device *d, const vk_slot *slot) {
  return d->staging.memory.chunk->map + slot_offset(d, slot);
}

/* A slot that nobody uses; *oldest is the one to wait for where there is none: NULL, if threads hold them all. */
static vk_slot *find_free(vk_device *d, vk_slot **oldest) {
  vk_staging *s = &d->staging;
  *oldest = NULL;
  for (vk_slot *slot = s->slots; slot < s->slots + VK_N_SLOTS; slot++) {
    if (slot->is_held || slot == s->open) continue;
    if (vk_is_done_locked(d, slot->serial)) return slot;
    if (!*oldest || slot->serial < (*oldest)->serial) *oldest = slot;
  }
  return NULL;
}

static rlx_status take(vk_device *d, vk_slot **out) {
  *out = NULL;
  RLX_TRY(ready(d));
  for (;;) {
    RLX_TRY(vk_check(d));
    vk_slot *oldest;
    *out = find_free(d, &oldest);
    if (*out) return RLX_OK;
    if (oldest) RLX_TRY(vk_wait_locked(d, oldest->serial));
    else pthread_cond_wait(&d->staging.released, &d->lock);
  }
}

static void release(vk_device *d, vk_slot *slot) {
  slot->is_held = false;
  pthread_cond_broadcast(&d->staging.released);
}

/* Commands of a slot begin behind everything submitted before. */
static rlx_status begin(vk_device *d, const vk_slot *slot) {
  const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                         .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  VkResult r = d->BeginCommandBuffer(slot->cmd, &info);
  if (r) return vk_fail(d, r, "recording a transfer");
  vk_barrier(d, slot->cmd, false);
  return RLX_OK;
}

static rlx_status end(vk_device *d, const vk_slot *slot) {
  VkResult r = d->EndCommandBuffer(slot->cmd);
  return r ? vk_fail(d, r, "recording a transfer") : RLX_OK;
}

static void copy_bytes(const vk_device *d, VkCommandBuffer cmd, const vk_chunk *from, uint64_t from_offset,
                       const vk_chunk *to, uint64_t to_offset, uint64_t bytes) {
  const VkBufferCopy region = {.srcOffset = from_offset, .dstOffset = to_offset, .size = bytes};
  d->CmdCopyBuffer(cmd, from->buffer, to->buffer, 1, &region);
}

/* ---- the batch ---- */

rlx_status vk_batch_end_locked(vk_device *d, vk_slot **out) {
  vk_slot *slot = *out = d->staging.open;
  if (!slot || slot->is_ended) return RLX_OK;
  if (d->base.info.is_mapped) vk_barrier(d, slot->cmd, true);
  rlx_status s = end(d, slot);
  slot->is_ended = !s;
  if (s) d->staging.open = *out = NULL; /* its commands are gone: whoever reads this status knows */
  return s;
}

static bool has_room(const vk_device *d, uint64_t bytes) {
  const vk_slot *open = d->staging.open;
  return open && !open->is_ended && open->used + bytes <= d->staging.slot_bytes;
}

static rlx_status open_batch(vk_device *d) {
  vk_slot *slot;
  RLX_TRY(take(d, &slot));
  if (d->staging.open) return RLX_OK; /* the lock was let go meanwhile, and another thread came */
  RLX_TRY(begin(d, slot));
  slot->used = 0;
  slot->is_ended = false;
  d->staging.hazards.n = 0;
  d->staging.open = slot;
  return RLX_OK;
}

/* The open batch, with room for `bytes` in its slot. */
static rlx_status batch(vk_device *d, uint64_t bytes, vk_slot **out) {
  uint64_t serial;
  *out = NULL;
  RLX_TRY(vk_check(d));
  while (!has_room(d, bytes)) {
    if (d->staging.open) RLX_TRY(vk_submit_locked(d, VK_NULL_HANDLE, &serial));
    RLX_TRY(open_batch(d));
  }
  *out = d->staging.open;
  return RLX_OK;
}

static void order(vk_device *d, const vk_slot *slot, const vk_access *a, uint32_t n) {
  if (vk_hazards_meet(&d->staging.hazards, a, n)) vk_barrier(d, slot->cmd, false);
}

static rlx_status write_small(vk_device *d, const vk_range *to, uint64_t offset, const void *src, uint64_t bytes) {
  vk_slot *slot;
  RLX_TRY(batch(d, bytes, &slot));
  memcpy(slot_map(d, slot) + slot->used, src, (size_t)bytes);
  const uint64_t at = to->offset + offset;
  order(d, slot, &(vk_access){to->chunk, at, at + bytes, true}, 1);
  copy_bytes(d, slot->cmd, d->staging.memory.chunk, slot_offset(d, slot) + slot->used, to->chunk, at, bytes);
  slot->used += (bytes + 15) / 16 * 16;
  return RLX_OK;
}

/* Whole words are filled; what is left at the ends is copied from a place that is zero. */
static rlx_status zero(vk_device *d, const vk_range *to, uint64_t offset, uint64_t bytes) {
  vk_slot *slot;
  const uint64_t from = to->offset + offset, until = from + bytes;
  uint64_t first = (from + 3) / 4 * 4, last = until / 4 * 4;
  if (first >= last) first = last = until;
  RLX_TRY(batch(d, 0, &slot));
  order(d, slot, &(vk_access){to->chunk, from, until, true}, 1);
  if (first < last) d->CmdFillBuffer(slot->cmd, to->chunk->buffer, first, last - first, 0);
  const vk_range *zeros = &d->nothing;
  if (from < first) copy_bytes(d, slot->cmd, zeros->chunk, zeros->offset, to->chunk, from, first - from);
  if (last < until) copy_bytes(d, slot->cmd, zeros->chunk, zeros->offset, to->chunk, last, until - last);
  return RLX_OK;
}

static rlx_status copy(vk_device *d, const vk_access access[2], uint64_t bytes) {
  vk_slot *slot;
  RLX_TRY(batch(d, 0, &slot));
  order(d, slot, access, 2);
  copy_bytes(d, slot->cmd, access[0].chunk, access[0].begin, access[1].chunk, access[1].begin, bytes);
  return RLX_OK;
}

/* ---- large transfers ---- */

/* One piece up: the slot is this thread's while it is filled, then the device's. */
static rlx_status write_piece(vk_device *d, const vk_range *to, uint64_t offset, const void *src, uint64_t bytes) {
  vk_slot *slot;
  uint64_t serial;
  RLX_TRY(take(d, &slot));
  slot->is_held = true;
  rlx_log_unlock(&d->lock);
  memcpy(slot_map(d, slot), src, (size_t)bytes);
  rlx_log_lock(&d->lock);
  rlx_status s = begin(d, slot);
  if (!s) {
    copy_bytes(d, slot->cmd, d->staging.memory.chunk, slot_offset(d, slot), to->chunk, to->offset + offset, bytes);
    s = end(d, slot);
  }
  if (!s) s = vk_submit_locked(d, slot->cmd, &serial);
  if (!s) slot->serial = serial;
  release(d, slot);
  return s;
}

static rlx_status write_large(vk_device *d, const vk_range *to, uint64_t offset, const unsigned char *src,
                              uint64_t bytes) {
  RLX_TRY(ready(d));
  const uint64_t max = d->staging.slot_bytes;
  for (uint64_t at = 0; at < bytes; at += max)
    RLX_TRY(write_piece(d, to, offset + at, src + at, bytes - at < max ? bytes - at : max));
  return RLX_OK;
}

typedef struct read_piece {
  vk_slot *slot;
  unsigned char *dst;
  uint64_t bytes;
} read_piece;

static rlx_status ask_piece(vk_device *d, const vk_range *from, uint64_t at, vk_slot *slot, uint64_t bytes) {
  uint64_t serial;
  RLX_TRY(begin(d, slot));
  copy_bytes(d, slot->cmd, from->chunk, at, d->staging.memory.chunk, slot_offset(d, slot), bytes);
  vk_barrier(d, slot->cmd, true);
  RLX_TRY(end(d, slot));
  RLX_TRY(vk_submit_locked(d, slot->cmd, &serial));
  slot->serial = serial;
  slot->is_held = true;
  return RLX_OK;
}

/* Pieces down: some are asked for ahead, as slots are free; only the first may be waited for, so that two threads
 * cannot each hold what the other waits for. */
static rlx_status read_pieces(vk_device *d, const vk_range *from, uint64_t offset, unsigned char *dst, uint64_t bytes) {
  read_piece ahead[VK_N_SLOTS];
  uint32_t n = 0;
  uint64_t asked = 0;
  rlx_status s = ready(d);
  const uint64_t max = d->staging.slot_bytes;
  while (!s && (asked < bytes || n)) {
    vk_slot *slot = NULL, *oldest;
    if (asked < bytes && n < VK_N_SLOTS) {
      if (n) slot = find_free(d, &oldest);
      else s = take(d, &slot);
    }
    if (slot) {
      uint64_t piece = bytes - asked < max ? bytes - asked : max;
      s = ask_piece(d, from, from->offset + offset + asked, slot, piece);
      if (!s) ahead[n++] = (read_piece){slot, dst + asked, piece};
      asked += piece;
    } else if (!s) {
      rlx_log_unlock(&d->lock);
      s = vk_wait(d, ahead[0].slot->serial);
      if (!s) memcpy(ahead[0].dst, slot_map(d, ahead[0].slot), (size_t)ahead[0].bytes);
      rlx_log_lock(&d->lock);
      release(d, ahead[0].slot);
      memmove(ahead, ahead + 1, --n * sizeof *ahead);
    }
  }
  for (uint32_t i = 0; i < n; i++) release(d, ahead[i].slot);
  return s;
}

/* ---- what the runtime calls ---- */

static rlx_status check_range(vk_device *d, const char *what, const rlx_block *b, uint64_t offset, uint64_t bytes) {
  RLX_TRY(vk_check(d));
  if (!b) return RLX_FAIL(RLX_INVALID, "vulkan: %s: the block is NULL", what);
  if (offset > b->bytes || bytes > b->bytes - offset)
    return RLX_FAIL(RLX_INVALID, "vulkan: %s: %llu bytes at %llu are not inside a block of %llu", what,
                    (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
  return RLX_OK;
}

rlx_status vk_block_write(rlx_device *base, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  vk_device *d = vk_device_of(base);
  RLX_TRY(check_range(d, "write", b, offset, bytes));
  if (!bytes) return RLX_OK;
  if (b->map) {
    memcpy((unsigned char *)b->map + offset, src, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&d->lock);
  rlx_status s = bytes <= VK_MAX_BATCH_WRITE ? write_small(d, vk_range_of(b), offset, src, bytes)
                                             : write_large(d, vk_range_of(b), offset, src, bytes);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status vk_block_read(rlx_device *base, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  vk_device *d = vk_device_of(base);
  RLX_TRY(check_range(d, "read", b, offset, bytes));
  if (!bytes) return RLX_OK;
  if (b->map) {
    memcpy(dst, (const unsigned char *)b->map + offset, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&d->lock);
  rlx_status s = read_pieces(d, vk_range_of(b), offset, dst, bytes);
  rlx_log_unlock(&d->lock);
  return s;
}

static rlx_status check_copy(vk_device *d, const rlx_block *dst, uint64_t dst_offset, const rlx_block *src,
                             uint64_t src_offset, uint64_t bytes) {
  RLX_TRY(check_range(d, "copy to", dst, dst_offset, bytes));
  RLX_TRY(check_range(d, "copy from", src, src_offset, bytes));
  if (bytes && dst == src && dst_offset < src_offset + bytes && src_offset < dst_offset + bytes)
    return RLX_FAIL(RLX_INVALID, "vulkan: copy of %llu bytes from %llu to %llu of one block: they overlap",
                    (unsigned long long)bytes, (unsigned long long)src_offset, (unsigned long long)dst_offset);
  return RLX_OK;
}

rlx_status vk_block_copy_behind(rlx_device *base, rlx_block *dst, uint64_t dst_offset, const rlx_block *src,
                                uint64_t src_offset, uint64_t bytes) {
  vk_device *d = vk_device_of(base);
  RLX_TRY(check_copy(d, dst, dst_offset, src, src_offset, bytes));
  if (!bytes) return RLX_OK;
  const vk_range *from = vk_range_of(src), *to = vk_range_of(dst);
  const uint64_t a = from->offset + src_offset, z = to->offset + dst_offset;
  const vk_access access[2] = {{from->chunk, a, a + bytes, false}, {to->chunk, z, z + bytes, true}};
  rlx_log_lock(&d->lock);
  rlx_status s = copy(d, access, bytes);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status vk_block_copy(rlx_device *base, rlx_block *dst, uint64_t dst_offset, const rlx_block *src,
                         uint64_t src_offset, uint64_t bytes) {
  if (!dst || !src || !dst->map || !src->map)
    return vk_block_copy_behind(base, dst, dst_offset, src, src_offset, bytes);
  RLX_TRY(check_copy(vk_device_of(base), dst, dst_offset, src, src_offset, bytes));
  if (bytes)
    memcpy((unsigned char *)dst->map + dst_offset, (const unsigned char *)src->map + src_offset, (size_t)bytes);
  return RLX_OK;
}

rlx_status vk_block_zero(rlx_device *base, rlx_block *b, uint64_t offset, uint64_t bytes) {
  vk_device *d = vk_device_of(base);
  RLX_TRY(check_range(d, "zero", b, offset, bytes));
  if (!bytes) return RLX_OK;
  if (b->map) {
    memset((unsigned char *)b->map + offset, 0, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&d->lock);
  rlx_status s = zero(d, vk_range_of(b), offset, bytes);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status vk_range_zero(vk_device *d, const vk_range *r) {
  void *map = vk_range_map(r);
  if (map) {
    memset(map, 0, (size_t)r->bytes);
    return RLX_OK;
  }
  rlx_log_lock(&d->lock);
  rlx_status s = zero(d, r, 0, r->bytes);
  rlx_log_unlock(&d->lock);
  return s;
}
