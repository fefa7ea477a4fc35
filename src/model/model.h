/* Model families: a weight file -> a configuration, a list of weights, and graphs.
 *
 * A family (llama.c, gemma.c, ..) reads its configuration and writes its layers; what all share (names, caches, heads,
 * sampling) is in config.c, names.c and graph.c. Weights have one set of names, GGUF's ("blk.0.attn_q.weight"), whatever the
 * file calls them; where a file stores a weight otherwise (rows of q and k in another order, transposed, one tensor per
 * expert) its recipe says what to do when it is read.
 *
 * One graph serves every position: where the tokens stand comes in at run time. */
#ifndef RLX_MODEL_MODEL_H
#define RLX_MODEL_MODEL_H

#include "rlx/lm.h"

typedef struct lm_model lm_model; /* what is known of a model before anything runs; reads its file while it lives */

/* The file must outlive the model. Refuses what does not fit together: missing tensors (all are named), sizes that contradict
 * the metadata, heads that do not divide. */
rlx_status lm_model_open(const rlx_file *f, lm_model **out);
void lm_model_close(lm_model *m);

typedef struct lm_facts {
  const char *family; /* "llama" */
  const char *name;
  uint32_t n_layers, width, n_heads, n_kv_heads, n_vocab, n_experts;
  uint32_t context;  /* that it was made for */
  bool is_encoder;   /* no states; its result is an embedding */
  bool is_recurrent; /* remembers a summary, not rows: tokens cannot be taken back; at position 0 it begins anew */
} lm_facts;
const lm_facts *lm_model_facts(const lm_model *m);

typedef struct lm_weight {
  const char *name; /* as the params of the graphs */
  rlx_dtype dtype;
  rlx_dims shape;
  size_t bytes;
} lm_weight;
size_t lm_model_weights(const lm_model *m);
const lm_weight *lm_model_weight(const lm_model *m, size_t i);
/* Into `data`, which has the weight's bytes. */
rlx_status lm_model_read(const lm_model *m, size_t i, void *data);

/* ---- Graphs ----
 *
 * Inputs   tokens    i32 [B, T]
 *          position  i32 [B]      how many tokens the sequence had before
 *          length    i32 [B]      how many of its T tokens count (1 .. T); absent where T is 1
 *          draw      i32 scalar   where tokens are drawn with a temperature above 0: draw + position[0] is the draw's number
 *          sampling  f32 [4]      there too: temperature, top_k, top_p, min_p
 * States   k.N, v.N  [B, context, kv heads, head]   (or what the family remembers: conv.N, ssm.N)
 * Outputs  see lm_result; with states also next i32 [B]: position + length
 * Rows past `length` are written into the states and hidden from all that count: the next tokens overwrite them, so context
 * must have room for them. */
typedef enum lm_result {
  LM_NONE,      /* nothing: the tokens are only remembered */
  LM_LOGITS,    /* logits f32 [B, T, vocabulary] */
  LM_LAST,      /* logits f32 [B, vocabulary]: of the last token that counts */
  LM_TOKEN,     /* token i32 [B, 1], drawn from those */
  LM_EMBEDDING, /* embedding f32 [B, width], of unit length: of encoders */
} lm_result;
typedef struct lm_graph_desc {
  uint32_t sequences, tokens; /* B, T */
  uint32_t context;
  rlx_dtype cache; /* of k and v */
  lm_result result;
  bool is_drawn;  /* of LM_TOKEN: by the input `sampling`; else the likeliest */
  uint32_t max_k; /* of those, the most that top_k will be; 0: all tokens */
} lm_graph_desc;
rlx_status lm_graph_build(const lm_model *m, const lm_graph_desc *d, rlx_graph **out);

#endif
