/* Convolution: what conv.c and the inner loops of conv.simd.c share.
 *
 * A convolution is a product of the weight [O, K] with the matrix [K, places] whose rows are the taps (channel, then place in
 * the kernel) and whose columns are the output places. That matrix is never made: a panel of it, some dozens of columns wide
 * and as many taps high as stay in the first cache, is copied out of the image, multiplied with all output channels, and
 * overwritten by the next. Weights lie in groups of eight output channels, [O/8][K][8], packed when they are loaded. A
 * depth-wise convolution has no product in it and goes another way: rows of a channel, padded, times its taps. */
#ifndef RLX_CPU_CONV_H
#define RLX_CPU_CONV_H

#include "cpu/cpu.h"

enum { CPU_CONV_CHANNELS = 8 }; /* output channels that are computed together */

/* Part of a row of a panel that comes from the image: `length` columns from `to` on, whose elements begin at `from` in the
 * channel's plane and are `stride` apart. What no run covers is padding: zero. */
typedef struct cpu_conv_run {
  size_t to, length, from, stride;
} cpu_conv_run;

typedef struct cpu_conv_table {
  size_t columns; /* of a panel */
  /* One row of a panel. */
  void (*fill_row)(rlx_dtype type, const void *plane, const cpu_conv_run *runs, size_t n_runs, float *row);
  /* acc[8][columns] (+)= w[rows][8]^T panel[rows][columns] */
  void (*multiply)(const float *w, const float *panel, size_t rows, bool add, float *acc);
  /* x + bias, in the result's type */
  void (*finish)(rlx_dtype type, const float *x, float bias, void *dst, size_t n);
  /* y[i] = sum over the taps of w[t] x[t][i] */
  void (*add_taps)(const float *w, const float *const *x, size_t taps, float *y, size_t n);
  /* y[i] = max(y[i], x[i * stride]), NaN staying; y[i] += x[i * stride] */
  void (*take_max)(const float *x, size_t stride, float *y, size_t n);
  void (*take_sum)(const float *x, size_t stride, float *y, size_t n);
} cpu_conv_table;
CPU_TABLES(cpu_conv_table, cpu_conv)

#endif
