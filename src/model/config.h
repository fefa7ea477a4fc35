/* The configuration of a model: the values that a family needs besides the weights, read from GGUF metadata or from
 * the config.json of a Hugging Face folder.
 *
 * A family reads each value once, by both of its names, and the reader uses the one that the file has:
 *
 *   c->heads = lm_key_size(r, "attention.head_count", "num_attention_heads n_head", LM_NEEDED);
 *
 * Graphs are built from these numbers, so each is bounded here: a size is 1 .. LM_MAX_SIZE, and products of two
 * sizes never overflow. The reader is sticky: it keeps the first error, later reads return their fallback, and
 * lm_config_read returns the error. */
#ifndef RLX_MODEL_CONFIG_H
#define RLX_MODEL_CONFIG_H

#include "base/status.h"
#include "io/file_leftover.h"
#include "rlx/experimental.h"
#include "rlx/lm.h"

#define LM_MAX_SIZE ((int64_t)1 << 30)
#define LM_MAX_LAYERS 4096
#define LM_MAX_EXPERTS 4096
#define LM_MAX_BUCKETS 256 /* twice the distance from which on all are in the last one */
#define LM_NEEDED (-1)     /* as a fallback: the value is required */

typedef struct lm_family lm_family;

/* How an encoder reduces its last layer to one row. */
typedef enum lm_pooling { LM_POOL_MEAN, LM_POOL_FIRST, LM_POOL_LAST } lm_pooling;

/* What the shares of experts are. */
typedef enum lm_router {
  LM_ROUTER_SELECTED, /* a softmax over the scores of the selected experts */
  LM_ROUTER_ALL,      /* over those of all */
  LM_ROUTER_SIGMOID,
} lm_router;

/* A boolean that a file may leave out. */
typedef enum lm_tristate { LM_UNSET, LM_NO, LM_YES } lm_tristate;

/* Zero means absent in every member. */
typedef struct lm_config {
  const lm_family *family;
  bool is_hf; /* tensors have the names and layouts of Hugging Face */
  char name[128];
  int64_t layers, width, vocabulary, context;
  int64_t max_tokens; /* limit on a text if below the context; else 0 */
  int64_t hidden;     /* width of the feed-forward part */

  int64_t heads, kv_heads, head; /* head: elements per head */
  double attention_scale;        /* of q k; 0: 1 / sqrt(head) */
  double attention_cap, final_cap;
  int64_t window;    /* keys visible to a layer with sliding-window attention */
  uint8_t *is_local; /* per layer: has the window; NULL: no layer has */

  int64_t rotated; /* leading elements of a head that rope rotates; 0: none */
  double theta, local_theta;
  bool local_is_plain; /* layers with a window use unscaled positions */
  uint8_t *skips_rope; /* per layer: without positions; NULL: no layer is */
  float *rope_factors; /* rotated / 2 divisors of the frequencies, from the configuration; NULL: none */
  float *long_factors; /* the same for a context above first_context (longrope); NULL: rope_factors always */
  int64_t first_context;
  double rope_gain;         /* scale of the scores of the rotated part, if that is not the whole head; 0: 1 */
  bool factors_are_weights; /* a GGUF stores the factors as the tensor rope_freqs.weight, not as metadata */

  bool is_parallel;                     /* attention and feed-forward part read the same x */
  double temperature, temperature_span; /* q grows by temperature log(1 + position / span), rounded down; 0: not */
  rlx_act act;
  double eps;
  double embedding_scale, residual_scale, logit_scale; /* 0: 1; residual: of what a part of a layer adds */

  int64_t experts, experts_used, expert_hidden, shared_hidden;
  uint8_t *is_dense; /* per layer: dense although others have experts; NULL: no layer is */
  lm_router router;
  int64_t next_layers;           /* in the file after the others: they predict further tokens, which is not supported */
  bool shares_sum_to_1;          /* of the selected experts; always so for LM_ROUTER_SELECTED */
  double router_scale;           /* of the shares; 0: 1 */
  int64_t groups, groups_used;   /* experts are in groups, of which the best are used; 0: they are not */
  double gate_slope, gate_limit; /* gates are x sigmoid(slope x) times up + 1, within the limit; 0: the activation */

  int64_t inner, state, kernel, dt_rank; /* state-space models: channels, states per channel, taps, rank of dt */

  bool is_encoder;      /* makes a vector or a score of a whole text; does not continue it */
  int64_t dense;        /* rows of the first of two products after pooling; 0: none */
  bool is_causal;       /* although it is an encoder, a token sees only those before it */
  int64_t skipped_rows; /* of the table of positions in a folder */
  int64_t buckets;      /* of distances between tokens, with a bias each; 0: none */
  int64_t types;        /* token types */
  lm_pooling pooling;
  int64_t labels;   /* results of the head of a cross-encoder; 0: there is none */
  rlx_act head_act; /* between the two products of the head */
  bool has_sigmoid; /* applied to the score */

  lm_tristate is_tied;                          /* the token embedding is also the output weight */
  lm_tristate has_attention_bias, has_mlp_bias; /* as in the configuration; the tensors must agree */
  leftovers left;                               /* what the file has and the reader did not use */
} lm_config;

/* Finds the family and reads all values. Call lm_config_deinit even after a failure. */
rlx_status lm_config_read(const rlx_file *f, lm_config *out);
void lm_config_deinit(lm_config *c);
/* Finds the family only. RLX_UNSUPPORTED: the family is unknown, or the file is only a part of a model. */
rlx_status lm_config_family(const rlx_file *f);
/* Whether the feed-forward part of this layer is a mixture of experts. */
bool lm_has_experts(const lm_config *c, uint32_t layer);

/* ---- For families ---- */

typedef struct lm_reader lm_reader;
/* gguf: a key without the architecture prefix; hf: a list of keys, the first present one is used. Either may be
 * NULL: that kind of file has no such key, and the fallback applies. A size is 1 .. LM_MAX_SIZE, or absent. */
int64_t lm_key_size(lm_reader *r, const char *gguf, const char *hf, int64_t fallback);
double lm_key_number(lm_reader *r, const char *gguf, const char *hf, double fallback);
bool lm_key_bool(lm_reader *r, const char *gguf, const char *hf, bool fallback);
/* A size for which 0 is refused instead of meaning absent: a context, a number of heads. */
int64_t lm_key_count(lm_reader *r, const char *gguf, const char *hf, int64_t fallback);
/* A boolean of config.json; LM_UNSET if it is absent or the file is a GGUF. */
lm_tristate lm_key_tristate(lm_reader *r, const char *hf);
const char *lm_key_text(lm_reader *r, const char *gguf, const char *hf, const char *fallback);
bool lm_reader_is_hf(const lm_reader *r);
/* Keeps the first error; formats as RLX_FAIL. */
void lm_reader_fail(lm_reader *r, rlx_status code, const char *fmt, ...) RLX_PRINTF(3, 4);

/* Reads what a family's description implies: sizes, heads, positions, the activation, norms, experts. lm_config_read
 * calls it. What the family has set before is the fallback. */
void lm_read_plain(lm_reader *r, lm_config *c);
void lm_read_rope(lm_reader *r, lm_config *c); /* rotary positions, after the heads (rope.c) */
/* The dense layers of a model with experts: config.json lists them; in a GGUF the tensors differ. */
void lm_read_dense_layers(lm_reader *r, lm_config *c);
/* How an encoder pools its last layer, and the head of a cross-encoder; refuses modules around it that change its
 * results (pooling.c). */
void lm_read_pooling(lm_reader *r, lm_config *c);
/* The same for a family of decoders: whether this model is used as an encoder, which its file says. */
void lm_read_embedder(lm_reader *r, lm_config *c);
void lm_read_types(lm_reader *r, lm_config *c); /* token types (bert.c) */
/* How experts are routed, for families that leave more than the number to the file: what a share is, their sum and
 * scale, groups, shared experts, leading layers without experts. */
void lm_read_router(lm_reader *r, lm_config *c, lm_router router);
/* The first n layers have no experts. */
void lm_set_leading_dense(lm_reader *r, lm_config *c, int64_t n);
/* Layers after the last that predict further tokens. */
void lm_read_next_layers(lm_reader *r, lm_config *c);
/* Allocates a value per layer, 0; NULL after a failure. */
uint8_t *lm_new_layer_flags(lm_reader *r, const lm_config *c);
/* The layers with a sliding window: from layer_types if present, otherwise all but every `every`-th; negative: those
 * are the first of each group, not the last. */
void lm_read_windows(lm_reader *r, lm_config *c, int64_t every);
/* Reports `every` as the key of a GGUF, if the layers have such a pattern. sign: -1 for the first of each group. */
void lm_note_pattern(lm_reader *r, const lm_config *c, int64_t sign);

#endif
