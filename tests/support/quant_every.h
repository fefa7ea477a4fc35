/* Every bit pattern of a block's fields: sets of blocks that tools/make_quant_goldens.py also generates, to hash what
 * `gguf` decodes from them (tests/golden/quant/every.txt).
 *
 *   EVERY_BYTE    each byte of a block takes each of its 256 values, the other bytes being random
 *   EVERY_SCALE   each f16 scale takes all 65,536 values (q8_k: the upper half of its f32, mxfp4: see below)
 *   EVERY_PRODUCT each value of the bytes that hold small scales with each value of the bytes that hold codes
 *
 * Random bytes are a function of the set, the block and the offset. */
#ifndef RLX_TESTS_QUANT_EVERY_H
#define RLX_TESTS_QUANT_EVERY_H

#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "quant/quant.h"

typedef enum every_set { EVERY_BYTE, EVERY_SCALE, EVERY_PRODUCT, EVERY_SETS } every_set;

typedef struct every_type {
  rlx_dtype dtype;
  int f16_at[2];               /* offsets of f16 scales, -1: none */
  int small_first, small_last; /* bytes that hold small scales */
} every_type;

enum { EVERY_TYPES = 24, EVERY_MAX_BYTES = 292 };
static const every_type every_types[EVERY_TYPES] = {
  {RLX_Q4_0, {0, -1}, 0, 0},      {RLX_Q4_1, {0, 2}, 0, 0},      {RLX_Q5_0, {0, -1}, 0, 0},
  {RLX_Q5_1, {0, 2}, 0, 0},       {RLX_Q8_0, {0, -1}, 0, 0},     {RLX_IQ4_NL, {0, -1}, 0, 0},
  {RLX_MXFP4, {-1, -1}, 0, 1},    {RLX_Q2_K, {80, 82}, 0, 16},   {RLX_Q3_K, {108, -1}, 96, 108},
  {RLX_Q4_K, {0, 2}, 4, 16},      {RLX_Q5_K, {0, 2}, 4, 16},     {RLX_Q6_K, {208, -1}, 192, 208},
  {RLX_Q8_K, {-1, -1}, 0, 0},     {RLX_IQ4_XS, {0, -1}, 2, 8},   {RLX_TQ1_0, {52, -1}, 0, 0},
  {RLX_TQ2_0, {64, -1}, 0, 0},    {RLX_IQ1_S, {0, -1}, 34, 50},  {RLX_IQ1_M, {-1, -1}, 32, 56},
  {RLX_IQ2_XXS, {0, -1}, 2, 66},  {RLX_IQ2_XS, {0, -1}, 66, 74}, {RLX_IQ2_S, {0, -1}, 66, 82},
  {RLX_IQ3_XXS, {0, -1}, 66, 98}, {RLX_IQ3_S, {0, -1}, 66, 74},  {RLX_NVFP4, {-1, -1}, 0, 4},
};

static inline uint64_t every_mix(uint64_t z) {
  z = (z + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static inline uint32_t every_random(every_set set, size_t block, size_t at) {
  return (uint32_t)(every_mix((uint64_t)set << 60 | (uint64_t)block << 16 | at) >> 32);
}

static inline size_t every_count(const every_type *t, every_set set) {
  size_t bytes = rlx_dtype_describe(t->dtype)->block_bytes;
  bool has_scale = t->f16_at[0] >= 0 || t->dtype == RLX_Q8_K || t->dtype == RLX_IQ1_M,
       has_small = t->small_last > t->small_first;
  if (set == EVERY_BYTE) return bytes * 256;
  return set == EVERY_SCALE ? (has_scale ? 65536 : 0) : has_small ? 65536 : 256;
}

static inline void every_put16(uint8_t *p, uint32_t v) { p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8); }

/* The f16 of iq1_m, which is split over the top nibbles of four words. */
static inline void every_put_pieces(uint8_t *block, uint32_t v) {
  for (int i = 0; i < 4; i++) block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (v >> 4 * i & 15) << 4);
}

/* Scales that a file could contain: f16 of either sign between 2^-5 and 2^3. */
static inline void every_sane_scales(const every_type *t, every_set set, size_t block, uint8_t *out) {
  for (int i = 0; i < 2; i++) {
    uint32_t r = every_random(set, block, 1000 + (size_t)i);
    if (t->f16_at[i] >= 0) every_put16(out + t->f16_at[i], (r & 0x83ff) | (10 + (r >> 16 & 7)) << 10);
  }
  uint32_t r = every_random(set, block, 1002);
  if (t->dtype == RLX_MXFP4) out[0] = (uint8_t)(120 + (r & 15));
  if (t->dtype == RLX_Q8_K) {
    every_put16(out, r);
    every_put16(out + 2, (r >> 16 & 0x807f) | (122 + (r & 7)) << 7);
  }
}

static inline void every_block(const every_type *t, every_set set, size_t b, uint8_t *out) {
  int bytes = (int)rlx_dtype_describe(t->dtype)->block_bytes;
  for (int i = 0; i < bytes; i++) out[i] = (uint8_t)every_random(set, b, (size_t)i);
  if (set == EVERY_PRODUCT) memset(out, (int)(b & 255), (size_t)bytes);
  every_sane_scales(t, set, b, out);
  if (set == EVERY_PRODUCT) memset(out + t->small_first, (int)(b >> 8), (size_t)(t->small_last - t->small_first));
  if (t->dtype == RLX_IQ1_M) {
    uint32_t r = every_random(set, b, 1002);
    every_put_pieces(out, (r & 0x83ff) | (10 + (r >> 16 & 7)) << 10);
  }
  if (set == EVERY_BYTE) out[b / 256] = (uint8_t)b;
  if (set != EVERY_SCALE) return;
  if (t->dtype == RLX_Q8_K) every_put16(out + 2, (uint32_t)b);
  if (t->dtype == RLX_IQ1_M) every_put_pieces(out, (uint32_t)b);
  if (t->f16_at[0] >= 0) every_put16(out + t->f16_at[0], (uint32_t)b);
  if (t->f16_at[1] >= 0) every_put16(out + t->f16_at[1], (uint32_t)b * 40503 & 0xffff); /* odd: all of them, too */
}

/* A hash of n values, starting at number `first` of a set: sensitive to the order, not to the bits of a NaN. */
static inline uint64_t every_hash(const float *v, size_t first, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = rlx_f32_bits(v[i]);
    if ((bits & 0x7fffffff) > 0x7f800000) bits = 0x7fc00000;
    sum += every_mix((uint64_t)(uint32_t)(first + i) << 32 | bits);
  }
  return sum;
}

#endif
