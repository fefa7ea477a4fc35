/* Kernels that read at indices (the gather family, one_hot), and update, which writes rows at a run-time position.
 *
 * Indices are checked where they are used, in the tasks. A task that finds a bad one sets a flag and reads nothing
 * there. After all tasks, the caller's thread searches for the first bad index and reports it. So valid indices cost
 * one pass, and no index leads outside a tensor. */
#include <stdatomic.h>
#include <string.h>

#include "cpu/matmul.h"
#include "cpu/move.h"
#include "ir/definitions.h"
#include "ir/element.h"
#include "ir/walk.h"
#include "quant/quant.h"

/* ---- common ---- */

typedef struct index_work {
  const cpu_call *c;
  const void *idx;
  bool wide; /* i64, else i32 */
  const unsigned char *x;
  unsigned char *out;
  size_t size; /* bytes of an element */
  rlx_lines lines;
  size_t n_idx;
  atomic_bool is_bad;
} index_work;

static index_work work_of(const cpu_call *c) {
  const rlx_type *idx = cpu_in_type(c, 1);
  return (index_work){.c = c,
                      .idx = c->in[1],
                      .wide = idx->dtype == RLX_I64,
                      .x = c->in[0],
                      .out = c->out,
                      .size = rlx_dtype_size(c->node->type.dtype),
                      .n_idx = rlx_dims_count(&idx->shape)};
}

/* The index in 0 .. n-1 (negative ones count from the end); n where it is bad. */
static inline size_t resolve(index_work *w, size_t i, int64_t n) {
  int64_t k = cpu_index_at(w->idx, w->wide, i);
  if (k < 0) k += n;
  if (k >= 0 && k < n) return (size_t)k;
  atomic_store_explicit(&w->is_bad, true, memory_order_relaxed);
  return (size_t)n;
}

/* Reports the first bad index; index i belongs to an axis of sizes[i % period]. */
static rlx_status report_bad(index_work *w, const int64_t *sizes, size_t period) {
  if (!atomic_load_explicit(&w->is_bad, memory_order_relaxed)) return RLX_OK;
  size_t offset;
  for (size_t i = 0; i < w->n_idx; i++)
    RLX_TRY(rlx_index_resolve("index", cpu_index_at(w->idx, w->wide, i), sizes[i % period], &offset));
  return RLX_FAIL(RLX_INVALID, "an index changed while it was read");
}

static inline void copy_element(unsigned char *to, const unsigned char *from, size_t size) {
  switch (size) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: cpu_copy(to, from, size); break;
  }
}

static double row_cost(size_t bytes) { return 3 + 0.1 * (double)bytes; }

/* ---- gather: idx's shape replaces the axis ---- */

static void gather_rows(void *user, size_t begin, size_t end, unsigned thread) {
  index_work *w = user;
  (void)thread;
  size_t row = w->lines.inner * w->size, n = w->lines.n;
  size_t o = begin / w->n_idx, i = begin % w->n_idx;
  for (size_t at = begin; at < end; at++) {
    size_t k = resolve(w, i, (int64_t)n);
    if (k < n) copy_element(w->out + at * row, w->x + (o * n + k) * row, row);
    if (++i == w->n_idx) i = 0, o++;
  }
}

enum { ROW_PART = 1 << 18 }; /* elements of a long row between polls; whole blocks of every type */

/* Rows of a block type, decoded. */
static void gather_blocks(void *user, size_t begin, size_t end, unsigned thread) {
  index_work *w = user;
  (void)thread;
  rlx_dtype dtype = cpu_in_type(w->c, 0)->dtype;
  const rlx_dtype_info *block = rlx_dtype_describe(dtype);
  size_t n = w->lines.n, inner = w->lines.inner, row = inner / block->block_elements * block->block_bytes;
  for (size_t at = begin; at < end; at++) {
    size_t k = resolve(w, at, (int64_t)n);
    for (size_t i = 0; k < n && i < inner && !(i && cpu_stops()); i += ROW_PART) {
      size_t count = inner - i < ROW_PART ? inner - i : ROW_PART;
      const unsigned char *from = w->x + k * row + i / block->block_elements * block->block_bytes;
      /* Every block type decodes; a failure would be flagged like a bad index. */
      if (rlx_quant_decode(dtype, from, (float *)w->c->out + at * inner + i, count))
        atomic_store_explicit(&w->is_bad, true, memory_order_relaxed);
    }
  }
}

/* Rows of a matrix in a layout that is packed for products. */
static void gather_packed(void *user, size_t begin, size_t end, unsigned thread) {
  enum { CHUNK = 1024 }; /* elements of a block type decoded at a time */
  index_work *w = user;
  (void)thread;
  const rlx_type *x = cpu_in_type(w->c, 0);
  uint32_t layout = w->c->layout[0];
  const cpu_layout_family *family = cpu_layout_family_of(layout);
  size_t n = w->lines.n, inner = w->lines.inner;
  bool blocks = rlx_dtype_is_block(x->dtype);
  for (size_t at = begin; at < end; at++) {
    size_t k = resolve(w, at, (int64_t)n);
    unsigned char *out = w->out + at * inner * w->size;
    for (size_t i = 0; k < n && !blocks && i < inner && !(i && cpu_stops()); i += ROW_PART) {
      size_t count = inner - i < ROW_PART ? inner - i : ROW_PART;
      family->read_row(w->c->isa, layout, x, w->x, k, i, count, out + i * w->size);
    }
    for (size_t i = 0; k < n && blocks && i < inner && !(i % ROW_PART == 0 && i && cpu_stops()); i += CHUNK) {
      unsigned char chunk[2 * CHUNK];
      size_t count = inner - i < CHUNK ? inner - i : CHUNK;
      family->read_row(w->c->isa, layout, x, w->x, k, i, count, chunk);
      if (rlx_quant_decode(x->dtype, chunk, (float *)(void *)out + i, count))
        atomic_store_explicit(&w->is_bad, true, memory_order_relaxed);
    }
  }
}

/* Can read the rows of a matrix in any layout that has read_row, so its preference is weak. */
static bool claim_gather(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  const rlx_type *x = &rlx_graph_at(q->graph, n->in[0])->type;
  bool is_matrix = x->shape.n == 2 && rlx_axis_of(RLX_ATTRS(gather, n)->axis, 2) == 0;
  if (is_matrix) c->layout[0] = cpu_product_layout(isa, x), c->weak = 1;
  uint32_t layout = q->layout ? q->layout[0] : CPU_LAYOUT_PLAIN;
  const cpu_layout_family *family = cpu_layout_family_of(layout);
  if (layout == CPU_LAYOUT_PLAIN || (is_matrix && family && family->read_row)) return true;
  c->why = "rows of a weight in a layout of another op";
  return false;
}

static rlx_status run_gather(const cpu_call *c) {
  const rlx_type *x = cpu_in_type(c, 0);
  index_work w = work_of(c);
  w.lines = rlx_lines_of(&x->shape, RLX_ATTRS(gather, c)->axis);
  bool blocks = rlx_dtype_is_block(x->dtype);
  size_t rows = w.lines.outer * w.n_idx;
  bool packed = c->layout[0] != CPU_LAYOUT_PLAIN;
  double cost = blocks || packed ? (double)w.lines.inner : row_cost(w.lines.inner * w.size);
  cpu_parallel(c->pool, rows, cpu_grain(rows, cost), packed ? gather_packed : blocks ? gather_blocks : gather_rows, &w);
  return report_bad(&w, (const int64_t[]){(int64_t)w.lines.n}, 1);
}

/* ---- gather_elements: idx has x's rank; each index selects one element along the axis ---- */

/* The offset in x of row r of idx (all of its axes but the last), without the indexed axis. */
static size_t element_row(const rlx_dims *idx, int axis, const size_t *stride, size_t r) {
  size_t base = 0;
  for (int i = idx->n - 2; i >= 0; i--) {
    if (i != axis) base += r % (size_t)idx->v[i] * stride[i];
    r /= (size_t)idx->v[i];
  }
  return base;
}

static void gather_each(void *user, size_t begin, size_t end, unsigned thread) {
  index_work *w = user;
  (void)thread;
  const rlx_dims *x = &cpu_in_type(w->c, 0)->shape, *idx = &cpu_in_type(w->c, 1)->shape;
  int axis = rlx_axis_of(RLX_ATTRS(gather_elements, w->c)->axis, x->n), last = x->n - 1;
  size_t stride[RLX_MAX_RANK], row = (size_t)idx->v[last], n = (size_t)x->v[axis], step = axis == last ? 0 : 1;
  rlx_strides(x, stride);
  for (size_t at = begin; at < end;) {
    size_t base = element_row(idx, axis, stride, at / row), j = at % row;
    for (; j < row && at < end; j++, at++) {
      size_t k = resolve(w, at, (int64_t)n);
      if (k < n) copy_element(w->out + at * w->size, w->x + (base + k * stride[axis] + j * step) * w->size, w->size);
    }
  }
}

static rlx_status run_gather_elements(const cpu_call *c) {
  const rlx_dims *x = &cpu_in_type(c, 0)->shape;
  index_work w = work_of(c);
  cpu_parallel(c->pool, w.n_idx, cpu_grain(w.n_idx, 1.5), gather_each, &w);
  int axis = rlx_axis_of(RLX_ATTRS(gather_elements, c)->axis, x->n);
  return report_bad(&w, (const int64_t[]){x->v[axis]}, 1);
}

/* ---- gather_nd: tuples of coordinates, each selecting a run of elements ---- */

typedef struct tuple_work {
  index_work w;
  const rlx_dims *x;
  size_t stride[RLX_MAX_RANK];
  int batch, depth;
  size_t n, run, per_batch; /* tuples, elements that each selects, tuples per index of the batch axes */
} tuple_work;

static void gather_tuples(void *user, size_t begin, size_t end, unsigned thread) {
  tuple_work *t = user;
  (void)thread;
  size_t depth = (size_t)t->depth, bytes = t->run * t->w.size;
  for (size_t i = begin; i < end; i++) {
    size_t offset = t->batch ? i / t->per_batch * t->stride[t->batch - 1] : 0;
    bool good = true;
    for (size_t d = 0; d < depth; d++) {
      int64_t n = t->x->v[(size_t)t->batch + d];
      size_t k = resolve(&t->w, i * depth + d, n);
      good = good && k < (size_t)n;
      offset += k * t->stride[(size_t)t->batch + d];
    }
    if (good) copy_element(t->w.out + i * bytes, t->w.x + offset * t->w.size, bytes);
  }
}

static rlx_status run_gather_nd(const cpu_call *c) {
  const rlx_dims *x = &cpu_in_type(c, 0)->shape, *idx = &cpu_in_type(c, 1)->shape;
  tuple_work t = {.w = work_of(c),
                  .x = x,
                  .batch = (int)RLX_ATTRS(gather_nd, c)->batch_dims,
                  .depth = (int)idx->v[idx->n - 1],
                  .n = 1,
                  .run = 1,
                  .per_batch = 1};
  rlx_strides(x, t.stride);
  for (int i = 0; i < idx->n - 1; i++) t.n *= (size_t)idx->v[i];
  for (int i = t.batch; i < idx->n - 1; i++) t.per_batch *= (size_t)idx->v[i];
  for (int i = t.batch + t.depth; i < x->n; i++) t.run *= (size_t)x->v[i];
  cpu_parallel(c->pool, t.n, cpu_grain(t.n, row_cost(t.run * t.w.size)), gather_tuples, &t);
  return report_bad(&t.w, x->v + t.batch, (size_t)t.depth);
}

/* ---- one_hot ---- */

typedef struct hot_work {
  index_work w;
  unsigned char on[8], off[8];
} hot_work;

/* The range counts [outer, depth] of the result. An index out of range is no error here: its elements are all off. */
static void hot_rows(void *user, size_t begin, size_t end, unsigned thread) {
  const hot_work *h = user;
  const index_work *w = &h->w;
  (void)thread;
  size_t inner = w->lines.inner;
  int64_t depth = (int64_t)w->lines.n;
  for (size_t at = begin; at < end; at++) {
    size_t o = at / w->lines.n;
    int64_t k = (int64_t)(at % w->lines.n);
    for (size_t i = 0; i < inner; i++) {
      int64_t index = cpu_index_at(w->idx, w->wide, o * inner + i);
      bool hot = index == k || index == k - depth;
      copy_element(w->out + (at * inner + i) * w->size, hot ? h->on : h->off, w->size);
    }
  }
}

static rlx_status run_one_hot(const cpu_call *c) {
  const rlx_attrs_one_hot *a = c->attrs;
  rlx_dtype dtype = c->node->type.dtype;
  hot_work h = {.w = {.c = c,
                      .idx = c->in[0],
                      .wide = cpu_in_type(c, 0)->dtype == RLX_I64,
                      .out = c->out,
                      .size = rlx_dtype_size(dtype),
                      .lines = rlx_lines_of(&c->node->type.shape, a->axis)}};
  rlx_store_value(&(rlx_tensor){.dtype = dtype, .data = h.on}, 0, a->on);
  rlx_store_value(&(rlx_tensor){.dtype = dtype, .data = h.off}, 0, a->off);
  size_t n = h.w.lines.outer * h.w.lines.n;
  cpu_parallel(c->pool, n, cpu_grain(n, 5 + (double)h.w.lines.inner), hot_rows, &h);
  return RLX_OK;
}

/* ---- range ---- */

static void range_elements(void *user, size_t begin, size_t end, unsigned thread) {
  const cpu_call *c = user;
  (void)thread;
  rlx_range_fill(c->attrs, &(rlx_tensor){.dtype = c->node->type.dtype, .data = c->out}, begin, end);
}

static rlx_status run_range(const cpu_call *c) {
  size_t n = rlx_dims_count(&c->node->type.shape);
  cpu_parallel(c->pool, n, cpu_grain(n, 3), range_elements, (void *)(uintptr_t)c);
  return RLX_OK;
}

/* ---- update: rows into a state ---- */

typedef struct update_work {
  const cpu_call *c;
  rlx_lines state, rows;
  rlx_dtype type; /* of the state */
  size_t positions;
  bool wide, rounds; /* rounds: f32 rows into a state of another type */
} update_work;

/* Stores n elements from `from` on of the rows at element `to` of the state: whole blocks, if it has a block type. */
static void store_rows(const update_work *u, size_t from, size_t to, size_t n) {
  const rlx_dtype row_type = cpu_in_type(u->c, 1)->dtype;
  const unsigned char *rows = (const unsigned char *)u->c->in[1] + rlx_dtype_row_bytes(row_type, from);
  unsigned char *state = (unsigned char *)u->c->out + rlx_dtype_row_bytes(u->type, to);
  if (!u->rounds) cpu_copy(state, rows, rlx_dtype_row_bytes(u->type, n));
  else if (rlx_dtype_is_block(u->type)) rlx_quant_round(u->type, (const float *)(const void *)rows, state, n);
  else cpu_move(u->c->isa)->round(u->type, (const float *)(const void *)rows, state, n);
}

/* The range counts lines of the state: the rows of each are one contiguous run. */
static void update_lines(void *user, size_t begin, size_t end, unsigned thread) {
  const update_work *u = user;
  (void)thread;
  size_t n = u->rows.n * u->rows.inner;
  for (size_t o = begin; o < end; o++) {
    /* With a position per index of axis 0, the lines of one index are adjacent. */
    size_t p = u->positions > 1 ? o / (u->state.outer / u->positions) : 0;
    size_t at = (size_t)cpu_index_at(u->c->in[2], u->wide, p);
    for (size_t i = 0; i < n && !(i && cpu_stops()); i += ROW_PART)
      store_rows(u, o * n + i, (o * u->state.n + at) * u->state.inner + i, n - i < ROW_PART ? n - i : ROW_PART);
  }
}

/* The range counts packed rows. */
static void update_packed_rows(void *user, size_t begin, size_t end, unsigned thread) {
  const update_work *u = user;
  (void)thread;
  for (size_t r = begin; r < end; r++) {
    int64_t place = cpu_index_at(u->c->in[2], u->wide, r);
    if (place < 0 || place >= (int64_t)(u->state.outer * u->state.n)) continue;
    store_rows(u, r * u->state.inner, (size_t)place * u->state.inner, u->state.inner);
  }
}

static bool claim_update(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa, (void)q;
  c->in_place = 1;
  return true;
}

static rlx_status run_update(const cpu_call *c) {
  int64_t axis = RLX_ATTRS(update, c)->axis;
  update_work u = {.c = c,
                   .state = rlx_lines_of(&cpu_in_type(c, 0)->shape, axis),
                   .type = c->node->type.dtype,
                   .positions = rlx_dims_count(&cpu_in_type(c, 2)->shape),
                   .wide = cpu_in_type(c, 2)->dtype == RLX_I64,
                   .rounds = cpu_in_type(c, 1)->dtype != c->node->type.dtype};
  bool is_packed = rlx_update_is_packed(&cpu_in_type(c, 0)->shape, &cpu_in_type(c, 1)->shape);
  if (!is_packed) u.rows = rlx_lines_of(&cpu_in_type(c, 1)->shape, axis);
  for (size_t p = 0; p < u.positions && !is_packed; p++) {
    int64_t first = cpu_index_at(c->in[2], u.wide, p);
    if (first < 0 || first > (int64_t)(u.state.n - u.rows.n))
      return RLX_FAIL(RLX_INVALID, "%zu rows at position %lld do not fit in %zu", u.rows.n, (long long)first,
                      u.state.n);
  }
  cpu_move_bytes(c->pool, c->in[0], c->out, rlx_dtype_row_bytes(u.type, rlx_dims_count(&c->node->type.shape)));
  size_t run = is_packed ? u.state.inner : u.rows.n * u.rows.inner;
  double cost = row_cost(rlx_dtype_row_bytes(u.type, run)) * (rlx_dtype_is_block(u.type) ? 8 : 1); /* per run */
  if (run && is_packed) cpu_parallel(c->pool, u.positions, cpu_grain(u.positions, cost), update_packed_rows, &u);
  else if (run) cpu_parallel(c->pool, u.state.outer, cpu_grain(u.state.outer, cost), update_lines, &u);
  return RLX_OK;
}

const cpu_kernel cpu_gather_kernel = {.claim = claim_gather, .run = run_gather, .takes_layouts = true};
const cpu_kernel cpu_gather_elements_kernel = {.run = run_gather_elements};
const cpu_kernel cpu_gather_nd_kernel = {.run = run_gather_nd};
const cpu_kernel cpu_one_hot_kernel = {.run = run_one_hot};
const cpu_kernel cpu_range_kernel = {.run = run_range};
const cpu_kernel cpu_update_kernel = {.claim = claim_update, .run = run_update};
