/* The input of a chat template: JSON, or messages, as values.
 *
 * All text in it is content, with two exceptions. The role of a message, if it is one of the usual ones: templates make
 * markers of it ("<|" + role + "|>"), and nobody can hide anything in a word from a fixed list. And the texts of BOS,
 * EOS and their like, which are the file's. */
#include <stdio.h>
#include <string.h>

#include "io/file_json.h"
#include "text/chat_program.h"

static bool is_usual_role(const char *p, size_t n) {
  static const char *const roles[] = {
    "assistant",      "chatbot",     "context",  "control",   "critic",     "developer", "document",
    "documents",      "environment", "function", "human",     "ipython",    "model",     "observation",
    "system",         "thinking",    "tool",     "tool_call", "tool_calls", "tool_plan", "tool_response",
    "tool_responses", "tool_result", "tools",    "user",
  };
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (strlen(roles[i]) == n && memcmp(roles[i], p, n) == 0) return true;
  return false;
}

static rlx_status put_text(jinja_run *r, jinja_dict *d, const char *name, const char *p, size_t n, bool is_content) {
  const jinja_text *key, *t;
  RLX_TRY(jinja_text_copy(r, name, strlen(name), false, &key));
  RLX_TRY(jinja_text_copy(r, p, n, is_content, &t));
  return jinja_dict_put(r, d, jinja_of_text(key), jinja_of_text(t));
}

static rlx_status put(jinja_run *r, jinja_dict *d, const char *name, jinja_value v) {
  const jinja_text *key;
  RLX_TRY(jinja_text_copy(r, name, strlen(name), false, &key));
  return jinja_dict_put(r, d, jinja_of_text(key), v);
}

/* ---- JSON ---- */

/* Where a value is: only "role" of an element of the top "messages" is a role. */
typedef enum place { TOP, MESSAGES, MESSAGE, ELSEWHERE } place;

static rlx_status value_of(jinja_run *r, json_t *j, place at, bool is_role, jinja_value *out);

static rlx_status dict_of(jinja_run *r, json_t *j, place at, jinja_value *out) {
  jinja_dict *d;
  const char *name;
  json_t *member;
  RLX_TRY(jinja_dict_new(r, json_object_size(j), &d));
  json_object_foreach(j, name, member) {
    const jinja_text *key;
    jinja_value v;
    size_t n = strlen(name);
    place inside = at == TOP && strcmp(name, "messages") == 0 ? MESSAGES : ELSEWHERE;
    RLX_TRY(jinja_text_copy(r, name, n, at != TOP, &key));
    RLX_TRY(value_of(r, member, inside, at == MESSAGE && strcmp(name, "role") == 0, &v));
    RLX_TRY(jinja_dict_put(r, d, jinja_of_text(key), v));
  }
  *out = jinja_of_dict(d);
  return RLX_OK;
}

static rlx_status list_of(jinja_run *r, json_t *j, place at, jinja_value *out) {
  jinja_list *l;
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, json_array_size(j), &l));
  for (size_t i = 0; i < json_array_size(j); i++) {
    jinja_value v;
    RLX_TRY(value_of(r, json_array_get(j, i), at == MESSAGES ? MESSAGE : ELSEWHERE, false, &v));
    RLX_TRY(jinja_list_push(r, l, v));
  }
  *out = jinja_of_list(l);
  return RLX_OK;
}

static rlx_status text_of(jinja_run *r, json_t *j, bool is_role, jinja_value *out) {
  const char *p = json_string_value(j);
  size_t n = json_string_length(j);
  const jinja_text *t;
  RLX_TRY(jinja_text_copy(r, p, n, !(is_role && is_usual_role(p, n)), &t));
  *out = jinja_of_text(t);
  return RLX_OK;
}

static rlx_status value_of(jinja_run *r, json_t *j, place at, bool is_role, jinja_value *out) {
  rlx_status s = RLX_OK;
  RLX_TRY(jinja_deeper(r));
  *out = jinja_none();
  switch (json_typeof(j)) {
    case JSON_OBJECT: s = dict_of(r, j, at, out); break;
    case JSON_ARRAY: s = list_of(r, j, at, out); break;
    case JSON_STRING: s = text_of(r, j, is_role, out); break;
    case JSON_INTEGER: *out = jinja_int(json_integer_value(j)); break;
    case JSON_REAL: *out = jinja_float(json_real_value(j)); break;
    case JSON_NULL: break;
    default: *out = jinja_bool(json_is_true(j)); break;
  }
  out->is_content = out->kind == JINJA_INT || out->kind == JINJA_FLOAT;
  r->depth--;
  return s;
}

rlx_status chat_input_json(jinja_run *r, const char *json, size_t bytes, jinja_dict **out) {
  enum { MAX_VALUES = 1 << 20 };
  json_t *root;
  jinja_value v = jinja_none();
  RLX_TRY(json_load_whole((json_text){json, bytes}, "the input of a chat template", MAX_VALUES, JSON_ALLOW_NUL, &root));
  rlx_status s = RLX_OK;
  if (!json_is_object(root) || !json_is_array(json_object_get(root, "messages")))
    s = RLX_FAIL(RLX_INVALID, "the input of a chat template: expected an object with a list \"messages\", got %s",
                 json_is_object(root) ? "an object without" : json_kind_name(root));
  if (!s) s = value_of(r, root, TOP, false, &v);
  json_decref(root);
  *out = v.kind == JINJA_DICT ? v.dict : NULL;
  return s;
}

/* ---- Messages ---- */

rlx_status chat_input_messages(jinja_run *r, const rlx_chat_message *messages, size_t n, bool reply, jinja_dict **out) {
  jinja_list *l;
  RLX_TRY(jinja_list_new(r, JINJA_ARRAY, n, &l));
  for (size_t i = 0; i < n; i++) {
    const rlx_chat_message *m = &messages[i];
    jinja_dict *d;
    if (!m->role || !m->text) return RLX_FAIL(RLX_INVALID, "message %zu has no %s", i, m->role ? "text" : "role");
    RLX_TRY(jinja_dict_new(r, 2, &d));
    RLX_TRY(put_text(r, d, "role", m->role, strlen(m->role), !is_usual_role(m->role, strlen(m->role))));
    RLX_TRY(put_text(r, d, "content", m->text, strlen(m->text), true));
    RLX_TRY(jinja_list_push(r, l, jinja_of_dict(d)));
  }
  RLX_TRY(jinja_dict_new(r, 8, out));
  RLX_TRY(put(r, *out, "messages", jinja_of_list(l)));
  return put(r, *out, "add_generation_prompt", jinja_bool(reply));
}

/* ---- What is always there ---- */

/* The input's own text of this name is taken, but as the file's where it is the same. */
static rlx_status put_special(jinja_run *r, jinja_dict *d, const char *name, const char *text) {
  const jinja_value *given = jinja_dict_member(d, name);
  if (given && !(given->kind == JINJA_TEXT && jinja_text_is(given->text, text))) return RLX_OK;
  return put_text(r, d, name, text, strlen(text), false);
}

rlx_status chat_input_complete(jinja_run *r, const rlx_chat_template *t, const rlx_tokenizer *tok, jinja_dict *input) {
  static const char *const absent[] = {"tools", "documents"};
  bool has_bos = false, has_eos = false;
  for (size_t i = 0; i < t->specials.n; i++) {
    has_bos = has_bos || strcmp(t->specials.v[i].name, "bos_token") == 0;
    has_eos = has_eos || strcmp(t->specials.v[i].name, "eos_token") == 0;
    RLX_TRY(put_special(r, input, t->specials.v[i].name, t->specials.v[i].text));
  }
  const char *bos = tok ? rlx_tokenizer_spelling(tok, rlx_tokenizer_bos(tok)) : NULL;
  const char *eos = tok ? rlx_tokenizer_spelling(tok, rlx_tokenizer_eos(tok)) : NULL;
  if (bos && !has_bos) RLX_TRY(put_special(r, input, "bos_token", bos));
  if (eos && !has_eos) RLX_TRY(put_special(r, input, "eos_token", eos));
  for (size_t i = 0; i < 2; i++)
    if (!jinja_dict_member(input, absent[i])) RLX_TRY(put(r, input, absent[i], jinja_none()));
  if (!jinja_dict_member(input, "add_generation_prompt"))
    RLX_TRY(put(r, input, "add_generation_prompt", jinja_bool(false)));
  return RLX_OK;
}
