/* POST /v1/completions: texts in, their continuations out. A prompt is the program's own text, so the spelling of a
 * special token in it is that token, as in rlx_lm_generate. */
#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

enum { MAX_CHOICES = 64, MAX_PROMPTS = 256, MAX_TOP = 20 };

/* ---- Writing ---- */

static void begin_object(sv_job *j) {
  rlx_str *s = &j->fresh;
  rlx_str_add(s, "{\"id\":\"cmpl-%s\",\"object\":\"text_completion\",\"created\":%lld,\"model\":", j->id,
              (long long)j->created);
  rlx_str_add_quoted(s, j->model->name);
  rlx_str_add(s, ",\"choices\":[");
}

static void add_tops(rlx_str *s, const sv_job *j, const sv_run *r, const sv_token *t) {
  rlx_str_add_char(s, '{');
  for (uint32_t k = 0; k < t->n_top; k++) {
    const sv_top *top = &r->tops.v[t->first_top + k];
    if (k) rlx_str_add_char(s, ',');
    sv_add_token(s, j, top->id);
    rlx_str_add_char(s, ':');
    sv_add_logprob(s, top->logprob);
  }
  rlx_str_add_char(s, '}');
}

static void add_logprobs(rlx_str *s, const sv_job *j, sv_run *r) {
  if (!j->wants_logprobs) {
    rlx_str_add(s, "null");
    return;
  }
  rlx_str_add(s, "{\"tokens\":[");
  for (size_t i = 0; i < r->tokens.n; i++) {
    if (i) rlx_str_add_char(s, ',');
    sv_add_token(s, j, r->tokens.v[i].id);
  }
  rlx_str_add(s, "],\"token_logprobs\":[");
  for (size_t i = 0; i < r->tokens.n; i++) {
    if (i) rlx_str_add_char(s, ',');
    sv_add_logprob(s, r->tokens.v[i].logprob);
  }
  rlx_str_add(s, "],\"top_logprobs\":[");
  for (size_t i = 0; i < r->tokens.n; i++) {
    if (i) rlx_str_add_char(s, ',');
    add_tops(s, j, r, &r->tokens.v[i]);
  }
  rlx_str_add(s, "]}");
  r->tokens.n = r->tops.n = 0;
}

static void add_choice(sv_job *j, sv_run *r, const char *text, size_t bytes, const char *reason) {
  rlx_str *s = &j->fresh;
  rlx_str_add(s, "{\"index\":%u,\"text\":", (unsigned)r->index);
  sv_add_quoted(s, text, bytes);
  rlx_str_add(s, ",\"logprobs\":");
  add_logprobs(s, j, r);
  if (reason) rlx_str_add(s, ",\"finish_reason\":\"%s\"}", reason);
  else rlx_str_add(s, ",\"finish_reason\":null}");
}

static void add_chunk(sv_job *j, sv_run *r, const char *text, size_t bytes, const char *reason) {
  sv_event_begin(j, NULL);
  begin_object(j);
  add_choice(j, r, text, bytes, reason);
  rlx_str_add(&j->fresh, "]}");
  sv_event_end(j);
}

static void begin_stream(sv_job *j) {
  for (size_t i = 0; i < j->runs.n && j->echo; i++)
    add_chunk(j, &j->runs.v[i], j->runs.v[i].text.v, j->runs.v[i].text.n, NULL);
}

static void add_part(sv_job *j, sv_run *r, const sv_part *p) { add_chunk(j, r, p->text, p->bytes, NULL); }

static void end_run(sv_job *j, sv_run *r) { add_chunk(j, r, "", 0, sv_finish_reason(r)); }

static void end(sv_job *j) {
  rlx_str *s = &j->fresh;
  if (j->is_stream && j->wants_usage) sv_event_begin(j, NULL);
  if (!j->is_stream || j->wants_usage) {
    begin_object(j);
    for (size_t i = 0; i < j->runs.n && !j->is_stream; i++) {
      sv_run *r = &j->runs.v[i];
      if (i) rlx_str_add_char(s, ',');
      add_choice(j, r, r->text.v, r->text.n, sv_finish_reason(r));
    }
    rlx_str_add(s, "],\"usage\":");
    sv_add_usage(s, j);
    rlx_str_add_char(s, '}');
  }
  if (j->is_stream && j->wants_usage) sv_event_end(j);
  if (j->is_stream) rlx_str_add(s, "data: [DONE]\n\n");
}

static const sv_style style = {begin_stream, add_part, NULL, end_run, end, sv_openai_fail};

/* ---- Prompts ---- */

static rlx_status encode_text(sv_job *j, sv_run *r, const json_t *text) {
  return rlx_tokenizer_encode(j->tokenizer, json_string_value(text), json_string_length(text),
                              RLX_TOKENS_ADD_SPECIAL | RLX_TOKENS_PARSE_SPECIAL, &r->ids, &r->n_ids);
}

static rlx_status copy_ids(sv_run *r, const json_t *list) {
  size_t n = json_array_size(list);
  r->ids = rlx_mem_alloc(n * sizeof *r->ids + 1);
  if (!r->ids) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", n);
  for (size_t i = 0; i < n; i++) {
    const json_t *v = json_array_get(list, i);
    json_int_t id = json_integer_value(v);
    if (!json_is_integer(v) || id < 0 || id > INT32_MAX)
      return RLX_FAIL(RLX_INVALID, "prompt: token %zu: expected a token's number, got %s", i, sv_kind(v));
    r->ids[i] = (int32_t)id;
  }
  r->n_ids = n;
  return RLX_OK;
}

/* The text of a prompt, for `echo`. */
static rlx_status echo_prompt(sv_job *j, sv_run *r) {
  char *text;
  size_t bytes;
  RLX_TRY(rlx_tokenizer_decode(j->tokenizer, r->ids, r->n_ids, false, &text, &bytes));
  rlx_str_add_bytes(&r->text, text, bytes);
  rlx_free(text);
  return r->text.failed ? RLX_FAIL(RLX_NO_MEMORY, "the text of a prompt") : RLX_OK;
}

static rlx_status encode(sv_job *j, rlx_lm *lm) {
  const json_t *prompt = j->input;
  const bool is_list = json_is_array(prompt) && !json_is_integer(json_array_get(prompt, 0));
  const size_t n = is_list ? json_array_size(prompt) : 1;
  (void)lm;
  if (n > MAX_PROMPTS) return RLX_FAIL(RLX_INVALID, "prompt: at most %d texts, got %zu", (int)MAX_PROMPTS, n);
  RLX_TRY(sv_job_add_runs(j, n * j->n_choices));
  for (size_t i = 0; i < j->runs.n; i++) {
    sv_run *r = &j->runs.v[i];
    const json_t *one = is_list ? json_array_get(prompt, i / j->n_choices) : prompt;
    if (json_is_string(one)) RLX_TRY(encode_text(j, r, one));
    else if (json_is_array(one)) RLX_TRY(copy_ids(r, one));
    else
      return RLX_FAIL(RLX_INVALID, "prompt: element %zu: expected a text or a list of tokens, got %s", i / j->n_choices,
                      sv_kind(one));
    if (j->echo) RLX_TRY(echo_prompt(j, r));
  }
  return RLX_OK;
}

/* ---- Reading ---- */

/* A number of likeliest tokens, or true. */
static rlx_status take_logprobs(sv_fields *f, sv_job *j) {
  const json_t *v = json_object_get(f->object, "logprobs");
  uint64_t n = 0;
  if (json_is_boolean(v)) return sv_take_bool(f, "logprobs", &j->wants_logprobs);
  j->wants_logprobs = v && !json_is_null(v);
  RLX_TRY(sv_take_count(f, "logprobs", MAX_TOP, &n));
  j->n_top = (uint32_t)n;
  return RLX_OK;
}

static rlx_status read_body(sv_fields *f, sv_job *j) {
  uint64_t n = 1;
  j->style = &style;
  j->encode = encode;
  j->input = sv_take(f, "prompt");
  if (!json_is_string(j->input) && !json_is_array(j->input))
    return RLX_FAIL(RLX_INVALID, "prompt: expected a text, a list of texts, or tokens, got %s", sv_kind(j->input));
  if (json_is_array(j->input) && !json_array_size(j->input)) return RLX_FAIL(RLX_INVALID, "prompt: the list is empty");
  RLX_TRY(sv_take_format(f, j, "response_format"));
  RLX_TRY(sv_take_options(f, j));
  if (!j->options.max_tokens) j->options.max_tokens = 16; /* as the interface has it */
  RLX_TRY(sv_take_stream(f, j));
  RLX_TRY(sv_take_bool(f, "echo", &j->echo));
  RLX_TRY(take_logprobs(f, j));
  RLX_TRY(sv_take_count(f, "n", MAX_CHOICES, &n));
  if (!n) return RLX_FAIL(RLX_INVALID, "n: expected 1 to %d, got 0", (int)MAX_CHOICES);
  j->n_choices = (uint32_t)n;
  return RLX_OK;
}

rlx_status sv_completions(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  static const sv_reader reader = {sv_openai_error, read_body};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}
