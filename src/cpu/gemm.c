/* The float GEMM: blocking, tasks, and the choice of inner loop.
 *
 * A product is divided into units: a block of rows (up to BLOCK_GROUPS groups) by one or a few panels, over all of k. A
 * unit's sums are in a tile on the stack. The loop over k goes in steps, so that a step's part of b stays in cache for
 * all groups. The epilogue (bias, activation, rounding) runs once, when the tile is stored. So one loop nest serves
 * every result dtype, sums of two products (plus) and products of two sums (times). No unit reads another's result.
 *
 * a is packed into groups first, in p->work, for as many rows as fit in WORK_BYTES. b is either
 *     - packed already (a weight): its panels are read in place, or converted to f32 step by step where several
 *       groups read them;
 *     - row-major: each unit packs its step of the panel on the stack, which costs one part in (2 x rows of the
 *       block) of the work. Such a unit is several panels wide, so that b is read in longer runs.
 * One row of a (or a few rows, with b as [n, k]) is bound by memory bandwidth: row_panels, row_plain and dots read b
 * sequentially, once.
 *
 * All choices depend on sizes and dtypes alone, so that equal inputs give identical bits with any number of threads. */
#include "cpu/gemm.h"

#include "base/arith.h"

enum {
  BLOCK_GROUPS = 8,
  BLOCK_ROWS = BLOCK_GROUPS * CPU_GEMM_MAX_MR,
  PACK_FLOATS = 256 * CPU_GEMM_MAX_NR, /* of packed b, on the stack */
  WIDE = 4,                            /* panels of a unit that reads row-major b, */
  WIDE_ALONE = 8,                      /* and of one with a single group */
  STEP_PLAIN = 32,                     /* steps of k where row-major b is read in place, */
  STEP_DIRECT = 1024,                  /* and where packed panels are */
  MIN_UNITS = 8,
  FAR_BYTES = 24 << 20, /* a matrix that no cache holds from one product to the next */
  ROW_COLUMNS = 1024,   /* max columns of b that one row processes together */
  WORK_BYTES = 4 << 20, /* of packed a, about */
  LONG_K = 1 << 18,     /* above this a sum is split into runs of RUN_K, */
  RUN_K = 1 << 16,      /* between which the budget is polled */
  PLAIN_RUN = 1 << 22,  /* elements of row-major b between polls */
};

typedef enum a_form {
  A_DIRECT, /* rows of f32, read in place */
  A_ROWS,   /* rows converted to f32 */
  A_GROUPS,
} a_form;

/* One of the products of a result (main, plus, times) with its choices. */
typedef struct factor {
  const cpu_product *p;
  bool as_columns; /* b is stored as [n, k]: trans_b, or a single column */
  bool is_packed;
  bool by_dots;
  a_form form;
  size_t matrix_bytes;
} factor;

typedef struct gemm {
  const cpu_gemm_table *t;
  const cpu_product *p;
  factor main, plus, times;
  size_t k_max;            /* max over the factors */
  size_t width, n_columns; /* columns of a unit, and units per row of units */
  /* The current chunk: `n_items` matrices of the batch from first_item on, rows `row` and on of each. */
  size_t first_item, n_items, row, n_rows;
  size_t n_groups, n_blocks; /* of the chunk's n_rows */
} gemm;

static size_t type_size(rlx_dtype t) { return t == RLX_F32 ? 4 : 2; }

enum { TILE_FLOATS = BLOCK_ROWS * WIDE * CPU_GEMM_MAX_NR };

/* ---- claims ---- */

/* Rows of a that are packed at a time, over the whole batch. */
static size_t chunk_rows(size_t k) {
  size_t blocks = k ? WORK_BYTES / sizeof(float) / k / BLOCK_ROWS : 1;
  return (blocks ? blocks : 1) * BLOCK_ROWS;
}

/* Zeros in the last panel cost memory and time: at most a quarter of the weight. */
static bool worth_packing(const cpu_gemm_table *t, size_t n, size_t k) {
  size_t rest = n % t->nr, fill = rest ? t->nr - rest : 0;
  return k > 0 && n > 0 && fill <= n / 4;
}

bool cpu_gemm_claim(const cpu_product_shape *s, cpu_product_claim *out) {
  if (!rlx_dtype_is_weight_float(s->a_type) || !rlx_dtype_is_weight_float(s->b_type)) {
    out->why = s->a_type == RLX_F64 ? "f64 runs through the reference" : "a product of these types";
    return false;
  }
  size_t rows = chunk_rows(s->k), total, elements;
  if (rlx_mul_size(s->m, s->n_batch, &total) && total < rows) rows = total;
  if (!rlx_mul_size(rows, s->k, &elements) || elements > SIZE_MAX / 8) {
    out->why = "its rows do not fit the address space";
    return false;
  }
  out->work_bytes = elements * sizeof(float);
  out->preferred =
    worth_packing(cpu_gemm(s->isa), s->n, s->k) ? (s->trans_b ? CPU_LAYOUT_GEMM_NK : CPU_LAYOUT_GEMM_KN) : 0;
  return true;
}

uint64_t cpu_gemm_matrix_bytes(const cpu_product_shape *s) {
  size_t nr = cpu_gemm(s->isa)->nr, n = s->b_layout ? (s->n + nr - 1) / nr * nr : s->n;
  return (uint64_t)n * s->k * type_size(s->b_type);
}

/* ---- sums of a unit ---- */

/* The position of a unit. */
typedef struct unit {
  size_t item;            /* matrix of the batch */
  size_t in_chunk;        /* that matrix's index in the current chunk */
  size_t group, n_groups; /* groups of the chunk's rows */
  size_t row, n_rows;     /* the same in rows, from the chunk's first row */
  size_t column, n;
} unit;

/* Groups of a chunk differ by at most one row. */
static size_t group_row(const gemm *g, size_t group) { return g->n_rows * group / g->n_groups; }

static const char *matrix_of_b(const factor *f, size_t item) {
  return (const char *)f->p->b + cpu_batch_offset(f->p, f->p->b_batch, item) * f->matrix_bytes;
}

/* Row `row` of the chunk of matrix `in_chunk`, packed. */
static float *packed_rows(const gemm *g, const factor *f, size_t in_chunk, size_t row) {
  return (float *)f->p->work + (in_chunk * g->n_rows + row) * f->p->shape.k;
}
/* The unit's rows as f32 rows, packed or a's own; *lda apart. */
static const float *plain_rows(const gemm *g, const factor *f, const unit *u, size_t *lda) {
  const cpu_product *p = f->p;
  *lda = f->form == A_DIRECT ? p->a_row : p->shape.k;
  if (f->form != A_DIRECT) return packed_rows(g, f, u->in_chunk, u->row);
  size_t row = g->row + u->row;
  return (const float *)p->a + cpu_batch_offset(p, p->a_batch, u->item) + (p->rows ? p->rows[row] : row) * p->a_row;
}

/* Packs k rows from `at` on of n columns into f32 panels, panel_step apart. */
static void pack_step(const gemm *g, const factor *f, const char *b, size_t column, size_t n, size_t at, size_t k,
                      float *panels, size_t panel_step) {
  const cpu_product_shape *s = &f->p->shape;
  size_t size = type_size(s->b_type), nr = g->t->nr;
  if (k == 0) return;
  if (!f->is_packed && !f->as_columns) {
    g->t->pack_rows[s->b_type](k, n, b + (at * s->n + column) * size, s->n, panels, panel_step);
    return;
  }
  for (size_t j = 0; j < n; j += nr, panels += panel_step) {
    if (f->is_packed) g->t->pack_rows[s->b_type](k, nr, b + ((column + j) * s->k + at * nr) * size, nr, panels, nr);
    else g->t->pack_columns[s->b_type](k, n - j < nr ? n - j : nr, b + ((column + j) * s->k + at) * size, s->k, panels);
  }
}

/* Multiplies the unit's groups by n_k rows of a panel, into the tile (first) or added to it. */
static void sum_step(const gemm *g, const factor *f, const unit *u, size_t at, size_t n_k, rlx_dtype type,
                     const void *panel, size_t ldb, float *tile, bool first) {
  for (size_t i = u->group; i < u->group + u->n_groups; i++) {
    size_t row = group_row(g, i), rows = group_row(g, i + 1) - row;
    const float *a = packed_rows(g, f, u->in_chunk, row) + at * rows;
    g->t->tile[type](rows, n_k, a, panel, ldb, tile + (row - u->row) * g->t->nr, first);
  }
}

/* All panels of a unit, one after another in the tile. Panels that are packed as f32, or read by one group only, are
 * read in place. Others are packed on the stack next to each other, so that b's rows are read in long runs. */
static void sum_block(const gemm *g, const factor *f, const unit *u, float *tile, bool first) {
  _Alignas(64) float packed[PACK_FLOATS];
  const cpu_product_shape *s = &f->p->shape;
  size_t nr = g->t->nr, n_panels = (u->n - 1) / nr + 1, tile_size = u->n_rows * nr;
  const char *b = matrix_of_b(f, u->item);
  bool plain = !f->is_packed && !f->as_columns && u->n_groups == 1 && u->n % nr == 0;
  bool in_place = plain || (f->is_packed && (s->b_type == RLX_F32 || u->n_groups == 1));
  size_t step = plain ? STEP_PLAIN : in_place ? STEP_DIRECT : PACK_FLOATS / (n_panels * nr);
  size_t ldb = plain ? s->n : nr, size = type_size(s->b_type), done = 0;
  for (size_t at = 0; at < s->k || at == 0; at += step) {
    size_t n_k = s->k - at < step ? s->k - at : step;
    if (cpu_stops_after(&done, n_k * u->n_rows * n_panels)) return;
    if (!in_place) pack_step(g, f, b, u->column, u->n, at, n_k, packed, step * nr);
    for (size_t q = 0; q < n_panels; q++) {
      const void *panel = packed + q * step * nr;
      size_t column = u->column + q * nr;
      if (in_place) panel = b + (plain ? at * s->n + column : column * s->k + at * nr) * size;
      sum_step(g, f, u, at, n_k, in_place ? s->b_type : RLX_F32, panel, ldb, tile + q * tile_size, first && at == 0);
    }
  }
}

/* One row of a by n columns of row-major b. */
static void sum_row_plain(const gemm *g, const factor *f, const unit *u, const float *x, const char *b, float *tile) {
  const cpu_product_shape *s = &f->p->shape;
  size_t size = type_size(s->b_type), step = PLAIN_RUN / u->n / 8 * 8 + 8, done = 0;
  for (size_t at = 0; at < s->k || at == 0; at += step) {
    size_t n_k = s->k - at < step ? s->k - at : step;
    if (cpu_stops_after(&done, n_k * u->n / 4)) return;
    g->t->row_plain[s->b_type](n_k, u->n, x + at, b + (at * s->n + u->column) * size, s->n, tile, at == 0);
  }
}

/* One row of a by a packed panel. */
static void sum_row_panel(const gemm *g, const factor *f, const float *x, const char *panel, float *tile) {
  const cpu_product_shape *s = &f->p->shape;
  size_t nr = g->t->nr, step = s->k > LONG_K ? RUN_K : LONG_K, done = 0;
  for (size_t at = 0; at < s->k || at == 0; at += step) {
    size_t n_k = s->k - at < step ? s->k - at : step;
    if (cpu_stops_after(&done, n_k * nr / 4)) return;
    g->t->tile[s->b_type](1, n_k, x + at, panel + at * nr * type_size(s->b_type), nr, tile, at == 0);
  }
}

/* One row of a. */
static void sum_row(const gemm *g, const factor *f, const unit *u, float *tile) {
  _Alignas(64) float packed[PACK_FLOATS];
  const cpu_product_shape *s = &f->p->shape;
  size_t nr = g->t->nr, size = type_size(s->b_type), lda;
  const float *x = plain_rows(g, f, u, &lda);
  const char *b = matrix_of_b(f, u->item);
  if (!f->is_packed && !f->as_columns) {
    sum_row_plain(g, f, u, x, b, tile);
    return;
  }
  for (size_t done = 0, n; done < u->n; done += n, tile += n) {
    size_t left = u->n - done, column = u->column + done;
    bool is_wide = left >= CPU_GEMM_ROW_PANELS * nr && f->is_packed && s->k <= LONG_K;
    n = is_wide ? CPU_GEMM_ROW_PANELS * nr : nr;
    if (n > nr) {
      bool far = s->k * s->n * size > FAR_BYTES;
      (far ? g->t->row_panels_far : g->t->row_panels)[s->b_type](s->k, x, b + column * s->k * size, tile);
    } else if (f->is_packed) {
      sum_row_panel(g, f, x, b + column * s->k * size, tile);
    } else {
      for (size_t at = 0, step = PACK_FLOATS / nr, ns = 0; at < s->k || at == 0; at += step) {
        size_t n_k = s->k - at < step ? s->k - at : step;
        if (cpu_stops_after(&ns, n_k * nr / 4)) return;
        pack_step(g, f, b, column, left < nr ? left : nr, at, n_k, packed, 0);
        g->t->tile[RLX_F32](1, n_k, x + at, packed, nr, tile, at == 0);
      }
    }
  }
}

/* Dot products of rows so long that the budget is polled inside them. */
static void sum_long_dots(const gemm *g, const cpu_product_shape *s, size_t rows, size_t n, const float *x, size_t lda,
                          const char *b, float *c, size_t ldc) {
  _Alignas(64) float more[TILE_FLOATS];
  for (size_t at = 0, done = 0; at < s->k; at += RUN_K) {
    size_t n_k = s->k - at < RUN_K ? s->k - at : RUN_K;
    if (cpu_stops_after(&done, n_k * n / 4)) return;
    g->t->dots[s->b_type](rows, n, n_k, x + at, lda, b + at * type_size(s->b_type), s->k, at ? more : c, ldc);
    for (size_t i = 0; at && i < rows; i++)
      for (size_t j = 0; j < n; j++) c[i * ldc + j] += more[i * ldc + j];
  }
}

static void sum_dots(const gemm *g, const factor *f, const unit *u, float *tile) {
  const cpu_product_shape *s = &f->p->shape;
  size_t lda, nr = g->t->nr, width = u->n_rows == 1 ? u->n : nr;
  const float *x = plain_rows(g, f, u, &lda);
  const char *b = matrix_of_b(f, u->item) + u->column * s->k * type_size(s->b_type);
  for (size_t j = 0; j < u->n; j += width) {
    const char *columns = b + j * s->k * type_size(s->b_type);
    size_t n = u->n - j < width ? u->n - j : width;
    if (s->k > LONG_K) sum_long_dots(g, s, u->n_rows, n, x, lda, columns, tile + j * u->n_rows, width);
    else g->t->dots[s->b_type](u->n_rows, n, s->k, x, lda, columns, s->k, tile + j * u->n_rows, width);
  }
}

/* The sums of one factor. */
static void sum_factor(const gemm *g, const factor *f, const unit *u, float *tile) {
  if (f->by_dots) sum_dots(g, f, u, tile);
  else if (g->p->shape.m == 1) sum_row(g, f, u, tile);
  else sum_block(g, f, u, tile, true);
}

/* ---- units ---- */

static void add_factor(const gemm *g, const factor *f, const unit *u, float *tile) {
  _Alignas(64) float more[TILE_FLOATS];
  if (!f->by_dots && g->p->shape.m > 1) {
    sum_block(g, f, u, tile, false);
    return;
  }
  sum_factor(g, f, u, more);
  size_t nr = g->t->nr, count = g->p->shape.m == 1 ? u->n : (u->n + nr - 1) / nr * nr * u->n_rows;
  for (size_t i = 0; i < count; i++) tile[i] += more[i];
}

static void run_unit(const gemm *g, const unit *u) {
  _Alignas(64) float tile[TILE_FLOATS], times[TILE_FLOATS];
  const cpu_product *p = g->p;
  size_t size = type_size(p->shape.out_type), row = g->row + u->row;
  sum_factor(g, &g->main, u, tile);
  if (p->plus) add_factor(g, &g->plus, u, tile);
  if (p->times) sum_factor(g, &g->times, u, times);
  size_t width = p->shape.m == 1 ? u->n : g->t->nr; /* a tile of one row is as wide as its unit */
  for (size_t j = 0; j < u->n; j += width) {
    size_t column = u->column + j;
    char *out = (char *)p->out + (u->item * p->shape.m * p->out_row + column) * size;
    cpu_gemm_store store = {.out = p->rows ? out : out + row * p->out_row * size,
                            .out_row = p->out_row,
                            .rows = p->rows ? p->rows + row : NULL,
                            .bias = p->bias ? (const char *)p->bias + column * size : NULL,
                            .times = p->times ? times + j * u->n_rows : NULL,
                            .act = p->act,
                            .store = p->store};
    g->t->finish[p->shape.out_type](tile + j * u->n_rows, u->n_rows, u->n - j < width ? u->n - j : width, &store);
  }
}

static void run_units(void *user, size_t begin, size_t end, unsigned thread) {
  const gemm *g = user;
  (void)thread;
  for (size_t i = begin; i < end; i++) {
    size_t column = i % g->n_columns, block = i / g->n_columns % g->n_blocks, item = i / g->n_columns / g->n_blocks;
    unit u = {.item = g->first_item + item, .in_chunk = item, .column = column * g->width};
    u.n = g->p->shape.n - u.column < g->width ? g->p->shape.n - u.column : g->width;
    u.group = block * BLOCK_GROUPS;
    u.n_groups = g->n_groups - u.group < BLOCK_GROUPS ? g->n_groups - u.group : BLOCK_GROUPS;
    u.row = group_row(g, u.group);
    u.n_rows = group_row(g, u.group + u.n_groups) - u.row;
    run_unit(g, &u);
  }
}

/* ---- packing a ---- */

typedef struct packing {
  const gemm *g;
  const factor *f;
} packing;

static void pack_groups(void *user, size_t begin, size_t end, unsigned thread) {
  const packing *w = user;
  const gemm *g = w->g;
  const cpu_product *p = w->f->p;
  (void)thread;
  for (size_t i = begin; i < end; i++) {
    size_t in_chunk = i / g->n_groups, group = i % g->n_groups;
    size_t row = group_row(g, group), n_rows = group_row(g, group + 1) - row, first = g->row + row;
    size_t a_at = cpu_batch_offset(p, p->a_batch, g->first_item + in_chunk);
    float *to = packed_rows(g, w->f, in_chunk, row);
    const uint32_t *index = p->rows ? p->rows + first : NULL;
    const char *a = (const char *)p->a + (a_at + (index ? 0 : first * p->a_row)) * type_size(p->shape.a_type);
    size_t by = w->f->form == A_ROWS ? 1 : n_rows; /* rows are groups of one */
    for (size_t r = 0; r < n_rows; r += by, to += by * p->shape.k) {
      const char *from = index ? a : a + r * p->a_row * type_size(p->shape.a_type);
      for (size_t at = 0, done = 0; at < p->shape.k; at += RUN_K) {
        size_t n_k = p->shape.k - at < RUN_K ? p->shape.k - at : RUN_K;
        if (cpu_stops_after(&done, n_k * by)) return;
        g->t->pack_group[p->shape.a_type](by, n_k, from + at * type_size(p->shape.a_type), p->a_row,
                                          index ? index + r : NULL, to + at * by);
      }
    }
  }
}

static void pack_a(const gemm *g, const factor *f) {
  if (f->form == A_DIRECT || f->p->shape.k == 0) return;
  size_t n = g->n_items * g->n_groups;
  double cost = 0.4 * (double)(g->n_rows / g->n_groups + 1) * (double)f->p->shape.k;
  cpu_parallel(g->p->pool, n, cpu_grain(n, cost), pack_groups, &(packing){g, f});
}

/* ---- the product ---- */

static factor make_factor(const gemm *g, const cpu_product *p, bool may_use_dots) {
  factor f = {.p = p};
  if (!p) return f;
  const cpu_product_shape *s = &p->shape;
  f.is_packed = s->b_layout != 0;
  f.as_columns = !f.is_packed && (s->trans_b || s->n == 1);
  f.by_dots = may_use_dots && f.as_columns && s->m <= g->t->dot_rows;
  bool by_rows = f.by_dots || s->m == 1;
  f.form = !by_rows ? A_GROUPS : s->a_type != RLX_F32 || (p->rows && s->m > 1) ? A_ROWS : A_DIRECT;
  f.matrix_bytes = (size_t)cpu_gemm_matrix_bytes(s);
  return f;
}

/* Approximate nanoseconds of a unit: arithmetic, or reading b where few rows share it. */
static double unit_cost(const gemm *g) {
  double k = (double)g->p->shape.k * (g->p->times ? 2 : 1), rows = (double)(g->n_rows / g->n_blocks + 1);
  return 100 + k * (double)g->width * (rows * 0.02 > 0.2 ? rows * 0.02 : 0.2);
}

/* Columns of a unit. One row uses the panels that its loop reads together. Where b is read row-major, longer runs of
 * its rows are faster, as long as there are units for all threads. */
static size_t unit_width(const gemm *g) {
  const factor *all[] = {&g->main, &g->plus, &g->times};
  const cpu_product_shape *s = &g->p->shape;
  bool plain = false;
  for (int i = 0; i < 3; i++) plain = plain || (all[i]->p && !all[i]->is_packed && !all[i]->as_columns);
  size_t nr = g->t->nr, min = CPU_GEMM_ROW_PANELS * nr;
  if (s->m == 1) { return !plain ? min : s->n < 4 * ROW_COLUMNS ? ROW_COLUMNS / 2 : ROW_COLUMNS; }
  size_t n_blocks = ((s->m - 1) / BLOCK_ROWS + 1) * s->n_batch;
  size_t panels = !plain ? 1 : s->m <= g->t->mr ? WIDE_ALONE : WIDE;
  while (panels > 1 && s->n / (panels * nr) * n_blocks < MIN_UNITS) panels /= 2;
  return panels * nr;
}

static void run_rows(gemm *g, size_t mr) {
  g->n_groups = (g->n_rows - 1) / mr + 1;
  g->n_blocks = (g->n_groups - 1) / BLOCK_GROUPS + 1;
  pack_a(g, &g->main);
  if (g->p->plus) pack_a(g, &g->plus);
  size_t n = g->n_items * g->n_blocks * g->n_columns;
  cpu_parallel(g->p->pool, n, cpu_grain(n, unit_cost(g)), run_units, g);
}

/* With a single column, a contiguous and one matrix, a and b swap roles: [m, k] [k, 1] is [1, k] [m, k]^T. */
static bool swaps(const cpu_product *p) {
  return p->shape.n == 1 && p->shape.m > 1 && p->shape.n_batch == 1 && p->shape.b_layout == 0 && !p->bias && !p->rows &&
         !p->plus && !p->times && p->a_row == p->shape.k && p->out_row == 1;
}

void cpu_gemm_product(const cpu_product *given) {
  cpu_product transposed;
  const cpu_product *p = given;
  if (swaps(p)) {
    transposed = *p;
    transposed.shape.m = 1;
    transposed.shape.n = p->shape.m;
    transposed.shape.a_type = p->shape.b_type;
    transposed.shape.b_type = p->shape.a_type;
    transposed.shape.trans_b = true;
    transposed.a = p->b;
    transposed.b = p->a;
    transposed.out_row = p->shape.m;
    p = &transposed;
  }
  const cpu_product_shape *s = &p->shape;
  if (s->m == 0 || s->n == 0 || s->n_batch == 0) return;
  gemm g = {.t = cpu_gemm(s->isa), .p = p};
  /* Two products of one a share its packed form, so both must read the same form. */
  bool alike = !p->times || (s->b_layout == 0) == (p->times->shape.b_layout == 0);
  g.main = make_factor(&g, p, alike);
  g.times = make_factor(&g, p->times, alike);
  g.plus = make_factor(&g, p->plus, true);
  g.width = unit_width(&g);
  g.n_columns = (s->n - 1) / g.width + 1;
  g.k_max = s->k;
  if (p->plus && p->plus->shape.k > g.k_max) g.k_max = p->plus->shape.k;
  size_t rows = chunk_rows(g.k_max), items = rows / s->m > 0 ? rows / s->m : 1;
  for (g.first_item = 0; g.first_item < s->n_batch; g.first_item += items) {
    g.n_items = s->n_batch - g.first_item < items ? s->n_batch - g.first_item : items;
    for (g.row = 0; g.row < s->m; g.row += rows) {
      g.n_rows = s->m - g.row < rows ? s->m - g.row : rows;
      run_rows(&g, g.t->mr);
    }
  }
}
