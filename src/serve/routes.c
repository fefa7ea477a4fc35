/* The table of routes, and those that need little: what is served, how it goes, texts as tokens and back. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "serve/page.h"

/* ---- How it goes ---- */

static rlx_status health(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  (void)s, (void)rest, (void)body, (void)job;
  rlx_str_add(&reply->text, "{\"status\":\"ok\"}");
  return RLX_OK;
}

static void add_count(rlx_str *s, const char *name, const char *kind, const char *doc, double value) {
  rlx_str_add(s, "# HELP rlx_%s %s\n# TYPE rlx_%s %s\nrlx_%s ", name, doc, name, kind, name);
  rlx_str_add_double(s, value);
  rlx_str_add_char(s, '\n');
}

static rlx_status metrics(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  static const char total[] = "counter", now[] = "gauge";
  rlx_str *t = &reply->text;
  (void)rest, (void)body, (void)job;
  uint64_t bytes = 0;
  unsigned n_loaded = 0, n_waiting = 0, n_running = 0;
  rlx_mutex_lock(&s->lock);
  const sv_counts c = s->counts;
  for (size_t i = 0; i < s->models.n; i++) {
    const sv_model *m = s->models.v[i];
    bytes += m->bytes;
    n_loaded += m->state == SV_READY;
    n_waiting += (unsigned)m->waiting.n;
    n_running += (unsigned)m->running.n;
  }
  rlx_mutex_unlock(&s->lock);
  reply->type = "text/plain; version=0.0.4; charset=utf-8";
  add_count(t, "requests_total", total, "HTTP requests", (double)c.requests);
  add_count(t, "requests_refused_total", total, "of those, answered with 4xx", (double)c.refused);
  add_count(t, "requests_failed_total", total, "of those, answered with 5xx", (double)c.failed);
  add_count(t, "requests_cancelled_total", total, "of those, left by their client", (double)c.cancelled);
  add_count(t, "prompt_tokens_total", total, "tokens of prompts that were computed", (double)c.prompt_tokens);
  add_count(t, "prompt_tokens_held_total", total, "tokens of prompts that were held already", (double)c.held_tokens);
  add_count(t, "tokens_total", total, "tokens generated", (double)c.tokens);
  add_count(t, "guessed_tokens_total", total, "tokens that speculation guessed", (double)c.guessed);
  add_count(t, "guessed_tokens_right_total", total, "of those, the ones that came", (double)c.guessed_right);
  add_count(t, "prompt_seconds_total", total, "seconds to the first tokens of texts, summed", c.prompt_seconds);
  add_count(t, "seconds_total", total, "seconds of the tokens after them, summed", c.seconds);
  add_count(t, "requests_running", now, "requests that run", n_running);
  add_count(t, "requests_waiting", now, "requests that wait", n_waiting);
  add_count(t, "models_loaded", now, "models in memory", n_loaded);
  add_count(t, "model_bytes", now, "bytes of weights, states and scratch memory", (double)bytes);
  add_count(t, "uptime_seconds", now, "since the server began", 1e-9 * (double)(rlx_now_ns() - s->begin_ns));
  return RLX_OK;
}

/* ---- Models ---- */

static void add_model(rlx_str *t, struct rlx_server *s, const sv_model *m) {
  static const char *const states[] = {
    [SV_AWAY] = "away", [SV_LOADING] = "loading", [SV_READY] = "ready", [SV_FAILED] = "failed"};
  rlx_mutex_lock(&s->lock);
  const sv_state state = m->state;
  const rlx_lm_info info = m->info;
  rlx_mutex_unlock(&s->lock);
  rlx_str_add(t, "{\"id\":");
  rlx_str_add_quoted(t, m->name);
  rlx_str_add(t, ",\"object\":\"model\",\"type\":\"model\",\"created\":%lld,\"owned_by\":\"rlx\",\"display_name\":",
              (long long)s->begin_time);
  rlx_str_add_quoted(t, m->name);
  rlx_str_add(t, ",\"state\":\"%s\"", states[state]);
  if (info.n_layers) { /* it was loaded once */
    rlx_str_add(t, ",\"family\":");
    rlx_str_add_quoted(t, info.family);
    rlx_str_add(t, ",\"weights\":");
    rlx_str_add_quoted(t, info.weights);
    rlx_str_add(t,
                ",\"parameters\":%llu,\"context\":%u,\"model_context\":%u,\"width\":%u,\"is_encoder\":%s"
                ",\"is_ranker\":%s",
                (unsigned long long)info.n_parameters, (unsigned)info.context, (unsigned)info.model_context,
                (unsigned)info.width, info.is_encoder ? "true" : "false", info.is_ranker ? "true" : "false");
  }
  rlx_str_add_char(t, '}');
}

static rlx_status models(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  rlx_str *t = &reply->text;
  (void)rest, (void)body, (void)job;
  rlx_str_add(t, "{\"object\":\"list\",\"data\":[");
  for (size_t i = 0; i < s->models.n; i++) {
    if (i) rlx_str_add_char(t, ',');
    add_model(t, s, s->models.v[i]);
  }
  rlx_str_add(t, "],\"has_more\":false,\"first_id\":");
  rlx_str_add_quoted(t, s->models.v[0]->name);
  rlx_str_add(t, ",\"last_id\":");
  rlx_str_add_quoted(t, s->models.v[s->models.n - 1]->name);
  rlx_str_add_char(t, '}');
  return RLX_OK;
}

static rlx_status model(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  sv_model *m;
  (void)body, (void)job;
  if (!*rest) return RLX_FAIL(RLX_NOT_FOUND, "expected a model's name after the last slash");
  RLX_TRY(sv_model_find(s, rest, &m));
  add_model(&reply->text, s, m);
  return RLX_OK;
}

/* ---- Tokens ---- */

static rlx_status need_tokenizer(sv_job *j, rlx_lm *lm) {
  j->tokenizer = rlx_lm_tokenizer(lm);
  return j->tokenizer ? RLX_OK : RLX_FAIL(RLX_UNSUPPORTED, "model '%s' has no tokenizer", j->model->name);
}

static rlx_status tokenize_text(sv_job *j, rlx_lm *lm) {
  rlx_str *s = &j->fresh;
  int32_t *ids;
  size_t n;
  RLX_TRY(need_tokenizer(j, lm));
  unsigned flags = (j->flag ? RLX_TOKENS_ADD_SPECIAL : 0u) | (j->parses_special ? RLX_TOKENS_PARSE_SPECIAL : 0u);
  RLX_TRY(
    rlx_tokenizer_encode(j->tokenizer, json_string_value(j->input), json_string_length(j->input), flags, &ids, &n));
  rlx_str_add(s, "{\"tokens\":[");
  for (size_t i = 0; i < n; i++) {
    if (i) rlx_str_add_char(s, ',');
    if (!j->wants_parts) rlx_str_add(s, "%d", (int)ids[i]);
    else {
      rlx_str_add(s, "{\"id\":%d,\"piece\":", (int)ids[i]);
      sv_add_token(s, j, ids[i]);
      rlx_str_add_char(s, '}');
    }
  }
  rlx_free(ids);
  rlx_str_add(s, "],\"count\":%zu}", n);
  return s->failed ? RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", n) : RLX_OK;
}

static rlx_status read_tokenize(sv_fields *f, sv_job *j) {
  j->task = tokenize_text;
  j->parses_special = true;
  j->input = sv_take(f, "content");
  if (!json_is_string(j->input)) return RLX_FAIL(RLX_INVALID, "content: expected a text, got %s", sv_kind(j->input));
  RLX_TRY(sv_take_bool(f, "add_special", &j->flag));
  RLX_TRY(sv_take_bool(f, "parse_special", &j->parses_special));
  return sv_take_bool(f, "with_pieces", &j->wants_parts);
}

static rlx_status tokenize(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  static const sv_reader reader = {sv_openai_error, read_tokenize};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}

static rlx_status detokenize_ids(sv_job *j, rlx_lm *lm) {
  const size_t n = json_array_size(j->input);
  RLX_TRY(need_tokenizer(j, lm));
  int32_t *ids = rlx_mem_alloc(n * sizeof *ids + 1);
  char *text = NULL;
  size_t bytes = 0;
  rlx_status status = ids ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", n);
  for (size_t i = 0; i < n && !status; i++) {
    const json_t *v = json_array_get(j->input, i);
    const json_int_t id = json_integer_value(v);
    if (json_is_integer(v) && id >= 0 && id < (json_int_t)rlx_tokenizer_size(j->tokenizer)) ids[i] = (int32_t)id;
    else
      status =
        RLX_FAIL(RLX_INVALID, "tokens: %zu: expected a number below %u", i, (unsigned)rlx_tokenizer_size(j->tokenizer));
  }
  if (!status) status = rlx_tokenizer_decode(j->tokenizer, ids, n, true, &text, &bytes);
  rlx_mem_free(ids);
  if (status) return status;
  rlx_str_add(&j->fresh, "{\"content\":");
  sv_add_quoted(&j->fresh, text, bytes);
  rlx_str_add_char(&j->fresh, '}');
  rlx_free(text);
  return RLX_OK;
}

static rlx_status read_detokenize(sv_fields *f, sv_job *j) {
  j->task = detokenize_ids;
  RLX_TRY(sv_take_list(f, "tokens", &j->input));
  return j->input ? RLX_OK : RLX_FAIL(RLX_INVALID, "tokens: expected a list");
}

static rlx_status detokenize(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply,
                             sv_job **job) {
  static const sv_reader reader = {sv_openai_error, read_detokenize};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}

/* ---- The table ---- */

const sv_route sv_routes[] = {
#define SV_PAGE(path, name, type) {"GET", path, true, sv_openai_error, sv_get_##name},
#include "serve/page.def"
#undef SV_PAGE
  {"GET", "/health", true, sv_openai_error, health},
  {"GET", "/metrics", false, sv_openai_error, metrics},
  {"GET", "/v1/models", false, sv_openai_error, models},
  {"GET", "/v1/models/*", false, sv_openai_error, model},
  {"POST", "/v1/chat/completions", false, sv_openai_error, sv_chat_completions},
  {"POST", "/v1/completions", false, sv_openai_error, sv_completions},
  {"POST", "/v1/responses", false, sv_openai_error, sv_responses},
  {"POST", "/v1/messages", false, sv_anthropic_error, sv_messages},
  {"POST", "/v1/messages/count_tokens", false, sv_anthropic_error, sv_count_tokens},
  {"POST", "/v1/embeddings", false, sv_openai_error, sv_embeddings},
  {"POST", "/v1/rerank", false, sv_openai_error, sv_rerank},
  {"POST", "/rerank", false, sv_openai_error, sv_rerank},
  {"POST", "/tokenize", false, sv_openai_error, tokenize},
  {"POST", "/detokenize", false, sv_openai_error, detokenize},
  {0},
};
