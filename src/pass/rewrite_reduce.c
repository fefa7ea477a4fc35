/* Rewrites of the reductions.
 *
 * The simplest form reduces the last axis alone. Any other set of axes is transposed to the end, merged into one axis,
 * reduced, and the result reshaped. A mean in that form is a sum and a division; sum, max, min and prod have no simpler
 * form. */
#include "pass/rewrite.h"

typedef rlx_node (*reduce_fn)(rlx_graph *g, rlx_node x, rlx_dims axes, bool keep);

/* A reduction's parameters. All reduce ops have attribute structs of the same layout. */
typedef struct reduction {
  int rank;
  bool reduced[RLX_MAX_RANK];
  int64_t rows, n; /* number of results, and elements reduced to each */
} reduction;

static reduction reduction_of(const rlx_rewrite *r, const rlx_dims *axes) {
  rlx_dims shape = shape_of(r, r->in[0]);
  reduction d = {.rank = shape.n, .rows = 1, .n = 1};
  for (int i = 0; i < shape.n; i++) d.reduced[i] = axes->n == 0;
  for (int i = 0; i < axes->n; i++) d.reduced[rlx_axis_of(axes->v[i], shape.n)] = true;
  for (int i = 0; i < shape.n; i++) *(d.reduced[i] ? &d.n : &d.rows) *= shape.v[i];
  return d;
}

/* Whether it reduces the last axis alone. */
static bool is_simplest(const reduction *d) {
  for (int i = 0; i + 1 < d->rank; i++)
    if (d->reduced[i]) return false;
  return d->rank > 0 && d->reduced[d->rank - 1];
}

/* x with the reduced axes after the others; unchanged if they are there already. */
static rlx_node reduced_last(const rlx_rewrite *r, const reduction *d) {
  rlx_dims perm = {.n = 0};
  bool moves = false;
  for (int last = 0; last < 2; last++)
    for (int i = 0; i < d->rank; i++)
      if (d->reduced[i] == (last == 1)) {
        moves = moves || perm.n != i;
        perm = dims_append(perm, i);
      }
  return moves ? rlx_op_transpose(r->to, r->in[0], perm) : r->in[0];
}

/* A scalar has no axes: reduced, it is itself. */
static rlx_node over_last_axis(const rlx_rewrite *r, const reduction *d, reduce_fn fn) {
  rlx_graph *g = r->to;
  if (d->rank == 0) return r->in[0];
  rlx_node rows = rlx_op_reshape(g, reduced_last(r, d), RLX_DIMS(d->rows, d->n));
  return rlx_op_reshape(g, fn(g, rows, RLX_DIMS(1), false), r->type->shape);
}

static rlx_node reduce(rlx_rewrite *r, const rlx_dims *axes, reduce_fn fn) {
  reduction d = reduction_of(r, axes);
  if (is_simplest(&d)) return refuse(r, "a reduction over the last axis has no simpler form");
  return over_last_axis(r, &d, fn);
}

rlx_node rlx_rewrite_reduce_sum(rlx_rewrite *r) {
  return reduce(r, &RLX_ATTRS(reduce_sum, r->node)->axes, rlx_op_reduce_sum);
}
rlx_node rlx_rewrite_reduce_max(rlx_rewrite *r) {
  return reduce(r, &RLX_ATTRS(reduce_max, r->node)->axes, rlx_op_reduce_max);
}
rlx_node rlx_rewrite_reduce_min(rlx_rewrite *r) {
  return reduce(r, &RLX_ATTRS(reduce_min, r->node)->axes, rlx_op_reduce_min);
}
rlx_node rlx_rewrite_reduce_prod(rlx_rewrite *r) {
  return reduce(r, &RLX_ATTRS(reduce_prod, r->node)->axes, rlx_op_reduce_prod);
}

/* The sum is in the work type: in f16 it may overflow though the mean does not. For an empty axis it is 0 / 0, which is
 * NaN as required. */
rlx_node rlx_rewrite_reduce_mean(rlx_rewrite *r) {
  const rlx_attrs_reduce_mean *a = RLX_ATTRS(reduce_mean, r->node);
  reduction d = reduction_of(r, &a->axes);
  if (!is_simplest(&d)) return over_last_axis(r, &d, rlx_op_reduce_mean);
  rlx_node sum = rlx_op_reduce_sum(r->to, wide_input(r, 0), a->axes, a->keep);
  return as_result(r, rlx_op_div(r->to, sum, scalar(r, sum, (double)d.n)));
}
