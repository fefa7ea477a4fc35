/* Norms over rows: layer_norm, rms_norm, fused_residual_norm, group_norm, instance_norm. (norm_columns.c has
 * layer_norm_2d, which normalises over a strided axis. batch_norm_inference has given statistics and is an element-wise
 * op.)
 *
 * The elements that are normalised together form a row: for group_norm the channels of a group. There are three passes:
 * the mean, the squares about it, the scaling. A short row stays in the L1 cache between them. The sum is of x minus
 * the row's first element, and the mean is kept in two f32 parts, so that a row far from zero loses no precision.
 * Chunks of a row are added in f64. Rows for which f32 is not enough (squares that overflow or underflow, infinities,
 * NaN) are recomputed in f64, like the reference. */
#include "cpu/norm.h"
#include "ir/element.h"

typedef struct norm {
  const cpu_norm_fns *fns;
  cpu_rows rows;
  cpu_row_cut cut;
  rlx_dtype dtype;
  const float *gamma, *beta;    /* f32, or NULL */
  size_t run, channels, groups; /* element k of row r uses gamma[r % groups * channels + k / run] */
  bool centre;
  double eps;
  double *partial;       /* rows x parts, where rows are split */
  cpu_norm_stats *stats; /* by row, where rows are split */
  float *first;          /* by row: its first element */
  bool *wide;            /* by row: computed in f64 */
} norm;

/* ---- one part of a row ---- */

static float first_of(const norm *m, size_t row) {
  float first;
  m->rows.load(NULL, &first, (const char *)m->rows.x + row * m->cut.n * m->rows.element, NULL, NULL, 1);
  return first;
}

/* Returns the shift of the row's sums: its first element. With a residual, x itself is loaded shifted (a norm about the
 * mean is invariant to that), and the shift of the sums is 0. Rows in parts have their first elements saved, as the
 * result may overwrite them while other parts are not done. */
static float begin_row(const norm *m, cpu_row_buffer *b, size_t row) {
  if (!m->centre) return 0;
  float first = m->first ? m->first[row] : first_of(m, row);
  if (!m->rows.added) return first;
  b->shift = first;
  b->chunk = NULL;
  return 0;
}

static double part_sum(const norm *m, cpu_row_buffer *b, cpu_row_span s, float shift) {
  double sum = 0;
  CPU_EACH_CHUNK(s, at, n) sum += (double)m->fns->sum(cpu_rows_load(&m->rows, b, at, n), n, shift);
  return sum;
}

static double part_squares(const norm *m, cpu_row_buffer *b, cpu_row_span s, const cpu_norm_stats *st) {
  double sum = 0;
  CPU_EACH_CHUNK(s, at, n) sum += (double)m->fns->squares(cpu_rows_load(&m->rows, b, at, n), n, st);
  return sum;
}

static size_t first_channel(const norm *m, size_t row) { return row % m->groups * m->channels; }

static float value_or(const float *v, size_t i, float otherwise) { return v ? v[i] : otherwise; }

/* n results of a row from element k on. Each channel of a group has one gamma and one beta for its whole run. */
static void scale_chunk(const norm *m, float *y, const float *x, size_t row, size_t k, size_t n,
                        const cpu_norm_stats *st) {
  size_t channel = first_channel(m, row);
  if (m->run == 1) {
    const float *gamma = m->gamma ? m->gamma + channel + k : NULL, *beta = m->beta ? m->beta + channel + k : NULL;
    m->fns->scale(y, x, n, st, gamma, beta);
    return;
  }
  for (size_t done = 0; done < n;) {
    size_t at = (k + done) / m->run, left = (at + 1) * m->run - (k + done), w = left < n - done ? left : n - done;
    m->fns->scale_one(y + done, x + done, w, st, value_or(m->gamma, channel + at, 1),
                      value_or(m->beta, channel + at, 0));
    done += w;
  }
}

static void part_scale(const norm *m, cpu_row_buffer *b, cpu_row_span s, const cpu_norm_stats *st) {
  CPU_EACH_CHUNK(s, at, n) {
    const float *x = cpu_rows_load(&m->rows, b, at, n);
    scale_chunk(m, cpu_rows_result(&m->rows, b, at), x, s.row, at - s.row * m->cut.n, n, st);
    cpu_rows_store(&m->rows, b, at, n);
  }
}

/* ---- statistics ---- */

static cpu_norm_stats about_mean(const norm *m, float shift, double sum) {
  return cpu_norm_about(m->centre ? (double)shift + sum / (double)m->cut.n : 0);
}

/* False: f32 is not precise enough. */
static bool set_inverse(const norm *m, cpu_norm_stats *st, double squares) {
  return cpu_norm_set_inverse(st, squares / (double)m->cut.n, m->eps);
}

static double wide_element(const norm *m, size_t at) {
  rlx_tensor x = {.dtype = m->dtype, .const_data = m->rows.x};
  rlx_tensor added = {.dtype = m->dtype, .const_data = m->rows.added};
  return rlx_load(&x, at) + (added.data ? rlx_load(&added, at) : 0);
}

/* A whole row in f64. */
static void row_wide(const norm *m, size_t row) {
  size_t n = m->cut.n, first = row * n;
  rlx_tensor out = {.dtype = m->dtype, .data = m->rows.out};
  double sum = 0, squares = 0;
  for (size_t i = 0; m->centre && i < n; i++) sum += wide_element(m, first + i);
  double mean = m->centre ? sum / (double)n : 0;
  for (size_t i = 0; i < n; i++) {
    double d = wide_element(m, first + i) - mean;
    squares += d * d;
  }
  double deviation = sqrt(squares / (double)n + m->eps);
  for (size_t i = 0; i < n; i++) {
    size_t channel = first_channel(m, row) + i / m->run;
    double y = (wide_element(m, first + i) - mean) / deviation;
    rlx_store(&out, first + i, y * (double)value_or(m->gamma, channel, 1) + (double)value_or(m->beta, channel, 0));
  }
}

/* ---- tasks ---- */

static void whole_row(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part) {
  (void)part;
  const norm *m = user;
  float shift = begin_row(m, b, s.row);
  cpu_norm_stats st = about_mean(m, shift, m->centre ? part_sum(m, b, s, shift) : 0);
  if (set_inverse(m, &st, part_squares(m, b, s, &st))) part_scale(m, b, s, &st);
  else row_wide(m, s.row);
}

static void sum_pass(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part) {
  const norm *m = user;
  m->partial[part] = part_sum(m, b, s, begin_row(m, b, s.row));
}

static void squares_pass(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part) {
  const norm *m = user;
  begin_row(m, b, s.row);
  m->partial[part] = part_squares(m, b, s, &m->stats[s.row]);
}

static void scale_pass(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part) {
  const norm *m = user;
  begin_row(m, b, s.row);
  if (!m->wide[s.row]) part_scale(m, b, s, &m->stats[s.row]);
  else if (part % m->cut.parts == 0) row_wide(m, s.row);
}

static double add_parts(const norm *m, size_t row) {
  double sum = 0;
  for (size_t p = 0; p < m->cut.parts; p++) sum += m->partial[row * m->cut.parts + p];
  return sum;
}

static void run_parts(const norm *m, rlx_pool *pool) {
  cpu_row_buffer b;
  cpu_row_buffer_init(&b);
  for (size_t row = 0; row < m->cut.rows; row++) m->first[row] = first_of(m, row);
  if (m->centre) cpu_rows_run(m->cut, pool, 0, sum_pass, m);
  for (size_t row = 0; row < m->cut.rows; row++)
    m->stats[row] = about_mean(m, begin_row(m, &b, row), m->centre ? add_parts(m, row) : 0);
  cpu_rows_run(m->cut, pool, 0, squares_pass, m);
  for (size_t row = 0; row < m->cut.rows; row++) m->wide[row] = !set_inverse(m, &m->stats[row], add_parts(m, row));
  cpu_rows_run(m->cut, pool, 0, scale_pass, m);
}

/* ---- the kernel ---- */

/* A node's rows. */
typedef struct norm_shape {
  size_t rows, n, run, channels, groups; /* as in norm */
  size_t n_gamma;
  bool centre;
  double eps;
} norm_shape;

static norm_shape shape_of(const rlx_graph *g, const rlx_node_rec *n) {
  const rlx_dims *x = &rlx_graph_at(g, n->in[0])->type.shape;
  const rlx_op_table_row *row = rlx_op_table_get(n->op);
  norm_shape s = {.rows = 1, .n = 1, .run = 1, .groups = 1, .centre = true};
  s.eps = *(const double *)rlx_attr_named(row, n->attrs, "eps");
  if (n->op == RLX_OP_group_norm || n->op == RLX_OP_instance_norm) {
    for (int i = 2; i < x->n; i++) s.run *= (size_t)x->v[i];
    s.n_gamma = (size_t)x->v[1];
    s.groups = n->op == RLX_OP_group_norm ? (size_t)RLX_ATTRS(group_norm, n)->groups : s.n_gamma;
    s.channels = s.groups ? s.n_gamma / s.groups : 0;
    s.rows = (size_t)x->v[0] * s.groups;
    s.n = s.channels * s.run;
    return s;
  }
  int axis = x->n - 1;
  if (n->op == RLX_OP_fused_residual_norm) s.centre = RLX_ATTRS(fused_residual_norm, n)->kind == RLX_NORM_LAYER;
  else axis = rlx_axis_of(*(const int64_t *)rlx_attr_named(row, n->attrs, "axis"), x->n);
  if (n->op == RLX_OP_rms_norm) s.centre = false;
  for (int i = 0; i < x->n; i++) *(i < axis ? &s.rows : &s.n) *= (size_t)x->v[i];
  s.n_gamma = s.channels = s.n;
  return s;
}

/* Offsets in the work memory: gamma and beta as f32 where they are not, then what rows in parts need. */
typedef struct norm_work {
  size_t gamma, beta, partial, stats, first, wide, bytes;
} norm_work;

static norm_work work_of(const norm_shape *s, rlx_dtype dtype) {
  cpu_row_cut cut = cpu_row_cut_of(s->rows, s->n);
  norm_work w = {.gamma = 0};
  size_t half = dtype == RLX_F32 ? 0 : (s->n_gamma * sizeof(float) + 63) & ~(size_t)63;
  w.beta = half;
  w.partial = 2 * half;
  w.stats = w.partial + (cut.parts > 1 ? s->rows * cut.parts * sizeof(double) : 0);
  w.first = w.stats + (cut.parts > 1 ? s->rows * sizeof(cpu_norm_stats) : 0);
  w.wide = w.first + (cut.parts > 1 ? s->rows * sizeof(float) : 0);
  w.bytes = w.wide + (cut.parts > 1 ? s->rows * sizeof(bool) : 0);
  return w;
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa;
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  norm_shape s = shape_of(q->graph, n);
  c->work_bytes = work_of(&s, n->type.dtype).bytes;
  /* A chunk is read before it is written, and no later pass of another row reads it. A row that is recomputed in f64
   * has not been written before. */
  c->in_place = n->op == RLX_OP_fused_residual_norm ? 3 : 1;
  return true;
}

static const float *as_floats(const cpu_call *c, uint32_t input, size_t n, size_t work_at, rlx_dtype dtype) {
  const void *data = cpu_in(c, input);
  if (!data || dtype == RLX_F32) return data;
  float *to = (float *)(void *)((char *)c->work + work_at);
  cpu_tile_move(c->isa)->load[dtype](NULL, to, data, NULL, NULL, n);
  return to;
}

static rlx_status run(const cpu_call *c) {
  norm_shape s = shape_of(c->graph, c->node);
  if (s.rows * s.n == 0) return RLX_OK;
  rlx_dtype dtype = c->node->type.dtype;
  norm_work w = work_of(&s, dtype);
  bool residual = c->node->op == RLX_OP_fused_residual_norm;
  char *work = c->work;
  norm m = {.fns = cpu_norm(c->isa),
            .cut = cpu_row_cut_of(s.rows, s.n),
            .gamma = as_floats(c, residual ? 2 : 1, s.n_gamma, w.gamma, dtype),
            .beta = as_floats(c, residual ? 3 : 2, s.n_gamma, w.beta, dtype),
            .run = s.run,
            .channels = s.channels,
            .groups = s.groups,
            .centre = s.centre,
            .eps = s.eps,
            .dtype = dtype};
  cpu_rows_init(&m.rows, c, dtype, residual ? cpu_in(c, 1) : NULL);
  if (m.cut.parts > 1) {
    m.partial = (double *)(void *)(work + w.partial);
    m.stats = (cpu_norm_stats *)(void *)(work + w.stats);
    m.first = (float *)(void *)(work + w.first);
    m.wide = (bool *)(work + w.wide);
    run_parts(&m, c->pool);
  } else {
    cpu_rows_run(m.cut, c->pool, 0.5 * (double)s.n + 20, whole_row, &m);
  }
  return RLX_OK;
}

const cpu_kernel cpu_norm_kernel = {.claim = claim, .run = run, .no_f64 = true};
