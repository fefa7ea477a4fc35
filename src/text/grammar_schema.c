/* JSON schema (draft 2020-12) to an expression over the text of a value.
 *
 * Each keyword is enforced or refused with its place: a schema that is accepted is kept in full. What the text may look
 * like is narrower than what the schema accepts, in ways that docs/grammar.md lists: members come in the order of the
 * schema, and an object with listed members has no others unless additionalProperties says so.
 *
 * A reference becomes a call of a rule, so schemas may be recursive. allOf is merged into one schema before anything is
 * read (grammar_merge.c), anyOf is a choice between the branches, each merged with what stands beside it, and oneOf the
 * same where it is certain that no value fits two branches. */
#include "text/grammar_schema.h"

#include <string.h>

#include "io/file_json.h"

enum { MAX_NESTING = 120, MAX_MERGES = 200, MANY_CONSTANTS = 16 };

/* ---- Places ---- */

schema_path schema_at(const schema_path *up, const char *key) { return (schema_path){up, key, 0, up->depth + 1}; }
schema_path schema_at_index(const schema_path *up, size_t index) {
  return (schema_path){up, NULL, index, up->depth + 1};
}

static void write_path(const schema_path *at, rlx_str *out) {
  const schema_path *chain[MAX_NESTING * 4];
  size_t n = 0;
  for (; at->up && n < sizeof chain / sizeof *chain; at = at->up) chain[n++] = at;
  while (n-- > 0) {
    rlx_str_add_char(out, '/');
    if (!chain[n]->key) rlx_str_add(out, "%zu", chain[n]->index);
    for (const char *c = chain[n]->key; c && *c; c++) {
      if (*c == '~' || *c == '/') rlx_str_add(out, "~%c", *c == '~' ? '0' : '1');
      else rlx_str_add_char(out, *c);
    }
  }
}

rlx_status schema_fail(const schema_path *at, rlx_status code, const char *fmt, ...) {
  char what[512];
  rlx_str path = {0};
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(what, sizeof what, fmt, args);
  va_end(args);
  write_path(at, &path);
  code = RLX_FAIL(code, "schema: #%.300s: %s", path.v ? path.v : "", what);
  rlx_str_deinit(&path);
  return code;
}

rlx_status schema_no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "reading a schema"); }

/* ---- Keywords ---- */

static bool is_among(const char *list, const char *word) {
  const size_t n = strlen(word);
  for (const char *p = strstr(list, word); n && p; p = strstr(p + 1, word))
    if (p > list && p[-1] == ' ' && p[n] == ' ') return true;
  return false;
}

static const char enforced[] =
  " type enum const properties required additionalProperties patternProperties minProperties maxProperties items"
  " prefixItems minItems maxItems minLength maxLength pattern format minimum maximum exclusiveMinimum"
  " exclusiveMaximum anyOf oneOf allOf $ref ";
/* What says nothing about which values are valid. contentEncoding and the like are annotations by the standard. */
static const char annotations[] =
  " title description default examples deprecated readOnly writeOnly $schema $comment $defs definitions $anchor"
  " contentEncoding contentMediaType contentSchema ";

static rlx_status check_keywords(json_t *schema, const schema_path *at) {
  const char *key;
  json_t *value;
  json_object_foreach(schema, key, value) {
    schema_path here = schema_at(at, key);
    if (is_among(enforced, key) || is_among(annotations, key)) continue;
    if (strcmp(key, "$id") == 0 && !at->up) continue;
    if (strcmp(key, "uniqueItems") == 0 && json_is_false(value)) continue;
    if (strcmp(key, "$id") == 0)
      return schema_fail(&here, RLX_UNSUPPORTED, "'$id' within a schema, which changes what references mean");
    return schema_fail(&here, RLX_UNSUPPORTED, "the keyword '%.100s' is not supported", key);
  }
  return RLX_OK;
}

/* Whether a schema has a keyword that restricts values, other than those of `beside`. */
static bool restricts(json_t *schema, const char *beside) {
  const char *key;
  json_t *value;
  json_object_foreach(schema, key, value) {
    if (!is_among(annotations, key) && !is_among(beside, key) && strcmp(key, "$id") != 0) return true;
  }
  return false;
}

rlx_status schema_count(const json_t *schema, const char *keyword, const schema_path *at, uint32_t *out) {
  const json_t *v = json_object_get(schema, keyword);
  schema_path here = schema_at(at, keyword);
  if (!v) return RLX_OK;
  const double x = json_number_value(v);
  if (!json_is_number(v) || !(x >= 0) || x != (double)(uint64_t)(x < 1e15 ? x : 0))
    return schema_fail(&here, x >= 1e15 ? RLX_LIMIT : RLX_INVALID, "expected a whole number, 0 or more");
  if (x > GRAMMAR_MAX_REPEAT) return schema_fail(&here, RLX_LIMIT, "%.0f is more than %u", x, GRAMMAR_MAX_REPEAT);
  *out = (uint32_t)x;
  return RLX_OK;
}

/* ---- Types ---- */

unsigned schema_type_of(const json_t *value) {
  switch (json_typeof(value)) {
    case JSON_OBJECT: return TYPE_OBJECT;
    case JSON_ARRAY: return TYPE_ARRAY;
    case JSON_STRING: return TYPE_STRING;
    case JSON_INTEGER: return TYPE_INTEGER | TYPE_NUMBER;
    case JSON_REAL: {
      const double x = json_real_value(value);
      const bool is_whole = x > -9e15 && x < 9e15 && x == (double)(int64_t)x;
      return is_whole ? TYPE_INTEGER | TYPE_NUMBER : TYPE_NUMBER;
    }
    case JSON_TRUE:
    case JSON_FALSE: return TYPE_BOOLEAN;
    case JSON_NULL: return TYPE_NULL;
  }
  return 0;
}

static rlx_status type_named(const json_t *name, const schema_path *at, unsigned *types) {
  static const char *const names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
  const char *text = schema_text(name);
  for (unsigned i = 0; text && i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], text) == 0) {
      *types |= 1u << i;
      return RLX_OK;
    }
  return schema_fail(at, RLX_INVALID, "expected the name of a type, got %.100s", text ? text : json_kind_name(name));
}

rlx_status schema_types(const json_t *schema, const schema_path *at, unsigned *types) {
  json_t *v = json_object_get(schema, "type");
  schema_path here = schema_at(at, "type");
  *types = v ? 0 : TYPE_ALL;
  if (!v) return RLX_OK;
  if (!json_is_array(v)) return type_named(v, &here, types);
  for (size_t i = 0; i < json_array_size(v); i++) {
    schema_path element = schema_at_index(&here, i);
    RLX_TRY(type_named(json_array_get(v, i), &element, types));
  }
  return RLX_OK;
}

/* ---- References ---- */

/* The next part of a pointer, decoded: %xx, then ~0 and ~1. */
static rlx_status next_part(const char **at, rlx_str *out) {
  out->n = 0;
  rlx_str_add_bytes(out, "", 0);
  for (; **at && **at != '/'; (*at)++) {
    char c = **at;
    static const char hex[] = "0123456789abcdef0123456789ABCDEF";
    const char *high = c == '%' && (*at)[1] ? strchr(hex, (*at)[1]) : NULL;
    const char *low = high && (*at)[2] ? strchr(hex, (*at)[2]) : NULL;
    if (low) {
      c = (char)(((high - hex) % 16) * 16 + (low - hex) % 16);
      *at += 2;
    }
    if (c == '~' && ((*at)[1] == '0' || (*at)[1] == '1')) c = *++*at == '0' ? '~' : '/';
    if (!c) return RLX_INVALID;
    rlx_str_add_char(out, c);
  }
  return out->failed ? schema_no_memory() : RLX_OK;
}

static json_t *member_of(const json_t *v, const char *part) {
  if (!json_is_array(v)) return json_object_get(v, part);
  size_t index = 0;
  for (const char *c = part; *c; c++) {
    if (*c < '0' || *c > '9' || index > 1000000) return NULL;
    index = index * 10 + (size_t)(*c - '0');
  }
  return *part ? json_array_get(v, index) : NULL;
}

rlx_status schema_resolve(const schema_reader *r, const json_t *ref, const schema_path *at, json_t **out) {
  const char *text = schema_text(ref);
  rlx_str part = {0};
  rlx_status s = RLX_OK;
  if (!text) return schema_fail(at, RLX_INVALID, "expected a text, got %s", json_kind_name(ref));
  if (*text != '#' || (text[1] && text[1] != '/'))
    return schema_fail(at, RLX_UNSUPPORTED, "'%.100s': only references within the document are supported, as #/..",
                       text);
  json_t *v = r->root;
  for (const char *p = text + 1; *p && v && !s;) {
    p++;
    s = next_part(&p, &part);
    if (!s) v = member_of(v, part.v);
  }
  rlx_str_deinit(&part);
  if (s == RLX_NO_MEMORY) return s;
  if (s || !v) return schema_fail(at, RLX_INVALID, "'%.100s' refers to nothing", text);
  *out = v;
  return RLX_OK;
}

/* The rule of what a reference refers to; it is read when it is referred to first. */
static rlx_status read_reference(schema_reader *r, const json_t *ref, const schema_path *at, grammar_ref *out) {
  json_t *target = NULL;
  grammar_ref body;
  RLX_TRY(schema_resolve(r, ref, at, &target));
  for (size_t i = 0; i < r->rules.n; i++)
    if (r->rules.v[i].schema == target) {
      *out = grammar_call(r->t, r->rules.v[i].rule);
      return RLX_OK;
    }
  const char *name = schema_text(ref);
  const uint32_t rule = grammar_rule_add(r->t, name, strlen(name));
  if (!rlx_array_push(&r->rules, ((schema_rule){target, rule}))) return schema_no_memory();
  RLX_TRY(schema_read(r, target, at, &body));
  grammar_rule_set(r->t, rule, body);
  *out = grammar_call(r->t, rule);
  return grammar_tree_check(r->t);
}

/* ---- Combinations ---- */

static rlx_status check_list(const json_t *v, const schema_path *at) {
  if (json_is_array(v) && json_array_size(v)) return RLX_OK;
  return schema_fail(at, RLX_INVALID, "expected a list of schemas, got %s",
                     json_is_array(v) ? "an empty one" : json_kind_name(v));
}

/* One schema for a schema with allOf, or with $ref beside other keywords. */
static rlx_status merge_all(schema_reader *r, json_t *schema, const schema_path *at, json_t **out) {
  for (unsigned n = 0; json_is_object(schema); n++) {
    json_t *ref = json_object_get(schema, "$ref"), *all = json_object_get(schema, "allOf"), *rest, *target = NULL;
    if (n > MAX_MERGES) return schema_fail(at, RLX_UNSUPPORTED, "allOf or $ref without an end");
    if (ref) {
      schema_path here = schema_at(at, "$ref");
      RLX_TRY(schema_resolve(r, ref, &here, &target));
      if (!(rest = schema_without(r, schema, "$ref"))) return schema_no_memory();
      RLX_TRY(schema_merge(r, target, rest, &here, &schema)); /* its members come first */
      continue;
    }
    if (!all) break;
    schema_path here = schema_at(at, "allOf");
    RLX_TRY(check_list(all, &here));
    if (json_array_size(all) > MAX_MERGES)
      return schema_fail(&here, RLX_LIMIT, "more than %d schemas", (int)MAX_MERGES);
    if (!(rest = schema_without(r, schema, "allOf"))) return schema_no_memory();
    for (size_t i = 0; i < json_array_size(all); i++) {
      schema_path element = schema_at_index(&here, i);
      if (json_is_object(json_array_get(all, i))) RLX_TRY(check_keywords(json_array_get(all, i), &element));
      RLX_TRY(schema_merge(r, rest, json_array_get(all, i), &element, &rest));
    }
    schema = rest;
  }
  *out = schema;
  return RLX_OK;
}

static rlx_status check_disjoint(schema_reader *r, const json_t *list, const schema_path *at) {
  for (size_t i = 0; i < json_array_size(list); i++)
    for (size_t k = 0; k < i; k++) {
      if (++r->n_schemas > SCHEMA_MAX_COUNT)
        return schema_fail(at, RLX_LIMIT, "more than %d schemas", (int)SCHEMA_MAX_COUNT);
      if (!schema_are_disjoint(r, json_array_get(list, k), json_array_get(list, i), 0))
        return schema_fail(at, RLX_UNSUPPORTED, "oneOf: schemas %zu and %zu may both fit a value; anyOf allows that", k,
                           i);
    }
  return RLX_OK;
}

static rlx_status read_choice(schema_reader *r, json_t *schema, const char *keyword, const schema_path *at,
                              grammar_ref *out) {
  json_t *list = json_object_get(schema, keyword);
  schema_path here = schema_at(at, keyword);
  RLX_TRY(check_list(list, &here));
  if (strcmp(keyword, "oneOf") == 0) RLX_TRY(check_disjoint(r, list, &here));
  const char *beside = strcmp(keyword, "oneOf") == 0 ? " oneOf " : " anyOf ";
  json_t *base = restricts(schema, beside) ? schema_without(r, schema, keyword) : NULL;
  if (!base && restricts(schema, beside)) return schema_no_memory();
  const size_t n = json_array_size(list);
  grammar_ref *parts = rlx_mem_calloc(n, sizeof *parts);
  rlx_status s = parts ? RLX_OK : schema_no_memory();
  for (size_t i = 0; i < n && !s; i++) {
    schema_path element = schema_at_index(&here, i);
    json_t *branch = json_array_get(list, i);
    if (json_is_object(branch)) s = check_keywords(branch, &element);
    if (!s && base) s = schema_merge(r, base, branch, &element, &branch);
    if (!s) s = schema_read(r, branch, &element, &parts[i]);
  }
  if (!s) *out = grammar_choice(r->t, parts, n);
  rlx_mem_free(parts);
  return s;
}

/* ---- Constants ---- */

static rlx_status read_constants(schema_reader *r, json_t *schema, const schema_path *at, grammar_ref *out) {
  json_t *list = json_object_get(schema, "enum"), *one = json_object_get(schema, "const");
  schema_path here = schema_at(at, one ? "const" : "enum");
  unsigned types;
  if (list && !json_is_array(list))
    return schema_fail(&here, RLX_INVALID, "expected a list, got %s", json_kind_name(list));
  if (restricts(schema, " enum const type "))
    return schema_fail(&here, RLX_UNSUPPORTED, "%s beside keywords other than type", one ? "const" : "enum");
  RLX_TRY(schema_types(schema, at, &types));
  const size_t n = list ? json_array_size(list) : 1;
  grammar_ref *parts = rlx_mem_calloc(n + 1, sizeof *parts);
  rlx_status s = parts ? RLX_OK : schema_no_memory();
  for (size_t i = 0; i < n && !s; i++) {
    const json_t *value = list ? json_array_get(list, i) : one;
    const bool is_valid = schema_type_of(value) & types && (!list || !one || json_equal(value, one));
    if (is_valid) s = schema_constant(r, value, &here, &parts[i]);
  }
  if (!s) *out = grammar_choice(r->t, parts, n);
  rlx_mem_free(parts);
  if (s || n <= MANY_CONSTANTS) return s;
  const uint32_t rule = grammar_rule_add(r->t, "enum", 4); /* one automaton, if it is not too large */
  grammar_rule_set(r->t, rule, *out);
  if (!r->t->failed) r->t->rules.v[rule].is_shared = true;
  if (*out != GRAMMAR_NEVER) *out = grammar_call(r->t, rule);
  return grammar_tree_check(r->t);
}

/* ---- A schema ---- */

static rlx_status read_types(schema_reader *r, json_t *schema, const schema_path *at, grammar_ref *out) {
  grammar_ref parts[8];
  size_t n = 0;
  unsigned types;
  RLX_TRY(schema_types(schema, at, &types));
  if (types & TYPE_NUMBER) types &= ~(unsigned)TYPE_INTEGER;
  if ((types | TYPE_INTEGER) == TYPE_ALL && !restricts(schema, " type ")) {
    *out = grammar_json_value(&r->json);
    return RLX_OK;
  }
  for (unsigned type = TYPE_NULL; type <= TYPE_OBJECT; type *= 2)
    if (types & type) RLX_TRY(schema_shape(r, schema, type, at, &parts[n++]));
  *out = grammar_choice(r->t, parts, n);
  return RLX_OK;
}

rlx_status schema_read(schema_reader *r, json_t *schema, const schema_path *at, grammar_ref *out) {
  *out = GRAMMAR_NEVER;
  if (++r->n_schemas > SCHEMA_MAX_COUNT)
    return schema_fail(at, RLX_LIMIT, "more than %d schemas", (int)SCHEMA_MAX_COUNT);
  if (at->depth > MAX_NESTING)
    return schema_fail(at, RLX_LIMIT, "schemas are nested more than %d deep", (int)MAX_NESTING);
  RLX_TRY(grammar_tree_check(r->t));
  if (json_is_true(schema)) *out = grammar_json_value(&r->json);
  if (json_is_boolean(schema)) return RLX_OK;
  if (!json_is_object(schema))
    return schema_fail(at, RLX_INVALID, "expected a schema, an object or a truth value, got %s",
                       json_kind_name(schema));
  RLX_TRY(check_keywords(schema, at));
  if (json_object_get(schema, "$ref") && !restricts(schema, " $ref ")) {
    schema_path here = schema_at(at, "$ref");
    return read_reference(r, json_object_get(schema, "$ref"), &here, out);
  }
  if (json_object_get(schema, "$ref") || json_object_get(schema, "allOf")) {
    RLX_TRY(merge_all(r, schema, at, &schema));
    if (!json_is_object(schema)) return schema_read(r, schema, at, out);
    RLX_TRY(check_keywords(schema, at));
  }
  if (json_object_get(schema, "oneOf")) return read_choice(r, schema, "oneOf", at, out);
  if (json_object_get(schema, "anyOf")) return read_choice(r, schema, "anyOf", at, out);
  if (json_object_get(schema, "enum") || json_object_get(schema, "const")) return read_constants(r, schema, at, out);
  return read_types(r, schema, at, out);
}

rlx_status grammar_read_schema(grammar_tree *t, const char *text, size_t bytes, grammar_ref *root) {
  schema_reader r = {.t = t, .json = {.tree = t}};
  const schema_path top = {0};
  size_t at = 0;
  while (at < bytes && strchr(" \t\r\n", text[at])) at++;
  if (bytes - at >= 4 && (text[at] == 't' || text[at] == 'f')) { /* a schema may be a truth value, a document may not */
    r.root = text[at] == 't' ? json_true() : json_false();
    return schema_read(&r, r.root, &top, root);
  }
  RLX_TRY(json_load_whole((json_text){text, bytes}, "schema", JSON_MAX_CONFIG, JSON_ALLOW_NUL, &r.root));
  rlx_status s = schema_read(&r, r.root, &top, root);
  for (size_t i = 0; i < r.made.n; i++) json_decref(r.made.v[i]);
  rlx_array_deinit(&r.made);
  rlx_array_deinit(&r.rules);
  json_decref(r.root);
  return s ? s : grammar_tree_check(t);
}
