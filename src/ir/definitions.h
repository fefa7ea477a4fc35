/* Parts of op definitions that are more than a formula, on which kernels, rewrites and the reference must agree bit for
 * bit. They are checked against other libraries (tests/golden), not against each other. */
#ifndef RLX_IR_DEFINITIONS_H
#define RLX_IR_DEFINITIONS_H

#include "ir/op.h"

/* ---- rope: the frequency of pair i, theta^(-i / pairs) ---- */
double rlx_rope_frequency(double theta, int64_t i, int64_t pairs);

/* ---- range: elements begin .. end - 1 ---- */
void rlx_range_fill(const rlx_attrs_range *a, rlx_tensor *out, size_t begin, size_t end);

/* ---- resize: the input positions that it reads ---- */
/* An output index maps between input indices lo and hi; hi has this weight (0: lo == hi), lo has the rest. */
typedef struct rlx_resize_place {
  int64_t lo, hi;
  double weight;
} rlx_resize_place;

/* For index i along an axis that is resized from `in` to `out` elements, both at least 1. */
rlx_resize_place rlx_resize_place_of(const rlx_attrs_resize *a, int axis, int64_t i, int64_t in, int64_t out);

#endif
