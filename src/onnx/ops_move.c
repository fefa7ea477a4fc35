/* Data movement: Concat, Split, Slice, Expand, Tile, Pad. */
#include <inttypes.h>

#include "base/arith.h"
#include "onnx/carry.h"
#include "onnx/importer.h"
#include "onnx/ops.h"

/* ---- join and split ---- */

rlx_status onnx_op_concat(onnx_call *c) {
  int64_t at;
  int axis;
  RLX_TRY(onnx_int(c, "axis", 1, &at));
  if (!onnx_has_attribute(c, "axis") && c->opset >= 4) return RLX_FAIL(RLX_INVALID, "attribute 'axis' is missing");
  for (uint32_t i = 0; i < c->n_in; i++)
    if (!c->in[i]) return RLX_FAIL(RLX_INVALID, "input %u is left out", (unsigned)i);
  RLX_TRY(onnx_same_type(c, c->n_in));
  RLX_TRY(onnx_axis(c, at, onnx_rank(c, 0), &axis));
  rlx_node *xs = onnx_alloc(c->imp, (size_t)c->n_in + 1, sizeof *xs);
  if (!xs) return RLX_FAIL(RLX_NO_MEMORY, "%u inputs", (unsigned)c->n_in);
  for (uint32_t i = 0; i < c->n_in; i++) xs[i] = onnx_in(c, i);
  return onnx_set_like(c, 0, c->n_in == 1 ? xs[0] : rlx_op_concat(c->g, xs, c->n_in, axis), 0);
}

/* Sizes of the parts: given, or equal with a smaller last one. */
static rlx_status split_sizes(onnx_call *c, int64_t n, onnx_ints *sizes) {
  if (c->opset < 13) RLX_TRY(onnx_ints_of(c, "split", sizes));
  bool is_given = c->opset < 13 ? onnx_has_attribute(c, "split") : onnx_has(c, 1);
  if (is_given && onnx_has_attribute(c, "num_outputs"))
    return RLX_FAIL(RLX_INVALID, "both split and num_outputs are there, expected one of them");
  if (is_given) return RLX_OK;
  int64_t parts = c->n_out, *v = onnx_alloc(c->imp, (size_t)c->n_out + 1, sizeof *v);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "%u parts", (unsigned)c->n_out);
  RLX_TRY(onnx_int(c, "num_outputs", parts, &parts));
  if (parts != c->n_out || parts < 1)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " parts for %u outputs", parts, (unsigned)c->n_out);
  int64_t each = rlx_size_div(c->g, n, parts);
  bool is_even = onnx_equal(c, rlx_size_mul(c->g, each, parts), n);
  if (c->opset < 18 && !is_even)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " elements in %" PRId64 " equal parts", n, parts);
  if (rlx_dim_is_open(n) && !is_even) return onnx_need_numbers(c->imp, "Split");
  int64_t left = n;
  if (!is_even) each++;
  for (int64_t i = 0; i < parts; i++) {
    v[i] = is_even || each < left ? each : left;
    if (!is_even) left -= v[i];
  }
  *sizes = (onnx_ints){v, (size_t)parts};
  return RLX_OK;
}

rlx_status onnx_op_split(onnx_call *c) {
  int64_t at, start = 0;
  int axis;
  onnx_ints sizes = {0};
  rlx_dims shape = onnx_shape(c, 0);
  if (c->opset >= 13 && onnx_has(c, 1)) RLX_TRY(onnx_need_sizes(c, 1, &sizes));
  RLX_TRY(onnx_int(c, "axis", 0, &at));
  RLX_TRY(onnx_axis(c, at, shape.n, &axis));
  int64_t n = shape.v[axis];
  RLX_TRY(split_sizes(c, n, &sizes));
  if (sizes.n != c->n_out) return RLX_FAIL(RLX_INVALID, "%zu sizes for %u outputs", sizes.n, (unsigned)c->n_out);
  for (size_t i = 0; i < sizes.n; i++) {
    int64_t left = rlx_size_sub(c->g, n, start);
    if (onnx_less(c, sizes.v[i], 0) || onnx_less(c, left, sizes.v[i]))
      return RLX_FAIL(RLX_INVALID, "part %zu has %" PRId64 " of the %" PRId64 " elements that are left", i, sizes.v[i],
                      left);
    rlx_node x = onnx_in(c, 0);
    if (!onnx_equal(c, sizes.v[i], n)) x = rlx_op_narrow(c->g, x, axis, start, sizes.v[i]);
    RLX_TRY(onnx_set_like(c, (uint32_t)i, x, 0));
    start = rlx_size_add(c->g, start, sizes.v[i]);
  }
  if (!onnx_equal(c, start, n))
    return RLX_FAIL(RLX_INVALID, "the parts have %" PRId64 " of %" PRId64 " elements", start, n);
  return RLX_OK;
}

/* ---- cut ---- */

/* Clamps a position to 0 .. n; sizes may be open. */
static int64_t clamp_place(onnx_call *c, int64_t at, int64_t n) {
  if (!rlx_dim_is_open(at) && (at < -INT32_MAX || at > INT32_MAX)) return at < 0 ? 0 : n; /* no axis is as long */
  if (onnx_less(c, at, 0)) at = rlx_size_add(c->g, at, n);
  if (onnx_less(c, at, 0)) return 0;
  return onnx_less(c, n, at) ? n : at;
}

/* Clamps starts and ends as ONNX defines: a start to an element (or the end, if forward), an end to one past either
 * side. RLX counts negative positions from the end, so the position before the first is -n - 1. */
static void clamp_places(onnx_call *c, rlx_op_slice_desc *d, const rlx_dims *shape) {
  for (int i = 0; i < d->start.n; i++) {
    int64_t n = shape->v[d->axes.n ? d->axes.v[i] : i], *start = &d->start.v[i], *stop = &d->stop.v[i];
    bool back = d->step.n && d->step.v[i] < 0;
    if (c->imp->is_symbolic && (rlx_dim_is_open(n) || rlx_dim_is_open(*start) || rlx_dim_is_open(*stop))) {
      if (back) (void)onnx_need_numbers(c->imp, "Slice backward");
      *start = clamp_place(c, *start, n);
      *stop = clamp_place(c, *stop, n);
      continue;
    }
    int64_t max = back ? n - 1 : n, min = back ? -1 : 0;
    if (*start < 0) *start += n;
    if (*stop < 0) *stop += n;
    *start = *start > max ? max : *start < 0 ? 0 : *start;
    *stop = *stop > max ? max : *stop < min ? min : *stop;
    if (n == 0) *start = *stop = 0;
    else if (*stop < 0) *stop = -n - 1;
  }
}

rlx_status onnx_op_slice(onnx_call *c) {
  rlx_op_slice_desc d = {RLX_OP_SLICE_DESC_INIT};
  bool by_inputs = c->opset >= 10;
  if (by_inputs) {
    RLX_TRY(onnx_need_shape(c, 1, &d.start));
    RLX_TRY(onnx_need_shape(c, 2, &d.stop));
    if (onnx_has(c, 3)) RLX_TRY(onnx_need_dims(c, 3, &d.axes));
    if (onnx_has(c, 4)) RLX_TRY(onnx_need_dims(c, 4, &d.step));
  } else {
    RLX_TRY(onnx_dims_of(c, "starts", &d.start));
    RLX_TRY(onnx_dims_of(c, "ends", &d.stop));
    RLX_TRY(onnx_dims_of(c, "axes", &d.axes));
  }
  if (d.start.n != d.stop.n || (d.axes.n && d.axes.n != d.start.n) || (d.step.n && d.step.n != d.start.n))
    return RLX_FAIL(RLX_INVALID, "%d starts, %d ends, %d axes, %d steps", (int)d.start.n, (int)d.stop.n, (int)d.axes.n,
                    (int)d.step.n);
  rlx_dims shape = onnx_shape(c, 0);
  RLX_TRY(onnx_axes(c, &d.axes, shape.n));
  if (d.start.n == 0) return onnx_set_value(c, 0, c->in[0]), RLX_OK;
  if (d.start.n > shape.n) return RLX_FAIL(RLX_INVALID, "%d starts for %d axes", (int)d.start.n, (int)shape.n);
  for (int i = 0; i < d.step.n; i++) {
    if (d.step.v[i] == 0) return RLX_FAIL(RLX_INVALID, "the step of axis %d is 0", i);
    if (d.step.v[i] > INT32_MAX) d.step.v[i] = INT32_MAX;
    if (d.step.v[i] < -INT32_MAX) d.step.v[i] = -INT32_MAX;
  }
  clamp_places(c, &d, &shape);
  return onnx_set_like(c, 0, rlx_op_slice(c->g, onnx_in(c, 0), &d), 0);
}

/* ---- repeat ---- */

rlx_status onnx_op_expand(onnx_call *c) {
  rlx_dims to, from = onnx_shape(c, 0), out;
  RLX_TRY(onnx_need_shape(c, 1, &to));
  out = to.n > from.n ? to : from;
  for (int i = 0; i < out.n; i++) {
    int64_t a = i < out.n - from.n ? 1 : from.v[i - (out.n - from.n)];
    int64_t b = i < out.n - to.n ? 1 : to.v[i - (out.n - to.n)];
    bool one_a = onnx_equal(c, a, 1);
    if (!one_a && !onnx_equal(c, b, 1) && !onnx_equal(c, a, b))
      return RLX_FAIL(RLX_INVALID, "axis %d has %" PRId64 " elements and is to have %" PRId64, i, a, b);
    out.v[i] = one_a ? b : a;
  }
  RLX_TRY(onnx_check_size(c, &out));
  return onnx_set_like(c, 0, rlx_op_expand(c->g, onnx_in(c, 0), out), 0);
}

static rlx_status tile_counts(onnx_call *c, rlx_dims *reps) {
  int64_t count, at;
  int axis;
  if (c->opset >= 6) return onnx_need_shape(c, 1, reps);
  RLX_TRY(onnx_need_int(c, 1, &count));
  RLX_TRY(onnx_need_int(c, 2, &at));
  RLX_TRY(onnx_axis(c, at, onnx_rank(c, 0), &axis));
  reps->n = onnx_rank(c, 0);
  for (int i = 0; i < reps->n; i++) reps->v[i] = i == axis ? count : 1;
  return RLX_OK;
}

rlx_status onnx_op_tile(onnx_call *c) {
  rlx_dims reps, out = onnx_shape(c, 0);
  RLX_TRY(tile_counts(c, &reps));
  if (reps.n != out.n) return RLX_FAIL(RLX_INVALID, "%d counts for %d axes", (int)reps.n, (int)out.n);
  for (int i = 0; i < out.n; i++) {
    bool negative = onnx_less(c, reps.v[i], 0);
    out.v[i] = rlx_size_mul(c->g, out.v[i], reps.v[i]);
    if (negative || out.v[i] == RLX_DIM_UNKNOWN)
      return RLX_FAIL(RLX_INVALID, "axis %d is to be repeated %" PRId64 " times", i, reps.v[i]);
  }
  RLX_TRY(onnx_check_size(c, &out));
  if (out.n == 0) return onnx_set_value(c, 0, c->in[0]), RLX_OK;
  for (int i = 0; i < out.n; i++) /* nothing is left: no copies to make */
    if (onnx_equal(c, out.v[i], 0))
      return onnx_set_like(c, 0, rlx_op_expand(c->g, onnx_number(c, onnx_in_type(c, 0), 0), out), 0);
  return onnx_set_like(c, 0, rlx_op_tile(c->g, onnx_in(c, 0), reps), 0);
}

/* ---- pad ---- */

typedef struct border {
  rlx_dims lo, hi;
} border;

static rlx_status pads_of(onnx_call *c, onnx_ints *pads, rlx_dims *axes) {
  *axes = RLX_SCALAR;
  if (c->opset < 11) return onnx_ints_of(c, c->opset < 2 ? "paddings" : "pads", pads);
  RLX_TRY(onnx_need_sizes(c, 1, pads));
  if (onnx_has(c, 3)) RLX_TRY(onnx_need_dims(c, 3, axes));
  return RLX_OK;
}

static rlx_status border_of(onnx_call *c, border *b) {
  onnx_ints pads = {0};
  rlx_dims axes, shape = onnx_shape(c, 0);
  *b = (border){{.n = shape.n}, {.n = shape.n}};
  RLX_TRY(pads_of(c, &pads, &axes));
  if (!onnx_has(c, 3)) {
    for (int i = 0; i < shape.n; i++) axes.v[i] = i;
    axes.n = shape.n;
  }
  RLX_TRY(onnx_axes(c, &axes, shape.n));
  if (pads.n != 2 * (size_t)axes.n) return RLX_FAIL(RLX_INVALID, "%zu pads for %d axes", pads.n, (int)axes.n);
  for (int i = 0; i < axes.n; i++) {
    b->lo.v[axes.v[i]] = pads.v[i];
    b->hi.v[axes.v[i]] = pads.v[i + axes.n];
  }
  return RLX_OK;
}

/* Negative ones cut elements off, before the others are added. */
static rlx_status crop(onnx_call *c, border *b, rlx_node *x) {
  rlx_dims shape = rlx_node_shape(c->g, *x), out = shape;
  rlx_op_slice_desc d = {RLX_OP_SLICE_DESC_INIT, .start = {.n = shape.n}, .stop = shape};
  bool any = false;
  for (int i = 0; i < shape.n; i++) {
    int64_t lo = onnx_less(c, b->lo.v[i], 0) ? b->lo.v[i] : 0, hi = onnx_less(c, b->hi.v[i], 0) ? b->hi.v[i] : 0;
    int64_t left = rlx_size_add(c->g, rlx_size_add(c->g, lo, hi), shape.v[i]);
    if (left == RLX_DIM_UNKNOWN || onnx_less(c, rlx_size_add(c->g, lo, shape.v[i]), 0) ||
        onnx_less(c, rlx_size_add(c->g, hi, shape.v[i]), 0) || onnx_less(c, left, 0))
      return RLX_FAIL(RLX_INVALID, "axis %d has %" PRId64 " elements and loses %" PRId64 " and %" PRId64, i, shape.v[i],
                      lo, hi);
    any |= lo || hi;
    d.start.v[i] = rlx_size_sub(c->g, 0, lo);
    d.stop.v[i] = rlx_size_add(c->g, shape.v[i], hi);
    b->lo.v[i] = rlx_size_sub(c->g, b->lo.v[i], lo);
    b->hi.v[i] = rlx_size_sub(c->g, b->hi.v[i], hi);
    out.v[i] = rlx_size_add(c->g, rlx_size_add(c->g, left, b->lo.v[i]), b->hi.v[i]);
    if (out.v[i] == RLX_DIM_UNKNOWN)
      return RLX_FAIL(RLX_INVALID, "axis %d is padded by %" PRId64 " and %" PRId64, i, b->lo.v[i], b->hi.v[i]);
  }
  RLX_TRY(onnx_check_size(c, &out));
  if (any) *x = rlx_op_slice(c->g, *x, &d);
  return RLX_OK;
}

/* Where the value is only known in a run, it is chosen outside a mask of what was there. */
static rlx_node pad_with(onnx_call *c, rlx_node x, const border *b, rlx_node value) {
  rlx_graph *g = c->g;
  rlx_node there = rlx_op_expand(g, rlx_op_scalar(g, RLX_BOOL, 1), rlx_node_shape(g, x));
  there = rlx_op_pad(g, there, b->lo, b->hi, RLX_PAD_CONSTANT, 0);
  return rlx_op_where(g, there, rlx_op_pad(g, x, b->lo, b->hi, RLX_PAD_CONSTANT, 0),
                      rlx_op_reshape(g, value, RLX_SCALAR));
}

rlx_status onnx_op_pad(onnx_call *c) {
  static const char *const words[] = {"constant", "reflect", "edge", "wrap", NULL};
  static const rlx_pad_mode modes[] = {RLX_PAD_CONSTANT, RLX_PAD_REFLECT, RLX_PAD_EDGE, RLX_PAD_WRAP};
  border b;
  int mode;
  double value = 0;
  RLX_TRY(border_of(c, &b));
  RLX_TRY(onnx_word(c, "mode", words, &mode));
  if (c->opset < 11) RLX_TRY(onnx_float(c, "value", 0, &value));
  bool given = c->opset >= 11 && onnx_has(c, 2), exact = onnx_dtype(c, 0) != RLX_I64;
  bool known = given && exact && onnx_is_known(c, 2);
  if (known) RLX_TRY(onnx_need_number(c, 2, &value));
  rlx_node x = onnx_in(c, 0);
  RLX_TRY(crop(c, &b, &x));
  if (b.lo.n == 0) return onnx_set_like(c, 0, x, 0);
  if (mode == 0 && given && !known) return onnx_set_like(c, 0, pad_with(c, x, &b, onnx_in(c, 2)), 0);
  return onnx_set_like(c, 0, rlx_op_pad(c->g, x, b.lo, b.hi, modes[mode], value), 0);
}

/* Half of what is too much goes on each side, half of what is missing comes there; odd ones at the end. */
rlx_status onnx_op_center_crop_pad(onnx_call *c) {
  rlx_dims to, axes, shape = onnx_shape(c, 0);
  border b = {{.n = shape.n}, {.n = shape.n}};
  RLX_TRY(onnx_need_dims(c, 1, &to));
  RLX_TRY(onnx_dims_of(c, "axes", &axes));
  if (!onnx_has_attribute(c, "axes"))
    for (axes.n = 0; axes.n < shape.n; axes.n++) axes.v[axes.n] = axes.n;
  RLX_TRY(onnx_axes(c, &axes, shape.n));
  if (axes.n != to.n) return RLX_FAIL(RLX_INVALID, "%d sizes for %d axes", (int)to.n, (int)axes.n);
  for (int i = 0; i < axes.n; i++) {
    if (to.v[i] < 0) return RLX_FAIL(RLX_INVALID, "size %d is %" PRId64, i, to.v[i]);
    int64_t more = to.v[i] - shape.v[axes.v[i]];
    b.lo.v[axes.v[i]] = more / 2; /* toward zero: the window's start is rounded down */
    b.hi.v[axes.v[i]] = more - more / 2;
  }
  rlx_node x = onnx_in(c, 0);
  RLX_TRY(crop(c, &b, &x));
  return onnx_set_like(c, 0, shape.n ? rlx_op_pad(c->g, x, b.lo, b.hi, RLX_PAD_CONSTANT, 0) : x, 0);
}
