/* The SPIR-V of kernels, unpacked once and kept until the program ends. */
#ifndef RLX_TESTS_SPIRV_CODE_H
#define RLX_TESTS_SPIRV_CODE_H

#include "gpu/kernel.h"
#include "gpu/unpack.h"

enum { SPIRV_MAX_VARIANTS = 3 };

/* NULL: there is no such variant. Aborts if a kernel cannot be unpacked. */
const gpu_code *spirv_code(const gpu_kernel *k, uint32_t variant);

#endif
