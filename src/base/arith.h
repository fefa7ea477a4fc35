/* Checked size arithmetic: returns false if the result does not fit, and then leaves *out unchanged. Rounding up to an
 * alignment can overflow as well, so rlx_pad_size belongs here. */
#ifndef RLX_BASE_ARITH_H
#define RLX_BASE_ARITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool rlx_mul_size(size_t a, size_t b, size_t *out) {
  if (a != 0 && b > SIZE_MAX / a) return false;
  *out = a * b;
  return true;
}
static inline bool rlx_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
  if (a != 0 && b > UINT64_MAX / a) return false;
  *out = a * b;
  return true;
}
/* Whether a number of bytes is one that an object in memory can have: on a 32-bit machine not every uint64_t is. */
static inline bool rlx_fits_memory(uint64_t bytes) { return bytes <= (uint64_t)PTRDIFF_MAX; }
static inline bool rlx_add_size(size_t a, size_t b, size_t *out) {
  if (b > SIZE_MAX - a) return false;
  *out = a + b;
  return true;
}
/* Rounds a up to a multiple of align (any align > 0). */
static inline bool rlx_pad_size(size_t a, size_t align, size_t *out) {
  size_t rest = a % align;
  return rlx_add_size(a, rest ? align - rest : 0, out);
}
static inline bool rlx_pad_u64(uint64_t a, uint64_t align, uint64_t *out) {
  const uint64_t rest = a % align ? align - a % align : 0;
  if (rest > UINT64_MAX - a) return false;
  *out = a + rest;
  return true;
}
static inline bool rlx_add_i64(int64_t a, int64_t b, int64_t *out) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
  *out = a + b;
  return true;
}
static inline bool rlx_mul_i64(int64_t a, int64_t b, int64_t *out) {
  if (a != 0 && b != 0) {
    if (a > 0 && (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a)) return false;
    if (a < 0 && (b > 0 ? a < INT64_MIN / b : b < INT64_MAX / a)) return false;
  }
  *out = a * b;
  return true;
}

#endif
