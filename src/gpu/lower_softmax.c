/* Lowers softmax and log_softmax: softmax4 for rows of whole vectors, softmax for every other shape. Lines that are
 * long and few, or too long for registers, take two dispatches, with each chunk's maximum and sum in work memory. */
#include "gpu/lines.h"

static void rows_of_vectors(gpu_lowering *l, gpu_lines x, rlx_dtype t, uint32_t is_log) {
  gpu_line_cut cut = gpu_cut_vectors(l->caps, x, t);
  gpu_params_softmax4 p = {
    .rows = x.lines, .cols = x.n / (16 / (uint32_t)rlx_dtype_size(t)), .chunks = cut.chunks, .chunk = cut.chunk};
  gpu_window stats = {0};
  if (cut.chunks > 1) stats = gpu_work(l, (uint64_t)x.lines * cut.chunks * 8);
  for (uint32_t stage = cut.chunks > 1; stage <= (cut.chunks > 1 ? 2 : 0); stage++) {
    gpu_constants_softmax4 c = {
      .t = (uint32_t)t, .is_log = is_log, .lanes = cut.lanes, .vecs = cut.per, .stage = stage};
    gpu_emit(l, &(gpu_launch){GPU_KERNEL(softmax4, p, c), .groups = cut.groups, .group_size = cut.group,
                              .windows = {gpu_in(l, 0), gpu_out(l), stats}});
  }
}

static void any_lines(gpu_lowering *l, gpu_lines x, rlx_dtype t, uint32_t is_log) {
  gpu_line_cut cut = gpu_cut_elements(l->caps, x, t);
  gpu_params_softmax p = {.lines = x.lines, .n = x.n, .inner = x.inner, .chunks = cut.chunks, .chunk = cut.chunk};
  uint32_t count = gpu_count(gpu_out_type(l));
  rlx_dtype type;
  gpu_window y = gpu_line_result(l, &cut, t, count, &type), stats = {0};
  if (cut.chunks > 1) stats = gpu_work(l, (uint64_t)x.lines * cut.chunks * 8);
  for (uint32_t stage = cut.chunks > 1; stage <= (cut.chunks > 1 ? 2 : 0); stage++) {
    gpu_constants_softmax c = {.t = (uint32_t)t,
                               .ty = (uint32_t)type,
                               .unit = cut.unit,
                               .lanes = cut.lanes,
                               .per = cut.per,
                               .strided = cut.is_across,
                               .stage = stage,
                               .is_log = is_log};
    gpu_emit(l, &(gpu_launch){GPU_KERNEL(softmax, p, c), .groups = cut.groups, .group_size = cut.group,
                              .windows = {gpu_in(l, 0), y, stats}});
  }
  gpu_line_finish(l, y, type, t, count);
}

void gpu_lower_softmax(gpu_lowering *l) {
  const rlx_type *x = gpu_in_type(l, 0);
  gpu_lines lines =
    gpu_lines_of(&x->shape, RLX_ATTRS(softmax, l->node)->axis); /* log_softmax has the same attributes */
  uint32_t is_log = l->node->op == RLX_OP_log_softmax;
  gpu_in_place(l, 0);
  if (gpu_count(x) == 0) return;
  if (gpu_lines_are_vectors(lines, x->dtype)) rows_of_vectors(l, lines, x->dtype, is_log);
  else any_lines(l, lines, x->dtype, is_log);
}
