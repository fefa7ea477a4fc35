/* Inner loops of rotary position embeddings, one table per instruction set (rope.simd.c). */
#ifndef RLX_CPU_ROPE_H
#define RLX_CPU_ROPE_H

#include "cpu/cpu.h"

typedef struct cpu_rope_table {
  /* Cosines and sines of n angles in -pi .. pi. */
  void (*cosines)(const float *angle, float *cosine, float *sine, size_t n);
  /* Rotates 2 * pairs elements of one dtype (f32, f16, bf16): pairs (i, i + pairs), or (2i, 2i + 1). y may alias x. */
  void (*neox)(rlx_dtype type, const void *x, void *y, const float *cosine, const float *sine, size_t pairs);
  void (*gptj)(rlx_dtype type, const void *x, void *y, const float *cosine, const float *sine, size_t pairs);
} cpu_rope_table;
CPU_TABLES(cpu_rope_table, cpu_rope)

#endif
