/* Blocks, and the copies of a queue. A block is a buffer, padded so that the last window and the last word end
 * inside it.
 *
 * Bytes from the host are written by WebGPU's own staging (QueueWriteBuffer), in pieces, with a bound on what is in
 * flight. Such a write happens before everything that is submitted after it, so the batch is submitted first. Bytes
 * to the host are read through mapped buffers (reads.c). A block of host memory is ordinary memory: WebGPU maps no
 * buffer that the device uses. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "webgpu/moves.h"
#include "webgpu/queue.h"

enum { MAX_PIECES = 4 }; /* of one transfer in flight */

/* ---- blocks ---- */

static wg_block *block_of(const rlx_block *b) { return (wg_block *)(uintptr_t)b; } /* only `pending` changes */

static rlx_status check_size(const wg_device *d, uint64_t bytes) {
  const uint64_t max = d->max_buffer_bytes;
  if (bytes <= max) return RLX_OK;
  return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a block of %llu bytes: %.100s has buffers of at most %llu",
                  (unsigned long long)bytes, d->base.info.name, (unsigned long long)max);
}

rlx_status wg_block_create(rlx_device *base, uint64_t bytes, rlx_block **out) {
  wg_device *d = wg_device_of(base);
  *out = NULL;
  RLX_TRY(wg_check(d));
  RLX_TRY(check_size(d, bytes));
  wg_block *b = rlx_new(wg_block);
  if (!b) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a block");
  b->base.bytes = bytes;
  b->bytes = (bytes + WG_ALIGN - 1) / WG_ALIGN * WG_ALIGN;
  rlx_status s =
    bytes ? wg_buffer_create(d, b->bytes, WGPU_BUFFER_STORAGE | WGPU_BUFFER_COPY_SRC | WGPU_BUFFER_COPY_DST, &b->buffer)
          : RLX_OK;
  if (s) rlx_mem_free(b);
  else *out = &b->base;
  return s;
}

rlx_status wg_block_create_host(rlx_device *base, uint64_t bytes, rlx_block **out) {
  *out = NULL;
  RLX_TRY(wg_check(wg_device_of(base)));
  wg_block *b = rlx_new(wg_block);
  if (!b) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a block");
  b->base.bytes = bytes;
  b->base.map = bytes < SIZE_MAX ? rlx_mem_calloc(1, bytes ? (size_t)bytes : 1) : NULL;
  if (!b->base.map) {
    rlx_mem_free(b);
    return RLX_FAIL(RLX_NO_MEMORY, "webgpu: %llu bytes of host memory", (unsigned long long)bytes);
  }
  *out = &b->base;
  return RLX_OK;
}

/* A browser frees the memory of a released buffer some time later, so it is destroyed, after what was recorded with it
 * was submitted. Submitted work has it until it is done. */
static void destroy_buffer(wg_device *d, WGPUBuffer b) {
  uint64_t serial;
  if (!b) return;
  rlx_saved_message message;
  rlx_message_save(&message);
  rlx_log_lock(&d->lock);
  if (d->batch) (void)(wg_submit_locked(d, &serial) == RLX_OK);
  rlx_log_unlock(&d->lock);
  rlx_message_restore(&message);
  d->f->BufferDestroy(b);
  wg_buffer_release(d, b);
}

/* Only host memory is waited for. */
void wg_block_destroy(rlx_device *base, rlx_block *block) {
  if (!block) return;
  wg_device *d = wg_device_of(base);
  wg_block *b = (wg_block *)block;
  if (block->map) {
    if (atomic_load(&b->pending)) wg_settle(d);
    rlx_log_lock(&d->lock);
    wg_reads_forget(d, block->map, block->bytes);
    rlx_log_unlock(&d->lock);
    rlx_mem_free(block->map);
  }
  destroy_buffer(d, b->buffer);
  rlx_mem_free(b);
}

/* ---- writing ---- */

/* Whole words, which the caller's memory may lose at once. */
static rlx_status write_words(wg_device *d, WGPUBuffer to, uint64_t offset, const unsigned char *src, uint64_t bytes) {
  for (uint64_t at = 0, n; at < bytes; at += n) {
    n = bytes - at < d->slot_bytes ? bytes - at : d->slot_bytes;
    d->f->QueueWriteBuffer(d->queue, to, offset + at, src + at, (size_t)n);
    d->has_writes = true;
    d->written_bytes += n;
    if (d->written_bytes < d->slot_bytes) continue;
    uint64_t serial;
    RLX_TRY(wg_submit_locked(d, &serial));
    if (serial < MAX_PIECES) continue;
    rlx_log_unlock(&d->lock);
    rlx_status s = wg_wait(d, serial - MAX_PIECES + 1);
    rlx_log_lock(&d->lock);
    if (s) return s;
  }
  return RLX_OK;
}

static rlx_status write_edge(wg_device *d, WGPUBuffer to, uint64_t offset, const unsigned char *src, uint64_t bytes) {
  WGPUCommandEncoder e;
  RLX_TRY(wg_batch_locked(d, &e));
  return wg_record_bytes(d, e, &(wg_range){to, offset, bytes}, src);
}

static uint64_t min(uint64_t a, uint64_t b) { return a < b ? a : b; }

static rlx_status write_locked(wg_device *d, WGPUBuffer to, uint64_t offset, const unsigned char *src, uint64_t bytes) {
  const uint64_t head = min((4 - offset % 4) % 4, bytes), words = (bytes - head) / 4 * 4, tail = bytes - head - words;
  uint64_t serial;
  if (d->batch) RLX_TRY(wg_submit_locked(d, &serial));
  if (words) RLX_TRY(write_words(d, to, offset + head, src + head, words));
  if (head) RLX_TRY(write_edge(d, to, offset, src, head));
  return tail ? write_edge(d, to, offset + head + words, src + head + words, tail) : RLX_OK;
}

/* ---- reading ---- */

/* Pieces are in flight while earlier ones are copied to the caller. */
static rlx_status read_pieces(wg_device *d, WGPUBuffer from, uint64_t offset, unsigned char *dst, uint64_t bytes) {
  uint64_t serials[MAX_PIECES] = {0};
  uint32_t i = 0;
  rlx_status s = RLX_OK;
  for (uint64_t at = 0, n; at < bytes && !s; at += n, i++) {
    n = min(bytes - at, d->slot_bytes);
    s = wg_wait(d, serials[i % MAX_PIECES]);
    rlx_log_lock(&d->lock);
    if (!s) s = wg_read_locked(d, from, offset + at, dst + at, n);
    if (!s) s = wg_submit_locked(d, &serials[i % MAX_PIECES]);
    rlx_log_unlock(&d->lock);
  }
  for (uint32_t k = 0; k < MAX_PIECES && !s; k++) s = wg_wait(d, serials[(i + k) % MAX_PIECES]);
  if (!s) return RLX_OK;
  rlx_log_lock(&d->lock);
  wg_reads_forget(d, dst, bytes);
  rlx_log_unlock(&d->lock);
  return s;
}

/* ---- backend calls ---- */

static rlx_status check_range(wg_device *d, const char *what, const rlx_block *b, uint64_t offset, uint64_t bytes) {
  RLX_TRY(wg_check(d));
  if (!b) return RLX_FAIL(RLX_INVALID, "webgpu: %s: the block is NULL", what);
  if (offset > b->bytes || bytes > b->bytes - offset)
    return RLX_FAIL(RLX_INVALID, "webgpu: %s: %llu bytes at %llu are not inside a block of %llu", what,
                    (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
  return RLX_OK;
}

/* Host memory, once the copies to it are there. */
static rlx_status map_of(wg_device *d, const rlx_block *b, unsigned char **out) {
  uint64_t pending = atomic_load(&block_of(b)->pending), serial;
  *out = b->map;
  if (!pending) return RLX_OK;
  RLX_TRY(wg_mark(d, &serial)); /* it may be in the batch */
  RLX_TRY(wg_wait(d, min(pending, serial)));
  atomic_compare_exchange_strong(&block_of(b)->pending, &pending, 0);
  return RLX_OK;
}

rlx_status wg_write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  wg_device *d = wg_device_of(q->device);
  unsigned char *map;
  RLX_TRY(check_range(d, "write", b, offset, bytes));
  if (!bytes) return RLX_OK;
  if (b->map) {
    RLX_TRY(map_of(d, b, &map));
    memcpy(map + offset, src, (size_t)bytes);
    return RLX_OK;
  }
  wg_guard g;
  wg_guard_begin(d, &g, wg_late_of(q));
  rlx_log_lock(&d->lock);
  rlx_status s = write_locked(d, wg_buffer(b), offset, src, bytes);
  rlx_log_unlock(&d->lock);
  rlx_status caught = wg_guard_end(d, &g, "writing %llu bytes", (unsigned long long)bytes);
  return s ? s : caught;
}

rlx_status wg_read_block(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  wg_device *d = wg_device_of(q->device);
  unsigned char *map;
  RLX_TRY(check_range(d, "read", b, offset, bytes));
  if (!bytes) return RLX_OK;
  if (b->map) {
    RLX_TRY(map_of(d, b, &map));
    memcpy(dst, map + offset, (size_t)bytes);
    return RLX_OK;
  }
  wg_guard g;
  wg_guard_begin(d, &g, wg_late_of(q));
  rlx_status s = read_pieces(d, wg_buffer(b), offset, dst, bytes);
  rlx_status caught = wg_guard_end(d, &g, "reading %llu bytes", (unsigned long long)bytes);
  return s ? s : caught ? caught : wg_queue_wait(q, 0); /* which has the errors of all that was read */
}

static rlx_status copy_to_host(rlx_queue *q, rlx_block *dst, uint64_t to, const rlx_block *src, uint64_t from,
                               uint64_t bytes) {
  wg_device *d = wg_device_of(q->device);
  wg_guard g;
  wg_guard_begin(d, &g, wg_late_of(q));
  rlx_log_lock(&d->lock);
  rlx_status s = RLX_OK;
  for (uint64_t at = 0, n; at < bytes && !s; at += n) {
    n = min(bytes - at, d->slot_bytes);
    s = wg_read_locked(d, wg_buffer(src), from + at, (unsigned char *)dst->map + to + at, n);
  }
  atomic_store(&block_of(dst)->pending, d->submitted + 1);
  rlx_log_unlock(&d->lock);
  rlx_status caught = wg_guard_end(d, &g, "reading %llu bytes", (unsigned long long)bytes);
  return s ? s : caught;
}

static rlx_status copy_on_device(rlx_queue *q, const wg_range *to, const wg_range *from) {
  wg_device *d = wg_device_of(q->device);
  WGPUCommandEncoder e;
  wg_guard g;
  wg_guard_begin(d, &g, wg_late_of(q));
  rlx_log_lock(&d->lock);
  rlx_status s = wg_batch_locked(d, &e);
  if (!s) s = wg_record_copy(d, e, to, from);
  rlx_log_unlock(&d->lock);
  rlx_status caught = wg_guard_end(d, &g, "copying %llu bytes", (unsigned long long)from->bytes);
  return s ? s : caught;
}

rlx_status wg_copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                   uint64_t bytes) {
  wg_device *d = wg_device_of(q->device);
  unsigned char *map;
  RLX_TRY(check_range(d, "copy to", dst, dst_offset, bytes));
  RLX_TRY(check_range(d, "copy from", src, src_offset, bytes));
  if (bytes && dst == src && dst_offset < src_offset + bytes && src_offset < dst_offset + bytes)
    return RLX_FAIL(RLX_INVALID, "webgpu: copy of %llu bytes from %llu to %llu of one block: they overlap",
                    (unsigned long long)bytes, (unsigned long long)src_offset, (unsigned long long)dst_offset);
  if (!bytes) return RLX_OK;
  if (src->map) {
    RLX_TRY(map_of(d, src, &map));
    return wg_write(q, dst, dst_offset, map + src_offset, bytes);
  }
  if (dst->map) return copy_to_host(q, dst, dst_offset, src, src_offset, bytes);
  return copy_on_device(q, &(wg_range){wg_buffer(dst), dst_offset, bytes},
                        &(wg_range){wg_buffer(src), src_offset, bytes});
}

rlx_status wg_zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes) {
  wg_device *d = wg_device_of(q->device);
  unsigned char *map;
  WGPUCommandEncoder e;
  RLX_TRY(check_range(d, "zero", b, offset, bytes));
  if (!bytes) return RLX_OK;
  if (b->map) {
    RLX_TRY(map_of(d, b, &map));
    memset(map + offset, 0, (size_t)bytes);
    return RLX_OK;
  }
  wg_guard g;
  wg_guard_begin(d, &g, wg_late_of(q));
  rlx_log_lock(&d->lock);
  rlx_status s = wg_batch_locked(d, &e);
  if (!s) s = wg_record_zero(d, e, &(wg_range){wg_buffer(b), offset, bytes});
  rlx_log_unlock(&d->lock);
  rlx_status caught = wg_guard_end(d, &g, "zeroing %llu bytes", (unsigned long long)bytes);
  return s ? s : caught;
}
