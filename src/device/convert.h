/* Arrays of one type as another, under the rules of `cast`: floats round to nearest even, integers saturate, bools are 0
 * or 1. Pointers need no alignment: they come from callers and from the middle of blocks.
 *
 * Not every pair is a conversion: c64 is only itself, and a block type is itself or is read as f32. */
#ifndef RLX_DEVICE_CONVERT_H
#define RLX_DEVICE_CONVERT_H

#include "ir/op.h"

/* RLX_INVALID for a dtype that does not exist, RLX_UNSUPPORTED (and why) for a pair that is no conversion. */
rlx_status rlx_convert_check(rlx_dtype from, rlx_dtype to);
/* count elements of a pair that was checked; whole blocks where one is a block type. The arrays do not overlap. */
rlx_status rlx_convert_array(rlx_dtype to, void *dst, rlx_dtype from, const void *src, size_t count);
/* The bytes of that many elements; they must be whole blocks, and were checked not to overflow. */
static inline uint64_t rlx_elements_bytes(rlx_dtype dtype, uint64_t count) {
  const rlx_dtype_info *t = rlx_dtype_describe(dtype);
  return count / t->block_elements * t->block_bytes;
}
/* The first byte that is neither 0 nor 1; n if there is none. */
size_t rlx_bools_check(const void *bytes, size_t n);

#endif
