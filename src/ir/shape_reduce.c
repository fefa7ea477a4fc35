/* Shape rules of reductions and of ops that select along an axis. */
#include "ir/infer.h"

/* Removes the axes in the bit set from x, or keeps them with size 1. */
static rlx_dims drop_axes(const rlx_dims *x, uint32_t axes, bool keep) {
  rlx_dims out = {.n = 0};
  for (int i = 0; i < x->n; i++) {
    if (!(axes & (1u << i))) out.v[out.n++] = x->v[i];
    else if (keep) out.v[out.n++] = 1;
  }
  return out;
}

/* All reduce ops have structs of the same layout, with `axes` and `keep`. */
rlx_status rlx_shape_reduce(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  const rlx_dims *axes = rlx_attr_at(c->attrs, &c->row->attrs[0]);
  const bool *keep = rlx_attr_at(c->attrs, &c->row->attrs[1]);
  uint32_t bits;
  RLX_TRY(rlx_axes_resolve(axes, x->n, true, &bits));
  c->out.shape = drop_axes(x, bits, *keep);
  return RLX_OK;
}

/* These two are rows of one macro. */
_Static_assert(sizeof(rlx_attrs_argmax) == sizeof(rlx_attrs_argmin), "argmax and argmin have the same attributes");

rlx_status rlx_shape_arg(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  const rlx_attrs_argmax *a = c->attrs;
  int axis;
  RLX_TRY(rlx_axis_resolve(a->axis, x->n, "axis", &axis));
  if (x->v[axis] == 0)
    return RLX_FAIL(RLX_INVALID, "axis %d of %s is empty: nothing can be chosen", axis, RLX_DIMS_TEXT(*x));
  c->out.shape = drop_axes(x, 1u << axis, a->keep);
  return rlx_expect_index_result(c, x->v[axis]);
}

rlx_status rlx_shape_top_k(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  bool values = c->op == RLX_OP_top_k_values;
  int64_t k = values ? RLX_ATTRS(top_k_values, c)->k : RLX_ATTRS(top_k_indices, c)->k;
  int64_t axis_attr = values ? RLX_ATTRS(top_k_values, c)->axis : RLX_ATTRS(top_k_indices, c)->axis;
  int axis;
  RLX_TRY(rlx_axis_resolve(axis_attr, x->n, "axis", &axis));
  int64_t n = x->v[axis];
  if (k < 0 || (!rlx_dim_is_open(n) && k > n))
    return RLX_FAIL(RLX_INVALID, "k is %lld but axis %d of %s allows 0 to its size", (long long)k, axis,
                    RLX_DIMS_TEXT(*x));
  c->out.shape = *x;
  c->out.shape.v[axis] = k;
  return values ? RLX_OK : rlx_expect_index_result(c, n);
}
