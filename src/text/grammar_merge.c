/* Two schemas as one that accepts what both accept, and schemas that exclude each other.
 *
 * Merging is shallow: where both say something about the same part, the part becomes an allOf of both, which is merged
 * when it is read. */
#include <string.h>

#include "io/file_json.h"
#include "text/grammar_schema.h"

json_t *schema_own(schema_reader *r, json_t *made) {
  if (!made || rlx_array_push(&r->made, made)) return made;
  json_decref(made);
  return NULL;
}

json_t *schema_without(schema_reader *r, const json_t *schema, const char *keyword) {
  json_t *copy = schema_own(r, json_copy((json_t *)(uintptr_t)schema)); /* jansson counts references in it */
  if (copy && json_object_get(copy, keyword)) (void)json_object_del(copy, keyword);
  return copy;
}

static rlx_status set(json_t *object, const char *key, json_t *value) {
  return json_object_set(object, key, value) ? schema_no_memory() : RLX_OK;
}

static rlx_status set_new(json_t *object, const char *key, json_t *value) {
  return !value || json_object_set_new(object, key, value) ? schema_no_memory() : RLX_OK;
}

/* What both a and b accept. */
static json_t *both(json_t *a, json_t *b) { return json_pack("{s:[O,O]}", "allOf", a, b); }

/* ---- Merging ---- */

static rlx_status merge_types(json_t *out, json_t *b, const schema_path *at) {
  static const char *const names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
  unsigned x, y;
  RLX_TRY(schema_types(out, at, &x));
  RLX_TRY(schema_types(b, at, &y));
  if (x & TYPE_NUMBER) x |= TYPE_INTEGER;
  if (y & TYPE_NUMBER) y |= TYPE_INTEGER;
  json_t *list = json_array();
  for (unsigned i = 0; list && i < sizeof names / sizeof *names; i++)
    if (x & y & (1u << i) && json_array_append_new(list, json_string(names[i]))) {
      json_decref(list);
      list = NULL;
    }
  return set_new(out, "type", list);
}

static rlx_status merge_required(json_t *out, json_t *a, json_t *b, const schema_path *at) {
  if (!json_is_array(a) || !json_is_array(b)) return schema_fail(at, RLX_INVALID, "required: expected a list of names");
  json_t *list = json_copy(a);
  if (!list) return schema_no_memory();
  for (size_t i = 0; i < json_array_size(b); i++)
    if (json_array_append(list, json_array_get(b, i))) {
      json_decref(list);
      return schema_no_memory();
    }
  return set_new(out, "required", list);
}

static rlx_status merge_constants(json_t *out, json_t *b, const schema_path *at) {
  json_t *sets[4] = {json_object_get(out, "enum"), json_object_get(b, "enum"), NULL, NULL};
  json_t *ones[2] = {json_object_get(out, "const"), json_object_get(b, "const")}, *list = json_array();
  json_t *from = sets[0] ? sets[0] : sets[1];
  rlx_status s = list ? RLX_OK : schema_no_memory();
  for (size_t i = 0; i < (from ? json_array_size(from) : 1) && !s; i++) {
    json_t *v = from ? json_array_get(from, i) : ones[0] ? ones[0] : ones[1];
    bool stays = (!ones[0] || json_equal(v, ones[0])) && (!ones[1] || json_equal(v, ones[1]));
    for (size_t k = 0; k < 2 && stays; k++) {
      bool is_there = !sets[k];
      for (size_t m = 0; sets[k] && m < json_array_size(sets[k]) && !is_there; m++)
        is_there = json_equal(json_array_get(sets[k], m), v) != 0;
      stays = is_there;
    }
    if (stays && json_array_append(list, v)) s = schema_no_memory();
  }
  if (!s && ((sets[0] && !json_is_array(sets[0])) || (sets[1] && !json_is_array(sets[1]))))
    s = schema_fail(at, RLX_INVALID, "enum: expected a list");
  if (!s) s = set(out, "enum", list);
  if (!s && ones[0]) (void)json_object_del(out, "const");
  json_decref(list);
  return s;
}

/* What a schema says about members that it does not list; NULL: nothing. */
static rlx_status other_members(json_t *schema, const schema_path *at, json_t **out) {
  *out = json_object_get(schema, "additionalProperties");
  if (!*out || !json_object_get(schema, "patternProperties")) return RLX_OK;
  return schema_fail(at, RLX_UNSUPPORTED, "patternProperties and additionalProperties in schemas that are merged");
}

/* The members of both; one that only one of them lists is for the other one an additional one. */
static rlx_status merge_members(json_t *out, json_t *a, json_t *b, const schema_path *at) {
  json_t *x = json_object_get(a, "properties"), *y = json_object_get(b, "properties"), *others_a, *others_b, *v;
  const char *key;
  RLX_TRY(other_members(a, at, &others_a));
  RLX_TRY(other_members(b, at, &others_b));
  if ((x && !json_is_object(x)) || (y && !json_is_object(y)))
    return schema_fail(at, RLX_INVALID, "properties: expected an object");
  if (!x && !y) return RLX_OK;
  json_t *all = json_object();
  rlx_status s = all ? RLX_OK : schema_no_memory();
  json_object_foreach(x, key, v) {
    json_t *other = json_object_get(y, key);
    if (!other) other = others_b;
    if (!s) s = other ? set_new(all, key, both(v, other)) : set(all, key, v);
  }
  json_object_foreach(y, key, v) {
    if (s || json_object_get(x, key)) continue;
    s = others_a ? set_new(all, key, both(v, others_a)) : set(all, key, v);
  }
  if (!s) s = set(out, "properties", all);
  json_decref(all);
  return s;
}

static bool is_lower_bound(const char *key) {
  return strncmp(key, "min", 3) == 0 || strcmp(key, "exclusiveMinimum") == 0;
}
static bool is_upper_bound(const char *key) {
  return strncmp(key, "max", 3) == 0 || strcmp(key, "exclusiveMaximum") == 0;
}

static rlx_status merge_lists(json_t *out, const char *key, json_t *a, json_t *b, const schema_path *at) {
  if (!json_is_array(a) || !json_is_array(b)) return schema_fail(at, RLX_INVALID, "%s: expected a list", key);
  json_t *list = json_copy(a);
  rlx_status s = list ? RLX_OK : schema_no_memory();
  for (size_t i = 0; i < json_array_size(b) && !s; i++)
    if (json_array_append(list, json_array_get(b, i))) s = schema_no_memory();
  if (!s) s = set(out, key, list);
  json_decref(list);
  return s;
}

/* A second reference waits in allOf. */
static rlx_status add_reference(json_t *out, json_t *ref, const schema_path *at) {
  json_t *list = json_pack("[{s:O}]", "$ref", ref), *had = json_object_get(out, "allOf");
  if (!list) return schema_no_memory();
  rlx_status s = had ? merge_lists(out, "allOf", had, list, at) : set(out, "allOf", list);
  json_decref(list);
  return s;
}

/* A keyword that both have. */
static rlx_status merge_keyword(json_t *out, const char *key, json_t *x, json_t *y, const schema_path *at) {
  if (json_equal(x, y)) return RLX_OK;
  if (strcmp(key, "$ref") == 0) return add_reference(out, y, at);
  if (strcmp(key, "required") == 0) return merge_required(out, x, y, at);
  if (strcmp(key, "allOf") == 0) return merge_lists(out, key, x, y, at);
  if (strcmp(key, "items") == 0 || strcmp(key, "additionalProperties") == 0) return set_new(out, key, both(x, y));
  if (json_is_number(x) && json_is_number(y) && (is_lower_bound(key) || is_upper_bound(key))) {
    const bool second = (json_number_value(y) > json_number_value(x)) == is_lower_bound(key);
    return second ? set(out, key, y) : RLX_OK;
  }
  return schema_fail(at, RLX_UNSUPPORTED, "'%.100s' in two schemas that are merged", key);
}

static bool has_special_rule(const char *key) {
  return strcmp(key, "type") == 0 || strcmp(key, "properties") == 0 || strcmp(key, "enum") == 0 ||
         strcmp(key, "const") == 0;
}

static bool is_annotation(const char *key) {
  static const char *const names[] = {"title",        "description",     "default",
                                      "examples",     "deprecated",      "readOnly",
                                      "writeOnly",    "$schema",         "$id",
                                      "$comment",     "$defs",           "definitions",
                                      "$anchor",      "contentEncoding", "contentMediaType",
                                      "contentSchema"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], key) == 0) return true;
  return false;
}

/* Lists of schemas by place are not merged, so what the other says about places must not apply to them. */
static bool has_places(const json_t *s) { return json_object_get(s, "prefixItems") != NULL; }

static rlx_status merge_into(json_t *out, json_t *a, json_t *b, const schema_path *at) {
  const char *key;
  json_t *y;
  if (has_places(a) != has_places(b) && (json_object_get(a, "items") || json_object_get(b, "items")) &&
      json_object_get(has_places(a) ? b : a, "items"))
    return schema_fail(at, RLX_UNSUPPORTED, "prefixItems and items in schemas that are merged");
  RLX_TRY(merge_types(out, b, at));
  RLX_TRY(merge_members(out, a, b, at));
  if (json_object_get(b, "enum") || json_object_get(b, "const")) RLX_TRY(merge_constants(out, b, at));
  json_object_foreach(b, key, y) {
    json_t *x = json_object_get(out, key);
    if (has_special_rule(key) || is_annotation(key)) continue;
    RLX_TRY(x ? merge_keyword(out, key, x, y, at) : set(out, key, y));
  }
  return RLX_OK;
}

rlx_status schema_merge(schema_reader *r, json_t *a, json_t *b, const schema_path *at, json_t **out) {
  if (json_is_true(a) || json_is_false(b)) {
    *out = b;
    return RLX_OK;
  }
  if (json_is_true(b) || json_is_false(a)) {
    *out = a;
    return RLX_OK;
  }
  if (!json_is_object(a) || !json_is_object(b))
    return schema_fail(at, RLX_INVALID, "expected a schema, got %s", json_kind_name(json_is_object(a) ? b : a));
  r->n_schemas += 1 + (uint32_t)((json_object_size(a) + json_object_size(json_object_get(a, "properties")) +
                                  json_object_size(json_object_get(b, "properties"))) /
                                 64);
  if (r->n_schemas > SCHEMA_MAX_COUNT) return schema_fail(at, RLX_LIMIT, "more than %d schemas", (int)SCHEMA_MAX_COUNT);
  json_t *copy = schema_own(r, json_copy(a));
  if (!copy) return schema_no_memory();
  if (json_object_get(copy, "$id")) (void)json_object_del(copy, "$id"); /* of the document */
  *out = copy;
  return merge_into(copy, a, b, at);
}

/* ---- Schemas that exclude each other ---- */

static const json_t *follow(const schema_reader *r, const json_t *s) {
  const schema_path top = {0};
  for (unsigned i = 0; i < 16 && json_object_get(s, "$ref"); i++) {
    json_t *target = NULL;
    if (schema_resolve(r, json_object_get(s, "$ref"), &top, &target)) return s;
    s = target;
  }
  return s;
}

/* The constants of a schema: their number, 0 if it has none. */
static size_t constants(const json_t *s) {
  const json_t *list = json_object_get(s, "enum");
  return json_object_get(s, "const") ? 1 : json_is_array(list) ? json_array_size(list) : 0;
}

static const json_t *constant_at(const json_t *s, size_t i) {
  const json_t *one = json_object_get(s, "const");
  return one ? one : json_array_get(json_object_get(s, "enum"), i);
}

/* 1 and 1.0 are equal. */
static bool is_same(const json_t *a, const json_t *b) {
  if (json_is_number(a) && json_is_number(b)) {
    const double x = json_number_value(a), y = json_number_value(b);
    return !(x < y) && !(x > y);
  }
  /* Lists and objects may hold such numbers: taken as equal. */
  if ((json_is_array(a) && json_is_array(b)) || (json_is_object(a) && json_is_object(b))) return true;
  return json_equal(a, b) != 0;
}

static bool excludes_constants(const json_t *a, const json_t *b) {
  const size_t n = constants(a), m = constants(b);
  unsigned types;
  const schema_path top = {0};
  if (n && m) {
    for (size_t i = 0; i < n; i++)
      for (size_t k = 0; k < m; k++)
        if (is_same(constant_at(a, i), constant_at(b, k))) return false;
    return true;
  }
  if ((!n && !m) || schema_types(n ? b : a, &top, &types)) return false;
  for (size_t i = 0; i < n + m; i++)
    if (schema_type_of(constant_at(n ? a : b, i)) & types) return false;
  return true;
}

static bool requires(const json_t *s, const char *name) {
  const json_t *list = json_object_get(s, "required");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *v = schema_text(json_array_get(list, i));
    if (v && strcmp(v, name) == 0) return true;
  }
  return false;
}

static bool is_only(const json_t *s, unsigned type) {
  const schema_path top = {0};
  unsigned types;
  return !schema_types(s, &top, &types) && types == type;
}

/* Objects are told apart by a member that one of them requires and that fits only one of them. */
static bool excludes_members(const schema_reader *r, const json_t *a, const json_t *b, unsigned depth) {
  json_t *x = json_object_get(a, "properties"), *y = json_object_get(b, "properties"), *v;
  const char *key;
  if (!is_only(a, TYPE_OBJECT) || !is_only(b, TYPE_OBJECT)) return false;
  json_object_foreach(x, key, v) {
    json_t *other = json_object_get(y, key);
    if (other && (requires(a, key) || requires(b, key)) && schema_are_disjoint(r, v, other, depth + 1)) return true;
    if (!other && requires(a, key) && json_is_false(json_object_get(b, "additionalProperties")) &&
        !json_object_get(b, "patternProperties"))
      return true;
  }
  json_object_foreach(y, key, v) {
    if (!json_object_get(x, key) && requires(b, key) && json_is_false(json_object_get(a, "additionalProperties")) &&
        !json_object_get(a, "patternProperties"))
      return true;
  }
  return false;
}

static bool is_below(const json_t *a, const json_t *b) {
  const json_t *most = json_object_get(a, "maximum"), *out = json_object_get(a, "exclusiveMaximum");
  const json_t *least = json_object_get(b, "minimum"), *above = json_object_get(b, "exclusiveMinimum");
  if (json_is_number(most) && json_is_number(least) && json_number_value(most) < json_number_value(least)) return true;
  if (json_is_number(most) && json_is_number(above) && json_number_value(most) <= json_number_value(above)) return true;
  return json_is_number(out) && json_is_number(least) && json_number_value(out) <= json_number_value(least);
}

bool schema_are_disjoint(const schema_reader *r, const json_t *a, const json_t *b, unsigned depth) {
  const schema_path top = {0};
  unsigned x, y;
  a = follow(r, a);
  b = follow(r, b);
  if (json_is_false(a) || json_is_false(b)) return true;
  if (depth > 8 || !json_is_object(a) || !json_is_object(b)) return false;
  if (schema_types(a, &top, &x) || schema_types(b, &top, &y)) return false;
  if (x & TYPE_NUMBER) x |= TYPE_INTEGER;
  if (y & TYPE_NUMBER) y |= TYPE_INTEGER;
  if (!(x & y) || excludes_constants(a, b) || excludes_members(r, a, b, depth)) return true;
  return !(x & y & ~(unsigned)(TYPE_NUMBER | TYPE_INTEGER)) && (is_below(a, b) || is_below(b, a));
}
