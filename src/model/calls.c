/* The public functions of lm.h that work on a model. Each acquires the model's lock and starts its budget. A second
 * thread, or a callback that calls its own model, gets RLX_BUSY and changes nothing. Read-only calls are allowed
 * inside callbacks (nested lock). The implementations are in the files that engine.h names. */
#include "base/sized.h"
#include "model/engine.h"
#include "model/requests.h"
#include "runtime/session.h"

static rlx_status acquire_watched(rlx_lm *lm, const char *call, const rlx_watch *watch) {
  if (!lm) return RLX_FAIL(RLX_INVALID, "%s: the model is NULL", call);
  RLX_TRY(rlx_watch_check(call, watch));
  if (watch && watch->limits.device_bytes)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s: limits.device_bytes: expected 0, because a session limits device memory",
                    call);
  RLX_TRY(rlx_lock_try(&lm->lock, call));
  rlx_session_begin(lm->session, &lm->budget, call, 0, watch);
  return RLX_OK;
}

static rlx_status acquire(rlx_lm *lm, const char *call) { return acquire_watched(lm, call, NULL); }

static rlx_status acquire_shared(const rlx_lm *lm, const char *call) {
  if (!lm) return RLX_FAIL(RLX_INVALID, "%s: the model is NULL", call);
  return rlx_lock_try_nested(&((rlx_lm *)(uintptr_t)lm)->lock, call); /* the lock is the only member that changes */
}

static void release_shared(const rlx_lm *lm) { rlx_lock_release(&((rlx_lm *)(uintptr_t)lm)->lock); }

/* Ends a call begun with acquire; returns the status that the caller gets. */
static rlx_status release(rlx_lm *lm, rlx_status s) {
  lm_programs_release(lm);
  s = rlx_budget_end(&lm->budget, s);
  release_shared(lm);
  return s;
}

uint32_t rlx_lm_length(const rlx_lm *lm, uint32_t sequence) {
  size_t n;
  if (acquire_shared(lm, "rlx_lm_length")) return 0;
  (void)lm_tokens(lm, sequence, &n);
  release_shared(lm);
  return (uint32_t)n;
}

const int32_t *rlx_lm_tokens(const rlx_lm *lm, uint32_t sequence, size_t *n) {
  if (n) *n = 0;
  if (acquire_shared(lm, "rlx_lm_tokens")) return NULL;
  const int32_t *ids = lm_tokens(lm, sequence, n);
  release_shared(lm);
  return ids;
}

rlx_status rlx_lm_describe(const rlx_lm *lm, rlx_lm_info *out) {
  rlx_lm_info info;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_lm_describe: out is NULL");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_lm_info", out));
  RLX_TRY(acquire_shared(lm, "rlx_lm_describe"));
  rlx_status s = lm_describe(lm, &info);
  release_shared(lm);
  return s ? s : RLX_SIZED_WRITE("rlx_lm_info", &info, out);
}

rlx_status rlx_lm_truncate(rlx_lm *lm, uint32_t sequence, uint32_t tokens) {
  RLX_TRY(acquire(lm, "rlx_lm_truncate"));
  rlx_status s = lm_truncate(lm, sequence, tokens);
  return release(lm, s);
}

rlx_status rlx_lm_append(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n, bool all, float *logits) {
  RLX_TRY(acquire(lm, "rlx_lm_append"));
  rlx_status s = lm_append(lm, sequence, ids, n, all, logits);
  return release(lm, s);
}

rlx_status rlx_lm_adapter_load(rlx_lm *lm, const char *path, uint32_t *number) {
  if (number) *number = 0;
  RLX_TRY(acquire(lm, "rlx_lm_adapter_load"));
  rlx_status s = lm_adapter_load(lm, path, number);
  return release(lm, s);
}

rlx_status rlx_lm_adapters_use(rlx_lm *lm, const rlx_lm_adapter *adapters, size_t n) {
  RLX_TRY(acquire(lm, "rlx_lm_adapters_use"));
  rlx_status s = lm_adapters_use(lm, adapters, n);
  return release(lm, s);
}

rlx_status rlx_lm_measure(rlx_lm *lm, const int32_t *ids, size_t n, rlx_importance *into) {
  RLX_TRY(acquire(lm, "rlx_lm_measure"));
  rlx_status s = lm_measure(lm, ids, n, into);
  return release(lm, s);
}

/* ---- Generation: options and statistics may come from an older or a newer header ---- */

typedef struct generation {
  rlx_lm_options own;
  const rlx_lm_options *options; /* NULL if the caller passed NULL */
  rlx_lm_stats stats;
} generation;

static rlx_status begin(generation *c, rlx_lm *lm, const char *call, const rlx_lm_options *options,
                        rlx_lm_stats *stats) {
  *c = (generation){.options = options ? &c->own : NULL, .stats = {RLX_LM_STATS_INIT}};
  if (stats) RLX_TRY_AT(RLX_SIZED_CLEAR("rlx_lm_stats", stats), "%s", call);
  RLX_TRY_AT(RLX_SIZED_READ("rlx_lm_options", options, &c->own), "%s", call);
  /* Only the limits: `cancel` is polled between tokens, where a stop is no failure. */
  return acquire_watched(lm, call, &(rlx_watch){.limits = c->own.limits});
}

static rlx_status end(const generation *c, rlx_lm *lm, rlx_lm_stats *stats, rlx_status s) {
  if (stats) (void)RLX_SIZED_WRITE("rlx_lm_stats", &c->stats, stats); /* cannot fail: begin checked its size */
  return release(lm, s);
}

rlx_status rlx_lm_generate(rlx_lm *lm, const char *prompt, size_t bytes, const rlx_lm_options *options,
                           rlx_lm_text_fn fn, void *user, rlx_lm_stats *stats) {
  generation c;
  RLX_TRY(begin(&c, lm, "rlx_lm_generate", options, stats));
  rlx_status s = lm_generate(lm, prompt, bytes, c.options, fn, user, &c.stats);
  return end(&c, lm, stats, s);
}

rlx_status rlx_lm_reply(rlx_lm *lm, const char *chat_template, const rlx_chat_message *messages, size_t n,
                        const rlx_lm_options *options, rlx_lm_text_fn fn, void *user, rlx_lm_stats *stats) {
  generation c;
  RLX_TRY(begin(&c, lm, "rlx_lm_reply", options, stats));
  rlx_status s = lm_reply(lm, chat_template, messages, n, c.options, fn, user, &c.stats);
  return end(&c, lm, stats, s);
}

rlx_status rlx_lm_generate_ids(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *options,
                               bool (*fn)(void *user, int32_t id), void *user, rlx_lm_stats *stats) {
  generation c;
  RLX_TRY(begin(&c, lm, "rlx_lm_generate_ids", options, stats));
  rlx_status s = lm_generate_ids(lm, ids, n, c.options, fn, user, &c.stats);
  return end(&c, lm, stats, s);
}

rlx_status rlx_lm_generate_batch(rlx_lm *lm, const rlx_lm_prompt *prompts, size_t n, const rlx_lm_options *options,
                                 bool (*fn)(void *user, uint32_t sequence, int32_t id), void *user,
                                 rlx_lm_stats *stats) {
  generation c;
  RLX_TRY(begin(&c, lm, "rlx_lm_generate_batch", options, stats));
  rlx_status s = lm_generate_batch(lm, prompts, n, c.options, fn, user, &c.stats);
  return end(&c, lm, stats, s);
}

/* ---- Requests: callbacks of a step may submit and cancel ---- */

rlx_status rlx_lm_submit(rlx_lm *lm, const rlx_lm_request *request, uint64_t *number) {
  rlx_lm_request own;
  if (!lm || !request || !number)
    return RLX_FAIL(RLX_INVALID, "rlx_lm_submit: %s is NULL", !lm ? "the model" : !request ? "request" : "number");
  RLX_TRY_AT(RLX_SIZED_READ("rlx_lm_request", request, &own), "rlx_lm_submit");
  RLX_TRY(acquire_shared(lm, "rlx_lm_submit"));
  rlx_status s = lm_submit(lm, &own, number);
  release_shared(lm);
  return s;
}

rlx_status rlx_lm_cancel(rlx_lm *lm, uint64_t number) {
  RLX_TRY(acquire_shared(lm, "rlx_lm_cancel"));
  rlx_status s = lm_cancel(lm, number);
  release_shared(lm);
  return s;
}

rlx_status rlx_lm_step(rlx_lm *lm, uint32_t *left) {
  uint32_t unused;
  RLX_TRY(acquire(lm, "rlx_lm_step"));
  rlx_status s = lm_step(lm, left ? left : &unused);
  return release(lm, s);
}

rlx_status rlx_lm_embed_watched(rlx_lm *lm, const char *text, size_t bytes, const rlx_watch *watch, float *out,
                                size_t *n_cut) {
  if (n_cut) *n_cut = 0;
  RLX_TRY(acquire_watched(lm, watch ? "rlx_lm_embed_watched" : "rlx_lm_embed", watch));
  rlx_status s = lm_embed(lm, text, bytes, out, n_cut);
  return release(lm, s);
}

rlx_status rlx_lm_embed(rlx_lm *lm, const char *text, size_t bytes, float *out, size_t *n_cut) {
  return rlx_lm_embed_watched(lm, text, bytes, NULL, out, n_cut);
}

rlx_status rlx_lm_score(rlx_lm *lm, const rlx_lm_pair *pair, float *score, size_t *n_cut) {
  rlx_lm_pair own;
  if (n_cut) *n_cut = 0;
  if (!lm || !pair || !score)
    return RLX_FAIL(RLX_INVALID, "rlx_lm_score: %s is NULL", !lm ? "the model" : !pair ? "the pair" : "score");
  RLX_TRY_AT(RLX_SIZED_READ("rlx_lm_pair", pair, &own), "rlx_lm_score");
  RLX_TRY(acquire_watched(lm, "rlx_lm_score", own.watch));
  rlx_status s = lm_score(lm, &own, score, n_cut);
  return release(lm, s);
}

rlx_status rlx_lm_save(rlx_lm *lm, uint32_t sequence, const char *path) {
  RLX_TRY(acquire(lm, "rlx_lm_save"));
  rlx_status s = lm_save(lm, sequence, path);
  return release(lm, s);
}

rlx_status rlx_lm_restore(rlx_lm *lm, uint32_t sequence, const char *path) {
  RLX_TRY(acquire(lm, "rlx_lm_restore"));
  rlx_status s = lm_restore(lm, sequence, path);
  return release(lm, s);
}
