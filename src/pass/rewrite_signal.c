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

enum { MAX_BLOCKS = 16 }; /* that a frame concatenates; longer frames are gathered */

/* Frames [.., frames, size] of x [.., L] that begin every `hop` elements from `at` on. The signal is split into blocks
 * of `hop` elements; a frame concatenates consecutive blocks, the last one cut. This needs no table of positions, which
 * would be as large as the frames and be computed again for every length. */
static rlx_node join_blocks(rlx_rewrite *r, rlx_node x, int axis, int64_t at, int64_t hop, int64_t frames,
                            int64_t size) {
  rlx_graph *g = r->to;
  rlx_node parts[MAX_BLOCKS];
  rlx_dims shape = shape_of(r, x), none = {.n = shape.n};
  if (frames == 1) { /* a hop may then be longer than the signal */
    shape.v[axis] = 1;
    shape.v[shape.n++] = size;
    return rlx_op_reshape(g, rlx_op_narrow(g, x, axis, at, size), shape);
  }
  int64_t blocks = (size - 1) / hop + 1, rows = frames - 1 + blocks, length = shape.v[axis] - at;
  if (length > rows * hop) length = rows * hop;
  if (length < shape.v[axis]) x = rlx_op_narrow(g, x, axis, at, length);
  if (length < rows * hop) x = rlx_op_pad(g, x, none, dims_with(none, axis, rows * hop - length), RLX_PAD_CONSTANT, 0);
  shape.v[axis] = rows;
  shape.v[shape.n++] = hop;
  x = rlx_op_reshape(g, x, shape);
  for (int64_t i = 0; i < blocks; i++) {
    int64_t width = i + 1 < blocks ? hop : size - i * hop;
    parts[i] = rows == frames ? x : rlx_op_narrow(g, x, axis, i, frames);
    if (width < hop) parts[i] = rlx_op_narrow(g, parts[i], axis + 1, 0, width);
  }
  return blocks == 1 ? parts[0] : rlx_op_concat(g, parts, (size_t)blocks, axis + 1);
}

/* The same frames, gathered by a table of positions. */
static rlx_node gather_frames(rlx_rewrite *r, rlx_node x, int axis, int64_t at, int64_t hop, int64_t frames,
                              int64_t size) {
  rlx_graph *g = r->to;
  rlx_dtype type = shape_of(r, x).v[axis] <= INT32_MAX ? RLX_I32 : RLX_I64;
  rlx_node starts = rlx_op_reshape(g, rlx_op_range(g, (double)at, (double)hop, frames, type), RLX_DIMS(frames, 1));
  return rlx_op_gather(g, x, rlx_op_add(g, starts, rlx_op_range(g, 0, 1, size, type)), axis);
}

/* Takes the frames under the window, multiplies by it and pads with zeros to n_fft; then transforms each frame and
 * transposes bins and frames. */
rlx_node rlx_rewrite_stft(rlx_rewrite *r) {
  const rlx_attrs_stft *attrs = RLX_ATTRS(stft, r->node);
  rlx_graph *g = r->to;
  rlx_node x = r->in[0], window = input_of(r, 1);
  rlx_dims shape = r->type->shape;
  int rank = shape.n, last = rank - 2; /* last: the last axis of x */
  int64_t n = attrs->n_fft, hop = attrs->hop ? attrs->hop : n / 4, frames = shape.v[rank - 1];
  int64_t border = attrs->center ? n / 2 : 0, size = window ? shape_of(r, window).v[0] : n, at = (n - size) / 2;
  x = bordered(r, x, border, (rlx_pad_mode)attrs->pad);
  rlx_node frame = (size - 1) / hop < MAX_BLOCKS ? join_blocks(r, x, last, at, hop, frames, size)
                                                 : gather_frames(r, x, last, at, hop, frames, size);
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
