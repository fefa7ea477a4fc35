/* A model family: everything specific to it in one struct, in one file.
 *
 * The tensor table lists what a model of the family must have: the GGUF name (also the name of the weight in
 * graphs), the Hugging Face name, the symbolic shape, and the recipe that converts the bytes of a Hugging Face file
 * to GGUF's. '%' in a name stands for the layer, '#' in a Hugging Face name for the expert: all experts are stacked
 * into one weight. */
#ifndef RLX_MODEL_FAMILY_H
#define RLX_MODEL_FAMILY_H

#include "model/config.h"
#include "model/graph.h"

/* A symbolic size of a weight. */
typedef enum lm_size {
  LM_NO_SIZE,
  LM_ONE,
  LM_WIDTH,
  LM_VOCABULARY,
  LM_CONTEXT,
  LM_HIDDEN,
  LM_Q_ROWS,   /* heads * head */
  LM_KV_ROWS,  /* kv_heads * head */
  LM_QKV_ROWS, /* q, k and v rows together */
  LM_HEAD,
  LM_ROPE_PAIRS, /* rotated / 2 */
  LM_EXPERTS,
  LM_EXPERT_HIDDEN,
  LM_INNER,
  LM_TWO_INNER,
  LM_STATE,
  LM_KERNEL,
  LM_DT_RANK,
  LM_DT_B_C, /* dt_rank + 2 state */
  LM_TYPES,
  LM_SIZE_COUNT
} lm_size;

/* Conversion of Hugging Face's bytes to GGUF's. */
typedef enum lm_recipe {
  LM_AS_IS,
  LM_PAIR_ROWS,    /* q and k: in each head, element i + head / 2 moves next to i: rope on neighbours */
  LM_PLUS_ONE,     /* the file stores w - 1 */
  LM_TRANSPOSED,   /* the file stores [in, out] */
  LM_NEG_EXP,      /* the file stores log(-w) */
  LM_ROPE_FACTORS, /* in no file: computed from the configuration */
} lm_recipe;

/* When a model of the family has the tensor. */
typedef enum lm_when {
  LM_ALWAYS,
  LM_MAYBE,       /* optional */
  LM_DENSE,       /* layers without experts */
  LM_EXPERT,      /* layers with experts */
  LM_MAYBE_DENSE, /* optional, in layers without experts */
} lm_when;

typedef struct lm_tensor {
  const char *name, *hf;
  lm_size shape[3];
  lm_when when;
  lm_recipe recipe;
  bool as_f32;       /* converted to f32 whatever the file has; always so for vectors */
  const char *apart; /* GGUF name of one expert's tensor, with '#', if files may store experts separately */
} lm_tensor;
/* LM_TENSOR("output.weight", "lm_head.weight", {LM_VOCABULARY, LM_WIDTH}, .when = LM_MAYBE) */
#define LM_TENSOR(gguf_name, hf_name, ...) \
  { .name = gguf_name, .hf = hf_name, .shape = __VA_ARGS__ }

struct lm_family {
  const char *name; /* the GGUF architecture */
  const char
    *architectures; /* Hugging Face classes, separated by blanks; then model types, for folders that have only those */
  bool is_encoder, is_recurrent;
  bool is_tied; /* default of the class if config.json has no field: the token embedding is the output weight */
  void (*read)(lm_reader *r, lm_config *c);
  const lm_tensor *tensors;
  size_t n_tensors;
  rlx_node (*embed)(lm_build *b); /* tokens to [B, T, width]; NULL: rows of the table, scaled */
  rlx_node (*layer)(lm_build *b, uint32_t layer, rlx_node x);
  rlx_node (*norm)(lm_build *b, const char *name, uint32_t layer, rlx_node x); /* the final norm; NULL: rms */
};

extern const lm_family lm_llama, lm_qwen2, lm_qwen3, lm_qwen3moe, lm_gemma2, lm_gemma3, lm_gpt2, lm_mamba, lm_bert;

/* All families; NULL past the end. */
const lm_family *lm_family_at(size_t i);

#endif
