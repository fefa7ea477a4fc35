/* Shape rules of the norms: the result has x's shape; gamma, beta and the statistics must match it. */
#include "ir/infer.h"

/* Every norm has an attribute eps in its own struct; the field table finds it. */
static rlx_status check_eps(const rlx_infer *c) {
  double eps = *(const double *)rlx_attr_named(c->row, c->attrs, "eps");
  if (!(eps >= 0) || isinf(eps)) return RLX_FAIL(RLX_INVALID, "eps is %g but must be a number from 0", eps);
  return RLX_OK;
}

rlx_status rlx_expect_row_norm(const rlx_infer *c, uint32_t gamma, int64_t size) {
  RLX_TRY(check_eps(c));
  return rlx_infer_in(c, gamma) ? rlx_expect_shape(c, gamma, RLX_DIMS(size)) : RLX_OK;
}

/* Every input after x, if present, has this shape. */
static rlx_status expect_rest(const rlx_infer *c, rlx_dims want) {
  for (uint32_t i = 1; i < c->n_in; i++)
    if (rlx_infer_in(c, i)) RLX_TRY(rlx_expect_shape(c, i, want));
  return RLX_OK;
}

/* layer_norm, rms_norm: over all axes from `axis`; gamma and beta have the shape of those axes. */
rlx_status rlx_shape_norm_last(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  int64_t first = c->op == RLX_OP_layer_norm ? RLX_ATTRS(layer_norm, c)->axis : RLX_ATTRS(rms_norm, c)->axis;
  int axis;
  RLX_TRY(rlx_axis_resolve(first, x->n, "axis", &axis));
  RLX_TRY(check_eps(c));
  rlx_dims inner = {.n = x->n - axis};
  for (int i = 0; i < inner.n; i++) inner.v[i] = x->v[axis + i];
  c->out.shape = *x;
  return expect_rest(c, inner);
}

/* The norms of images and sequences, [N, C, ..]: gamma, beta and the statistics are [C]. */
rlx_status rlx_shape_norm_channels(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  if (c->op == RLX_OP_layer_norm_2d) RLX_TRY(rlx_expect_rank(c, 0, 4));
  if (x->n < 2) return RLX_FAIL(RLX_INVALID, "input 0 (x) is %s but must be [N, C, ..]", RLX_DIMS_TEXT(*x));
  RLX_TRY(check_eps(c));
  int64_t channels = x->v[1];
  if (c->op == RLX_OP_group_norm) {
    int64_t groups = RLX_ATTRS(group_norm, c)->groups;
    if (groups < 1) return RLX_FAIL(RLX_INVALID, "groups is %lld but must be 1 or more", (long long)groups);
    if (!rlx_dim_is_open(channels) && channels % groups != 0)
      return RLX_FAIL(RLX_INVALID, "%lld groups do not divide %lld channels", (long long)groups, (long long)channels);
  }
  c->out.shape = *x;
  return expect_rest(c, RLX_DIMS(channels));
}
