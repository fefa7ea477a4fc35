/* Phi: phi 1.5 and 2, phi 3 and 4 (also the mini ones).
 *
 * Phi 2 adds attention and feed-forward part to the same x, both from one norm; it has biases everywhere, also at the
 * head, and rotates a part of each head. Phi 3 is llama with q, k and v in one product, and gate and up in another; the
 * first had a window in all layers. For long contexts it has lists of factors of rope's frequencies (rope.c). */
#include "model/family.h"

static void read_phi3(lm_reader *r, lm_config *c) {
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  lm_read_windows(r, c, 1);
}

const lm_family lm_phi2 = {
  .name = "phi2",
  .architectures = "PhiForCausalLM PhiModel phi",
  .has = LM_OUTPUT_NORM | LM_OUTPUT | LM_OUTPUT_BIAS | LM_ATTENTION | LM_QKV | LM_ATTN_NORM | LM_FFN | LM_QKV_BIAS |
         LM_ATTN_BIAS | LM_FFN_BIAS | LM_NORM_BIAS,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-5,
  .act = RLX_ACT_GELU_APPROX,
  .is_parallel = true,
  .hf_names = "attn_output=self_attn.dense ffn_up=mlp.fc1 ffn_down=mlp.fc2 output_norm=final_layernorm",
};
const lm_family lm_phi3 = {
  .name = "phi3",
  .architectures = "Phi3ForCausalLM Phi3Model phi3",
  .has = LM_OUTPUT_NORM | LM_ATTENTION | LM_JOINED_QKV | LM_ATTN_NORM | LM_FFN_NORM | LM_FFN | LM_JOINED_GATE,
  .may_have = LM_OUTPUT | LM_LONG_ROPE,
  .hf_names = "ffn_up=mlp.gate_up_proj",
  .read = read_phi3,
};
