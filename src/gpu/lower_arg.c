/* Lowers argmax and argmin; also used for sampling at temperature 0, which returns the likeliest token. */
#include "gpu/order.h"

enum { IN_FLIGHT = 4 }; /* elements that a lane of the kernel loads at once */

/* Few long lines: chunks of one load per lane, as far as the device has room for workgroups. */
static gpu_fold_cut cut_of(const gpu_caps *caps, const gpu_fold_axes *axes) {
  gpu_fold_cut cut = gpu_fold_cut_of(caps, axes);
  if (cut.chunks == 1) return cut;
  const uint32_t blocks = gpu_ceil_div(axes->lines, cut.group / cut.lanes), each = cut.lanes * IN_FLIGHT,
                 room = gpu_ceil_div(2 * caps->units, blocks), chunks = gpu_ceil_div(axes->n, each);
  if (chunks <= cut.chunks || room <= cut.chunks) return cut;
  cut.chunk = gpu_ceil_div(gpu_ceil_div(axes->n, chunks < room ? chunks : room), each) * each;
  cut.chunks = gpu_ceil_div(axes->n, cut.chunk);
  return cut;
}

/* The best of each chunk: a few items, so a lane takes one. */
static gpu_fold_cut second_cut_of(const gpu_caps *caps, const gpu_fold_axes *parts) {
  gpu_fold_cut cut = gpu_fold_cut_of(caps, parts);
  while (cut.chunks == 1 && cut.lanes < cut.group && cut.lanes < parts->n) cut.lanes *= 2;
  return cut;
}

void gpu_arg_emit(gpu_lowering *l, const gpu_arg *a) {
  gpu_fold_axes axes = {.lines = a->lines.lines, .n = a->lines.n, .across = a->lines.inner > 1};
  axes.kept[3] = a->lines.inner;
  gpu_fold_cut cut = cut_of(l->caps, &axes);
  gpu_params_arg p = {
    .lines = a->lines.lines, .n = a->lines.n, .inner = a->lines.inner, .chunks = cut.chunks, .chunk = cut.chunk};
  gpu_window best = {0};
  if (cut.chunks > 1) best = gpu_work(l, (uint64_t)a->lines.lines * cut.chunks * 12);
  gpu_constants_arg c = {.t = (uint32_t)a->t,
                         .smallest = a->smallest,
                         .lanes = cut.lanes,
                         .strided = axes.across,
                         .stage = cut.chunks > 1,
                         .to = (uint32_t)a->to,
                         .is_token = a->is_token};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(arg, p, c),
                            .groups = gpu_ceil_div(a->lines.lines, cut.group / cut.lanes) * cut.chunks,
                            .group_size = cut.group, .windows = {gpu_in(l, 0), gpu_out(l), best}});
  if (cut.chunks == 1) return;
  /* The second stage reduces the best of each chunk: rows of `chunks` items. */
  gpu_fold_axes parts = {.lines = a->lines.lines, .n = cut.chunks};
  gpu_fold_cut second = second_cut_of(l->caps, &parts);
  p = (gpu_params_arg){.lines = a->lines.lines, .n = cut.chunks, .inner = 1, .chunks = 1, .chunk = cut.chunks};
  c.lanes = second.lanes, c.strided = 0, c.stage = 2;
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(arg, p, c), .groups = gpu_ceil_div(a->lines.lines, second.group / second.lanes),
                            .group_size = second.group, .windows = {gpu_in(l, 0), gpu_out(l), best}});
}

void gpu_lower_arg(gpu_lowering *l) {
  const rlx_attrs_argmax *a = RLX_ATTRS(argmax, l->node); /* argmin has the same attributes */
  const rlx_type *x = gpu_in_type(l, 0);
  if (gpu_count(gpu_out_type(l)) == 0) return;
  gpu_arg_emit(l, &(gpu_arg){.lines = gpu_lines_of(&x->shape, a->axis),
                             .t = x->dtype,
                             .to = gpu_out_type(l)->dtype,
                             .smallest = l->node->op == RLX_OP_argmin});
}
