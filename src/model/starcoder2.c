/* StarCoder 2: layer norms, biases, no gates, and a sliding window in every layer. */
#include "model/family.h"

static void read_starcoder2(lm_reader *r, lm_config *c) {
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  lm_read_windows(r, c, 1);
  c->has_attention_bias = c->has_mlp_bias = lm_key_tristate(r, "use_bias");
}

const lm_family lm_starcoder2 = {
  .name = "starcoder2",
  .architectures = "Starcoder2ForCausalLM Starcoder2Model starcoder2",
  .has = (LM_PLAIN | LM_NORM_BIAS) & ~LM_GATE,
  .may_have = LM_OUTPUT | LM_QKV_BIAS | LM_ATTN_BIAS | LM_FFN_BIAS,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-5,
  .act = RLX_ACT_GELU_APPROX,
  .is_tied = true,
  .hf_names = "ffn_up=mlp.c_fc ffn_down=mlp.c_proj",
  .read = read_starcoder2,
};
