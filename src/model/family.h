/* A model family is a description: in what it differs from a plain transformer.
 *
 * The plain one is llama without anything optional: token embeddings, layers of
 *
 *   x + attention(norm x), then + down(act(gate x) * up x) of (norm x)
 *
 * with RMS norms, rope and no biases, a final norm and a head. A description names the parts that a family has
 * (lm_part), how positions enter, which norm it uses, and what Hugging Face calls a part if not by the usual name. From
 * that follow three things that no family writes again: the keys of its configuration (lm_read_plain), the list of its
 * tensors with shapes and both names (tensors.c), and its layers (layer.c), which use the weights that the list has.
 * What a description cannot express is a function: to read further keys, to embed tokens, to mix tokens without
 * attention. */
#ifndef RLX_MODEL_FAMILY_H
#define RLX_MODEL_FAMILY_H

#include "base/bump.h"
#include "model/config.h"
#include "model/graph.h"

/* ---- Tensors ---- */

/* A symbolic size of a weight. */
typedef enum lm_size {
  LM_NO_SIZE,
  LM_ONE,
  LM_WIDTH,
  LM_VOCABULARY,
  LM_CONTEXT,
  LM_HIDDEN,
  LM_UP_ROWS,  /* hidden, or twice that if the gate is joined with up */
  LM_Q_ROWS,   /* heads * head */
  LM_KV_ROWS,  /* kv_heads * head */
  LM_QKV_ROWS, /* q, k and v rows together */
  LM_HEAD,
  LM_HEADS,
  LM_ROPE_PAIRS, /* rotated / 2 */
  LM_EXPERTS,
  LM_EXPERT_HIDDEN,
  LM_SHARED_HIDDEN,
  LM_INNER,
  LM_TWO_INNER,
  LM_STATE,
  LM_KERNEL,
  LM_DT_RANK,
  LM_DT_B_C, /* dt_rank + 2 state */
  LM_TYPES,
  LM_LABELS,
  LM_BUCKETS,    /* of distances between tokens */
  LM_DENSE_ROWS, /* of the first product after pooling */
  LM_SIZE_COUNT
} lm_size;

/* Conversion of Hugging Face's bytes to GGUF's. */
typedef enum lm_recipe {
  LM_AS_IS,
  LM_PAIR_ROWS,    /* q and k: in each head, element i + head / 2 moves next to i: rope on neighbours */
  LM_PLUS_ONE,     /* the file stores w - 1 */
  LM_TRANSPOSED,   /* the file stores [in, out] */
  LM_NEG_EXP,      /* the file stores log(-w) */
  LM_SKIP_ROWS,    /* the file has rows of padding before the first: c->skipped_rows */
  LM_GROUPED_ROWS, /* rows of q, k and v: the file has for each head of keys its queries, key and value together */
  LM_FIRST_HALF,   /* of each expert's rows: the file has gate and up of an expert in one */
  LM_SECOND_HALF,
  LM_EVEN_ROWS, /* of each expert's rows, which the file has as columns: gate and up alternate */
  LM_ODD_ROWS,
  LM_ROPE_FACTORS, /* in no file: computed from the configuration */
  LM_LONG_FACTORS, /* likewise */
} lm_recipe;

/* Which layers have a tensor. */
typedef enum lm_when {
  LM_ALWAYS,
  LM_DENSE,  /* layers without experts */
  LM_EXPERT, /* layers with experts */
  LM_LATER,  /* layers after the first */
  LM_POOLED, /* models with products after pooling */
  LM_RANKER, /* models with the head of a cross-encoder */
} lm_when;

/* The GGUF name (also the name of the weight in graphs), the Hugging Face name, the symbolic shape. '%' in a name
 * stands for the layer, '#' in a Hugging Face name for the expert: all experts are stacked into one weight. */
typedef struct lm_tensor {
  const char *name, *hf; /* hf NULL: in GGUF only */
  lm_size shape[3];
  lm_when when;
  bool is_optional;
  lm_recipe recipe;
  bool may_be_packed; /* files may have it as mxfp4 in two tensors, `hf` and "_blocks" or "_scales" */
  bool as_f32;        /* converted to f32 whatever the file has; always so for vectors */
  const char *gguf;   /* its name in GGUF files, if not `name` */
  const char *apart;  /* GGUF name of one expert's tensor, with '#', if files may store experts separately */
} lm_tensor;
/* LM_TENSOR("blk.%.ssm_d", "layers.%.mixer.D", {LM_INNER}, .is_optional = true) */
#define LM_TENSOR(gguf_name, hf_name, ...) \
  { .name = gguf_name, .hf = hf_name, .shape = __VA_ARGS__ }

/* ---- Descriptions ---- */

/* Parts of a model. tensors.c lists the weights of each; layer.c makes of each weight what it is for. */
typedef enum lm_part {
  LM_OUTPUT_NORM = 1 << 0,    /* before the head */
  LM_OUTPUT = 1 << 1,         /* a head beside the token embedding */
  LM_POSITION_TABLE = 1 << 2, /* added to the token embeddings */
  LM_TOKEN_TYPES = 1 << 3,    /* likewise */
  LM_EMBEDDING_NORM = 1 << 4,
  LM_ATTENTION = 1 << 5,    /* its output product */
  LM_QKV = 1 << 6,          /* q, k and v, each a product */
  LM_JOINED_QKV = 1 << 7,   /* or one product for the three */
  LM_QKV_BIAS = 1 << 8,     /* biases of q, k and v */
  LM_ATTN_BIAS = 1 << 9,    /* bias of the output product */
  LM_HEAD_NORMS = 1 << 10,  /* norms of each head of q and k */
  LM_ATTN_NORM = 1 << 11,   /* before attention */
  LM_FFN_NORM = 1 << 12,    /* before the feed-forward part */
  LM_POST_NORMS = 1 << 13,  /* of what attention and the feed-forward part give, before it is added */
  LM_SUM_NORMS = 1 << 14,   /* of the sums after each */
  LM_NORM_BIAS = 1 << 15,   /* biases of all norms but those of heads */
  LM_FFN = 1 << 16,         /* products up and down */
  LM_GATE = 1 << 17,        /* a gate times up */
  LM_FFN_BIAS = 1 << 18,    /* biases of these products */
  LM_MIXTURE = 1 << 19,     /* experts, picked by a router, in layers that are not dense */
  LM_ROPE_FREQS = 1 << 20,  /* divisors of the frequencies of rope as a tensor */
  LM_ALL_NORMS = 1 << 21,   /* norms of all heads of q and k together */
  LM_JOINED_GATE = 1 << 22, /* the product up has the rows of the gate before its own */
  LM_SHARED = 1 << 23,      /* an expert that is used for every token, beside the mixture */
  LM_SHARED_GATE = 1 << 24, /* and a factor for it that depends on the token */
  LM_OUTPUT_BIAS = 1 << 25, /* of the head */
  LM_ROUTER_BIAS = 1 << 26, /* added to the scores by which experts are selected, not to their shares */
  LM_LONG_ROPE = 1 << 27,   /* two lists of divisors of rope's frequencies, for short and for long contexts */
  LM_RANK_DENSE = 1 << 28,  /* of the head of a cross-encoder: a product before the last, .. */
  LM_RANK_BIAS = 1 << 29,   /* .. its bias, .. */
  LM_RANK_NORM = 1 << 30,   /* .. and a norm after it */

  LM_PLAIN = LM_OUTPUT_NORM | LM_ATTENTION | LM_QKV | LM_ATTN_NORM | LM_FFN_NORM | LM_FFN | LM_GATE,
} lm_part;

typedef enum lm_positions {
  LM_ROTATE_HALVES, /* rope on elements half a head apart */
  LM_ROTATE_PAIRS,  /* on neighbours */
  LM_NO_ROPE,       /* a table (LM_POSITION_TABLE), or none */
} lm_positions;

struct lm_family {
  const char *name; /* the GGUF architecture */
  const char
    *architectures;  /* Hugging Face classes, separated by blanks; then model types, for folders that have only those */
  unsigned has;      /* lm_part bits: each of their tensors must be there */
  unsigned may_have; /* used if they are there */
  lm_positions positions;
  rlx_norm_kind norm;
  double eps;  /* of norms, if the file has none; 0: it must */
  rlx_act act; /* if the file has none; 0: silu */
  bool is_encoder, is_recurrent;
  bool up_first;         /* LM_JOINED_GATE: up comes before the gate */
  bool counts_experts;   /* reads how many, although the tensors of LM_MIXTURE are its own */
  bool yarn_is_exact;    /* the bounds between which yarn interpolates are no whole numbers of pairs */
  bool is_parallel;      /* attention and feed-forward read the same x, and both are added to it */
  bool stretches_base;   /* a dynamic scaling with alpha is another base of rope */
  bool norms_after_rope; /* those of heads */
  const char *needs;     /* field of config.json that is true: of families of one class it chooses; or NULL */
  bool is_tied; /* default of the class if config.json has no field: the token embedding is the output weight */

  /* How files store it. Lists of names are "attn_output=self_attn.dense ..": the name of a part in tensors.c and the
   * family's own, for all that are called otherwise than there. */
  const char *hf_layers;  /* before the number of a layer; NULL: "layers." */
  const char *hf_names;   /* in Hugging Face */
  const char *gguf_names; /* in GGUF, where another part's name is used for it */
  bool is_transposed;     /* products of layers are [in, out] */
  bool adds_one;          /* norms are stored as w - 1 */
  bool pairs_rows;        /* GGUF has rows of q and k in another order: LM_PAIR_ROWS */
  bool groups_rows;       /* of the joined product for q, k and v: LM_GROUPED_ROWS */
  bool halves_experts;    /* gate and up of the experts are one tensor */
  bool skips_rows;        /* positions count from pad_token_id + 1: LM_SKIP_ROWS */

  void (*prepare)(lm_reader *r, lm_config *c); /* sets fallbacks before lm_read_plain; or NULL */
  void (*read)(lm_reader *r, lm_config *c);    /* reads what lm_read_plain does not; or NULL */
  const lm_tensor *tensors;                    /* those that are its own */
  size_t n_tensors;
  rlx_node (*embed)(lm_build *b);                           /* tokens to [B, T, width]; NULL: lm_embed_tokens */
  rlx_node (*mix)(lm_build *b, uint32_t layer, rlx_node x); /* in place of attention; NULL: attention */
};

#define LM_OWN_TENSORS(list) .tensors = list, .n_tensors = sizeof list / sizeof *list

#define FAMILY(name) extern const lm_family lm_##name;
#include "model/families.def"

/* All families; NULL past the end. */
const lm_family *lm_family_at(size_t i);

/* Writes the tensors of a family into memory of `texts`, with all names complete. The first is the token embedding. */
rlx_status lm_list_tensors(const lm_config *c, rlx_bump *texts, const lm_tensor **list, size_t *n);

#endif
