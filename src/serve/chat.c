/* Messages as a prompt: those of a request are checked and kept, and the model's thread makes tokens of them. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

/* ---- Reading ---- */

rlx_status sv_add_message_object(sv_job *j, json_t *message) {
  if (message && !j->messages) j->messages = json_array();
  if (message && j->messages && json_array_append_new(j->messages, message) == 0) return RLX_OK;
  if (message && !j->messages) json_decref(message);
  return RLX_FAIL(RLX_NO_MEMORY, "a message");
}

rlx_status sv_add_text_message(sv_job *j, const char *role, const rlx_str *text) {
  if (text->failed) return RLX_FAIL(RLX_NO_MEMORY, "a message");
  return sv_add_message_object(j, json_pack("{s:s, s:s%}", "role", role, "content", text->n ? text->v : "", text->n));
}

static rlx_status replace_nuls(json_t *message) {
  const json_t *content = json_object_get(message, "content");
  const char *v = json_string_value(content);
  const size_t n = json_string_length(content);
  rlx_str text = {0};
  if (!n || !memchr(v, '\0', n)) return RLX_OK;
  for (size_t i = 0; i < n; i++) {
    if (v[i]) rlx_str_add_char(&text, v[i]);
    else rlx_str_add(&text, "\xef\xbf\xbd");
  }
  bool is_set = !text.failed && json_object_set_new(message, "content", json_stringn(text.v, text.n)) == 0;
  rlx_str_deinit(&text);
  return is_set ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a message");
}

rlx_status sv_replace_nuls(sv_job *j) {
  for (size_t i = 0; i < json_array_size(j->messages); i++) RLX_TRY(replace_nuls(json_array_get(j->messages, i)));
  return RLX_OK;
}

static bool is_text_part(const char *kind, const char *type) {
  return kind && (strcmp(kind, "text") == 0 || strcmp(kind, type) == 0);
}

rlx_status sv_content_text(const json_t *content, const char *type, const char *where, rlx_str *out) {
  if (!content || json_is_null(content)) return RLX_OK;
  if (json_is_string(content)) {
    rlx_str_add_bytes(out, json_string_value(content), json_string_length(content));
    return RLX_OK;
  }
  if (!json_is_array(content))
    return RLX_FAIL(RLX_INVALID, "%s: expected a string or a list of parts, got %s", where, sv_kind(content));
  for (size_t i = 0; i < json_array_size(content); i++) {
    const json_t *part = json_array_get(content, i), *text = json_object_get(part, "text");
    const char *kind = json_string_value(json_object_get(part, "type"));
    if (!is_text_part(kind, type))
      return RLX_FAIL(RLX_UNSUPPORTED, "%s: part %zu is of type '%.40s': this server takes text alone", where, i,
                      kind ? kind : "");
    if (!json_is_string(text))
      return RLX_FAIL(RLX_INVALID, "%s: part %zu: expected a member 'text', got %s", where, i, sv_kind(text));
    rlx_str_add_bytes(out, json_string_value(text), json_string_length(text));
  }
  return RLX_OK;
}

rlx_status sv_add_result(sv_job *j, const char *id, const json_t *content, const char *type, const char *where) {
  rlx_str text = {0};
  rlx_status s = sv_content_text(content, type, where, &text);
  if (!s && text.failed) s = RLX_FAIL(RLX_NO_MEMORY, "%s", where);
  if (!s)
    s = sv_add_message_object(j, json_pack("{s:s, s:s, s:s%}", "role", "tool", "tool_call_id", id ? id : "", "content",
                                           text.n ? text.v : "", text.n));
  rlx_str_deinit(&text);
  return s;
}

rlx_status sv_add_tool(sv_job *j, json_t *function) {
  json_t *entry = function ? json_pack("{s:s, s:o}", "type", "function", "function", function) : NULL;
  if (entry && !j->tools) {
    j->tools = json_array();
    if (j->tools && json_array_append_new(j->kept, j->tools)) j->tools = NULL;
  }
  if (entry && j->tools && json_array_append_new(j->tools, entry) == 0) return RLX_OK;
  if (entry && !j->tools) json_decref(entry);
  return RLX_FAIL(RLX_NO_MEMORY, "tools");
}

/* The function of a call, whose arguments are JSON in a string; templates want the object. */
static rlx_status copy_call(const json_t *call, const char *where, json_t **out) {
  const json_t *function = json_object_get(call, "function"), *arguments = json_object_get(function, "arguments");
  const char *name = json_string_value(json_object_get(function, "name")),
             *id = json_string_value(json_object_get(call, "id"));
  json_error_t e;
  json_t *object;
  *out = NULL;
  if (!name) return RLX_FAIL(RLX_INVALID, "%s: expected a function with a name", where);
  if (json_is_object(arguments)) object = json_deep_copy(arguments);
  else if (!json_string_length(arguments)) object = json_object();
  else object = json_loadb(json_string_value(arguments), json_string_length(arguments), JSON_REJECT_DUPLICATES, &e);
  if (!json_is_object(object)) {
    json_decref(object);
    return RLX_FAIL(RLX_INVALID, "%s: the arguments of '%.60s' are no JSON object", where, name);
  }
  *out = json_pack("{s:s, s:{s:s, s:o}}", "type", "function", "function", "name", name, "arguments", object);
  if (*out && id && json_object_set_new(*out, "id", json_string(id))) {
    json_decref(*out);
    *out = NULL;
  }
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%s", where);
}

static rlx_status copy_calls(const json_t *message, size_t i, json_t *out) {
  const json_t *calls = json_object_get(message, "tool_calls");
  char where[60];
  if (!calls || json_is_null(calls)) return RLX_OK;
  if (!json_is_array(calls))
    return RLX_FAIL(RLX_INVALID, "messages: %zu: tool_calls: expected a list, got %s", i, sv_kind(calls));
  json_t *list = json_array();
  rlx_status s = list && json_object_set_new(out, "tool_calls", list) == 0 ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "calls");
  for (size_t k = 0; k < json_array_size(calls) && !s; k++) {
    json_t *call;
    snprintf(where, sizeof where, "messages: %zu: tool_calls: %zu", i, k);
    s = copy_call(json_array_get(calls, k), where, &call);
    if (!s && json_array_append_new(list, call)) s = RLX_FAIL(RLX_NO_MEMORY, "calls");
  }
  return s;
}

static rlx_status set_text(json_t *message, const char *key, const char *text, size_t n) {
  if (json_object_set_new(message, key, json_stringn(text, n)) == 0) return RLX_OK;
  return RLX_FAIL(RLX_NO_MEMORY, "a message");
}

/* Members of a message that reach the template; others are refused. */
static rlx_status copy_message(const json_t *message, size_t i, json_t *out) {
  static const char *const texts[] = {"name", "tool_call_id", "reasoning_content"};
  static const char *const known[] = {"role",    "content",           "tool_calls", "name",       "tool_call_id",
                                      "refusal", "reasoning_content", "audio",      "annotations"};
  const char *role = json_string_value(json_object_get(message, "role")), *key;
  const json_t *v;
  char where[40];
  snprintf(where, sizeof where, "messages: %zu", i);
  if (!json_is_object(message)) return RLX_FAIL(RLX_INVALID, "%s: expected an object, got %s", where, sv_kind(message));
  if (!role || !*role) return RLX_FAIL(RLX_INVALID, "%s: expected a role", where);
  if (strcmp(role, "developer") == 0) role = "system";
  json_object_foreach((json_t *)(uintptr_t)message, key, v) {
    bool is_known = json_is_null(v);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) is_known |= strcmp(key, known[k]) == 0;
    if (!is_known) return RLX_FAIL(RLX_INVALID, "%s: '%.40s' is not known to this server", where, key);
  }
  rlx_str text = {0};
  rlx_status s = sv_content_text(json_object_get(message, "content"), "text", where, &text);
  if (!s && text.failed) s = RLX_FAIL(RLX_NO_MEMORY, "%s", where);
  if (!s) s = set_text(out, "role", role, strlen(role));
  if (!s) s = set_text(out, "content", text.n ? text.v : "", text.n);
  rlx_str_deinit(&text);
  for (size_t k = 0; k < sizeof texts / sizeof *texts && !s; k++) {
    v = json_object_get(message, texts[k]);
    if (json_is_string(v)) s = set_text(out, texts[k], json_string_value(v), json_string_length(v));
    else if (v && !json_is_null(v))
      s = RLX_FAIL(RLX_INVALID, "%s: %s: expected a string, got %s", where, texts[k], sv_kind(v));
  }
  return s ? s : copy_calls(message, i, out);
}

static rlx_status take_messages(sv_fields *f, sv_job *j) {
  json_t *list = NULL;
  RLX_TRY(sv_take_list(f, "messages", &list));
  size_t n = json_array_size(list);
  if (!n) return RLX_FAIL(RLX_INVALID, "messages: expected a list of at least one message");
  if (n > SV_MAX_MESSAGES) return RLX_FAIL(RLX_LIMIT, "messages: at most %d, got %zu", (int)SV_MAX_MESSAGES, n);
  for (size_t i = 0; i < n; i++) {
    json_t *copy = json_object();
    rlx_status s = copy ? copy_message(json_array_get(list, i), i, copy) : RLX_OK;
    if (s) {
      json_decref(copy);
      return s;
    }
    RLX_TRY(sv_add_message_object(j, copy));
  }
  return sv_replace_nuls(j);
}

rlx_status sv_take_chat(sv_fields *f, sv_job *j) {
  RLX_TRY(take_messages(f, j));
  RLX_TRY(sv_take_list(f, "tools", &j->tools));
  return sv_take_object(f, "chat_template_kwargs", &j->variables);
}

/* ---- Tokens ---- */

static rlx_status encode_messages(const sv_job *j, const char *name, int32_t **ids, size_t *n) {
  RLX_ARRAY(rlx_chat_message) list = {0};
  const size_t n_messages = json_array_size(j->messages);
  bool is_full = rlx_array_reserve(&list, n_messages);
  for (size_t i = 0; i < n_messages && is_full; i++) {
    const json_t *m = json_array_get(j->messages, i);
    list.v[list.n++] = (rlx_chat_message){json_string_value(json_object_get(m, "role")),
                                          json_string_value(json_object_get(m, "content"))};
  }
  rlx_status s = is_full ? rlx_chat_encode(j->tokenizer, name, list.v, list.n, true, RLX_TOKENS_ADD_SPECIAL, ids, n)
                         : RLX_FAIL(RLX_NO_MEMORY, "%zu messages", n_messages);
  rlx_array_deinit(&list);
  return s;
}

/* Whether a prompt ends inside a thought, which some templates begin. */
static bool ends_in_thought(const rlx_tokenizer *t, const int32_t *ids, size_t n) {
  static const char mark[] = "<think>";
  const size_t last = n < 8 ? n : 8;
  char *text;
  size_t bytes;
  if (rlx_tokenizer_decode(t, ids + n - last, last, true, &text, &bytes)) return false;
  while (bytes && (text[bytes - 1] == '\n' || text[bytes - 1] == ' ')) bytes--;
  bool ends = bytes >= sizeof mark - 1 && memcmp(text + bytes - (sizeof mark - 1), mark, sizeof mark - 1) == 0;
  rlx_free(text);
  return ends;
}

/* The choices of one job have the same prompt, which the model computes once. */
static rlx_status copy_prompt(sv_job *j, int32_t *ids, size_t n) {
  rlx_status s = sv_job_add_runs(j, j->n_choices);
  if (s) {
    rlx_free(ids);
    return s;
  }
  j->runs.v[0].ids = ids;
  for (size_t i = 0; i < j->runs.n; i++) {
    sv_run *r = &j->runs.v[i];
    r->n_ids = n;
    if (i && !(r->ids = rlx_mem_alloc(n * sizeof *ids + 1))) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", n);
    if (i) memcpy(r->ids, ids, n * sizeof *ids);
  }
  return RLX_OK;
}

/* Whether a conversation has only what the templates that are built in know. */
static bool is_plain(const sv_job *j) {
  static const char *const roles[] = {"system", "user", "assistant"};
  bool is_known = !j->tools && !j->variables;
  for (size_t i = 0; i < json_array_size(j->messages) && is_known; i++) {
    const json_t *m = json_array_get(j->messages, i);
    const char *role = json_string_value(json_object_get(m, "role"));
    is_known = false;
    for (size_t k = 0; k < sizeof roles / sizeof *roles; k++) is_known |= role && strcmp(role, roles[k]) == 0;
    is_known &= json_object_size(m) == 2;
  }
  return is_known;
}

/* What the file's own template reads. */
static json_t *make_input(const sv_job *j) {
  json_t *input = json_pack("{s:O, s:b}", "messages", j->messages, "add_generation_prompt", 1), *v;
  const char *key;
  bool is_whole = input && (!j->tools || json_object_set(input, "tools", j->tools) == 0);
  if (is_whole && j->variables)
    json_object_foreach(j->variables, key, v) is_whole &= json_object_set(input, key, v) == 0;
  if (is_whole) return input;
  json_decref(input);
  return NULL;
}

static rlx_status encode_by_program(const sv_job *j, int32_t **ids, size_t *n) {
  const sv_model *m = j->model;
  json_t *input = make_input(j);
  rlx_str text = {0};
  if (input) sv_add_json(&text, input);
  rlx_status s = input && !text.failed
                   ? rlx_chat_template_encode(m->program, j->tokenizer, text.v, text.n, RLX_TOKENS_ADD_SPECIAL, ids, n)
                   : RLX_FAIL(RLX_NO_MEMORY, "a conversation");
  rlx_str_deinit(&text);
  json_decref(input);
  return s;
}

static rlx_status encode(const sv_job *j, int32_t **ids, size_t *n) {
  const sv_model *m = j->model;
  const bool can_be_plain = m->template_name && is_plain(j);
  if (can_be_plain) return encode_messages(j, m->template_name, ids, n);
  if (m->program) return encode_by_program(j, ids, n);
  if (m->template_name)
    return RLX_FAIL(RLX_UNSUPPORTED,
                    "model '%s' takes plain messages alone, without tools: its own template cannot be "
                    "run (%s)",
                    m->name, m->no_program);
  return RLX_FAIL(RLX_UNSUPPORTED, "model '%s' cannot chat: %s; /v1/completions continues a text", m->name,
                  m->no_program);
}

rlx_status sv_encode_chat(sv_job *j, rlx_lm *lm) {
  const rlx_chat_template *program = j->model->program;
  int32_t *ids;
  size_t n;
  (void)lm;
  RLX_TRY(encode(j, &ids, &n));
  j->marks = sv_marks_of(program ? rlx_chat_template_text(program) : NULL, j->tools != NULL);
  if (j->must_call) j->marks.call = j->marks.call_end = NULL; /* the grammar allows the call alone, without marks */
  j->marks.thinks &= !j->has_form;
  j->marks.begins_in_thought = j->marks.thinks && ends_in_thought(j->tokenizer, ids, n);
  return copy_prompt(j, ids, n);
}
