/* Packed kernel code: any input survives a round trip through the encoder and decoder; every kernel of every target
 * unpacks; corrupted bytes are rejected. tools/kernels --check shows that the packs match the kernels' sources. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "faults.h"
#include "gpu/codes.h"
#include "gpu/spirv_words.h"
#include "spirv_code.h"
#include "test.h"

#include "../../tools/kernel_pack.h"

static uint32_t next(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 32);
}

/* Returns the packed size, or 0 if the round trip fails. */
static size_t round_trip(const uint32_t *symbols, size_t n, bool is_text) {
  size_t n_bytes;
  unsigned char *blob = pack_encode(symbols, n, is_text, &n_bytes);
  gpu_code code;
  bool same = blob && !gpu_unpack(blob, n_bytes, &code) && code.n == n && (code.text != NULL) == is_text;
  for (size_t i = 0; i < n && same; i++) same = (is_text ? (unsigned char)code.text[i] : code.words[i]) == symbols[i];
  if (same && is_text) same = code.text[n] == 0;
  if (same) gpu_code_deinit(&code);
  free(blob);
  return same ? n_bytes : 0;
}

TEST(anything_comes_back) {
  enum { MAX = 4000 };
  uint64_t seed = 5;
  uint32_t v[MAX] = {0};
  CHECK(round_trip(v, 0, false) && round_trip(v, 0, true));
  for (int round = 0; round < 60; round++) {
    const size_t n = next(&seed) % MAX;
    const uint32_t bits = next(&seed) % 33; /* 0: all zeros; 32: full words */
    for (size_t i = 0; i < n; i++) v[i] = bits ? next(&seed) >> (32 - bits) : 0;
    CHECK(round_trip(v, n, false));
    for (size_t i = 0; i < n; i++) v[i] &= 255;
    CHECK(round_trip(v, n, true));
  }
  for (uint32_t i = 0; i < MAX; i++) v[i] = 1u << 16 | i; /* more kinds of instructions than the model numbers */
  CHECK(round_trip(v, MAX, false));
  for (uint32_t i = 0; i < MAX; i++) v[i] = i < 5 ? 0 : UINT32_MAX - i % 3;
  CHECK(round_trip(v, MAX, false));
}

TEST(kernels_come_back_small) {
  const gpu_code *s = spirv_code(&gpu_kernel_softmax, 0);
  size_t bytes = round_trip(s->words, s->n, false);
  CHECK(bytes > 0 && bytes * 6 < s->n * 4);
}

TEST(every_spirv_kernel_is_whole) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < GPU_KERNEL_COUNT; k++)
    for (uint32_t v = 0; v < SPIRV_MAX_VARIANTS; v++) {
      const gpu_code *s = spirv_code(gpu_kernels[k], v);
      if (!s) continue;
      CHECK(s->words && spirv_is_whole(s->words, s->n));
      n++;
    }
  CHECK(n >= GPU_KERNEL_COUNT);
}

/* Whether the kernel's source is NAME.KIND.k, which not every device can run. */
static bool is_there(const char *name, const char *kind) {
  char path[512];
  snprintf(path, sizeof path, RLX_TEST_DATA "/../../src/gpu/kernels/%s.%s.k", name, kind);
  FILE *f = fopen(path, "rb");
  if (f) fclose(f);
  return f != NULL;
}

static void check_texts(const char *target, const char *part, size_t *n_texts) {
  *n_texts = 0;
  for (uint32_t k = 0; k < GPU_KERNEL_COUNT; k++) {
    char path[512];
    snprintf(path, sizeof path, RLX_TEST_DATA "/../../src/gpu/gen/%s/%s.pack", target, gpu_kernels[k]->name);
    static unsigned char bytes[1 << 16];
    FILE *f = fopen(path, "rb");
    if (!f) continue; /* a kernel on matrix units */
    gpu_pack pack = {bytes, fread(bytes, 1, sizeof bytes, f)};
    fclose(f);
    gpu_variant v;
    gpu_code code = {0};
    const bool has_matrices = is_there(gpu_kernels[k]->name, "matrix") || is_there(gpu_kernels[k]->name, "hopper");
    CHECK(gpu_pack_at(&pack, 0, &v) && (v.needs != 0) == has_matrices);
    CHECK_OK(gpu_unpack(v.blob.bytes, v.blob.n_bytes, &code));
    CHECK(code.text && strstr(code.text, part));
    gpu_code_deinit(&code);
    ++*n_texts;
  }
}
TEST(every_text_unpacks) {
  size_t n_wgsl = 0, n_cuda = 0;
  check_texts("wgsl", "@compute", &n_wgsl);
  if (test_has_failed()) return;
  check_texts("cuda", "__global__", &n_cuda);
  if (test_has_failed()) return;
  CHECK(n_wgsl > 50 && n_wgsl < n_cuda && n_cuda == GPU_KERNEL_COUNT);
}

TEST(changed_bytes_are_refused) {
  uint64_t seed = 11;
  uint32_t v[600];
  for (size_t i = 0; i < 600; i++) v[i] = i < 5 ? 7 : 3u << 16 | next(&seed) % 9;
  size_t n;
  unsigned char *blob = pack_encode(v, 600, false, &n);
  gpu_code code;
  for (size_t cut = 0; cut + 4 < n; cut++) {   /* the last bytes may be zeros, which may be omitted */
    unsigned char *exact = malloc(cut + !cut); /* exact size, so a sanitizer detects a read past the end */
    memcpy(exact, blob, cut);
    CHECK_EQ_INT(gpu_unpack(exact, cut, &code), RLX_INVALID);
    free(exact);
  }
  for (int round = 0; round < 2000; round++) {
    unsigned char changed[8192];
    memcpy(changed, blob, n);
    changed[next(&seed) % (n - 4)] ^= (unsigned char)(1 + next(&seed) % 255);
    CHECK_EQ_INT(gpu_unpack(changed, n, &code), RLX_INVALID);
    CHECK(!code.words && !code.text && !code.n);
  }
  free(blob);
}

TEST(variants_by_features) {
  const unsigned char bytes[] = {0, 0, 0, 0, 1, 0, 0, 0, 10, 1, 0, 0, 0, 2, 0, 0, 0, 20, 21, 3, 0, 0, 0, 0, 0, 0, 0};
  const gpu_pack pack = {bytes, sizeof bytes}, cut = {bytes, sizeof bytes - 9};
  gpu_variant v;
  CHECK(gpu_pack_pick(&pack, 0, &v) && v.blob.n_bytes == 1 && v.blob.bytes[0] == 10);
  CHECK(gpu_pack_pick(&pack, 1, &v) && v.blob.n_bytes == 2 && v.blob.bytes[0] == 20);
  CHECK(gpu_pack_pick(&pack, 2, &v) && v.blob.n_bytes == 1); /* the third needs both */
  CHECK(gpu_pack_pick(&pack, 7, &v) && v.blob.n_bytes == 0 && v.needs == 3);
  CHECK(!gpu_pack_at(&pack, 3, &v));
  CHECK(gpu_pack_at(&cut, 0, &v) && !gpu_pack_at(&cut, 1, &v)); /* its blob is truncated */
  CHECK(!gpu_pack_at(&(gpu_pack){0}, 0, &v) && !gpu_pack_pick(&(gpu_pack){0}, 7, &v));
}

static void *ask(void *user) {
  gpu_codes *codes = user;
  const gpu_code *code = NULL;
  size_t n = 0;
  for (uint32_t k = 0; k < GPU_KERNEL_COUNT; k += 7) {
    if (!gpu_codes_has(codes, gpu_kernels[k])) continue;
    if (gpu_codes_get(codes, gpu_kernels[k], &code) || !code->words) return NULL;
    n += code->n;
  }
  return n ? user : NULL;
}

TEST(threads_may_ask) {
  const gpu_caps caps = {.subgroup = 32, .has_dot8 = true};
  static gpu_codes codes;
  CHECK_OK(gpu_codes_init(&codes, gpu_column_spirv, &caps));
  CHECK(gpu_codes_has(&codes, &gpu_kernel_quant_matvec) && !gpu_codes_has(&codes, &gpu_kernel_quant_coop));
  pthread_t threads[3];
  void *result;
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, ask, &codes) == 0);
  for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], &result) == 0 && result);
  const gpu_code *code;
  CHECK_EQ_INT(gpu_codes_get(&codes, &gpu_kernel_quant_coop, &code), RLX_UNSUPPORTED);
  gpu_codes_deinit(&codes);
}

static rlx_status once(void *user) {
  (void)user;
  static gpu_codes codes;
  const gpu_code *code;
  RLX_TRY(gpu_codes_init(&codes, gpu_column_spirv, &(gpu_caps){.subgroup = 32}));
  rlx_status s = gpu_codes_get(&codes, &gpu_kernel_resolve, &code);
  gpu_codes_deinit(&codes);
  return s;
}
TEST(allocations_may_fail) { CHECK_OK(alloc_sweep(once, NULL)); }
