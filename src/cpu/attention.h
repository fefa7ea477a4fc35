/* Inner loops of attention, one table per instruction set (attention.simd.c); called by attention.c.
 *
 * A block of query rows is processed against a tile of keys. With many rows, rows are the lanes: scores are stored as
 * s[key][row] and queries transposed as qt[d][row]. Keys are read unpacked, one scalar at a time, and the softmax needs
 * no reduction across lanes. With few rows (decode), keys are read as vectors and scores are stored as s[row][key]. */
#ifndef RLX_CPU_ATTENTION_H
#define RLX_CPU_ATTENTION_H

#include "cpu/cpu.h"

enum { CPU_ATTENTION_KEYS = 64 }; /* keys per tile */

typedef struct cpu_attention_table {
  size_t rows;        /* rows per block: two vectors of lanes */
  size_t skinny_rows; /* up to this many rows the row-by-row loops are faster */
  /* s[key][row] = sum over d of qt[d][row] k[key][d]; keys are k_row floats apart. */
  void (*scores_lanes)(const float *qt, const float *k, size_t k_row, size_t keys, size_t d, float *s);
  /* s[row * KEYS + key] = q[row] . k[key] */
  void (*scores_rows)(const float *q, size_t rows, const float *k, size_t k_row, size_t keys, size_t d, float *s);
  void (*soft_cap)(float *s, size_t n, float cap); /* cap tanh(s / cap) */
  /* Converts n rows of `width` f16, bf16, q8_0 or q4_0 elements, from_row elements apart, to contiguous f32 rows. */
  void (*widen)(rlx_dtype type, const void *from, size_t from_row, size_t n, size_t width, float *to);
  void (*divide)(float *x, size_t n, float by);
  /* Online softmax: replaces scores by weights e^(s - m), where m is the largest score so far. Updates m and the sum l,
   * and sets `rescale`, the factor for the sums of earlier tiles. All per row. */
  void (*softmax_lanes)(float *s, size_t keys, float *m, float *l, float *rescale);
  void (*softmax_rows)(float *s, size_t rows, size_t keys, float *m, float *l, float *rescale);
  /* acc[row][dv] = acc rescale[row] + sum over keys of p[key * p_key + row * p_row] v[key][dv] */
  void (*add_values)(const float *p, size_t p_key, size_t p_row, const float *v, size_t v_row, size_t keys, size_t rows,
                     size_t dv, const float *rescale, float *acc);
} cpu_attention_table;
CPU_TABLES(cpu_attention_table, cpu_attention)

#endif
