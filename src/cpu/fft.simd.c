/* Inner loops of the Fourier transform (Stockham): each pass goes from one buffer to the other and combines short
 * transforms into longer ones in natural order, so there is no bit reversal. fft.h describes the layout of the data. */
#include "cpu/fft.h"

#include "cpu/simd.h"

enum { L = VF_LANES };

typedef struct cplx {
  vf re, im;
} cplx;

CPU_INLINE cplx load(const float *x, size_t k) { return (cplx){vf_load(x + 2 * L * k), vf_load(x + 2 * L * k + L)}; }
CPU_INLINE void store(float *x, size_t k, cplx z) {
  vf_store(x + 2 * L * k, z.re);
  vf_store(x + 2 * L * k + L, z.im);
}
CPU_INLINE cplx add(cplx a, cplx b) { return (cplx){vf_add(a.re, b.re), vf_add(a.im, b.im)}; }
CPU_INLINE cplx sub(cplx a, cplx b) { return (cplx){vf_sub(a.re, b.re), vf_sub(a.im, b.im)}; }
/* Times a complex number f, given as re, im. */
CPU_INLINE cplx times(cplx a, const float *f) {
  vf re = vf_set(f[0]), im = vf_set(f[1]);
  return (cplx){vf_fnma(a.im, im, vf_mul(a.re, re)), vf_fma(a.im, re, vf_mul(a.re, im))};
}

/* Input q of butterfly (p, j), times its twiddle factor. */
CPU_INLINE cplx input(const cpu_fft_pass *s, const float *x, size_t p, size_t j, size_t q) {
  cplx a = load(x, (q * s->m + p) * s->l + j);
  return q == 0 || s->l == 1 ? a : times(a, s->twiddle + 2 * (j * (s->radix - 1) + q - 1));
}

/* The butterflies (p, j) of a pass, in runs; the budget is polled between runs. A butterfly on data that no cache holds
 * takes some BUTTERFLY_NS. */
enum { RUN = 1 << 12, BUTTERFLY_NS = 64 };
#define EACH_BUTTERFLY(s, p, j)                                         \
  for (size_t p = 0, done_ = 0; p < (s)->m && done_ < CPU_POLL_NS; p++) \
    for (size_t j = 0, end_ = 0; next_run((s), j, &end_, &done_);)      \
      for (; j < end_; j++)
CPU_INLINE bool next_run(const cpu_fft_pass *s, size_t j, size_t *end, size_t *done) {
  *end = s->l - j < RUN ? s->l : j + RUN;
  return j < s->l && !cpu_stops_after(done, BUTTERFLY_NS * (*end - j));
}

static void pass2(const cpu_fft_pass *s, const float *x, float *y) {
  EACH_BUTTERFLY(s, p, j) {
    cplx a = input(s, x, p, j, 0), b = input(s, x, p, j, 1);
    store(y, p * 2 * s->l + j, add(a, b));
    store(y, (p * 2 + 1) * s->l + j, sub(a, b));
  }
}

static void pass4(const cpu_fft_pass *s, const float *x, float *y) {
  EACH_BUTTERFLY(s, p, j) {
    cplx a = input(s, x, p, j, 0), b = input(s, x, p, j, 1), c = input(s, x, p, j, 2), d = input(s, x, p, j, 3);
    cplx even = add(a, c), odd = sub(a, c), sum = add(b, d), difference = sub(b, d);
    cplx rotated = {difference.im, vf_neg(difference.re)}; /* times -i */
    float *to = y + 2 * L * (p * 4 * s->l + j);
    store(to, 0, add(even, sum));
    store(to, s->l, add(odd, rotated));
    store(to, 2 * s->l, sub(even, sum));
    store(to, 3 * s->l, sub(odd, rotated));
  }
}

static void pass_any(const cpu_fft_pass *s, const float *x, float *y) {
  cplx a[CPU_FFT_MAX_RADIX];
  EACH_BUTTERFLY(s, p, j) {
    for (size_t q = 0; q < s->radix; q++) a[q] = input(s, x, p, j, q);
    for (size_t k = 0; k < s->radix; k++) {
      cplx sum = a[0];
      for (size_t q = 1; q < s->radix; q++) sum = add(sum, times(a[q], s->roots + 2 * (q * k % s->radix)));
      store(y, (p * s->radix + k) * s->l + j, sum);
    }
  }
}

static float *run_passes(const cpu_fft_plan *plan, float *x, float *scratch) {
  for (size_t i = 0, done = 0; i < plan->n_passes && !cpu_stops_after(&done, 8 * plan->n); i++) {
    const cpu_fft_pass *s = &plan->pass[i];
    (s->radix == 4 ? pass4 : s->radix == 2 ? pass2 : pass_any)(s, x, scratch);
    float *t = x;
    x = scratch;
    scratch = t;
  }
  return x;
}

/* Swaps re and im: before and after a transform this makes it the inverse. */
static void swap_re_im(float *x, size_t n) {
  for (size_t k = 0; k < n; k++) {
    cplx z = load(x, k);
    store(x, k, (cplx){z.im, z.re});
  }
}

static float *run(const cpu_fft_plan *plan, float *x, float *scratch) {
  if (!plan->inner) return run_passes(plan, x, scratch);
  size_t m = plan->inner->n;
  for (size_t k = 0; k < m; k++)
    store(x, k, k < plan->n ? times(load(x, k), plan->chirp + 2 * k) : (cplx){vf_zero(), vf_zero()});
  float *y = run_passes(plan->inner, x, scratch);
  for (size_t k = 0; k < m; k++) store(y, k, times(load(y, k), plan->filter + 2 * k));
  swap_re_im(y, m);
  y = run_passes(plan->inner, y, y == x ? scratch : x);
  swap_re_im(y, m);
  for (size_t k = 0; k < plan->n; k++) store(y, k, times(load(y, k), plan->chirp + 2 * k));
  return y;
}

const cpu_fft_table CPU_TABLE(cpu_fft) = {.lanes = L, .run = run};
