/* Fits one scale, or a scale and an offset.
 *
 * With the codes fixed, the best scale is ordinary least squares; with the scale fixed, the best codes are the nearest
 * levels. Alternating the two lowers the error, but only to a local minimum, and there are many. So the search starts
 * from several scales around the obvious one (the largest value gets the last level), improves each by one
 * least-squares step, keeps the best and refines it. The number and spread of the starts were chosen with
 * bench/quant_error.
 *
 * A start costs one pass over the values. It sums residuals, not values: in f32 the small errors of two starts can be
 * compared only if nothing large has been added to them. */
#include "quant/fit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/half.h"

/* Starting scales map the farthest value this many levels off the last one: below 0 not all levels are used, above 0
 * the end is clipped. */
enum { SCALE_STARTS = 7, AFFINE_STARTS = 7, OFFSET_STARTS = 2, REFINE_STEPS = 1 };
static const float first_start = -1.0f, scale_step = 0.3f, affine_step = 0.4f, offset_step = 0.3f;
static const double f16_max = 65504.0;
/* A sub-block this much smaller than the largest value of its super-block is encoded as zeros. */
static const float negligible = 0x1p-50f;

#define EACH_LANE for (int j = 0; j < LANES; j++)
#define EACH_HALF for (int h = 0; h < 2; h++)

/* ---- nearest levels ---- */

void rlx_fit_make_book(const int8_t *entries, rlx_book *out) {
  int code = 0;
  for (int step = 0; step < BOOK_STEPS; step++) {
    while (code < 15 && step - 256 >= entries[code] + entries[code + 1]) code++;
    out->level[step] = entries[code];
    out->code[step] = (uint8_t)code;
  }
}

static inline int book_step(float v) { return (int)(2 * v + 256.0f); }

/* The nearest levels of values in units of the scale. Adding and subtracting 1.5 * 2^23 rounds to an integer. */
static inline rlx_four nearest(const rlx_levels *levels, rlx_four v) {
  v = rlx_larger(rlx_smaller(v, rlx_four_of((float)levels->hi)), rlx_four_of((float)levels->lo));
  if (!levels->book) return (v + 12582912.0f) - 12582912.0f;
  const float *level = levels->book->level;
  rlx_mask step = __builtin_convertvector(2 * v + 256.0f, rlx_mask);
  return (rlx_four){level[step[0]], level[step[1]], level[step[2]], level[step[3]]};
}

void rlx_fit_codes(const rlx_levels *levels, const rlx_lanes *level, int n, uint8_t *codes) {
  for (int i = 0; i < n; i++) EACH_LANE {
      float l = level[i].v[j];
      codes[j * n + i] = levels->book ? levels->book->code[book_step(l)] : (uint8_t)((int)l - levels->lo);
    }
}

/* 1 / scale, and 0 for 0. */
static rlx_lanes reciprocals(const rlx_lanes *scale) {
  rlx_lanes r;
  EACH_HALF r.half[h] = rlx_pick(scale->half[h] != 0, 1 / scale->half[h], (rlx_four){0});
  return r;
}

void rlx_fit_levels(const rlx_levels *levels, const rlx_group *g, const rlx_affine *map, rlx_lanes *level) {
  rlx_lanes inverse = reciprocals(&map->scale);
  EACH_HALF
  for (int i = 0; i < g->n; i++)
    level[i].half[h] = nearest(levels, (g->x[i].half[h] - map->offset.half[h]) * inverse.half[h]);
}

void rlx_fit_error(const rlx_levels *levels, const rlx_group *g, const rlx_affine *map, rlx_lanes *error) {
  rlx_lanes inverse = reciprocals(&map->scale);
  EACH_HALF {
    rlx_four scale = map->scale.half[h], offset = map->offset.half[h], per = inverse.half[h], sum = {0};
    for (int i = 0; i < g->n; i++) {
      rlx_four x = g->x[i].half[h] - offset, e = x - scale * nearest(levels, x * per);
      sum += g->w[i].half[h] * e * e;
    }
    error->half[h] = sum;
  }
}

/* ---- loading and scaling values ---- */

static double power_of_two(int e) {
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

double rlx_fit_true(const rlx_group *g, int lane, float v) { return (double)v * power_of_two(g->exponent[lane]); }

/* Clamped, so that an integer times it is finite; the values that it is used with are then far below 1. */
float rlx_fit_scaled(const rlx_group *g, int lane, double v) {
  double scaled = v * power_of_two(-g->exponent[lane]), max = 0x1p100;
  return (float)(scaled > max ? max : scaled < -max ? -max : scaled);
}

/* The smallest and the largest value of each lane. */
static void find_ends(const rlx_group *g, rlx_lanes *lo, rlx_lanes *hi) {
  *lo = *hi = g->x[0];
  for (int i = 1; i < g->n; i++) EACH_HALF {
      lo->half[h] = rlx_smaller(lo->half[h], g->x[i].half[h]);
      hi->half[h] = rlx_larger(hi->half[h], g->x[i].half[h]);
    }
}

/* The exponent that brings each lane's largest magnitude into [1, 2); NO_EXPONENT for zeros. */
enum { NO_EXPONENT = -200 };

static void find_exponents(rlx_group *g) {
  rlx_lanes lo, hi;
  find_ends(g, &lo, &hi);
  EACH_LANE {
    float peak = hi.v[j] > -lo.v[j] ? hi.v[j] : -lo.v[j];
    int e = (int)(rlx_f32_bits(peak) >> 23 & 255) - 127;
    g->exponent[j] = e > -127 ? e : peak != 0 ? ilogbf(peak) : NO_EXPONENT;
  }
}

/* In two steps, as 2^149 exceeds f32. */
static void scale_near_one(rlx_group *g) {
  rlx_lanes first, second;
  EACH_LANE {
    int part = -g->exponent[j] / 2;
    first.v[j] = (float)power_of_two(part);
    second.v[j] = (float)power_of_two(-g->exponent[j] - part);
  }
  for (int i = 0; i < g->n; i++) EACH_HALF g->x[i].half[h] = g->x[i].half[h] * first.half[h] * second.half[h];
}

static inline rlx_four finite_of(rlx_four v) {
  v = rlx_pick(v == v, v, (rlx_four){0});
  return rlx_larger(rlx_smaller(v, rlx_four_of(FLT_MAX)), rlx_four_of(-FLT_MAX));
}

/* n is a multiple of 4, so lanes are read in fours. */
static void load_group(const float *src, const float *weight, int n, int lanes, rlx_group *g) {
  g->n = n;
  g->all = (rlx_lanes){0};
  for (int j = 0; j < LANES; j++)
    for (int i = 0; i < n; i += 4) {
      rlx_four v = {0}, w = rlx_four_of(1);
      if (j < lanes) memcpy(&v, src + j * n + i, sizeof v);
      if (j < lanes && weight) memcpy(&w, weight + j * n + i, sizeof w);
      v = finite_of(v);
      for (int k = 0; k < 4; k++) {
        g->x[i + k].v[j] = v[k];
        g->w[i + k].v[j] = w[k];
        g->all.v[j] += w[k];
      }
    }
}

void rlx_fit_load(const float *src, const float *weight, int n, int lanes, int groups, rlx_exponents exponents,
                  rlx_group *out) {
  int max = NO_EXPONENT;
  for (int k = 0; k < groups; k++) {
    const int at = k * LANES * n;
    load_group(src + at, weight ? weight + at : NULL, n, lanes - k * LANES, &out[k]);
    find_exponents(&out[k]);
    EACH_LANE max = out[k].exponent[j] > max ? out[k].exponent[j] : max;
  }
  for (int k = 0; k < groups; k++) {
    EACH_LANE {
      if (exponents == RLX_EXPONENT_SHARED) out[k].exponent[j] = max;
      if (out[k].exponent[j] == NO_EXPONENT) out[k].exponent[j] = 0;
    }
    scale_near_one(&out[k]);
  }
}

/* ---- one scale ---- */

/* Weighted sums of products of the residuals r = x / scale - level and the levels l. */
typedef struct scale_sums {
  rlx_lanes rr, rl, ll;
} scale_sums;

static void sum_scale(const rlx_levels *levels, const rlx_group *g, const rlx_lanes *inverse, scale_sums *out) {
  EACH_HALF {
    rlx_four rr = {0}, rl = {0}, ll = {0}, per = inverse->half[h];
    for (int i = 0; i < g->n; i++) {
      rlx_four t = g->x[i].half[h] * per, l = nearest(levels, t), r = t - l, wr = g->w[i].half[h] * r;
      rr += wr * r;
      rl += wr * l;
      ll += g->w[i].half[h] * l * l;
    }
    out->rr.half[h] = rr;
    out->rl.half[h] = rl;
    out->ll.half[h] = ll;
  }
}

/* The best change of the scale is by the fraction rl / ll, and it reduces the error by rl^2 / ll. Where all levels are
 * 0 the quotients are NaN, which compares as not better. */
static void keep_better_scale(const scale_sums *s, const rlx_lanes *inverse, rlx_lanes *scale, rlx_lanes *error) {
  EACH_HALF {
    rlx_four share = s->rl.half[h] / s->ll.half[h], unit = 1 / inverse->half[h];
    rlx_four try = (s->rr.half[h] - share * s->rl.half[h]) * unit * unit;
    rlx_mask is_better = try < error->half[h];
    scale->half[h] = rlx_pick(is_better, unit + unit * share, scale->half[h]);
    error->half[h] = rlx_pick(is_better, try, error->half[h]);
  }
}

/* The value of the largest magnitude; 0 where that is negligible. */
static void find_peaks(const rlx_group *g, float *peak) {
  rlx_lanes lo, hi;
  find_ends(g, &lo, &hi);
  EACH_LANE {
    peak[j] = hi.v[j] >= -lo.v[j] ? hi.v[j] : lo.v[j];
    if (fabsf(peak[j]) < negligible) peak[j] = 0;
  }
}

/* All lanes are one block: every lane gets the total. */
static void add_lanes(rlx_lanes *x) {
  float sum = 0;
  EACH_LANE sum += x->v[j];
  EACH_LANE x->v[j] = sum;
}

static void search_scale(const rlx_levels *levels, const rlx_group *g, const float *peak, bool is_one,
                         rlx_lanes *scale) {
  rlx_lanes error, inverse;
  scale_sums s;
  EACH_LANE {
    scale->v[j] = 0;
    error.v[j] = FLT_MAX;
  }
  /* The peak may get either end of the levels; where they are symmetric, one side is enough. */
  const int sides = levels->lo == -levels->hi ? 1 : 2, starts = sides * SCALE_STARTS;
  const float unit = levels->book ? (float)(levels->hi - levels->lo) / 15.0f : 1.0f;
  for (int k = 0; k < starts + REFINE_STEPS; k++) {
    float beyond = unit * (first_start + scale_step * (float)(k % SCALE_STARTS));
    float end = k < SCALE_STARTS ? (float)levels->lo - beyond : (float)levels->hi + beyond;
    if (k >= starts) inverse = reciprocals(scale);
    else EACH_LANE inverse.v[j] = peak[j] != 0 ? end / peak[j] : 0;
    sum_scale(levels, g, &inverse, &s);
    if (is_one) add_lanes(&s.rr), add_lanes(&s.rl), add_lanes(&s.ll);
    keep_better_scale(&s, &inverse, scale, &error);
  }
}

void rlx_fit_scale(const rlx_levels *levels, const rlx_group *g, rlx_lanes *scale) {
  float peak[LANES];
  find_peaks(g, peak);
  search_scale(levels, g, peak, false, scale);
}

float rlx_fit_one_scale(const rlx_levels *levels, const rlx_group *g) {
  float peak[LANES], max = 0;
  rlx_lanes scale;
  find_peaks(g, peak);
  EACH_LANE if (fabsf(peak[j]) > fabsf(max)) max = peak[j];
  EACH_LANE peak[j] = max;
  search_scale(levels, g, peak, true, &scale);
  return scale.v[0];
}

/* ---- a scale and an offset ---- */

typedef struct affine_sums {
  rlx_lanes r, l, rr, rl, ll;
} affine_sums;

static void sum_affine(const rlx_levels *levels, const rlx_group *g, const rlx_lanes *inverse, const rlx_lanes *offset,
                       affine_sums *out) {
  EACH_HALF {
    rlx_four sum_r = {0}, sum_l = {0}, rr = {0}, rl = {0}, ll = {0}, per = inverse->half[h], off = offset->half[h];
    for (int i = 0; i < g->n; i++) {
      rlx_four t = (g->x[i].half[h] - off) * per, l = nearest(levels, t), r = t - l;
      rlx_four wr = g->w[i].half[h] * r, wl = g->w[i].half[h] * l;
      sum_r += wr;
      sum_l += wl;
      rr += wr * r;
      rl += wr * l;
      ll += wl * l;
    }
    out->r.half[h] = sum_r;
    out->l.half[h] = sum_l;
    out->rr.half[h] = rr;
    out->rl.half[h] = rl;
    out->ll.half[h] = ll;
  }
}

/* An offset is allowed if its product with this is not negative. */
static float allowed_side(rlx_offset_sign sign) {
  return sign == RLX_OFFSET_ANY ? 0.0f : sign == RLX_OFFSET_NEGATIVE ? -1.0f : 1.0f;
}

/* Least squares of r = share * l + shift: for both, or for the share alone with the offset fixed at 0 where the best
 * offset is not allowed. As above, NaN (from levels that are all equal) is not better. */
static void keep_better_affine(const affine_sums *s, const rlx_lanes *all, const rlx_lanes *inverse,
                               const rlx_lanes *offset, float side, rlx_affine *map, rlx_lanes *error) {
  EACH_HALF {
    rlx_four count = all->half[h], r = s->r.half[h], l = s->l.half[h], rl = s->rl.half[h], ll = s->ll.half[h],
             unit = 1 / inverse->half[h];
    rlx_four det = count * ll - l * l, share = (count * rl - l * r) / det, shift = (ll * r - l * rl) / det;
    rlx_four off = share * rl + shift * r, moved = offset->half[h] + shift * unit;
    rlx_four fixed = -offset->half[h] * inverse->half[h], with = rl - fixed * l, fixed_share = with / ll;
    rlx_four fixed_off = fixed * (2 * r - count * fixed) + fixed_share * with;
    rlx_mask is_allowed = side * moved >= 0;
    share = rlx_pick(is_allowed, share, fixed_share);
    moved = rlx_pick(is_allowed, moved, (rlx_four){0});
    rlx_four try = (s->rr.half[h] - rlx_pick(is_allowed, off, fixed_off)) * unit * unit;
    rlx_mask is_better = (try < error->half[h]) & (share >= -1);
    map->scale.half[h] = rlx_pick(is_better, unit + unit * share, map->scale.half[h]);
    map->offset.half[h] = rlx_pick(is_better, moved, map->offset.half[h]);
    error->half[h] = rlx_pick(is_better, try, error->half[h]);
  }
}

void rlx_fit_affine(const rlx_levels *levels, const rlx_group *g, rlx_offset_sign sign, rlx_affine *map) {
  const float side = allowed_side(sign);
  const rlx_four zero = {0};
  rlx_lanes lo, hi, offset, inverse, error;
  affine_sums s;
  find_ends(g, &lo, &hi);
  EACH_HALF {
    lo.half[h] = rlx_pick(side * lo.half[h] >= 0, lo.half[h], zero);
    map->scale.half[h] = zero;
    map->offset.half[h] = lo.half[h];
    /* Lanes of equal values are already exact. */
    error.half[h] = rlx_pick(hi.half[h] - lo.half[h] > negligible, rlx_four_of(FLT_MAX), zero);
  }
  const int starts = OFFSET_STARTS * AFFINE_STARTS;
  for (int k = 0; k < starts + REFINE_STEPS; k++) {
    float inside = offset_step * (float)(k / AFFINE_STARTS) / (float)levels->hi;
    float end = (float)levels->hi + first_start + affine_step * (float)(k % AFFINE_STARTS);
    EACH_HALF {
      rlx_four at = lo.half[h] + (hi.half[h] - lo.half[h]) * inside;
      offset.half[h] = rlx_pick(side * at >= 0, at, zero);
      rlx_four span = hi.half[h] - offset.half[h];
      inverse.half[h] = rlx_pick(span > 0, end / span, zero);
    }
    if (k >= starts) {
      offset = map->offset;
      inverse = reciprocals(&map->scale);
    }
    sum_affine(levels, g, &inverse, &offset, &s);
    keep_better_affine(&s, &g->all, &inverse, &offset, side, map, &error);
  }
}

/* ---- f16 ---- */

uint16_t rlx_fit_f16(double v) { return rlx_f64_to_f16(v > f16_max ? f16_max : v < -f16_max ? -f16_max : v); }

void rlx_fit_f16_scale(const rlx_levels *levels, const rlx_group *g, rlx_affine *map, uint16_t *stored) {
  uint16_t nearest_f16[LANES];
  float min[LANES];
  rlx_affine try = {.offset = map->offset};
  EACH_LANE {
    nearest_f16[j] = stored[j] = rlx_fit_f16(rlx_fit_true(g, j, map->scale.v[j]));
    min[j] = INFINITY;
    if (map->scale.v[j] == 0) min[j] = 0;
  }
  for (int step = -1; step <= 1; step++) {
    uint16_t h[LANES];
    rlx_lanes error;
    EACH_LANE {
      /* The bits of an f16 without its sign are ordered by magnitude. */
      int magnitude = (nearest_f16[j] & 0x7fff) + step;
      magnitude = magnitude < 0 ? 0 : magnitude > 0x7bff ? 0x7bff : magnitude;
      h[j] = (uint16_t)((nearest_f16[j] & 0x8000) | magnitude);
      try.scale.v[j] = rlx_fit_scaled(g, j, (double)rlx_f16_to_f32(h[j]));
    }
    rlx_fit_error(levels, g, &try, &error);
    EACH_LANE if (error.v[j] < min[j]) {
      min[j] = error.v[j];
      stored[j] = h[j];
    }
  }
  EACH_LANE map->scale.v[j] = rlx_fit_scaled(g, j, (double)rlx_f16_to_f32(stored[j]));
}
