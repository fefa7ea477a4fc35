/* Specialises SPIR-V before the driver compiles it.
 *
 * A kernel that serves many cases by specialisation constants (above all the element-wise programs) is large, and most
 * drivers inline all functions before they fold constants, which takes seconds. So this module substitutes the
 * constants, folds branches and switches on known values, and removes unreachable blocks and functions. The result is
 * small and compiles quickly in every driver.
 *
 * It handles what tools/kernels generates. Instructions it does not know are copied unchanged. */
#ifndef RLX_GPU_SPIRV_H
#define RLX_GPU_SPIRV_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* constants[i] is the value of the constant with id i; constants from n_constants on keep their defaults. *out is freed
 * with rlx_mem_free. Any words may be passed: RLX_INVALID if they are not a SPIR-V module (truncated, functions or
 * blocks without an end: spirv_words.h). Undefined ids are left unchanged. */
rlx_status gpu_spirv_specialise(const uint32_t *words, size_t n_words, const uint32_t *constants, uint32_t n_constants,
                                uint32_t **out, size_t *n_out);

/* Unrolls the loops of a specialised module that are marked for it, in place (spirv_unroll.c). RLX_INVALID as above;
 * *words is then unchanged and still the caller's. */
rlx_status gpu_spirv_unroll(uint32_t **words, size_t *n_words);

#endif
