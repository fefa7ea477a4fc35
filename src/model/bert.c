/* BERT: encoders such as MiniLM that map a whole text to one vector.
 *
 * Attention is bidirectional and norms come after the residual additions. Positions and token types are embedding
 * tables; a single text uses token type 0 only. The valid rows are averaged (or the first row is used, if the file
 * requests it) and scaled to unit length. */
#include <string.h>

#include "io/file_json.h"
#include "model/family.h"
#include "model/reader.h"

/* Parses a JSON file next to config.json. NULL: it does not exist, or the model is not a folder. */
static json_t *load_text(lm_reader *r, const char *name) {
  rlx_meta m;
  json_t *root;
  if (!r->json || !rlx_file_meta_find(r->file, name, &m) || m.kind != RLX_META_TEXT) return NULL;
  rlx_status s = json_load_whole((json_text){m.text, m.n}, name, JSON_MAX_CONFIG, 0, &root);
  if (s && !r->status) r->status = s;
  return root;
}

/* The format allows several pooling modes at once, whose results are concatenated. Only one mode is supported here. */
static void read_modes(lm_reader *r, lm_config *c, json_t *pooling) {
  const char *key;
  json_t *v;
  unsigned n = 0;
  json_object_foreach(pooling, key, v) {
    if (strncmp(key, "pooling_mode_", 13) != 0 || !json_is_true(v)) continue;
    bool is_first = strcmp(key, "pooling_mode_cls_token") == 0;
    if (n++ || (!is_first && strcmp(key, "pooling_mode_mean_tokens") != 0))
      lm_reader_fail(r, RLX_UNSUPPORTED,
                     "1_Pooling/config.json has %s; expected exactly one of mean and first token (cls)", key);
    if (is_first) c->pooling = LM_POOL_FIRST;
  }
  if (!n) lm_reader_fail(r, RLX_UNSUPPORTED, "1_Pooling/config.json: expected pooling by the mean or the first token");
}

/* GGUF stores the pooling mode as a number. A folder may have 1_Pooling/config.json; without it the mean is the
 * default. */
static void read_pooling(lm_reader *r, lm_config *c) {
  int64_t kind = lm_key_size(r, "pooling_type", NULL, 1);
  if (kind != 1 && kind != 2)
    lm_reader_fail(r, RLX_UNSUPPORTED, "bert.pooling_type is %d; expected 1 (mean) or 2 (first)", (int)kind);
  if (kind == 2) c->pooling = LM_POOL_FIRST;
  json_t *pooling = load_text(r, "1_Pooling/config.json");
  if (!pooling) return;
  read_modes(r, c, pooling);
  lm_note_size(r, "pooling_type", c->pooling == LM_POOL_FIRST ? 2 : 1);
  json_decref(pooling);
}

/* Sentence encoders are used with fewer tokens than they have positions. The limit they were tuned for is in
 * sentence_bert_config.json. */
static void read_limit(lm_reader *r, lm_config *c) {
  json_t *limits = load_text(r, "sentence_bert_config.json"), *max = json_object_get(limits, "max_seq_length");
  if (max && !json_is_null(max) && (!json_is_integer(max) || json_integer_value(max) < 1))
    lm_reader_fail(r, RLX_INVALID, "sentence_bert_config.json's max_seq_length: expected a number of tokens");
  if (json_is_true(json_object_get(limits, "do_lower_case")))
    lm_reader_fail(
      r, RLX_UNSUPPORTED,
      "sentence_bert_config.json's do_lower_case is true; only the tokenizer's own file can request lower case");
  if (json_integer_value(max) > 0 && json_integer_value(max) < c->context) c->max_tokens = json_integer_value(max);
  json_decref(limits);
}

/* Refuses modules that would change the embeddings: extra layers, or a prompt before every text. */
static void check_modules(lm_reader *r) {
  static const char known[] = "Transformer Pooling Normalize";
  json_t *modules = load_text(r, "modules.json"), *m;
  size_t i;
  for (i = 0; (m = json_array_get(modules, i)); i++) {
    const char *type = json_string_value(json_object_get(m, "type")), *dot = type ? strrchr(type, '.') : NULL;
    const char *name = dot ? dot + 1 : type ? type : "";
    if (!leftover_has_word(known, name, strlen(name)))
      lm_reader_fail(r, RLX_UNSUPPORTED, "modules.json has a module '%.60s'; expected one of %s", name, known);
  }
  json_decref(modules);
  json_t *texts = load_text(r, "config_sentence_transformers.json");
  const char *prompt = json_string_value(json_object_get(texts, "default_prompt_name"));
  if (prompt)
    lm_reader_fail(r, RLX_UNSUPPORTED, "config_sentence_transformers.json puts the prompt '%.60s' before every text",
                   prompt);
  json_decref(texts);
}

/* In a GGUF the number of token types is a key of the tokenizer. */
static int64_t read_types(const lm_reader *r) {
  rlx_meta m;
  bool is_reported =
    !r->json && rlx_file_meta_find(r->file, "tokenizer.ggml.token_type_count", &m) && m.kind == RLX_META_INT;
  return is_reported && m.integer > 0 && m.integer <= LM_MAX_SIZE ? m.integer : 2;
}

static void read_bert(lm_reader *r, lm_config *c) {
  c->types = lm_key_size(r, "token_type_count", "type_vocab_size", read_types(r));
  const char *positions = lm_key_text(r, NULL, "position_embedding_type", "absolute");
  if (strcmp(positions, "absolute") != 0)
    lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's position_embedding_type is '%s'; expected 'absolute'", positions);
  read_pooling(r, c);
  read_limit(r, c);
  check_modules(r);
}

/* Positions and token types are known when the graph is built. But a gather with constant indices would be folded at
 * load into a new weight, one per graph size, and the tables dropped. So both indices are computed from the inputs:
 * a token id is never below 0, so min(id, 0) is 0. Rows past `length` use the position of the last valid row. */
static rlx_node embed(lm_build *b) {
  rlx_node none = rlx_op_min(b->g, b->ids, lm_i32(b, 0)), where = none;
  if (b->length) {
    rlx_node last = rlx_op_reshape(b->g, rlx_op_sub(b->g, b->length, lm_i32(b, 1)), RLX_DIMS(b->sequences, 1));
    where = rlx_op_min(b->g, rlx_op_range(b->g, 0, 1, b->tokens, RLX_I32), last);
  }
  rlx_node x = rlx_op_add(b->g, lm_rows(b, "token_embd", b->ids), lm_rows(b, "token_types", none));
  return lm_norm(b, "token_embd_norm", 0, rlx_op_add(b->g, x, lm_rows(b, "position_embd", where)));
}

const lm_family lm_bert = {
  .name = "bert",
  .architectures = "BertModel BertForMaskedLM bert",
  .has = LM_POSITION_TABLE | LM_TOKEN_TYPES | LM_EMBEDDING_NORM | LM_ATTENTION | LM_QKV | LM_SUM_NORMS | LM_FFN |
         LM_QKV_BIAS | LM_ATTN_BIAS | LM_FFN_BIAS | LM_NORM_BIAS,
  .positions = LM_NO_ROPE,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-12,
  .act = RLX_ACT_GELU,
  .is_encoder = true,
  .hf_layers = "encoder.layer.",
  .hf_names = "token_embd=embeddings.word_embeddings position_embd=embeddings.position_embeddings "
              "token_types=embeddings.token_type_embeddings token_embd_norm=embeddings.LayerNorm "
              "attn_q=attention.self.query attn_k=attention.self.key attn_v=attention.self.value "
              "attn_output=attention.output.dense ffn_up=intermediate.dense ffn_down=output.dense",
  .read = read_bert,
  .embed = embed,
};
