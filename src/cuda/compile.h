/* Pipelines (gpu/pipelines.h) that NVRTC compiles: the kernel's CUDA text with its constants as macros becomes machine
 * code for the exact chip.
 *
 * Compiling takes 50 to 500 ms, so the code is kept in files of the user's cache folder, one per pipeline. The name of
 * a file is a hash of the text, the options, the chip and the versions of compiler and driver. A file that is cut or
 * changed, or that the driver refuses, is made again. */
#ifndef RLX_CUDA_COMPILE_H
#define RLX_CUDA_COMPILE_H

#include "cuda/cu.h"

typedef struct cu_pipeline {
  gpu_pipeline base;
  CUmodule module;
  CUfunction function;
  char *why; /* the compiler's message, if it failed */
} cu_pipeline;

extern const gpu_pipeline_maker cu_pipeline_maker;

static inline CUfunction cu_pipeline_function(const gpu_pipeline *q) { return ((const cu_pipeline *)q)->function; }

#endif
