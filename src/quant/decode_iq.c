/* Decoders of the block types whose codes are indices into a grid: iq1, iq2, iq3.
 *
 * An index selects a point of a grid: eight elements, or four. A grid entry has 16 bits, the codes of its elements from
 * the lowest bits on (grids.c); the decoder maps a code to a level. The iq2 and iq3 types store signs separately, a bit
 * per element. Where a block has seven sign bits for eight elements, the eighth makes their number even. A value is d *
 * scale * level; the scale of 16 or 32 elements is an odd number (twice its code plus one) times a power of two. The
 * f16 has 11 significant bits, scale and level together at most 11, so the products are exact and the same on every
 * machine. */
#include "quant/blocks.h"

const int8_t rlx_iq2_levels[4] = {8, 25, 43, 0}; /* a grid has no code 3 */
const int8_t rlx_iq3_xxs_levels[8] = {4, 12, 20, 28, 36, 44, 52, 62};
const int8_t rlx_iq3_s_levels[8] = {1, 3, 5, 7, 9, 11, 13, 15};
/* -1, 0, 1 plus an eighth, in eighths; if the block's bit is set, minus an eighth. */
const int8_t rlx_iq1_levels[2][4] = {{-7, 1, 9, 0}, {-9, -1, 7, 0}};

static float odd(unsigned code) { return (float)(2 * code + 1); }

/* Decodes the elements of a grid entry, `bits` bits each. */
static void decode_entry(uint16_t entry, int bits, const int8_t *levels, unsigned signs, float scale, float *dst) {
  for (int i = 0; i < 16 / bits; i++) {
    int level = levels[entry >> bits * i & ((1 << bits) - 1)];
    dst[i] = scale * (float)(signs >> i & 1 ? -level : level);
  }
}

/* Extends seven signs to eight, with an even number set. */
static unsigned even_signs(uint32_t seven) {
  unsigned v = seven & 127, ones = v ^ v >> 4;
  ones ^= ones >> 2;
  return v | ((ones ^ ones >> 1) & 1) << 7;
}

/* Per 32 elements: four one-byte indices, and a word of four times seven signs below the code of the scale. */
void rlx_iq2_xxs_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + IQ2_XXS_D);
  for (int j = 0; j < 8; j++) {
    const uint8_t *qs = block + IQ2_XXS_QS + 8 * j;
    uint32_t word = load_le32(qs + 4);
    float scale = d * odd(word >> 28) * 0.125f;
    for (int i = 0; i < 4; i++)
      decode_entry(rlx_iq2_xxs_grid[qs[i]], 2, rlx_iq2_levels, even_signs(word >> 7 * i), scale, dst + 32 * j + 8 * i);
  }
}

/* Per eight elements: nine bits of index and seven signs; per 16 elements: a nibble of scale. */
void rlx_iq2_xs_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + IQ2_XS_D);
  for (int i = 0; i < 32; i++) {
    uint32_t q = load_le16(block + IQ2_XS_QS + 2 * i);
    float scale = d * odd(block[IQ2_XS_SCALES + i / 4] >> (i / 2 % 2 * 4) & 15) * 0.125f;
    decode_entry(rlx_iq2_xs_grid[q & 511], 2, rlx_iq2_levels, even_signs(q >> 9), scale, dst + 8 * i);
  }
}

/* The high two bits of an index are in qh, four to a byte; eight signs per eight elements; scales as in iq2_xs. */
void rlx_iq2_s_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + IQ2_S_D);
  for (int i = 0; i < 32; i++) {
    int index = block[IQ2_S_QS + i] | (block[IQ2_S_QH + i / 4] >> (i % 4 * 2) & 3) << 8;
    float scale = d * odd(block[IQ2_S_SCALES + i / 4] >> (i / 2 % 2 * 4) & 15) * 0.125f;
    decode_entry(rlx_iq2_s_grid[index], 2, rlx_iq2_levels, block[IQ2_S_SIGNS + i], scale, dst + 8 * i);
  }
}

/* A one-byte index per four elements; signs and scale of 32 elements in a word, as in iq2_xxs. */
void rlx_iq3_xxs_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + IQ3_XXS_D);
  for (int i = 0; i < 64; i++) {
    uint32_t word = load_le32(block + IQ3_XXS_SIGNS + i / 8 * 4);
    unsigned signs = even_signs(word >> 7 * (i / 2 % 4)) >> (i % 2 * 4);
    decode_entry(rlx_iq3_xxs_grid[block[IQ3_XXS_QS + i]], 4, rlx_iq3_xxs_levels, signs, d * odd(word >> 28) * 0.25f,
                 dst + 4 * i);
  }
}

/* The ninth bit of an index is in qh; eight signs per eight elements; a nibble of scale per 32. */
void rlx_iq3_s_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + IQ3_S_D);
  for (int i = 0; i < 64; i++) {
    int index = block[IQ3_S_QS + i] | (block[IQ3_S_QH + i / 8] >> i % 8 & 1) << 8;
    float scale = d * odd(block[IQ3_S_SCALES + i / 16] >> (i / 8 % 2 * 4) & 15);
    decode_entry(rlx_iq3_s_grid[index], 4, rlx_iq3_s_levels, (unsigned)block[IQ3_S_SIGNS + i / 2] >> (i % 2 * 4), scale,
                 dst + 4 * i);
  }
}

/* Per 32 elements: 16 bits in qh, namely the high three bits of four indices, the code of the scale, and whether the
 * eighth is subtracted. */
void rlx_iq1_s_decode(const uint8_t *block, float *dst) {
  float d = load_f16(block + IQ1_S_D);
  for (int i = 0; i < 32; i++) {
    uint32_t high = load_le16(block + IQ1_S_QH + i / 4 * 2);
    int index = block[IQ1_S_QS + i] | (int)(high >> 3 * (i % 4) & 7) << 8;
    decode_entry(rlx_iq1_grid[index], 2, rlx_iq1_levels[high >> 15], 0, d * odd(high >> 12 & 7) * 0.125f, dst + 8 * i);
  }
}

/* The f16 is in the top nibbles of the four words of scales, lowest first. */
uint16_t rlx_iq1_m_scale(const uint8_t *block) {
  uint32_t d = 0;
  for (int i = 0; i < 4; i++) d |= (uint32_t)(block[IQ1_M_SCALES + 2 * i + 1] >> 4) << 4 * i;
  return (uint16_t)d;
}

/* A nibble of qh per eight elements: the high three bits of the index, and whether the eighth is subtracted. Three bits
 * of scale per 16 elements. */
void rlx_iq1_m_decode(const uint8_t *block, float *dst) {
  float d = rlx_f16_to_f32(rlx_iq1_m_scale(block));
  for (int i = 0; i < 32; i++) {
    uint32_t high = block[IQ1_M_QH + i / 2] >> (i % 2 * 4) & 15, scales = load_le16(block + IQ1_M_SCALES + i / 8 * 2);
    int index = block[IQ1_M_QS + i] | (int)(high & 7) << 8;
    float scale = d * odd(scales >> 3 * (i / 2 % 4) & 7) * 0.125f;
    decode_entry(rlx_iq1_grid[index], 2, rlx_iq1_levels[high >> 3], 0, scale, dst + 8 * i);
  }
}

const uint16_t *rlx_grid_of(rlx_dtype dtype, uint32_t *n) {
  *n = dtype == RLX_IQ1_S || dtype == RLX_IQ1_M       ? 2048
       : dtype == RLX_IQ2_S                           ? 1024
       : dtype == RLX_IQ2_XS || dtype == RLX_IQ3_S    ? 512
       : dtype == RLX_IQ2_XXS || dtype == RLX_IQ3_XXS ? 256
                                                      : 0;
  switch (dtype) {
    case RLX_IQ1_S:
    case RLX_IQ1_M: return rlx_iq1_grid;
    case RLX_IQ2_XXS: return rlx_iq2_xxs_grid;
    case RLX_IQ2_XS: return rlx_iq2_xs_grid;
    case RLX_IQ2_S: return rlx_iq2_s_grid;
    case RLX_IQ3_XXS: return rlx_iq3_xxs_grid;
    case RLX_IQ3_S: return rlx_iq3_s_grid;
    default: return NULL;
  }
}
