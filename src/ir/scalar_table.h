/* The scalar formulas by op, for code that dispatches on an op at run time: passes that fold or simplify, and kernels
 * that serve a family. Code for one fixed op calls ir/scalar.h directly.
 *
 * Results are not rounded: floats are double, integers 64 bits. The caller rounds once, to the node's type, when it
 * stores. So a chain of element-wise nodes evaluated one by one gives the same bits as the same chain inside a region,
 * if each step of the region is rounded to its own type; running the kernels rlx_ref_get(op) of the body's nodes in
 * order does exactly that. */
#ifndef RLX_IR_SCALAR_TABLE_H
#define RLX_IR_SCALAR_TABLE_H

#include "ir/op.h"

/* One family's pair of functions is set; all are NULL for other ops. */
typedef struct rlx_scalar_row {
  double (*unary)(double x, double alpha, double beta);
  int64_t (*int_unary)(int64_t i); /* NULL if the op does not support integers */
  double (*binary)(double a, double b);
  int64_t (*int_binary)(int64_t i, int64_t j, int bits); /* bits: the width of the type */
  bool (*compare)(double a, double b);
  bool (*int_compare)(int64_t i, int64_t j);
} rlx_scalar_row;

const rlx_scalar_row *rlx_scalar_get(rlx_op op); /* never NULL */

#endif
