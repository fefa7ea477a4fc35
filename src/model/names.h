/* From a file's tensors to a model's weights: which tensors a weight comes from, and its bytes. */
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
  const rlx_file_tensor **from; /* one, or one per expert; NULL: computed */
  size_t n_from;
  const struct lm_source *parts; /* of joined weights (join.c): one below the other; else NULL */
  size_t n_parts;
} lm_source;

struct lm_model {
  const rlx_file *file;
  lm_config config;
  lm_facts facts;
  rlx_bump texts; /* names and lists of sources */
  RLX_ARRAY(lm_source) weights;
  bool is_apart;     /* weights are not joined */
  uint32_t *by_name; /* places in weights, in the order of their names */
};

/* Finds every tensor that the family's table asks for and checks its shape and type. */
rlx_status lm_resolve(lm_model *m);
/* Makes one weight of those that are read together. The index of names is to be made again. */
rlx_status lm_join_weights(lm_model *m);
/* The place of a weight; SIZE_MAX where there is none. */
size_t lm_find_weight(const lm_model *m, const char *name);
rlx_status lm_read_source(const lm_model *m, const lm_source *s, void *data);

/* Writes a name with % as the layer and # as the expert; false where it does not fit. */
bool lm_write_name(char *out, size_t cap, const char *pattern, uint32_t layer, uint32_t expert);

#endif
