/* BERT: encoders such as MiniLM, which make one row of a whole text.
 *
 *   norm(x + attention x), then norm(x + down(gelu(up x)))
 *
 * Every token sees every other, norms come after the sums, positions are rows of a table, and so are the types of tokens, of
 * which a single text uses the first. The rows that count are averaged and brought to unit length, or the first row is where
 * the file asks for that. */
#include <string.h>

#include "model/family.h"
#include "model/reader.h"

/* GGUF has a number for how rows are pooled; a folder may have 1_Pooling/config.json, and without one the mean is usual. */
static void read_pooling(lm_reader *r, lm_config *c) {
  int64_t kind = lm_key_size(r, "pooling_type", NULL, 1);
  if (kind != 1 && kind != 2)
    lm_reader_fail(r, RLX_UNSUPPORTED, "bert.pooling_type is %d; 1 (mean) and 2 (first) are known", (int)kind);
  rlx_meta m;
  if (kind == 2) c->pooling = LM_POOL_FIRST;
  if (!r->json || !rlx_file_meta_find(r->file, "1_Pooling/config.json", &m) || m.kind != RLX_META_TEXT) return;
  json_t *pooling = json_loadb(m.text, m.n, 0, NULL);
  bool mean = json_is_true(json_object_get(pooling, "pooling_mode_mean_tokens"));
  bool first = json_is_true(json_object_get(pooling, "pooling_mode_cls_token"));
  if (mean == first)
    lm_reader_fail(r, RLX_UNSUPPORTED, "1_Pooling/config.json asks for neither the mean nor the first token");
  if (first) c->pooling = LM_POOL_FIRST;
  lm_note_size(r, "pooling_type", first ? 2 : 1);
  json_decref(pooling);
}

/* Sentence encoders are used with fewer tokens than they have positions; what they were tuned for stands in a file of its own. */
static void read_limit(const lm_reader *r, lm_config *c) {
  rlx_meta m;
  if (!r->json || !rlx_file_meta_find(r->file, "sentence_bert_config.json", &m) || m.kind != RLX_META_TEXT) return;
  json_t *limits = json_loadb(m.text, m.n, 0, NULL);
  json_int_t most = json_integer_value(json_object_get(limits, "max_seq_length"));
  if (most > 0 && most < c->context) c->most_tokens = most;
  json_decref(limits);
}

static void read(lm_reader *r, lm_config *c) {
  lm_read_basics(r, c);
  lm_read_attention(r, c);
  lm_read_activation(r, c, RLX_ACT_GELU);
  c->eps = lm_key_number(r, "attention.layer_norm_epsilon", "layer_norm_eps", 1e-12);
  c->types = lm_key_size(r, "token_type_count", "type_vocab_size", 2);
  const char *positions = lm_key_text(r, NULL, "position_embedding_type", "absolute");
  if (strcmp(positions, "absolute") != 0)
    lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's position_embedding_type is '%s'; absolute is known", positions);
  read_pooling(r, c);
  read_limit(r, c);
}

/* Where tokens stand and what type they are is known when the graph is built; yet rows of tables that are picked by constants
 * alone would be made into weights of their own at load, one set per size of graph, and the tables be dropped. So both come
 * from the inputs: no token is below 0, and what does not count stands where the last that counts does. */
static rlx_node embed(lm_build *b) {
  rlx_node none = rlx_min(b->g, b->ids, lm_i32(b, 0)), where = none;
  if (b->length) {
    rlx_node last = rlx_reshape(b->g, rlx_sub(b->g, b->length, lm_i32(b, 1)), RLX_DIMS(b->sequences, 1));
    where = rlx_min(b->g, rlx_range(b->g, 0, 1, b->tokens, RLX_I32), last);
  }
  rlx_node x = rlx_add(b->g, lm_rows(b, "token_embd", b->ids), lm_rows(b, "token_types", none));
  return lm_layer_norm(b, "token_embd_norm", 0, rlx_add(b->g, x, lm_rows(b, "position_embd", where)));
}

static rlx_node layer(lm_build *b, uint32_t i, rlx_node x) {
  x = lm_layer_norm(b, "blk.%.attn_output_norm", i, rlx_add(b->g, x, lm_attention(b, i, x)));
  rlx_node h = lm_activate(b, lm_linear(b, "blk.%.ffn_up", i, x));
  return lm_layer_norm(b, "blk.%.layer_output_norm", i, rlx_add(b->g, x, lm_linear(b, "blk.%.ffn_down", i, h)));
}

/* clang-format off */
static const lm_tensor tensors[] = {
  LM_TENSOR("token_embd.weight", "embeddings.word_embeddings.weight", {LM_VOCABULARY, LM_WIDTH}),
  LM_TENSOR("position_embd.weight", "embeddings.position_embeddings.weight", {LM_CONTEXT, LM_WIDTH}),
  LM_TENSOR("token_types.weight", "embeddings.token_type_embeddings.weight", {LM_TYPES, LM_WIDTH}),
  LM_TENSOR("token_embd_norm.weight", "embeddings.LayerNorm.weight", {LM_WIDTH}),
  LM_TENSOR("token_embd_norm.bias", "embeddings.LayerNorm.bias", {LM_WIDTH}),
  LM_TENSOR("blk.%.attn_q.weight", "encoder.layer.%.attention.self.query.weight", {LM_Q_ROWS, LM_WIDTH}),
  LM_TENSOR("blk.%.attn_q.bias", "encoder.layer.%.attention.self.query.bias", {LM_Q_ROWS}),
  LM_TENSOR("blk.%.attn_k.weight", "encoder.layer.%.attention.self.key.weight", {LM_KV_ROWS, LM_WIDTH}),
  LM_TENSOR("blk.%.attn_k.bias", "encoder.layer.%.attention.self.key.bias", {LM_KV_ROWS}),
  LM_TENSOR("blk.%.attn_v.weight", "encoder.layer.%.attention.self.value.weight", {LM_KV_ROWS, LM_WIDTH}),
  LM_TENSOR("blk.%.attn_v.bias", "encoder.layer.%.attention.self.value.bias", {LM_KV_ROWS}),
  LM_TENSOR("blk.%.attn_output.weight", "encoder.layer.%.attention.output.dense.weight", {LM_WIDTH, LM_Q_ROWS}),
  LM_TENSOR("blk.%.attn_output.bias", "encoder.layer.%.attention.output.dense.bias", {LM_WIDTH}),
  LM_TENSOR("blk.%.attn_output_norm.weight", "encoder.layer.%.attention.output.LayerNorm.weight", {LM_WIDTH}),
  LM_TENSOR("blk.%.attn_output_norm.bias", "encoder.layer.%.attention.output.LayerNorm.bias", {LM_WIDTH}),
  LM_TENSOR("blk.%.ffn_up.weight", "encoder.layer.%.intermediate.dense.weight", {LM_HIDDEN, LM_WIDTH}),
  LM_TENSOR("blk.%.ffn_up.bias", "encoder.layer.%.intermediate.dense.bias", {LM_HIDDEN}),
  LM_TENSOR("blk.%.ffn_down.weight", "encoder.layer.%.output.dense.weight", {LM_WIDTH, LM_HIDDEN}),
  LM_TENSOR("blk.%.ffn_down.bias", "encoder.layer.%.output.dense.bias", {LM_WIDTH}),
  LM_TENSOR("blk.%.layer_output_norm.weight", "encoder.layer.%.output.LayerNorm.weight", {LM_WIDTH}),
  LM_TENSOR("blk.%.layer_output_norm.bias", "encoder.layer.%.output.LayerNorm.bias", {LM_WIDTH}),
};
/* clang-format on */

const lm_family lm_bert = {
  .name = "bert",
  .architectures = "BertModel BertForMaskedLM bert",
  .is_encoder = true,
  .read = read,
  .tensors = tensors,
  .n_tensors = sizeof tensors / sizeof *tensors,
  .embed = embed,
  .layer = layer,
};
