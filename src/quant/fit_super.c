/* Fits a super-block: 256 elements, 8 or 16 sub-blocks with integer scales (and mins), and one f16 pair for all.
 *
 * Each sub-block, a lane, is first fitted alone. The largest scale found gets the largest integer, which determines d
 * (and likewise dmin). Then two steps alternate. With the stored f16 pair fixed, each sub-block chooses the best
 * integers near its preferred ones, by the error after its codes are chosen again. With integers and codes fixed, d and
 * dmin are least squares over the whole super-block. The best state is kept, so more rounds never increase the
 * error. */
#include <math.h>
#include <stddef.h>

#include "base/half.h"
#include "quant/fit.h"

enum { MAX_GROUPS = 2, ROUNDS = 2, REACH = 1 }; /* REACH: how far from the preferred integer to search */

#define EACH_LANE for (int j = 0; j < LANES; j++)

typedef struct pair {
  double d, dmin;
} pair;

/* A group with the preferred map of its sub-blocks, and the chosen integers (as floats) and levels. */
typedef struct subs {
  rlx_group g;
  rlx_affine wanted;
  rlx_lanes scale, min;
  rlx_lanes level[FIT_MAX];
} subs;

static inline float clamped(float v, float lo, float hi) {
  v = v > lo ? v : lo;
  v = v < hi ? v : hi;
  return v;
}

/* A scale that is not 0 is not rounded to 0: with the smallest f16 as d, small values still get a few levels. */
static uint16_t stored_scale(double scale) {
  uint16_t h = rlx_fit_f16(scale);
  return (h & 0x7fff) != 0 || scale == 0 ? h : (uint16_t)(scale < 0 ? 0x8001 : 0x0001);
}

static double ratio(double a, double b) { return b != 0 ? a / b : 0; }

/* Mins are subtracted. Values that are all positive need theirs added, which a negative dmin does. */
static rlx_offset_sign sign_of(const float *src) {
  for (int i = 0; i < 256; i++)
    if (!(src[i] > 0)) return RLX_OFFSET_NEGATIVE;
  return RLX_OFFSET_POSITIVE;
}

/* Fits each sub-block, and derives the pair from the largest scale and offset. */
static pair fit_subs(const rlx_super_shape *shape, rlx_offset_sign sign, int groups, subs *all) {
  float scale = 0, offset = 0;
  for (int k = 0; k < groups; k++) {
    rlx_affine *wanted = &all[k].wanted;
    *wanted = (rlx_affine){0};
    if (shape->min_hi) rlx_fit_affine(&shape->levels, &all[k].g, sign, wanted);
    else rlx_fit_scale(&shape->levels, &all[k].g, &wanted->scale);
    EACH_LANE {
      if (fabsf(wanted->scale.v[j]) > fabsf(scale)) scale = wanted->scale.v[j];
      if (fabsf(wanted->offset.v[j]) > fabsf(offset)) offset = wanted->offset.v[j];
    }
  }
  return (pair){(double)scale / (shape->scale_lo ? shape->scale_lo : shape->scale_hi),
                ratio(-(double)offset, shape->min_hi)};
}

/* Chooses the best integers near the preferred ones, and the levels; returns the error. */
static double choose(const rlx_super_shape *shape, float d, float dmin, subs *s) {
  const float lo = (float)shape->scale_lo, hi = (float)shape->scale_hi, min_hi = (float)shape->min_hi;
  const float per_d = d != 0 ? 1 / d : 0, per_dmin = dmin != 0 ? 1 / dmin : 0;
  rlx_lanes scale_at, min_at, error, best;
  rlx_affine map;
  EACH_LANE {
    scale_at.v[j] = rintf(clamped(s->wanted.scale.v[j] * per_d, lo, hi));
    min_at.v[j] = rintf(clamped(-s->wanted.offset.v[j] * per_dmin, 0, min_hi));
    best.v[j] = INFINITY;
    s->scale.v[j] = s->min.v[j] = 0;
  }
  int reach_min = shape->min_hi ? REACH : 0;
  for (int a = -REACH; a <= REACH; a++)
    for (int b = -reach_min; b <= reach_min; b++) {
      rlx_lanes scale, min;
      EACH_LANE {
        scale.v[j] = clamped(scale_at.v[j] + (float)a, lo, hi);
        min.v[j] = clamped(min_at.v[j] + (float)b, 0, min_hi);
        map.scale.v[j] = d * scale.v[j];
        map.offset.v[j] = -dmin * min.v[j];
      }
      rlx_fit_error(&shape->levels, &s->g, &map, &error);
      EACH_LANE {
        int is_better = error.v[j] < best.v[j];
        best.v[j] = is_better ? error.v[j] : best.v[j];
        s->scale.v[j] = is_better ? scale.v[j] : s->scale.v[j];
        s->min.v[j] = is_better ? min.v[j] : s->min.v[j];
      }
    }
  double sum = 0;
  EACH_LANE {
    map.scale.v[j] = d * s->scale.v[j];
    map.offset.v[j] = -dmin * s->min.v[j];
    sum += (double)best.v[j];
  }
  rlx_fit_levels(&shape->levels, &s->g, &map, s->level);
  return sum;
}

/* Weighted least squares of x = d * a - dmin * b, where a = scale * level and b = min of the element's sub-block. */
static pair refit(const subs *all, int groups, pair old) {
  double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
  for (int k = 0; k < groups; k++) {
    const subs *s = &all[k];
    rlx_lanes x = {0}, l = {0}, ll = {0}, xl = {0};
    for (int i = 0; i < s->g.n; i++)
      for (int h = 0; h < 2; h++) {
        rlx_four level = s->level[i].half[h], number = s->g.x[i].half[h], weight = s->g.w[i].half[h];
        x.half[h] += weight * number;
        l.half[h] += weight * level;
        ll.half[h] += weight * level * level;
        xl.half[h] += weight * number * level;
      }
    EACH_LANE {
      double scale = (double)s->scale.v[j], min = (double)s->min.v[j];
      aa += scale * scale * (double)ll.v[j];
      ab += scale * min * (double)l.v[j];
      bb += min * min * (double)s->g.all.v[j];
      xa += scale * (double)xl.v[j];
      xb += min * (double)x.v[j];
    }
  }
  double det = aa * bb - ab * ab;
  if (det > 1e-9 * aa * bb) return (pair){(xa * bb - xb * ab) / det, (xa * ab - xb * aa) / det};
  /* Singular: one of them has no effect, or both have the same. Fit the one of the codes and keep the other. */
  return aa > 0 ? (pair){(xa + old.dmin * ab) / aa, old.dmin} : (pair){old.d, ratio(-xb, bb)};
}

static void keep(const rlx_super_shape *shape, const subs *all, int groups, rlx_super *out) {
  for (int k = 0; k < groups; k++) {
    EACH_LANE {
      out->scale[k * LANES + j] = (int)all[k].scale.v[j];
      out->min[k * LANES + j] = (int)all[k].min.v[j];
    }
    rlx_fit_codes(&shape->levels, all[k].level, all[k].g.n, out->codes + k * LANES * all[k].g.n);
  }
}

void rlx_fit_super(const rlx_super_shape *shape, const float *src, const float *weight, rlx_super *out) {
  int groups = shape->subs / LANES, n = 256 / shape->subs;
  rlx_group loaded[MAX_GROUPS];
  subs all[MAX_GROUPS];
  rlx_fit_load(src, weight, n, shape->subs, groups, RLX_EXPONENT_SHARED, loaded);
  for (int k = 0; k < groups; k++) all[k].g = loaded[k];
  const rlx_group *g = &all[0].g;
  pair real = fit_subs(shape, sign_of(src), groups, all);
  double best = HUGE_VAL;
  for (int round = 0; round < ROUNDS; round++) {
    uint16_t d = stored_scale(ldexp(real.d, g->exponent[0])), dmin = stored_scale(ldexp(real.dmin, g->exponent[0]));
    pair stored = {(double)rlx_fit_scaled(g, 0, (double)rlx_f16_to_f32(d)),
                   (double)rlx_fit_scaled(g, 0, (double)rlx_f16_to_f32(dmin))};
    double error = 0;
    for (int k = 0; k < groups; k++) error += choose(shape, (float)stored.d, (float)stored.dmin, &all[k]);
    if (error < best || round == 0) {
      best = error;
      out->d = d;
      out->dmin = dmin;
      keep(shape, all, groups, out);
    }
    real = refit(all, groups, stored);
    for (int k = 0; k < groups; k++) EACH_LANE {
        all[k].wanted.scale.v[j] = (float)(real.d * (double)all[k].scale.v[j]);
        all[k].wanted.offset.v[j] = (float)(-real.dmin * (double)all[k].min.v[j]);
      }
  }
}
