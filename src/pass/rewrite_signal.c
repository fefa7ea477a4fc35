/* Rewrites of the signal ops: causal_conv, rfft and stft. */
#include "pass/rewrite.h"

/* ---- causal_conv ---- */

/* A depthwise conv over the state and x concatenated; the next state is the end of that. */
rlx_node rlx_rewrite_causal_conv(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_node x = r->in[0], w = r->in[1], bias = input_of(r, 2), state = input_of(r, 3);
  int64_t channels = shape_of(r, w).v[0], kernel = shape_of(r, w).v[1], steps = shape_of(r, x).v[2];
  if (is_empty(r)) return nothing(r);
  rlx_node past[] = {state, x};
  rlx_node line = state ? rlx_op_concat(g, past, 2, 2)
                        : rlx_op_pad(g, x, RLX_DIMS(0, 0, kernel - 1), RLX_DIMS(0, 0, 0), RLX_PAD_CONSTANT, 0);
  if (RLX_ATTRS(causal_conv, r->node)->out == RLX_OUT_STATE) return rlx_op_narrow(g, line, 2, steps, kernel - 1);
  return rlx_op_conv(g, line, rlx_op_reshape(g, w, RLX_DIMS(channels, 1, kernel)), bias,
                     &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .groups = channels});
}

/* ---- transforms ---- */

rlx_node rlx_rewrite_rfft(rlx_rewrite *r) {
  const rlx_attrs_rfft *attrs = RLX_ATTRS(rfft, r->node);
  int axis = rlx_axis_of(attrs->axis, r->type->shape.n);
  rlx_node whole = rlx_op_fft(r->to, r->in[0], axis, attrs->n, (rlx_fft_norm)attrs->norm);
  return rlx_op_narrow(r->to, whole, axis, 0, r->type->shape.v[axis]);
}

/* The signal x [.., T], padded on the last axis. */
static rlx_node bordered(const rlx_rewrite *r, rlx_node x, int64_t border, rlx_pad_mode mode) {
  int last = shape_of(r, x).n - 1;
  rlx_dims sides = {.n = last + 1};
  sides.v[last] = border;
  return border ? rlx_op_pad(r->to, x, sides, sides, mode, 0) : x;
}

/* Gathers the frames under the window, multiplies by it and pads with zeros to n_fft; then transforms each frame and
 * transposes bins and frames. */
rlx_node rlx_rewrite_stft(rlx_rewrite *r) {
  const rlx_attrs_stft *attrs = RLX_ATTRS(stft, r->node);
  rlx_graph *g = r->to;
  rlx_node x = r->in[0], window = input_of(r, 1);
  rlx_dims shape = r->type->shape;
  int rank = shape.n, last = rank - 2; /* last: the last axis of x */
  int64_t n = attrs->n_fft, hop = attrs->hop ? attrs->hop : n / 4, frames = shape.v[rank - 1];
  int64_t border = attrs->center ? n / 2 : 0, size = window ? shape_of(r, window).v[0] : n, at = (n - size) / 2;
  rlx_dtype type = shape_of(r, x).v[last] + 2 * border <= INT32_MAX ? RLX_I32 : RLX_I64;
  rlx_node starts = rlx_op_reshape(g, rlx_op_range(g, (double)at, (double)hop, frames, type), RLX_DIMS(frames, 1));
  rlx_node positions = rlx_op_add(g, starts, rlx_op_range(g, 0, 1, size, type));
  rlx_node frame =
    rlx_op_gather(g, bordered(r, x, border, (rlx_pad_mode)attrs->pad), positions, last); /* [.., frames, size] */
  if (window) frame = rlx_op_mul(g, frame, window);
  if (size < n) {
    rlx_dims none = {.n = rank};
    frame = rlx_op_pad(g, frame, dims_with(none, rank - 1, at), dims_with(none, rank - 1, n - size - at),
                       RLX_PAD_CONSTANT, 0);
  }
  rlx_fft_norm norm = attrs->normalized ? RLX_FFT_ORTHO : RLX_FFT_BACKWARD;
  rlx_node bins = attrs->onesided ? rlx_op_rfft(g, frame, -1, n, norm) : rlx_op_fft(g, frame, -1, n, norm);
  return rlx_op_transpose(g, bins, rank == 3 ? RLX_DIMS(0, 2, 1) : RLX_DIMS(1, 0));
}
