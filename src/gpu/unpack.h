/* Unpacks kernel code that tools/kernels has packed (pack.h). */
#ifndef RLX_GPU_UNPACK_H
#define RLX_GPU_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* SPIR-V, or a text: one of the two pointers is set. */
typedef struct gpu_code {
  uint32_t *words;
  char *text; /* with a zero behind it */
  size_t n;   /* words, or bytes of the text */
} gpu_code;

/* RLX_INVALID where the bytes are not what was packed; any bytes may be given. */
rlx_status gpu_unpack(const unsigned char *bytes, size_t n_bytes, gpu_code *out);
void gpu_code_deinit(gpu_code *code);

#endif
