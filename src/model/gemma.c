/* Gemma 1, 2 and 3.
 *
 * Token embeddings are scaled by sqrt(width), and the embedding is also the output weight. Hugging Face stores the
 * weights of norms as w - 1. From the second on there are four norms per layer, before each part and of what it gives,
 * and most layers use sliding-window attention: every other layer in gemma 2, five of six in gemma 3, where those
 * layers have their own rope base. Gemma 2 soft-caps attention scores and logits; gemma 3 normalises the heads of q and
 * k instead. */
#include <math.h>

#include "model/family.h"
#include "model/reader.h"

/* GGUF has no key for the attention scale. All sizes but the 27B of each generation use 1 / sqrt(head); the 27B,
 * recognised by its number of layers, uses the width per head. */
static void read_scale(lm_reader *r, lm_config *c, int64_t layers_of_27b) {
  double by = (double)(c->layers == layers_of_27b ? c->width / c->heads : c->head);
  by = lm_key_number(r, NULL, "query_pre_attn_scalar", by);
  if (by > 0) c->attention_scale = 1 / sqrt(by);
}

static void read_scales(lm_reader *r, lm_config *c) {
  c->embedding_scale = (double)sqrtf((float)c->width);
  c->attention_cap = lm_key_number(r, "attn_logit_softcapping", "attn_logit_softcapping", 0);
  c->final_cap = lm_key_number(r, "final_logit_softcapping", "final_logit_softcapping", 0);
}

static void read_gemma2(lm_reader *r, lm_config *c) {
  read_scales(r, c);
  if (!lm_reader_is_hf(r) && c->attention_cap <= 0) c->attention_cap = 50; /* files older than the key */
  if (!lm_reader_is_hf(r) && c->final_cap <= 0) c->final_cap = 30;
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window sliding_window_size", 4096);
  lm_read_windows(r, c, 2);
  read_scale(r, c, 46);
}

/* Gemma 3 folders omit values that equal the defaults of the class. */
static void prepare_gemma3(lm_reader *r, lm_config *c) {
  if (lm_reader_is_hf(r)) {
    c->heads = 8;
    c->kv_heads = 4;
    c->head = 256;
    c->theta = 1e6;
    c->context = 131072;
  }
  c->local_theta = 10000;
  c->local_is_plain = true;
}

static void read_gemma3(lm_reader *r, lm_config *c) {
  read_scales(r, c);
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  int64_t every = lm_key_size(r, NULL, "sliding_window_pattern _sliding_window_pattern", 6);
  lm_note_size(r, "attention.sliding_window_pattern", every);
  lm_read_windows(r, c, every);
  read_scale(r, c, 62);
}

static void read_gemma(lm_reader *r, lm_config *c) {
  (void)r;
  c->embedding_scale = (double)sqrtf((float)c->width);
}

#define SHARED .may_have = LM_OUTPUT, .eps = 1e-6, .act = RLX_ACT_GELU_APPROX, .is_tied = true, .adds_one = true
#define FOUR_NORMS .hf_names = "ffn_norm=pre_feedforward_layernorm"

const lm_family lm_gemma = {
  .name = "gemma",
  .architectures = "GemmaForCausalLM GemmaModel gemma",
  SHARED,
  .has = LM_PLAIN,
  .read = read_gemma,
};

const lm_family lm_gemma2 = {
  .name = "gemma2",
  .architectures = "Gemma2ForCausalLM Gemma2Model gemma2",
  SHARED,
  FOUR_NORMS,
  .has = LM_PLAIN | LM_POST_NORMS,
  .read = read_gemma2,
};
const lm_family lm_gemma3 = {
  .name = "gemma3",
  .architectures = "Gemma3ForCausalLM Gemma3TextModel gemma3_text",
  SHARED,
  FOUR_NORMS,
  .has = LM_PLAIN | LM_POST_NORMS | LM_HEAD_NORMS,
  .prepare = prepare_gemma3,
  .read = read_gemma3,
};

/* Windows reach as far in both directions, together as far as in a decoder. */
static void read_gemma_embedding(lm_reader *r, lm_config *c) {
  read_gemma3(r, c);
  lm_reader_mark_known(r, NULL, "use_bidirectional_attention");
  lm_note_pattern(r, c, 1);
  lm_read_pooling(r, c);
}

/* EmbeddingGemma: gemma 3 with attention in both directions, and two products after pooling. */
static const lm_tensor embedding_tensors[] = {
  LM_TENSOR("dense_2.weight", "2_Dense.linear.weight", {LM_DENSE_ROWS, LM_WIDTH}, .when = LM_POOLED),
  LM_TENSOR("dense_3.weight", "3_Dense.linear.weight", {LM_WIDTH, LM_DENSE_ROWS}, .when = LM_POOLED),
};
const lm_family lm_gemma_embedding = {
  .name = "gemma-embedding",
  .architectures = "Gemma3TextModel gemma3_text",
  .needs = "use_bidirectional_attention",
  SHARED,
  FOUR_NORMS,
  .has = LM_PLAIN | LM_POST_NORMS | LM_HEAD_NORMS,
  .is_encoder = true,
  LM_OWN_TENSORS(embedding_tensors),
  .prepare = prepare_gemma3,
  .read = read_gemma_embedding,
};
