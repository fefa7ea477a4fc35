/* The builder: matrix products, attention and positions, normalisation, and their fused forms. */
#include "ir/build.h"

/* ---- matrix product ---- */

rlx_node rlx_op_matmul(rlx_graph *g, rlx_node a, rlx_node b) { return NODE(matmul, (a, b), .trans_b = false); }
rlx_node rlx_op_matmul_t(rlx_graph *g, rlx_node a, rlx_node b) { return NODE(matmul, (a, b), .trans_b = true); }

rlx_node rlx_op_dot_general(rlx_graph *g, rlx_node a, rlx_node b, const rlx_op_dot_general_desc *desc) {
  const rlx_op_dot_general_desc *d = DESC(rlx_op_dot_general_desc);
  if (!d) return RLX_NONE;
  return NODE(dot_general, (a, b), .batch_a = d->batch_a, .batch_b = d->batch_b, .contract_a = d->contract_a,
              .contract_b = d->contract_b);
}

rlx_node rlx_op_lora_matmul(rlx_graph *g, rlx_node x, rlx_node w, rlx_node a, rlx_node b, double scale, bool trans_b) {
  return NODE(lora_matmul, (x, w, a, b), .scale = scale, .trans_b = trans_b);
}

rlx_node rlx_op_grouped_matmul(rlx_graph *g, rlx_node x, rlx_node w, rlx_node idx, bool trans_b) {
  return NODE(grouped_matmul, (x, w, idx), .trans_b = trans_b);
}

rlx_node rlx_op_dequant_grouped_matmul(rlx_graph *g, rlx_node x, rlx_node w, rlx_node idx, bool trans_b) {
  return NODE(dequant_grouped_matmul, (x, w, idx), .trans_b = trans_b);
}

rlx_node rlx_op_dequant_moe_weights(rlx_graph *g, rlx_node w, rlx_node idx, rlx_dtype to) {
  return NODE(dequant_moe_weights, (w, idx), .to = to);
}

rlx_node rlx_op_dequant_matmul(rlx_graph *g, rlx_node x, rlx_node w, const rlx_op_dequant_matmul_desc *desc) {
  const rlx_op_dequant_matmul_desc *d = DESC(rlx_op_dequant_matmul_desc);
  if (!d) return RLX_NONE;
  return NODE(dequant_matmul, (x, w, d->scale, d->zero, d->global), .scheme = (int32_t)d->scheme, .block = d->block);
}

/* f32 is not a valid result type here, so zero can stand for the default. */
static rlx_dtype or_i8(rlx_dtype to) { return to == RLX_F32 ? RLX_I8 : to; }

rlx_node rlx_op_q_matmul(rlx_graph *g, rlx_node a, rlx_node b, const rlx_op_q_matmul_desc *desc) {
  const rlx_op_q_matmul_desc *d = DESC(rlx_op_q_matmul_desc);
  if (!d) return RLX_NONE;
  return NODE(q_matmul, (a, b, d->a_scale, d->b_scale, d->y_scale, d->a_zero, d->b_zero, d->y_zero, d->bias),
              .to = or_i8(d->to));
}

rlx_node rlx_op_q_conv2d(rlx_graph *g, rlx_node x, rlx_node w, const rlx_op_q_conv2d_desc *desc) {
  const rlx_op_q_conv2d_desc *d = DESC(rlx_op_q_conv2d_desc);
  if (!d) return RLX_NONE;
  return NODE(q_conv2d, (x, w, d->x_scale, d->w_scale, d->y_scale, d->x_zero, d->w_zero, d->y_zero, d->bias),
              .to = or_i8(d->to), .stride = d->stride, .dilation = d->dilation, .pad_lo = d->pad_lo,
              .pad_hi = d->pad_hi, .groups = rlx_or_one(d->groups));
}

rlx_node rlx_op_dense_solve(rlx_graph *g, rlx_node a, rlx_node b) { return NODE(dense_solve, (a, b), NO_ATTRIBUTES); }

/* ---- attention and positions ---- */

rlx_node rlx_op_attention(rlx_graph *g, rlx_node q, rlx_node k, rlx_node v, const rlx_op_attention_desc *desc) {
  const rlx_op_attention_desc *d = DESC(rlx_op_attention_desc);
  if (!d) return RLX_NONE;
  return NODE(attention, (q, k, v, d->key_mask, d->bias, d->sinks, d->kv_len, d->kv_offset),
              .layout = (int32_t)d->layout, .scale = d->scale, .softcap = d->softcap, .causal = d->causal,
              .window = d->window);
}

rlx_node rlx_op_paged_attention(rlx_graph *g, rlx_node q, rlx_node k, rlx_node v, rlx_node pages,
                                const rlx_op_paged_attention_desc *desc) {
  const rlx_op_paged_attention_desc *d = DESC(rlx_op_paged_attention_desc);
  if (!d) return RLX_NONE;
  return NODE(paged_attention, (q, k, v, pages, d->kv_len, d->kv_offset, d->sinks), .scale = d->scale,
              .softcap = d->softcap, .causal = d->causal, .window = d->window);
}

rlx_node rlx_op_rope(rlx_graph *g, rlx_node x, const rlx_op_rope_desc *desc) {
  const rlx_op_rope_desc *d = DESC(rlx_op_rope_desc);
  if (!d) return RLX_NONE;
  return NODE(rope, (x, d->positions, d->offset, d->factors, d->cos, d->sin), .layout = (int32_t)d->layout,
              .style = (int32_t)d->style, .n_rot = d->n_rot, .theta = d->theta != 0 ? d->theta : 10000.0);
}

rlx_node rlx_op_axial_rope_2d(rlx_graph *g, rlx_node x, rlx_layout layout, rlx_rope_style style, int64_t width,
                              double theta) {
  return NODE(axial_rope_2d, (x), .layout = (int32_t)layout, .style = (int32_t)style, .width = width, .theta = theta);
}

/* ---- normalisation ---- */

rlx_node rlx_op_layer_norm(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, int64_t axis, double eps) {
  return NODE(layer_norm, (x, gamma, beta), .axis = axis, .eps = eps);
}

rlx_node rlx_op_rms_norm(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, int64_t axis, double eps) {
  return NODE(rms_norm, (x, gamma, beta), .axis = axis, .eps = eps);
}

rlx_node rlx_op_layer_norm_2d(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, double eps) {
  return NODE(layer_norm_2d, (x, gamma, beta), .eps = eps);
}

rlx_node rlx_op_group_norm(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, int64_t groups, double eps) {
  return NODE(group_norm, (x, gamma, beta), .groups = groups, .eps = eps);
}

rlx_node rlx_op_instance_norm(rlx_graph *g, rlx_node x, rlx_node gamma, rlx_node beta, double eps) {
  return NODE(instance_norm, (x, gamma, beta), .eps = eps);
}

rlx_node rlx_op_batch_norm_inference(rlx_graph *g, rlx_node x, rlx_node mean, rlx_node var, rlx_node gamma,
                                     rlx_node beta, double eps) {
  return NODE(batch_norm_inference, (x, mean, var, gamma, beta), .eps = eps);
}

rlx_node rlx_op_softmax(rlx_graph *g, rlx_node x, int64_t axis) { return NODE(softmax, (x), .axis = axis); }
rlx_node rlx_op_log_softmax(rlx_graph *g, rlx_node x, int64_t axis) { return NODE(log_softmax, (x), .axis = axis); }

/* ---- fused ---- */

rlx_node rlx_op_fused_matmul_bias_act(rlx_graph *g, rlx_node a, rlx_node b, rlx_node bias, bool trans_b, rlx_act act) {
  return NODE(fused_matmul_bias_act, (a, b, bias), .trans_b = trans_b, .act = (int32_t)act);
}

rlx_node rlx_op_fused_residual_norm(rlx_graph *g, rlx_node x, rlx_node residual, rlx_node gamma, rlx_node beta,
                                    rlx_norm_kind kind, double eps) {
  return NODE(fused_residual_norm, (x, residual, gamma, beta), .kind = (int32_t)kind, .eps = eps);
}

rlx_node rlx_op_fused_swiglu(rlx_graph *g, rlx_node gate, rlx_node up, rlx_act act) {
  return NODE(fused_swiglu, (gate, up), .act = (int32_t)act);
}

rlx_node rlx_op_fused_gate_up(rlx_graph *g, rlx_node x, rlx_node w_gate, rlx_node w_up, bool trans_b, rlx_act act) {
  return NODE(fused_gate_up, (x, w_gate, w_up), .trans_b = trans_b, .act = (int32_t)act);
}

rlx_node rlx_op_fused_norm_matmul(rlx_graph *g, rlx_node a, rlx_node b, rlx_node bias, rlx_node gamma, bool trans_b,
                                  rlx_act act, double eps) {
  return NODE(fused_norm_matmul, (a, b, bias, gamma), .trans_b = trans_b, .act = (int32_t)act, .eps = eps);
}

rlx_node rlx_op_fused_norm_gate_up(rlx_graph *g, rlx_node x, rlx_node w_gate, rlx_node w_up, rlx_node gamma,
                                   bool trans_b, rlx_act act, double eps) {
  return NODE(fused_norm_gate_up, (x, w_gate, w_up, gamma), .trans_b = trans_b, .act = (int32_t)act, .eps = eps);
}

rlx_node rlx_op_fused_norm_rope(rlx_graph *g, rlx_node x, rlx_node gamma, const rlx_op_rope_desc *desc, double eps) {
  const rlx_op_rope_desc *d = DESC(rlx_op_rope_desc);
  if (!d) return RLX_NONE;
  return NODE(fused_norm_rope, (x, d->positions, d->offset, d->factors, d->cos, d->sin, gamma),
              .layout = (int32_t)d->layout, .style = (int32_t)d->style, .n_rot = d->n_rot,
              .theta = d->theta != 0 ? d->theta : 10000.0, .eps = eps);
}

rlx_node rlx_op_fused_rope_update(rlx_graph *g, rlx_node state, rlx_node rows, rlx_node at,
                                  const rlx_op_rope_desc *desc, bool norm, rlx_node gamma, double eps) {
  const rlx_op_rope_desc *d = DESC(rlx_op_rope_desc);
  if (!d) return RLX_NONE;
  return NODE(fused_rope_update, (state, rows, at, d->positions, d->factors, gamma), .style = (int32_t)d->style,
              .n_rot = d->n_rot, .theta = d->theta != 0 ? d->theta : 10000.0, .norm = norm, .eps = eps);
}

rlx_node rlx_op_fused_rope_attention(rlx_graph *g, rlx_node rows, rlx_node k, rlx_node v, rlx_node at,
                                     const rlx_op_fused_rope_attention_desc *desc) {
  const rlx_op_fused_rope_attention_desc *d = DESC(rlx_op_fused_rope_attention_desc);
  if (!d) return RLX_NONE;
  return NODE(fused_rope_attention, (rows, k, v, at, d->factors, d->gamma_q, d->gamma_k), .style = (int32_t)d->style,
              .n_rot = d->n_rot, .theta = d->theta != 0 ? d->theta : 10000.0, .norm = d->norm, .eps = d->eps,
              .scale = d->scale, .softcap = d->softcap, .window = d->window);
}

rlx_node rlx_op_fused_attention_block(rlx_graph *g, rlx_node x, rlx_node w_qkv, rlx_node w_out,
                                      const rlx_op_fused_attention_block_desc *desc) {
  const rlx_op_fused_attention_block_desc *d = DESC(rlx_op_fused_attention_block_desc);
  if (!d) return RLX_NONE;
  return NODE(fused_attention_block, (x, w_qkv, w_out, d->b_qkv, d->b_out), .heads = rlx_or_one(d->heads),
              .kv_heads = d->kv_heads, .head_dim = d->head_dim, .trans_b = d->trans_b, .causal = d->causal,
              .scale = d->scale);
}
