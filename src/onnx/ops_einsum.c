/* Einsum: any number of operands, with repeated labels (diagonals) and an ellipsis.
 *
 * Operands are multiplied from left to right. Labels that no later step needs are summed out before a product, or
 * contracted in it if both sides have them. So each step is a dot_general, or an element-wise product if nothing is
 * contracted. The axes of an ellipsis get labels of their own, counted from the right so that they align. */
#include <string.h>

#include "onnx/carry.h"
#include "onnx/ops.h"

enum { LETTERS = 52, LABELS = LETTERS + RLX_MAX_RANK, MAX_TERMS = 64 };

/* An operand: the label of each axis. */
typedef struct term {
  rlx_node n;
  int label[RLX_MAX_RANK];
  int rank;
} term;

typedef struct equation {
  onnx_call *c;
  onnx_type type;
  term in[MAX_TERMS];
  uint32_t n;
  int64_t size[LABELS]; /* -1: the label is not used */
  int uses[LABELS];
  int out[RLX_MAX_RANK], n_out;
  int n_ellipsis;
} equation;

static int find(const term *t, int label) {
  for (int i = 0; i < t->rank; i++)
    if (t->label[i] == label) return i;
  return -1;
}

/* ---- reading ---- */

/* The next label of a text: a letter, an ellipsis (LABELS), or none (-1: end of the term; -2: anything else). Upper
 * case comes first, as in ASCII. */
static int next_label(const char **p) {
  while (**p == ' ') ++*p;
  char ch = **p;
  if (!ch || ch == ',' || (ch == '-' && (*p)[1] == '>')) return -1;
  if (strncmp(*p, "...", 3) == 0) return *p += 3, LABELS;
  if (ch >= 'A' && ch <= 'Z') return ++*p, ch - 'A';
  if (ch >= 'a' && ch <= 'z') return ++*p, 26 + ch - 'a';
  return -2;
}

static rlx_status bad_equation(const char *text) {
  return RLX_FAIL(RLX_INVALID, "attribute 'equation' is '%.100s'", text);
}

/* Letters of a term, and how many stand before its ellipsis (-1: it has none). */
static rlx_status read_labels(const char *text, const char **p, int *label, int *n, int *before) {
  int l;
  *n = 0;
  *before = -1;
  while ((l = next_label(p)) >= 0) {
    if (l == LABELS) {
      if (*before >= 0) return bad_equation(text);
      *before = *n;
      continue;
    }
    if (*n == RLX_MAX_RANK) return RLX_FAIL(RLX_UNSUPPORTED, "more than %d labels in a term", RLX_MAX_RANK);
    label[(*n)++] = l;
  }
  return l == -1 ? RLX_OK : bad_equation(text);
}

static rlx_status size_label(equation *e, int label, int64_t size) {
  int64_t *have = &e->size[label];
  if (*have < 0 || *have == 1) *have = size;
  else if (size != 1 && size != *have)
    return RLX_FAIL(RLX_INVALID, "a label stands for %lld and for %lld elements", (long long)*have, (long long)size);
  return RLX_OK;
}

static rlx_status read_term(equation *e, const char *text, const char **p) {
  int letters[RLX_MAX_RANK], n, before;
  RLX_TRY(read_labels(text, p, letters, &n, &before));
  if (e->n == e->c->n_in) return bad_equation(text);
  rlx_dims shape = onnx_shape(e->c, e->n);
  int hidden = shape.n - n; /* axes of the ellipsis */
  if (hidden < 0 || (hidden && before < 0))
    return RLX_FAIL(RLX_INVALID, "term %u names %d axes of %d", (unsigned)e->n, n, (int)shape.n);
  term *t = &e->in[e->n++];
  t->rank = shape.n;
  for (int i = 0, k = 0; i < shape.n; i++) {
    bool is_hidden = before >= 0 && i >= before && i < before + hidden;
    t->label[i] = is_hidden ? LETTERS + hidden - 1 - (i - before) : letters[k++];
    if (!is_hidden) e->uses[t->label[i]]++;
    RLX_TRY(size_label(e, t->label[i], shape.v[i]));
  }
  if (hidden > e->n_ellipsis) e->n_ellipsis = hidden;
  return RLX_OK;
}

static rlx_status put_out(equation *e, int label) {
  for (int i = 0; i < e->n_out; i++)
    if (e->out[i] == label) return RLX_FAIL(RLX_INVALID, "a label comes twice in the result");
  if (e->size[label] < 0) return RLX_FAIL(RLX_INVALID, "a label of the result is in no term");
  if (e->n_out == RLX_MAX_RANK) return RLX_FAIL(RLX_UNSUPPORTED, "a result of more than %d axes", RLX_MAX_RANK);
  e->out[e->n_out++] = label;
  return RLX_OK;
}

static rlx_status put_ellipsis(equation *e) {
  for (int i = e->n_ellipsis; i-- > 0;) RLX_TRY(put_out(e, LETTERS + i));
  return RLX_OK;
}

static rlx_status read_out(equation *e, const char *text, const char **p) {
  int letters[RLX_MAX_RANK], n, before;
  RLX_TRY(read_labels(text, p, letters, &n, &before));
  for (int i = 0; i <= n; i++) {
    if (i == before) RLX_TRY(put_ellipsis(e));
    if (i < n) RLX_TRY(put_out(e, letters[i]));
  }
  return **p ? bad_equation(text) : RLX_OK;
}

static rlx_status read_equation(equation *e, const char *text) {
  const char *p = text;
  for (;;) {
    RLX_TRY(read_term(e, text, &p));
    if (*p != ',') break;
    p++;
  }
  if (e->n != e->c->n_in) return RLX_FAIL(RLX_INVALID, "%u terms for %u inputs", (unsigned)e->n, (unsigned)e->c->n_in);
  if (*p) return p += 2, read_out(e, text, &p);
  RLX_TRY(put_ellipsis(e)); /* without a right side: what comes once, by its letter */
  for (int l = 0; l < LETTERS; l++)
    if (e->uses[l] == 1) RLX_TRY(put_out(e, l));
  return RLX_OK;
}

/* ---- one operand ---- */

static void drop_axis(term *t, int axis) {
  for (int i = axis; i + 1 < t->rank; i++) t->label[i] = t->label[i + 1];
  t->rank--;
}

/* The diagonal of axes a < b: side by side at the end they are one of n * n, of which every (n + 1)th is on it. */
static void take_diagonal(equation *e, term *t, int a, int b) {
  rlx_graph *g = e->c->g;
  rlx_dims shape = rlx_node_shape(g, t->n), perm = RLX_SCALAR, flat = RLX_SCALAR;
  int label = t->label[a];
  int64_t n = shape.v[a];
  for (int i = 0; i < t->rank; i++)
    if (i != a && i != b) perm.v[perm.n++] = i, flat.v[flat.n++] = shape.v[i];
  perm.v[perm.n++] = a;
  perm.v[perm.n++] = b;
  flat.v[flat.n++] = n * n;
  rlx_op_slice_desc d = {RLX_OP_SLICE_DESC_INIT, RLX_DIMS(flat.n - 1), RLX_DIMS(0), RLX_DIMS(n * n), RLX_DIMS(n + 1)};
  t->n = rlx_op_slice(g, rlx_op_reshape(g, rlx_op_transpose(g, t->n, perm), flat), &d);
  drop_axis(t, b);
  drop_axis(t, a);
  t->label[t->rank++] = label;
}

/* One axis per label, and none of one element that others have more of. */
static rlx_status prepare(equation *e, term *t) {
  rlx_graph *g = e->c->g;
  for (int a = 0; a < t->rank; a++)
    for (int b = a + 1; b < t->rank; b++) {
      if (t->label[a] != t->label[b]) continue;
      rlx_dims shape = rlx_node_shape(g, t->n);
      if (shape.v[a] != shape.v[b])
        return RLX_FAIL(RLX_INVALID, "a diagonal of %lld by %lld", (long long)shape.v[a], (long long)shape.v[b]);
      take_diagonal(e, t, a, b);
      a = -1; /* the labels have moved */
      break;
    }
  rlx_dims shape = rlx_node_shape(g, t->n);
  int kept = 0;
  for (int i = 0; i < t->rank; i++) {
    if (shape.v[i] == 1 && e->size[t->label[i]] != 1) continue;
    shape.v[kept] = shape.v[i];
    t->label[kept++] = t->label[i];
  }
  if (kept == t->rank) return RLX_OK;
  shape.n = t->rank = kept;
  t->n = rlx_op_reshape(g, t->n, shape);
  return RLX_OK;
}

static bool is_needed(const equation *e, int label, uint32_t from) {
  for (int i = 0; i < e->n_out; i++)
    if (e->out[i] == label) return true;
  for (uint32_t k = from; k < e->n; k++)
    if (find(&e->in[k], label) >= 0) return true;
  return false;
}

/* Sums out what neither `other` nor anything from operand `from` on has. */
static void sum_out(equation *e, term *t, const term *other, uint32_t from) {
  rlx_dims axes = RLX_SCALAR;
  int kept = 0;
  for (int i = 0; i < t->rank; i++) {
    if ((other && find(other, t->label[i]) >= 0) || is_needed(e, t->label[i], from)) t->label[kept++] = t->label[i];
    else axes.v[axes.n++] = i;
  }
  t->rank = kept;
  if (axes.n) t->n = onnx_wrap(e->c, rlx_op_reduce_sum(e->c->g, t->n, axes, false), e->type);
}

/* ---- two operands ---- */

/* t with its axes in the order of these labels, and axes of one where it has none. */
static rlx_node lay_out(equation *e, const term *t, const int *label, int n) {
  rlx_graph *g = e->c->g;
  rlx_dims perm = RLX_SCALAR, shape = {.n = n}, own = rlx_node_shape(g, t->n);
  for (int i = 0; i < n; i++) {
    int at = find(t, label[i]);
    shape.v[i] = at < 0 ? 1 : own.v[at];
    if (at >= 0) perm.v[perm.n++] = at;
  }
  rlx_node x = perm.n > 1 ? rlx_op_transpose(g, t->n, perm) : t->n;
  return rlx_op_reshape(g, x, shape);
}

/* Labels of a product in dot_general's order: of both operands, of a only, of b only; then the contracted ones. */
static int order_labels(equation *e, const term *a, const term *b, uint32_t from, int *label, int *n_kept) {
  int n = 0;
  for (int pass = 0; pass < 4; pass++) {
    const term *t = pass == 2 ? b : a, *other = pass == 2 ? a : b;
    if (pass == 3) *n_kept = n;
    for (int i = 0; i < t->rank; i++) {
      bool both = find(other, t->label[i]) >= 0, kept = !both || is_needed(e, t->label[i], from);
      bool now = pass == 0 ? both && kept : pass == 3 ? !kept : !both;
      if (now) label[n++] = t->label[i];
    }
  }
  return n;
}

static void contract(equation *e, term *a, const term *b, const int *label, int n, int n_kept) {
  rlx_op_dot_general_desc d = {RLX_OP_DOT_GENERAL_DESC_INIT};
  for (int i = 0; i < n; i++) {
    int at_a = find(a, label[i]), at_b = find(b, label[i]);
    if (at_a < 0 || at_b < 0) continue;
    rlx_dims *da = i < n_kept ? &d.batch_a : &d.contract_a, *db = i < n_kept ? &d.batch_b : &d.contract_b;
    da->v[da->n++] = at_a;
    db->v[db->n++] = at_b;
  }
  a->n = rlx_op_dot_general(e->c->g, a->n, b->n, &d);
}

/* a becomes a times b. Without sums, and of integers, it is a product that broadcasts. */
static rlx_status multiply(equation *e, term *a, term *b, uint32_t from) {
  int label[2 * RLX_MAX_RANK], n_kept = 0;
  rlx_graph *g = e->c->g;
  sum_out(e, a, b, from);
  sum_out(e, b, a, from);
  int n = order_labels(e, a, b, from, label, &n_kept);
  if (n_kept > RLX_MAX_RANK) return onnx_refuse(e->c, "a product of %d axes", n_kept);
  if (n > n_kept && onnx_type_is_float(e->type)) {
    contract(e, a, b, label, n, n_kept);
  } else {
    rlx_dims axes = {.n = n - n_kept}, all = {.n = n};
    if (n > RLX_MAX_RANK) return onnx_refuse(e->c, "a product of %d axes", n);
    for (int i = 0; i < n; i++) all.v[i] = e->size[label[i]];
    RLX_TRY(onnx_check_size(e->c, &all));
    for (int i = 0; i < axes.n; i++) axes.v[i] = n_kept + i;
    a->n = rlx_op_mul(g, lay_out(e, a, label, n), lay_out(e, b, label, n));
    if (axes.n) a->n = rlx_op_reduce_sum(g, a->n, axes, false);
    a->n = onnx_wrap(e->c, a->n, e->type);
  }
  memcpy(a->label, label, (size_t)n_kept * sizeof *label);
  a->rank = n_kept;
  return rlx_graph_status(g);
}

rlx_status onnx_op_einsum(onnx_call *c) {
  const char *text;
  equation *e = onnx_alloc(c->imp, 1, sizeof *e);
  if (!e) return RLX_FAIL(RLX_NO_MEMORY, "an equation");
  if (c->n_in > MAX_TERMS) return onnx_refuse(c, "of %u operands", (unsigned)c->n_in);
  *e = (equation){.c = c, .type = onnx_in_type(c, 0)};
  for (int i = 0; i < LABELS; i++) e->size[i] = -1;
  RLX_TRY(onnx_text_of(c, "equation", NULL, &text));
  if (!text) return RLX_FAIL(RLX_INVALID, "attribute 'equation' is missing");
  for (uint32_t i = 0; i < c->n_in; i++)
    if (!c->in[i]) return RLX_FAIL(RLX_INVALID, "input %u is left out", (unsigned)i);
  RLX_TRY(onnx_same_type(c, c->n_in));
  RLX_TRY(read_equation(e, text));
  for (uint32_t i = 0; i < e->n; i++) {
    e->in[i].n = onnx_in(c, i);
    RLX_TRY(prepare(e, &e->in[i]));
  }
  term *y = &e->in[0];
  for (uint32_t i = 1; i < e->n; i++) RLX_TRY(multiply(e, y, &e->in[i], i + 1));
  sum_out(e, y, NULL, e->n);
  return onnx_set_like(c, 0, lay_out(e, y, e->out, e->n_out), 0);
}
