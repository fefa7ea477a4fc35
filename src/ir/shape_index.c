/* Shape rules of ops that read or write positions given by an index tensor (gather, scatter, one_hot, update), and of
 * range, which creates such a tensor.
 *
 * The values of indices are not known here, only their number: whether they are in range is checked when the op runs.
 * The forms come in pairs, one reading and one writing, and each pair shares its check. */
#include <math.h>

#include "ir/infer.h"
#include "ir/walk.h"

/* Appends axes from..to-1 of x to a shape; false if the rank would exceed the limit. */
static bool append_axes(rlx_dims *shape, const rlx_dims *x, int from, int to) {
  for (int i = from; i < to; i++) {
    if (shape->n == RLX_MAX_RANK) return false;
    shape->v[shape->n++] = x->v[i];
  }
  return true;
}

static rlx_status fail_rank(const rlx_dims *x, const rlx_dims *idx) {
  return RLX_FAIL(RLX_INVALID, "x %s and idx %s give a result of more than %d axes", RLX_DIMS_TEXT(*x),
                  RLX_DIMS_TEXT(*idx), RLX_MAX_RANK);
}

/* ---- whole slices along one axis ---- */

rlx_status rlx_shape_gather(rlx_infer *c) {
  const rlx_type *x = rlx_infer_in(c, 0);
  const rlx_dims *idx = rlx_infer_shape(c, 1);
  int axis;
  RLX_TRY(rlx_axis_resolve(RLX_ATTRS(gather, c)->axis, x->shape.n, "axis", &axis));
  c->out.dtype = x->dtype;
  if (rlx_dtype_is_block(x->dtype)) {
    /* Blocks run along the last axis, so only the axes before it can be indexed without unpacking. */
    if (axis != 0 || x->shape.n < 2)
      return RLX_FAIL(RLX_INVALID, "x is %s%s: only rows (axis 0 of two or more) of a block type can be gathered",
                      rlx_dtype_name(x->dtype), RLX_DIMS_TEXT(x->shape));
    c->out.dtype = RLX_F32;
  }
  c->out.shape.n = 0;
  if (!append_axes(&c->out.shape, &x->shape, 0, axis) || !append_axes(&c->out.shape, idx, 0, idx->n) ||
      !append_axes(&c->out.shape, &x->shape, axis + 1, x->shape.n))
    return fail_rank(&x->shape, idx);
  return RLX_OK;
}

/* ---- single elements along one axis ---- */

/* idx has x's rank and, except on the axis, at most its sizes. */
static rlx_status check_elements(const rlx_infer *c, int64_t axis_attr) {
  const rlx_dims *x = rlx_infer_shape(c, 0), *idx = rlx_infer_shape(c, 1);
  int axis;
  RLX_TRY(rlx_axis_resolve(axis_attr, x->n, "axis", &axis));
  bool fits = idx->n == x->n;
  for (int i = 0; fits && i < x->n; i++)
    fits = i == axis || rlx_dim_is_open(idx->v[i]) || rlx_dim_is_open(x->v[i]) || idx->v[i] <= x->v[i];
  if (fits) return RLX_OK;
  return RLX_FAIL(RLX_INVALID,
                  "x is %s and idx %s: they must have one rank and idx may not be larger, except on axis %d",
                  RLX_DIMS_TEXT(*x), RLX_DIMS_TEXT(*idx), axis);
}

rlx_status rlx_shape_gather_elements(rlx_infer *c) {
  RLX_TRY(check_elements(c, RLX_ATTRS(gather_elements, c)->axis));
  c->out.shape = *rlx_infer_shape(c, 1);
  return RLX_OK;
}

rlx_status rlx_shape_scatter_elements(rlx_infer *c) {
  RLX_TRY(check_elements(c, c->op == RLX_OP_scatter_add ? RLX_ATTRS(scatter_add, c)->axis
                                                        : RLX_ATTRS(scatter_elements, c)->axis));
  RLX_TRY(rlx_expect_shape(c, 2, *rlx_infer_shape(c, 1)));
  c->out.shape = *rlx_infer_shape(c, 0);
  return RLX_OK;
}

/* ---- coordinates ---- */

/* The shape that coordinates select from x: idx without its last axis, then the axes of x that they do not index. The
 * first `batch` axes of x and idx are iterated together. */
static rlx_status picked_shape(const rlx_infer *c, int64_t batch, rlx_dims *out) {
  const rlx_dims *x = rlx_infer_shape(c, 0), *idx = rlx_infer_shape(c, 1);
  if (x->n < 1 || idx->n < 1)
    return RLX_FAIL(RLX_INVALID, "x is %s and idx %s: neither may be a scalar", RLX_DIMS_TEXT(*x), RLX_DIMS_TEXT(*idx));
  if (batch < 0 || batch >= x->n || batch >= idx->n)
    return RLX_FAIL(RLX_INVALID, "batch_dims is %lld but x %s and idx %s must both have more axes than that",
                    (long long)batch, RLX_DIMS_TEXT(*x), RLX_DIMS_TEXT(*idx));
  rlx_dims shape = {.n = 0};
  for (int i = 0; i < (int)batch; i++)
    if (!rlx_dim_unify(x->v[i], idx->v[i], &shape.v[shape.n++]))
      return RLX_FAIL(RLX_INVALID, "x %s and idx %s differ on axis %d of the %d in common", RLX_DIMS_TEXT(*x),
                      RLX_DIMS_TEXT(*idx), i, (int)batch);
  int64_t coordinates = idx->v[idx->n - 1]; /* the result's rank depends on it, so it must be a number now */
  if (coordinates < 1 || coordinates > x->n - batch)
    return RLX_FAIL(RLX_INVALID, "the last axis of idx %s must be 1..%d, the coordinates into x %s",
                    RLX_DIMS_TEXT(*idx), x->n - (int)batch, RLX_DIMS_TEXT(*x));
  if (!append_axes(&shape, idx, (int)batch, idx->n - 1) || !append_axes(&shape, x, (int)(batch + coordinates), x->n))
    return fail_rank(x, idx);
  *out = shape;
  return RLX_OK;
}

rlx_status rlx_shape_gather_nd(rlx_infer *c) {
  return picked_shape(c, RLX_ATTRS(gather_nd, c)->batch_dims, &c->out.shape);
}

rlx_status rlx_shape_scatter_nd(rlx_infer *c) {
  rlx_dims picked;
  RLX_TRY(picked_shape(c, 0, &picked));
  RLX_TRY(rlx_expect_shape(c, 2, picked));
  c->out.shape = *rlx_infer_shape(c, 0);
  return RLX_OK;
}

/* ---- created from indices or numbers ---- */

rlx_status rlx_shape_one_hot(rlx_infer *c) {
  const rlx_attrs_one_hot *a = c->attrs;
  const rlx_dims *idx = rlx_infer_shape(c, 0);
  if (rlx_dtype_is_block(a->to) || a->to == RLX_C64)
    return RLX_FAIL(RLX_INVALID, "gives numbers or bools, not %s", rlx_dtype_name(a->to));
  if (a->depth < 0) return RLX_FAIL(RLX_INVALID, "depth is %lld but must not be negative", (long long)a->depth);
  if (idx->n == RLX_MAX_RANK)
    return RLX_FAIL(RLX_INVALID, "idx is %s: one axis more would pass rank %d", RLX_DIMS_TEXT(*idx), RLX_MAX_RANK);
  int axis;
  RLX_TRY(rlx_axis_resolve(a->axis, idx->n + 1, "axis", &axis));
  c->out.shape.n = idx->n + 1;
  for (int i = 0; i <= idx->n; i++) c->out.shape.v[i] = i < axis ? idx->v[i] : i == axis ? a->depth : idx->v[i - 1];
  return RLX_OK;
}

rlx_status rlx_shape_range(rlx_infer *c) {
  const rlx_attrs_range *a = c->attrs;
  if (!rlx_dtype_is_float(a->to) && !rlx_dtype_is_int(a->to))
    return RLX_FAIL(RLX_INVALID, "gives numbers, not %s", rlx_dtype_name(a->to));
  if (!isfinite(a->start) || !isfinite(a->step))
    return RLX_FAIL(RLX_INVALID, "start is %g and step %g; both must be finite", a->start, a->step);
  if (a->count.n != 1) return RLX_FAIL(RLX_INVALID, "count has %d entries but must have one", (int)a->count.n);
  int64_t count = a->count.v[0];
  if (count < 0 && !rlx_dim_is_symbol(count))
    return RLX_FAIL(RLX_INVALID, "count is %s but must be a number of at least 0 or a symbol", RLX_DIMS_TEXT(a->count));
  c->out.shape = a->count;
  return RLX_OK;
}

/* ---- state ---- */

rlx_status rlx_shape_update(rlx_infer *c) {
  int axis;
  const rlx_dims *state = rlx_infer_shape(c, 0), *rows = rlx_infer_shape(c, 1);
  RLX_TRY(rlx_axis_resolve(RLX_ATTRS(update, c)->axis, state->n, "axis", &axis));
  if (rlx_dtype_is_block(rlx_infer_in(c, 0)->dtype) && axis == state->n - 1)
    return RLX_FAIL(RLX_INVALID, "the last axis of %s is not updated in parts",
                    rlx_dtype_name(rlx_infer_in(c, 0)->dtype));
  if (!rlx_update_is_packed(state, rows)) return rlx_expect_rows_of_state(c, axis);
  rlx_dims want = {.n = state->n - axis};
  for (int i = 0; i < want.n; i++) want.v[i] = i ? state->v[axis + i] : rows->v[0];
  RLX_TRY(rlx_expect_shape(c, 1, want));
  RLX_TRY(rlx_expect_shape(c, 2, RLX_DIMS(rows->v[0])));
  c->out.dtype = rlx_infer_in(c, 0)->dtype;
  c->out.shape = *state;
  return RLX_OK;
}

rlx_status rlx_expect_rows_of_state(rlx_infer *c, int axis) {
  const rlx_dims *state = rlx_infer_shape(c, 0), *rows = rlx_infer_shape(c, 1);
  bool fits = rows->n == state->n;
  int64_t same;
  for (int i = 0; fits && i < state->n; i++) {
    bool open = rlx_dim_is_open(rows->v[i]) || rlx_dim_is_open(state->v[i]);
    fits = i == axis ? open || rows->v[i] <= state->v[i] : rlx_dim_unify(state->v[i], rows->v[i], &same);
  }
  if (!fits)
    return RLX_FAIL(RLX_INVALID, "rows are %s, which do not fit along axis %d of %s", RLX_DIMS_TEXT(*rows), axis,
                    RLX_DIMS_TEXT(*state));
  RLX_TRY(rlx_expect_scalar_or_vector(c, 2, axis > 0 ? state->v[0] : 1));
  c->out.dtype = rlx_infer_in(c, 0)->dtype;
  c->out.shape = *state;
  return RLX_OK;
}
