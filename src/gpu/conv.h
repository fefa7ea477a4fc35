/* What lower_conv.c and lower_conv_matrix.c share. */
#ifndef RLX_GPU_CONV_H
#define RLX_GPU_CONV_H

#include "gpu/window.h"

enum {
  GPU_CONV_STEP = 16,       /* size of a step along k of conv_tile, the unit of split sums */
  GPU_CONV_MAX_MASKED = 31, /* maximum of taps that an invocation tracks by a bit each */
};

typedef struct gpu_conv {
  gpu_sliding v;
  uint32_t batch, in_channels, out_channels, groups;
  uint32_t each_in, each_out; /* channels per group */
  rlx_dtype t, tw;
  bool has_bias, transposed;
  bool weight_is_transposed; /* the weight has the layout of conv_layout.c */
} gpu_conv;

typedef RLX_ARRAY(uint32_t) gpu_conv_words;

typedef struct gpu_conv_tap {
  int64_t d[RLX_SPATIAL]; /* its offset from an output position */
  uint32_t w;             /* its index in the kernel */
} gpu_conv_tap;

typedef struct gpu_conv_product {
  const gpu_conv *c;
  uint32_t out[RLX_SPATIAL]; /* output positions */
  int32_t stride[RLX_SPATIAL], pad[RLX_SPATIAL];
  uint32_t first, step[RLX_SPATIAL]; /* first element and strides of the positions in the result's plane */
  RLX_ARRAY(gpu_conv_tap) taps;
  bool is_masked;
} gpu_conv_product;

typedef struct gpu_conv_target { /* where all products of a node write */
  gpu_window to;
  bool is_final; /* the result itself, with bias; otherwise partial sums for conv_sum */
  uint32_t parts;
} gpu_conv_target;

static inline uint32_t gpu_conv_in_plane(const gpu_conv *c) { return c->v.in[0] * c->v.in[1] * c->v.in[2]; }
static inline uint32_t gpu_conv_out_plane(const gpu_conv *c) { return c->v.plane.d; }
static inline uint32_t gpu_conv_filled(const gpu_conv *c) { return gpu_ceil_div(c->in_channels, 8) * 8; }

/* Appends four words to a table. */
void gpu_conv_push4(gpu_lowering *l, gpu_conv_words *to, const uint32_t v[4]);
/* All taps of a plain convolution. */
void gpu_conv_taps(gpu_lowering *l, const gpu_conv *c, gpu_conv_product *p);
uint32_t gpu_conv_parts(const gpu_lowering *l, uint32_t tiles, uint32_t k, uint64_t bytes);
/* The second pass: adds the parts, and the bias. */
void gpu_conv_sum(gpu_lowering *l, const gpu_conv *c, const gpu_conv_target *t);

/* On matrix units (lower_conv_matrix.c). `suits` depends only on the weight and the op: it decides whether the
 * transposed weight layout is preferred. */
bool gpu_conv_suits_matrix_units(const gpu_lowering *l, const gpu_conv *c);
/* False if it is not lowered so. */
bool gpu_conv_on_matrix_units(gpu_lowering *l, const gpu_conv *c);

#endif
