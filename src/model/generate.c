/* Token generation: a decode program of one token, run repeatedly.
 *
 * The program samples a token and feeds it back to itself on the device, so nothing must be read back between two
 * tokens. On a GPU, a read-back after each token costs more than the dispatch. Tokens are therefore drawn in spans:
 * 1 token, then 2, 4, 8, as long as a span takes less than SPAN_NS. Tokens drawn past an end token, a stop text or a
 * cancel are discarded. Their KV rows are past the last token of the sequence, so attention does not read them and
 * the next tokens overwrite them.
 *
 * Text is passed on in whole characters. Text that may be the beginning of a stop text is held back until that is
 * decided. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/engine.h"

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

rlx_status lm_check_options(const rlx_lm *lm, const rlx_lm_options *o) {
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
  if (o->n_stops && !o->stops) return RLX_FAIL(RLX_INVALID, "the stop texts are NULL");
  return lm_check_sequence(lm, "rlx_lm_generate", o->sequence);
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
  uint64_t token_ns; /* time per token in the last span */
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

static rlx_status draw_next(generation *r, int32_t *id) {
  if (r->next == r->n_drawn) RLX_TRY(draw_span(r));
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
    else if (o->max_tokens && st->n_tokens == o->max_tokens) st->ended = "length";
    else if (o->cancel && o->cancel(user)) st->ended = "cancelled";
    st->seconds = 1e-9 * (double)(rlx_now_ns() - begin);
  }
  return RLX_OK;
}

static rlx_status generate(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *o, id_fn fn, void *user,
                           rlx_lm_stats *stats) {
  generation r = {.lm = lm, .options = o, .q = &lm->sequences[o->sequence], .stats = stats};
  while (o->shift && n <= lm->context && r.q->ids.n > lm->context - n) drop_older_half(lm, r.q);
  RLX_TRY(lm_push(lm, o->sequence, ids, n));
  if (!r.q->ids.n)
    return RLX_FAIL(RLX_INVALID, "nothing to continue: the prompt is empty and the model has no token to begin with");
  /* The last token is computed (again) even if the states hold it, because its logits are sampled. */
  lm_rewind(lm, o->sequence, (uint32_t)r.q->ids.n - 1);
  stats->n_prompt_tokens = (uint32_t)r.q->ids.n - r.q->done;
  RLX_TRY(lm_program_for(lm, o, 1, &r.program));
  uint64_t begin = rlx_now_ns();
  rlx_status s = lm_catch_up(lm, o->sequence, 1, o->cancel, user);
  stats->prompt_seconds = 1e-9 * (double)(rlx_now_ns() - begin);
  if (s == RLX_CANCELLED && !rlx_budget_is_stopped()) {
    stats->ended = "cancelled";
    return RLX_OK;
  }
  return s ? s : draw_tokens(&r, fn, user);
}

rlx_status lm_generate_ids(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *options,
                           bool (*fn)(void *user, int32_t id), void *user, rlx_lm_stats *stats) {
  if (!options || !fn || (n && !ids))
    return RLX_FAIL(RLX_INVALID, "rlx_lm_generate_ids: %s is NULL", !options ? "options" : !fn ? "fn" : "ids");
  RLX_TRY(lm_check_options(lm, options));
  return generate(lm, ids, n, options, fn, user, stats);
}

/* ---- Text output ---- */

typedef struct writer {
  const rlx_lm_options *options;
  rlx_decoder *decoder;
  rlx_lm_text_fn fn;
  void *user;
  rlx_str waiting; /* may be the beginning of a stop text */
  bool stopped;
  rlx_status status;
} writer;

/* Offset of the first stop text in the held text (SIZE_MAX: none); *may_become: bytes at its end that may begin one. */
static size_t find_stop(const writer *w, size_t *may_become) {
  size_t first = SIZE_MAX;
  *may_become = 0;
  for (size_t i = 0; i < w->options->n_stops; i++) {
    const char *stop = w->options->stops[i], *at = w->waiting.v && *stop ? strstr(w->waiting.v, stop) : NULL;
    if (at && (size_t)(at - w->waiting.v) < first) first = (size_t)(at - w->waiting.v);
    size_t n = strlen(stop);
    for (size_t k = n ? n - 1 : 0; k > *may_become; k--)
      if (k <= w->waiting.n && memcmp(w->waiting.v + w->waiting.n - k, stop, k) == 0) *may_become = k;
  }
  return first;
}

static bool write_text(writer *w, const char *text, size_t bytes, bool last) {
  rlx_str_add_bytes(&w->waiting, text, bytes);
  if (w->waiting.failed) w->status = RLX_FAIL(RLX_NO_MEMORY, "the text of a token");
  if (w->status || !w->waiting.n) return !w->status;
  size_t keep, stop = find_stop(w, &keep), n = w->waiting.n - (last ? 0 : keep);
  if (stop != SIZE_MAX) {
    n = stop;
    w->stopped = true;
  }
  if (n) w->fn(w->user, w->waiting.v, n);
  memmove(w->waiting.v, w->waiting.v + n, w->waiting.n - n + 1);
  w->waiting.n -= n;
  return !w->stopped;
}

static bool write_id(void *user, int32_t id) {
  writer *w = user;
  const char *text;
  size_t bytes;
  w->status = rlx_decoder_push(w->decoder, id, &text, &bytes);
  return !w->status && write_text(w, text, bytes, false);
}

static bool call_cancel(void *user) {
  const writer *w = user;
  return w->options->cancel(w->user);
}

static rlx_status generate_through(rlx_lm *lm, const int32_t *ids, size_t n, writer *w, rlx_lm_stats *stats) {
  rlx_lm_options o = *w->options;
  if (o.cancel) o.cancel = call_cancel;
  const char *text;
  size_t bytes;
  RLX_TRY(rlx_decoder_create(lm->tokenizer, false, &w->decoder));
  rlx_status s = generate(lm, ids, n, &o, write_id, w, stats);
  if (w->status || w->stopped) return w->status ? w->status : s;
  rlx_status rest = rlx_decoder_flush(w->decoder, &text, &bytes); /* even after a failure: text drawn so far is shown */
  if (!rest) write_text(w, text, bytes, true);
  return s ? s : rest ? rest : w->status;
}

rlx_status lm_generate_text(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *options, rlx_lm_text_fn fn,
                            void *user, rlx_lm_stats *stats) {
  writer w = {.options = options, .fn = fn, .user = user};
  rlx_status s = generate_through(lm, ids, n, &w, stats);
  rlx_decoder_destroy(w.decoder);
  rlx_str_deinit(&w.waiting);
  return s;
}

rlx_status lm_check_text_call(const rlx_lm *lm, const char *what, const rlx_lm_options *options, bool has_fn) {
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
