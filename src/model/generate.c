/* Token generation: a decode program of one token, run repeatedly.
 *
 * The program samples a token and feeds it back to itself on the device, so nothing must be read back between two
 * tokens. On a GPU, a read-back after each token costs more than the dispatch. Tokens are therefore drawn in spans:
 * 1 token, then 2, 4, 8, as long as a span takes less than SPAN_NS. Tokens drawn past an end token, a stop text or a
 * cancel are discarded. Their KV rows are past the last token of the sequence, so attention does not read them and
 * the next tokens overwrite them.
 *
 * Settings that the program lacks are applied by the host (sampler.c), from the logits of each token. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "model/draft.h"
#include "model/engine.h"
#include "model/sampler.h"
#include "model/writer.h"

typedef bool (*id_fn)(void *user, int32_t id); /* false: stop */

int32_t lm_first_draw(uint64_t seed) {
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
  return (int32_t)((seed ^ (seed >> 31)) & 0x3fffffff);
}

/* On a GPU, selecting the top 64 takes fewer dispatches than sorting the whole vocabulary. So there are two
 * programs, one for small top_k and one for everything else. */
enum { SMALL_TOP_K = 64 };

rlx_status lm_program_for(rlx_lm *lm, const rlx_lm_options *o, uint32_t sequences, lm_program **out) {
  lm_graph_desc d = {.sequences = sequences, .tokens = 1, .result = LM_TOKEN, .is_drawn = o->temperature > 0};
  d.is_penalised = lm_has_penalty(o);
  if (d.is_drawn && lm->is_gpu && o->top_k > 0 && o->top_k <= SMALL_TOP_K) d.max_k = SMALL_TOP_K;
  RLX_TRY(lm_program_get(lm, &d, out));
#define SAMPLING(name, gguf, whole, min, max, neutral, doc) (*out)->sampling[RLX_SAMPLING_##name] = (float)o->name;
#include "ir/sampling.def"
#undef SAMPLING
  if (!(o->top_p > 0)) (*out)->sampling[RLX_SAMPLING_top_p] = RLX_NEUTRAL_top_p;
  (*out)->penalty = (float)o->repetition_penalty;
  (*out)->penalty_window = o->penalty_tokens ? (float)o->penalty_tokens : (float)UINT32_MAX;
  return RLX_OK;
}

rlx_status lm_check_settings(const rlx_lm *lm, const rlx_lm_options *o) {
#define SAMPLING(name, gguf, whole, min, max, neutral, doc) \
  RLX_TRY(rlx_sampling_check(RLX_SAMPLING_##name, #name, (double)o->name));
#include "ir/sampling.def"
#undef SAMPLING
  if (o->repetition_penalty != 0) /* 0: off */
    RLX_TRY(rlx_sampling_check(RLX_SAMPLING_repetition_penalty, "repetition_penalty", o->repetition_penalty));
  if (o->ahead > LM_MAX_SPAN)
    return RLX_FAIL(RLX_INVALID, "%u tokens ahead: at most %d", (unsigned)o->ahead, (int)LM_MAX_SPAN);
  if (o->special < RLX_LM_SPECIAL_DEFAULT || o->special > RLX_LM_SPECIAL_PARSE)
    return RLX_FAIL(RLX_INVALID, "special is %d: expected 0 to %d", (int)o->special, (int)RLX_LM_SPECIAL_PARSE);
  RLX_TRY(lm_drafts_check(lm, o));
  if (o->n_stops && !o->stops) return RLX_FAIL(RLX_INVALID, "the stop texts are NULL");
  return lm_sampler_check(o, lm_model_facts(lm->model)->n_vocab);
}

rlx_status lm_check_options(rlx_lm *lm, const rlx_lm_options *o) {
  lm_scales scales;
  RLX_TRY(lm_check_sequence(lm, "rlx_lm_generate", o->sequence));
  RLX_TRY(lm_check_settings(lm, o));
  RLX_TRY(lm_scales_of(lm, o->adapters, o->n_adapters, &scales));
  lm_scales_apply(lm, o->sequence, &scales);
  return RLX_OK;
}

/* Drops the older half of the tokens; the rest is recomputed at its new positions. A leading BOS token stays first:
 * models depend on it, and the result then equals that of a fresh prompt. */
static void drop_older_half(const rlx_lm *lm, lm_sequence *q) {
  size_t keep = q->ids.n / 2, first = 0;
  if (lm->tokenizer && keep > 1 && q->ids.v[0] == rlx_tokenizer_bos(lm->tokenizer)) first = 1;
  memmove(q->ids.v + first, q->ids.v + q->ids.n - keep + first, (keep - first) * sizeof *q->ids.v);
  q->ids.n = keep;
  q->done = 0;
}

enum { SPAN_NS = 30 * 1000 * 1000 }; /* max duration of a span */

typedef struct generation {
  rlx_lm *lm;
  const rlx_lm_options *options;
  lm_sequence *q;
  lm_program *program;
  rlx_lm_stats *stats;
  bool primed;                /* the inputs of the program already hold the next token and position */
  int32_t drawn[LM_MAX_SPAN]; /* the span; `next` .. n_drawn - 1 are not handed out yet */
  uint32_t n_drawn, next;
  uint64_t token_ns;   /* time per token in the last span */
  lm_sampler *sampler; /* NULL: the program draws */
  bool draws_on_host;  /* the sampler draws every token, and not the checked guesses alone */
  float *logits;       /* for the sampler */
  lm_drafts *drafts;   /* NULL: nothing is guessed */
} generation;

uint32_t lm_span_tokens(const rlx_lm *lm, const rlx_lm_options *o, uint32_t last, uint64_t token_ns, uint32_t room) {
  uint32_t max = o->ahead ? o->ahead : lm->ahead, n = 2 * last;
  if (lm_model_facts(lm->model)->is_recurrent) return 1;
  if (!o->ahead && token_ns && max > SPAN_NS / token_ns) max = (uint32_t)(SPAN_NS / token_ns);
  if (max > room) max = room;
  if (n > max) n = max;
  return n ? n : 1;
}

/* Upper bound on the tokens that can still be drawn. */
static uint32_t max_new_tokens(const generation *r) {
  uint32_t room = r->lm->context - (uint32_t)r->q->ids.n, left = r->options->max_tokens - r->stats->n_tokens;
  return r->options->max_tokens && left < room ? left : room;
}

static rlx_status draw_span(generation *r) {
  lm_program *p = r->program;
  const uint32_t n = lm_span_tokens(r->lm, r->options, r->n_drawn, r->token_ns, max_new_tokens(r));
  if (!r->primed) {
    p->tokens[0] = r->q->ids.v[r->q->done];
    p->position[0] = (int32_t)r->q->done;
    p->draw = lm_first_draw(r->options->seed);
    RLX_TRY(lm_write_seen(r->lm, p, 0, r->q));
    RLX_TRY(lm_program_write(r->lm, p));
  }
  r->primed = false;
  r->n_drawn = r->next = 0;
  rlx_named_tensor token = {"token", {.data = r->drawn, .bytes = n * sizeof *r->drawn}};
  uint64_t begin = rlx_now_ns();
  RLX_TRY(rlx_executable_repeat(p->executable, n, &token, 1)); /* outputs token and next feed the inputs */
  r->token_ns = (rlx_now_ns() - begin) / n;
  r->primed = true;
  r->n_drawn = n;
  return RLX_OK;
}

/* One token, chosen by the host from the logits of the last one. */
static rlx_status draw_on_host(generation *r, int32_t *id) {
  lm_sequence *q = r->q;
  uint32_t n_vocab = lm_model_facts(r->lm->model)->n_vocab;
  lm_program *p;
  RLX_TRY(lm_run_tokens(r->lm, q, 1, 1, LM_LAST, &p));
  rlx_tensor row = {.dtype = RLX_F32, .data = r->logits, .bytes = n_vocab * sizeof *r->logits};
  RLX_TRY(rlx_executable_read(p->executable, "logits", &row));
  RLX_TRY(lm_check_logits(r->lm, r->options->sequence, q->done - 1, r->logits, 1));
  uint64_t number = (uint64_t)lm_first_draw(r->options->seed) + q->done - 1;
  RLX_TRY(lm_sampler_draw(r->sampler, r->logits, q->ids.v, q->ids.n, number, id));
  return *id >= 0 ? RLX_OK
                  : RLX_FAIL(RLX_INVALID, "the settings forbid every token after token %u", (unsigned)q->done - 1);
}

/* Guesses that turn out right are a span of their own. */
static rlx_status draw_guessed(generation *r) {
  uint32_t n;
  RLX_TRY(lm_drafts_draw(r->drafts, r->q, max_new_tokens(r), r->sampler, r->drawn, &n));
  if (!n) return RLX_OK;
  r->primed = false;
  r->next = 0;
  r->n_drawn = n;
  return RLX_OK;
}

/* Fills the span. */
static rlx_status draw_more(generation *r) {
  if (r->drafts) RLX_TRY(draw_guessed(r));
  if (r->next < r->n_drawn) return RLX_OK;
  uint64_t begin = rlx_now_ns();
  if (r->draws_on_host) {
    RLX_TRY(draw_on_host(r, &r->drawn[0]));
    r->q->done--; /* counted when it is handed out */
    r->next = 0;
    r->n_drawn = 1;
  } else {
    RLX_TRY(draw_span(r));
  }
  if (r->drafts) lm_drafts_note_single(r->drafts, (rlx_now_ns() - begin) / r->n_drawn);
  return RLX_OK;
}

static rlx_status draw_next(generation *r, int32_t *id) {
  if (r->next == r->n_drawn) RLX_TRY(draw_more(r));
  *id = r->drawn[r->next++];
  if (*id < 0) return lm_fail_not_finite(r->lm, r->options->sequence, r->q->done);
  r->q->done++;
  return RLX_OK;
}

static rlx_status make_room(generation *r, uint32_t left) {
  if (r->q->ids.n < r->lm->context) return RLX_OK;
  if (r->options->shift && r->lm->context > 1) {
    drop_older_half(r->lm, r->q);
    r->primed = false;
    return lm_catch_up(r->lm, r->options->sequence, 1, NULL, NULL);
  }
  r->stats->ended = "context";
  if (!r->options->max_tokens) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "the context of %u tokens is full, %u of the requested tokens are missing",
                  (unsigned)r->lm->context, (unsigned)left);
}

static rlx_status draw_tokens(generation *r, id_fn fn, void *user) {
  const rlx_lm_options *o = r->options;
  const rlx_tokenizer *t = r->lm->tokenizer;
  rlx_lm_stats *st = r->stats;
  uint64_t begin = rlx_now_ns();
  if (lm_sampler_is_over(r->sampler)) st->ended = "end"; /* a grammar of the empty text */
  while (!st->ended) {
    int32_t id;
    RLX_TRY(make_room(r, o->max_tokens - st->n_tokens));
    if (st->ended) break;
    RLX_TRY(draw_next(r, &id));
    if (st->n_tokens++ == 0) {
      st->prompt_seconds += 1e-9 * (double)(rlx_now_ns() - begin);
      begin = rlx_now_ns();
    }
    RLX_TRY(lm_push(r->lm, o->sequence, &id, 1));
    if (!o->ignore_end && t && rlx_tokenizer_is_end(t, id)) st->ended = "end";
    else if (!fn(user, id)) st->ended = "stop";
    else if (r->next == r->n_drawn && lm_sampler_is_over(r->sampler)) st->ended = "end"; /* after the whole span */
    else if (o->max_tokens && st->n_tokens == o->max_tokens) st->ended = "length";
    else if (o->cancel && o->cancel(user)) st->ended = "cancelled";
    st->seconds = 1e-9 * (double)(rlx_now_ns() - begin);
  }
  return RLX_OK;
}

/* What is drawn from the checked guesses is what the program would have drawn: with a temperature or a penalty, the
 * host's chain draws the same tokens. */
static rlx_status make_drafts(generation *r) {
  const rlx_lm_options *o = r->options;
  if (!lm_drafts_wanted(o)) return RLX_OK;
  RLX_TRY(lm_drafts_create(r->lm, o, r->stats, &r->drafts));
  if (r->sampler || (!(o->temperature > 0) && !lm_has_penalty(o))) return RLX_OK;
  return lm_sampler_create(o, r->lm->tokenizer, lm_model_facts(r->lm->model)->n_vocab, &r->sampler);
}

static rlx_status make_sampler(generation *r) {
  uint32_t n_vocab = lm_model_facts(r->lm->model)->n_vocab;
  r->draws_on_host = lm_sampler_needed(r->options);
  if (!r->draws_on_host) return lm_program_for(r->lm, r->options, 1, &r->program);
  r->logits = rlx_mem_calloc(n_vocab, sizeof *r->logits);
  if (!r->logits) return RLX_FAIL(RLX_NO_MEMORY, "a row of logits");
  return lm_sampler_create(r->options, r->lm->tokenizer, n_vocab, &r->sampler);
}

static rlx_status continue_with(generation *r, const int32_t *ids, size_t n, id_fn fn, void *user) {
  rlx_lm *lm = r->lm;
  const rlx_lm_options *o = r->options;
  rlx_lm_stats *stats = r->stats;
  while (o->shift && n <= lm->context && r->q->ids.n > lm->context - n) drop_older_half(lm, r->q);
  RLX_TRY(lm_push(lm, o->sequence, ids, n));
  if (!r->q->ids.n)
    return RLX_FAIL(RLX_INVALID, "nothing to continue: the prompt is empty and the model has no token to begin with");
  /* The last token is computed (again) even if the states hold it, because its logits are sampled. */
  lm_rewind(lm, o->sequence, (uint32_t)r->q->ids.n - 1);
  stats->n_prompt_tokens = (uint32_t)r->q->ids.n - r->q->done;
  RLX_TRY(make_sampler(r));
  RLX_TRY(make_drafts(r));
  uint64_t begin = rlx_now_ns();
  rlx_status s = lm_catch_up(lm, o->sequence, 1, o->cancel, user);
  stats->prompt_seconds = 1e-9 * (double)(rlx_now_ns() - begin);
  if (s == RLX_CANCELLED && !rlx_budget_is_stopped()) {
    stats->ended = "cancelled";
    return RLX_OK;
  }
  return s ? s : draw_tokens(r, fn, user);
}

static rlx_status generate(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *o, id_fn fn, void *user,
                           rlx_lm_stats *stats) {
  generation r = {.lm = lm, .options = o, .q = &lm->sequences[o->sequence], .stats = stats};
  rlx_status s = continue_with(&r, ids, n, fn, user);
  lm_drafts_destroy(r.drafts);
  lm_sampler_destroy(r.sampler);
  rlx_mem_free(r.logits);
  return s;
}

rlx_status lm_generate_ids(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *options,
                           bool (*fn)(void *user, int32_t id), void *user, rlx_lm_stats *stats) {
  if (!options || !fn || (n && !ids))
    return RLX_FAIL(RLX_INVALID, "rlx_lm_generate_ids: %s is NULL", !options ? "options" : !fn ? "fn" : "ids");
  RLX_TRY(lm_check_options(lm, options));
  return generate(lm, ids, n, options, fn, user, stats);
}

/* ---- Text output ---- */

typedef struct printing {
  const rlx_lm_options *options;
  lm_writer writer;
  void *user;
} printing;

static bool write_id(void *user, int32_t id) {
  printing *p = user;
  return lm_writer_push(&p->writer, id);
}

static bool call_cancel(void *user) {
  const printing *p = user;
  return p->options->cancel(p->user);
}

rlx_status lm_generate_text(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *options, rlx_lm_text_fn fn,
                            void *user, rlx_lm_stats *stats) {
  printing p = {.options = options, .user = user};
  rlx_lm_options o = *options;
  if (o.cancel) o.cancel = call_cancel;
  RLX_TRY(lm_writer_init(&p.writer, lm->tokenizer, options, fn, user));
  rlx_status s = generate(lm, ids, n, &o, write_id, &p, stats);
  rlx_status rest = lm_writer_finish(&p.writer); /* even after a failure: text drawn so far is shown */
  lm_writer_deinit(&p.writer);
  return s ? s : rest;
}

rlx_status lm_check_text_call(rlx_lm *lm, const char *what, const rlx_lm_options *options, bool has_fn) {
  if (!options || !has_fn) return RLX_FAIL(RLX_INVALID, "%s: %s is NULL", what, !options ? "options" : "fn");
  RLX_TRY(lm_check_options(lm, options));
  if (!lm->tokenizer)
    return RLX_FAIL(RLX_UNSUPPORTED, "the model has no supported tokenizer: it takes tokens, not text");
  return RLX_OK;
}

rlx_status lm_generate(rlx_lm *lm, const char *prompt, size_t bytes, const rlx_lm_options *options, rlx_lm_text_fn fn,
                       void *user, rlx_lm_stats *stats) {
  RLX_TRY(lm_check_text_call(lm, "rlx_lm_generate", options, fn != NULL));
  if (bytes && !prompt) return RLX_FAIL(RLX_INVALID, "rlx_lm_generate: the prompt is NULL");
  bool begins = lm->sequences[options->sequence].ids.n == 0;
  int32_t *ids;
  size_t n;
  unsigned flags = options->special == RLX_LM_SPECIAL_TEXT ? 0u : RLX_TOKENS_PARSE_SPECIAL;
  if (begins) flags |= RLX_TOKENS_ADD_SPECIAL;
  RLX_TRY(rlx_tokenizer_encode(lm->tokenizer, prompt, bytes, flags, &ids, &n));
  rlx_status s = lm_generate_text(lm, ids, n, options, fn, user, stats);
  rlx_free(ids);
  return s;
}
