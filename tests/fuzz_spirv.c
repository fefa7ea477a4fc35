/* libFuzzer target: a kernel with any constants. They must always give a whole module. The kernel's own words are not changed: they are part
 * of the library, and no file brings others. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gpu/kernel.h"
#include "gpu/spirv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { N_CONSTANTS = 97, HEAD = 4 };

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

/* Instructions follow each other to the end, and nothing is left to be specialised. */
static void check_whole(const uint32_t *w, size_t n) {
  size_t at = 5;
  if (n < 5) fail("a module without its head");
  while (at < n) {
    const uint32_t op = w[at] & 0xffff, words = w[at] >> 16;
    if (!words || words > n - at) fail("an instruction past the end");
    if (op >= 48 && op <= 50) fail("a constant that is still to be put in");
    at += words;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  if (bytes < HEAD) return 0;
  const gpu_kernel *k = gpu_kernels[(data[0] | (uint32_t)data[1] << 8) % gpu_kernel_count];
  const gpu_spirv *s = &k->spirv[data[2] % GPU_VARIANT_COUNT];
  if (!s->words) return 0;
  uint32_t constants[N_CONSTANTS] = {1u << data[3] % 11}, *out = NULL;
  for (size_t i = HEAD; i < bytes && (i - HEAD) / 2 + 1 < N_CONSTANTS; i++)
    constants[1 + (i - HEAD) / 2] |= (uint32_t)data[i] << 8 * ((i - HEAD) % 2);
  size_t n_out;
  if (gpu_spirv_specialise(s->words, s->n_words, constants, N_CONSTANTS, &out, &n_out)) fail("a kernel is refused");
  check_whole(out, n_out);
  if (gpu_spirv_unroll(&out, &n_out)) fail("a kernel is not unrolled");
  check_whole(out, n_out);
  rlx_mem_free(out);
  return 0;
}
