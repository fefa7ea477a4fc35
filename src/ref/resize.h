/* Where resize reads: the rule of coordinates, for all that must agree on it. */
#ifndef RLX_REF_RESIZE_H
#define RLX_REF_RESIZE_H

#include "ir/op.h"

/* An output index lies between input indices lo and hi; hi has this weight (0: lo == hi), lo has the rest. */
typedef struct rlx_resize_place {
  int64_t lo, hi;
  double weight;
} rlx_resize_place;

/* Of index i along an axis that goes from `in` to `out` elements, both at least 1. */
rlx_resize_place rlx_resize_place_of(const rlx_attrs_resize *a, int axis, int64_t i, int64_t in, int64_t out);

#endif
