/* Fourier transforms: the plan of one length, and the inner loops that execute it (fft.simd.c).
 *
 * As many lines as there are lanes are transformed together. Element k of them is one vector of real parts and one of
 * imaginary parts, x[k][2][lanes], so every step works on full vectors for any length. */
#ifndef RLX_CPU_FFT_H
#define RLX_CPU_FFT_H

#include "cpu/cpu.h"

enum { CPU_FFT_MAX_RADIX = 13, CPU_FFT_MAX_PASSES = 64 };

/* Combines `radix` transforms of length l into one, m times. */
typedef struct cpu_fft_pass {
  size_t radix, l, m;
  const float *twiddle; /* [l][radix - 1]: e^(-2 pi i q j / (l radix)), as re, im */
  const float *roots;   /* [radix]: e^(-2 pi i q / radix) */
} cpu_fft_pass;

typedef struct cpu_fft_plan {
  size_t n; /* the length */
  size_t n_passes;
  cpu_fft_pass pass[CPU_FFT_MAX_PASSES];
  /* Bluestein's algorithm, where n has a large prime factor: a convolution of length inner->n with a chirp. */
  const struct cpu_fft_plan *inner; /* NULL: the passes alone */
  const float *chirp;               /* [n] */
  const float *filter;              /* [inner->n], divided by it */
} cpu_fft_plan;

/* Allocated from `memory`, which must live as long as the plan. */
rlx_status cpu_fft_plan_create(size_t n, rlx_bump *memory, const cpu_fft_plan **out);
/* The length of the longest buffer: n, or that of the convolution. */
size_t cpu_fft_plan_size(size_t n);

typedef struct cpu_fft_table {
  size_t lanes;
  /* Transforms x, which holds plan->n elements in a buffer of cpu_fft_plan_size, with `scratch` of the same size.
   * Returns the buffer of the result: x or scratch. */
  float *(*run)(const cpu_fft_plan *plan, float *x, float *scratch);
} cpu_fft_table;
CPU_TABLES(cpu_fft_table, cpu_fft)

#endif
