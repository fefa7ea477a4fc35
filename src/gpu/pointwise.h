/* Element-wise programs for the kernels pointwise, pointwise4 and pointwise64: what kernels/pointwise_ops.kh describes, made
 * of a node. A single op is a region of one node. */
#ifndef RLX_GPU_POINTWISE_H
#define RLX_GPU_POINTWISE_H

#include "gpu/gpu.h"
#include "gpu/kernels/pointwise_ops.kh"

typedef struct pw_operand {
  gpu_window window;
  rlx_dtype dtype;
  size_t stride[RLX_MAX_RANK]; /* in elements, by axis of the result; after merging by merged axis */
} pw_operand;

typedef struct pw_program {
  uint32_t steps[PW_STEPS], n_steps;
  uint32_t low[PW_IMMEDIATES], high[PW_IMMEDIATES], n_immediates; /* high: of i64 */
  pw_operand operands[PW_INPUTS];
  uint32_t n_operands;
  bool is_wide; /* a value of 64 bits is among them */
} pw_program;

/* The node's program, with strides by axis of the result. Refuses through l what no program can say. */
void pw_build(gpu_lowering *l, pw_program *p);

/* lower_quant.c */
void gpu_lower_cast_blocks(gpu_lowering *l);

#endif
