/* The unpacked SPIR-V of kernels: see spirv_code.h. */
#include "spirv_code.h"

#include <stdio.h>
#include <stdlib.h>

static gpu_code codes[GPU_KERNEL_COUNT][SPIRV_MAX_VARIANTS];

const gpu_code *spirv_code(const gpu_kernel *k, uint32_t variant) {
  gpu_variant v;
  if (variant >= SPIRV_MAX_VARIANTS || !gpu_pack_at(&gpu_column_spirv[k->index], variant, &v)) return NULL;
  gpu_code *code = &codes[k->index][variant];
  if (!code->words && gpu_unpack(v.blob.bytes, v.blob.n_bytes, code)) {
    fprintf(stderr, "kernel %s, variant %u: %s\n", k->name, (unsigned)variant, rlx_message());
    abort();
  }
  return code;
}
