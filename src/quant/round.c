/* Rounding to q8_0 and q4_0 at once, for rows of keys and values: one pass over a block, no search. encode.c fits
 * scales to weights, which takes a hundred times as long.
 *
 * The largest magnitude of a block gives its scale: of q8_0 it becomes code 127 or -127, of q4_0 code -8 whatever its
 * sign, as that side has one level more. These are the rules, and the bits, of llama.cpp's cache. A block with an
 * element that is not finite decodes to numbers that are not finite, so that they are found as they are in f32. */
#include <math.h>

#include "quant/blocks.h"
#include "quant/quant.h"

/* The element of the largest magnitude, the first of several; NaN counts as the largest. Bits without the sign are
 * ordered as magnitudes are. */
static float largest(const float *x) {
  uint32_t max = 0;
  for (int i = 0; i < SMALL_BLOCK; i++) {
    const uint32_t bits = rlx_f32_bits(x[i]) & 0x7fffffffu;
    max = bits > max ? bits : max;
  }
  for (int i = 0; i < SMALL_BLOCK; i++)
    if ((rlx_f32_bits(x[i]) & 0x7fffffffu) == max) return x[i];
  return 0;
}

/* Stores the scale and gives its inverse; 0 where all codes are those of 0: the scale is 0 or not finite. */
static float store_scale(float d, uint8_t *block) {
  const float inverse = 1 / d;
  store_le16(block, rlx_f32_to_f16(d));
  return isfinite(d) && isfinite(inverse) ? inverse : 0;
}

static void round_q8_0(const float *x, uint8_t *block) {
  const float inverse = store_scale(fabsf(largest(x)) / 127, block + Q8_0_D);
  memset(block + Q8_0_QS, 0, SMALL_BLOCK);
  for (int i = 0; i < SMALL_BLOCK && inverse != 0; i++) {
    const float q = x[i] * inverse;
    block[Q8_0_QS + i] = (uint8_t)(int32_t)(q + copysignf(0.5f, q));
  }
}

static uint32_t nibble_of(float q) {
  const int32_t code = (int32_t)(q + 8.5f);
  return (uint32_t)(code < 15 ? code : 15);
}

static void round_q4_0(const float *x, uint8_t *block) {
  const float inverse = store_scale(largest(x) / -8, block + Q4_0_D);
  memset(block + Q4_0_QS, 0x88, SMALL_BLOCK / 2);
  for (int i = 0; i < SMALL_BLOCK / 2 && inverse != 0; i++)
    block[Q4_0_QS + i] = (uint8_t)(nibble_of(x[i] * inverse) | nibble_of(x[i + SMALL_BLOCK / 2] * inverse) << 4);
}

void rlx_quant_round(rlx_dtype dtype, const float *src, void *dst, size_t n) {
  uint8_t *block = dst;
  for (size_t i = 0; i < n; i += SMALL_BLOCK) {
    if (dtype == RLX_Q8_0) round_q8_0(src + i, block), block += Q8_0_BYTES;
    else round_q4_0(src + i, block), block += Q4_0_BYTES;
  }
}
