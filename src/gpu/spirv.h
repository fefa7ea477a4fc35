/* Specialising SPIR-V before a driver sees it.
 *
 * A kernel that serves many cases by specialisation constants (element-wise programs above all) is large, and what a driver
 * does with what is not meant differs: most expand all functions first and fold afterwards, which takes seconds. Here the
 * constants are put in, branches and switches on what is then known go one way, and blocks and functions that nothing reaches
 * any more are left out. What remains is small, and every driver compiles it in the time that it deserves.
 *
 * It understands what tools/kernels makes. What it does not know it leaves as it is. */
#ifndef RLX_GPU_SPIRV_H
#define RLX_GPU_SPIRV_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* constants[i] is the value of the constant with the number i; those past n_constants keep their defaults. *out is freed with
 * rlx_mem_free. RLX_INVALID where the words are no SPIR-V module: cut off, functions or blocks without an end, and the like
 * (spirv_words.h). Any words may be passed; names that mean nothing are left as they are. */
rlx_status gpu_spirv_specialise(const uint32_t *words, size_t n_words, const uint32_t *constants, uint32_t n_constants,
                                uint32_t **out, size_t *n_out);

/* Unrolls the loops of a specialised module that are marked for it, in place (spirv_unroll.c). RLX_INVALID as above, and
 * *words stays the caller's. */
rlx_status gpu_spirv_unroll(uint32_t **words, size_t *n_words);

#endif
