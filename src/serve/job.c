/* One answer. The thread of a connection makes the job and passes it on; the model's thread fills it; whoever holds it
 * last frees it. What is written goes to `fresh`, without the lock, and from there to `out`, which the connection
 * sends. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/philox.h"
#include "serve/serve.h"

/* ---- Making, freeing ---- */

rlx_status sv_job_create(struct rlx_server *s, sv_error_fn error, sv_job **out) {
  *out = NULL;
  sv_job *j = rlx_new(sv_job);
  if (!j) return RLX_FAIL(RLX_NO_MEMORY, "a job");
  j->server = s;
  j->error = error;
  j->begin_ns = rlx_now_ns();
  j->created = (int64_t)time(NULL);
  j->n_holders = 1;
  j->n_choices = 1;
  j->options = (rlx_lm_options){RLX_LM_OPTIONS_INIT};
  rlx_mutex_lock(&s->lock);
  uint64_t number = ++s->last_number;
  rlx_mutex_unlock(&s->lock);
  snprintf(j->id, sizeof j->id, "%08" PRIx64 "%08" PRIx64, s->begin_ns & 0xffffffff, number);
  *out = j;
  j->kept = json_array();
  if (j->kept) return RLX_OK;
  sv_job_release(j);
  *out = NULL;
  return RLX_FAIL(RLX_NO_MEMORY, "a job");
}

static void destroy(sv_job *j) {
  for (size_t i = 0; i < j->runs.n; i++) {
    sv_run *r = &j->runs.v[i];
    rlx_free(r->ids);
    rlx_str_deinit(&r->splitter.held);
    rlx_str_deinit(&r->text);
    rlx_str_deinit(&r->thought);
    rlx_str_deinit(&r->calls);
    rlx_array_deinit(&r->tokens);
    rlx_array_deinit(&r->tops);
  }
  rlx_array_deinit(&j->runs);
  rlx_array_deinit(&j->stops);
  rlx_array_deinit(&j->biases);
  rlx_array_deinit(&j->adapters);
  rlx_str_deinit(&j->form);
  rlx_str_deinit(&j->fresh);
  rlx_str_deinit(&j->out);
  json_decref(j->messages);
  json_decref(j->kept);
  rlx_mem_free(j);
}

void sv_job_release(sv_job *j) {
  rlx_mutex_lock(&j->server->lock);
  unsigned n = --j->n_holders;
  rlx_mutex_unlock(&j->server->lock);
  if (!n) destroy(j);
}

/* Pointers to runs are taken only after this. */
rlx_status sv_job_add_runs(sv_job *j, size_t n) {
  if (!rlx_array_reserve(&j->runs, n)) return RLX_FAIL(RLX_NO_MEMORY, "%zu texts", n);
  for (size_t i = 0; i < n; i++, j->runs.n++)
    j->runs.v[j->runs.n] = (sv_run){.job = j, .index = (uint32_t)j->runs.n, .open = -1, .stats = {RLX_LM_STATS_INIT}};
  return RLX_OK;
}

rlx_status sv_job_submit(sv_job *j) {
  struct rlx_server *s = j->server;
  rlx_status status = RLX_OK;
  rlx_mutex_lock(&s->lock);
  if (s->is_ending) status = RLX_FAIL(RLX_NO_MEMORY, "the server ends");
  else if (s->n_jobs >= s->desc.max_requests)
    status = RLX_FAIL(RLX_BUSY, "%u requests run or wait already: try again later", (unsigned)s->n_jobs);
  else if (!rlx_array_push(&j->model->waiting, j)) status = RLX_FAIL(RLX_NO_MEMORY, "the list of requests");
  if (!status) {
    j->n_holders++;
    s->n_jobs++;
    rlx_cond_signal(&j->model->wanted);
  }
  rlx_mutex_unlock(&s->lock);
  return status;
}

/* ---- What comes ---- */

bool sv_job_has_ended(const sv_job *j) { return j->is_done; }

/* Shows the connection what was written. */
static void publish(sv_job *j, bool is_done) {
  struct rlx_server *s = j->server;
  rlx_mutex_lock(&s->lock);
  if (!j->has_begun) j->http = j->failed ? j->failed_http : 200;
  j->has_begun = true;
  if (j->fresh.failed) j->out.failed = true;
  else rlx_str_add_bytes(&j->out, j->fresh.v, j->fresh.n);
  j->is_done |= is_done;
  sv_wake(j);
  rlx_mutex_unlock(&s->lock);
  j->fresh.n = 0;
}

static void count(const sv_job *j) {
  sv_counts *c = &j->server->counts;
  rlx_mutex_lock(&j->server->lock);
  for (size_t i = 0; i < j->runs.n; i++) {
    const rlx_lm_stats *s = &j->runs.v[i].stats;
    c->prompt_tokens += s->n_prompt_tokens;
    c->held_tokens += s->n_held;
    c->tokens += s->n_tokens;
    c->guessed += s->n_guessed;
    c->guessed_right += s->n_right;
    c->prompt_seconds += s->prompt_seconds;
    c->seconds += s->seconds;
  }
  rlx_mutex_unlock(&j->server->lock);
}

/* Ends a job whose failure is known, or whose texts are complete. */
static void finish(sv_job *j) {
  if (j->is_done) return;
  count(j);
  if (!j->failed) j->style->end(j);
  else if (j->has_begun && j->is_stream) j->style->fail(j, j->failed_http, j->failed);
  else {
    j->fresh.n = 0;
    j->error(&j->fresh, j->failed_http, j->failed);
  }
  publish(j, true);
}

static void note_failure(sv_job *j, unsigned http, const char *message) {
  if (j->failed) return;
  snprintf(j->why, sizeof j->why, "%.500s", message);
  j->failed = j->why;
  j->failed_http = http;
}

void sv_job_fail(sv_job *j, rlx_status s, const char *message) {
  note_failure(j, sv_http_of(s), message);
  finish(j);
}

/* ---- Texts ---- */

static bool all_ended(const sv_job *j) { return j->n_ended == j->runs.n; }

static void cancel_runs(sv_job *j, rlx_lm *lm) {
  for (size_t i = 0; i < j->runs.n; i++) {
    uint64_t number = j->runs.v[i].number;
    j->runs.v[i].number = 0;
    if (number) (void)!rlx_lm_cancel(lm, number); /* it may have ended in this step */
  }
}

void sv_job_cancel(sv_job *j, rlx_lm *lm) {
  char message[80];
  snprintf(message, sizeof message, "the answer took longer than %g s", j->server->desc.max_seconds);
  if (!j->is_done) note_failure(j, j->is_late ? 504 : 499, j->is_late ? message : "the client left");
  if (lm) cancel_runs(j, lm);
  finish(j);
}

static void on_part(void *user, const sv_part *part) {
  sv_run *r = user;
  sv_job *j = r->job;
  if (j->is_stream) j->style->part(j, r, part);
  else if (part->kind == SV_TEXT) rlx_str_add_bytes(&r->text, part->text, part->bytes);
  else if (part->kind == SV_THOUGHT) rlx_str_add_bytes(&r->thought, part->text, part->bytes);
  else {
    if (r->calls.n) rlx_str_add_char(&r->calls, ',');
    j->style->call(j, r, part);
  }
  if (part->kind == SV_CALL) r->n_calls++;
}

static bool keep_token(sv_run *r, const rlx_lm_event *e) {
  sv_token token = {.id = e->id, .logprob = e->logprob, .first_top = (uint32_t)r->tops.n, .n_top = e->n_top};
  for (uint32_t i = 0; i < e->n_top; i++)
    if (!rlx_array_push(&r->tops, ((sv_top){e->top_ids[i], e->top_logprobs[i]}))) return false;
  return rlx_array_push(&r->tokens, token);
}

/* What a token adds, and the end of a text. */
static void take_event(sv_job *j, sv_run *r, const rlx_lm_event *e) {
  sv_splitter *split = &r->splitter;
  bool is_end = e->id >= 0 && rlx_tokenizer_is_end(j->tokenizer, e->id);
  if (j->wants_logprobs && e->id >= 0 && !is_end && !keep_token(r, e)) j->fresh.failed = true;
  if (j->wants_parts) sv_split(split, e->text, e->bytes, on_part, r);
  else if (e->bytes) on_part(r, &(sv_part){.kind = SV_TEXT, .text = e->text, .bytes = e->bytes});
  if (!e->ended) return;
  r->stats = *e->stats;
  r->ended = e->ended;
  if (j->wants_parts) sv_split_end(split, on_part, r);
  if (j->is_stream && j->style->end_run) j->style->end_run(j, r);
}

/* One text failed, so there is no answer: the model's thread ends the others. */
static void cancel_others(sv_job *j) {
  rlx_mutex_lock(&j->server->lock);
  j->is_cancelled = true;
  rlx_mutex_unlock(&j->server->lock);
}

static void on_event(void *user, const rlx_lm_event *e) {
  sv_run *r = user;
  sv_job *j = r->job;
  if (j->is_done) return;
  if (e->ended && strcmp(e->ended, "error") == 0)
    note_failure(j, sv_http_of(e->status), e->message ? e->message : "an error");
  else take_event(j, r, e);
  if (r->text.failed || r->thought.failed || r->calls.failed || r->splitter.held.failed || j->fresh.failed)
    note_failure(j, sv_http_of(RLX_NO_MEMORY), "out of memory");
  if (e->ended) {
    r->number = 0;
    j->n_ended++;
  }
  if (all_ended(j)) finish(j);
  else if (j->failed) cancel_others(j);
  else if (j->is_stream) publish(j, false);
}

static uint64_t seed_of(const sv_job *j, size_t i) { return j->options.seed + i; }

static rlx_status submit_runs(sv_job *j, rlx_lm *lm) {
  rlx_lm_options o = j->options;
  o.stops = j->stops.v;
  o.n_stops = j->stops.n;
  o.biases = j->biases.v;
  o.n_biases = j->biases.n;
  o.adapters = j->adapters.v;
  o.n_adapters = j->adapters.n;
  for (size_t i = 0; i < j->runs.n; i++) {
    sv_run *r = &j->runs.v[i];
    o.seed = seed_of(j, i);
    rlx_lm_request request = {RLX_LM_REQUEST_INIT, .ids = r->ids, .n = r->n_ids,     .options = &o,
                              .fn = on_event,      .user = r,     .n_top = j->n_top, .logprobs = j->wants_logprobs};
    RLX_TRY(rlx_lm_submit(lm, &request, &r->number));
  }
  return RLX_OK;
}

static rlx_status run_task(sv_job *j, rlx_lm *lm) {
  RLX_TRY(j->task(j, lm));
  publish(j, true);
  return RLX_OK;
}

/* What the request leaves open is what the model's file recommends, or settings that do not loop. */
static rlx_status settle_options(rlx_lm_options *o, const rlx_lm *lm) {
  rlx_lm_sampling own = {RLX_LM_SAMPLING_INIT};
  RLX_TRY(rlx_lm_sampling_of(rlx_lm_file(lm), &own));
  if (!own.is_given) own = (rlx_lm_sampling){.temperature = 0.7, .top_p = 0.95, .repetition_penalty = 1};
  if (o->temperature < 0) o->temperature = own.temperature;
  if (o->top_p < 0) o->top_p = own.top_p;
  if (o->min_p < 0) o->min_p = own.min_p;
  if (o->top_k == UINT32_MAX) o->top_k = own.top_k;
  if (!(o->repetition_penalty < 0)) return RLX_OK;
  o->repetition_penalty = own.repetition_penalty;
  if (!o->penalty_tokens) o->penalty_tokens = own.penalty_tokens;
  return RLX_OK;
}

/* A request that does not say how many tokens are guessed gets what the server was told. */
static void settle_guesses(sv_job *j) {
  rlx_lm_options *o = &j->options;
  const rlx_server_desc *d = &j->server->desc;
  if (o->lookup != UINT32_MAX) return;
  o->lookup = d->lookup;
  o->draft = j->model->draft;
  o->n_draft = o->draft ? d->n_draft : 0;
}

rlx_status sv_job_begin(sv_job *j, rlx_lm *lm) {
  if (j->task) return run_task(j, lm);
  j->tokenizer = rlx_lm_tokenizer(lm);
  if (!j->tokenizer) return RLX_FAIL(RLX_UNSUPPORTED, "model '%s' has no tokenizer", j->model->name);
  RLX_TRY(settle_options(&j->options, lm));
  settle_guesses(j);
  RLX_TRY(sv_make_grammar(j, &j->options.grammar));
  RLX_TRY(j->encode(j, lm));
  for (size_t i = 0; i < j->runs.n; i++) j->runs.v[i].splitter.marks = j->marks;
  rlx_status s = submit_runs(j, lm);
  if (s) {
    rlx_saved_message m;
    rlx_message_save(&m);
    note_failure(j, sv_http_of(s), m.text);
    cancel_runs(j, lm);
    rlx_message_restore(&m);
    return s;
  }
  if (j->is_stream && j->style->begin) {
    j->style->begin(j);
    publish(j, false);
  }
  return RLX_OK;
}
