/* Matrix products whose right side is a block type.
 *
 *     quant.c             claims, splits a product into tasks, and iterates over rows and columns
 *     quant_pack.c        the layout CPU_LAYOUT_QUANT_ROWS: 16 rows of a weight interleaved, the same bytes permuted
 *     quant_*.simd.c      the inner loops (dot, exact), over quant_loop.h and quant_codes.h
 *
 * By default the rows of a are quantised to 8 bits per element with a scale per 32 elements, and the products are
 * integer. With `exact`, codes are converted to f32 in registers and a is used unchanged. Blocks that run along n (b is
 * [k, n]), and block types without inner loops (not in CPU_QUANT_TYPES), are decoded and multiplied in f32. */
#ifndef RLX_CPU_QUANT_H
#define RLX_CPU_QUANT_H

#include "cpu/matmul.h"

enum { CPU_LAYOUT_QUANT_ROWS = CPU_LAYOUT_QUANT + 1 };

/* See matmul.h. */
bool cpu_quant_claim(const cpu_product_shape *s, cpu_product_claim *out);
void cpu_quant_product(const cpu_product *p);
uint64_t cpu_quant_matrix_bytes(const cpu_product_shape *s);
/* Whether two products with different weights can share the quantised a. cpu_quant_products runs such products
 * together, in the first one's work memory and pool. */
bool cpu_quant_joins(const cpu_product *a, const cpu_product *b);
void cpu_quant_products(const cpu_product *const *list, size_t n);

/* ---- layout ---- */

enum {
  CPU_QUANT_ROWS = 16,         /* rows of a group */
  CPU_QUANT_BLOCK_BYTES = 292, /* of the largest block */
};
/* Packs n_blocks blocks of n_rows rows (at most 16; row_bytes apart) into a group. Missing rows become zeros, which
 * every type decodes to finite values. `next` is what will be read soon: as many bytes are prefetched from it; any
 * address is valid. */
void cpu_quant_pack(cpu_isa isa, rlx_dtype dtype, const uint8_t *rows, size_t row_bytes, size_t n_rows, size_t n_blocks,
                    const uint8_t *next, uint8_t *group);

/* ---- inner loops ---- */

/* Rows of a that one pass over the weights serves: 1, 4 or 8, the last only with enough registers. */
enum { CPU_QUANT_TILE_COUNT = 3, CPU_QUANT_TILE_MAX = 8 };

/* Adds to sums[i][j] the products of row i of a (as many as the tile has) with row j of a group, over n_blocks blocks.
 * The first block holds elements `at` and on. An 8-bit row is what `quantise` wrote; k is its length. */
typedef void cpu_quant_dot_fn(const uint8_t *group, size_t n_blocks, const void *const *rows, size_t k, size_t at,
                              float (*sums)[CPU_QUANT_ROWS]);

/* For many rows of a: `expand` stores what an inner loop extracts from each of n_blocks blocks of a group (at most
 * CPU_QUANT_EXPANDED_BYTES per 256 elements, aligned to 16), `dot` multiplies that by CPU_QUANT_EXPANDED_ROWS rows,
 * with the same bits as the inner loops over the group itself. */
enum { CPU_QUANT_EXPANDED_ROWS = 4, CPU_QUANT_EXPANDED_BYTES = 12 << 10 };
typedef struct cpu_quant_expanded {
  void (*expand)(const uint8_t *group, size_t n_blocks, uint8_t *out);
  cpu_quant_dot_fn *dot;
} cpu_quant_expanded;

typedef struct cpu_quant_table {
  size_t element_bytes; /* of an 8-bit row: at most this many */
  /* Quantises k elements to an 8-bit row for weights of this type: k elements; a scale per 32; and per scale of the
   * weight a term for its offset or min. False where 8 bits cannot represent it (infinities, NaN, out of range): such a
   * row runs exact. */
  bool (*quantise)(rlx_dtype dtype, const float *a, size_t k, void *row);
  cpu_quant_dot_fn *dot[RLX_DTYPE_COUNT][CPU_QUANT_TILE_COUNT]; /* NULL: no such tile */
  cpu_quant_expanded expanded[RLX_DTYPE_COUNT];                 /* NULL: not worth it */
  /* add_scaled: y += x w; dot_floats: the sum of a w; over n elements. */
  void (*add_scaled)(float *y, const float *w, float x, size_t n);
  float (*dot_floats)(const float *a, const float *w, size_t n);
} cpu_quant_table;
CPU_TABLES(cpu_quant_table, cpu_quant)

typedef struct cpu_quant_exact_table {
  cpu_quant_dot_fn *dot[RLX_DTYPE_COUNT][CPU_QUANT_TILE_COUNT]; /* rows are f32 */
} cpu_quant_exact_table;
CPU_TABLES(cpu_quant_exact_table, cpu_quant_exact)

#endif
