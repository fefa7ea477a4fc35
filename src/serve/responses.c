/* POST /v1/responses, OpenAI's newer interface: an answer is a list of items, each a thought, a message or the call of
 * a function. Nothing is stored, so an earlier response cannot be named; the client sends the conversation. */
#include <stdio.h>
#include <string.h>

#include "serve/serve.h"

/* ---- Items ---- */

static const char *const prefixes[] = {[SV_TEXT] = "msg", [SV_THOUGHT] = "rs", [SV_CALL] = "fc"};

static void add_item_id(rlx_str *s, const sv_job *j, sv_part_kind kind, uint32_t number) {
  rlx_str_add(s, "\"%s_%s_%u\"", prefixes[kind], j->id, (unsigned)number);
}

static void add_content(rlx_str *s, sv_part_kind kind, const char *text, size_t n) {
  rlx_str_add(s, "{\"type\":\"%s\",\"text\":", kind == SV_TEXT ? "output_text" : "reasoning_text");
  sv_add_quoted(s, text, n);
  rlx_str_add(s, kind == SV_TEXT ? ",\"annotations\":[],\"logprobs\":[]}" : "}");
}

/* An item that is not a call; `text` NULL: it has just begun. */
static void add_item(rlx_str *s, const sv_job *j, sv_part_kind kind, uint32_t number, const rlx_str *text) {
  const char *status = text ? "completed" : "in_progress";
  rlx_str_add(s, "{\"id\":");
  add_item_id(s, j, kind, number);
  if (kind == SV_TEXT) rlx_str_add(s, ",\"type\":\"message\",\"role\":\"assistant\"");
  else rlx_str_add(s, ",\"type\":\"reasoning\",\"summary\":[]");
  rlx_str_add(s, ",\"status\":\"%s\",\"content\":[", status);
  if (text) add_content(s, kind, text->v, text->n);
  rlx_str_add(s, "]}");
}

static void add_call(rlx_str *s, const sv_job *j, uint32_t number, const sv_part *p, bool is_whole) {
  rlx_str_add(s, "{\"id\":");
  add_item_id(s, j, SV_CALL, number);
  rlx_str_add(s, ",\"type\":\"function_call\",\"call_id\":\"call_%s_%u\",\"name\":", j->id, (unsigned)p->number);
  rlx_str_add_quoted(s, p->name);
  rlx_str_add(s, ",\"arguments\":");
  sv_add_quoted(s, p->text, is_whole ? p->bytes : 0);
  rlx_str_add(s, ",\"status\":\"%s\"}", is_whole ? "completed" : "in_progress");
}

/* ---- The response ---- */

static void add_usage(rlx_str *s, const sv_job *j) {
  sv_usage u = sv_usage_of(j);
  const uint64_t total = u.input + u.output;
  rlx_str_add(s,
              "{\"input_tokens\":%llu,\"input_tokens_details\":{\"cached_tokens\":%llu},\"output_tokens\":%llu,"
              "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":%llu}",
              (unsigned long long)u.input, (unsigned long long)u.held, (unsigned long long)u.output,
              (unsigned long long)total);
}

/* Everything about the response but its items, which are `items`, separated by commas. */
static void add_response(sv_job *j, const char *status, const rlx_str *items) {
  rlx_str *s = &j->fresh;
  rlx_str_add(s, "{\"id\":\"resp_%s\",\"object\":\"response\",\"created_at\":%lld,\"status\":\"%s\",\"model\":", j->id,
              (long long)j->created, status);
  rlx_str_add_quoted(s, j->model->name);
  rlx_str_add(s, ",\"error\":null,\"incomplete_details\":%s,\"instructions\":null,\"metadata\":{},",
              strcmp(status, "incomplete") == 0 ? "{\"reason\":\"max_output_tokens\"}" : "null");
  rlx_str_add(s, "\"parallel_tool_calls\":true,\"tool_choice\":\"auto\",\"tools\":[],\"temperature\":");
  rlx_str_add_double(s, j->options.temperature);
  rlx_str_add(s, ",\"top_p\":");
  rlx_str_add_double(s, j->options.top_p > 0 ? j->options.top_p : 1);
  rlx_str_add(s, ",\"output\":[");
  if (items->n) rlx_str_add_bytes(s, items->v, items->n);
  rlx_str_add(s, "],\"usage\":");
  if (strcmp(status, "in_progress") == 0) rlx_str_add(s, "null");
  else add_usage(s, j);
  rlx_str_add_char(s, '}');
}

static const char *status_of(const sv_run *r) {
  return strcmp(sv_finish_reason(r), "length") == 0 ? "incomplete" : "completed";
}

/* ---- A stream ---- */

static void begin_event(sv_job *j, const char *type) {
  unsigned number = j->n_events;
  sv_event_begin(j, type);
  rlx_str_add(&j->fresh, "{\"type\":\"%s\",\"sequence_number\":%u,", type, number);
}

static void end_event(sv_job *j) {
  rlx_str_add_char(&j->fresh, '}');
  sv_event_end(j);
}

static void add_response_event(sv_job *j, const char *type, const char *status, const rlx_str *items) {
  begin_event(j, type);
  rlx_str_add(&j->fresh, "\"response\":");
  add_response(j, status, items);
  end_event(j);
}

static void begin_stream(sv_job *j) {
  static const rlx_str none = {0};
  add_response_event(j, "response.created", "in_progress", &none);
  add_response_event(j, "response.in_progress", "in_progress", &none);
}

/* The members that name a part of the item that is open. */
static void add_place(sv_job *j, const sv_run *r) {
  rlx_str_add(&j->fresh, "\"item_id\":");
  add_item_id(&j->fresh, j, (sv_part_kind)r->open, r->n_blocks - 1);
  rlx_str_add(&j->fresh, ",\"output_index\":%u", (unsigned)r->n_blocks - 1);
  if (r->open != SV_CALL) rlx_str_add(&j->fresh, ",\"content_index\":0");
}

/* Ends the item that is open, keeps it for the end of the response, and frees its text. */
static void keep_item(sv_job *j, sv_run *r, rlx_str *item) {
  r->calls.failed |= item->failed;
  if (!item->failed) {
    begin_event(j, "response.output_item.done");
    rlx_str_add(&j->fresh, "\"output_index\":%u,\"item\":", (unsigned)r->n_blocks - 1);
    rlx_str_add_bytes(&j->fresh, item->v, item->n);
    end_event(j);
    rlx_str_add(&r->calls, "%s%s", r->calls.n ? "," : "", item->v);
  }
  rlx_str_deinit(item);
}

/* Closes a message or a thought, whose text is in r->text, and keeps the item for the end of the response. */
static void close_item(sv_job *j, sv_run *r) {
  const sv_part_kind kind = (sv_part_kind)r->open;
  if (r->open < 0) return;
  begin_event(j, kind == SV_TEXT ? "response.output_text.done" : "response.reasoning_text.done");
  add_place(j, r);
  rlx_str_add(&j->fresh, ",\"text\":");
  sv_add_quoted(&j->fresh, r->text.v, r->text.n);
  if (kind == SV_TEXT) rlx_str_add(&j->fresh, ",\"logprobs\":[]");
  end_event(j);
  begin_event(j, "response.content_part.done");
  add_place(j, r);
  rlx_str_add(&j->fresh, ",\"part\":");
  add_content(&j->fresh, kind, r->text.v, r->text.n);
  end_event(j);
  rlx_str item = {0};
  add_item(&item, j, kind, r->n_blocks - 1, &r->text);
  keep_item(j, r, &item);
  r->open = -1;
  r->text.n = 0;
}

static void open_item(sv_job *j, sv_run *r, sv_part_kind kind) {
  r->open = (int)kind;
  begin_event(j, "response.output_item.added");
  rlx_str_add(&j->fresh, "\"output_index\":%u,\"item\":", (unsigned)r->n_blocks++);
  add_item(&j->fresh, j, kind, r->n_blocks - 1, NULL);
  end_event(j);
  begin_event(j, "response.content_part.added");
  add_place(j, r);
  rlx_str_add(&j->fresh, ",\"part\":");
  add_content(&j->fresh, kind, "", 0);
  end_event(j);
}

static void stream_call(sv_job *j, sv_run *r, const sv_part *p) {
  rlx_str item = {0};
  r->open = SV_CALL;
  begin_event(j, "response.output_item.added");
  rlx_str_add(&j->fresh, "\"output_index\":%u,\"item\":", (unsigned)r->n_blocks++);
  add_call(&j->fresh, j, r->n_blocks - 1, p, false);
  end_event(j);
  begin_event(j, "response.function_call_arguments.delta");
  add_place(j, r);
  rlx_str_add(&j->fresh, ",\"delta\":");
  sv_add_quoted(&j->fresh, p->text, p->bytes);
  end_event(j);
  begin_event(j, "response.function_call_arguments.done");
  add_place(j, r);
  rlx_str_add(&j->fresh, ",\"name\":");
  rlx_str_add_quoted(&j->fresh, p->name);
  rlx_str_add(&j->fresh, ",\"arguments\":");
  sv_add_quoted(&j->fresh, p->text, p->bytes);
  end_event(j);
  add_call(&item, j, r->n_blocks - 1, p, true);
  keep_item(j, r, &item);
  r->open = -1;
}

static void add_part(sv_job *j, sv_run *r, const sv_part *p) {
  if (r->open != (int)p->kind || p->kind == SV_CALL) close_item(j, r);
  if (p->kind == SV_CALL) {
    stream_call(j, r, p);
    return;
  }
  if (r->open < 0) open_item(j, r, p->kind);
  rlx_str_add_bytes(&r->text, p->text, p->bytes);
  begin_event(j, p->kind == SV_TEXT ? "response.output_text.delta" : "response.reasoning_text.delta");
  add_place(j, r);
  rlx_str_add(&j->fresh, ",\"delta\":");
  sv_add_quoted(&j->fresh, p->text, p->bytes);
  if (p->kind == SV_TEXT) rlx_str_add(&j->fresh, ",\"logprobs\":[]");
  end_event(j);
}

static void end_run(sv_job *j, sv_run *r) {
  if (!r->n_blocks) open_item(j, r, SV_TEXT); /* an empty answer is an empty message */
  close_item(j, r);
}

/* ---- A whole answer ---- */

/* Calls are numbered behind the thought and the message, whichever of them there are. */
static void keep_call(sv_job *j, sv_run *r, const sv_part *p) { add_call(&r->calls, j, 2 + p->number, p, true); }

static void end(sv_job *j) {
  sv_run *r = &j->runs.v[0];
  const char *status = status_of(r);
  rlx_str items = {0};
  if (j->is_stream) {
    bool is_whole = strcmp(status, "completed") == 0;
    add_response_event(j, is_whole ? "response.completed" : "response.incomplete", status, &r->calls);
    return;
  }
  if (r->thought.n) add_item(&items, j, SV_THOUGHT, 0, &r->thought);
  if (r->text.n || !r->n_calls) {
    if (items.n) rlx_str_add_char(&items, ',');
    add_item(&items, j, SV_TEXT, 1, &r->text);
  }
  if (r->calls.n) rlx_str_add(&items, "%s%s", items.n ? "," : "", r->calls.v);
  j->fresh.failed |= items.failed;
  add_response(j, status, &items);
  rlx_str_deinit(&items);
}

static void fail(sv_job *j, unsigned http, const char *message) {
  begin_event(j, "error");
  rlx_str_add(&j->fresh,
              "\"code\":\"%s\",\"param\":null,\"message\":", http < 500 ? "invalid_request" : "server_error");
  rlx_str_add_quoted(&j->fresh, message);
  end_event(j);
}

static const sv_style style = {begin_stream, add_part, keep_call, end_run, end, fail};

/* ---- Reading ---- */

static rlx_status take_call(sv_job *j, const json_t *item, const char *where) {
  const char *id = json_string_value(json_object_get(item, "call_id")),
             *name = json_string_value(json_object_get(item, "name")),
             *text = json_string_value(json_object_get(item, "arguments"));
  json_error_t e;
  json_t *arguments = text ? json_loads(text, JSON_REJECT_DUPLICATES, &e) : NULL;
  if (!name || !json_is_object(arguments)) {
    json_decref(arguments);
    return RLX_FAIL(RLX_INVALID, "%s: a function_call: expected a name, and arguments that are a JSON object", where);
  }
  return sv_add_message_object(j, json_pack("{s:s, s:s, s:[{s:s, s:s, s:{s:s, s:o}}]}", "role", "assistant", "content",
                                            "", "tool_calls", "id", id ? id : "", "type", "function", "function",
                                            "name", name, "arguments", arguments));
}

static rlx_status take_text(sv_job *j, const json_t *item, const char *where) {
  const char *role = json_string_value(json_object_get(item, "role"));
  const json_t *content = json_object_get(item, "content");
  rlx_str text = {0};
  if (!role || !*role) return RLX_FAIL(RLX_INVALID, "%s: expected a role", where);
  const bool is_answer = strcmp(role, "assistant") == 0;
  rlx_status s = sv_content_text(content, is_answer ? "output_text" : "input_text", where, &text);
  if (!s) s = sv_add_text_message(j, strcmp(role, "developer") == 0 ? "system" : role, &text);
  rlx_str_deinit(&text);
  return s;
}

static rlx_status take_item(sv_job *j, const json_t *item, size_t i) {
  const char *type = json_string_value(json_object_get(item, "type"));
  char where[40];
  snprintf(where, sizeof where, "input: %zu", i);
  if (!json_is_object(item)) return RLX_FAIL(RLX_INVALID, "%s: expected an object, got %s", where, sv_kind(item));
  if (!type || strcmp(type, "message") == 0) return take_text(j, item, where);
  if (strcmp(type, "function_call") == 0) return take_call(j, item, where);
  if (strcmp(type, "function_call_output") == 0)
    return sv_add_result(j, json_string_value(json_object_get(item, "call_id")), json_object_get(item, "output"),
                         "input_text", where);
  if (strcmp(type, "reasoning") == 0) return RLX_OK; /* thoughts of earlier turns are not part of a prompt */
  return RLX_FAIL(RLX_UNSUPPORTED,
                  "%s: an item of type '%.40s': this server takes message, function_call, "
                  "function_call_output and reasoning",
                  where, type);
}

static rlx_status take_input(sv_fields *f, sv_job *j) {
  const char *instructions = NULL;
  RLX_TRY(sv_take_text(f, "instructions", &instructions));
  const json_t *input = sv_take(f, "input");
  if (instructions)
    RLX_TRY(sv_add_message_object(j, json_pack("{s:s, s:s}", "role", "system", "content", instructions)));
  if (json_is_string(input)) {
    RLX_TRY(sv_add_message_object(
      j, json_pack("{s:s, s:s%}", "role", "user", "content", json_string_value(input), json_string_length(input))));
    return sv_replace_nuls(j);
  }
  size_t n = json_array_size(input);
  if (!n || n > SV_MAX_MESSAGES)
    return RLX_FAIL(RLX_INVALID, "input: expected a text, or a list of 1 to %d items, got %s", (int)SV_MAX_MESSAGES,
                    json_is_array(input) ? "another number" : sv_kind(input));
  for (size_t i = 0; i < n; i++) RLX_TRY(take_item(j, json_array_get(input, i), i));
  return sv_replace_nuls(j);
}

/* {"type":"function","name",..} as a tool in chat.c's form. */
static rlx_status take_tools(sv_fields *f, sv_job *j) {
  json_t *list = NULL;
  RLX_TRY(sv_take_list(f, "tools", &list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    json_t *tool = json_array_get(list, i);
    const char *type = json_string_value(json_object_get(tool, "type")),
               *name = json_string_value(json_object_get(tool, "name"));
    if (!type || strcmp(type, "function") != 0 || !name)
      return RLX_FAIL(RLX_UNSUPPORTED, "tools: %zu: expected a function with a name, got '%.40s'", i, type ? type : "");
    json_t *function = json_object();
    static const char *const members[] = {"name", "description", "parameters"};
    for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
      json_t *v = json_object_get(tool, members[k]);
      if (!v || !function || json_object_set(function, members[k], v) == 0) continue;
      json_decref(function);
      function = NULL;
    }
    RLX_TRY(sv_add_tool(j, function));
  }
  return RLX_OK;
}

static rlx_status take_text_format(sv_fields *f, sv_job *j) {
  json_t *text = NULL;
  RLX_TRY(sv_take_object(f, "text", &text));
  if (!text) return RLX_OK;
  sv_fields inner = {.object = text, .kept = f->kept};
  const json_t *format = sv_take(&inner, "format");
  if (format) RLX_TRY(sv_read_format(j, format, "text.format"));
  RLX_TRY(sv_take_only(&inner, "verbosity", "medium"));
  return sv_fields_finish(&inner);
}

static rlx_status read_body(sv_fields *f, sv_job *j) {
  j->style = &style;
  j->encode = sv_encode_chat;
  j->wants_parts = true;
  RLX_TRY(take_input(f, j));
  RLX_TRY(take_tools(f, j));
  RLX_TRY(sv_take_tool_choice(f, j));
  RLX_TRY(take_text_format(f, j));
  RLX_TRY(sv_take_options(f, j));
  RLX_TRY(sv_take_only(f, "background", "false"));
  RLX_TRY(sv_take_only(f, "truncation", "disabled"));
  return sv_take_stream(f, j);
}

rlx_status sv_responses(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job) {
  static const sv_reader reader = {sv_openai_error, read_body};
  (void)rest, (void)reply;
  return sv_read_job(s, body, &reader, job);
}
