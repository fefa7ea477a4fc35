/* Fitting: which scale (and offset) lets a few integer levels come nearest to some numbers?
 *
 * All encoders ask this one question, about a block or a sub-block, and the measure is always the plain sum of squared
 * errors of what will be decoded; no element counts for more than another. Numbers are doubles: the square of the
 * largest f32 fits, so nothing here overflows. Not for use outside src/quant. */
#ifndef RLX_QUANT_FIT_H
#define RLX_QUANT_FIT_H

#include <stdint.h>

/* The levels lo, lo+1, ..., hi, or where there is a book (16 entries, ascending, from lo to hi) its entries. A code is
 * the index of a level, from 0. */
typedef struct rlx_levels {
  int lo, hi;
  const int8_t *book;
} rlx_levels;

/* x[i] stands as scale * level + offset. */
typedef struct rlx_affine {
  double scale, offset;
} rlx_affine;

/* Which offsets a layout can store. */
typedef enum rlx_offset_sign { RLX_OFFSET_ANY, RLX_OFFSET_NEGATIVE, RLX_OFFSET_POSITIVE } rlx_offset_sign;

static inline int rlx_level(const rlx_levels *levels, int code) {
  return levels->book ? levels->book[code] : levels->lo + code;
}

/* Finite numbers from what may not be: NaN gives 0, an infinity the largest f32 of its sign. */
void rlx_fit_load(const float *src, double *x, int n);
/* Nearest codes under a given map, into `codes` unless NULL; returns the sum of squared errors. */
double rlx_fit_codes(const rlx_levels *levels, const double *x, int n, rlx_affine map, uint8_t *codes);
/* A scale of either sign, for levels with lo < 0. */
double rlx_fit_scale(const rlx_levels *levels, const double *x, int n);
/* A scale >= 0 and an offset, for levels 0..hi. */
rlx_affine rlx_fit_affine(const rlx_levels *levels, const double *x, int n, rlx_offset_sign sign);

/* The nearest finite f16. */
uint16_t rlx_fit_f16(double v);
/* The f16 to store for a scale: the nearest or a neighbour of it, whichever gives these numbers the least error. Among
 * the sub-normals the steps are coarse and the choice counts. */
uint16_t rlx_fit_f16_scale(const rlx_levels *levels, const double *x, int n, rlx_affine map);

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

void rlx_fit_super(const rlx_super_shape *shape, const double *x, rlx_super *out);

#endif
