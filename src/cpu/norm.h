/* What norm.c, norm_columns.c and softmax.c share: the tables of their vector files, and rows and columns of any float
 * type as f32, cut into tasks (norm_rows.c). */
#ifndef RLX_CPU_NORM_H
#define RLX_CPU_NORM_H

#include <math.h>

#include "cpu/pointwise.h"
#include "ir/walk.h"

/* The mean in two parts, so that values far from zero lose nothing when it is taken away, and 1 / deviation. */
typedef struct cpu_norm_stats {
  float mean, low, inverse;
} cpu_norm_stats;

static inline cpu_norm_stats cpu_norm_about(double mean) {
  float high = (float)mean;
  return (cpu_norm_stats){.mean = high, .low = (float)(mean - (double)high)};
}
/* False: f32 was not enough. */
static inline bool cpu_norm_set_inverse(cpu_norm_stats *s, double variance, double eps) {
  s->inverse = (float)(1 / sqrt(variance + eps));
  bool vanished = variance < 1e-30 && eps < 1e-24;
  return isfinite(variance) && isfinite(s->mean) && !vanished;
}

typedef struct cpu_norm_fns {
  void (*add)(float *y, const float *x, const float *added, size_t n, float shift); /* (x - shift) + added */
  /* Sums over n elements, at most some thousands: of x - shift, and of ((x - mean) - low)^2. */
  float (*sum)(const float *x, size_t n, float shift);
  float (*squares)(const float *x, size_t n, const cpu_norm_stats *s);
  /* y = ((x - mean) - low) inverse gamma + beta; gamma and beta have n elements or are NULL. y may be x. */
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
  float (*max)(const float *x, size_t n); /* NaN does not count; of nothing -inf */
  /* The sum of e^(x - max), which are also left in y where that is not NULL. y may be x. */
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

/* Rows in memory of a float type, seen as f32 a piece at a time. */
enum { CPU_ROW_PIECE = 2048 };
typedef struct cpu_rows {
  const void *x, *added; /* added: a second operand, or NULL */
  size_t element;
  bool in_form;
  cpu_tile_fn load;
  void (*add)(float *y, const float *x, const float *added, size_t n, float shift);
  void *out;
  cpu_tile_fn store; /* from f32; NULL: out is f32 and written where it lies */
} cpu_rows;
void cpu_rows_init(cpu_rows *r, const cpu_call *c, rlx_dtype dtype, const void *added);

/* A thread's pieces: the last one brought stays, so that a short row is converted once for all passes. */
typedef struct cpu_row_buffer {
  float shift; /* taken from x before `added` comes to it, so that a sum far from zero loses nothing */
  size_t at, n;
  const float *piece;
  float brought[CPU_ROW_PIECE], second[CPU_ROW_PIECE], result[CPU_ROW_PIECE];
} cpu_row_buffer;
void cpu_row_buffer_init(cpu_row_buffer *b);
const float *cpu_rows_bring(const cpu_rows *r, cpu_row_buffer *b, size_t at, size_t n);
/* Where n results that belong at element `at` are to be computed, and, when they are, their way there. */
float *cpu_rows_place(const cpu_rows *r, cpu_row_buffer *b, size_t at);
void cpu_rows_store(const cpu_rows *r, cpu_row_buffer *b, size_t at, size_t n);

/* ---- tasks ---- */

/* How rows are cut for threads, by their sizes alone: many rows are tasks themselves; few long ones are cut in
 * parts. */
typedef struct cpu_row_cut {
  size_t rows, n;       /* of n elements each */
  size_t parts, length; /* per row: one, or several of this length */
} cpu_row_cut;
cpu_row_cut cpu_row_cut_of(size_t rows, size_t n);

/* A row or a part of one: elements begin .. end of the whole. */
typedef struct cpu_row_span {
  size_t row, begin, end;
} cpu_row_span;
#define CPU_EACH_PIECE(s, at, n) \
  for (size_t at = (s).begin, n; \
       at < (s).end && (n = (s).end - at < CPU_ROW_PIECE ? (s).end - at : CPU_ROW_PIECE, true); at += n)

/* fn for every part of every row; part counts over all. Parts of a row are tasks each; whole rows share tasks by their
 * cost, about nanoseconds. */
typedef void cpu_row_fn(const void *user, cpu_row_buffer *b, cpu_row_span s, size_t part);
void cpu_rows_run(cpu_row_cut cut, rlx_pool *pool, double cost, cpu_row_fn *fn, const void *user);

/* Lines whose elements lie apart, neighbouring ones together: fn for columns start .. start + w, w at most
 * CPU_COLUMN_BLOCK. The cost is about nanoseconds per element. */
enum { CPU_COLUMN_BLOCK = 256 };
typedef void cpu_column_fn(const void *user, cpu_row_buffer *b, size_t start, size_t w);
void cpu_columns_run(rlx_lines l, rlx_pool *pool, double cost, cpu_column_fn *fn, const void *user);
/* After term k of n: now and then moves what w sums have gathered in f32 into doubles. */
void cpu_columns_flush(float *acc, double *sum, size_t w, size_t k, size_t n);

#endif
