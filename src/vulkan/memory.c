/* Chunks and ranges: first fit in the holes of shared chunks. A block is a range with the struct that the runtime
 * expects. */
#include "vulkan/memory.h"

#include "base/log.h"

#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "base/mem_source.h"
#include "vulkan/vk.h"

/* ---- chunks ---- */

static void chunk_destroy(vk_device *d, vk_chunk *c) {
  if (!c) return;
  if (c->buffer) d->DestroyBuffer(d->handle, c->buffer, NULL);
  if (c->memory) d->FreeMemory(d->handle, c->memory, NULL);
  rlx_array_deinit(&c->holes);
  rlx_mem_free(c);
}

static rlx_status chunk_fill(vk_device *d, const vk_heap *h, vk_chunk *c, const char *what) {
  const unsigned long long bytes = c->bytes;
  const VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = c->bytes,
                                     .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkResult r = d->CreateBuffer(d->handle, &buffer, NULL, &c->buffer);
  if (r) return vk_fail(d, r, "a buffer of %llu bytes for %s", bytes, what);
  VkMemoryRequirements needs;
  d->GetBufferMemoryRequirements(d->handle, c->buffer, &needs);
  const VkMemoryAllocateInfo memory = {
    .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = h->type};
  r = d->AllocateMemory(d->handle, &memory, NULL, &c->memory);
  if (r) return vk_fail(d, r, "%llu bytes of device memory for %s", bytes, what);
  r = d->BindBufferMemory(d->handle, c->buffer, c->memory, 0);
  if (r) return vk_fail(d, r, "binding %llu bytes of device memory for %s", bytes, what);
  void *map = NULL;
  if (h->is_mapped && (r = d->MapMemory(d->handle, c->memory, 0, VK_WHOLE_SIZE, 0, &map)))
    return vk_fail(d, r, "mapping %llu bytes of device memory for %s", bytes, what);
  c->map = map;
  return RLX_OK;
}

static rlx_status chunk_create(vk_device *d, const vk_heap *h, uint64_t bytes, const char *what, vk_chunk **out) {
  *out = NULL;
  vk_chunk *c = rlx_new(vk_chunk);
  if (!c || !rlx_array_push(&c->holes, ((vk_span){0, bytes}))) {
    chunk_destroy(d, c);
    return RLX_FAIL(RLX_NO_MEMORY, "vulkan: the list of %s", what);
  }
  c->bytes = bytes;
  rlx_status s = chunk_fill(d, h, c, what);
  if (s) chunk_destroy(d, c);
  else *out = c;
  return s;
}

/* ---- ranges, under the memory lock ---- */

/* False: no hole is large enough, or the list of holes could not grow. */
static bool take(vk_chunk *c, uint64_t bytes, vk_range *out) {
  for (size_t i = 0; i < c->holes.n; i++) {
    vk_span *hole = &c->holes.v[i];
    if (hole->bytes < bytes) continue;
    if (!rlx_array_reserve(&c->holes, c->n_ranges + 2)) return false; /* each range may become a hole */
    hole = &c->holes.v[i];
    *out = (vk_range){c, hole->offset, bytes};
    hole->offset += bytes;
    hole->bytes -= bytes;
    if (!hole->bytes) memmove(hole, hole + 1, (--c->holes.n - i) * sizeof *hole);
    c->n_ranges++;
    return true;
  }
  return false;
}

static void put(const vk_range *r) {
  vk_chunk *c = r->chunk;
  size_t i = 0;
  while (i < c->holes.n && c->holes.v[i].offset < r->offset) i++;
  vk_span *v = c->holes.v;
  const bool joins_last = i > 0 && v[i - 1].offset + v[i - 1].bytes == r->offset;
  const bool joins_next = i < c->holes.n && r->offset + r->bytes == v[i].offset;
  c->n_ranges--;
  if (joins_last && joins_next) {
    v[i - 1].bytes += r->bytes + v[i].bytes;
    memmove(v + i, v + i + 1, (--c->holes.n - i) * sizeof *v);
  } else if (joins_last) {
    v[i - 1].bytes += r->bytes;
  } else if (joins_next) {
    v[i].offset = r->offset;
    v[i].bytes += r->bytes;
  } else { /* take reserved the entry */
    memmove(v + i + 1, v + i, (c->holes.n++ - i) * sizeof *v);
    v[i] = (vk_span){r->offset, r->bytes};
  }
}

static bool is_shared(const vk_heap *h, uint64_t bytes) { return bytes <= h->chunk_bytes / 8; }

static void unlink_chunk(vk_heap *h, const vk_chunk *c) {
  vk_chunk **at = &h->chunks;
  while (*at != c) at = &(*at)->next;
  *at = c->next;
}

rlx_status vk_range_alloc(vk_device *d, vk_heap *h, uint64_t bytes, const char *what, vk_range *out) {
  *out = (vk_range){0};
  size_t padded;
  if (bytes > SIZE_MAX || !rlx_pad_size((size_t)bytes, VK_RANGE_ALIGN, &padded))
    return RLX_FAIL(RLX_NO_MEMORY, "vulkan: %llu bytes for %s", (unsigned long long)bytes, what);
  rlx_mem_source *before = rlx_mem_use(NULL); /* chunks belong to the device, not to a session */
  rlx_log_lock(&d->memory_lock);
  const bool shares = is_shared(h, padded);
  vk_chunk *c = shares ? h->chunks : NULL;
  while (c && !(c->bytes == h->chunk_bytes && take(c, padded, out))) c = c->next;
  rlx_status s = RLX_OK;
  if (!c) {
    s = chunk_create(d, h, shares ? h->chunk_bytes : padded, what, &c);
    if (s == RLX_NO_MEMORY && shares)
      s = chunk_create(d, h, padded, what, &c); /* memory is scarce: allocate only the bytes needed */
    if (!s && !take(c, padded, out)) {
      chunk_destroy(d, c);
      s = RLX_FAIL(RLX_NO_MEMORY, "vulkan: the list of %s", what);
    } else if (!s) {
      c->next = h->chunks;
      h->chunks = c;
    }
  }
  rlx_log_unlock(&d->memory_lock);
  rlx_mem_use(before);
  return s;
}

void vk_range_free(vk_device *d, vk_heap *h, vk_range *r) {
  if (!r->chunk) return;
  rlx_log_lock(&d->memory_lock);
  put(r);
  vk_chunk *c = r->chunk->n_ranges == 0 ? r->chunk : NULL;
  if (c) unlink_chunk(h, c);
  rlx_log_unlock(&d->memory_lock);
  *r = (vk_range){0};
  if (c) chunk_destroy(d, c);
}

void vk_heap_deinit(vk_device *d, vk_heap *h) {
  for (vk_chunk *c = h->chunks, *next; c; c = next) {
    next = c->next;
    chunk_destroy(d, c);
  }
  h->chunks = NULL;
}

/* ---- blocks ---- */

static rlx_status block_create(vk_device *d, vk_heap *heap, uint64_t bytes, rlx_block **out) {
  static _Alignas(16) unsigned char empty[16]; /* the address of mapped blocks without bytes */
  *out = NULL;
  RLX_TRY(vk_check(d));
  vk_block *b = rlx_new(vk_block);
  if (!b) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a block of %llu bytes", (unsigned long long)bytes);
  rlx_status s = bytes ? vk_range_alloc(d, heap, bytes, "a block", &b->at) : RLX_OK;
  if (s) {
    rlx_mem_free(b);
    return s;
  }
  b->heap = heap;
  b->base.bytes = bytes;
  if (heap->is_mapped) b->base.map = bytes ? vk_range_map(&b->at) : empty;
  *out = &b->base;
  return RLX_OK;
}

rlx_status vk_block_create(rlx_device *base, uint64_t bytes, rlx_block **out) {
  vk_device *d = vk_device_of(base);
  return block_create(d, &d->device_heap, bytes, out);
}

rlx_status vk_block_create_host(rlx_device *base, uint64_t bytes, rlx_block **out) {
  vk_device *d = vk_device_of(base);
  return block_create(d, &d->host_heap, bytes, out);
}

void vk_block_destroy(rlx_device *base, rlx_block *block) {
  if (!block) return;
  vk_device *d = vk_device_of(base);
  vk_block *b = (vk_block *)block;
  rlx_saved_message message;
  rlx_message_save(&message);
  (void)vk_wait_pending(d, atomic_load(&b->pending));
  rlx_message_restore(&message);
  vk_range_free(d, b->heap, &b->at);
  rlx_mem_free(b);
}
