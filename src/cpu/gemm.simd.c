/* Inner loops of the float GEMM; gemm.h defines groups, panels and tiles.
 *
 * Most time is spent in tile_rows. Its register tile is `rows` by two vectors of sums. Each step of k loads two vectors
 * of the panel and broadcasts one element of each row: with 14 rows (AVX-512) 16 loads feed 28 multiply-adds, and both
 * streams are sequential reads from the L2 cache. It is instantiated per number of rows and dtype of b, which is
 * converted as it is loaded.
 *
 * One row alone (GEMV) is bound by memory. row_panels reads four panels at once, because several streams use more of
 * the bandwidth than one. dot_rows is for b as [n, k], where nothing needs to be transposed: the lanes hold partial
 * sums along k, which are reduced at the end. The other functions move a block into one of these layouts, or a tile out
 * of it. */
#include "cpu/gemm.h"
#include "cpu/math.h"

/* The number of registers decides: 2 MR sums, 2 vectors of the panel and one or two broadcasts must fit. */
#define MR VF_TILE_ROWS
#define DOT_ROWS (VF_REGISTERS / 8)
#define ROW_STEPS (VF_REGISTERS / 16)
#define NR (2 * VF_LANES)
enum { PREFETCH = 8 /* steps of k ahead */, DOT_COLUMNS = 4, PANELS = CPU_GEMM_ROW_PANELS };

/* These unroll loops over registers in the source, so that no compiler keeps the sums in memory. */
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13)
#define EACH_4(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__)

/* ---- elements of any of the three dtypes; `type` is a compile-time constant at every call ---- */

CPU_INLINE const void *skip_as(const rlx_dtype type, const void *p, size_t n) {
  return (const char *)p + n * (type == RLX_F32 ? 4 : 2);
}

#define BY_TYPE(name) \
  { [RLX_F32] = name##_f32, [RLX_F16] = name##_f16, [RLX_BF16] = name##_bf16 }

/* ---- tiles ---- */

CPU_INLINE void tile_rows(const int rows, const rlx_dtype type, size_t k, const float *a, const void *b, size_t ldb,
                          float *c, bool first) {
  vf sum[MR][2];
#define CLEAR(i) \
  if (i < rows) sum[i % MR][0] = sum[i % MR][1] = vf_zero();
  EACH_ROW(CLEAR)
  for (size_t p = 0; p < k; p++, a += rows, b = skip_as(type, b, ldb)) {
    vf b0, b1;
    vf_load_two_as(type, b, 0, &b0, &b1);
    if (rows > 2) { /* with fewer rows the loads are the limit */
      __builtin_prefetch(skip_as(type, b, PREFETCH * ldb));
      if (type == RLX_F32 && VF_LANES == 16) __builtin_prefetch(skip_as(type, b, PREFETCH * ldb + VF_LANES));
    }
#define STEP(i)                                                  \
  if (i / VF_QUAD < rows / VF_QUAD) {                            \
    va x = va_load(a + i / VF_QUAD * VF_QUAD);                   \
    sum[i % MR][0] = va_fma(x, i % VF_QUAD, b0, sum[i % MR][0]); \
    sum[i % MR][1] = va_fma(x, i % VF_QUAD, b1, sum[i % MR][1]); \
  } else if (i < rows) {                                         \
    vf x = vf_set(a[i]);                                         \
    sum[i % MR][0] = vf_fma(x, b0, sum[i % MR][0]);              \
    sum[i % MR][1] = vf_fma(x, b1, sum[i % MR][1]);              \
  }
    EACH_ROW(STEP)
  }
#define PUT(i)                                                                   \
  if (i < rows) {                                                                \
    float *to = c + i * NR;                                                      \
    if (!first) sum[i % MR][0] = vf_add(vf_load(to), sum[i % MR][0]);            \
    if (!first) sum[i % MR][1] = vf_add(vf_load(to + VF_LANES), sum[i % MR][1]); \
    vf_store(to, sum[i % MR][0]);                                                \
    vf_store(to + VF_LANES, sum[i % MR][1]);                                     \
  }
  EACH_ROW(PUT)
}

/* One function per number of rows and dtype. Those past MR are copies of the last and are never called. */
#define TILE(i, type, name)                                                                           \
  static void name##_##i(size_t k, const float *a, const void *b, size_t ldb, float *c, bool first) { \
    tile_rows(i < MR ? i + 1 : MR, type, k, a, b, ldb, c, first);                                     \
  }
#define TILE_F32(i) TILE(i, RLX_F32, tile_f32)
#define TILE_F16(i) TILE(i, RLX_F16, tile_f16)
#define TILE_BF16(i) TILE(i, RLX_BF16, tile_bf16)
EACH_ROW(TILE_F32)
EACH_ROW(TILE_F16)
EACH_ROW(TILE_BF16)
#define NAME_F32(i) tile_f32_##i,
#define NAME_F16(i) tile_f16_##i,
#define NAME_BF16(i) tile_bf16_##i,

/* ---- one row of a ---- */

/* Prefetches `bytes` of a stream well ahead of where it is read. A product with one row is bound by reading b. Where b
 * is in memory, the hardware prefetcher does not look far enough ahead; where it is in a cache, prefetching only costs
 * (docs/performance.md). */
CPU_INLINE void prefetch_stream(rlx_dtype type, const void *at, size_t bytes) {
  enum { LINE = 64 };
  const size_t ahead = type == RLX_F32 ? 4096 : 1024;
  for (size_t i = 0; i < bytes; i += LINE) __builtin_prefetch((const char *)at + ahead + i, 0, 2);
}

/* Four packed panels; `far`: b is in memory, beyond all caches. */
CPU_INLINE void row_panels(const rlx_dtype type, const bool far, size_t k, const float *x, const void *b, float *c) {
  const size_t ldb = NR, panel_step = k * NR;
  vf sum[ROW_STEPS][PANELS][2];
  const void *b0 = b, *b1 = skip_as(type, b, panel_step), *b2 = skip_as(type, b1, panel_step),
             *b3 = skip_as(type, b2, panel_step);
#define CLEAR_PANEL(q, s) sum[s][q][0] = sum[s][q][1] = vf_zero();
#define STEP_PANEL(q, s)                              \
  {                                                   \
    vf low, high;                                     \
    vf_load_two_as(type, b##q, (s)*ldb, &low, &high); \
    sum[s][q][0] = vf_fma(y, low, sum[s][q][0]);      \
    sum[s][q][1] = vf_fma(y, high, sum[s][q][1]);     \
  }
#define NEXT_PANEL(q, steps)                                                                               \
  if (far) prefetch_stream(type, b##q, (steps)*ldb *(type == RLX_F32 ? sizeof(float) : sizeof(uint16_t))); \
  b##q = skip_as(type, b##q, (steps)*ldb);
#define PUT_PANEL(q, _)                                                             \
  if (ROW_STEPS > 1) sum[0][q][0] = vf_add(sum[0][q][0], sum[ROW_STEPS - 1][q][0]); \
  if (ROW_STEPS > 1) sum[0][q][1] = vf_add(sum[0][q][1], sum[ROW_STEPS - 1][q][1]); \
  vf_store(c + q * NR, sum[0][q][0]);                                               \
  vf_store(c + q * NR + VF_LANES, sum[0][q][1]);
  EACH_4(CLEAR_PANEL, 0)
  EACH_4(CLEAR_PANEL, ROW_STEPS - 1)
  size_t p = 0;
  for (; p + ROW_STEPS <= k; p += ROW_STEPS) {
    vf y = vf_set(x[p]);
    EACH_4(STEP_PANEL, 0)
    if (ROW_STEPS > 1) {
      y = vf_set(x[p + ROW_STEPS - 1]);
      EACH_4(STEP_PANEL, ROW_STEPS - 1)
    }
    EACH_4(NEXT_PANEL, ROW_STEPS)
  }
  if (p < k) {
    vf y = vf_set(x[p]);
    EACH_4(STEP_PANEL, 0)
  }
  EACH_4(PUT_PANEL, 0)
}

/* c (+)= x times k row-major rows of n columns, ldb apart. Eight rows at a time are added to c, which stays in the L1
 * cache, so that b is read in eight long streams. */
CPU_INLINE void row_plain(const rlx_dtype type, size_t k, size_t n, const float *x, const void *b, size_t ldb, float *c,
                          bool first) {
  for (size_t j = 0; first && j < n; j++) c[j] = 0;
  size_t p = 0;
  for (; p + 8 <= k; p += 8, b = skip_as(type, b, 8 * ldb)) {
    vf y[8];
    for (int r = 0; r < 8; r++) y[r] = vf_set(x[p + (size_t)r]);
    size_t j = 0;
#define ADD_TWO(r)                                             \
  even = vf_fma(y[r], vf_load_as(type, b, r * ldb + j), even); \
  odd = vf_fma(y[r + 1], vf_load_as(type, b, (r + 1) * ldb + j), odd);
    for (; j + VF_LANES <= n; j += VF_LANES) {
      vf even = vf_load(c + j), odd = vf_zero();
      ADD_TWO(0)
      ADD_TWO(2)
      ADD_TWO(4)
      ADD_TWO(6)
      vf_store(c + j, vf_add(even, odd));
    }
    if (j < n) {
      vf sum = vf_load_n(c + j, n - j);
      for (size_t r = 0; r < 8; r++) sum = vf_fma(y[r], vf_load_as_n(type, b, r * ldb + j, n - j), sum);
      vf_store_n(c + j, sum, n - j);
    }
  }
  for (; p < k; p++, b = skip_as(type, b, ldb)) {
    vf y = vf_set(x[p]);
    size_t j = 0;
    for (; j + VF_LANES <= n; j += VF_LANES) vf_store(c + j, vf_fma(y, vf_load_as(type, b, j), vf_load(c + j)));
    if (j < n) vf_store_n(c + j, vf_fma(y, vf_load_as_n(type, b, j, n - j), vf_load_n(c + j, n - j)), n - j);
  }
}

/* ---- b as [n, k] ---- */

/* Four columns at a time. Where fewer are left, the last one is repeated and the extra sums are dropped. */
CPU_INLINE void dot_rows(const int rows, const rlx_dtype type, size_t n, size_t k, const float *x, size_t ldx,
                         const void *b, size_t ldb, float *c, size_t ldc) {
  for (size_t j = 0; j < n; j += DOT_COLUMNS) {
    size_t last = n - j - 1;
#define COLUMN(q, _) const void *b##q = skip_as(type, b, (j + (q < last ? q : last)) * ldb);
    EACH_4(COLUMN, 0)
    vf sum[DOT_ROWS][DOT_COLUMNS];
#define CLEAR_DOT(q, i) \
  if (i < rows) sum[i % DOT_ROWS][q] = vf_zero();
    EACH_4(CLEAR_DOT, 0)
    EACH_4(CLEAR_DOT, 1)
    EACH_4(CLEAR_DOT, 2)
    EACH_4(CLEAR_DOT, 3)
    size_t p = 0;
    for (; p + VF_LANES <= k; p += VF_LANES) {
      vf y[4];
#define LOAD_DOT(q, _) y[q] = vf_load_as(type, b##q, p);
      EACH_4(LOAD_DOT, 0)
#define STEP_DOT(i, _)                                            \
  if (i < rows) {                                                 \
    vf a = vf_load(x + i * ldx + p);                              \
    sum[i % DOT_ROWS][0] = vf_fma(a, y[0], sum[i % DOT_ROWS][0]); \
    sum[i % DOT_ROWS][1] = vf_fma(a, y[1], sum[i % DOT_ROWS][1]); \
    sum[i % DOT_ROWS][2] = vf_fma(a, y[2], sum[i % DOT_ROWS][2]); \
    sum[i % DOT_ROWS][3] = vf_fma(a, y[3], sum[i % DOT_ROWS][3]); \
  }
      EACH_4(STEP_DOT, 0)
    }
    for (size_t rest = k - p, q = 0; rest > 0 && q < DOT_COLUMNS; q++) {
      const void *at[DOT_COLUMNS] = {b0, b1, b2, b3};
      vf y = vf_load_as_n(type, at[q], p, rest);
      for (int i = 0; i < rows; i++)
        sum[i % DOT_ROWS][q] = vf_fma(vf_load_n(x + (size_t)i * ldx + p, rest), y, sum[i % DOT_ROWS][q]);
    }
    for (int i = 0; i < rows; i++)
      for (size_t q = 0; q <= last && q < DOT_COLUMNS; q++) c[(size_t)i * ldc + j + q] = vf_sum(sum[i % DOT_ROWS][q]);
  }
}

/* ---- packing ---- */

/* Transposes k elements of each of n rows (n <= VF_LANES) to dst[p * ldd + i]. Full vectors are stored up to `end`:
 * what follows the n elements there is padding, or is overwritten later. */
CPU_INLINE void transpose_rows(const rlx_dtype type, size_t n, size_t k, const void *const *rows, float *dst,
                               size_t ldd, const float *end) {
  for (size_t p = 0; p < k; p += VF_LANES) {
    size_t steps = k - p < VF_LANES ? k - p : VF_LANES;
    vf r[VF_LANES];
    for (size_t i = 0; i < VF_LANES; i++)
      r[i] = i >= n              ? vf_zero()
             : steps == VF_LANES ? vf_load_as(type, rows[i], p)
                                 : vf_load_as_n(type, rows[i], p, steps);
    vf_transpose(r);
    for (size_t s = 0; s < steps; s++) {
      float *to = dst + (p + s) * ldd;
      if (end - to >= VF_LANES) vf_store(to, r[s]);
      else vf_store_n(to, r[s], n);
    }
  }
}

CPU_INLINE void pack_group(const rlx_dtype type, size_t rows, size_t k, const void *a, size_t lda,
                           const uint32_t *index, float *group) {
  const void *row[CPU_GEMM_MAX_MR];
  for (size_t i = 0; i < rows; i++) row[i] = skip_as(type, a, (index ? index[i] : i) * lda);
  if (rows == 1) { /* only converted to f32 */
    size_t p = 0;
    for (; p + VF_LANES <= k; p += VF_LANES) vf_store(group + p, vf_load_as(type, row[0], p));
    if (p < k) vf_store_n(group + p, vf_load_as_n(type, row[0], p, k - p), k - p);
    return;
  }
  for (size_t i = 0; i < rows; i += VF_LANES) {
    size_t n = rows - i < VF_LANES ? rows - i : VF_LANES;
    /* Rows that do not fill their vector must not write past the end: the rows before them are already stored there. */
    bool may_overwrite = rows <= VF_LANES || n == VF_LANES;
    transpose_rows(type, n, k, row + i, group + i, rows, may_overwrite ? group + k * rows : group);
  }
}

/* Row by row over all panels: rows that are a multiple of the page size apart would evict each other from the cache. */
CPU_INLINE void pack_rows(const rlx_dtype type, size_t k, size_t n, const void *b, size_t ldb, float *panels,
                          size_t panel_step) {
  for (size_t p = 0; p < k; p++, panels += NR, b = skip_as(type, b, ldb)) {
    float *to = panels;
    size_t j = 0;
    for (; j + NR <= n; j += NR, to += panel_step) {
      vf_store(to, vf_load_as(type, b, j));
      vf_store(to + VF_LANES, vf_load_as(type, b, j + VF_LANES));
    }
    if (j < n) {
      size_t low = n - j < VF_LANES ? n - j : VF_LANES;
      vf_store(to, vf_load_as_n(type, b, j, low));
      vf_store(to + VF_LANES, vf_load_as_n(type, b, j + low, n - j - low));
    }
  }
}

CPU_INLINE void pack_columns(const rlx_dtype type, size_t k, size_t n, const void *b, size_t ldb, float *panel) {
  const void *row[NR];
  for (size_t j = 0; j < n; j++) row[j] = skip_as(type, b, j * ldb);
  size_t low = n < VF_LANES ? n : VF_LANES;
  transpose_rows(type, low, k, row, panel, NR, panel + k * NR);
  transpose_rows(type, n - low, k, row + low, panel + VF_LANES, NR, panel + k * NR);
}

/* ---- epilogue ---- */

CPU_INLINE void finish(const rlx_dtype type, const float *tile, size_t rows, size_t n, const cpu_gemm_store *s) {
  for (size_t i = 0; i < rows; i++, tile += NR) {
    size_t row = (s->rows ? s->rows[i] : i) * s->out_row;
    const float *times = s->times ? s->times + i * NR : NULL;
    for (size_t j = 0; j < n; j += VF_LANES) {
      size_t count = n - j;
      bool full = count >= VF_LANES;
      vf v = vf_load(tile + j);
      if (s->bias) v = vf_add(v, full ? vf_load_as(type, s->bias, j) : vf_load_as_n(type, s->bias, j, count));
      if (s->act) v = vf_activate(s->act, v);
      if (times) v = vf_mul(v, vf_load(times + j));
      if (s->store != CPU_STORE) {
        vf old = full ? vf_load_as(type, s->out, row + j) : vf_load_as_n(type, s->out, row + j, count);
        v = s->store == CPU_STORE_ADD ? vf_add(old, v) : vf_mul(old, v);
      }
      if (full) vf_store_as(type, s->out, row + j, v);
      else vf_store_as_n(type, s->out, row + j, v, count);
    }
  }
}

/* ---- the table ---- */

#define FOR_TYPE(T, t)                                                                                                \
  static void tile_##t(size_t rows, size_t k, const float *a, const void *b, size_t ldb, float *c, bool first) {      \
    static void (*const all[])(size_t, const float *, const void *, size_t, float *, bool) = {EACH_ROW(NAME_##T)};    \
    all[rows - 1](k, a, b, ldb, c, first);                                                                            \
  }                                                                                                                   \
  static void row_panels_##t(size_t k, const float *x, const void *b, float *c) {                                     \
    row_panels(RLX_##T, false, k, x, b, c);                                                                           \
  }                                                                                                                   \
  static void row_panels_far_##t(size_t k, const float *x, const void *b, float *c) {                                 \
    row_panels(RLX_##T, true, k, x, b, c);                                                                            \
  }                                                                                                                   \
                                                                                                                      \
  static void row_plain_##t(size_t k, size_t n, const float *x, const void *b, size_t ldb, float *c, bool first) {    \
    row_plain(RLX_##T, k, n, x, b, ldb, c, first);                                                                    \
  }                                                                                                                   \
  static void pack_rows_##t(size_t k, size_t n, const void *b, size_t ldb, float *panels, size_t panel_step) {        \
    pack_rows(RLX_##T, k, n, b, ldb, panels, panel_step);                                                             \
  }                                                                                                                   \
  static void pack_columns_##t(size_t k, size_t n, const void *b, size_t ldb, float *panel) {                         \
    pack_columns(RLX_##T, k, n, b, ldb, panel);                                                                       \
  }                                                                                                                   \
  static void pack_group_##t(size_t rows, size_t k, const void *a, size_t lda, const uint32_t *index, float *group) { \
    pack_group(RLX_##T, rows, k, a, lda, index, group);                                                               \
  }                                                                                                                   \
  static void dots_##t(size_t rows, size_t n, size_t k, const float *x, size_t ldx, const void *b, size_t ldb,        \
                       float *c, size_t ldc) {                                                                        \
    if (rows == 1) dot_rows(1, RLX_##T, n, k, x, ldx, b, ldb, c, ldc);                                                \
    if (rows == 2) dot_rows(2, RLX_##T, n, k, x, ldx, b, ldb, c, ldc);                                                \
    if (DOT_ROWS > 2 && rows == 3) dot_rows(DOT_ROWS - 1, RLX_##T, n, k, x, ldx, b, ldb, c, ldc);                     \
    if (DOT_ROWS > 2 && rows == 4) dot_rows(DOT_ROWS, RLX_##T, n, k, x, ldx, b, ldb, c, ldc);                         \
  }                                                                                                                   \
  static void finish_##t(const float *tile, size_t rows, size_t n, const cpu_gemm_store *s) {                         \
    finish(RLX_##T, tile, rows, n, s);                                                                                \
  }
FOR_TYPE(F32, f32)
FOR_TYPE(F16, f16)
FOR_TYPE(BF16, bf16)

const cpu_gemm_table CPU_TABLE(cpu_gemm) = {
  .mr = MR,
  .nr = NR,
  .dot_rows = DOT_ROWS,
  .tile = BY_TYPE(tile),
  .row_panels = BY_TYPE(row_panels),
  .row_panels_far = BY_TYPE(row_panels_far),
  .row_plain = BY_TYPE(row_plain),
  .dots = BY_TYPE(dots),
  .pack_rows = BY_TYPE(pack_rows),
  .pack_columns = BY_TYPE(pack_columns),
  .pack_group = BY_TYPE(pack_group),
  .finish = BY_TYPE(finish),
};
