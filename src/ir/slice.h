/* The rules of slice and pad: which input element each output element comes from.
 *
 * Shape inference, the reference, the passes and every backend use these functions, so they agree. Both rules are
 * NumPy's. Values below RLX_DIM_OPEN_END mean symbols, so an importer that wants "as far back as possible" must write a
 * number above that. */
#ifndef RLX_IR_SLICE_H
#define RLX_IR_SLICE_H

#include "ir/op.h"
#include "ir/shape.h"

/* One sliced axis: elements start, start + step, .., `count` of them, all inside the axis. If count is below 2 the step
 * is 1, so start + k * step and step * stride stay small whatever the attributes were. */
typedef struct rlx_slice_axis {
  int64_t start, step, count;
} rlx_slice_axis;

/* start:stop:step of an axis of n elements; n is a number and step not 0. Negative start and stop count from the end;
 * values beyond an end are clamped. */
rlx_slice_axis rlx_slice_axis_of(int64_t start, int64_t stop, int64_t step, int64_t n);

/* Resolves all axes of x and checks the attributes; axes not named are whole. An axis that is open (or sliced at a
 * symbol) has an open count: its own size if it is certainly whole, forward or backward, else unknown. */
rlx_status rlx_slice_resolve(const rlx_attrs_slice *a, const rlx_dims *x, rlx_slice_axis out[RLX_MAX_RANK]);

/* The source element, of an axis of n, for position `at` of the padded axis, counted from the first real element (so
 * negative before it); -1 if the border is constant there. n > 0 unless the mode is constant. Borders wider than the
 * axis continue to reflect or wrap. */
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
