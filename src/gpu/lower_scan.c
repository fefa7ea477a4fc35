/* Lowers cumulative sums, products and maxima. If lines are few and long, `reduce` first reduces each chunk; then all
 * chunks are scanned concurrently, each starting with the reduction of the chunks before it. */
#include "gpu/fold.h"
#include "gpu/lines.h"

enum { BLOCK = 8 }; /* elements that a lane takes at a time, as in kernels/scan.k */

typedef struct scan {
  gpu_lines lines;
  gpu_fold fold;
  rlx_dtype t;
  bool exclusive, reverse;
  uint32_t lanes, group;
  uint32_t blocks, chunks, chunk; /* per line: blocks, chunks; blocks per chunk */
} scan;

static void cut(const gpu_caps *caps, scan *s) {
  uint32_t max = s->group = gpu_group_of(caps, 256);
  s->blocks = gpu_ceil_div(s->lines.n, BLOCK);
  if (s->lines.inner > 1) max /= s->lines.inner < 32 ? gpu_power_of_two(s->lines.inner) : 32;
  s->lanes = gpu_power_of_two(s->blocks);
  if (s->lanes > max) s->lanes = max;
  s->chunks = 1, s->chunk = gpu_ceil_div(s->blocks, s->lanes) * s->lanes;
  uint32_t groups = gpu_ceil_div(s->lines.lines, s->group / s->lanes),
           enough = gpu_tuned(caps)->scan_groups * caps->units;
  uint32_t tiles = gpu_ceil_div(s->blocks, s->lanes), each = gpu_ceil_div(tiles, gpu_ceil_div(enough, groups));
  if (groups >= enough / 2 || tiles < 4) return;
  s->chunk = (each > 2 ? each : 2) * s->lanes;
  s->chunks = gpu_ceil_div(s->blocks, s->chunk);
}

/* Reduces each chunk of each line to two words. */
static gpu_window fold_chunks(gpu_lowering *l, const scan *s) {
  gpu_lines x = s->lines;
  gpu_window folds = gpu_work(l, (uint64_t)x.lines * s->chunks * 8);
  gpu_fold_axes a = {.lines = x.lines, .n = x.n, .n_axes = 1, .across = x.inner > 1};
  a.kept[0] = a.kept[1] = 1, a.kept[2] = x.lines / x.inner, a.kept[3] = x.inner;
  a.size[0] = a.size[1] = a.size[2] = 1, a.size[3] = x.n;
  a.kept_step[2] = x.n * x.inner, a.kept_step[3] = 1, a.step[3] = x.inner;
  gpu_fold_launch f = {.axes = &a, .fold = s->fold, .t = s->t, .stage = 1, .each = 1, .count = 1};
  f.cut = gpu_fold_cut_of(l->caps, &a);
  f.cut.chunks = s->chunks, f.cut.chunk = s->chunk * BLOCK;
  f.from = gpu_in(l, 0), f.to = folds;
  gpu_fold_emit(l, &f);
  return folds;
}

static void lower(gpu_lowering *l, scan s) {
  const rlx_type *y = gpu_out_type(l);
  uint32_t count = gpu_count(y);
  if (count == 0) return;
  gpu_in_place(l, 0); /* each element is read and written by one invocation, and chunks are reduced before */
  cut(l->caps, &s);
  bool packed = gpu_elements_per_word(s.t) > 1 && s.lines.inner == 1 && s.lines.n % gpu_elements_per_word(s.t) == 0;
  rlx_dtype written = packed ? s.t : gpu_fold_written(s.t);
  gpu_window to = written == s.t ? gpu_out(l) : gpu_work(l, (uint64_t)count * 4), folds = {0};
  if (s.chunks > 1) folds = fold_chunks(l, &s);
  gpu_params_scan p = {.lines = s.lines.lines,
                       .n = s.lines.n,
                       .inner = s.lines.inner,
                       .blocks = s.blocks,
                       .chunks = s.chunks,
                       .chunk = s.chunk,
                       .neutral = s.fold.neutral[0],
                       .neutral_high = s.fold.neutral[1]};
  gpu_constants_scan c = {.t = (uint32_t)s.t,
                          .op = (uint32_t)s.fold.op,
                          .lanes = s.lanes,
                          .strided = s.lines.inner > 1,
                          .exclusive = s.exclusive,
                          .reverse = s.reverse,
                          .packed = packed,
                          .cut = s.chunks > 1};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(scan, p, c), .groups = gpu_ceil_div(s.lines.lines, s.group / s.lanes) * s.chunks,
                            .group_size = s.group, .windows = {gpu_in(l, 0), to, folds}});
  if (written != s.t) gpu_convert(l, to, written, gpu_out(l), s.t, count);
}

void gpu_lower_scan(gpu_lowering *l) {
  const rlx_attrs_cumsum *a = RLX_ATTRS(cumsum, l->node); /* all three have the same attributes */
  const rlx_type *x = gpu_in_type(l, 0);
  gpu_fold_op sum = gpu_is_float(x->dtype) ? GPU_FOLD_PAIR : GPU_FOLD_SUM;
  gpu_fold_op op = l->node->op == RLX_OP_cumsum ? sum : l->node->op == RLX_OP_cumprod ? GPU_FOLD_PROD : GPU_FOLD_MAX;
  lower(l, (scan){.lines = gpu_lines_of(&x->shape, a->axis),
                  .fold = gpu_fold_of(op, x->dtype),
                  .t = x->dtype,
                  .exclusive = a->exclusive,
                  .reverse = a->reverse});
}
