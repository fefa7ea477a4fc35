/* Rows and columns for norms and softmax: chunks of any float dtype as f32, storing of results, and tasks. */
#include "cpu/norm.h"

/* ---- chunks ---- */

void cpu_rows_init(cpu_rows *r, const cpu_call *c, rlx_dtype dtype, const void *added) {
  const cpu_tile_moves *move = cpu_tile_move(c->isa);
  *r = (cpu_rows){.x = c->in[0],
                  .added = added,
                  .element = rlx_dtype_size(dtype),
                  .is_f32 = dtype == RLX_F32,
                  .load = move->load[dtype],
                  .add = cpu_norm(c->isa)->add,
                  .out = c->out,
                  .store = dtype == RLX_F32 ? NULL : move->store[dtype]};
}

void cpu_row_buffer_init(cpu_row_buffer *b) {
  b->shift = 0;
  b->chunk = NULL;
}

static const float *load_one(const cpu_rows *r, const void *data, size_t at, size_t n, float *to) {
  const char *from = (const char *)data + at * r->element;
  if (r->is_f32) return (const float *)(const void *)from;
  r->load(NULL, to, from, NULL, NULL, n);
  return to;
}

const float *cpu_rows_load(const cpu_rows *r, cpu_row_buffer *b, size_t at, size_t n) {
  if (b->chunk && b->at == at && b->n == n) return b->chunk;
  b->chunk = load_one(r, r->x, at, n, b->loaded);
  b->at = at, b->n = n;
  if (r->added) {
    r->add(b->loaded, b->chunk, load_one(r, r->added, at, n, b->second), n, b->shift);
    b->chunk = b->loaded;
  }
  return b->chunk;
}

float *cpu_rows_result(const cpu_rows *r, cpu_row_buffer *b, size_t at) {
  return r->store ? b->result : (float *)r->out + at;
}

void cpu_rows_store(const cpu_rows *r, cpu_row_buffer *b, size_t at, size_t n) {
  if (r->store) r->store(NULL, (char *)r->out + at * r->element, b->result, NULL, NULL, n);
}

/* ---- tasks of rows ---- */

enum { MAX_SPLIT_ROWS = 16, LONG_ROW = 1 << 15, PART = 1 << 14 };

cpu_row_cut cpu_row_cut_of(size_t rows, size_t n) {
  cpu_row_cut cut = {.rows = rows, .n = n, .parts = 1, .length = n};
  if (rows < MAX_SPLIT_ROWS && n >= LONG_ROW) cut.parts = (n - 1) / PART + 1, cut.length = PART;
  return cut;
}

typedef struct row_work {
  cpu_row_cut cut;
  cpu_row_fn *fn;
  const void *user;
} row_work;

static void row_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const row_work *w = user;
  cpu_row_buffer b;
  cpu_row_buffer_init(&b);
  for (size_t part = begin; part < end; part++) {
    size_t row = part / w->cut.parts, from = part % w->cut.parts * w->cut.length, to = from + w->cut.length;
    cpu_row_span s = {row, row * w->cut.n + from, row * w->cut.n + (to < w->cut.n ? to : w->cut.n)};
    w->fn(w->user, &b, s, part);
  }
}

void cpu_rows_run(cpu_row_cut cut, rlx_pool *pool, double cost, cpu_row_fn *fn, const void *user) {
  row_work w = {cut, fn, user};
  size_t n = cut.rows * cut.parts;
  cpu_parallel(pool, n, cut.parts > 1 ? 1 : cpu_grain(n, cost), row_tasks, &w);
}

/* ---- tasks of columns ---- */

enum { FLUSH = 64 }; /* f32 terms of a column's sum before they are added in f64 */

void cpu_columns_flush(float *acc, double *sum, size_t w, size_t k, size_t n) {
  if ((k + 1) % FLUSH != 0 && k + 1 < n) return;
  for (size_t i = 0; i < w; i++) sum[i] += (double)acc[i], acc[i] = 0;
}

typedef struct column_work {
  rlx_lines lines;
  size_t blocks; /* per line of columns */
  cpu_column_fn *fn;
  const void *user;
} column_work;

static void column_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const column_work *w = user;
  cpu_row_buffer b;
  cpu_row_buffer_init(&b);
  for (size_t t = begin; t < end; t++) {
    size_t column = t % w->blocks * CPU_COLUMN_BLOCK, left = w->lines.inner - column;
    size_t start = t / w->blocks * w->lines.n * w->lines.inner + column;
    w->fn(w->user, &b, start, left < CPU_COLUMN_BLOCK ? left : CPU_COLUMN_BLOCK);
  }
}

void cpu_columns_run(rlx_lines l, rlx_pool *pool, double cost, cpu_column_fn *fn, const void *user) {
  size_t count = l.outer * l.n * l.inner;
  if (count == 0) return;
  column_work w = {l, (l.inner - 1) / CPU_COLUMN_BLOCK + 1, fn, user};
  size_t n = l.outer * w.blocks;
  cpu_parallel(pool, n, cpu_grain(n, cost * (double)count / (double)n), column_tasks, &w);
}
