#include "base/float8.h"

#include <math.h>

#include "base/half.h"

/* s eeee mmm, bias 7. The finite variant spends no exponent on infinity: 0x7e is 448. */
float rlx_e4m3_to_f32(uint8_t code) {
  uint32_t sign = (uint32_t)(code & 0x80) << 24, exponent = (code >> 3) & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return rlx_f32_from_bits(sign | 0x7fc00000u);
  if (exponent == 0) {
    float magnitude = (float)mantissa * 0x1p-9f;
    return sign ? -magnitude : magnitude;
  }
  return rlx_f32_from_bits(sign | (exponent + 127 - 7) << 23 | mantissa << 20);
}

/* s eeeee mm: infinities and NaNs included. */
float rlx_e5m2_to_f32(uint8_t code) { return rlx_f16_to_f32((uint16_t)(code << 8)); }

/* Codes without their sign count upwards, so a number rounded up to the next power of two is the next code. */
static uint8_t encode(double x, int mantissa_bits, int bias, unsigned largest, unsigned nan) {
  unsigned sign = signbit(x) ? 0x80 : 0, code;
  double size = fabs(x);
  int exponent = 1 - bias;
  if (x != x) return (uint8_t)(sign | nan);
  if (size >= 0x1p17) return (uint8_t)(sign | largest);
  if (size >= ldexp(1, exponent)) exponent = ilogb(size);
  code = (unsigned)nearbyint(ldexp(size, mantissa_bits - exponent)); /* exact, then halves to even */
  code += (unsigned)(exponent + bias - 1) << mantissa_bits;          /* the leading one adds one to the exponent */
  return (uint8_t)(sign | (code > largest ? largest : code));
}

uint8_t rlx_f64_to_e4m3(double x) { return encode(x, 3, 7, 0x7e, 0x7f); }
uint8_t rlx_f64_to_e5m2(double x) { return encode(x, 2, 15, 0x7b, 0x7e); }
