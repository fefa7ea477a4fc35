/* Ops that move elements by position alone, as lists of boxes (move.h).
 *
 * Some of them permute or repeat axes and are one box. The others treat each axis by itself: they split the result's
 * axis into segments that read the source's axis with a constant step. A slice has one segment, a roll two, padding one
 * or more on each side. Every combination of one segment per axis is a box. */
#include <string.h>

#include "cpu/move.h"
#include "ir/element.h"
#include "ir/slice.h"
#include "ir/walk.h"

enum { MAX_BOXES = 4096 };

/* ---- claims ---- */

/* Any dtype whose elements have a size. */
static bool claim_move(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)isa;
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (n->in[i] && rlx_dtype_size(rlx_graph_at(q->graph, n->in[i])->type.dtype) == 0) {
      c->why = "block types do not move element by element";
      return false;
    }
  }
  return true;
}

static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "the plan of a move"); }

/* ---- one box ---- */

/* A box of these sizes at the start of the result, with the result's strides; the source's are still 0. */
static cpu_box box_in(const rlx_type *out, const rlx_dims *dims) {
  size_t size = rlx_dtype_size(out->dtype), stride[RLX_MAX_RANK];
  rlx_strides(&out->shape, stride);
  cpu_box b = {.n = dims->n, .unit = size};
  for (int i = 0; i < dims->n; i++) {
    b.dim[i] = (size_t)dims->v[i];
    b.to[i] = (ptrdiff_t)(stride[i] * size);
  }
  return b;
}

static rlx_status prepare_box(cpu_call *c, rlx_bump *memory, const cpu_box *box) {
  cpu_moves *m = cpu_moves_create(memory, 1);
  if (!m) return no_memory();
  cpu_moves_add(m, *box);
  c->prepared = m;
  return RLX_OK;
}

/* Axis i of the result is axis perm.v[i] of x, where x has the shape `view`. */
static rlx_status prepare_permute(cpu_call *c, rlx_bump *memory, const rlx_dims *view, rlx_dims perm) {
  size_t stride[RLX_MAX_RANK];
  rlx_strides(view, stride);
  rlx_type out = {c->node->type.dtype, {.n = view->n}};
  for (int i = 0; i < view->n; i++) out.shape.v[i] = view->v[perm.v[i]];
  cpu_box b = box_in(&out, &out.shape);
  for (int i = 0; i < view->n; i++) b.from[i] = (ptrdiff_t)(stride[perm.v[i]] * b.unit);
  return prepare_box(c, memory, &b);
}

static rlx_status prepare_transpose(cpu_call *c, rlx_bump *memory) {
  const rlx_dims *x = &cpu_in_type(c, 0)->shape;
  return prepare_permute(c, memory, x, rlx_perm_of(&RLX_ATTRS(transpose, c)->perm, x->n));
}

/* The views and permutations are those of the op table: the position in the block moves between H, W and the
 * channel. */
static rlx_status prepare_space_to_depth(cpu_call *c, rlx_bump *memory) {
  const int64_t *x = cpu_in_type(c, 0)->shape.v, b = RLX_ATTRS(space_to_depth, c)->block;
  return prepare_permute(c, memory, &RLX_DIMS(x[0], x[1], x[2] / b, b, x[3] / b, b), RLX_DIMS(0, 3, 5, 1, 2, 4));
}

static rlx_status prepare_depth_to_space(cpu_call *c, rlx_bump *memory) {
  const rlx_attrs_depth_to_space *a = c->attrs;
  const int64_t *x = cpu_in_type(c, 0)->shape.v, b = a->block, channels = c->node->type.shape.v[1];
  bool crd = a->mode == 1;
  if (crd) return prepare_permute(c, memory, &RLX_DIMS(x[0], channels, b, b, x[2], x[3]), RLX_DIMS(0, 1, 4, 2, 5, 3));
  return prepare_permute(c, memory, &RLX_DIMS(x[0], b, b, channels, x[2], x[3]), RLX_DIMS(0, 3, 4, 1, 5, 2));
}

static rlx_status prepare_expand(cpu_call *c, rlx_bump *memory) {
  const rlx_type *out = &c->node->type;
  size_t stride[RLX_MAX_RANK];
  rlx_broadcast_strides(&cpu_in_type(c, 0)->shape, &out->shape, stride);
  cpu_box b = box_in(out, &out->shape);
  for (int i = 0; i < b.n; i++) b.from[i] = (ptrdiff_t)(stride[i] * b.unit);
  return prepare_box(c, memory, &b);
}

/* Two axes per axis: the copies, and the elements of one copy. */
static rlx_status prepare_tile(cpu_call *c, rlx_bump *memory) {
  const rlx_type *x = cpu_in_type(c, 0), *out = &c->node->type;
  size_t size = rlx_dtype_size(x->dtype), from[RLX_MAX_RANK], to[RLX_MAX_RANK];
  rlx_strides(&x->shape, from);
  rlx_strides(&out->shape, to);
  cpu_box b = {.n = 2 * x->shape.n, .unit = size};
  for (int i = 0; i < x->shape.n; i++) {
    size_t n = (size_t)x->shape.v[i];
    b.dim[2 * i] = (size_t)out->shape.v[i] / n;
    b.to[2 * i] = (ptrdiff_t)(n * to[i] * size);
    b.dim[2 * i + 1] = n;
    b.to[2 * i + 1] = (ptrdiff_t)(to[i] * size);
    b.from[2 * i + 1] = (ptrdiff_t)(from[i] * size);
  }
  return prepare_box(c, memory, &b);
}

static rlx_status prepare_concat(cpu_call *c, rlx_bump *memory) {
  const rlx_type *out = &c->node->type;
  int axis = rlx_axis_of(RLX_ATTRS(concat, c)->axis, out->shape.n);
  cpu_moves *m = cpu_moves_create(memory, c->n_in);
  if (!m) return no_memory();
  int64_t before = 0;
  for (uint32_t i = 0; i < c->n_in; i++) {
    const rlx_dims *x = &cpu_in_type(c, i)->shape;
    size_t stride[RLX_MAX_RANK];
    rlx_strides(x, stride);
    cpu_box b = box_in(out, x);
    b.input = i;
    for (int k = 0; k < b.n; k++) b.from[k] = (ptrdiff_t)(stride[k] * b.unit);
    b.to_at = (ptrdiff_t)before * b.to[axis];
    before += x->v[axis];
    cpu_moves_add(m, b);
  }
  c->prepared = m;
  return RLX_OK;
}

/* ---- ops by segments of each axis ---- */

/* Elements at, at + 1, .. of the result's axis are from, from + step, .. of the source's; from < 0: the fill
 * element. */
typedef struct segment {
  int64_t at, count, from, step;
} segment;
/* The segment that begins at `at` of the result's axis, which has `total` elements; the source's has n. */
typedef segment (*segment_fn)(const void *context, int axis, int64_t at, int64_t n, int64_t total);

/* The number of boxes of all segments, at most MAX_BOXES + 1. */
static size_t count_boxes(const rlx_dims *x, const rlx_dims *out, segment_fn next, const void *context) {
  size_t boxes = 1;
  for (int axis = 0; axis < out->n; axis++) {
    size_t segments = 0;
    for (int64_t at = 0; at < out->v[axis]; segments++) {
      if (segments > MAX_BOXES) return segments;
      at += next(context, axis, at, x->v[axis], out->v[axis]).count;
    }
    boxes *= segments;
    if (boxes > MAX_BOXES) return MAX_BOXES + 1;
  }
  return boxes;
}

static void add_box(cpu_moves *m, const rlx_type *x, const rlx_type *out, const segment *segments) {
  size_t stride[RLX_MAX_RANK];
  rlx_strides(&x->shape, stride);
  cpu_box b = box_in(out, &out->shape);
  bool fill = false;
  for (int i = 0; i < b.n; i++) {
    b.dim[i] = (size_t)segments[i].count;
    b.to_at += (ptrdiff_t)segments[i].at * b.to[i];
    b.from_at += (ptrdiff_t)segments[i].from * (ptrdiff_t)(stride[i] * b.unit);
    b.from[i] = (ptrdiff_t)segments[i].step * (ptrdiff_t)(stride[i] * b.unit);
    fill = fill || segments[i].from < 0;
  }
  if (fill) {
    b.input = CPU_BOX_FILL;
    b.from_at = 0;
    memset(b.from, 0, sizeof b.from);
  }
  cpu_moves_add(m, b);
}

/* Iterates over all combinations of one segment per axis, the last axis fastest. */
static rlx_status prepare_segments(cpu_call *c, rlx_bump *memory, segment_fn next, const void *context) {
  const rlx_type *x = cpu_in_type(c, 0), *out = &c->node->type;
  int rank = out->shape.n;
  cpu_moves *m = cpu_moves_create(memory, count_boxes(&x->shape, &out->shape, next, context));
  if (!m) return no_memory();
  c->prepared = m;
  segment segments[RLX_MAX_RANK];
  for (int i = 0; i < rank; i++) segments[i] = next(context, i, 0, x->shape.v[i], out->shape.v[i]);
  for (;;) {
    add_box(m, x, out, segments);
    int i = rank - 1;
    for (; i >= 0; i--) {
      int64_t at = segments[i].at + segments[i].count, total = out->shape.v[i];
      bool more = at < total;
      segments[i] = next(context, i, more ? at : 0, x->shape.v[i], total);
      if (more) break;
    }
    if (i < 0) return RLX_OK;
  }
}

static segment slice_segment(const void *axes, int axis, int64_t at, int64_t n, int64_t total) {
  (void)n;
  const rlx_slice_axis *s = (const rlx_slice_axis *)axes + axis;
  return (segment){at, total - at, s->start, s->step};
}

static rlx_status prepare_slice(cpu_call *c, rlx_bump *memory) {
  rlx_slice_axis axes[RLX_MAX_RANK];
  RLX_TRY(rlx_slice_resolve(c->attrs, &cpu_in_type(c, 0)->shape, axes));
  return prepare_segments(c, memory, slice_segment, axes);
}

static segment reverse_segment(const void *bits, int axis, int64_t at, int64_t n, int64_t total) {
  bool flip = *(const uint32_t *)bits >> axis & 1;
  return (segment){at, total - at, flip ? n - 1 : 0, flip ? -1 : 1};
}

static rlx_status prepare_reverse(cpu_call *c, rlx_bump *memory) {
  const rlx_dims *axes = &RLX_ATTRS(reverse, c)->axes;
  uint32_t bits = axes->n ? 0 : UINT32_MAX;
  for (int i = 0; i < axes->n; i++) bits |= 1u << rlx_axis_of(axes->v[i], c->node->type.shape.n);
  return prepare_segments(c, memory, reverse_segment, &bits);
}

static segment roll_segment(const void *shifts, int axis, int64_t at, int64_t n, int64_t total) {
  int64_t shift = ((const int64_t *)shifts)[axis] % n;
  if (shift < 0) shift += n;
  return at < shift ? (segment){at, shift - at, n - shift + at, 1} : (segment){at, total - at, at - shift, 1};
}

static rlx_status prepare_roll(cpu_call *c, rlx_bump *memory) {
  const rlx_attrs_roll *a = c->attrs;
  int64_t shifts[RLX_MAX_RANK] = {0};
  for (int i = 0; i < a->axes.n; i++) shifts[rlx_axis_of(a->axes.v[i], c->node->type.shape.n)] = a->shifts.v[i];
  return prepare_segments(c, memory, roll_segment, shifts);
}

static segment pad_segment(const void *attrs, int axis, int64_t at, int64_t n, int64_t total) {
  const rlx_attrs_pad *a = attrs;
  int64_t lo = a->lo.v[axis], position = at - lo;
  if (position >= 0 && position < n) return (segment){at, (lo + n < total ? lo + n : total) - at, position, 1};
  int64_t end = position < 0 && lo < total ? lo : total; /* end of this side's padding */
  if (a->mode == RLX_PAD_CONSTANT) return (segment){at, end - at, -1, 0};
  int64_t from = rlx_pad_source(a->mode, position, n), count = 1, step = 0;
  if (at + 1 < end) step = rlx_pad_source(a->mode, position + 1, n) - from;
  if (step < -1 || step > 1) return (segment){at, 1, from, 0};
  while (at + count < end && rlx_pad_source(a->mode, position + count, n) == from + count * step) count++;
  return (segment){at, count, from, step};
}

static bool claim_pad(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  const rlx_dims *x = &rlx_graph_at(q->graph, n->in[0])->type.shape, *out = &n->type.shape;
  if (rlx_dims_count(out) && count_boxes(x, out, pad_segment, n->attrs) > MAX_BOXES) {
    c->why = "a border that repeats the tensor this often runs through the reference";
    return false;
  }
  return claim_move(q, isa, c);
}

static rlx_status prepare_pad(cpu_call *c, rlx_bump *memory) {
  RLX_TRY(prepare_segments(c, memory, pad_segment, c->attrs));
  cpu_moves *m = (cpu_moves *)(uintptr_t)c->prepared;
  rlx_dtype dtype = c->node->type.dtype;
  double value = RLX_ATTRS(pad, c)->value;
  if (dtype == RLX_C64) memcpy(m->fill, (const float[]){(float)value, 0}, sizeof m->fill);
  else rlx_store_value(&(rlx_tensor){.dtype = dtype, .data = m->fill}, 0, value);
  return RLX_OK;
}

/* ---- views that must be copied ---- */

static bool claim_copy(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)q, (void)isa;
  c->in_place = 1;
  return true;
}

static rlx_status run_copy(const cpu_call *c) {
  const rlx_type *t = &c->node->type;
  cpu_move_bytes(c->pool, c->in[0], c->out, rlx_dtype_row_bytes(t->dtype, rlx_dims_count(&t->shape)));
  return RLX_OK;
}

/* ---- trilu ---- */

static int64_t clamp_to(int64_t x, int64_t hi) { return x < 0 ? 0 : x > hi ? hi : x; }

static void trilu_rows(void *user, size_t begin, size_t end, unsigned thread) {
  const cpu_call *c = user;
  (void)thread;
  const rlx_attrs_trilu *a = c->attrs;
  const rlx_dims *shape = &c->node->type.shape;
  int64_t rows = shape->v[shape->n - 2], columns = shape->v[shape->n - 1];
  size_t size = rlx_dtype_size(c->node->type.dtype), row_bytes = (size_t)columns * size;
  /* Clamped, so that i + k cannot overflow. */
  int64_t k = a->k > columns ? columns : a->k < -rows ? -rows : a->k;
  for (size_t r = begin; r < end; r++) {
    const unsigned char *from = (const unsigned char *)c->in[0] + r * row_bytes;
    unsigned char *to = (unsigned char *)c->out + r * row_bytes;
    int64_t i = (int64_t)(r % (size_t)rows);
    size_t lo = a->upper ? (size_t)clamp_to(i + k, columns) * size : 0;
    size_t hi = a->upper ? row_bytes : (size_t)clamp_to(i + k + 1, columns) * size;
    memset(to, 0, lo);
    if (from != to) memcpy(to + lo, from + lo, hi - lo);
    memset(to + hi, 0, row_bytes - hi);
  }
}

static rlx_status run_trilu(const cpu_call *c) {
  const rlx_dims *shape = &c->node->type.shape;
  size_t columns = (size_t)shape->v[shape->n - 1], rows = rlx_dims_count(shape) / columns;
  double cost = 5 + 0.1 * (double)(columns * rlx_dtype_size(c->node->type.dtype));
  cpu_parallel(c->pool, rows, cpu_grain(rows, cost), trilu_rows, (void *)(uintptr_t)c);
  return RLX_OK;
}

#define MOVE_KERNEL(op, claim_fn) \
  const cpu_kernel cpu_##op##_kernel = {.claim = claim_fn, .prepare = prepare_##op, .run = cpu_moves_run}
MOVE_KERNEL(transpose, claim_move);
MOVE_KERNEL(space_to_depth, claim_move);
MOVE_KERNEL(depth_to_space, claim_move);
MOVE_KERNEL(expand, claim_move);
MOVE_KERNEL(tile, claim_move);
MOVE_KERNEL(concat, claim_move);
MOVE_KERNEL(slice, claim_move);
MOVE_KERNEL(reverse, claim_move);
MOVE_KERNEL(roll, claim_move);
MOVE_KERNEL(pad, claim_pad);
const cpu_kernel cpu_view_kernel = {.claim = claim_copy, .run = run_copy};
const cpu_kernel cpu_trilu_kernel = {.claim = claim_copy, .run = run_trilu};
