/* Building the graph of a model: the inputs that all families share, and the blocks that most layers consist of.
 *
 * Differences between families come from the configuration (a window, a soft cap) or from the weights that the model
 * has (a bias is added if it exists). Calls are sticky like the graph builder's: node 0 passes through, and the end
 * of building reports the first error. */
#ifndef RLX_MODEL_GRAPH_H
#define RLX_MODEL_GRAPH_H

#include "model/config.h"
#include "model/model.h"

typedef struct lm_build {
  const lm_model *m;
  const lm_config *c;
  const lm_graph_desc *d;
  rlx_graph *g;
  int64_t sequences, tokens;         /* B, T; T becomes 1 once only the last rows are left; in a packed graph B is 1 */
  rlx_node ids;                      /* i32 [B, T] */
  rlx_node position;                 /* i32 [B]; none in an encoder */
  rlx_node length;                   /* i32 [B]; none where T is 1 */
  rlx_node types;                    /* i32 [B, T]: token types of pairs, or none */
  rlx_node positions;                /* i32 [B, T]: of each token */
  rlx_node seen;                     /* i32 [B]: length of the sequence after this step */
  rlx_node places, queries, answers; /* of a packed graph: model.h */
  rlx_node pages, picks;             /* of a step graph */
  bool is_picked;                    /* of a step graph: the rows of `picks` alone are left */
  rlx_node factors;                  /* rope factors, or none */
  rlx_node distances;                /* biases of scores by distance [1, heads, T, T], or none yet: encode.c */
  rlx_node scales;                   /* of adapters: f32 [B, 1, n], in packed and step graphs [1, T, n]; or none */
  rlx_node last_seen;                /* state of the repetition penalty, or none: penalty.c */
  rlx_status status; /* errors outside the graph builder: a family uses a weight that the model does not have */
} lm_build;

/* A weight of the model; RLX_NONE if there is none of that name. '%' in a name is the layer. */
rlx_node lm_weight_node(lm_build *b, const char *name, uint32_t layer);
/* x w^T, plus the bias if the model has one; name without ".weight". */
rlx_node lm_linear(lm_build *b, const char *name, uint32_t layer, rlx_node x);
/* Normalises over the last axis, as the family does, plus the bias if the model has one. Without such a norm: x. */
rlx_node lm_norm(lm_build *b, const char *name, uint32_t layer, rlx_node x);
rlx_node lm_activate(lm_build *b, rlx_node x); /* the configuration's activation */
rlx_node lm_activate_by(lm_build *b, rlx_act act, rlx_node x);
rlx_node lm_scale(lm_build *b, rlx_node x, double by);
rlx_node lm_soft_cap(lm_build *b, rlx_node x, double cap); /* cap tanh(x / cap); cap 0: x */
/* Rows of an embedding table as f32, whatever its type. */
rlx_node lm_rows(lm_build *b, const char *name, rlx_node ids);

/* q, k, v, rope, KV cache, attention and output product, by the configuration. */
rlx_node lm_attention(lm_build *b, uint32_t layer, rlx_node x);
/* The same for q, k, v [B, T, heads, head] that are already computed: KV cache and attention. */
rlx_node lm_attend(lm_build *b, uint32_t layer, rlx_node q, rlx_node k, rlx_node v);
rlx_node lm_join_heads(lm_build *b, rlx_node y); /* [.., heads, head] to [B, T, heads * head] */
/* encode.c: attention over the whole text, of encoders; *how has the number of keys and the scale. */
rlx_node lm_attend_whole(lm_build *b, uint32_t layer, rlx_node q, rlx_node k, rlx_node v, rlx_op_attention_desc *how);
/* The dense feed-forward part, or the experts that the router selects for each token. */
rlx_node lm_feed_forward(lm_build *b, uint32_t layer, rlx_node x);
/* layer.c: the embeddings of b->ids, and a layer, of the parts that the model has. */
rlx_node lm_embed_tokens(lm_build *b);
/* bert.c: likewise, with token types and without a scale. */
rlx_node lm_embed_by_tables(lm_build *b);
rlx_node lm_layer(lm_build *b, uint32_t layer, rlx_node x);

/* Call between attention and the feed-forward part with the n values that go on. In the last layer only the rows that
 * the result needs continue: all T, or one per sequence. */
void lm_keep_active_rows(lm_build *b, uint32_t layer, rlx_node *x, int n);
/* The last valid row of each sequence: [B, T, width] to [B, 1, width]. T is 1 from then on. */
rlx_node lm_last_rows(lm_build *b, rlx_node x);

/* pooling.c: the embeddings [B, width], or the scores [B, 1], of texts whose last layer is x [B, T, width]. */
rlx_node lm_embedding_of(lm_build *b, rlx_node x);
rlx_node lm_score_of(lm_build *b, rlx_node x);

/* penalty.c: the logits [B, vocabulary] with the repetition penalty; then the token [B] that was drawn from them. */
rlx_node lm_penalise(lm_build *b, rlx_node logits);
void lm_mark_seen(lm_build *b, rlx_node token);

/* i32 constants, for arithmetic on positions. */
rlx_node lm_i32(lm_build *b, int32_t value);
/* The value of a state, or zeros where the sequence starts (position 0). */
rlx_node lm_fresh(lm_build *b, rlx_node state);

#endif
