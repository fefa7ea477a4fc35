/* Fitting a super-block: 256 elements, 8 or 16 sub-blocks with integer scales (and mins), one f16 pair above them.
 *
 * Each sub-block is first fitted alone. The largest scale found takes the last integer, which gives d (and so for
 * dmin), and then two steps alternate: with the stored f16 pair fixed, each sub-block takes the best integers near the
 * ones it wants, judged by the error after its codes are chosen anew; with integers and codes fixed, d and dmin are
 * least squares over the whole super-block. The best state met is kept, so a further round never harms. */
#include <math.h>
#include <stddef.h>

#include "base/half.h"
#include "quant/fit.h"

enum { ELEMENTS = 256, ROUNDS = 2, REACH = 1 }; /* REACH: how far from the wanted integer to look */

typedef struct pair {
  double d, dmin;
} pair;

static int clamped_int(double v, int lo, int hi) { return v <= lo ? lo : v >= hi ? hi : (int)rint(v); }

/* A scale that is not 0 stays so: with the least f16 as d, numbers it would lose still have a few levels. */
static uint16_t stored_scale(double scale) {
  uint16_t h = rlx_fit_f16(scale);
  return (h & 0x7fff) != 0 || scale == 0 ? h : (uint16_t)(scale < 0 ? 0x8001 : 0x0001);
}

static double ratio(double a, double b) { return b != 0 ? a / b : 0; }

/* What each sub-block wants, and the pair that follows from the largest of it. */
static pair fit_subs(const rlx_super_shape *shape, const double *x, rlx_affine *wanted) {
  int n = ELEMENTS / shape->subs;
  double scale = 0, offset = 0, least = x[0];
  for (int i = 1; i < ELEMENTS; i++) least = x[i] < least ? x[i] : least;
  /* Mins are subtracted; numbers that are all positive want theirs added, which a negative dmin does. */
  rlx_offset_sign sign = least > 0 ? RLX_OFFSET_POSITIVE : RLX_OFFSET_NEGATIVE;
  for (int j = 0; j < shape->subs; j++) {
    const double *sub = x + j * n;
    if (shape->min_hi) wanted[j] = rlx_fit_affine(&shape->levels, sub, n, sign);
    else wanted[j] = (rlx_affine){rlx_fit_scale(&shape->levels, sub, n), 0};
    if (fabs(wanted[j].scale) > fabs(scale)) scale = wanted[j].scale;
    if (fabs(wanted[j].offset) > fabs(offset)) offset = wanted[j].offset;
  }
  return (pair){scale / (shape->scale_lo ? shape->scale_lo : shape->scale_hi), ratio(-offset, shape->min_hi)};
}

/* The best integers of one sub-block near the wanted ones, and its codes; returns the error. */
static double choose_sub(const rlx_super_shape *shape, const double *x, int n, pair stored, rlx_affine wanted,
                         int *scale, int *min, uint8_t *codes) {
  int scale_at = clamped_int(ratio(wanted.scale, stored.d), shape->scale_lo, shape->scale_hi);
  int min_at = clamped_int(ratio(-wanted.offset, stored.dmin), 0, shape->min_hi);
  double best = HUGE_VAL;
  for (int s = scale_at - REACH; s <= scale_at + REACH; s++)
    for (int m = min_at - REACH; m <= min_at + REACH; m++) {
      if (s < shape->scale_lo || s > shape->scale_hi || m < 0 || m > shape->min_hi) continue;
      double error = rlx_fit_codes(&shape->levels, x, n, (rlx_affine){stored.d * s, -stored.dmin * m}, NULL);
      if (error < best) {
        best = error;
        *scale = s;
        *min = m;
      }
    }
  return rlx_fit_codes(&shape->levels, x, n, (rlx_affine){stored.d * *scale, -stored.dmin * *min}, codes);
}

/* Least squares of x = d * a - dmin * b, a = scale * level and b = min of the element's sub-block. */
static pair refit(const rlx_super_shape *shape, const double *x, const rlx_super *s, pair old) {
  int n = ELEMENTS / shape->subs;
  double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
  for (int i = 0; i < ELEMENTS; i++) {
    double a = s->scale[i / n] * rlx_level(&shape->levels, s->codes[i]), b = s->min[i / n];
    aa += a * a;
    ab += a * b;
    bb += b * b;
    xa += x[i] * a;
    xb += x[i] * b;
  }
  double det = aa * bb - ab * ab;
  if (det > 1e-9 * aa * bb) return (pair){(xa * bb - xb * ab) / det, (xa * ab - xb * aa) / det};
  /* One of them does nothing, or both do the same: fit the codes' one and leave the other. */
  return aa > 0 ? (pair){(xa + old.dmin * ab) / aa, old.dmin} : (pair){old.d, ratio(-xb, bb)};
}

void rlx_fit_super(const rlx_super_shape *shape, const double *x, rlx_super *out) {
  int n = ELEMENTS / shape->subs;
  rlx_affine wanted[16];
  pair real = fit_subs(shape, x, wanted);
  double best = HUGE_VAL;
  for (int round = 0; round < ROUNDS; round++) {
    rlx_super s = {.d = stored_scale(real.d), .dmin = stored_scale(real.dmin)};
    pair stored = {(double)rlx_f16_to_f32(s.d), (double)rlx_f16_to_f32(s.dmin)};
    double error = 0;
    for (int j = 0; j < shape->subs; j++)
      error += choose_sub(shape, x + j * n, n, stored, wanted[j], &s.scale[j], &s.min[j], s.codes + j * n);
    if (error < best) {
      best = error;
      *out = s;
    }
    real = refit(shape, x, &s, stored);
    for (int j = 0; j < shape->subs; j++) wanted[j] = (rlx_affine){real.d * s.scale[j], -real.dmin * s.min[j]};
  }
}
