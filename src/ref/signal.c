/* fft, ifft, rfft, irfft and stft.
 *
 * All use one complex transform in f64. A power of two uses radix 2. Other lengths use Bluestein's algorithm: with jk =
 * (j^2 + k^2 - (k - j)^2) / 2 the transform becomes a convolution with a chirp, computed by three transforms of a power
 * of two. Short other lengths are summed directly. The inverse is the forward transform with re and im swapped before
 * and after. Angles are computed from exact integers modulo the length, never by repeated multiplication, so precision
 * does not degrade with n. */
#include <math.h>

#include "base/arith.h"
#include "ir/slice.h"
#include "ref/ref.h"

typedef struct {
  double re, im;
} cplx;

static cplx mul(cplx a, cplx b) { return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static cplx add(cplx a, cplx b) { return (cplx){a.re + b.re, a.im + b.im}; }
static cplx sub(cplx a, cplx b) { return (cplx){a.re - b.re, a.im - b.im}; }

/* e^(-2 pi i k / n) */
static cplx unit(size_t k, size_t n) {
  const double tau = 6.283185307179586476925;
  double angle = tau * (double)k / (double)n;
  return (cplx){cos(angle), -sin(angle)};
}

/* ---- the transform ---- */

/* The tables of one length, made once per call. */
typedef struct {
  size_t n;           /* the length */
  size_t m;           /* a power of two: n itself, or the convolution's length; 0: direct sums */
  cplx *roots;        /* m / 2 roots of unity (direct: n) */
  cplx *chirp;        /* Bluestein: n of e^(-pi i k^2 / n) */
  cplx *filter;       /* Bluestein: the transform of the chirp's conjugate */
  cplx *work;         /* m elements (direct: n) */
  rlx_ref_call *call; /* for rlx_ref_continues */
} dft;

/* In place over m elements: bit reversal, then butterflies of doubling width. */
static void radix2(const dft *d, cplx *x) {
  for (size_t i = 1, j = 0; i < d->m && rlx_ref_continues(d->call, 1); i++) {
    size_t bit = d->m >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      cplx t = x[i];
      x[i] = x[j], x[j] = t;
    }
  }
  for (size_t half = 1; half < d->m && !d->call->stopped; half *= 2)
    for (size_t start = 0; start < d->m && rlx_ref_continues(d->call, 1); start += 2 * half)
      RLX_REF_EACH(d->call, k, half) {
        cplx *a = &x[start + k], *b = &x[start + k + half];
        cplx odd = mul(*b, d->roots[k * (d->m / (2 * half))]);
        *b = sub(*a, odd);
        *a = add(*a, odd);
      }
}

static void direct(const dft *d, cplx *x) {
  memcpy(d->work, x, d->n * sizeof *x);
  for (size_t k = 0; k < d->n && rlx_ref_continues(d->call, d->n); k++) {
    cplx sum = {0, 0};
    for (size_t j = 0; j < d->n; j++) sum = add(sum, mul(d->work[j], d->roots[j * k % d->n]));
    x[k] = sum;
  }
}

static void swap_parts(const dft *d, cplx *x, size_t n) {
  RLX_REF_EACH(d->call, i, n) x[i] = (cplx){x[i].im, x[i].re};
}

static void bluestein(const dft *d, cplx *x) {
  cplx *w = d->work;
  RLX_REF_EACH(d->call, k, d->m) w[k] = k < d->n ? mul(x[k], d->chirp[k]) : (cplx){0, 0};
  radix2(d, w);
  RLX_REF_EACH(d->call, k, d->m) w[k] = mul(w[k], d->filter[k]);
  swap_parts(d, w, d->m);
  radix2(d, w);
  swap_parts(d, w, d->m);
  RLX_REF_EACH(d->call, k, d->n) {
    cplx y = mul(w[k], d->chirp[k]);
    x[k] = (cplx){y.re / (double)d->m, y.im / (double)d->m};
  }
}

static void forward(const dft *d, cplx *x) {
  if (d->m == d->n) radix2(d, x);
  else if (d->m == 0) direct(d, x);
  else bluestein(d, x);
}

static void inverse(const dft *d, cplx *x) { /* not divided by n */
  swap_parts(d, x, d->n);
  forward(d, x);
  swap_parts(d, x, d->n);
}

/* The chirp, and the transform of its conjugate extended periodically: indices 0 .. n-1 and -1 .. -(n-1). */
static rlx_status make_bluestein(rlx_ref_call *c, dft *d) {
  RLX_TRY(rlx_ref_scratch(c, d->n, sizeof *d->chirp, &d->chirp));
  RLX_TRY(rlx_ref_scratch(c, d->m, sizeof *d->filter, &d->filter));
  size_t square = 0; /* k^2 modulo 2n */
  RLX_REF_EACH(c, k, d->n) {
    d->chirp[k] = unit(square, 2 * d->n);
    square = (square + 2 * k + 1) % (2 * d->n);
    cplx conjugate = {d->chirp[k].re, -d->chirp[k].im};
    d->filter[k] = conjugate;
    if (k > 0) d->filter[d->m - k] = conjugate;
  }
  radix2(d, d->filter);
  return RLX_OK;
}

static rlx_status make_dft(rlx_ref_call *c, size_t n, dft *d) {
  enum { direct_below = 64 };
  bool power_of_two = (n & (n - 1)) == 0;
  size_t need = n;
  *d = (dft){.n = n, .call = c};
  if (!power_of_two && !rlx_mul_size(n, 4, &need)) return RLX_FAIL(RLX_NO_MEMORY, "a transform of %zu elements", n);
  if (power_of_two || n > direct_below)
    for (d->m = 1; d->m < (power_of_two ? n : 2 * n - 1);) d->m *= 2;
  size_t circle = d->m ? d->m : n, roots = d->m ? d->m / 2 : n;
  RLX_TRY(rlx_ref_scratch(c, roots, sizeof *d->roots, &d->roots));
  RLX_TRY(rlx_ref_scratch(c, circle, sizeof *d->work, &d->work));
  RLX_REF_EACH(c, k, roots) d->roots[k] = unit(k, circle);
  return d->m > n ? make_bluestein(c, d) : RLX_OK;
}

/* ---- elements ---- */

static cplx load_complex(const rlx_tensor *t, size_t i) {
  if (t->dtype != RLX_C64) return (cplx){rlx_load(t, i), 0};
  const float *v = (const float *)t->data + 2 * i;
  return (cplx){(double)v[0], (double)v[1]};
}

static void store_complex(rlx_tensor *t, size_t i, cplx z) {
  float *v = (float *)t->data + 2 * i;
  v[0] = (float)z.re;
  v[1] = (float)z.im;
}

/* ---- fft, ifft, rfft, irfft ---- */

/* The factor of the result: 1, 1/n or 1/sqrt(n). `backward` puts 1/n on the inverse, `forward` on the forward
 * transform. */
static double scale_of(int32_t norm, bool is_inverse, size_t n) {
  enum { norm_backward, norm_forward, norm_ortho };
  if (norm == norm_ortho) return 1 / sqrt((double)n);
  return (norm == norm_backward) == is_inverse ? 1 / (double)n : 1;
}

/* Reads a line, truncated or zero-padded. For irfft it is half a spectrum, and the rest is its mirror image. */
static void read_line(rlx_ref_call *c, rlx_lines in, size_t line, bool half, cplx *to, size_t n) {
  const rlx_tensor *x = c->in[0];
  size_t start = rlx_line_start(in, line), wanted = half ? n / 2 + 1 : n;
  RLX_REF_EACH(c, k, wanted) to[k] = k < in.n ? load_complex(x, start + k * in.inner) : (cplx){0, 0};
  if (!half) return;
  to[0].im = 0;
  if (n % 2 == 0) to[n / 2].im = 0;
  RLX_REF_EACH(c, k, n - wanted) to[n - 1 - k] = (cplx){to[k + 1].re, -to[k + 1].im};
}

static rlx_status transform(rlx_ref_call *c, bool is_inverse) {
  /* The four ops have the same attributes. */
  const rlx_attrs_fft *a = RLX_ATTRS(fft, c);
  const rlx_tensor *x = c->in[0];
  rlx_tensor *out = c->out;
  if (rlx_tensor_count(out) == 0) return RLX_OK;
  rlx_lines in_lines = rlx_lines_of(&x->shape, a->axis), out_lines = rlx_lines_of(&out->shape, a->axis);
  bool to_half = c->node->op == RLX_OP_rfft, from_half = c->node->op == RLX_OP_irfft;
  size_t n = !to_half ? out_lines.n : a->n ? (size_t)a->n : in_lines.n;
  dft d;
  cplx *line;
  RLX_TRY(make_dft(c, n, &d));
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *line, &line));
  double scale = scale_of(a->norm, is_inverse, n);
  for (size_t l = 0; l < out_lines.outer * out_lines.inner && rlx_ref_continues(c, 1); l++) {
    read_line(c, in_lines, l, from_half, line, n);
    (is_inverse ? inverse : forward)(&d, line);
    size_t start = rlx_line_start(out_lines, l);
    RLX_REF_EACH(c, k, out_lines.n) {
      cplx z = {line[k].re * scale, line[k].im * scale};
      if (from_half) rlx_store(out, start + k * out_lines.inner, z.re);
      else store_complex(out, start + k * out_lines.inner, z);
    }
  }
  return RLX_OK;
}

rlx_status rlx_ref_fft(rlx_ref_call *c) { return transform(c, false); }
rlx_status rlx_ref_ifft(rlx_ref_call *c) { return transform(c, true); }
rlx_status rlx_ref_rfft(rlx_ref_call *c) { return transform(c, false); }
rlx_status rlx_ref_irfft(rlx_ref_call *c) { return transform(c, true); }

/* ---- stft ---- */

/* Sample i of a padded signal; i counts from the start of the signal and may be before or past it. */
static double padded_sample(const rlx_tensor *x, size_t row, int64_t length, int32_t mode, int64_t i) {
  int64_t from = rlx_pad_source(mode, i, length);
  return from < 0 ? 0 : rlx_load(x, row * (size_t)length + (size_t)from);
}

rlx_status rlx_ref_stft(rlx_ref_call *c) {
  const rlx_attrs_stft *a = RLX_ATTRS(stft, c);
  const rlx_tensor *x = c->in[0], *window = rlx_ref_in(c, 1);
  rlx_tensor *out = c->out;
  if (rlx_tensor_count(out) == 0) return RLX_OK;
  int64_t length = x->shape.v[x->shape.n - 1], hop = a->hop ? a->hop : a->n_fft / 4;
  int64_t border = a->center ? a->n_fft / 2 : 0;
  size_t n = (size_t)a->n_fft, rank = (size_t)out->shape.n, rows = x->shape.n == 2 ? (size_t)x->shape.v[0] : 1;
  size_t bins = (size_t)out->shape.v[rank - 2], frames = (size_t)out->shape.v[rank - 1];
  size_t window_size = window ? rlx_tensor_count(window) : n, window_at = (n - window_size) / 2;
  double scale = a->normalized ? 1 / sqrt((double)n) : 1;
  dft d;
  cplx *frame;
  RLX_TRY(make_dft(c, n, &d));
  RLX_TRY(rlx_ref_scratch(c, n, sizeof *frame, &frame));
  for (size_t row = 0; row < rows; row++)
    for (size_t f = 0; f < frames && rlx_ref_continues(c, 1); f++) {
      RLX_REF_EACH(c, k, n) {
        bool inside = k >= window_at && k - window_at < window_size;
        double w = !inside ? 0 : window ? rlx_load(window, k - window_at) : 1;
        int64_t at = (int64_t)f * hop + (int64_t)k - border;
        frame[k] = (cplx){inside ? w * padded_sample(x, row, length, a->pad, at) : 0, 0};
      }
      forward(&d, frame);
      RLX_REF_EACH(c, b, bins)
        store_complex(out, (row * bins + b) * frames + f, (cplx){frame[b].re * scale, frame[b].im * scale});
    }
  return RLX_OK;
}
