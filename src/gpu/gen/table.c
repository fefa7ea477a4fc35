/* Made by tools/kernels. */

#include "gpu/kernel.h"

const gpu_kernel *const gpu_kernels[] = {
  &gpu_kernel_convert,
  &gpu_kernel_softmax,
};
const uint32_t gpu_kernel_count = sizeof gpu_kernels / sizeof gpu_kernels[0];
