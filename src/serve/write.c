/* JSON that several answers have. */
#include <string.h>

#include "serve/serve.h"

void sv_add_quoted(rlx_str *s, const char *text, size_t n) {
  size_t at = 0;
  if (!n || !memchr(text, '\0', n)) {
    rlx_str_add_quoted(s, n ? text : "");
    return;
  }
  /* A NUL ends what rlx_str_add_quoted takes, so the pieces between NULs are quoted and joined. */
  rlx_str_add_char(s, '"');
  while (at < n) {
    size_t end = at + strlen(text + at), from = s->n;
    rlx_str_add_quoted(s, text + at);
    if (s->failed) return;
    memmove(s->v + from, s->v + from + 1, s->n - from - 2);
    s->v[s->n -= 2] = '\0';
    if (end < n) rlx_str_add(s, "\\u0000");
    at = end + 1;
  }
  rlx_str_add_char(s, '"');
}

static int add_bytes(const char *bytes, size_t n, void *str) {
  rlx_str_add_bytes(str, bytes, n);
  return ((rlx_str *)str)->failed ? -1 : 0;
}

void sv_add_json(rlx_str *s, const json_t *v) {
  if (json_dump_callback(v, add_bytes, s, JSON_COMPACT | JSON_ENCODE_ANY)) s->failed = true;
}

void sv_add_token(rlx_str *s, const sv_job *j, int32_t id) {
  char *text;
  size_t bytes;
  if (rlx_tokenizer_decode(j->tokenizer, &id, 1, true, &text, &bytes)) {
    s->failed = true;
    return;
  }
  sv_add_quoted(s, text, bytes);
  rlx_free(text);
}

void sv_add_token_bytes(rlx_str *s, const sv_job *j, int32_t id) {
  char *text;
  size_t bytes;
  if (rlx_tokenizer_decode(j->tokenizer, &id, 1, true, &text, &bytes)) {
    s->failed = true;
    return;
  }
  rlx_str_add_char(s, '[');
  for (size_t i = 0; i < bytes; i++) rlx_str_add(s, "%s%u", i ? "," : "", (unsigned)(unsigned char)text[i]);
  rlx_str_add_char(s, ']');
  rlx_free(text);
}

/* JSON has no infinity: the interface writes -9999 for what cannot be. */
void sv_add_logprob(rlx_str *s, float x) { rlx_str_add_float(s, x > -9999 ? x : -9999); }

/* ---- Errors ---- */

static const char *openai_type(unsigned http) {
  switch (http) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    default: return http < 500 ? "invalid_request_error" : "server_error";
  }
}

void sv_openai_error(rlx_str *out, unsigned http, const char *message) {
  rlx_str_add(out, "{\"error\":{\"message\":");
  rlx_str_add_quoted(out, message);
  rlx_str_add(out, ",\"type\":\"%s\",\"param\":null,\"code\":%s}}", openai_type(http),
              http == 401 ? "\"invalid_api_key\"" : "null");
}

void sv_anthropic_error(rlx_str *out, unsigned http, const char *message) {
  const char *type = http == 401   ? "authentication_error"
                     : http == 403 ? "permission_error"
                     : http == 404 ? "not_found_error"
                     : http == 413 ? "request_too_large"
                     : http == 429 ? "rate_limit_error"
                     : http == 503 ? "overloaded_error"
                     : http < 500  ? "invalid_request_error"
                                   : "api_error";
  rlx_str_add(out, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":", type);
  rlx_str_add_quoted(out, message);
  rlx_str_add(out, "}}");
}

void sv_openai_fail(sv_job *j, unsigned http, const char *message) {
  sv_event_begin(j, NULL);
  sv_openai_error(&j->fresh, http, message);
  sv_event_end(j);
}

/* ---- Ends ---- */

const char *sv_finish_reason(const sv_run *r) {
  if (r->n_calls) return "tool_calls";
  bool is_long = r->ended && (strcmp(r->ended, "length") == 0 || strcmp(r->ended, "context") == 0);
  return is_long ? "length" : "stop";
}

sv_usage sv_usage_of(const sv_job *j) {
  sv_usage u = {0};
  for (size_t i = 0; i < j->runs.n; i++) {
    const rlx_lm_stats *s = &j->runs.v[i].stats;
    u.held += s->n_held;
    u.input += (uint64_t)s->n_prompt_tokens + s->n_held;
    u.output += s->n_tokens;
    u.guessed += s->n_guessed;
    u.guessed_right += s->n_right;
  }
  return u;
}

void sv_add_usage(rlx_str *s, const sv_job *j) {
  sv_usage u = sv_usage_of(j);
  const uint64_t total = u.input + u.output;
  rlx_str_add(s,
              "{\"prompt_tokens\":%llu,\"completion_tokens\":%llu,\"total_tokens\":%llu,"
              "\"prompt_tokens_details\":{\"cached_tokens\":%llu}",
              (unsigned long long)u.input, (unsigned long long)u.output, (unsigned long long)total,
              (unsigned long long)u.held);
  if (u.guessed)
    rlx_str_add(s,
                ",\"completion_tokens_details\":{\"accepted_prediction_tokens\":%llu,"
                "\"rejected_prediction_tokens\":%llu}",
                (unsigned long long)u.guessed_right, (unsigned long long)(u.guessed - u.guessed_right));
  rlx_str_add_char(s, '}');
}

/* ---- Events ---- */

void sv_event_begin(sv_job *j, const char *event) {
  if (event) rlx_str_add(&j->fresh, "event: %s\n", event);
  rlx_str_add(&j->fresh, "data: ");
  j->n_events++;
}

void sv_event_end(sv_job *j) { rlx_str_add(&j->fresh, "\n\n"); }
