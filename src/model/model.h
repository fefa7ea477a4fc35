/* Model families: from a weight file to a configuration, a list of weights, and graphs.
 *
 * A family (llama.c, gemma.c, ..) reads its configuration and builds its layers. What all families share (names, KV
 * caches, heads, sampling) is in config.c, names.c and graph.c. Weights have one set of names, GGUF's
 * ("blk.0.attn_q.weight"), whatever the file calls them. If a file stores a weight differently (other row order,
 * transposed, one tensor per expert), a recipe converts it when it is read.
 *
 * One graph serves every position: positions are run-time inputs. */
#ifndef RLX_MODEL_MODEL_H
#define RLX_MODEL_MODEL_H

#include "rlx/lm.h"

typedef struct lm_model lm_model; /* a model before anything runs; reads from its file while it exists */

/* The file must outlive the model. Refuses inconsistent files: missing tensors (all are named), sizes that
 * contradict the metadata, heads that do not divide the width. */
rlx_status lm_model_open(const rlx_file *f, lm_model **out);
void lm_model_close(lm_model *m);

typedef struct lm_facts {
  const char *family; /* "llama" */
  const char *name;
  uint32_t n_layers, width, n_heads, n_kv_heads, n_vocab, n_experts;
  uint32_t context;  /* that the model was trained for */
  bool is_encoder;   /* no states; its result is an embedding .. */
  bool is_ranker;    /* .. or the score of a pair of texts */
  uint32_t n_types;  /* token types of pairs */
  bool is_recurrent; /* has a recurrent state instead of a KV cache: tokens cannot be removed; position 0 resets it */
} lm_facts;
const lm_facts *lm_model_facts(const lm_model *m);

typedef struct lm_weight {
  const char *name; /* also the name of the param in graphs */
  rlx_dtype dtype;
  rlx_dims shape;
  size_t bytes;
} lm_weight;
size_t lm_model_weights(const lm_model *m);
const lm_weight *lm_model_weight(const lm_model *m, size_t i);
/* Reads weight i into `data`, which has the weight's bytes. */
rlx_status lm_model_read(const lm_model *m, size_t i, void *data);
/* Whether weight i has the file's bytes in the file's order. Then any part of it can be read, by several threads at
 * once. */
bool lm_model_has_parts(const lm_model *m, size_t i);
rlx_status lm_model_read_part(const lm_model *m, size_t i, size_t from, void *data, size_t bytes);

/* ---- Graphs ----
 *
 * Inputs   tokens    i32 [B, T]
 *          position  i32 [B]      length of the sequence before this step
 *          length    i32 [B]      number of valid tokens among T (1 .. T); absent if T is 1
 *          draw      i32 scalar   if is_drawn: the number of the draw is draw + position[0]
 *          sampling  f32 [4]      if is_drawn: temperature, top_k, top_p, min_p
 *          penalty   f32 scalar   if is_penalised: the repetition penalty
 *          penalty_window  f32 scalar   if is_penalised: the number of last tokens it applies to
 *          types     i32 [B, T]   LM_SCORE, of models with several token types: the type of each token
 * States   k.N, v.N  [B, context, kv heads, head]   (recurrent families: conv.N, ssm.N)
 * Outputs  see lm_result; except for encoders also next i32 [B]: position + length
 * Rows past `length` are written into the states but masked for all valid tokens, and the next tokens overwrite them.
 * So the context must have room for them.
 *
 * A packed graph (slots > 0) computes T tokens of all sequences together, in any shares of up to `slots` tokens each:
 *          tokens    i32 [1, T]      in any order; unused rows are any token
 *          positions i32 [1, T]      of each token in its sequence
 *          places    i32 [T]         row of the states for its keys and values: sequence * context + position; -1: none
 *          queries   i32 [B, slots]  the token that is query i of a sequence; unused ones are any
 *          answers   i32 [T]         its query, counted through [B, slots]
 *          position, length  i32 [B] as above; length 0: the sequence has no token here
 * Only the attention is computed per sequence; all else knows T rows. It writes nothing but the rows of its tokens, so
 * the context needs no room. Recurrent families have no such graph: a state there is one sequence's.
 *
 * A step graph (page > 0) takes the states for pages of `page` rows each, which sequences share and hold in any order.
 * It computes `singles` tokens of a sequence each, then `groups` runs of `slots` tokens, each of one sequence: S runs
 * in all, T = singles + groups * slots tokens.
 *          tokens    i32 [1, T]      unused ones are any token
 *          positions i32 [1, T]      of each token in its sequence
 *          places    i32 [T]         page * number + row in it, for its keys and values; -1: none
 *          pages     i32 [S, N]      of the sequence of each run, N = context / page
 *          position, length  i32 [S] of the run: its first position, its tokens; 0 and 0: unused
 *          picks     i32 [S]         LM_LAST: the token whose logits are row s of the result
 * LM_LOGITS: every token has a row of the result.
 * A graph that measures has further outputs: "sums NAME" f32 [experts, columns], the sums of squares of the inputs of
 * weight NAME over all T tokens, each of which counts, and where there are experts "counts NAME" f32 [experts].
 *
 * A graph with adapters (adapter.h) has an input more: `adapters` f32 [B, n], how much each adapter counts in each
 * sequence; in packed and step graphs [T, n], for each token.
 *
 * Output of a step graph: logits f32 [S, vocabulary]; token i32 [S], the likeliest of each row, -1 where one is not
 * finite; with LM_LOGITS [T, vocabulary] and [T]. */
typedef enum lm_result {
  LM_NONE,      /* no result: prefill of the states only */
  LM_LOGITS,    /* logits f32 [B, T, vocabulary] */
  LM_LAST,      /* logits f32 [B, vocabulary] of the last valid token */
  LM_LIKELIEST, /* token i32 [B T]: the likeliest after each token, -1 where a logit is not finite */
  LM_TOKEN,     /* token i32 [B, 1], sampled from those logits */
  LM_EMBEDDING, /* embedding f32 [B, width] of unit length; encoders only */
  LM_SCORE,     /* score f32 [B, 1] of pairs of texts; cross-encoders only */
} lm_result;
typedef struct lm_graph_desc {
  uint32_t sequences, tokens; /* B, T */
  uint32_t context;
  rlx_dtype cache; /* type of the KV cache */
  lm_result result;
  bool is_drawn;     /* LM_TOKEN: sampled with the input `sampling`; else greedy */
  uint32_t max_k;    /* if is_drawn: upper bound of top_k; 0: the whole vocabulary */
  bool is_penalised; /* LM_TOKEN: logits get the repetition penalty (penalty.c); T is 1 */
  uint32_t slots;    /* packed: max tokens of a sequence among the T; the result is LM_NONE. 0: T of each sequence */
  uint32_t page, singles, groups; /* of a step graph; the result is LM_NONE, LM_LAST or LM_LOGITS */
  bool measures;                  /* one sequence; the result is LM_LOGITS */
  uint32_t adapters;              /* the first so many of the model's */
} lm_graph_desc;
rlx_status lm_graph_build(const lm_model *m, const lm_graph_desc *d, rlx_graph **out);

#endif
