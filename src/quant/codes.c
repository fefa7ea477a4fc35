/* Small float codes: a byte or a nibble to the f32 it stands for. Every code is exact in f32, so each function is a
 * plain rearrangement of bits and there is nothing to round. */
#include "quant/codes.h"

#include "quant/blocks.h"

/* s eeee mmm, bias 7. The finite variant spends no exponent on infinity: 0x7e is 448, only 0x7f and 0xff are NaN. */
float rlx_e4m3_to_f32(uint8_t code) {
  uint32_t sign = (uint32_t)(code & 0x80) << 24, exponent = (code >> 3) & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return rlx_f32_from_bits(sign | 0x7fc00000u);
  if (exponent == 0) {
    float magnitude = (float)mantissa * 0x1p-9f;
    return sign ? -magnitude : magnitude;
  }
  return rlx_f32_from_bits(sign | (exponent + 127 - 7) << 23 | mantissa << 20);
}

/* s eeeee mm: the upper byte of an f16, infinities and NaNs included. */
float rlx_e5m2_to_f32(uint8_t code) { return rlx_f16_to_f32((uint16_t)(code << 8)); }

/* s ee m, bias 1: no infinity, no NaN; code 8 is minus zero. */
float rlx_e2m1_to_f32(uint8_t code) {
  static const float values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                   -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
  return values[code & 15];
}
