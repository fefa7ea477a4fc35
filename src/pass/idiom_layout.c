/* Idioms of layout: cancels transposes, and moves slices and dropped axes before a transpose.
 *
 * Exporters that convert between [N, H, W, C] and [N, C, H, W] leave pairs of transposes around element-wise ops. If
 * each input of the inner ops is a weight or a transpose that the last one undoes, all of them are removed.
 *
 * Vision transformers extract q, k and v from one product as parts of a transposed tensor: reshape to [B, S, 3, H, D],
 * transpose to [3, B, H, S, D], and one index of the first axis each. Sliced first, the parts are slices of the
 * product, reshaped into heads, with a transpose that attention absorbs.
 *
 * A product of rank 2 between two reshapes, as every Gemm on a sequence has, becomes the product of the unflattened
 * tensor.
 *
 * The arithmetic is unchanged, so results are bit-identical. */
#include <string.h>

#include "ir/element.h"
#include "ir/slice.h"
#include "pass/idiom.h"

static rlx_dims perm_of(const rlx_node_rec *transpose) {
  return rlx_perm_of(&RLX_ATTRS(transpose, transpose)->perm, transpose->type.shape.n);
}

/* The use count of a node; 1 for a node that a rule has just made. */
static uint32_t uses_of(const rlx_idiom *p, rlx_node id) { return id < p->uses.n ? p->uses.v[id] : 1; }

/* ---- transposes that cancel ---- */

enum { MAX_DEPTH = 8, MAX_INPUTS = 4 };

/* Whether a followed by b is the identity. */
static bool undoes(const rlx_dims *a, const rlx_dims *b) {
  for (int i = 0; i < a->n; i++)
    if (a->v[b->v[i]] != i) return false;
  return a->n == b->n;
}

static bool is_plain_pointwise(const rlx_node_rec *n) {
  return rlx_op_table_has(n->op, RLX_TRAIT_POINTWISE) && !rlx_op_table_has(n->op, RLX_TRAIT_FUSED) &&
         n->op != RLX_OP_quantize && n->op != RLX_OP_dequantize;
}

/* Whether the transposed value is available without a transpose; *cancels counts the transposes removed. */
static bool absorbs(const rlx_idiom *p, rlx_node id, const rlx_dims *perm, int depth, int *cancels) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  if (p->weight_only.v[id]) return n->type.shape.n <= perm->n && !rlx_dtype_is_block(n->type.dtype);
  if (n->type.shape.n != perm->n) return false;
  if (n->op == RLX_OP_transpose) {
    rlx_dims inner = perm_of(n);
    ++*cancels;
    return undoes(&inner, perm);
  }
  if (depth == 0 || p->uses.v[id] != 1 || !is_plain_pointwise(n) || n->n_in > MAX_INPUTS) return false;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (!n->in[i] || !absorbs(p, n->in[i], perm, depth - 1, cancels)) return false;
  return true;
}

/* A weight, transposed at load; a single number is unchanged. */
static rlx_node transposed_weight(rlx_idiom *p, rlx_node id, const rlx_dims *perm) {
  rlx_dims shape = *rlx_idiom_shape(p, id), full = {.n = perm->n};
  if (rlx_dims_count(&shape) == 1) return id;
  for (int i = 0; i < full.n; i++) full.v[i] = i < full.n - shape.n ? 1 : shape.v[i - (full.n - shape.n)];
  return rlx_op_transpose(p->to, shape.n == full.n ? id : rlx_op_reshape(p->to, id, full), *perm);
}

static rlx_node transposed(rlx_idiom *p, rlx_node id, const rlx_dims *perm) {
  rlx_node_rec n = *rlx_idiom_at(p, id); /* a copy: it moves when a node is appended */
  rlx_node in[MAX_INPUTS] = {0};
  if (p->weight_only.v[id]) return transposed_weight(p, id, perm);
  if (n.op == RLX_OP_transpose) return n.in[0];
  for (uint32_t i = 0; i < n.n_in; i++) in[i] = transposed(p, n.in[i], perm);
  return rlx_graph_add(p->to, n.op, in, n.n_in, n.attrs);
}

/* The root reads an element-wise op, so its replacement is a new node. */
rlx_node rlx_idiom_transposes(rlx_idiom *p, const rlx_node_rec *n) {
  rlx_dims perm = perm_of(n);
  const rlx_node_rec *x = rlx_idiom_at(p, n->in[0]);
  int cancels = 0;
  if (!is_plain_pointwise(x) || p->weight_only.v[n->in[0]]) return RLX_NONE;
  if (!absorbs(p, n->in[0], &perm, MAX_DEPTH, &cancels) || cancels == 0) return RLX_NONE;
  return transposed(p, n->in[0], &perm);
}

/* ---- slices and dropped axes ---- */

/* A range of one axis. */
typedef struct range {
  int axis;
  int64_t start, count;
} range;

static rlx_node slice(rlx_idiom *p, rlx_node x, range r) {
  rlx_attrs_slice a = {
    .axes = RLX_DIMS(r.axis), .start = RLX_DIMS(r.start), .stop = RLX_DIMS(r.start + r.count), .step = {.n = 0}};
  return rlx_graph_add(p->to, RLX_OP_slice, &x, 1, &a);
}

static rlx_node reshape(rlx_idiom *p, rlx_node x, rlx_dims shape) {
  const rlx_node_rec *n = rlx_idiom_at(p, x);
  return rlx_op_reshape(p->to, n->op == RLX_OP_reshape ? n->in[0] : x, shape);
}

/* Whether a reshape splits its input's last axis into those from `first` on and does nothing else. */
static bool splits_last(const rlx_dims *from, const rlx_dims *to, int first) {
  if (from->n != first + 1) return false;
  for (int i = 0; i < first; i++)
    if (from->v[i] != to->v[i]) return false;
  return true;
}

/* A slice of x. If x is a reshape that split the axis off the last one, a reshape of a slice of its input. */
static rlx_node cut(rlx_idiom *p, rlx_node x, range r) {
  const rlx_node_rec *n = rlx_idiom_at(p, x);
  rlx_dims shape = n->type.shape;
  if (n->op != RLX_OP_reshape || !splits_last(rlx_idiom_shape(p, n->in[0]), &shape, r.axis)) return slice(p, x, r);
  int64_t inner = 1;
  for (int i = r.axis + 1; i < shape.n; i++) inner *= shape.v[i];
  shape.v[r.axis] = r.count;
  return rlx_op_reshape(p->to, slice(p, n->in[0], (range){r.axis, r.start * inner, r.count * inner}), shape);
}

/* A slice of a transpose, moved before it. Assumes that all its readers slice it likewise, so that no more is
 * transposed than before. */
static rlx_node cut_before_transpose(rlx_idiom *p, rlx_node x, range r) {
  const rlx_node_rec *n = rlx_idiom_at(p, x);
  if (n->op != RLX_OP_transpose || r.count * (int64_t)uses_of(p, x) > n->type.shape.v[r.axis]) return RLX_NONE;
  rlx_dims perm = perm_of(n);
  r.axis = (int)perm.v[r.axis];
  return rlx_op_transpose(p->to, cut(p, n->in[0], r), perm);
}

/* Removes an axis of one element; for a transpose, before it. */
static rlx_node drop(rlx_idiom *p, rlx_node x, int axis) {
  rlx_node_rec n = *rlx_idiom_at(p, x);
  rlx_dims shape = n.type.shape, perm = {.n = 0}, from;
  if (n.op != RLX_OP_transpose || uses_of(p, x) != 1) {
    memmove(shape.v + axis, shape.v + axis + 1, (size_t)(shape.n - axis - 1) * sizeof *shape.v);
    shape.n--;
    return reshape(p, x, shape);
  }
  rlx_dims old = perm_of(&n);
  int64_t gone = old.v[axis];
  for (int i = 0; i < old.n; i++)
    if (i != axis) perm.v[perm.n++] = old.v[i] - (old.v[i] > gone);
  from = *rlx_idiom_shape(p, n.in[0]);
  memmove(from.v + gone, from.v + gone + 1, (size_t)(from.n - gone - 1) * sizeof *from.v);
  from.n--;
  return rlx_op_transpose(p->to, reshape(p, n.in[0], from), perm);
}

/* A slice of one axis after a transpose. */
rlx_node rlx_idiom_slice(rlx_idiom *p, const rlx_node_rec *n) {
  rlx_slice_axis axes[RLX_MAX_RANK];
  rlx_dims shape = *rlx_idiom_shape(p, n->in[0]);
  range r = {.axis = -1};
  if (rlx_slice_resolve(RLX_ATTRS(slice, n), &shape, axes) != RLX_OK) return RLX_NONE;
  for (int i = 0; i < shape.n; i++) {
    if (axes[i].count == shape.v[i] && axes[i].step == 1) continue;
    if (r.axis >= 0 || axes[i].step != 1 || axes[i].count == 0) return RLX_NONE;
    r = (range){i, axes[i].start, axes[i].count};
  }
  /* if one size is zero, the product of the others may overflow */
  return r.axis < 0 || rlx_dims_count(&shape) == 0 ? RLX_NONE : cut_before_transpose(p, n->in[0], r);
}

/* The number of inversions in perm, without this axis. */
static int disorder_without(const rlx_dims *perm, int axis) {
  int n = 0;
  for (int i = 0; i < perm->n; i++)
    for (int k = i + 1; k < perm->n; k++) n += i != axis && k != axis && perm->v[i] > perm->v[k];
  return n;
}

/* An axis of one element that is removed after a transpose. If the shapes leave several candidates, the one with the
 * simplest remaining transpose. */
rlx_node rlx_idiom_reshape(rlx_idiom *p, const rlx_node_rec *n) {
  const rlx_node_rec *x = rlx_idiom_at(p, n->in[0]);
  const rlx_dims *from = &x->type.shape, *to = &n->type.shape;
  if (x->op != RLX_OP_transpose || p->uses.v[n->in[0]] != 1 || to->n != from->n - 1) return RLX_NONE;
  rlx_dims perm = perm_of(x);
  int last = 0, best;
  while (last < to->n && from->v[last] == to->v[last]) last++;
  for (int i = last; i < to->n; i++)
    if (from->v[i + 1] != to->v[i]) return RLX_NONE;
  if (from->v[last] != 1) return RLX_NONE;
  best = last;
  for (int i = last - 1; i >= 0 && from->v[i] == 1; i--)
    if (disorder_without(&perm, i) < disorder_without(&perm, best)) best = i;
  return drop(p, n->in[0], best);
}

/* A constant index of an axis: a slice of it, without the axis. */
rlx_node rlx_idiom_gather(rlx_idiom *p, const rlx_node_rec *n) {
  const rlx_node_rec *index = rlx_idiom_at(p, n->in[1]);
  rlx_dims shape = *rlx_idiom_shape(p, n->in[0]);
  if (index->op != RLX_OP_constant || index->type.shape.n != 0 || rlx_dims_count(&shape) == 0) return RLX_NONE;
  if (rlx_dtype_is_block(rlx_idiom_at(p, n->in[0])->type.dtype)) return RLX_NONE;
  rlx_tensor t = {.dtype = index->type.dtype, .data = RLX_ATTRS(constant, index)->data->data};
  range r = {.axis = rlx_axis_of(RLX_ATTRS(gather, n)->axis, shape.n), .start = rlx_load_int(&t, 0), .count = 1};
  if (r.start < 0) r.start += shape.v[r.axis];
  if (r.start < 0 || r.start >= shape.v[r.axis]) return RLX_NONE;
  rlx_node part = cut_before_transpose(p, n->in[0], r);
  if (!part) part = cut(p, n->in[0], r);
  return part ? drop(p, part, r.axis) : RLX_NONE;
}

/* ---- flattened products ---- */

/* reshape(matmul(reshape(x), w) + bias) that keeps the last axis is matmul(x, w) + bias, with x in the result's
 * axes. */
rlx_node rlx_idiom_flat_product(rlx_idiom *p, const rlx_node_rec *n) {
  rlx_node product = n->in[0], bias = RLX_NONE;
  const rlx_node_rec *sum = rlx_idiom_inner(p, product, RLX_OP_add, 1);
  for (int side = 0; sum && !bias && side < 2; side++) {
    if (rlx_idiom_at(p, sum->in[side])->op != RLX_OP_matmul) continue;
    product = sum->in[side];
    bias = sum->in[1 - side];
  }
  const rlx_node_rec *m = rlx_idiom_inner(p, product, RLX_OP_matmul, 1);
  const rlx_node_rec *flat = m ? rlx_idiom_at(p, m->in[0]) : NULL;
  if (!flat || flat->op != RLX_OP_reshape || rlx_idiom_shape(p, m->in[1])->n != 2) return RLX_NONE;
  const rlx_dims *b = bias ? rlx_idiom_shape(p, bias) : NULL;
  rlx_dims wide = n->type.shape;
  if (flat->type.shape.n != 2 || wide.n < 3 || m->type.shape.v[1] != wide.v[wide.n - 1]) return RLX_NONE;
  if (b && (b->n > 2 || (b->n == 2 && b->v[0] != 1))) return RLX_NONE;
  if (rlx_dims_count(&wide) == 0) return RLX_NONE; /* if one size is zero, the product of the others may overflow */
  rlx_node in[2] = {flat->in[0], m->in[1]};
  const void *attrs = m->attrs;
  wide.v[wide.n - 1] = flat->type.shape.v[1];
  if (!rlx_dims_equal(rlx_idiom_shape(p, in[0]), &wide)) in[0] = rlx_op_reshape(p->to, in[0], wide);
  rlx_node y = rlx_graph_add(p->to, RLX_OP_matmul, in, 2, attrs);
  return bias ? rlx_op_add(p->to, y, bias) : y;
}
