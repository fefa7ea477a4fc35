/* Requests: the queue, and what their callers are told.
 *
 * Each step joins waiting requests, computes (steps.c), draws the next token of every request whose tokens are all
 * computed, and reports it. A request keeps its prompt and what was drawn, so losing its pages costs time and nothing
 * else. */
#include "model/requests.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/sized.h"

/* ---- Making and freeing ---- */

static void request_destroy(struct lm_requests *q, lm_request *r) {
  if (!r) return;
  lm_request_release_pages(q, r);
  for (size_t i = 0; i < r->texts.n; i++) rlx_mem_free(r->texts.v[i]);
  rlx_array_deinit(&r->texts);
  rlx_array_deinit(&r->ids);
  rlx_array_deinit(&r->pages);
  lm_sampler_destroy(r->sampler);
  lm_drafts_destroy(r->drafts);
  lm_writer_deinit(&r->writer);
  rlx_str_deinit(&r->text);
  rlx_mem_free(r);
}

void lm_requests_destroy(struct lm_requests *q) {
  if (!q) return;
  for (size_t i = 0; i < q->waiting.n; i++) request_destroy(q, q->waiting.v[i]);
  for (size_t i = 0; i < q->running.n; i++) request_destroy(q, q->running.v[i]);
  rlx_array_deinit(&q->waiting);
  rlx_array_deinit(&q->running);
  lm_pages_destroy(q->pages);
  rlx_mem_free(q->logits);
  rlx_mem_free(q);
}

/* Pages of 64 tokens, or as many as divide the context: a table of pages reaches over all of it. */
static uint32_t page_size(const rlx_lm *lm) {
  uint32_t size = 64;
  while (lm->context % size) size /= 2;
  return size;
}

static rlx_status make_queue(rlx_lm *lm) {
  const lm_facts *f = lm_model_facts(lm->model);
  uint32_t page = page_size(lm);
  uint64_t n = (uint64_t)lm->n_sequences * lm->context / page;
  if (n * page > INT32_MAX)
    return RLX_FAIL(RLX_UNSUPPORTED, "requests: %u sequences of %u tokens are more than 2^31 in all",
                    (unsigned)lm->n_sequences, (unsigned)lm->context);
  struct lm_requests *q = lm->requests = rlx_new(struct lm_requests);
  if (!q) return RLX_FAIL(RLX_NO_MEMORY, "the queue of requests");
  q->logits = rlx_mem_calloc(2 * (size_t)f->n_vocab, sizeof *q->logits);
  rlx_status s = q->logits ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a row of logits");
  if (!s) s = lm_pages_create((uint32_t)n, page, &q->pages);
  if (!s) return RLX_OK;
  rlx_mem_free(q->logits);
  rlx_mem_free(q);
  lm->requests = NULL;
  return s;
}

static rlx_status copy_stops(lm_request *r, const rlx_lm_options *o) {
  for (size_t i = 0; i < o->n_stops; i++) {
    if (!o->stops[i]) return RLX_FAIL(RLX_INVALID, "stop text %zu is NULL", i);
    size_t n = strlen(o->stops[i]) + 1;
    char *copy = rlx_mem_alloc(n);
    if (!copy || !rlx_array_push(&r->texts, copy)) {
      rlx_mem_free(copy);
      return RLX_FAIL(RLX_NO_MEMORY, "a stop text");
    }
    memcpy(copy, o->stops[i], n);
  }
  r->options.stops = (const char *const *)r->texts.v;
  return RLX_OK;
}

static void collect_text(void *user, const char *text, size_t bytes) {
  lm_request *r = user;
  rlx_str_add_bytes(&r->text, text, bytes);
}

static rlx_status fill(rlx_lm *lm, lm_request *r, const rlx_lm_request *from, const rlx_lm_options *o) {
  r->options = *o;
  r->fn = from->fn;
  r->user = from->user;
  r->n_top = from->n_top;
  r->wants_logprobs = from->logprobs || from->n_top;
  r->n_prompt = (uint32_t)from->n;
  r->stats = (rlx_lm_stats){RLX_LM_STATS_INIT};
  if (!rlx_array_reserve(&r->ids, from->n)) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", from->n);
  memcpy(r->ids.v, from->ids, from->n * sizeof *from->ids);
  r->ids.n = from->n;
  RLX_TRY(copy_stops(r, o));
  if (o->temperature > 0 || lm_has_penalty(o) || lm_sampler_needed(o))
    RLX_TRY(lm_sampler_create(o, lm->tokenizer, lm_model_facts(lm->model)->n_vocab, &r->sampler));
  r->options.biases = NULL;
  r->options.banned = r->options.dry_breakers = NULL;
  r->options.grammar = NULL; /* the sampler holds it */
  RLX_TRY(lm_scales_of(lm, o->adapters, o->n_adapters, &r->scales));
  r->options.adapters = NULL;
  r->options.n_adapters = 0;
  r->draft_sequence = LM_NO_SEQUENCE;
  if (lm_drafts_wanted(o)) RLX_TRY(lm_drafts_create(lm, &r->options, &r->stats, &r->drafts));
  return lm->tokenizer ? lm_writer_init(&r->writer, lm->tokenizer, &r->options, collect_text, r) : RLX_OK;
}

static rlx_status check_request(rlx_lm *lm, const rlx_lm_request *d, const rlx_lm_options *o) {
  static const char call[] = "rlx_lm_submit";
  const rlx_limits *l = &o->limits;
  const lm_facts *f = lm_model_facts(lm->model);
  RLX_TRY(lm_check_kind(lm, call));
  if (f->is_recurrent)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s: a %s model has a state for each sequence, which cannot be shared by pages",
                    call, f->family);
  if (!d->ids || !d->n || !d->fn)
    return RLX_FAIL(RLX_INVALID, "%s: %s", call, !d->fn ? "fn is NULL" : "the prompt has no tokens");
  for (size_t i = 0; i < d->n; i++)
    if (d->ids[i] < 0 || (uint32_t)d->ids[i] >= f->n_vocab)
      return RLX_FAIL(RLX_INVALID, "%s: token %zu is %d, but the vocabulary has %u", call, i, (int)d->ids[i],
                      (unsigned)f->n_vocab);
  if (d->n >= lm->context)
    return RLX_FAIL(RLX_INVALID, "%s: a prompt of %zu tokens: the context holds %u, an answer included", call, d->n,
                    (unsigned)lm->context);
  if (d->n_top > LM_MAX_TOP)
    return RLX_FAIL(RLX_INVALID, "%s: %u likeliest tokens: at most %d", call, (unsigned)d->n_top, (int)LM_MAX_TOP);
  if (o->sequence || o->shift || o->ahead || o->cancel || l->host_bytes || l->device_bytes || l->work ||
      l->seconds != 0)
    return RLX_FAIL(RLX_INVALID, "%s: a request has no sequence, shift, ahead, cancel or limits", call);
  return lm_check_settings(lm, o);
}

rlx_status lm_submit(rlx_lm *lm, const rlx_lm_request *request, uint64_t *number) {
  rlx_lm_options o;
  *number = 0;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_lm_options", request->options, &o), "rlx_lm_submit");
  RLX_TRY(check_request(lm, request, &o));
  if (!lm->requests) RLX_TRY(make_queue(lm));
  struct lm_requests *q = lm->requests;
  if (!rlx_array_reserve(&q->waiting, 1)) return RLX_FAIL(RLX_NO_MEMORY, "%zu requests", q->waiting.n + 1);
  lm_request *r = rlx_new(lm_request);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "a request");
  rlx_status s = fill(lm, r, request, &o);
  if (s) {
    request_destroy(q, r);
    return s;
  }
  if (!lm_requests_left(lm)) lm_drop_sequences(lm);
  r->begin_ns = rlx_now_ns();
  *number = r->number = ++q->last_number;
  q->waiting.v[q->waiting.n++] = r;
  return RLX_OK;
}

uint32_t lm_requests_left(const rlx_lm *lm) {
  return lm->requests ? (uint32_t)(lm->requests->waiting.n + lm->requests->running.n) : 0;
}

void lm_requests_forget(rlx_lm *lm) {
  if (lm->requests) lm_pages_forget(lm->requests->pages);
}

/* ---- Events ---- */

/* Reports what the request has: its text, and its end if `ended`. */
static void report(rlx_lm *lm, lm_request *r, rlx_lm_event *e, const char *ended) {
  uint64_t now = rlx_now_ns();
  r->has_ended = ended != NULL;
  r->stats.ended = ended;
  if (r->first_ns) r->stats.seconds = 1e-9 * (double)(now - r->first_ns);
  if (ended) lm_request_release_pages(lm->requests, r);
  e->struct_bytes = sizeof *e;
  e->request = r->number;
  e->text = r->text.v ? r->text.v : "";
  e->bytes = r->text.n;
  e->ended = ended;
  e->stats = ended ? &r->stats : NULL;
  r->fn(r->user, e);
  r->text.n = 0;
  if (r->text.v) r->text.v[0] = '\0';
}

void lm_request_fail(rlx_lm *lm, lm_request *r, rlx_status s, const char *message) {
  report(lm, r, &(rlx_lm_event){.id = -1, .status = s, .message = message}, "error");
}

static void sweep(struct lm_requests *q) {
  size_t n = 0;
  for (size_t i = 0; i < q->running.n; i++) {
    if (q->running.v[i]->has_ended) request_destroy(q, q->running.v[i]);
    else q->running.v[n++] = q->running.v[i];
  }
  q->running.n = n;
  n = 0;
  for (size_t i = 0; i < q->waiting.n; i++) {
    if (q->waiting.v[i]->has_ended) request_destroy(q, q->waiting.v[i]);
    else q->waiting.v[n++] = q->waiting.v[i];
  }
  q->waiting.n = n;
}

static lm_request *find_request(const struct lm_requests *q, uint64_t number) {
  for (size_t i = 0; i < q->running.n; i++)
    if (q->running.v[i]->number == number) return q->running.v[i];
  for (size_t i = 0; i < q->waiting.n; i++)
    if (q->waiting.v[i]->number == number) return q->waiting.v[i];
  return NULL;
}

rlx_status lm_cancel(rlx_lm *lm, uint64_t number) {
  struct lm_requests *q = lm->requests;
  lm_request *r = q ? find_request(q, number) : NULL;
  if (!r || r->has_ended) return RLX_FAIL(RLX_NOT_FOUND, "request %llu runs no more", (unsigned long long)number);
  report(lm, r, &(rlx_lm_event){.id = -1}, "cancelled");
  if (!q->in_step) sweep(q);
  return RLX_OK;
}

/* ---- Drawing ---- */

static const char *end_after(const rlx_lm *lm, const lm_request *r, int32_t id, bool goes_on) {
  if (!r->options.ignore_end && lm->tokenizer && rlx_tokenizer_is_end(lm->tokenizer, id)) return "end";
  if (!goes_on) return "stop";
  if (lm_sampler_is_over(r->sampler)) return "end";
  if (r->options.max_tokens && r->stats.n_tokens == r->options.max_tokens) return "length";
  return r->ids.n == lm->context ? "context" : NULL;
}

/* Adds a token to a request and reports it. */
static rlx_status accept(rlx_lm *lm, lm_request *r, int32_t id, rlx_lm_event *e) {
  bool is_end = !r->options.ignore_end && lm->tokenizer && rlx_tokenizer_is_end(lm->tokenizer, id), goes_on = true;
  if (!rlx_array_push(&r->ids, id)) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", r->ids.n + 1);
  if (r->stats.n_tokens++ == 0) {
    r->first_ns = rlx_now_ns();
    r->stats.prompt_seconds = 1e-9 * (double)(r->first_ns - r->begin_ns);
  }
  if (r->writer.decoder && !is_end) goes_on = lm_writer_push(&r->writer, id);
  const char *ended = end_after(lm, r, id, goes_on);
  if (r->writer.decoder && ended) RLX_TRY(lm_writer_finish(&r->writer));
  if (r->text.failed) return RLX_FAIL(RLX_NO_MEMORY, "the text of a token");
  e->id = id;
  report(lm, r, e, ended);
  return RLX_OK;
}

/* Ends a request without a token: its grammar matches only the empty text. */
static rlx_status end_empty(rlx_lm *lm, lm_request *r) {
  if (r->writer.decoder) RLX_TRY(lm_writer_finish(&r->writer));
  report(lm, r, &(rlx_lm_event){.id = -1}, "end");
  return RLX_OK;
}

/* The next token of a request, from row `at` of the results. */
static rlx_status draw(rlx_lm *lm, lm_program *p, lm_request *r, uint32_t at, const int32_t *likeliest,
                       rlx_arena *arena) {
  if (!r->stats.n_tokens && lm_sampler_is_over(r->sampler)) return end_empty(lm, r);
  struct lm_requests *q = lm->requests;
  size_t n_vocab = lm_model_facts(lm->model)->n_vocab, row = n_vocab * sizeof *q->logits;
  int32_t id = likeliest[at], top_ids[LM_MAX_TOP];
  float top_logprobs[LM_MAX_TOP];
  rlx_lm_event e = {.top_ids = top_ids, .top_logprobs = top_logprobs, .n_top = r->n_top};
  if (id >= 0 && (r->sampler || r->wants_logprobs)) {
    const rlx_node logits = rlx_graph_output_at(rlx_executable_graph(p->executable), p->logits, NULL);
    float *raw = q->logits, *changed = q->logits + n_vocab;
    RLX_TRY(rlx_arena_read_raw(arena, logits, at * row, raw, row));
    memcpy(changed, raw, row);
    uint64_t number = (uint64_t)lm_first_draw(r->options.seed) + r->ids.n - 1;
    if (r->sampler) RLX_TRY(lm_sampler_draw(r->sampler, changed, r->ids.v, r->ids.n, number, &id));
    if (id >= 0 && r->wants_logprobs) {
      if (e.n_top > n_vocab) e.n_top = (uint32_t)n_vocab;
      lm_logprobs(raw, n_vocab, id, &e.logprob, top_ids, top_logprobs, e.n_top);
    }
  }
  if (id < 0)
    return RLX_FAIL(RLX_INVALID, "request %llu: the logits after token %zu are not finite, or forbid every token",
                    (unsigned long long)r->number, r->ids.n - 1);
  return accept(lm, r, id, &e);
}

/* As many tokens as its guesses were right, and one. */
static rlx_status draw_guessed(rlx_lm *lm, lm_program *p, lm_request *r, const int32_t *likeliest, rlx_arena *arena) {
  for (r->n_right = 0;; r->n_right++) {
    RLX_TRY(draw(lm, p, r, r->row + r->n_right, likeliest, arena));
    if (r->has_ended || r->n_right == r->n_guess || r->ids.v[r->ids.n - 1] != r->guess[r->n_right]) return RLX_OK;
    lm_request_advance(lm->requests, r, 1); /* the token is computed already */
  }
}

static rlx_status draw_all(rlx_lm *lm, lm_program *p) {
  struct lm_requests *q = lm->requests;
  int32_t likeliest[LM_MAX_ROWS];
  const size_t rows = p->desc.result == LM_LOGITS ? p->desc.tokens : (size_t)p->desc.singles + p->desc.groups;
  if (p->desc.result != LM_LAST && p->desc.result != LM_LOGITS) return RLX_OK;
  rlx_arena *arena;
  uint32_t n_drawn = 0;
  RLX_TRY(rlx_executable_arena(p->executable, &arena));
  rlx_tensor token = {.dtype = RLX_I32, .data = likeliest, .bytes = rows * sizeof *likeliest};
  RLX_TRY(rlx_executable_read(p->executable, "token", &token));
  for (size_t i = 0; i < q->running.n; i++) {
    lm_request *r = q->running.v[i];
    if (r->has_ended || !r->step_tokens || r->row == UINT32_MAX) continue;
    rlx_status s = draw_guessed(lm, p, r, likeliest, arena);
    n_drawn += r->n_right + 1;
    if (s) lm_request_fail(lm, r, s, rlx_message());
  }
  if (!p->desc.groups || p->desc.result == LM_LOGITS) lm_requests_learn(lm, n_drawn);
  return RLX_OK;
}

/* ---- A step ---- */

static rlx_status step(rlx_lm *lm) {
  lm_program *p;
  RLX_TRY(lm_requests_admit(lm));
  RLX_TRY(lm_requests_compute(lm, &p));
  return p ? draw_all(lm, p) : RLX_OK;
}

static void end_all(rlx_lm *lm, rlx_status s) {
  struct lm_requests *q = lm->requests;
  const size_t n_waiting = q->waiting.n; /* not those that a callback submits now */
  rlx_saved_message m;
  rlx_message_save(&m);
  for (size_t i = 0; i < q->running.n; i++)
    if (!q->running.v[i]->has_ended) lm_request_fail(lm, q->running.v[i], s, m.text);
  for (size_t i = 0; i < n_waiting; i++)
    if (!q->waiting.v[i]->has_ended) lm_request_fail(lm, q->waiting.v[i], s, m.text);
  rlx_message_restore(&m);
}

rlx_status lm_step(rlx_lm *lm, uint32_t *left) {
  *left = lm_requests_left(lm);
  if (!*left) return RLX_OK;
  struct lm_requests *q = lm->requests;
  q->in_step = true;
  rlx_status s = step(lm);
  if (s) end_all(lm, s);
  q->in_step = false;
  sweep(q);
  *left = lm_requests_left(lm);
  return s;
}
