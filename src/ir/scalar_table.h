/* The scalar formulas by op, for code that meets an op at run time.
 *
 * A pass that folds or simplifies, and a kernel that serves a family, look the op up here; code that knows its op calls
 * ir/scalar.h directly. Results are unrounded: floats in double, integers in 64 bits. Whoever stores them rounds, once,
 * to the node's own type. A chain of element-wise nodes evaluated one by one therefore has the same bits as the same
 * chain inside a region, as long as each step of the region is stored in (or rounded to) its own type: running the
 * kernels rlx_ref_get(op) of the body's nodes in order does exactly that. */
#ifndef RLX_IR_SCALAR_TABLE_H
#define RLX_IR_SCALAR_TABLE_H

#include "ir/op.h"

/* One family's pair of functions is set; all are NULL for an op that is in none of the three families. */
typedef struct rlx_scalar_row {
  double (*unary)(double x, double alpha, double beta);
  int64_t (*int_unary)(int64_t i); /* NULL where the op claims no integers */
  double (*binary)(double a, double b);
  int64_t (*int_binary)(int64_t i, int64_t j, int bits); /* bits: the width of the type */
  bool (*compare)(double a, double b);
  bool (*int_compare)(int64_t i, int64_t j);
} rlx_scalar_row;

const rlx_scalar_row *rlx_scalar_get(rlx_op op); /* never NULL */

#endif
