/* Llama: llama 2 and 3, mistral, tinyllama, smollm; with experts, mixtral.
 *
 * The plain transformer, with rope on neighbouring elements. Llama 3 scales its rotary positions (rope.c). The first
 * Mistral has a sliding window in every layer. Mixtral has eight experts and a router that selects two per token; its
 * GGUF architecture is also "llama". Older files store one tensor per expert, newer ones all experts of a layer in
 * one. Ministral 3 lengthens its queries with their position. */
#include "model/family.h"
#include "model/reader.h"

static void read_llama(lm_reader *r, lm_config *c) {
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  lm_read_windows(r, c, 1);
  c->expert_hidden = c->hidden;
}

/* In Hugging Face among the parameters of rope. */
static void read_mistral3(lm_reader *r, lm_config *c) {
  const json_t *rope = r->json ? json_object_get(r->json, "rope_parameters") : NULL;
  const json_t *beta = json_object_get(rope, "llama_4_scaling_beta");
  const json_t *span = json_object_get(rope, "original_max_position_embeddings");
  read_llama(r, c);
  c->temperature = r->json ? json_number_value(beta) : lm_key_number(r, "attention.temperature_scale", NULL, 0);
  c->temperature_span = r->json ? json_number_value(span)
                                : lm_key_number(r, "rope.scaling.original_context_length", NULL, (double)c->context);
  lm_note_number(r, "attention.temperature_scale", c->temperature);
  if (!(c->temperature >= 0 && c->temperature < 1e6) || (c->temperature > 0 && !(c->temperature_span > 0)))
    lm_reader_fail(r, RLX_INVALID, "queries grow by %g with each %g tokens; expected numbers above 0", c->temperature,
                   c->temperature_span);
}

const lm_family lm_llama = {
  .name = "llama",
  .architectures =
    "LlamaForCausalLM MistralForCausalLM MixtralForCausalLM LlamaModel MistralModel llama mistral mixtral",
  .has = LM_PLAIN | LM_MIXTURE,
  .may_have = LM_OUTPUT | LM_QKV_BIAS | LM_ATTN_BIAS | LM_FFN_BIAS | LM_ROPE_FREQS,
  .positions = LM_ROTATE_PAIRS,
  .pairs_rows = true,
  .hf_names = "ffn_gate_inp=block_sparse_moe.gate ffn_gate_exps=block_sparse_moe.experts.#.w1 "
              "ffn_up_exps=block_sparse_moe.experts.#.w3 ffn_down_exps=block_sparse_moe.experts.#.w2",
  .read = read_llama,
};
const lm_family lm_mistral3 = {
  .name = "mistral3",
  .architectures = "Ministral3ForCausalLM Ministral3Model ministral3",
  .has = LM_PLAIN,
  .may_have = LM_OUTPUT,
  .positions = LM_ROTATE_PAIRS,
  .pairs_rows = true,
  .read = read_mistral3,
};
