/* Rewrites of conv_transpose, im2col and resize.
 *
 * conv_transpose is a conv with the reversed kernel over an input with zeros between its elements. im2col and resize
 * are gathers along one axis at a time; the positions that each output reads come from the same functions as in the
 * reference (conv_dims.h, definitions.h). */
#include "ir/conv_dims.h"
#include "ir/definitions.h"
#include "pass/rewrite.h"

/* ---- conv_transpose ---- */

/* w [C, O/groups, ..] in conv's layout: [O, C/groups, ..], reversed on its spatial axes. */
static rlx_node transposed_weight(const rlx_rewrite *r, rlx_node w, int64_t groups) {
  rlx_graph *g = r->to;
  rlx_dims shape = shape_of(r, w), spatial = {.n = 0};
  rlx_dims grouped = RLX_DIMS(groups, shape.v[0] / groups, shape.v[1]), swapped = RLX_DIMS(0, 2, 1);
  rlx_dims result = RLX_DIMS(groups * shape.v[1], shape.v[0] / groups);
  for (int i = 2; i < shape.n; i++) {
    grouped = dims_append(grouped, shape.v[i]);
    swapped = dims_append(swapped, i + 1);
    result = dims_append(result, shape.v[i]);
    spatial = dims_append(spatial, i);
  }
  rlx_node swap = rlx_op_transpose(g, rlx_op_reshape(g, w, grouped), swapped);
  return rlx_op_reverse(g, rlx_op_reshape(g, swap, result), spatial);
}

/* The distance between the elements of axis i of x once spread; 1 for a single element. */
static int64_t gap_of(const rlx_dims *x, const rlx_conv_window *w, int i) {
  return x->v[i] > 1 ? w->stride[RLX_SPATIAL - w->axes + i - 2] : 1;
}

/* x with zeros after every element, so that each takes `gap` positions; *sizes is its shape. */
static rlx_node spread(const rlx_rewrite *r, rlx_node x, const rlx_conv_window *w, rlx_dims *sizes) {
  rlx_graph *g = r->to;
  rlx_dims shape = shape_of(r, x), apart = dims_part(&shape, 0, 2), lo = RLX_DIMS(0, 0), hi = lo;
  bool any = false;
  *sizes = shape;
  for (int i = 2; i < shape.n; i++) {
    int64_t gap = gap_of(&shape, w, i);
    apart = dims_append(dims_append(apart, shape.v[i]), 1);
    lo = dims_append(dims_append(lo, 0), 0);
    hi = dims_append(dims_append(hi, 0), gap - 1);
    sizes->v[i] *= gap;
    any = any || gap > 1;
  }
  return any ? rlx_op_reshape(g, rlx_op_pad(g, rlx_op_reshape(g, x, apart), lo, hi, RLX_PAD_CONSTANT, 0), *sizes) : x;
}

static int64_t between(int64_t x, int64_t min, int64_t max) { return x < min ? min : x > max ? max : x; }

/* The distance from the first tap of the kernel to the last. */
static int64_t reach_of(const rlx_conv_window *w, int axis) { return w->dilation[axis] * (w->kernel[axis] - 1); }

/* The reason against it, or NULL: computed in doubles, before any multiplication or addition that might overflow. */
static const char *spreads_too_far(const rlx_rewrite *r, const rlx_dims *x, const rlx_conv_window *w) {
  double n = (double)x->v[0] * (double)x->v[1];
  for (int i = 2; i < x->n; i++) n *= (double)x->v[i] * (double)gap_of(x, w, i);
  if (is_too_large(r, n)) return "the input with zeros between its elements would pass 2^28 elements";
  for (int i = 0; i < RLX_SPATIAL; i++)
    if ((double)reach_of(w, i) > 0x1p52) return "the kernel reaches over more than 2^52 elements";
  return NULL;
}

/* Whether no two windows overlap and nothing is cropped: then each element of x gives a separate block of the
 * result. */
static bool is_apart(const rlx_attrs_conv_transpose *attrs, const rlx_conv_window *w) {
  for (int i = 0; i < attrs->output_pad.n; i++)
    if (attrs->output_pad.v[i]) return false;
  for (int a = RLX_SPATIAL - w->axes; a < RLX_SPATIAL; a++)
    if (w->kernel[a] != w->stride[a] || w->dilation[a] != 1 || w->pad_lo[a] || w->pad_hi[a]) return false;
  return attrs->groups == 1;
}

/* Then it is a product at each position: a 1x1 conv with the taps as channels, whose results are placed side by
 * side. */
static rlx_node blocks_of(const rlx_rewrite *r, const rlx_dims *x, const rlx_dims *w) {
  rlx_graph *g = r->to;
  int axes = x->n - 2;
  int64_t taps = dims_product(w, 2, w->n), wide = w->v[1] * taps;
  rlx_dims kernel = RLX_DIMS(wide, w->v[0]), parts = RLX_DIMS(x->v[0], w->v[1]), order = RLX_DIMS(0, 1);
  for (int i = 0; i < axes; i++) {
    kernel = dims_append(kernel, 1);
    parts = dims_append(parts, w->v[2 + i]);
    order = dims_append(order, 2 + axes + i);
    order = dims_append(order, 2 + i);
  }
  for (int i = 0; i < axes; i++) parts = dims_append(parts, x->v[2 + i]);
  rlx_node weight = rlx_op_reshape(
    g, rlx_op_transpose(g, rlx_op_reshape(g, r->in[1], RLX_DIMS(w->v[0], wide)), RLX_DIMS(1, 0)), kernel);
  rlx_node bias = input_of(r, 2);
  if (bias)
    bias = rlx_op_reshape(g, rlx_op_expand(g, rlx_op_reshape(g, bias, RLX_DIMS(w->v[1], 1)), RLX_DIMS(w->v[1], taps)),
                          RLX_DIMS(wide));
  rlx_node y = rlx_op_conv(g, r->in[0], weight, bias, NULL);
  return rlx_op_reshape(g, rlx_op_transpose(g, rlx_op_reshape(g, y, parts), order), r->type->shape);
}

/* Output position o sums over taps k the spread element at o + pad_lo - k dilation. So the conv reads, along each axis,
 * the spread elements from pad_lo - reach on, as many as its positions and reach together; those outside are padding. A
 * non-finite weight is multiplied with the inserted zeros and so spreads further than in the reference. */
rlx_node rlx_rewrite_conv_transpose(rlx_rewrite *r) {
  const rlx_attrs_conv_transpose *attrs = RLX_ATTRS(conv_transpose, r->node);
  rlx_dims shape = shape_of(r, r->in[0]), w = shape_of(r, r->in[1]), sizes;
  rlx_conv_window window;
  rlx_status s = RLX_WINDOW_READ(attrs, w.v + 2, shape.n - 2, &window);
  if (s) return rlx_graph_set_error(r->to, s);
  if (is_empty(r)) return nothing(r);
  if (is_apart(attrs, &window)) return blocks_of(r, &shape, &w);
  const char *why = spreads_too_far(r, &shape, &window);
  if (why) return refuse(r, why);
  rlx_node x = spread(r, r->in[0], &window, &sizes);
  rlx_op_conv_desc conv = {RLX_OP_CONV_DESC_INIT, .dilation = attrs->dilation, .groups = attrs->groups};
  rlx_op_slice_desc cut = {RLX_OP_SLICE_DESC_INIT, .axes = {.n = 0}};
  bool any_cut = false;
  for (int i = 2; i < shape.n; i++) {
    int axis = RLX_SPATIAL - window.axes + i - 2;
    int64_t reach = reach_of(&window, axis), wanted = r->type->shape.v[i] + reach;
    int64_t from = window.pad_lo[axis] - reach;
    int64_t start = between(from, 0, sizes.v[i]), stop = between(from + wanted, start, sizes.v[i]);
    int64_t pad_lo = from < 0 ? -from : 0;
    any_cut = any_cut || start > 0 || stop < sizes.v[i];
    cut.axes = dims_append(cut.axes, i);
    cut.start = dims_append(cut.start, start);
    cut.stop = dims_append(cut.stop, stop);
    conv.pad_lo = dims_append(conv.pad_lo, pad_lo);
    conv.pad_hi = dims_append(conv.pad_hi, wanted - pad_lo - (stop - start));
  }
  if (any_cut) x = rlx_op_slice(r->to, x, &cut);
  return rlx_op_conv(r->to, x, transposed_weight(r, r->in[1], attrs->groups), input_of(r, 2), &conv);
}

/* ---- im2col ---- */

/* The positions that taps read along one axis of the padded input: [taps, positions] of k dilation + o stride. */
static rlx_node tap_positions(const rlx_rewrite *r, const rlx_conv_window *w, int axis, int64_t positions,
                              int64_t padded) {
  rlx_graph *g = r->to;
  rlx_dtype type = padded <= INT32_MAX ? RLX_I32 : RLX_I64;
  int64_t taps = w->kernel[axis];
  rlx_node tap = rlx_op_reshape(g, rlx_op_range(g, 0, (double)w->dilation[axis], taps, type), RLX_DIMS(taps, 1));
  return rlx_op_add(g, tap, rlx_op_range(g, 0, (double)w->stride[axis], positions, type));
}

rlx_node rlx_rewrite_im2col(rlx_rewrite *r) {
  const rlx_attrs_im2col *attrs = RLX_ATTRS(im2col, r->node);
  rlx_graph *g = r->to;
  rlx_node x = r->in[0];
  rlx_dims shape = shape_of(r, x);
  rlx_conv_window w;
  int64_t rows = 0, columns = 0;
  rlx_status s = RLX_WINDOW_READ(attrs, attrs->kernel.v, 2, &w);
  if (!s) s = rlx_window_out(&w, 1, shape.v[2], false, &rows);
  if (!s) s = rlx_window_out(&w, 2, shape.v[3], false, &columns);
  if (s) return rlx_graph_set_error(g, s);
  if (is_empty(r)) return nothing(r);
  rlx_dims lo = RLX_DIMS(0, 0, w.pad_lo[1], w.pad_lo[2]), hi = RLX_DIMS(0, 0, w.pad_hi[1], w.pad_hi[2]);
  int64_t height = shape.v[2] + lo.v[2] + hi.v[2], width = shape.v[3] + lo.v[3] + hi.v[3];
  double planes = (double)shape.v[0] * (double)shape.v[1] * (double)width; /* planes of one row */
  if (is_too_large(r, planes * (double)height) || is_too_large(r, planes * (double)w.kernel[1] * (double)rows))
    return refuse(r, "the padded input or its rows for each tap would pass 2^28 elements");
  if (lo.v[2] || lo.v[3] || hi.v[2] || hi.v[3]) x = rlx_op_pad(g, x, lo, hi, RLX_PAD_CONSTANT, 0);
  x = rlx_op_gather(g, x, tap_positions(r, &w, 1, rows, height), 2);   /* [N, C, KH, OH, W] */
  x = rlx_op_gather(g, x, tap_positions(r, &w, 2, columns, width), 4); /* [N, C, KH, OH, KW, OW] */
  return rlx_op_reshape(g, rlx_op_transpose(g, x, RLX_DIMS(0, 1, 2, 4, 3, 5)), r->type->shape);
}

/* ---- resize ---- */

typedef struct resized {
  const rlx_attrs_resize *attrs;
  int axis;
  int64_t in, out;
} resized;

static rlx_resize_place place_at(const void *user, int64_t i) {
  const resized *z = user;
  return rlx_resize_place_of(z->attrs, z->axis, i, z->in, z->out);
}
static double low_at(const void *user, int64_t i) { return (double)place_at(user, i).lo; }
static double high_at(const void *user, int64_t i) { return (double)place_at(user, i).hi; }
static double weight_at(const void *user, int64_t i) { return place_at(user, i).weight; }

/* What an axis needs: nothing, one gather, or two and a blend; and whether some of its positions are exact. */
typedef struct needs {
  bool reads, mixes, hits;
} needs;

static needs needs_of(const resized *z) {
  needs n = {.reads = z->in != z->out};
  for (int64_t i = 0; i < z->out; i++) {
    rlx_resize_place p = place_at(z, i);
    if (p.lo != i) n.reads = true;
    if (p.weight > 0) n.mixes = true;
    else n.hits = true;
  }
  return n;
}

/* x gathered along one axis. */
static rlx_node gather_at(const rlx_rewrite *r, rlx_node x, const resized *z, double (*at)(const void *, int64_t)) {
  rlx_dtype type = z->in <= INT32_MAX ? RLX_I32 : RLX_I64;
  return rlx_op_gather(r->to, x, rlx_rewrite_constant(r, type, RLX_DIMS(z->out), at, z), z->axis);
}

/* One axis: (1 - weight) low + weight high. If the weight is 0, high is not used, whatever it holds. */
static rlx_node resize_axis(const rlx_rewrite *r, rlx_node x, const resized *z, int rank) {
  rlx_graph *g = r->to;
  needs n = needs_of(z);
  if (!n.reads && !n.mixes) return x;
  rlx_node low = gather_at(r, x, z, low_at);
  if (!n.mixes) return low;
  rlx_dims along = dims_along(z->out, z->axis, rank);
  rlx_dtype type = work_type(r->type->dtype);
  rlx_node high = gather_at(r, x, z, high_at), weight = rlx_rewrite_constant(r, type, along, weight_at, z);
  rlx_node rest = rlx_op_sub(g, rlx_op_scalar(g, type, 1), weight);
  rlx_node mean = rlx_op_add(g, rlx_op_mul(g, rest, low), rlx_op_mul(g, weight, high));
  return n.hits ? rlx_op_where(g, rlx_op_gt(g, weight, rlx_op_scalar(g, type, 0)), mean, low) : mean;
}

/* The axes one by one, shrinking ones first, so that no intermediate is larger than both ends. nearest only moves
 * elements and so needs no wider type. */
rlx_node rlx_rewrite_resize(rlx_rewrite *r) {
  const rlx_attrs_resize *attrs = RLX_ATTRS(resize, r->node);
  rlx_dims from = shape_of(r, r->in[0]), to = r->type->shape;
  if (is_empty(r)) return nothing(r);
  for (int axis = 0; axis < to.n; axis++)
    if ((double)to.v[axis] > 0x1p28) return refuse(r, "a table of positions would pass 2^28 elements");
  rlx_node x = attrs->mode == RLX_RESIZE_NEAREST ? r->in[0] : wide_input(r, 0);
  for (int grow = 0; grow < 2; grow++)
    for (int axis = 0; axis < from.n; axis++)
      if ((to.v[axis] > from.v[axis]) == (grow == 1))
        x = resize_axis(r, x, &(resized){attrs, axis, from.v[axis], to.v[axis]}, from.n);
  return as_result(r, x);
}
