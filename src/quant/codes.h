/* Small float codes: fp8 e4m3 (finite variant: max 448, 0x7f and 0xff are NaN), fp8 e5m2, e2m1 (fp4), e8m0 scales. */
#ifndef RLX_QUANT_CODES_H
#define RLX_QUANT_CODES_H

#include <stdint.h>

float rlx_e4m3_to_f32(uint8_t code);
float rlx_e5m2_to_f32(uint8_t code);
float rlx_e2m1_to_f32(uint8_t code); /* the low 4 bits */

#endif
