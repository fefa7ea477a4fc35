/* The configuration of a model: what a family needs to know beside the weights, read from GGUF's metadata or from the
 * config.json of a Hugging Face folder.
 *
 * A family asks for each fact once, by both of its names, and the reader looks into whichever the file has:
 *
 *   c->heads = lm_key_size(r, "attention.head_count", "num_attention_heads n_head", LM_NEEDED);
 *
 * Facts are numbers that graphs are built from, so each is bounded here: a size is 1 .. LM_MAX_SIZE, and products of two
 * sizes never overflow. The reader is sticky: the first thing that is wrong stays, later questions get their fallback, and
 * lm_reader_status tells. */
#ifndef RLX_MODEL_CONFIG_H
#define RLX_MODEL_CONFIG_H

#include "base/status.h"
#include "io/file_leftover.h"
#include "rlx/experimental.h"
#include "rlx/lm.h"

#define LM_MAX_SIZE ((int64_t)1 << 30)
#define LM_MAX_LAYERS 4096
#define LM_MAX_EXPERTS 4096
#define LM_NEEDED (-1) /* as a fallback: there is none */

typedef struct lm_family lm_family;

/* How the result of the last layer of an encoder becomes one row. */
typedef enum lm_pooling { LM_POOL_MEAN, LM_POOL_FIRST } lm_pooling;

/* What a file may say or leave open. */
typedef enum lm_answer { LM_UNSAID, LM_NO, LM_YES } lm_answer;

/* Zero is "not there" throughout. */
typedef struct lm_config {
  const lm_family *family;
  bool is_hf; /* tensors have Hugging Face's names and forms */
  char name[128];
  int64_t layers, width, vocabulary, context;
  int64_t max_tokens; /* of a text, where that is less than the context; else 0 */
  int64_t hidden;     /* of the feed-forward part */

  int64_t heads, kv_heads, head; /* head: elements of one */
  double attention_scale;        /* of q k; 0: 1 / sqrt(head) */
  double attention_cap, final_cap;
  int64_t window;    /* keys that a local layer sees */
  uint8_t *is_local; /* by layer; NULL: none is */
  bool norms_heads;  /* each head of q and k is normalised */

  rlx_rope_style rope_style;
  int64_t rotated; /* leading elements of a head that turn */
  double theta, local_theta;
  bool local_is_plain;      /* layers with a window do not stretch positions */
  float *rope_factors;      /* rotated / 2 divisors of the frequencies that the configuration asks for; NULL: none */
  bool factors_are_weights; /* .. that a GGUF has as the tensor rope_freqs.weight, and not as metadata */

  rlx_act act;
  double eps;
  double embedding_scale; /* 0: 1 */

  int64_t experts, experts_used, expert_hidden;
  uint8_t *is_dense;      /* by layer: it has no experts, though others do; NULL: none is so */
  bool weigh_all_experts; /* the router's shares are of all experts, not of those used */

  int64_t inner, state, kernel, dt_rank; /* of a state space: channels, numbers per channel, taps, rank of dt */

  int64_t types; /* token types */
  lm_pooling pooling;

  lm_answer is_tied;                          /* the table of tokens is the output product, too */
  lm_answer has_attention_bias, has_mlp_bias; /* as the configuration has it; the tensors must agree */
  leftovers left;                             /* what the file has and nobody read, so far */
} lm_config;

/* Finds the family and reads all; deinit also after a failure. */
rlx_status lm_config_read(const rlx_file *f, lm_config *out);
void lm_config_deinit(lm_config *c);
/* Finds the family alone: RLX_UNSUPPORTED where it is none of those here, or the file is a part of a model. */
rlx_status lm_config_family(const rlx_file *f);
/* Whether this layer's feed-forward part is picked from experts. */
bool lm_has_experts(const lm_config *c, uint32_t layer);

/* ---- For families ---- */

typedef struct lm_reader lm_reader;
/* gguf: a key without the architecture; hf: keys, the first that is there counts. Either may be NULL: the file kind does
 * not tell, and the fallback holds. A size is 1 .. LM_MAX_SIZE, or absent. */
int64_t lm_key_size(lm_reader *r, const char *gguf, const char *hf, int64_t fallback);
double lm_key_number(lm_reader *r, const char *gguf, const char *hf, double fallback);
bool lm_key_bool(lm_reader *r, const char *gguf, const char *hf, bool fallback);
/* A size where 0 is as wrong as -1: of a context, of heads. */
int64_t lm_key_count(lm_reader *r, const char *gguf, const char *hf, int64_t fallback);
/* Whether config.json says so; a GGUF does not. */
lm_answer lm_key_answer(lm_reader *r, const char *hf);
const char *lm_key_text(lm_reader *r, const char *gguf, const char *hf, const char *fallback);
bool lm_reader_is_hf(const lm_reader *r);
/* Keeps the first; formats as RLX_FAIL. */
void lm_reader_fail(lm_reader *r, rlx_status code, const char *fmt, ...) RLX_PRINTF(3, 4);

/* Groups of facts that most families have. What a family has set before is the fallback. */
void lm_read_basics(lm_reader *r, lm_config *c);    /* layers, width, context, vocabulary, hidden */
void lm_read_attention(lm_reader *r, lm_config *c); /* heads */
void lm_read_rope(lm_reader *r, lm_config *c);      /* rotary positions, after the heads (rope.c) */
/* How many experts there are and are used; more used than there are is refused. */
void lm_read_experts(lm_reader *r, lm_config *c);
/* The layers without experts among those with them: config.json lists them, a GGUF has other tensors there. */
void lm_read_dense_layers(lm_reader *r, lm_config *c);
/* "gelu" and the like to act; what is not known is refused. */
void lm_read_activation(lm_reader *r, lm_config *c, rlx_act fallback);
/* The layers that see only a window: layer_types where the file has them; else all but every `every`-th. */
void lm_read_windows(lm_reader *r, lm_config *c, int64_t every);

#endif
