/* Translates SPIR-V to PTX, the text that NVIDIA's driver compiles itself: for machines that have the driver but not
 * NVRTC. Input are the modules that gpu/spirv.h makes, with constants folded in and loops unrolled.
 *
 * The kernel's parameters are those of the CUDA text: an address for each window in the order of the bindings, then the
 * parameters as one struct. The text is for compute capability 7.5, which every later chip's compiler accepts.
 *
 * It handles what tools/kernels generates for kernels without matrix units. Anything else is RLX_UNSUPPORTED, with the
 * number of the instruction in the message. */
#ifndef RLX_CUDA_PTX_H
#define RLX_CUDA_PTX_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cu_ptx_desc {
  const char *name;      /* of the kernel */
  uint32_t group_size;   /* threads of a block */
  uint32_t n_windows;    /* also those that the module does not use */
  uint32_t params_bytes; /* of the struct of parameters */
} cu_ptx_desc;

/* *text is freed with rlx_mem_free. Any words may be passed: RLX_INVALID if they are not a SPIR-V module. */
rlx_status cu_ptx_make(const uint32_t *words, size_t n_words, const cu_ptx_desc *desc, char **text);

#endif
