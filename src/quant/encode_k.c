/* Encoders of the 256-element block types: rlx_fit_super chooses scales, mins and codes; here they are packed,
 * mirroring decode_k.c. What any input may come to is said in encode.c and holds here. The ternary types and q8_k have
 * one scale for all 256 and are fitted directly. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "quant/blocks.h"
#include "quant/fit.h"

static const rlx_super_shape q2_k_shape = {{0, 3, NULL}, 16, 0, 15, 15};
static const rlx_super_shape q3_k_shape = {{-4, 3, NULL}, 16, -32, 31, 0};
static const rlx_super_shape q4_k_shape = {{0, 15, NULL}, 8, 0, 63, 63};
static const rlx_super_shape q5_k_shape = {{0, 31, NULL}, 8, 0, 63, 63};
static const rlx_super_shape q6_k_shape = {{-32, 31, NULL}, 16, -128, 127, 0};
static const rlx_super_shape iq4_xs_shape = {{-127, 113, rlx_iq4_levels}, 8, -32, 31, 0};
static const rlx_levels q8_k_levels = {-127, 127, NULL}, ternary_levels = {-1, 1, NULL};

static void fit(const rlx_super_shape *shape, const float *src, rlx_super *s) {
  double x[SUPER_BLOCK];
  rlx_fit_load(src, x, SUPER_BLOCK);
  rlx_fit_super(shape, x, s);
}

/* The lowest bits of each code, as two_bits, four_bits and one_bit of decode_k.c find them. */
static void pack_two_bits(const uint8_t *codes, int shift, uint8_t *qs) {
  memset(qs, 0, SUPER_BLOCK / 4);
  for (int i = 0; i < SUPER_BLOCK; i++)
    qs[i / 128 * 32 + i % 32] |= (uint8_t)((codes[i] >> shift & 3) << i % 128 / 32 * 2);
}

static void pack_four_bits(const uint8_t *codes, uint8_t *qs) {
  memset(qs, 0, SUPER_BLOCK / 2);
  for (int i = 0; i < SUPER_BLOCK; i++) qs[i / 64 * 32 + i % 32] |= (uint8_t)((codes[i] & 15) << i % 64 / 32 * 4);
}

static void pack_one_bit(const uint8_t *codes, int shift, uint8_t *bits) {
  memset(bits, 0, SUPER_BLOCK / 8);
  for (int i = 0; i < SUPER_BLOCK; i++) bits[i % 32] |= (uint8_t)((codes[i] >> shift & 1) << i / 32);
}

void rlx_q2_k_encode(const float *src, uint8_t *block) {
  rlx_super s;
  fit(&q2_k_shape, src, &s);
  store_le16(block + Q2_K_D, s.d);
  store_le16(block + Q2_K_DMIN, s.dmin);
  for (int j = 0; j < 16; j++) block[Q2_K_SCALES + j] = (uint8_t)(s.scale[j] | s.min[j] << 4);
  pack_two_bits(s.codes, 0, block + Q2_K_QS);
}

void rlx_q3_k_encode(const float *src, uint8_t *block) {
  rlx_super s;
  fit(&q3_k_shape, src, &s);
  store_le16(block + Q3_K_D, s.d);
  uint8_t *scales = block + Q3_K_SCALES;
  memset(scales, 0, 12);
  for (int j = 0; j < 16; j++) {
    int six = s.scale[j] + 32;
    scales[j % 8] |= (uint8_t)((six & 15) << j / 8 * 4);
    scales[8 + j % 4] |= (uint8_t)(six >> 4 << j / 4 * 2);
  }
  pack_one_bit(s.codes, 2, block + Q3_K_HMASK);
  pack_two_bits(s.codes, 0, block + Q3_K_QS);
}

/* q4_k and q5_k begin alike. */
static void fit_scales_mins(const rlx_super_shape *shape, const float *src, uint8_t *block, rlx_super *s) {
  fit(shape, src, s);
  store_le16(block + Q4_K_D, s->d);
  store_le16(block + Q4_K_DMIN, s->dmin);
  uint8_t *scales = block + Q4_K_SCALES;
  for (int j = 0; j < 4; j++) {
    int scale = s->scale[j + 4], min = s->min[j + 4];
    scales[j] = (uint8_t)(s->scale[j] | scale >> 4 << 6);
    scales[j + 4] = (uint8_t)(s->min[j] | min >> 4 << 6);
    scales[j + 8] = (uint8_t)((scale & 15) | (min & 15) << 4);
  }
}

void rlx_q4_k_encode(const float *src, uint8_t *block) {
  rlx_super s;
  fit_scales_mins(&q4_k_shape, src, block, &s);
  pack_four_bits(s.codes, block + Q4_K_QS);
}

void rlx_q5_k_encode(const float *src, uint8_t *block) {
  rlx_super s;
  fit_scales_mins(&q5_k_shape, src, block, &s);
  pack_one_bit(s.codes, 4, block + Q5_K_QH);
  pack_four_bits(s.codes, block + Q5_K_QS);
}

void rlx_q6_k_encode(const float *src, uint8_t *block) {
  rlx_super s;
  fit(&q6_k_shape, src, &s);
  store_le16(block + Q6_K_D, s.d);
  for (int j = 0; j < 16; j++) block[Q6_K_SCALES + j] = (uint8_t)s.scale[j];
  uint8_t *ql = block + Q6_K_QL;
  memset(ql, 0, SUPER_BLOCK / 2);
  for (int i = 0; i < SUPER_BLOCK; i++) ql[i / 128 * 64 + i % 64] |= (uint8_t)((s.codes[i] & 15) << i % 128 / 64 * 4);
  pack_two_bits(s.codes, 4, block + Q6_K_QH);
}

void rlx_iq4_xs_encode(const float *src, uint8_t *block) {
  rlx_super s;
  fit(&iq4_xs_shape, src, &s);
  store_le16(block + IQ4_XS_D, s.d);
  memset(block + IQ4_XS_SCALES_L, 0, 4);
  uint32_t high = 0;
  for (int j = 0; j < 8; j++) {
    int six = s.scale[j] + 32;
    block[IQ4_XS_SCALES_L + j / 2] |= (uint8_t)((six & 15) << j % 2 * 4);
    high |= (uint32_t)(six >> 4) << 2 * j;
    const uint8_t *codes = s.codes + 32 * j;
    for (int i = 0; i < 16; i++) block[IQ4_XS_QS + 16 * j + i] = (uint8_t)(codes[i] | codes[i + 16] << 4);
  }
  store_le16(block + IQ4_XS_SCALES_H, (uint16_t)high);
}

/* An f32 that is 0 only if the scale is, and no larger than what 127 can multiply without overflow. */
static float q8_k_scale(double scale) {
  const double most = (double)FLT_MAX / 128, least = 0x1p-149;
  double size = fabs(scale);
  if (size > most) size = most;
  if (size > 0 && size < least) size = least;
  return (float)copysign(size, scale);
}

void rlx_q8_k_encode(const float *src, uint8_t *block) {
  double x[SUPER_BLOCK];
  uint8_t codes[SUPER_BLOCK];
  rlx_fit_load(src, x, SUPER_BLOCK);
  float d = q8_k_scale(rlx_fit_scale(&q8_k_levels, x, SUPER_BLOCK));
  rlx_fit_codes(&q8_k_levels, x, SUPER_BLOCK, (rlx_affine){(double)d, 0}, codes);
  store_le32(block + Q8_K_D, rlx_f32_bits(d));
  for (int j = 0; j < 16; j++) {
    int sum = 0;
    for (int i = 16 * j; i < 16 * j + 16; i++) {
      sum += codes[i] - 127;
      block[Q8_K_QS + i] = (uint8_t)(codes[i] - 127);
    }
    store_le16(block + Q8_K_SUMS + 2 * j, (uint16_t)sum);
  }
}

static int descending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* One scale for -1, 0, 1. If k elements are not 0, they are the k largest and the scale is their mean magnitude;
 * sorting tries every k, so this fit is exact. Numbers that are ternary already come back as they were. */
static uint16_t fit_ternary(const float *src, uint8_t *codes) {
  double x[SUPER_BLOCK], size[SUPER_BLOCK], sum = 0, gain = 0, scale = 0;
  rlx_fit_load(src, x, SUPER_BLOCK);
  for (int i = 0; i < SUPER_BLOCK; i++) size[i] = fabs(x[i]);
  qsort(size, SUPER_BLOCK, sizeof size[0], descending);
  for (int k = 1; k <= SUPER_BLOCK; k++) {
    sum += size[k - 1];
    if (sum * sum > gain * k) {
      gain = sum * sum / k;
      scale = sum / k;
    }
  }
  uint16_t d = rlx_fit_f16_scale(&ternary_levels, x, SUPER_BLOCK, (rlx_affine){scale, 0});
  rlx_fit_codes(&ternary_levels, x, SUPER_BLOCK, (rlx_affine){(double)rlx_f16_to_f32(d), 0}, codes);
  return d;
}

/* The first run's digit is the first of the byte. The byte is the digits as a fraction of 243, in 256ths, rounded
 * up. */
static const uint8_t *encode_trits(const uint8_t *codes, int run, int digits, uint8_t *qs) {
  static const int power[5] = {81, 27, 9, 3, 1};
  for (int i = 0; i < run; i++) {
    int number = 0;
    for (int k = 0; k < digits; k++) number += codes[k * run + i] * power[k];
    qs[i] = (uint8_t)((number * 256 + 242) / 243);
  }
  return codes + run * digits;
}

void rlx_tq1_0_encode(const float *src, uint8_t *block) {
  uint8_t codes[SUPER_BLOCK];
  store_le16(block + TQ1_0_D, fit_ternary(src, codes));
  const uint8_t *rest = encode_trits(codes, 32, 5, block + TQ1_0_QS);
  rest = encode_trits(rest, 16, 5, block + TQ1_0_QS + 32);
  encode_trits(rest, 4, 4, block + TQ1_0_QH);
}

void rlx_tq2_0_encode(const float *src, uint8_t *block) {
  uint8_t codes[SUPER_BLOCK];
  store_le16(block + TQ2_0_D, fit_ternary(src, codes));
  pack_two_bits(codes, 0, block + TQ2_0_QS);
}
