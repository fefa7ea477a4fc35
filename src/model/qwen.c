/* Qwen: qwen2 (and 2.5), qwen3, and qwen3 with experts.
 *
 * Layers as in llama, with rope on elements half a head apart. Qwen2 has biases on q, k and v. Qwen3 has none, and
 * normalises each head of q and k before rope. Qwen3moe has experts in all or some layers, with their own hidden
 * size. A folder may request router weights over all experts (norm_topk_prob false), which GGUF has no key for and
 * no published model uses. */
#include "model/family.h"
#include "model/reader.h"

/* The first max_window_layers layers have full attention, unless layer_types lists the kinds. */
static void read_window(lm_reader *r, lm_config *c) {
  const char *key = "";
  c->window = lm_key_size(r, NULL, "sliding_window", 0);
  double first = lm_key_number(r, NULL, "max_window_layers", 28); /* not lm_key_size: 0 is valid */
  lm_read_windows(r, c, 1);
  if (!c->is_local || lm_reader_json(r, "layer_types", &key)) return;
  for (int64_t i = 0; i < c->layers && (double)i < first; i++) c->is_local[i] = 0;
}

static void read_shared(lm_reader *r, lm_config *c) {
  lm_read_basics(r, c);
  lm_read_attention(r, c);
  lm_read_rope(r, c);
  lm_read_activation(r, c, RLX_ACT_SILU);
  c->rope_style = RLX_ROPE_NEOX;
  c->eps = lm_key_number(r, "attention.layer_norm_rms_epsilon", "rms_norm_eps", LM_NEEDED);
  if (lm_key_bool(r, NULL, "use_sliding_window", false)) read_window(r, c);
  else lm_reader_mark_known(r, NULL, "sliding_window max_window_layers layer_types");
}

static void read_qwen2(lm_reader *r, lm_config *c) { read_shared(r, c); }

static void read_qwen3(lm_reader *r, lm_config *c) {
  read_shared(r, c);
  c->norms_heads = true;
}

static void read_qwen3moe(lm_reader *r, lm_config *c) {
  read_qwen3(r, c);
  lm_read_experts(r, c);
  c->expert_hidden = lm_key_size(r, "expert_feed_forward_length", "moe_intermediate_size", LM_NEEDED);
  c->weigh_all_experts = lm_reader_is_hf(r) && !lm_key_bool(r, NULL, "norm_topk_prob", false);
  if (!c->experts) lm_reader_fail(r, RLX_INVALID, "a model with experts has none");
  lm_read_dense_layers(r, c);
}

static rlx_node layer(lm_build *b, uint32_t i, rlx_node x) {
  x = rlx_op_add(b->g, x, lm_attention(b, i, lm_rms_norm(b, "blk.%.attn_norm", i, x)));
  x = lm_active_rows(b, i, x);
  rlx_node h = lm_rms_norm(b, "blk.%.ffn_norm", i, x);
  return rlx_op_add(b->g, x, lm_has_experts(b->c, i) ? lm_mixture(b, i, h) : lm_gated(b, i, h));
}

/* clang-format off */
#define ENDS \
  LM_TENSOR("token_embd.weight", "embed_tokens.weight", {LM_VOCABULARY, LM_WIDTH}), \
  LM_TENSOR("output_norm.weight", "norm.weight", {LM_WIDTH}), \
  LM_TENSOR("output.weight", "lm_head.weight", {LM_VOCABULARY, LM_WIDTH}, .when = LM_MAYBE)
#define ATTENTION \
  LM_TENSOR("blk.%.attn_norm.weight", "layers.%.input_layernorm.weight", {LM_WIDTH}), \
  LM_TENSOR("blk.%.attn_q.weight", "layers.%.self_attn.q_proj.weight", {LM_Q_ROWS, LM_WIDTH}), \
  LM_TENSOR("blk.%.attn_k.weight", "layers.%.self_attn.k_proj.weight", {LM_KV_ROWS, LM_WIDTH}), \
  LM_TENSOR("blk.%.attn_v.weight", "layers.%.self_attn.v_proj.weight", {LM_KV_ROWS, LM_WIDTH}), \
  LM_TENSOR("blk.%.attn_output.weight", "layers.%.self_attn.o_proj.weight", {LM_WIDTH, LM_Q_ROWS}), \
  LM_TENSOR("blk.%.ffn_norm.weight", "layers.%.post_attention_layernorm.weight", {LM_WIDTH})
#define HEAD_NORMS \
  LM_TENSOR("blk.%.attn_q_norm.weight", "layers.%.self_attn.q_norm.weight", {LM_HEAD}), \
  LM_TENSOR("blk.%.attn_k_norm.weight", "layers.%.self_attn.k_norm.weight", {LM_HEAD})
#define GATED \
  LM_TENSOR("blk.%.ffn_gate.weight", "layers.%.mlp.gate_proj.weight", {LM_HIDDEN, LM_WIDTH}, .when = LM_DENSE), \
  LM_TENSOR("blk.%.ffn_up.weight", "layers.%.mlp.up_proj.weight", {LM_HIDDEN, LM_WIDTH}, .when = LM_DENSE), \
  LM_TENSOR("blk.%.ffn_down.weight", "layers.%.mlp.down_proj.weight", {LM_WIDTH, LM_HIDDEN}, .when = LM_DENSE)

static const lm_tensor qwen2_tensors[] = {
  ENDS, ATTENTION, GATED,
  LM_TENSOR("blk.%.attn_q.bias", "layers.%.self_attn.q_proj.bias", {LM_Q_ROWS}),
  LM_TENSOR("blk.%.attn_k.bias", "layers.%.self_attn.k_proj.bias", {LM_KV_ROWS}),
  LM_TENSOR("blk.%.attn_v.bias", "layers.%.self_attn.v_proj.bias", {LM_KV_ROWS}),
};
static const lm_tensor qwen3_tensors[] = {ENDS, ATTENTION, HEAD_NORMS, GATED};
static const lm_tensor qwen3moe_tensors[] = {
  ENDS, ATTENTION, HEAD_NORMS, GATED,
  LM_TENSOR("blk.%.ffn_gate_inp.weight", "layers.%.mlp.gate.weight", {LM_EXPERTS, LM_WIDTH}, .when = LM_EXPERT),
  LM_TENSOR("blk.%.ffn_gate_exps.weight", "layers.%.mlp.experts.#.gate_proj.weight",
            {LM_EXPERTS, LM_EXPERT_HIDDEN, LM_WIDTH}, .when = LM_EXPERT),
  LM_TENSOR("blk.%.ffn_up_exps.weight", "layers.%.mlp.experts.#.up_proj.weight",
            {LM_EXPERTS, LM_EXPERT_HIDDEN, LM_WIDTH}, .when = LM_EXPERT),
  LM_TENSOR("blk.%.ffn_down_exps.weight", "layers.%.mlp.experts.#.down_proj.weight",
            {LM_EXPERTS, LM_WIDTH, LM_EXPERT_HIDDEN}, .when = LM_EXPERT),
};
/* clang-format on */

const lm_family lm_qwen2 = {
  .name = "qwen2",
  .architectures = "Qwen2ForCausalLM Qwen2Model qwen2",
  .read = read_qwen2,
  .tensors = qwen2_tensors,
  .n_tensors = sizeof qwen2_tensors / sizeof *qwen2_tensors,
  .layer = layer,
};
const lm_family lm_qwen3 = {
  .name = "qwen3",
  .architectures = "Qwen3ForCausalLM Qwen3Model qwen3",
  .read = read_qwen3,
  .tensors = qwen3_tensors,
  .n_tensors = sizeof qwen3_tensors / sizeof *qwen3_tensors,
  .layer = layer,
};
const lm_family lm_qwen3moe = {
  .name = "qwen3moe",
  .architectures = "Qwen3MoeForCausalLM Qwen3MoeModel qwen3_moe",
  .read = read_qwen3moe,
  .tensors = qwen3moe_tensors,
  .n_tensors = sizeof qwen3moe_tensors / sizeof *qwen3moe_tensors,
  .layer = layer,
};
