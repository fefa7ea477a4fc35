/* Reads and writes values in bound windows: the host's type on one side, the stored type and layout on the other.
 *
 * All arguments are checked before a byte moves. Equal types go directly to the backend and allocate nothing. Other
 * types are converted: directly in mapped memory, otherwise through a staging buffer of bounded size, so reading a
 * large tensor as another type does not need its size again. Packed weights (layout not 0) are the exception: only a
 * whole weight can be packed or unpacked, so an unmapped one is staged as a whole. */

#include "base/mem.h"
#include "device/convert.h"
#include "device/fill.h"

enum { SMALL_STAGE = 4096, LARGE_STAGE = 256 * 1024 };

/* ---- checks ---- */

static rlx_status stored_bytes(rlx_device *d, const rlx_type *type, uint32_t layout, uint64_t *out) {
  size_t plain;
  RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &plain));
  *out = plain;
  if (layout == 0 || plain == 0) return RLX_OK;
  const rlx_backend *b = d->backend;
  *out = b->layout_bytes && b->repack ? b->layout_bytes(d, layout, type) : 0;
  if (*out == 0)
    return RLX_FAIL(RLX_INVALID, "%s%s: backend %s does not know layout %u for it", rlx_dtype_name(type->dtype),
                    RLX_DIMS_TEXT(type->shape), b->name, (unsigned)layout);
  return RLX_OK;
}

rlx_status rlx_bound_check(rlx_device *d, const rlx_bound *at, const rlx_type *type, uint32_t layout) {
  if (!d || !at || !type)
    return RLX_FAIL(RLX_INVALID, "a window: the %s is NULL", !d ? "device" : !at ? "window" : "type");
  uint64_t bytes;
  RLX_TRY(stored_bytes(d, type, layout, &bytes));
  if (at->bytes != bytes)
    return RLX_FAIL(RLX_INVALID, "%s%s in layout %u takes %llu bytes, but the window has %llu",
                    rlx_dtype_name(type->dtype), RLX_DIMS_TEXT(type->shape), (unsigned)layout,
                    (unsigned long long)bytes, (unsigned long long)at->bytes);
  if (!at->block && bytes)
    return RLX_FAIL(RLX_INVALID, "a window of %llu bytes has no block", (unsigned long long)bytes);
  if (at->block && (at->offset > at->block->bytes || bytes > at->block->bytes - at->offset))
    return RLX_FAIL(RLX_INVALID, "a window of %llu bytes at %llu is not inside its block of %llu",
                    (unsigned long long)bytes, (unsigned long long)at->offset, (unsigned long long)at->block->bytes);
  return RLX_OK;
}

static rlx_status check_host(const rlx_type *type, const void *data, size_t count) {
  size_t expected = rlx_dims_count(&type->shape);
  if (count != expected)
    return RLX_FAIL(RLX_INVALID, "%s%s has %zu elements, got %zu", rlx_dtype_name(type->dtype),
                    RLX_DIMS_TEXT(type->shape), expected, count);
  if (!data && count) return RLX_FAIL(RLX_INVALID, "%zu elements are expected, but the data is NULL", count);
  return RLX_OK;
}

/* ---- plain values ---- */

/* A staging buffer for one chunk at a time; small ones are inside the struct. */
typedef struct stage {
  unsigned char small[SMALL_STAGE];
  unsigned char *v;
  size_t elements; /* per chunk */
} stage;

static rlx_status stage_open(stage *s, rlx_dtype stored, uint64_t total_bytes) {
  size_t bytes = total_bytes < LARGE_STAGE ? (size_t)total_bytes : LARGE_STAGE;
  s->v = bytes <= SMALL_STAGE ? s->small : rlx_mem_alloc(bytes);
  if (!s->v) return RLX_FAIL(RLX_NO_MEMORY, "a stage of %zu bytes for conversion", bytes);
  const rlx_dtype_info *t = rlx_dtype_describe(stored);
  s->elements = bytes / t->block_bytes * t->block_elements;
  return RLX_OK;
}

static void stage_close(stage *s) {
  if (s->v != s->small) rlx_mem_free(s->v);
}

static unsigned char *map_of(const rlx_bound *at) {
  return at->block->map ? (unsigned char *)at->block->map + at->offset : NULL;
}

/* Moves `count` values between a window and the host. A write only reads `data`. */
static rlx_status move_staged(rlx_queue *q, const rlx_bound *at, rlx_dtype stored, rlx_dtype host, char *data,
                              size_t count, bool is_write) {
  stage s;
  RLX_TRY(stage_open(&s, stored, at->bytes));
  rlx_status status = RLX_OK;
  for (size_t i = 0; i < count && !status; i += s.elements) {
    size_t n = count - i < s.elements ? count - i : s.elements;
    char *here = data + rlx_elements_bytes(host, i);
    const uint64_t offset = at->offset + rlx_elements_bytes(stored, i), bytes = rlx_elements_bytes(stored, n);
    if (is_write) {
      status = rlx_convert_array(stored, s.v, host, here, n);
      if (!status) status = q->device->backend->write(q, at->block, offset, s.v, bytes);
    } else {
      status = q->device->backend->read(q, at->block, offset, s.v, bytes);
      if (!status) status = rlx_convert_array(host, here, stored, s.v, n);
    }
  }
  stage_close(&s);
  return status;
}

/* ---- packed weights ---- */

/* A backend packs arrays of the stored type and may read them as numbers, so they must be aligned for that type. */
static bool is_aligned(rlx_dtype dtype, const void *p) {
  uint32_t bytes = rlx_dtype_describe(dtype)->block_bytes, align = bytes & (~bytes + 1);
  return (uintptr_t)p % (align < 8 ? align : 8) == 0;
}

static rlx_status alloc_bytes(uint64_t bytes, void **out) {
  *out = rlx_mem_alloc((size_t)bytes);
  return *out ? RLX_OK
              : RLX_FAIL(RLX_NO_MEMORY, "%llu bytes for a packed weight on its way", (unsigned long long)bytes);
}

static rlx_status write_packed(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype from,
                               const void *data, size_t count, bool is_clean, rlx_pool *pool) {
  if (from == type->dtype && is_clean && is_aligned(from, data))
    return rlx_bound_fill(q, at, type, layout, &(rlx_byte_source){.data = data}, pool);
  void *plain;
  RLX_TRY(alloc_bytes(rlx_elements_bytes(type->dtype, count), &plain));
  rlx_status s = rlx_convert_array(type->dtype, plain, from, data, count);
  if (!s) s = rlx_bound_fill(q, at, type, layout, &(rlx_byte_source){.data = plain}, pool);
  rlx_mem_free(plain);
  return s;
}

static rlx_status read_packed(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype to,
                              void *data, size_t count) {
  void *plain = NULL, *packed = NULL;
  void *map = map_of(at);
  const bool is_direct = to == type->dtype && is_aligned(to, data);
  rlx_status s = is_direct ? RLX_OK : alloc_bytes(rlx_elements_bytes(type->dtype, count), &plain);
  if (!s && !map) s = alloc_bytes(at->bytes, &packed);
  if (!s) s = map ? rlx_queue_sync(q) : q->device->backend->read(q, at->block, at->offset, packed, at->bytes);
  if (!s)
    s = q->device->backend->repack(q->device, layout, type, false, map ? map : packed, is_direct ? data : plain, NULL);
  if (!s && !is_direct) s = rlx_convert_array(to, data, type->dtype, plain, count);
  rlx_mem_free(plain);
  rlx_mem_free(packed);
  return s;
}

/* ---- public calls ---- */

rlx_status rlx_bound_write_by(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype from,
                              const void *data, size_t count, rlx_pool *pool) {
  RLX_TRY(rlx_bound_check(q ? q->device : NULL, at, type, layout));
  RLX_TRY(rlx_convert_check(from, type->dtype));
  RLX_TRY(check_host(type, data, count));
  if (count == 0) return RLX_OK;
  const bool is_clean = type->dtype != RLX_BOOL || from != RLX_BOOL || rlx_bools_check(data, count) == count;
  if (layout) return write_packed(q, at, type, layout, from, data, count, is_clean, pool);
  if (from == type->dtype && is_clean) return rlx_bound_fill(q, at, type, 0, &(rlx_byte_source){.data = data}, pool);
  if (!at->block->map) return move_staged(q, at, type->dtype, from, (char *)(uintptr_t)data, count, true);
  RLX_TRY(rlx_queue_sync(q));
  return rlx_convert_array(type->dtype, map_of(at), from, data, count);
}

rlx_status rlx_bound_write(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype from,
                           const void *data, size_t count) {
  return rlx_bound_write_by(q, at, type, layout, from, data, count, NULL);
}

rlx_status rlx_bound_fill_end(rlx_queue *q, const rlx_bound *at) {
  static const unsigned char zeros[4];
  const uint64_t rest = (4 - at->bytes % 4) % 4, end = at->offset + at->bytes;
  if (!rest || at->block->map || at->block->bytes - end < rest) return RLX_OK;
  return q->device->backend->write(q, at->block, end, zeros, rest);
}

rlx_status rlx_bound_read(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype to,
                          void *data, size_t count) {
  RLX_TRY(rlx_bound_check(q ? q->device : NULL, at, type, layout));
  RLX_TRY(rlx_convert_check(type->dtype, to));
  RLX_TRY(check_host(type, data, count));
  if (count == 0) return RLX_OK;
  if (layout) return read_packed(q, at, type, layout, to, data, count);
  if (to == type->dtype) return q->device->backend->read(q, at->block, at->offset, data, at->bytes);
  if (!at->block->map) return move_staged(q, at, type->dtype, to, data, count, false);
  RLX_TRY(rlx_queue_sync(q));
  return rlx_convert_array(to, data, type->dtype, map_of(at), count);
}
