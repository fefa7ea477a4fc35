/* A fake device in host memory: see fake_device.h. */
#include "fake_device.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

typedef struct fake_block {
  rlx_block base;
  unsigned char *data;
} fake_block;

static fake_device *fake_of(rlx_device *d) { return (fake_device *)d; }
static unsigned char *data_of(const rlx_block *b) { return ((const fake_block *)b)->data; }

static rlx_status check(fake_device *f, const rlx_block *b, uint64_t offset, uint64_t bytes) {
  if (f->is_lost) return RLX_FAIL(RLX_DEVICE_LOST, "fake device: lost");
  if (offset > b->bytes || bytes > b->bytes - offset) return RLX_FAIL(RLX_INVALID, "fake device: out of range");
  return RLX_OK;
}

static rlx_status create(rlx_device *d, uint64_t bytes, rlx_block **out) {
  fake_device *f = fake_of(d);
  *out = NULL;
  if (f->room && atomic_load(&f->live_bytes) + bytes > f->room) return RLX_FAIL(RLX_NO_MEMORY, "fake device: full");
  fake_block *b = rlx_new(fake_block);
  unsigned char *data = b ? rlx_mem_alloc((size_t)bytes) : NULL;
  if (!data) {
    rlx_mem_free(b);
    return RLX_FAIL(RLX_NO_MEMORY, "fake device: block");
  }
  memset(data, FAKE_RUBBISH, (size_t)bytes);
  *b = (fake_block){.base = {.bytes = bytes, .map = f->is_mapped ? data : NULL}, .data = data};
  atomic_fetch_add(&f->live_bytes, bytes);
  atomic_fetch_add(&f->n_blocks, 1);
  *out = &b->base;
  return RLX_OK;
}

static void destroy(rlx_device *d, rlx_block *b) {
  atomic_fetch_sub(&fake_of(d)->live_bytes, b->bytes);
  atomic_fetch_sub(&fake_of(d)->n_blocks, 1);
  rlx_mem_free(data_of(b));
  rlx_mem_free(b);
}

static rlx_status write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  RLX_TRY(check(fake_of(q->device), b, offset, bytes));
  memcpy(data_of(b) + offset, src, (size_t)bytes);
  return RLX_OK;
}

static rlx_status read(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  RLX_TRY(check(fake_of(q->device), b, offset, bytes));
  memcpy(dst, data_of(b) + offset, (size_t)bytes);
  return RLX_OK;
}

static rlx_status copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                       uint64_t bytes) {
  RLX_TRY(check(fake_of(q->device), dst, dst_offset, bytes));
  RLX_TRY(check(fake_of(q->device), src, src_offset, bytes));
  if (dst == src && dst_offset < src_offset + bytes && src_offset < dst_offset + bytes)
    return RLX_FAIL(RLX_INVALID, "fake device: a copy overlaps itself");
  memcpy(data_of(dst) + dst_offset, data_of(src) + src_offset, (size_t)bytes);
  return RLX_OK;
}

static rlx_status zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes) {
  fake_device *f = fake_of(q->device);
  RLX_TRY(check(f, b, offset, bytes));
  if (f->fails_to_zero) {
    f->fails_to_zero--;
    return RLX_FAIL(RLX_DEVICE_LOST, "fake device: zeroing");
  }
  memset(data_of(b) + offset, 0, (size_t)bytes);
  atomic_fetch_add(&f->n_zeroed, 1);
  return RLX_OK;
}

static rlx_status wait(rlx_queue *q, uint64_t value) {
  (void)value;
  return fake_of(q->device)->is_lost ? RLX_FAIL(RLX_DEVICE_LOST, "fake device: lost") : RLX_OK;
}

static uint64_t layout_bytes(const rlx_device *d, uint32_t layout, const rlx_type *type) {
  size_t plain;
  (void)d;
  if (layout != FAKE_LAYOUT || rlx_tensor_bytes(type->dtype, type->shape, &plain)) return 0;
  return plain + FAKE_HEADER;
}

static rlx_status repack(const rlx_device *d, uint32_t layout, const rlx_type *type, bool to_layout, const void *src,
                         void *dst, rlx_pool *pool) {
  const unsigned char *s = src;
  unsigned char *t = dst;
  (void)pool;
  size_t n = (size_t)layout_bytes(d, layout, type) - FAKE_HEADER;
  const uintptr_t plain = (uintptr_t)(to_layout ? src : dst); /* a backend may read it as numbers */
  if (type->dtype == RLX_F32 && plain % sizeof(float)) return RLX_FAIL(RLX_INVALID, "fake device: unaligned floats");
  if (to_layout) memset(t, FAKE_LAYOUT, FAKE_HEADER);
  for (size_t i = 0; i < n; i++) {
    if (to_layout) t[FAKE_HEADER + i] = s[n - 1 - i] ^ 0x5a;
    else t[i] = s[FAKE_HEADER + n - 1 - i] ^ 0x5a;
  }
  return RLX_OK;
}

/* Every weight of a matmul prefers the layout. */
static rlx_status claim(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out) {
  (void)d;
  (void)q;
  out->native = true;
  out->layout[1] = FAKE_LAYOUT;
  return RLX_OK;
}

void fake_device_init(fake_device *f, bool is_mapped) {
  *f = (fake_device){.is_mapped = is_mapped, .backend = rlx_backend_null};
  f->backend.name = "fake";
  f->backend.claim = claim;
  f->backend.layout_bytes = layout_bytes;
  f->backend.repack = repack;
  f->backend.block_create = create;
  f->backend.block_destroy = destroy;
  f->backend.write = write;
  f->backend.read = read;
  f->backend.copy = copy;
  f->backend.zero = zero;
  f->backend.wait = wait;
  f->base.backend = &f->backend;
  snprintf(f->base.info.name, sizeof f->base.info.name, "fake");
  f->base.info.align = 256;
  f->base.info.view_align = 4;
  f->base.info.is_mapped = is_mapped;
}
