/* ERNIE 4.5, dense and with experts: llama with rope on neighbours, whose rows of q and k are in that order everywhere.
 * Experts are selected by their softmax plus a bias, which does not count in their shares; one or more are used for
 * every token. The first layers have none. */
#include "model/family.h"

static void read_ernie(lm_reader *r, lm_config *c) {
  c->has_attention_bias = c->has_mlp_bias = lm_key_tristate(r, "use_bias");
}

/* Hugging Face names the first and the last layer with experts and how many of those between have them. */
static void read_ernie_moe(lm_reader *r, lm_config *c) {
  read_ernie(r, c);
  lm_read_router(r, c, LM_ROUTER_ALL);
  int64_t last = lm_key_size(r, NULL, "moe_layer_end_index", c->layers - 1);
  int64_t step = lm_key_size(r, "interleave_moe_layer_step", "moe_layer_interval", 1);
  if (last != c->layers - 1 || step != 1)
    lm_reader_fail(r, RLX_UNSUPPORTED, "experts up to layer %lld, in one of %lld; expected all after the first",
                   (long long)last, (long long)step);
  lm_set_leading_dense(r, c, lm_key_size(r, "leading_dense_block_count", "moe_layer_start_index", 1));
}

#define SHARED .positions = LM_ROTATE_PAIRS, .is_tied = true

const lm_family lm_ernie4_5 = {
  .name = "ernie4_5",
  .architectures = "Ernie4_5ForCausalLM Ernie4_5Model ernie4_5",
  .has = LM_PLAIN,
  .may_have = LM_OUTPUT | LM_QKV_BIAS | LM_ATTN_BIAS | LM_FFN_BIAS,
  SHARED,
  .read = read_ernie,
};
const lm_family lm_ernie4_5_moe = {
  .name = "ernie4_5-moe",
  .architectures = "Ernie4_5_MoeForCausalLM Ernie4_5_MoeModel ernie4_5_moe",
  .has = LM_PLAIN | LM_MIXTURE | LM_ROUTER_BIAS | LM_SHARED,
  .may_have = LM_OUTPUT,
  SHARED,
  .hf_names = "exp_probs_b=mlp.moe_statics.e_score_correction_bias ffn_gate_shexp=mlp.shared_experts.gate_proj "
              "ffn_up_shexp=mlp.shared_experts.up_proj ffn_down_shexp=mlp.shared_experts.down_proj",
  .read = read_ernie_moe,
};
