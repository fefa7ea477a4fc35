/* Adapters of a loaded model: which there are, and which of them a sequence has.
 *
 * A program computes the products of all adapters that are loaded, and an input says how much each counts in each
 * sequence (in a step: for each token). So sequences with different adapters run in one program, and nothing is
 * compiled when scales change. While no sequence of a program has any, the program without adapters runs. */
#include "model/adapter.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "model/engine.h"
#include "model/requests.h"

void lm_adapter_deinit(lm_adapter *a) {
  for (size_t i = 0; a->loras && i < a->n; i++) {
    rlx_mem_free(a->loras[i].a);
    rlx_mem_free(a->loras[i].b);
  }
  rlx_mem_free(a->loras);
  *a = (lm_adapter){0};
}

void lm_adapters_deinit(rlx_lm *lm) {
  for (size_t i = 0; i < lm->adapters.n; i++) lm_adapter_deinit(&lm->adapters.v[i]);
  rlx_array_deinit(&lm->adapters);
}

bool lm_scales_any(const lm_scales *s) {
  bool any = false;
  for (int i = 0; i < LM_MAX_ADAPTERS; i++) any |= s->v[i] != 0;
  return any;
}

static bool is_same(const lm_scales *a, const lm_scales *b) {
  bool same = true;
  for (int i = 0; i < LM_MAX_ADAPTERS; i++) same &= !(a->v[i] < b->v[i] || a->v[i] > b->v[i]);
  return same;
}

rlx_status lm_scales_of(const rlx_lm *lm, const rlx_lm_adapter *adapters, size_t n, lm_scales *out) {
  *out = lm->usual;
  if (!n) return RLX_OK;
  *out = (lm_scales){0};
  if (!adapters) return RLX_FAIL(RLX_INVALID, "%zu adapters, but the list is NULL", n);
  for (size_t i = 0; i < n; i++) {
    if (adapters[i].number >= lm->adapters.n)
      return RLX_FAIL(RLX_INVALID, "adapter %u: the model has %zu", (unsigned)adapters[i].number, lm->adapters.n);
    out->v[adapters[i].number] += adapters[i].scale;
    if (!isfinite(out->v[adapters[i].number]))
      return RLX_FAIL(RLX_INVALID, "adapter %u: expected a finite scale", (unsigned)adapters[i].number);
  }
  return RLX_OK;
}

void lm_scales_apply(rlx_lm *lm, uint32_t sequence, const lm_scales *s) {
  lm_sequence *q = &lm->sequences[sequence];
  if (!is_same(&q->scales, s)) lm_rewind(lm, sequence, 0);
  q->scales = *s;
  lm->scales = *s;
}

rlx_status lm_adapters_use(rlx_lm *lm, const rlx_lm_adapter *adapters, size_t n) {
  lm_scales s = {0};
  if (n) RLX_TRY_AT(lm_scales_of(lm, adapters, n, &s), "rlx_lm_adapters_use");
  lm->usual = s;
  return RLX_OK;
}

static rlx_status set_weight(void *user, const char *name, const rlx_tensor *value) {
  rlx_lm *lm = user;
  return rlx_weights_set(lm->weights, name, value);
}

rlx_status lm_adapter_load(rlx_lm *lm, const char *path, uint32_t *number) {
  RLX_TRY(lm_check_kind(lm, "rlx_lm_adapter_load"));
  if (!path) return RLX_FAIL(RLX_INVALID, "rlx_lm_adapter_load: the path is NULL");
  if (lm->adapters.n == LM_MAX_ADAPTERS)
    return RLX_FAIL(RLX_LIMIT, "rlx_lm_adapter_load: a model has at most %d adapters", LM_MAX_ADAPTERS);
  if (lm_requests_left(lm))
    return RLX_FAIL(RLX_BUSY, "rlx_lm_adapter_load: %u requests run", (unsigned)lm_requests_left(lm));
  if (!rlx_array_reserve(&lm->adapters, 1)) return RLX_FAIL(RLX_NO_MEMORY, "the adapters of a model");
  lm->model->adapters = lm->adapters.v;
  char name[32];
  snprintf(name, sizeof name, "adapter.%zu", lm->adapters.n);
  lm_adapter a = {0};
  rlx_status s = lm_adapter_read(lm->model, path, name, set_weight, lm, &a);
  if (s) {
    lm_adapter_deinit(&a);
    return rlx_fail_frame(s, "%s", path);
  }
  if (number) *number = (uint32_t)lm->adapters.n;
  lm->adapters.v[lm->adapters.n++] = a;
  return RLX_OK;
}
