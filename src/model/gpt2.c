/* GPT-2: layer norms with biases, learned positions added to the token embeddings, one product for q, k and v, no
 * gates. Hugging Face stores products as [in, out]. */
#include "model/family.h"
#include "model/reader.h"

static void read_gpt2(lm_reader *r, lm_config *c) {
  if (!c->hidden) c->hidden = 4 * c->width;
  lm_note_size(r, "feed_forward_length", c->hidden);
  if (c->kv_heads != c->heads || c->head * c->heads != c->width)
    lm_reader_fail(r, RLX_INVALID,
                   "%lld and %lld heads of %lld elements; expected as many for keys, %lld wide together",
                   (long long)c->heads, (long long)c->kv_heads, (long long)c->head, (long long)c->width);
}

const lm_family lm_gpt2 = {
  .name = "gpt2",
  .architectures = "GPT2LMHeadModel GPT2Model gpt2",
  .has = LM_OUTPUT_NORM | LM_POSITION_TABLE | LM_ATTENTION | LM_JOINED_QKV | LM_ATTN_NORM | LM_FFN_NORM | LM_FFN |
         LM_QKV_BIAS | LM_ATTN_BIAS | LM_FFN_BIAS | LM_NORM_BIAS,
  .may_have = LM_OUTPUT,
  .positions = LM_NO_ROPE,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-5,
  .act = RLX_ACT_GELU_APPROX,
  .is_tied = true,
  .hf_layers = "h.",
  .hf_names = "token_embd=wte position_embd=wpe output_norm=ln_f attn_norm=ln_1 attn_qkv=attn.c_attn "
              "attn_output=attn.c_proj ffn_norm=ln_2 ffn_up=mlp.c_fc ffn_down=mlp.c_proj",
  .is_transposed = true,
  .read = read_gpt2,
};
