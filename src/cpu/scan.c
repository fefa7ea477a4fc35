/* Scans (cumsum, cumprod, cummax) along an axis. Floats accumulate in f64 and are rounded when stored. Integers
 * accumulate in 64 bits and wrap when stored, as in the reference. Lines are distributed over threads. Along an axis
 * that is not the innermost, up to COLUMNS adjacent lines advance together, so that memory is read in whole rows. */
#include "cpu/cpu.h"
#include "ir/element.h"
#include "ir/scalar.h"
#include "ir/walk.h"

enum { COLUMNS = 64, RUN = 1 << 14 };

/* The accumulator: f or i by the type of the tensors. */
typedef union accumulator {
  double f;
  int64_t i;
} accumulator;

typedef struct scan_work {
  rlx_tensor x, out;
  rlx_lines lines;
  size_t columns; /* adjacent lines scanned together, of lines.inner */
  bool is_float, exclusive, reverse;
  accumulator start;
  double (*combine)(double a, double b);
  int64_t (*int_combine)(int64_t i, int64_t j, int bits);
} scan_work;

static bool claim_scan(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  (void)q, (void)isa;
  c->in_place = 1;
  return true;
}

/* One step of n adjacent lines, at elements `at` and on. */
static void step_row(scan_work *w, size_t at, size_t n, accumulator *acc) {
  for (size_t j = 0; j < n; j++) {
    accumulator before = acc[j];
    if (w->is_float) {
      acc[j].f = w->combine(acc[j].f, rlx_load(&w->x, at + j));
      rlx_store(&w->out, at + j, w->exclusive ? before.f : acc[j].f);
    } else {
      acc[j].i = w->int_combine(acc[j].i, rlx_load_int(&w->x, at + j), 64);
      rlx_store_int(&w->out, at + j, w->exclusive ? before.i : acc[j].i);
    }
  }
}

/* Fast path for the most common case: an inclusive forward sum of contiguous f32. */
static void sum_f32(const scan_work *w, size_t first) {
  const float *x = (const float *)w->x.data + first;
  float *out = (float *)w->out.data + first;
  double acc = 0;
  for (size_t k = 0, done = 0; k < w->lines.n;) {
    size_t end = w->lines.n - k < RUN ? w->lines.n : k + RUN;
    if (cpu_stops_after(&done, 2 * RUN)) return;
    for (; k < end; k++) {
      acc += (double)x[k];
      out[k] = (float)acc;
    }
  }
}

/* The range counts groups of adjacent lines. */
static void scan_groups(void *user, size_t begin, size_t end, unsigned thread) {
  scan_work w = *(const scan_work *)user;
  (void)thread;
  rlx_lines l = w.lines;
  size_t groups = (l.inner - 1) / w.columns + 1;
  bool plain_sum = w.x.dtype == RLX_F32 && l.inner == 1 && w.combine == rlx_scalar_add_f && !w.exclusive && !w.reverse;
  for (size_t g = begin, done = 0; g < end; g++) {
    size_t column = g % groups * w.columns, n = l.inner - column < w.columns ? l.inner - column : w.columns;
    size_t first = g / groups * l.n * l.inner + column;
    if (plain_sum) {
      sum_f32(&w, first);
      continue;
    }
    accumulator acc[COLUMNS];
    for (size_t j = 0; j < n; j++) acc[j] = w.start;
    for (size_t k = 0; k < l.n && !cpu_stops_after(&done, 8 * n); k++)
      step_row(&w, first + (w.reverse ? l.n - 1 - k : k) * l.inner, n, acc);
  }
}

static rlx_status run_scan(const cpu_call *c, int64_t axis, scan_work w, double neutral) {
  const rlx_type *x = cpu_in_type(c, 0);
  w.x = (rlx_tensor){.dtype = x->dtype, .const_data = c->in[0]};
  w.out = (rlx_tensor){.dtype = x->dtype, .data = c->out};
  w.lines = rlx_lines_of(&x->shape, axis);
  w.columns = w.lines.inner < COLUMNS ? w.lines.inner : COLUMNS;
  w.is_float = rlx_dtype_is_float(x->dtype);
  if (w.is_float) {
    w.start.f = neutral;
  } else { /* -inf saturates to the minimum of the type */
    int64_t storage;
    rlx_tensor one = {.dtype = x->dtype, .data = &storage};
    rlx_store_value(&one, 0, neutral);
    w.start.i = rlx_load_int(&one, 0);
  }
  size_t n = w.lines.outer * ((w.lines.inner - 1) / w.columns + 1);
  cpu_parallel(c->pool, n, cpu_grain(n, 4 * (double)w.lines.n * (double)w.columns), scan_groups, &w);
  return RLX_OK;
}

#define SCAN(op, formula, neutral)                           \
  static rlx_status run_##op(const cpu_call *c) {            \
    const rlx_attrs_##op *a = c->attrs;                      \
    scan_work w = {.exclusive = a->exclusive,                \
                   .reverse = a->reverse,                    \
                   .combine = rlx_scalar_##formula##_f,      \
                   .int_combine = rlx_scalar_##formula##_i}; \
    return run_scan(c, a->axis, w, neutral);                 \
  }                                                          \
  const cpu_kernel cpu_##op##_kernel = {.claim = claim_scan, .run = run_##op};
SCAN(cumsum, add, 0.0)
SCAN(cumprod, mul, 1.0)
SCAN(cummax, max, -RLX_INFINITY)
