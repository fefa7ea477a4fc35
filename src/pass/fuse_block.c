/* Fuses the attention block: one product for q, k and v, their split into heads, attention, and the output product.
 *
 *   x [B, S, E] -> matmul (+ bias) -> [B, S, (H + 2 Hkv) D] -> three slices -> [B, S, heads, D] -> attention
 *     -> [B, S, H D] -> matmul (+ bias) -> [B, S, E]
 *
 * The split may slice the last axis and then reshape each part into heads, or reshape first and slice the axis of
 * heads. Attention may be a node or its primitives, with or without the transposes around it. Masks other than causal,
 * a soft cap or sinks are not part of the fused op. The values in between must have no other reader: a model that keeps
 * k and v in a KV cache has no such block. */
#include "ir/slice.h"
#include "pass/fuse.h"

enum { LAYOUT_BSHD, LAYOUT_BHSD };
enum { Q, K, V };

/* q, k or v as a slice of the joint product. */
typedef struct piece {
  rlx_node whole; /* what was sliced: the product [B, S, W], or its heads [B, S, W / D, D] */
  int64_t start;  /* in elements of W */
  int64_t heads, size;
} piece;

/* The range of a slice, which must be on axis 2 alone. */
static bool read_cut(const rlx_fuse *f, const rlx_node_rec *slice, rlx_slice_axis *cut) {
  const rlx_dims *shape = rlx_fuse_shape(f, slice->in[0]);
  rlx_slice_axis axis[RLX_MAX_RANK];
  if (shape->n < 3 || rlx_slice_resolve(RLX_ATTRS(slice, slice), shape, axis) != RLX_OK) return false;
  for (int i = 0; i < shape->n; i++)
    if (axis[i].step != 1 || (i != 2 && axis[i].count != shape->v[i])) return false;
  *cut = axis[2];
  return true;
}

/* id: a tensor [B, S, heads, D]. */
static bool read_piece(const rlx_fuse *f, rlx_node id, rlx_match *m, piece *p) {
  const rlx_node_rec *heads = rlx_fuse_at(f, id);
  rlx_slice_axis cut;
  if (!rlx_fuse_may_take(f, id) || heads->type.shape.n != 4) return false;
  rlx_match_take(m, id);
  p->heads = heads->type.shape.v[2];
  p->size = heads->type.shape.v[3];
  const rlx_node_rec *slice = heads;
  if (heads->op == RLX_OP_reshape) {
    slice = rlx_fuse_inner(f, heads->in[0], RLX_OP_slice);
    if (!slice || slice->type.shape.n != 3) return false;
    for (int i = 0; i < 2; i++)
      if (slice->type.shape.v[i] != heads->type.shape.v[i]) return false;
    rlx_match_take(m, heads->in[0]);
  }
  if (slice->op != RLX_OP_slice || !read_cut(f, slice, &cut)) return false;
  p->whole = slice->in[0];
  p->start = slice == heads ? cut.start * p->size : cut.start;
  return true;
}

/* Whether the slices cover the joint product in order, and nothing else reads it. */
static bool pieces_fit(const rlx_fuse *f, const piece *p) {
  const rlx_dims *whole = rlx_fuse_shape(f, p[Q].whole);
  int64_t width = whole->n == 3 ? whole->v[2] : whole->v[2] * whole->v[3], at = 0;
  for (int i = Q; i <= V; i++) {
    if (p[i].whole != p[Q].whole || p[i].size != p[Q].size || p[i].start != at) return false;
    at += p[i].heads * p[i].size;
  }
  return at == width && p[K].heads == p[V].heads && f->w.uses[p[Q].whole] == 3 && rlx_fuse_is_free(f, p[Q].whole);
}

/* The joint product that the slices read. */
static bool read_joint(rlx_fuse *f, rlx_node whole, rlx_match *m, rlx_product_match *out) {
  const rlx_node_rec *n = rlx_fuse_at(f, whole);
  rlx_match_take(m, whole);
  if (n->type.shape.n == 3) return rlx_fuse_product(f, whole, true, m, out); /* its three readers are the slices */
  if (n->op != RLX_OP_reshape || rlx_fuse_shape(f, n->in[0])->n != 3) return false;
  for (int i = 0; i < 2; i++)
    if (rlx_fuse_shape(f, n->in[0])->v[i] != n->type.shape.v[i]) return false;
  return rlx_fuse_product(f, n->in[0], false, m, out);
}

/* The attention that the output product reads, with inputs as [B, S, heads, D]. */
static bool read_attention(rlx_fuse *f, rlx_node joined, rlx_match *m) {
  const rlx_node_rec *n = rlx_fuse_inner(f, joined, RLX_OP_reshape);
  if (!n) return false;
  rlx_match_take(m, joined);
  const rlx_dims *heads = rlx_fuse_shape(f, n->in[0]);
  if (heads->n != 4 || n->type.shape.n != 3 || n->type.shape.v[0] != heads->v[0] || n->type.shape.v[1] != heads->v[1])
    return false;
  rlx_fuse_in result = {.node = n->in[0]};
  bool swapped = rlx_fuse_may_take(f, n->in[0]) && rlx_fuse_before_head_swap(f, &result);
  if (swapped) rlx_match_take(m, n->in[0]);
  if (!rlx_fuse_read_attention(f, result.node, m)) return false;
  const rlx_attrs_attention *a = &m->attrs.attention_;
  if (a->layout != (swapped ? LAYOUT_BHSD : LAYOUT_BSHD) || a->softcap != 0 || a->window != 0) return false;
  for (uint32_t i = 3; i < m->n_in; i++)
    if (m->in[i].node) return false;
  for (int i = Q; i <= V; i++) {
    if (swapped && !rlx_fuse_before_head_swap(f, &m->in[i])) return false;
    if (m->in[i].shared || m->in[i].perm.n || m->in[i].reshaped) return false;
  }
  return true;
}

bool rlx_fuse_attention_block(rlx_fuse *f, rlx_node root, rlx_match *m) {
  rlx_product_match out, joint;
  piece p[3];
  if (!rlx_fuse_product(f, root, true, m, &out) || !read_attention(f, out.a, m)) return false;
  for (int i = Q; i <= V; i++)
    if (!read_piece(f, m->in[i].node, m, &p[i])) return false;
  if (!pieces_fit(f, p) || !read_joint(f, p[Q].whole, m, &joint) || joint.trans_b != out.trans_b) return false;
  const rlx_dims *x = rlx_fuse_shape(f, joint.a);
  if (x->n != 3) return false;
  rlx_attrs_attention a = m->attrs.attention_;
  bool even = p[Q].heads > 0 && x->v[2] == p[Q].heads * p[Q].size;
  m->op = RLX_OP_fused_attention_block;
  m->attrs.fused_attention_block_ =
    (rlx_attrs_fused_attention_block){.heads = p[Q].heads,
                                      .kv_heads = p[K].heads == p[Q].heads ? 0 : p[K].heads,
                                      .head_dim = even ? 0 : p[Q].size,
                                      .trans_b = out.trans_b,
                                      .causal = a.causal,
                                      .scale = a.scale};
  m->n_in = 0;
  rlx_match_add(m, joint.a);
  rlx_match_add(m, joint.b);
  rlx_match_add(m, out.b);
  rlx_match_add_in(m, joint.bias);
  rlx_match_add_in(m, out.bias);
  while (!m->in[m->n_in - 1].node) m->n_in--;
  return true;
}
