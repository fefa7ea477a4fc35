/* BERT and its like: encoders that map a whole text to one vector, or a pair of texts to a score.
 *
 * Attention is bidirectional and norms come after the residual additions. Positions and token types are embedding
 * tables; a single text uses token type 0 only. RoBERTa (and XLM-RoBERTa) differs in its table of positions, which
 * begins with rows for padding, and in the head of its cross-encoders; DistilBERT has no token types; MPNet has none
 * either, and adds a bias to the scores of attention that depends on how far apart two tokens are. A GGUF has one
 * architecture for the first three. */
#include <string.h>

#include "model/family.h"
#include "model/reader.h"

/* In a GGUF the number of token types is a key of the tokenizer. */
static int64_t read_types(const lm_reader *r) {
  rlx_meta m;
  bool is_reported =
    !r->json && rlx_file_meta_find(r->file, "tokenizer.ggml.token_type_count", &m) && m.kind == RLX_META_INT;
  return is_reported && m.integer > 0 && m.integer <= LM_MAX_SIZE ? m.integer : 2;
}

void lm_read_types(lm_reader *r, lm_config *c) {
  c->types = lm_key_size(r, "token_type_count", "type_vocab_size", read_types(r));
}

static void read_tables(lm_reader *r, lm_config *c) {
  const char *positions = lm_key_text(r, NULL, "position_embedding_type", "absolute");
  if (strcmp(positions, "absolute") != 0)
    lm_reader_fail(r, RLX_UNSUPPORTED, "config.json's position_embedding_type is '%s'; expected 'absolute'", positions);
  c->head_act = RLX_ACT_TANH;
  lm_read_pooling(r, c);
}

static void read_bert(lm_reader *r, lm_config *c) {
  lm_read_types(r, c);
  read_tables(r, c);
}

/* Positions begin after that of padding. */
static void skip_padding(lm_reader *r, lm_config *c) {
  if (!lm_reader_is_hf(r)) return;
  double padding = lm_key_number(r, NULL, "pad_token_id", 1);
  if (padding + 1 >= (double)c->context) {
    lm_reader_fail(r, RLX_INVALID, "config.json's pad_token_id leaves no positions of %lld", (long long)c->context);
    return;
  }
  c->skipped_rows = (int64_t)padding + 1;
  c->context -= c->skipped_rows;
  lm_note_size(r, "context_length", c->context);
}

static void read_roberta(lm_reader *r, lm_config *c) {
  skip_padding(r, c);
  read_bert(r, c);
}

static void read_distilbert(lm_reader *r, lm_config *c) {
  c->types = 1;
  read_tables(r, c);
  c->head_act = RLX_ACT_RELU;
}

static void read_mpnet(lm_reader *r, lm_config *c) {
  skip_padding(r, c);
  read_tables(r, c);
  c->buckets = lm_key_size(r, "attention.relative_buckets_count", "relative_attention_num_buckets", 32);
  if (c->buckets < 4 || c->buckets > LM_MAX_BUCKETS || c->buckets % 4)
    lm_reader_fail(r, RLX_UNSUPPORTED, "%lld buckets of distances; expected a multiple of 4, at most %d",
                   (long long)c->buckets, LM_MAX_BUCKETS);
}

/* Positions and token types are known when the graph is built. But a gather with constant indices would be folded at
 * load into a new weight, one per graph size, and the tables dropped. So both indices are computed from the inputs:
 * a token id is never below 0, so min(id, 0) is 0. Rows past `length` use the position of the last valid row. */
rlx_node lm_embed_by_tables(lm_build *b) {
  rlx_node none = rlx_op_min(b->g, b->ids, lm_i32(b, 0)), where = none, x = lm_rows(b, "token_embd", b->ids);
  if (b->length) {
    rlx_node last = rlx_op_reshape(b->g, rlx_op_sub(b->g, b->length, lm_i32(b, 1)), RLX_DIMS(b->sequences, 1));
    where = rlx_op_min(b->g, rlx_op_range(b->g, 0, 1, b->tokens, RLX_I32), last);
  }
  if (lm_weight_node(b, "token_types.weight", 0))
    x = rlx_op_add(b->g, x, lm_rows(b, "token_types", b->types ? b->types : none));
  if (lm_weight_node(b, "position_embd.weight", 0)) x = rlx_op_add(b->g, x, lm_rows(b, "position_embd", where));
  return lm_norm(b, "token_embd_norm", 0, x);
}

/* clang-format off */
#define LAYERS \
  (LM_POSITION_TABLE | LM_EMBEDDING_NORM | LM_ATTENTION | LM_QKV | LM_SUM_NORMS | LM_FFN | LM_QKV_BIAS | \
   LM_ATTN_BIAS | LM_FFN_BIAS | LM_NORM_BIAS)
#define HEAD (LM_RANK_DENSE | LM_RANK_BIAS)
#define SHARED \
  .positions = LM_NO_ROPE, .norm = RLX_NORM_LAYER, .eps = 1e-12, .act = RLX_ACT_GELU, .is_encoder = true, \
  .embed = lm_embed_by_tables
#define TABLES \
  "token_embd=embeddings.word_embeddings position_embd=embeddings.position_embeddings " \
  "token_embd_norm=embeddings.LayerNorm "
#define NAMES \
  TABLES "token_types=embeddings.token_type_embeddings attn_q=attention.self.query attn_k=attention.self.key " \
  "attn_v=attention.self.value attn_output=attention.output.dense ffn_up=intermediate.dense ffn_down=output.dense "
/* clang-format on */

/* A GGUF may lack the token types (of DistilBERT) and the dense part of the head (which some converters drop). */
const lm_family lm_bert = {
  .name = "bert",
  .architectures = "BertModel BertForMaskedLM BertForSequenceClassification bert",
  .has = LAYERS,
  .may_have = LM_TOKEN_TYPES | LM_RANK_DENSE | LM_RANK_BIAS,
  SHARED,
  .hf_layers = "encoder.layer.",
  .hf_names = NAMES "cls=pooler.dense cls.output=classifier",
  .read = read_bert,
};
const lm_family lm_roberta = {
  .name = "bert",
  .architectures = "RobertaModel RobertaForMaskedLM RobertaForSequenceClassification XLMRobertaModel "
                   "XLMRobertaForMaskedLM XLMRobertaForSequenceClassification CamembertModel roberta xlm-roberta",
  .has = LAYERS | LM_TOKEN_TYPES | HEAD,
  SHARED,
  .hf_layers = "encoder.layer.",
  .hf_names = NAMES,
  .skips_rows = true,
  .read = read_roberta,
};
const lm_family lm_distilbert = {
  .name = "bert",
  .architectures = "DistilBertModel DistilBertForMaskedLM DistilBertForSequenceClassification distilbert",
  .has = LAYERS | HEAD,
  SHARED,
  .hf_layers = "transformer.layer.",
  .hf_names = TABLES "attn_q=attention.q_lin attn_k=attention.k_lin attn_v=attention.v_lin "
                     "attn_output=attention.out_lin attn_output_norm=sa_layer_norm ffn_up=ffn.lin1 ffn_down=ffn.lin2 "
                     "layer_output_norm=output_layer_norm cls=pre_classifier cls.output=classifier",
  .read = read_distilbert,
};

static const lm_tensor mpnet_tensors[] = {
  LM_TENSOR("attn_rel_b.weight", "encoder.relative_attention_bias.weight", {LM_BUCKETS, LM_HEADS}),
};
const lm_family lm_mpnet = {
  .name = "mpnet",
  .architectures = "MPNetModel MPNetForMaskedLM MPNetForSequenceClassification mpnet",
  .has = LAYERS | HEAD,
  SHARED,
  .hf_layers = "encoder.layer.",
  .hf_names = TABLES "attn_q=attention.attn.q attn_k=attention.attn.k attn_v=attention.attn.v "
                     "attn_output=attention.attn.o attn_output_norm=attention.LayerNorm ffn_up=intermediate.dense "
                     "ffn_down=output.dense ",
  .skips_rows = true,
  LM_OWN_TENSORS(mpnet_tensors),
  .read = read_mpnet,
};
