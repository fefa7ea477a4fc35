/* From the tensors of a file to the weights of a model: the source tensors of each weight, and its bytes. */
#ifndef RLX_MODEL_NAMES_H
#define RLX_MODEL_NAMES_H

#include "base/array.h"
#include "base/bump.h"
#include "model/config.h"
#include "model/family.h"
#include "model/model.h"

typedef struct lm_source {
  lm_weight weight;
  const lm_tensor *spec;
  uint32_t layer;
  const rlx_file_tensor **from; /* one, or one per expert; NULL: computed */
  size_t n_from;
  bool is_packed;                /* `from` are blocks and their scales: LM_TENSOR's may_be_packed */
  const struct lm_source *parts; /* joined weights (join.c): parts, concatenated by rows; else NULL */
  size_t n_parts;
} lm_source;

struct lm_model {
  const rlx_file *file;
  lm_config config;
  lm_facts facts;
  rlx_bump texts;           /* names and lists of sources */
  const lm_tensor *tensors; /* that the family has */
  size_t n_tensors;
  RLX_ARRAY(lm_source) weights;
  bool is_apart;                     /* weights are not joined */
  uint32_t *by_name;                 /* indices into weights, sorted by name */
  const struct lm_adapter *adapters; /* the engine's (adapter.h); NULL: none */
};

/* Finds every tensor of the family and checks its shape and type. */
rlx_status lm_resolve(lm_model *m);
/* Joins the weights of q, k and v. The name index must be rebuilt afterwards. */
rlx_status lm_join_weights(lm_model *m);
/* Index of a weight; SIZE_MAX if there is none. */
size_t lm_find_weight(const lm_model *m, const char *name);
rlx_status lm_read_source(const lm_model *m, const lm_source *s, void *data);
/* Whether it has the file's bytes in the file's order; then bytes [from, from + bytes) of it. */
bool lm_source_has_parts(const lm_model *m, const lm_source *s);
rlx_status lm_read_source_part(const lm_model *m, const lm_source *s, size_t from, void *data, size_t bytes);

/* Index in Hugging Face's order of row i in GGUF's, of weights with the recipe LM_PAIR_ROWS. */
size_t lm_paired_row(size_t head, size_t i);

/* The name of a weight in GGUF files; false if `out` is too small. */
bool lm_write_gguf_name(char *out, size_t cap, const lm_tensor *spec, uint32_t layer);
/* Expands % to the layer and # to the expert; false if `out` is too small. */
bool lm_write_name(char *out, size_t cap, const char *pattern, uint32_t layer, uint32_t expert);

#endif
