/* Guessing and checking the next tokens.
 *
 * Guesses come from the sequence itself (what followed where its last tokens occurred before: code, lists, quotations,
 * edits of a text) or from a smaller model. They are checked 3, 7, 15 or 31 at a time. How many are worth guessing is
 * learned as it goes: more after all were right, fewer after a wrong one. And guessing pauses, longer each time, while
 * checks take longer than the tokens they gave would have taken alone. */
#include "model/draft.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"

enum { MIN_DRAFT = 3, MIN_MATCH = 2, MAX_MATCH = 16, MAX_LOOK = 1 << 15, MAX_PAUSE = 128 };

struct lm_drafts {
  rlx_lm *lm, *draft; /* draft: NULL: guesses come from the sequence */
  uint32_t sequence;  /* of the draft model */
  const rlx_lm_options *options;
  rlx_lm_stats *stats;
  uint32_t max, size;     /* guesses at once: at most, and next time */
  uint32_t pause, paused; /* draws without a guess: still to come; the last number of them */
  uint64_t single_ns;     /* of a token computed alone, smoothed */
  float *logits;          /* for the sampler: of all guesses */
  int32_t guess[LM_MAX_DRAFT];
  uint32_t n_guess, n_wanted;
};

bool lm_drafts_wanted(const rlx_lm_options *o) { return o->lookup || o->draft; }

static rlx_status check_vocabulary(const rlx_lm *lm, const rlx_lm *draft) {
  const uint32_t n = lm_model_facts(lm->model)->n_vocab, other = lm_model_facts(draft->model)->n_vocab;
  if (n != other)
    return RLX_FAIL(RLX_INVALID, "the draft model has a vocabulary of %u tokens, the model one of %u", (unsigned)other,
                    (unsigned)n);
  for (uint32_t i = 0; i < n && lm->tokenizer && draft->tokenizer; i++) {
    const char *a = rlx_tokenizer_spelling(lm->tokenizer, (int32_t)i),
               *b = rlx_tokenizer_spelling(draft->tokenizer, (int32_t)i);
    if (!a || !b || strcmp(a, b) == 0) continue;
    return RLX_FAIL(RLX_INVALID,
                    "token %u of the draft model is '%.60s', of the model '%.60s': expected one vocabulary",
                    (unsigned)i, b, a);
  }
  return RLX_OK;
}

rlx_status lm_drafts_check(const rlx_lm *lm, const rlx_lm_options *o) {
  if (!lm_drafts_wanted(o)) {
    return o->n_draft ? RLX_FAIL(RLX_INVALID, "n_draft is %u without a draft model", (unsigned)o->n_draft) : RLX_OK;
  }
  if (lm_model_facts(lm->model)->is_recurrent)
    return RLX_FAIL(RLX_UNSUPPORTED, "speculation: a %s model cannot take back a token",
                    lm_model_facts(lm->model)->family);
  if (o->lookup > LM_MAX_DRAFT || o->n_draft > LM_MAX_DRAFT)
    return RLX_FAIL(RLX_INVALID, "speculation: at most %d tokens at once, got %u", (int)LM_MAX_DRAFT,
                    (unsigned)(o->lookup > LM_MAX_DRAFT ? o->lookup : o->n_draft));
  if (o->lookup && o->draft) return RLX_FAIL(RLX_INVALID, "speculation: lookup and a draft model exclude each other");
  if (!o->draft) return RLX_OK;
  if (o->draft == lm) return RLX_FAIL(RLX_INVALID, "speculation: the draft model is the model itself");
  RLX_TRY_AT(lm_check_kind(o->draft, "rlx_lm_generate"), "the draft model");
  return check_vocabulary(lm, o->draft);
}

rlx_status lm_drafts_create(rlx_lm *lm, const rlx_lm_options *o, rlx_lm_stats *stats, lm_drafts **out) {
  lm_drafts *d = *out = rlx_new(lm_drafts);
  if (!d) return RLX_FAIL(RLX_NO_MEMORY, "speculation");
  d->lm = lm;
  d->draft = o->draft;
  d->options = o;
  d->stats = stats;
  d->max = o->draft ? (o->n_draft ? o->n_draft : MIN_DRAFT) : o->lookup;
  d->size = d->max < MIN_DRAFT ? d->max : MIN_DRAFT;
  return RLX_OK;
}

void lm_drafts_destroy(lm_drafts *d) {
  if (!d) return;
  rlx_mem_free(d->logits);
  rlx_mem_free(d);
}

void lm_drafts_use(lm_drafts *d, uint32_t sequence) { d->sequence = sequence; }
rlx_lm *lm_drafts_model(const lm_drafts *d) { return d->draft; }

void lm_drafts_note_single(lm_drafts *d, uint64_t ns) {
  d->single_ns = d->single_ns ? (3 * d->single_ns + ns) / 4 : ns;
}

/* ---- Guessing ---- */

/* How many tokens before ids[a] and ids[b] are equal, them included. */
static size_t match_length(const int32_t *ids, size_t a, size_t b) {
  size_t n = 0;
  while (n < MAX_MATCH && n <= a && ids[a - n] == ids[b - n]) n++;
  return n;
}

/* What followed the latest of the longest matches of the last tokens. */
static uint32_t look_up(const int32_t *ids, size_t n_ids, uint32_t max, int32_t *guess) {
  const size_t last = n_ids - 1, stop = last > MAX_LOOK ? last - MAX_LOOK : 0;
  size_t best = 0, at = 0;
  for (size_t i = last; i-- > stop && best < MAX_MATCH;) {
    if (ids[i] != ids[last]) continue;
    size_t n = match_length(ids, i, last);
    if (n > best) best = n, at = i;
  }
  if (best < MIN_MATCH) return 0;
  /* A text that repeats itself goes on beyond its end. */
  for (uint32_t i = 0; i < max; i++) {
    const size_t from = at + 1 + i;
    guess[i] = from <= last ? ids[from] : guess[from - last - 1];
  }
  return max;
}

static bool keep_guess(void *user, int32_t id) {
  lm_drafts *d = user;
  d->guess[d->n_guess++] = id;
  return d->n_guess < d->n_wanted;
}

/* The draft model goes on from what it has in common with the text. */
static rlx_status ask_draft(lm_drafts *d, const int32_t *ids, size_t n, uint32_t max) {
  size_t n_held, common = 0;
  const int32_t *held = rlx_lm_tokens(d->draft, d->sequence, &n_held);
  d->n_guess = 0;
  d->n_wanted = max;
  if (n + max > d->draft->context) return RLX_OK;
  while (held && common < n_held && common + 1 < n && held[common] == ids[common]) common++;
  RLX_TRY(rlx_lm_truncate(d->draft, d->sequence, (uint32_t)common));
  rlx_lm_options greedy = {RLX_LM_OPTIONS_INIT, .sequence = d->sequence, .max_tokens = max, .ignore_end = true};
  return rlx_lm_generate_ids(d->draft, ids + common, n - common, &greedy, keep_guess, d, NULL);
}

/* ---- Checking ---- */

static uint32_t program_size(uint32_t tokens) {
  uint32_t size = MIN_DRAFT + 1;
  while (size < tokens) size *= 2;
  return size;
}

/* The likeliest token after each of the n. */
static rlx_status read_likeliest(lm_program *p, int32_t *tokens, uint32_t size) {
  rlx_tensor t = {.dtype = RLX_I32, .data = tokens, .bytes = size * sizeof *tokens};
  return rlx_executable_read(p->executable, "token", &t);
}

/* Draws the token after each of the n, as long as the guesses are what is drawn. */
static rlx_status draw_each(lm_drafts *d, lm_sequence *q, lm_program *p, uint32_t n, lm_sampler *sampler,
                            int32_t *drawn, uint32_t *n_drawn) {
  const size_t n_vocab = lm_model_facts(d->lm->model)->n_vocab;
  rlx_arena *a;
  if (!d->logits) d->logits = rlx_mem_alloc(n_vocab * sizeof *d->logits);
  if (!d->logits) return RLX_FAIL(RLX_NO_MEMORY, "a row of logits");
  RLX_TRY(rlx_executable_arena(p->executable, &a));
  const rlx_node logits = rlx_graph_output_at(rlx_executable_graph(p->executable), p->logits, NULL);
  const size_t row = n_vocab * sizeof *d->logits;
  for (uint32_t i = 0; i < n; i++) {
    RLX_TRY(rlx_arena_read_raw(a, logits, i * row, d->logits, row));
    RLX_TRY(lm_check_logits(d->lm, d->options->sequence, q->done + i, d->logits, 1));
    uint64_t number = (uint64_t)lm_first_draw(d->options->seed) + q->done + i;
    RLX_TRY(lm_sampler_draw(sampler, d->logits, q->ids.v, q->done + i + 1, number, &drawn[i]));
    *n_drawn = i + 1;
    if (drawn[i] < 0)
      return RLX_FAIL(RLX_INVALID, "the settings forbid every token after token %u", (unsigned)(q->done + i));
    const bool is_end = d->lm->tokenizer && !d->options->ignore_end && rlx_tokenizer_is_end(d->lm->tokenizer, drawn[i]);
    if (is_end || lm_sampler_is_over(sampler) || (i + 1 < n && drawn[i] != d->guess[i])) break;
  }
  return RLX_OK;
}

/* The sequence has the guesses at its end. */
static rlx_status check_guesses(lm_drafts *d, lm_sequence *q, uint32_t n, lm_sampler *sampler, int32_t *drawn,
                                uint32_t *n_drawn) {
  const uint32_t size = program_size(n);
  lm_program *p;
  RLX_TRY(lm_write_tokens(d->lm, q, size, n, sampler ? LM_LOGITS : LM_LIKELIEST, &p));
  RLX_TRY(rlx_executable_run(p->executable));
  if (sampler) return draw_each(d, q, p, n, sampler, drawn, n_drawn);
  int32_t likeliest[LM_MAX_DRAFT + 1];
  RLX_TRY(read_likeliest(p, likeliest, size));
  for (uint32_t i = 0; i < n; i++) {
    drawn[i] = likeliest[i]; /* -1: not finite, which the caller reports when it comes to it */
    *n_drawn = i + 1;
    if (drawn[i] < 0 || (i + 1 < n && drawn[i] != d->guess[i])) break;
  }
  return RLX_OK;
}

/* ---- How many, and when ---- */

rlx_status lm_drafts_guess(lm_drafts *d, const int32_t *ids, size_t n, uint32_t room, const int32_t **guess,
                           uint32_t *n_guess) {
  const uint32_t max = d->size < room ? d->size : room;
  *guess = d->guess;
  *n_guess = d->n_guess = 0;
  if (d->pause) {
    d->pause--;
    return RLX_OK;
  }
  if (!max) return RLX_OK;
  if (d->draft) RLX_TRY_AT(ask_draft(d, ids, n, max), "the draft model");
  else d->n_guess = look_up(ids, n, max, d->guess);
  *n_guess = d->n_guess;
  return RLX_OK;
}

void lm_drafts_learn(lm_drafts *d, uint32_t n_guess, uint32_t n_right, bool has_paid) {
  d->stats->n_guessed += n_guess;
  d->stats->n_right += n_right;
  if (n_right == n_guess) d->size = 2 * d->size + 1;
  else if (n_right < d->size / 2) d->size /= 2;
  if (d->size > d->max) d->size = d->max;
  if (d->size < MIN_DRAFT) d->size = d->max < MIN_DRAFT ? d->max : MIN_DRAFT;
  if (has_paid) {
    d->paused /= 2;
    return;
  }
  d->paused = d->paused ? 2 * d->paused : 4;
  if (d->paused > MAX_PAUSE) d->paused = MAX_PAUSE;
  d->pause = d->paused;
}

rlx_status lm_drafts_draw(lm_drafts *d, lm_sequence *q, uint32_t room, lm_sampler *sampler, int32_t *drawn,
                          uint32_t *n) {
  *n = 0;
  const uint32_t max = d->size < room - 1 ? d->size : room - 1;
  const int32_t *guess;
  uint32_t n_guess;
  if (!d->pause && program_size(max + 1) > d->lm->context - q->done) return RLX_OK;
  const uint64_t begin = rlx_now_ns();
  RLX_TRY(lm_drafts_guess(d, q->ids.v, q->ids.n, max, &guess, &n_guess));
  if (!n_guess) return RLX_OK;
  const size_t before = q->ids.n;
  RLX_TRY(lm_push(d->lm, d->options->sequence, guess, n_guess));
  rlx_status s = check_guesses(d, q, n_guess + 1, sampler, drawn, n);
  q->ids.n = before;
  if (s) return s;
  const uint64_t ns = rlx_now_ns() - begin;
  lm_drafts_learn(d, n_guess, *n - 1, !d->single_ns || ns <= *n * d->single_ns);
  return RLX_OK;
}
