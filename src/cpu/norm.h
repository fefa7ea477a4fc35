/* What norm.c and softmax.c ask of their vector files, for rows and for columns of f32. */
#ifndef RLX_CPU_NORM_H
#define RLX_CPU_NORM_H

#include "cpu/pointwise.h"

/* The mean in two parts, so that values far from zero lose nothing when it is taken away, and 1 / deviation. */
typedef struct cpu_norm_stats {
  float mean, low, inverse;
} cpu_norm_stats;

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

/* How rows are cut for threads, by their sizes alone: many rows are tasks themselves; few long ones are cut in
 * parts. */
typedef struct cpu_row_cut {
  size_t rows, n;       /* of n elements each */
  size_t parts, length; /* per row: one, or several of this length */
} cpu_row_cut;
cpu_row_cut cpu_row_cut_of(size_t rows, size_t n);

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

#endif
