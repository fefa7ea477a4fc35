/* Olmo 2 and 3, and olmoe.
 *
 * Olmo 2 normalises what attention and feed-forward part give, and not what they get; q and k are normalised over all
 * heads together. Olmo 3 is the same with a window in three of four layers, and scales positions only in the fourth;
 * its GGUF architecture is also "olmo2". Olmoe has experts and norms before the parts; its router weighs the selected
 * experts by a softmax over all. */
#include "model/family.h"

static void read_olmo2(lm_reader *r, lm_config *c) {
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  c->local_is_plain = true;
  lm_read_windows(r, c, 4);
}

static void read_olmoe(lm_reader *r, lm_config *c) {
  c->expert_hidden = c->hidden;
  c->router = lm_key_bool(r, NULL, "norm_topk_prob", false) ? LM_ROUTER_SELECTED : LM_ROUTER_ALL;
}

const lm_family lm_olmo2 = {
  .name = "olmo2",
  .architectures = "Olmo2ForCausalLM Olmo3ForCausalLM Olmo2Model Olmo3Model olmo2 olmo3",
  .has = LM_OUTPUT_NORM | LM_ATTENTION | LM_QKV | LM_ALL_NORMS | LM_POST_NORMS | LM_FFN | LM_GATE,
  .may_have = LM_OUTPUT,
  .read = read_olmo2,
};
const lm_family lm_olmoe = {
  .name = "olmoe",
  .architectures = "OlmoeForCausalLM OlmoeModel olmoe",
  .has = LM_PLAIN | LM_ALL_NORMS | LM_MIXTURE,
  .may_have = LM_OUTPUT,
  .read = read_olmoe,
};
