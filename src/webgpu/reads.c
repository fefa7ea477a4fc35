/* Copies to the host: each has a buffer that can be mapped, of one of two sizes. Slots of the device keep theirs for
 * the next copy. */
#include <string.h>

#include "base/mem.h"
#include "webgpu/queue.h"

enum { SMALL_BYTES = 64 << 10 };

static void on_mapped(uint32_t status, WGPUStringView message, void *user1, void *user2) {
  wg_read *r = user1;
  (void)message, (void)user2;
  atomic_store(&r->status, status ? status : UINT32_MAX);
}

static bool is_slot(const wg_device *d, const wg_read *r) {
  return r >= d->read_slots && r < d->read_slots + WG_N_READS;
}

/* A slot without a copy, best one with such a buffer; NULL: all are in use. */
static wg_read *find_slot(wg_device *d, uint64_t size) {
  wg_read *found = NULL;
  for (wg_read *r = d->read_slots; r < d->read_slots + WG_N_READS; r++)
    if (!r->is_used && (!found || r->buffer_bytes == size || (!r->buffer && found->buffer_bytes != size))) found = r;
  return found;
}

static void drop_buffer(const wg_device *d, wg_read *r) {
  if (r->serial && !atomic_load(&r->status)) d->f->BufferUnmap(r->buffer); /* ends the mapping, with its callback */
  wg_buffer_release(d, r->buffer);
  r->buffer = NULL;
  r->buffer_bytes = 0;
}

/* Ends a copy that is not in the list. */
static void put(const wg_device *d, wg_read *r) {
  const bool is_heap = !is_slot(d, r);
  if (is_heap || (r->serial && atomic_load(&r->status) != WGPU_STATUS_SUCCESS)) drop_buffer(d, r);
  r->serial = 0;
  r->is_used = false;
  if (is_heap) rlx_mem_free(r);
}

static rlx_status get(wg_device *d, uint64_t bytes, wg_read **out) {
  const uint64_t size = bytes <= SMALL_BYTES ? SMALL_BYTES : d->slot_bytes + WG_ALIGN;
  wg_read *r = find_slot(d, size);
  if (!r) r = rlx_new(wg_read);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a copy to the host");
  r->is_used = true;
  if (r->buffer_bytes != size) drop_buffer(d, r);
  rlx_status s =
    r->buffer ? RLX_OK : wg_buffer_create(d, size, WGPU_BUFFER_MAP_READ | WGPU_BUFFER_COPY_DST, &r->buffer);
  r->buffer_bytes = size;
  if (s) put(d, r);
  else *out = r;
  return s;
}

rlx_status wg_read_locked(wg_device *d, WGPUBuffer from, uint64_t offset, void *to, uint64_t bytes) {
  const uint64_t first = offset / 4 * 4, skip = offset - first, words = (skip + bytes + 3) / 4 * 4;
  WGPUCommandEncoder e;
  wg_read *r;
  RLX_TRY(wg_batch_locked(d, &e));
  RLX_TRY(get(d, words, &r));
  wg_guard g;
  wg_guard_begin(d, &g, NULL);
  d->f->CommandEncoderCopyBufferToBuffer(e, from, first, r->buffer, 0, words);
  rlx_status s = wg_guard_end(d, &g, "reading %llu bytes", (unsigned long long)bytes);
  if (s) {
    put(d, r);
    return s;
  }
  r->next = NULL;
  r->to = to;
  r->skip = skip;
  r->bytes = bytes;
  r->serial = 0;
  atomic_store(&r->status, 0);
  *(d->reads ? &d->last_read->next : &d->reads) = r;
  d->last_read = r;
  return RLX_OK;
}

/* Takes a copy out of the list; `before` is the one before it, or NULL. */
static void unlink_read(wg_device *d, wg_read *before, const wg_read *r) {
  *(before ? &before->next : &d->reads) = r->next;
  if (d->last_read == r) d->last_read = before;
}

void wg_reads_submitted(wg_device *d, uint64_t serial, bool failed) {
  for (wg_read *r = d->reads, *before = NULL, *next; r; r = next) {
    next = r->next;
    if (r->serial) {
      before = r;
    } else if (failed) {
      unlink_read(d, before, r);
      put(d, r);
    } else {
      r->serial = serial;
      before = r;
      d->f->BufferMapAsync(
        r->buffer, WGPU_MAP_MODE_READ, 0, (size_t)((r->skip + r->bytes + 3) / 4 * 4),
        (WGPUDoneCallbackInfo){.mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = on_mapped, .user1 = r});
    }
  }
}

/* The submission is done, so the callback is not far. */
static void await_mapping(const wg_device *d, const wg_read *r) {
  while (!atomic_load(&r->status) && !atomic_load(&d->base.is_lost)) {
    if (d->f->DevicePoll) d->f->DevicePoll(d->handle, 0, NULL);
    else wg_pump(d);
  }
}

/* Where a buffer is copied instead of mapped: words, at multiples of 8 bytes. Other bytes go through a few of ours. */
static bool copy_words(const wg_device *d, const wg_read *r) {
  unsigned char some[4096];
  const uint64_t end = r->skip + r->bytes, words = (end + 3) / 4 * 4;
  for (uint64_t at = 0, n; at < end; at += n) {
    const bool is_direct = !r->skip && end - at >= 8;
    n = is_direct ? (end - at) / 8 * 8 : words - at < sizeof some ? words - at : sizeof some;
    if (d->f->BufferReadMappedRange(r->buffer, (size_t)at, is_direct ? r->to + at : some, (size_t)n) !=
        WGPU_STATUS_SUCCESS)
      return false;
    const uint64_t first = at < r->skip ? r->skip - at : 0, last = end - at < n ? end - at : n;
    if (!is_direct) memcpy(r->to + (at + first - r->skip), some + first, (size_t)(last - first));
  }
  return true;
}

static bool copy_mapped(const wg_device *d, const wg_read *r) {
  if (d->f->BufferReadMappedRange) return copy_words(d, r);
  const unsigned char *bytes =
    d->f->BufferGetConstMappedRange(r->buffer, 0, (size_t)((r->skip + r->bytes + 3) / 4 * 4));
  if (bytes) memcpy(r->to, bytes + r->skip, (size_t)r->bytes);
  return bytes != NULL;
}

static rlx_status fetch(wg_device *d, wg_read *r) {
  wg_guard g;
  wg_catch_begin(&g, NULL);
  await_mapping(d, r);
  /* wgpu-native ends the process if a range is not mapped, as on a lost device. */
  const bool is_mapped = atomic_load(&r->status) == WGPU_STATUS_SUCCESS && !atomic_load(&d->base.is_lost);
  const bool is_there = is_mapped && (!r->to || copy_mapped(d, r));
  if (is_mapped) d->f->BufferUnmap(r->buffer);
  RLX_TRY(wg_catch_end(d, &g, "reading back"));
  if (is_there) return RLX_OK;
  RLX_TRY(wg_check(d));
  return RLX_FAIL(RLX_UNSUPPORTED, "webgpu: %llu bytes that were read back cannot be mapped",
                  (unsigned long long)r->bytes);
}

rlx_status wg_reads_fetch(wg_device *d, uint64_t serial) {
  rlx_status first = RLX_OK;
  while (d->reads && d->reads->serial && d->reads->serial <= serial) {
    wg_read *r = d->reads;
    const rlx_status s = fetch(d, r);
    if (s && !first) first = s;
    unlink_read(d, NULL, r);
    put(d, r);
  }
  return first;
}

void wg_reads_forget(wg_device *d, const void *to, uint64_t bytes) {
  for (wg_read *r = d->reads; r; r = r->next)
    if (r->to >= (const unsigned char *)to && r->to < (const unsigned char *)to + bytes) r->to = NULL;
}

void wg_reads_deinit(wg_device *d) {
  for (wg_read *r = d->reads, *next; r; r = next) {
    next = r->next;
    put(d, r);
  }
  d->reads = d->last_read = NULL;
  for (uint32_t i = 0; i < WG_N_READS; i++) drop_buffer(d, &d->read_slots[i]);
}
