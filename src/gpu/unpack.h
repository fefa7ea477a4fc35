/* Unpacks kernel code that tools/kernels packed (pack.h). */
#ifndef RLX_GPU_UNPACK_H
#define RLX_GPU_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* SPIR-V or text: one of the two pointers is set. */
typedef struct gpu_code {
  uint32_t *words;
  char *text; /* zero-terminated */
  size_t n;   /* words, or bytes of the text */
} gpu_code;

/* RLX_INVALID if the bytes are not a packed kernel; any bytes may be passed. */
rlx_status gpu_unpack(const unsigned char *bytes, size_t n_bytes, gpu_code *out);
void gpu_code_deinit(gpu_code *code);

#endif
