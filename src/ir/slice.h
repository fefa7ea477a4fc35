/* Where moved elements come from: the rules of slice and pad, written once.
 *
 * Shape inference, the reference, the passes and every backend must agree on which elements x[start:stop:step] names
 * and what lies in a border. They all ask here. Both rules are NumPy's. Very negative ends (below RLX_DIM_OPEN_END)
 * mean symbols, so whoever imports "as far back as there is" writes a number above that. */
#ifndef RLX_IR_SLICE_H
#define RLX_IR_SLICE_H

#include "ir/op.h"
#include "ir/shape.h"

/* One axis cut: elements start, start + step, .., `count` of them, all inside the axis. A step that is never taken
 * (count below 2) is 1, so start + k * step and step * stride stay small whatever the attributes were. */
typedef struct rlx_slice_axis {
  int64_t start, step, count;
} rlx_slice_axis;

/* start:stop:step of an axis of n elements, n a number and step not 0. Negative start and stop count from the end; what
 * is past an end is cut to it. */
rlx_slice_axis rlx_slice_axis_of(int64_t start, int64_t stop, int64_t step, int64_t n);

/* All axes of x under a slice's attributes; axes not named are whole. Checks the attributes. An axis that is open (or
 * cut at a symbol) has an open count: its own size where it is certainly whole, forward or backward, else unknown. */
rlx_status rlx_slice_resolve(const rlx_attrs_slice *a, const rlx_dims *x, rlx_slice_axis out[RLX_MAX_RANK]);

/* The element of an axis of n that stands at place `at` of the padded axis, counted from the first real element (so
 * negative before it); -1 where the border holds the constant. n > 0 unless the mode is constant. Borders wider than
 * the axis go on reflecting or wrapping. */
static inline int64_t rlx_pad_source(int32_t mode, int64_t at, int64_t n) {
  if (at >= 0 && at < n) return at;
  if (mode == RLX_PAD_CONSTANT) return -1;
  if (mode == RLX_PAD_EDGE || n == 1) return at < 0 ? 0 : n - 1;
  int64_t period = mode == RLX_PAD_WRAP ? n : 2 * (n - 1);
  int64_t k = at % period;
  if (k < 0) k += period;
  return k < n ? k : period - k;
}

#endif
