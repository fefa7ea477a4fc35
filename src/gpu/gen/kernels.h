/* Made by tools/kernels. */

#ifndef RLX_GPU_GEN_KERNELS_H
#define RLX_GPU_GEN_KERNELS_H

#include <stdint.h>

enum {
  GPU_INDEX_convert,
  GPU_INDEX_softmax,
};

typedef struct gpu_params_convert { uint32_t groups; uint32_t n; } gpu_params_convert;
extern const struct gpu_kernel gpu_kernel_convert;

typedef struct gpu_params_softmax { uint32_t groups; uint32_t cols; } gpu_params_softmax;
extern const struct gpu_kernel gpu_kernel_softmax;

#endif
