/* Fitting one scale, or a scale and an offset.
 *
 * With the codes fixed, the best scale is plain least squares; with the scale fixed, the best codes are the nearest
 * levels. Each step lowers the error, but only down to the nearest dip, and there are many. So the search starts from a
 * score of scales around the obvious one (the largest number takes the last level), improves each by one least-squares
 * step, keeps the best and polishes it. The number and spread of the starts were chosen by what bench/quant_error
 * prints. */
#include "quant/fit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/half.h"

/* Starting scales put the far end of the numbers this many levels off the last one: below 0 the levels are not all
 * used, above it the end is clipped. */
enum { SCALE_STARTS = 10, AFFINE_STARTS = 10, OFFSET_STARTS = 2, POLISH_STEPS = 2 };
static const double first_start = -1.0, scale_step = 0.2, affine_step = 0.3, offset_step = 0.3;
static const double f16_max = 65504.0;

/* The index of the nearest entry, by halving: 16 entries, four questions. */
static int nearest_in_book(const int8_t *book, double v) {
  int code = 0;
  for (int half = 8; half > 0; half /= 2)
    if (2.0 * v > book[code + half - 1] + book[code + half]) code += half;
  return code;
}

static inline int nearest(const rlx_levels *levels, double v) {
  if (levels->book) return nearest_in_book(levels->book, v);
  double top = levels->hi - levels->lo, code = v - levels->lo;
  code = code < top ? code : top;
  code = code > 0 ? code : 0;
  return (int)(code + 0.5);
}

static double reciprocal(double scale) { return scale != 0 ? 1 / scale : 0; }

void rlx_fit_load(const float *src, double *x, int n) {
  for (int i = 0; i < n; i++) {
    double v = (double)src[i];
    x[i] = isnan(v) ? 0 : v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v;
  }
}

double rlx_fit_codes(const rlx_levels *levels, const double *x, int n, rlx_affine map, uint8_t *codes) {
  double inverse = reciprocal(map.scale), error = 0;
  for (int i = 0; i < n; i++) {
    double shifted = x[i] - map.offset;
    int code = nearest(levels, shifted * inverse);
    double e = shifted - map.scale * rlx_level(levels, code);
    error += e * e;
    if (codes) codes[i] = (uint8_t)code;
  }
  return error;
}

/* Sums over the numbers x and the levels l they take under a map: all that least squares needs. */
typedef struct moments {
  double n, x, l, ll, xl;
} moments;

static moments take_moments(const rlx_levels *levels, const double *x, int n, double inverse, double offset) {
  moments s = {.n = n};
  for (int i = 0; i < n; i++) {
    double l = rlx_level(levels, nearest(levels, (x[i] - offset) * inverse));
    s.x += x[i];
    s.l += l;
    s.ll += l * l;
    s.xl += x[i] * l;
  }
  return s;
}

/* The best scale has xl / ll, and takes xl^2 / ll off the error. */
static void keep_better_scale(const moments *s, double *scale, double *gain) {
  if (s->ll > 0 && s->xl * s->xl > *gain * s->ll) {
    *gain = s->xl * s->xl / s->ll;
    *scale = s->xl / s->ll;
  }
}

double rlx_fit_scale(const rlx_levels *levels, const double *x, int n) {
  double peak = 0, scale = 0, gain = 0;
  for (int i = 0; i < n; i++)
    if (fabs(x[i]) > fabs(peak)) peak = x[i];
  if (peak == 0) return 0;
  /* The peak may take either end of the levels; where they mirror each other, one will do. */
  const int ends[2] = {levels->lo, levels->hi};
  double unit = levels->book ? (levels->hi - levels->lo) / 15.0 : 1.0;
  for (int side = 0; side < (levels->lo == -levels->hi ? 1 : 2); side++)
    for (int k = 0; k < SCALE_STARTS; k++) {
      double beyond = unit * (first_start + scale_step * k), end = ends[side];
      moments s = take_moments(levels, x, n, (end < 0 ? end - beyond : end + beyond) / peak, 0);
      keep_better_scale(&s, &scale, &gain);
    }
  for (int k = 0; k < POLISH_STEPS; k++) {
    moments s = take_moments(levels, x, n, reciprocal(scale), 0);
    keep_better_scale(&s, &scale, &gain);
  }
  return scale;
}

static bool is_allowed(double offset, rlx_offset_sign sign) {
  return sign == RLX_OFFSET_ANY || (sign == RLX_OFFSET_NEGATIVE ? offset <= 0 : offset >= 0);
}

/* Least squares for both, or for the scale alone where the best offset is not allowed. */
static rlx_affine solve(const moments *s, rlx_offset_sign sign) {
  double det = s->n * s->ll - s->l * s->l;
  rlx_affine map = {0, s->x / s->n};
  if (det > 0) map = (rlx_affine){(s->n * s->xl - s->l * s->x) / det, (s->ll * s->x - s->l * s->xl) / det};
  if (!is_allowed(map.offset, sign)) map = (rlx_affine){s->ll > 0 ? s->xl / s->ll : 0, 0};
  return map;
}

/* What a map takes off the error, with the codes fixed. */
static double gain_of(const moments *s, rlx_affine map) {
  return 2 * (map.scale * s->xl + map.offset * s->x) -
         (map.scale * map.scale * s->ll + 2 * map.scale * map.offset * s->l + map.offset * map.offset * s->n);
}

static void keep_better_affine(const moments *s, rlx_offset_sign sign, rlx_affine *map, double *gain) {
  rlx_affine try = solve(s, sign);
  double try_gain = gain_of(s, try);
  if (try.scale >= 0 && try_gain > *gain) {
    *gain = try_gain;
    *map = try;
  }
}

rlx_affine rlx_fit_affine(const rlx_levels *levels, const double *x, int n, rlx_offset_sign sign) {
  double lo = x[0], hi = x[0];
  for (int i = 1; i < n; i++) {
    lo = x[i] < lo ? x[i] : lo;
    hi = x[i] > hi ? x[i] : hi;
  }
  if (!is_allowed(lo, sign)) lo = 0;
  if (hi <= lo) return (rlx_affine){0, lo};
  rlx_affine map = {0, 0};
  double gain = 0;
  for (int m = 0; m < OFFSET_STARTS; m++)
    for (int k = 0; k < AFFINE_STARTS; k++) {
      double offset = lo + (hi - lo) / levels->hi * offset_step * m;
      if (!is_allowed(offset, sign)) offset = 0;
      if (hi <= offset) continue;
      moments s = take_moments(levels, x, n, (levels->hi + first_start + affine_step * k) / (hi - offset), offset);
      keep_better_affine(&s, sign, &map, &gain);
    }
  for (int k = 0; k < POLISH_STEPS; k++) {
    moments s = take_moments(levels, x, n, reciprocal(map.scale), map.offset);
    keep_better_affine(&s, sign, &map, &gain);
  }
  return map;
}

uint16_t rlx_fit_f16(double v) { return rlx_f64_to_f16(v > f16_max ? f16_max : v < -f16_max ? -f16_max : v); }

uint16_t rlx_fit_f16_scale(const rlx_levels *levels, const double *x, int n, rlx_affine map) {
  uint16_t h = rlx_fit_f16(map.scale), best = h;
  if (map.scale == 0) return h;
  double least = HUGE_VAL;
  for (int step = -1; step <= 1; step++) {
    int magnitude = (h & 0x7fff) + step; /* the bits of an f16 without its sign count upwards from zero */
    if (magnitude < 0 || magnitude > 0x7bff) continue;
    uint16_t try = (uint16_t)((h & 0x8000) | magnitude);
    double error = rlx_fit_codes(levels, x, n, (rlx_affine){(double)rlx_f16_to_f32(try), map.offset}, NULL);
    if (error < least) {
      least = error;
      best = try;
    }
  }
  return best;
}
