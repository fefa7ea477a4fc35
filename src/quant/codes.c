/* Four-bit float codes as exact f32 values. */
#include "quant/codes.h"

/* s ee m, bias 1: no infinity, no NaN; code 8 is minus zero. */
float rlx_e2m1_to_f32(uint8_t code) {
  static const float values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                   -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
  return values[code & 15];
}
