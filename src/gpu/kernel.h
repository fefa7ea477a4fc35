/* The kernel table: a row for each kernels/NAME.k, made by tools/kernels. gen/kernels.h declares gpu_kernel_NAME, the
 * row, and two structs: gpu_params_NAME, the kernel's parameters, and gpu_constants_NAME, its specialisation
 * constants by their names in lower case. Kernels with the same constants share one struct, so that one of them can
 * be chosen at run time.
 *
 * The code of the kernels stands in columns, one for each target: gpu_column_TARGET, made from gen/TARGET/ and in the
 * library where a backend for that target is. A field of a column is a pack: the kernel's variants, each packed and
 * with the features that it needs, in rising order; a device uses the last one that it has all features for. An empty
 * pack: the target does not have the kernel. So SPIR-V alone has the kernels NAME.glsl.k (native overrides), whose
 * lowerings ask the capabilities first. */
#ifndef RLX_GPU_KERNEL_H
#define RLX_GPU_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gpu_kernel {
  const char *name;
  uint32_t index; /* in gpu_kernels and in every column */
  uint32_t n_windows;
  uint32_t writes;       /* bit i: window i is written */
  uint32_t n_constants;  /* beside the group size, which is constant 0; ids 1 .. n_constants */
  uint32_t params_bytes; /* groups included */
} gpu_kernel;

#include "gpu/gen/kernels.h"

extern const gpu_kernel *const gpu_kernels[GPU_KERNEL_COUNT];

/* ---- the columns ---- */

typedef struct gpu_pack {
  const unsigned char *bytes;
  size_t n_bytes;
} gpu_pack;

extern const gpu_pack gpu_column_spirv[GPU_KERNEL_COUNT]; /* words, by glslang and spirv-opt */
extern const gpu_pack gpu_column_cuda[GPU_KERNEL_COUNT];  /* text for NVRTC */
extern const gpu_pack gpu_column_wgsl[GPU_KERNEL_COUNT];  /* text */

/* features.def: what a variant may need, bit by bit in that order. */
enum {
#define GPU_FEATURE(name, has) GPU_FEATURE_##name,
#include "gpu/features.def"
#undef GPU_FEATURE
};

typedef struct gpu_variant {
  uint32_t needs; /* bit GPU_FEATURE_x: that feature */
  gpu_pack blob;  /* for gpu_unpack */
} gpu_variant;

/* Variant i of a pack; false: there are not so many. */
bool gpu_pack_at(const gpu_pack *p, uint32_t i, gpu_variant *out);
/* The last variant that needs no more than these features; false: there is none. */
bool gpu_pack_pick(const gpu_pack *p, uint32_t features, gpu_variant *out);
/* Of all code in a column, by its checksums: names what is kept on disk of it. */
uint64_t gpu_column_hash(const gpu_pack *column);

#endif
