/* Encoders of the 32-element block types: fit a scale (and an offset), round it to the stored type, choose the nearest
 * codes under the stored value, and pack them. And of nvfp4, whose groups of 16 elements are encoded one by one.
 *
 * Any input gives a block that decodes to finite values. NaN is encoded as 0, an infinity as the largest f32. A scale
 * that is too large for its type becomes the largest, and values beyond its reach get the last level. Values too small
 * for a scale become 0 or a multiple of its smallest step. Packing mirrors decode.c. */
#include <float.h>
#include <math.h>
#include <stddef.h>

#include "quant/blocks.h"
#include "quant/fit.h"

/* A group of up to eight blocks; its codes are block after block. */
typedef struct encoding {
  rlx_group g;
  rlx_affine map;
  uint16_t scale[LANES], offset[LANES]; /* f16 */
  uint8_t codes[LANES * SMALL_BLOCK];
} encoding;

static void choose_codes(const rlx_levels *levels, encoding *e) {
  rlx_lanes level[SMALL_BLOCK];
  rlx_fit_f16_scale(levels, &e->g, &e->map, e->scale);
  rlx_fit_levels(levels, &e->g, &e->map, level);
  rlx_fit_codes(levels, level, SMALL_BLOCK, e->codes);
}

/* Chooses the f16 scales of n blocks, and the codes under them. */
static void encode_scale(const rlx_levels *levels, const float *src, const float *weight, int n, encoding *e) {
  rlx_fit_load(src, weight, SMALL_BLOCK, n, 1, RLX_EXPONENT_EACH, &e->g);
  e->map = (rlx_affine){0};
  rlx_fit_scale(levels, &e->g, &e->map.scale);
  choose_codes(levels, e);
}

/* For an offset that f16 cannot represent: the codes must span from the clamped offset to the farthest value. */
static void reach_farthest(const rlx_levels *levels, encoding *e, int lane) {
  float far = 0, offset = e->map.offset.v[lane];
  for (int i = 0; i < SMALL_BLOCK; i++)
    if (fabsf(e->g.x[i].v[lane] - offset) > fabsf(far)) far = e->g.x[i].v[lane] - offset;
  e->map.scale.v[lane] = far / (float)levels->hi;
}

/* The same with f16 offsets. */
static void encode_affine(const rlx_levels *levels, const float *src, const float *weight, int n, encoding *e) {
  rlx_fit_load(src, weight, SMALL_BLOCK, n, 1, RLX_EXPONENT_EACH, &e->g);
  rlx_fit_affine(levels, &e->g, RLX_OFFSET_ANY, &e->map);
  for (int j = 0; j < LANES; j++) {
    double offset = rlx_fit_true(&e->g, j, e->map.offset.v[j]);
    e->offset[j] = rlx_fit_f16(offset);
    e->map.offset.v[j] = rlx_fit_scaled(&e->g, j, (double)rlx_f16_to_f32(e->offset[j]));
    if (fabs(offset) > 65504.0) reach_farthest(levels, e, j);
  }
  choose_codes(levels, e);
}

static void pack_nibbles(const uint8_t *codes, uint8_t *qs) {
  for (int i = 0; i < 16; i++) qs[i] = (uint8_t)((codes[i] & 15) | (codes[i + 16] & 15) << 4);
}

static void pack_fifth_bits(const uint8_t *codes, uint8_t *qh) {
  uint32_t high = 0;
  for (int i = 0; i < SMALL_BLOCK; i++) high |= (uint32_t)(codes[i] >> 4) << i;
  store_le32(qh, high);
}

/* Eight blocks at a time: `store` writes block j of an encoding. */
typedef void fit_blocks(const rlx_levels *levels, const float *src, const float *weight, int n, encoding *e);
typedef void store_block(const encoding *e, int j, uint8_t *block);

static void encode_blocks(const rlx_levels *levels, fit_blocks *fit, store_block *store, const float *src,
                          const float *weight, uint8_t *dst, size_t n_blocks, size_t block_bytes) {
  encoding e;
  for (size_t at = 0; at < n_blocks; at += LANES) {
    int n = n_blocks - at < LANES ? (int)(n_blocks - at) : LANES;
    fit(levels, src + at * SMALL_BLOCK, weight ? weight + at * SMALL_BLOCK : NULL, n, &e);
    for (int j = 0; j < n; j++) store(&e, j, dst + (at + (size_t)j) * block_bytes);
  }
}

static void store_q4_0(const encoding *e, int j, uint8_t *block) {
  store_le16(block + Q4_0_D, e->scale[j]);
  pack_nibbles(e->codes + SMALL_BLOCK * j, block + Q4_0_QS);
}

static void store_q4_1(const encoding *e, int j, uint8_t *block) {
  store_le16(block + Q4_1_D, e->scale[j]);
  store_le16(block + Q4_1_M, e->offset[j]);
  pack_nibbles(e->codes + SMALL_BLOCK * j, block + Q4_1_QS);
}

static void store_q5_0(const encoding *e, int j, uint8_t *block) {
  const uint8_t *codes = e->codes + SMALL_BLOCK * j;
  store_le16(block + Q5_0_D, e->scale[j]);
  pack_fifth_bits(codes, block + Q5_0_QH);
  pack_nibbles(codes, block + Q5_0_QS);
}

static void store_q5_1(const encoding *e, int j, uint8_t *block) {
  const uint8_t *codes = e->codes + SMALL_BLOCK * j;
  store_le16(block + Q5_1_D, e->scale[j]);
  store_le16(block + Q5_1_M, e->offset[j]);
  pack_fifth_bits(codes, block + Q5_1_QH);
  pack_nibbles(codes, block + Q5_1_QS);
}

static void store_q8_0(const encoding *e, int j, uint8_t *block) {
  store_le16(block + Q8_0_D, e->scale[j]);
  for (int i = 0; i < SMALL_BLOCK; i++) block[Q8_0_QS + i] = (uint8_t)(e->codes[SMALL_BLOCK * j + i] - 127);
}

void rlx_q4_0_encode(const float *src, const float *weight, uint8_t *dst, size_t n) {
  encode_blocks(&(rlx_levels){-8, 7, NULL}, encode_scale, store_q4_0, src, weight, dst, n, Q4_0_BYTES);
}
void rlx_q4_1_encode(const float *src, const float *weight, uint8_t *dst, size_t n) {
  encode_blocks(&(rlx_levels){0, 15, NULL}, encode_affine, store_q4_1, src, weight, dst, n, Q4_1_BYTES);
}
void rlx_q5_0_encode(const float *src, const float *weight, uint8_t *dst, size_t n) {
  encode_blocks(&(rlx_levels){-16, 15, NULL}, encode_scale, store_q5_0, src, weight, dst, n, Q5_0_BYTES);
}
void rlx_q5_1_encode(const float *src, const float *weight, uint8_t *dst, size_t n) {
  encode_blocks(&(rlx_levels){0, 31, NULL}, encode_affine, store_q5_1, src, weight, dst, n, Q5_1_BYTES);
}
/* -128 is not used: kernels that split a byte into sign and magnitude cannot represent its magnitude. */
void rlx_q8_0_encode(const float *src, const float *weight, uint8_t *dst, size_t n) {
  encode_blocks(&(rlx_levels){-127, 127, NULL}, encode_scale, store_q8_0, src, weight, dst, n, Q8_0_BYTES);
}
/* Stored like q4_0. */
void rlx_iq4_nl_encode(const float *src, const float *weight, uint8_t *dst, size_t n) {
  rlx_book book;
  rlx_fit_make_book(rlx_iq4_levels, &book);
  encode_blocks(&(rlx_levels){-127, 113, &book}, encode_scale, store_q4_0, src, weight, dst, n, IQ4_NL_BYTES);
}

/* Unsigned levels of e2m1, doubled: all integers up to 4, every other one up to 8, every fourth up to 12. Also returns
 * the error per lane. */
static void mxfp4_levels(const rlx_group *g, const rlx_affine *map, rlx_lanes *level, rlx_lanes *error) {
  for (int h = 0; h < 2; h++) {
    rlx_four scale = map->scale.half[h], inverse = 1 / scale, sum = {0};
    for (int i = 0; i < g->n; i++) {
      rlx_four x = rlx_size(g->x[i].half[h]), v = rlx_smaller(x * inverse, rlx_four_of(12));
      /* Adding and subtracting a large number rounds to the last bit of the sum. */
      rlx_four by = rlx_pick(v < 8, rlx_four_of(2 * 12582912.0f), rlx_four_of(4 * 12582912.0f));
      by = rlx_pick(v < 4, rlx_four_of(12582912.0f), by);
      rlx_four l = (v + by) - by, miss = x - l * scale;
      level[i].half[h] = l;
      sum += g->w[i].half[h] * miss * miss;
    }
    error->half[h] = sum;
  }
}

/* The scale is a power of two. The usual one maps the largest magnitude to [4, 8), where 6 is the last level; the next
 * larger one clips nothing. The better of the two is kept. Above 252 the last level would decode to infinity. */
void rlx_mxfp4_encode(const float *src, const float *weight, uint8_t *dst, size_t n_blocks) {
  static const uint8_t code_of[13] = {0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7};
  for (size_t at = 0; at < n_blocks; at += LANES) {
    int n = n_blocks - at < LANES ? (int)(n_blocks - at) : LANES, e[2][LANES];
    rlx_group g;
    rlx_lanes level[2][SMALL_BLOCK], error[2];
    rlx_fit_load(src + at * SMALL_BLOCK, weight ? weight + at * SMALL_BLOCK : NULL, SMALL_BLOCK, n, 1,
                 RLX_EXPONENT_EACH, &g);
    for (int k = 0; k < 2; k++) {
      rlx_affine map = {0};
      for (int j = 0; j < LANES; j++) {
        int wanted = g.exponent[j] - 2 + 127 + k;
        e[k][j] = wanted < k ? k : wanted > 252 ? 252 : wanted;
        map.scale.v[j] = rlx_fit_scaled(&g, j, (double)rlx_mxfp4_scale((uint8_t)e[k][j]));
      }
      mxfp4_levels(&g, &map, level[k], &error[k]);
    }
    for (int j = 0; j < n; j++) {
      uint8_t codes[SMALL_BLOCK], *block = dst + (at + (size_t)j) * MXFP4_BYTES;
      int k = error[1].v[j] < error[0].v[j];
      for (int i = 0; i < SMALL_BLOCK; i++) {
        uint8_t code = code_of[(int)level[k][i].v[j]];
        codes[i] = (uint8_t)(code | (code && g.x[i].v[j] < 0 ? 8 : 0));
      }
      block[MXFP4_E] = (uint8_t)e[k][j];
      pack_nibbles(codes, block + MXFP4_QS);
    }
  }
}

/* Exhaustive search over the 127 scales; under each, every element gets the nearest of eight levels. */
static void encode_16(const double *x, const double *weight, uint8_t *scale, uint8_t *codes) {
  double min = INFINITY;
  for (int e = 0; e < 127; e++) {
    double d = (double)rlx_nvfp4_scale((uint8_t)e), error = 0;
    uint8_t tried[16];
    for (int i = 0; i < 16; i++) {
      double v = d > 0 ? fabs(x[i]) / d : 0;
      int c = v < 3.5 ? (int)(v + 0.5) : v < 5 ? 4 : v < 7 ? 5 : v < 10 ? 6 : 7;
      double y = d * (double)rlx_mxfp4_levels[c];
      tried[i] = (uint8_t)(x[i] < 0 && c ? c | 8 : c);
      error += weight[i] * y *
               (y - 2 * fabs(x[i])); /* relative to encoding zeros, so that values out of reach do not dominate */
    }
    if (error >= min) continue;
    min = error;
    *scale = (uint8_t)e;
    memcpy(codes, tried, sizeof tried);
  }
}

void rlx_nvfp4_encode(const float *src, const float *weight, uint8_t *dst, size_t n) {
  for (size_t at = 0; at < n; at++, src += NVFP4_ELEMENTS, dst += NVFP4_BYTES)
    for (int j = 0; j < NVFP4_ELEMENTS / 16; j++) {
      double x[16], w[16];
      uint8_t codes[16];
      for (int i = 0; i < 16; i++) {
        double v = (double)src[16 * j + i];
        w[i] = weight ? (double)weight[NVFP4_ELEMENTS * at + (size_t)(16 * j + i)] : 1;
        x[i] = isnan(v) ? 0 : fmax(-(double)FLT_MAX, fmin((double)FLT_MAX, v));
      }
      encode_16(x, w, dst + NVFP4_SCALES + j, codes);
      for (int i = 0; i < 8; i++) dst[NVFP4_QS + 8 * j + i] = (uint8_t)(codes[i] | codes[i + 8] << 4);
    }
}
