/* Convolutions: one RLX op each, with ONNX's padding modes and integer variants. */
#include <inttypes.h>

#include "onnx/compose.h"

/* Up to three spatial axes; [N, C] and four and more are beyond RLX's. */
static rlx_status check_input(onnx_call *c, uint32_t x, uint32_t w) {
  int rank = onnx_rank(c, x);
  if (rank < 3) return RLX_FAIL(RLX_INVALID, "the input has %d axes, expected at least 3", rank);
  if (rank > 5) return onnx_refuse(c, "%d spatial axes, and RLX convolves over at most 3", rank - 2);
  if (onnx_rank(c, w) != rank)
    return RLX_FAIL(RLX_INVALID, "the input has %d axes, the weight %d", rank, onnx_rank(c, w));
  return RLX_OK;
}

static rlx_status read_groups(onnx_call *c, int64_t *groups) {
  RLX_TRY(onnx_int(c, "group", 1, groups));
  return *groups >= 1 ? RLX_OK : RLX_FAIL(RLX_INVALID, "group is %" PRId64, *groups);
}

static rlx_status read_conv(onnx_call *c, uint32_t x, uint32_t w, rlx_op_conv_desc *d) {
  rlx_dims xs = onnx_shape(c, x), ws = onnx_shape(c, w), sizes = onnx_spatial(&xs, 2), kernel = onnx_spatial(&ws, 2);
  onnx_window win;
  RLX_TRY(check_input(c, x, w));
  RLX_TRY(onnx_window_of(c, &kernel, &sizes, &win));
  *d = (rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, win.stride, win.dilation, win.lo, win.hi, 1};
  return read_groups(c, &d->groups);
}

rlx_status onnx_op_conv(onnx_call *c) {
  rlx_op_conv_desc d;
  RLX_TRY(read_conv(c, 0, 1, &d));
  return onnx_set_like(c, 0, rlx_op_conv(c->g, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2), &d), 0);
}

/* ---- ConvTranspose ---- */

/* output_shape is reached by padding: what is too much is cut, by auto_pad's rule; zeros follow what is too little. */
static void transpose_pads(const rlx_dims *sizes, const rlx_dims *wanted, const rlx_dims *extra, onnx_window *w) {
  for (int i = 0; i < w->n; i++) {
    int64_t full = (sizes->v[i] - 1) * w->stride.v[i] + extra->v[i] + onnx_reach(w, i);
    int64_t total = full - (wanted->n ? wanted->v[i] : sizes->v[i] * w->stride.v[i]);
    int64_t half = total / 2;
    w->lo.v[i] = total < 0 ? 0 : w->auto_pad == ONNX_PAD_SAME_UPPER ? half : total - half;
    w->hi.v[i] = total - w->lo.v[i];
  }
}

/* Negative padding appends zeros. So does output_padding, unless padding at the end removes them again. */
static rlx_node transpose_conv(onnx_call *c, const onnx_window *w, const rlx_dims *extra, int64_t groups) {
  rlx_op_conv_transpose_desc d = {
    RLX_OP_CONV_TRANSPOSE_DESC_INIT, w->stride, w->dilation, w->lo, w->hi, *extra, groups};
  rlx_dims lo = {.n = w->n + 2}, hi = lo;
  bool padded = false;
  for (int i = 0; i < w->n; i++) {
    int64_t more = d.output_pad.v[i];
    if (w->hi.v[i] < 0) d.pad_hi.v[i] = 0, hi.v[2 + i] = -w->hi.v[i];
    if (more && d.pad_hi.v[i] > 0) {
      int64_t both = more < d.pad_hi.v[i] ? more : d.pad_hi.v[i];
      d.pad_hi.v[i] -= both;
      more -= both;
    }
    d.output_pad.v[i] = 0;
    hi.v[2 + i] += more;
    padded |= hi.v[2 + i] != 0;
  }
  if (!padded) return rlx_op_conv_transpose(c->g, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2), &d);
  rlx_node y = rlx_op_conv_transpose(c->g, onnx_in(c, 0), onnx_in(c, 1), RLX_NONE, &d);
  y = rlx_op_pad(c->g, y, lo, hi, RLX_PAD_CONSTANT, 0);
  return onnx_has(c, 2) ? rlx_op_add(c->g, y, onnx_along(c, onnx_in(c, 2), 1, w->n + 2)) : y;
}

rlx_status onnx_op_conv_transpose(onnx_call *c) {
  rlx_dims xs = onnx_shape(c, 0), ws = onnx_shape(c, 1), sizes = onnx_spatial(&xs, 2), kernel = onnx_spatial(&ws, 2);
  rlx_dims wanted, extra;
  onnx_window w;
  int64_t groups;
  RLX_TRY(check_input(c, 0, 1));
  RLX_TRY(onnx_window_of(c, &kernel, &sizes, &w));
  RLX_TRY(read_groups(c, &groups));
  RLX_TRY(onnx_list(c, "output_padding", w.n, 0, 0, &extra));
  RLX_TRY(onnx_dims_of(c, "output_shape", &wanted));
  if (wanted.n == w.n + 2) wanted = onnx_spatial(&wanted, 2); /* some files include N and C */
  if (wanted.n && wanted.n != w.n)
    return RLX_FAIL(RLX_INVALID, "output_shape has %d sizes, expected %d", (int)wanted.n, w.n);
  for (int i = 0; i < wanted.n; i++)
    if (wanted.v[i] < 1 || wanted.v[i] > INT32_MAX)
      return RLX_FAIL(RLX_INVALID, "output_shape: size %d is %" PRId64, i, wanted.v[i]);
  if (wanted.n || w.auto_pad == ONNX_PAD_SAME_UPPER || w.auto_pad == ONNX_PAD_SAME_LOWER)
    transpose_pads(&sizes, &wanted, &extra, &w);
  return onnx_set_like(c, 0, transpose_conv(c, &w, &extra, groups), 0);
}

/* ---- integers ---- */

static rlx_node run_conv(onnx_call *c, rlx_node x, rlx_node w, const void *arg) {
  return rlx_op_conv(c->g, x, w, RLX_NONE, arg);
}

/* As floats, with the zero point taken off; zero points of weights are one or one per output channel. */
static rlx_node centred(onnx_call *c, uint32_t i, uint32_t zero, int axis) {
  rlx_node x = rlx_op_cast(c->g, onnx_in(c, i), RLX_F32), z = onnx_in(c, zero);
  if (!z) return x;
  z = rlx_op_cast(c->g, z, RLX_F32);
  rlx_dims shape = onnx_dims(c, z);
  bool one = rlx_dims_count(&shape) == 1;
  return rlx_op_sub(c->g, x, one ? onnx_one(c, z) : onnx_along(c, z, axis, onnx_rank(c, i)));
}

static rlx_node integer_conv(onnx_call *c, rlx_node x, rlx_node w, const rlx_op_conv_desc *d) {
  rlx_dims ws = onnx_dims(c, w);
  int64_t terms = 1;
  for (int i = 1; i < ws.n; i++) terms *= ws.v[i];
  return onnx_exact(c, x, w, terms, run_conv, d);
}

static rlx_status check_bytes(onnx_call *c, uint32_t i) {
  rlx_dtype t = onnx_dtype(c, i);
  return t == RLX_I8 || t == RLX_U8 ? RLX_OK
                                    : RLX_FAIL(RLX_INVALID, "input %u is %s, expected 8-bit integers", (unsigned)i,
                                               onnx_type_name(onnx_in_type(c, i)));
}

rlx_status onnx_op_conv_integer(onnx_call *c) {
  rlx_op_conv_desc d;
  RLX_TRY(check_bytes(c, 0));
  RLX_TRY(check_bytes(c, 1));
  RLX_TRY(read_conv(c, 0, 1, &d));
  return onnx_set(c, 0, integer_conv(c, centred(c, 0, 2, 0), centred(c, 1, 3, 0), &d));
}

/* A scale or zero point that is one number, whatever its rank, or one per channel. */
static rlx_node per_channel(onnx_call *c, uint32_t i) {
  rlx_node n = onnx_in(c, i);
  rlx_dims shape = onnx_dims(c, n);
  return n && rlx_dims_count(&shape) == 1 ? onnx_one(c, n) : n;
}

/* 2-d is RLX's own op; 1-d is 2-d with a first axis of one. */
static rlx_node q_conv(onnx_call *c, const rlx_op_conv_desc *d) {
  rlx_op_q_conv2d_desc q = {RLX_OP_Q_CONV2D_DESC_INIT,   .x_scale = onnx_cast(c, per_channel(c, 1), RLX_F32),
                            .x_zero = per_channel(c, 2), .w_scale = onnx_cast(c, per_channel(c, 4), RLX_F32),
                            .w_zero = per_channel(c, 5), .y_scale = onnx_cast(c, per_channel(c, 6), RLX_F32),
                            .y_zero = per_channel(c, 7), .bias = onnx_in(c, 8),
                            .stride = d->stride,         .dilation = d->dilation,
                            .pad_lo = d->pad_lo,         .pad_hi = d->pad_hi,
                            .groups = d->groups,         .to = onnx_dtype(c, 7)};
  rlx_node x = onnx_in(c, 0), w = onnx_in(c, 3);
  if (onnx_rank(c, 0) == 4) return rlx_op_q_conv2d(c->g, x, w, &q);
  rlx_dims xs = onnx_shape(c, 0), ws = onnx_shape(c, 3);
  q.stride = RLX_DIMS(1, d->stride.v[0]);
  q.dilation = RLX_DIMS(1, d->dilation.v[0]);
  q.pad_lo = RLX_DIMS(0, d->pad_lo.v[0]);
  q.pad_hi = RLX_DIMS(0, d->pad_hi.v[0]);
  x = rlx_op_reshape(c->g, x, RLX_DIMS(xs.v[0], xs.v[1], 1, xs.v[2]));
  w = rlx_op_reshape(c->g, w, RLX_DIMS(ws.v[0], ws.v[1], 1, ws.v[2]));
  rlx_node y = rlx_op_q_conv2d(c->g, x, w, &q);
  rlx_dims ys = onnx_dims(c, y);
  return rlx_op_reshape(c->g, y, RLX_DIMS(ys.v[0], ys.v[1], ys.v[3]));
}

static rlx_node q_conv_composed(onnx_call *c, const rlx_op_conv_desc *d) {
  int rank = onnx_rank(c, 0);
  rlx_node sum = integer_conv(c, centred(c, 0, 2, 0), centred(c, 3, 5, 0), d);
  if (onnx_has(c, 8)) sum = rlx_op_add(c->g, sum, onnx_along(c, onnx_in(c, 8), 1, rank));
  rlx_node scale = onnx_cast(c, per_channel(c, 4), RLX_F32);
  if (onnx_dims(c, scale).n) scale = onnx_along(c, scale, 1, rank);
  rlx_node y = rlx_op_mul(c->g, rlx_op_cast(c->g, sum, RLX_F32),
                          rlx_op_mul(c->g, scale, onnx_cast(c, per_channel(c, 1), RLX_F32)));
  return rlx_op_quantize(c->g, y, onnx_cast(c, per_channel(c, 6), RLX_F32), per_channel(c, 7), onnx_dtype(c, 7), 1);
}

rlx_status onnx_op_qlinear_conv(onnx_call *c) {
  rlx_op_conv_desc d;
  RLX_TRY(check_bytes(c, 0));
  RLX_TRY(check_bytes(c, 3));
  RLX_TRY(check_bytes(c, 7));
  RLX_TRY(read_conv(c, 0, 3, &d));
  return onnx_set_like(c, 0, onnx_rank(c, 0) <= 4 ? q_conv(c, &d) : q_conv_composed(c, &d), 7);
}
