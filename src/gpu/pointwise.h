/* Builds the programs of the element-wise kernels pointwise, pointwise4 and pointwise64 from a node. The program format
 * is in kernels/pointwise_ops.kh. A single op is treated as a region of one node. */
#ifndef RLX_GPU_POINTWISE_H
#define RLX_GPU_POINTWISE_H

#include "gpu/gpu.h"
#include "gpu/kernels/pointwise_ops.kh"

typedef struct pw_operand {
  gpu_window window;
  rlx_dtype dtype;
  size_t stride[RLX_MAX_RANK]; /* in elements, per axis of the result; after merging, per merged axis */
} pw_operand;

typedef struct pw_program {
  uint32_t steps[PW_STEPS], n_steps;
  uint32_t low[PW_IMMEDIATES], high[PW_IMMEDIATES], n_immediates; /* high: only for i64 */
  pw_operand operands[PW_INPUTS];
  uint32_t n_operands;
  bool is_wide; /* has a 64-bit value */
} pw_program;

/* Builds the node's program, with strides per axis of the result. Refuses through l what programs cannot express. */
void pw_build(gpu_lowering *l, pw_program *p);

/* lower_quant.c */
void gpu_lower_cast_blocks(gpu_lowering *l);

#endif
