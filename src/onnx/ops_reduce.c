/* Reductions, cumulative sums, TopK, arg max, and norms composed of reductions. */
#include "onnx/carry.h"
#include "onnx/ops.h"

typedef rlx_node (*reduce_fn)(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);

/* ---- Reduce* ---- */

typedef struct reduction {
  reduce_fn fn;
  int64_t axes_input_since;
  bool by_order;  /* it compares: u64 and bool need care */
  bool is_float;  /* integers are computed in f64 */
  bool is_signed; /* it takes magnitudes, which unsigned numbers are */
} reduction;

/* Over no axes each element is reduced by itself: along an axis of one that is added for it. */
static rlx_status reduce_each(onnx_call *c, const reduction *r, rlx_node *x) {
  rlx_dims shape = rlx_node_shape(c->g, *x);
  if (shape.n == RLX_MAX_RANK) return onnx_refuse(c, "over no axes of %d", RLX_MAX_RANK);
  shape.v[shape.n++] = 1;
  *x = r->fn(c->g, rlx_op_reshape(c->g, *x, shape), RLX_DIMS(shape.n - 1), false);
  return RLX_OK;
}

static rlx_status reduce(onnx_call *c, const reduction *r) {
  rlx_dims axes;
  bool keep, none;
  onnx_type t = onnx_in_type(c, 0), work = t;
  rlx_node x;
  RLX_TRY(onnx_axes_given(c, r->axes_input_since, 1, &axes));
  RLX_TRY(onnx_axes(c, &axes, onnx_rank(c, 0)));
  RLX_TRY(onnx_flag(c, "keepdims", true, &keep));
  RLX_TRY(onnx_flag(c, "noop_with_empty_axes", false, &none));
  if (r->is_float && !onnx_type_is_float(t)) work = ONNX_DOUBLE;
  if (t == ONNX_BOOL && r->by_order) work = ONNX_UINT8;
  RLX_TRY(onnx_convert(c, onnx_in(c, 0), t, work, &x));
  if (r->by_order) x = onnx_ordered(c, x, work);
  reduction used = *r;
  if (r->is_signed && onnx_type_is_unsigned(t)) used.fn = rlx_op_reduce_sum;
  if (none && axes.n == 0) RLX_TRY(reduce_each(c, &used, &x));
  else x = used.fn(c->g, x, axes, keep);
  if (r->by_order) x = onnx_ordered(c, x, work);
  RLX_TRY(onnx_convert(c, x, work, t, &x));
  return onnx_set_like(c, 0, onnx_wrap(c, x, t), 0);
}

#define REDUCE(name, since, ...) \
  rlx_status onnx_op_##name(onnx_call *c) { return reduce(c, &(reduction){rlx_op_##name, since, __VA_ARGS__}); }
REDUCE(reduce_l1, 18, .is_signed = true)
REDUCE(reduce_l2, 18, .is_float = true)
REDUCE(reduce_log_sum, 18, .is_float = true)
REDUCE(reduce_log_sum_exp, 18, .is_float = true)
REDUCE(reduce_max, 18, .by_order = true)
REDUCE(reduce_mean, 18, .is_float = true)
REDUCE(reduce_min, 18, .by_order = true)
REDUCE(reduce_prod, 18, .by_order = false)
REDUCE(reduce_sum, 13, .by_order = false)
REDUCE(reduce_sum_square, 18, .by_order = false)

/* ---- where the largest is ---- */

typedef rlx_node (*arg_fn)(rlx_graph *g, rlx_node x, int64_t axis, bool keep, rlx_dtype to);

/* The last of equals is the first from the other end. */
static rlx_status arg(onnx_call *c, arg_fn fn) {
  int64_t at;
  int axis;
  bool keep, last;
  rlx_dims shape = onnx_shape(c, 0);
  RLX_TRY(onnx_int(c, "axis", 0, &at));
  RLX_TRY(onnx_flag(c, "keepdims", true, &keep));
  RLX_TRY(onnx_flag(c, "select_last_index", false, &last));
  if (shape.n == 0) shape = RLX_DIMS(1);
  RLX_TRY(onnx_axis(c, at, shape.n, &axis));
  rlx_node x = onnx_ordered(c, onnx_in(c, 0), onnx_in_type(c, 0));
  if (onnx_rank(c, 0) == 0) x = rlx_op_reshape(c->g, x, shape), keep = false;
  if (last) x = rlx_op_reverse(c->g, x, RLX_DIMS(axis));
  rlx_node y = fn(c->g, x, axis, keep, RLX_I64);
  if (last) y = rlx_op_sub(c->g, onnx_integer(c, shape.v[axis] - 1), y);
  return onnx_set(c, 0, y);
}
rlx_status onnx_op_arg_max(onnx_call *c) { return arg(c, rlx_op_argmax); }
rlx_status onnx_op_arg_min(onnx_call *c) { return arg(c, rlx_op_argmin); }

rlx_status onnx_op_top_k(onnx_call *c) {
  int64_t at, k;
  int axis;
  bool largest = true;
  rlx_dims shape = onnx_shape(c, 0);
  onnx_type t = onnx_in_type(c, 0);
  if (c->opset < 10) RLX_TRY(onnx_int(c, "k", -1, &k));
  else RLX_TRY(onnx_need_int(c, 1, &k));
  RLX_TRY(onnx_int(c, "axis", -1, &at));
  if (c->opset >= 11) RLX_TRY(onnx_flag(c, "largest", true, &largest));
  RLX_TRY(onnx_axis(c, at, shape.n, &axis));
  if (k < 0 || k > shape.v[axis])
    return RLX_FAIL(RLX_INVALID, "k is %lld, and axis %d has %lld elements", (long long)k, axis,
                    (long long)shape.v[axis]);
  rlx_node x = onnx_ordered(c, onnx_in(c, 0), t);
  if (k == 0) {
    rlx_node none = rlx_op_narrow(c->g, x, axis, 0, 0);
    RLX_TRY(onnx_set_like(c, 0, none, 0));
    return onnx_wants(c, 1) ? onnx_set(c, 1, rlx_op_cast(c->g, none, RLX_I64)) : RLX_OK;
  }
  rlx_node values = rlx_op_top_k_values(c->g, x, k, axis, largest);
  RLX_TRY(onnx_set_like(c, 0, onnx_ordered(c, values, t), 0));
  if (!onnx_wants(c, 1)) return RLX_OK;
  return onnx_set(c, 1, rlx_op_top_k_indices(c->g, x, k, axis, largest, RLX_I64));
}

/* ---- running ---- */

typedef rlx_node (*running_fn)(rlx_graph *g, rlx_node x, int64_t axis, bool exclusive, bool reverse);

static rlx_status running(onnx_call *c, running_fn fn) {
  int64_t at;
  int axis;
  bool exclusive, reverse;
  RLX_TRY(onnx_need_int(c, 1, &at));
  RLX_TRY(onnx_flag(c, "exclusive", false, &exclusive));
  RLX_TRY(onnx_flag(c, "reverse", false, &reverse));
  RLX_TRY(onnx_axis(c, at, onnx_rank(c, 0), &axis));
  return onnx_set_like(c, 0, fn(c->g, onnx_in(c, 0), axis, exclusive, reverse), 0);
}
rlx_status onnx_op_cum_sum(onnx_call *c) { return running(c, rlx_op_cumsum); }
rlx_status onnx_op_cum_prod(onnx_call *c) { return running(c, rlx_op_cumprod); }

/* ---- norms ---- */

/* What has no length stays zero. */
rlx_status onnx_op_lp_normalization(onnx_call *c) {
  int64_t at, p;
  int axis;
  rlx_graph *g = c->g;
  RLX_TRY(onnx_int(c, "axis", -1, &at));
  RLX_TRY(onnx_int(c, "p", 2, &p));
  RLX_TRY(onnx_axis(c, at, onnx_rank(c, 0), &axis));
  if (p != 1 && p != 2) return RLX_FAIL(RLX_INVALID, "attribute 'p' is %lld, expected 1 or 2", (long long)p);
  rlx_node x = onnx_widen(c, onnx_in(c, 0)), zero = rlx_op_scalar(g, rlx_node_dtype(g, x), 0);
  rlx_node norm = (p == 1 ? rlx_op_reduce_l1 : rlx_op_reduce_l2)(g, x, RLX_DIMS(axis), true);
  rlx_node y = rlx_op_where(g, rlx_op_eq(g, norm, zero), zero, rlx_op_div(g, x, norm));
  return onnx_set_like(c, 0, onnx_narrow(c, y, onnx_in_type(c, 0)), 0);
}

rlx_status onnx_op_mean_variance_normalization(onnx_call *c) {
  rlx_dims axes;
  rlx_graph *g = c->g;
  RLX_TRY(onnx_dims_of(c, "axes", &axes));
  if (!onnx_has_attribute(c, "axes")) axes = RLX_DIMS(0, 2, 3);
  RLX_TRY(onnx_axes(c, &axes, onnx_rank(c, 0)));
  rlx_node x = onnx_widen(c, onnx_in(c, 0));
  rlx_node d = rlx_op_sub(g, x, rlx_op_reduce_mean(g, x, axes, true));
  rlx_node std = rlx_op_sqrt(g, rlx_op_reduce_mean(g, rlx_op_mul(g, d, d), axes, true));
  rlx_node y = rlx_op_div(g, d, rlx_op_add(g, std, rlx_op_scalar(g, rlx_node_dtype(g, x), 1e-9)));
  return onnx_set_like(c, 0, onnx_narrow(c, y, onnx_in_type(c, 0)), 0);
}
