/* Memory of the device and pinned memory of the host, and the calls that copy and set it.
 *
 * The bytes of the device lie in the host's memory, at an address that only the fake knows. Device addresses are beyond
 * all host addresses, and there is a gap after each allocation. So an access by the host, a range that is too long and
 * an address of memory that was freed are found out. Pinned memory has one address for both. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

#define DEVICE_BEGIN ((uint64_t)1 << 48)
enum { ALIGN = 256, LARGE = 2 << 20, GAP = 64 << 10, PATTERN = 0xa5 };

static fake_memory *all; /* by rising address */
static size_t n_all, n_allocated;
static uint64_t next_address = DEVICE_BEGIN, device_bytes, pinned_bytes;

/* ---- the table ---- */

/* The number of allocations that begin at or before an address. */
static size_t upper(uint64_t address) {
  size_t lo = 0, hi = n_all;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (all[mid].address <= address) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

const fake_memory *fake_memory_at(const fake_context *c, uint64_t address) {
  size_t i = upper(address);
  const fake_memory *m = i ? &all[i - 1] : NULL;
  return m && m->context == c && address - m->address <= m->bytes ? m : NULL;
}

unsigned char *fake_range(const fake_context *c, uint64_t address, size_t bytes) {
  const fake_memory *m = fake_memory_at(c, address);
  return m && bytes <= m->bytes - (address - m->address) ? m->host + (address - m->address) : NULL;
}

unsigned char *fake_written(const fake_context *c, uint64_t address) {
  const fake_memory *m = fake_memory_at(c, address);
  return m && m->written ? m->written + (address - m->address) : NULL;
}

void fake_set_written(const fake_context *c, uint64_t address, size_t bytes) {
  unsigned char *written = fake_written(c, address);
  if (written) memset(written, 1, bytes);
}

CUresult fake_unwritten(const char *text) {
  if (fake_device.init == 2) fprintf(stderr, "fake CUDA: unwritten: %s\n", text);
  return fake_device.init == 1 ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

static void add(fake_memory m) {
  if (n_all == n_allocated) {
    n_allocated = n_allocated ? 2 * n_allocated : 64;
    fake_memory *more = realloc(all, n_allocated * sizeof *all);
    if (!more) abort();
    all = more;
  }
  size_t i = upper(m.address);
  memmove(&all[i + 1], &all[i], (n_all - i) * sizeof *all);
  all[i] = m;
  n_all++;
  *(m.is_pinned ? &pinned_bytes : &device_bytes) += m.bytes;
}

static void drop(size_t i) {
  fake_memory m = all[i];
  *(m.is_pinned ? &pinned_bytes : &device_bytes) -= m.bytes;
  memmove(&all[i], &all[i + 1], (n_all - i - 1) * sizeof *all);
  n_all--;
  free(m.host);
  free(m.written);
}

void fake_memory_free_all(const fake_context *c) {
  for (size_t i = n_all; i-- > 0;)
    if (all[i].context == c) drop(i);
}

void fake_memory_count(fake_cuda_counts *out) {
  out->allocations = out->pinned = 0;
  for (size_t i = 0; i < n_all; i++) (*(all[i].is_pinned ? &out->pinned : &out->allocations))++;
  out->device_bytes = device_bytes;
  out->pinned_bytes = pinned_bytes;
}

/* ---- allocation ---- */

/* Not 0 bytes. */
static CUresult allocate(fake_context *c, size_t bytes, bool is_pinned, fake_memory *out) {
  void *host = NULL;
  /* A queue's staging ring is large and written below: a page of 4 KiB at a time took longer than most tests. */
  const bool is_large = bytes >= LARGE;
  if (posix_memalign(&host, is_large ? LARGE : ALIGN, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (is_large) rlx_os_use_large_pages(host, bytes);
  memset(host, fake_device.is_blind ? 0 : PATTERN, bytes);
  *out = (fake_memory){.address = (uintptr_t)host, .bytes = bytes, .host = host, .is_pinned = is_pinned, .context = c};
  if (!is_pinned && !fake_device.is_blind && fake_device.init) out->written = fake_new(bytes);
  if (!is_pinned) {
    out->address = next_address;
    next_address += (bytes + GAP + ALIGN - 1) / ALIGN * ALIGN;
  }
  add(*out);
  return CUDA_SUCCESS;
}

CUresult fake_MemGetInfo(size_t *free_bytes, size_t *total_bytes) {
  fake_lock();
  fake_context *c = NULL;
  CUresult r = fake_current(&c);
  *total_bytes = fake_device.memory_bytes;
  *free_bytes = fake_device.memory_bytes - device_bytes;
  return fake_unlock(r);
}

CUresult fake_MemAlloc(CUdeviceptr *out, size_t bytes) {
  fake_lock();
  *out = 0;
  fake_context *c = NULL;
  fake_memory m;
  CUresult r = fake_current(&c);
  if (!r && bytes == 0) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "cuMemAlloc: expected a size, got 0 bytes");
  if (!r && fake_fails(&fake_count.memory, fake_plan.fail_memory)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (!r && bytes > fake_device.memory_bytes - device_bytes) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (!r) r = allocate(c, bytes, false, &m);
  if (!r) *out = m.address;
  return fake_unlock(r);
}

CUresult fake_MemHostAlloc(void **out, size_t bytes, unsigned flags) {
  fake_lock();
  *out = NULL;
  fake_context *c = NULL;
  fake_memory m;
  CUresult r = fake_current(&c);
  if (!r && (bytes == 0 || flags > 7))
    r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "cuMemHostAlloc: %zu bytes, flags %u", bytes, flags);
  if (!r && fake_fails(&fake_count.host, fake_plan.fail_host)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (!r) r = allocate(c, bytes, true, &m);
  if (!r) *out = m.host;
  return fake_unlock(r);
}

/* Waits for all work of the context first, as CUDA does. In a lost context the memory is freed as well, and the error
 * is reported. */
static CUresult release(uint64_t address, bool is_pinned) {
  fake_context *c = NULL;
  CUresult r = fake_current_or_lost(&c);
  if (!c) return r;
  size_t i = upper(address);
  if (!i || all[i - 1].address != address || all[i - 1].context != c || all[i - 1].is_pinned != is_pinned)
    return r ? r
             : fake_refuse(CUDA_ERROR_INVALID_VALUE, "address %#llx is not one to free", (unsigned long long)address);
  if (!r) r = fake_run_all(c);
  drop(i - 1);
  return r;
}

CUresult fake_MemFree(CUdeviceptr p) {
  fake_lock();
  return fake_unlock(p ? release(p, false) : CUDA_SUCCESS);
}

CUresult fake_MemFreeHost(void *p) {
  fake_lock();
  return fake_unlock(release((uintptr_t)p, true));
}

CUresult fake_MemHostGetDevicePointer(CUdeviceptr *out, void *p, unsigned flags) {
  fake_lock();
  *out = 0;
  fake_context *c = NULL;
  CUresult r = fake_current(&c);
  const fake_memory *m = r ? NULL : fake_memory_at(c, (uintptr_t)p);
  if (!r && (!m || !m->is_pinned || flags)) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "%p is not pinned memory", p);
  if (!r) *out = (uintptr_t)p;
  return fake_unlock(r);
}

/* ---- copies ---- */

typedef enum place { PINNED, PAGEABLE } place; /* of a range of the host */

/* Where a host range is. A range that is partly pinned is refused, and so is an address of the device. */
static CUresult host_range(const fake_context *c, const void *p, size_t bytes, place *out) {
  const fake_memory *m = fake_memory_at(c, (uintptr_t)p);
  if (m && (uintptr_t)p == m->address + m->bytes) m = NULL; /* what follows is not its own */
  *out = m ? PINNED : PAGEABLE;
  if ((uintptr_t)p >= DEVICE_BEGIN || (m && !fake_range(c, (uintptr_t)p, bytes)))
    return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p are not a range of the host", bytes, p);
  return CUDA_SUCCESS;
}

/* A range of the device, or a pinned one by its address: CUDA takes that as well. */
static CUresult device_range(const fake_context *c, uint64_t address, size_t bytes) {
  if (bytes == 0 || fake_range(c, address, bytes)) return CUDA_SUCCESS;
  const fake_memory *m = fake_memory_at(c, address);
  return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                     "%zu bytes at %#llx: expected a range of an allocation, which has %zu bytes from there", bytes,
                     (unsigned long long)address, m ? m->bytes - (size_t)(address - m->address) : 0);
}

CUresult fake_copy_check(const fake_context *c, uint64_t dst, uint64_t src, size_t bytes) {
  CUresult r = device_range(c, dst, bytes);
  if (!r) r = device_range(c, src, bytes);
  if (!r && dst != src && dst < src + bytes && src < dst + bytes)
    r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "a copy of %zu bytes between ranges that overlap", bytes);
  return r;
}

/* Bytes that nothing wrote may be copied inside the device, where they stay unwritten; the host may not read them. */
static CUresult copy_written(const fake_context *c, const fake_copied *copy, char text[256]) {
  unsigned char *to = fake_written(c, copy->dst);
  const unsigned char *from = copy->src_bytes ? NULL : fake_written(c, copy->src);
  if (to && from) memmove(to, from, copy->bytes);
  else if (to) memset(to, 1, copy->bytes);
  const unsigned char *hole = from && !to ? memchr(from, 0, copy->bytes) : NULL;
  if (!hole) return CUDA_SUCCESS;
  snprintf(text, 256, "a copy of %zu bytes to the host reads byte %zu, which nothing wrote", copy->bytes,
           (size_t)(hole - from));
  return fake_unwritten(text);
}

CUresult fake_execute_copy(fake_context *c, const fake_copied *copy, char text[256]) {
  unsigned char *dst = fake_range(c, copy->dst, copy->bytes);
  const unsigned char *src = copy->src_bytes ? copy->src_bytes : fake_range(c, copy->src, copy->bytes);
  if (dst && src) {
    memmove(dst, src, copy->bytes);
    return copy_written(c, copy, text);
  }
  snprintf(text, 256, "a copy of %zu bytes, and the memory is gone", copy->bytes);
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult fake_MemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream handle) {
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  place where = PAGEABLE;
  CUresult r = fake_submit(handle, &fake_count.copies, &c, &s);
  if (!r) r = device_range(c, dst, bytes);
  if (!r) r = host_range(c, src, bytes, &where);
  if (r || bytes == 0) return fake_unlock(r);
  fake_op *op = fake_push(s, FAKE_OP_COPY);
  op->copy = (fake_copied){dst, (uintptr_t)src, bytes, where == PINNED ? NULL : fake_copy(src, bytes)};
  return fake_unlock(r);
}

CUresult fake_MemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream handle) {
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  place where = PAGEABLE;
  CUresult r = fake_submit(handle, &fake_count.copies, &c, &s);
  if (!r) r = device_range(c, src, bytes);
  if (!r) r = host_range(c, dst, bytes, &where);
  if (r || bytes == 0) return fake_unlock(r);
  if (where == PAGEABLE) {
    r = fake_run_stream(c, s);
    if (!r) memcpy(dst, fake_range(c, src, bytes), bytes); /* the backend copies to pinned memory: not checked here */
    return fake_unlock(r);
  }
  fake_op *op = fake_push(s, FAKE_OP_COPY);
  op->copy = (fake_copied){(uintptr_t)dst, src, bytes, NULL};
  return fake_unlock(r);
}

CUresult fake_MemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream handle) {
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  CUresult r = fake_submit(handle, &fake_count.copies, &c, &s);
  if (!r) r = fake_copy_check(c, dst, src, bytes);
  if (!r && bytes) fake_push(s, FAKE_OP_COPY)->copy = (fake_copied){dst, src, bytes, NULL};
  return fake_unlock(r);
}

CUresult fake_MemsetD8Async(CUdeviceptr dst, unsigned char value, size_t bytes, CUstream handle) {
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  CUresult r = fake_submit(handle, &fake_count.sets, &c, &s);
  if (!r) r = device_range(c, dst, bytes);
  if (r || bytes == 0) return fake_unlock(r);
  fake_op *op = fake_push(s, FAKE_OP_SET);
  op->copy = (fake_copied){dst, 0, bytes, NULL};
  op->value = value;
  return fake_unlock(r);
}
