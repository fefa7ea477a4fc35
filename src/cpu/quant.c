/* Products with block-type weights: splits a product into tasks and runs the inner loops.
 *
 * The weight is read in groups of 16 rows, each 16 columns of the result. A task takes some groups and iterates over
 * all rows of a, a tile at a time: the groups stay in the L1 and L2 caches, and a tile of a is short. Where the weight
 * is not packed, or its last rows do not fill a group, a task packs a few blocks at a time on its stack.
 *
 * Products of one a with several weights (query, key and value of a layer; gate and up) run together. a is quantised
 * once, and their groups are split into tasks as if they were one weight, so that there is one barrier and small
 * weights are still split.
 *
 * With blocks along n, a task takes up to 256 columns, decodes the weight row by row, and adds each row times an
 * element of a to its sums. This is exact but slow, as decoding dominates; model files do not store weights that
 * way. */
#include "cpu/quant.h"

#include <string.h>

#include "base/arith.h"
#include "cpu/gemm.h"
#include "quant/quant.h"

/* ---- sizes ---- */

/* Max bytes of an 8-bit row of any type, a multiple of 64. False: too large. */
static bool quantised_row_bytes(cpu_isa isa, size_t k, size_t *out) {
  /* k elements, k/32 scales, k/16 offsets or mins. */
  size_t bytes;
  return rlx_mul_size(k / 32, 32 * cpu_quant(isa)->element_bytes + 4 + 8, &bytes) && rlx_pad_size(bytes, 64, out);
}

/* A small weight always runs exact: it takes little time, and with few results a single large rounding error would not
 * average out. This depends on the weight alone, so that a row's result does not depend on the number of rows. */
enum { MIN_QUANTISED = 1 << 15 };
static bool has_loops(const cpu_product_shape *s) { return cpu_quant(s->isa)->dot[s->b_type][0] != NULL; }
static bool is_quantised(const cpu_product_shape *s) {
  return has_loops(s) && s->trans_b && !s->exact && s->k > 0 && s->n >= (MIN_QUANTISED + s->k - 1) / s->k;
}

uint64_t cpu_quant_matrix_bytes(const cpu_product_shape *s) {
  const rlx_dtype_info *info = rlx_dtype_describe(s->b_type);
  return (uint64_t)s->n * s->k / info->block_elements * info->block_bytes;
}

bool cpu_quant_claim(const cpu_product_shape *s, cpu_product_claim *out) {
  *out = (cpu_product_claim){0};
  if (!rlx_dtype_is_block(s->b_type) || s->a_type != RLX_F32) {
    out->why = "a block-type weight takes f32 activations";
    return false;
  }
  if (has_loops(s) && s->trans_b && s->n >= CPU_QUANT_ROWS && s->k > 0) out->preferred = CPU_LAYOUT_QUANT_ROWS;
  if (!is_quantised(s)) return true;
  size_t row_bytes, bytes; /* a row, and a flag whether it runs exact */
  if (!quantised_row_bytes(s->isa, s->k, &row_bytes) || !rlx_mul_size(row_bytes + 1, s->m, &bytes)) {
    out->why = "the activations are too large";
    return false;
  }
  out->work_bytes = bytes;
  return true;
}

/* ---- state of a run ---- */

typedef struct quant_run {
  const cpu_product *p; /* the first, which has what they share: a, its rows, the type of the weights */
  const cpu_product *const *all;
  size_t n_all;
  const cpu_quant_table *table;
  const cpu_quant_exact_table *exact;
  size_t block_elements, block_bytes;
  size_t n_blocks, row_bytes; /* of a row of the weight as stored: along k, or along n */
  /* the quantised rows of a, and which of them must run exact instead */
  uint8_t *quantised;
  size_t quantised_bytes;
  bool *runs_exact;
} quant_run;

static size_t row_of(const cpu_product *p, size_t i) { return p->rows ? p->rows[i] : i; }
static const float *a_row(const cpu_product *p, size_t i) { return (const float *)p->a + row_of(p, i) * p->a_row; }

/* Stores columns j .. j + n of `rows` rows of the result from row i on; the sums are `row` floats apart. */
static void finish(const cpu_product *p, size_t i, size_t rows, size_t j, const float *sums, size_t row, size_t n) {
  const cpu_gemm_table *gemm = cpu_gemm(p->shape.isa);
  _Alignas(64) float tile[CPU_QUANT_TILE_MAX * CPU_GEMM_MAX_NR];
  for (size_t c = 0; c < n; c += gemm->nr) {
    size_t count = n - c < gemm->nr ? n - c : gemm->nr;
    cpu_gemm_store store = {.out = (float *)p->out + (p->rows ? 0 : i * p->out_row) + j + c,
                            .out_row = p->out_row,
                            .rows = p->rows ? p->rows + i : NULL,
                            .bias = p->bias ? (const float *)p->bias + j + c : NULL,
                            .act = p->act,
                            .store = p->store};
    for (size_t r = 0; r < rows; r++) memcpy(tile + r * gemm->nr, sums + r * row + c, count * sizeof *sums);
    gemm->finish[RLX_F32](tile, rows, count, &store);
  }
}

static void quantise_rows(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const quant_run *q = user;
  const cpu_product_shape *s = &q->p->shape;
  for (size_t i = begin; i < end; i++)
    q->runs_exact[i] = !q->table->quantise(s->b_type, a_row(q->p, i), s->k, q->quantised + i * q->quantised_bytes);
}

/* ---- blocks along k ---- */

typedef float sums_of_row[CPU_QUANT_ROWS];
enum {
  LONG_BLOCKS = 1 << 13, /* blocks of a row between polls */
  PAIR = 2,              /* groups whose results are stored together: the widest tile of finish */
  MANY_ROWS = 8, /* from this many rows on, a task has at least MIN_GROUPS, so that a row is reused for all of them */
  MIN_GROUPS = 4
};

/* Rows of a that are multiplied together. A partial tile repeats its last row. */
typedef struct tile {
  int kind; /* index of the inner loop */
  size_t size, first, n;
  const void *row[CPU_QUANT_TILE_MAX];
} tile;

static tile make_tile(const quant_run *q, size_t first, bool exact) {
  static const size_t sizes[CPU_QUANT_TILE_COUNT] = {1, 4, 8};
  const rlx_dtype type = q->p->shape.b_type;
  cpu_quant_dot_fn *const *dot = exact ? q->exact->dot[type] : q->table->dot[type];
  size_t left = q->p->shape.m - first;
  tile t = {.kind = left >= 8 && dot[2] ? 2 : left > 1 ? 1 : 0, .first = first};
  t.size = sizes[t.kind];
  t.n = left < t.size ? left : t.size;
  for (size_t i = 0; i < t.size; i++) {
    size_t r = first + (i < t.n ? i : t.n - 1);
    t.row[i] = exact ? (const void *)a_row(q->p, r) : q->quantised + r * q->quantised_bytes;
  }
  return t;
}

/* The products of a tile with group g of p's weight, by one of the inner loops. */
static void dot_group(const quant_run *q, const cpu_product *p, size_t g, cpu_quant_dot_fn *dot,
                      const void *const *rows, sums_of_row *sums) {
  const cpu_product_shape *s = &p->shape;
  size_t first = g * CPU_QUANT_ROWS, n_rows = s->n - first < CPU_QUANT_ROWS ? s->n - first : CPU_QUANT_ROWS;
  const uint8_t *b = (const uint8_t *)p->b + first * q->row_bytes;
  size_t ns = 0, block_ns = CPU_QUANT_ROWS * q->block_elements / 16;
  if (s->b_layout == CPU_LAYOUT_QUANT_ROWS && n_rows == CPU_QUANT_ROWS) {
    for (size_t done = 0; done < q->n_blocks && !(done && cpu_stops()); done += LONG_BLOCKS)
      dot(b + CPU_QUANT_ROWS * done * q->block_bytes,
          q->n_blocks - done < LONG_BLOCKS ? q->n_blocks - done : LONG_BLOCKS, rows, s->k, done * q->block_elements,
          sums);
    return;
  }
  _Alignas(64) uint8_t packed[2 * CPU_QUANT_ROWS * CPU_QUANT_BLOCK_BYTES];
  size_t at_once = sizeof packed / (CPU_QUANT_ROWS * q->block_bytes);
  for (size_t done = 0; done < q->n_blocks; done += at_once) {
    size_t n = q->n_blocks - done < at_once ? q->n_blocks - done : at_once;
    if (cpu_stops_after(&ns, n * block_ns)) return;
    cpu_quant_pack(s->isa, s->b_type, b + done * q->block_bytes, q->row_bytes, n_rows, n,
                   b + CPU_QUANT_ROWS * (q->row_bytes + done * q->block_bytes), packed);
    dot(packed, n, rows, s->k, done * q->block_elements, sums);
  }
}

/* Multiplies a tile of rows by up to PAIR groups and stores the results. */
static void run_pair(const quant_run *q, const cpu_product *p, const tile *t, size_t g, size_t n_groups) {
  const cpu_product_shape *s = &p->shape;
  bool exact = !q->quantised;
  cpu_quant_dot_fn *const *dots = exact ? q->exact->dot[s->b_type] : q->table->dot[s->b_type];
  _Alignas(64) float wide[CPU_QUANT_TILE_MAX][PAIR * CPU_QUANT_ROWS];
  for (size_t h = 0; h < n_groups; h++) {
    _Alignas(64) sums_of_row sums[CPU_QUANT_TILE_MAX] = {0};
    dot_group(q, p, g + h, dots[t->kind], t->row, sums);
    for (size_t r = 0; r < t->n; r++) {
      if (!exact && q->runs_exact[t->first + r]) {
        memset(sums[r], 0, sizeof sums[r]);
        dot_group(q, p, g + h, q->exact->dot[s->b_type][0], (const void *[]){a_row(q->p, t->first + r)}, sums + r);
      }
      memcpy(wide[r] + h * CPU_QUANT_ROWS, sums[r], sizeof sums[r]);
    }
  }
  size_t column = g * CPU_QUANT_ROWS, n = n_groups * CPU_QUANT_ROWS;
  finish(p, t->first, t->n, column, wide[0], PAIR * CPU_QUANT_ROWS, s->n - column < n ? s->n - column : n);
}

/* ---- many rows: groups are expanded first ---- */

enum { WIDE_ROWS = 64 }; /* rows of a for which a group is expanded once */

/* Products of n rows from `first` on, at most WIDE_ROWS, with group g. */
static void dot_expanded(const quant_run *q, const cpu_product *p, size_t g, size_t first, size_t n,
                         sums_of_row *sums) {
  enum { TILE = CPU_QUANT_EXPANDED_ROWS, ELEMENTS = 256 };
  const cpu_product_shape *s = &p->shape;
  const cpu_quant_expanded *e = &q->table->expanded[s->b_type];
  size_t column = g * CPU_QUANT_ROWS, n_rows = s->n - column < CPU_QUANT_ROWS ? s->n - column : CPU_QUANT_ROWS;
  const uint8_t *b = (const uint8_t *)p->b + column * q->row_bytes;
  bool is_packed = s->b_layout == CPU_LAYOUT_QUANT_ROWS && n_rows == CPU_QUANT_ROWS;
  size_t at_once = ELEMENTS / q->block_elements, ns = 0;
  _Alignas(64) uint8_t expanded[CPU_QUANT_EXPANDED_BYTES];
  _Alignas(64) uint8_t packed[2 * CPU_QUANT_ROWS * CPU_QUANT_BLOCK_BYTES];
  for (size_t done = 0; done < q->n_blocks; done += at_once) {
    size_t blocks = q->n_blocks - done < at_once ? q->n_blocks - done : at_once;
    const uint8_t *from = b + CPU_QUANT_ROWS * done * q->block_bytes;
    if (cpu_stops_after(&ns, n * ELEMENTS)) return;
    if (!is_packed) {
      cpu_quant_pack(s->isa, s->b_type, b + done * q->block_bytes, q->row_bytes, n_rows, blocks,
                     b + (done + blocks) * q->block_bytes, packed);
      from = packed;
    }
    e->expand(from, blocks, expanded);
    for (size_t i = 0; i < n; i += TILE) {
      const void *rows[TILE];
      for (size_t r = 0; r < TILE; r++)
        rows[r] = q->quantised + (first + (i + r < n ? i + r : n - 1)) * q->quantised_bytes;
      e->dot(expanded, blocks, rows, s->k, done * q->block_elements, sums + i);
    }
  }
}

static void run_expanded(const quant_run *q, const cpu_product *p, size_t begin, size_t end) {
  const cpu_product_shape *s = &p->shape;
  _Alignas(64) sums_of_row sums[WIDE_ROWS];
  for (size_t i = 0; i < s->m; i += WIDE_ROWS) {
    size_t n = s->m - i < WIDE_ROWS ? s->m - i : WIDE_ROWS;
    for (size_t g = begin; g < end; g++) {
      size_t column = g * CPU_QUANT_ROWS, width = s->n - column < CPU_QUANT_ROWS ? s->n - column : CPU_QUANT_ROWS;
      memset(sums, 0, sizeof sums);
      dot_expanded(q, p, g, i, n, sums);
      for (size_t r = 0; r < n; r++)
        if (q->runs_exact[i + r]) {
          memset(sums[r], 0, sizeof sums[r]);
          dot_group(q, p, g, q->exact->dot[s->b_type][0], (const void *[]){a_row(q->p, i + r)}, sums + r);
        }
      for (size_t r = 0; r < n; r += CPU_QUANT_TILE_MAX)
        finish(p, i + r, n - r < CPU_QUANT_TILE_MAX ? n - r : CPU_QUANT_TILE_MAX, column, sums[r], CPU_QUANT_ROWS,
               width);
    }
  }
}

/* The groups begin .. end of p for all rows of a. */
static void run_groups(const quant_run *q, const cpu_product *p, size_t begin, size_t end) {
  if (q->quantised && p->shape.m >= MANY_ROWS && q->table->expanded[p->shape.b_type].dot) {
    run_expanded(q, p, begin, end);
    return;
  }
  for (size_t i = 0; i < p->shape.m;) {
    tile t = make_tile(q, i, !q->quantised);
    for (size_t g = begin; g < end; g += PAIR) run_pair(q, p, &t, g, end - g < PAIR ? end - g : PAIR);
    i += t.n;
  }
}

static size_t groups_of(const cpu_product *p) { return (p->shape.n + CPU_QUANT_ROWS - 1) / CPU_QUANT_ROWS; }

/* The range counts the groups of all products, one product after another. */
static void run_units(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const quant_run *q = user;
  for (size_t i = 0, at = 0; i < q->n_all; i++) {
    size_t n = groups_of(q->all[i]), from = begin > at ? begin - at : 0, to = end > at ? end - at : 0;
    if (to > n) to = n;
    for (const cpu_product *p = q->all[i]; p && from < to; p = p->then) run_groups(q, p, from, to);
    at += n;
  }
}

static void run_along_k(quant_run *q) {
  const cpu_product_shape *s = &q->p->shape;
  if (is_quantised(s)) {
    (void)quantised_row_bytes(s->isa, s->k, &q->quantised_bytes); /* the claim checked that it fits */
    q->quantised = q->p->work;
    q->runs_exact = (bool *)(q->quantised + s->m * q->quantised_bytes);
    cpu_parallel(q->p->pool, s->m, cpu_grain(s->m, (double)s->k * 0.2), quantise_rows, q);
  }
  /* Nanoseconds, about: reading the weights, or the products where there are many rows. */
  double cost =
    (double)(q->row_bytes * CPU_QUANT_ROWS) * 0.08 + (double)s->m * (double)s->k * (q->quantised ? 0.15 : 0.6);
  size_t n_groups = 0;
  for (size_t i = 0; i < q->n_all; i++) n_groups += groups_of(q->all[i]);
  if (q->p->then) cost *= 2;
  size_t grain = cpu_grain(n_groups, cost);
  if (s->m >= MANY_ROWS && grain < MIN_GROUPS) grain = MIN_GROUPS;
  cpu_parallel(q->p->pool, n_groups, grain, run_units, q);
}

/* ---- blocks along k of a type without inner loops ---- */

/* Elements decoded at a time; rows of a for which a row of the weight is decoded once. */
enum { DECODED = 1024, DECODED_ROWS = 64 };

/* The columns begin .. end, 16 at a time, for all rows of a. */
static void run_decoded(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const quant_run *q = user;
  const cpu_product_shape *s = &q->p->shape;
  _Alignas(64) float w[DECODED], sums[DECODED_ROWS][CPU_QUANT_ROWS];
  size_t ns = 0;
  for (size_t i = 0; i < s->m; i += DECODED_ROWS) {
    size_t rows = s->m - i < DECODED_ROWS ? s->m - i : DECODED_ROWS;
    for (size_t g = begin; g < end; g++) {
      size_t first = g * CPU_QUANT_ROWS, n = s->n - first < CPU_QUANT_ROWS ? s->n - first : CPU_QUANT_ROWS;
      memset(sums, 0, sizeof sums);
      for (size_t j = 0; j < n; j++)
        for (size_t at = 0; at < s->k; at += DECODED) {
          size_t count = s->k - at < DECODED ? s->k - at : DECODED;
          if (cpu_stops_after(&ns, count * 2)) return;
          const uint8_t *b =
            (const uint8_t *)q->p->b + (first + j) * q->row_bytes + at / q->block_elements * q->block_bytes;
          if (rlx_quant_decode(s->b_type, b, w, count) != RLX_OK) return; /* cannot fail: whole blocks */
          for (size_t r = 0; r < rows; r++) sums[r][j] += q->table->dot_floats(a_row(q->p, i + r) + at, w, count);
        }
      for (size_t r = 0; r < rows; r++) finish(q->p, i + r, 1, first, sums[r], CPU_QUANT_ROWS, n);
    }
  }
}

static void run_along_k_decoded(quant_run *q) {
  const cpu_product_shape *s = &q->p->shape;
  double cost = (double)s->k * CPU_QUANT_ROWS * (2 + 0.1 * (double)s->m);
  cpu_parallel(q->p->pool, groups_of(q->p), cpu_grain(groups_of(q->p), cost), run_decoded, q);
}

/* ---- blocks along n ---- */

enum { SPAN = 256, SPAN_ROWS = 16 }; /* columns and rows of a task's sums */

static void run_spans(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const quant_run *q = user;
  const cpu_product_shape *s = &q->p->shape;
  _Alignas(64) float sums[SPAN_ROWS][SPAN], w[SPAN];
  size_t ns = 0;
  for (size_t span = begin; span < end; span++) {
    size_t j = span * SPAN, n = s->n - j < SPAN ? s->n - j : SPAN;
    const uint8_t *b = (const uint8_t *)q->p->b + j / q->block_elements * q->block_bytes;
    for (size_t i = 0; i < s->m; i += SPAN_ROWS) {
      size_t rows = s->m - i < SPAN_ROWS ? s->m - i : SPAN_ROWS;
      memset(sums, 0, sizeof sums);
      for (size_t k = 0; k < s->k; k++) {
        if (cpu_stops_after(&ns, n * 2)) return;
        if (rlx_quant_decode(s->b_type, b + k * q->row_bytes, w, n) != RLX_OK) return; /* cannot fail: whole blocks */
        for (size_t r = 0; r < rows; r++) q->table->add_scaled(sums[r], w, a_row(q->p, i + r)[k], n);
      }
      for (size_t r = 0; r < rows; r++) finish(q->p, i + r, 1, j, sums[r], SPAN, n);
    }
  }
}

static void run_along_n(quant_run *q) {
  const cpu_product_shape *s = &q->p->shape;
  size_t n_spans = (s->n + SPAN - 1) / SPAN;
  double cost = (double)s->k * SPAN * (2 + 0.1 * (double)s->m);
  cpu_parallel(q->p->pool, n_spans, cpu_grain(n_spans, cost), run_spans, q);
}

bool cpu_quant_joins(const cpu_product *a, const cpu_product *b) {
  const cpu_product_shape *s = &a->shape, *t = &b->shape;
  return a->a == b->a && a->a_row == b->a_row && a->rows == b->rows && s->m == t->m && s->k == t->k &&
         s->b_type == t->b_type && has_loops(s) && s->trans_b && t->trans_b && is_quantised(s) == is_quantised(t) &&
         s->isa == t->isa;
}

void cpu_quant_products(const cpu_product *const *list, size_t n) {
  const cpu_product *p = list[0];
  const cpu_product_shape *s = &p->shape;
  const rlx_dtype_info *info = rlx_dtype_describe(s->b_type);
  quant_run q = {.p = p,
                 .all = list,
                 .n_all = n,
                 .table = cpu_quant(s->isa),
                 .exact = cpu_quant_exact(s->isa),
                 .block_elements = info->block_elements,
                 .block_bytes = info->block_bytes,
                 .n_blocks = (s->trans_b ? s->k : s->n) / info->block_elements};
  q.row_bytes = q.n_blocks * q.block_bytes;
  if (s->m == 0) return;
  if (s->trans_b && !has_loops(s)) run_along_k_decoded(&q);
  else if (s->trans_b) run_along_k(&q);
  else if (s->n > 0) run_along_n(&q);
}

void cpu_quant_product(const cpu_product *p) { cpu_quant_products(&p, 1); }
