/* fft, ifft, rfft, irfft: reads and writes lines around the plan's transform.
 *
 * A group of lines, one per lane, is read into a slot of work memory, transformed there and written out. The inverse is
 * the forward transform with re and im swapped before and after. A real line of even length n is transformed as a
 * complex one of n/2: its even elements are the real parts, its odd ones the imaginary parts, and one more step
 * separates the two spectra. Pairing two real lines in one complex line would be simpler, but a NaN in one would reach
 * the other. */
#include "cpu/fft.h"

#include <math.h>
#include <string.h>

#include "cpu/slots.h"
#include "ir/walk.h"

enum { SLOTS = 16, MAX_WORK = 128 << 20, LINE_PART = 1 << 13 }; /* LINE_PART: elements of a line between polls */

typedef enum fft_kind { FROM_COMPLEX, FROM_REAL, TO_HALF, FROM_HALF } fft_kind;

typedef struct fft {
  const cpu_fft_table *table;
  const cpu_fft_plan *plan;
  fft_kind kind;
  bool is_inverse, is_half; /* is_half: the plan has half the length */
  size_t n;                 /* of the transform */
  rlx_lines in, out;
  size_t lines, groups, slots, slot_floats;
  float scale;
  float *twiddle; /* e^(-2 pi i k / n), k <= n/2, if is_half */
} fft;

static void fft_init(const rlx_graph *g, const rlx_node_rec *node, cpu_isa isa, fft *f) {
  const rlx_attrs_fft *a = node->attrs; /* the four ops have the same attributes */
  const rlx_type *x = &rlx_graph_at(g, node->in[0])->type;
  *f = (fft){
    .table = cpu_fft(isa), .in = rlx_lines_of(&x->shape, a->axis), .out = rlx_lines_of(&node->type.shape, a->axis)};
  f->is_inverse = node->op == RLX_OP_ifft || node->op == RLX_OP_irfft;
  f->kind = node->op == RLX_OP_rfft    ? TO_HALF
            : node->op == RLX_OP_irfft ? FROM_HALF
            : x->dtype == RLX_C64      ? FROM_COMPLEX
                                       : FROM_REAL;
  f->n = f->kind != TO_HALF ? f->out.n : a->n ? (size_t)a->n : f->in.n;
  f->is_half = f->kind >= TO_HALF && f->n % 2 == 0 && f->n > 0;
  f->lines = f->out.outer * f->out.inner;
  f->groups = (f->lines + f->table->lanes - 1) / f->table->lanes;
  f->slots = f->groups < SLOTS ? f->groups : SLOTS;
  size_t scratch = cpu_fft_plan_size(f->is_half ? f->n / 2 : f->n) + 1;
  f->slot_floats = 2 * scratch * 2 * f->table->lanes;
  while (f->slots > 1 && f->slots * f->slot_floats > MAX_WORK / sizeof(float)) f->slots--;
  double n = (double)f->n;
  f->scale = (float)(a->norm == RLX_FFT_ORTHO                         ? 1 / sqrt(n)
                     : (a->norm == RLX_FFT_BACKWARD) == f->is_inverse ? 1 / n
                                                                      : 1);
}

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  fft f;
  fft_init(q->graph, rlx_graph_at(q->graph, q->node), isa, &f);
  if (f.slots && f.slot_floats > MAX_WORK / sizeof(float)) {
    c->why = "lines of this length run through the reference";
    return false;
  }
  c->work_bytes = f.slots * f.slot_floats * sizeof(float);
  return true;
}

static rlx_status prepare(cpu_call *c, rlx_bump *memory) {
  fft *f = rlx_bump_new(memory, fft);
  if (!f) return RLX_FAIL(RLX_NO_MEMORY, "fft");
  fft_init(c->graph, c->node, c->isa, f);
  c->prepared = f;
  if (rlx_dims_count(&c->node->type.shape) == 0) return RLX_OK;
  if (f->is_half) {
    f->twiddle = rlx_bump_array(memory, float, f->n + 2);
    if (!f->twiddle) return RLX_FAIL(RLX_NO_MEMORY, "fft");
    for (size_t k = 0; k <= f->n / 2; k++) {
      double angle = 6.283185307179586476925 * (double)k / (double)f->n;
      f->twiddle[2 * k] = (float)cos(angle), f->twiddle[2 * k + 1] = (float)-sin(angle);
    }
  }
  return cpu_fft_plan_create(f->is_half ? f->n / 2 : f->n, memory, &f->plan);
}

/* ---- reading lines ---- */

/* Polled at element k of a long line. Its elements are a cache line or more apart, on pages that may be new: those take
 * milliseconds. */
static inline bool stops_at(size_t k) { return k % LINE_PART == 0 && k && cpu_stops(); }

/* Element k of a line, zero past its end. */
static void load_element(const fft *f, const float *x, size_t line, size_t k, float *re, float *im) {
  *re = *im = 0;
  if (k >= f->in.n) return;
  size_t at = rlx_line_start(f->in, line) + k * f->in.inner;
  if (f->kind == FROM_REAL || f->kind == TO_HALF) *re = x[at];
  else *re = x[2 * at], *im = x[2 * at + 1];
}

/* Element k of half a spectrum, whose first and last elements are real. */
static void load_half_element(const fft *f, const float *x, size_t line, size_t k, float *re, float *im) {
  load_element(f, x, line, k, re, im);
  if (k == 0 || 2 * k == f->n) *im = 0;
}

/* From half a spectrum of a real line: the spectrum of its even elements + i times that of its odd ones. The inverse of
 * split_spectra. */
static void merge_spectra(const fft *f, const float *x, size_t line, size_t lane, float *to) {
  size_t m = f->n / 2, lanes = f->table->lanes;
  for (size_t k = 0; k < m && !stops_at(k); k++) {
    float a_re, a_im, b_re, b_im;
    load_half_element(f, x, line, k, &a_re, &a_im);
    load_half_element(f, x, line, m - k, &b_re, &b_im);
    float even_re = a_re + b_re, even_im = a_im - b_im, d_re = a_re - b_re, d_im = a_im + b_im;
    float c = f->twiddle[2 * k], s = -f->twiddle[2 * k + 1]; /* e^(+2 pi i k / n) */
    float odd_re = d_re * c - d_im * s, odd_im = d_re * s + d_im * c;
    to[2 * lanes * k + lane] = even_re - odd_im;
    to[2 * lanes * k + lanes + lane] = even_im + odd_re;
  }
}

static void read_line(const fft *f, const float *x, size_t line, size_t lane, float *to) {
  size_t lanes = f->table->lanes, n = f->plan->n;
  if (f->kind == FROM_HALF && f->is_half) {
    merge_spectra(f, x, line, lane, to);
    return;
  }
  for (size_t k = 0; k < n && !stops_at(k); k++) {
    float re, im;
    if (f->is_half) { /* TO_HALF */
      float none;
      load_element(f, x, line, 2 * k, &re, &none);
      load_element(f, x, line, 2 * k + 1, &im, &none);
    } else if (f->kind == FROM_HALF) {
      bool mirrored = 2 * k > n;
      load_half_element(f, x, line, mirrored ? n - k : k, &re, &im);
      if (mirrored) im = -im;
    } else {
      load_element(f, x, line, k, &re, &im);
    }
    to[2 * lanes * k + lane] = re;
    to[2 * lanes * k + lanes + lane] = im;
  }
}

static void swap_re_im(float *x, size_t n, size_t lanes) {
  for (size_t k = 0; k < n; k++)
    for (size_t i = 0; i < lanes; i++) {
      float *re = x + 2 * lanes * k + i, t = re[0];
      re[0] = re[lanes];
      re[lanes] = t;
    }
}

/* ---- writing lines ---- */

/* Bin k of a real line's spectrum, from the spectra of its even and odd elements, which are mixed in z. */
static void split_spectra(const fft *f, const float *z, size_t lane, size_t k, float *re, float *im) {
  size_t m = f->n / 2, lanes = f->table->lanes, mirror = k == 0 || k == m ? 0 : m - k, at = k == m ? 0 : k;
  float a_re = z[2 * lanes * at + lane], a_im = z[2 * lanes * at + lanes + lane];
  float b_re = z[2 * lanes * mirror + lane], b_im = -z[2 * lanes * mirror + lanes + lane];
  float even_re = 0.5f * (a_re + b_re), even_im = 0.5f * (a_im + b_im);
  float odd_re = 0.5f * (a_im - b_im), odd_im = -0.5f * (a_re - b_re); /* (a - b) / 2i */
  float c = f->twiddle[2 * k], s = f->twiddle[2 * k + 1];
  *re = even_re + odd_re * c - odd_im * s;
  *im = even_im + odd_re * s + odd_im * c;
}

static void write_line(const fft *f, const float *z, size_t lane, size_t line, float *y) {
  size_t lanes = f->table->lanes, start = rlx_line_start(f->out, line);
  for (size_t k = 0; k < f->out.n && !stops_at(k); k++) {
    size_t at = start + k * f->out.inner;
    float re, im;
    if (f->kind == FROM_HALF) {
      size_t from = f->is_half ? k / 2 : k;
      bool odd = f->is_half && k % 2;
      y[at] = z[2 * lanes * from + (odd ? lanes : 0) + lane] * f->scale;
      continue;
    }
    if (f->is_half) split_spectra(f, z, lane, k, &re, &im);
    else re = z[2 * lanes * k + lane], im = z[2 * lanes * k + lanes + lane];
    y[2 * at] = re * f->scale;
    y[2 * at + 1] = im * f->scale;
  }
}

/* ---- the kernel ---- */

static void run_group(const cpu_call *c, size_t group, float *memory) {
  const fft *f = c->prepared;
  size_t lanes = f->table->lanes, first = group * lanes;
  size_t n = f->lines - first < lanes ? f->lines - first : lanes;
  float *x = memory, *scratch = memory + f->slot_floats / 2;
  if (n < lanes) memset(x, 0, 2 * lanes * f->plan->n * sizeof *x);
  size_t done = 0, line_ns = 8 * f->plan->n;
  for (size_t i = 0; i < n; i++) {
    if (cpu_stops_after(&done, line_ns)) return;
    read_line(f, cpu_in(c, 0), first + i, i, x);
  }
  if (f->is_inverse) swap_re_im(x, f->plan->n, lanes);
  float *y = f->table->run(f->plan, x, scratch);
  if (f->is_inverse) swap_re_im(y, f->plan->n, lanes);
  for (size_t i = 0; i < n && !cpu_stops_after(&done, line_ns); i++) write_line(f, y, i, first + i, c->out);
}

static rlx_status run(const cpu_call *c) {
  const fft *f = c->prepared;
  if (rlx_dims_count(&c->node->type.shape) == 0) return RLX_OK;
  cpu_slots_run(c, f->groups, f->slots, f->slot_floats, RLX_INFINITY, run_group);
  return RLX_OK;
}

const cpu_kernel cpu_fft_kernel = {.claim = claim, .prepare = prepare, .run = run};
