/* Windows: the arithmetic that convolutions, pools and im2col share.
 *
 * A window is what slides over the spatial axes (those after N and C): per axis a kernel size, stride, dilation and
 * padding at both ends. Tap k of output place o looks at input place o * stride + k * dilation - pad_lo. The arrays
 * here always hold three axes: with fewer spatial axes the first ones are trivial (kernel 1, stride 1, no padding), so
 * that one triple loop serves 1-d, 2-d and 3-d. Shape rules use this to check attributes and to size results; reference
 * kernels use it to walk. It knows nothing of channels, groups or element types. */
#ifndef RLX_IR_CONV_DIMS_H
#define RLX_IR_CONV_DIMS_H

#include "ir/op.h"
#include "ir/shape.h"

#define RLX_SPATIAL 3

typedef struct rlx_conv_window {
  int axes;                    /* 1 .. 3 in use: the last ones of the arrays */
  int64_t kernel[RLX_SPATIAL]; /* may be open while the graph is */
  int64_t stride[RLX_SPATIAL], dilation[RLX_SPATIAL], pad_lo[RLX_SPATIAL], pad_hi[RLX_SPATIAL];
} rlx_conv_window;

/* Reads the attribute lists (each empty for its default 1, 1, 0, 0, or one number per spatial axis) and checks them:
 * 1 to 3 axes, kernel, stride and dilation at least 1, padding at least 0. `kernel` has `axes` sizes. */
rlx_status rlx_window_read(const rlx_dims *stride, const rlx_dims *dilation, const rlx_dims *pad_lo,
                           const rlx_dims *pad_hi, const int64_t *kernel, int axes, rlx_conv_window *out);
/* The same from an attribute struct that has the four lists under these names. */
#define RLX_WINDOW_READ(attrs, kernel, axes, out) \
  rlx_window_read(&(attrs)->stride, &(attrs)->dilation, &(attrs)->pad_lo, &(attrs)->pad_hi, kernel, axes, out)

/* A kernel that is an attribute: one number per spatial axis, each at least 1. */
rlx_status rlx_window_check_kernel(const rlx_dims *kernel, int axes);

/* Places a window takes along one of the three axes of an input of size `in`. The kernel must fit the padded input.
 * With `ceil` a last, partly covered place is added unless it would start in the far padding (PyTorch's rule). Open
 * sizes give an open result, the same symbol where the size certainly does not change. */
rlx_status rlx_window_out(const rlx_conv_window *w, int axis, int64_t in, bool ceil, int64_t *out);
/* The other direction: (in - 1) * stride - pads + dilation * (kernel - 1) + output_pad + 1, at least 0. */
rlx_status rlx_window_out_transposed(const rlx_conv_window *w, int axis, int64_t in, int64_t output_pad, int64_t *out);
/* A whole result: {n, channels} and then rlx_window_out of each spatial axis of x. */
rlx_status rlx_window_shape(const rlx_conv_window *w, const rlx_dims *x, bool ceil, int64_t channels, rlx_dims *out);

/* The attributes of pool_max and pool_avg, checked; without a kernel the window is the whole plane of x. */
typedef struct rlx_pool_window {
  rlx_conv_window window;
  bool whole; /* the plane: one place per axis, also where its size is open */
  bool ceil, count_pad;
} rlx_pool_window;
rlx_status rlx_pool_read(rlx_op op, const void *attrs, const rlx_dims *x, rlx_pool_window *out);

/* For kernels (all sizes known). The spatial sizes of a shape [N, C, ..], with 1 for the missing leading axes. */
void rlx_window_sizes(const rlx_dims *shape, int64_t size[RLX_SPATIAL]);
/* Input place of tap 0 of output place o. */
static inline int64_t rlx_window_start(const rlx_conv_window *w, int axis, int64_t o) {
  return o * w->stride[axis] - w->pad_lo[axis];
}
/* The taps first .. end-1 of output place o that lie inside 0 .. in-1; first == end where none does. */
void rlx_window_taps(const rlx_conv_window *w, int axis, int64_t o, int64_t in, int64_t *first, int64_t *end);

#endif
