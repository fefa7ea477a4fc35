/* How kernels that work along one axis are split over a device: lanes, chunks and groups (defined in kernels/lanes.kh).
 * A line is a 1-D slice along the axis. Softmax and the norms keep a line in registers, so a line must fit the lanes
 * times what a lane holds, or be split into chunks. */
#ifndef RLX_GPU_LINES_H
#define RLX_GPU_LINES_H

#include "gpu/gpu.h"
#include "ir/element.h"
#include "ir/walk.h"

enum { GPU_LANE_HOLDS = 32 }; /* elements of a line that a lane keeps in registers */

typedef struct gpu_lines {
  uint32_t lines, n, inner; /* number of lines; elements of each; their stride */
} gpu_lines;

typedef struct gpu_line_cut {
  uint32_t group, lanes;
  uint32_t per;           /* maximum of elements, or vectors, per lane */
  uint32_t chunks, chunk; /* chunks per line; elements, or vectors, in each except the last */
  uint32_t groups;
  uint32_t unit;      /* elements: 1 or 2 (kernels/line_elements.kh) */
  uint32_t is_across; /* lines are interleaved: neighbouring lines are contiguous in memory */
} gpu_line_cut;

gpu_lines gpu_lines_of(const rlx_dims *shape, int64_t axis);
uint32_t gpu_power_of_two(uint32_t n); /* the smallest >= n; n <= 2^31 */
/* The largest group size of the device that is at most `max`, a power of two. */
uint32_t gpu_group_of(const gpu_caps *caps, uint32_t max);

/* Whether lines are rows of whole 16-byte vectors: inner is 1, and n a multiple of a vector. */
bool gpu_lines_are_vectors(gpu_lines l, rlx_dtype t);
/* gpu_cut_elements is for kernels that hold elements, any lines; gpu_cut_vectors requires gpu_lines_are_vectors. */
gpu_line_cut gpu_cut_elements(const gpu_caps *caps, gpu_lines l, rlx_dtype t);
gpu_line_cut gpu_cut_vectors(const gpu_caps *caps, gpu_lines l, rlx_dtype t);

/* Kernels that hold elements write whole words. They write the result itself if a unit fills a word of it, otherwise
 * f32 in work memory, which gpu_line_finish converts. */
gpu_window gpu_line_result(gpu_lowering *l, const gpu_line_cut *cut, rlx_dtype t, uint32_t count, rlx_dtype *type);
void gpu_line_finish(gpu_lowering *l, gpu_window written, rlx_dtype type, rlx_dtype t, uint32_t count);

/* One row of n f32, a multiple of four: x / sqrt(mean(x^2) + eps) gamma (lower_norm.c). */
void gpu_rms_norm_row(gpu_lowering *l, gpu_window x, gpu_window gamma, uint32_t n, double eps, gpu_window to);

#endif
