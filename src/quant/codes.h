/* Small float codes: e2m1 (fp4); those of 8 bits are in base/float8.h. */
#ifndef RLX_QUANT_CODES_H
#define RLX_QUANT_CODES_H

#include "base/float8.h"

float rlx_e2m1_to_f32(uint8_t code); /* the low 4 bits */

#endif
