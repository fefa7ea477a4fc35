/* Command-r, and cohere 2 (command-r7b, command-a).
 *
 * Attention and feed-forward part are added to the same x, both from one layer norm, which has no bias. Logits are
 * scaled. Cohere 2 has a window in three of four layers, and only these have positions. */
#include "model/family.h"

static void read_cohere(lm_reader *r, lm_config *c) {
  c->logit_scale = lm_key_number(r, "logit_scale", "logit_scale", 0.0625);
}

static void read_cohere2(lm_reader *r, lm_config *c) {
  read_cohere(r, c);
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 4096);
  lm_read_windows(r, c, lm_key_size(r, NULL, "sliding_window_pattern _sliding_window_pattern", 4));
  c->skips_rope = lm_new_layer_flags(r, c);
  for (int64_t i = 0; c->skips_rope && i < c->layers; i++) c->skips_rope[i] = !c->is_local[i];
}

#define SHARED                                                                                              \
  .has = LM_OUTPUT_NORM | LM_ATTENTION | LM_QKV | LM_ATTN_NORM | LM_FFN | LM_GATE,                          \
  .may_have = LM_OUTPUT | LM_QKV_BIAS | LM_ATTN_BIAS, .positions = LM_ROTATE_PAIRS, .norm = RLX_NORM_LAYER, \
  .eps = 1e-5, .is_parallel = true, .is_tied = true

const lm_family lm_command_r = {
  .name = "command-r",
  .architectures = "CohereForCausalLM CohereModel cohere",
  SHARED,
  .read = read_cohere,
};
const lm_family lm_cohere2 = {
  .name = "cohere2",
  .architectures = "Cohere2ForCausalLM Cohere2Model cohere2",
  SHARED,
  .read = read_cohere2,
};
