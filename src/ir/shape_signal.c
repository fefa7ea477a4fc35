/* Shape rules of the signal ops: the four transforms (one rule) and stft. */
#include <inttypes.h>

#include "base/arith.h"
#include "ir/infer.h"

/* fft and ifft keep the axis or resize it to n; rfft keeps the first half of the spectrum, irfft restores the full
 * length. */
rlx_status rlx_shape_fft(rlx_infer *c) {
  /* The four rows have the same attributes. */
  const rlx_attrs_fft *a = RLX_ATTRS(fft, c);
  rlx_dims out = *rlx_infer_shape(c, 0);
  int axis;
  RLX_TRY(rlx_axis_resolve(a->axis, out.n, "axis", &axis));
  if (a->n < 0) return RLX_FAIL(RLX_INVALID, "n is %" PRId64 " but must be at least 1, or 0 for the axis", a->n);
  int64_t length = a->n ? a->n : out.v[axis];
  bool open = rlx_dim_is_open(length);
  if (c->op == RLX_OP_irfft && !a->n) {
    if (!open && (length < 1 || !rlx_mul_i64(length - 1, 2, &length)))
      return RLX_FAIL(RLX_INVALID, "axis %d has %" PRId64 " elements: n cannot be 2 (m - 1)", axis, length);
    if (open) length = RLX_DIM_UNKNOWN;
  }
  if (!open && length < 1)
    return RLX_FAIL(RLX_INVALID, "axis %d of %s leaves nothing to transform", axis, RLX_DIMS_TEXT(out));
  if (c->op == RLX_OP_rfft) length = open ? RLX_DIM_UNKNOWN : length / 2 + 1;
  out.v[axis] = length;
  c->out.shape = out;
  return RLX_OK;
}

/* The maximum width of the border for each pad mode. */
static rlx_status check_border(int32_t mode, int64_t border, int64_t length) {
  enum { constant, reflect, edge, wrap };
  int64_t max = mode == reflect ? length - 1 : mode == wrap ? length : mode == edge && length == 0 ? 0 : INT64_MAX;
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  if (border > max)
    return RLX_FAIL(RLX_INVALID, "cannot pad %" PRId64 " elements with %" PRId64 " on each side by %s", length, border,
                    names[mode]);
  return RLX_OK;
}

rlx_status rlx_shape_stft(rlx_infer *c) {
  const rlx_attrs_stft *a = RLX_ATTRS(stft, c);
  const rlx_dims *x = rlx_infer_shape(c, 0), *window = rlx_infer_shape(c, 1);
  if (x->n != 1 && x->n != 2) return RLX_FAIL(RLX_INVALID, "x is %s but must be [T] or [B, T]", RLX_DIMS_TEXT(*x));
  if (a->n_fft < 1) return RLX_FAIL(RLX_INVALID, "n_fft is %" PRId64 " but must be at least 1", a->n_fft);
  int64_t hop = a->hop ? a->hop : a->n_fft / 4;
  if (hop < 1)
    return RLX_FAIL(RLX_INVALID, "hop is %" PRId64 " with n_fft %" PRId64 " but must come to at least 1", a->hop,
                    a->n_fft);
  if (window) {
    RLX_TRY(rlx_expect_rank(c, 1, 1));
    if (!rlx_dim_is_open(window->v[0]) && (window->v[0] < 1 || window->v[0] > a->n_fft))
      return RLX_FAIL(RLX_INVALID, "window has %" PRId64 " elements but must have 1 to n_fft = %" PRId64, window->v[0],
                      a->n_fft);
  }
  int64_t length = x->v[x->n - 1], border = a->center ? a->n_fft / 2 : 0, frames = RLX_DIM_UNKNOWN;
  if (!rlx_dim_is_open(length)) {
    RLX_TRY(check_border(a->pad, border, length));
    int64_t padded;
    if (!rlx_add_i64(length, border, &padded) || !rlx_add_i64(padded, border, &padded))
      return RLX_FAIL(RLX_INVALID, "%" PRId64 " elements and a border of %" PRId64 " are too many", length, border);
    if (padded < a->n_fft)
      return RLX_FAIL(RLX_INVALID, "a frame of %" PRId64 " does not fit %" PRId64 " elements%s", a->n_fft, padded,
                      a->center ? " (border included)" : "");
    frames = (padded - a->n_fft) / hop + 1;
  } else {
    int64_t room = rlx_size_add(c->graph, length, 2 * border - a->n_fft);
    frames = rlx_size_add(c->graph, rlx_size_div(c->graph, room, hop), 1);
  }
  rlx_dims out = *x;
  out.v[out.n - 1] = a->onesided ? a->n_fft / 2 + 1 : a->n_fft;
  out.v[out.n++] = frames;
  c->out.shape = out;
  return RLX_OK;
}
