/* What an answer must be: JSON, JSON of a schema, a text of a grammar, or the call of a tool. Each is kept as text of
 * a grammar, and the model's thread makes the grammar itself, because it needs the model's vocabulary. */
#include <string.h>

#include "base/mem.h"
#include "serve/serve.h"

/* ---- Reading ---- */

static rlx_status set_form(sv_job *j, rlx_grammar_kind kind, const char *text, size_t bytes, const char *name) {
  if (j->has_form) return RLX_FAIL(RLX_INVALID, "%s: the request has another form for the answer already", name);
  j->has_form = true;
  j->form_kind = kind;
  rlx_str_add_bytes(&j->form, text, bytes);
  return j->form.failed ? RLX_FAIL(RLX_NO_MEMORY, "%s", name) : RLX_OK;
}

static rlx_status set_schema(sv_job *j, const json_t *schema, const char *name) {
  rlx_str text = {0};
  if (!json_is_object(schema) && !json_is_boolean(schema))
    return RLX_FAIL(RLX_INVALID, "%s: expected a JSON schema, got %s", name, sv_kind(schema));
  sv_add_json(&text, schema);
  rlx_status s =
    text.failed ? RLX_FAIL(RLX_NO_MEMORY, "%s", name) : set_form(j, RLX_GRAMMAR_JSON_SCHEMA, text.v, text.n, name);
  rlx_str_deinit(&text);
  return s;
}

/* {"type":"json_schema"} has its schema beside the type, or in a member of that name. */
rlx_status sv_read_format(sv_job *j, const json_t *format, const char *name) {
  const char *type = json_string_value(json_object_get(format, "type"));
  if (!json_is_object(format)) return RLX_FAIL(RLX_INVALID, "%s: expected an object, got %s", name, sv_kind(format));
  if (type && strcmp(type, "text") == 0) return RLX_OK;
  if (type && strcmp(type, "json_object") == 0) return set_form(j, RLX_GRAMMAR_JSON, "", 0, name);
  if (!type || strcmp(type, "json_schema") != 0)
    return RLX_FAIL(RLX_INVALID, "%s: expected the type text, json_object or json_schema, got '%.40s'", name,
                    type ? type : "");
  const json_t *inner = json_object_get(format, "json_schema");
  return set_schema(j, json_object_get(json_is_object(inner) ? inner : format, "schema"), name);
}

/* A grammar as text, a schema, a pattern: members of llama.cpp's server. */
static rlx_status take_grammar(sv_fields *f, sv_job *j) {
  const char *grammar = NULL, *pattern = NULL;
  RLX_TRY(sv_take_text(f, "grammar", &grammar));
  RLX_TRY(sv_take_text(f, "regex", &pattern));
  const json_t *schema = sv_take(f, "json_schema");
  if (grammar) RLX_TRY(set_form(j, RLX_GRAMMAR_GBNF, grammar, strlen(grammar), "grammar"));
  if (pattern) RLX_TRY(set_form(j, RLX_GRAMMAR_REGEX, pattern, strlen(pattern), "regex"));
  return schema ? set_schema(j, schema, "json_schema") : RLX_OK;
}

rlx_status sv_take_format(sv_fields *f, sv_job *j, const char *name) {
  const json_t *format = sv_take(f, name);
  if (format) RLX_TRY(sv_read_format(j, format, name));
  return take_grammar(f, j);
}

/* ---- Calls that must be ---- */

/* Definitions that a tool's parameters refer to, from their root to that of the whole schema. */
static rlx_status hoist(json_t *root, json_t *parameters, const char *key) {
  json_t *own = json_object_get(parameters, key), *all = json_object_get(root, key), *v;
  const char *name;
  if (!json_is_object(own)) return RLX_OK;
  if (!all) {
    all = json_object();
    if (!all || json_object_set_new(root, key, all)) return RLX_FAIL(RLX_NO_MEMORY, "tools");
  }
  json_object_foreach(own, name, v) {
    const json_t *other = json_object_get(all, name);
    if (other && !json_equal(other, v))
      return RLX_FAIL(RLX_UNSUPPORTED, "tools: two of them define '%.60s' differently", name);
    if (!other && json_object_set(all, name, v)) return RLX_FAIL(RLX_NO_MEMORY, "tools");
  }
  json_object_del(parameters, key);
  return RLX_OK;
}

/* {"name": the tool's, "arguments": its parameters}; takes `parameters`. */
static json_t *call_schema(const char *name, json_t *parameters) {
  return json_pack("{s:s, s:{s:{s:s}, s:o}, s:[s, s], s:b}", "type", "object", "properties", "name", "const", name,
                   "arguments", parameters, "required", "name", "arguments", "additionalProperties", 0);
}

static rlx_status add_tool(json_t *root, json_t *choices, const json_t *tool) {
  const json_t *function = json_object_get(tool, "function"), *given = json_object_get(function, "parameters");
  const char *name = json_string_value(json_object_get(function, "name"));
  if (!name) return RLX_FAIL(RLX_INVALID, "tools: expected a function with a name");
  json_t *parameters = json_is_object(given) ? json_deep_copy(given) : json_pack("{s:s}", "type", "object");
  if (!parameters) return RLX_FAIL(RLX_NO_MEMORY, "tools");
  rlx_status s = hoist(root, parameters, "$defs");
  if (!s) s = hoist(root, parameters, "definitions");
  if (s) {
    json_decref(parameters);
    return s;
  }
  json_t *schema = call_schema(name, parameters);
  return schema && json_array_append_new(choices, schema) == 0 ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "tools");
}

static rlx_status add_tools(const sv_job *j, const char *name, json_t *root, json_t *choices) {
  for (size_t i = 0; i < json_array_size(j->tools); i++) {
    const json_t *tool = json_array_get(j->tools, i);
    const char *own = json_string_value(json_object_get(json_object_get(tool, "function"), "name"));
    if (!name || (own && strcmp(own, name) == 0)) RLX_TRY(add_tool(root, choices, tool));
  }
  if (json_array_size(choices)) return RLX_OK;
  return name ? RLX_FAIL(RLX_INVALID, "tool_choice: no tool has the name '%.60s'", name)
              : RLX_FAIL(RLX_INVALID, "tool_choice: there are no tools");
}

rlx_status sv_choose_tool(sv_job *j, const char *name) {
  json_t *root = json_object(), *choices = json_array();
  rlx_status s = root && choices && json_object_set(root, "anyOf", choices) == 0 ? add_tools(j, name, root, choices)
                                                                                 : RLX_FAIL(RLX_NO_MEMORY, "tools");
  if (!s) s = set_schema(j, root, "tool_choice");
  j->must_call = true;
  json_decref(choices);
  json_decref(root);
  return s;
}

/* "none", "auto", "required", or {"type":"function","function":{"name":..}} (also with the name beside the type). */
rlx_status sv_take_tool_choice(sv_fields *f, sv_job *j) {
  const json_t *v = sv_take(f, "tool_choice");
  const char *word = json_string_value(v), *name = json_string_value(json_object_get(v, "name"));
  RLX_TRY(sv_take_only(f, "parallel_tool_calls", "true"));
  if (!v) return RLX_OK;
  if (json_is_object(v)) {
    if (!name) name = json_string_value(json_object_get(json_object_get(v, "function"), "name"));
    if (!name) return RLX_FAIL(RLX_INVALID, "tool_choice: expected a function with a name");
    return sv_choose_tool(j, name);
  }
  if (word && strcmp(word, "auto") == 0) return RLX_OK;
  if (word && strcmp(word, "required") == 0) return sv_choose_tool(j, NULL);
  if (!word || strcmp(word, "none") != 0)
    return RLX_FAIL(RLX_INVALID, "tool_choice: expected none, auto, required or a function, got %s", sv_kind(v));
  j->tools = NULL;
  return RLX_OK;
}

/* ---- The grammar ---- */

static void forget(sv_form *f) {
  rlx_grammar_destroy(f->grammar);
  rlx_str_deinit(&f->text);
  *f = (sv_form){0};
}

void sv_forget_forms(sv_model *m) {
  for (size_t i = 0; i < SV_FORMS; i++) forget(&m->forms[i]);
}

/* Clients ask for the same form again and again: the last ones are kept. */
rlx_status sv_make_grammar(sv_job *j, const rlx_grammar **out) {
  sv_model *m = j->model;
  sv_form *oldest = &m->forms[0];
  *out = NULL;
  if (!j->has_form) return RLX_OK;
  for (size_t i = 0; i < SV_FORMS; i++) {
    sv_form *f = &m->forms[i];
    if (f->used < oldest->used) oldest = f;
    if (!f->grammar || f->kind != j->form_kind || f->text.n != j->form.n) continue;
    if (f->text.n && memcmp(f->text.v, j->form.v, f->text.n) != 0) continue;
    f->used = ++m->n_forms;
    *out = f->grammar;
    return RLX_OK;
  }
  forget(oldest);
  RLX_TRY(rlx_grammar_create(j->tokenizer, j->form_kind, j->form.n ? j->form.v : "", j->form.n, &oldest->grammar));
  rlx_str_add_bytes(&oldest->text, j->form.v, j->form.n);
  oldest->kind = j->form_kind;
  oldest->used = ++m->n_forms;
  *out = oldest->grammar;
  if (!oldest->text.failed) return RLX_OK;
  forget(oldest);
  return RLX_FAIL(RLX_NO_MEMORY, "a grammar");
}
