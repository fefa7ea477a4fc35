/* Lowers the scatter family: x with the elements at given indices replaced by updates or combined with them.
 *
 * Three or four dispatches: indices become element offsets (resolve.k); x is copied, or widened into work memory if its
 * elements are narrower than a word; updates are applied in order (scatter.k, scatter_split.k); and widened elements
 * are narrowed into the result. Combined floats are rounded to a narrow type once, at the end. */
#include <string.h>

#include "gpu/move.h"
#include "ir/walk.h"

enum { NONE, ADD, MUL, MAX, MIN };                          /* the values of the ops' attribute and of scatter.k */
enum { KIND_FLOAT, KIND_SIGNED, KIND_UNSIGNED, KIND_LONG }; /* as scatter.k */

typedef struct scatter {
  uint32_t reduction;
  uint64_t tuples, depth;                          /* of the indices */
  uint64_t size[RLX_MAX_RANK], step[RLX_MAX_RANK]; /* by coordinate: size of the axis, and its stride in positions */
  bool columns;                                    /* index tuples select runs; lines are the elements of a run */
  uint64_t places, stride, count, u_step;          /* of a line: positions, their stride; updates, their stride */
  int n;                                           /* axes of the lines */
  uint64_t dim[RLX_MAX_RANK], from[RLX_MAX_RANK], u[RLX_MAX_RANK]; /* sizes, strides in x and in the updates */
} scatter;

/* How elements are processed: the type in work memory, the type their bits are read as, the kernel's kind. */
typedef struct carrier {
  rlx_dtype wide, as;
  uint32_t kind, reduction;
} carrier;

static carrier carrier_of(rlx_dtype dtype, uint32_t reduction) {
  carrier c = {.wide = dtype, .as = dtype, .kind = KIND_SIGNED, .reduction = reduction};
  bool is_float = gpu_is_float(dtype);
  if (dtype == RLX_I64) {
    c.kind = KIND_LONG;
  } else if (dtype == RLX_U32) {
    c.kind = KIND_UNSIGNED;
  } else if (is_float && reduction != NONE) {
    c.kind = KIND_FLOAT;
    c.wide = RLX_F32;
  } else { /* integers, and floats that are only moved */
    size_t size = rlx_dtype_size(dtype);
    if (is_float) c.as = size == 2 ? RLX_I16 : RLX_I32;
    c.wide = RLX_I32;
  }
  /* Bools have no sums: add is or, mul is and. */
  if (dtype == RLX_BOOL && (reduction == ADD || reduction == MUL)) c.reduction = reduction == ADD ? MAX : MIN;
  return c;
}

static gpu_window emit_offsets(gpu_lowering *l, const scatter *s) {
  uint32_t words[2 * RLX_MAX_RANK + 1] = {0};
  for (uint32_t d = 0; d < s->depth; d++) words[2 * d] = (uint32_t)s->size[d], words[2 * d + 1] = (uint32_t)s->step[d];
  gpu_window table = gpu_table(l, words, 2 * (uint32_t)s->depth + 1), offsets = gpu_work(l, s->tuples * 4);
  gpu_params_resolve p = {.tuples = (uint32_t)s->tuples};
  gpu_constants_resolve c = {.depth = (uint32_t)s->depth, .idx_t = (uint32_t)gpu_in_type(l, 1)->dtype};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(resolve, p, c), .groups = gpu_ceil_div(p.tuples, 128), .group_size = 128,
                            .windows = {gpu_in(l, 1), table, offsets}});
  return offsets;
}

/* Merges contiguous axes of the lines. */
static void simplify_lines(scatter *s) {
  int n = 0;
  for (int i = 0; i < s->n; i++) {
    uint64_t dim = s->dim[i], from = s->from[i], u = s->u[i];
    if (dim == 1) continue;
    if (n && s->from[n - 1] == from * dim && s->u[n - 1] == u * dim) dim *= s->dim[--n];
    s->dim[n] = dim, s->from[n] = from, s->u[n] = u;
    n++;
  }
  s->n = n;
}

/* Number of ranges that the positions of a line are split into so that the device has `enough` work items. */
static uint32_t ranges_of(const scatter *s, uint64_t lines, uint64_t enough) {
  uint64_t ranges = lines < enough ? enough / lines : 1;
  return (uint32_t)(ranges < s->places ? ranges : s->places);
}

/* Whether workgroups share a line: if lines are few and long and their positions contiguous. */
static bool splits(const scatter *s, uint64_t lines) {
  return lines <= 16 && s->count >= 1024 && (s->columns || s->u_step == 1);
}

static void apply_updates(gpu_lowering *l, scatter *s, carrier how, gpu_window offsets, gpu_window y) {
  gpu_axes axes = {0};
  uint64_t lines = 1;
  simplify_lines(s);
  for (int i = s->n - 1; i >= 0; i--) {
    gpu_axes_add(&axes, (uint32_t)s->dim[i], (int64_t)s->from[i], (uint32_t)s->u[i], 0, 0);
    lines *= s->dim[i];
  }
  gpu_window table = gpu_axes_table(l, &axes);
  bool is_split = splits(s, lines);
  uint32_t group = is_split && l->caps->max_group >= 256 ? 256 : 128;
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  uint32_t per_unit = is_split ? tuned->scatter_split_groups : tuned->scatter_lines;
  uint32_t ranges = ranges_of(s, lines, (uint64_t)l->caps->units * per_unit);
  gpu_params_scatter p = {.lines = (uint32_t)lines,
                          .range_size = gpu_ceil_div((uint32_t)s->places, ranges),
                          .count = (uint32_t)s->count,
                          .u_step = (uint32_t)s->u_step,
                          .stride = (uint32_t)s->stride};
  p.ranges = gpu_ceil_div((uint32_t)s->places, p.range_size);
  memcpy(&p.d0, axes.words, 4 * sizeof axes.words[0]);
  gpu_constants_scatter c = {.tu = (uint32_t)how.as,
                             .kind = how.kind,
                             .reduction = how.reduction,
                             .columns = s->columns,
                             .rank = gpu_axes_rank(&axes)};
  gpu_launch d = {GPU_KERNEL(scatter, p, c),
                  .groups = is_split ? p.lines * p.ranges : gpu_ceil_div(p.lines * p.ranges, group),
                  .group_size = group, .windows = {offsets, gpu_in(l, 2), y, table}};
  if (is_split) d.kernel = &gpu_kernel_scatter_split; /* has the same parameters and constants */
  gpu_emit(l, &d);
}

static void emit_scatter(gpu_lowering *l, scatter *s) {
  const rlx_type *x = gpu_in_type(l, 0);
  uint32_t n = gpu_count(x);
  gpu_window out = gpu_out(l), in = gpu_in(l, 0);
  gpu_in_place(l, 0);
  if (!n) return;
  carrier how = carrier_of(x->dtype, s->reduction);
  bool is_widened = rlx_dtype_size(x->dtype) < 4 && s->tuples;
  gpu_window y = is_widened ? gpu_work(l, (uint64_t)n * 4) : out;
  if (is_widened) gpu_convert(l, in, how.as, y, how.wide, n);
  else gpu_copy(l, in, out, out.bytes);
  if (!s->tuples || !s->count) return;
  apply_updates(l, s, how, emit_offsets(l, s), y);
  if (is_widened) gpu_convert(l, y, how.wide, out, how.as, n);
}

/* ---- the ops ---- */

/* scatter_elements and scatter_add: each line of idx along the axis updates one line of x. */
void gpu_lower_scatter(gpu_lowering *l) {
  bool adds = l->node->op == RLX_OP_scatter_add;
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *idx = &gpu_in_type(l, 1)->shape;
  int64_t at = adds ? RLX_ATTRS(scatter_add, l->node)->axis : RLX_ATTRS(scatter_elements, l->node)->axis;
  int axis = rlx_axis_of(at, x->n);
  size_t from[RLX_MAX_RANK], u[RLX_MAX_RANK];
  rlx_strides(x, from);
  rlx_strides(idx, u);
  scatter s = {.reduction = adds ? ADD : (uint32_t)RLX_ATTRS(scatter_elements, l->node)->reduction,
               .tuples = gpu_count(gpu_in_type(l, 1)),
               .depth = 1,
               .size = {(uint64_t)x->v[axis]},
               .step = {1},
               .places = (uint64_t)x->v[axis],
               .stride = from[axis],
               .count = (uint64_t)idx->v[axis],
               .u_step = u[axis]};
  for (int i = 0; i < x->n; i++) {
    if (i == axis) continue;
    s.dim[s.n] = (uint64_t)idx->v[i], s.from[s.n] = from[i], s.u[s.n] = u[i];
    s.n++;
  }
  emit_scatter(l, &s);
}

/* Index tuples select runs of `run` elements of x; each element of a run is a line. */
void gpu_lower_scatter_nd(gpu_lowering *l) {
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *idx = &gpu_in_type(l, 1)->shape;
  int depth = (int)idx->v[idx->n - 1];
  scatter s = {.reduction = (uint32_t)RLX_ATTRS(scatter_nd, l->node)->reduction,
               .tuples = 1,
               .depth = (uint64_t)depth,
               .columns = true,
               .places = 1,
               .n = 1};
  uint64_t run = 1;
  for (int i = 0; i < idx->n - 1; i++) s.tuples *= (uint64_t)idx->v[i];
  for (int i = depth; i < x->n; i++) run *= (uint64_t)x->v[i];
  for (int d = depth - 1; d >= 0; d--) {
    s.size[d] = (uint64_t)x->v[d];
    s.step[d] = s.places;
    s.places *= (uint64_t)x->v[d];
  }
  s.count = s.tuples;
  s.stride = s.u_step = s.dim[0] = run;
  s.from[0] = s.u[0] = 1;
  emit_scatter(l, &s);
}
