/* Sliding windows: the arithmetic that convolutions, pools and im2col share.
 *
 * A window slides over the spatial axes (those after N and C): per axis a kernel size, stride, dilation and padding at
 * both ends. Tap k of output position o reads input position o * stride + k * dilation - pad_lo. The arrays here always
 * hold three axes: with fewer spatial axes the leading ones are trivial (kernel 1, stride 1, no padding), so one triple
 * loop serves 1-d, 2-d and 3-d. Shape rules use this to check attributes and compute sizes; kernels and the reference
 * use it to iterate. Channels, groups and element types are not handled here. */
#ifndef RLX_IR_CONV_DIMS_H
#define RLX_IR_CONV_DIMS_H

#include "ir/op.h"
#include "ir/shape.h"

#define RLX_SPATIAL 3

typedef struct rlx_conv_window {
  int axes;                    /* 1 .. 3 axes in use: the last entries of the arrays */
  int64_t kernel[RLX_SPATIAL]; /* may be open in a graph with symbols */
  int64_t stride[RLX_SPATIAL], dilation[RLX_SPATIAL], pad_lo[RLX_SPATIAL], pad_hi[RLX_SPATIAL];
} rlx_conv_window;

/* Reads the attribute lists (each empty for its default 1, 1, 0, 0, or one number per spatial axis) and checks them:
 * 1 to 3 axes, kernel, stride and dilation at least 1, padding at least 0. `kernel` has `axes` sizes. */
rlx_status rlx_window_read(const rlx_dims *stride, const rlx_dims *dilation, const rlx_dims *pad_lo,
                           const rlx_dims *pad_hi, const int64_t *kernel, int axes, rlx_conv_window *out);
/* The same for an attribute struct that has the four lists under these names. */
#define RLX_WINDOW_READ(attrs, kernel, axes, out) \
  rlx_window_read(&(attrs)->stride, &(attrs)->dilation, &(attrs)->pad_lo, &(attrs)->pad_hi, kernel, axes, out)

/* A kernel that is an attribute: one number per spatial axis, each at least 1. */
rlx_status rlx_window_check_kernel(const rlx_dims *kernel, int axes);

/* Output positions along one of the three axes of an input of size `in`. The kernel must fit the padded input. With
 * `ceil` a last, partly covered position is added unless it would start in the far padding (PyTorch's rule). Open sizes
 * give an open result: the same symbol if the size certainly does not change. */
rlx_status rlx_window_out(const rlx_conv_window *w, int axis, int64_t in, bool ceil, int64_t *out);
/* The transposed size: (in - 1) * stride - pads + dilation * (kernel - 1) + output_pad + 1, at least 0. */
rlx_status rlx_window_out_transposed(const rlx_conv_window *w, int axis, int64_t in, int64_t output_pad, int64_t *out);
/* The result shape: {n, channels}, then rlx_window_out of each spatial axis of x. Open sizes are computed by the
 * algebra of g. */
rlx_status rlx_window_shape(const rlx_graph *g, const rlx_conv_window *w, const rlx_dims *x, bool ceil,
                            int64_t channels, rlx_dims *out);

/* The attributes of pool_max and pool_avg, checked; without a kernel the window is the whole plane of x. */
typedef struct rlx_pool_window {
  rlx_conv_window window;
  bool whole; /* the whole plane: one position per axis, even if its size is open */
  bool ceil, count_pad;
} rlx_pool_window;
rlx_status rlx_pool_read(rlx_op op, const void *attrs, const rlx_dims *x, rlx_pool_window *out);

/* For kernels (all sizes known). The spatial sizes of a shape [N, C, ..], with 1 for the missing leading axes. */
void rlx_window_sizes(const rlx_dims *shape, int64_t size[RLX_SPATIAL]);
/* The input position of tap 0 of output position o. */
static inline int64_t rlx_window_start(const rlx_conv_window *w, int axis, int64_t o) {
  return o * w->stride[axis] - w->pad_lo[axis];
}
/* The taps first .. end-1 of output position o that lie inside 0 .. in-1; first == end if there are none. */
void rlx_window_taps(const rlx_conv_window *w, int axis, int64_t o, int64_t in, int64_t *first, int64_t *end);

#endif
