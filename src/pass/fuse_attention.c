/* Fuses attention from its primitives: matmul(softmax(matmul(q, k^T) * scale + mask), v).
 *
 * The scale may be applied before the product (to q or k, or part to each) or after it, as a multiplication or division
 * by a constant. An added mask becomes the bias. A constant mask that is exactly causal (0 and -inf) becomes the flag
 * `causal` instead, and so does where(triangle, scores, -inf). Tensors of rank 3 [N, S, D] are attention with one head.
 * If k was repeated for grouped-query attention, the unrepeated tensor is used. If q, k, v and the result are all
 * transposed between [B, S, H, D] and [B, H, S, D], the layout bshd replaces the transposes (rlx_fuse_attention_bshd).
 *
 * By its definition `attention` differs from the primitives in two cases: a row with no visible key is zero, not NaN,
 * and the value of a hidden key (-inf) is not read, where 0 times NaN or infinity would be NaN. So a constant mask with
 * a row that hides every key is not fused, unless NaN is replaced by zeros after the softmax. */
#include <math.h>
#include <string.h>

#include "ir/element.h"
#include "ir/walk.h"
#include "pass/fuse.h"

enum { LAYOUT_BSHD, LAYOUT_BHSD };
enum { Q, K, V };

/* ---- scales ---- */

static bool one_number(const rlx_fuse *f, rlx_node id, double *value) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  if (n->op != RLX_OP_constant || !rlx_dtype_is_float(n->type.dtype) || rlx_dims_count(&n->type.shape) != 1)
    return false;
  rlx_tensor t = {.dtype = n->type.dtype, .data = RLX_ATTRS(constant, n)->data->data};
  *value = rlx_load(&t, 0);
  return true;
}

/* Skips multiplications and divisions by a constant: *id is the scaled value, *scale the combined factor. */
static void peel_scales(const rlx_fuse *f, rlx_match *m, rlx_node *id, double *scale) {
  for (int depth = 0; depth < 2; depth++) {
    const rlx_node_rec *n = rlx_fuse_at(f, *id);
    if ((n->op != RLX_OP_mul && n->op != RLX_OP_div) || !rlx_fuse_may_take(f, *id)) return;
    double c;
    int side = n->op == RLX_OP_mul && one_number(f, n->in[0], &c) ? 1 : one_number(f, n->in[1], &c) ? 0 : 2;
    if (side == 2 || !rlx_dims_equal(rlx_fuse_shape(f, n->in[side]), &n->type.shape)) return;
    rlx_match_take(m, *id);
    *scale = n->op == RLX_OP_mul ? *scale * c : *scale / c;
    *id = n->in[side];
  }
}

/* ---- masks ---- */

enum { MASK_OTHER, MASK_CAUSAL, MASK_BLIND_ROW };

/* Whether key j is visible to query i under the causal rule, where the last query sees all keys. */
static bool is_visible(int64_t i, int64_t j, int64_t rows, int64_t columns) { return j <= i + columns - rows; }

static double mask_value(const rlx_tensor *t, size_t i) {
  if (t->dtype == RLX_BOOL) return rlx_load_int(t, i) ? 0 : -RLX_INFINITY;
  return rlx_load(t, i);
}

/* Classifies a constant mask for scores of [.., rows, columns]. */
static int classify_mask(const rlx_tensor *t, int64_t rows, int64_t columns) {
  const rlx_dims *shape = &t->shape;
  size_t count = rlx_tensor_count(t), width = shape->n ? (size_t)shape->v[shape->n - 1] : 1;
  bool causal = shape->n >= 2 && shape->v[shape->n - 2] == rows && (int64_t)width == columns &&
                (int64_t)count == rows * columns && columns >= rows;
  for (size_t row = 0; width && row < count / width; row++) {
    bool sees_any = false;
    for (size_t j = 0; j < width; j++) {
      double x = mask_value(t, row * width + j);
      bool hidden = isinf(x) && x < 0;
      sees_any = sees_any || !hidden;
      causal = causal && (is_visible((int64_t)row, (int64_t)j, rows, columns) ? x == 0 : hidden);
    }
    if (!sees_any) return MASK_BLIND_ROW;
  }
  return causal ? MASK_CAUSAL : MASK_OTHER;
}

static int judge_constant(rlx_fuse *f, rlx_node id, int64_t rows, int64_t columns) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  const rlx_blob *blob = RLX_ATTRS(constant, n)->data;
  if (f->mask.blob != blob || f->mask.rows != rows || f->mask.columns != columns) {
    rlx_tensor t = {.dtype = n->type.dtype, .shape = n->type.shape, .data = blob->data, .bytes = blob->bytes};
    f->mask.verdict = classify_mask(&t, rows, columns);
    f->mask.blob = blob;
    f->mask.rows = rows;
    f->mask.columns = columns;
  }
  return f->mask.verdict;
}

/* ---- the scores: matmul(q, k^T), scaled and masked ---- */

typedef struct scores {
  rlx_fuse_in q, k;
  rlx_node bias;
  double scale;
  bool causal;
} scores;

/* k from k^T: skips a transpose in the graph, with its last two axes exchanged. */
static void untranspose(const rlx_fuse *f, rlx_fuse_in *k) {
  const rlx_node_rec *n = rlx_fuse_at(f, k->node);
  int rank = n->type.shape.n;
  rlx_dims perm = {.n = rank};
  for (int i = 0; i < rank; i++) perm.v[i] = i;
  if (n->op == RLX_OP_transpose) {
    perm = rlx_perm_of(&RLX_ATTRS(transpose, n)->perm, rank);
    k->shared = f->w.uses[k->node] != 1;
    k->node = n->in[0];
  }
  int64_t last = perm.v[rank - 1];
  perm.v[rank - 1] = perm.v[rank - 2];
  perm.v[rank - 2] = last;
  bool is_identity = true;
  for (int i = 0; i < rank; i++) is_identity = is_identity && perm.v[i] == i;
  if (!is_identity) k->perm = perm;
}

static bool match_product(const rlx_fuse *f, rlx_node id, rlx_match *m, scores *s) {
  peel_scales(f, m, &id, &s->scale);
  const rlx_node_rec *n = rlx_fuse_inner(f, id, RLX_OP_matmul);
  if (!n || n->type.shape.n < 3 || n->type.shape.n > 4) return false;
  rlx_match_take(m, id);
  s->q.node = n->in[0];
  s->k.node = n->in[1];
  peel_scales(f, m, &s->q.node, &s->scale);
  peel_scales(f, m, &s->k.node, &s->scale);
  if (!RLX_ATTRS(matmul, n)->trans_b) {
    if (rlx_fuse_shape(f, s->k.node)->n < 2) return false;
    untranspose(f, &s->k);
    if (!s->k.perm.n) peel_scales(f, m, &s->k.node, &s->scale);
  }
  return s->scale != 0 && isfinite(s->scale);
}

/* scores + bias. A failed attempt leaves m unchanged. */
static bool match_biased(rlx_fuse *f, const rlx_node_rec *add, bool guarded, rlx_match *m, scores *s) {
  const rlx_dims *shape = &add->type.shape;
  uint32_t n_inner = m->n_inner;
  for (int side = 0; side < 2; side++) {
    rlx_node product = add->in[side], bias = add->in[1 - side];
    *s = (scores){.scale = 1};
    m->n_inner = n_inner;
    if (!rlx_dims_equal(rlx_fuse_shape(f, product), shape) || !match_product(f, product, m, s)) continue;
    int kind = rlx_fuse_at(f, bias)->op == RLX_OP_constant
                 ? judge_constant(f, bias, shape->v[shape->n - 2], shape->v[shape->n - 1])
                 : MASK_OTHER;
    s->causal = kind == MASK_CAUSAL;
    s->bias = s->causal ? RLX_NONE : bias;
    return kind != MASK_BLIND_ROW || guarded;
  }
  return false;
}

/* where(causal triangle, scores, -inf) */
static bool match_hidden(rlx_fuse *f, const rlx_node_rec *where, rlx_match *m, scores *s) {
  const rlx_dims *shape = &where->type.shape;
  double hidden;
  if (rlx_fuse_at(f, where->in[0])->op != RLX_OP_constant || !one_number(f, where->in[2], &hidden) || !isinf(hidden) ||
      hidden > 0)
    return false;
  if (!rlx_dims_equal(rlx_fuse_shape(f, where->in[1]), shape)) return false;
  s->causal = judge_constant(f, where->in[0], shape->v[shape->n - 2], shape->v[shape->n - 1]) == MASK_CAUSAL;
  return s->causal && match_product(f, where->in[1], m, s);
}

static bool match_scores(rlx_fuse *f, rlx_node id, bool guarded, rlx_match *m, scores *s) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  *s = (scores){.scale = 1};
  if (!rlx_fuse_may_take(f, id)) return false;
  if (n->op != RLX_OP_add && n->op != RLX_OP_where) return match_product(f, id, m, s);
  rlx_match_take(m, id);
  return n->op == RLX_OP_add ? match_biased(f, n, guarded, m, s) : match_hidden(f, n, m, s);
}

/* ---- heads ---- */

static rlx_dims shape_of(const rlx_fuse *f, const rlx_fuse_in *x) {
  rlx_dims shape = *rlx_fuse_shape(f, x->node);
  for (int i = 0; i < x->perm.n; i++) shape.v[i] = rlx_fuse_shape(f, x->node)->v[x->perm.v[i]];
  return shape;
}

/* [N, S, D] as [N, 1, S, D]. */
static void add_head_axis(const rlx_fuse *f, rlx_fuse_in *x) {
  rlx_dims s = shape_of(f, x);
  if (s.n != 3) return;
  x->reshaped = true;
  x->shape = RLX_DIMS(s.v[0], 1, s.v[1], s.v[2]);
}

/* k or v repeated for its group of query heads: reshape(expand(reshape x to [B, Hkv, 1, S, D]) to [B, Hkv, G, S, D]) to
 * [B, Hkv G, S, D]. Returns x, or 0 if the pattern does not match. */
static rlx_node before_repeat(const rlx_fuse *f, rlx_node id) {
  const rlx_node_rec *whole = rlx_fuse_at(f, id);
  if (whole->op != RLX_OP_reshape) return RLX_NONE;
  const rlx_node_rec *wide = rlx_fuse_at(f, whole->in[0]);
  if (wide->op != RLX_OP_expand || wide->type.shape.n != 5) return RLX_NONE;
  const rlx_node_rec *split = rlx_fuse_at(f, wide->in[0]);
  if (split->op != RLX_OP_reshape || split->type.shape.n != 5 || split->type.shape.v[2] != 1) return RLX_NONE;
  const int64_t *w = whole->type.shape.v, *e = wide->type.shape.v, *p = split->type.shape.v,
                *x = rlx_fuse_shape(f, split->in[0])->v;
  bool fits = whole->type.shape.n == 4 && rlx_fuse_shape(f, split->in[0])->n == 4 && p[0] == e[0] && p[1] == e[1] &&
              p[3] == e[3] && p[4] == e[4] && w[0] == e[0] && w[1] == e[1] * e[2] && w[2] == e[3] && w[3] == e[4] &&
              x[0] == p[0] && x[1] == p[1] && x[2] == p[3] && x[3] == p[4];
  return fits ? split->in[0] : RLX_NONE;
}

/* Uses the unrepeated k and v. */
static void undo_repeat(const rlx_fuse *f, rlx_fuse_in *k, rlx_fuse_in *v) {
  if (k->perm.n) return;
  rlx_node grouped_k = before_repeat(f, k->node), grouped_v = before_repeat(f, v->node);
  if (!grouped_k || !grouped_v || rlx_fuse_shape(f, grouped_k)->v[1] != rlx_fuse_shape(f, grouped_v)->v[1]) return;
  *k = (rlx_fuse_in){.node = grouped_k, .shared = true};
  *v = (rlx_fuse_in){.node = grouped_v, .shared = true};
}

/* ---- the patterns ---- */

/* where(p != p, 0, p): zeros for a row of NaN, as attention defines it. *id becomes p, which has no other reader. */
static bool match_guard(const rlx_fuse *f, rlx_match *m, rlx_node *id) {
  const rlx_node_rec *where = rlx_fuse_inner(f, *id, RLX_OP_where);
  const rlx_node_rec *is_nan = where ? rlx_fuse_inner(f, where->in[0], RLX_OP_ne) : NULL;
  double zero;
  if (!is_nan || is_nan->in[0] != is_nan->in[1] || is_nan->in[0] != where->in[2]) return false;
  if (!one_number(f, where->in[1], &zero) || zero != 0) return false;
  if (!rlx_dims_equal(rlx_fuse_shape(f, where->in[2]), &where->type.shape)) return false;
  if (f->w.uses[where->in[2]] != 3 || !rlx_fuse_is_free(f, where->in[2])) return false;
  rlx_match_take(m, *id);
  rlx_match_take(m, where->in[0]);
  *id = where->in[2];
  return true;
}

bool rlx_fuse_attention(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *product = rlx_fuse_at(f, root);
  if (product->op != RLX_OP_matmul || RLX_ATTRS(matmul, product)->trans_b) return false;
  rlx_node weights = product->in[0];
  bool guarded = match_guard(f, m, &weights);
  const rlx_node_rec *soft = rlx_fuse_at(f, weights);
  if (soft->op != RLX_OP_softmax || (!guarded && !rlx_fuse_may_take(f, weights)) ||
      (RLX_ATTRS(softmax, soft)->axis != -1 && RLX_ATTRS(softmax, soft)->axis != soft->type.shape.n - 1))
    return false;
  rlx_match_take(m, weights);
  scores s;
  if (!match_scores(f, soft->in[0], guarded, m, &s)) return false;
  rlx_fuse_in v = {.node = product->in[1]}, bias = {.node = s.bias};
  rlx_dims q_shape = shape_of(f, &s.q), k_shape = shape_of(f, &s.k), v_shape = shape_of(f, &v);
  if (q_shape.n != k_shape.n || q_shape.n != v_shape.n) return false; /* attention's shape rule checks the rest */
  if (q_shape.n == 4) undo_repeat(f, &s.k, &v);
  add_head_axis(f, &s.q);
  add_head_axis(f, &s.k);
  add_head_axis(f, &v);
  if (s.bias && q_shape.n == 3) add_head_axis(f, &bias);
  m->op = RLX_OP_attention;
  m->attrs.attention_ = (rlx_attrs_attention){.layout = LAYOUT_BHSD, .scale = s.scale, .causal = s.causal};
  m->in[m->n_in++] = s.q;
  m->in[m->n_in++] = s.k;
  m->in[m->n_in++] = v;
  if (s.bias) {
    m->in[m->n_in++] = (rlx_fuse_in){.node = RLX_NONE};
    m->in[m->n_in++] = bias;
  }
  return true;
}

static bool is_head_swap(const rlx_dims *perm) {
  return perm->n == 4 && perm->v[0] == 0 && perm->v[1] == 2 && perm->v[2] == 1 && perm->v[3] == 3;
}

bool rlx_fuse_before_head_swap(const rlx_fuse *f, rlx_fuse_in *x) {
  const rlx_node_rec *n = rlx_fuse_at(f, x->node);
  if (x->reshaped || n->type.shape.n != 4) return false;
  if (x->perm.n) { /* a transpose that the match would add */
    if (!is_head_swap(&x->perm)) return false;
    x->perm.n = 0;
    return true;
  }
  if (n->op != RLX_OP_transpose || !is_head_swap(&RLX_ATTRS(transpose, n)->perm)) return false;
  *x = (rlx_fuse_in){.node = n->in[0], .shared = x->shared || f->w.uses[x->node] != 1};
  return true;
}

/* An attention node of either layout, or the pattern above, as a match with the layout [B, H, S, D] or its own. */
bool rlx_fuse_read_attention(rlx_fuse *f, rlx_node id, rlx_match *m) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  if (!rlx_fuse_may_take(f, id)) return false;
  rlx_match_take(m, id);
  if (n->op != RLX_OP_attention) return rlx_fuse_attention(f, id, m);
  m->op = n->op;
  m->attrs.attention_ = *RLX_ATTRS(attention, n);
  for (uint32_t i = 0; i < n->n_in; i++) rlx_match_add(m, n->in[i]);
  return true;
}

bool rlx_fuse_attention_bshd(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *n = rlx_fuse_at(f, root);
  if (!is_head_swap(&RLX_ATTRS(transpose, n)->perm) || !rlx_fuse_read_attention(f, n->in[0], m)) return false;
  if (m->attrs.attention_.layout != LAYOUT_BHSD) return false;
  for (int i = Q; i <= V; i++)
    if (!rlx_fuse_before_head_swap(f, &m->in[i])) return false;
  m->attrs.attention_.layout = LAYOUT_BSHD;
  return true;
}
