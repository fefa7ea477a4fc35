/* Softmax and log-softmax. */
#include "gpu/gpu.h"

void gpu_lower_softmax(gpu_lowering *l) {
  const rlx_type *x = gpu_in_type(l, 0);
  int axis = rlx_axis_of(RLX_ATTRS(softmax, l->node)->axis, x->shape.n);
  if (axis != x->shape.n - 1) {
    gpu_refuse(l, "softmax along an axis that is not the last");
    return;
  }
  uint32_t cols = (uint32_t)x->shape.v[axis], n = gpu_count(x);
  bool packs = cols % gpu_elements_per_word(x->dtype) == 0;
  if (!packs) {
    gpu_refuse(l, "rows of narrow elements that do not end at words");
    return;
  }
  gpu_params_softmax p = {.cols = cols};
  uint32_t c[] = {(uint32_t)x->dtype, l->node->op == RLX_OP_log_softmax};
  gpu_in_place(l, 0);
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(softmax, p, c), .groups = cols ? n / cols : 0, .windows = {gpu_in(l, 0), gpu_out(l)}});
}
