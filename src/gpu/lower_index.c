/* Lowers indexed reads (the gather family, one_hot), copies of rows into a result (concat, update), and range. An
 * out-of-range index reads zeros and writes nothing. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "base/status.h"
#include "gpu/move.h"
#include "gpu/quant.h"
#include "ir/definitions.h"
#include "ir/element.h"
#include "ir/walk.h"

static const gpu_window none = {GPU_NONE, 0, 0, 0};

static uint32_t element_bytes(const gpu_lowering *l) { return (uint32_t)rlx_dtype_size(gpu_out_type(l)->dtype); }

static uint32_t log_of(uint32_t size) {
  uint32_t log = 0;
  while (1u << log < size) log++;
  return log;
}

/* ---- copies of rows into a result ---- */

enum { MAX_PARTS = 6 }; /* windows of place.k */

typedef struct rows {
  uint64_t rows, pitch, first; /* in elements */
  uint64_t inner, limit, per;  /* of a position: elements per step, maximum, rows that share one (0: all) */
  gpu_window at;               /* GPU_NONE: no position */
  rlx_dtype at_type;
  uint32_t n;              /* parts */
  uint64_t run[MAX_PARTS]; /* elements of a row of each */
  gpu_window part[MAX_PARTS];
  uint32_t log;    /* log2 of the longest item that divides all sizes and offsets, see gpu_unit_log */
  rlx_dtype round; /* f16, bf16: the only part is f32 and items are words; otherwise 0 */
} rows;

static void emit_rows(gpu_lowering *l, const rows *r) {
  bool wide = r->log == 4;
  uint32_t unit = wide          ? 16
                  : r->log >= 2 ? 4
                                : 1u << r->log,
           size = element_bytes(l); /* the kernel has no 8-byte items: those are two words */
  uint64_t run = 0;
  gpu_params_place p = {.rows = (uint32_t)r->rows};
  uint32_t *ends[MAX_PARTS] = {&p.end0, &p.end1, &p.end2, &p.end3, &p.end4};
  for (uint32_t i = 0; i < r->n; i++) {
    run += r->run[i];
    if (i < MAX_PARTS - 1) *ends[i] = (uint32_t)(run * size / unit);
  }
  if (!run || !r->rows) return;
  p.run = (uint32_t)(run * size / unit);
  p.pitch = (uint32_t)(r->pitch * size / unit);
  p.first = (uint32_t)(r->first * size / unit);
  p.inner = (uint32_t)(r->inner * size / unit);
  p.limit = (uint32_t)r->limit;
  p.per = (uint32_t)r->per;
  gpu_magic(p.run, &p.run_m, &p.run_s);
  uint32_t per_word = unit < 4 ? 4 / unit : 1;
  p.items = p.rows * (unit < 4 ? (p.run + per_word - 2) / per_word + 1 : p.run);
  gpu_grid grid = gpu_grid_of(l, p.items);
  p.step = grid.step;
  gpu_constants_place c = {.parts = r->n,
                           .at_t = r->at.from == GPU_NONE ? 0 : (uint32_t)r->at_type,
                           .log = log_of(unit),
                           .round_t = (uint32_t)r->round};
  gpu_launch d = {GPU_KERNEL(place, p, c), .groups = grid.groups, .group_size = grid.size};
  if (wide) d.kernel = &gpu_kernel_place4; /* has the same parameters and constants */
  for (uint32_t i = 0; i < MAX_PARTS; i++) d.windows[i] = i < r->n ? r->part[i] : none;
  d.windows[6] = r->at;
  d.windows[7] = gpu_out(l);
  gpu_emit(l, &d);
}

/* Copies the parts side by side, as many per dispatch as there are windows. */
void gpu_lower_concat(gpu_lowering *l) {
  int64_t axis = RLX_ATTRS(concat, l->node)->axis;
  if (gpu_count(gpu_out_type(l)) == 0) return;
  rlx_lines whole = rlx_lines_of(&gpu_out_type(l)->shape, axis);
  rows r = {.rows = whole.outer, .pitch = whole.n * whole.inner, .log = 4};
  for (uint32_t i = 0; i < l->node->n_in; i++) { /* each part begins where the previous ends */
    rlx_lines part = rlx_lines_of(&gpu_in_type(l, i)->shape, axis);
    uint64_t run = part.n * part.inner;
    uint32_t log = gpu_unit_log(element_bytes(l), &run, 1);
    if (log < r.log) r.log = log;
  }
  for (uint32_t i = 0; i < l->node->n_in; i++) {
    rlx_lines part = rlx_lines_of(&gpu_in_type(l, i)->shape, axis);
    if (part.n == 0) continue;
    if (r.n == MAX_PARTS) {
      emit_rows(l, &r);
      for (uint32_t k = 0; k < r.n; k++) r.first += r.run[k];
      r.n = 0;
    }
    r.part[r.n] = gpu_in(l, i);
    r.run[r.n++] = part.n * part.inner;
  }
  emit_rows(l, &r);
}

/* Rounds f32 rows for a state of f16 or bf16: in the copy if every row is whole words, otherwise before it. */
static void round_rows(gpu_lowering *l, rows *r) {
  rlx_dtype type = gpu_out_type(l)->dtype;
  uint32_t n = (uint32_t)gpu_count(gpu_in_type(l, 1));
  if (r->log >= 2) {
    r->round = type;
    r->log = 2;
  } else {
    gpu_window rounded = gpu_work(l, (uint64_t)n * 2);
    gpu_convert(l, r->part[0], RLX_F32, rounded, type, n);
    r->part[0] = rounded;
  }
}

/* Packed rows are rows of a result whose rows all begin at 0, each with a position. Two of them may share a word if
 * they are not whole words, and then the kernel could not tell which writes it. */
static void lower_packed_update(gpu_lowering *l, int64_t axis) {
  const rlx_type *at = gpu_in_type(l, 2);
  rlx_lines state = rlx_lines_of(&gpu_in_type(l, 0)->shape, axis);
  uint64_t row = state.inner, places = state.outer * state.n;
  if (places == 0) return;
  rows r = {.rows = gpu_count(at),
            .inner = row,
            .limit = places - 1,
            .per = 1,
            .at = gpu_in(l, 2),
            .at_type = at->dtype,
            .n = 1,
            .run = {row},
            .part = {gpu_in(l, 1)},
            .log = gpu_unit_log(element_bytes(l), &row, 1)};
  if (r.log < 2) {
    gpu_refuse(l, "an update of packed rows that are not whole words");
    return;
  }
  if (gpu_in_type(l, 1)->dtype != gpu_out_type(l)->dtype) round_rows(l, &r);
  emit_rows(l, &r);
}

/* The result aliases the state: the planner always places an update in place. */
void gpu_lower_update(gpu_lowering *l) {
  int64_t axis = RLX_ATTRS(update, l->node)->axis;
  gpu_in_place(l, 0);
  if (rlx_dtype_is_block(gpu_in_type(l, 0)->dtype)) {
    gpu_refuse(l, "an update of a state of a block type");
    return;
  }
  if (gpu_count(gpu_in_type(l, 1)) == 0) return;
  if (rlx_update_is_packed(&gpu_in_type(l, 0)->shape, &gpu_in_type(l, 1)->shape)) {
    lower_packed_update(l, axis);
    return;
  }
  const rlx_type *at = gpu_in_type(l, 2);
  rlx_lines state = rlx_lines_of(&gpu_in_type(l, 0)->shape, axis), new = rlx_lines_of(&gpu_in_type(l, 1)->shape, axis);
  uint64_t positions = gpu_count(at), numbers[] = {new.n *new.inner, state.inner};
  rows r = {.rows = state.outer,
            .pitch = state.n * state.inner,
            .inner = state.inner,
            .limit = state.n - new.n,
            .per = positions > 1 ? state.outer / positions : 0,
            .at = gpu_in(l, 2),
            .at_type = at->dtype,
            .n = 1,
            .run = {new.n *new.inner},
            .part = {gpu_in(l, 1)},
            .log = gpu_unit_log(element_bytes(l), numbers, 2)};
  if (gpu_in_type(l, 1)->dtype != gpu_out_type(l)->dtype) round_rows(l, &r);
  emit_rows(l, &r);
}

/* ---- the gather family ---- */

typedef struct pick_axis {
  uint64_t dim, stride, pos; /* pos: its stride in the index tensor */
} pick_axis;

typedef struct pick {
  int n;
  pick_axis axis[RLX_MAX_RANK]; /* the last one is innermost */
  uint32_t depth;
  uint64_t size[RLX_MAX_RANK], stride[RLX_MAX_RANK]; /* by coordinate */
} pick;

static void simplify_pick(pick *k) {
  int n = 0;
  for (int i = 0; i < k->n; i++) {
    pick_axis a = k->axis[i], *last = n ? &k->axis[n - 1] : NULL;
    if (a.dim == 1) continue;
    if (last && last->stride == a.stride * a.dim && last->pos == a.pos * a.dim) {
      a.dim *= last->dim;
      n--;
    }
    k->axis[n++] = a;
  }
  k->n = n;
}

/* Contiguous elements under one index tuple become longer elements; returns log2 of their bytes. */
static uint32_t widen_pick(pick *k, uint32_t size) {
  uint32_t log = log_of(size);
  if (!k->n || k->axis[k->n - 1].stride != 1 || k->axis[k->n - 1].pos) return log;
  uint64_t numbers[2 * RLX_MAX_RANK];
  int n = 0;
  numbers[n++] = k->axis[k->n - 1].dim;
  for (int i = 0; i < k->n - 1; i++) numbers[n++] = k->axis[i].stride;
  for (uint32_t i = 0; i < k->depth; i++) numbers[n++] = k->stride[i];
  log = gpu_unit_log(size, numbers, n);
  uint32_t factor = (1u << log) / size;
  k->axis[k->n - 1].dim /= factor;
  for (int i = 0; i < k->n - 1; i++) k->axis[i].stride /= factor;
  for (uint32_t i = 0; i < k->depth; i++) k->stride[i] /= factor;
  return log;
}

/* The table of the kernel: the outer axes, then the coordinates if there is more than one. */
static gpu_window pick_table(gpu_lowering *l, const pick *k, gpu_axes *axes, uint32_t *base) {
  uint32_t words[6 * RLX_MAX_RANK + 2 * RLX_MAX_RANK], n = 0;
  gpu_window table = gpu_axes_table(l, axes);
  if (k->depth < 2) return table;
  for (uint32_t i = 4; i < gpu_axes_rank(axes); i++, n += 6) memcpy(words + n, axes->words[i], sizeof axes->words[i]);
  *base = n;
  for (uint32_t i = 0; i < k->depth; i++) {
    words[n++] = (uint32_t)k->size[i];
    words[n++] = (uint32_t)k->stride[i];
  }
  return gpu_table(l, words, n);
}

static void emit_pick(gpu_lowering *l, pick *k) {
  simplify_pick(k);
  uint32_t log = widen_pick(k, element_bytes(l)), count = 1;
  simplify_pick(k);
  gpu_axes axes = {0};
  for (int i = k->n - 1; i >= 0; i--) {
    const pick_axis *a = &k->axis[i];
    gpu_axes_add(&axes, (uint32_t)a->dim, (int64_t)a->stride, (uint32_t)a->pos, 0, 0);
    count *= (uint32_t)a->dim;
  }
  uint32_t per_word = log < 2 ? 4u >> log : 1;
  gpu_params_pick p = {.items = gpu_ceil_div(count, per_word),
                       .elements = count,
                       .size = (uint32_t)k->size[0],
                       .stride = (uint32_t)k->stride[0]};
  gpu_window table = pick_table(l, k, &axes, &p.base), in = gpu_in(l, 0), out = gpu_out(l);
  memcpy(&p.d0, axes.words, 4 * sizeof axes.words[0]);
  gpu_grid grid = gpu_grid_of(l, p.items);
  p.step = grid.step;
  bool wide = log == 4;
  gpu_constants_pick c = {
    .log = log, .rank = gpu_axes_rank(&axes), .depth = k->depth, .idx_t = (uint32_t)gpu_in_type(l, 1)->dtype};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(pick, p, c), .groups = grid.groups, .group_size = grid.size,
                            .windows = {wide ? none : in, wide ? in : none, gpu_in(l, 1), wide ? none : out,
                                        wide ? out : none, table},
                            .reads_part = true});
}

void gpu_lower_gather(gpu_lowering *l) {
  const rlx_type *x = gpu_in_type(l, 0);
  if (rlx_dtype_is_block(x->dtype)) {
    gpu_lower_gather_blocks(l);
    return;
  }
  if (gpu_count(gpu_out_type(l)) == 0) return;
  rlx_lines lines = rlx_lines_of(&x->shape, RLX_ATTRS(gather, l->node)->axis);
  pick k = {.n = 3, .depth = 1, .size = {lines.n}, .stride = {lines.inner}};
  k.axis[0] = (pick_axis){lines.outer, lines.n * lines.inner, 0};
  k.axis[1] = (pick_axis){gpu_count(gpu_in_type(l, 1)), 0, 1};
  k.axis[2] = (pick_axis){lines.inner, 1, 0};
  emit_pick(l, &k);
}

void gpu_lower_gather_elements(gpu_lowering *l) {
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *idx = &gpu_in_type(l, 1)->shape;
  if (gpu_count(gpu_out_type(l)) == 0) return;
  int axis = rlx_axis_of(RLX_ATTRS(gather_elements, l->node)->axis, x->n);
  size_t from[RLX_MAX_RANK], pos[RLX_MAX_RANK];
  rlx_strides(x, from);
  rlx_strides(idx, pos);
  pick k = {.n = x->n, .depth = 1, .size = {(uint64_t)x->v[axis]}, .stride = {from[axis]}};
  for (int i = 0; i < x->n; i++) k.axis[i] = (pick_axis){(uint64_t)idx->v[i], i == axis ? 0 : from[i], pos[i]};
  emit_pick(l, &k);
}

void gpu_lower_gather_nd(gpu_lowering *l) {
  const rlx_dims *x = &gpu_in_type(l, 0)->shape, *idx = &gpu_in_type(l, 1)->shape;
  if (gpu_count(gpu_out_type(l)) == 0) return;
  int batch = (int)RLX_ATTRS(gather_nd, l->node)->batch_dims, depth = (int)idx->v[idx->n - 1];
  size_t stride[RLX_MAX_RANK];
  rlx_strides(x, stride);
  uint64_t batches = 1, tuples = 1, run = 1;
  for (int i = 0; i < batch; i++) batches *= (uint64_t)idx->v[i];
  for (int i = batch; i < idx->n - 1; i++) tuples *= (uint64_t)idx->v[i];
  for (int i = batch + depth; i < x->n; i++) run *= (uint64_t)x->v[i];
  pick k = {.n = 3, .depth = (uint32_t)depth};
  k.axis[0] = (pick_axis){batches, batch ? stride[batch - 1] : 0, tuples * (uint64_t)depth};
  k.axis[1] = (pick_axis){tuples, 0, (uint64_t)depth};
  k.axis[2] = (pick_axis){run, 1, 0};
  for (int d = 0; d < depth; d++) k.size[d] = (uint64_t)x->v[batch + d], k.stride[d] = stride[batch + d];
  emit_pick(l, &k);
}

/* ---- one_hot, range ---- */

void gpu_lower_one_hot(gpu_lowering *l) {
  const rlx_attrs_one_hot *a = RLX_ATTRS(one_hot, l->node);
  const rlx_type *out = gpu_out_type(l);
  if (gpu_count(out) == 0) return;
  rlx_lines lines = rlx_lines_of(&out->shape, a->axis);
  gpu_params_one_hot p = {.elements = gpu_count(out), .depth = (uint32_t)lines.n, .inner = (uint32_t)lines.inner};
  uint32_t on[2] = {0}, off[2] = {0}, log = log_of(element_bytes(l));
  rlx_store_value(&(rlx_tensor){.dtype = out->dtype, .data = on}, 0, a->on);
  rlx_store_value(&(rlx_tensor){.dtype = out->dtype, .data = off}, 0, a->off);
  p.on = on[0], p.on_hi = on[1], p.off = off[0], p.off_hi = off[1];
  gpu_constants_one_hot c = {.log = log, .idx_t = (uint32_t)gpu_in_type(l, 0)->dtype};
  uint32_t items = log < 2 ? gpu_words(out) : p.elements;
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(one_hot, p, c), .groups = gpu_ceil_div(items, 128), .group_size = 128,
                            .windows = {gpu_in(l, 0), gpu_out(l)}});
}

static bool is_whole(double x) { return x == floor(x) && x >= -0x1p63 && x < 0x1p63; }

/* Whether all values are integers that the kernel computes exactly. */
static bool is_exact_range(const rlx_attrs_range *a, const rlx_type *out, int64_t *start, int64_t *step) {
  int64_t last;
  if (!is_whole(a->start) || !is_whole(a->step)) return false;
  *start = (int64_t)a->start, *step = (int64_t)a->step;
  if (!rlx_mul_i64((int64_t)gpu_count(out) - 1, *step, &last) || !rlx_add_i64(*start, last, &last)) return false;
  const int64_t max = (int64_t)1 << 24; /* f32 represents all integers up to this */
  return !gpu_is_float(out->dtype) || (*start >= -max && *start <= max && last >= -max && last <= max);
}

/* Fractions must be rounded as on the host, so the host computes them into a table. */
static void lower_fractions(gpu_lowering *l, const rlx_attrs_range *a) {
  enum { MAX_WORDS = 1 << 22 };
  const rlx_type *out = gpu_out_type(l);
  uint32_t n = gpu_words(out), *words;
  if (n > MAX_WORDS) {
    gpu_refuse(l, "a range of fractions of more than 16 MiB");
    return;
  }
  if (!(words = rlx_mem_calloc(n, sizeof *words))) {
    l->status = RLX_FAIL(RLX_NO_MEMORY, "a range of %u words", (unsigned)n);
    return;
  }
  rlx_range_fill(a, &(rlx_tensor){.dtype = out->dtype, .data = words}, 0, gpu_count(out));
  gpu_copy(l, gpu_table(l, words, n), gpu_out(l), (uint64_t)n * 4);
  rlx_mem_free(words);
}

void gpu_lower_range(gpu_lowering *l) {
  const rlx_attrs_range *a = RLX_ATTRS(range, l->node);
  const rlx_type *out = gpu_out_type(l);
  int64_t start, step;
  if (gpu_count(out) == 0) return;
  if (!is_exact_range(a, out, &start, &step)) {
    lower_fractions(l, a);
    return;
  }
  gpu_params_range p = {.elements = gpu_count(out),
                        .start = (uint32_t)start,
                        .start_hi = (uint32_t)((uint64_t)start >> 32),
                        .step = (uint32_t)step,
                        .step_hi = (uint32_t)((uint64_t)step >> 32)};
  gpu_constants_range c = {.t = (uint32_t)out->dtype};
  uint32_t items = out->dtype == RLX_I64 ? p.elements : gpu_words(out);
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(range, p, c), .groups = gpu_ceil_div(items, 128), .group_size = 128,
                            .windows = {gpu_out(l)}});
}
