/* Moving elements on the GPU: what the lowerings of moving, indexing and transforming share.
 *
 * A box says, for a dense result of some axes, where in the source each element comes from: per axis a stride (0 repeats,
 * negative goes back) and a mode (kernels/axes.kh) that makes borders, wraps and mirrors. gpu_move brings a box to its simplest
 * form (axes that walk on from one another are one axis; neighbours on both sides are a longer element, up to 16 bytes) and
 * chooses the kernel: the tiled transpose where it fits, the strided copy else. */
#ifndef RLX_GPU_MOVE_H
#define RLX_GPU_MOVE_H

#include "gpu/gpu.h"

enum { GPU_BOX_RANK = 2 * RLX_MAX_RANK };

typedef enum gpu_axis_mode { /* the numbers of axes.kh */
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
  gpu_axis axis[GPU_BOX_RANK]; /* the last is the fastest */
  int64_t from;                /* the source's element where all axes are at place 0 */
  uint32_t size;               /* bytes of an element: 1, 2, 4, 8 */
  uint32_t fill[2];            /* what borders hold: an element repeated to 8 bytes */
  uint32_t triangle;      /* 0 all, 1 column <= row + k, 2 column >= row + k, of planes that lie one after another */
  uint32_t rows, columns; /* of such a plane */
  int32_t k;
} gpu_box;

/* Emits the box, in elements of the windows given. */
void gpu_move(gpu_lowering *l, gpu_box box, gpu_window from, gpu_window to);
/* `bytes`, rounded up to whole words, of one window into another; onto itself it is left out when a program is made. */
void gpu_copy(gpu_lowering *l, gpu_window from, gpu_window to, uint64_t bytes);

/* ---- for kernels that take item numbers apart (axes.kh) ---- */

/* i / d = mulhi(i, *m) >> *s for i < 2^31; d > 1. */
void gpu_magic(uint32_t d, uint32_t *m, uint32_t *s);
/* The words of up to 16 axes, the fastest first, as axes.kh wants them: the first four for the parameters from d0 on, the
 * rest in a table. */
typedef struct gpu_axes {
  int n; /* axes that are there */
  uint32_t words[GPU_BOX_RANK][6];
} gpu_axes;
/* Adds one behind (outside of) those that are there. */
void gpu_axes_add(gpu_axes *a, uint32_t dim, int64_t stride, uint32_t lo, uint32_t n, uint32_t mode);
uint32_t gpu_axes_rank(const gpu_axes *a); /* the constant RANK; after all have been added */
/* The outermost needs no division: to be called once all are there. Gives the table, GPU_NONE where it is not needed. */
gpu_window gpu_axes_table(gpu_lowering *l, gpu_axes *a);
/* Groups of `size` invocations for so many items, up to four each, `step` apart. */
typedef struct gpu_grid {
  uint32_t groups, size, step;
} gpu_grid;
gpu_grid gpu_grid_of(const gpu_lowering *l, uint32_t items);
/* log2 of the longest element (at most 16 bytes) of which `n` numbers of elements of `size` bytes are multiples. */
uint32_t gpu_unit_log(uint32_t size, const uint64_t *numbers, int n);

/* update, where its rows are turned first (lower_rope.c). */

#endif
