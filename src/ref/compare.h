/* When is a result right? How far a device's value may be from the reference's (SPEC section 8), and the comparison. */
#ifndef RLX_REF_COMPARE_H
#define RLX_REF_COMPARE_H

#include "ir/graph.h"

typedef struct rlx_tolerance {
  double rtol, atol; /* per element: |y - r| <= atol + rtol |r|; infinite: only the whole counts */
  double whole;      /* relative error of the whole tensor */
  size_t
    size_of;  /* not 0: atol is times the root mean square, where that is more than 1, of so many elements of r in turn
                      * (SIZE_MAX: of all) */
  bool signs; /* -0 is not 0 */
} rlx_tolerance;
rlx_tolerance rlx_tolerance_of(const rlx_graph *g, rlx_node result);
/* The same, and of ops that work element by element or move elements zeros keep their sign: for conformance. Of sums and
 * products over an axis the sign of a zero depends on the order, so it is nobody's promise. */
rlx_tolerance rlx_tolerance_strict(const rlx_graph *g, rlx_node result);
/* The same for a device that may round activations to 8 bits per block where weights are of a block type. */
rlx_tolerance rlx_tolerance_rounded(const rlx_graph *g, rlx_node result);

typedef struct rlx_difference {
  double error; /* the largest error as a share of the tolerance: 1 is the limit */
  double worst; /* the largest absolute difference */
  size_t at;    /* of which element */
} rlx_difference;
/* RLX_OK if inside, RLX_INVALID with a message if not. */
rlx_status rlx_compare_values(const rlx_tensor *y, const rlx_tensor *r, rlx_tolerance tol, rlx_difference *out);
/* The same where only the error is wanted. */
rlx_status rlx_compare(const rlx_tensor *y, const rlx_tensor *r, rlx_tolerance tol, double *error);

#endif
