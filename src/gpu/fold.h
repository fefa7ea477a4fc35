/* What the lowerings of reductions and running reductions share: the numbers of kernels/fold.kh. */
#ifndef RLX_GPU_FOLD_H
#define RLX_GPU_FOLD_H

#include "gpu/gpu.h"

typedef enum gpu_fold_op { GPU_FOLD_SUM, GPU_FOLD_PROD, GPU_FOLD_MAX, GPU_FOLD_MIN, GPU_FOLD_PAIR } gpu_fold_op;

typedef struct gpu_fold {
  gpu_fold_op op;
  uint32_t neutral[2]; /* as kernels fold it */
} gpu_fold;

gpu_fold gpu_fold_of(gpu_fold_op op, rlx_dtype t);

/* What kernels that fold write: an f32, an i32 or u32, or an i64; the widest of the kind of t. Where that is not t itself
 * the words are in work memory, and gpu_convert makes the result of them. */
rlx_dtype gpu_fold_written(rlx_dtype t);

/* Items to fold of a tensor, by axes: kept and reduced ones, each at most four, outermost first, in front of which sizes of
 * 1 stand. Steps are in items. */
typedef struct gpu_fold_axes {
  uint32_t lines, n; /* results; items of each */
  uint32_t kept[4], kept_step[4], size[4], step[4];
  uint32_t n_axes; /* reduced */
  bool across;     /* neighbouring lines lie beside each other, not neighbouring items */
} gpu_fold_axes;

/* Items shared out among lanes and groups. */
typedef struct gpu_fold_cut {
  uint32_t lanes, group, chunks, chunk;
} gpu_fold_cut;
gpu_fold_cut gpu_fold_cut_of(const gpu_caps *caps, const gpu_fold_axes *a);

/* One dispatch of kernel `reduce`. stage 0: elements to results; 1: elements to two words per line and chunk; 2: those to
 * results, where `cut` says how they were cut. `each`: elements in an item. count: that of a mean, else 1. */
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
