/* Block types: how packed weights are decoded and encoded.
 *
 * One row of a table per block type (quant.c) with its decoder and, where it has one, its encoder. A block is decoded
 * by itself: no state, no tables built at run time. Layouts are GGUF's (little endian). Not here: the scale-input
 * schemes of dequant_matmul, whose scalar codes (fp8, e2m1) are in codes.h. */
#ifndef RLX_QUANT_QUANT_H
#define RLX_QUANT_QUANT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

bool rlx_quant_is_block(rlx_dtype dtype);
bool rlx_quant_can_encode(rlx_dtype dtype);
/* rlx_quant_decode and rlx_quant_encode are public: rlx.h. */

#endif
