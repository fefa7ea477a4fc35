/* Adapters (LoRA): what the graph and the engine need of them. The file is read by adapter_file.c. */
#ifndef RLX_MODEL_ADAPTER_H
#define RLX_MODEL_ADAPTER_H

#include "model/names.h"

enum { LM_MAX_ADAPTERS = 8, LM_MAX_RANK = 4096 };

/* What it adds to a product with a weight [out, in]: (x A^T) B^T, with params A [rank, in] and B [out, rank], whose
 * scale is in B. */
typedef struct lm_lora {
  char *a, *b; /* their names */
  int64_t rank;
} lm_lora;

typedef struct lm_adapter {
  lm_lora *loras; /* one per weight of the model; rank 0: none */
  size_t n;
} lm_adapter;

static inline const lm_lora *lm_adapter_at(const lm_adapter *a, size_t weight) {
  return weight < a->n && a->loras[weight].rank ? &a->loras[weight] : NULL;
}
void lm_adapter_deinit(lm_adapter *a);

/* How much each adapter counts. */
typedef struct lm_scales {
  float v[LM_MAX_ADAPTERS];
} lm_scales;

/* adapter_file.c: reads a file, and gives A and B of each weight to `set`, under names that begin with `name`. Call
 * lm_adapter_deinit even after a failure. */
typedef rlx_status lm_adapter_set(void *user, const char *name, const rlx_tensor *value);
rlx_status lm_adapter_read(const lm_model *m, const char *path, const char *name, lm_adapter_set *set, void *user,
                           lm_adapter *out);

#endif
