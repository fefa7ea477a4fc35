/* Families that are llama but for one thing each.
 *
 *   smollm3         every fourth layer has no positions
 *   seed_oss        biases of q, k and v; GGUF calls the norm before the feed-forward part post_attention_norm
 *   hunyuan-dense   norms of heads, after rope; long contexts have another base of rope */
#include "model/family.h"
#include "model/reader.h"

/* A list has 1 for the layers that do have positions. */
static void read_smollm3(lm_reader *r, lm_config *c) {
  const char *key = "";
  const json_t *list = r->json ? lm_reader_json(r, "no_rope_layers", &key) : NULL;
  int64_t every = lm_key_count(r, NULL, "no_rope_layer_interval", 4);
  c->skips_rope = lm_new_layer_flags(r, c);
  if (list && json_array_size(list) != (size_t)c->layers)
    lm_reader_fail(r, RLX_INVALID, "config.json's no_rope_layers is not a list of %lld", (long long)c->layers);
  for (int64_t i = 0; c->skips_rope && !r->status && i < c->layers; i++)
    c->skips_rope[i] = list ? json_integer_value(json_array_get(list, (size_t)i)) == 0 : (i + 1) % every == 0;
  if (lm_key_bool(r, NULL, "use_sliding_window", false))
    lm_reader_fail(r, RLX_UNSUPPORTED,
                   "config.json's use_sliding_window is true; windows of smollm3 are not supported");
  lm_reader_mark_known(r, NULL, "sliding_window max_window_layers layer_types");
}

const lm_family lm_smollm3 = {
  .name = "smollm3",
  .architectures = "SmolLM3ForCausalLM SmolLM3Model smollm3",
  .has = LM_PLAIN,
  .may_have = LM_OUTPUT,
  .positions = LM_ROTATE_PAIRS,
  .is_tied = true,
  .pairs_rows = true,
  .read = read_smollm3,
};
const lm_family lm_seed_oss = {
  .name = "seed_oss",
  .architectures = "SeedOssForCausalLM SeedOssModel seed_oss",
  .has = LM_PLAIN,
  .may_have = LM_OUTPUT | LM_QKV_BIAS,
  .gguf_names = "ffn_norm=post_attention_norm",
};
const lm_family lm_hunyuan_dense = {
  .name = "hunyuan-dense",
  .architectures = "HunYuanDenseV1ForCausalLM HunYuanDenseV1Model hunyuan_v1_dense",
  .has = LM_PLAIN | LM_HEAD_NORMS,
  .may_have = LM_OUTPUT,
  .norms_after_rope = true,
  .stretches_base = true,
  .hf_names = "attn_q_norm=self_attn.query_layernorm attn_k_norm=self_attn.key_layernorm",
};
