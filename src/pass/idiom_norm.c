/* Idioms of norms and softmax.
 *
 * A layer_norm is d / sqrt(mean(d^2) + eps) with d = x - mean(x); with any other d it is an rms_norm of d. The mean,
 * the square and the root have a few spellings each. Keras multiplies out: x f + (beta - mean(x) f) with f = gamma /
 * sqrt(var + eps). gamma and beta join an existing norm if they are weights and extend along exactly the axes that it
 * normalises.
 *
 * Models in f16 or bf16 compute a norm in f32, between two casts. An op in f16 or bf16 computes in f32 and rounds once,
 * at its end, so the casts can be dropped (rlx_idiom_narrow). */
#include <math.h>
#include <string.h>

#include "ir/element.h"
#include "ir/infer.h"
#include "pass/idiom.h"

/* ---- reductions ---- */

/* A reduction that keeps its axes, or one whose axes a reshape restores, read `reads` times: returns its input, and the
 * axes as a bit set. The five reductions have the same attribute layout. */
static rlx_node read_reduction(const rlx_idiom *p, rlx_node id, rlx_op op, uint32_t reads, uint32_t *axes) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  if (p->uses.v[id] != reads) return RLX_NONE;
  const rlx_dims *kept = &n->type.shape;
  if (n->op == RLX_OP_reshape) n = rlx_idiom_inner(p, n->in[0], op, 1);
  if (!n || n->op != op) return RLX_NONE;
  const rlx_dims *shape = rlx_idiom_shape(p, n->in[0]);
  if (kept->n != shape->n || rlx_axes_resolve(&RLX_ATTRS(reduce_sum, n)->axes, shape->n, true, axes)) return RLX_NONE;
  for (int i = 0; i < shape->n; i++)
    if (kept->v[i] != (*axes >> i & 1 ? 1 : shape->v[i])) return RLX_NONE;
  return n->in[0];
}

/* A mean, possibly as a sum divided by the count. */
static rlx_node read_mean(const rlx_idiom *p, rlx_node id, uint32_t reads, uint32_t *axes) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  if (n->op != RLX_OP_div && n->op != RLX_OP_mul) return read_reduction(p, id, RLX_OP_reduce_mean, reads, axes);
  double number, count = 1;
  rlx_node sum;
  if (p->uses.v[id] != reads || !rlx_idiom_operand(p, n, &number, &sum)) return RLX_NONE;
  if (n->op == RLX_OP_div && sum != n->in[0]) return RLX_NONE;
  rlx_node x = read_reduction(p, sum, RLX_OP_reduce_sum, 1, axes);
  for (int i = 0; x && i < rlx_idiom_shape(p, x)->n; i++)
    if (*axes >> i & 1) count *= (double)rlx_idiom_shape(p, x)->v[i];
  return x && rlx_idiom_is_near(n->type.dtype, number, n->op == RLX_OP_div ? count : 1 / count) ? x : RLX_NONE;
}

/* x^2: returns x, and how often the square reads it. */
static rlx_node read_square(const rlx_idiom *p, rlx_node id, uint32_t *reads) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  double power;
  if (p->uses.v[id] != 1) return RLX_NONE;
  *reads = n->op == RLX_OP_mul ? 2 : 1;
  if (n->op == RLX_OP_mul && n->in[0] == n->in[1]) return n->in[0];
  if (n->op != RLX_OP_pow || !rlx_idiom_number(p, n->in[1], &power) || power != 2) return RLX_NONE;
  return rlx_dims_equal(&n->type.shape, rlx_idiom_shape(p, n->in[0])) ? n->in[0] : RLX_NONE;
}

/* The square root of a sum, or its inverse: returns the sum's node, which has no other reader. */
static rlx_node read_root(const rlx_idiom *p, rlx_node id, uint32_t reads, bool inverse) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  double number;
  if (p->uses.v[id] != reads) return RLX_NONE;
  if (n->op == (inverse ? RLX_OP_rsqrt : RLX_OP_sqrt)) return n->in[0];
  if (n->op == RLX_OP_pow && rlx_idiom_number(p, n->in[1], &number))
    return number == (inverse ? -0.5 : 0.5) ? n->in[0] : RLX_NONE;
  if (!inverse || (n->op != RLX_OP_reciprocal && n->op != RLX_OP_div)) return RLX_NONE;
  if (n->op == RLX_OP_div && (!rlx_idiom_number(p, n->in[0], &number) || number != 1)) return RLX_NONE;
  return read_root(p, n->in[n->n_in - 1], 1, false);
}

/* ---- the normalised value ---- */

/* sqrt(mean(d^2) + eps), or its inverse. */
typedef struct deviation {
  rlx_node d;
  uint32_t axes, reads; /* of d, by the square */
  double eps;
} deviation;

static bool read_deviation(const rlx_idiom *p, rlx_node id, uint32_t reads, bool inverse, deviation *out) {
  rlx_node root = read_root(p, id, reads, inverse), mean;
  const rlx_node_rec *sum = root ? rlx_idiom_inner(p, root, RLX_OP_add, 1) : NULL;
  if (!sum || !rlx_idiom_operand(p, sum, &out->eps, &mean) || !(out->eps >= 0) || isinf(out->eps)) return false;
  rlx_node square = read_mean(p, mean, 1, &out->axes);
  out->d = square ? read_square(p, square, &out->reads) : RLX_NONE;
  return out->d != RLX_NONE;
}

/* The first of the axes if they are the last axes of the shape; else -1. */
static int first_of_last(uint32_t axes, int rank) {
  for (int i = 0; i < rank; i++)
    if (axes == (((uint32_t)1 << rank) - 1) - (((uint32_t)1 << i) - 1)) return i;
  return -1;
}

/* Whether the axes are the channels of [N, C, H, W]. */
static bool is_channels(uint32_t axes, int rank) { return rank == 4 && axes == 2; }

static rlx_node build_norm(rlx_idiom *p, bool layer, rlx_node x, rlx_node gamma, rlx_node beta, uint32_t axes,
                           double eps) {
  int rank = rlx_idiom_shape(p, x)->n, axis = first_of_last(axes, rank);
  int64_t from = axis == rank - 1 ? -1 : axis;
  if (axis < 0) return layer && is_channels(axes, rank) ? rlx_op_layer_norm_2d(p->to, x, gamma, beta, eps) : RLX_NONE;
  return layer ? rlx_op_layer_norm(p->to, x, gamma, beta, from, eps)
               : rlx_op_rms_norm(p->to, x, gamma, beta, from, eps);
}

/* x of x - mean(x) over these axes, whose mean is read `reads` times. */
static rlx_node read_centred(const rlx_idiom *p, rlx_node id, uint32_t axes, uint32_t reads) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  uint32_t mean_axes;
  if (n->op != RLX_OP_sub || !rlx_dims_equal(&n->type.shape, rlx_idiom_shape(p, n->in[0]))) return RLX_NONE;
  return read_mean(p, n->in[1], reads, &mean_axes) == n->in[0] && mean_axes == axes ? n->in[0] : RLX_NONE;
}

/* ---- gamma and beta ---- */

/* The shape of a norm's gamma and beta, and the first axis that they extend along. */
static rlx_dims affine_shape(const rlx_node_rec *norm, int *from) {
  const rlx_dims *x = &norm->type.shape;
  rlx_dims shape = {.n = 0};
  *from = 1;
  if (norm->op != RLX_OP_layer_norm && norm->op != RLX_OP_rms_norm) return RLX_DIMS(x->v[1]);
  *from = rlx_axis_of(
    norm->op == RLX_OP_layer_norm ? RLX_ATTRS(layer_norm, norm)->axis : RLX_ATTRS(rms_norm, norm)->axis, x->n);
  for (int i = *from; i < x->n; i++) shape.v[shape.n++] = x->v[i];
  return shape;
}

/* Whether v, broadcast to the shape, has `want` on the axes from `from` on and is the same on all others. */
static bool extends_along(const rlx_dims *v, const rlx_dims *want, int from, int rank) {
  if (v->n > rank) return false;
  for (int i = 0; i < rank; i++) {
    int64_t size = i < rank - v->n ? 1 : v->v[i - (rank - v->n)];
    if (size != (i >= from && i < from + want->n ? want->v[i - from] : 1)) return false;
  }
  return true;
}

/* A weight as the gamma or beta of a norm; 0 if its shape does not match. */
static rlx_node affine_input(rlx_idiom *p, rlx_node v, rlx_dims want, int from, int rank) {
  const rlx_dims *shape = rlx_idiom_shape(p, v);
  if (!p->weight_only.v[v] || !extends_along(shape, &want, from, rank)) return RLX_NONE;
  return rlx_dims_equal(shape, &want) ? v : rlx_op_reshape(p->to, v, want);
}

static rlx_node norm_of(rlx_idiom *p, const rlx_node_rec *n, rlx_node d, rlx_node root, bool inverse) {
  deviation v;
  if (!read_deviation(p, root, 1, inverse, &v) || v.d != d) return RLX_NONE;
  if (!rlx_dims_equal(rlx_idiom_shape(p, d), &n->type.shape)) return RLX_NONE;
  rlx_node x = p->uses.v[d] == v.reads + 1 ? read_centred(p, d, v.axes, 1) : RLX_NONE;
  return build_norm(p, x != RLX_NONE, x ? x : d, RLX_NONE, RLX_NONE, v.axes, v.eps);
}

/* d (gamma / sqrt(..)): the norm, followed by the product with gamma. */
static rlx_node norm_of_scaled(rlx_idiom *p, const rlx_node_rec *n, rlx_node d, rlx_node factor) {
  const rlx_node_rec *f = rlx_idiom_inner(p, factor, RLX_OP_mul, 1);
  for (int side = 0; f && side < 2; side++) {
    rlx_node gamma = f->in[1 - side];
    if (!p->weight_only.v[gamma]) continue;
    rlx_node norm = norm_of(p, n, d, f->in[side], true);
    if (!norm) continue;
    int from;
    rlx_node_rec made = *rlx_idiom_at(p, norm);
    rlx_dims want = affine_shape(&made, &from);
    rlx_node in[2] = {made.in[0], affine_input(p, gamma, want, from, n->type.shape.n)};
    return in[1] ? rlx_graph_add(p->to, made.op, in, 2, made.attrs) : RLX_NONE;
  }
  return RLX_NONE;
}

rlx_node rlx_idiom_norm(rlx_idiom *p, const rlx_node_rec *n) {
  if (n->op == RLX_OP_div) return norm_of(p, n, n->in[0], n->in[1], false);
  for (int side = 0; side < 2; side++) {
    rlx_node d = n->in[side], factor = n->in[1 - side];
    rlx_node y = norm_of(p, n, d, factor, true);
    if (!y) y = norm_of_scaled(p, n, d, factor);
    if (y) return y;
  }
  return RLX_NONE;
}

static bool is_norm(rlx_op op) {
  return op == RLX_OP_layer_norm || op == RLX_OP_rms_norm || op == RLX_OP_layer_norm_2d || op == RLX_OP_group_norm ||
         op == RLX_OP_instance_norm;
}

/* Adds input `at` (1: gamma, 2: beta) to a norm that has neither it nor later inputs. */
static rlx_node join_affine(rlx_idiom *p, const rlx_node_rec *n, uint32_t at) {
  for (int side = 0; side < 2; side++) {
    rlx_node id = n->in[side], in[3] = {0};
    const rlx_node_rec *norm = rlx_idiom_at(p, id);
    if (!is_norm(norm->op) || p->uses.v[id] != 1 || !rlx_dims_equal(&norm->type.shape, &n->type.shape)) continue;
    bool has_room = true;
    for (uint32_t i = 0; i < norm->n_in; i++) {
      in[i] = norm->in[i];
      has_room = has_room && (i < at || !in[i]);
    }
    int from;
    rlx_op op = norm->op;
    const void *attrs = norm->attrs;
    rlx_dims want = affine_shape(norm, &from);
    in[at] = has_room ? affine_input(p, n->in[1 - side], want, from, n->type.shape.n) : RLX_NONE;
    if (in[at]) return rlx_graph_add(p->to, op, in, at + 1, attrs);
  }
  return RLX_NONE;
}

rlx_node rlx_idiom_norm_scale(rlx_idiom *p, const rlx_node_rec *n) { return join_affine(p, n, 1); }
rlx_node rlx_idiom_norm_shift(rlx_idiom *p, const rlx_node_rec *n) { return join_affine(p, n, 2); }

/* ---- groups ---- */

/* Whether an input of a norm has no effect: it is absent, or a constant filled with this number. */
static bool is_identity(const rlx_idiom *p, const rlx_node_rec *norm, uint32_t at, double number) {
  if (at >= norm->n_in || !norm->in[at]) return true;
  const rlx_node_rec *n = rlx_idiom_at(p, norm->in[at]);
  if (n->op != RLX_OP_constant) return false;
  rlx_tensor t = {.dtype = n->type.dtype, .data = RLX_ATTRS(constant, n)->data->data};
  for (size_t i = 0; i < rlx_dims_count(&n->type.shape); i++)
    if (rlx_load(&t, i) != number) return false;
  return true;
}

/* [N, C, ..] reshaped to [N, G, K], each row of K normalised, and reshaped back is a group_norm. */
rlx_node rlx_idiom_group_norm(rlx_idiom *p, const rlx_node_rec *n) {
  const rlx_node_rec *norm = rlx_idiom_at(p, n->in[0]);
  const rlx_dims *rows = &norm->type.shape, *shape = &n->type.shape;
  bool layer = norm->op == RLX_OP_layer_norm;
  if ((!layer && norm->op != RLX_OP_instance_norm) || p->uses.v[n->in[0]] != 1) return RLX_NONE;
  if (!is_identity(p, norm, 1, 1) || !is_identity(p, norm, 2, 0) || rows->n != 3 || shape->n < 3) return RLX_NONE;
  if (layer && rlx_axis_of(RLX_ATTRS(layer_norm, norm)->axis, 3) != 2) return RLX_NONE;
  const rlx_node_rec *split = rlx_idiom_at(p, norm->in[0]);
  int64_t groups = rows->v[1];
  if (split->op != RLX_OP_reshape || !rlx_dims_equal(rlx_idiom_shape(p, split->in[0]), shape)) return RLX_NONE;
  if (rlx_dims_count(shape) == 0 || shape->v[0] != rows->v[0] || shape->v[1] % groups) return RLX_NONE;
  double eps = layer ? RLX_ATTRS(layer_norm, norm)->eps : RLX_ATTRS(instance_norm, norm)->eps;
  return rlx_op_group_norm(p->to, split->in[0], RLX_NONE, RLX_NONE, groups, eps);
}

/* ---- multiplied out ---- */

/* x f and m f, where only the idiom reads f. */
typedef struct two_products {
  rlx_node x, m, f;
} two_products;

static bool read_two_products(const rlx_idiom *p, rlx_node a, rlx_node b, two_products *out) {
  const rlx_node_rec *xf = rlx_idiom_inner(p, a, RLX_OP_mul, 1), *mf = rlx_idiom_inner(p, b, RLX_OP_mul, 1);
  for (int i = 0; xf && mf && i < 4; i++) {
    *out = (two_products){.x = xf->in[i / 2], .f = xf->in[1 - i / 2], .m = mf->in[i % 2]};
    if (mf->in[1 - i % 2] == out->f && p->uses.v[out->f] == 2) return true;
  }
  return false;
}

/* f = gamma / sqrt(var + eps), gamma possibly absent; m is the mean, which the variance in f also reads. */
static rlx_node norm_of_products(rlx_idiom *p, const rlx_node_rec *n, const two_products *y, rlx_node beta) {
  const rlx_node_rec *f = rlx_idiom_at(p, y->f);
  deviation v;
  rlx_node gamma = RLX_NONE;
  bool found = read_deviation(p, y->f, 2, true, &v);
  for (int i = 0; !found && f->op == RLX_OP_mul && i < 2; i++) {
    found = read_deviation(p, f->in[i], 1, true, &v);
    gamma = f->in[1 - i];
  }
  if (!found || p->uses.v[v.d] != v.reads || read_centred(p, v.d, v.axes, 2) != y->x) return RLX_NONE;
  if (rlx_idiom_at(p, v.d)->in[1] != y->m || !rlx_dims_equal(rlx_idiom_shape(p, y->x), &n->type.shape)) return RLX_NONE;
  rlx_dims want = {.n = 0};
  int rank = n->type.shape.n, from = is_channels(v.axes, rank) ? 1 : first_of_last(v.axes, rank);
  if (from < 0) return RLX_NONE;
  for (int i = from; i < (is_channels(v.axes, rank) ? 2 : rank); i++) want.v[want.n++] = n->type.shape.v[i];
  rlx_node in[2] = {gamma, beta};
  for (int i = 0; i < 2; i++) {
    if (!in[i]) continue;
    in[i] = affine_input(p, in[i], want, from, rank);
    if (!in[i]) return RLX_NONE;
  }
  return build_norm(p, true, y->x, in[0], in[1], v.axes, v.eps);
}

rlx_node rlx_idiom_norm_affine(rlx_idiom *p, const rlx_node_rec *n) {
  two_products y;
  if (n->op == RLX_OP_sub)
    return read_two_products(p, n->in[0], n->in[1], &y) ? norm_of_products(p, n, &y, RLX_NONE) : RLX_NONE;
  for (int side = 0; side < 2; side++) {
    const rlx_node_rec *rest = rlx_idiom_inner(p, n->in[1 - side], RLX_OP_sub, 1);
    if (!rest || !read_two_products(p, n->in[side], rest->in[1], &y)) continue;
    return norm_of_products(p, n, &y, rest->in[0]);
  }
  return RLX_NONE;
}

/* ---- softmax ---- */

/* x of x - max(x) along one axis; and x of e^(x - max(x)). */
static rlx_node read_below_max(const rlx_idiom *p, rlx_node id, uint32_t reads, int *axis) {
  const rlx_node_rec *n = rlx_idiom_inner(p, id, RLX_OP_sub, reads);
  uint32_t axes;
  if (!n || read_reduction(p, n->in[1], RLX_OP_reduce_max, 1, &axes) != n->in[0]) return RLX_NONE;
  if (!rlx_dims_equal(&n->type.shape, rlx_idiom_shape(p, n->in[0]))) return RLX_NONE;
  for (*axis = 0; *axis < n->type.shape.n; ++*axis)
    if (axes == (uint32_t)1 << *axis) return n->in[0];
  return RLX_NONE;
}

/* Whether this is the sum of `of` along the axis. */
static bool is_sum_of(const rlx_idiom *p, rlx_node id, rlx_node of, int axis) {
  uint32_t axes;
  return read_reduction(p, id, RLX_OP_reduce_sum, 1, &axes) == of && axes == (uint32_t)1 << axis;
}

static int64_t softmax_axis(int axis, int rank) { return axis == rank - 1 ? -1 : axis; }

/* e / sum(e), or e (1 / sum(e)). */
rlx_node rlx_idiom_softmax(rlx_idiom *p, const rlx_node_rec *n) {
  for (int side = 0; side < (n->op == RLX_OP_mul ? 2 : 1); side++) {
    rlx_node sum = n->in[1 - side];
    const rlx_node_rec *e = rlx_idiom_inner(p, n->in[side], RLX_OP_exp, 2), *over = rlx_idiom_at(p, sum);
    int axis = 0;
    double one = 1;
    if (n->op == RLX_OP_mul) {
      if (over->op != RLX_OP_reciprocal && over->op != RLX_OP_div) continue;
      if (over->op == RLX_OP_div && (!rlx_idiom_number(p, over->in[0], &one) || one != 1)) continue;
      if (p->uses.v[sum] != 1) continue;
      sum = over->in[over->n_in - 1];
    }
    rlx_node x = e ? read_below_max(p, e->in[0], 1, &axis) : RLX_NONE;
    if (x && is_sum_of(p, sum, n->in[side], axis)) return rlx_op_softmax(p->to, x, softmax_axis(axis, n->type.shape.n));
  }
  return RLX_NONE;
}

/* d - log(sum(e^d)), d = x - max(x). */
rlx_node rlx_idiom_log_softmax(rlx_idiom *p, const rlx_node_rec *n) {
  int axis = 0;
  rlx_node x = read_below_max(p, n->in[0], 2, &axis);
  const rlx_node_rec *logarithm = rlx_idiom_inner(p, n->in[1], RLX_OP_log, 1);
  if (!x || !logarithm) return RLX_NONE;
  uint32_t axes;
  rlx_node e = read_reduction(p, logarithm->in[0], RLX_OP_reduce_sum, 1, &axes);
  const rlx_node_rec *power = e ? rlx_idiom_inner(p, e, RLX_OP_exp, 1) : NULL;
  if (!power || power->in[0] != n->in[0] || axes != (uint32_t)1 << axis) return RLX_NONE;
  return rlx_op_log_softmax(p->to, x, softmax_axis(axis, n->type.shape.n));
}

/* ---- between casts ---- */

/* An f32 op between casts from and to f16 (or bf16) is the op in that type. */
rlx_node rlx_idiom_narrow(rlx_idiom *p, const rlx_node_rec *n) {
  static const rlx_op ops[] = {RLX_OP_layer_norm,  RLX_OP_rms_norm, RLX_OP_layer_norm_2d, RLX_OP_softmax,
                               RLX_OP_log_softmax, RLX_OP_gelu,     RLX_OP_gelu_approx,   RLX_OP_silu,
                               RLX_OP_sigmoid,     RLX_OP_tanh};
  const rlx_node_rec *wide = rlx_idiom_at(p, n->in[0]);
  rlx_dtype half = n->type.dtype;
  rlx_node in[3] = {0};
  bool known = false;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) known = known || wide->op == ops[i];
  if (!known || wide->type.dtype != RLX_F32 || (half != RLX_F16 && half != RLX_BF16) || p->uses.v[n->in[0]] != 1)
    return RLX_NONE;
  for (uint32_t i = 0; i < wide->n_in; i++) {
    if (!wide->in[i]) continue;
    const rlx_node_rec *cast = rlx_idiom_at(p, wide->in[i]);
    if (cast->op != RLX_OP_cast || rlx_idiom_at(p, cast->in[0])->type.dtype != half) return RLX_NONE;
    in[i] = cast->in[0];
  }
  return rlx_graph_add(p->to, wide->op, in, wide->n_in, wide->attrs);
}
