/* Idioms of attention masks: converts them to scores + mask, the form that fuse recognises as a bias.
 *
 * Scores are hidden by where(mask, scores, -inf), with a large negative number instead of -inf, or with the branches
 * exchanged. After softmax that is the same as adding 0 for a visible key and -inf for a hidden one, except in a row
 * without visible keys: with -inf it is NaN (attention defines 0), with a number it is the mean of all values, and
 * stays so if the added number is so large that it absorbs the scores. If a constant mask leaves each row a visible
 * key, it becomes a constant of 0 and -inf, which fuse may recognise as causal.
 *
 * scores + bias + mask, as in window attention and relative positions, becomes scores + (bias + mask). */
#include <math.h>

#include "ir/element.h"
#include "pass/idiom.h"

/* A number at most this hides a score: e^-10000 is 0 in every type, whatever the other scores. */
static const double hiding_bound = -1e4;
/* Absorbs any score in f32 and bf16 when added to it, and stays finite. */
static const double absorbing = -0x1p126;

/* matmul(q, k), possibly scaled, that only the idiom reads. */
static bool is_scores(const rlx_idiom *p, rlx_node id) {
  for (int depth = 0; depth < 3 && p->uses.v[id] == 1; depth++) {
    const rlx_node_rec *n = rlx_idiom_at(p, id);
    double number;
    rlx_node other;
    if (n->op == RLX_OP_matmul) return n->type.shape.n == 3 || n->type.shape.n == 4;
    if ((n->op != RLX_OP_mul && n->op != RLX_OP_div) || !rlx_idiom_operand(p, n, &number, &other)) return false;
    if (n->op == RLX_OP_div && other != n->in[0]) return false;
    id = other;
  }
  return false;
}

/* ---- where ---- */

/* where(mask, scores, hidden), or with `visible` false where(mask, hidden, scores). */
typedef struct hiding {
  rlx_node mask, scores;
  double hidden;
  bool visible;
} hiding;

static bool read_hiding(const rlx_idiom *p, const rlx_node_rec *where, hiding *h) {
  for (int side = 1; side < 3; side++) {
    *h = (hiding){.mask = where->in[0], .scores = where->in[side], .visible = side == 1};
    if (!rlx_idiom_number(p, where->in[3 - side], &h->hidden) || !(h->hidden <= hiding_bound)) continue;
    if (rlx_dims_equal(rlx_idiom_shape(p, h->scores), &where->type.shape) && is_scores(p, h->scores)) return true;
  }
  return false;
}

/* The bias of a constant mask; 0 if it hides a whole row. */
static rlx_node constant_bias(rlx_idiom *p, const hiding *h, rlx_dtype dtype) {
  const rlx_node_rec *n = rlx_idiom_at(p, h->mask);
  rlx_tensor from = {.dtype = RLX_BOOL, .data = RLX_ATTRS(constant, n)->data->data};
  rlx_dims shape = n->type.shape;
  size_t count = rlx_dims_count(&shape), width = shape.n ? (size_t)shape.v[shape.n - 1] : 1, seen = 0;
  rlx_blob *blob = rlx_blob_create(count * rlx_dtype_size(dtype));
  if (!blob) return rlx_graph_set_error(p->to, RLX_FAIL(RLX_NO_MEMORY, "a mask of %zu elements", count));
  rlx_tensor to = {.dtype = dtype, .data = blob->data};
  bool blind = width == 0;
  for (size_t i = 0; i < count && !blind; i++) {
    bool visible = (rlx_load_int(&from, i) != 0) == h->visible;
    rlx_store(&to, i, visible ? 0 : -RLX_INFINITY);
    seen += visible;
    if ((i + 1) % width) continue;
    blind = seen == 0;
    seen = 0;
  }
  rlx_attrs_constant attrs = {.data = blob, .dtype = dtype, .shape = shape};
  rlx_node made = blind ? RLX_NONE : rlx_graph_add(p->to, RLX_OP_constant, NULL, 0, &attrs);
  rlx_blob_release(blob);
  return made;
}

/* The bias of a run-time mask. In f16 no finite number absorbs every score. */
static rlx_node run_time_bias(rlx_idiom *p, const hiding *h, rlx_dtype dtype) {
  if (!isinf(h->hidden) && dtype == RLX_F16) return RLX_NONE;
  rlx_node none = rlx_op_scalar(p->to, dtype, 0),
           low = rlx_op_scalar(p->to, dtype, isinf(h->hidden) ? -RLX_INFINITY : absorbing);
  return h->visible ? rlx_op_where(p->to, h->mask, none, low) : rlx_op_where(p->to, h->mask, low, none);
}

static rlx_node add_hiding(rlx_idiom *p, const rlx_node_rec *where) {
  hiding h;
  rlx_dtype dtype = where->type.dtype;
  if (!read_hiding(p, where, &h)) return RLX_NONE;
  bool constant = rlx_idiom_at(p, h.mask)->op == RLX_OP_constant;
  rlx_node bias = constant ? constant_bias(p, &h, dtype) : RLX_NONE;
  if (!bias && !(constant && isinf(h.hidden))) bias = run_time_bias(p, &h, dtype);
  return bias ? rlx_op_add(p->to, h.scores, bias) : RLX_NONE;
}

/* ---- two biases ---- */

static rlx_node join_biases(rlx_idiom *p, const rlx_node_rec *sum) {
  if (sum->type.dtype == RLX_F16) return RLX_NONE; /* the sum of two masks might overflow */
  for (int i = 0; i < 4; i++) {
    rlx_node outer = sum->in[1 - i / 2], scores;
    const rlx_node_rec *inner = rlx_idiom_inner(p, sum->in[i / 2], RLX_OP_add, 1);
    if (!inner || !rlx_dims_equal(&inner->type.shape, &sum->type.shape)) continue;
    scores = inner->in[i % 2];
    rlx_node first = inner->in[1 - i % 2];
    if (!rlx_dims_equal(rlx_idiom_shape(p, scores), &sum->type.shape) || !is_scores(p, scores)) continue;
    rlx_node both = rlx_op_add(p->to, first, outer);
    return rlx_op_add(p->to, scores, both);
  }
  return RLX_NONE;
}

rlx_node rlx_idiom_mask(rlx_idiom *p, const rlx_node_rec *n) {
  int64_t axis = RLX_ATTRS(softmax, n)->axis;
  const rlx_node_rec *x = rlx_idiom_at(p, n->in[0]);
  if ((axis != -1 && axis != n->type.shape.n - 1) || p->uses.v[n->in[0]] != 1) return RLX_NONE;
  rlx_node sum = x->op == RLX_OP_where ? add_hiding(p, x) : x->op == RLX_OP_add ? join_biases(p, x) : RLX_NONE;
  return sum ? rlx_op_softmax(p->to, sum, -1) : RLX_NONE;
}
