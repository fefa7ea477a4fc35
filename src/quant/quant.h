/* Block types: decoding and encoding of packed weights.
 *
 * Each block is decoded by itself, without state or tables built at run time. Layouts are those of GGUF (little
 * endian). dequant_matmul with separate scale inputs does not use block types; its scalar codes (fp8, e2m1) are in
 * codes.h. */
#ifndef RLX_QUANT_QUANT_H
#define RLX_QUANT_QUANT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

bool rlx_quant_is_block(rlx_dtype dtype);
bool rlx_quant_can_encode(rlx_dtype dtype);
/* rlx_quant_decode and rlx_quant_encode are public: rlx.h. */
/* The same with a weight for the squared error of each element, finite and from about 1e-6 to 1e6; NULL: 1 for each.
 * tq1_0, tq2_0 and q8_k take no weights. */
rlx_status rlx_quant_encode_weighted(rlx_dtype dtype, const float *src, const float *weight, void *dst, size_t n);
/* Whole blocks of q8_0 or q4_0, the types that states may have; fast, and not as close as rlx_quant_encode. */
void rlx_quant_round(rlx_dtype dtype, const float *src, void *dst, size_t n);

#endif
