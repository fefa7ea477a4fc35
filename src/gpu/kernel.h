/* The kernel table. One gpu_kernel per kernels/NAME.k, in gen/NAME.c, made by tools/kernels; gen/kernels.h declares them
 * all, with gpu_params_NAME, the struct of each kernel's parameters.
 *
 * A kernel exists in variants, of which a device uses the last it has the features for: `base` needs Vulkan 1.1 alone,
 * `subgroup` sub-group arithmetic, `dot8` that and packed dot products of bytes. A kernel whose file is NAME.glsl.k is Vulkan's own (a native override): it has one
 * variant, and its lowering asks the capabilities before using it. */
#ifndef RLX_GPU_KERNEL_H
#define RLX_GPU_KERNEL_H

#include <stddef.h>
#include <stdint.h>

typedef enum gpu_variant { GPU_VARIANT_BASE, GPU_VARIANT_SUBGROUP, GPU_VARIANT_DOT8, GPU_VARIANT_COUNT } gpu_variant;

typedef struct gpu_spirv {
  const uint32_t *words; /* NULL: not in this variant */
  size_t n_words;
} gpu_spirv;

typedef struct gpu_kernel {
  const char *name;
  uint32_t index; /* in gpu_kernels */
  uint32_t n_windows;
  uint32_t writes;       /* bit i: window i is written */
  uint32_t n_constants;  /* beside the group size, which is constant 0; ids 1 .. n_constants */
  uint32_t params_bytes; /* groups included */
  gpu_spirv spirv[GPU_VARIANT_COUNT];
} gpu_kernel;

#include "gpu/gen/kernels.h"

extern const gpu_kernel *const gpu_kernels[];
extern const uint32_t gpu_kernel_count;

#endif
