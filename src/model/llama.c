/* Llama: llama 2 and 3, mistral, tinyllama, smollm; with experts, mixtral.
 *
 * The plain transformer, with rope on neighbouring elements. Llama 3 scales its rotary positions (rope.c). The first
 * Mistral has a sliding window in every layer. Mixtral has eight experts and a router that selects two per token; its
 * GGUF architecture is also "llama". Older files store one tensor per expert, newer ones all experts of a layer in
 * one. */
#include "model/family.h"

static void read_llama(lm_reader *r, lm_config *c) {
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  lm_read_windows(r, c, 1);
  c->expert_hidden = c->hidden;
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
