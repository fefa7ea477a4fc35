/* An open model: its configuration and its list of weights. */
#include "model/model.h"

#include "base/mem.h"
#include "model/names.h"

static rlx_status open_model(lm_model *m) {
  RLX_TRY(lm_config_read(m->file, &m->config));
  RLX_TRY(lm_resolve(m));
  const lm_config *c = &m->config;
  m->facts = (lm_facts){.family = c->family->name,
                        .name = c->name,
                        .n_layers = (uint32_t)c->layers,
                        .width = (uint32_t)c->width,
                        .n_heads = (uint32_t)c->heads,
                        .n_kv_heads = (uint32_t)c->kv_heads,
                        .n_vocab = (uint32_t)c->vocabulary,
                        .n_experts = (uint32_t)c->experts,
                        .context = (uint32_t)(c->max_tokens ? c->max_tokens : c->context),
                        .is_encoder = c->is_encoder,
                        .is_ranker = c->labels > 0,
                        .n_types = lm_find_weight(m, "token_types.weight") == SIZE_MAX ? 0 : (uint32_t)c->types,
                        .is_recurrent = c->family->is_recurrent};
  return RLX_OK;
}

rlx_status lm_model_open(const rlx_file *f, lm_model **out) {
  *out = NULL;
  lm_model *m = rlx_new(lm_model);
  if (!m) return RLX_FAIL(RLX_NO_MEMORY, "model");
  m->file = f;
  rlx_status s = open_model(m);
  if (s) {
    lm_model_close(m);
    return s;
  }
  *out = m;
  return RLX_OK;
}

void lm_model_close(lm_model *m) {
  if (!m) return;
  lm_config_deinit(&m->config);
  rlx_bump_deinit(&m->texts);
  rlx_array_deinit(&m->weights);
  rlx_mem_free(m->by_name);
  rlx_mem_free(m);
}

const lm_facts *lm_model_facts(const lm_model *m) { return &m->facts; }

size_t lm_model_weights(const lm_model *m) { return m->weights.n; }

const lm_weight *lm_model_weight(const lm_model *m, size_t i) {
  return i < m->weights.n ? &m->weights.v[i].weight : NULL;
}

rlx_status lm_model_read(const lm_model *m, size_t i, void *data) {
  if (i >= m->weights.n) return RLX_FAIL(RLX_NOT_FOUND, "weight %zu of %zu", i, m->weights.n);
  RLX_TRY_AT(lm_read_source(m, &m->weights.v[i], data), "weight '%s'", m->weights.v[i].weight.name);
  return RLX_OK;
}

bool lm_model_has_parts(const lm_model *m, size_t i) {
  return i < m->weights.n && lm_source_has_parts(m, &m->weights.v[i]);
}

rlx_status lm_model_read_part(const lm_model *m, size_t i, size_t from, void *data, size_t bytes) {
  if (!lm_model_has_parts(m, i)) return RLX_FAIL(RLX_NOT_FOUND, "weight %zu is not read in parts", i);
  const lm_source *s = &m->weights.v[i];
  RLX_TRY_AT(lm_read_source_part(m, s, from, data, bytes), "weight '%s'", s->weight.name);
  return RLX_OK;
}
