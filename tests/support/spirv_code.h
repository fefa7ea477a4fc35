/* The SPIR-V of kernels, unpacked once and kept until the program ends. */
#ifndef RLX_TESTS_SPIRV_CODE_H
#define RLX_TESTS_SPIRV_CODE_H

#include "gpu/kernel.h"
#include "gpu/unpack.h"

enum { SPIRV_MAX_VARIANTS = 3 };

/* NULL: it has not so many variants. Aborts where a kernel does not unpack. */
const gpu_code *spirv_code(const gpu_kernel *k, uint32_t variant);

#endif
