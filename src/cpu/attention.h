/* The inner loops of attention, one table per instruction set (attention.simd.c); attention.c drives them.
 *
 * A block of query rows meets a tile of keys. With many rows the rows are the lanes: scores lie as s[key][row], queries
 * transposed as qt[d][row], and keys are read as they lie, one scalar at a time, so that nothing is packed per tile and
 * the softmax needs no sums across lanes. With few rows (decode) keys are read as vectors and scores lie as s[row][key]. */
#ifndef RLX_CPU_ATTENTION_H
#define RLX_CPU_ATTENTION_H

#include "cpu/cpu.h"

enum { CPU_ATTENTION_KEYS = 64 }; /* of a tile */

typedef struct cpu_attention_table {
  size_t rows;     /* of a block: two vectors of lanes */
  size_t few_rows; /* up to here the rows are not worth being lanes */
  /* s[key][row] = sum over d of qt[d][row] k[key][d]; keys are k_row floats apart. */
  void (*scores_lanes)(const float *qt, const float *k, size_t k_row, size_t keys, size_t d, float *s);
  /* s[row * KEYS + key] = q[row] . k[key] */
  void (*scores_rows)(const float *q, size_t rows, const float *k, size_t k_row, size_t keys, size_t d, float *s);
  void (*soft_cap)(float *s, size_t n, float cap); /* cap tanh(s / cap) */
  /* n rows of `width` elements of f16 or bf16, from_row elements apart, to f32 rows side by side. */
  void (*widen)(rlx_dtype type, const void *from, size_t from_row, size_t n, size_t width, float *to);
  void (*divide)(float *x, size_t n, float by);
  /* Turns scores into weights e^(s - m), m being the largest score so far: updates m and the sum l, and gives the factor
   * `shrink` that older sums are to be multiplied with. All per row. */
  void (*softmax_lanes)(float *s, size_t keys, float *m, float *l, float *shrink);
  void (*softmax_rows)(float *s, size_t rows, size_t keys, float *m, float *l, float *shrink);
  /* acc[row][dv] = acc shrink[row] + sum over keys of p[key * p_key + row * p_row] v[key][dv] */
  void (*add_values)(const float *p, size_t p_key, size_t p_row, const float *v, size_t v_row, size_t keys, size_t rows,
                     size_t dv, const float *shrink, float *acc);
} cpu_attention_table;
CPU_TABLES(cpu_attention_table, cpu_attention)

#endif
