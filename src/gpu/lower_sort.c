/* Lowers sort, argsort and top-k; items are defined in kernels/sort.kh.
 *
 * A line that fits a workgroup is sorted there. If only a few items of a longer line are needed, each block passes its
 * first few to the next round until the rest fit one block. Otherwise its blocks are sorted, then merged pairwise
 * through work memory (merge sort). */
#include "gpu/order.h"

enum { ITEM_BYTES = 8, LONG_ITEM_BYTES = 12 };

static uint64_t item_bytes(rlx_dtype t) { return t == RLX_I64 ? LONG_ITEM_BYTES : ITEM_BYTES; }

/* Items that a workgroup sorts. */
static uint32_t capacity_of(const gpu_caps *caps, rlx_dtype t) {
  uint32_t capacity = 1024;
  while (capacity < 2048 && 2 * capacity * item_bytes(t) + 256 <= caps->max_shared && capacity < 2 * caps->max_group)
    capacity *= 2;
  return capacity;
}

static uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* One round of sort_block. */
typedef struct sort_round {
  uint32_t items; /* per line, in `from`, or in x if that is GPU_NONE */
  uint32_t size, take;
  gpu_window from, to; /* to GPU_NONE: the result */
} sort_round;

static uint32_t kept_of(const sort_round *r) {
  uint32_t blocks = gpu_ceil_div(r->items, r->size), rest = r->items - (blocks - 1) * r->size;
  return (blocks - 1) * r->take + min(rest, r->take);
}

static void sort_blocks(gpu_lowering *l, const gpu_sort *s, const sort_round *r) {
  uint32_t blocks = gpu_ceil_div(r->items, r->size), capacity = r->size < 256 ? 256 : r->size;
  gpu_constants_sort_block c = {.t = (uint32_t)s->t,
                                .to = s->positions ? (uint32_t)s->to : 0,
                                .descending = s->descending,
                                .size = r->size,
                                .capacity = capacity,
                                .highs = s->t == RLX_I64 ? capacity : 1,
                                .from_items = r->from.from != GPU_NONE,
                                .final = r->to.from == GPU_NONE};
  gpu_params_sort_block p = {.lines = s->lines.lines,
                             .n = s->lines.n,
                             .inner = s->lines.inner,
                             .items = r->items,
                             .pieces = blocks,
                             .take = r->take,
                             .kept = kept_of(r)};
  uint64_t all = (uint64_t)s->lines.lines * blocks, at_once = capacity / r->size;
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(sort_block, p, c), .groups = (uint32_t)((all + at_once - 1) / at_once),
                            .group_size = gpu_group_of(l->caps, capacity / 2),
                            .windows = {gpu_in(l, 0), r->from, s->result, r->to}});
}

static void sort_merge(gpu_lowering *l, const gpu_sort *s, uint32_t run, gpu_window from, gpu_window to) {
  gpu_constants_sort_merge c = {
    .t = (uint32_t)s->t, .to = s->positions ? (uint32_t)s->to : 0, .final = to.from == GPU_NONE};
  gpu_params_sort_merge p = {
    .lines = s->lines.lines, .n = s->lines.n, .inner = s->lines.inner, .run = run, .take = s->take};
  uint32_t group = gpu_group_of(l->caps, 256);
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(sort_merge, p, c), .groups = gpu_ceil_div(s->lines.lines * s->lines.n, group),
                            .group_size = group, .windows = {gpu_in(l, 0), from, s->result, to}});
}

/* Top-k by rounds: each keeps the first `take` of each block. */
static gpu_items select_first(gpu_lowering *l, const gpu_sort *s, uint32_t capacity) {
  const gpu_window none = {0};
  sort_round r = {.items = s->lines.n, .size = capacity, .take = s->take};
  while (r.items > capacity) {
    r.to = gpu_work(l, (uint64_t)s->lines.lines * kept_of(&r) * item_bytes(s->t));
    sort_blocks(l, s, &r);
    r.items = kept_of(&r);
    r.from = r.to;
  }
  r.size = gpu_power_of_two(r.items);
  r.to = s->to_items ? gpu_work(l, (uint64_t)s->lines.lines * s->take * item_bytes(s->t)) : none;
  sort_blocks(l, s, &r);
  return (gpu_items){r.to, s->take};
}

static gpu_items sort_all(gpu_lowering *l, const gpu_sort *s, uint32_t capacity) {
  const gpu_window none = {0};
  uint64_t bytes = (uint64_t)s->lines.lines * s->lines.n * item_bytes(s->t);
  gpu_window from = gpu_work(l, bytes), to = gpu_work(l, bytes);
  sort_blocks(l, s, &(sort_round){.items = s->lines.n, .size = capacity, .take = capacity, .to = from});
  for (uint64_t run = capacity; run < s->lines.n; run *= 2) {
    bool last = 2 * run >= s->lines.n && !s->to_items;
    sort_merge(l, s, (uint32_t)run, from, last ? none : to);
    gpu_window other = from;
    from = to, to = other;
  }
  return (gpu_items){from, s->lines.n};
}

gpu_items gpu_sort_emit(gpu_lowering *l, const gpu_sort *s) {
  uint32_t capacity = capacity_of(l->caps, s->t);
  if (s->lines.n <= capacity || s->take <= capacity / 4) return select_first(l, s, capacity);
  return sort_all(l, s, capacity);
}

/* ---- the ops ---- */

static void lower(gpu_lowering *l, int64_t axis, bool descending, bool positions) {
  const rlx_type *x = gpu_in_type(l, 0), *y = gpu_out_type(l);
  uint32_t count = gpu_count(y);
  if (count == 0) return;
  gpu_sort s = {.lines = gpu_lines_of(&x->shape, axis),
                .t = x->dtype,
                .to = y->dtype,
                .take = (uint32_t)y->shape.v[rlx_axis_of(axis, y->shape.n)],
                .descending = descending,
                .positions = positions};
  rlx_dtype written = gpu_fold_written(y->dtype); /* elements of a narrow type are widened and converted at the end */
  s.result = written == y->dtype ? gpu_out(l) : gpu_work(l, (uint64_t)count * 4);
  gpu_sort_emit(l, &s);
  if (written != y->dtype) gpu_convert(l, s.result, written, gpu_out(l), y->dtype, count);
}

void gpu_lower_sort(gpu_lowering *l) {
  const rlx_attrs_sort *a = RLX_ATTRS(sort, l->node);
  lower(l, a->axis, a->descending, false);
}

void gpu_lower_argsort(gpu_lowering *l) {
  const rlx_attrs_argsort *a = RLX_ATTRS(argsort, l->node);
  lower(l, a->axis, a->descending, true);
}

void gpu_lower_top_k_values(gpu_lowering *l) {
  const rlx_attrs_top_k_values *a = RLX_ATTRS(top_k_values, l->node);
  lower(l, a->axis, a->largest, false);
}

void gpu_lower_top_k_indices(gpu_lowering *l) {
  const rlx_attrs_top_k_indices *a = RLX_ATTRS(top_k_indices, l->node);
  lower(l, a->axis, a->largest, true);
}
