/* Rewrites of the fused ops into the ops they were made of.
 *
 * A fused op rounds once, at its end; so do these, by computing in f32 if the type is narrower. Weights are not
 * widened: a matmul with an f32 left side takes f16, bf16 and block-type weights. fused_swiglu is element-wise and
 * rounds where its two parts would, so it is not widened. */
#include "ir/act.h"
#include "pass/rewrite.h"

static rlx_node activate(const rlx_rewrite *r, int32_t act, rlx_node x) {
  return act == RLX_ACT_NONE ? x : rlx_graph_add(r->to, rlx_act_op(act), &x, 1, NULL);
}

/* x w + bias, x in the work type. */
static rlx_node project(const rlx_rewrite *r, rlx_node x, rlx_node w, rlx_node bias, bool trans_b) {
  rlx_node y = product(r, x, w, trans_b);
  return bias ? rlx_op_add(r->to, y, widen(r, bias)) : y;
}

/* rms_norm(input 0) gamma in the work type; gamma is input 3. */
static rlx_node normed_rows(const rlx_rewrite *r, double eps) {
  return rlx_op_rms_norm(r->to, wide_input(r, 0), wide_input(r, 3), RLX_NONE, -1, eps);
}

rlx_node rlx_rewrite_fused_matmul_bias_act(rlx_rewrite *r) {
  const rlx_attrs_fused_matmul_bias_act *attrs = RLX_ATTRS(fused_matmul_bias_act, r->node);
  rlx_node y = project(r, wide_input(r, 0), r->in[1], input_of(r, 2), attrs->trans_b);
  return as_result(r, activate(r, attrs->act, y));
}

rlx_node rlx_rewrite_fused_norm_matmul(rlx_rewrite *r) {
  const rlx_attrs_fused_norm_matmul *attrs = RLX_ATTRS(fused_norm_matmul, r->node);
  rlx_node y = project(r, normed_rows(r, attrs->eps), r->in[1], input_of(r, 2), attrs->trans_b);
  return as_result(r, activate(r, attrs->act, y));
}

rlx_node rlx_rewrite_fused_conv_bias_act(rlx_rewrite *r) {
  const rlx_attrs_fused_conv_bias_act *a = RLX_ATTRS(fused_conv_bias_act, r->node);
  rlx_node y =
    rlx_op_conv(r->to, wide_input(r, 0), wide_input(r, 1), wide_input(r, 2),
                &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, a->stride, a->dilation, a->pad_lo, a->pad_hi, a->groups});
  if (input_of(r, 3)) y = rlx_op_add(r->to, y, wide_input(r, 3));
  return as_result(r, activate(r, a->act, y));
}

/* layer_norm is invariant to a constant added to a row, so x's mean is subtracted first: the sum then keeps the digits
 * that a row far from zero would lose. */
rlx_node rlx_rewrite_fused_residual_norm(rlx_rewrite *r) {
  const rlx_attrs_fused_residual_norm *attrs = RLX_ATTRS(fused_residual_norm, r->node);
  rlx_graph *g = r->to;
  rlx_node x = wide_input(r, 0), gamma = wide_input(r, 2), beta = wide_input(r, 3);
  bool layer = attrs->kind == RLX_NORM_LAYER;
  if (layer) x = rlx_op_sub(g, x, rlx_op_reduce_mean(g, x, RLX_DIMS(-1), true));
  x = rlx_op_add(g, x, wide_input(r, 1));
  return as_result(r, layer ? rlx_op_layer_norm(g, x, gamma, beta, -1, attrs->eps)
                            : rlx_op_rms_norm(g, x, gamma, beta, -1, attrs->eps));
}

rlx_node rlx_rewrite_fused_swiglu(rlx_rewrite *r) {
  return rlx_op_mul(r->to, activate(r, RLX_ATTRS(fused_swiglu, r->node)->act, r->in[0]), r->in[1]);
}

static rlx_node gate_and_up(const rlx_rewrite *r, rlx_node x, bool trans_b, int32_t act) {
  rlx_node gate = product(r, x, r->in[1], trans_b), up = product(r, x, r->in[2], trans_b);
  return as_result(r, rlx_op_mul(r->to, activate(r, act, gate), up));
}

rlx_node rlx_rewrite_fused_gate_up(rlx_rewrite *r) {
  const rlx_attrs_fused_gate_up *attrs = RLX_ATTRS(fused_gate_up, r->node);
  return gate_and_up(r, wide_input(r, 0), attrs->trans_b, attrs->act);
}

rlx_node rlx_rewrite_fused_norm_gate_up(rlx_rewrite *r) {
  const rlx_attrs_fused_norm_gate_up *attrs = RLX_ATTRS(fused_norm_gate_up, r->node);
  return gate_and_up(r, normed_rows(r, attrs->eps), attrs->trans_b, attrs->act);
}

/* `heads` heads of qkv [B, S, ..], starting at element `from` of each row. */
static rlx_node heads_from(const rlx_rewrite *r, rlx_node qkv, int64_t from, int64_t heads, int64_t size) {
  rlx_dims x = r->type->shape;
  return rlx_op_reshape(r->to, rlx_op_narrow(r->to, qkv, 2, from * size, heads * size),
                        RLX_DIMS(x.v[0], x.v[1], heads, size));
}

rlx_node rlx_rewrite_fused_attention_block(rlx_rewrite *r) {
  const rlx_attrs_fused_attention_block *attrs = RLX_ATTRS(fused_attention_block, r->node);
  rlx_dims shape = r->type->shape;
  int64_t heads = attrs->heads, kv_heads = attrs->kv_heads ? attrs->kv_heads : heads;
  int64_t size = attrs->head_dim ? attrs->head_dim : shape.v[2] / heads;
  rlx_node qkv = project(r, wide_input(r, 0), r->in[1], input_of(r, 3), attrs->trans_b);
  rlx_node q = heads_from(r, qkv, 0, heads, size), k = heads_from(r, qkv, heads, kv_heads, size);
  rlx_node v = heads_from(r, qkv, heads + kv_heads, kv_heads, size);
  rlx_node seen = rlx_op_attention(r->to, q, k, v,
                                   &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .layout = RLX_LAYOUT_BSHD,
                                                            .causal = attrs->causal, .scale = attrs->scale});
  rlx_node joined = rlx_op_reshape(r->to, seen, RLX_DIMS(shape.v[0], shape.v[1], heads * size));
  return as_result(r, project(r, joined, r->in[2], input_of(r, 4), attrs->trans_b));
}
