/* Fuses the attention of a decode step with what comes before it: one new position per batch row, whose q, k and v are
 * heads of one tensor.
 *
 *   rows [B, 1, H + 2 Hkv, D] -> q: slice, norm, rope ---------------------------> attention
 *                             -> k: slice, norm, rope, update of a state at `at` ----^
 *                             -> v: slice, update of a state at `at` ----------------^
 *
 * The fused node reads rows and the states before their updates, and computes the new key itself. So the updates, which
 * stay, are read by nothing in this run, and no longer come between the product and attention. The planner lets readers
 * of a state's old value run before its update (plan/states.c).
 *
 * Attention must see exactly the keys up to `at`: their number is at + 1, or a causal mask with the offset `at` hides
 * the others, and both may be given. Rope's positions must be `at`. These are compared as nodes of the graph: a value
 * that only happens to be the same is not recognised. Ropes and norms with other readers stay for them. */
#include "ir/element.h"
#include "ir/walk.h"
#include "pass/fuse.h"

enum { X, POSITIONS, OFFSET, FACTORS, COSINES, SINES };     /* inputs of rope */
enum { STATE, ROWS, AT };                                   /* of update */
enum { Q, K, V, KEY_MASK, BIAS, SINKS, KV_LEN, KV_OFFSET }; /* of attention */

static rlx_node input_of(const rlx_node_rec *n, uint32_t i) { return i < n->n_in ? n->in[i] : RLX_NONE; }

/* ---- positions ---- */

/* The node whose elements these are, under another shape. */
static rlx_node without_reshapes(const rlx_fuse *f, rlx_node id) {
  while (rlx_fuse_at(f, id)->op == RLX_OP_reshape) id = rlx_fuse_at(f, id)->in[0];
  return id;
}

/* Whether a node has the same elements as `at`. */
static bool is_at(const rlx_fuse *f, rlx_node id, rlx_node at) {
  return id && without_reshapes(f, id) == without_reshapes(f, at);
}

static bool is_one(const rlx_fuse *f, rlx_node id) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  if (n->op != RLX_OP_constant || n->type.dtype != RLX_I32 || rlx_dims_count(&n->type.shape) != 1) return false;
  const rlx_tensor t = {.dtype = RLX_I32, .data = RLX_ATTRS(constant, n)->data->data};
  return rlx_load_int(&t, 0) == 1;
}

/* Whether a node is at + 1. */
static bool is_after(const rlx_fuse *f, rlx_node id, rlx_node at) {
  const rlx_node_rec *sum = rlx_fuse_at(f, without_reshapes(f, id));
  if (sum->op != RLX_OP_add || rlx_dims_count(&sum->type.shape) != rlx_dims_count(rlx_fuse_shape(f, at))) return false;
  return (is_at(f, sum->in[0], at) && is_one(f, sum->in[1])) || (is_at(f, sum->in[1], at) && is_one(f, sum->in[0]));
}

static bool sees_up_to(const rlx_fuse *f, const rlx_node_rec *attention, rlx_node at) {
  rlx_node len = input_of(attention, KV_LEN), offset = input_of(attention, KV_OFFSET);
  const bool is_causal = RLX_ATTRS(attention, attention)->causal;
  if (len && !is_after(f, len, at)) return false;
  if (is_causal && offset && !is_at(f, offset, at)) return false;
  return len || (is_causal && offset);
}

/* ---- q, k and v ---- */

/* Some heads of a tensor, possibly normalised and rotated. */
typedef struct piece {
  rlx_node whole;
  int64_t first, n;
  const rlx_node_rec *rope, *norm; /* NULL: none */
} piece;

static rlx_node skip_slice(const rlx_fuse *f, rlx_node id, piece *p) {
  int64_t first;
  if (!rlx_fuse_cuts_heads(f, rlx_fuse_at(f, id), &first)) return id;
  p->first += first;
  return rlx_fuse_at(f, id)->in[0];
}

/* id: [B, 1, n, D]. Norm and rope work head by head, so heads may be selected before or after them. */
static piece read_piece(const rlx_fuse *f, rlx_node id, bool is_rotated) {
  piece p = {.n = rlx_fuse_shape(f, id)->v[2]};
  id = skip_slice(f, id, &p);
  if (is_rotated && rlx_fuse_at(f, id)->op == RLX_OP_rope) {
    p.rope = rlx_fuse_at(f, id);
    p.norm = rlx_fuse_norm_before(f, p.rope->in[X]);
    id = skip_slice(f, p.norm ? p.norm->in[0] : p.rope->in[X], &p);
  }
  p.whole = id;
  return p;
}

/* Whether a rope rotates by `at`, as fused_rope_attention does. */
static bool rotates_by(const rlx_fuse *f, const rlx_node_rec *rope, rlx_node at) {
  if (!rope || RLX_ATTRS(rope, rope)->layout != RLX_LAYOUT_BSHD || input_of(rope, COSINES)) return false;
  rlx_node given = input_of(rope, POSITIONS);
  return is_at(f, given ? given : input_of(rope, OFFSET), at);
}

static bool is_same_rotation(const piece *a, const piece *b) {
  const rlx_attrs_rope *r = RLX_ATTRS(rope, a->rope), *s = RLX_ATTRS(rope, b->rope);
  if (r->style != s->style || r->n_rot != s->n_rot || r->theta != s->theta) return false;
  if (input_of(a->rope, FACTORS) != input_of(b->rope, FACTORS) || !a->norm != !b->norm) return false;
  return !a->norm || RLX_ATTRS(rms_norm, a->norm)->eps == RLX_ATTRS(rms_norm, b->norm)->eps;
}

/* Whether the pieces are all of one tensor, in order. */
static bool covers_whole(const rlx_fuse *f, const piece *q, const piece *k, const piece *v) {
  return q->whole == k->whole && q->whole == v->whole && q->first == 0 && k->first == q->n &&
         v->first == k->first + k->n && v->first + v->n == rlx_fuse_shape(f, q->whole)->v[2];
}

/* An update of a state [B, C, H, D] by a row per batch row; NULL: none. */
static const rlx_node_rec *read_update(const rlx_fuse *f, rlx_node id) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  if (n->op != RLX_OP_update || RLX_ATTRS(update, n)->axis != 1 || rlx_dtype_is_block(n->type.dtype)) return NULL;
  return rlx_update_is_packed(rlx_fuse_shape(f, n->in[STATE]), rlx_fuse_shape(f, n->in[ROWS])) ? NULL : n;
}

static bool has_only_lengths(const rlx_node_rec *attention) {
  for (uint32_t i = KEY_MASK; i <= SINKS; i++)
    if (input_of(attention, i)) return false;
  return RLX_ATTRS(attention, attention)->layout == RLX_LAYOUT_BSHD;
}

bool rlx_fuse_rope_attention(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *attention = rlx_fuse_at(f, root);
  const rlx_node_rec *keys = read_update(f, attention->in[K]), *values = read_update(f, attention->in[V]);
  if (!keys || !values || keys->in[AT] != values->in[AT] || !has_only_lengths(attention)) return false;
  rlx_node at = keys->in[AT];
  if (attention->type.shape.v[1] != 1 || rlx_fuse_at(f, at)->type.dtype != RLX_I32) return false;
  piece q = read_piece(f, attention->in[Q], true), k = read_piece(f, keys->in[ROWS], true),
        v = read_piece(f, values->in[ROWS], false);
  if (!rotates_by(f, q.rope, at) || !rotates_by(f, k.rope, at) || !is_same_rotation(&q, &k)) return false;
  if (!covers_whole(f, &q, &k, &v) || !sees_up_to(f, attention, at)) return false;
  const rlx_attrs_rope *rope = RLX_ATTRS(rope, q.rope);
  const rlx_attrs_attention *a = RLX_ATTRS(attention, attention);
  m->op = RLX_OP_fused_rope_attention;
  m->attrs.fused_rope_attention_ =
    (rlx_attrs_fused_rope_attention){.style = rope->style,
                                     .n_rot = rope->n_rot,
                                     .theta = rope->theta,
                                     .norm = q.norm != NULL,
                                     .eps = q.norm ? RLX_ATTRS(rms_norm, q.norm)->eps : 1e-5,
                                     .scale = a->scale,
                                     .softcap = a->softcap,
                                     .window = a->window};
  rlx_match_add(m, q.whole);
  rlx_match_add(m, keys->in[STATE]);
  rlx_match_add(m, values->in[STATE]);
  rlx_match_add(m, at);
  rlx_match_add(m, input_of(q.rope, FACTORS));
  rlx_match_add(m, q.norm ? q.norm->in[1] : RLX_NONE);
  rlx_match_add(m, k.norm ? k.norm->in[1] : RLX_NONE);
  return true;
}
