/* Blocks, and the copies of a queue. Host memory that the caller gives is never read or written by the device itself:
 * the bytes pass through pinned slots, so the caller may reuse its memory at once, and the device copies at full
 * speed. A producer writes its bytes into the slots itself. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cuda/cu.h"

/* ---- blocks ---- */

static rlx_status create(rlx_device *base, uint64_t bytes, bool is_host, rlx_block **out) {
  cu_device *d = cu_device_of(base);
  *out = NULL;
  cu_block *b = rlx_new(cu_block);
  if (!b) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a block");
  b->base.bytes = bytes;
  rlx_status s = cu_enter(d);
  if (!s) {
    const size_t padded = bytes > SIZE_MAX - CU_ALIGN ? SIZE_MAX : (size_t)(bytes + CU_ALIGN - 1) / CU_ALIGN * CU_ALIGN;
    CUresult r = CUDA_SUCCESS;
    if (is_host) {
      r = d->f->MemHostAlloc(&b->base.map, padded ? padded : CU_ALIGN, CU_MEMHOSTALLOC_DEVICEMAP);
      if (!r) r = d->f->MemHostGetDevicePointer(&b->at, b->base.map, 0);
    } else if (bytes) {
      r = d->f->MemAlloc(&b->at, padded);
    }
    if (r) s = cu_fail(d, r, "%llu bytes of %s memory", (unsigned long long)bytes, is_host ? "host" : "device");
    if (s && b->base.map) d->f->MemFreeHost(b->base.map);
    cu_leave(d);
  }
  if (s) rlx_mem_free(b);
  else *out = &b->base;
  return s;
}

rlx_status cu_block_create(rlx_device *d, uint64_t bytes, rlx_block **out) { return create(d, bytes, false, out); }
rlx_status cu_block_create_host(rlx_device *d, uint64_t bytes, rlx_block **out) { return create(d, bytes, true, out); }

void cu_block_destroy(rlx_device *base, rlx_block *block) {
  if (!block) return;
  cu_device *d = cu_device_of(base);
  cu_block *b = (cu_block *)block;
  rlx_saved_message message;
  rlx_message_save(&message);
  if (cu_enter_any(d)) {
    const uint64_t pending = atomic_load(&b->pending);
    if (pending && cu_wait_pending(d, pending)) d->f->CtxSynchronize();
    if (b->base.map) d->f->MemFreeHost(b->base.map);
    else if (b->at) d->f->MemFree(b->at);
    cu_leave(d);
  }
  rlx_message_restore(&message);
  rlx_mem_free(b);
}

/* ---- slots ---- */

static rlx_status make_slots(cu_queue *q) {
  if (q->slots) return RLX_OK;
  void *memory;
  CUresult r = q->device->f->MemHostAlloc(&memory, q->slot_bytes * CU_N_SLOTS, 0);
  if (r) return cu_fail(q->device, r, "the staging ring of %llu bytes", (unsigned long long)q->slot_bytes * CU_N_SLOTS);
  q->slots = memory;
  return RLX_OK;
}

/* The slot that was used least recently of those that are neither current nor being filled. */
static uint32_t oldest_slot(const cu_queue *q) {
  uint32_t oldest = CU_N_SLOTS;
  for (uint32_t i = 0; i < CU_N_SLOTS; i++)
    if (i != q->slot && i != q->filling && (oldest == CU_N_SLOTS || q->slot_serial[i] < q->slot_serial[oldest]))
      oldest = i;
  return oldest;
}

/* Closes the current slot and waits until the next one is free. */
static rlx_status next_slot(cu_queue *q) {
  RLX_TRY(cu_mark_locked(q, &q->slot_serial[q->slot]));
  q->slot = oldest_slot(q);
  q->slot_used = 0;
  return cu_wait(q, q->slot_serial[q->slot]);
}

/* Bytes of the current slot that no work in flight uses. */
static rlx_status reserve(cu_queue *q, uint64_t bytes, unsigned char **out) {
  RLX_TRY(make_slots(q));
  if (bytes > q->slot_bytes - q->slot_used) RLX_TRY(next_slot(q));
  *out = q->slots + q->slot * q->slot_bytes + q->slot_used;
  q->slot_used += (bytes + 15) / 16 * 16;
  if (q->slot_used > q->slot_bytes) q->slot_used = q->slot_bytes;
  return RLX_OK;
}

/* Transfers that fit share slots; of a larger one each whole piece has a slot. */
static uint64_t piece_bytes(const cu_queue *q, uint64_t left) { return left < q->slot_bytes ? left : q->slot_bytes; }

rlx_status cu_write_locked(cu_queue *q, CUdeviceptr to, const void *src, uint64_t bytes) {
  const unsigned char *from = src;
  for (uint64_t at = 0, n; at < bytes; at += n) {
    unsigned char *slot;
    n = piece_bytes(q, bytes - at);
    RLX_TRY(reserve(q, n, &slot));
    memcpy(slot, from + at, (size_t)n);
    CUresult r = q->device->f->MemcpyHtoDAsync(to + at, slot, (size_t)n, q->stream);
    if (r) return cu_fail(q->device, r, "writing %llu bytes", (unsigned long long)n);
    q->is_dirty = true;
  }
  return RLX_OK;
}

/* Writes bytes [from, from + bytes) of what the producer makes, through a slot that it fills without the lock. */
static rlx_status write_filled(cu_queue *q, CUdeviceptr to, const rlx_producer *p, uint64_t from, uint64_t bytes) {
  const uint32_t i = q->filling = oldest_slot(q);
  unsigned char *slot = q->slots + i * q->slot_bytes;
  rlx_status s = cu_wait(q, q->slot_serial[i]);
  rlx_log_unlock(&q->lock);
  if (!s) s = p->produce(p->user, from, slot, bytes);
  rlx_log_lock(&q->lock);
  q->filling = CU_N_SLOTS;
  RLX_TRY(s);
  CUresult r = q->device->f->MemcpyHtoDAsync(to + from, slot, (size_t)bytes, q->stream);
  if (r) return cu_fail(q->device, r, "writing %llu bytes", (unsigned long long)bytes);
  q->is_dirty = true;
  return cu_mark_locked(q, &q->slot_serial[i]);
}

typedef struct piece {
  unsigned char *slot;
  uint64_t at, bytes, serial;
} piece;

static rlx_status ask(cu_queue *q, CUdeviceptr from, uint64_t at, uint64_t left, piece *out) {
  out->at = at;
  out->bytes = piece_bytes(q, left);
  RLX_TRY(reserve(q, out->bytes, &out->slot));
  CUresult r = q->device->f->MemcpyDtoHAsync(out->slot, from + at, (size_t)out->bytes, q->stream);
  if (r) return cu_fail(q->device, r, "reading %llu bytes", (unsigned long long)out->bytes);
  q->is_dirty = true;
  return cu_mark_locked(q, &out->serial);
}

/* A piece is copied to the caller while the next one is in flight: two slots of the ring are in use at most. */
static rlx_status read_locked(cu_queue *q, CUdeviceptr from, unsigned char *dst, uint64_t bytes) {
  piece now, next;
  RLX_TRY(ask(q, from, 0, bytes, &now));
  for (;;) {
    const uint64_t asked = now.at + now.bytes;
    if (asked < bytes) RLX_TRY(ask(q, from, asked, bytes - asked, &next));
    RLX_TRY(cu_wait(q, now.serial));
    memcpy(dst + now.at, now.slot, (size_t)now.bytes);
    if (asked == bytes) return RLX_OK;
    now = next;
  }
}

/* ---- pending copies ---- */

static cu_block *block_of(const rlx_block *b) { return (cu_block *)(uintptr_t)b; } /* only `pending` changes */

/* Under the lock: the block is used by work after the last event. */
static void note_pending(const cu_queue *q, const rlx_block *b) {
  atomic_store(&block_of(b)->pending, (uint64_t)(q->id & CU_MAX_QUEUE_ID) << CU_SERIAL_BITS | (q->submitted + 1));
}

/* Orders what this queue does next after the copies of the block: on the device those of other queues, and with
 * `on_host` all of them, for the host. */
static rlx_status follow_copies(cu_queue *q, const rlx_block *b, bool on_host) {
  uint64_t pending = atomic_load(&block_of(b)->pending);
  if (!pending) return RLX_OK;
  if (!on_host) return pending >> CU_SERIAL_BITS == (q->id & CU_MAX_QUEUE_ID) ? RLX_OK : cu_follow_pending(q, pending);
  RLX_TRY(cu_wait_pending(q->device, pending));
  atomic_compare_exchange_strong(&block_of(b)->pending, &pending, 0);
  return RLX_OK;
}

/* ---- backend calls ---- */

static rlx_status check_range(const char *what, const rlx_block *b, uint64_t offset, uint64_t bytes) {
  if (!b) return RLX_FAIL(RLX_INVALID, "cuda: %s: the block is NULL", what);
  if (offset > b->bytes || bytes > b->bytes - offset)
    return RLX_FAIL(RLX_INVALID, "cuda: %s: %llu bytes at %llu are not inside a block of %llu", what,
                    (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
  return RLX_OK;
}

static rlx_status write_block(cu_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  RLX_TRY(follow_copies(q, b, b->map != NULL));
  if (b->map) {
    memcpy((unsigned char *)b->map + offset, src, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&q->lock);
  rlx_status s = cu_write_locked(q, cu_address(b) + offset, src, bytes);
  note_pending(q, b);
  rlx_log_unlock(&q->lock);
  return s;
}

static rlx_status write_block_from(cu_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes, const rlx_producer *p) {
  RLX_TRY(follow_copies(q, b, false));
  rlx_status s = RLX_OK;
  for (uint64_t at = 0, n; at < bytes && !s; at += n) {
    n = piece_bytes(q, bytes - at);
    rlx_mutex_lock(&q->fill_lock);
    rlx_log_lock(&q->lock);
    s = make_slots(q);
    if (!s) s = write_filled(q, cu_address(b) + offset, p, at, n);
    note_pending(q, b);
    rlx_log_unlock(&q->lock);
    rlx_mutex_unlock(&q->fill_lock);
  }
  return s;
}

static rlx_status read_block(cu_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  RLX_TRY(follow_copies(q, b, b->map != NULL));
  if (b->map) {
    memcpy(dst, (const unsigned char *)b->map + offset, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&q->lock);
  rlx_status s = read_locked(q, cu_address(b) + offset, dst, bytes);
  rlx_log_unlock(&q->lock);
  return s;
}

static CUresult start_copy(cu_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                           size_t bytes) {
  const cu_driver *f = q->device->f;
  const CUdeviceptr to = cu_address(dst) + dst_offset, from = cu_address(src) + src_offset;
  if (dst->map) return f->MemcpyDtoHAsync((unsigned char *)dst->map + dst_offset, from, bytes, q->stream);
  if (src->map) return f->MemcpyHtoDAsync(to, (const unsigned char *)src->map + src_offset, bytes, q->stream);
  return f->MemcpyDtoDAsync(to, from, bytes, q->stream);
}

static rlx_status copy_block(cu_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src,
                             uint64_t src_offset, uint64_t bytes) {
  const bool on_host = dst->map && src->map;
  RLX_TRY(follow_copies(q, dst, on_host));
  RLX_TRY(follow_copies(q, src, on_host));
  if (on_host) {
    memcpy((unsigned char *)dst->map + dst_offset, (const unsigned char *)src->map + src_offset, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&q->lock);
  CUresult r = start_copy(q, dst, dst_offset, src, src_offset, (size_t)bytes);
  q->is_dirty = true;
  note_pending(q, dst);
  note_pending(q, src);
  rlx_log_unlock(&q->lock);
  return r ? cu_fail(q->device, r, "copying %llu bytes", (unsigned long long)bytes) : RLX_OK;
}

static rlx_status zero_block(cu_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes) {
  RLX_TRY(follow_copies(q, b, b->map != NULL));
  if (b->map) {
    memset((unsigned char *)b->map + offset, 0, (size_t)bytes);
    return RLX_OK;
  }
  rlx_log_lock(&q->lock);
  CUresult r = q->device->f->MemsetD8Async(cu_address(b) + offset, 0, (size_t)bytes, q->stream);
  q->is_dirty = true;
  note_pending(q, b);
  rlx_log_unlock(&q->lock);
  return r ? cu_fail(q->device, r, "zeroing %llu bytes", (unsigned long long)bytes) : RLX_OK;
}

rlx_status cu_write(rlx_queue *base, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  cu_queue *q = cu_queue_of(base);
  RLX_TRY(check_range("write", b, offset, bytes));
  RLX_TRY(cu_enter(q->device));
  rlx_status s = bytes ? write_block(q, b, offset, src, bytes) : RLX_OK;
  cu_leave(q->device);
  return s;
}

rlx_status cu_write_from(rlx_queue *base, rlx_block *b, uint64_t offset, uint64_t bytes, const rlx_producer *p) {
  cu_queue *q = cu_queue_of(base);
  RLX_TRY(check_range("write", b, offset, bytes));
  RLX_TRY(cu_enter(q->device));
  rlx_status s = bytes ? write_block_from(q, b, offset, bytes, p) : RLX_OK;
  cu_leave(q->device);
  return s;
}

rlx_status cu_read(rlx_queue *base, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  cu_queue *q = cu_queue_of(base);
  RLX_TRY(check_range("read", b, offset, bytes));
  RLX_TRY(cu_enter(q->device));
  rlx_status s = bytes ? read_block(q, b, offset, dst, bytes) : RLX_OK;
  cu_leave(q->device);
  return s;
}

rlx_status cu_copy(rlx_queue *base, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                   uint64_t bytes) {
  cu_queue *q = cu_queue_of(base);
  RLX_TRY(check_range("copy to", dst, dst_offset, bytes));
  RLX_TRY(check_range("copy from", src, src_offset, bytes));
  if (bytes && dst == src && dst_offset < src_offset + bytes && src_offset < dst_offset + bytes)
    return RLX_FAIL(RLX_INVALID, "cuda: copy of %llu bytes from %llu to %llu of one block: they overlap",
                    (unsigned long long)bytes, (unsigned long long)src_offset, (unsigned long long)dst_offset);
  RLX_TRY(cu_enter(q->device));
  rlx_status s = bytes ? copy_block(q, dst, dst_offset, src, src_offset, bytes) : RLX_OK;
  cu_leave(q->device);
  return s;
}

rlx_status cu_zero(rlx_queue *base, rlx_block *b, uint64_t offset, uint64_t bytes) {
  cu_queue *q = cu_queue_of(base);
  RLX_TRY(check_range("zero", b, offset, bytes));
  RLX_TRY(cu_enter(q->device));
  rlx_status s = bytes ? zero_block(q, b, offset, bytes) : RLX_OK;
  cu_leave(q->device);
  return s;
}
