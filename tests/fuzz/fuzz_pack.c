/* libFuzzer target: any bytes as the pack of a kernel. Each variant unpacks into as many words as its head says, or
 * is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/kernel.h"
#include "gpu/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  const gpu_pack pack = {data, bytes};
  gpu_variant v;
  for (uint32_t i = 0; i < 4 && gpu_pack_at(&pack, i, &v); i++) {
    gpu_code code;
    rlx_status s = gpu_unpack(v.blob.bytes, v.blob.n_bytes, &code);
    if (s != RLX_OK && s != RLX_INVALID) fail("neither taken nor refused");
    if (s && (code.words || code.text || code.n)) fail("refused, and something came out");
    if (!s && code.text && strnlen(code.text, code.n + 1) > code.n) fail("a text without an end");
    gpu_code_deinit(&code);
  }
  return 0;
}
