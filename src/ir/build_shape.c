/* The builder: reduction and order, shape and indexing, and the few functions that append several nodes. */
#include "base/arith.h"
#include "ir/build.h"
#include "ir/infer.h"

/* ---- reduction ---- */

#define REDUCE(name)                                                           \
  rlx_node rlx_op_##name(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep) { \
    return NODE(name, (x), .axes = axes, .keep = keep);                        \
  }
REDUCE(reduce_sum)
REDUCE(reduce_mean)
REDUCE(reduce_max)
REDUCE(reduce_min)
REDUCE(reduce_prod)
#undef REDUCE

rlx_node rlx_op_reduce_l1(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep) {
  return rlx_op_reduce_sum(g, rlx_op_abs(g, x), axes, keep);
}

/* Compositions of several nodes compute in f32 if x is f16 or bf16, and round once at the end: the square of 300
 * overflows f16, though a norm of 300 does not. */
static rlx_node widened(rlx_graph *g, rlx_node x) {
  rlx_dtype dtype = rlx_node_dtype(g, x);
  return dtype == RLX_F16 || dtype == RLX_BF16 ? rlx_op_cast(g, x, RLX_F32) : x;
}
static rlx_node typed_like(rlx_graph *g, rlx_node y, rlx_node x) {
  rlx_dtype dtype = rlx_node_dtype(g, x);
  return y && rlx_node_dtype(g, y) != dtype ? rlx_op_cast(g, y, dtype) : y;
}

static rlx_node sum_of_squares(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep) {
  return rlx_op_reduce_sum(g, rlx_op_mul(g, x, x), axes, keep);
}
rlx_node rlx_op_reduce_sum_square(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep) {
  return typed_like(g, sum_of_squares(g, widened(g, x), axes, keep), x);
}
rlx_node rlx_op_reduce_l2(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep) {
  return typed_like(g, rlx_op_sqrt(g, sum_of_squares(g, widened(g, x), axes, keep)), x);
}
rlx_node rlx_op_reduce_log_sum(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep) {
  return typed_like(g, rlx_op_log(g, rlx_op_reduce_sum(g, widened(g, x), axes, keep)), x);
}

/* m + log(sum(e^(x - m))) with m the maximum, or 0 if that is infinite: inf - inf would be NaN. */
static rlx_node log_sum_exp(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep) {
  rlx_dtype dtype = rlx_node_dtype(g, x);
  rlx_node max = rlx_op_reduce_max(g, x, axes, true);
  if (!max) return RLX_NONE; /* a failed node has no type for the constants */
  rlx_node is_infinite = rlx_op_eq(g, rlx_op_abs(g, max), rlx_op_scalar(g, dtype, RLX_INFINITY));
  rlx_node m = rlx_op_where(g, is_infinite, rlx_op_scalar(g, dtype, 0), max);
  rlx_node sum = rlx_op_reduce_sum(g, rlx_op_exp(g, rlx_op_sub(g, x, m)), axes, keep);
  rlx_node shift = keep ? m : rlx_op_reduce_max(g, m, axes, false); /* of one element: drops the axes */
  return rlx_op_add(g, rlx_op_log(g, sum), shift);
}

rlx_node rlx_op_reduce_log_sum_exp(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep) {
  return typed_like(g, log_sum_exp(g, widened(g, x), axes, keep), x);
}

/* ---- running and order ---- */

#define RUNNING(name)                                                                            \
  rlx_node rlx_op_##name(rlx_graph *g, rlx_node x, int64_t axis, bool exclusive, bool reverse) { \
    return NODE(name, (x), .axis = axis, .exclusive = exclusive, .reverse = reverse);            \
  }
RUNNING(cumsum)
RUNNING(cumprod)
RUNNING(cummax)
#undef RUNNING

rlx_node rlx_op_argmax(rlx_graph *g, rlx_node x, int64_t axis, bool keep, rlx_dtype to) {
  return NODE(argmax, (x), .axis = axis, .keep = keep, .to = to);
}

rlx_node rlx_op_argmin(rlx_graph *g, rlx_node x, int64_t axis, bool keep, rlx_dtype to) {
  return NODE(argmin, (x), .axis = axis, .keep = keep, .to = to);
}

rlx_node rlx_op_top_k_values(rlx_graph *g, rlx_node x, int64_t k, int64_t axis, bool largest) {
  return NODE(top_k_values, (x), .k = k, .axis = axis, .largest = largest);
}

rlx_node rlx_op_top_k_indices(rlx_graph *g, rlx_node x, int64_t k, int64_t axis, bool largest, rlx_dtype to) {
  return NODE(top_k_indices, (x), .k = k, .axis = axis, .largest = largest, .to = to);
}

rlx_node rlx_op_sort(rlx_graph *g, rlx_node x, int64_t axis, bool descending) {
  return NODE(sort, (x), .axis = axis, .descending = descending);
}

rlx_node rlx_op_argsort(rlx_graph *g, rlx_node x, int64_t axis, bool descending, rlx_dtype to) {
  return NODE(argsort, (x), .axis = axis, .descending = descending, .to = to);
}

/* ---- shape ---- */

rlx_node rlx_op_reshape(rlx_graph *g, rlx_node x, rlx_dims shape) { return NODE(reshape, (x), .shape = shape); }
rlx_node rlx_op_transpose(rlx_graph *g, rlx_node x, rlx_dims perm) { return NODE(transpose, (x), .perm = perm); }

rlx_node rlx_op_slice(rlx_graph *g, rlx_node x, const rlx_op_slice_desc *desc) {
  const rlx_op_slice_desc *d = DESC(rlx_op_slice_desc);
  if (!d) return RLX_NONE;
  return NODE(slice, (x), .axes = d->axes, .start = d->start, .stop = d->stop, .step = d->step);
}

/* A slice clamps to the axis; a narrow with a length beyond the end is an error instead. */
static rlx_status check_narrow(const rlx_graph *g, rlx_node x, int64_t axis, int64_t start, int64_t length,
                               int64_t *stop) {
  rlx_dims shape = rlx_node_shape(g, x);
  int at;
  RLX_TRY(rlx_axis_resolve(axis, shape.n, "axis", &at));
  bool sane = start >= 0 && (length >= 0 || (rlx_dim_is_symbol(length) && start == 0));
  sane = sane || (g->algebra && (rlx_dim_is_symbol(start) || rlx_dim_is_symbol(length)));
  if (!sane || !rlx_dim_add(g, start, length, stop) || (!rlx_dim_is_open(shape.v[at]) && *stop > shape.v[at]))
    return RLX_FAIL(RLX_INVALID, "%lld elements from %lld on are not inside axis %d of %s", (long long)length,
                    (long long)start, at, RLX_DIMS_TEXT(shape));
  return RLX_OK;
}

rlx_node rlx_op_narrow(rlx_graph *g, rlx_node x, int64_t axis, int64_t start, int64_t length) {
  if (!g || g->error) return RLX_NONE;
  int64_t stop = 0;
  /* An invalid node is rejected by rlx_op_slice below. */
  rlx_status s = rlx_node_op(g, x) ? check_narrow(g, x, axis, start, length, &stop) : RLX_OK;
  if (s) return rlx_graph_set_error(g, rlx_fail_frame(s, "rlx_op_narrow of node %u", (unsigned)x));
  return NODE(slice, (x), .axes = RLX_DIMS(axis), .start = RLX_DIMS(start), .stop = RLX_DIMS(stop));
}

rlx_node rlx_op_concat(rlx_graph *g, const rlx_node *xs, size_t n, int64_t axis) {
  return rlx_build_list(g, RLX_OP_concat, xs, n, &(rlx_attrs_concat){.axis = axis});
}

rlx_node rlx_op_expand(rlx_graph *g, rlx_node x, rlx_dims shape) { return NODE(expand, (x), .shape = shape); }
rlx_node rlx_op_tile(rlx_graph *g, rlx_node x, rlx_dims reps) { return NODE(tile, (x), .reps = reps); }

rlx_node rlx_op_pad(rlx_graph *g, rlx_node x, rlx_dims lo, rlx_dims hi, rlx_pad_mode mode, double value) {
  return NODE(pad, (x), .lo = lo, .hi = hi, .mode = (int32_t)mode, .value = value);
}

rlx_node rlx_op_reverse(rlx_graph *g, rlx_node x, rlx_dims axes) { return NODE(reverse, (x), .axes = axes); }
rlx_node rlx_op_roll(rlx_graph *g, rlx_node x, rlx_dims shifts, rlx_dims axes) {
  return NODE(roll, (x), .shifts = shifts, .axes = axes);
}

rlx_node rlx_op_space_to_depth(rlx_graph *g, rlx_node x, int64_t block) {
  return NODE(space_to_depth, (x), .block = block);
}

rlx_node rlx_op_depth_to_space(rlx_graph *g, rlx_node x, int64_t block, rlx_depth_order mode) {
  return NODE(depth_to_space, (x), .block = block, .mode = (int32_t)mode);
}

rlx_node rlx_op_view_as_real(rlx_graph *g, rlx_node x) { return NODE(view_as_real, (x), NO_ATTRIBUTES); }
rlx_node rlx_op_view_as_complex(rlx_graph *g, rlx_node x) { return NODE(view_as_complex, (x), NO_ATTRIBUTES); }

/* ---- indexing ---- */

rlx_node rlx_op_gather(rlx_graph *g, rlx_node x, rlx_node idx, int64_t axis) {
  return NODE(gather, (x, idx), .axis = axis);
}
rlx_node rlx_op_gather_elements(rlx_graph *g, rlx_node x, rlx_node idx, int64_t axis) {
  return NODE(gather_elements, (x, idx), .axis = axis);
}
rlx_node rlx_op_gather_nd(rlx_graph *g, rlx_node x, rlx_node idx, int64_t batch_dims) {
  return NODE(gather_nd, (x, idx), .batch_dims = batch_dims);
}

rlx_node rlx_op_scatter_elements(rlx_graph *g, rlx_node x, rlx_node idx, rlx_node updates, int64_t axis,
                                 rlx_scatter reduction) {
  return NODE(scatter_elements, (x, idx, updates), .axis = axis, .reduction = (int32_t)reduction);
}

rlx_node rlx_op_scatter_nd(rlx_graph *g, rlx_node x, rlx_node idx, rlx_node updates, rlx_scatter reduction) {
  return NODE(scatter_nd, (x, idx, updates), .reduction = (int32_t)reduction);
}

rlx_node rlx_op_scatter_add(rlx_graph *g, rlx_node x, rlx_node idx, rlx_node updates, int64_t axis) {
  return NODE(scatter_add, (x, idx, updates), .axis = axis);
}

rlx_node rlx_op_one_hot(rlx_graph *g, rlx_node idx, int64_t depth, int64_t axis, double on, double off, rlx_dtype to) {
  return NODE(one_hot, (idx), .depth = depth, .axis = axis, .on = on, .off = off, .to = to);
}

rlx_node rlx_op_range(rlx_graph *g, double start, double step, int64_t count, rlx_dtype to) {
  return rlx_graph_add(g, RLX_OP_range, NULL, 0,
                       &(rlx_attrs_range){.start = start, .step = step, .count = RLX_DIMS(count), .to = to});
}

rlx_node rlx_op_trilu(rlx_graph *g, rlx_node x, bool upper, int64_t k) {
  return NODE(trilu, (x), .upper = upper, .k = k);
}

rlx_node rlx_op_update(rlx_graph *g, rlx_node state, rlx_node rows, rlx_node at, int64_t axis) {
  return NODE(update, (state, rows, at), .axis = axis);
}
