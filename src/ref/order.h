/* A stable sort of a line's positions, for the ops that order and for sample. */
#ifndef RLX_REF_ORDER_H
#define RLX_REF_ORDER_H

#include "ref/ref.h"

/* A line's elements, widened for comparison: f64 for any float dtype, int64 for any integer. */
typedef struct rlx_ref_keys {
  const double *f; /* one of the two is set */
  const int64_t *i;
} rlx_ref_keys;

/* A merge sort of the positions 0 .. n-1; the result is in *order, which may have been swapped with *spare. */
void rlx_ref_sort_positions(rlx_ref_call *c, const rlx_ref_keys *key, bool descending, size_t n, size_t **order,
                            size_t **spare);

#endif
