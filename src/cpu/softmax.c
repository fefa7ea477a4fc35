/* softmax and log_softmax over any axis.
 *
 * Along the last axis a row is read for its largest element, then for the sum of e^(x - max), then scaled. A short
 * row stays in the first-level cache between the passes, and its powers are kept from the second pass to the third;
 * of a longer one they are computed again, which costs less than memory. Along another axis neighbouring lines are
 * computed together, a block of columns at a time. Rows that are few and long are cut in parts whose maxima and sums
 * are joined in order. */
#include <math.h>

#include "cpu/norm.h"
#include "ref/ref.h"

enum {
  BLOCK = 256, /* columns of a task */
  FLUSH = 64   /* f32 terms of a column's sum before they go into a double */
};

typedef struct soft {
  const cpu_softmax_fns *fns;
  cpu_rows rows;
  cpu_row_cut cut;
  rlx_lines lines;
  bool logarithm;
  /* Of rows in parts: by part, and by row. */
  float *part_max, *max, *last; /* last: 1 / sum, or its logarithm */
  double *part_sum;
} soft;

typedef struct span {
  size_t begin, end; /* elements of the whole */
} span;

static size_t piece_of(span s, size_t at) { return s.end - at < CPU_ROW_PIECE ? s.end - at : CPU_ROW_PIECE; }

static float part_max(const soft *m, cpu_row_buffer *b, span s) {
  float max = -INFINITY;
  for (size_t at = s.begin; at < s.end; at += CPU_ROW_PIECE) {
    size_t n = piece_of(s, at);
    float here = m->fns->max(cpu_rows_bring(&m->rows, b, at, n), n);
    max = here > max ? here : max;
  }
  return max;
}

static double part_sum(const soft *m, cpu_row_buffer *b, span s, float max) {
  double sum = 0;
  for (size_t at = s.begin; at < s.end; at += CPU_ROW_PIECE) {
    size_t n = piece_of(s, at);
    sum += (double)m->fns->exp_sum(NULL, cpu_rows_bring(&m->rows, b, at, n), n, max);
  }
  return sum;
}

static float last_of(const soft *m, double sum) { return (float)(m->logarithm ? log(sum) : 1 / sum); }

static void part_finish(const soft *m, cpu_row_buffer *b, span s, float max, float last) {
  for (size_t at = s.begin; at < s.end; at += CPU_ROW_PIECE) {
    size_t n = piece_of(s, at);
    const float *x = cpu_rows_bring(&m->rows, b, at, n);
    (m->logarithm ? m->fns->subtract : m->fns->exp_scale)(cpu_rows_place(&m->rows, b, at), x, n, max, last);
    cpu_rows_store(&m->rows, b, at, n);
  }
}

/* A softmax of one piece: the powers wait in the place of the result. */
static void short_row(const soft *m, cpu_row_buffer *b, span s) {
  size_t n = s.end - s.begin;
  const float *x = cpu_rows_bring(&m->rows, b, s.begin, n);
  float *y = cpu_rows_place(&m->rows, b, s.begin), max = m->fns->max(x, n);
  m->fns->scale(y, y, n, last_of(m, (double)m->fns->exp_sum(y, x, n, max)));
  cpu_rows_store(&m->rows, b, s.begin, n);
}

static void row_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const soft *m = user;
  cpu_row_buffer b;
  cpu_row_buffer_init(&b);
  for (size_t row = begin; row < end; row++) {
    span s = {row * m->cut.n, (row + 1) * m->cut.n};
    if (m->cut.n <= CPU_ROW_PIECE && !m->logarithm) {
      short_row(m, &b, s);
      continue;
    }
    float max = part_max(m, &b, s);
    part_finish(m, &b, s, max, last_of(m, part_sum(m, &b, s, max)));
  }
}

/* ---- rows in parts ---- */

static span span_of(const soft *m, size_t task) {
  size_t row = task / m->cut.parts, begin = task % m->cut.parts * m->cut.length, end = begin + m->cut.length;
  return (span){row * m->cut.n + begin, row * m->cut.n + (end < m->cut.n ? end : m->cut.n)};
}

static void max_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const soft *m = user;
  cpu_row_buffer b;
  cpu_row_buffer_init(&b);
  for (size_t t = begin; t < end; t++) m->part_max[t] = part_max(m, &b, span_of(m, t));
}

static void sum_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const soft *m = user;
  cpu_row_buffer b;
  cpu_row_buffer_init(&b);
  for (size_t t = begin; t < end; t++) m->part_sum[t] = part_sum(m, &b, span_of(m, t), m->max[t / m->cut.parts]);
}

static void finish_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const soft *m = user;
  cpu_row_buffer b;
  cpu_row_buffer_init(&b);
  for (size_t t = begin; t < end; t++) {
    size_t row = t / m->cut.parts;
    part_finish(m, &b, span_of(m, t), m->max[row], m->last[row]);
  }
}

static void run_parts(soft *m, rlx_pool *pool) {
  size_t parts = m->cut.parts, tasks = m->cut.rows * parts;
  cpu_parallel(pool, tasks, 1, max_tasks, m);
  for (size_t row = 0; row < m->cut.rows; row++) {
    m->max[row] = -INFINITY;
    for (size_t p = 0; p < parts; p++) m->max[row] = fmaxf(m->max[row], m->part_max[row * parts + p]);
  }
  cpu_parallel(pool, tasks, 1, sum_tasks, m);
  for (size_t row = 0; row < m->cut.rows; row++) {
    double sum = 0;
    for (size_t p = 0; p < parts; p++) sum += m->part_sum[row * parts + p];
    m->last[row] = last_of(m, sum);
  }
  cpu_parallel(pool, tasks, 1, finish_tasks, m);
}

/* ---- columns ---- */

static void column_block(const soft *m, cpu_row_buffer *b, size_t start, size_t w) {
  const size_t n = m->lines.n, step = m->lines.inner;
  float max[BLOCK], acc[BLOCK], last[BLOCK];
  double sum[BLOCK];
  for (size_t i = 0; i < w; i++) max[i] = -INFINITY, acc[i] = 0, sum[i] = 0;
  for (size_t k = 0; k < n; k++) m->fns->column_max(max, cpu_rows_bring(&m->rows, b, start + k * step, w), w);
  for (size_t k = 0; k < n; k++) {
    m->fns->column_exp_sum(acc, cpu_rows_bring(&m->rows, b, start + k * step, w), w, max);
    if ((k + 1) % FLUSH != 0 && k + 1 < n) continue;
    for (size_t i = 0; i < w; i++) sum[i] += (double)acc[i], acc[i] = 0;
  }
  for (size_t i = 0; i < w; i++) last[i] = last_of(m, sum[i]);
  for (size_t k = 0; k < n; k++) {
    size_t at = start + k * step;
    const float *x = cpu_rows_bring(&m->rows, b, at, w);
    (m->logarithm ? m->fns->column_subtract : m->fns->column_exp_scale)(cpu_rows_place(&m->rows, b, at), x, w, max,
                                                                        last);
    cpu_rows_store(&m->rows, b, at, w);
  }
}

static void column_tasks(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const soft *m = user;
  cpu_row_buffer b;
  cpu_row_buffer_init(&b);
  size_t blocks = (m->lines.inner - 1) / BLOCK + 1;
  for (size_t t = begin; t < end; t++) {
    size_t column = t % blocks * BLOCK, left = m->lines.inner - column;
    column_block(m, &b, t / blocks * m->lines.n * m->lines.inner + column, left < BLOCK ? left : BLOCK);
  }
}

/* ---- the kernel ---- */

static rlx_lines lines_of(const rlx_node_rec *n) {
  const int64_t *axis = rlx_attr_named(rlx_op_get(n->op), n->attrs, "axis");
  return rlx_lines_of(&n->type.shape, *axis);
}

static uint64_t part_bytes(cpu_row_cut cut) {
  return cut.parts > 1 ? cut.rows * cut.parts * (sizeof(double) + sizeof(float)) + cut.rows * 2 * sizeof(float) : 0;
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa;
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  if (n->type.dtype == RLX_F64) {
    c->why = "f64 runs through the reference";
    return false;
  }
  rlx_lines l = lines_of(n);
  if (l.inner == 1) c->work_bytes = part_bytes(cpu_row_cut_of(l.outer, l.n));
  c->in_place = 1; /* pieces are read for the last time just before they are written */
  return true;
}

static rlx_status run(const cpu_call *c) {
  rlx_lines l = lines_of(c->node);
  size_t count = l.outer * l.n * l.inner;
  if (count == 0) return RLX_OK;
  soft m = {.fns = cpu_softmax(c->isa), .lines = l, .logarithm = c->node->op == RLX_OP_log_softmax};
  cpu_rows_init(&m.rows, c, c->node->type.dtype, NULL);
  if (l.inner > 1) {
    size_t blocks = l.outer * ((l.inner - 1) / BLOCK + 1);
    cpu_parallel(c->pool, blocks, cpu_grain(blocks, 1.5 * (double)count / (double)blocks), column_tasks, &m);
    return RLX_OK;
  }
  m.cut = cpu_row_cut_of(l.outer, l.n);
  if (m.cut.parts > 1) {
    m.part_sum = c->work;
    m.part_max = (float *)(m.part_sum + m.cut.rows * m.cut.parts);
    m.max = m.part_max + m.cut.rows * m.cut.parts;
    m.last = m.max + m.cut.rows;
    run_parts(&m, c->pool);
  } else {
    cpu_parallel(c->pool, l.outer, cpu_grain(l.outer, (double)l.n + 20), row_tasks, &m);
  }
  return RLX_OK;
}

const cpu_kernel cpu_softmax_kernel = {.claim = claim, .run = run};
