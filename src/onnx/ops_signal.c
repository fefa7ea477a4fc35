/* Signals: Fourier transforms, windows and the mel matrix. */
#include <inttypes.h>

#include "ir/element.h"
#include "onnx/compose.h"
#include "onnx/importer.h"

#define PI 3.14159265358979323846

/* ---- DFT ---- */

/* The last axis is 1 (real) or 2 (real and imaginary): what RLX's fft takes, without it. */
static rlx_node as_signal(onnx_call *c, uint32_t i) {
  rlx_node x = onnx_cast(c, onnx_in(c, i), RLX_F32);
  rlx_dims d = onnx_dims(c, x);
  if (d.n < 1) return RLX_NONE;
  if (d.v[d.n - 1] == 2) return rlx_op_view_as_complex(c->g, x);
  d.n--;
  return onnx_reshape(c, x, d);
}

static rlx_node with_axis(onnx_call *c, rlx_node x) {
  rlx_dims d = onnx_dims(c, x);
  d.v[d.n++] = 1;
  return onnx_reshape(c, x, d);
}

static rlx_node transform(onnx_call *c, rlx_node x, int axis, int64_t n, bool inverse, bool onesided) {
  bool is_complex = rlx_node_dtype(c->g, x) == RLX_C64;
  if (inverse) {
    if (!is_complex) { /* imaginary parts of 0 */
      rlx_node parts[] = {with_axis(c, x), rlx_op_sub(c->g, with_axis(c, x), with_axis(c, x))};
      x = rlx_op_view_as_complex(c->g, rlx_op_concat(c->g, parts, 2, -1));
    }
    if (onesided) return with_axis(c, rlx_op_irfft(c->g, x, axis, n, RLX_FFT_BACKWARD));
    return rlx_op_view_as_real(c->g, rlx_op_ifft(c->g, x, axis, n, RLX_FFT_BACKWARD));
  }
  if (onesided && !is_complex) return rlx_op_view_as_real(c->g, rlx_op_rfft(c->g, x, axis, n, RLX_FFT_BACKWARD));
  rlx_node y = rlx_op_fft(c->g, x, axis, n, RLX_FFT_BACKWARD);
  if (onesided) y = onnx_part(c, y, axis, 0, n / 2 + 1);
  return rlx_op_view_as_real(c->g, y);
}

/* ---- DFT as a product, in f64: of doubles, which RLX's fft does not have, and of what is short ---- */

enum { SHORT = 32, LONGEST_PRODUCT = 4096 };

typedef struct by_matrix {
  int64_t n, in, out; /* the transform's length; elements of the axis that are read, and that come out */
  int parts;          /* 1: real, 2: complex elements come in */
  bool inverse, to_real;
} by_matrix;

/* What part p of element i adds to part q of element k. */
static double dft_weight(const by_matrix *m, int64_t i, int p, int64_t k, int q) {
  double angle = 2 * PI * (double)(i * k % m->n) / (double)m->n, sign = m->inverse ? 1 : -1;
  double w = p == q ? cos(angle) : p == 0 ? sign * sin(angle) : -sign * sin(angle);
  if (!m->inverse) return w;
  if (!m->to_real) return w / (double)m->n;
  bool alone = i == 0 || 2 * i == m->n; /* elements without a mirror image, whose imaginary parts do not count */
  return alone && p == 1 ? 0 : (alone ? 1 : 2) * w / (double)m->n;
}

static rlx_status dft_product(onnx_call *c, const by_matrix *m, rlx_node *x) {
  int parts = m->to_real ? 1 : 2;
  rlx_dims d = onnx_dims(c, *x), lo = {.n = d.n}, hi = lo;
  double *v;
  int64_t rows = 1, width = m->out * parts;
  if (d.n < 2) return RLX_FAIL(RLX_INVALID, "a signal with %d axes", (int)d.n);
  RLX_TRY(onnx_table(c, m->in * m->parts * width, sizeof *v, &v));
  for (int64_t i = 0; i < m->in * m->parts; i++)
    for (int64_t k = 0; k < width; k++)
      v[i * width + k] = dft_weight(m, i / m->parts, (int)(i % m->parts), k / parts, (int)(k % parts));
  if (d.v[d.n - 2] > m->in) *x = onnx_part(c, *x, d.n - 2, 0, m->in);
  hi.v[d.n - 2] = m->in - d.v[d.n - 2];
  if (hi.v[d.n - 2] > 0) *x = rlx_op_pad(c->g, *x, lo, hi, RLX_PAD_CONSTANT, 0);
  for (int i = 0; i < d.n - 2; i++) rows *= d.v[i];
  size_t bytes = (size_t)(m->in * m->parts * width) * sizeof *v;
  rlx_node matrix = rlx_op_constant(c->g, RLX_F64, RLX_DIMS(m->in * m->parts, width), v, bytes);
  rlx_node y = rlx_op_matmul(c->g, onnx_reshape(c, *x, RLX_DIMS(rows, m->in * m->parts)), matrix);
  d.v[d.n - 2] = m->out, d.v[d.n - 1] = parts;
  *x = onnx_reshape(c, y, d);
  return RLX_OK;
}

static rlx_status set_by_matrix(onnx_call *c, int axis, int64_t n, bool inverse, bool onesided) {
  rlx_dims d = onnx_shape(c, 0), swap = d;
  by_matrix m = {
    .n = n, .in = n, .out = n, .parts = (int)d.v[d.n - 1], .inverse = inverse, .to_real = inverse && onesided};
  if (m.to_real) m.in = n / 2 + 1;
  else if (onesided) m.out = n / 2 + 1;
  for (int i = 0; i < d.n; i++) swap.v[i] = i;
  swap.v[axis] = d.n - 2, swap.v[d.n - 2] = axis;
  rlx_node x = rlx_op_cast(c->g, onnx_in(c, 0), RLX_F64);
  if (axis != d.n - 2) x = rlx_op_transpose(c->g, x, swap);
  RLX_TRY(dft_product(c, &m, &x));
  if (axis != d.n - 2) x = rlx_op_transpose(c->g, x, swap);
  return onnx_set_like(c, 0, onnx_cast(c, x, onnx_dtype(c, 0)), 0);
}

rlx_status onnx_op_dft(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0);
  int64_t at = -2, n;
  int axis;
  bool inverse, onesided;
  RLX_TRY(onnx_flag(c, "inverse", false, &inverse));
  RLX_TRY(onnx_flag(c, "onesided", false, &onesided));
  if (c->opset < 20) RLX_TRY(onnx_int(c, "axis", 1, &at));
  else if (onnx_has(c, 2)) RLX_TRY(onnx_need_int(c, 2, &at));
  RLX_TRY(onnx_axis(c, at, shape.n, &axis));
  if (shape.n < 2 || axis == shape.n - 1 || (shape.v[shape.n - 1] != 1 && shape.v[shape.n - 1] != 2))
    return RLX_FAIL(RLX_INVALID, "axis %d of %d, the last of which has 1 or 2 elements", axis, (int)shape.n);
  n = inverse && onesided ? 2 * (shape.v[axis] - 1) : shape.v[axis];
  if (onnx_has(c, 1)) RLX_TRY(onnx_need_int(c, 1, &n));
  if (n < 1 || n > INT32_MAX) return RLX_FAIL(RLX_INVALID, "dft_length is %" PRId64, n);
  if (n <= SHORT || (n <= LONGEST_PRODUCT && onnx_dtype(c, 0) == RLX_F64))
    return set_by_matrix(c, axis, n, inverse, onesided);
  rlx_node y = transform(c, as_signal(c, 0), axis, n, inverse, onesided);
  return onnx_set_like(c, 0, onnx_cast(c, y, onnx_dtype(c, 0)), 0);
}

/* ---- STFT ---- */

/* Frames [B, frames, length] of a complex signal [B, L]. */
static rlx_status frames_of(onnx_call *c, rlx_node x, int64_t frames, int64_t length, int64_t step, rlx_node *out) {
  int32_t *table;
  if (frames > ONNX_MAX_TABLE / length) return onnx_refuse(c, "%" PRId64 " frames", frames);
  RLX_TRY(onnx_table(c, frames * length, sizeof *table, &table));
  for (int64_t f = 0; f < frames; f++)
    for (int64_t i = 0; i < length; i++) table[f * length + i] = (int32_t)(f * step + i);
  *out = rlx_op_gather(c->g, x, onnx_constant_i32(c, RLX_DIMS(frames, length), table), 1);
  return RLX_OK;
}

rlx_status onnx_op_stft(onnx_call *c) {
  rlx_dims shape = onnx_shape(c, 0), ws = onnx_shape(c, 2);
  int64_t step, length;
  bool onesided;
  rlx_node x = RLX_NONE;
  RLX_TRY(onnx_need_int(c, 1, &step));
  RLX_TRY(onnx_flag(c, "onesided", true, &onesided));
  if (shape.n == 2) shape = RLX_DIMS(shape.v[0], shape.v[1], 1);
  if (shape.n != 3 || (shape.v[2] != 1 && shape.v[2] != 2) || (onnx_has(c, 2) && ws.n != 1))
    return RLX_FAIL(RLX_INVALID, "the signal has %d axes, the window %d", (int)shape.n, (int)ws.n);
  length = onnx_has(c, 2) ? ws.v[0] : shape.v[1];
  if (onnx_has(c, 3)) RLX_TRY(onnx_need_int(c, 3, &length));
  if (step < 1 || length < 1 || onnx_less(c, shape.v[1], length) || onnx_less(c, INT32_MAX, shape.v[1]) ||
      (onnx_has(c, 2) && ws.v[0] != length))
    return RLX_FAIL(RLX_INVALID, "frames of %" PRId64 ", every %" PRId64 ", of %" PRId64 " elements", length, step,
                    shape.v[1]);
  rlx_node window = onnx_cast(c, onnx_in(c, 2), RLX_F32);
  if (shape.v[2] == 1) {
    rlx_op_stft_desc d = {RLX_OP_STFT_DESC_INIT, .hop = step, .no_center = true, .two_sided = !onesided};
    x = onnx_reshape(c, onnx_cast(c, onnx_in(c, 0), RLX_F32), RLX_DIMS(shape.v[0], shape.v[1]));
    x = rlx_op_transpose(c->g, rlx_op_stft(c->g, x, window, length, RLX_PAD_CONSTANT, &d), RLX_DIMS(0, 2, 1));
    x = rlx_op_view_as_real(c->g, x);
  } else {
    if (rlx_dim_is_open(shape.v[1])) return onnx_need_numbers(c->imp, "a complex signal");
    int64_t frames = (shape.v[1] - length) / step + 1;
    RLX_TRY(frames_of(c, onnx_cast(c, onnx_in(c, 0), RLX_F32), frames, length, step, &x)); /* [B, F, L, 2] */
    if (window) x = rlx_op_mul(c->g, x, onnx_reshape(c, window, RLX_DIMS(length, 1)));
    x = rlx_op_fft(c->g, rlx_op_view_as_complex(c->g, x), 2, length, RLX_FFT_BACKWARD);
    x = rlx_op_view_as_real(c->g, onesided ? onnx_part(c, x, 2, 0, length / 2 + 1) : x);
  }
  return onnx_set_like(c, 0, onnx_cast(c, x, onnx_dtype(c, 0)), 0);
}

/* ---- values that only depend on numbers ---- */

static rlx_status result_type(onnx_call *c, const char *name, rlx_tensor *t) {
  int64_t type;
  RLX_TRY(onnx_int(c, name, ONNX_FLOAT, &type));
  if (type < 1 || type >= ONNX_TYPES || onnx_type_carrier((onnx_type)type) == RLX_DTYPE_UNKNOWN)
    return onnx_refuse(c, "%s %" PRId64, name, type);
  t->dtype = onnx_type_carrier((onnx_type)type);
  int64_t count;
  RLX_TRY(onnx_product(c, &t->shape, &count));
  if (count > ONNX_MAX_TABLE) return onnx_refuse(c, "%" PRId64 " elements", count);
  RLX_TRY(rlx_tensor_bytes(t->dtype, t->shape, &t->bytes));
  RLX_TRY(onnx_table(c, (int64_t)t->bytes, 1, &t->data));
  return RLX_OK;
}

static rlx_status set_known(onnx_call *c, const char *name, const rlx_tensor *t) {
  int64_t type;
  RLX_TRY(onnx_int(c, name, ONNX_FLOAT, &type));
  return onnx_value_known(c->imp, (onnx_type)type, t, &c->out[0]);
}

/* a - b cos(x) + d cos(2 x) over one period, which ends at the last element or one past it. */
static rlx_status window(onnx_call *c, double a, double b, double d) {
  int64_t n;
  bool periodic;
  rlx_tensor t = {0};
  RLX_TRY(onnx_need_int(c, 0, &n));
  RLX_TRY(onnx_flag(c, "periodic", true, &periodic));
  if (n < 0) return RLX_FAIL(RLX_INVALID, "a window of %" PRId64, n);
  t.shape = RLX_DIMS(n);
  RLX_TRY(result_type(c, "output_datatype", &t));
  double period = (double)(periodic ? n : n - 1);
  for (int64_t i = 0; i < n; i++) {
    double x = period > 0 ? 2 * PI * (double)i / period : 0;
    double y = n == 1 ? 1 : a - b * cos(x) + d * cos(2 * x);
    rlx_store_value(&t, (size_t)i, y);
  }
  return set_known(c, "output_datatype", &t);
}

rlx_status onnx_op_hann_window(onnx_call *c) { return window(c, 0.5, 0.5, 0); }
rlx_status onnx_op_hamming_window(onnx_call *c) { return window(c, 25.0 / 46, 21.0 / 46, 0); }
rlx_status onnx_op_blackman_window(onnx_call *c) { return window(c, 0.42, 0.5, 0.08); }

/* Triangles over the spectrum, evenly spaced on the mel scale, with their corners at whole bins. */
static void fill_mel(rlx_tensor *t, int64_t mels, int64_t bins, const double *corner) {
  for (int64_t m = 0; m < mels; m++) {
    double lo = corner[m], top = corner[m + 1], hi = corner[m + 2];
    for (int64_t k = 0; k < bins; k++) {
      double x = (double)k, y = 0;
      if (lo == top && x == top) y = 1;
      else if (x >= lo && x <= top && top > lo) y = (x - lo) / (top - lo);
      else if (x > top && x < hi) y = (hi - x) / (hi - top);
      rlx_store_value(t, (size_t)(k * mels + m), y);
    }
  }
}

rlx_status onnx_op_mel_weight_matrix(onnx_call *c) {
  int64_t mels, length, rate;
  double lo, hi, *corner;
  rlx_tensor t = {0};
  RLX_TRY(onnx_need_int(c, 0, &mels));
  RLX_TRY(onnx_need_int(c, 1, &length));
  RLX_TRY(onnx_need_int(c, 2, &rate));
  RLX_TRY(onnx_need_number(c, 3, &lo));
  RLX_TRY(onnx_need_number(c, 4, &hi));
  if (mels < 1 || length < 1 || rate < 1 || mels > INT32_MAX || length > INT32_MAX || !(lo >= 0) || !(hi >= lo) ||
      !(hi < 1e12))
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " mels of a transform of %" PRId64 " at %" PRId64 " from %g to %g", mels,
                    length, rate, lo, hi);
  int64_t bins = length / 2 + 1;
  t.shape = RLX_DIMS(bins, mels);
  RLX_TRY(result_type(c, "output_datatype", &t));
  RLX_TRY(onnx_table(c, mels + 2, sizeof *corner, &corner));
  double low = 2595 * log10(1 + lo / 700), high = 2595 * log10(1 + hi / 700);
  for (int64_t i = 0; i < mels + 2; i++) {
    double mel = low + (double)i * (high - low) / (double)(mels + 2);
    corner[i] = floor((double)(length + 1) * (700 * (pow(10, mel / 2595) - 1)) / (double)rate);
  }
  fill_mel(&t, mels, bins, corner);
  return set_known(c, "output_datatype", &t);
}
