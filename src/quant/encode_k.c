/* Encoders of the 256-element block types. rlx_fit_super chooses scales, mins and codes; this file packs them,
 * mirroring decode_k.c. What encode.c states about arbitrary inputs holds here as well. The ternary types and q8_k have
 * one scale for all 256 elements and are fitted directly; they take no weights. */
#include <float.h>
#include <math.h>

#include "quant/blocks.h"
#include "quant/fit.h"

static const rlx_super_shape q2_k_shape = {{0, 3, NULL}, 16, 0, 15, 15};
static const rlx_super_shape q3_k_shape = {{-4, 3, NULL}, 16, -32, 31, 0};
static const rlx_super_shape q4_k_shape = {{0, 15, NULL}, 8, 0, 63, 63};
static const rlx_super_shape q5_k_shape = {{0, 31, NULL}, 8, 0, 63, 63};
static const rlx_super_shape q6_k_shape = {{-32, 31, NULL}, 16, -128, 127, 0};
static const rlx_levels q8_k_levels = {-127, 127, NULL}, ternary_levels = {-1, 1, NULL};

/* Packs bits of each code, in the order that two_bits, four_bits and one_bit of decode_k.c read them. */
static void pack_two_bits(const uint8_t *codes, int shift, uint8_t *qs) {
  for (int half = 0; half < 2; half++, codes += 128, qs += 32)
    for (int i = 0; i < 32; i++)
      qs[i] = (uint8_t)((codes[i] >> shift & 3) | (codes[i + 32] >> shift & 3) << 2 |
                        (codes[i + 64] >> shift & 3) << 4 | (codes[i + 96] >> shift & 3) << 6);
}

static void pack_four_bits(const uint8_t *codes, uint8_t *qs) {
  for (int quarter = 0; quarter < 4; quarter++, codes += 64, qs += 32)
    for (int i = 0; i < 32; i++) qs[i] = (uint8_t)((codes[i] & 15) | (codes[i + 32] & 15) << 4);
}

static void pack_one_bit(const uint8_t *codes, int shift, uint8_t *bits) {
  memset(bits, 0, SUPER_BLOCK / 8);
  for (int k = 0; k < 8; k++)
    for (int i = 0; i < 32; i++) bits[i] |= (uint8_t)((codes[32 * k + i] >> shift & 1) << k);
}

static void encode_q2_k(const float *src, const float *weight, uint8_t *block) {
  rlx_super s;
  rlx_fit_super(&q2_k_shape, src, weight, &s);
  store_le16(block + Q2_K_D, s.d);
  store_le16(block + Q2_K_DMIN, s.dmin);
  for (int j = 0; j < 16; j++) block[Q2_K_SCALES + j] = (uint8_t)(s.scale[j] | s.min[j] << 4);
  pack_two_bits(s.codes, 0, block + Q2_K_QS);
}

static void encode_q3_k(const float *src, const float *weight, uint8_t *block) {
  rlx_super s;
  rlx_fit_super(&q3_k_shape, src, weight, &s);
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

/* q4_k and q5_k have the same header. */
static void fit_scales_mins(const rlx_super_shape *shape, const float *src, const float *weight, uint8_t *block,
                            rlx_super *s) {
  rlx_fit_super(shape, src, weight, s);
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

static void encode_q4_k(const float *src, const float *weight, uint8_t *block) {
  rlx_super s;
  fit_scales_mins(&q4_k_shape, src, weight, block, &s);
  pack_four_bits(s.codes, block + Q4_K_QS);
}

static void encode_q5_k(const float *src, const float *weight, uint8_t *block) {
  rlx_super s;
  fit_scales_mins(&q5_k_shape, src, weight, block, &s);
  pack_one_bit(s.codes, 4, block + Q5_K_QH);
  pack_four_bits(s.codes, block + Q5_K_QS);
}

static void encode_q6_k(const float *src, const float *weight, uint8_t *block) {
  rlx_super s;
  rlx_fit_super(&q6_k_shape, src, weight, &s);
  store_le16(block + Q6_K_D, s.d);
  for (int j = 0; j < 16; j++) block[Q6_K_SCALES + j] = (uint8_t)s.scale[j];
  for (int half = 0; half < 2; half++) {
    const uint8_t *codes = s.codes + 128 * half;
    uint8_t *ql = block + Q6_K_QL + 64 * half;
    for (int i = 0; i < 64; i++) ql[i] = (uint8_t)((codes[i] & 15) | (codes[i + 64] & 15) << 4);
  }
  pack_two_bits(s.codes, 4, block + Q6_K_QH);
}

static void encode_iq4_xs(const rlx_super_shape *shape, const float *src, const float *weight, uint8_t *block) {
  rlx_super s;
  rlx_fit_super(shape, src, weight, &s);
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

/* An f32 that is 0 only if the scale is, and small enough that 127 times it does not overflow. */
static float q8_k_scale(double scale) {
  const double max = (double)FLT_MAX / 128, min = 0x1p-149;
  double size = fabs(scale);
  if (size > max) size = max;
  if (size > 0 && size < min) size = min;
  return (float)copysign(size, scale);
}

/* All lanes are one block: lane j is elements 32 j and on. */
static void encode_q8_k(const float *src, const float *weight, uint8_t *block) {
  (void)weight;
  rlx_group g;
  rlx_lanes level[FIT_MAX];
  rlx_affine map = {0};
  uint8_t codes[SUPER_BLOCK];
  rlx_fit_load(src, NULL, 32, LANES, 1, RLX_EXPONENT_SHARED, &g);
  float d = q8_k_scale(rlx_fit_true(&g, 0, rlx_fit_one_scale(&q8_k_levels, &g)));
  for (int j = 0; j < LANES; j++) map.scale.v[j] = rlx_fit_scaled(&g, j, (double)d);
  rlx_fit_levels(&q8_k_levels, &g, &map, level);
  rlx_fit_codes(&q8_k_levels, level, 32, codes);
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

/* One scale for -1, 0, 1. If k elements are not 0, they are the k largest and the scale is their mean magnitude. So the
 * best threshold on the magnitudes is searched: first over a histogram, then by iteration, since the elements that are
 * not 0 are those above half the scale. */
enum { BINS = 64, SCALE_STEPS = 4 };

static float first_scale(const rlx_group *g) {
  float sum[BINS + 1] = {0}, n[BINS + 1] = {0}, gain = 0, scale = 0, all = 0, count = 0;
  for (int i = 0; i < g->n; i++)
    for (int j = 0; j < LANES; j++) {
      float size = fabsf(g->x[i].v[j]);
      int bin = (int)(size * (BINS / 2)); /* size < 2 */
      sum[bin] += size;
      n[bin] += 1;
    }
  for (int bin = BINS; bin >= 0; bin--) {
    all += sum[bin];
    count += n[bin];
    if (all * all > gain * count) {
      gain = all * all / count;
      scale = all / count;
    }
  }
  return scale;
}

static float next_scale(const rlx_group *g, float scale) {
  rlx_lanes sum = {0}, n = {0};
  const rlx_four zero = {0}, one = rlx_four_of(1);
  float all = 0, count = 0;
  for (int i = 0; i < g->n; i++)
    for (int h = 0; h < 2; h++) {
      rlx_four size = rlx_size(g->x[i].half[h]);
      rlx_mask is_above = size > 0.5f * scale;
      sum.half[h] += rlx_pick(is_above, size, zero);
      n.half[h] += rlx_pick(is_above, one, zero);
    }
  for (int j = 0; j < LANES; j++) {
    all += sum.v[j];
    count += n.v[j];
  }
  return count > 0 ? all / count : scale;
}

static uint16_t fit_ternary(const float *src, uint8_t *codes) {
  rlx_group g;
  rlx_lanes level[FIT_MAX], error;
  uint16_t best = 0;
  float min_error = INFINITY;
  rlx_affine map = {0}, kept = {0};
  rlx_fit_load(src, NULL, 32, LANES, 1, RLX_EXPONENT_SHARED, &g);
  float scale = first_scale(&g);
  for (int k = 0; k < SCALE_STEPS; k++) scale = next_scale(&g, scale);
  uint16_t nearest = rlx_fit_f16(rlx_fit_true(&g, 0, scale));
  for (int step = -1; step <= 1; step++) { /* like rlx_fit_f16_scale */
    int h = nearest + step;
    float sum = 0;
    if (h < 0 || h > 0x7bff) continue;
    for (int j = 0; j < LANES; j++) map.scale.v[j] = rlx_fit_scaled(&g, j, (double)rlx_f16_to_f32((uint16_t)h));
    rlx_fit_error(&ternary_levels, &g, &map, &error);
    for (int j = 0; j < LANES; j++) sum += error.v[j];
    if (sum < min_error) {
      min_error = sum;
      best = (uint16_t)h;
      kept = map;
    }
  }
  rlx_fit_levels(&ternary_levels, &g, &kept, level);
  rlx_fit_codes(&ternary_levels, level, 32, codes);
  return best;
}

/* The digit of the first run is the leading digit of the byte. The byte is the digits as a fraction of 243, in 256ths,
 * rounded up. */
static const uint8_t *encode_trits(const uint8_t *codes, int run, int digits, uint8_t *qs) {
  static const int power[5] = {81, 27, 9, 3, 1};
  for (int i = 0; i < run; i++) {
    int number = 0;
    for (int k = 0; k < digits; k++) number += codes[k * run + i] * power[k];
    qs[i] = (uint8_t)((number * 256 + 242) / 243);
  }
  return codes + run * digits;
}

static void encode_tq1_0(const float *src, const float *weight, uint8_t *block) {
  (void)weight;
  uint8_t codes[SUPER_BLOCK];
  store_le16(block + TQ1_0_D, fit_ternary(src, codes));
  const uint8_t *rest = encode_trits(codes, 32, 5, block + TQ1_0_QS);
  rest = encode_trits(rest, 16, 5, block + TQ1_0_QS + 32);
  encode_trits(rest, 4, 4, block + TQ1_0_QH);
}

static void encode_tq2_0(const float *src, const float *weight, uint8_t *block) {
  (void)weight;
  uint8_t codes[SUPER_BLOCK];
  store_le16(block + TQ2_0_D, fit_ternary(src, codes));
  pack_two_bits(codes, 0, block + TQ2_0_QS);
}

typedef void encode_one(const float *src, const float *weight, uint8_t *block);

static void encode_each(encode_one *encode, size_t bytes, const float *src, const float *weight, uint8_t *dst,
                        size_t n) {
  for (; n > 0; n--, src += SUPER_BLOCK, dst += bytes) {
    encode(src, weight, dst);
    if (weight) weight += SUPER_BLOCK;
  }
}

#define ENCODE_EACH(name, BYTES)                                                            \
  void rlx_##name##_encode(const float *src, const float *weight, uint8_t *dst, size_t n) { \
    encode_each(encode_##name, BYTES, src, weight, dst, n);                                 \
  }
ENCODE_EACH(q2_k, Q2_K_BYTES)
ENCODE_EACH(q3_k, Q3_K_BYTES)
ENCODE_EACH(q4_k, Q4_K_BYTES)
ENCODE_EACH(q5_k, Q5_K_BYTES)
ENCODE_EACH(q6_k, Q6_K_BYTES)
ENCODE_EACH(q8_k, Q8_K_BYTES)
ENCODE_EACH(tq1_0, TQ1_0_BYTES)
ENCODE_EACH(tq2_0, TQ2_0_BYTES)

void rlx_iq4_xs_encode(const float *src, const float *weight, uint8_t *dst, size_t n) {
  rlx_book book;
  rlx_fit_make_book(rlx_iq4_levels, &book);
  const rlx_super_shape shape = {{-127, 113, &book}, 8, -32, 31, 0};
  for (; n > 0; n--, src += SUPER_BLOCK, dst += IQ4_XS_BYTES) {
    encode_iq4_xs(&shape, src, weight, dst);
    if (weight) weight += SUPER_BLOCK;
  }
}
