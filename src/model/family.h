/* A model family: everything that sets it apart, in one struct, in one file.
 *
 * The table of tensors says what a model of the family must have: GGUF's name (the name of the weight in graphs), the Hugging
 * Face name, the shape in words, and what is to be done with the bytes of a Hugging Face file to make them GGUF's. '%' in a
 * name stands for the layer, '#' in a Hugging Face name for the expert: all experts are stacked into one weight. */
#ifndef RLX_MODEL_FAMILY_H
#define RLX_MODEL_FAMILY_H

#include "model/config.h"
#include "model/graph.h"

/* A size of a weight, in words. */
typedef enum lm_size {
  LM_NO_SIZE,
  LM_ONE,
  LM_WIDTH,
  LM_VOCABULARY,
  LM_CONTEXT,
  LM_HIDDEN,
  LM_Q_ROWS,   /* heads * head */
  LM_KV_ROWS,  /* kv_heads * head */
  LM_QKV_ROWS, /* both, keys and values */
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

/* From Hugging Face's bytes to GGUF's. */
typedef enum lm_recipe {
  LM_AS_IS,
  LM_PAIR_ROWS,    /* of q and k: in each head, element i next to element i + head / 2, for rope with neighbours */
  LM_PLUS_ONE,     /* the file has what is to be added to 1 */
  LM_TRANSPOSED,   /* the file has [in, out] */
  LM_NEG_EXP,      /* the file has the logarithm of the negative */
  LM_ROPE_FACTORS, /* in no file: computed from the configuration */
} lm_recipe;

/* When a model of the family has the tensor. */
typedef enum lm_when {
  LM_ALWAYS,
  LM_MAYBE,       /* it is used where it is there */
  LM_DENSE,       /* layers without experts */
  LM_EXPERT,      /* layers with them */
  LM_MAYBE_DENSE, /* layers without experts, where it is there */
} lm_when;

typedef struct lm_tensor {
  const char *name, *hf;
  lm_size shape[3];
  lm_when when;
  lm_recipe recipe;
  bool as_f32;       /* whatever type the file has; always so for one axis */
  const char *apart; /* GGUF's name of one expert, '#', where files may have them one by one */
} lm_tensor;
/* LM_TENSOR("output.weight", "lm_head.weight", {LM_VOCABULARY, LM_WIDTH}, .when = LM_MAYBE) */
#define LM_TENSOR(gguf_name, hf_name, ...) \
  { .name = gguf_name, .hf = hf_name, .shape = __VA_ARGS__ }

struct lm_family {
  const char *name; /* GGUF's architecture */
  const char
    *architectures; /* of Hugging Face, separated by blanks; after them model types, where folders have those alone */
  bool is_encoder, is_recurrent;
  bool is_tied; /* by its class: the table of tokens is the output product, where a config.json does not say */
  void (*read)(lm_reader *r, lm_config *c);
  const lm_tensor *tensors;
  size_t n_tensors;
  rlx_node (*embed)(lm_build *b); /* tokens to [B, T, width]; NULL: rows of the table, scaled */
  rlx_node (*layer)(lm_build *b, uint32_t layer, rlx_node x);
  rlx_node (*norm)(lm_build *b, const char *name, uint32_t layer, rlx_node x); /* the last one; NULL: rms */
};

extern const lm_family lm_llama, lm_qwen2, lm_qwen3, lm_qwen3moe, lm_gemma2, lm_gemma3, lm_gpt2, lm_mamba, lm_bert;

/* All families; NULL past the end. */
const lm_family *lm_family_at(size_t i);

#endif
