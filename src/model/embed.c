/* Embeddings of texts and scores of pairs: runs one through an encoder, with the smallest program that holds its
 * tokens. */
#include <string.h>

#include "base/mem.h"
#include "model/engine.h"
#include "text/text.h"

enum { MIN_TOKENS = 16 };

/* What an encoder computes of n tokens; `types` is NULL for a single text. */
typedef struct input {
  const int32_t *ids, *types;
  size_t n;
} input;

static rlx_status run(rlx_lm *lm, const input *in, float *out, size_t n_out) {
  lm_graph_desc want = {.sequences = 1, .tokens = MIN_TOKENS, .result = in->types ? LM_SCORE : LM_EMBEDDING};
  while (want.tokens < in->n) want.tokens *= 2;
  if (want.tokens > lm->context) want.tokens = lm->context;
  lm_program *p;
  RLX_TRY(lm_program_get(lm, &want, &p));
  memset(p->tokens, 0, want.tokens * sizeof *p->tokens);
  memcpy(p->tokens, in->ids, in->n * sizeof *p->tokens);
  if (in->types) memset(p->types, 0, want.tokens * sizeof *p->types);
  if (in->types) memcpy(p->types, in->types, in->n * sizeof *p->types);
  if (p->length) p->length[0] = (int32_t)in->n;
  RLX_TRY(lm_program_write(lm, p));
  RLX_TRY(rlx_executable_run(p->executable));
  rlx_tensor row = {.dtype = RLX_F32, .data = out, .bytes = n_out * sizeof *out};
  RLX_TRY(rlx_executable_read(p->executable, in->types ? "score" : "embedding", &row));
  if (lm_is_finite(out, n_out)) return RLX_OK;
  return lm_fail_embedding(p, in->n);
}

static rlx_status check(const rlx_lm *lm, const char *what, bool ranks) {
  const lm_facts *facts = lm_model_facts(lm->model);
  if (lm->is_dry) return RLX_FAIL(RLX_INVALID, "%s: the model was opened with dry_run and has no weights", what);
  if (!facts->is_encoder)
    return RLX_FAIL(RLX_UNSUPPORTED, "a %s model continues texts and does not %s them", facts->family,
                    ranks ? "rank" : "embed");
  if (facts->is_ranker != ranks)
    return RLX_FAIL(RLX_UNSUPPORTED,
                    ranks ? "this %s model embeds texts: it has no head that gives a pair of texts a score"
                          : "this %s model gives pairs of texts a score and does not embed texts",
                    facts->family);
  if (!lm->tokenizer) return RLX_FAIL(RLX_UNSUPPORTED, "the model has no supported tokenizer");
  return RLX_OK;
}

rlx_status lm_embed(rlx_lm *lm, const char *text, size_t bytes, float *out, size_t *n_cut) {
  if (n_cut) *n_cut = 0;
  if (!lm || !out || (bytes && !text))
    return RLX_FAIL(RLX_INVALID, "rlx_lm_embed: %s is NULL", !lm ? "the model" : !out ? "out" : "the text");
  RLX_TRY(check(lm, "rlx_lm_embed", false));
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
  if (!s) s = run(lm, &(input){.ids = ids, .n = n}, out, lm_model_facts(lm->model)->width);
  rlx_free(ids);
  return s;
}

/* A tokenizer may give types to a model that has none. */
static rlx_status check_types(const rlx_lm *lm, const text_two *two) {
  const uint32_t n_types = lm_model_facts(lm->model)->n_types;
  for (size_t i = 0; i < two->n && n_types > 1; i++)
    if ((uint32_t)two->types[i] >= n_types)
      return RLX_FAIL(RLX_INVALID, "the tokenizer gives a pair the token type %d, but the model has %u",
                      (int)two->types[i], (unsigned)n_types);
  return RLX_OK;
}

rlx_status lm_score(rlx_lm *lm, const rlx_lm_pair *pair, float *score, size_t *n_cut) {
  const text_span query = {pair->query, pair->query_bytes}, text = {pair->text, pair->text_bytes};
  if ((query.n && !query.p) || (text.n && !text.p))
    return RLX_FAIL(RLX_INVALID, "rlx_lm_score: %s is NULL", query.n && !query.p ? "the query" : "the text");
  RLX_TRY(check(lm, "rlx_lm_score", true));
  text_two two;
  RLX_TRY(text_encode_two(lm->tokenizer, query, text, lm->context, &two));
  rlx_status s = check_types(lm, &two);
  if (!s && two.n_cut && !n_cut)
    s = RLX_FAIL(RLX_INVALID, "rlx_lm_score: the texts have %zu tokens, the context holds %u", two.n + two.n_cut,
                 (unsigned)lm->context);
  if (!s && two.n_cut) *n_cut = two.n_cut;
  if (!s) s = run(lm, &(input){two.ids, two.types, two.n}, score, 1);
  rlx_free(two.ids);
  return s;
}
