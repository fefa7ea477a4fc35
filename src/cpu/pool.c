/* pool_max and pool_avg: a row of the result is the maximum or the mean, over the taps, of shifted rows of the input.
 *
 * A task is a plane. The common case is by lines: f32, stride 1 or 2 along the row, every window overlaps the input. It
 * reduces the rows of the window into one padded line and then reduces along the line. The mean or maximum of a whole
 * f32 plane is one pass over it. All others are reduced tap by tap: the output columns that a tap reaches are computed
 * per tap, so no padding is stored. Inputs that are not f32 are converted a row at a time, once per kernel row that
 * reads them. This costs little, as pooling is a small part of a model. A mean with a single output column sums along
 * the row instead of tap by tap. */
#include <math.h>

#include "cpu/conv.h"
#include "cpu/pointwise.h"
#include "cpu/slots.h"
#include "ir/conv_dims.h"

enum {
  SLOTS = 32,
  MAX_ROWS = 64,
  LONG_ROW = 1 << 24, /* work per row above which it runs tap by tap */
  SUM_RUN = 1 << 22   /* elements of a plane's sum between polls */
};

typedef struct pool {
  const cpu_conv_table *table;
  rlx_conv_window window;
  rlx_dtype type;
  bool is_max, count_pad;
  int64_t in[RLX_SPATIAL], out[RLX_SPATIAL];
  size_t planes, slots, slot_floats;
  size_t converted; /* floats of a converted row */
  size_t line;      /* floats of a padded line */
  bool by_lines, is_whole;
  float *taps; /* by output column, for pool_avg by lines */
} pool;

/* The number of elements that output position o averages along an axis: those inside the input, or with count_pad the
 * taps inside the padded input. */
static int64_t taps_at(const pool *p, int axis, int64_t o) {
  const rlx_conv_window *w = &p->window;
  int64_t first, end;
  rlx_window_taps(w, axis, o, p->in[axis], &first, &end);
  if (!p->count_pad) return end - first;
  rlx_window_taps(w, axis, o, p->in[axis] + w->pad_hi[axis], &first, &end);
  return end;
}

static bool lines_fit(const pool *p) {
  const rlx_conv_window *w = &p->window;
  if (p->type != RLX_F32 || w->stride[2] > 2 || w->kernel[0] * w->kernel[1] > MAX_ROWS || w->kernel[2] > p->in[2])
    return false;
  if (p->out[2] > LONG_ROW / (w->kernel[2] > 0 ? w->kernel[2] : 1)) return false;
  for (int a = 0; a < RLX_SPATIAL; a++) /* with dilation or wide padding a window may contain no element */
    if (w->dilation[a] != 1 || w->pad_lo[a] >= w->kernel[a] || w->pad_hi[a] >= w->kernel[a] || p->in[a] < 1)
      return false;
  return true;
}

static rlx_status pool_init(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa, pool *p) {
  const rlx_type *x = &rlx_graph_at(g, n->in[0])->type;
  rlx_pool_window read;
  *p = (pool){.table = cpu_conv(isa), .type = n->type.dtype, .is_max = n->op == RLX_OP_pool_max};
  RLX_TRY(rlx_pool_read(n->op, n->attrs, &x->shape, &read));
  p->window = read.window;
  p->count_pad = read.count_pad;
  rlx_window_sizes(&x->shape, p->in);
  rlx_window_sizes(&n->type.shape, p->out);
  p->planes = (size_t)n->type.shape.v[0] * (size_t)n->type.shape.v[1];
  p->slots = p->planes < SLOTS ? p->planes : SLOTS;
  p->converted = p->type == RLX_F32 ? 0 : (size_t)p->in[2];
  p->is_whole = read.whole && p->type == RLX_F32;
  p->by_lines = lines_fit(p);
  if (p->by_lines)
    p->line = (size_t)(p->window.pad_lo[2] + p->in[2]) + (size_t)(p->out[2] * p->window.stride[2]) +
              (size_t)(p->window.kernel[2] * p->window.dilation[2]) + 4 * p->table->lanes;
  p->slot_floats = ((size_t)p->out[2] + p->converted + p->line + 15) / 16 * 16;
  return RLX_OK;
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  pool p;
  if (pool_init(q->graph, n, isa, &p)) {
    c->why = "its sizes are too large";
    return false;
  }
  c->work_bytes = p.slots * p.slot_floats * sizeof(float);
  return true;
}

static rlx_status prepare(cpu_call *c, rlx_bump *memory) {
  pool *p = rlx_bump_new(memory, pool);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "pool");
  c->prepared = p;
  RLX_TRY(pool_init(c->graph, c->node, c->isa, p));
  if (!p->by_lines || p->is_max) return RLX_OK;
  size_t n = (size_t)p->out[2] + p->table->lanes;
  p->taps = rlx_bump_array(memory, float, n);
  if (!p->taps) return RLX_FAIL(RLX_NO_MEMORY, "pool");
  for (size_t x = 0; x < n; x++) p->taps[x] = x < (size_t)p->out[2] ? (float)taps_at(p, 2, (int64_t)x) : 1;
  return RLX_OK;
}

/* The output columns begin .. end-1 whose tap `k` is inside the row, and the input column of the first. */
static void reach(const pool *p, int64_t k, int64_t *begin, int64_t *end, int64_t *from) {
  const rlx_conv_window *w = &p->window;
  int64_t first = k * w->dilation[2] - w->pad_lo[2], stride = w->stride[2];
  *begin = first < 0 ? (-first + stride - 1) / stride : 0;
  *end = p->in[2] > first ? (p->in[2] - first + stride - 1) / stride : 0;
  if (*end > p->out[2]) *end = p->out[2];
  *from = *begin * stride + first;
}

/* Reduces one input row into the row of results. */
static void reduce_row(const pool *p, const float *row, float *result, size_t *done) {
  const rlx_conv_window *w = &p->window;
  if (!p->is_max && p->out[2] == 1) { /* sum along the row */
    int64_t first, end;
    float sum = 0;
    rlx_window_taps(w, 2, 0, p->in[2], &first, &end);
    for (int64_t k = first; k < end && !cpu_stops_after(done, SUM_RUN);) {
      int64_t run = end - k < SUM_RUN ? end : k + SUM_RUN;
      for (; k < run; k++) sum += row[k * w->dilation[2] - w->pad_lo[2]];
    }
    result[0] += sum;
    return;
  }
  for (int64_t k = 0; k < w->kernel[2] && !cpu_stops_after(done, (size_t)p->out[2]); k++) {
    int64_t begin, end, from;
    reach(p, k, &begin, &end, &from);
    if (begin >= end) continue;
    (p->is_max ? p->table->max_strided : p->table->sum_strided)(row + from, (size_t)w->stride[2], result + begin,
                                                                (size_t)(end - begin));
  }
}

/* Divides sums by their counts. */
static void divide(const pool *p, int64_t z, int64_t y, float *result) {
  double rows = (double)(taps_at(p, 0, z) * taps_at(p, 1, y));
  for (int64_t x = 0; x < p->out[2]; x++) {
    double taps = rows * (double)taps_at(p, 2, x);
    result[x] = taps > 0 ? (float)((double)result[x] / taps) : 0;
  }
}

/* Reduces the rows of the window of output row (z, y). */
static void run_row(const cpu_call *c, const pool *p, const char *plane, int64_t z, int64_t y, float *result,
                    float *converted, size_t *done) {
  const rlx_conv_window *w = &p->window;
  int64_t first[2], end[2], position[2] = {z, y};
  for (int64_t x = 0; x < p->out[2]; x++) result[x] = p->is_max ? -INFINITY : 0;
  for (int a = 0; a < 2; a++) rlx_window_taps(w, a, position[a], p->in[a], &first[a], &end[a]);
  for (int64_t i = first[0]; i < end[0]; i++)
    for (int64_t j = first[1]; j < end[1] && !cpu_stops_after(done, (size_t)p->in[2]); j++) {
      int64_t in_z = rlx_window_start(w, 0, z) + i * w->dilation[0];
      int64_t in_y = rlx_window_start(w, 1, y) + j * w->dilation[1];
      const char *row = plane + (size_t)((in_z * p->in[1] + in_y) * p->in[2]) * rlx_dtype_size(p->type);
      if (p->converted) cpu_floats_load(c->isa, p->type, row, converted, (size_t)p->in[2]);
      reduce_row(p, p->converted ? converted : (const float *)(const void *)row, result, done);
    }
  if (!p->is_max) divide(p, z, y, result);
}

static void run_taps(const cpu_call *c, size_t plane, float *result) {
  const pool *p = c->prepared;
  size_t size = rlx_dtype_size(p->type), in = (size_t)(p->in[0] * p->in[1] * p->in[2]) * size;
  float *converted = result + p->out[2];
  char *to = (char *)c->out + plane * (size_t)(p->out[0] * p->out[1] * p->out[2]) * size;
  size_t done = 0;
  for (int64_t z = 0; z < p->out[0]; z++)
    for (int64_t y = 0; y < p->out[1]; y++, to += (size_t)p->out[2] * size) {
      if (cpu_stops_after(&done, (size_t)p->out[2])) return;
      run_row(c, p, (const char *)cpu_in(c, 0) + plane * in, z, y, result, converted, &done);
      p->table->finish(&(cpu_conv_epilogue){.type = p->type}, result, to, (size_t)p->out[2]);
    }
}

/* ---- by lines ---- */

static void run_lines(const pool *p, const float *plane, float *out, float *line) {
  const rlx_conv_window *w = &p->window;
  const float *rows[MAX_ROWS];
  cpu_pool_row r = {.rows = rows,
                    .width = (size_t)p->in[2],
                    .line = line,
                    .pad = (size_t)w->pad_lo[2],
                    .kernel = (size_t)w->kernel[2],
                    .stride = (size_t)w->stride[2],
                    .dilation = 1,
                    .taps = p->taps,
                    .out = out,
                    .n = (size_t)p->out[2]};
  for (size_t i = 0; i < p->line; i++) line[i] = p->is_max ? -INFINITY : 0;
  size_t done = 0, row_ns = r.n * r.kernel;
  for (int64_t z = 0; z < p->out[0]; z++)
    for (int64_t y = 0; y < p->out[1]; y++, r.out += r.n) {
      if (cpu_stops_after(&done, row_ns)) return;
      int64_t first[2], end[2], position[2] = {z, y};
      for (int a = 0; a < 2; a++) rlx_window_taps(w, a, position[a], p->in[a], &first[a], &end[a]);
      r.n_rows = 0;
      for (int64_t i = first[0]; i < end[0]; i++)
        for (int64_t j = first[1]; j < end[1]; j++)
          rows[r.n_rows++] =
            plane + ((rlx_window_start(w, 0, z) + i) * p->in[1] + rlx_window_start(w, 1, y) + j) * p->in[2];
      r.row_taps = p->is_max ? 1 : (float)(taps_at(p, 0, z) * taps_at(p, 1, y));
      p->table->pool_row(p->is_max, &r);
    }
}

static float mean_of(const pool *p, const float *x, size_t n) {
  if (n <= SUM_RUN) return n ? p->table->sum_all(x, n) / (float)n : 0;
  double sum = 0;
  for (size_t at = 0; at < n && !cpu_stops(); at += SUM_RUN)
    sum += (double)p->table->sum_all(x + at, n - at < SUM_RUN ? n - at : SUM_RUN);
  return (float)(sum / (double)n);
}

static float max_of(const pool *p, const float *x, size_t n) {
  float max = -INFINITY;
  for (size_t at = 0; at < n && !cpu_stops(); at += SUM_RUN) {
    float part = p->table->max_all(x + at, n - at < SUM_RUN ? n - at : SUM_RUN);
    if (part > max || isnan(part)) max = part;
    if (isnan(max)) break;
  }
  return max;
}

static void run_plane(const cpu_call *c, size_t plane, float *result) {
  const pool *p = c->prepared;
  size_t n_in = (size_t)(p->in[0] * p->in[1] * p->in[2]), n_out = (size_t)(p->out[0] * p->out[1] * p->out[2]);
  const float *from = (const float *)cpu_in(c, 0) + plane * n_in;
  if (p->is_whole) ((float *)c->out)[plane] = p->is_max ? max_of(p, from, n_in) : mean_of(p, from, n_in);
  else if (p->by_lines) run_lines(p, from, (float *)c->out + plane * n_out, result);
  else run_taps(c, plane, result);
}

static rlx_status run(const cpu_call *c) {
  const pool *p = c->prepared;
  if (rlx_dims_count(&c->node->type.shape) == 0) return RLX_OK;
  const int64_t *k = p->window.kernel;
  double plane_cost =
    (double)(p->out[0] * p->out[1] * p->out[2]) * (double)(k[0] * k[1] * k[2]) / (p->by_lines ? 20.0 : 4.0);
  cpu_slots_run(c, p->planes, p->slots, p->slot_floats, plane_cost, run_plane);
  return RLX_OK;
}

const cpu_kernel cpu_pool_kernel = {.claim = claim, .prepare = prepare, .run = run, .no_f64 = true};
