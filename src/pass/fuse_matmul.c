/* Fusions around a matrix product: bias and activation, the two products of a gated layer, the gate alone; and a
 * residual sum before its norm. A norm before a product is fused for targets that support the norm as a prologue. */
#include <string.h>

#include "ir/act.h"
#include "pass/fuse.h"

/* ---- product and bias ---- */

static bool is_bias_of(const rlx_fuse *f, rlx_node bias, rlx_node product) {
  const rlx_dims *b = rlx_fuse_shape(f, bias), *p = rlx_fuse_shape(f, product);
  for (int i = 0; i + 1 < b->n; i++)
    if (b->v[i] != 1) return false;
  return b->n >= 1 && b->n <= p->n && b->v[b->n - 1] == p->v[p->n - 1];
}

/* The bias [N]. */
static rlx_fuse_in bias_in(const rlx_fuse *f, rlx_node bias) {
  rlx_fuse_in in = {.node = bias};
  if (!bias) return in;
  const rlx_dims *b = rlx_fuse_shape(f, bias);
  in.reshaped = b->n > 1;
  in.shape = RLX_DIMS(b->v[b->n - 1]);
  return in;
}

static bool read_product(const rlx_fuse *f, rlx_match *m, rlx_node id, bool take, const rlx_node_rec *matmul,
                         rlx_node bias, rlx_product_match *out) {
  *out = (rlx_product_match){matmul->in[0], matmul->in[1], bias_in(f, bias), RLX_ATTRS(matmul, matmul)->trans_b};
  if (take) rlx_match_take(m, id);
  return true;
}

bool rlx_fuse_product(rlx_fuse *f, rlx_node id, bool is_root, rlx_match *m, rlx_product_match *out) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  if (!is_root && !rlx_fuse_may_take(f, id)) return false;
  if (n->op == RLX_OP_matmul) return read_product(f, m, id, !is_root, n, RLX_NONE, out);
  if (n->op != RLX_OP_add) return false;
  for (int side = 0; side < 2; side++) {
    const rlx_node_rec *matmul = rlx_fuse_inner(f, n->in[side], RLX_OP_matmul);
    if (!matmul || !is_bias_of(f, n->in[1 - side], n->in[side])) continue;
    if (!is_root) rlx_match_take(m, id);
    return read_product(f, m, n->in[side], true, matmul, n->in[1 - side], out);
  }
  return false;
}

/* Whether the product is the end of an attention, whose fusion gains more. */
static bool ends_attention(rlx_fuse *f, const rlx_match *m) {
  if (!m->n_inner) return false;
  rlx_node last = m->inner[m->n_inner - 1];
  rlx_match other = {.n_in = 0};
  return rlx_fuse_at(f, last)->op == RLX_OP_matmul && rlx_fuse_attention(f, last, &other);
}

/* act(a b + bias): the root is the activation or the sum. */
bool rlx_fuse_matmul(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *n = rlx_fuse_at(f, root);
  rlx_product_match p;
  int32_t act = rlx_act_of(n->op);
  if (!rlx_fuse_product(f, act ? n->in[0] : root, !act, m, &p) || ends_attention(f, m)) return false;
  m->op = RLX_OP_fused_matmul_bias_act;
  m->attrs.fused_matmul_bias_act_ = (rlx_attrs_fused_matmul_bias_act){.trans_b = p.trans_b, .act = act};
  rlx_match_add(m, p.a);
  rlx_match_add(m, p.b);
  if (p.bias.node) rlx_match_add_in(m, p.bias);
  return true;
}

/* ---- the preceding norm ---- */

const rlx_node_rec *rlx_fuse_norm_before(const rlx_fuse *f, rlx_node id) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  if (n->op != RLX_OP_rms_norm || f->weight_only[id] || n->n_in < 2 || !n->in[1] || (n->n_in > 2 && n->in[2]))
    return NULL;
  int64_t axis = RLX_ATTRS(rms_norm, n)->axis;
  return axis == -1 || axis == n->type.shape.n - 1 ? n : NULL;
}

/* Replaces input 0 of the match, a norm's result, by the norm's input, and adds gamma as input 3. */
static bool take_norm(const rlx_fuse *f, rlx_match *m, double *eps) {
  const rlx_node_rec *norm = rlx_fuse_norm_before(f, m->in[0].node);
  if (!norm) return false;
  m->in[0].node = norm->in[0];
  while (m->n_in < 3) rlx_match_add(m, RLX_NONE);
  rlx_match_add(m, norm->in[1]);
  *eps = RLX_ATTRS(rms_norm, norm)->eps;
  return true;
}

/* act(norm(a) b + bias): the root is as for rlx_fuse_matmul, or the product. */
bool rlx_fuse_norm_matmul(rlx_fuse *f, rlx_node root, rlx_match *m) {
  if (!rlx_fuse_matmul(f, root, m)) return false;
  rlx_attrs_fused_matmul_bias_act a = m->attrs.fused_matmul_bias_act_;
  m->op = RLX_OP_fused_norm_matmul;
  m->attrs.fused_norm_matmul_ = (rlx_attrs_fused_norm_matmul){.trans_b = a.trans_b, .act = a.act};
  return take_norm(f, m, &m->attrs.fused_norm_matmul_.eps);
}

bool rlx_fuse_norm_gate_up(rlx_fuse *f, rlx_node root, rlx_match *m) {
  if (!rlx_fuse_gate_up(f, root, m)) return false;
  rlx_attrs_fused_gate_up a = m->attrs.fused_gate_up_;
  m->op = RLX_OP_fused_norm_gate_up;
  m->attrs.fused_norm_gate_up_ = (rlx_attrs_fused_norm_gate_up){.trans_b = a.trans_b, .act = a.act};
  return take_norm(f, m, &m->attrs.fused_norm_gate_up_.eps);
}

/* ---- gates ---- */

/* The operand of a multiplication that is an activation and may be absorbed; 2 if none. */
static uint32_t gate_side(const rlx_fuse *f, const rlx_node_rec *mul) {
  for (uint32_t side = 0; side < 2; side++)
    if (rlx_act_of(rlx_fuse_at(f, mul->in[side])->op) && rlx_fuse_may_take(f, mul->in[side])) return side;
  return 2;
}

/* act(x wg) * (x wu) */
bool rlx_fuse_gate_up(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *mul = rlx_fuse_at(f, root);
  uint32_t side = gate_side(f, mul);
  if (side == 2) return false;
  rlx_node act = mul->in[side];
  const rlx_node_rec *gate = rlx_fuse_inner(f, rlx_fuse_at(f, act)->in[0], RLX_OP_matmul);
  const rlx_node_rec *up = rlx_fuse_inner(f, mul->in[1 - side], RLX_OP_matmul);
  if (!gate || !up || gate->in[0] != up->in[0] || RLX_ATTRS(matmul, gate)->trans_b != RLX_ATTRS(matmul, up)->trans_b)
    return false;
  m->op = RLX_OP_fused_gate_up;
  m->attrs.fused_gate_up_ =
    (rlx_attrs_fused_gate_up){.trans_b = RLX_ATTRS(matmul, gate)->trans_b, .act = rlx_act_of(rlx_fuse_at(f, act)->op)};
  rlx_match_add(m, gate->in[0]);
  rlx_match_add(m, gate->in[1]);
  rlx_match_add(m, up->in[1]);
  rlx_match_take(m, act);
  rlx_match_take(m, rlx_fuse_at(f, act)->in[0]);
  rlx_match_take(m, mul->in[1 - side]);
  return true;
}

/* act(gate) * up */
bool rlx_fuse_swiglu(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *mul = rlx_fuse_at(f, root);
  uint32_t side = gate_side(f, mul);
  if (side == 2) return false;
  rlx_node act = mul->in[side];
  m->op = RLX_OP_fused_swiglu;
  m->attrs.fused_swiglu_ = (rlx_attrs_fused_swiglu){.act = rlx_act_of(rlx_fuse_at(f, act)->op)};
  rlx_match_add(m, rlx_fuse_at(f, act)->in[0]);
  rlx_match_add(m, mul->in[1 - side]);
  rlx_match_take(m, act);
  return true;
}

/* ---- residual and norm ---- */

/* norm(x + residual) over the last axis. A sum that is read again, as the residual stream of a deep model is, stays a
 * node. */
bool rlx_fuse_residual_norm(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *norm = rlx_fuse_at(f, root);
  bool layer = norm->op == RLX_OP_layer_norm;
  int64_t axis = layer ? RLX_ATTRS(layer_norm, norm)->axis : RLX_ATTRS(rms_norm, norm)->axis;
  double eps = layer ? RLX_ATTRS(layer_norm, norm)->eps : RLX_ATTRS(rms_norm, norm)->eps;
  const rlx_node_rec *sum = rlx_fuse_inner(f, norm->in[0], RLX_OP_add);
  if (!sum || (axis != -1 && axis != norm->type.shape.n - 1)) return false;
  for (int i = 0; i < 2; i++)
    if (!rlx_dims_equal(rlx_fuse_shape(f, sum->in[i]), &sum->type.shape)) return false;
  m->op = RLX_OP_fused_residual_norm;
  m->attrs.fused_residual_norm_ = (rlx_attrs_fused_residual_norm){.kind = layer, .eps = eps};
  rlx_match_add(m, sum->in[0]);
  rlx_match_add(m, sum->in[1]);
  for (uint32_t i = 1; i < norm->n_in; i++) rlx_match_add(m, norm->in[i]);
  rlx_match_take(m, norm->in[0]);
  return true;
}
