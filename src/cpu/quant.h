/* Matrix products whose right side is of a block type: the parts of it.
 *
 * quant.c         claims, cuts a product into tasks, and walks rows and columns
 * quant_pack.c    the layout CPU_LAYOUT_QUANT_ROWS: 16 rows of a weight interleaved, the very same bytes in another order
 * quant_dot.simd.c, quant_exact.simd.c   the inner loops, over quant_loop.h and quant_codes.h
 *
 * By default the rows of a are rounded to 8 bits per 32 elements, each 32 with a scale, and the products are of integers;
 * with `exact` codes become f32 in registers and a stays as it is. Blocks that run along n (b is [k, n]), and types that the
 * inner loops do not know (CPU_QUANT_TYPES), are decoded and multiplied in f32. */
#ifndef RLX_CPU_QUANT_H
#define RLX_CPU_QUANT_H

#include "cpu/matmul.h"

enum { CPU_LAYOUT_QUANT_ROWS = CPU_LAYOUT_QUANT + 1 };

/* The contract of matmul.h. */
bool cpu_quant_claim(const cpu_product_shape *s, cpu_product_claim *out);
void cpu_quant_product(const cpu_product *p);
uint64_t cpu_quant_matrix_bytes(const cpu_product_shape *s);
/* Whether products with different weights share all that concerns a; and such products, run together in the first one's
 * work memory and pool. */
bool cpu_quant_joins(const cpu_product *a, const cpu_product *b);
void cpu_quant_products(const cpu_product *const *list, size_t n);

/* ---- layout ---- */

enum {
  CPU_QUANT_ROWS = 16,         /* of a group */
  CPU_QUANT_BLOCK_BYTES = 292, /* of the largest block */
};
/* n_blocks blocks of n_rows rows (16 at most; row_bytes apart) to a group; rows that are not there become zeros, which
 * every type decodes to finite numbers. `next` is what will be read soon: as many bytes are asked for; any address will do. */
void cpu_quant_pack(cpu_isa isa, rlx_dtype dtype, const uint8_t *rows, size_t row_bytes, size_t n_rows, size_t n_blocks,
                    const uint8_t *next, uint8_t *group);

/* ---- inner loops ---- */

/* How many rows of a one pass over the weights serves: 1, 4, 8, the last where there are registers for it. */
enum { CPU_QUANT_TILE_COUNT = 3, CPU_QUANT_TILE_MAX = 8 };

/* Adds to sums[i][j] the products of row i of a (as many as the tile has) with row j of a group, over n_blocks blocks, the
 * first of which holds elements `at` and on. An 8-bit row is what `quantise` wrote; k is its length. */
typedef void cpu_quant_dot_fn(const uint8_t *group, size_t n_blocks, const void *const *rows, size_t k, size_t at,
                              float (*sums)[CPU_QUANT_ROWS]);

typedef struct cpu_quant_table {
  /* k elements to an 8-bit row for weights of this type: k codes; a scale per 32; and per scale of the weight what stands
   * for its offset or min. False where 8 bits cannot say it (infinities, NaN, out of range): such a row runs exact. */
  bool (*quantise)(rlx_dtype dtype, const float *a, size_t k, void *row);
  cpu_quant_dot_fn *dot[RLX_DTYPE_COUNT][CPU_QUANT_TILE_COUNT]; /* NULL: no such tile */
  /* n_words words of 4 bytes of each of 16 rows, row_bytes apart: word i of row r goes to 64 i + 4 r. */
  void (*transpose)(const uint8_t *rows, size_t row_bytes, size_t n_words, uint8_t *out);
  /* y += x w, n elements; the sum of a w, n elements */
  void (*add_scaled)(float *y, const float *w, float x, size_t n);
  float (*dot_floats)(const float *a, const float *w, size_t n);
} cpu_quant_table;
CPU_TABLES(cpu_quant_table, cpu_quant)

typedef struct cpu_quant_exact_table {
  cpu_quant_dot_fn *dot[RLX_DTYPE_COUNT][CPU_QUANT_TILE_COUNT]; /* rows are f32 */
} cpu_quant_exact_table;
CPU_TABLES(cpu_quant_exact_table, cpu_quant_exact)

#endif
