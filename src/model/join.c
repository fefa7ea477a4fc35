/* Joins the weights of q, k and v of a layer into one, since all three multiply the same input. One product replaces
 * three: one dispatch instead of three on a GPU, and one larger range of rows to share among threads on a CPU. They
 * are joined if all have the same type (files of mixed types often store v in a finer one) and either all or none
 * have a bias. */
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "model/names.h"

enum { PARTS = 3 };

typedef struct joining {
  lm_model *m;
  bool *gone; /* per weight: it is part of a joined one now */
} joining;

/* Indices of q, k and v; returns how many exist. */
static size_t find_parts(const lm_model *m, uint32_t layer, const char *ending, size_t at[PARTS]) {
  static const char *const names[PARTS] = {"attn_q", "attn_k", "attn_v"};
  size_t found = 0;
  for (int i = 0; i < PARTS; i++) {
    char name[96];
    snprintf(name, sizeof name, "blk.%u.%s.%s", (unsigned)layer, names[i], ending);
    at[i] = lm_find_weight(m, name);
    found += at[i] != SIZE_MAX;
  }
  return found;
}

static bool is_one_type(const lm_model *m, const size_t at[PARTS]) {
  const lm_weight *q = &m->weights.v[at[0]].weight, *k = &m->weights.v[at[1]].weight, *v = &m->weights.v[at[2]].weight;
  return q->dtype == k->dtype && q->dtype == v->dtype;
}

static rlx_status join(joining *j, uint32_t layer, const char *ending, const size_t at[PARTS]) {
  lm_model *m = j->m;
  char name[96];
  int n = snprintf(name, sizeof name, "blk.%u.attn_qkv.%s", (unsigned)layer, ending);
  lm_source s = m->weights.v[at[0]], *parts = rlx_bump_alloc(&m->texts, PARTS, sizeof *parts);
  s.weight.name = rlx_bump_text(&m->texts, name, (size_t)n);
  if (!parts || !s.weight.name) return RLX_FAIL(RLX_NO_MEMORY, "weight '%s'", name);
  for (int i = 0; i < PARTS; i++) {
    parts[i] = m->weights.v[at[i]];
    if (i) s.weight.shape.v[0] += parts[i].weight.shape.v[0];
    j->gone[at[i]] = true;
  }
  s.parts = parts;
  s.n_parts = PARTS;
  RLX_TRY_AT(rlx_tensor_bytes(s.weight.dtype, s.weight.shape, &s.weight.bytes), "weight '%s'", name);
  j->gone[at[0]] = false; /* the joined weight replaces it */
  m->weights.v[at[0]] = s;
  return RLX_OK;
}

static rlx_status join_layer(joining *j, uint32_t layer) {
  size_t weights[PARTS], biases[PARTS];
  if (find_parts(j->m, layer, "weight", weights) < PARTS || !is_one_type(j->m, weights)) return RLX_OK;
  size_t n_biases = find_parts(j->m, layer, "bias", biases);
  if (n_biases != 0 && n_biases != PARTS) return RLX_OK;
  RLX_TRY(join(j, layer, "weight", weights));
  return n_biases ? join(j, layer, "bias", biases) : RLX_OK;
}

rlx_status lm_join_weights(lm_model *m) {
  joining j = {m, rlx_mem_calloc(m->weights.n, sizeof *j.gone)};
  if (!j.gone) return RLX_FAIL(RLX_NO_MEMORY, "the weights of a model");
  rlx_status s = RLX_OK;
  for (uint32_t i = 0; i < (uint32_t)m->config.layers && !s; i++) s = join_layer(&j, i);
  size_t n = 0;
  for (size_t i = 0; i < m->weights.n && !s; i++)
    if (!j.gone[i]) m->weights.v[n++] = m->weights.v[i];
  if (!s) m->weights.n = n;
  rlx_mem_free(j.gone);
  return s;
}
