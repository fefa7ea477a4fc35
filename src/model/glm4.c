/* GLM 4 (0414): norms before each part and of what it gives, biases of q, k and v, gate and up in one product, rope on
 * neighbours in half of each head. */
#include "model/family.h"

const lm_family lm_glm4 = {
  .name = "glm4",
  .architectures = "Glm4ForCausalLM Glm4Model glm4",
  .has = (LM_PLAIN | LM_POST_NORMS | LM_JOINED_GATE) & ~LM_GATE,
  .may_have = LM_OUTPUT | LM_QKV_BIAS,
  .positions = LM_ROTATE_PAIRS,
  .hf_names = "post_attention_norm=post_self_attn_layernorm post_ffw_norm=post_mlp_layernorm ffn_up=mlp.gate_up_proj",
};
