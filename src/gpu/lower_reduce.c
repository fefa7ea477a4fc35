/* Lowers reductions over any set of axes. Axes of size 1 are dropped, and neighbouring axes that are both kept or both
 * reduced are merged. The rest alternate, so of eight axes at most four are reduced. If results are few and long, each
 * is split into chunks that many workgroups reduce into work memory, and a second dispatch reduces those. */
#include <math.h>

#include "gpu/fold.h"
#include "gpu/lines.h"

/* ---- reduction operators ---- */

static uint32_t float_key(uint32_t bits) { return bits >> 31 ? ~bits : bits | 0x80000000u; }

/* The neutral element as an order-preserving key: of the smallest value for a maximum; for a minimum of the largest,
 * complemented. */
static gpu_fold min_key(gpu_fold f, rlx_dtype t) {
  bool smallest = f.op == GPU_FOLD_MIN;
  uint32_t key = 0; /* correct for types that fill their words */
  switch (t) {
    case RLX_I8: key = smallest ? ~(0x80000000u + 127u) : 0x80000000u - 128u; break;
    case RLX_I16: key = smallest ? ~(0x80000000u + 32767u) : 0x80000000u - 32768u; break;
    case RLX_U8: key = smallest ? ~255u : 0; break;
    case RLX_I32:
    case RLX_U32:
    case RLX_I64: break;
    default: key = float_key(gpu_f32_bits(-(double)INFINITY)); break;
  }
  f.neutral[0] = key;
  return f;
}

gpu_fold gpu_fold_of(gpu_fold_op op, rlx_dtype t) {
  gpu_fold f = {.op = op};
  if (op == GPU_FOLD_MAX || op == GPU_FOLD_MIN) return min_key(f, t);
  if (op == GPU_FOLD_PROD) f.neutral[0] = gpu_is_float(t) ? gpu_f32_bits(1) : 1;
  return f;
}

rlx_dtype gpu_fold_written(rlx_dtype t) {
  if (gpu_is_float(t)) return RLX_F32;
  if (t == RLX_I64) return RLX_I64;
  return t == RLX_U8 || t == RLX_U32 ? RLX_U32 : RLX_I32;
}

/* ---- axes ---- */

static bool is_reduced(const rlx_dims *axes, int axis, int rank) {
  if (!axes->n) return true;
  for (int i = 0; i < axes->n; i++)
    if (rlx_axis_of(axes->v[i], rank) == axis) return true;
  return false;
}

/* Fills the lists from their ends, innermost axis first; neighbours of one kind are merged. */
static gpu_fold_axes fold_axes(const rlx_dims *shape, const rlx_dims *axes) {
  gpu_fold_axes a = {.lines = 1, .n = 1, .kept = {1, 1, 1, 1}, .size = {1, 1, 1, 1}};
  int at[2] = {4, 4}, last = -1;
  uint32_t step = 1;
  for (int i = shape->n - 1; i >= 0; i--) {
    uint32_t size = (uint32_t)shape->v[i];
    int kind = is_reduced(axes, i, shape->n);
    *(kind ? &a.n : &a.lines) *= size;
    if (size == 1) continue;
    uint32_t *sizes = kind ? a.size : a.kept, *steps = kind ? a.step : a.kept_step;
    if (kind == last) {
      sizes[at[kind]] *= size;
    } else {
      at[kind]--;
      sizes[at[kind]] = size;
      steps[at[kind]] = step;
      if (last < 0) a.across = kind == 0;
    }
    last = kind;
    step *= size;
  }
  a.n_axes = (uint32_t)(4 - at[1]);
  return a;
}

/* Uses words as items instead of elements if the innermost axis is reduced and made of whole words. */
static uint32_t items_of_words(gpu_fold_axes *a, rlx_dtype t) {
  uint32_t each = gpu_elements_per_word(t);
  if (each == 1 || a->across || !a->n_axes || a->size[3] % each) return 1;
  a->n /= each;
  a->size[3] /= each;
  for (int i = 0; i < 4; i++) {
    a->kept_step[i] /= each;
    if (i < 3) a->step[i] /= each;
  }
  return each;
}

/* ---- split over groups ---- */

enum { BATCH = 8 }; /* items that a lane loads at once */

gpu_fold_cut gpu_fold_cut_of(const gpu_caps *caps, const gpu_fold_axes *a) {
  uint32_t group = gpu_group_of(caps, 256), wanted = gpu_power_of_two(gpu_ceil_div(a->n, BATCH)), max = group;
  if (a->across) { /* enough neighbouring lines to coalesce a subgroup's read */
    uint32_t beside = gpu_power_of_two(a->kept[3]);
    max = group / (beside < 32 ? beside : 32);
  } else if (wanted < 32) {
    wanted = a->n < 32 ? gpu_power_of_two(a->n) : 32;
  }
  gpu_fold_cut c = {.lanes = wanted < max ? wanted : max, .group = group, .chunks = 1, .chunk = a->n ? a->n : 1};
  uint32_t groups = gpu_ceil_div(a->lines, group / c.lanes), enough = gpu_tuned(caps)->reduce_groups * caps->units;
  uint32_t smallest = c.lanes * BATCH * 2;
  if (groups >= enough / 2 || a->n < 2 * smallest) return c;
  uint32_t chunks = gpu_ceil_div(enough, groups), fit = gpu_ceil_div(a->n, smallest);
  c.chunk = gpu_ceil_div(a->n, chunks < fit ? chunks : fit);
  c.chunk = gpu_ceil_div(c.chunk, c.lanes) * c.lanes;
  c.chunks = gpu_ceil_div(a->n, c.chunk);
  return c;
}

void gpu_fold_emit(gpu_lowering *l, const gpu_fold_launch *f) {
  const gpu_fold_axes *a = f->axes;
  gpu_params_reduce p = {.lines = a->lines,
                         .n = a->n,
                         .chunks = f->cut.chunks,
                         .chunk = f->cut.chunk,
                         .kept1 = a->kept[1],
                         .kept2 = a->kept[2],
                         .kept3 = a->kept[3],
                         .kept_step0 = a->kept_step[0],
                         .kept_step1 = a->kept_step[1],
                         .kept_step2 = a->kept_step[2],
                         .kept_step3 = a->kept_step[3],
                         .size1 = a->size[1],
                         .size2 = a->size[2],
                         .size3 = a->size[3],
                         .step0 = a->step[0],
                         .step1 = a->step[1],
                         .step2 = a->step[2],
                         .step3 = a->step[3],
                         .neutral = f->fold.neutral[0],
                         .neutral_high = f->fold.neutral[1],
                         .count = f->count > 0 ? (float)f->count : 1,
                         .empty = f->count == 0};
  gpu_constants_reduce c = {.t = (uint32_t)f->t,
                            .op = (uint32_t)f->fold.op,
                            .lanes = f->cut.lanes,
                            .strided = a->across,
                            .stage = f->stage,
                            .each = f->each,
                            .axes = a->n_axes,
                            .batch = BATCH};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(reduce, p, c),
                            .groups = gpu_ceil_div(a->lines, f->cut.group / f->cut.lanes) * f->cut.chunks,
                            .group_size = f->cut.group, .windows = {f->from, f->to}});
}

/* ---- the ops ---- */

static void reduce(gpu_lowering *l, const rlx_dims *axes, gpu_fold_op op, bool mean) {
  const rlx_type *x = gpu_in_type(l, 0), *y = gpu_out_type(l);
  if (gpu_count(y) == 0) return;
  gpu_fold_axes a = fold_axes(&x->shape, axes);
  uint32_t count = a.n, n_out = gpu_count(y);
  gpu_window none = {0}, from = a.n ? gpu_in(l, 0) : none, to = gpu_out(l);
  rlx_dtype written = gpu_fold_written(y->dtype);
  if (written != y->dtype) to = gpu_work(l, (uint64_t)n_out * 4);
  gpu_fold_launch f = {.axes = &a,
                       .fold = gpu_fold_of(op, x->dtype),
                       .t = x->dtype,
                       .each = items_of_words(&a, x->dtype),
                       .count = mean ? count : 1,
                       .from = from,
                       .to = to};
  f.cut = gpu_fold_cut_of(l->caps, &a);
  if (f.cut.chunks == 1) {
    gpu_fold_emit(l, &f);
  } else {
    f.stage = 1;
    f.to = gpu_work(l, (uint64_t)n_out * f.cut.chunks * 8);
    gpu_fold_emit(l, &f);
    gpu_fold_axes parts = {
      .lines = n_out, .n = f.cut.chunks, .kept = {1, 1, 1, n_out}, .size = {1, 1, 1, f.cut.chunks}};
    parts.kept_step[3] = f.cut.chunks, parts.step[3] = 1, parts.n_axes = 1;
    gpu_fold_launch second = f;
    second.axes = &parts, second.stage = 2, second.from = f.to, second.to = to, second.each = 1;
    second.cut = gpu_fold_cut_of(l->caps, &parts);
    second.cut.chunks = 1, second.cut.chunk = parts.n;
    gpu_fold_emit(l, &second);
  }
  if (written != y->dtype) gpu_convert(l, to, written, gpu_out(l), y->dtype, n_out);
}

void gpu_lower_reduce(gpu_lowering *l) {
  const rlx_dims *axes = &RLX_ATTRS(reduce_sum, l->node)->axes; /* all five have the same attributes */
  switch (l->node->op) {
    case RLX_OP_reduce_sum: reduce(l, axes, GPU_FOLD_SUM, false); break;
    case RLX_OP_reduce_mean: reduce(l, axes, GPU_FOLD_SUM, true); break;
    case RLX_OP_reduce_prod: reduce(l, axes, GPU_FOLD_PROD, false); break;
    case RLX_OP_reduce_max: reduce(l, axes, GPU_FOLD_MAX, false); break;
    default: reduce(l, axes, GPU_FOLD_MIN, false); break;
  }
}
