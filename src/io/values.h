/* Numbers of a tensor, looked through: the first that is no good number, and whether all are zero. For checking files. */
#ifndef RLX_IO_VALUES_H
#define RLX_IO_VALUES_H

#include "rlx/rlx.h"

/* What is wrong with the first bad element of `bytes` bytes of a type without blocks ("is not a number", "is infinite", "is no bool"),
 * and which it is; NULL: nothing. */
const char *values_find_bad(rlx_dtype dtype, const void *data, size_t bytes, size_t *at);
/* Whether all of them are zeros, of either sign. */
bool values_are_zero(rlx_dtype dtype, const void *data, size_t bytes);
/* Whether zeros in all of a tensor of this name and type are worth a remark: biases begin so, integers may be so. */
bool values_should_differ(const char *name, rlx_dtype dtype);

#endif
