/* Lowers the ops that move elements by position: each becomes a box (move.h) and one dispatch. */
#include <string.h>

#include "gpu/move.h"
#include "ir/element.h"
#include "ir/slice.h"
#include "ir/walk.h"

/* ---- arithmetic ---- */

void gpu_magic(uint32_t d, uint32_t *m, uint32_t *s) {
  uint32_t bits = 0; /* ceil(log2 d) */
  while (((uint64_t)1 << bits) < d) bits++;
  *s = bits ? bits - 1 : 0;
  *m = d > 1 ? (uint32_t)((((uint64_t)1 << (31 + bits)) + d - 1) / d) : 0;
}

void gpu_axes_add(gpu_axes *a, uint32_t dim, int64_t stride, uint32_t lo, uint32_t n, uint32_t mode) {
  uint32_t m, s;
  gpu_magic(dim, &m, &s);
  memcpy(a->words[a->n++], (const uint32_t[]){dim, m, s | mode << 8, (uint32_t)stride, lo, n}, sizeof a->words[0]);
}

uint32_t gpu_axes_rank(const gpu_axes *a) { return a->n <= 1 ? 1 : a->n <= 4 ? (uint32_t)a->n : a->n <= 8 ? 8 : 16; }

gpu_window gpu_axes_table(gpu_lowering *l, gpu_axes *a) {
  uint32_t rank = gpu_axes_rank(a);
  if (a->n) {
    a->words[a->n - 1][1] = 0;
    a->words[a->n - 1][2] &= ~31u;
  }
  return rank > 4 ? gpu_table(l, a->words[4], 6 * (rank - 4)) : (gpu_window){GPU_NONE, 0, 0, 0};
}

/* With few items each invocation takes one, so more are in flight at once. */
gpu_grid gpu_grid_of(const gpu_lowering *l, uint32_t items) {
  uint32_t size = l->caps->max_group < 256 ? 128 : 256, single = gpu_ceil_div(items, size);
  uint32_t enough = gpu_tuned(l->caps)->move_groups * l->caps->units, groups = gpu_ceil_div(single, 4);
  if (groups < enough) groups = single < enough ? single : enough;
  return (gpu_grid){groups, size, groups * size};
}

uint32_t gpu_unit_log(uint32_t size, const uint64_t *numbers, int n) {
  uint32_t log = 0;
  while (1u << log < size) log++;
  for (; log < 4; log++)
    for (int i = 0; i < n; i++)
      if (numbers[i] * size % ((uint64_t)2 << log)) return log;
  return log;
}

/* ---- simplifying boxes ---- */

static void drop_axis(gpu_box *b, int axis) {
  b->n--;
  memmove(&b->axis[axis], &b->axis[axis + 1], (size_t)(b->n - axis) * sizeof b->axis[0]);
}

static uint32_t box_count(const gpu_box *b) {
  uint64_t n = 1;
  for (int i = 0; i < b->n; i++) n *= b->axis[i].dim;
  return (uint32_t)n;
}

/* The whole result is border. */
static void make_border(gpu_box *b) {
  b->axis[0] = (gpu_axis){.dim = box_count(b), .mode = GPU_AXIS_BORDER};
  b->n = 1;
  b->from = 0;
}

/* Removes an axis of size 1 by adding its offset to the origin; false if it is a border. */
static bool fold_axis(gpu_box *b, int i) {
  const gpu_axis *a = &b->axis[i];
  int64_t index = 0;
  switch (a->mode) {
    case GPU_AXIS_LINEAR: break;
    case GPU_AXIS_BORDER:
      if (a->lo || !a->n) return false;
      break;
    case GPU_AXIS_EDGE: break; /* 0 - lo, clamped to 0 */
    case GPU_AXIS_ROLL:
    case GPU_AXIS_WRAP: index = a->lo % a->n; break;
    case GPU_AXIS_REFLECT: index = a->lo < a->n ? a->lo : 2 * (a->n - 1) - a->lo; break; /* lo is below the period */
  }
  b->from += index * a->stride;
  drop_axis(b, i);
  return true;
}

/* Whether axes i and i + 1 are contiguous and can be merged. Modes that only shift apply to the merged axis. */
static bool can_merge(const gpu_box *b, int i) {
  const gpu_axis *a = &b->axis[i], *next = &b->axis[i + 1];
  bool shifts = a->mode == GPU_AXIS_BORDER || a->mode == GPU_AXIS_ROLL || a->mode == GPU_AXIS_WRAP;
  if (next->mode || (a->mode && !shifts) || a->stride != next->stride * (int64_t)next->dim) return false;
  return (uint64_t)a->n * next->dim < INT32_MAX && (uint64_t)a->lo * next->dim < INT32_MAX;
}

static void merge(gpu_box *b, int i) {
  gpu_axis *a = &b->axis[i], next = b->axis[i + 1];
  a->dim *= next.dim;
  a->lo *= next.dim;
  a->n *= next.dim;
  a->stride = next.stride;
  drop_axis(b, i + 1);
}

static void simplify(gpu_box *b) {
  for (int i = b->n - 1; i >= 0; i--)
    if (b->axis[i].dim == 1 && !fold_axis(b, i)) {
      make_border(b);
      return;
    }
  for (int i = b->n - 2; i >= 0; i--)
    if (can_merge(b, i)) merge(b, i);
}

/* Elements contiguous on both sides become longer elements. */
static void widen(gpu_box *b) {
  if (!b->n) return;
  gpu_axis *last = &b->axis[b->n - 1];
  if (last->stride != 1 || last->mode == GPU_AXIS_EDGE || last->mode == GPU_AXIS_REFLECT) return;
  uint64_t numbers[GPU_BOX_RANK + 4] = {last->dim, last->lo, last->n, (uint64_t)(b->from < 0 ? -b->from : b->from)};
  for (int i = 0; i < b->n - 1; i++)
    numbers[4 + i] = (uint64_t)(b->axis[i].stride < 0 ? -b->axis[i].stride : b->axis[i].stride);
  uint32_t unit = 1u << gpu_unit_log(b->size, numbers, b->n + 3), factor = unit / b->size;
  b->size = unit;
  b->from /= factor;
  for (int i = 0; i < b->n - 1; i++) b->axis[i].stride /= factor;
  last->dim /= factor;
  last->lo /= factor;
  last->n /= factor;
}

static uint32_t log_of(uint32_t size) {
  uint32_t log = 0;
  while (1u << log < size) log++;
  return log;
}

/* ---- the tiled transpose ---- */

/* The axis that is contiguous in the source, if tiles can be used; otherwise -1. */
static int tiled_axis(const gpu_box *b) {
  int last = b->n - 1, found = -1;
  if (b->n < 2 || b->n > 5 || b->from || b->size > 8 || b->triangle) return -1;
  uint32_t per_word = b->size < 4 ? 4 / b->size : 1;
  for (int i = 0; i <= last; i++) {
    if (b->axis[i].mode) return -1;
    if (i < last && b->axis[i].stride == 1) found = i;
    else if (b->axis[i].stride % per_word) return -1;
  }
  if (found < 0 || b->axis[found].dim < 16 || b->axis[last].dim < 16) return -1;
  return b->axis[found].dim % per_word || b->axis[last].dim % per_word ? -1 : found;
}

/* Whether every row on both sides is whole vectors of eight, for elements of 2 bytes. transpose8 has the same
 * parameters; strides of absent axes are 0. */
static bool is_in_vectors_of_8(const gpu_params_transpose *p) {
  return (p->size_a | p->size_b | p->sa | p->tb | p->from0 | p->to0 | p->from1 | p->to1 | p->from2 | p->to2) % 8 == 0;
}
static void emit_transpose8(gpu_lowering *l, gpu_params_transpose q, uint32_t planes, gpu_window from, gpu_window to) {
  enum { GROUP = 128, BLOCKS_B = 8, BLOCKS_A = GROUP / BLOCKS_B };
  gpu_params_transpose8 p = {.size_a = q.size_a / 8,
                             .size_b = q.size_b / 8,
                             .sa = q.sa / 8,
                             .tb = q.tb / 8,
                             .tiles_a = gpu_ceil_div(q.size_a / 8, BLOCKS_A),
                             .tiles_b = gpu_ceil_div(q.size_b / 8, BLOCKS_B),
                             .d0 = q.d0,
                             .from0 = q.from0 / 8,
                             .to0 = q.to0 / 8,
                             .d1 = q.d1,
                             .from1 = q.from1 / 8,
                             .to1 = q.to1 / 8,
                             .from2 = q.from2 / 8,
                             .to2 = q.to2 / 8};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL0(transpose8, p), .groups = p.tiles_a * p.tiles_b * planes, .group_size = GROUP,
                            .windows = {from, to}});
}

static void emit_transpose(gpu_lowering *l, const gpu_box *b, int rows, gpu_window from, gpu_window to) {
  uint32_t side_log = b->size == 8 ? 5 : 6, side = 1u << side_log, step = 1;
  const gpu_axis *a = &b->axis[b->n - 1], *r = &b->axis[rows];
  gpu_params_transpose p = {.size_a = a->dim, .size_b = r->dim, .sa = (uint32_t)a->stride, .d0 = 1, .d1 = 1};
  uint32_t *const outer[3][3] = {{&p.d0, &p.from0, &p.to0}, {&p.d1, &p.from1, &p.to1}, {NULL, &p.from2, &p.to2}};
  p.tiles_a = gpu_ceil_div(a->dim, side);
  p.tiles_b = gpu_ceil_div(r->dim, side);
  uint32_t groups = p.tiles_a * p.tiles_b;
  for (int i = b->n - 1, k = 0; i >= 0; i--) {
    if (i == rows) p.tb = step;
    else if (i < b->n - 1) {
      if (outer[k][0]) *outer[k][0] = b->axis[i].dim;
      *outer[k][1] = (uint32_t)b->axis[i].stride;
      *outer[k++][2] = step;
      groups *= b->axis[i].dim;
    }
    step *= b->axis[i].dim;
  }
  if (b->size == 2 && is_in_vectors_of_8(&p)) {
    emit_transpose8(l, p, groups / (p.tiles_a * p.tiles_b), from, to);
    return;
  }
  gpu_constants_transpose c = {.log = log_of(b->size), .side_log = side_log};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(transpose, p, c), .groups = groups,
                            .group_size = l->caps->max_group < 256 ? 128 : 256, .windows = {from, to}});
}

/* ---- the strided copy ---- */

static void emit_strided(gpu_lowering *l, const gpu_box *b, gpu_window from, gpu_window to) {
  uint32_t count = box_count(b), per_word = b->size < 4 ? 4 / b->size : 1, items = gpu_ceil_div(count, per_word);
  gpu_axes axes = {0};
  bool maps = false;
  for (int i = b->n - 1; i >= 0; i--) {
    const gpu_axis *a = &b->axis[i];
    gpu_axes_add(&axes, a->dim, a->stride, a->lo, a->n, a->mode);
    maps = maps || a->mode;
  }
  gpu_window table = gpu_axes_table(l, &axes), none = {GPU_NONE, 0, 0, 0};
  gpu_grid grid = gpu_grid_of(l, items);
  gpu_params_strided p = {.items = items,
                          .elements = count,
                          .step = grid.step,
                          .origin = (uint32_t)b->from,
                          .fill = b->fill[0],
                          .fill_hi = b->fill[1],
                          .k = b->k};
  memcpy(&p.d0, axes.words, 4 * sizeof axes.words[0]);
  if (b->triangle) p.d0 = b->columns, p.d1 = b->rows; /* one axis, whose size the kernel does not use */
  bool wide = b->size == 16;
  gpu_constants_strided c = {.log = log_of(b->size), .rank = gpu_axes_rank(&axes), .maps = maps, .tri = b->triangle};
  gpu_emit(
    l, &(gpu_launch){GPU_KERNEL(strided, p, c), .groups = grid.groups, .group_size = grid.size,
                     .windows = {wide ? none : from, wide ? from : none, wide ? none : to, wide ? to : none, table}});
}

void gpu_move(gpu_lowering *l, gpu_box box, gpu_window from, gpu_window to) {
  if (gpu_failed(l) || box_count(&box) == 0) return;
  if (!box.triangle) { /* a triangle needs its axis unchanged */
    simplify(&box);
    widen(&box);
    simplify(&box);
  }
  int rows = tiled_axis(&box);
  if (rows >= 0) emit_transpose(l, &box, rows, from, to);
  else emit_strided(l, &box, from, to);
}

void gpu_copy(gpu_lowering *l, gpu_window from, gpu_window to, uint64_t bytes) {
  uint32_t words = (uint32_t)((bytes + 3) / 4);
  size_t before = l->dispatches.n;
  gpu_move(l, (gpu_box){.n = 1, .axis = {{.dim = words, .stride = 1}}, .size = 4}, from, to);
  for (size_t i = before; i < l->dispatches.n; i++) l->dispatches.v[i].copies = true;
}

/* ---- the ops ---- */

static gpu_box box_of(const gpu_lowering *l, const rlx_dims *shape) {
  gpu_box b = {.n = shape->n, .size = (uint32_t)rlx_dtype_size(gpu_out_type(l)->dtype)};
  for (int i = 0; i < shape->n; i++) b.axis[i].dim = (uint32_t)shape->v[i];
  return b;
}

static bool is_empty(const gpu_lowering *l) { return gpu_count(gpu_out_type(l)) == 0; }

static void move_out(gpu_lowering *l, const gpu_box *b) { gpu_move(l, *b, gpu_in(l, 0), gpu_out(l)); }

/* A copy of the same bytes, left out if the result aliases its input. */
void gpu_lower_view(gpu_lowering *l) {
  gpu_window out = gpu_out(l);
  gpu_in_place(l, 0);
  gpu_copy(l, gpu_in(l, 0), out, out.bytes);
}

/* Axis i of the result is axis perm.v[i] of x, where x has the shape `view`. */
static void permute(gpu_lowering *l, const rlx_dims *view, rlx_dims perm) {
  size_t stride[RLX_MAX_RANK];
  rlx_strides(view, stride);
  rlx_dims shape = {.n = view->n};
  for (int i = 0; i < view->n; i++) shape.v[i] = view->v[perm.v[i]];
  gpu_box b = box_of(l, &shape);
  for (int i = 0; i < view->n; i++) b.axis[i].stride = (int64_t)stride[perm.v[i]];
  move_out(l, &b);
}

void gpu_lower_transpose(gpu_lowering *l) {
  const rlx_dims *x = &gpu_in_type(l, 0)->shape;
  if (!is_empty(l)) permute(l, x, rlx_perm_of(&RLX_ATTRS(transpose, l->node)->perm, x->n));
}

void gpu_lower_space_to_depth(gpu_lowering *l) {
  const int64_t *x = gpu_in_type(l, 0)->shape.v, b = RLX_ATTRS(space_to_depth, l->node)->block;
  if (!is_empty(l)) permute(l, &RLX_DIMS(x[0], x[1], x[2] / b, b, x[3] / b, b), RLX_DIMS(0, 3, 5, 1, 2, 4));
}

void gpu_lower_depth_to_space(gpu_lowering *l) {
  const rlx_attrs_depth_to_space *a = RLX_ATTRS(depth_to_space, l->node);
  const int64_t *x = gpu_in_type(l, 0)->shape.v, b = a->block, channels = gpu_out_type(l)->shape.v[1];
  if (is_empty(l)) return;
  if (a->mode == 1) permute(l, &RLX_DIMS(x[0], channels, b, b, x[2], x[3]), RLX_DIMS(0, 1, 4, 2, 5, 3));
  else permute(l, &RLX_DIMS(x[0], b, b, channels, x[2], x[3]), RLX_DIMS(0, 3, 4, 1, 5, 2));
}

void gpu_lower_expand(gpu_lowering *l) {
  const rlx_dims *out = &gpu_out_type(l)->shape;
  if (is_empty(l)) return;
  size_t stride[RLX_MAX_RANK];
  rlx_broadcast_strides(&gpu_in_type(l, 0)->shape, out, stride);
  gpu_box b = box_of(l, out);
  for (int i = 0; i < b.n; i++) b.axis[i].stride = (int64_t)stride[i];
  move_out(l, &b);
}

/* Two axes for each of x's: the copies, and the elements of one copy. */
void gpu_lower_tile(gpu_lowering *l) {
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *out = &gpu_out_type(l)->shape;
  if (is_empty(l)) return;
  size_t stride[RLX_MAX_RANK];
  rlx_strides(x, stride);
  gpu_box b = box_of(l, x);
  b.n = 2 * x->n;
  for (int i = 0; i < x->n; i++) {
    b.axis[2 * i] = (gpu_axis){.dim = (uint32_t)(out->v[i] / x->v[i])};
    b.axis[2 * i + 1] = (gpu_axis){.dim = (uint32_t)x->v[i], .stride = (int64_t)stride[i]};
  }
  move_out(l, &b);
}

/* A box of the result's shape with x's strides, for ops that treat each axis independently. */
static gpu_box box_by_axis(const gpu_lowering *l) {
  size_t stride[RLX_MAX_RANK];
  rlx_strides(&gpu_in_type(l, 0)->shape, stride);
  gpu_box b = box_of(l, &gpu_out_type(l)->shape);
  for (int i = 0; i < b.n; i++) b.axis[i].stride = (int64_t)stride[i];
  return b;
}

void gpu_lower_slice(gpu_lowering *l) {
  rlx_slice_axis cut[RLX_MAX_RANK];
  if (is_empty(l)) return;
  if (rlx_dtype_is_block(gpu_out_type(l)->dtype)) {
    gpu_refuse(l, "rows of a block type are copied on the host");
    return;
  }
  if (rlx_slice_resolve(RLX_ATTRS(slice, l->node), &gpu_in_type(l, 0)->shape, cut)) {
    gpu_refuse(l, "a slice that cannot be resolved");
    return;
  }
  gpu_box b = box_by_axis(l);
  for (int i = 0; i < b.n; i++) {
    b.from += cut[i].start * b.axis[i].stride;
    b.axis[i].stride *= cut[i].step;
  }
  move_out(l, &b);
}

void gpu_lower_reverse(gpu_lowering *l) {
  const rlx_dims *axes = &RLX_ATTRS(reverse, l->node)->axes;
  if (is_empty(l)) return;
  gpu_box b = box_by_axis(l);
  uint32_t bits = axes->n ? 0 : UINT32_MAX;
  for (int i = 0; i < axes->n; i++) bits |= 1u << rlx_axis_of(axes->v[i], b.n);
  for (int i = 0; i < b.n; i++) {
    if (!(bits >> i & 1)) continue;
    b.from += (int64_t)(b.axis[i].dim - 1) * b.axis[i].stride;
    b.axis[i].stride = -b.axis[i].stride;
  }
  move_out(l, &b);
}

void gpu_lower_roll(gpu_lowering *l) {
  const rlx_attrs_roll *a = RLX_ATTRS(roll, l->node);
  if (is_empty(l)) return;
  gpu_box b = box_by_axis(l);
  for (int i = 0; i < a->axes.n; i++) {
    gpu_axis *axis = &b.axis[rlx_axis_of(a->axes.v[i], b.n)];
    int64_t n = axis->dim, shift = a->shifts.v[i] % n;
    axis->mode = shift ? GPU_AXIS_ROLL : GPU_AXIS_LINEAR;
    axis->lo = (uint32_t)(shift > 0 ? n - shift : -shift);
    axis->n = (uint32_t)n;
  }
  move_out(l, &b);
}

static void pad_axis(gpu_axis *a, int32_t mode, int64_t lo, int64_t n) {
  if (lo == 0 && n == (int64_t)a->dim) return;
  a->lo = (uint32_t)lo;
  a->n = (uint32_t)n;
  if (mode == RLX_PAD_CONSTANT) {
    a->mode = GPU_AXIS_BORDER;
  } else if (mode == RLX_PAD_EDGE || n == 1) {
    a->mode = GPU_AXIS_EDGE;
  } else {
    int64_t period = mode == RLX_PAD_WRAP ? n : 2 * (n - 1);
    a->mode = mode == RLX_PAD_WRAP ? GPU_AXIS_WRAP : GPU_AXIS_REFLECT;
    a->lo = (uint32_t)((period - lo % period) % period);
  }
}

/* An element's bytes, repeated to 8. */
static void set_fill(gpu_box *b, rlx_dtype dtype, double value) {
  unsigned char bytes[8] = {0};
  if (dtype == RLX_C64) memcpy(bytes, (const float[]){(float)value, 0}, sizeof bytes);
  else rlx_store_value(&(rlx_tensor){.dtype = dtype, .data = bytes}, 0, value);
  for (size_t i = b->size; i < sizeof bytes; i++) bytes[i] = bytes[i - b->size];
  memcpy(b->fill, bytes, sizeof bytes);
}

void gpu_lower_pad(gpu_lowering *l) {
  const rlx_attrs_pad *a = RLX_ATTRS(pad, l->node);
  const rlx_dims *x = &gpu_in_type(l, 0)->shape;
  if (is_empty(l)) return;
  gpu_box b = box_by_axis(l);
  set_fill(&b, gpu_out_type(l)->dtype, a->value);
  for (int i = 0; i < b.n; i++) pad_axis(&b.axis[i], a->mode, a->lo.v[i], x->v[i]);
  if (gpu_count(gpu_in_type(l, 0)) == 0) make_border(&b);
  move_out(l, &b);
}

void gpu_lower_trilu(gpu_lowering *l) {
  const rlx_attrs_trilu *a = RLX_ATTRS(trilu, l->node);
  const rlx_dims *shape = &gpu_out_type(l)->shape;
  if (is_empty(l)) return;
  gpu_in_place(l, 0);
  int64_t rows = shape->v[shape->n - 2], columns = shape->v[shape->n - 1];
  gpu_box b = {.n = 1,
               .axis = {{.dim = gpu_count(gpu_out_type(l)), .stride = 1}},
               .size = (uint32_t)rlx_dtype_size(gpu_out_type(l)->dtype),
               .triangle = a->upper ? 2 : 1,
               .rows = (uint32_t)rows,
               .columns = (uint32_t)columns};
  /* Clamped: a diagonal far outside must not wrap. */
  b.k = (int32_t)(a->k > columns ? columns : a->k < -rows ? -rows : a->k);
  move_out(l, &b);
}
