/* layer_norm_2d: normalises the channels at each pixel of [N, C, H, W], which are H W apart. A block of pixels is
 * computed together, one column per pixel, in the three passes of norm.c. A pixel for which f32 is not enough is
 * recomputed in f64. */
#include <string.h>

#include "cpu/norm.h"
#include "ir/element.h"

typedef struct norm2d {
  const cpu_norm_fns *fns;
  cpu_rows rows;
  rlx_lines lines;
  rlx_tensor x, gamma, beta, out; /* element by element; gamma and beta may have no data */
  double eps;
} norm2d;

typedef struct columns {
  float shift[CPU_COLUMN_BLOCK], mean[CPU_COLUMN_BLOCK], low[CPU_COLUMN_BLOCK], inverse[CPU_COLUMN_BLOCK],
    acc[CPU_COLUMN_BLOCK];
  double sum[CPU_COLUMN_BLOCK];
} columns;

static double load_or(const rlx_tensor *t, size_t i, double otherwise) { return t->data ? rlx_load(t, i) : otherwise; }

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
    cpu_norm_stats st = cpu_norm_about((double)c->shift[i] + c->sum[i] / (double)m->lines.n);
    c->mean[i] = st.mean, c->low[i] = st.low;
    c->sum[i] = 0;
  }
}

/* The inverse is NaN where f32 is not precise enough; returns whether there is no such column. */
static bool set_inverses(const norm2d *m, columns *c, size_t w) {
  bool all = true;
  for (size_t i = 0; i < w; i++) {
    cpu_norm_stats st = {.mean = c->mean[i]};
    bool ok = cpu_norm_set_inverse(&st, c->sum[i] / (double)m->lines.n, m->eps);
    c->inverse[i] = ok ? st.inverse : NAN;
    all = all && ok;
  }
  return all;
}

static void norm_block(const void *user, cpu_row_buffer *b, size_t start, size_t w) {
  const norm2d *m = user;
  columns c;
  const size_t n = m->lines.n, step = m->lines.inner;
  memcpy(c.shift, cpu_rows_load(&m->rows, b, start, w), w * sizeof *c.shift);
  for (size_t i = 0; i < w; i++) c.acc[i] = 0, c.sum[i] = 0;
  size_t done = 0;
  for (size_t k = 0; k < n && !cpu_stops_after(&done, w); k++) {
    m->fns->column_sum(c.acc, cpu_rows_load(&m->rows, b, start + k * step, w), w, c.shift);
    cpu_columns_flush(c.acc, c.sum, w, k, n);
  }
  set_means(m, &c, w);
  for (size_t k = 0; k < n && !cpu_stops_after(&done, w); k++) {
    m->fns->column_squares(c.acc, cpu_rows_load(&m->rows, b, start + k * step, w), w, c.mean, c.low);
    cpu_columns_flush(c.acc, c.sum, w, k, n);
  }
  /* All statistics are complete before anything is written: the result may alias x. pixel_wide writes its own
   * column. */
  bool plain = set_inverses(m, &c, w);
  for (size_t begin = 0, end; begin < w; begin = end) {
    for (end = begin; end < w && (plain || !isnan(c.inverse[end])); end++) {}
    for (size_t k = 0; end > begin && k < n && !cpu_stops_after(&done, w); k++) {
      size_t at = start + begin + k * step;
      const float *x = cpu_rows_load(&m->rows, b, at, end - begin);
      m->fns->column_scale(cpu_rows_result(&m->rows, b, at), x, end - begin, c.mean + begin, c.low + begin,
                           c.inverse + begin, (float)load_or(&m->gamma, k, 1), (float)load_or(&m->beta, k, 0));
      cpu_rows_store(&m->rows, b, at, end - begin);
    }
    if (end < w) pixel_wide(m, start + end++);
  }
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)q, (void)isa;
  c->in_place = 1;
  return true;
}

static rlx_tensor whole(const cpu_call *c, uint32_t input) {
  return (rlx_tensor){.dtype = c->node->type.dtype, .const_data = cpu_in(c, input)};
}

static rlx_status run(const cpu_call *c) {
  rlx_lines l = rlx_lines_of(&c->node->type.shape, 1);
  norm2d m = {.fns = cpu_norm(c->isa), .lines = l, .eps = RLX_ATTRS(layer_norm_2d, c)->eps};
  m.x = whole(c, 0), m.gamma = whole(c, 1), m.beta = whole(c, 2);
  m.out = (rlx_tensor){.dtype = m.x.dtype, .data = c->out};
  cpu_rows_init(&m.rows, c, m.x.dtype, NULL);
  cpu_columns_run(l, c->pool, 0.8, norm_block, &m);
  return RLX_OK;
}

const cpu_kernel cpu_norm_columns_kernel = {.claim = claim, .run = run, .no_f64 = true};
