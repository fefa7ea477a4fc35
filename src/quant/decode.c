/* Decoders of the 32-element block types, and of nvfp4 with 64.
 *
 * A value is scale * code, or scale * code + offset, in f32. An f16 scale has 11 significant bits and a code at most 8,
 * so the product is exact and the sum is the only rounding. So the result is the same with and without FMA, on every
 * machine. A damaged file may hold infinite or NaN scales; they decode to infinities and NaN. The 256-element types are
 * in decode_k.c and decode_iq.c. */
#include "quant/blocks.h"
#include "quant/codes.h"

const int8_t rlx_iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
const int8_t rlx_mxfp4_levels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* Element i of 32: low nibbles are elements 0-15, high nibbles 16-31. */
static int nibble(const uint8_t *qs, int i) { return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4; }

/* The same with bit i of `high` as a fifth bit. */
static int five_bits(const uint8_t *qs, uint32_t high, int i) { return nibble(qs, i) | (int)(high >> i & 1) << 4; }

void rlx_q4_0_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + Q4_0_D);
  for (int i = 0; i < SMALL_BLOCK; i++) dst[i] = d * (float)(nibble(block + Q4_0_QS, i) - 8);
}

void rlx_q4_1_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + Q4_1_D), m = load_f16(block + Q4_1_M);
  for (int i = 0; i < SMALL_BLOCK; i++) dst[i] = d * (float)nibble(block + Q4_1_QS, i) + m;
}

void rlx_q5_0_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + Q5_0_D);
  uint32_t high = load_le32(block + Q5_0_QH);
  for (int i = 0; i < SMALL_BLOCK; i++) dst[i] = d * (float)(five_bits(block + Q5_0_QS, high, i) - 16);
}

void rlx_q5_1_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + Q5_1_D), m = load_f16(block + Q5_1_M);
  uint32_t high = load_le32(block + Q5_1_QH);
  for (int i = 0; i < SMALL_BLOCK; i++) dst[i] = d * (float)five_bits(block + Q5_1_QS, high, i) + m;
}

void rlx_q8_0_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + Q8_0_D);
  for (int i = 0; i < SMALL_BLOCK; i++) dst[i] = d * (float)(int8_t)block[Q8_0_QS + i];
}

void rlx_iq4_nl_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + IQ4_NL_D);
  for (int i = 0; i < SMALL_BLOCK; i++) dst[i] = d * (float)rlx_iq4_levels[nibble(block + IQ4_NL_QS, i)];
}

/* 2^(e-128), a subnormal f32 for e below 2. The MX standard defines e = 255 as NaN. The programs that write files of
 * this type decode it as an ordinary exponent, and so does this. */
float rlx_mxfp4_scale(uint8_t e) { return rlx_f32_from_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23); }

void rlx_mxfp4_decode(const uint8_t *block, float *dst) {
  float d = rlx_mxfp4_scale(block[MXFP4_E]);
  for (int i = 0; i < SMALL_BLOCK; i++) dst[i] = d * (float)rlx_mxfp4_levels[nibble(block + MXFP4_QS, i)];
}

float rlx_nvfp4_scale(uint8_t e) {
  float v = rlx_e4m3_to_f32(e & 127);
  /* 255 is 0x7f with the unused bit set; it is decoded as an ordinary number. */
  return e == 127 ? 0 : e == 255 ? 240 : v * 0.5f;
}

/* Four groups of 16 elements, each with a scale: low nibbles are its elements 0-7, high ones 8-15. */
void rlx_nvfp4_decode(const uint8_t *block, float *dst) {
  for (int i = 0; i < NVFP4_ELEMENTS; i++) {
    uint8_t byte = block[NVFP4_QS + i / 16 * 8 + i % 8];
    float d = rlx_nvfp4_scale(block[NVFP4_SCALES + i / 16]);
    dst[i] = d * (float)rlx_mxfp4_levels[i % 16 < 8 ? byte & 15 : byte >> 4];
  }
}
