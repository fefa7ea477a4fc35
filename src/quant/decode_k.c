/* Decoders of the 256-element block types.
 *
 * A super-block has one or two f16 scales and small integer scales for its sub-blocks of 16 or 32 elements. A value is
 * d * scale * code, minus dmin * min where the type has one. The f16 has 11 significant bits, scale and code together
 * at most 13: every product is exact in f32 and the subtraction is the only rounding. So the result is the same with
 * and without FMA (q8_k, whose d is an f32, has one rounding, in its product). The types differ in where the bits of
 * scales and codes are. */
#include "quant/blocks.h"

/* Two bits per code: byte b of a run of 32 holds elements b, b+32, b+64, b+96 of its 128, lowest bits first. */
static int two_bits(const uint8_t *qs, int i) { return qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3; }

/* Four bits per code: byte b of a run of 32 holds elements b and b+32 of its 64. */
static int four_bits(const uint8_t *qs, int i) { return qs[i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15; }

/* One bit per code: byte b of 32 holds elements b, b+32, ..., b+224. */
static int one_bit(const uint8_t *bits, int i) { return bits[i % 32] >> (i / 32) & 1; }

/* scales[16]: the low nibble scales the codes of 16 elements, the high nibble is their min. */
void rlx_q2_k_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + Q2_K_D), dmin = load_f16(block + Q2_K_DMIN);
  for (int j = 0; j < 16; j++) {
    float scale = d * (float)(block[Q2_K_SCALES + j] & 15), min = dmin * (float)(block[Q2_K_SCALES + j] >> 4);
    for (int i = 16 * j; i < 16 * j + 16; i++) dst[i] = scale * (float)two_bits(block + Q2_K_QS, i) - min;
  }
}

/* Scale j of 16, six bits: the low four in nibble j of bytes 0-7, the high two in bytes 8-11, four scales to a byte. */
static int q3_k_scale(const uint8_t *s, int j) {
  return (s[j % 8] >> (j / 8 * 4) & 15) | (s[8 + j % 4] >> (j / 4 * 2) & 3) << 4;
}

void rlx_q3_k_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + Q3_K_D);
  for (int j = 0; j < 16; j++) {
    float scale = d * (float)(q3_k_scale(block + Q3_K_SCALES, j) - 32);
    for (int i = 16 * j; i < 16 * j + 16; i++) {
      int code = two_bits(block + Q3_K_QS, i) | one_bit(block + Q3_K_HMASK, i) << 2;
      dst[i] = scale * (float)(code - 4);
    }
  }
}

/* Scale and min j of 8, six bits each, in 12 bytes. 0-3 are the low six bits of bytes 0-3 and 4-7. Of 4-7, the low four
 * bits share bytes 8-11, and the high two are the top bits of bytes 0-7. */
static void q4_k_scale_min(const uint8_t *s, int j, int *scale, int *min) {
  if (j < 4) {
    *scale = s[j] & 63;
    *min = s[j + 4] & 63;
  } else {
    *scale = (s[j + 4] & 15) | s[j - 4] >> 6 << 4;
    *min = s[j + 4] >> 4 | s[j] >> 6 << 4;
  }
}

/* q4_k and q5_k have the same header with their scales; `fifth` holds the fifth bits, or is NULL. */
static void decode_scales_mins(const uint8_t *block, const uint8_t *low, const uint8_t *fifth, float *dst) {
  float d = load_f16(block + Q4_K_D), dmin = load_f16(block + Q4_K_DMIN);
  for (int j = 0; j < 8; j++) {
    int s, m;
    q4_k_scale_min(block + Q4_K_SCALES, j, &s, &m);
    float scale = d * (float)s, min = dmin * (float)m;
    for (int i = 32 * j; i < 32 * j + 32; i++) {
      int code = four_bits(low, i) | (fifth ? one_bit(fifth, i) << 4 : 0);
      dst[i] = scale * (float)code - min;
    }
  }
}

void rlx_q4_k_decode(const uint8_t *block, float *dst) { decode_scales_mins(block, block + Q4_K_QS, NULL, dst); }

void rlx_q5_k_decode(const uint8_t *block, float *dst) {
  decode_scales_mins(block, block + Q5_K_QS, block + Q5_K_QH, dst);
}

/* Low four bits: 64 bytes for 128 elements, the first 64 in the low nibbles. High two: as two_bits. */
void rlx_q6_k_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + Q6_K_D);
  for (int j = 0; j < 16; j++) {
    float scale = d * (float)(int8_t)block[Q6_K_SCALES + j];
    for (int i = 16 * j; i < 16 * j + 16; i++) {
      int low = block[Q6_K_QL + i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
      dst[i] = scale * (float)((low | two_bits(block + Q6_K_QH, i) << 4) - 32);
    }
  }
}

void rlx_q8_k_decode(const uint8_t *block, float *dst) {
  float d = rlx_f32_from_bits(load_le32(block + Q8_K_D));
  for (int i = 0; i < SUPER_BLOCK; i++) dst[i] = d * (float)(int8_t)block[Q8_K_QS + i];
}

/* Scale j of 8, six bits: the low four in nibble j, the high two at bit 2j of a u16. Codes as in iq4_nl, 16 bytes per
 * 32. */
void rlx_iq4_xs_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + IQ4_XS_D);
  uint32_t high = load_le16(block + IQ4_XS_SCALES_H);
  for (int j = 0; j < 8; j++) {
    int s = (block[IQ4_XS_SCALES_L + j / 2] >> (j % 2 * 4) & 15) | (int)(high >> 2 * j & 3) << 4;
    float scale = d * (float)(s - 32);
    const uint8_t *qs = block + IQ4_XS_QS + 16 * j;
    for (int i = 0; i < 16; i++) {
      dst[32 * j + i] = scale * (float)rlx_iq4_levels[qs[i] & 15];
      dst[32 * j + i + 16] = scale * (float)rlx_iq4_levels[qs[i] >> 4];
    }
  }
}

/* Five base-3 digits in a byte, as the fraction byte/256. Times 3^k modulo 256 makes digit k the leading one, and one
 * more multiplication by 3 carries it out at the top. `run` bytes hold 5 (of qh: 4) runs of as many elements. */
static float *decode_trits(const uint8_t *qs, int run, int digits, float d, float *dst) {
  static const uint8_t power[5] = {1, 3, 9, 27, 81};
  for (int k = 0; k < digits; k++)
    for (int i = 0; i < run; i++) {
      uint8_t fraction = (uint8_t)(qs[i] * power[k]);
      *dst++ = d * (float)((fraction * 3 >> 8) - 1);
    }
  return dst;
}

void rlx_tq1_0_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + TQ1_0_D);
  dst = decode_trits(block + TQ1_0_QS, 32, 5, d, dst);
  dst = decode_trits(block + TQ1_0_QS + 32, 16, 5, d, dst);
  decode_trits(block + TQ1_0_QH, 4, 4, d, dst);
}

void rlx_tq2_0_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + TQ2_0_D);
  for (int i = 0; i < SUPER_BLOCK; i++) dst[i] = d * (float)(two_bits(block + TQ2_0_QS, i) - 1);
}
