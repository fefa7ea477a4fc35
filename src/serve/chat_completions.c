/* POST /v1/chat/completions: messages in, one or several answers out, whole or as a stream of chunks. */
#include <string.h>

#include "serve/serve.h"

enum { MAX_CHOICES = 64, MAX_TOP = 20 };

/* ---- Writing ---- */

static void begin_object(sv_job *j, const char *kind) {
  rlx_str *s = &j->fresh;
  rlx_str_add(s, "{\"id\":\"chatcmpl-%s\",\"object\":\"%s\",\"created\":%lld,\"model\":", j->id, kind,
              (long long)j->created);
  rlx_str_add_quoted(s, j->model->name);
  rlx_str_add(s, ",\"choices\":[");
}

static void add_token_entry(rlx_str *s, const sv_job *j, int32_t id, float logprob) {
  rlx_str_add(s, "{\"token\":");
  sv_add_token(s, j, id);
  rlx_str_add(s, ",\"logprob\":");
  sv_add_logprob(s, logprob);
  rlx_str_add(s, ",\"bytes\":");
  sv_add_token_bytes(s, j, id);
}

/* The tokens that were not reported yet. */
static void add_logprobs(rlx_str *s, const sv_job *j, sv_run *r) {
  if (!j->wants_logprobs) return;
  rlx_str_add(s, ",\"logprobs\":{\"content\":[");
  for (size_t i = 0; i < r->tokens.n; i++) {
    const sv_token *t = &r->tokens.v[i];
    if (i) rlx_str_add_char(s, ',');
    add_token_entry(s, j, t->id, t->logprob);
    rlx_str_add(s, ",\"top_logprobs\":[");
    for (uint32_t k = 0; k < t->n_top; k++) {
      const sv_top *top = &r->tops.v[t->first_top + k];
      if (k) rlx_str_add_char(s, ',');
      add_token_entry(s, j, top->id, top->logprob);
      rlx_str_add_char(s, '}');
    }
    rlx_str_add(s, "]}");
  }
  rlx_str_add(s, "],\"refusal\":null}");
  r->tokens.n = r->tops.n = 0;
}

static void add_call(rlx_str *s, const sv_job *j, const sv_run *r, const sv_part *p, bool has_index) {
  rlx_str_add_char(s, '{');
  if (has_index) rlx_str_add(s, "\"index\":%u,", (unsigned)p->number);
  rlx_str_add(s, "\"id\":\"call_%s_%u_%u\",\"type\":\"function\",\"function\":{\"name\":", j->id, (unsigned)r->index,
              (unsigned)p->number);
  rlx_str_add_quoted(s, p->name);
  rlx_str_add(s, ",\"arguments\":");
  sv_add_quoted(s, p->text, p->bytes);
  rlx_str_add(s, "}}");
}

/* ---- A stream ---- */

static void begin_delta(sv_job *j, const sv_run *r) {
  sv_event_begin(j, NULL);
  begin_object(j, "chat.completion.chunk");
  rlx_str_add(&j->fresh, "{\"index\":%u,\"delta\":{", (unsigned)r->index);
}

static void end_delta(sv_job *j, sv_run *r, const char *reason) {
  rlx_str *s = &j->fresh;
  rlx_str_add_char(s, '}');
  add_logprobs(s, j, r);
  if (reason) rlx_str_add(s, ",\"finish_reason\":\"%s\"}]", reason);
  else rlx_str_add(s, ",\"finish_reason\":null}]");
  if (j->wants_usage) rlx_str_add(s, ",\"usage\":null");
  rlx_str_add_char(s, '}');
  sv_event_end(j);
}

static void begin_stream(sv_job *j) {
  for (size_t i = 0; i < j->runs.n; i++) {
    begin_delta(j, &j->runs.v[i]);
    rlx_str_add(&j->fresh, "\"role\":\"assistant\",\"content\":\"\"");
    end_delta(j, &j->runs.v[i], NULL);
  }
}

static void add_part(sv_job *j, sv_run *r, const sv_part *p) {
  begin_delta(j, r);
  if (p->kind == SV_CALL) {
    rlx_str_add(&j->fresh, "\"tool_calls\":[");
    add_call(&j->fresh, j, r, p, true);
    rlx_str_add_char(&j->fresh, ']');
  } else {
    rlx_str_add(&j->fresh, "\"%s\":", p->kind == SV_TEXT ? "content" : "reasoning_content");
    sv_add_quoted(&j->fresh, p->text, p->bytes);
  }
  end_delta(j, r, NULL);
}

static void end_run(sv_job *j, sv_run *r) {
  begin_delta(j, r);
  end_delta(j, r, sv_finish_reason(r));
}

static void end_stream(sv_job *j) {
  if (j->wants_usage) {
    sv_event_begin(j, NULL);
    begin_object(j, "chat.completion.chunk");
    rlx_str_add(&j->fresh, "],\"usage\":");
    sv_add_usage(&j->fresh, j);
    rlx_str_add_char(&j->fresh, '}');
    sv_event_end(j);
  }
  rlx_str_add(&j->fresh, "data: [DONE]\n\n");
}

/* ---- A whole answer ---- */

static void keep_call(sv_job *j, sv_run *r, const sv_part *p) { add_call(&r->calls, j, r, p, false); }

static void add_choice(sv_job *j, sv_run *r) {
  rlx_str *s = &j->fresh;
  rlx_str_add(s, "{\"index\":%u,\"message\":{\"role\":\"assistant\",\"content\":", (unsigned)r->index);
  if (r->n_calls && !r->text.n) rlx_str_add(s, "null");
  else sv_add_quoted(s, r->text.v, r->text.n);
  if (r->thought.n) {
    rlx_str_add(s, ",\"reasoning_content\":");
    sv_add_quoted(s, r->thought.v, r->thought.n);
  }
  if (r->calls.n) rlx_str_add(s, ",\"tool_calls\":[%s]", r->calls.v);
  rlx_str_add(s, ",\"refusal\":null}");
  add_logprobs(s, j, r);
  if (!j->wants_logprobs) rlx_str_add(s, ",\"logprobs\":null");
  rlx_str_add(s, ",\"finish_reason\":\"%s\"}", sv_finish_reason(r));
}

static void end(sv_job *j) {
  if (j->is_stream) {
    end_stream(j);
    return;
  }
  begin_object(j, "chat.completion");
  for (size_t i = 0; i < j->runs.n; i++) {
    if (i) rlx_str_add_char(&j->fresh, ',');
    add_choice(j, &j->runs.v[i]);
  }
  rlx_str_add(&j->fresh, "],\"usage\":");
  sv_add_usage(&j->fresh, j);
  rlx_str_add_char(&j->fresh, '}');
}

static const sv_style style = {begin_stream, add_part, keep_call, end_run, end, sv_openai_fail};

/* ---- Reading ---- */

static rlx_status read_body(sv_fields *f, sv_job *j) {
  uint64_t n = 1, n_top = 0;
  j->style = &style;
  j->encode = sv_encode_chat;
  j->wants_parts = true;
  RLX_TRY(sv_take_chat(f, j));
  RLX_TRY(sv_take_tool_choice(f, j));
  RLX_TRY(sv_take_format(f, j, "response_format"));
  RLX_TRY(sv_take_options(f, j));
  RLX_TRY(sv_take_stream(f, j));
  RLX_TRY(sv_take_count(f, "n", MAX_CHOICES, &n));
  RLX_TRY(sv_take_bool(f, "logprobs", &j->wants_logprobs));
  RLX_TRY(sv_take_count(f, "top_logprobs", MAX_TOP, &n_top));
  if (!n) return RLX_FAIL(RLX_INVALID, "n: expected 1 to %d, got 0", (int)MAX_CHOICES);
  if (n_top && !j->wants_logprobs) return RLX_FAIL(RLX_INVALID, "top_logprobs: expected logprobs to be true");
  j->n_choices = (uint32_t)n;
  j->n_top = (uint32_t)n_top;
  return RLX_OK;
}

rlx_status sv_chat_completions(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply,
                               sv_job **job) {
  static const sv_reader reader = {sv_openai_error, read_body};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}
