/* Rules about element positions: reshape, transpose, slice, concat, expand and the like, and the transpose of a matmul.
 *
 * Each op is first resolved (a permutation without negative axes, a range per axis). Two consecutive ones are composed
 * in that form, and an op whose resolved form is the identity is replaced by its input. */
#include <string.h>

#include "ir/infer.h"
#include "ir/slice.h"
#include "pass/simplify.h"

/* ---- ops that do nothing ---- */

static rlx_rule_result drop_if(rlx_draft *d, bool does_nothing) {
  return does_nothing ? rlx_draft_done(d, d->in[0]) : RLX_RULE_NO;
}

static bool all_are(const rlx_dims *list, int64_t value) {
  for (int i = 0; i < list->n; i++)
    if (list->v[i] != value) return false;
  return true;
}

static rlx_rule_result drop_tile(rlx_simplifier *s, rlx_draft *d) {
  (void)s;
  return drop_if(d, all_are(&d->attrs.tile_.reps, 1));
}

static rlx_rule_result drop_pad(rlx_simplifier *s, rlx_draft *d) {
  (void)s;
  return drop_if(d, all_are(&d->attrs.pad_.lo, 0) && all_are(&d->attrs.pad_.hi, 0));
}

static rlx_rule_result drop_roll(rlx_simplifier *s, rlx_draft *d) {
  (void)s;
  const rlx_attrs_roll *a = &d->attrs.roll_;
  bool nothing = true;
  for (int i = 0; i < a->shifts.n; i++) {
    int64_t size = d->type.shape.v[rlx_axis_of(a->axes.v[i], d->type.shape.n)];
    nothing = nothing && (size < 2 || a->shifts.v[i] % size == 0);
  }
  return drop_if(d, nothing);
}

static rlx_rule_result drop_reverse(rlx_simplifier *s, rlx_draft *d) {
  (void)s;
  const rlx_dims *axes = &d->attrs.reverse_.axes, *shape = &d->type.shape;
  bool nothing = true;
  for (int i = 0; i < (axes->n ? axes->n : shape->n); i++)
    nothing = nothing && shape->v[axes->n ? rlx_axis_of(axes->v[i], shape->n) : i] < 2;
  return drop_if(d, nothing);
}

static rlx_rule_result drop_view_and_back(rlx_simplifier *s, rlx_draft *d) {
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  rlx_op back = d->op == RLX_OP_view_as_real ? RLX_OP_view_as_complex : RLX_OP_view_as_real;
  return x->op == back ? rlx_draft_done(d, x->in[0]) : RLX_RULE_NO;
}

/* ---- reshape ---- */

static rlx_rule_result reshape(rlx_simplifier *s, rlx_draft *d) {
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  if (rlx_dims_equal(&x->type.shape, &d->type.shape)) return rlx_draft_done(d, d->in[0]);
  if (x->op != RLX_OP_reshape) return RLX_RULE_NO;
  return rlx_draft_becomes_unary(d, RLX_OP_reshape, x->in[0],
                                 &(rlx_attrs_reshape){d->type.shape}); /* a -1 may resolve to another size now */
}

/* ---- transpose ---- */

/* Whether the axes with more than one element keep their order: then no element moves. */
static bool moves_nothing(const rlx_dims *perm, const rlx_dims *from) {
  int64_t last = -1;
  for (int i = 0; i < perm->n; i++) {
    if (from->v[perm->v[i]] == 1) continue;
    if (perm->v[i] < last) return false;
    last = perm->v[i];
  }
  return true;
}

static rlx_rule_result transpose(rlx_simplifier *s, rlx_draft *d) {
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  rlx_dims perm = rlx_perm_of(&d->attrs.transpose_.perm, x->type.shape.n);
  if (moves_nothing(&perm, &x->type.shape)) /* the reshape rule drops it if the sizes are unchanged too */
    return rlx_draft_becomes_unary(d, RLX_OP_reshape, d->in[0], &(rlx_attrs_reshape){d->type.shape});
  if (x->op != RLX_OP_transpose) return RLX_RULE_NO;
  rlx_dims inner = rlx_perm_of(&RLX_ATTRS(transpose, x)->perm, x->type.shape.n), both = inner;
  for (int i = 0; i < perm.n; i++) both.v[i] = inner.v[perm.v[i]];
  return rlx_draft_becomes_unary(d, RLX_OP_transpose, x->in[0], &(rlx_attrs_transpose){both});
}

/* matmul(a, transpose(b)) is matmul(a, b) with trans_b toggled, if only the last two axes are exchanged. */
static rlx_rule_result matmul_transposed(rlx_simplifier *s, rlx_draft *d) {
  const rlx_node_rec *b = rlx_draft_in(s, d, 1);
  if (b->op != RLX_OP_transpose) return RLX_RULE_NO;
  int rank = b->type.shape.n;
  rlx_dims perm = rlx_perm_of(&RLX_ATTRS(transpose, b)->perm, rank);
  for (int i = 0; i < rank; i++)
    if (perm.v[i] != (i < rank - 2 ? i : 2 * rank - 3 - i)) return RLX_RULE_NO;
  d->in[1] = b->in[0];
  d->attrs.matmul_.trans_b = !d->attrs.matmul_.trans_b;
  return RLX_RULE_CHANGED;
}

/* ---- expand ---- */

static rlx_rule_result expand(rlx_simplifier *s, rlx_draft *d) {
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  if (rlx_dims_equal(&x->type.shape, &d->type.shape)) return rlx_draft_done(d, d->in[0]);
  if (x->op != RLX_OP_expand) return RLX_RULE_NO;
  return rlx_draft_becomes_unary(d, RLX_OP_expand, x->in[0], &(rlx_attrs_expand){d->type.shape});
}

/* Removes expand from inputs of a broadcasting op, unless it determines the result's shape. */
static rlx_rule_result drop_expanded_input(rlx_simplifier *s, rlx_draft *d) {
  for (uint32_t i = 0; i < d->n_in; i++) {
    const rlx_node_rec *x = rlx_draft_in(s, d, i);
    if (x->op != RLX_OP_expand) continue;
    rlx_dims shape = rlx_graph_at(s->to, x->in[0])->type.shape;
    bool fits = true;
    for (uint32_t k = 0; k < d->n_in && fits; k++)
      if (k != i) fits = rlx_dims_broadcast(s->to, &shape, rlx_draft_shape(s, d, k)) == RLX_OK;
    if (!fits || !rlx_dims_equal(&shape, &d->type.shape)) continue;
    d->in[i] = x->in[0];
    return RLX_RULE_CHANGED;
  }
  return RLX_RULE_NO;
}

/* ---- slice and concat ---- */

typedef struct cuts {
  rlx_slice_axis axis[RLX_MAX_RANK];
} cuts;

static bool is_whole(const cuts *c, const rlx_dims *shape) {
  for (int i = 0; i < shape->n; i++)
    if (c->axis[i].start != 0 || c->axis[i].step != 1 || c->axis[i].count != shape->v[i]) return false;
  return true;
}

/* The attributes of a slice with these ranges. */
static rlx_attrs_slice slice_attrs(const cuts *c, const rlx_dims *shape) {
  rlx_attrs_slice a = {.axes = {.n = 0}};
  bool steps = false;
  for (int i = 0; i < shape->n; i++) {
    rlx_slice_axis cut = c->axis[i];
    if (cut.start == 0 && cut.step == 1 && cut.count == shape->v[i]) continue;
    int at = a.axes.n++;
    a.axes.v[at] = i;
    a.start.v[at] = cut.start;
    a.step.v[at] = cut.step;
    int64_t stop = cut.start + cut.count * cut.step;
    a.stop.v[at] =
      /* the position before the first, written so that counting from the end yields it */
      stop < 0 ? -shape->v[i] - 1 : stop;
    steps = steps || cut.step != 1;
  }
  a.start.n = a.stop.n = a.axes.n;
  a.step.n = steps ? a.axes.n : 0;
  return a;
}

static rlx_rule_result slice(rlx_simplifier *s, rlx_draft *d) {
  const rlx_node_rec *x = rlx_draft_in(s, d, 0);
  cuts outer, inner;
  if (rlx_slice_resolve(&d->attrs.slice_, &x->type.shape, outer.axis) != RLX_OK) return RLX_RULE_NO;
  if (is_whole(&outer, &x->type.shape)) return rlx_draft_done(d, d->in[0]);
  if (x->op != RLX_OP_slice) return RLX_RULE_NO;
  const rlx_dims *shape = &rlx_graph_at(s->to, x->in[0])->type.shape;
  if (rlx_slice_resolve(RLX_ATTRS(slice, x), shape, inner.axis) != RLX_OK) return RLX_RULE_NO;
  for (int i = 0; i < shape->n; i++) {
    rlx_slice_axis *o = &outer.axis[i];
    if (o->count == 0) continue;
    o->start = inner.axis[i].start + o->start * inner.axis[i].step; /* all inside the axis, so nothing overflows */
    if (o->count > 1) o->step *= inner.axis[i].step;
  }
  rlx_attrs_slice a = slice_attrs(&outer, shape);
  return rlx_draft_becomes_unary(d, RLX_OP_slice, x->in[0], &a);
}

/* The ranges of a slice; false if the node is not a slice. */
static bool read_cuts(const rlx_simplifier *s, rlx_node id, cuts *c) {
  const rlx_node_rec *n = rlx_graph_at(s->to, id);
  if (n->op != RLX_OP_slice) return false;
  return rlx_slice_resolve(RLX_ATTRS(slice, n), &rlx_graph_at(s->to, n->in[0])->type.shape, c->axis) == RLX_OK;
}

/* Whether y's range directly follows x's along the axis, with equal ranges on all others. */
static bool is_next_piece(const cuts *x, const cuts *y, int axis, int rank) {
  for (int i = 0; i < rank; i++) {
    const rlx_slice_axis *a = &x->axis[i], *b = &y->axis[i];
    bool fits = i == axis ? a->step == 1 && b->step == 1 && b->start == a->start + a->count
                          : a->start == b->start && a->step == b->step && a->count == b->count;
    if (!fits) return false;
  }
  return true;
}

/* One slice (or the whole tensor) for a run of adjacent slices. */
static rlx_node join_pieces(rlx_simplifier *s, rlx_node tensor, const cuts *c) {
  const rlx_dims *shape = &rlx_graph_at(s->to, tensor)->type.shape;
  if (is_whole(c, shape)) return tensor;
  rlx_attrs_slice a = slice_attrs(c, shape);
  return rlx_simplify_add(s, RLX_OP_slice, &tensor, 1, &a);
}

/* The number of inputs from `at` on that are adjacent slices of one tensor (at least 1), and the node that replaces
 * them. */
static uint32_t take_run(rlx_simplifier *s, const rlx_draft *d, uint32_t at, int axis, rlx_node *joined) {
  cuts run, next;
  uint32_t n = 1;
  *joined = d->in[at];
  if (!read_cuts(s, d->in[at], &run)) return 1;
  rlx_node tensor = rlx_draft_in(s, d, at)->in[0];
  for (; at + n < d->n_in && read_cuts(s, d->in[at + n], &next); n++) {
    bool follows = rlx_draft_in(s, d, at + n)->in[0] == tensor && is_next_piece(&run, &next, axis, d->type.shape.n);
    if (!follows) break;
    run.axis[axis].count += next.axis[axis].count;
  }
  if (n > 1) *joined = join_pieces(s, tensor, &run);
  return n;
}

static rlx_rule_result concat(rlx_simplifier *s, rlx_draft *d) {
  int axis = rlx_axis_of(d->attrs.concat_.axis, d->type.shape.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < d->n_in;) {
    /* at least one must stay */
    bool is_empty = rlx_draft_shape(s, d, i)->v[axis] == 0, is_needed = n == 0 && i + 1 == d->n_in;
    if (is_empty && !is_needed) {
      i++;
      continue;
    }
    rlx_node part;
    i += take_run(s, d, i, axis, &part);
    if (!part) return RLX_RULE_FAILED;
    d->in[n++] = part;
  }
  if (n == 1) return rlx_draft_done(d, d->in[0]);
  if (n == d->n_in) return RLX_RULE_NO;
  d->n_in = n;
  return RLX_RULE_CHANGED;
}

/* ---- the rules of each op ---- */

static const rlx_rule rules[RLX_OP_COUNT] = {
  [RLX_OP_tile] = drop_tile,
  [RLX_OP_pad] = drop_pad,
  [RLX_OP_roll] = drop_roll,
  [RLX_OP_reverse] = drop_reverse,
  [RLX_OP_view_as_real] = drop_view_and_back,
  [RLX_OP_view_as_complex] = drop_view_and_back,
  [RLX_OP_reshape] = reshape,
  [RLX_OP_transpose] = transpose,
  [RLX_OP_matmul] = matmul_transposed,
  [RLX_OP_expand] = expand,
  [RLX_OP_slice] = slice,
  [RLX_OP_concat] = concat,
};

rlx_rule_result rlx_simplify_layout(rlx_simplifier *s, rlx_draft *d) {
  if (rules[d->op]) return rules[d->op](s, d);
  bool broadcasts = rlx_op_table_get(d->op)->shape == rlx_op_table_get(RLX_OP_add)->shape;
  return broadcasts ? drop_expanded_input(s, d) : RLX_RULE_NO;
}
