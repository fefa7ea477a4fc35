/* Writes the PTX of a kernel, as the CUDA backend makes it on a machine without NVRTC: for tools/kernels --validate.
 *
 *   kernel_ptx NAME FEATURES WINDOWS PARAMS_BYTES GROUP_SIZE [CONSTANT...] < NAME.pack > NAME.ptx
 *
 * FEATURES are the bits of src/gpu/features.def. */
#include <stdio.h>
#include <stdlib.h>

#ifndef RLX_CUDA
int main(void) {
  fprintf(stderr, "kernel_ptx: this library was built without CUDA\n");
  return 2;
}
#else
#include "base/mem.h"
#include "cuda/ptx.h"
#include "gpu/codes.h"
#include "gpu/gpu.h"
#include "gpu/spirv.h"

enum { MAX_PACK = 1 << 20, FIRST_CONSTANT = 6 };

static rlx_status write_ptx(int argc, char **argv, const gpu_pack *pack) {
  uint32_t values[GPU_CONSTANT_PACKS_F16 + 1] = {(uint32_t)strtoul(argv[5], NULL, 10)}, *words = NULL;
  const cu_ptx_desc desc = {.name = argv[1],
                            .group_size = values[0],
                            .n_windows = (uint32_t)strtoul(argv[3], NULL, 10),
                            .params_bytes = (uint32_t)strtoul(argv[4], NULL, 10)};
  for (int i = FIRST_CONSTANT; i < argc && i - FIRST_CONSTANT < GPU_MAX_CONSTANTS; i++)
    values[1 + i - FIRST_CONSTANT] = (uint32_t)strtoul(argv[i], NULL, 10);
  values[GPU_CONSTANT_PACKS_F16] = 1;
  gpu_variant v;
  gpu_code code;
  size_t n = 0;
  char *text = NULL;
  if (!gpu_pack_pick(pack, (uint32_t)strtoul(argv[2], NULL, 10), &v)) return RLX_FAIL(RLX_NOT_FOUND, "no such variant");
  RLX_TRY(gpu_unpack(v.blob.bytes, v.blob.n_bytes, &code));
  rlx_status s = gpu_spirv_specialise(code.words, code.n, values, GPU_CONSTANT_PACKS_F16 + 1, &words, &n);
  if (!s) s = gpu_spirv_unroll(&words, &n);
  if (!s) s = cu_ptx_make(words, n, &desc, &text);
  if (!s) fputs(text, stdout);
  rlx_mem_free(text);
  rlx_mem_free(words);
  gpu_code_deinit(&code);
  return s;
}

int main(int argc, char **argv) {
  static unsigned char bytes[MAX_PACK];
  if (argc < FIRST_CONSTANT) {
    fprintf(stderr, "usage: kernel_ptx NAME FEATURES WINDOWS PARAMS_BYTES GROUP_SIZE [CONSTANT...] < NAME.pack\n");
    return 2;
  }
  const gpu_pack pack = {bytes, fread(bytes, 1, sizeof bytes, stdin)};
  if (!write_ptx(argc, argv, &pack)) return 0;
  fprintf(stderr, "%s\n", rlx_message());
  return 1;
}
#endif
