/* From the last layer of an encoder to its result: a vector for a text, or a score for a pair of texts.
 *
 * A vector is the mean of the valid rows, the first or the last of them, scaled to unit length. A cross-encoder has a
 * head on that row instead: a product with an activation, and a product that gives one number. Which it is comes from
 * the file: a GGUF has pooling_type; a folder has 1_Pooling/config.json, or a class of models for classification. The
 * modules that sentence-transformers puts around a model are read here too, and refused where they would change its
 * results. */
#include <string.h>

#include "io/file_json.h"
#include "model/family.h"
#include "model/reader.h"

/* pooling_type in a GGUF. */
enum { POOLS_NOT, POOLS_MEAN, POOLS_FIRST, POOLS_LAST, RANKS };

/* ---- Texts beside config.json ---- */

/* Parses a JSON file next to config.json. NULL: it does not exist, or the model is not a folder. */
static json_t *load_text(lm_reader *r, const char *name) {
  rlx_meta m;
  json_t *root;
  if (!r->json || !rlx_file_meta_find(r->file, name, &m) || m.kind != RLX_META_TEXT) return NULL;
  rlx_status s = json_load_whole((json_text){m.text, m.n}, name, JSON_MAX_CONFIG, 0, &root);
  if (s && !r->status) r->status = s;
  return root;
}

static const struct {
  const char *flag, *name; /* as sentence-transformers writes it: a flag each, or since version 5 one name */
  lm_pooling pooling;
} modes[] = {{"pooling_mode_mean_tokens", "mean", LM_POOL_MEAN},
             {"pooling_mode_cls_token", "cls", LM_POOL_FIRST},
             {"pooling_mode_lasttoken", "lasttoken", LM_POOL_LAST}};

static const char *mode_names = "mean (mean), first (cls) and last token (lasttoken)";

static bool set_mode(lm_config *c, const char *flag, const char *name) {
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(flag ? modes[i].flag : modes[i].name, flag ? flag : name) != 0) continue;
    c->pooling = modes[i].pooling;
    return true;
  }
  return false;
}

/* The format allows several pooling modes at once, whose results are concatenated. Only one mode is supported here. */
static void read_modes(lm_reader *r, lm_config *c, json_t *pooling) {
  const char *key, *name = json_string_value(json_object_get(pooling, "pooling_mode"));
  json_t *v;
  unsigned n = 0;
  if (name && n++ == 0 && !set_mode(c, NULL, name))
    lm_reader_fail(r, RLX_UNSUPPORTED, "1_Pooling/config.json's pooling_mode is '%.60s'; expected one of %s", name,
                   mode_names);
  json_object_foreach(pooling, key, v) {
    if (strncmp(key, "pooling_mode_", 13) != 0 || !json_is_true(v)) continue;
    if (n++ || !set_mode(c, key, NULL))
      lm_reader_fail(r, RLX_UNSUPPORTED, "1_Pooling/config.json has %s; expected exactly one of %s", key, mode_names);
  }
  if (!n) lm_reader_fail(r, RLX_UNSUPPORTED, "1_Pooling/config.json: expected pooling by one of %s", mode_names);
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

/* A product after pooling, of these sizes; it has neither a bias nor an activation. */
static void check_dense(lm_reader *r, const char *name, int64_t n_in, int64_t n_out) {
  json_t *dense = load_text(r, name);
  const char *activation = json_string_value(json_object_get(dense, "activation_function"));
  const size_t n = activation ? strlen(activation) : 0;
  int64_t in = json_integer_value(json_object_get(dense, "in_features"));
  int64_t out = json_integer_value(json_object_get(dense, "out_features"));
  if (in != n_in || out != n_out)
    lm_reader_fail(r, RLX_INVALID, "%s: a product of %lld to %lld numbers; expected %lld to %lld", name, (long long)in,
                   (long long)out, (long long)n_in, (long long)n_out);
  else if (json_is_true(json_object_get(dense, "bias")) || n < 8 || strcmp(activation + n - 8, "Identity") != 0)
    lm_reader_fail(r, RLX_UNSUPPORTED, "%s: expected a product without bias and activation (Identity)", name);
  json_decref(dense);
}

/* Two products, through a width of their own and back. */
static void read_dense(lm_reader *r, lm_config *c) {
  const rlx_file_tensor *first = rlx_file_tensor_find(r->file, "2_Dense.linear.weight");
  if (r->json) c->dense = first && first->shape.n == 2 ? first->shape.v[0] : 0;
  else c->dense = lm_key_size(r, "dense_2_feat_out", NULL, 0);
  lm_reader_mark_known(r, "dense_2_feat_in dense_3_feat_in dense_3_feat_out", NULL);
  if (!c->dense || !r->json) return;
  check_dense(r, "2_Dense/config.json", c->width, c->dense);
  check_dense(r, "3_Dense/config.json", c->dense, c->width);
  lm_note_size(r, "dense_2_feat_in", c->width);
  lm_note_size(r, "dense_2_feat_out", c->dense);
  lm_note_size(r, "dense_3_feat_in", c->dense);
  lm_note_size(r, "dense_3_feat_out", c->width);
}

/* Refuses modules that would change the embeddings: other layers, or a prompt before every text. */
static void check_modules(lm_reader *r, const lm_config *c) {
  const char *known = c->dense ? "Transformer Pooling Dense Normalize" : "Transformer Pooling Normalize";
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

/* ---- The head of a cross-encoder ---- */

/* What sentence-transformers applies to a score: as the file says, else a sigmoid. */
static void read_activation(lm_reader *r, lm_config *c) {
  const char *key = "", *old = lm_key_text(r, NULL, "sbert_ce_default_activation_function", NULL);
  const json_t *own = lm_reader_json(r, "sentence_transformers", &key);
  const char *name = json_string_value(json_object_get(own, "activation_fn")), *dot;
  if (!name) name = old ? old : "Sigmoid";
  dot = strrchr(name, '.');
  name = dot ? dot + 1 : name;
  c->has_sigmoid = strcmp(name, "Sigmoid") == 0;
  if (!c->has_sigmoid && strcmp(name, "Identity") != 0)
    lm_reader_fail(r, RLX_UNSUPPORTED, "config.json applies '%.60s' to a score; expected Sigmoid or Identity", name);
}

/* Rows of the last product of the head. */
static int64_t count_labels(const lm_reader *r) {
  static const char *const names[] = {"cls.output.weight", "classifier.out_proj.weight", "classifier.weight"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const rlx_file_tensor *t = rlx_file_tensor_find(r->file, names[i]);
    if (t && t->shape.n == 2) return t->shape.v[0];
  }
  return 0;
}

static void read_head(lm_reader *r, lm_config *c) {
  c->labels = count_labels(r);
  if (r->json) read_activation(r, c);
  else c->has_sigmoid = strcmp(lm_key_text(r, "classifier.activation", NULL, "identity"), "sigmoid") == 0;
  if (c->has_sigmoid) lm_note_text(r, "classifier.activation", "sigmoid");
  if (c->labels != 1)
    lm_reader_fail(r, RLX_UNSUPPORTED, "the classification head has %lld labels; expected that of a reranker, with 1",
                   (long long)c->labels);
}

static bool is_classifier(const lm_reader *r) {
  const char *class = json_string_value(json_array_get(json_object_get(r->json, "architectures"), 0));
  return class && strstr(class, "ForSequenceClassification");
}

/* ---- All of it ---- */

/* Without the key a file with a head is of a cross-encoder: programs that convert them leave it to the user. */
static void read_gguf_type(lm_reader *r, lm_config *c) {
  int64_t usual = rlx_file_tensor_find(r->file, "cls.output.weight") ? RANKS : POOLS_MEAN;
  int64_t kind = lm_key_size(r, "pooling_type", NULL, usual);
  lm_reader_mark_known(r, "classifier.output_labels", NULL); /* the name of the one label */
  if (kind == RANKS) {
    c->pooling = LM_POOL_FIRST;
    read_head(r, c);
  } else if (kind >= POOLS_MEAN && kind <= POOLS_LAST) {
    c->pooling = kind == POOLS_FIRST ? LM_POOL_FIRST : kind == POOLS_LAST ? LM_POOL_LAST : LM_POOL_MEAN;
  } else {
    lm_reader_fail(r, RLX_UNSUPPORTED,
                   "%s.pooling_type is %d; expected 1 (mean), 2 (first), 3 (last) or 4 (the score of a pair)",
                   r->prefix, (int)kind);
  }
}

static void read_folder(lm_reader *r, lm_config *c) {
  json_t *pooling = load_text(r, "1_Pooling/config.json");
  if (is_classifier(r)) {
    c->pooling = LM_POOL_FIRST;
    read_head(r, c);
  } else if (pooling) {
    read_modes(r, c, pooling);
  }
  lm_note_size(r, "pooling_type",
               c->labels                     ? RANKS
               : c->pooling == LM_POOL_FIRST ? POOLS_FIRST
               : c->pooling == LM_POOL_LAST  ? POOLS_LAST
                                             : POOLS_MEAN);
  json_decref(pooling);
}

static bool has_dense(const lm_family *f) {
  for (size_t i = 0; i < f->n_tensors; i++)
    if (f->tensors[i].when == LM_POOLED) return true;
  return false;
}

void lm_read_pooling(lm_reader *r, lm_config *c) {
  if (r->json) read_folder(r, c);
  else read_gguf_type(r, c);
  if (!c->labels && has_dense(c->family)) read_dense(r, c);
  read_limit(r, c);
  check_modules(r, c);
}

void lm_read_embedder(lm_reader *r, lm_config *c) {
  rlx_meta m;
  int64_t kind = r->json ? POOLS_NOT : lm_key_size(r, "pooling_type", NULL, POOLS_NOT);
  if (kind == POOLS_NOT && (!r->json || !rlx_file_meta_find(r->file, "1_Pooling/config.json", &m))) return;
  c->is_encoder = true;
  c->is_causal = lm_key_bool(r, "attention.causal", NULL, true);
  lm_read_pooling(r, c);
}

/* ---- The graph ---- */

static rlx_node mean_of(lm_build *b, rlx_node x) {
  rlx_graph *g = b->g;
  rlx_node length = rlx_op_reshape(g, b->length, RLX_DIMS(b->sequences, 1));
  rlx_node counts = rlx_op_lt(g, rlx_op_range(g, 0, 1, b->tokens, RLX_I32), length);
  counts = rlx_op_reshape(g, counts, RLX_DIMS(b->sequences, b->tokens, 1));
  x = rlx_op_where(g, counts, x, rlx_op_scalar(g, RLX_F32, 0));
  return rlx_op_div(g, rlx_op_reduce_sum(g, x, RLX_DIMS(1), false), rlx_op_cast(g, length, RLX_F32));
}

/* [B, T, width] to [B, width] */
static rlx_node pool(lm_build *b, rlx_node x) {
  const rlx_dims row = RLX_DIMS(b->sequences, b->c->width);
  if (b->tokens > 1 && b->c->pooling == LM_POOL_MEAN) return mean_of(b, x);
  if (b->tokens > 1 && b->c->pooling == LM_POOL_LAST) return rlx_op_reshape(b->g, lm_last_rows(b, x), row);
  return rlx_op_reshape(b->g, rlx_op_narrow(b->g, x, 1, 0, 1), row);
}

rlx_node lm_embedding_of(lm_build *b, rlx_node x) {
  rlx_graph *g = b->g;
  rlx_node y = pool(b, x);
  if (b->c->dense) y = lm_linear(b, "dense_3", 0, lm_linear(b, "dense_2", 0, y));
  rlx_node norm = rlx_op_reduce_l2(g, y, RLX_DIMS(1), true);
  return rlx_op_div(g, y, rlx_op_max(g, norm, rlx_op_scalar(g, RLX_F32, 1e-12)));
}

rlx_node lm_score_of(lm_build *b, rlx_node x) {
  rlx_node y = pool(b, x);
  if (lm_weight_node(b, "cls.weight", 0)) y = lm_activate_by(b, b->c->head_act, lm_linear(b, "cls", 0, y));
  y = lm_linear(b, "cls.output", 0, lm_norm(b, "cls.norm", 0, y));
  return b->c->has_sigmoid ? rlx_op_sigmoid(b->g, y) : y;
}
