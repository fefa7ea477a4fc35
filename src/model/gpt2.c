/* GPT-2.
 *
 *   x + attention(norm x), then + down(gelu(up(norm x)))
 *
 * Layer norms with biases, learned positions added to the token embeddings, one product for q, k and v. Hugging Face
 * stores weights as [in, out]. */
#include "model/family.h"

static void read_gpt2(lm_reader *r, lm_config *c) {
  lm_read_basics(r, c);
  lm_read_attention(r, c);
  lm_read_activation(r, c, RLX_ACT_GELU_APPROX);
  c->eps = lm_key_number(r, "attention.layer_norm_epsilon", "layer_norm_epsilon", 1e-5);
  if (!c->hidden) c->hidden = 4 * c->width;
  if (c->kv_heads != c->heads || c->head * c->heads != c->width)
    lm_reader_fail(r, RLX_INVALID,
                   "%lld and %lld heads of %lld elements; expected as many for keys, %lld wide together",
                   (long long)c->heads, (long long)c->kv_heads, (long long)c->head, (long long)c->width);
}

/* Rows past `length` may have positions past the end of the table; they read its last row. */
static rlx_node embed(lm_build *b) {
  rlx_node at = rlx_op_min(b->g, b->positions, lm_i32(b, (int32_t)b->c->context - 1));
  return rlx_op_add(b->g, lm_rows(b, "token_embd", b->ids), lm_rows(b, "position_embd", at));
}

/* Part i of q, k, v, split into heads. */
static rlx_node part(lm_build *b, rlx_node qkv, int64_t i) {
  return rlx_op_reshape(b->g, rlx_op_narrow(b->g, qkv, 2, i * b->c->width, b->c->width),
                        RLX_DIMS(b->sequences, b->tokens, b->c->heads, b->c->head));
}

static rlx_node layer(lm_build *b, uint32_t i, rlx_node x) {
  rlx_node qkv = lm_linear(b, "blk.%.attn_qkv", i, lm_layer_norm(b, "blk.%.attn_norm", i, x));
  rlx_node y = lm_attend(b, i, part(b, qkv, 0), part(b, qkv, 1), part(b, qkv, 2));
  x = rlx_op_add(b->g, x, lm_linear(b, "blk.%.attn_output", i, y));
  x = lm_active_rows(b, i, x);
  rlx_node h = lm_activate(b, lm_linear(b, "blk.%.ffn_up", i, lm_layer_norm(b, "blk.%.ffn_norm", i, x)));
  return rlx_op_add(b->g, x, lm_linear(b, "blk.%.ffn_down", i, h));
}

/* clang-format off */
static const lm_tensor tensors[] = {
  LM_TENSOR("token_embd.weight", "wte.weight", {LM_VOCABULARY, LM_WIDTH}),
  LM_TENSOR("position_embd.weight", "wpe.weight", {LM_CONTEXT, LM_WIDTH}),
  LM_TENSOR("output_norm.weight", "ln_f.weight", {LM_WIDTH}),
  LM_TENSOR("output_norm.bias", "ln_f.bias", {LM_WIDTH}),
  LM_TENSOR("output.weight", "lm_head.weight", {LM_VOCABULARY, LM_WIDTH}, .when = LM_MAYBE),
  LM_TENSOR("blk.%.attn_norm.weight", "h.%.ln_1.weight", {LM_WIDTH}),
  LM_TENSOR("blk.%.attn_norm.bias", "h.%.ln_1.bias", {LM_WIDTH}),
  LM_TENSOR("blk.%.attn_qkv.weight", "h.%.attn.c_attn.weight", {LM_QKV_ROWS, LM_WIDTH}, .recipe = LM_TRANSPOSED),
  LM_TENSOR("blk.%.attn_qkv.bias", "h.%.attn.c_attn.bias", {LM_QKV_ROWS}),
  LM_TENSOR("blk.%.attn_output.weight", "h.%.attn.c_proj.weight", {LM_WIDTH, LM_WIDTH}, .recipe = LM_TRANSPOSED),
  LM_TENSOR("blk.%.attn_output.bias", "h.%.attn.c_proj.bias", {LM_WIDTH}),
  LM_TENSOR("blk.%.ffn_norm.weight", "h.%.ln_2.weight", {LM_WIDTH}),
  LM_TENSOR("blk.%.ffn_norm.bias", "h.%.ln_2.bias", {LM_WIDTH}),
  LM_TENSOR("blk.%.ffn_up.weight", "h.%.mlp.c_fc.weight", {LM_HIDDEN, LM_WIDTH}, .recipe = LM_TRANSPOSED),
  LM_TENSOR("blk.%.ffn_up.bias", "h.%.mlp.c_fc.bias", {LM_HIDDEN}),
  LM_TENSOR("blk.%.ffn_down.weight", "h.%.mlp.c_proj.weight", {LM_WIDTH, LM_HIDDEN}, .recipe = LM_TRANSPOSED),
  LM_TENSOR("blk.%.ffn_down.bias", "h.%.mlp.c_proj.bias", {LM_WIDTH}),
};
/* clang-format on */

const lm_family lm_gpt2 = {
  .name = "gpt2",
  .architectures = "GPT2LMHeadModel GPT2Model gpt2",
  .read = read_gpt2,
  .tensors = tensors,
  .n_tensors = sizeof tensors / sizeof *tensors,
  .embed = embed,
  .layer = layer,
  .norm = lm_layer_norm,
  .is_tied = true,
};
