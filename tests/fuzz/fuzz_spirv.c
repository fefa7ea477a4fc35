/* libFuzzer target: a kernel with any constants, and with some of its words changed. As it is it must give a whole module with nothing
 * left to specialise; changed, a whole one or RLX_INVALID. Then PTX is made of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cuda/ptx.h"
#include "gpu/spirv.h"
#include "gpu/spirv_words.h"
#include "spirv_change.h"
#include "spirv_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { N_CONSTANTS = 97, HEAD = 4, CHANGE_BYTES = 8 };

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

static void check_whole(const uint32_t *w, size_t n, bool is_changed) {
  if (!spirv_is_whole(w, n)) fail("what comes out is not whole");
  for (size_t at = 5; at < n && !is_changed; at += w[at] >> 16)
    if ((w[at] & 0xffff) >= 48 && (w[at] & 0xffff) <= 50) fail("a constant that is still to be put in");
}

static uint32_t read_bytes(const uint8_t *from, int n) {
  uint32_t x = 0;
  for (int i = 0; i < n; i++) x |= (uint32_t)from[i] << 8 * i;
  return x;
}

/* Its PTX, or a refusal: kernels on matrix units have none. */
static void check_ptx(const uint32_t *words, size_t n) {
#ifdef RLX_CUDA
  const cu_ptx_desc desc = {.name = "fuzzed", .group_size = 64, .n_windows = 8, .params_bytes = 128};
  char *text = NULL;
  rlx_status status = cu_ptx_make(words, n, &desc, &text);
  if (status != RLX_OK && status != RLX_INVALID && status != RLX_UNSUPPORTED) fail("PTX with an unexpected status");
  if ((status == RLX_OK) != (text != NULL)) fail("PTX without a text");
  rlx_mem_free(text);
#else
  (void)words, (void)n;
#endif
}

/* Words of the very size, so that the sanitizer sees a read past them. */
static void check(const uint32_t *from, size_t n, const uint32_t *constants, bool is_changed) {
  uint32_t *words = malloc(n * sizeof *words + !n), *out = NULL;
  if (n) memcpy(words, from, n * sizeof *words);
  size_t n_out;
  rlx_status status = gpu_spirv_specialise(words, n, constants, N_CONSTANTS, &out, &n_out);
  free(words);
  if (is_changed && status == RLX_INVALID) return;
  if (status) fail("a kernel is refused");
  check_whole(out, n_out, is_changed);
  if (gpu_spirv_unroll(&out, &n_out)) fail("a kernel is not unrolled");
  check_whole(out, n_out, is_changed);
  check_ptx(out, n_out);
  rlx_mem_free(out);
}

/* The head: kernel, variant, and in one byte the group's size and how many words are changed. The changes are at the end, the constants
 * between. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  if (bytes < HEAD) return 0;
  const gpu_kernel *k = gpu_kernels[read_bytes(data, 2) % GPU_KERNEL_COUNT];
  const gpu_code *s = spirv_code(k, data[2] % SPIRV_MAX_VARIANTS);
  if (!s) return 0;
  size_t n_changes = data[3] >> 4, end = bytes, n = s->n;
  uint32_t constants[N_CONSTANTS] = {1u << (data[3] & 15) % 11}, *words = malloc(n * sizeof *words);
  memcpy(words, s->words, n * sizeof *words);
  for (; n_changes && end >= HEAD + CHANGE_BYTES; n_changes--, end -= CHANGE_BYTES) {
    const uint8_t *c = data + end - CHANGE_BYTES;
    spirv_change(words, &n, read_bytes(c, 3), c[3], read_bytes(c + 4, 4));
  }
  for (size_t i = HEAD; i < end && (i - HEAD) / 2 + 1 < N_CONSTANTS; i++)
    constants[1 + (i - HEAD) / 2] |= (uint32_t)data[i] << 8 * ((i - HEAD) % 2);
  check(words, n, constants, end < bytes);
  free(words);
  return 0;
}
