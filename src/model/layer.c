/* A layer, of the parts that a model has.
 *
 *   x + scale norm(attention(norm x)), then the same with the feed-forward part; or both from the same x
 *
 * Each norm is there if its weight is: before the part (attn_norm, ffn_norm), of what the part gives (post_..), of the
 * sum (.._output_norm), in any combination. The list of a family's weights (tensors.c) is therefore also the plan of
 * its layers, and this file has no name of a family in it. */
#include "model/family.h"

/* Rows past `length` may have positions past the end of the table; they read its last row. */
rlx_node lm_embed_tokens(lm_build *b) {
  rlx_node x = lm_scale(b, lm_rows(b, "token_embd", b->ids), b->c->embedding_scale);
  if (b->c->family->has & LM_POSITION_TABLE) {
    rlx_node at = rlx_op_min(b->g, b->positions, lm_i32(b, (int32_t)b->c->context - 1));
    x = rlx_op_add(b->g, x, lm_rows(b, "position_embd", at));
  }
  return lm_norm(b, "token_embd_norm", 0, x);
}

static rlx_node attend(lm_build *b, uint32_t i, rlx_node x) {
  rlx_node y = b->c->family->mix ? b->c->family->mix(b, i, x) : lm_attention(b, i, x);
  return lm_scale(b, lm_norm(b, "blk.%.post_attention_norm", i, y), b->c->residual_scale);
}

static rlx_node feed_forward(lm_build *b, uint32_t i, rlx_node x) {
  rlx_node y = lm_norm(b, "blk.%.post_ffw_norm", i, lm_feed_forward(b, i, x));
  return lm_scale(b, y, b->c->residual_scale);
}

/* x + attention(norm x) + feed-forward(norm x); with one norm if there is only that before attention. */
static rlx_node parallel_layer(lm_build *b, uint32_t i, rlx_node x) {
  const bool has_two = lm_weight_node(b, "blk.%.ffn_norm.weight", i) != RLX_NONE;
  rlx_node h = lm_norm(b, "blk.%.attn_norm", i, x), y = attend(b, i, h), on[] = {x, y, h};
  lm_keep_active_rows(b, i, on, has_two ? 2 : 3);
  h = has_two ? lm_norm(b, "blk.%.ffn_norm", i, on[0]) : on[2];
  return rlx_op_add(b->g, rlx_op_add(b->g, on[0], on[1]), feed_forward(b, i, h));
}

rlx_node lm_layer(lm_build *b, uint32_t i, rlx_node x) {
  const lm_family *f = b->c->family;
  if (b->c->is_parallel) return parallel_layer(b, i, x);
  rlx_node y = attend(b, i, lm_norm(b, "blk.%.attn_norm", i, x));
  x = lm_norm(b, "blk.%.attn_output_norm", i, rlx_op_add(b->g, x, y));
  lm_keep_active_rows(b, i, &x, 1);
  if (!((f->has | f->may_have) & (LM_FFN | LM_MIXTURE)) && !f->counts_experts) return x;
  y = feed_forward(b, i, lm_norm(b, "blk.%.ffn_norm", i, x));
  return lm_norm(b, "blk.%.layer_output_norm", i, rlx_op_add(b->g, x, y));
}
