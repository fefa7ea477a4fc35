/* Heads of attention: brought into the one shape that fuse looks for, [B, H, S, D].
 *
 * Older exporters join batch and heads, [B H, S, D], multiply in rank 3, and go back to rank 4 to add the mask. A
 * product of two tensors whose first two axes were joined alike is the joined product of what they were, and the same
 * holds of a softmax over the last axis; so the joining moves down until it meets the splitting, and both go. And a
 * scale of q that stands before its heads are split goes behind that, where fuse takes it for the scale of the scores.
 * No number is computed otherwise than before: results are the same to the bit. */
#include "pass/idiom.h"

/* ---- joined axes ---- */

/* Whether a node is a reshape that joins the first two of four axes; *wide is what it reshapes. */
static bool joins_heads(const rlx_idiom *p, rlx_node id, rlx_node *wide) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  if (n->op != RLX_OP_reshape || n->type.shape.n != 3) return false;
  *wide = n->in[0];
  const rlx_dims *from = rlx_idiom_shape(p, *wide);
  const int64_t *to = n->type.shape.v;
  if (rlx_dims_count(from) == 0) return false; /* sizes beside a zero may be too large to multiply */
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

/* softmax(reshape(x)) is reshape(softmax(x)) where the last axis stays; masks of x are seen to, as those of any softmax.
 * Before opset 13 of ONNX every softmax is of two axes, with a reshape before and behind. */
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

/* A reshape of a reshape, which the joining leaves where it meets the splitting. */
rlx_node rlx_idiom_reshape_twice(rlx_idiom *p, const rlx_node_rec *n) {
  const rlx_node_rec *inner = rlx_idiom_inner(p, n->in[0], RLX_OP_reshape, 1);
  if (!inner) return RLX_NONE;
  rlx_node x = inner->in[0];
  return rlx_dims_equal(rlx_idiom_shape(p, x), &n->type.shape) ? x : rlx_op_reshape(p->to, x, n->type.shape);
}

/* ---- a scale before the heads ---- */

/* transpose(reshape(x c)) of [B, S, H, D], c a number: transpose(reshape(x)) c, which is the same to the bit. */
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
