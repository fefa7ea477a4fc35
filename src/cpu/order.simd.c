/* argmax and argmin of a contiguous line. Each block is first reduced to its extreme, which is fast in vectors. Only
 * the first block that holds the overall extreme is then searched for its position. */
#include "cpu/order.h"
#include "cpu/simd.h"

enum { BLOCK = 1024 };

#define EXTREME(name, T, LOAD, LOAD_ONE)                                                    \
  /* The maximum of n > 0 elements times `sign` (-1 for the minimum); NaN if one is NaN. */ \
  static float name##_block(const T *x, size_t n, float sign) {                             \
    float best = -INFINITY;                                                                 \
    size_t i = 0;                                                                           \
    if (n >= VF_LANES) {                                                                    \
      vf top = vf_set(-INFINITY), by = vf_set(sign), nans = vf_zero();                      \
      for (; i + VF_LANES <= n; i += VF_LANES) {                                            \
        vf v = vf_mul(LOAD(x + i), by);                                                     \
        top = vf_max(v, top); /* the second where either is NaN */                          \
        nans = vf_select(vf_is_nan(v), v, nans);                                            \
      }                                                                                     \
      if (vm_any(vf_is_nan(nans))) return NAN;                                              \
      best = vf_hmax(top);                                                                  \
    }                                                                                       \
    for (; i < n; i++) {                                                                    \
      float v = LOAD_ONE(x[i]) * sign;                                                      \
      if (v != v) return NAN;                                                               \
      best = v > best ? v : best;                                                           \
    }                                                                                       \
    return best;                                                                            \
  }                                                                                         \
  static size_t name(const T *x, size_t n, bool largest) {                                  \
    float sign = largest ? 1.0f : -1.0f, best = 0;                                          \
    size_t block = 0, end = 0;                                                              \
    for (size_t at = 0; at < n && !(best != best); at += BLOCK) {                           \
      size_t count = n - at < BLOCK ? n - at : BLOCK;                                       \
      float v = name##_block(x + at, count, sign);                                          \
      if (at == 0 || v > best || v != v) best = v, block = at, end = at + count;            \
    }                                                                                       \
    for (size_t i = block; i < end; i++) {                                                  \
      float v = LOAD_ONE(x[i]) * sign;                                                      \
      if (v == best || (v != v && best != best)) return i;                                  \
    }                                                                                       \
    return block;                                                                           \
  }

CPU_INLINE float one_f32(float x) { return x; }
CPU_INLINE float one_f16(uint16_t x) {
  vf v = vf_load_f16_n(&x, 1);
  float lanes[VF_LANES];
  vf_store(lanes, v);
  return lanes[0];
}
CPU_INLINE float one_bf16(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
EXTREME(extreme_f32, float, vf_load, one_f32)
EXTREME(extreme_f16, uint16_t, vf_load_f16, one_f16)
EXTREME(extreme_bf16, uint16_t, vf_load_bf16, one_bf16)

static size_t extreme(rlx_dtype dtype, const void *x, size_t n, bool largest) {
  if (dtype == RLX_F16) return extreme_f16(x, n, largest);
  return dtype == RLX_BF16 ? extreme_bf16(x, n, largest) : extreme_f32(x, n, largest);
}

const cpu_order_table CPU_TABLE(cpu_order) = {extreme};
