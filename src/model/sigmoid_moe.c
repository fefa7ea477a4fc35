/* Families with experts whose scores are sigmoids, selected with a bias that does not count in their shares.
 *
 *   glm4moe      glm 4.5 and 4.6: one expert for every token, biases of q, k and v; norms of heads in the large one
 *   dots1        norms of heads; experts in groups, of which the best are used
 *   minimax-m2   norms over all heads, experts in all layers
 *
 * The first layers may have no experts. Layers after the last, which predict further tokens, are left out. */
#include <string.h>

#include "model/family.h"
#include "model/reader.h"

static void read_glm4moe(lm_reader *r, lm_config *c) {
  lm_read_next_layers(r, c);
  lm_read_router(r, c, LM_ROUTER_SIGMOID);
  lm_set_leading_dense(r, c, lm_key_size(r, "leading_dense_block_count", "first_k_dense_replace", 1));
  if (r->json && lm_key_bool(r, NULL, "use_qk_norm", false) !=
                   (rlx_file_tensor_find(r->file, "model.layers.0.self_attn.q_norm.weight") != NULL))
    lm_reader_fail(r, RLX_INVALID, "config.json's use_qk_norm contradicts the tensors");
}

static void read_dots1(lm_reader *r, lm_config *c) {
  lm_read_router(r, c, LM_ROUTER_SIGMOID);
  lm_set_leading_dense(r, c, lm_key_size(r, "leading_dense_block_count", "first_k_dense_replace", 0));
  const char *key = "";
  const json_t *kinds = r->json ? lm_reader_json(r, "layer_types", &key) : NULL;
  for (size_t i = 0; i < json_array_size(kinds); i++)
    if (!json_equal(json_array_get(kinds, i), json_array_get(kinds, 0)))
      lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's layer_types has several kinds; expected full_attention alone");
  const char *kind = json_string_value(json_array_get(kinds, 0));
  if (kind && strcmp(kind, "full_attention") != 0)
    lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's layer_types has '%.40s'; expected full_attention", kind);
  lm_reader_mark_known(r, NULL, "sliding_window max_window_layers"); /* layer_types says that they are not used */
}

static void read_minimax(lm_reader *r, lm_config *c) {
  const char *key = "";
  const json_t *kinds = r->json ? lm_reader_json(r, "attn_type_list", &key) : NULL;
  for (size_t i = 0; i < json_array_size(kinds); i++)
    if (json_integer_value(json_array_get(kinds, i)) != 1)
      lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's attn_type_list: expected 1, softmax attention, for all layers");
  c->expert_hidden = c->hidden;
  lm_read_router(r, c, LM_ROUTER_SIGMOID);
}

#define SHARED_EXPERT_NAMES                                                              \
  "ffn_gate_shexp=mlp.shared_experts.gate_proj ffn_up_shexp=mlp.shared_experts.up_proj " \
  "ffn_down_shexp=mlp.shared_experts.down_proj"

const lm_family lm_glm4moe = {
  .name = "glm4moe",
  .architectures = "Glm4MoeForCausalLM Glm4MoeModel glm4_moe",
  .has = LM_PLAIN | LM_MIXTURE | LM_ROUTER_BIAS | LM_SHARED,
  .may_have = LM_OUTPUT | LM_QKV_BIAS | LM_HEAD_NORMS,
  .gguf_names = "ffn_norm=post_attention_norm",
  .hf_names = SHARED_EXPERT_NAMES,
  .read = read_glm4moe,
};
const lm_family lm_dots1 = {
  .name = "dots1",
  .architectures = "Dots1ForCausalLM Dots1Model dots1",
  .has = LM_PLAIN | LM_HEAD_NORMS | LM_MIXTURE | LM_ROUTER_BIAS | LM_SHARED,
  .may_have = LM_OUTPUT,
  .hf_names = SHARED_EXPERT_NAMES,
  .read = read_dots1,
};
const lm_family lm_minimax_m2 = {
  .name = "minimax-m2",
  .architectures = "MiniMaxM2ForCausalLM MiniMaxM2Model minimax_m2",
  .has = (LM_PLAIN | LM_ALL_NORMS | LM_MIXTURE | LM_ROUTER_BIAS) & ~(LM_FFN | LM_GATE),
  .may_have = LM_OUTPUT,
  .hf_names = "ffn_gate_inp=block_sparse_moe.gate exp_probs_b=block_sparse_moe.e_score_correction_bias "
              "ffn_gate_exps=block_sparse_moe.experts.#.w1 ffn_up_exps=block_sparse_moe.experts.#.w3 "
              "ffn_down_exps=block_sparse_moe.experts.#.w2",
  .read = read_minimax,
};
