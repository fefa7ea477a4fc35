/* f16 and bf16 conversion by integer arithmetic on the bits: the same result on every machine, whatever its rounding
 * mode or its handling of subnormals.
 *
 * One function narrows a double to either format. Read as an integer without its sign, a float's bits count the
 * representable values upwards from zero. So rounding up is adding one: a carry out of the mantissa increments the
 * exponent, and past the largest number it yields infinity. f32 converts through double, which is exact; only f32 to
 * bf16 is direct, because a bf16 is the upper half of an f32.
 *
 * Fast bulk conversion belongs to the CPU kernels, which must agree with this file. */
#include "base/half.h"

#include <string.h>

/* sig / 2^drop rounded to nearest even. 0 < drop < 64. */
static uint64_t shift_nearest_even(uint64_t sig, int drop) {
  uint64_t kept = sig >> drop;
  uint64_t rest = sig & (((uint64_t)1 << drop) - 1);
  uint64_t half = (uint64_t)1 << (drop - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

/* x in the 16-bit format with one sign bit, 15 - mantissa exponent bits and `mantissa` mantissa bits. */
static uint16_t narrow(double x, int mantissa) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint32_t sign = (uint32_t)(bits >> 63) << 15;
  int exponent = (int)(bits >> 52 & 0x7FF);
  uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
  int max_exponent = (1 << (15 - mantissa)) - 1; /* of infinity and NaN */
  uint32_t infinity = (uint32_t)max_exponent << mantissa;

  if (exponent == 0x7FF) {
    if (fraction == 0) return (uint16_t)(sign | infinity);
    uint32_t quiet = (uint32_t)1 << (mantissa - 1);
    return (uint16_t)(sign | infinity | quiet | (uint32_t)(fraction >> (52 - mantissa)));
  }
  /* zero, or a subnormal double: far below half of the target's smallest number */
  if (exponent == 0) return (uint16_t)sign;

  int target = exponent - 1023 + max_exponent / 2; /* the exponent field in the target; below 1: subnormal */
  if (target >= max_exponent) return (uint16_t)(sign | infinity);
  int drop = 52 - mantissa + (target < 1 ? 1 - target : 0);
  if (drop > 53) return (uint16_t)sign; /* below half of the smallest number */
  uint64_t kept = shift_nearest_even(fraction | (uint64_t)1 << 52, drop);
  /* A normal number's kept bits include the implicit leading one, which adds 1 to the field. */
  uint32_t field = target < 1 ? 0 : (uint32_t)(target - 1);
  return (uint16_t)(sign | ((field << mantissa) + (uint32_t)kept));
}

float rlx_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16;
  uint32_t exponent = h >> 10 & 0x1F, fraction = h & 0x3FF;
  if (exponent == 0x1F) return rlx_f32_from_bits(sign | 0x7F800000u | (fraction ? 0x00400000u : 0) | fraction << 13);
  if (exponent != 0) return rlx_f32_from_bits(sign | (exponent + (127 - 15)) << 23 | fraction << 13);
  /* Subnormal: fraction * 2^-24, which is exact and normal in f32. The sign bit is set separately, for -0. */
  return rlx_f32_from_bits(sign | rlx_f32_bits((float)fraction * 0x1p-24f));
}

uint16_t rlx_f32_to_f16(float x) { return narrow((double)x, 10); }
uint16_t rlx_f64_to_f16(double x) { return narrow(x, 10); }

float rlx_bf16_to_f32(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) bits |= 0x00400000u;
  return rlx_f32_from_bits(bits);
}

uint16_t rlx_f32_to_bf16(float x) {
  uint32_t bits = rlx_f32_bits(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x0040);
  return (uint16_t)shift_nearest_even(bits, 16);
}

uint16_t rlx_f64_to_bf16(double x) { return narrow(x, 7); }
