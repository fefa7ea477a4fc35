/* POST /v1/messages and /v1/messages/count_tokens, as Anthropic's clients speak: an answer is a list of blocks, each of
 * text, thinking or the use of a tool. Messages are kept in the form of chat.c, so both interfaces have one prompt. */
#include <stdio.h>
#include <string.h>

#include "serve/serve.h"

/* ---- Writing ---- */

static const char *stop_reason(const sv_run *r) {
  const char *reason = sv_finish_reason(r);
  if (strcmp(reason, "tool_calls") == 0) return "tool_use";
  if (strcmp(reason, "length") == 0) return "max_tokens";
  return r->ended && strcmp(r->ended, "stop") == 0 ? "stop_sequence" : "end_turn";
}

static void add_stop(rlx_str *s, const sv_job *j, const sv_run *r) {
  rlx_str_add(s, "\"stop_reason\":\"%s\",\"stop_sequence\":", stop_reason(r));
  /* Which of several texts ended it is not known. */
  if (j->stops.n == 1 && strcmp(stop_reason(r), "stop_sequence") == 0) rlx_str_add_quoted(s, j->stops.v[0]);
  else rlx_str_add(s, "null");
}

static void add_usage(rlx_str *s, const sv_job *j) {
  sv_usage u = sv_usage_of(j);
  rlx_str_add(s,
              "\"usage\":{\"input_tokens\":%llu,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":%llu,"
              "\"output_tokens\":%llu}",
              (unsigned long long)(u.input - u.held), (unsigned long long)u.held, (unsigned long long)u.output);
}

static void begin_message(sv_job *j) {
  rlx_str_add(&j->fresh, "{\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":", j->id);
  rlx_str_add_quoted(&j->fresh, j->model->name);
  rlx_str_add(&j->fresh, ",\"content\":[");
}

static void add_call(rlx_str *s, const sv_job *j, const sv_part *p, const char *input, size_t bytes) {
  rlx_str_add(s, "{\"type\":\"tool_use\",\"id\":\"toolu_%s_%u\",\"name\":", j->id, (unsigned)p->number);
  rlx_str_add_quoted(s, p->name);
  rlx_str_add(s, ",\"input\":");
  rlx_str_add_bytes(s, input, bytes);
  rlx_str_add_char(s, '}');
}

/* ---- A stream ---- */

static void begin_stream(sv_job *j) {
  sv_event_begin(j, "message_start");
  rlx_str_add(&j->fresh, "{\"type\":\"message_start\",\"message\":");
  begin_message(j);
  rlx_str_add(&j->fresh,
              "],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":%llu,\"output_tokens\":0}}}",
              (unsigned long long)j->runs.v[0].n_ids);
  sv_event_end(j);
}

static void close_block(sv_job *j, sv_run *r) {
  if (r->open < 0) return;
  r->open = -1;
  sv_event_begin(j, "content_block_stop");
  rlx_str_add(&j->fresh, "{\"type\":\"content_block_stop\",\"index\":%u}", (unsigned)r->n_blocks - 1);
  sv_event_end(j);
}

static void open_block(sv_job *j, sv_run *r, const sv_part *p) {
  if (r->open == (int)p->kind && p->kind != SV_CALL) return;
  close_block(j, r);
  r->open = (int)p->kind;
  sv_event_begin(j, "content_block_start");
  rlx_str_add(&j->fresh, "{\"type\":\"content_block_start\",\"index\":%u,\"content_block\":", (unsigned)r->n_blocks++);
  if (p->kind == SV_CALL) add_call(&j->fresh, j, p, "{}", 2);
  else if (p->kind == SV_TEXT) rlx_str_add(&j->fresh, "{\"type\":\"text\",\"text\":\"\"}");
  else rlx_str_add(&j->fresh, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}");
  rlx_str_add_char(&j->fresh, '}');
  sv_event_end(j);
}

static void add_part(sv_job *j, sv_run *r, const sv_part *p) {
  static const char *const kinds[] = {[SV_TEXT] = "\"text_delta\",\"text\"",
                                      [SV_THOUGHT] = "\"thinking_delta\",\"thinking\"",
                                      [SV_CALL] = "\"input_json_delta\",\"partial_json\""};
  open_block(j, r, p);
  sv_event_begin(j, "content_block_delta");
  rlx_str_add(&j->fresh,
              "{\"type\":\"content_block_delta\",\"index\":%u,\"delta\":{\"type\":%s:", (unsigned)r->n_blocks - 1,
              kinds[p->kind]);
  sv_add_quoted(&j->fresh, p->text, p->bytes);
  rlx_str_add(&j->fresh, "}}");
  sv_event_end(j);
  if (p->kind == SV_CALL) close_block(j, r);
}

static void end_run(sv_job *j, sv_run *r) {
  close_block(j, r);
  sv_event_begin(j, "message_delta");
  rlx_str_add(&j->fresh, "{\"type\":\"message_delta\",\"delta\":{");
  add_stop(&j->fresh, j, r);
  rlx_str_add(&j->fresh, "},");
  add_usage(&j->fresh, j);
  rlx_str_add_char(&j->fresh, '}');
  sv_event_end(j);
}

/* ---- A whole answer ---- */

static void keep_call(sv_job *j, sv_run *r, const sv_part *p) { add_call(&r->calls, j, p, p->text, p->bytes); }

static void add_block(rlx_str *s, const char *begin, const rlx_str *text, const char *end, bool *is_first) {
  if (!*is_first) rlx_str_add_char(s, ',');
  *is_first = false;
  rlx_str_add(s, "%s", begin);
  sv_add_quoted(s, text->v, text->n);
  rlx_str_add(s, "%s", end);
}

static void end(sv_job *j) {
  rlx_str *s = &j->fresh;
  const sv_run *r = &j->runs.v[0];
  bool is_first = true;
  if (j->is_stream) {
    sv_event_begin(j, "message_stop");
    rlx_str_add(s, "{\"type\":\"message_stop\"}");
    sv_event_end(j);
    return;
  }
  begin_message(j);
  if (r->thought.n)
    add_block(s, "{\"type\":\"thinking\",\"thinking\":", &r->thought, ",\"signature\":\"\"}", &is_first);
  if (r->text.n || !r->n_calls) add_block(s, "{\"type\":\"text\",\"text\":", &r->text, "}", &is_first);
  if (r->calls.n) rlx_str_add(s, "%s%s", is_first ? "" : ",", r->calls.v);
  rlx_str_add(s, "],");
  add_stop(s, j, r);
  rlx_str_add_char(s, ',');
  add_usage(s, j);
  rlx_str_add_char(s, '}');
}

static void fail(sv_job *j, unsigned http, const char *message) {
  sv_event_begin(j, "error");
  sv_anthropic_error(&j->fresh, http, message);
  sv_event_end(j);
}

static const sv_style style = {begin_stream, add_part, keep_call, end_run, end, fail};

/* ---- Reading messages ---- */

/* A block {"type":"tool_use"} as a call in chat.c's form. */
static json_t *call_of(const json_t *block) {
  json_t *input = json_object_get(block, "input");
  const char *id = json_string_value(json_object_get(block, "id")),
             *name = json_string_value(json_object_get(block, "name"));
  if (!name || !json_is_object(input)) return NULL;
  return json_pack("{s:s, s:s, s:{s:s, s:O}}", "id", id ? id : "", "type", "function", "function", "name", name,
                   "arguments", input);
}

typedef struct blocks { /* of one message, sorted */
  rlx_str text, thought;
  json_t *calls;
  const char *where;
} blocks;

static rlx_status add_member(rlx_str *out, const json_t *block, const char *name, const char *where) {
  const json_t *v = json_object_get(block, name);
  if (!json_is_string(v))
    return RLX_FAIL(RLX_INVALID, "%s: a block of %s: expected a string, got %s", where, name, sv_kind(v));
  rlx_str_add_bytes(out, json_string_value(v), json_string_length(v));
  return RLX_OK;
}

static rlx_status take_block(sv_job *j, const json_t *block, blocks *b) {
  const char *type = json_string_value(json_object_get(block, "type"));
  if (!type) return RLX_FAIL(RLX_INVALID, "%s: expected blocks with a type", b->where);
  if (strcmp(type, "text") == 0) return add_member(&b->text, block, "text", b->where);
  if (strcmp(type, "thinking") == 0) return add_member(&b->thought, block, "thinking", b->where);
  if (strcmp(type, "tool_result") == 0)
    return sv_add_result(j, json_string_value(json_object_get(block, "tool_use_id")), json_object_get(block, "content"),
                         "text", b->where);
  if (strcmp(type, "tool_use") != 0)
    return RLX_FAIL(RLX_UNSUPPORTED,
                    "%s: a block of type '%.40s': this server takes text, thinking, tool_use and "
                    "tool_result",
                    b->where, type);
  json_t *call = call_of(block);
  if (!call) return RLX_FAIL(RLX_INVALID, "%s: a tool_use: expected a name and an input object", b->where);
  if (!b->calls) b->calls = json_array();
  return b->calls && json_array_append_new(b->calls, call) == 0 ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%s", b->where);
}

static rlx_status add_blocks(sv_job *j, const char *role, const blocks *b, bool has_results) {
  if (has_results && !b->text.n) return RLX_OK; /* a user's message of results alone */
  if (b->text.failed || b->thought.failed) return RLX_FAIL(RLX_NO_MEMORY, "%s", b->where);
  json_t *m = json_pack("{s:s, s:s%}", "role", role, "content", b->text.n ? b->text.v : "", b->text.n);
  if (m && b->calls && json_object_set(m, "tool_calls", b->calls)) goto no_memory;
  if (m && b->thought.n && json_object_set_new(m, "reasoning_content", json_stringn(b->thought.v, b->thought.n)))
    goto no_memory;
  return sv_add_message_object(j, m);
no_memory:
  json_decref(m);
  return RLX_FAIL(RLX_NO_MEMORY, "%s", b->where);
}

static rlx_status take_message(sv_job *j, const json_t *message, size_t i) {
  const char *role = json_string_value(json_object_get(message, "role"));
  const json_t *content = json_object_get(message, "content");
  char where[40];
  blocks b = {.where = where};
  snprintf(where, sizeof where, "messages: %zu", i);
  if (!role || (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0))
    return RLX_FAIL(RLX_INVALID, "%s: expected the role 'user' or 'assistant'", where);
  if (!json_is_array(content) && !json_is_string(content))
    return RLX_FAIL(RLX_INVALID, "%s: content: expected a string or a list of blocks, got %s", where, sv_kind(content));
  if (json_is_string(content)) rlx_str_add_bytes(&b.text, json_string_value(content), json_string_length(content));
  rlx_status s = RLX_OK;
  const size_t before = json_array_size(j->messages);
  for (size_t k = 0; k < json_array_size(content) && !s; k++) s = take_block(j, json_array_get(content, k), &b);
  if (!s) s = add_blocks(j, role, &b, json_array_size(j->messages) > before);
  json_decref(b.calls);
  rlx_str_deinit(&b.text);
  rlx_str_deinit(&b.thought);
  return s;
}

static rlx_status take_messages(sv_fields *f, sv_job *j) {
  json_t *list = NULL;
  rlx_str system = {0};
  rlx_status s = sv_content_text(sv_take(f, "system"), "text", "system", &system);
  if (!s && system.n) s = sv_add_text_message(j, "system", &system);
  rlx_str_deinit(&system);
  if (!s) s = sv_take_list(f, "messages", &list);
  if (s) return s;
  size_t n = json_array_size(list);
  if (!n || n > SV_MAX_MESSAGES)
    return RLX_FAIL(RLX_INVALID, "messages: expected 1 to %d, got %zu", (int)SV_MAX_MESSAGES, n);
  for (size_t i = 0; i < n; i++) RLX_TRY(take_message(j, json_array_get(list, i), i));
  return sv_replace_nuls(j);
}

/* ---- Reading tools ---- */

/* {"name","description","input_schema"} as a tool in chat.c's form. */
static rlx_status take_tools(sv_fields *f, sv_job *j) {
  json_t *list = NULL;
  RLX_TRY(sv_take_list(f, "tools", &list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    json_t *tool = json_array_get(list, i), *schema = json_object_get(tool, "input_schema"),
           *about = json_object_get(tool, "description");
    const char *name = json_string_value(json_object_get(tool, "name")),
               *type = json_string_value(json_object_get(tool, "type"));
    if (type && strcmp(type, "custom") != 0)
      return RLX_FAIL(RLX_UNSUPPORTED, "tools: %zu: a tool of type '%.40s': this server has none of its own", i, type);
    if (!name || !json_is_object(schema))
      return RLX_FAIL(RLX_INVALID, "tools: %zu: expected a name and an input_schema", i);
    RLX_TRY(sv_add_tool(j, json_pack("{s:s, s:s, s:O}", "name", name, "description",
                                     json_is_string(about) ? json_string_value(about) : "", "parameters", schema)));
  }
  return RLX_OK;
}

/* {"type":"auto"|"any"|"none"} or {"type":"tool","name":..}. */
static rlx_status take_tool_choice(sv_fields *f, sv_job *j) {
  json_t *choice = NULL;
  RLX_TRY(sv_take_object(f, "tool_choice", &choice));
  const char *type = json_string_value(json_object_get(choice, "type")),
             *name = json_string_value(json_object_get(choice, "name"));
  if (!choice) return RLX_OK;
  if (type && strcmp(type, "auto") == 0) return RLX_OK;
  if (type && strcmp(type, "any") == 0) return sv_choose_tool(j, NULL);
  if (type && strcmp(type, "tool") == 0 && name) return sv_choose_tool(j, name);
  if (!type || strcmp(type, "none") != 0)
    return RLX_FAIL(RLX_INVALID, "tool_choice: expected the type auto, any, none, or tool with a name");
  j->tools = NULL;
  return RLX_OK;
}

/* Thinking is the model's: a template that marks it has it, and it cannot be asked of others. */
static rlx_status take_thinking(sv_fields *f) {
  json_t *thinking = NULL;
  RLX_TRY(sv_take_object(f, "thinking", &thinking));
  const char *type = json_string_value(json_object_get(thinking, "type"));
  if (!thinking || (type && strcmp(type, "disabled") == 0)) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "thinking: this server takes only the type 'disabled': a model thinks or not by its "
                                   "template");
}

/* {"format":{"type":"json_schema","schema":..}} */
static rlx_status take_output_config(sv_fields *f, sv_job *j) {
  json_t *config = NULL;
  RLX_TRY(sv_take_object(f, "output_config", &config));
  if (!config) return RLX_OK;
  sv_fields inner = {.object = config, .kept = f->kept};
  RLX_TRY(sv_take_format(&inner, j, "format"));
  return sv_fields_finish(&inner);
}

static rlx_status read_prompt(sv_fields *f, sv_job *j) {
  j->encode = sv_encode_chat;
  RLX_TRY(take_messages(f, j));
  RLX_TRY(take_tools(f, j));
  RLX_TRY(take_tool_choice(f, j));
  RLX_TRY(take_output_config(f, j));
  return take_thinking(f);
}

static rlx_status read_body(sv_fields *f, sv_job *j) {
  j->style = &style;
  j->wants_parts = true;
  RLX_TRY(read_prompt(f, j));
  RLX_TRY(sv_take_options(f, j));
  RLX_TRY(sv_take_stream(f, j));
  if (!j->options.max_tokens) return RLX_FAIL(RLX_INVALID, "max_tokens: expected a number of at least 1");
  return RLX_OK;
}

rlx_status sv_messages(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  static const sv_reader reader = {sv_anthropic_error, read_body};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}

/* ---- Counting ---- */

static rlx_status count_tokens(sv_job *j, rlx_lm *lm) {
  j->tokenizer = rlx_lm_tokenizer(lm);
  if (!j->tokenizer) return RLX_FAIL(RLX_UNSUPPORTED, "model '%s' has no tokenizer", j->model->name);
  RLX_TRY(sv_encode_chat(j, lm));
  rlx_str_add(&j->fresh, "{\"input_tokens\":%zu}", j->runs.v[0].n_ids);
  return RLX_OK;
}

static rlx_status read_count(sv_fields *f, sv_job *j) {
  j->task = count_tokens;
  return read_prompt(f, j);
}

rlx_status sv_count_tokens(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  static const sv_reader reader = {sv_anthropic_error, read_count};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}
