/* Idioms of attention heads: converts them to the shape that fuse recognises, [B, H, S, D].
 *
 * Older exporters merge batch and heads to [B H, S, D], multiply in rank 3, and return to rank 4 to add the mask. A
 * product of two tensors whose first two axes were merged alike equals the merged product of the original tensors, and
 * the same holds for a softmax over the last axis. So the merging reshape moves down until it reaches the splitting
 * reshape, and both cancel. A scale of q that is applied before its heads are split moves after the split, where fuse
 * recognises it as the scale of the scores. The arithmetic is unchanged, so results are bit-identical. */
#include "pass/idiom.h"

/* ---- merged axes ---- */

/* Whether a node is a reshape that merges the first two of four axes; *wide is its input. */
static bool joins_heads(const rlx_idiom *p, rlx_node id, rlx_node *wide) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  if (n->op != RLX_OP_reshape || n->type.shape.n != 3) return false;
  *wide = n->in[0];
  const rlx_dims *from = rlx_idiom_shape(p, *wide);
  const int64_t *to = n->type.shape.v;
  if (rlx_dims_count(from) == 0) return false; /* if one size is zero, the product of the others may overflow */
  return from->n == 4 && from->v[0] * from->v[1] == to[0] && from->v[2] == to[1] && from->v[3] == to[2];
}

/* matmul(join(a), join(b)) is join(matmul(a, b)). */
rlx_node rlx_idiom_joined_product(rlx_idiom *p, const rlx_node_rec *n) {
  rlx_node wide[2];
  for (int i = 0; i < 2; i++)
    if (!joins_heads(p, n->in[i], &wide[i])) return RLX_NONE;
  const rlx_dims *a = rlx_idiom_shape(p, wide[0]), *b = rlx_idiom_shape(p, wide[1]);
  if (a->v[0] != b->v[0] || a->v[1] != b->v[1]) return RLX_NONE;
  rlx_node y = rlx_graph_add(p->to, RLX_OP_matmul, wide, 2, n->attrs);
  return rlx_op_reshape(p->to, y, n->type.shape);
}

/* softmax(reshape(x)) is reshape(softmax(x)) if the last axis is unchanged; masks of x are handled as for any softmax.
 * Before opset 13 of ONNX every softmax has two axes, with a reshape before and after. */
rlx_node rlx_idiom_joined_softmax(rlx_idiom *p, const rlx_node_rec *n) {
  int64_t axis = RLX_ATTRS(softmax, n)->axis;
  const rlx_node_rec *flat = rlx_idiom_inner(p, n->in[0], RLX_OP_reshape, 1);
  if (!flat || (axis != -1 && axis != n->type.shape.n - 1)) return RLX_NONE;
  rlx_node x = flat->in[0];
  const rlx_dims *from = rlx_idiom_shape(p, x), *to = &n->type.shape;
  if (from->n == 0 || rlx_dims_count(from) == 0 || from->v[from->n - 1] != to->v[to->n - 1]) return RLX_NONE;
  rlx_attrs_softmax last = {.axis = -1};
  rlx_node_rec wide = {.op = RLX_OP_softmax, .n_in = 1, .in = &x, .attrs = &last, .type = rlx_idiom_at(p, x)->type};
  rlx_node y = rlx_idiom_mask(p, &wide);
  return rlx_op_reshape(p->to, y ? y : rlx_op_softmax(p->to, x, -1), n->type.shape);
}

/* A reshape of a reshape, which remains where merging and splitting meet. */
rlx_node rlx_idiom_reshape_twice(rlx_idiom *p, const rlx_node_rec *n) {
  const rlx_node_rec *inner = rlx_idiom_inner(p, n->in[0], RLX_OP_reshape, 1);
  if (!inner) return RLX_NONE;
  rlx_node x = inner->in[0];
  return rlx_dims_equal(rlx_idiom_shape(p, x), &n->type.shape) ? x : rlx_op_reshape(p->to, x, n->type.shape);
}

/* ---- a scale before the heads ---- */

/* transpose(reshape(x c)) of [B, S, H, D], c a constant, is transpose(reshape(x)) c, bit for bit. */
rlx_node rlx_idiom_head_scale(rlx_idiom *p, const rlx_node_rec *n) {
  rlx_dims perm = rlx_perm_of(&RLX_ATTRS(transpose, n)->perm, n->type.shape.n);
  if (perm.n != 4 || perm.v[0] != 0 || perm.v[1] != 2) return RLX_NONE;
  const rlx_node_rec *heads = rlx_idiom_inner(p, n->in[0], RLX_OP_reshape, 1);
  const rlx_node_rec *scaled = heads ? rlx_idiom_at(p, heads->in[0]) : NULL;
  double number;
  rlx_node x;
  if (!scaled || (scaled->op != RLX_OP_mul && scaled->op != RLX_OP_div) || p->uses.v[heads->in[0]] != 1)
    return RLX_NONE;
  if (!rlx_idiom_operand(p, scaled, &number, &x) || (scaled->op == RLX_OP_div && x != scaled->in[0])) return RLX_NONE;
  rlx_op op = scaled->op;
  rlx_node in[2] = {scaled->in[0], scaled->in[1]};
  rlx_dims split = heads->type.shape;
  int at = in[0] == x ? 0 : 1;
  if (rlx_idiom_shape(p, in[1 - at])->n > 4) return RLX_NONE;
  in[at] = rlx_op_transpose(p->to, rlx_op_reshape(p->to, x, split), perm);
  return rlx_graph_add(p->to, op, in, 2, NULL);
}
