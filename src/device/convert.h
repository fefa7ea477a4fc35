/* Converts arrays between dtypes, under the rules of `cast`: floats round to nearest even, integers saturate, bools are
 * 0 or 1. Pointers need no alignment: they come from callers and from the middle of blocks.
 *
 * Not every pair is supported: c64 converts only to itself, and a block type only to itself or, when read, to f32. */
#ifndef RLX_DEVICE_CONVERT_H
#define RLX_DEVICE_CONVERT_H

#include "ir/op.h"

/* RLX_INVALID for an unknown dtype, RLX_UNSUPPORTED (with the reason) for a pair that cannot be converted. */
rlx_status rlx_convert_check(rlx_dtype from, rlx_dtype to);
/* Converts `count` elements of a checked pair; whole blocks if one is a block type. The arrays do not overlap. */
rlx_status rlx_convert_array(rlx_dtype to, void *dst, rlx_dtype from, const void *src, size_t count);
/* The bytes of `count` elements, which must be whole blocks. The caller has checked that they do not overflow. */
static inline uint64_t rlx_elements_bytes(rlx_dtype dtype, uint64_t count) {
  const rlx_dtype_info *t = rlx_dtype_describe(dtype);
  return count / t->block_elements * t->block_bytes;
}
/* The index of the first byte that is neither 0 nor 1; n if there is none. */
size_t rlx_bools_check(const void *bytes, size_t n);

#endif
