/* Plans of Fourier transforms: the passes and their roots of unity. A length is factored into fours and small primes.
 * One with a large prime factor becomes a convolution of a power of two (Bluestein): with jk = (j^2 + k^2 - (k - j)^2)
 * / 2 the sum over j becomes a convolution with a chirp. Angles are computed in f64 from exact integers. */
#include <math.h>

#include "cpu/fft.h"

static void unit(size_t k, size_t n, double *re, double *im) {
  double angle = 6.283185307179586476925 * (double)k / (double)n;
  *re = cos(angle);
  *im = -sin(angle);
}

static void store_unit(float *to, size_t k, size_t n) {
  double re, im;
  unit(k, n, &re, &im);
  to[0] = (float)re;
  to[1] = (float)im;
}

/* The next factor of n; 0 where it is too large. */
static size_t factor_of(size_t n) {
  static const size_t factors[] = {4, 2, 3, 5, 7, 11, 13};
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
    if (n % factors[i] == 0) return factors[i];
  return 0;
}

static bool is_smooth(size_t n) {
  while (n > 1) {
    size_t f = factor_of(n);
    if (!f) return false;
    n /= f;
  }
  return true;
}

static size_t convolution_size(size_t n) {
  size_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  return m;
}

size_t cpu_fft_plan_size(size_t n) { return n < 2 || is_smooth(n) ? n : convolution_size(n); }

static rlx_status add_pass(cpu_fft_plan *plan, size_t l, size_t radix, rlx_bump *memory) {
  cpu_fft_pass *p = &plan->pass[plan->n_passes++];
  float *twiddle = rlx_bump_array(memory, float, 2 * l * (radix - 1)),
        *roots = rlx_bump_array(memory, float, 2 * radix);
  if (!twiddle || !roots) return RLX_FAIL(RLX_NO_MEMORY, "a transform of %zu elements", plan->n);
  for (size_t j = 0; j < l; j++)
    for (size_t q = 1; q < radix; q++) store_unit(twiddle + 2 * (j * (radix - 1) + q - 1), q * j, l * radix);
  for (size_t q = 0; q < radix; q++) store_unit(roots + 2 * q, q, radix);
  *p = (cpu_fft_pass){radix, l, plan->n / (l * radix), twiddle, roots};
  return RLX_OK;
}

static rlx_status add_passes(cpu_fft_plan *plan, rlx_bump *memory) {
  for (size_t l = 1; l < plan->n;) {
    size_t radix = factor_of(plan->n / l);
    RLX_TRY(add_pass(plan, l, radix, memory));
    l *= radix;
  }
  return RLX_OK;
}

/* The transform of the chirp's conjugate, extended periodically to the length of the convolution. Executes the plan in
 * f64 for one line. */
static rlx_status transform_filter(const cpu_fft_plan *inner, const double *chirp, size_t n, rlx_bump *memory,
                                   const float **out) {
  size_t m = inner->n;
  double *x = rlx_bump_array(memory, double, 2 * m), *y = rlx_bump_array(memory, double, 2 * m);
  float *filter = rlx_bump_array(memory, float, 2 * m);
  if (!x || !y || !filter) return RLX_FAIL(RLX_NO_MEMORY, "a transform of %zu elements", n);
  for (size_t k = 0; k < n; k++) {
    x[2 * k] = chirp[2 * k], x[2 * k + 1] = -chirp[2 * k + 1];
    if (k) x[2 * (m - k)] = x[2 * k], x[2 * (m - k) + 1] = x[2 * k + 1];
  }
  for (size_t i = 0; i < inner->n_passes; i++) {
    const cpu_fft_pass *s = &inner->pass[i];
    for (size_t p = 0; p < s->m; p++)
      for (size_t j = 0; j < s->l; j++)
        for (size_t k = 0; k < s->radix; k++) {
          double sum_re = 0, sum_im = 0, re, im;
          for (size_t q = 0; q < s->radix; q++) {
            const double *a = x + 2 * ((q * s->m + p) * s->l + j);
            unit(q * (j + k * s->l) % (s->l * s->radix), s->l * s->radix, &re, &im);
            sum_re += a[0] * re - a[1] * im;
            sum_im += a[0] * im + a[1] * re;
          }
          double *to = y + 2 * ((p * s->radix + k) * s->l + j);
          to[0] = sum_re, to[1] = sum_im;
        }
    double *t = x;
    x = y;
    y = t;
  }
  for (size_t i = 0; i < 2 * m; i++) filter[i] = (float)(x[i] / (double)m);
  *out = filter;
  return RLX_OK;
}

static rlx_status add_convolution(cpu_fft_plan *plan, rlx_bump *memory) {
  size_t n = plan->n, square = 0; /* k^2 modulo 2n */
  double *chirp = rlx_bump_array(memory, double, 2 * n);
  float *rounded = rlx_bump_array(memory, float, 2 * n);
  if (!chirp || !rounded) return RLX_FAIL(RLX_NO_MEMORY, "a transform of %zu elements", n);
  for (size_t k = 0; k < n; k++) {
    unit(square, 2 * n, &chirp[2 * k], &chirp[2 * k + 1]);
    square = (square + 2 * k + 1) % (2 * n);
    rounded[2 * k] = (float)chirp[2 * k], rounded[2 * k + 1] = (float)chirp[2 * k + 1];
  }
  plan->chirp = rounded;
  RLX_TRY(cpu_fft_plan_create(convolution_size(n), memory, &plan->inner));
  return transform_filter(plan->inner, chirp, n, memory, &plan->filter);
}

rlx_status cpu_fft_plan_create(size_t n, rlx_bump *memory, const cpu_fft_plan **out) {
  cpu_fft_plan *plan = rlx_bump_new(memory, cpu_fft_plan);
  *out = plan;
  if (!plan) return RLX_FAIL(RLX_NO_MEMORY, "a transform of %zu elements", n);
  plan->n = n;
  if (n < 2) return RLX_OK;
  return is_smooth(n) ? add_passes(plan, memory) : add_convolution(plan, memory);
}
