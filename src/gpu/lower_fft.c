/* Lowers fft, ifft, rfft and irfft to passes of fft.k, and computes their tables.
 *
 * A power-of-two length takes one pass if it fits a workgroup's shared memory, otherwise two or more of nearly equal
 * radix through work memory. Any other length becomes a convolution of power-of-two length (Bluestein): inside one
 * workgroup if it fits; otherwise its filter is transformed on the device as well, and the host computes only the
 * chirp. Angles are computed from exact integers in double precision. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/status.h"
#include "gpu/gpu.h"
#include "ir/walk.h"

enum {
  F_COMPLEX,
  F_REAL,
  F_PAIRS,
  F_MIRROR,
  F_TOGETHER,
  F_WORK,
  F_FILTERED,
  F_CIRCLE,
  F_APART = F_MIRROR
}; /* fft.kh */
enum { MAX_PASSES = 8 };

typedef RLX_ARRAY(uint32_t) word_list;

typedef struct transform {
  uint32_t n, zn, log_n; /* length; complex numbers transformed; log2 of the transform's power-of-two length */
  uint32_t in_mode, out_mode;
  bool is_inverse, is_convolved;
  rlx_lines in, out;
  uint32_t lines;
  double scale;
  uint32_t group; /* the largest workgroup that fits the device */
  /* passes */
  int n_passes;
  uint32_t log_r[MAX_PASSES], roots_at[MAX_PASSES], low_at[MAX_PASSES], low_log[MAX_PASSES], high_at[MAX_PASSES];
  uint32_t twiddle_at, chirp_at;
  gpu_window table, filter;
} transform;

/* ---- tables ---- */

static void unit(uint64_t k, uint64_t n, double *re, double *im) {
  double angle = 6.283185307179586476925 * (double)k / (double)n;
  *re = cos(angle);
  *im = -sin(angle);
}

static void no_memory(gpu_lowering *l) {
  if (!l->status) l->status = RLX_FAIL(RLX_NO_MEMORY, "the tables of a transform");
}

static void push(gpu_lowering *l, word_list *w, double re, double im) {
  if (!rlx_array_push(w, gpu_f32_bits(re)) || !rlx_array_push(w, gpu_f32_bits(im))) no_memory(l);
}

/* Appends e^(-2 pi i k step / n) for k < count; returns their offset. */
static uint32_t push_roots(gpu_lowering *l, word_list *w, uint64_t count, uint64_t step, uint64_t n) {
  uint32_t at = (uint32_t)w->n;
  for (uint64_t k = 0; k < count && !gpu_failed(l); k++) {
    double re, im;
    unit(k * step, n, &re, &im);
    push(l, w, re, im);
  }
  return at;
}

/* The roots of pass i, and its twiddle factors to the earlier passes, factored into two tables. */
static void push_pass(gpu_lowering *l, transform *t, word_list *w, int i, uint32_t log_l) {
  uint32_t log_r = t->log_r[i], log_all = log_l + log_r;
  t->roots_at[i] = push_roots(l, w, (uint64_t)1 << log_r, 1, (uint64_t)1 << log_r);
  if (!log_l) return;
  t->low_log[i] = log_all / 2;
  t->low_at[i] = push_roots(l, w, (uint64_t)1 << t->low_log[i], 1, (uint64_t)1 << log_all);
  t->high_at[i] =
    push_roots(l, w, (uint64_t)1 << (log_all - t->low_log[i]), 1, (uint64_t)1 << (log_all - t->low_log[i]));
}

/* e^(-pi i k k / zn) */
static uint32_t push_chirp(gpu_lowering *l, const transform *t, word_list *w) {
  uint32_t at = (uint32_t)w->n;
  uint64_t n = t->zn, square = 0; /* k^2 modulo 2n */
  for (uint64_t k = 0; k < n && !gpu_failed(l); k++) {
    double re, im;
    unit(square, 2 * n, &re, &im);
    push(l, w, re, im);
    square = (square + 2 * k + 1) % (2 * n);
  }
  return at;
}

/* In-place radix-2 FFT in double precision, for short filters. */
static void transform_host(double *x, uint32_t log_n) {
  size_t n = (size_t)1 << log_n;
  for (size_t i = 1, j = 0; i < n; i++) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    double re = x[2 * i], im = x[2 * i + 1];
    x[2 * i] = x[2 * j], x[2 * i + 1] = x[2 * j + 1];
    x[2 * j] = re, x[2 * j + 1] = im;
  }
  for (size_t half = 1; half < n; half *= 2)
    for (size_t k = 0; k < half; k++) {
      double c, s;
      unit(k, 2 * half, &c, &s);
      for (size_t a = k; a < n; a += 2 * half) {
        double *p = x + 2 * a, *q = x + 2 * (a + half), re = q[0] * c - q[1] * s, im = q[0] * s + q[1] * c;
        q[0] = p[0] - re, q[1] = p[1] - im;
        p[0] += re, p[1] += im;
      }
    }
}

/* The transform of the chirp's conjugate, placed circularly. */
static gpu_window make_filter(gpu_lowering *l, const transform *t) {
  size_t n = (size_t)1 << t->log_n;
  double *x = rlx_mem_calloc(2 * n, sizeof *x);
  word_list words = {0};
  gpu_window filter = {GPU_NONE, 0, 0, 0};
  if (!x) no_memory(l);
  for (uint64_t k = 0, square = 0; x && k < t->zn; k++) {
    double re, im;
    unit(square, 2 * (uint64_t)t->zn, &re, &im);
    square = (square + 2 * k + 1) % (2 * (uint64_t)t->zn);
    x[2 * k] = re, x[2 * k + 1] = -im;
    if (k) x[2 * (n - k)] = re, x[2 * (n - k) + 1] = -im;
  }
  if (x) transform_host(x, t->log_n);
  for (size_t k = 0; x && k < n; k++) push(l, &words, x[2 * k], x[2 * k + 1]);
  if (!gpu_failed(l)) filter = gpu_table(l, words.v, (uint32_t)words.n);
  rlx_mem_free(x);
  rlx_array_deinit(&words);
  return filter;
}

/* ---- modes and sizes ---- */

static void set_modes(const gpu_lowering *l, transform *t) {
  rlx_op op = l->node->op;
  bool is_even = t->n % 2 == 0;
  t->zn = t->n;
  t->is_inverse = op == RLX_OP_ifft || op == RLX_OP_irfft;
  t->in_mode = gpu_in_type(l, 0)->dtype == RLX_C64 ? F_COMPLEX : F_REAL;
  t->out_mode = F_COMPLEX;
  if (op == RLX_OP_rfft && is_even) t->in_mode = F_PAIRS, t->out_mode = F_APART;
  if (op == RLX_OP_irfft) t->in_mode = is_even ? F_TOGETHER : F_MIRROR, t->out_mode = is_even ? F_PAIRS : F_REAL;
  if (t->in_mode == F_PAIRS || t->in_mode == F_TOGETHER) t->zn = t->n / 2;
}

static bool init(const gpu_lowering *l, transform *t) {
  const rlx_attrs_fft *a = RLX_ATTRS(fft, l->node); /* the four ops have the same attributes */
  *t = (transform){.in = rlx_lines_of(&gpu_in_type(l, 0)->shape, a->axis),
                   .out = rlx_lines_of(&gpu_out_type(l)->shape, a->axis),
                   .filter = {GPU_NONE, 0, 0, 0}};
  t->n = (uint32_t)(l->node->op != RLX_OP_rfft ? t->out.n : a->n ? (size_t)a->n : t->in.n);
  t->lines = (uint32_t)(t->out.outer * t->out.inner);
  set_modes(l, t);
  t->is_convolved = (t->zn & (t->zn - 1)) != 0;
  uint64_t min = t->is_convolved ? 2 * (uint64_t)t->zn - 1 : t->zn;
  while (((uint64_t)1 << t->log_n) < min) t->log_n++;
  bool is_scaled = (a->norm == RLX_FFT_BACKWARD) == t->is_inverse;
  t->scale = a->norm == RLX_FFT_ORTHO ? 1 / sqrt((double)t->n) : is_scaled ? 1 / (double)t->n : 1;
  if (t->is_convolved) t->scale /= (double)((uint64_t)1 << t->log_n);
  t->group = 128;
  while (t->group < 512 && 2 * t->group <= l->caps->max_group && 66 * 2 * t->group <= l->caps->max_shared)
    t->group *= 2;
  return (uint64_t)t->lines << t->log_n < (uint64_t)1 << 31;
}

static uint32_t log_of(uint32_t x) {
  uint32_t log = 0;
  while (1u << log < x) log++;
  return log;
}

/* Chooses as few passes as possible, of nearly equal radix, and computes the tables. */
static void plan(gpu_lowering *l, transform *t) {
  uint32_t max = 3 + log_of(t->group), left = t->log_n, log_l = 0;
  if (t->log_n > max) max -= 2; /* at least four rows per workgroup, whose elements are neighbours in memory */
  word_list words = {0};
  t->n_passes = t->log_n ? (int)gpu_ceil_div(t->log_n, max) : 1;
  for (int i = 0; i < t->n_passes; i++) {
    t->log_r[i] = gpu_ceil_div(left, (uint32_t)(t->n_passes - i));
    push_pass(l, t, &words, i, log_l);
    left -= t->log_r[i];
    log_l += t->log_r[i];
  }
  if (t->in_mode == F_TOGETHER || t->out_mode == F_APART)
    t->twiddle_at = push_roots(l, &words, (uint64_t)t->zn + 1, 1, t->n);
  if (t->is_convolved) t->chirp_at = push_chirp(l, t, &words);
  if (!gpu_failed(l)) t->table = gpu_table(l, words.v, (uint32_t)words.n);
  rlx_array_deinit(&words);
}

/* ---- dispatches ---- */

/* One pass over `lines` lines, seen as [.., inner]. blue: see fft.k. */
typedef struct pass {
  int index;
  uint32_t lines, inner, in_mode, out_mode, blue;
  bool is_inverse;
  gpu_window from, to;
} pass;

static void emit_pass(gpu_lowering *l, const transform *t, const pass *s) {
  uint32_t log_l = 0, log_r = t->log_r[s->index], group = t->group;
  for (int i = 0; i < s->index; i++) log_l += t->log_r[i];
  if (t->n_passes == 1) /* no larger than needed: more workgroups, and less waiting at barriers */
    while (group > 128 && 4 * group >= 1u << log_r) group /= 2;
  uint32_t log_t = t->log_n - log_r, per_group = 8 * group >> log_r;
  gpu_params_fft p = {.rows = s->lines << log_t,
                      .log_r = log_r,
                      .log_t = log_t,
                      .log_l = log_l,
                      .rows_in = s->inner > 1 || log_t > 0,
                      .rows_out = (s->inner > 1 && s->out_mode != F_WORK) || log_l > 0,
                      .inner = s->inner,
                      .n = t->n,
                      .zn = t->zn,
                      .n_in = (uint32_t)t->in.n,
                      .n_out = (uint32_t)t->out.n,
                      .scale = (float)t->scale,
                      .roots_at = t->roots_at[s->index],
                      .low_at = t->low_at[s->index],
                      .low_log = t->low_log[s->index],
                      .high_at = t->high_at[s->index],
                      .twiddle_at = t->twiddle_at,
                      .chirp_at = t->chirp_at};
  gpu_constants_fft c = {.in_mode = s->in_mode, .out_mode = s->out_mode, .inverse = s->is_inverse, .blue = s->blue};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(fft, p, c), .groups = gpu_ceil_div(p.rows, per_group), .group_size = group,
                            .windows = {s->from, s->to, t->table, t->filter}});
}

static bool is_same(const gpu_window *a, const gpu_window *b) { return a->from == b->from && a->offset == b->offset; }

/* Emits all passes of one transform. The first reads first.from in first.in_mode; the last writes `to` in out_mode. If
 * `to` is GPU_NONE, the last writes to one of the two buffers. Returns the window written. */
static gpu_window emit_passes(gpu_lowering *l, const transform *t, pass first, gpu_window to, uint32_t out_mode,
                              const gpu_window buffers[2]) {
  pass s = first;
  for (s.index = 0; s.index < t->n_passes; s.index++) {
    bool is_last = s.index == t->n_passes - 1, is_done = is_last && to.from != GPU_NONE;
    s.to = is_done ? to : is_same(&s.from, &buffers[0]) ? buffers[1] : buffers[0];
    s.out_mode = is_done ? out_mode : F_WORK;
    s.inner = s.index == 0 || is_done ? first.inner : 1;
    emit_pass(l, t, &s);
    s.from = s.to;
    s.in_mode = F_WORK;
    s.blue = 0;
  }
  return s.to;
}

static void emit_out(gpu_lowering *l, const transform *t, gpu_window z) {
  gpu_params_fft_out p = {.count = t->zn * t->lines,
                          .pitch = 1u << t->log_n,
                          .inner = (uint32_t)t->out.inner,
                          .zn = t->zn,
                          .n_out = (uint32_t)t->out.n,
                          .scale = (float)t->scale,
                          .twiddle_at = t->twiddle_at,
                          .chirp_at = t->chirp_at};
  gpu_constants_fft_out c = {.out_mode = t->out_mode, .inverse = t->is_inverse, .blue = t->is_convolved};
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(fft_out, p, c), .groups = gpu_ceil_div(p.count, 128), .group_size = 128,
                            .windows = {z, gpu_out(l), t->table}});
}

void gpu_lower_fft(gpu_lowering *l) {
  transform t;
  const gpu_window none = {GPU_NONE, 0, 0, 0};
  if (gpu_count(gpu_out_type(l)) == 0) return;
  if (!init(l, &t)) {
    gpu_refuse(l, "a transform of more than 2^31 numbers");
    return;
  }
  plan(l, &t);
  pass first = {.lines = t.lines,
                .inner = (uint32_t)t.out.inner,
                .in_mode = t.in_mode,
                .is_inverse = t.is_inverse,
                .from = gpu_in(l, 0)};
  if (t.n_passes == 1) {
    if (t.is_convolved) t.filter = make_filter(l, &t), first.blue = 2;
    emit_passes(l, &t, first, gpu_out(l), t.out_mode, (const gpu_window[2]){none, none});
    return;
  }
  uint64_t bytes = (uint64_t)8 << t.log_n;
  gpu_window buffers[2] = {gpu_work(l, bytes * t.lines), gpu_work(l, bytes * t.lines)};
  if (!t.is_convolved) {
    bool is_apart = t.out_mode == F_APART;
    gpu_window z = emit_passes(l, &t, first, is_apart ? none : gpu_out(l), t.out_mode, buffers);
    if (is_apart) emit_out(l, &t, z);
    return;
  }
  pass circle = {.lines = 1, .inner = 1, .in_mode = F_CIRCLE, .from = none};
  t.filter = emit_passes(l, &t, circle, none, 0, (const gpu_window[]){gpu_work(l, bytes), gpu_work(l, bytes)});
  first.blue = 1;
  pass back = {.lines = t.lines, .inner = 1, .in_mode = F_FILTERED};
  gpu_window filter = t.filter;
  t.filter = none;
  back.from = emit_passes(l, &t, first, none, 0, buffers);
  t.filter = filter;
  emit_out(l, &t, emit_passes(l, &t, back, none, 0, buffers));
}
