/* Rewrites of the composites that move elements, and of those that depend on positions.
 *
 * Moves become reshape, transpose, expand, slice and concat, so every element keeps its bits. Ops that depend on the
 * position (one_hot, trilu) compare coordinates and select. */
#include "pass/rewrite.h"

/* ---- moves ---- */

/* Axis by axis: reshaped to [before, 1, axis and after], the middle axis is expanded. Two axes at a time would exceed
 * rank 8. */
rlx_node rlx_rewrite_tile(rlx_rewrite *r) {
  const rlx_dims *reps = &RLX_ATTRS(tile, r->node)->reps;
  rlx_graph *g = r->to;
  rlx_node x = r->in[0];
  rlx_dims shape = shape_of(r, x);
  for (int i = 0; i < shape.n; i++) {
    if (reps->v[i] == 1) continue;
    int64_t before = dims_product(&shape, 0, i), rest = dims_product(&shape, i, shape.n);
    shape.v[i] *= reps->v[i];
    x = rlx_op_reshape(g, x, RLX_DIMS(before, 1, rest));
    x = rlx_op_reshape(g, rlx_op_expand(g, x, RLX_DIMS(before, reps->v[i], rest)), shape);
  }
  return x;
}

/* A slice with step -1, from the last element to the first. */
rlx_node rlx_rewrite_reverse(rlx_rewrite *r) {
  const rlx_dims *axes = &RLX_ATTRS(reverse, r->node)->axes, *shape = &r->type->shape;
  rlx_op_slice_desc back = {RLX_OP_SLICE_DESC_INIT, .axes = *axes};
  for (int i = 0; axes->n == 0 && i < shape->n; i++) back.axes = dims_append(back.axes, i);
  for (int i = 0; i < back.axes.n; i++) {
    back.start = dims_append(back.start, -1);
    back.stop = dims_append(back.stop, -1 - shape->v[rlx_axis_of(back.axes.v[i], shape->n)]);
    back.step = dims_append(back.step, -1);
  }
  return back.axes.n ? rlx_op_slice(r->to, r->in[0], &back) : r->in[0];
}

/* Per axis, the part shifted out at the end is prepended. */
rlx_node rlx_rewrite_roll(rlx_rewrite *r) {
  const rlx_attrs_roll *a = RLX_ATTRS(roll, r->node);
  rlx_graph *g = r->to;
  rlx_node x = r->in[0];
  for (int i = 0; i < a->axes.n; i++) {
    int axis = rlx_axis_of(a->axes.v[i], r->type->shape.n);
    int64_t n = r->type->shape.v[axis], shift = n ? a->shifts.v[i] % n : 0;
    if (shift < 0) shift += n;
    if (shift == 0) continue;
    rlx_node parts[2] = {rlx_op_narrow(g, x, axis, n - shift, shift), rlx_op_narrow(g, x, axis, 0, n - shift)};
    x = rlx_op_concat(g, parts, 2, axis);
  }
  return x;
}

/* [N, C, H b, W b]: both positions within a block move before the channel. */
rlx_node rlx_rewrite_space_to_depth(rlx_rewrite *r) {
  rlx_graph *g = r->to;
  rlx_dims x = shape_of(r, r->in[0]);
  int64_t b = RLX_ATTRS(space_to_depth, r->node)->block;
  rlx_node blocks = rlx_op_reshape(g, r->in[0], RLX_DIMS(x.v[0], x.v[1], x.v[2] / b, b, x.v[3] / b, b));
  return rlx_op_reshape(g, rlx_op_transpose(g, blocks, RLX_DIMS(0, 3, 5, 1, 2, 4)), r->type->shape);
}

/* The inverse: the channel is [b, b, C] (dcr) or [C, b, b] (crd). */
rlx_node rlx_rewrite_depth_to_space(rlx_rewrite *r) {
  const rlx_attrs_depth_to_space *a = RLX_ATTRS(depth_to_space, r->node);
  rlx_graph *g = r->to;
  rlx_dims x = shape_of(r, r->in[0]);
  int64_t b = a->block, c = r->type->shape.v[1];
  bool dcr = a->mode == RLX_DEPTH_DCR;
  rlx_dims view = dcr ? RLX_DIMS(x.v[0], b, b, c, x.v[2], x.v[3]) : RLX_DIMS(x.v[0], c, b, b, x.v[2], x.v[3]);
  rlx_dims perm = dcr ? RLX_DIMS(0, 3, 4, 1, 5, 2) : RLX_DIMS(0, 1, 4, 2, 5, 3);
  return rlx_op_reshape(g, rlx_op_transpose(g, rlx_op_reshape(g, r->in[0], view), perm), r->type->shape);
}

/* ---- positions ---- */

rlx_node rlx_rewrite_scatter_add(rlx_rewrite *r) {
  int64_t axis = RLX_ATTRS(scatter_add, r->node)->axis;
  return rlx_op_scatter_elements(r->to, r->in[0], r->in[1], r->in[2], axis, RLX_SCATTER_ADD);
}

/* The type for coordinates up to this size. */
static rlx_dtype coordinate_type(int64_t max) { return max < INT32_MAX ? RLX_I32 : RLX_I64; }

/* Compares the coordinate along the new axis with the index; a negative index counts from the end. An index out of
 * range equals no coordinate, and a sum that wraps is not selected. */
rlx_node rlx_rewrite_one_hot(rlx_rewrite *r) {
  const rlx_attrs_one_hot *a = RLX_ATTRS(one_hot, r->node);
  rlx_graph *g = r->to;
  int rank = r->type->shape.n, axis = rlx_axis_of(a->axis, rank);
  rlx_dtype type = dtype_of(r, r->in[0]) == RLX_I64 ? RLX_I64 : coordinate_type(a->depth);
  rlx_node idx = rlx_op_reshape(g, as_type(r, r->in[0], type), dims_with(r->type->shape, axis, 1));
  rlx_node from_end = rlx_op_add(g, idx, rlx_op_scalar(g, type, (double)a->depth));
  idx = rlx_op_where(g, rlx_op_lt(g, idx, rlx_op_scalar(g, type, 0)), from_end, idx);
  rlx_node hit = rlx_op_eq(g, idx, coordinates(r, 0, a->depth, axis, rank, type));
  return rlx_op_where(g, hit, cast_scalar(r, a->to, a->on), cast_scalar(r, a->to, a->off));
}

/* Compares column with row + k. A diagonal outside the matrix is clamped to just outside. */
rlx_node rlx_rewrite_trilu(rlx_rewrite *r) {
  const rlx_attrs_trilu *a = RLX_ATTRS(trilu, r->node);
  rlx_graph *g = r->to;
  int64_t h = r->type->shape.v[r->type->shape.n - 2], w = r->type->shape.v[r->type->shape.n - 1];
  int64_t k = a->k < -h ? -h : a->k > w ? w : a->k;
  rlx_dtype type = coordinate_type(h + w);
  rlx_node edge = coordinates(r, (double)k, h, 0, 2, type), column = coordinates(r, 0, w, 1, 2, type);
  rlx_node kept = a->upper ? rlx_op_ge(g, column, edge) : rlx_op_le(g, column, edge);
  return rlx_op_where(g, kept, r->in[0], rlx_op_scalar(g, r->type->dtype, 0));
}
