/* Shape rules of the ops that move elements by position alone: reshape, transpose, slice, concat, expand, tile, pad,
 * reverse, roll, trilu, space/depth and the complex views.
 *
 * A size given by an attribute is a number or a symbol of the graph, checked by expect_size. Sizes derived from sizes
 * go through the rlx_dim_* helpers, so an open size stays open. reshape cancels the sizes that both sides have in
 * common. */
#include "base/arith.h"
#include "ir/infer.h"
#include "ir/slice.h"

/* ---- sizes from attributes ---- */

/* A size of an attribute: a number or a symbol (which the graph has: attributes are checked before rules run). */
static rlx_status expect_size(const char *what, int i, int64_t d) {
  if (d >= 0 || rlx_dim_is_symbol(d)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s[%d] is %lld but must not be negative", what, i, (long long)d);
}

static rlx_status expect_entries(const char *what, const rlx_dims *list, const rlx_dims *x) {
  if (list->n == x->n) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s has %d entries but x is %s: one per axis is needed", what, (int)list->n,
                  RLX_DIMS_TEXT(*x));
}

/* a / b for a number b > 0; open sizes pass. */
static bool dim_divide(const rlx_graph *g, int64_t a, int64_t b, int64_t *out) {
  if (b == 1) *out = a;
  else if (rlx_dim_is_open(a)) *out = rlx_size_div(g, a, b);
  else if (a % b) return false;
  else *out = a / b;
  return true;
}

/* ---- reshape ---- */

/* One side of a reshape after cancelling: the product of its numbers and what is open. */
typedef struct side {
  int64_t numbers; /* product */
  int64_t open;    /* the open size, if there is one */
  int n_open;
} side;

static bool side_add(side *s, int64_t d) {
  if (!rlx_dim_is_open(d)) return rlx_mul_i64(s->numbers, d, &s->numbers);
  s->open = d;
  s->n_open++;
  return true;
}

/* Cancels sizes that both shapes have, one for one, and multiplies the rest. Equal sizes cancel even if they are 0, or
 * a symbol that may be bound to 0: so [B,64] -> [B,-1,16] means the same for every B. Two unknown sizes are not known
 * to be equal. wild is the index of the -1, or negative. */
static bool cancel(const rlx_dims *from, const rlx_dims *to, int wild, side *a, side *b) {
  bool taken[RLX_MAX_RANK] = {false};
  *a = *b = (side){.numbers = 1};
  for (int i = 0; i < to->n; i++) {
    if (i == wild) continue;
    int k = 0;
    while (k < from->n && (taken[k] || from->v[k] != to->v[i] || to->v[i] == RLX_DIM_UNKNOWN)) k++;
    if (k < from->n) taken[k] = true;
    else if (!side_add(b, to->v[i])) return false;
  }
  for (int k = 0; k < from->n; k++)
    if (!taken[k] && !side_add(a, from->v[k])) return false;
  return true;
}

static bool has_zero(const rlx_dims *d) {
  for (int i = 0; i < d->n; i++)
    if (d->v[i] == 0) return true;
  return false;
}

/* Of all sizes but one, by the graph's algebra. */
static int64_t product(const rlx_graph *g, const rlx_dims *d, int without) {
  int64_t p = 1;
  for (int i = 0; i < d->n; i++)
    if (i != without) p = rlx_size_mul(g, p, d->v[i]);
  return p;
}

rlx_status rlx_shape_reshape(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  rlx_dims to = RLX_ATTRS(reshape, c)->shape;
  rlx_dtype dtype = rlx_infer_in(c, 0)->dtype;
  int wild = -1;
  bool keeps_rows = x->n && to.n && x->v[x->n - 1] == to.v[to.n - 1];
  if (rlx_dtype_is_block(dtype) && !(rlx_type_in(RLX_TYPES_STATE_BLOCK, dtype) && keeps_rows))
    return RLX_FAIL(RLX_INVALID, "%s keeps its last axis, and only q8_0 and q4_0 are reshaped", rlx_dtype_name(dtype));
  for (int i = 0; i < to.n; i++) {
    if (to.v[i] != -1) RLX_TRY(expect_size("shape", i, to.v[i]));
    else if (wild >= 0) return RLX_FAIL(RLX_INVALID, "shape has -1 at %d and at %d; one is allowed", wild, i);
    else wild = i;
  }
  side a, b;
  if (!cancel(x, &to, wild, &a, &b))
    return RLX_FAIL(RLX_INVALID, "the elements of %s or %s are too many to count", RLX_DIMS_TEXT(*x),
                    RLX_DIMS_TEXT(to));
  bool open = a.n_open || b.n_open;
  if (wild < 0) {
    bool both_empty = has_zero(x) && has_zero(&to);
    if (!open && a.numbers != b.numbers && !both_empty)
      return RLX_FAIL(RLX_INVALID, "x is %s, which does not have the elements of %s", RLX_DIMS_TEXT(*x),
                      RLX_DIMS_TEXT(to));
  } else if (open) {
    bool same = a.n_open == 1 && b.n_open == 0 && a.numbers == b.numbers && a.numbers > 0;
    to.v[wild] = same ? a.open : rlx_size_div(c->graph, product(c->graph, x, -1), product(c->graph, &to, wild));
  } else if (b.numbers == 0) {
    return RLX_FAIL(RLX_INVALID, "x is %s and shape %s: any size would do for the -1", RLX_DIMS_TEXT(*x),
                    RLX_DIMS_TEXT(to));
  } else if (a.numbers % b.numbers) {
    return RLX_FAIL(RLX_INVALID, "x is %s and shape %s: no whole size fits the -1", RLX_DIMS_TEXT(*x),
                    RLX_DIMS_TEXT(to));
  } else {
    to.v[wild] = a.numbers / b.numbers;
  }
  c->out.shape = to;
  return RLX_OK;
}

/* ---- axes permuted, cut or repeated ---- */

rlx_status rlx_shape_transpose(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0), *perm = &RLX_ATTRS(transpose, c)->perm;
  c->out.shape = *x;
  uint32_t bits;
  if (perm->n) RLX_TRY(expect_entries("perm", perm, x));
  RLX_TRY(rlx_axes_resolve(perm, x->n, false, &bits));
  rlx_dims from = rlx_perm_of(perm, x->n);
  for (int i = 0; i < x->n; i++) c->out.shape.v[i] = x->v[from.v[i]];
  return RLX_OK;
}

/* A slice's end in 0 .. n, by the graph's algebra. */
static int64_t clamp_open(const rlx_graph *g, int64_t at, int64_t n) {
  bool holds;
  if (!rlx_size_less(g, at, 0, &holds)) return RLX_DIM_UNKNOWN;
  if (holds) at = rlx_size_add(g, at, n);
  if (!rlx_size_less(g, at, 0, &holds)) return RLX_DIM_UNKNOWN;
  if (holds) return 0;
  if (!rlx_size_less(g, n, at, &holds)) return RLX_DIM_UNKNOWN;
  return holds ? n : at;
}

/* The elements of start:stop:step, step > 0, of an axis of n. */
static int64_t count_open(const rlx_graph *g, int64_t start, int64_t stop, int64_t step, int64_t n) {
  bool is_empty;
  start = clamp_open(g, start, n);
  stop = clamp_open(g, stop, n);
  int64_t span = rlx_size_sub(g, stop, start);
  if (!rlx_size_less(g, span, 1, &is_empty)) return RLX_DIM_UNKNOWN;
  return is_empty ? 0 : rlx_size_add(g, rlx_size_div(g, rlx_size_sub(g, span, 1), step), 1);
}

rlx_status rlx_shape_slice(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  const rlx_attrs_slice *a = c->attrs;
  for (int i = 0; i < a->step.n; i++)
    if (rlx_dim_is_open(a->step.v[i])) return RLX_FAIL(RLX_INVALID, "step[%d] must be a number, not a symbol", i);
  rlx_slice_axis cut[RLX_MAX_RANK];
  RLX_TRY(rlx_slice_resolve(a, x, cut));
  c->out.shape = *x;
  for (int i = 0; i < x->n; i++) c->out.shape.v[i] = cut[i].count;
  const rlx_slice_axis *row = x->n ? &cut[x->n - 1] : cut;
  if (rlx_dtype_is_block(c->out.dtype) && (row->step != 1 || row->count != x->v[x->n - 1]))
    return RLX_FAIL(RLX_INVALID, "the last axis of %s is not sliced", rlx_dtype_name(c->out.dtype));
  for (int i = 0; i < a->start.n && c->graph->algebra; i++) {
    int axis = a->axes.n ? rlx_axis_of(a->axes.v[i], x->n) : i;
    int64_t step = a->step.n ? a->step.v[i] : 1;
    if (cut[axis].count == RLX_DIM_UNKNOWN && step > 0)
      c->out.shape.v[axis] = count_open(c->graph, a->start.v[i], a->stop.v[i], step, x->v[axis]);
  }
  return RLX_OK;
}

rlx_status rlx_shape_concat(rlx_infer *c) {
  if (c->n_in == 0) return RLX_FAIL(RLX_INVALID, "takes at least 1 input, got 0");
  rlx_dims out = *rlx_infer_shape(c, 0);
  int axis;
  RLX_TRY(rlx_axis_resolve(RLX_ATTRS(concat, c)->axis, out.n, "axis", &axis));
  for (uint32_t i = 1; i < c->n_in; i++) {
    const rlx_dims *x = rlx_infer_shape(c, i);
    bool fits = x->n == out.n;
    for (int k = 0; fits && k < out.n; k++)
      fits =
        k == axis ? rlx_dim_add(c->graph, out.v[k], x->v[k], &out.v[k]) : rlx_dim_unify(out.v[k], x->v[k], &out.v[k]);
    if (!fits)
      return RLX_FAIL(RLX_INVALID, "input %u is %s, which does not join %s along axis %d", (unsigned)i,
                      RLX_DIMS_TEXT(*x), RLX_DIMS_TEXT(*rlx_infer_shape(c, 0)), axis);
  }
  c->out.shape = out;
  return RLX_OK;
}

rlx_status rlx_shape_expand(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  rlx_dims to = RLX_ATTRS(expand, c)->shape;
  int lead = to.n - x->n;
  if (lead < 0)
    return RLX_FAIL(RLX_INVALID, "x is %s but shape %s has fewer axes", RLX_DIMS_TEXT(*x), RLX_DIMS_TEXT(to));
  for (int i = 0; i < to.n; i++) {
    bool keep = to.v[i] == -1 && i >= lead;
    if (!keep) RLX_TRY(expect_size("shape", i, to.v[i]));
    int64_t have = i < lead ? 1 : x->v[i - lead];
    if (keep) to.v[i] = have;
    if (have == 1 || rlx_dim_is_open(have)) continue; /* whatever it is bound to, the result has the requested size */
    if (!rlx_dim_unify(have, to.v[i], &to.v[i]))
      return RLX_FAIL(RLX_INVALID, "x is %s, which does not broadcast to %s", RLX_DIMS_TEXT(*x),
                      RLX_DIMS_TEXT(RLX_ATTRS(expand, c)->shape));
  }
  c->out.shape = to;
  return RLX_OK;
}

rlx_status rlx_shape_tile(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0), *reps = &RLX_ATTRS(tile, c)->reps;
  RLX_TRY(expect_entries("reps", reps, x));
  c->out.shape = *x;
  for (int i = 0; i < x->n; i++) {
    RLX_TRY(expect_size("reps", i, reps->v[i]));
    if (!rlx_dim_mul(c->graph, x->v[i], reps->v[i], &c->out.shape.v[i]))
      return RLX_FAIL(RLX_INVALID, "axis %d of %s, %lld times over, overflows", i, RLX_DIMS_TEXT(*x),
                      (long long)reps->v[i]);
  }
  return RLX_OK;
}

rlx_status rlx_shape_pad(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  const rlx_attrs_pad *a = c->attrs;
  RLX_TRY(expect_entries("lo", &a->lo, x));
  RLX_TRY(expect_entries("hi", &a->hi, x));
  c->out.shape = *x;
  for (int i = 0; i < x->n; i++) {
    RLX_TRY(expect_size("lo", i, a->lo.v[i]));
    RLX_TRY(expect_size("hi", i, a->hi.v[i]));
    if (x->v[i] == 0 && a->mode != RLX_PAD_CONSTANT && (a->lo.v[i] || a->hi.v[i]))
      return RLX_FAIL(RLX_INVALID, "axis %d of %s is empty: only constant mode can pad it", i, RLX_DIMS_TEXT(*x));
    int64_t *size = &c->out.shape.v[i];
    if (!rlx_dim_add(c->graph, *size, a->lo.v[i], size) || !rlx_dim_add(c->graph, *size, a->hi.v[i], size))
      return RLX_FAIL(RLX_INVALID, "axis %d of %s with %lld before and %lld after overflows", i, RLX_DIMS_TEXT(*x),
                      (long long)a->lo.v[i], (long long)a->hi.v[i]);
  }
  return RLX_OK;
}

/* ---- the shape is unchanged ---- */

rlx_status rlx_shape_axes(rlx_infer *c) {
  uint32_t bits;
  c->out.shape = *rlx_infer_shape(c, 0);
  return rlx_axes_resolve(&RLX_ATTRS(reverse, c)->axes, c->out.shape.n, true, &bits);
}

rlx_status rlx_shape_roll(rlx_infer *c) {
  const rlx_attrs_roll *a = c->attrs;
  uint32_t bits;
  c->out.shape = *rlx_infer_shape(c, 0);
  if (a->shifts.n != a->axes.n)
    return RLX_FAIL(RLX_INVALID, "has %d shifts for %d axes; each axis needs one", (int)a->shifts.n, (int)a->axes.n);
  for (int i = 0; i < a->shifts.n; i++)
    if (rlx_dim_is_open(a->shifts.v[i])) return RLX_FAIL(RLX_INVALID, "shifts[%d] must be a number, not a symbol", i);
  return rlx_axes_resolve(&a->axes, c->out.shape.n, false, &bits);
}

rlx_status rlx_shape_trilu(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  c->out.shape = *x;
  if (x->n >= 2) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "x is %s but needs two axes or more", RLX_DIMS_TEXT(*x));
}

/* ---- space and depth ---- */

static rlx_status expect_blocks(rlx_infer *c, int64_t block) {
  RLX_TRY(rlx_expect_rank(c, 0, 4));
  if (block < 1) return RLX_FAIL(RLX_INVALID, "block is %lld but must be 1 or more", (long long)block);
  c->out.shape = *rlx_infer_shape(c, 0);
  return RLX_OK;
}

rlx_status rlx_shape_space_to_depth(rlx_infer *c) {
  int64_t block = RLX_ATTRS(space_to_depth, c)->block;
  RLX_TRY(expect_blocks(c, block));
  const rlx_dims *x = rlx_infer_shape(c, 0);
  int64_t *size = c->out.shape.v;
  if (!dim_divide(c->graph, x->v[2], block, &size[2]) || !dim_divide(c->graph, x->v[3], block, &size[3]))
    return RLX_FAIL(RLX_INVALID, "block %lld does not divide the last two axes of %s", (long long)block,
                    RLX_DIMS_TEXT(*x));
  if (!rlx_dim_mul(c->graph, x->v[1], block, &size[1]) || !rlx_dim_mul(c->graph, size[1], block, &size[1]))
    return RLX_FAIL(RLX_INVALID, "the channels of %s times %lld squared overflow", RLX_DIMS_TEXT(*x), (long long)block);
  return RLX_OK;
}

rlx_status rlx_shape_depth_to_space(rlx_infer *c) {
  int64_t block = RLX_ATTRS(depth_to_space, c)->block;
  RLX_TRY(expect_blocks(c, block));
  const rlx_dims *x = rlx_infer_shape(c, 0);
  int64_t *size = c->out.shape.v;
  if (!dim_divide(c->graph, x->v[1], block, &size[1]) || !dim_divide(c->graph, size[1], block, &size[1]))
    return RLX_FAIL(RLX_INVALID, "the square of block %lld does not divide the channels of %s", (long long)block,
                    RLX_DIMS_TEXT(*x));
  if (!rlx_dim_mul(c->graph, x->v[2], block, &size[2]) || !rlx_dim_mul(c->graph, x->v[3], block, &size[3]))
    return RLX_FAIL(RLX_INVALID, "the last two axes of %s times %lld overflow", RLX_DIMS_TEXT(*x), (long long)block);
  return RLX_OK;
}

/* ---- complex views ---- */

rlx_status rlx_shape_view_as_real(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  c->out.shape = *x;
  if (x->n == RLX_MAX_RANK)
    return RLX_FAIL(RLX_INVALID, "x is %s: one axis more would pass rank %d", RLX_DIMS_TEXT(*x), RLX_MAX_RANK);
  c->out.shape.v[c->out.shape.n++] = 2;
  return RLX_OK;
}

rlx_status rlx_shape_view_as_complex(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  int64_t two;
  c->out.shape = *x;
  if (x->n == 0 || !rlx_dim_unify(x->v[x->n - 1], 2, &two))
    return RLX_FAIL(RLX_INVALID, "x is %s but its last axis must be 2", RLX_DIMS_TEXT(*x));
  c->out.shape.n--;
  return RLX_OK;
}
