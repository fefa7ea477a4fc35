/* Encoders with rotary positions.
 *
 * Nomic-bert and GTE are BERT with rope and a gated feed-forward part. ModernBERT has norms before its parts (none
 * before the first attention), no biases, one product for q, k and v and one for gate and up. Two of three layers have
 * a window in both directions, with a rope base of its own. EuroBERT is llama with attention in both directions. */
#include <string.h>

#include "model/family.h"
#include "model/reader.h"

static void read_typed(lm_reader *r, lm_config *c) {
  lm_read_types(r, c);
  c->head_act = RLX_ACT_TANH;
  lm_read_pooling(r, c);
}

static void read_plain(lm_reader *r, lm_config *c) { lm_read_pooling(r, c); }

/* Older folders have two numbers for the two bases instead of rope_parameters. */
static void prepare_modernbert(lm_reader *r, lm_config *c) {
  if (!lm_reader_is_hf(r)) return;
  c->theta = 160000;
  c->local_theta = 10000;
}

/* What the head pools has names and numbers of its own. */
static void read_head_pooling(lm_reader *r, lm_config *c) {
  const int64_t mean = 1, first = 2;
  const char *name = lm_key_text(r, NULL, "classifier_pooling", "cls");
  int64_t kind = lm_key_size(r, "classifier.pooling_type", NULL, mean);
  if (!c->labels) return;
  if (lm_reader_is_hf(r)) kind = strcmp(name, "mean") == 0 ? mean : strcmp(name, "cls") == 0 ? first : 0;
  if (kind != mean && kind != first)
    lm_reader_fail(r, RLX_UNSUPPORTED, "the head pools by another way than the mean and the first token (cls)");
  c->pooling = kind == mean ? LM_POOL_MEAN : LM_POOL_FIRST;
  lm_note_size(r, "classifier.pooling_type", kind);
}

/* A GGUF names the activation of the gate. */
static void read_gate(lm_reader *r, lm_config *c) {
  const char *name = lm_key_text(r, "hidden_act", NULL, c->act == RLX_ACT_SILU ? "silu" : "gelu");
  c->act = strcmp(name, "silu") == 0 ? RLX_ACT_SILU : c->act;
  if (strcmp(name, "silu") != 0 && strcmp(name, "gelu") != 0)
    lm_reader_fail(r, RLX_UNSUPPORTED, "%s.hidden_act is '%.40s'; expected gelu or silu", r->prefix, name);
  lm_note_text(r, "hidden_act", name);
}

/* Every third layer, from the first on, sees the whole text. */
static void read_modernbert(lm_reader *r, lm_config *c) {
  c->window = lm_key_size(r, "attention.sliding_window", "local_attention", 0);
  int64_t every = lm_key_count(r, NULL, "global_attn_every_n_layers", 3);
  lm_read_windows(r, c, -every);
  lm_note_pattern(r, c, -1);
  c->head_act = RLX_ACT_GELU;
  lm_read_pooling(r, c);
  read_head_pooling(r, c);
  read_gate(r, c);
}

#define BERT_LIKE (LM_EMBEDDING_NORM | LM_ATTENTION | LM_JOINED_QKV | LM_SUM_NORMS | LM_NORM_BIAS)
#define TABLES "token_embd=embeddings.word_embeddings token_types=embeddings.token_type_embeddings "
#define HEAD "cls=pooler.dense cls.output=classifier"

const lm_family lm_nomicbert = {
  .name = "nomic-bert",
  .architectures = "NomicBertModel NomicBertForMaskedLM NomicBertForSequenceClassification nomic_bert",
  .has = BERT_LIKE | LM_FFN | LM_GATE,
  .may_have = LM_TOKEN_TYPES | LM_RANK_DENSE | LM_RANK_BIAS,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-12,
  .is_encoder = true,
  .hf_layers = "encoder.layers.",
  .hf_names = TABLES HEAD " token_embd_norm=emb_ln attn_qkv=attn.Wqkv attn_output=attn.out_proj attn_output_norm=norm1 "
                          "ffn_up=mlp.fc11 ffn_gate=mlp.fc12 ffn_down=mlp.fc2 layer_output_norm=norm2",
  .read = read_typed,
  .embed = lm_embed_by_tables,
};

static const lm_tensor gte_tensors[] = {
  LM_TENSOR("blk.%.ffn_down.bias", "encoder.layer.%.mlp.down_proj.bias", {LM_WIDTH}),
};
const lm_family lm_gte = {
  .name = "gte",
  .architectures = "GteModel GteForMaskedLM GteForSequenceClassification gte",
  .has = BERT_LIKE | LM_QKV_BIAS | LM_ATTN_BIAS | LM_FFN | LM_JOINED_GATE,
  .may_have = LM_TOKEN_TYPES | LM_RANK_DENSE | LM_RANK_BIAS,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-12,
  .act = RLX_ACT_GELU,
  .is_encoder = true,
  .up_first = true,
  .hf_layers = "encoder.layer.",
  .hf_names = TABLES HEAD " token_embd_norm=embeddings.LayerNorm attn_qkv=attention.qkv_proj "
                          "attn_output=attention.o_proj attn_output_norm=attn_ln ffn_up=mlp.up_gate_proj "
                          "layer_output_norm=mlp_ln",
  LM_OWN_TENSORS(gte_tensors),
  .read = read_typed,
  .embed = lm_embed_by_tables,
};

static const lm_tensor modernbert_tensors[] = {
  LM_TENSOR("blk.%.attn_norm.weight", "layers.%.attn_norm.weight", {LM_WIDTH}, .when = LM_LATER),
};
const lm_family lm_modernbert = {
  .name = "modern-bert",
  .architectures = "ModernBertModel ModernBertForMaskedLM ModernBertForSequenceClassification modernbert",
  .has = LM_EMBEDDING_NORM | LM_ATTENTION | LM_JOINED_QKV | LM_FFN_NORM | LM_FFN | LM_JOINED_GATE | LM_OUTPUT_NORM |
         LM_RANK_DENSE | LM_RANK_NORM,
  .norm = RLX_NORM_LAYER,
  .eps = 1e-5,
  .act = RLX_ACT_GELU,
  .is_encoder = true,
  .hf_names = "token_embd=embeddings.tok_embeddings token_embd_norm=embeddings.norm attn_qkv=attn.Wqkv "
              "attn_output=attn.Wo ffn_norm=mlp_norm ffn_up=mlp.Wi ffn_down=mlp.Wo output_norm=final_norm "
              "cls=head.dense cls.output=classifier",
  LM_OWN_TENSORS(modernbert_tensors),
  .prepare = prepare_modernbert,
  .read = read_modernbert,
};

const lm_family lm_eurobert = {
  .name = "eurobert",
  .architectures = "EuroBertModel EuroBertForMaskedLM eurobert",
  .has = LM_PLAIN,
  .eps = 1e-5,
  .is_encoder = true,
  .read = read_plain,
};
