/* Convolution: what conv.c, conv_winograd.c and the inner loops of conv.simd.c share.
 *
 * A convolution is a product of the weight [O, K] with the matrix [K, places] whose rows are the taps (channel, then place in
 * the kernel) and whose columns are the output places. That matrix is never made: a panel of it, some dozens of columns wide
 * and as many taps high as stay in the first cache, is copied out of the image, multiplied with all output channels, and
 * overwritten by the next. Weights lie in blocks of sixteen output channels, [O/16][K][16], packed when they are loaded: so
 * an inner loop may take places in its vectors and broadcast weights, or, for the few places that fill no vector, take
 * channels in its vectors and broadcast places. Each sum runs over k in order either way: the bits are the same.
 *
 * Two kinds have their own way: depth-wise convolutions, which have no product in them (conv_depthwise.c), and 3x3 ones of
 * stride 1, whose product is four times smaller between transforms (conv_winograd.c). */
#ifndef RLX_CPU_CONV_H
#define RLX_CPU_CONV_H

#include "cpu/cpu.h"
#include "ir/conv_dims.h"

enum {
  CPU_CONV_CHANNELS = 16,   /* output channels of a block of weights */
  CPU_CONV_VECS = 3,        /* vectors of columns that a panel has, */
  CPU_CONV_MAX_COLUMNS = 64 /* and its columns at most, with those that fill no vector */
};

/* Part of a row of a panel that comes from the image: `length` columns from `to` on, whose elements begin at `from` in the
 * channel's plane and are `stride` apart. What no run covers is padding: zero. */
typedef struct cpu_conv_run {
  size_t to, length, from, stride;
} cpu_conv_run;

/* A part of every row of a panel, columns to .. to + length - 1, that an image of conv_image.h has in one piece. */
typedef struct cpu_conv_piece {
  size_t to, length, from;
} cpu_conv_piece;

/* On the way out: act(x + bias + residual), in the result's type. */
typedef struct cpu_conv_end {
  rlx_dtype type;
  int32_t act;
  float bias;
  const void *residual; /* beside dst; NULL: none */
} cpu_conv_end;

/* The points of Winograd's transforms beside 0 and infinity: these and their opposites. Of the pairs that are exact in binary
 * these lose least: the largest error of a sum is 1.5 times the direct one's, with 1 and 2 it is 7 times. */
#define CPU_WINOGRAD_NEAR 0.75f
#define CPU_WINOGRAD_FAR 1.5f
/* A row of a pool's result from rows of the input. */
typedef struct cpu_pool_row {
  const float *const *rows; /* n_rows of them, at least one, `width` long */
  size_t n_rows, width;
  float *line; /* room for one of them, behind `pad` elements of padding and before as much as the last vector reads */
  size_t pad, kernel, stride, dilation; /* along the row; stride 1 or 2 */
  const float *taps;                    /* by column, and of the rows: the mean is over their product */
  float row_taps;
  float *out; /* n of them */
  size_t n;
} cpu_pool_row;

/* A plane of a depth-wise convolution: f32, no dilation, stride 1 or 2 along the row. */
typedef struct cpu_depthwise_plane {
  const float *x, *w;
  float *
    padded; /* NULL: 3x3 or 5x5 with `pad` of half of that, taken from x itself; else room for the plane with its padding and some vectors behind it: padded_rows rows of `stride` phases, each
                  * `phase` long; column i of phase p is the plane's column i * stride + p - pad */
  size_t rows, width, pad_rows, pad, padded_rows, phase;
  size_t kernel_rows, kernel, stride_rows, stride;
  size_t out_rows, n; /* rows of the result, and their length */
  float *out;
  cpu_conv_end end;
} cpu_depthwise_plane;

/* The same of a block of channels, straight from the sums, f32 only. */
typedef struct cpu_conv_out {
  int32_t act;
  const float *bias;     /* by channel; NULL: none */
  const float *residual; /* as dst; NULL: none */
  float *dst;            /* the block's first channel at the panel's first column */
  size_t step;           /* from channel to channel */
} cpu_conv_out;

enum { CPU_WINOGRAD_TILE = 6, CPU_WINOGRAD_OUT = 4, CPU_WINOGRAD_SPOTS = 36 };

typedef struct cpu_conv_table {
  size_t lanes; /* of a vector */
  /* Rows of a panel, one for each tap: pieces of the row from x + taps[i] + from on, the last one's end being the row's. */
  void (*fill_taps)(const float *x, const size_t *taps, size_t n_taps, const cpu_conv_piece *pieces, size_t n_pieces,
                    size_t step, float *rows);
  /* One row of a panel of this many columns, a multiple of lanes. */
  void (*fill_row)(rlx_dtype type, const void *plane, const cpu_conv_run *runs, size_t n_runs, size_t columns,
                   float *row);
  /* acc[channels][lda] (+)= w[rows][16]^T panel[rows][ldb], for the first `channels` (1 .. 16) of a block and `columns`
   * columns, of which at most CPU_CONV_VECS fill vectors. acc has room for all 16. With `out` the sums go there. */
  void (*multiply)(const float *w, const float *panel, size_t ldb, size_t rows, size_t columns, size_t channels,
                   bool add, float *acc, size_t lda, const cpu_conv_out *out);
  void (*finish)(const cpu_conv_end *end, const float *x, void *dst, size_t n);
  /* y[i] = sum over the taps of w[t] x[t][i] */
  void (*add_taps)(const float *w, const float *const *x, size_t taps, float *y, size_t n);
  /* y[i] = x[i * stride] */
  void (*take_every)(const float *x, size_t stride, float *y, size_t n);
  /* y[i] = max(y[i], x[i * stride]), NaN staying; y[i] += x[i * stride] */
  void (*take_max)(const float *x, size_t stride, float *y, size_t n);
  void (*take_sum)(const float *x, size_t stride, float *y, size_t n);
  void (*pad_plane)(const cpu_depthwise_plane *plane);
  void (*depthwise)(const cpu_depthwise_plane *plane); /* one that is padded */
  void (*pool_row)(bool is_max, const cpu_pool_row *row);
  float (*sum_all)(const float *x, size_t n);
  /* Winograd, see conv_winograd.c. A row into six, by its place in the tiles: to[s * step + t] = row[4 t + s]; whether all
   * of it may be transformed. Then `lanes` tiles at a time: their 36 spots from d[(r % 4 * 6 + s) * step + r / 4 * tiles]
   * to v[36][v_step]; and m[36][m_step] to rows of the result, rows[4][row_step], four elements for each tile. */
  bool (*split_row)(const float *row, size_t tiles, float *to, size_t step);
  void (*tiles_in)(const float *d, size_t step, size_t tiles, float *v, size_t v_step);
  void (*tiles_out)(const float *m, size_t m_step, float *rows, size_t row_step);
} cpu_conv_table;
CPU_TABLES(cpu_conv_table, cpu_conv)

/* conv and fused_conv_bias_act alike, as the kernels read them. */
typedef struct cpu_conv_node {
  rlx_conv_window window;
  int64_t groups;
  int32_t act;
} cpu_conv_node;
rlx_status cpu_conv_read(const rlx_graph *g, const rlx_node_rec *n, cpu_conv_node *out);
/* How channel `channel` ends, at this element of the result. */
cpu_conv_end cpu_conv_end_of(const cpu_call *c, int32_t act, size_t channel, size_t element);

/* Columns that come next where `left` are: whole vectors, and with the last of them those that fill none. */
static inline size_t cpu_conv_columns(const cpu_conv_table *t, size_t left) {
  size_t max = CPU_CONV_VECS * t->lanes;
  return left < max + t->lanes ? left : max;
}

/* Layouts of weights: CPU_LAYOUT_CONV + groups, and this. */
enum { CPU_LAYOUT_WINOGRAD = CPU_LAYOUT_CONV + 0xff, CPU_CONV_MAX_GROUPS = 0xfe };

#endif
