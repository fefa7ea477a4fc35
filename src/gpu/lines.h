/* How kernels that work along one axis are laid out on a device: lanes, chunks and groups (kernels/lanes.kh says what these
 * are). Softmax and the norms hold a line in registers, so their lines must fit lanes times what a lane holds, or be cut. */
#ifndef RLX_GPU_LINES_H
#define RLX_GPU_LINES_H

#include "gpu/gpu.h"
#include "ir/element.h"
#include "ir/walk.h"

enum { GPU_LANE_HOLDS = 32 }; /* elements of a line that a lane has in registers */

typedef struct gpu_lines {
  uint32_t lines, n, inner; /* lines of n elements, `inner` apart */
} gpu_lines;

typedef struct gpu_line_cut {
  uint32_t group, lanes;
  uint32_t per;           /* elements, or vectors, that a lane holds at most */
  uint32_t chunks, chunk; /* per line; elements, or vectors, in each but the last */
  uint32_t groups;
  uint32_t unit;      /* of elements: 1 or 2 (kernels/line_elements.kh) */
  uint32_t is_across; /* lines lie beside each other */
} gpu_line_cut;

gpu_lines gpu_lines_of(const rlx_dims *shape, int64_t axis);
uint32_t gpu_power_of_two(uint32_t n); /* the least that is >= n; n <= 2^31 */
/* The largest group the device has that is no larger than `max`, a power of two. */
uint32_t gpu_group_of(const gpu_caps *caps, uint32_t max);

/* Whether lines are rows of whole 16-byte vectors. */
bool gpu_lines_are_vectors(gpu_lines l, rlx_dtype t);
/* For kernels that hold elements: any lines. For those that hold vectors: where lines are. */
gpu_line_cut gpu_cut_elements(const gpu_caps *caps, gpu_lines l, rlx_dtype t);
gpu_line_cut gpu_cut_vectors(const gpu_caps *caps, gpu_lines l, rlx_dtype t);

/* Kernels that hold elements write words: of the result itself where its words are made of whole units, else of f32 in
 * work memory, which gpu_line_finish packs. */
gpu_window gpu_line_result(gpu_lowering *l, const gpu_line_cut *cut, rlx_dtype t, uint32_t count, rlx_dtype *type);
void gpu_line_finish(gpu_lowering *l, gpu_window written, rlx_dtype type, rlx_dtype t, uint32_t count);

/* One row of n f32, a multiple of four: x / sqrt(mean(x^2) + eps) gamma (lower_norm.c). */
void gpu_rms_norm_row(gpu_lowering *l, gpu_window x, gpu_window gamma, uint32_t n, double eps, gpu_window to);

#endif
