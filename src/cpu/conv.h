/* Convolution: the types and inner loops shared by conv.c, conv_depthwise.c, conv_winograd.c and pool.c.
 *
 * A convolution is the GEMM of the weight [O, K] with the im2col matrix [K, positions]: its rows are taps (channel,
 * then kernel position), its columns are output positions. The whole matrix is never built. A panel of it, a few dozen
 * columns wide and as many taps high as fit in the L1 cache, is copied from the image, multiplied with all output
 * channels and then overwritten by the next. Weights are packed at load into blocks of sixteen output channels,
 * [O/16][K][16]. So an inner loop can hold positions in its vectors and broadcast weights. For the remaining positions
 * that fill no vector, it holds channels in its vectors and broadcasts positions. Each sum runs over k in order either
 * way, so the bits are the same.
 *
 * Two kinds have their own algorithm: depthwise convolutions, which contain no GEMM (conv_depthwise.c), and 3x3 ones of
 * stride 1, whose products are four times fewer between Winograd transforms (conv_winograd.c). */
#ifndef RLX_CPU_CONV_H
#define RLX_CPU_CONV_H

#include "cpu/cpu.h"
#include "ir/conv_dims.h"

enum {
  CPU_CONV_CHANNELS = 16,   /* output channels per block of weights */
  CPU_CONV_MAX_COLUMNS = 64 /* max columns of a panel, including those that fill no vector */
};

/* A run of a panel row that is copied from the image: `length` columns from `to` on. Its elements begin at `from` in
 * the channel's plane and are `stride` apart. Columns that no run covers are padding: zero. */
typedef struct cpu_conv_run {
  size_t to, length, from, stride;
} cpu_conv_run;

/* Columns to .. to + length - 1 of every row of a panel, which are contiguous in an image of conv_image.h. */
typedef struct cpu_conv_segment {
  size_t to, length, from;
} cpu_conv_segment;

/* The epilogue: act(x + bias + residual), in the result's dtype. */
typedef struct cpu_conv_epilogue {
  rlx_dtype type;
  int32_t act;
  float bias;
  const void *residual; /* at dst's position; NULL: none */
} cpu_conv_epilogue;

/* The interpolation points of the Winograd transforms are 0, infinity, and plus and minus these two. Of the pairs that
 * are exact in binary they have the smallest error: the largest error of a sum is 1.5 times that of the direct one.
 * With 1 and 2 it is 7 times. */
#define CPU_WINOGRAD_NEAR 0.75f
#define CPU_WINOGRAD_FAR 1.5f
/* One row of a pooling result from rows of the input. */
typedef struct cpu_pool_row {
  const float *const *rows; /* n_rows >= 1 rows of `width` elements */
  size_t n_rows, width;
  float *line; /* scratch for one row, with `pad` elements before it and as many after as the last vector reads */
  size_t pad, kernel, stride, dilation; /* along the row; stride 1 or 2 */
  const float *taps;                    /* elements per column, and per row: the mean divides by their product */
  float row_taps;
  float *out; /* n elements */
  size_t n;
} cpu_pool_row;

/* One plane of a depthwise convolution: f32, no dilation, stride 1 or 2 along the row. */
typedef struct cpu_depthwise_plane {
  const float *x, *w;
  /* NULL: a 3x3 or 5x5 kernel whose `pad` is half of it, read from x itself. Otherwise scratch for the padded plane and
   * some vectors after it: padded_rows rows of `stride` phases, each `phase` floats long. Column i of phase p is the
   * plane's column i * stride + p - pad. */
  float *padded;
  size_t rows, width, pad_rows, pad, padded_rows, phase;
  size_t kernel_rows, kernel, stride_rows, stride;
  size_t out_rows, n; /* rows of the result, and their length */
  float *out;
  cpu_conv_epilogue end;
} cpu_depthwise_plane;

/* The epilogue of a block of channels, applied while the sums are in registers; f32 only. */
typedef struct cpu_conv_out {
  int32_t act;
  const float *bias;     /* by channel; NULL: none */
  const float *residual; /* indexed like dst; NULL: none */
  float *dst;            /* the block's first channel at the panel's first column */
  size_t step;           /* floats between channels */
} cpu_conv_out;

enum { CPU_WINOGRAD_TILE = 6, CPU_WINOGRAD_OUT = 4, CPU_WINOGRAD_ELEMENTS = 36 };

typedef struct cpu_conv_table {
  size_t lanes; /* lanes of a vector */
  size_t vecs;  /* vectors of columns in a panel */
  /* Fills one row of a panel per tap: its segments are read at x + taps[i] + from. The last segment ends the row. */
  void (*fill_taps)(const float *x, const size_t *taps, size_t n_taps, const cpu_conv_segment *segments,
                    size_t n_segments, size_t step, float *rows);
  /* Fills one row of a panel of this many columns, a multiple of lanes. */
  void (*fill_row)(rlx_dtype type, const void *plane, const cpu_conv_run *runs, size_t n_runs, size_t columns,
                   float *row);
  /* acc[channels][lda] (+)= w[rows][16]^T panel[rows][ldb], for the first `channels` (1 .. 16) of a block and `columns`
   * columns, of which at most `vecs` vectors are full. acc has space for all 16 channels. With `out` the sums go
   * through its epilogue to its dst instead. */
  void (*multiply)(const float *w, const float *panel, size_t ldb, size_t rows, size_t columns, size_t channels,
                   bool add, float *acc, size_t lda, const cpu_conv_out *out);
  void (*finish)(const cpu_conv_epilogue *end, const float *x, void *dst, size_t n);
  /* y[i] = sum over the taps of w[t] x[t][i] */
  void (*add_taps)(const float *w, const float *const *x, size_t taps, float *y, size_t n);
  /* y[i] = x[i * stride] */
  void (*copy_strided)(const float *x, size_t stride, float *y, size_t n);
  /* y[i] = max(y[i], x[i * stride]), NaN propagates; y[i] += x[i * stride] */
  void (*max_strided)(const float *x, size_t stride, float *y, size_t n);
  void (*sum_strided)(const float *x, size_t stride, float *y, size_t n);
  void (*pad_plane)(const cpu_depthwise_plane *plane);
  void (*depthwise)(const cpu_depthwise_plane *plane); /* a padded one */
  void (*pool_row)(bool is_max, const cpu_pool_row *row);
  float (*sum_all)(const float *x, size_t n);
  float (*max_all)(const float *x, size_t n); /* NaN propagates */
  /* Winograd, see conv_winograd.c. split_row deals a row into six, by position in the tiles: to[s * step + t] = row[4 t
   * + s]; returns whether all of it may be transformed. tiles_in and tiles_out transform `lanes` tiles at a time: from
   * d[(r % 4 * 6 + s) * step + r / 4 * tiles] to v[36][v_step]; and from m[36][m_step] to rows of the result,
   * rows[4][row_step], four elements per tile. */
  bool (*split_row)(const float *row, size_t tiles, float *to, size_t step);
  void (*tiles_in)(const float *d, size_t step, size_t tiles, float *v, size_t v_step);
  void (*tiles_out)(const float *m, size_t m_step, float *rows, size_t row_step);
} cpu_conv_table;
CPU_TABLES(cpu_conv_table, cpu_conv)

/* The attributes of conv and of fused_conv_bias_act in one form. */
typedef struct cpu_conv_node {
  rlx_conv_window window;
  int64_t groups;
  int32_t act;
} cpu_conv_node;
rlx_status cpu_conv_read(const rlx_graph *g, const rlx_node_rec *n, cpu_conv_node *out);
/* The epilogue of channel `channel`, at this element of the result. */
cpu_conv_epilogue cpu_conv_epilogue_of(const cpu_call *c, int32_t act, size_t channel, size_t element);

/* The columns of the next panel where `left` remain: whole vectors; the last panel includes those that fill none. */
static inline size_t cpu_conv_columns(const cpu_conv_table *t, size_t left) {
  size_t max = t->vecs * t->lanes;
  return left < max + t->lanes ? left : max;
}

/* Layouts of weights: CPU_LAYOUT_CONV + groups, and CPU_LAYOUT_WINOGRAD. */
enum { CPU_LAYOUT_WINOGRAD = CPU_LAYOUT_CONV + 0xff, CPU_CONV_MAX_GROUPS = 0xfe };

#endif
