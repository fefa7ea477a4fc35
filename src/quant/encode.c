/* Encoders of the 32-element block types: fit a scale (and an offset), round it to what the block stores, take the
 * nearest codes under the stored value, pack them.
 *
 * Any input gives a block that decodes to finite numbers. NaN is encoded as 0; an infinity as the largest f32. A scale
 * beyond f16 is stored as the largest f16 and the numbers it cannot reach take the last level. Numbers too small for an
 * f16 scale come out as 0 or a multiple of its least step. Packing mirrors decode.c. */
#include <math.h>
#include <stdbool.h>

#include "quant/blocks.h"
#include "quant/fit.h"

static const rlx_levels q4_0_levels = {-8, 7, NULL}, q5_0_levels = {-16, 15, NULL}, q8_0_levels = {-127, 127, NULL};
static const rlx_levels q4_1_levels = {0, 15, NULL}, q5_1_levels = {0, 31, NULL};
static const rlx_levels iq4_levels = {-127, 113, rlx_iq4_levels};

/* Stores an f16 scale at `d` and gives the codes under it. */
static void encode_scale(const rlx_levels *levels, const float *src, uint8_t *d, uint8_t *codes) {
  double x[SMALL_BLOCK];
  rlx_fit_load(src, x, SMALL_BLOCK);
  rlx_affine map = {rlx_fit_scale(levels, x, SMALL_BLOCK), 0};
  store_le16(d, rlx_fit_f16_scale(levels, x, SMALL_BLOCK, map));
  rlx_fit_codes(levels, x, SMALL_BLOCK, (rlx_affine){(double)load_f16(d), 0}, codes);
}

/* The same with an f16 offset at `m`. */
static void encode_affine(const rlx_levels *levels, const float *src, uint8_t *d, uint8_t *m, uint8_t *codes) {
  double x[SMALL_BLOCK];
  rlx_fit_load(src, x, SMALL_BLOCK);
  rlx_affine map = rlx_fit_affine(levels, x, SMALL_BLOCK, RLX_OFFSET_ANY);
  store_le16(m, rlx_fit_f16(map.offset));
  bool is_clamped = fabs(map.offset) > 65504.0;
  map.offset = (double)load_f16(m);
  if (is_clamped) {
    double far = 0;
    /* The offset does not reach: let the codes span from where it ends to the farthest number. */
    for (int i = 0; i < SMALL_BLOCK; i++)
      if (fabs(x[i] - map.offset) > fabs(far)) far = x[i] - map.offset;
    map.scale = far / levels->hi;
  }
  store_le16(d, rlx_fit_f16_scale(levels, x, SMALL_BLOCK, map));
  rlx_fit_codes(levels, x, SMALL_BLOCK, (rlx_affine){(double)load_f16(d), map.offset}, codes);
}

static void pack_nibbles(const uint8_t *codes, uint8_t *qs) {
  for (int i = 0; i < 16; i++) qs[i] = (uint8_t)((codes[i] & 15) | (codes[i + 16] & 15) << 4);
}

static void pack_fifth_bits(const uint8_t *codes, uint8_t *qh) {
  uint32_t high = 0;
  for (int i = 0; i < SMALL_BLOCK; i++) high |= (uint32_t)(codes[i] >> 4) << i;
  store_le32(qh, high);
}

void rlx_q4_0_encode(const float *src, uint8_t *block) {
  uint8_t codes[SMALL_BLOCK];
  encode_scale(&q4_0_levels, src, block + Q4_0_D, codes);
  pack_nibbles(codes, block + Q4_0_QS);
}

void rlx_q4_1_encode(const float *src, uint8_t *block) {
  uint8_t codes[SMALL_BLOCK];
  encode_affine(&q4_1_levels, src, block + Q4_1_D, block + Q4_1_M, codes);
  pack_nibbles(codes, block + Q4_1_QS);
}

void rlx_q5_0_encode(const float *src, uint8_t *block) {
  uint8_t codes[SMALL_BLOCK];
  encode_scale(&q5_0_levels, src, block + Q5_0_D, codes);
  pack_fifth_bits(codes, block + Q5_0_QH);
  pack_nibbles(codes, block + Q5_0_QS);
}

void rlx_q5_1_encode(const float *src, uint8_t *block) {
  uint8_t codes[SMALL_BLOCK];
  encode_affine(&q5_1_levels, src, block + Q5_1_D, block + Q5_1_M, codes);
  pack_fifth_bits(codes, block + Q5_1_QH);
  pack_nibbles(codes, block + Q5_1_QS);
}

/* -128 is left unused: kernels that split a byte into sign and magnitude cannot hold its magnitude. */
void rlx_q8_0_encode(const float *src, uint8_t *block) {
  uint8_t codes[SMALL_BLOCK];
  encode_scale(&q8_0_levels, src, block + Q8_0_D, codes);
  for (int i = 0; i < SMALL_BLOCK; i++) block[Q8_0_QS + i] = (uint8_t)(codes[i] - 127);
}

void rlx_iq4_nl_encode(const float *src, uint8_t *block) {
  uint8_t codes[SMALL_BLOCK];
  encode_scale(&iq4_levels, src, block + IQ4_NL_D, codes);
  pack_nibbles(codes, block + IQ4_NL_QS);
}

/* Codes of e2m1 under the scale of exponent e; returns the sum of squared errors. */
static double mxfp4_codes(const double *x, int e, uint8_t *codes) {
  double scale = (double)rlx_mxfp4_scale((uint8_t)e), error = 0;
  for (int i = 0; i < SMALL_BLOCK; i++) {
    double v = fabs(x[i]) / scale;
    int level = 0;
    while (level < 7 && 2 * v > rlx_mxfp4_levels[level] + rlx_mxfp4_levels[level + 1]) level++;
    double miss = (v - rlx_mxfp4_levels[level]) * scale;
    error += miss * miss;
    codes[i] = (uint8_t)(level | (level && x[i] < 0 ? 8 : 0));
  }
  return error;
}

/* The scale is a power of two. The usual one puts the largest magnitude into [4, 8), where 6 is the last level; the
 * next one up clips nothing. The better of the two is kept. Above 252 the last level would decode to infinity. */
void rlx_mxfp4_encode(const float *src, uint8_t *block) {
  double x[SMALL_BLOCK], peak = 0;
  rlx_fit_load(src, x, SMALL_BLOCK);
  for (int i = 0; i < SMALL_BLOCK; i++) peak = fmax(peak, fabs(x[i]));
  int e = peak > 0 ? ilogb(peak) - 2 + 127 : 0;
  if (e < 0) e = 0;
  int up = e < 252 ? e + 1 : e;
  uint8_t codes[SMALL_BLOCK], wider[SMALL_BLOCK];
  bool is_wider = mxfp4_codes(x, up, wider) < mxfp4_codes(x, e, codes);
  block[MXFP4_E] = (uint8_t)(is_wider ? up : e);
  pack_nibbles(is_wider ? wider : codes, block + MXFP4_QS);
}
