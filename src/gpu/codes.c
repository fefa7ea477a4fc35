/* Looks up kernel variants in packs and caches their unpacked code. A pack is a list of variants, each with the bits of
 * the features it needs, the size of its blob, and the blob. */
#include "gpu/codes.h"

enum { VARIANT_HEAD_BYTES = 8 };
/* At the start of a blob: its number of symbols and their checksum (pack.h). */
enum { PACK_HEAD_BYTES = 8 };

static uint32_t read_u32(const unsigned char *b) {
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

bool gpu_pack_at(const gpu_pack *p, uint32_t i, gpu_variant *out) {
  for (size_t at = 0; p->n_bytes - at >= VARIANT_HEAD_BYTES; i--) {
    const unsigned char *head = p->bytes + at;
    const uint32_t n = read_u32(head + 4);
    at += VARIANT_HEAD_BYTES;
    if (n > p->n_bytes - at) return false;
    *out = (gpu_variant){.needs = read_u32(head), .blob = {p->bytes + at, n}};
    if (i == 0) return true;
    at += n;
  }
  return false;
}

bool gpu_pack_pick(const gpu_pack *p, uint32_t features, gpu_variant *out) {
  gpu_variant v;
  bool found = false;
  for (uint32_t i = 0; gpu_pack_at(p, i, &v); i++) {
    if (v.needs & ~features) continue;
    *out = v, found = true;
  }
  return found;
}

uint64_t gpu_column_hash(const gpu_pack *column) {
  uint64_t h = 0xcbf29ce484222325u;
  gpu_variant v;
  for (uint32_t k = 0; k < GPU_KERNEL_COUNT; k++)
    for (uint32_t i = 0; gpu_pack_at(&column[k], i, &v); i++)
      for (size_t b = 0; b < PACK_HEAD_BYTES && b < v.blob.n_bytes; b++) h = (h ^ v.blob.bytes[b]) * 0x100000001b3u;
  return h;
}

rlx_status gpu_codes_init(gpu_codes *c, const gpu_pack *column, const gpu_caps *caps) {
  *c = (gpu_codes){.column = column};
#define GPU_FEATURE(name, has) c->features |= (has) ? 1u << GPU_FEATURE_##name : 0;
#include "gpu/features.def"
#undef GPU_FEATURE
  if (!rlx_mutex_init(&c->lock)) return RLX_FAIL(RLX_NO_MEMORY, "kernel cache: a mutex");
  c->has_lock = true;
  return RLX_OK;
}

void gpu_codes_deinit(gpu_codes *c) {
  for (uint32_t k = 0; k < GPU_KERNEL_COUNT; k++) gpu_code_deinit(&c->code[k]);
  if (c->has_lock) rlx_mutex_destroy(&c->lock);
  c->has_lock = false;
}

bool gpu_codes_has(const gpu_codes *c, const gpu_kernel *k) {
  gpu_variant v;
  return gpu_pack_pick(&c->column[k->index], c->features, &v);
}

/* An entry found under the lock never changes again, so the caller reads it without the lock. */
static bool look_up(gpu_codes *c, const gpu_kernel *k) {
  rlx_mutex_lock(&c->lock);
  bool found = c->code[k->index].n != 0;
  rlx_mutex_unlock(&c->lock);
  return found;
}

/* Two threads may unpack the same kernel at once: the first result is kept. */
static void keep(gpu_codes *c, const gpu_kernel *k, gpu_code *code) {
  rlx_mutex_lock(&c->lock);
  const bool is_first = c->code[k->index].n == 0;
  if (is_first) c->code[k->index] = *code;
  rlx_mutex_unlock(&c->lock);
  if (!is_first) gpu_code_deinit(code);
}

rlx_status gpu_codes_get(gpu_codes *c, const gpu_kernel *k, const gpu_code **out) {
  *out = &c->code[k->index];
  if (look_up(c, k)) return RLX_OK;
  gpu_variant v;
  gpu_code code;
  if (!gpu_pack_pick(&c->column[k->index], c->features, &v))
    return RLX_FAIL(RLX_UNSUPPORTED, "kernel %s has no variant for this device", k->name);
  RLX_TRY_AT(gpu_unpack(v.blob.bytes, v.blob.n_bytes, &code), "kernel %s", k->name);
  keep(c, k, &code);
  return RLX_OK;
}
