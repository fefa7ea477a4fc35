/* Data movement on the GPU: what the lowerings of moves, indexed access and transforms share.
 *
 * A gpu_box maps each element of a dense result to an element of the source: per axis a stride (0 broadcasts, negative
 * reverses) and a mode (kernels/axes.kh) for borders, wraps and reflections. gpu_move simplifies a box (contiguous axes
 * are merged; elements contiguous on both sides become one longer element, up to 16 bytes) and chooses the kernel: the
 * tiled transpose if it applies, otherwise the strided copy. */
#ifndef RLX_GPU_MOVE_H
#define RLX_GPU_MOVE_H

#include "gpu/gpu.h"

enum { GPU_BOX_RANK = 2 * RLX_MAX_RANK };

typedef enum gpu_axis_mode { /* the values of axes.kh */
                             GPU_AXIS_LINEAR,
                             GPU_AXIS_BORDER,
                             GPU_AXIS_EDGE,
                             GPU_AXIS_ROLL,
                             GPU_AXIS_WRAP,
                             GPU_AXIS_REFLECT
} gpu_axis_mode;

typedef struct gpu_axis {
  uint32_t dim;
  int64_t stride; /* elements of the source per step */
  gpu_axis_mode mode;
  uint32_t lo, n; /* see axes.kh */
} gpu_axis;

typedef struct gpu_box {
  int n;
  gpu_axis axis[GPU_BOX_RANK]; /* the last one is innermost */
  int64_t from;                /* the source's element where all axes are at index 0 */
  uint32_t size;               /* bytes of an element: 1, 2, 4, 8 */
  uint32_t fill[2];            /* value of borders: an element repeated to 8 bytes */
  uint32_t triangle;           /* of consecutive planes: 0 all, 1 column <= row + k, 2 column >= row + k */
  uint32_t rows, columns;      /* of such a plane */
  int32_t k;
} gpu_box;

/* Emits the box, in elements of the windows given. */
void gpu_move(gpu_lowering *l, gpu_box box, gpu_window from, gpu_window to);
/* Copies `bytes`, rounded up to whole words. A copy onto itself is left out when a program is created. */
void gpu_copy(gpu_lowering *l, gpu_window from, gpu_window to, uint64_t bytes);

/* ---- for kernels that decompose item numbers into indices (axes.kh) ---- */

/* i / d = mulhi(i, *m) >> *s for i < 2^31; d > 1. */
void gpu_magic(uint32_t d, uint32_t *m, uint32_t *s);
/* Up to 16 axes, innermost first, encoded for axes.kh: the first four are passed as the parameters from d0 on, the rest
 * in a table. */
typedef struct gpu_axes {
  int n; /* axes added so far */
  uint32_t words[GPU_BOX_RANK][6];
} gpu_axes;
/* Adds an axis outside the present ones. */
void gpu_axes_add(gpu_axes *a, uint32_t dim, int64_t stride, uint32_t lo, uint32_t n, uint32_t mode);
uint32_t gpu_axes_rank(const gpu_axes *a); /* the constant RANK; call after all axes were added */
/* Call once, after all axes were added: the outermost needs no division. Returns the table, or GPU_NONE if none is
 * needed. */
gpu_window gpu_axes_table(gpu_lowering *l, gpu_axes *a);
/* Workgroups of `size` invocations for `items` items. An invocation takes up to four, `step` apart. */
typedef struct gpu_grid {
  uint32_t groups, size, step;
} gpu_grid;
gpu_grid gpu_grid_of(const gpu_lowering *l, uint32_t items);
/* log2 of the largest element size (at most 16 bytes) that divides all `numbers`, given in elements of `size` bytes. */
uint32_t gpu_unit_log(uint32_t size, const uint64_t *numbers, int n);

#endif
