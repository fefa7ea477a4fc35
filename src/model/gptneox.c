/* GPT-NeoX: pythia, dolly, redpajama. Layer norms and biases everywhere, no gates, rope on a part of each head.
 * Attention and feed-forward part are added to the same x, each from a norm of its own. Hugging Face keeps the rows of
 * q, k and v of each head together. */
#include "model/family.h"

static void read_gptneox(lm_reader *r, lm_config *c) {
  c->is_parallel = lm_key_bool(r, "use_parallel_residual", "use_parallel_residual", true);
}

const lm_family lm_gptneox = {
  .name = "gptneox",
  .architectures = "GPTNeoXForCausalLM GPTNeoXModel gpt_neox",
  .has = LM_OUTPUT_NORM | LM_OUTPUT | LM_ATTENTION | LM_JOINED_QKV | LM_ATTN_NORM | LM_FFN_NORM | LM_FFN | LM_FFN_BIAS |
         LM_NORM_BIAS,
  .may_have = LM_QKV_BIAS | LM_ATTN_BIAS,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-5,
  .act = RLX_ACT_GELU,
  .hf_names = "token_embd=embed_in output=embed_out output_norm=final_layer_norm "
              "attn_qkv=attention.query_key_value attn_output=attention.dense ffn_up=mlp.dense_h_to_4h "
              "ffn_down=mlp.dense_4h_to_h",
  .groups_rows = true,
  .read = read_gptneox,
};
