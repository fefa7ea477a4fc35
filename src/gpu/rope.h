/* What lowerings that rotate share (lower_rope.c). */
#ifndef RLX_GPU_ROPE_H
#define RLX_GPU_ROPE_H

#include "gpu/gpu.h"

/* The table `turns` of kernels/angles.kh: per pair, revolutions per position, as the integer part and 64 fraction
 * bits. */
gpu_window gpu_rope_turns(gpu_lowering *l, uint32_t pairs, double theta);

#endif
