/* 8-bit floats: e4m3 (the finite variant: largest 448, no infinities, 0x7f and 0xff are NaN) and e5m2 (an f16's upper
 * byte). Every code is exact in f32. A double is rounded once, to nearest even. Values beyond the largest finite one,
 * and infinities, become the largest (ONNX's Cast with `saturate`). NaN stays NaN. */
#ifndef RLX_BASE_FLOAT8_H
#define RLX_BASE_FLOAT8_H

#include <stdint.h>

float rlx_e4m3_to_f32(uint8_t code);
float rlx_e5m2_to_f32(uint8_t code);
uint8_t rlx_f64_to_e4m3(double x);
uint8_t rlx_f64_to_e5m2(double x);

#endif
