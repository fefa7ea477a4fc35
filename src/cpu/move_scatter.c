/* The scatter family: x with the elements at given indices replaced by updates, or combined with them.
 *
 * The order of updates to one element matters, so each element belongs to one task, which applies its updates in order.
 * Along an axis the lines of x are independent. For tuples of coordinates, tasks split the runs of elements that the
 * tuples select: each task processes all tuples and a part of every run. All indices are checked before anything is
 * written.
 *
 * Floats accumulate in f64, in work memory, and are rounded once at the end, as in the reference. Integers and bools
 * are combined in the result itself: wrapping after each update gives the same as wrapping once. */
#include <string.h>

#include "base/arith.h"
#include "cpu/move.h"
#include "ir/element.h"
#include "ir/scalar_table.h"
#include "ir/walk.h"

enum { NONE, ADD, MUL, MAX, MIN }; /* the values of the attribute */

/* The op that combines an element with an update. Bools have no sums: add is or, mul is and. */
static const rlx_op combine_op[] = {RLX_OP_INVALID, RLX_OP_add, RLX_OP_mul, RLX_OP_max, RLX_OP_min};
static const rlx_op combine_bool_op[] = {RLX_OP_INVALID, RLX_OP_max, RLX_OP_min, RLX_OP_max, RLX_OP_min};

static int32_t reduction_of(const rlx_node_rec *n) {
  if (n->op == RLX_OP_scatter_add) return ADD;
  return n->op == RLX_OP_scatter_nd ? RLX_ATTRS(scatter_nd, n)->reduction : RLX_ATTRS(scatter_elements, n)->reduction;
}

static bool is_wide(const rlx_node_rec *n) { return reduction_of(n) != NONE && rlx_dtype_is_float(n->type.dtype); }

static bool claim_scatter(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa;
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  size_t work = 0;
  if (is_wide(n) && !rlx_mul_size(rlx_dims_count(&n->type.shape), sizeof(double), &work)) {
    c->why = "its sums would not fit in memory";
    return false;
  }
  c->work_bytes = work;
  c->in_place = 1;
  return true;
}

/* ---- one update ---- */

typedef struct scatter {
  const cpu_call *c;
  const void *idx;
  bool wide_idx;
  rlx_dtype dtype;
  size_t size;
  int32_t reduction;
  const rlx_scalar_row *combine;
  double *sums; /* NULL: combined in the result itself */
  rlx_tensor out, updates;
  /* along an axis */
  const rlx_dims *x_dims, *idx_dims;
  size_t stride[RLX_MAX_RANK];
  int axis;
  /* tuples */
  size_t n, depth, run;
} scatter;

/* Combines n elements from `offset` on with n updates from `from` on. */
static inline void apply_updates(scatter *s, size_t offset, size_t from, size_t n) {
  if (s->reduction == NONE) {
    cpu_copy((unsigned char *)s->out.data + offset * s->size, (const unsigned char *)s->updates.data + from * s->size,
             n * s->size);
  } else if (s->sums && s->reduction == ADD) {
    for (size_t i = 0; i < n; i++) s->sums[offset + i] += rlx_load(&s->updates, from + i);
  } else if (s->sums) {
    for (size_t i = 0; i < n; i++)
      s->sums[offset + i] = s->combine->binary(s->sums[offset + i], rlx_load(&s->updates, from + i));
  } else {
    for (size_t i = 0; i < n; i++)
      rlx_store_int(&s->out, offset + i,
                    s->combine->int_binary(rlx_load_int(&s->out, offset + i), rlx_load_int(&s->updates, from + i), 64));
  }
}

static void widen(void *user, size_t begin, size_t end, unsigned thread) {
  const scatter *s = user;
  (void)thread;
  const rlx_tensor x = {.dtype = s->dtype, .const_data = s->c->in[0]};
  for (size_t i = begin; i < end; i++) s->sums[i] = rlx_load(&x, i);
}

static void narrow(void *user, size_t begin, size_t end, unsigned thread) {
  scatter *s = user;
  (void)thread;
  rlx_tensor out = s->out;
  for (size_t i = begin; i < end; i++) rlx_store(&out, i, s->sums[i]);
}

static scatter scatter_begin(const cpu_call *c) {
  const rlx_type *x = cpu_in_type(c, 0);
  scatter s = {.c = c,
               .idx = c->in[1],
               .wide_idx = cpu_in_type(c, 1)->dtype == RLX_I64,
               .dtype = x->dtype,
               .size = rlx_dtype_size(x->dtype),
               .reduction = reduction_of(c->node),
               .sums = is_wide(c->node) ? c->work : NULL,
               .out = {.dtype = x->dtype, .data = c->out},
               .updates = {.dtype = x->dtype, .const_data = c->in[2]},
               .x_dims = &x->shape,
               .idx_dims = &cpu_in_type(c, 1)->shape};
  s.combine = rlx_scalar_get((x->dtype == RLX_BOOL ? combine_bool_op : combine_op)[s.reduction]);
  rlx_strides(&x->shape, s.stride);
  return s;
}

/* Copies x, then applies the updates with `fn` over n items. */
static void scatter_run(scatter *s, size_t n, double cost, cpu_range_fn fn) {
  size_t count = rlx_dims_count(s->x_dims);
  if (s->sums) cpu_parallel(s->c->pool, count, cpu_grain(count, 1), widen, s);
  else cpu_move_bytes(s->c->pool, s->c->in[0], s->c->out, count * s->size);
  cpu_parallel(s->c->pool, n, cpu_grain(n, cost), fn, s);
  if (s->sums) cpu_parallel(s->c->pool, count, cpu_grain(count, 1), narrow, s);
}

/* ---- along an axis ---- */

/* The range counts lines of idx along the axis. */
static void scatter_lines(void *user, size_t begin, size_t end, unsigned thread) {
  scatter *s = user;
  (void)thread;
  rlx_lines l = rlx_lines_of(s->idx_dims, s->axis);
  int64_t n = s->x_dims->v[s->axis];
  size_t done = 0;
  for (size_t line = begin; line < end; line++) {
    size_t start = rlx_line_start(l, line), base = 0, rest = line;
    for (int i = s->idx_dims->n - 1; i >= 0; i--) {
      if (i == s->axis) continue;
      base += rest % (size_t)s->idx_dims->v[i] * s->stride[i];
      rest /= (size_t)s->idx_dims->v[i];
    }
    for (size_t k = 0; k < l.n; k++) {
      if (cpu_stops_after(&done, 4)) return;
      size_t at = start + k * l.inner;
      int64_t index = cpu_index_at(s->idx, s->wide_idx, at);
      apply_updates(s, base + (size_t)(index < 0 ? index + n : index) * s->stride[s->axis], at, 1);
    }
  }
}

static rlx_status run_scatter_elements(const cpu_call *c) {
  scatter s = scatter_begin(c);
  s.axis = rlx_axis_of(c->node->op == RLX_OP_scatter_add ? RLX_ATTRS(scatter_add, c)->axis
                                                         : RLX_ATTRS(scatter_elements, c)->axis,
                       s.x_dims->n);
  size_t n = rlx_dims_count(s.idx_dims), offset;
  for (size_t i = 0, done = 0; i < n; i++) {
    RLX_TRY(rlx_index_resolve("index", cpu_index_at(s.idx, s.wide_idx, i), s.x_dims->v[s.axis], &offset));
    if (cpu_stops_after(&done, 2)) return RLX_OK;
  }
  size_t along = (size_t)s.idx_dims->v[s.axis];
  scatter_run(&s, n ? n / along : 0, 10 + 4 * (double)along, scatter_lines);
  return RLX_OK;
}

/* ---- tuples of coordinates ---- */

/* The range counts elements of a run. */
static void scatter_runs(void *user, size_t begin, size_t end, unsigned thread) {
  scatter *s = user;
  (void)thread;
  for (size_t i = 0, done = 0; i < s->n && !cpu_stops_after(&done, 4 * (end - begin)); i++) {
    size_t offset = 0;
    for (size_t d = 0; d < s->depth; d++) {
      int64_t index = cpu_index_at(s->idx, s->wide_idx, i * s->depth + d);
      offset += (size_t)(index < 0 ? index + s->x_dims->v[d] : index) * s->stride[d];
    }
    apply_updates(s, offset + begin, i * s->run + begin, end - begin);
  }
}

static rlx_status run_scatter_nd(const cpu_call *c) {
  scatter s = scatter_begin(c);
  s.depth = (size_t)s.idx_dims->v[s.idx_dims->n - 1];
  s.n = s.run = 1;
  for (int i = 0; i < s.idx_dims->n - 1; i++) s.n *= (size_t)s.idx_dims->v[i];
  for (int i = (int)s.depth; i < s.x_dims->n; i++) s.run *= (size_t)s.x_dims->v[i];
  size_t offset;
  for (size_t i = 0, done = 0; i < s.n; i++) {
    if (cpu_stops_after(&done, 4)) return RLX_OK;
    for (size_t d = 0; d < s.depth; d++)
      RLX_TRY(rlx_index_resolve("index", cpu_index_at(s.idx, s.wide_idx, i * s.depth + d), s.x_dims->v[d], &offset));
  }
  scatter_run(&s, s.run, (double)s.n * (s.reduction == NONE ? 0.5 : 4), scatter_runs);
  return RLX_OK;
}

const cpu_kernel cpu_scatter_elements_kernel = {.claim = claim_scatter, .run = run_scatter_elements};
const cpu_kernel cpu_scatter_nd_kernel = {.claim = claim_scatter, .run = run_scatter_nd};
