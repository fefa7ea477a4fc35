/* Idioms of convolutions: folds a following scale and shift per channel into the weights.
 *
 * A convolution is linear in its weights, so conv(x, w, b) f + s, with f and s per output channel, is conv(x, w f, b f
 * + s). If f and s depend on weights alone, so do the new weights, and hoist computes them once, at load.
 * batch_norm_inference is such a scale and shift. After anything but a convolution it becomes a multiplication and an
 * addition, which join the following element-wise nodes in one region. A further scale and shift, as in files that keep
 * a norm's gamma and beta apart, is merged with them.
 *
 * Nodes are appended in statement order, not in argument order, which is unspecified in C. New weights are computed in
 * f32 and rounded once to the type of the old ones. */
#include "pass/idiom.h"

/* ---- vectors of channels ---- */

/* A weight with one number per channel of [N, C, ..], or a single number, as [C]; 0 if it is neither. */
static rlx_node channel_vector(rlx_idiom *p, rlx_node id, int rank, int64_t channels) {
  const rlx_dims *v = rlx_idiom_shape(p, id);
  if (!p->weight_only.v[id] || v->n > rank) return RLX_NONE;
  if (rlx_dims_count(v) == 1) {
    rlx_node one = rlx_op_reshape(p->to, id, RLX_DIMS(1));
    return rlx_op_expand(p->to, one, RLX_DIMS(channels));
  }
  for (int i = 0; i < v->n; i++)
    if (v->v[i] != (i + rank - v->n == 1 ? channels : 1)) return RLX_NONE;
  return rlx_op_reshape(p->to, id, RLX_DIMS(channels));
}

static rlx_node as_type(rlx_idiom *p, rlx_node x, rlx_dtype to) {
  return !x || rlx_node_dtype(p->to, x) == to ? x : rlx_op_cast(p->to, x, to);
}
static rlx_dtype work_type(rlx_dtype t) { return t == RLX_F16 || t == RLX_BF16 ? RLX_F32 : t; }

/* [C] reshaped along one axis of `rank` axes. */
static rlx_node along(rlx_idiom *p, rlx_node v, int axis, int rank) {
  rlx_dims shape = {.n = rank};
  for (int i = 0; i < rank; i++) shape.v[i] = i == axis ? rlx_node_shape(p->to, v).v[0] : 1;
  return rlx_op_reshape(p->to, v, shape);
}

/* ---- folding ---- */

/* The axis of the output channels in the weights of a convolution that may be changed; -1 if the node is none. */
static int weight_axis(const rlx_idiom *p, rlx_node id) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  if ((n->op != RLX_OP_conv && n->op != RLX_OP_conv_transpose) || p->uses.v[id] != 1) return -1;
  if (rlx_idiom_at(p, n->in[1])->type.dtype != n->type.dtype) return -1;
  for (uint32_t i = 1; i < n->n_in; i++)
    if (n->in[i] && !p->weight_only.v[n->in[i]]) return -1;
  if (n->op == RLX_OP_conv) return 0;
  return RLX_ATTRS(conv_transpose, n)->groups == 1 ? 1 : -1;
}

/* conv scale + shift, each [C] in the work type or absent. Only a scale changes the weights. */
static rlx_node fold(rlx_idiom *p, rlx_node id, int axis, rlx_node scale, rlx_node shift) {
  rlx_node_rec n = *rlx_idiom_at(p, id);
  rlx_dtype dtype = n.type.dtype, work = work_type(dtype);
  rlx_node in[3] = {n.in[0], n.in[1], n.n_in > 2 ? n.in[2] : RLX_NONE}, bias = as_type(p, in[2], work);
  if (scale) {
    rlx_node wide = as_type(p, in[1], work), factor = along(p, scale, axis, n.type.shape.n);
    in[1] = as_type(p, rlx_op_mul(p->to, wide, factor), dtype);
    if (bias) bias = rlx_op_mul(p->to, bias, scale);
  }
  if (shift) bias = bias ? rlx_op_add(p->to, bias, shift) : shift;
  if (scale || shift) in[2] = as_type(p, bias, dtype);
  return rlx_graph_add(p->to, n.op, in, in[2] ? 3 : 2, n.attrs);
}

rlx_node rlx_idiom_conv_scale(rlx_idiom *p, const rlx_node_rec *n) {
  for (int side = 0; side < 2; side++) {
    rlx_node conv = n->in[side];
    int axis = weight_axis(p, conv);
    if (axis < 0 || !rlx_dims_equal(rlx_idiom_shape(p, conv), &n->type.shape)) continue;
    rlx_node scale = channel_vector(p, n->in[1 - side], n->type.shape.n, n->type.shape.v[1]);
    if (scale) return fold(p, conv, axis, as_type(p, scale, work_type(n->type.dtype)), RLX_NONE);
  }
  return RLX_NONE;
}

rlx_node rlx_idiom_conv_shift(rlx_idiom *p, const rlx_node_rec *n) {
  for (int side = 0; side < (n->op == RLX_OP_add ? 2 : 1); side++) {
    rlx_node conv = n->in[side];
    int axis = weight_axis(p, conv);
    if (axis < 0 || !rlx_dims_equal(rlx_idiom_shape(p, conv), &n->type.shape)) continue;
    rlx_node shift = channel_vector(p, n->in[1 - side], n->type.shape.n, n->type.shape.v[1]);
    if (!shift) continue;
    shift = as_type(p, shift, work_type(n->type.dtype));
    return fold(p, conv, axis, RLX_NONE, n->op == RLX_OP_sub ? rlx_op_neg(p->to, shift) : shift);
  }
  return RLX_NONE;
}

/* ---- batch norm ---- */

/* gamma / sqrt(var + eps), and beta - mean times that. */
static rlx_node norm_scale(rlx_idiom *p, const rlx_node *in, double eps, rlx_dtype work) {
  rlx_node var = as_type(p, in[2], work), small = rlx_op_scalar(p->to, work, eps);
  rlx_node root = rlx_op_sqrt(p->to, rlx_op_add(p->to, var, small));
  return rlx_op_div(p->to, in[3] ? as_type(p, in[3], work) : rlx_op_scalar(p->to, work, 1), root);
}
static rlx_node norm_shift(rlx_idiom *p, const rlx_node *in, rlx_node scale, rlx_dtype work) {
  rlx_node moved = rlx_op_mul(p->to, as_type(p, in[1], work), scale);
  return in[4] ? rlx_op_sub(p->to, as_type(p, in[4], work), moved) : rlx_op_neg(p->to, moved);
}

rlx_node rlx_idiom_batch_norm(rlx_idiom *p, const rlx_node_rec *n) {
  rlx_node in[5] = {0};
  rlx_dtype dtype = n->type.dtype, work = work_type(dtype);
  int axis = weight_axis(p, n->in[0]), rank = n->type.shape.n;
  for (uint32_t i = 0; i < n->n_in; i++) {
    in[i] = n->in[i];
    if (i > 0 && in[i] && !p->weight_only.v[in[i]]) return RLX_NONE;
  }
  if (axis < 0 && dtype != work) return RLX_NONE; /* in f16 or bf16 the product would be rounded once more */
  rlx_node scale = norm_scale(p, in, RLX_ATTRS(batch_norm_inference, n)->eps, work);
  rlx_node shift = norm_shift(p, in, scale, work);
  if (axis >= 0) return fold(p, in[0], axis, scale, shift);
  rlx_node scaled = rlx_op_mul(p->to, in[0], along(p, scale, 1, rank));
  return rlx_op_add(p->to, scaled, along(p, shift, 1, rank));
}

/* ---- merging a scale and shift with another ---- */

/* Whether a weight is a vector along the channels of [N, C, ..]. */
static bool is_channel_weight(const rlx_idiom *p, rlx_node id, const rlx_dims *x) {
  const rlx_dims *v = rlx_idiom_shape(p, id);
  if (!p->weight_only.v[id] || x->n < 3 || v->n > x->n || v->n < x->n - 1 || x->v[1] < 2) return false;
  for (int i = 0; i < v->n; i++)
    if (v->v[i] != (i + x->n - v->n == 1 ? x->v[1] : 1)) return false;
  return true;
}

/* The other operand of an inner node with such a weight as operand; 0 if it has none. */
static rlx_node read_channel_operand(const rlx_idiom *p, const rlx_node_rec *n, rlx_node *weight) {
  for (int side = 0; n && side < 2; side++) {
    *weight = n->in[side];
    bool fits = is_channel_weight(p, *weight, &n->type.shape);
    if (fits && rlx_dims_equal(rlx_idiom_shape(p, n->in[1 - side]), &n->type.shape)) return n->in[1 - side];
  }
  return RLX_NONE;
}

/* After y = x a + b: y + t is x a + (b + t), and y s is x (a s) + b s. Only in f32: f16 and bf16 would round the new
 * weights. */
rlx_node rlx_idiom_channel_affine(rlx_idiom *p, const rlx_node_rec *n) {
  rlx_node outer, shift, scale;
  if (n->type.dtype != RLX_F32 && n->type.dtype != RLX_F64) return RLX_NONE;
  rlx_node sum = read_channel_operand(p, n, &outer);
  rlx_node scaled = sum ? read_channel_operand(p, rlx_idiom_inner(p, sum, RLX_OP_add, 1), &shift) : RLX_NONE;
  rlx_node x = scaled ? read_channel_operand(p, rlx_idiom_inner(p, scaled, RLX_OP_mul, 1), &scale) : RLX_NONE;
  if (!x) return RLX_NONE;
  if (n->op == RLX_OP_mul) {
    rlx_node factor = rlx_op_mul(p->to, scale, outer);
    scaled = rlx_op_mul(p->to, x, factor);
    shift = rlx_op_mul(p->to, shift, outer);
  } else {
    shift = rlx_op_add(p->to, shift, outer);
  }
  return rlx_op_add(p->to, scaled, shift);
}
