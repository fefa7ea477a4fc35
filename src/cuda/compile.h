/* Pipelines (gpu/pipelines.h) that NVRTC compiles: the kernel's CUDA text with its constants as macros becomes machine
 * code for the exact chip. Without NVRTC the driver compiles them (compile_ptx.c).
 *
 * Compiling takes 50 to 500 ms, so the code is kept in files of the user's cache folder, one per pipeline. The name of
 * a file is a hash of the text, the options, the chip and the versions of compiler and driver. A file that is cut or
 * changed, or that the driver refuses, is made again. */
#ifndef RLX_CUDA_COMPILE_H
#define RLX_CUDA_COMPILE_H

#include "cuda/cu.h"

typedef struct cu_text { /* what is compiled */
  const char *name;      /* of the kernel in it, and of its file in the cache; at most 64 bytes */
  const char *text;
  size_t n;
  uint32_t group_size; /* K_C0; 0: the text defines its constants itself */
  uint32_t n_constants;
  const uint32_t *constants; /* K_C1, K_C2, .. */
} cu_text;

typedef struct cu_code {
  CUmodule module;
  CUfunction function;
  char *why; /* the compiler's message, if it failed */
} cu_code;

/* What building code returns besides 0 and an error of the driver, which is above 0. */
enum { CU_NO_MEMORY = -1, CU_COMPILER_FAILED = -2 };

/* Compiles a text, or takes its code from the cache. 0, or a number for cu_code_fail: several threads may compile at
 * once, whose messages nobody sees. The context is current. */
int cu_code_build(const cu_device *d, const cu_text *t, cu_code *out);
/* The same from SPIR-V, without NVRTC (compile_ptx.c). The cache is the driver's. */
int cu_code_build_ptx(const cu_device *d, const gpu_pipeline *q, const gpu_code *code, cu_code *out);
rlx_status cu_code_fail(cu_device *d, const char *name, const cu_code *c, int failed);
void cu_code_destroy(cu_device *d, cu_code *c); /* the context is current, or nothing was built */

typedef struct cu_pipeline {
  gpu_pipeline base;
  cu_code code;
} cu_pipeline;

extern const gpu_pipeline_maker cu_pipeline_maker;

static inline CUfunction cu_pipeline_function(const gpu_pipeline *q) { return ((const cu_pipeline *)q)->code.function; }

#endif
