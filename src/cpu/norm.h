/* Shared by norm.c, norm_columns.c and softmax.c: their vector functions, and rows and columns of any float dtype as
 * f32, split into tasks (norm_rows.c). */
#ifndef RLX_CPU_NORM_H
#define RLX_CPU_NORM_H

#include <math.h>

#include "cpu/pointwise.h"
#include "ir/walk.h"

/* The mean in two f32 parts, so that subtracting it from values far from zero loses no precision, and 1 / deviation. */
typedef struct cpu_norm_stats {
  float mean, low, inverse;
} cpu_norm_stats;

static inline cpu_norm_stats cpu_norm_about(double mean) {
  float high = (float)mean;
  return (cpu_norm_stats){.mean = high, .low = (float)(mean - (double)high)};
}
/* False: f32 is not precise enough. */
static inline bool cpu_norm_set_inverse(cpu_norm_stats *s, double variance, double eps) {
  s->inverse = (float)(1 / sqrt(variance + eps));
  bool vanished = variance < 1e-30 && eps < 1e-24;
  return isfinite(variance) && isfinite(s->mean) && !vanished;
}

typedef struct cpu_norm_fns {
  void (*add)(float *y, const float *x, const float *added, size_t n, float shift); /* (x - shift) + added */
  /* Sums over n elements, at most a few thousand: of x - shift, and of ((x - mean) - low)^2. */
  float (*sum)(const float *x, size_t n, float shift);
  float (*squares)(const float *x, size_t n, const cpu_norm_stats *s);
  /* y = ((x - mean) - low) inverse gamma + beta; gamma and beta have n elements or are NULL. y may alias x. */
  void (*scale)(float *y, const float *x, size_t n, const cpu_norm_stats *s, const float *gamma, const float *beta);
  void (*scale_one)(float *y, const float *x, size_t n, const cpu_norm_stats *s, float gamma, float beta);
  /* The same by columns: element i has its own shift, statistics and sum. */
  void (*column_sum)(float *acc, const float *x, size_t n, const float *shift);
  void (*column_squares)(float *acc, const float *x, size_t n, const float *mean, const float *low);
  void (*column_scale)(float *y, const float *x, size_t n, const float *mean, const float *low, const float *inverse,
                       float gamma, float beta);
} cpu_norm_fns;
CPU_TABLES(cpu_norm_fns, cpu_norm)

typedef struct cpu_softmax_fns {
  float (*max)(const float *x, size_t n); /* NaN is ignored; -inf for n = 0 */
  /* The sum of e^(x - max). The powers are stored in y where that is not NULL. y may alias x. */
  float (*exp_sum)(float *y, const float *x, size_t n, float max);
  void (*scale)(float *y, const float *x, size_t n, float factor);
  void (*exp_scale)(float *y, const float *x, size_t n, float max, float factor); /* e^(x - max) factor */
  void (*subtract)(float *y, const float *x, size_t n, float max, float log_sum); /* (x - max) - log_sum */
  void (*column_max)(float *acc, const float *x, size_t n);
  void (*column_exp_sum)(float *acc, const float *x, size_t n, const float *max);
  void (*column_exp_scale)(float *y, const float *x, size_t n, const float *max, const float *factor);
  void (*column_subtract)(float *y, const float *x, size_t n, const float *max, const float *log_sum);
} cpu_softmax_fns;
CPU_TABLES(cpu_softmax_fns, cpu_softmax)

/* Rows of a float dtype, processed as f32 in chunks. */
enum { CPU_ROW_CHUNK = 2048 };
typedef struct cpu_rows {
  const void *x, *added; /* added: a second operand, or NULL */
  size_t element;
  bool is_f32;
  cpu_tile_fn load;
  void (*add)(float *y, const float *x, const float *added, size_t n, float shift);
  void *out;
  cpu_tile_fn store; /* from f32; NULL: out is f32 and written directly */
} cpu_rows;
void cpu_rows_init(cpu_rows *r, const cpu_call *c, rlx_dtype dtype, const void *added);

/* A task's chunk buffers. The last chunk loaded is kept, so that a short row is converted once for all passes. */
typedef struct cpu_row_buffer {
  float shift; /* subtracted from x before `added` is added, so that a sum far from zero keeps its precision */
  size_t at, n;
  const float *chunk;
  float loaded[CPU_ROW_CHUNK], second[CPU_ROW_CHUNK], result[CPU_ROW_CHUNK];
} cpu_row_buffer;
void cpu_row_buffer_init(cpu_row_buffer *b);
const float *cpu_rows_load(const cpu_rows *r, cpu_row_buffer *b, size_t at, size_t n);
/* Where to compute n results for element `at`; cpu_rows_store then converts and stores them if needed. */
float *cpu_rows_result(const cpu_rows *r, cpu_row_buffer *b, size_t at);
void cpu_rows_store(const cpu_rows *r, cpu_row_buffer *b, size_t at, size_t n);

/* ---- tasks ---- */

/* How rows are split into tasks, by their sizes alone: many rows are tasks themselves; a few long ones are split into
 * parts. */
typedef struct cpu_row_cut {
  size_t rows, n;       /* rows of n elements each */
  size_t parts, length; /* per row: one part, or several of this length */
} cpu_row_cut;
cpu_row_cut cpu_row_cut_of(size_t rows, size_t n);

/* A row or a part of one: elements begin .. end of the tensor. */
typedef struct cpu_row_span {
  size_t row, begin, end;
} cpu_row_span;
#define CPU_EACH_CHUNK(s, at, n) \
  for (size_t at = (s).begin, n; \
       at < (s).end && (n = (s).end - at < CPU_ROW_CHUNK ? (s).end - at : CPU_ROW_CHUNK, true); at += n)

/* Calls fn for every part of every row; `part` counts over all rows. Each part of a row is a task. Whole rows share
 * tasks by their cost, about nanoseconds. */
typedef void cpu_row_fn(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part);
void cpu_rows_run(cpu_row_cut cut, rlx_pool *pool, double cost, cpu_row_fn *fn, const void *user);

/* Lines along an axis that is not the innermost, adjacent ones together: calls fn for columns start .. start + w, w at
 * most CPU_COLUMN_BLOCK. `cost` is about nanoseconds per element. */
enum { CPU_COLUMN_BLOCK = 256 };
typedef void cpu_column_fn(const void *user, cpu_row_buffer *b, size_t start, size_t w);
void cpu_columns_run(rlx_lines l, rlx_pool *pool, double cost, cpu_column_fn *fn, const void *user);
/* Called after term k of n: periodically moves what w sums have accumulated in f32 into f64. */
void cpu_columns_flush(float *acc, double *sum, size_t w, size_t k, size_t n);

#endif
