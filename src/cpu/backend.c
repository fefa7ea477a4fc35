/* The CPU backend: one device, the machine itself. Its blocks are host memory, so they are mapped and copies are
 * memcpy. Programs are in program.c, kernels in kernels.def.
 *
 * "cpu:avx2" opens the device with an older instruction set than the machine has, for tests and comparisons. Results
 * may differ between sets in the last bits, so a run can select its set by name. */
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "base/mem.h"
#include "base/os.h"
#include "cpu/cpu.h"
#include "cpu/slab.h"
#include "device/queue.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { BLOCK_ALIGN = 256 };

/* ---- the device ---- */

static uint32_t cpu_count(const char **why) {
  *why = NULL;
  return 1;
}

/* The processor's brand string, if it has one. */
static void read_brand(char *out, size_t cap) {
  char brand[49] = {0};
#if defined(__x86_64__)
  unsigned word[12] = {0};
  for (unsigned i = 0; i < 3; i++)
    if (!__get_cpuid(0x80000002u + i, &word[4 * i], &word[4 * i + 1], &word[4 * i + 2], &word[4 * i + 3])) break;
  memcpy(brand, word, sizeof word);
#endif
  size_t n = strlen(brand), skip = strspn(brand, " ");
  while (n > skip && brand[n - 1] == ' ') brand[--n] = 0;
#if defined(__aarch64__)
  const char *fallback = "64-bit Arm processor";
#else
  const char *fallback = "processor";
#endif
  snprintf(out, cap, "%s", brand[skip] ? brand + skip : fallback);
}

/* Derived from what is stable between processes: the backend and the brand. */
static void make_uuid(const char *brand, char *out, size_t cap) {
  uint64_t a = rlx_hash_bytes(rlx_hash_bytes(1, "cpu", 3), brand, strlen(brand));
  uint64_t b = rlx_hash_bytes(a, brand, strlen(brand));
  /* Version 8 (vendor-specific) and variant 1. */
  snprintf(out, cap, "%08x-%04x-8%03x-%04x-%012llx", (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff),
           (unsigned)(a & 0xfff), (unsigned)(0x8000 | (b >> 48 & 0x3fff)), (unsigned long long)(b & 0xffffffffffffu));
}

static void fill_info(cpu_isa isa, rlx_device_info *out) {
  *out = (rlx_device_info){.backend = "cpu",
                           .kind = RLX_DEVICE_CPU,
                           .align = BLOCK_ALIGN,
                           .view_align = 1, /* kernels need the alignment of an element, which every view has */
                           .is_mapped = true};
  read_brand(out->name, sizeof out->name);
  make_uuid(out->name, out->uuid, sizeof out->uuid);
  snprintf(out->driver, sizeof out->driver, "rlx %s %s", rlx_version(), cpu_isa_name(isa));
  snprintf(out->features, sizeof out->features, "%s", cpu_isa_features(isa));
  out->n_units = rlx_os_cores();
  out->memory_bytes = rlx_os_memory_bytes();
  out->free_bytes = rlx_machine_free_bytes();
}

static rlx_status cpu_describe(uint32_t index, rlx_device_info *out) {
  if (index != 0) return RLX_FAIL(RLX_NOT_FOUND, "cpu device %u: there is one, with index 0", (unsigned)index);
  fill_info(cpu_isa_best(), out);
  return RLX_OK;
}

static rlx_status pick_isa(const char *variant, cpu_isa *out) {
  *out = cpu_isa_best();
  if (!variant || !*variant || cpu_isa_find(variant, out)) return RLX_OK;
  char list[64] = "";
  for (int i = 0; i <= (int)cpu_isa_best(); i++) {
    size_t n = strlen(list);
    snprintf(list + n, sizeof list - n, " %s", cpu_isa_name((cpu_isa)i));
  }
  return RLX_FAIL(RLX_NOT_FOUND, "cpu: expected one of the instruction sets of this machine (%s), got '%.100s'",
                  list + 1, variant);
}

static rlx_status cpu_open(uint32_t index, const rlx_open_options *options, rlx_device **out) {
  *out = NULL;
  if (index != 0) return RLX_FAIL(RLX_NOT_FOUND, "cpu device %u: there is one, with index 0", (unsigned)index);
  cpu_isa isa;
  RLX_TRY(pick_isa(options ? options->variant : NULL, &isa));
  cpu_device *d = rlx_new(cpu_device);
  if (!d) return RLX_FAIL(RLX_NO_MEMORY, "the cpu device");
  d->base.backend = &rlx_backend_cpu;
  d->isa = isa;
  fill_info(isa, &d->base.info);
  *out = &d->base;
  return RLX_OK;
}

static void cpu_close(rlx_device *d) { rlx_mem_free(d); }

/* ---- packed weight layouts ---- */

static uint64_t cpu_layout_bytes(const rlx_device *d, uint32_t layout, const rlx_type *type) {
  const cpu_layout_family *f = cpu_layout_family_of(layout);
  return f ? f->bytes(((const cpu_device *)d)->isa, layout, type) : 0;
}

static uint32_t cpu_layout_rows(const rlx_device *d, uint32_t layout, const rlx_type *type) {
  const cpu_layout_family *f = cpu_layout_family_of(layout);
  return f && f->rows ? f->rows(((const cpu_device *)d)->isa, layout, type) : 0;
}

static rlx_status cpu_repack(const rlx_device *d, uint32_t layout, const rlx_type *type, bool to_layout,
                             const void *src, void *dst, rlx_pool *pool) {
  const cpu_layout_family *f = cpu_layout_family_of(layout);
  if (!f) return RLX_FAIL(RLX_INVALID, "cpu: there is no weight layout %u", (unsigned)layout);
  return f->repack(((const cpu_device *)d)->isa, layout, type, to_layout, src, dst, pool);
}

/* ---- blocks ---- */

typedef struct cpu_block {
  rlx_block base;
  cpu_slab *slab; /* NULL: allocated by itself */
} cpu_block;

static rlx_status cpu_block_create(rlx_device *d, uint64_t bytes, rlx_block **out) {
  (void)d;
  *out = NULL;
  cpu_block *b = rlx_new(cpu_block);
  void *map = b && bytes <= SIZE_MAX ? cpu_slab_alloc((size_t)bytes, BLOCK_ALIGN, &b->slab) : NULL;
  if (!map) {
    rlx_mem_free(b);
    return RLX_FAIL(RLX_NO_MEMORY, "cpu: a block of %llu bytes", (unsigned long long)bytes);
  }
  b->base.bytes = bytes;
  b->base.map = map;
  *out = &b->base;
  return RLX_OK;
}

static void cpu_block_destroy(rlx_device *d, rlx_block *b) {
  (void)d;
  if (!b) return;
  cpu_slab_free(b->map, ((cpu_block *)b)->slab);
  rlx_mem_free(b);
}

static rlx_status check_range(const rlx_block *b, uint64_t offset, uint64_t bytes) {
  if (offset <= b->bytes && bytes <= b->bytes - offset) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "cpu: %llu bytes at %llu are not inside a block of %llu", (unsigned long long)bytes,
                  (unsigned long long)offset, (unsigned long long)b->bytes);
}

static rlx_status cpu_write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range(b, offset, bytes));
  if (bytes) memcpy((unsigned char *)b->map + offset, src, (size_t)bytes);
  return RLX_OK;
}

static rlx_status cpu_read(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range(b, offset, bytes));
  if (bytes) memcpy(dst, (const unsigned char *)b->map + offset, (size_t)bytes);
  return RLX_OK;
}

static rlx_status cpu_copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                           uint64_t bytes) {
  RLX_TRY(check_range(src, src_offset, bytes));
  return cpu_write(q, dst, dst_offset, (const unsigned char *)src->map + src_offset, bytes);
}

static rlx_status cpu_zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes) {
  (void)q;
  RLX_TRY(check_range(b, offset, bytes));
  if (bytes) memset((unsigned char *)b->map + offset, 0, (size_t)bytes);
  return RLX_OK;
}

const rlx_backend rlx_backend_cpu = {
  .name = "cpu",
  .count = cpu_count,
  .describe = cpu_describe,
  .open = cpu_open,
  .close = cpu_close,
  .claim = cpu_claim,
  .layout_bytes = cpu_layout_bytes,
  .repack = cpu_repack,
  .layout_rows = cpu_layout_rows,
  .block_create = cpu_block_create,
  .block_destroy = cpu_block_destroy,
  RLX_QUEUE_IMMEDIATE,
  .write = cpu_write,
  .read = cpu_read,
  .copy = cpu_copy,
  .zero = cpu_zero,
  .program_create = cpu_program_create,
  .submit = cpu_program_submit,
  .program_destroy = cpu_program_destroy,
};
