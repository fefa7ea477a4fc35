/* Granite 3: llama with four scales: of the embeddings, of the scores of attention, of what each part of a layer adds,
 * and of the logits. With experts, gate and up of all experts of a layer are one tensor in Hugging Face. */
#include "model/family.h"

static void read_granite(lm_reader *r, lm_config *c) {
  c->embedding_scale = lm_key_number(r, "embedding_scale", "embedding_multiplier", 1);
  c->residual_scale = lm_key_number(r, "residual_scale", "residual_multiplier", 1);
  c->attention_scale = lm_key_number(r, "attention.scale", "attention_multiplier", lm_reader_is_hf(r) ? 1 : 0);
  double divisor = lm_key_number(r, "logit_scale", "logits_scaling", 1);
  if (divisor > 0) c->logit_scale = 1 / divisor;
  c->expert_hidden = c->hidden;
}

#define SHARED \
  .may_have = LM_OUTPUT, .positions = LM_ROTATE_PAIRS, .pairs_rows = true, .eps = 1e-6, .read = read_granite

const lm_family lm_granite = {
  .name = "granite",
  .architectures = "GraniteForCausalLM GraniteModel granite",
  .has = LM_PLAIN,
  SHARED,
};
const lm_family lm_granitemoe = {
  .name = "granitemoe",
  .architectures = "GraniteMoeForCausalLM GraniteMoeModel granitemoe",
  .has = LM_PLAIN | LM_MIXTURE,
  SHARED,
  .hf_names = "ffn_gate_inp=block_sparse_moe.router.layer ffn_gate_exps=block_sparse_moe.input_linear "
              "ffn_up_exps=block_sparse_moe.input_linear ffn_down_exps=block_sparse_moe.output_linear",
  .halves_experts = true,
};
