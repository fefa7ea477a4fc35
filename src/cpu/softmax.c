/* softmax and log_softmax over any axis.
 *
 * Along the last axis a row is read three times: for its maximum, for the sum of e^(x - max), and to be scaled. A short
 * row stays in the L1 cache between the passes, and the second pass stores its powers for the third. For a longer row
 * they are recomputed, which costs less than the memory traffic. Along another axis, adjacent lines are computed
 * together, a block of columns at a time. A few long rows are split into parts whose maxima and sums are combined in
 * order. */
#include "cpu/norm.h"

typedef struct soft {
  const cpu_softmax_fns *fns;
  cpu_rows rows;
  rlx_lines lines;
  bool logarithm;
  /* Of rows in parts: by part, and by row. */
  float *part_max, *max, *factor; /* factor: 1 / sum, or log(sum) */
  double *part_sum;
} soft;

static float part_max(const soft *m, cpu_row_buffer *b, cpu_row_span s) {
  float max = -INFINITY;
  CPU_EACH_CHUNK(s, at, n) {
    float here = m->fns->max(cpu_rows_load(&m->rows, b, at, n), n);
    max = here > max ? here : max;
  }
  return max;
}

static double part_sum(const soft *m, cpu_row_buffer *b, cpu_row_span s, float max) {
  double sum = 0;
  CPU_EACH_CHUNK(s, at, n) sum += (double)m->fns->exp_sum(NULL, cpu_rows_load(&m->rows, b, at, n), n, max);
  return sum;
}

static float factor_of(const soft *m, double sum) { return (float)(m->logarithm ? log(sum) : 1 / sum); }

static void part_finish(const soft *m, cpu_row_buffer *b, cpu_row_span s, float max, float factor) {
  CPU_EACH_CHUNK(s, at, n) {
    const float *x = cpu_rows_load(&m->rows, b, at, n);
    (m->logarithm ? m->fns->subtract : m->fns->exp_scale)(cpu_rows_result(&m->rows, b, at), x, n, max, factor);
    cpu_rows_store(&m->rows, b, at, n);
  }
}

/* A softmax of one chunk: the powers are stored in the result until they are scaled. */
static void short_row(const soft *m, cpu_row_buffer *b, cpu_row_span s) {
  size_t n = s.end - s.begin;
  const float *x = cpu_rows_load(&m->rows, b, s.begin, n);
  float *y = cpu_rows_result(&m->rows, b, s.begin), max = m->fns->max(x, n);
  m->fns->scale(y, y, n, factor_of(m, (double)m->fns->exp_sum(y, x, n, max)));
  cpu_rows_store(&m->rows, b, s.begin, n);
}

static void whole_row(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part) {
  (void)part;
  const soft *m = user;
  if (s.end - s.begin <= CPU_ROW_CHUNK && !m->logarithm) {
    short_row(m, b, s);
    return;
  }
  float max = part_max(m, b, s);
  part_finish(m, b, s, max, factor_of(m, part_sum(m, b, s, max)));
}

/* ---- rows in parts ---- */

static void max_pass(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part) {
  const soft *m = user;
  m->part_max[part] = part_max(m, b, s);
}

static void sum_pass(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part) {
  const soft *m = user;
  m->part_sum[part] = part_sum(m, b, s, m->max[s.row]);
}

static void finish_pass(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part) {
  (void)part;
  const soft *m = user;
  part_finish(m, b, s, m->max[s.row], m->factor[s.row]);
}

static void run_parts(const soft *m, cpu_row_cut cut, rlx_pool *pool) {
  cpu_rows_run(cut, pool, 0, max_pass, m);
  for (size_t row = 0; row < cut.rows; row++) {
    m->max[row] = -INFINITY;
    for (size_t p = 0; p < cut.parts; p++) m->max[row] = fmaxf(m->max[row], m->part_max[row * cut.parts + p]);
  }
  cpu_rows_run(cut, pool, 0, sum_pass, m);
  for (size_t row = 0; row < cut.rows; row++) {
    double sum = 0;
    for (size_t p = 0; p < cut.parts; p++) sum += m->part_sum[row * cut.parts + p];
    m->factor[row] = factor_of(m, sum);
  }
  cpu_rows_run(cut, pool, 0, finish_pass, m);
}

/* ---- columns ---- */

static void column_block(const void *user, cpu_row_buffer *b, size_t start, size_t w) {
  const soft *m = user;
  const size_t n = m->lines.n, step = m->lines.inner;
  float max[CPU_COLUMN_BLOCK], acc[CPU_COLUMN_BLOCK], factor[CPU_COLUMN_BLOCK];
  double sum[CPU_COLUMN_BLOCK];
  for (size_t i = 0; i < w; i++) max[i] = -INFINITY, acc[i] = 0, sum[i] = 0;
  size_t done = 0;
  for (size_t k = 0; k < n && !cpu_stops_after(&done, w); k++)
    m->fns->column_max(max, cpu_rows_load(&m->rows, b, start + k * step, w), w);
  for (size_t k = 0; k < n && !cpu_stops_after(&done, 2 * w); k++) {
    m->fns->column_exp_sum(acc, cpu_rows_load(&m->rows, b, start + k * step, w), w, max);
    cpu_columns_flush(acc, sum, w, k, n);
  }
  for (size_t i = 0; i < w; i++) factor[i] = factor_of(m, sum[i]);
  for (size_t k = 0; k < n && !cpu_stops_after(&done, 2 * w); k++) {
    size_t at = start + k * step;
    const float *x = cpu_rows_load(&m->rows, b, at, w);
    (m->logarithm ? m->fns->column_subtract : m->fns->column_exp_scale)(cpu_rows_result(&m->rows, b, at), x, w, max,
                                                                        factor);
    cpu_rows_store(&m->rows, b, at, w);
  }
}

/* ---- the kernel ---- */

static rlx_lines lines_of(const rlx_node_rec *n) {
  const int64_t *axis = rlx_attr_named(rlx_op_table_get(n->op), n->attrs, "axis");
  return rlx_lines_of(&n->type.shape, *axis);
}

static uint64_t part_bytes(cpu_row_cut cut) {
  return cut.parts > 1 ? cut.rows * cut.parts * (sizeof(double) + sizeof(float)) + cut.rows * 2 * sizeof(float) : 0;
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa;
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  rlx_lines l = lines_of(n);
  if (l.inner == 1) c->work_bytes = part_bytes(cpu_row_cut_of(l.outer, l.n));
  c->in_place = 1; /* a chunk is read for the last time just before it is written */
  return true;
}

static rlx_status run(const cpu_call *c) {
  rlx_lines l = lines_of(c->node);
  if (l.outer * l.n * l.inner == 0) return RLX_OK;
  soft m = {.fns = cpu_softmax(c->isa), .lines = l, .logarithm = c->node->op == RLX_OP_log_softmax};
  cpu_rows_init(&m.rows, c, c->node->type.dtype, NULL);
  if (l.inner > 1) {
    cpu_columns_run(l, c->pool, 1.5, column_block, &m);
    return RLX_OK;
  }
  cpu_row_cut cut = cpu_row_cut_of(l.outer, l.n);
  if (cut.parts > 1) {
    m.part_sum = c->work;
    m.part_max = (float *)(void *)(m.part_sum + cut.rows * cut.parts);
    m.max = m.part_max + cut.rows * cut.parts;
    m.factor = m.max + cut.rows;
    run_parts(&m, cut, c->pool);
  } else {
    cpu_rows_run(cut, c->pool, (double)l.n + 20, whole_row, &m);
  }
  return RLX_OK;
}

const cpu_kernel cpu_softmax_kernel = {.claim = claim, .run = run, .no_f64 = true};
