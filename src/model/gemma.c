/* Gemma 2 and 3.
 *
 *   x + norm(attention(norm x)), then + norm(gated(norm x))
 *
 * Four norms per layer; Hugging Face stores their weights as w - 1. Token embeddings are scaled by sqrt(width), and
 * the embedding is also the output weight. Most layers use sliding-window attention: every other layer in gemma 2,
 * five of six in gemma 3, where those layers have their own rope base. Gemma 2 soft-caps attention scores and
 * logits; gemma 3 normalises the heads of q and k instead. */
#include <math.h>

#include "model/family.h"

/* GGUF has no key for the attention scale. All sizes but the 27B of each generation use 1 / sqrt(head); the 27B,
 * recognised by its number of layers, uses the width per head. */
static void read_scale(lm_reader *r, lm_config *c, int64_t layers_of_27b) {
  double by = (double)(c->layers == layers_of_27b ? c->width / c->heads : c->head);
  by = lm_key_number(r, NULL, "query_pre_attn_scalar", by);
  if (by > 0) c->attention_scale = 1 / sqrt(by);
}

static void read_shared(lm_reader *r, lm_config *c) {
  lm_read_basics(r, c);
  lm_read_attention(r, c);
  lm_read_rope(r, c);
  lm_read_activation(r, c, RLX_ACT_GELU_APPROX);
  c->rope_style = RLX_ROPE_NEOX;
  c->eps = lm_key_number(r, "attention.layer_norm_rms_epsilon", "rms_norm_eps", 1e-6);
  c->embedding_scale = (double)sqrtf((float)c->width);
  c->attention_cap = lm_key_number(r, "attn_logit_softcapping", "attn_logit_softcapping", 0);
  c->final_cap = lm_key_number(r, "final_logit_softcapping", "final_logit_softcapping", 0);
}

static void read_gemma2(lm_reader *r, lm_config *c) {
  read_shared(r, c);
  if (!lm_reader_is_hf(r) && c->attention_cap <= 0) c->attention_cap = 50; /* files older than the key */
  if (!lm_reader_is_hf(r) && c->final_cap <= 0) c->final_cap = 30;
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window sliding_window_size", 4096);
  lm_read_windows(r, c, 2);
  read_scale(r, c, 46);
}

/* Gemma 3 folders omit values that equal the defaults of the class. */
static void read_gemma3(lm_reader *r, lm_config *c) {
  if (lm_reader_is_hf(r)) {
    c->heads = 8;
    c->kv_heads = 4;
    c->head = 256;
    c->theta = 1e6;
    c->context = 131072;
  }
  c->local_theta = 10000;
  c->local_is_plain = true;
  read_shared(r, c);
  c->norms_heads = true;
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  int64_t every =
    lm_key_size(r, "attention.sliding_window_pattern", "sliding_window_pattern _sliding_window_pattern", 6);
  lm_read_windows(r, c, every);
  read_scale(r, c, 62);
}

static rlx_node layer(lm_build *b, uint32_t i, rlx_node x) {
  rlx_node y = lm_attention(b, i, lm_rms_norm(b, "blk.%.attn_norm", i, x));
  x = rlx_op_add(b->g, x, lm_rms_norm(b, "blk.%.post_attention_norm", i, y));
  x = lm_active_rows(b, i, x);
  y = lm_gated(b, i, lm_rms_norm(b, "blk.%.ffn_norm", i, x));
  return rlx_op_add(b->g, x, lm_rms_norm(b, "blk.%.post_ffw_norm", i, y));
}

/* clang-format off */
#define SHARED \
  LM_TENSOR("token_embd.weight", "embed_tokens.weight", {LM_VOCABULARY, LM_WIDTH}), \
  LM_TENSOR("output_norm.weight", "norm.weight", {LM_WIDTH}, .recipe = LM_PLUS_ONE), \
  LM_TENSOR("output.weight", "lm_head.weight", {LM_VOCABULARY, LM_WIDTH}, .when = LM_MAYBE), \
  LM_TENSOR("blk.%.attn_norm.weight", "layers.%.input_layernorm.weight", {LM_WIDTH}, .recipe = LM_PLUS_ONE), \
  LM_TENSOR("blk.%.attn_q.weight", "layers.%.self_attn.q_proj.weight", {LM_Q_ROWS, LM_WIDTH}), \
  LM_TENSOR("blk.%.attn_k.weight", "layers.%.self_attn.k_proj.weight", {LM_KV_ROWS, LM_WIDTH}), \
  LM_TENSOR("blk.%.attn_v.weight", "layers.%.self_attn.v_proj.weight", {LM_KV_ROWS, LM_WIDTH}), \
  LM_TENSOR("blk.%.attn_output.weight", "layers.%.self_attn.o_proj.weight", {LM_WIDTH, LM_Q_ROWS}), \
  LM_TENSOR("blk.%.post_attention_norm.weight", "layers.%.post_attention_layernorm.weight", \
            {LM_WIDTH}, .recipe = LM_PLUS_ONE), \
  LM_TENSOR("blk.%.ffn_norm.weight", "layers.%.pre_feedforward_layernorm.weight", {LM_WIDTH}, .recipe = LM_PLUS_ONE), \
  LM_TENSOR("blk.%.ffn_gate.weight", "layers.%.mlp.gate_proj.weight", {LM_HIDDEN, LM_WIDTH}), \
  LM_TENSOR("blk.%.ffn_up.weight", "layers.%.mlp.up_proj.weight", {LM_HIDDEN, LM_WIDTH}), \
  LM_TENSOR("blk.%.ffn_down.weight", "layers.%.mlp.down_proj.weight", {LM_WIDTH, LM_HIDDEN}), \
  LM_TENSOR("blk.%.post_ffw_norm.weight", "layers.%.post_feedforward_layernorm.weight", \
            {LM_WIDTH}, .recipe = LM_PLUS_ONE)

static const lm_tensor gemma2_tensors[] = {SHARED};
static const lm_tensor gemma3_tensors[] = {
  SHARED,
  LM_TENSOR("blk.%.attn_q_norm.weight", "layers.%.self_attn.q_norm.weight", {LM_HEAD}, .recipe = LM_PLUS_ONE),
  LM_TENSOR("blk.%.attn_k_norm.weight", "layers.%.self_attn.k_norm.weight", {LM_HEAD}, .recipe = LM_PLUS_ONE),
};
/* clang-format on */

const lm_family lm_gemma2 = {
  .name = "gemma2",
  .architectures = "Gemma2ForCausalLM Gemma2Model gemma2",
  .read = read_gemma2,
  .tensors = gemma2_tensors,
  .n_tensors = sizeof gemma2_tensors / sizeof *gemma2_tensors,
  .layer = layer,
  .is_tied = true,
};
const lm_family lm_gemma3 = {
  .name = "gemma3",
  .architectures = "Gemma3ForCausalLM Gemma3TextModel gemma3_text",
  .read = read_gemma3,
  .tensors = gemma3_tensors,
  .n_tensors = sizeof gemma3_tensors / sizeof *gemma3_tensors,
  .layer = layer,
  .is_tied = true,
};
