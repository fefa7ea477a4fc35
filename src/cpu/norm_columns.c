/* layer_norm_2d: the channels at each pixel of [N, C, H, W], which lie H W apart. A block of pixels is computed
 * together, column by column, in the three passes of norm.c; a pixel for which f32 is not enough is done again in
 * double. */
#include <math.h>

#include "cpu/norm.h"
#include "ref/ref.h"

enum {
  BLOCK = 256, /* pixels of a task */
  FLUSH = 64   /* f32 terms of a column's sum before they go into a double */
};

typedef struct norm2d {
  const cpu_norm_fns *fns;
  cpu_rows rows;
  rlx_lines lines;
  rlx_tensor x, gamma, beta, out; /* element by element; gamma and beta may have no data */
  double eps;
} norm2d;

typedef struct columns {
  float shift[BLOCK], mean[BLOCK], low[BLOCK], inverse[BLOCK], acc[BLOCK];
  double sum[BLOCK];
} columns;

static double load_or(const rlx_tensor *t, size_t i, double otherwise) { return t->data ? rlx_load(t, i) : otherwise; }

/* Moves what f32 has gathered into the doubles, now and then. */
static void flush(columns *c, size_t w, size_t k, size_t n) {
  if ((k + 1) % FLUSH != 0 && k + 1 < n) return;
  for (size_t i = 0; i < w; i++) c->sum[i] += (double)c->acc[i], c->acc[i] = 0;
}

static void pixel_wide(const norm2d *m, size_t start) {
  const size_t n = m->lines.n, step = m->lines.inner;
  double sum = 0, squares = 0;
  for (size_t k = 0; k < n; k++) sum += rlx_load(&m->x, start + k * step);
  double mean = sum / (double)n;
  for (size_t k = 0; k < n; k++) squares += pow(rlx_load(&m->x, start + k * step) - mean, 2);
  double deviation = sqrt(squares / (double)n + m->eps);
  rlx_tensor out = m->out;
  for (size_t k = 0; k < n; k++) {
    double y = (rlx_load(&m->x, start + k * step) - mean) / deviation;
    rlx_store(&out, start + k * step, y * load_or(&m->gamma, k, 1) + load_or(&m->beta, k, 0));
  }
}

static void set_means(const norm2d *m, columns *c, size_t w) {
  for (size_t i = 0; i < w; i++) {
    double mean = (double)c->shift[i] + c->sum[i] / (double)m->lines.n;
    c->mean[i] = (float)mean;
    c->low[i] = (float)(mean - (double)c->mean[i]);
    c->sum[i] = 0;
  }
}

/* One beyond f32 has the inverse NaN. */
static bool set_inverses(const norm2d *m, columns *c, size_t w) {
  bool all = true;
  for (size_t i = 0; i < w; i++) {
    double variance = c->sum[i] / (double)m->lines.n;
    bool ok = isfinite(variance) && isfinite(c->mean[i]) && !(variance < 1e-30 && m->eps < 1e-24);
    c->inverse[i] = ok ? (float)(1 / sqrt(variance + m->eps)) : NAN;
    all = all && ok;
  }
  return all;
}

static void norm_block(const norm2d *m, cpu_row_buffer *b, columns *c, size_t start, size_t w) {
  const size_t n = m->lines.n, step = m->lines.inner;
  memcpy(c->shift, cpu_rows_bring(&m->rows, b, start, w), w * sizeof *c->shift);
  for (size_t i = 0; i < w; i++) c->acc[i] = 0, c->sum[i] = 0;
  for (size_t k = 0; k < n; k++) {
    m->fns->column_sum(c->acc, cpu_rows_bring(&m->rows, b, start + k * step, w), w, c->shift);
    flush(c, w, k, n);
  }
  set_means(m, c, w);
  for (size_t k = 0; k < n; k++) {
    m->fns->column_squares(c->acc, cpu_rows_bring(&m->rows, b, start + k * step, w), w, c->mean, c->low);
    flush(c, w, k, n);
  }
  /* Before anything is written: the result may lie where x does. A pixel done here is not a column any more. */
  bool plain = set_inverses(m, c, w);
  for (size_t begin = 0, end; begin < w; begin = end) {
    for (end = begin; end < w && (plain || !isnan(c->inverse[end])); end++) {}
    for (size_t k = 0; end > begin && k < n; k++) {
      size_t at = start + begin + k * step;
      const float *x = cpu_rows_bring(&m->rows, b, at, end - begin);
      m->fns->column_scale(cpu_rows_place(&m->rows, b, at), x, end - begin, c->mean + begin, c->low + begin,
                           c->inverse + begin, (float)load_or(&m->gamma, k, 1), (float)load_or(&m->beta, k, 0));
      cpu_rows_store(&m->rows, b, at, end - begin);
    }
    if (end < w) pixel_wide(m, start + end++);
  }
}

static void block_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const norm2d *m = user;
  cpu_row_buffer b;
  columns c;
  cpu_row_buffer_init(&b);
  size_t blocks = (m->lines.inner - 1) / BLOCK + 1;
  for (size_t t = begin; t < end; t++) {
    size_t column = t % blocks * BLOCK, left = m->lines.inner - column;
    norm_block(m, &b, &c, t / blocks * m->lines.n * m->lines.inner + column, left < BLOCK ? left : BLOCK);
  }
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa;
  c->in_place = 1;
  c->why = "f64 runs through the reference";
  return rlx_graph_at(q->graph, q->node)->type.dtype != RLX_F64;
}

static rlx_tensor whole(const cpu_call *c, uint32_t input) {
  return (rlx_tensor){.dtype = c->node->type.dtype, .data = (void *)(uintptr_t)cpu_in(c, input)};
}

static rlx_status run(const cpu_call *c) {
  rlx_lines l = rlx_lines_of(&c->node->type.shape, 1);
  size_t count = l.outer * l.n * l.inner;
  if (count == 0) return RLX_OK;
  norm2d m = {.fns = cpu_norm(c->isa), .lines = l, .eps = RLX_ATTRS(layer_norm_2d, c)->eps};
  m.x = whole(c, 0), m.gamma = whole(c, 1), m.beta = whole(c, 2);
  m.out = (rlx_tensor){.dtype = m.x.dtype, .data = c->out};
  cpu_rows_init(&m.rows, c, m.x.dtype, NULL);
  size_t blocks = l.outer * ((l.inner - 1) / BLOCK + 1);
  cpu_parallel(c->pool, blocks, cpu_grain(blocks, 0.8 * (double)count / (double)blocks), block_tasks, &m);
  return RLX_OK;
}

const cpu_kernel cpu_norm_columns_kernel = {.claim = claim, .run = run};
