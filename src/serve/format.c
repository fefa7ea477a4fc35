/* What an answer must be: a JSON object, JSON of a schema, or the call of a tool. Each becomes a schema, by which the
 * model's thread makes a grammar that the tokens follow. */
#include <string.h>

#include "serve/serve.h"

rlx_status sv_read_format(sv_job *j, const json_t *format, const char *name) {
  (void)j;
  const char *type = json_string_value(json_object_get(format, "type"));
  if (!json_is_object(format)) return RLX_FAIL(RLX_INVALID, "%s: expected an object, got %s", name, sv_kind(format));
  if (type && strcmp(type, "text") == 0) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "%s: type '%.40s': this server knows text", name, type ? type : "");
}

rlx_status sv_take_format(sv_fields *f, sv_job *j, const char *name) {
  const json_t *format = sv_take(f, name);
  return format ? sv_read_format(j, format, name) : RLX_OK;
}

rlx_status sv_choose_tool(sv_job *j, const char *name) {
  (void)j;
  return RLX_FAIL(RLX_UNSUPPORTED, "tool_choice: this server cannot force a call of '%.40s'", name ? name : "");
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
