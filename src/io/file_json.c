/* JSON in two steps: a scanner here finds where the members of an object begin and end; jansson parses each of them.
 *
 * A tree of the whole text could take twenty times its size (a list of ones), and a header is untrusted. The scanner
 * handles strings, brackets and blanks only. jansson parses every name and value that is used, refuses invalid JSON
 * and UTF-8, and limits nesting to 2,048. */
#include "io/file_json.h"

#include <string.h>

#include "base/budget.h"

/* ---- Reading a value ---- */

enum { MAX_VALUE = 1 << 20 }; /* max bytes of a value that is not a string: far above real files */
enum { VALUE_BYTES = 64 };    /* heap bytes per value in jansson: 40 for a number, 90 for a short text */

static void skip_string(json_walk *w);

/* Counts values: each but the first follows a bracket, a comma or a colon. */
static json_tally count(json_text text) {
  json_walk w = json_walk_begin(text, text.v);
  json_tally t = {.values = 1};
  size_t depth = 0;
  while (w.at < w.end) {
    char c = *w.at;
    if (c == '"') {
      skip_string(&w);
      continue;
    }
    t.members += c == ':';
    t.values += c == ',' || c == ':' || c == '[' || c == '{';
    if (c == '[' || c == '{') depth++;
    if ((c == ']' || c == '}') && depth) depth--;
    if (depth > t.depth) t.depth = depth;
    w.at++;
  }
  return t;
}

rlx_status json_check_tally(json_text text, const char *name, size_t max_values, json_tally *out) {
  *out = count(text);
  if (out->depth > JSON_MAX_DEPTH)
    return RLX_FAIL(RLX_LIMIT, "%s: JSON nested %zu deep, the limit is %d", name, out->depth, JSON_MAX_DEPTH);
  if (out->values > max_values)
    return RLX_FAIL(RLX_LIMIT, "%s: %zu JSON values, the limit is %zu", name, out->values, max_values);
  return RLX_OK;
}

/* jansson's memory is not counted by the budget, so it is charged beforehand. */
static rlx_status check_size(json_text text, const char *name, size_t max_values) {
  json_tally t;
  RLX_TRY(json_check_tally(text, name, max_values, &t));
  if (!rlx_budget_allows(t.values * VALUE_BYTES + text.n))
    return RLX_FAIL(RLX_NO_MEMORY, "%s: %zu JSON values", name, t.values);
  return RLX_OK;
}

size_t json_max_vocabulary(size_t n) {
  size_t max = ((size_t)1 << 18) + n / 5;
  return max < (size_t)1 << 22 ? max : (size_t)1 << 22;
}

rlx_status json_load_whole(json_text text, const char *name, size_t max_values, size_t flags, json_t **out) {
  json_error_t e;
  *out = NULL;
  RLX_TRY(check_size(text, name, max_values));
  *out = json_loadb(text.v, text.n, flags | JSON_REJECT_DUPLICATES, &e);
  if (*out) return RLX_OK;
  if (json_error_code(&e) == json_error_out_of_memory) return RLX_FAIL(RLX_NO_MEMORY, "%s", name);
  return RLX_FAIL(RLX_INVALID, "%s: line %d, column %d: %s", name, e.line, e.column, e.text);
}

rlx_status json_load_text(json_text text, const char *whole, json_t **out) {
  json_error_t e;
  size_t at = (size_t)(text.v - whole);
  *out = NULL;
  if (text.n > MAX_VALUE && text.v[0] != '"')
    return RLX_FAIL(RLX_INVALID, "JSON, byte %zu: a value of %zu bytes, expected at most %d", at, text.n, MAX_VALUE);
  RLX_TRY_AT(check_size(text, "a value", JSON_MAX_CONFIG), "byte %zu", at);
  *out = json_loadb(text.v, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
  if (*out) return RLX_OK;
  if (json_error_code(&e) == json_error_out_of_memory) return RLX_FAIL(RLX_NO_MEMORY, "no memory to read JSON");
  return RLX_FAIL(RLX_INVALID, "JSON, byte %zu: %s", at + (size_t)(e.position > 0 ? e.position : 0), e.text);
}

const char *json_kind_name(const json_t *v) {
  static const char *const names[] = {
    [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list", [JSON_STRING] = "a string", [JSON_INTEGER] = "an integer",
    [JSON_REAL] = "a fraction",  [JSON_TRUE] = "true",    [JSON_FALSE] = "false",     [JSON_NULL] = "null",
  };
  return v ? names[json_typeof(v)] : "nothing";
}

/* ---- Walking ---- */

json_walk json_walk_begin(json_text object, const char *whole) {
  return (json_walk){.start = whole, .at = object.v, .end = object.v + object.n};
}

static rlx_status expected(const json_walk *w, const char *what) {
  if (w->at == w->end)
    return RLX_FAIL(RLX_INVALID, "JSON, byte %zu: expected %s, got the end", (size_t)(w->at - w->start), what);
  return RLX_FAIL(RLX_INVALID, "JSON, byte %zu: expected %s, got byte 0x%02x", (size_t)(w->at - w->start), what,
                  (unsigned)(unsigned char)*w->at);
}

static void skip_blanks(json_walk *w) {
  while (w->at < w->end && (*w->at == ' ' || *w->at == '\n' || *w->at == '\t' || *w->at == '\r')) w->at++;
}

static bool accept(json_walk *w, char c) {
  skip_blanks(w);
  if (w->at == w->end || *w->at != c) return false;
  w->at++;
  return true;
}

/* Skips from a quote past the closing one; to the end if there is none. */
static void skip_string(json_walk *w) {
  for (w->at++; w->at < w->end && *w->at != '"'; w->at++)
    if (*w->at == '\\' && w->at + 1 < w->end) w->at++;
  if (w->at < w->end) w->at++;
}

static rlx_status parse_string(json_walk *w, json_t **out) {
  skip_blanks(w);
  if (w->at == w->end || *w->at != '"') return expected(w, "a name in quotes");
  json_text text = {.v = w->at};
  skip_string(w);
  text.n = (size_t)(w->at - text.v);
  return json_load_text(text, w->start, out);
}

/* Skips to the comma or bracket that ends the value. */
static void skip_value(json_walk *w) {
  size_t depth = 0;
  while (w->at < w->end) {
    char c = *w->at;
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return;
    if (c == '"') {
      skip_string(w);
      continue;
    }
    if (c == '{' || c == '[') depth++;
    if (c == '}' || c == ']') depth--;
    w->at++;
  }
}

static rlx_status scan_value(json_walk *w, json_text *value) {
  skip_blanks(w);
  value->v = w->at;
  skip_value(w);
  value->n = (size_t)(w->at - value->v);
  return value->n ? RLX_OK : expected(w, "a value");
}

static rlx_status scan_member(json_walk *w, json_t **key, json_text *value) {
  RLX_TRY(parse_string(w, key));
  if (!accept(w, ':')) return expected(w, "':'");
  return scan_value(w, value);
}

/* Whether another member or element follows; at the end, checks that nothing follows the bracket. */
static rlx_status step(json_walk *w, char open, char close, bool *has_more) {
  const char opening[] = {'\'', open, '\'', '\0'},
             ending[] = {'\'', ',', '\'', ' ', 'o', 'r', ' ', '\'', close, '\'', '\0'};
  *has_more = false;
  if (w->is_over) return RLX_OK;
  if (!w->is_begun && !accept(w, open)) return expected(w, opening);
  bool is_first = !w->is_begun;
  w->is_begun = true;
  if (accept(w, close)) {
    w->is_over = true;
    skip_blanks(w);
    return w->at == w->end ? RLX_OK
                           : expected(w, open == '{' ? "nothing after the last '}'" : "nothing after the last ']'");
  }
  if (!is_first && !accept(w, ',')) return expected(w, ending);
  *has_more = true;
  return RLX_OK;
}

rlx_status json_walk_next(json_walk *w, json_t **key, json_text *value) {
  bool has_more;
  *key = NULL;
  *value = (json_text){0};
  RLX_TRY(step(w, '{', '}', &has_more));
  if (!has_more) return RLX_OK;
  rlx_status s = scan_member(w, key, value);
  if (s) {
    json_decref(*key);
    *key = NULL;
  }
  return s;
}

rlx_status json_walk_element(json_walk *w, json_text *value) {
  bool has_more;
  *value = (json_text){0};
  RLX_TRY(step(w, '[', ']', &has_more));
  return has_more ? scan_value(w, value) : RLX_OK;
}

rlx_meta json_to_meta(const json_t *v) {
  switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_NULL: return (rlx_meta){.kind = RLX_META_NONE};
    case JSON_TRUE:
    case JSON_FALSE: return (rlx_meta){.kind = RLX_META_BOOL, .integer = json_is_true(v), .number = json_is_true(v)};
    case JSON_INTEGER:
      return (rlx_meta){
        .kind = RLX_META_INT, .integer = json_integer_value(v), .number = (double)json_integer_value(v)};
    case JSON_REAL: return (rlx_meta){.kind = RLX_META_FLOAT, .number = json_real_value(v)};
    case JSON_STRING:
      return (rlx_meta){.kind = RLX_META_TEXT, .text = json_string_value(v), .n = json_string_length(v)};
    default: return (rlx_meta){.kind = RLX_META_LIST, .n = json_is_array(v) ? json_array_size(v) : json_object_size(v)};
  }
}
