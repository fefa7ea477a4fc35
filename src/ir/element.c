/* Conversion of one element between types, by the rules of `cast`. */
#include "ir/element.h"

#include "ir/dtype.h"

static bool holds_floats(rlx_dtype t) { return rlx_dtype_is_float(t) || rlx_dtype_is_float8(t); }

void rlx_store_value(rlx_tensor *dst, size_t k, double x) {
  if (holds_floats(dst->dtype)) {
    rlx_store(dst, k, x);
  } else if (dst->dtype == RLX_U64) {
    uint64_t v = !(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
    rlx_store_int(dst, k, (int64_t)v);
  } else if (dst->dtype == RLX_BOOL) {
    rlx_store_int(dst, k, x != 0); /* true for NaN */
  } else {
    int64_t lo = rlx_dtype_min(dst->dtype), hi = rlx_dtype_max(dst->dtype);
    rlx_store_int(dst, k, x != x ? 0 : x <= (double)lo ? lo : x >= (double)hi ? hi : (int64_t)x);
  }
}

/* An integer to be converted to a float type narrower than f64. If the double is inexact its last bit is set (round to
 * odd), so that the second rounding, to the narrow type, gives the correctly rounded result. */
static double whole_to_odd(uint64_t m) {
  if (m >> 53) m = (m >> 11 | ((m & 0x7ff) != 0)) << 11;
  return (double)m;
}
static double int_to_odd(int64_t v) { return v < 0 ? -whole_to_odd(0 - (uint64_t)v) : whole_to_odd((uint64_t)v); }

/* A value above INT64_MAX. */
static void convert_large(rlx_tensor *dst, size_t k, uint64_t v) {
  if (holds_floats(dst->dtype)) rlx_store(dst, k, dst->dtype == RLX_F64 ? (double)v : whole_to_odd(v));
  else if (dst->dtype == RLX_U64) rlx_store_int(dst, k, (int64_t)v);
  else rlx_store_int(dst, k, rlx_dtype_max(dst->dtype)); /* 1 for bool */
}

void rlx_convert(rlx_tensor *dst, size_t k, const rlx_tensor *src, size_t i) {
  if (holds_floats(src->dtype)) {
    rlx_store_value(dst, k, rlx_load(src, i));
    return;
  }
  int64_t v = rlx_load_int(src, i);
  if (src->dtype == RLX_U64 && v < 0) {
    convert_large(dst, k, (uint64_t)v);
    return;
  }
  if (dst->dtype == RLX_U64) {
    rlx_store_int(dst, k, v < 0 ? 0 : v);
    return;
  }
  if (holds_floats(dst->dtype)) {
    rlx_store(dst, k, dst->dtype == RLX_F64 ? (double)v : int_to_odd(v));
    return;
  }
  int64_t lo = rlx_dtype_min(dst->dtype), hi = rlx_dtype_max(dst->dtype);
  if (dst->dtype == RLX_BOOL) v = v != 0;
  rlx_store_int(dst, k, v < lo ? lo : v > hi ? hi : v);
}
