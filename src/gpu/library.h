/* Products that a library of the device's vendor computes in place of a kernel: cuBLASLt. A backend that has one sets
 * caps->has_library; matmul_library.c then emits dispatches of gpu_kernel_library, which has no code. The backend reads
 * their parameters and windows and calls the library. */
#ifndef RLX_GPU_LIBRARY_H
#define RLX_GPU_LIBRARY_H

#include "gpu/matmul_plan.h"

enum { /* windows */
       GPU_LIBRARY_A,
       GPU_LIBRARY_B,
       GPU_LIBRARY_BIAS, /* [n], of y's type; GPU_NONE: none */
       GPU_LIBRARY_Y,
       GPU_LIBRARY_WORK, /* for the library to use as it likes */
       GPU_LIBRARY_WINDOWS,
};

typedef struct gpu_params_library {
  uint32_t groups;
  uint32_t m, n, k;
  uint32_t trans_b;                 /* b is [n, k] */
  uint32_t type, y_type;            /* rlx_dtype of a and b; of y: the same, or f32 */
  uint32_t batches, a_step, b_step; /* elements from a product's a and b to the next one's; y is [batches, m, n] */
  uint32_t has_bias, is_relu;
} gpu_params_library;

extern const gpu_kernel gpu_kernel_library;

/* "cublasLt f16" for a dispatch of it: the type of a and b. */
void gpu_library_text(const gpu_dispatch *d, char *out, size_t bytes);

/* Whether the library is chosen for a product: of f32, f16 or bf16, or of f32 with f16 (matmul_f16.c). */
bool gpu_product_suits_library(const gpu_lowering *l, const gpu_product *p);
/* Emits a product that suits it, with a and b of one type. */
void gpu_product_by_library(gpu_lowering *l, const gpu_product *p);
/* Only the f32 sums [batch, m, n], in work memory. */
gpu_window gpu_product_sums_by_library(gpu_lowering *l, const gpu_product *p);

#endif
