/* Building a model's graph: the inputs all families share, and the parts most of them are made of.
 *
 * A family writes its layers with these; what differs between families comes from the configuration (a window, a soft cap)
 * or from which weights the model has (a bias is added where there is one). Calls are sticky as the graph builder's are: a
 * node 0 goes through, and the end of building reports the first error. */
#ifndef RLX_MODEL_GRAPH_H
#define RLX_MODEL_GRAPH_H

#include "model/config.h"
#include "model/model.h"

typedef struct lm_build {
  const lm_model *m;
  const lm_config *c;
  const lm_graph_desc *d;
  rlx_graph *g;
  int64_t sequences, tokens; /* B, T; T is 1 once only the last rows are left */
  rlx_node ids;              /* i32 [B, T] */
  rlx_node position;         /* i32 [B]; none in an encoder */
  rlx_node length;           /* i32 [B]; none where T is 1 */
  rlx_node positions;        /* i32 [B, T]: of each token */
  rlx_node seen;             /* i32 [B]: tokens there are after this step */
  rlx_node factors;          /* of rope, or none */
  rlx_status status;         /* what is not the graph's to report: a weight that a family asks for and nobody has */
} lm_build;

/* A weight of the model; RLX_NONE where it has none of that name. % in a name is the layer. */
rlx_node lm_weight_node(lm_build *b, const char *name, uint32_t layer);
/* x w^T, and the bias where the model has one; name without ".weight". */
rlx_node lm_linear(lm_build *b, const char *name, uint32_t layer, rlx_node x);
/* Over the last axis; layer norms take the bias that the model has. */
rlx_node lm_rms_norm(lm_build *b, const char *name, uint32_t layer, rlx_node x);
rlx_node lm_layer_norm(lm_build *b, const char *name, uint32_t layer, rlx_node x);
rlx_node lm_activate(lm_build *b, rlx_node x); /* the configuration's activation */
rlx_node lm_scale(lm_build *b, rlx_node x, double by);
rlx_node lm_soft_cap(lm_build *b, rlx_node x, double cap); /* cap tanh(x / cap); cap 0: x */
/* Rows of a table as f32, whatever its type. */
rlx_node lm_rows(lm_build *b, const char *name, rlx_node ids);

/* q, k, v, rope, the caches, attention and the output product, as the configuration has it. */
rlx_node lm_attention(lm_build *b, uint32_t layer, rlx_node x);
/* The same from q, k, v [B, T, heads, head] that are ready: what a decoder remembers and sees. */
rlx_node lm_attend(lm_build *b, uint32_t layer, rlx_node q, rlx_node k, rlx_node v);
/* down(act(gate x) * up x) */
rlx_node lm_gated(lm_build *b, uint32_t layer, rlx_node x);
/* The same by the experts that the router picks for each token. */
rlx_node lm_mixture(lm_build *b, uint32_t layer, rlx_node x);

/* Called between the parts of a layer, once attention has seen all tokens: in the last layer, only the rows that the result
 * reads go on, [B, T, width] or one per sequence. */
rlx_node lm_rows_that_count(lm_build *b, uint32_t layer, rlx_node x);

/* i32 constants, for arithmetic on positions. */
rlx_node lm_i32(lm_build *b, int32_t value);
/* A state's value as a sequence begins (position 0) is zero, whatever it held. */
rlx_node lm_fresh(lm_build *b, rlx_node state);

#endif
