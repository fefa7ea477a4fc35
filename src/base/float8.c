/* 8-bit floats: exact decoding, and encoding with one rounding. */
#include "base/float8.h"

#include <math.h>

#include "base/half.h"

/* 1 sign, 4 exponent (bias 7), 3 mantissa bits. The finite variant has no infinity: the largest code, 0x7e, is 448. */
float rlx_e4m3_to_f32(uint8_t code) {
  uint32_t sign = (uint32_t)(code & 0x80) << 24, exponent = (code >> 3) & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return rlx_f32_from_bits(sign | 0x7fc00000u);
  if (exponent == 0) {
    float magnitude = (float)mantissa * 0x1p-9f;
    return sign ? -magnitude : magnitude;
  }
  return rlx_f32_from_bits(sign | (exponent + 127 - 7) << 23 | mantissa << 20);
}

/* 1 sign, 5 exponent, 2 mantissa bits, with infinities and NaNs: the upper byte of an f16. */
float rlx_e5m2_to_f32(uint8_t code) { return rlx_f16_to_f32((uint16_t)(code << 8)); }

/* Codes without their sign increase with the value, so rounding up to the next power of two yields the next code. */
static uint8_t encode(double x, int mantissa_bits, int bias, unsigned largest, unsigned nan) {
  unsigned sign = signbit(x) ? 0x80 : 0, code;
  double size = fabs(x);
  int exponent = 1 - bias;
  if (x != x) return (uint8_t)(sign | nan);
  if (size >= 0x1p17) return (uint8_t)(sign | largest);
  if (size >= ldexp(1, exponent)) exponent = ilogb(size);
  code = (unsigned)nearbyint(ldexp(size, mantissa_bits - exponent)); /* exact scaling, then round half to even */
  code += (unsigned)(exponent + bias - 1) << mantissa_bits;          /* the leading one adds one to the exponent */
  return (uint8_t)(sign | (code > largest ? largest : code));
}

uint8_t rlx_f64_to_e4m3(double x) { return encode(x, 3, 7, 0x7e, 0x7f); }
uint8_t rlx_f64_to_e5m2(double x) { return encode(x, 2, 15, 0x7b, 0x7e); }
