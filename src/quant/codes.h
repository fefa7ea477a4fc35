/* Small float codes: e2m1 (fp4). The 8-bit ones are in base/float8.h. */
#ifndef RLX_QUANT_CODES_H
#define RLX_QUANT_CODES_H

#include "base/float8.h"

float rlx_e2m1_to_f32(uint8_t code); /* of the low 4 bits */

#endif
