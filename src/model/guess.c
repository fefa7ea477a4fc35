/* Speculation of requests: which steps check guesses, and whether that pays.
 *
 * A step that computes prompts checks none. Otherwise a request with guesses gets a run of its own in the step, its
 * last token and the guesses after it, and every token of the step has a row of the result. All runs of a step have
 * the same size, 4 to 32 tokens, so that a few programs serve all mixtures.
 *
 * The step's time is everybody's. So guesses pay if a step gives more tokens in a second than one without guesses for
 * as many requests; and a request whose first guess was wrong has gained nothing from it. */
#include "model/requests.h"

#include "base/log.h"

enum { MIN_SLOTS = 4, LOGITS_BYTES = 32 << 20 };

/* Rows of a result: as many as their logits and the tokens of a step may be. */
static uint32_t max_rows(const rlx_lm *lm) {
  const size_t row = lm_model_facts(lm->model)->n_vocab * sizeof(float);
  const size_t n = LOGITS_BYTES / row;
  return n > LM_MAX_ROWS ? LM_MAX_ROWS : (uint32_t)n;
}

/* Each request has a sequence of the draft model to itself; there may be too few. */
static bool has_draft_sequence(const struct lm_requests *q, lm_request *r) {
  const rlx_lm *draft = lm_drafts_model(r->drafts);
  bool is_used[LM_MAX_SEQUENCES] = {false};
  if (!draft || r->draft_sequence != LM_NO_SEQUENCE) return true;
  for (size_t i = 0; i < q->running.n; i++) {
    const lm_request *other = q->running.v[i];
    const bool shares = other->drafts && lm_drafts_model(other->drafts) == draft;
    if (shares && other->draft_sequence != LM_NO_SEQUENCE) is_used[other->draft_sequence] = true;
  }
  for (uint32_t k = 0; k < draft->n_sequences && k < LM_MAX_SEQUENCES; k++) {
    if (is_used[k]) continue;
    r->draft_sequence = k;
    lm_drafts_use(r->drafts, k);
    return true;
  }
  return false;
}

/* Tokens that may come after the next one. Nobody's pages are taken for guesses. */
static uint32_t room_of(const rlx_lm *lm, const lm_request *r) {
  const uint32_t left = lm->context - (uint32_t)r->ids.n, page = lm_pages_size(lm->requests->pages);
  const uint32_t wanted = r->options.max_tokens ? r->options.max_tokens - r->stats.n_tokens : left;
  const uint32_t held = (uint32_t)r->pages.n * page, n = (uint32_t)r->ids.n;
  uint32_t room = (wanted < left ? wanted : left) - 1, free = lm_pages_available(lm->requests->pages);
  if (free <= lm->requests->running.n && held >= n && room > held - n) room = held - n;
  return room < LM_MAX_DRAFT ? room : LM_MAX_DRAFT;
}

static bool is_quiet(const struct lm_requests *q) { return q->quiet_ns && q->n_quiet == q->running.n; }

static uint32_t slots_for(const struct lm_requests *q) {
  uint32_t most = 0, slots = MIN_SLOTS;
  for (size_t i = 0; i < q->running.n; i++)
    if (q->running.v[i]->n_guess > most) most = q->running.v[i]->n_guess;
  while (most && slots < most + 1) slots *= 2;
  return most ? slots : 0;
}

/* Shorter guesses, and then fewer, until all rows fit. */
static uint32_t make_fit(struct lm_requests *q, uint32_t slots, uint32_t rows) {
  for (;;) {
    uint32_t n = 0;
    lm_request *last = NULL;
    for (size_t i = 0; i < q->running.n; i++) {
      lm_request *r = q->running.v[i];
      if (slots && r->n_guess > slots - 1) r->n_guess = slots - 1;
      if (r->n_guess) n++, last = r;
    }
    /* the numbers of runs are rounded up by a half at most */
    if (!n || (3 * n * slots + 3 * (uint32_t)(q->running.n - n)) / 2 + slots <= rows) return n ? slots : 0;
    if (slots > MIN_SLOTS) slots /= 2;
    else last->n_guess = 0;
  }
}

rlx_status lm_requests_guess(rlx_lm *lm, uint32_t *slots) {
  struct lm_requests *q = lm->requests;
  *slots = 0;
  for (size_t i = 0; i < q->running.n; i++)
    if (lm_request_waiting(q->running.v[i]) != 1) return RLX_OK;
  if (!is_quiet(q)) return RLX_OK; /* the next step says what one without guesses takes */
  for (size_t i = 0; i < q->running.n; i++) {
    lm_request *r = q->running.v[i];
    if (!r->drafts || r->has_ended || !has_draft_sequence(q, r)) continue;
    rlx_status s = lm_drafts_guess(r->drafts, r->ids.v, r->ids.n, room_of(lm, r), &r->guess, &r->n_guess);
    if (s) lm_request_fail(lm, r, s, rlx_message());
    if (s) r->n_guess = 0;
  }
  *slots = make_fit(q, slots_for(q), max_rows(lm));
  return RLX_OK;
}

void lm_requests_learn(rlx_lm *lm, uint32_t n) {
  struct lm_requests *q = lm->requests;
  const uint32_t n_requests = (uint32_t)q->running.n;
  bool has_guesses = false;
  for (size_t i = 0; i < q->running.n; i++) has_guesses |= q->running.v[i]->n_guess > 0;
  if (!has_guesses) {
    q->quiet_ns = is_quiet(q) ? (3 * q->quiet_ns + q->step_ns) / 4 : q->step_ns;
    q->n_quiet = n_requests;
    return;
  }
  const bool has_paid = q->step_ns * n_requests <= q->quiet_ns * n;
  for (size_t i = 0; i < q->running.n; i++) {
    lm_request *r = q->running.v[i];
    if (r->n_guess) lm_drafts_learn(r->drafts, r->n_guess, r->n_right, has_paid && r->n_right);
  }
}
