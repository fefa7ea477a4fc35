/* Fitting: the scale (and offset) with which integer levels approximate given values best. Internal to src/quant.
 *
 * All encoders use it, for a block or a sub-block. The measure is the sum of squared errors of the decoded values, each
 * times the weight of its element: 1, unless the caller knows which inputs matter. Eight blocks are fitted at once, one
 * per lane: element i of all eight is contiguous, so every loop over lanes is a few vector instructions, sums are in
 * the order of the elements, and there are no data-dependent branches. Lanes are independent: a block's encoding does
 * not depend on its neighbours.
 *
 * Values are f32, times a power of two that brings the largest near 1, so that no square overflows. */
#ifndef RLX_QUANT_FIT_H
#define RLX_QUANT_FIT_H

#include <stdint.h>

enum { LANES = 8, FIT_MAX = 32, BOOK_STEPS = 512 };

/* A codebook as a table: the nearest entry of every half step from -128 on, and its index. Entries are integers, so the
 * midpoint of two is a multiple of half a step, and the lookup is exact. */
typedef struct rlx_book {
  float level[BOOK_STEPS];
  uint8_t code[BOOK_STEPS];
} rlx_book;
void rlx_fit_make_book(const int8_t *entries, rlx_book *out); /* 16 entries, ascending */

/* The levels lo, lo+1, ..., hi, or the entries of a codebook, from lo to hi. A code is the index of a level, from 0. */
typedef struct rlx_levels {
  int lo, hi;
  const rlx_book *book;
} rlx_levels;

/* A value per lane, as vectors of four, which every machine or its compiler provides. */
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
#ifdef __SSE2__ /* gcc does not generate this by itself */
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

/* x is approximated as scale * level + offset, per lane. */
typedef struct rlx_affine {
  rlx_lanes scale, offset;
} rlx_affine;

/* Eight blocks, or sub-blocks, of n values. */
typedef struct rlx_group {
  int n;
  int exponent[LANES];  /* the original values are x times 2^exponent */
  rlx_lanes x[FIT_MAX]; /* element i of all lanes */
  rlx_lanes w[FIT_MAX]; /* its weight */
  rlx_lanes all;        /* their sum */
} rlx_group;

/* The offsets that a layout can store. */
typedef enum rlx_offset_sign { RLX_OFFSET_ANY, RLX_OFFSET_NEGATIVE, RLX_OFFSET_POSITIVE } rlx_offset_sign;

/* Loads `groups` groups, lane after lane. Only the first `lanes` exist; the others become 0. NaN becomes 0, an infinity
 * the largest f32 of its sign. One exponent for all lanes, or one for each.
 * `weight` has a weight for each value, finite and above 0; NULL: all are 1. */
typedef enum rlx_exponents { RLX_EXPONENT_EACH, RLX_EXPONENT_SHARED } rlx_exponents;
void rlx_fit_load(const float *src, const float *weight, int n, int lanes, int groups, rlx_exponents exponents,
                  rlx_group *out);

/* A scale of either sign, for levels with lo < 0. */
void rlx_fit_scale(const rlx_levels *levels, const rlx_group *g, rlx_lanes *scale);
/* The same where all lanes are one block. */
float rlx_fit_one_scale(const rlx_levels *levels, const rlx_group *g);
/* A scale >= 0 and an offset, for levels 0..hi. */
void rlx_fit_affine(const rlx_levels *levels, const rlx_group *g, rlx_offset_sign sign, rlx_affine *map);

/* The nearest levels under a given map, and their error, the weighted sum of squares. */
void rlx_fit_error(const rlx_levels *levels, const rlx_group *g, const rlx_affine *map, rlx_lanes *error);
void rlx_fit_levels(const rlx_levels *levels, const rlx_group *g, const rlx_affine *map, rlx_lanes *level);
/* Codes of levels, lane after lane. */
void rlx_fit_codes(const rlx_levels *levels, const rlx_lanes *level, int n, uint8_t *codes);

/* A value of the group in the original range, and the reverse. */
double rlx_fit_true(const rlx_group *g, int lane, float v);
float rlx_fit_scaled(const rlx_group *g, int lane, double v);
/* The nearest finite f16. */
uint16_t rlx_fit_f16(double v);
/* The f16 to store for each scale: the nearest or one of its neighbours, whichever has the smallest error. Among
 * subnormals the steps are coarse, so the choice matters. The map is set to the stored values. */
void rlx_fit_f16_scale(const rlx_levels *levels, const rlx_group *g, rlx_affine *map, uint16_t *stored);

/* A super-block of 256: sub-block j is approximated as d * scale[j] * level - dmin * min[j]. */
typedef struct rlx_super_shape {
  rlx_levels levels;
  int subs;               /* 8 or 16 */
  int scale_lo, scale_hi; /* the range of an integer scale */
  int min_hi;             /* mins are 0..min_hi; 0 for types without mins */
} rlx_super_shape;

typedef struct rlx_super {
  uint16_t d, dmin; /* f16 */
  int scale[16], min[16];
  uint8_t codes[256];
} rlx_super;

void rlx_fit_super(const rlx_super_shape *shape, const float *src, const float *weight, rlx_super *out);

#endif
