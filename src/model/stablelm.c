/* StableLM: llama with layer norms, rope on a part of each head and, in some, biases of q, k and v; some add attention
 * and feed-forward part to the same x, from one norm. Norms of heads (stablelm 2 12b) are not supported. */
#include "model/family.h"

static void read_stablelm(lm_reader *r, lm_config *c) {
  c->is_parallel = lm_key_bool(r, "use_parallel_residual", "use_parallel_residual", false);
  c->has_attention_bias = lm_key_tristate(r, "use_qkv_bias");
}

const lm_family lm_stablelm = {
  .name = "stablelm",
  .architectures = "StableLmForCausalLM StableLmModel stablelm",
  .has = (LM_PLAIN | LM_NORM_BIAS) & ~LM_FFN_NORM,
  .may_have = LM_FFN_NORM | LM_OUTPUT | LM_QKV_BIAS,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-5,
  .read = read_stablelm,
};
