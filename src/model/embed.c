/* Embeddings: runs a text through an encoder, with the smallest program that holds its tokens. */
#include <string.h>

#include "base/mem.h"
#include "model/engine.h"

enum { MIN_TOKENS = 16 };

static rlx_status run(rlx_lm *lm, const int32_t *ids, size_t n, float *out) {
  const lm_facts *facts = lm_model_facts(lm->model);
  lm_graph_desc want = {.sequences = 1, .tokens = MIN_TOKENS, .result = LM_EMBEDDING};
  while (want.tokens < n) want.tokens *= 2;
  if (want.tokens > lm->context) want.tokens = lm->context;
  lm_program *p;
  RLX_TRY(lm_program_get(lm, &want, &p));
  memset(p->tokens, 0, want.tokens * sizeof *p->tokens);
  memcpy(p->tokens, ids, n * sizeof *p->tokens);
  if (p->length) p->length[0] = (int32_t)n;
  RLX_TRY(lm_program_write(lm, p));
  RLX_TRY(rlx_executable_run(p->executable));
  rlx_tensor row = {.dtype = RLX_F32, .data = out, .bytes = facts->width * sizeof *out};
  RLX_TRY(rlx_executable_read(p->executable, "embedding", &row));
  if (lm_is_finite(out, facts->width)) return RLX_OK;
  return lm_fail_embedding(p, n);
}

rlx_status lm_embed(rlx_lm *lm, const char *text, size_t bytes, float *out, size_t *n_cut) {
  if (n_cut) *n_cut = 0;
  if (!lm || !out || (bytes && !text))
    return RLX_FAIL(RLX_INVALID, "rlx_lm_embed: %s is NULL", !lm ? "the model" : !out ? "out" : "the text");
  if (lm->is_dry) return RLX_FAIL(RLX_INVALID, "rlx_lm_embed: the model was opened with dry_run and has no weights");
  if (!lm_model_facts(lm->model)->is_encoder)
    return RLX_FAIL(RLX_UNSUPPORTED, "a %s model continues texts and does not embed them",
                    lm_model_facts(lm->model)->family);
  if (!lm->tokenizer) return RLX_FAIL(RLX_UNSUPPORTED, "the model has no supported tokenizer");
  int32_t *ids;
  size_t n;
  RLX_TRY(rlx_tokenizer_encode(lm->tokenizer, text, bytes, RLX_TOKENS_ADD_SPECIAL, &ids, &n));
  rlx_status s = RLX_OK;
  if (n == 0) s = RLX_FAIL(RLX_INVALID, "rlx_lm_embed: the text has no tokens");
  if (!s && n > lm->context && !n_cut)
    s = RLX_FAIL(RLX_INVALID, "rlx_lm_embed: the text has %zu tokens, the context holds %u", n, (unsigned)lm->context);
  /* As the original tools do: tokens that do not fit are dropped, the closing token stays. */
  if (!s && n > lm->context) {
    *n_cut = n - lm->context;
    ids[lm->context - 1] = ids[n - 1];
    n = lm->context;
  }
  if (!s) s = run(lm, ids, n, out);
  rlx_free(ids);
  return s;
}
