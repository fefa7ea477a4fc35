/* The tolerance of a device's result against the reference's (SPEC section 8), and the comparison. */
#ifndef RLX_REF_COMPARE_H
#define RLX_REF_COMPARE_H

#include "ir/graph.h"

typedef struct rlx_tolerance {
  double rtol, atol; /* per element: |y - r| <= atol + rtol |r|; infinite: only `whole` counts */
  double whole;      /* relative error of the whole tensor */
  /* Not 0: atol is scaled by the root mean square, where that is above 1, of each group of this many elements of r
   * (SIZE_MAX: of all). */
  size_t rms_group;
  bool signs; /* -0 differs from 0 */
} rlx_tolerance;
rlx_tolerance rlx_tolerance_of(const rlx_graph *g, rlx_node result);
/* The same, and for ops that are element-wise or move elements, zeros keep their sign: for conformance. In sums and
 * products over an axis the sign of a zero depends on the order, so it is not specified. */
rlx_tolerance rlx_tolerance_strict(const rlx_graph *g, rlx_node result);
/* The same for a device that may quantise activations to 8 bits per block where weights are a block type. */
rlx_tolerance rlx_tolerance_rounded(const rlx_graph *g, rlx_node result);

/* Widens a tolerance for a device that may round f32 to f16 where it is multiplied with f16 (RLX_SWITCH_FAST_F16): in
 * products, and in attention with f16 keys and values. */
rlx_tolerance rlx_tolerance_fast_f16(const rlx_graph *g, rlx_tolerance t);

typedef struct rlx_difference {
  double error; /* the largest error relative to the tolerance: 1 is the limit */
  double worst; /* the largest absolute difference */
  size_t at;    /* its element */
} rlx_difference;
/* RLX_OK if within the tolerance, else RLX_INVALID with a message. */
rlx_status rlx_compare_values(const rlx_tensor *y, const rlx_tensor *r, rlx_tolerance tol, rlx_difference *out);
/* The same where only the error is needed. */
rlx_status rlx_compare(const rlx_tensor *y, const rlx_tensor *r, rlx_tolerance tol, double *error);

#endif
