/* Llama: llama 2 and 3, mistral, tinyllama, smollm; with experts, mixtral.
 *
 *   x + attention(norm x), then + gated(norm x)
 *
 * RMS norms before each part, rope on neighbouring elements, grouped-query attention, SiLU gates. Llama 3 scales its
 * rotary positions (rope.c). The first Mistral has a sliding window in every layer. Mixtral has eight experts and a
 * router that selects two per token; its GGUF architecture is also "llama". Older files store one tensor per expert,
 * newer ones all experts of a layer in one. */
#include "model/family.h"

static void read_llama(lm_reader *r, lm_config *c) {
  lm_read_basics(r, c);
  lm_read_attention(r, c);
  lm_read_rope(r, c);
  lm_read_activation(r, c, RLX_ACT_SILU);
  c->rope_style = RLX_ROPE_GPTJ;
  c->eps = lm_key_number(r, "attention.layer_norm_rms_epsilon", "rms_norm_eps", LM_NEEDED);
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  lm_read_windows(r, c, 1);
  lm_read_experts(r, c);
  c->expert_hidden = c->hidden;
  c->has_attention_bias = lm_key_tristate(r, "attention_bias");
  c->has_mlp_bias = lm_key_tristate(r, "mlp_bias");
}

static rlx_node layer(lm_build *b, uint32_t i, rlx_node x) {
  x = rlx_op_add(b->g, x, lm_attention(b, i, lm_rms_norm(b, "blk.%.attn_norm", i, x)));
  x = lm_active_rows(b, i, x);
  rlx_node h = lm_rms_norm(b, "blk.%.ffn_norm", i, x);
  return rlx_op_add(b->g, x, lm_has_experts(b->c, i) ? lm_mixture(b, i, h) : lm_gated(b, i, h));
}

/* clang-format off */
static const lm_tensor tensors[] = {
  LM_TENSOR("token_embd.weight", "embed_tokens.weight", {LM_VOCABULARY, LM_WIDTH}),
  LM_TENSOR("output_norm.weight", "norm.weight", {LM_WIDTH}),
  LM_TENSOR("output.weight", "lm_head.weight", {LM_VOCABULARY, LM_WIDTH}, .when = LM_MAYBE),
  LM_TENSOR("rope_freqs.weight", NULL, {LM_ROPE_PAIRS}, .when = LM_MAYBE, .recipe = LM_ROPE_FACTORS),
  LM_TENSOR("blk.%.attn_norm.weight", "layers.%.input_layernorm.weight", {LM_WIDTH}),
  LM_TENSOR("blk.%.attn_q.weight", "layers.%.self_attn.q_proj.weight", {LM_Q_ROWS, LM_WIDTH}, .recipe = LM_PAIR_ROWS),
  LM_TENSOR("blk.%.attn_k.weight", "layers.%.self_attn.k_proj.weight", {LM_KV_ROWS, LM_WIDTH}, .recipe = LM_PAIR_ROWS),
  LM_TENSOR("blk.%.attn_v.weight", "layers.%.self_attn.v_proj.weight", {LM_KV_ROWS, LM_WIDTH}),
  LM_TENSOR("blk.%.attn_output.weight", "layers.%.self_attn.o_proj.weight", {LM_WIDTH, LM_Q_ROWS}),
  LM_TENSOR("blk.%.attn_q.bias", "layers.%.self_attn.q_proj.bias", {LM_Q_ROWS},
            .when = LM_MAYBE, .recipe = LM_PAIR_ROWS),
  LM_TENSOR("blk.%.attn_k.bias", "layers.%.self_attn.k_proj.bias", {LM_KV_ROWS},
            .when = LM_MAYBE, .recipe = LM_PAIR_ROWS),
  LM_TENSOR("blk.%.attn_v.bias", "layers.%.self_attn.v_proj.bias", {LM_KV_ROWS}, .when = LM_MAYBE),
  LM_TENSOR("blk.%.attn_output.bias", "layers.%.self_attn.o_proj.bias", {LM_WIDTH}, .when = LM_MAYBE),
  LM_TENSOR("blk.%.ffn_norm.weight", "layers.%.post_attention_layernorm.weight", {LM_WIDTH}),
  LM_TENSOR("blk.%.ffn_gate.weight", "layers.%.mlp.gate_proj.weight", {LM_HIDDEN, LM_WIDTH}, .when = LM_DENSE),
  LM_TENSOR("blk.%.ffn_up.weight", "layers.%.mlp.up_proj.weight", {LM_HIDDEN, LM_WIDTH}, .when = LM_DENSE),
  LM_TENSOR("blk.%.ffn_down.weight", "layers.%.mlp.down_proj.weight", {LM_WIDTH, LM_HIDDEN}, .when = LM_DENSE),
  LM_TENSOR("blk.%.ffn_gate.bias", "layers.%.mlp.gate_proj.bias", {LM_HIDDEN}, .when = LM_MAYBE_DENSE),
  LM_TENSOR("blk.%.ffn_up.bias", "layers.%.mlp.up_proj.bias", {LM_HIDDEN}, .when = LM_MAYBE_DENSE),
  LM_TENSOR("blk.%.ffn_down.bias", "layers.%.mlp.down_proj.bias", {LM_WIDTH}, .when = LM_MAYBE_DENSE),
  LM_TENSOR("blk.%.ffn_gate_inp.weight", "layers.%.block_sparse_moe.gate.weight", {LM_EXPERTS, LM_WIDTH},
            .when = LM_EXPERT),
  LM_TENSOR("blk.%.ffn_gate_exps.weight", "layers.%.block_sparse_moe.experts.#.w1.weight",
            {LM_EXPERTS, LM_EXPERT_HIDDEN, LM_WIDTH}, .when = LM_EXPERT, .apart = "blk.%.ffn_gate.#.weight"),
  LM_TENSOR("blk.%.ffn_up_exps.weight", "layers.%.block_sparse_moe.experts.#.w3.weight",
            {LM_EXPERTS, LM_EXPERT_HIDDEN, LM_WIDTH}, .when = LM_EXPERT, .apart = "blk.%.ffn_up.#.weight"),
  LM_TENSOR("blk.%.ffn_down_exps.weight", "layers.%.block_sparse_moe.experts.#.w2.weight",
            {LM_EXPERTS, LM_WIDTH, LM_EXPERT_HIDDEN}, .when = LM_EXPERT, .apart = "blk.%.ffn_down.#.weight"),
};
/* clang-format on */

const lm_family lm_llama = {
  .name = "llama",
  .architectures =
    "LlamaForCausalLM MistralForCausalLM MixtralForCausalLM LlamaModel MistralModel llama mistral mixtral",
  .read = read_llama,
  .tensors = tensors,
  .n_tensors = sizeof tensors / sizeof *tensors,
  .layer = layer,
};
