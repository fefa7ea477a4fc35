/* Checks the values of a tensor: the first invalid element, and whether all are zero. Used for checking files. */
#ifndef RLX_IO_VALUES_H
#define RLX_IO_VALUES_H

#include "rlx/rlx.h"

/* What is wrong with the first bad element of `bytes` bytes of a non-block type ("is not a number", "is infinite",
 * "is no bool"), and its index; NULL: nothing. */
const char *values_find_bad(rlx_dtype dtype, const void *data, size_t bytes, size_t *at);
/* Whether all are zeros, of either sign. */
bool values_are_zero(rlx_dtype dtype, const void *data, size_t bytes);
/* Whether an all-zero tensor of this name and type is worth a remark: biases and integers are not. */
bool values_should_differ(const char *name, rlx_dtype dtype);

#endif
