/* Qwen: qwen2 (and 2.5) and qwen3, each also with experts.
 *
 * Qwen2 has biases on q, k and v. Qwen3 has none, and normalises each head of q and k before rope. Qwen3moe has experts
 * in all or some layers, with their own hidden size. A folder may request router weights over all experts
 * (norm_topk_prob false), which GGUF has no key for and no published model uses; qwen2moe always does, and
 * has an expert for every token, weighted by a gate. */
#include "model/family.h"
#include "model/reader.h"

/* The first max_window_layers layers have full attention, unless layer_types lists the kinds. */
static void read_window(lm_reader *r, lm_config *c) {
  const char *key = "";
  if (!lm_key_bool(r, NULL, "use_sliding_window", false)) {
    lm_reader_mark_known(r, NULL, "sliding_window max_window_layers layer_types");
    return;
  }
  c->window = lm_key_size(r, NULL, "sliding_window", 0);
  double first = lm_key_number(r, NULL, "max_window_layers", 28); /* not lm_key_size: 0 is valid */
  lm_read_windows(r, c, 1);
  if (!c->is_local || lm_reader_json(r, "layer_types", &key)) return;
  for (int64_t i = 0; i < c->layers && (double)i < first; i++) c->is_local[i] = 0;
}

static void read_moe(lm_reader *r, lm_config *c) {
  read_window(r, c);
  c->expert_hidden = lm_key_size(r, "expert_feed_forward_length", "moe_intermediate_size", LM_NEEDED);
  if (lm_reader_is_hf(r) && !lm_key_bool(r, NULL, "norm_topk_prob", false)) c->router = LM_ROUTER_ALL;
  if (!c->experts) lm_reader_fail(r, RLX_INVALID, "a model with experts has none");
  lm_read_dense_layers(r, c);
}

static void read_qwen2moe(lm_reader *r, lm_config *c) {
  read_moe(r, c);
  c->router = lm_key_bool(r, NULL, "norm_topk_prob", false) ? LM_ROUTER_SELECTED : LM_ROUTER_ALL;
  c->shared_hidden = lm_key_size(r, "expert_shared_feed_forward_length", "shared_expert_intermediate_size", LM_NEEDED);
}

const lm_family lm_qwen2 = {
  .name = "qwen2",
  .architectures = "Qwen2ForCausalLM Qwen2Model qwen2",
  .has = LM_PLAIN | LM_QKV_BIAS,
  .may_have = LM_OUTPUT,
  .read = read_window,
};
const lm_family lm_qwen3 = {
  .name = "qwen3",
  .architectures = "Qwen3ForCausalLM Qwen3Model qwen3",
  .has = LM_PLAIN | LM_HEAD_NORMS,
  .may_have = LM_OUTPUT,
  .read = read_window,
};
const lm_family lm_qwen3moe = {
  .name = "qwen3moe",
  .architectures = "Qwen3MoeForCausalLM Qwen3MoeModel qwen3_moe",
  .has = LM_PLAIN | LM_HEAD_NORMS | LM_MIXTURE,
  .may_have = LM_OUTPUT,
  .read = read_moe,
};
const lm_family lm_qwen2moe = {
  .name = "qwen2moe",
  .architectures = "Qwen2MoeForCausalLM Qwen2MoeModel qwen2_moe",
  .has = LM_PLAIN | LM_QKV_BIAS | LM_MIXTURE | LM_SHARED | LM_SHARED_GATE,
  .may_have = LM_OUTPUT,
  .read = read_qwen2moe,
};
