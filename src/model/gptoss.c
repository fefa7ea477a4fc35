/* gpt-oss: experts in all layers, with biases everywhere; gates that are bounded; windows in every other layer; and in
 * attention a score per head that joins the softmax with no value (a sink).
 *
 * Hugging Face has gate and up of an expert as alternating columns of one matrix, or, as the models are published, as
 * alternating rows of blocks of 4-bit numbers (mxfp4). */
#include <string.h>

#include "model/family.h"
#include "model/reader.h"

/* Which modules are packed the tensors say. */
static void check_packing(lm_reader *r) {
  const char *key = "";
  const json_t *how = r->json ? lm_reader_json(r, "quantization_config", &key) : NULL;
  const char *method = json_string_value(json_object_get(how, "quant_method"));
  if (how && (!method || strcmp(method, "mxfp4") != 0))
    lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's quantization_config has the method '%.40s'; expected mxfp4",
                   method ? method : "");
}

static void read_gptoss(lm_reader *r, lm_config *c) {
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 128);
  lm_read_windows(r, c, 2);
  c->expert_hidden = lm_key_size(r, "expert_feed_forward_length", "intermediate_size", LM_NEEDED);
  check_packing(r);
  c->gate_slope = lm_key_number(r, NULL, "swiglu_alpha", 1.702);
  c->gate_limit = lm_key_number(r, NULL, "swiglu_limit", 7);
  if (!c->experts) lm_reader_fail(r, RLX_INVALID, "a model with experts has none");
}

/* clang-format off */
static const lm_tensor tensors[] = {
  LM_TENSOR("blk.%.attn_sinks.weight", "layers.%.self_attn.sinks", {LM_HEADS}),
  LM_TENSOR("blk.%.ffn_gate_inp.weight", "layers.%.mlp.router.weight", {LM_EXPERTS, LM_WIDTH}),
  LM_TENSOR("blk.%.ffn_gate_inp.bias", "layers.%.mlp.router.bias", {LM_EXPERTS}),
  LM_TENSOR("blk.%.ffn_gate_exps.weight", "layers.%.mlp.experts.gate_up_proj",
            {LM_EXPERTS, LM_EXPERT_HIDDEN, LM_WIDTH}, .recipe = LM_EVEN_ROWS, .may_be_packed = true),
  LM_TENSOR("blk.%.ffn_up_exps.weight", "layers.%.mlp.experts.gate_up_proj",
            {LM_EXPERTS, LM_EXPERT_HIDDEN, LM_WIDTH}, .recipe = LM_ODD_ROWS, .may_be_packed = true),
  LM_TENSOR("blk.%.ffn_down_exps.weight", "layers.%.mlp.experts.down_proj",
            {LM_EXPERTS, LM_WIDTH, LM_EXPERT_HIDDEN}, .recipe = LM_TRANSPOSED, .may_be_packed = true),
  LM_TENSOR("blk.%.ffn_gate_exps.bias", "layers.%.mlp.experts.gate_up_proj_bias",
            {LM_EXPERTS, LM_EXPERT_HIDDEN}, .recipe = LM_EVEN_ROWS, .as_f32 = true),
  LM_TENSOR("blk.%.ffn_up_exps.bias", "layers.%.mlp.experts.gate_up_proj_bias",
            {LM_EXPERTS, LM_EXPERT_HIDDEN}, .recipe = LM_ODD_ROWS, .as_f32 = true),
  LM_TENSOR("blk.%.ffn_down_exps.bias", "layers.%.mlp.experts.down_proj_bias",
            {LM_EXPERTS, LM_WIDTH}, .as_f32 = true),
};
/* clang-format on */

const lm_family lm_gpt_oss = {
  .name = "gpt-oss",
  .architectures = "GptOssForCausalLM GptOssModel gpt_oss",
  .has = (LM_PLAIN | LM_QKV_BIAS | LM_ATTN_BIAS) & ~(LM_FFN | LM_GATE),
  .may_have = LM_OUTPUT,
  .counts_experts = true,
  .eps = 1e-5,
  .yarn_is_exact = true,
  .gguf_names = "ffn_norm=post_attention_norm",
  .read = read_gptoss,
  LM_OWN_TENSORS(tensors),
};
