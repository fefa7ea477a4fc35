/* Fitting: which scale (and offset) lets a few integer levels come nearest to some numbers?
 *
 * All encoders ask this one question, about a block or a sub-block, and the measure is always the plain sum of squared
 * errors of what will be decoded; no element counts for more than another. Eight blocks are asked about at once, one to
 * a lane: an element of all eight lies together, so every loop over lanes is a few vector instructions, sums need no
 * order but that of the elements, and nothing branches on a number. Lanes do not mix: what a block becomes does not
 * depend on its neighbours.
 *
 * Numbers are f32, times a power of two that brings the largest near 1, so no square overflows. Not for use outside
 * src/quant. */
#ifndef RLX_QUANT_FIT_H
#define RLX_QUANT_FIT_H

#include <stdint.h>

enum { LANES = 8, FIT_MAX = 32, BOOK_STEPS = 512 };

/* Per book: the nearest entry of every half step from -128 on, and its index. Books hold whole numbers, so the middle
 * between two is a whole number of half steps, and looking up is exact. */
typedef struct rlx_book {
  float level[BOOK_STEPS];
  uint8_t code[BOOK_STEPS];
} rlx_book;
void rlx_fit_make_book(const int8_t *entries, rlx_book *out); /* 16, ascending */

/* The levels lo, lo+1, ..., hi, or where there is a book its entries, from lo to hi. A code is the index of a level,
 * from 0. */
typedef struct rlx_levels {
  int lo, hi;
  const rlx_book *book;
} rlx_levels;

/* A number of each lane: as vectors of four, which every machine has or its compiler makes. */
typedef float rlx_four __attribute__((vector_size(16)));
typedef int32_t rlx_mask __attribute__((vector_size(16))); /* of a comparison: -1 or 0 */
typedef union rlx_lanes {
  float v[LANES];
  rlx_four half[2];
} rlx_lanes;

static inline rlx_four rlx_pick(rlx_mask which, rlx_four yes, rlx_four no) {
  return (rlx_four)((which & (rlx_mask)yes) | (~which & (rlx_mask)no));
}
/* The second where the first is NaN. */
static inline rlx_four rlx_smaller(rlx_four a, rlx_four b) {
#ifdef __SSE2__ /* gcc does not find this by itself */
  return __builtin_ia32_minps(a, b);
#else
  return rlx_pick(a < b, a, b);
#endif
}
static inline rlx_four rlx_larger(rlx_four a, rlx_four b) {
#ifdef __SSE2__
  return __builtin_ia32_maxps(a, b);
#else
  return rlx_pick(a > b, a, b);
#endif
}
static inline rlx_four rlx_size(rlx_four a) { return (rlx_four)((rlx_mask)a & 0x7fffffff); }
static inline rlx_four rlx_four_of(float v) { return (rlx_four){v, v, v, v}; }

/* x stands as scale * level + offset, in each lane. */
typedef struct rlx_affine {
  rlx_lanes scale, offset;
} rlx_affine;

/* Eight blocks, or sub-blocks, of n numbers. */
typedef struct rlx_group {
  int n;
  int exponent[LANES];  /* the numbers are x times 2 to this */
  rlx_lanes x[FIT_MAX]; /* element i of all lanes */
} rlx_group;

/* Which offsets a layout can store. */
typedef enum rlx_offset_sign { RLX_OFFSET_ANY, RLX_OFFSET_NEGATIVE, RLX_OFFSET_POSITIVE } rlx_offset_sign;

/* The numbers of `groups` groups, lane after lane, of which only the first `lanes` are there; the rest become 0. NaN
 * counts as 0, an infinity as the largest f32 of its sign. One exponent for all lanes, or each its own. */
typedef enum rlx_exponents { RLX_EXPONENT_EACH, RLX_EXPONENT_SHARED } rlx_exponents;
void rlx_fit_load(const float *src, int n, int lanes, int groups, rlx_exponents exponents, rlx_group *out);

/* A scale of either sign, for levels with lo < 0. */
void rlx_fit_scale(const rlx_levels *levels, const rlx_group *g, rlx_lanes *scale);
/* The same where all lanes are one block. */
float rlx_fit_one_scale(const rlx_levels *levels, const rlx_group *g);
/* A scale >= 0 and an offset, for levels 0..hi. */
void rlx_fit_affine(const rlx_levels *levels, const rlx_group *g, rlx_offset_sign sign, rlx_affine *map);

/* The nearest levels under a given map; the error is the sum of squares. */
void rlx_fit_error(const rlx_levels *levels, const rlx_group *g, const rlx_affine *map, rlx_lanes *error);
void rlx_fit_levels(const rlx_levels *levels, const rlx_group *g, const rlx_affine *map, rlx_lanes *level);
/* Codes of levels, lane after lane. */
void rlx_fit_codes(const rlx_levels *levels, const rlx_lanes *level, int n, uint8_t *codes);

/* A number of the group as it was, and a true number as one of the group. */
double rlx_fit_true(const rlx_group *g, int lane, float v);
float rlx_fit_scaled(const rlx_group *g, int lane, double v);
/* The nearest finite f16. */
uint16_t rlx_fit_f16(double v);
/* The f16 to store for each scale: the nearest or a neighbour of it, whichever gives these numbers the least error.
 * Among the sub-normals the steps are coarse and the choice counts. The map gets what is stored. */
void rlx_fit_f16_scale(const rlx_levels *levels, const rlx_group *g, rlx_affine *map, uint16_t *stored);

/* A super-block of 256: sub-block j stands as d * scale[j] * level - dmin * min[j]. */
typedef struct rlx_super_shape {
  rlx_levels levels;
  int subs;               /* 8 or 16 */
  int scale_lo, scale_hi; /* what an integer scale can be */
  int min_hi;             /* mins are 0..min_hi; 0 for the types without */
} rlx_super_shape;

typedef struct rlx_super {
  uint16_t d, dmin; /* f16 */
  int scale[16], min[16];
  uint8_t codes[256];
} rlx_super;

void rlx_fit_super(const rlx_super_shape *shape, const float *src, rlx_super *out);

#endif
