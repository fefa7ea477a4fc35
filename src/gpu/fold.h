/* Reductions and scans on the GPU: what their lowerings share. The enum values are those of kernels/fold.kh. */
#ifndef RLX_GPU_FOLD_H
#define RLX_GPU_FOLD_H

#include "gpu/gpu.h"

typedef enum gpu_fold_op { GPU_FOLD_SUM, GPU_FOLD_PROD, GPU_FOLD_MAX, GPU_FOLD_MIN, GPU_FOLD_PAIR } gpu_fold_op;

typedef struct gpu_fold {
  gpu_fold_op op;
  uint32_t neutral[2]; /* the neutral accumulator, as defined in kernels/fold.kh */
} gpu_fold;

gpu_fold gpu_fold_of(gpu_fold_op op, rlx_dtype t);

/* The type that reduction kernels write: f32, i32, u32 or i64, the widest of t's kind. When that is not t, the kernels
 * write to work memory and gpu_convert converts the result. */
rlx_dtype gpu_fold_written(rlx_dtype t);

/* The axes of a reduction, in items (an item is one element, or a word of narrow ones): kept and reduced axes, at most
 * four of each, outermost first, padded in front with sizes of 1. Strides (kept_step, step) are in items. */
typedef struct gpu_fold_axes {
  uint32_t lines, n; /* results; items reduced into each */
  uint32_t kept[4], kept_step[4], size[4], step[4];
  uint32_t n_axes; /* reduced */
  bool across;     /* neighbouring lines are contiguous in memory, neighbouring items of a line are not */
} gpu_fold_axes;

/* How the items of a line are split over lanes, workgroups and chunks. */
typedef struct gpu_fold_cut {
  uint32_t lanes, group, chunks, chunk;
} gpu_fold_cut;
gpu_fold_cut gpu_fold_cut_of(const gpu_caps *caps, const gpu_fold_axes *a);

/* One dispatch of kernel `reduce`. stage 0: elements to results; 1: elements to two words per line and chunk; 2: those
 * words to results, split as in `cut`. `each`: elements per item. count: the divisor of a mean, otherwise 1. */
typedef struct gpu_fold_launch {
  const gpu_fold_axes *axes;
  gpu_fold_cut cut;
  gpu_fold fold;
  rlx_dtype t;
  uint32_t stage, each;
  double count;
  gpu_window from, to;
} gpu_fold_launch;
void gpu_fold_emit(gpu_lowering *l, const gpu_fold_launch *f);

#endif
