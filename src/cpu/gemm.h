/* Inner loops of the float GEMM, one table per instruction set (gemm.simd.c), and the layouts they read.
 *
 *     panel   `nr` columns of b: element [k][j] at k * nr + j. A packed weight is a sequence of panels in the
 *             weight's own dtype; the last one is padded with zeros.
 *     group   up to `mr` rows of a, as f32: element [k][i] at k * rows + i.
 *     tile    the f32 result of one panel and one or more groups, below each other: [i][j] at i * nr + j. A tile
 *             of one row may be several panels wide. */
#ifndef RLX_CPU_GEMM_H
#define RLX_CPU_GEMM_H

#include "cpu/matmul.h"

enum {
  CPU_GEMM_MAX_NR = 32,
  CPU_GEMM_MAX_MR = 14,
  CPU_GEMM_ROW_PANELS = 4, /* adjacent panels read together for one row */
  CPU_GEMM_TYPES = 3,      /* f32, f16, bf16: RLX_F32 .. RLX_BF16 */
};
/* Layouts of a packed weight: from [.., K, N], and from [.., N, K]. */
enum { CPU_LAYOUT_GEMM_KN = CPU_LAYOUT_GEMM + 1, CPU_LAYOUT_GEMM_NK };

/* The destination of a tile and its epilogue: store(act(tile + bias) * times). */
typedef struct cpu_gemm_store {
  void *out; /* row 0, at the tile's first column */
  size_t out_row;
  const uint32_t *rows; /* indices of the tile's rows, as in cpu_product; NULL: consecutive */
  const void *bias;     /* at the tile's first column, in out's dtype; or NULL */
  const float *times;   /* another tile, or NULL */
  int32_t act;
  cpu_store store;
} cpu_gemm_store;

typedef struct cpu_gemm_table {
  size_t mr, nr;
  size_t dot_rows; /* max rows of `dots` */
  /* c (+)= group times k rows of a panel, ldb elements apart; `first`: c is written, not added to. */
  void (*tile[CPU_GEMM_TYPES])(size_t rows, size_t k, const float *a, const void *b, size_t ldb, float *c, bool first);
  /* GEMV. row_panels: c = x times four consecutive packed panels; _far: for panels that are in memory, beyond all
   * caches. row_plain: c (+)= x times k unpacked rows of n columns, ldb apart; split at a multiple of 8 rows, the bits
   * are the same. */
  void (*row_panels[CPU_GEMM_TYPES])(size_t k, const float *x, const void *b, float *c);
  void (*row_panels_far[CPU_GEMM_TYPES])(size_t k, const float *x, const void *b, float *c);
  void (*row_plain[CPU_GEMM_TYPES])(size_t k, size_t n, const float *x, const void *b, size_t ldb, float *c,
                                    bool first);
  /* c[i ldc + j] = sum over k of x[i ldx + k] b[j ldb + k] */
  void (*dots[CPU_GEMM_TYPES])(size_t rows, size_t n, size_t k, const float *x, size_t ldx, const void *b, size_t ldb,
                               float *c, size_t ldc);
  /* pack_rows: k rows, ldb apart, of n columns into f32 panels panel_step apart, padded with zeros. pack_columns: one
   * panel (n <= nr) from columns ldb apart. */
  void (*pack_rows[CPU_GEMM_TYPES])(size_t k, size_t n, const void *b, size_t ldb, float *panels, size_t panel_step);
  void (*pack_columns[CPU_GEMM_TYPES])(size_t k, size_t n, const void *b, size_t ldb, float *panel);
  /* Packs k elements of `rows` rows of a (row i at i * lda, or index[i] * lda) into a group. */
  void (*pack_group[CPU_GEMM_TYPES])(size_t rows, size_t k, const void *a, size_t lda, const uint32_t *index,
                                     float *group);
  /* Stores rows x n elements of a tile, n <= its width, with the epilogue, to an out of this dtype. */
  void (*finish[CPU_GEMM_TYPES])(const float *tile, size_t rows, size_t n, const cpu_gemm_store *s);
} cpu_gemm_table;
CPU_TABLES(cpu_gemm_table, cpu_gemm)

#endif
