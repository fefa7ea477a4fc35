/* The values of one type that a schema allows: strings, numbers, arrays, objects; and constants.
 *
 * The members of an object come in the order of its schema, because an automaton that accepts every order needs a state
 * for every set of members. Behind the listed ones come additional ones, whose names must differ from those. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/file_json.h"
#include "text/grammar_schema.h"

enum { MAX_DIGITS = 60, MAX_MEMBERS = 1000 };

static bool is_there(const json_t *schema, const char *keyword) { return json_object_get(schema, keyword) != NULL; }

/* ---- Constants ---- */

static rlx_status write_number(const json_t *v, rlx_str *out) {
  if (json_is_integer(v)) rlx_str_add(out, "%lld", (long long)json_integer_value(v));
  else rlx_str_add_double(out, json_real_value(v));
  return out->failed ? schema_no_memory() : RLX_OK;
}

static grammar_ref quoted(grammar_tree *t, const json_t *string) {
  grammar_ref quote = GRAMMAR_LITERAL(t, "\"");
  return GRAMMAR_SEQUENCE_OF(t, quote, grammar_json_text(t, json_string_value(string), json_string_length(string)),
                             quote);
}

static grammar_ref number_constant(grammar_tree *t, const json_t *v) {
  rlx_str text = {0};
  if (write_number(v, &text) && !t->failed) t->failed = RLX_NO_MEMORY;
  grammar_ref node = grammar_text(t, text.v, text.n);
  rlx_str_deinit(&text);
  return node;
}

/* Elements or members, with what stands between them. */
static rlx_status container(schema_reader *r, const json_t *value, const schema_path *at, grammar_ref *out) {
  grammar_tree *t = r->t;
  const bool is_list = json_is_array(value);
  const size_t n = is_list ? json_array_size(value) : json_object_size(value);
  grammar_ref blank = grammar_json_blank(&r->json), comma = GRAMMAR_LITERAL(t, ",");
  grammar_ref *parts = rlx_mem_calloc(6 * n + 4, sizeof *parts);
  size_t k = 0;
  void *member = is_list ? NULL : json_object_iter((json_t *)(uintptr_t)value);
  rlx_status s = parts ? RLX_OK : schema_no_memory();
  if (!s) parts[k++] = is_list ? GRAMMAR_LITERAL(t, "[") : GRAMMAR_LITERAL(t, "{");
  if (!s) parts[k++] = blank;
  for (size_t i = 0; i < n && !s; i++) {
    if (i) parts[k++] = comma, parts[k++] = blank;
    if (!is_list) {
      const char *key = json_object_iter_key(member);
      grammar_ref quote = GRAMMAR_LITERAL(t, "\"");
      parts[k++] = GRAMMAR_SEQUENCE_OF(t, quote, grammar_json_text(t, key, strlen(key)), GRAMMAR_LITERAL(t, "\":"));
      parts[k++] = blank;
    }
    s = schema_constant(r, is_list ? json_array_get(value, i) : json_object_iter_value(member), at, &parts[k++]);
    if (!is_list) member = json_object_iter_next((json_t *)(uintptr_t)value, member);
  }
  if (!s && n) parts[k++] = blank;
  if (!s) parts[k++] = is_list ? GRAMMAR_LITERAL(t, "]") : GRAMMAR_LITERAL(t, "}");
  if (!s) *out = grammar_sequence(t, parts, k);
  rlx_mem_free(parts);
  return s;
}

rlx_status schema_constant(schema_reader *r, const json_t *value, const schema_path *at, grammar_ref *out) {
  schema_path inside = schema_at(at, "");
  if (inside.depth > GRAMMAR_MAX_DEPTH) return schema_fail(at, RLX_LIMIT, "a constant is nested too deep");
  switch (json_typeof(value)) {
    case JSON_NULL: *out = GRAMMAR_LITERAL(r->t, "null"); break;
    case JSON_TRUE: *out = GRAMMAR_LITERAL(r->t, "true"); break;
    case JSON_FALSE: *out = GRAMMAR_LITERAL(r->t, "false"); break;
    case JSON_STRING: *out = quoted(r->t, value); break;
    case JSON_INTEGER:
    case JSON_REAL: *out = number_constant(r->t, value); break;
    case JSON_ARRAY:
    case JSON_OBJECT: return container(r, value, &inside, out);
  }
  return grammar_tree_check(r->t);
}

/* ---- Numbers ---- */

/* A bound as a decimal without exponent. */
static rlx_status plain_decimal(const json_t *v, const schema_path *at, char text[MAX_DIGITS + 8]) {
  rlx_str s = {0};
  if (!json_is_number(v)) return schema_fail(at, RLX_INVALID, "expected a number, got %s", json_kind_name(v));
  rlx_status status = write_number(v, &s);
  const char *e = status ? NULL : strpbrk(s.v, "eE");
  int digits = 17;
  if (e) { /* so many digits behind the point that none is lost */
    digits = 17 - (int)floor(log10(fabs(json_number_value(v))));
    if (digits < 0) digits = 0;
  }
  const double x = json_number_value(v);
  if (!status && (digits > MAX_DIGITS / 2 || (e && fabs(x) > 1e30) || s.n > MAX_DIGITS))
    status = schema_fail(at, RLX_UNSUPPORTED, "the bound %g has too many digits", x);
  rlx_os_locale before; /* the point is a point, whatever the program's locale */
  rlx_os_locale_begin(&before);
  if (!status && e) snprintf(text, MAX_DIGITS + 8, "%.*f", digits, x);
  rlx_os_locale_end(&before);
  if (!status && !e) memcpy(text, s.v, s.n + 1);
  rlx_str_deinit(&s);
  return status;
}

static rlx_status find_bound(json_t *schema, const char *with, const char *without, bool is_low, const schema_path *at,
                             char text[MAX_DIGITS + 8], const char **bound, bool *is_out) {
  json_t *x = json_object_get(schema, with), *y = json_object_get(schema, without);
  schema_path here = schema_at(at, x ? with : without);
  *bound = NULL;
  if (!x && !y) return RLX_OK;
  if (x && y && json_is_number(x) && json_is_number(y)) { /* the one that excludes more */
    const double a = json_number_value(x), b = json_number_value(y);
    *is_out = is_low ? b >= a : b <= a;
  } else {
    *is_out = y != NULL;
  }
  RLX_TRY(plain_decimal(*is_out ? y : x, &here, text));
  *bound = text;
  return RLX_OK;
}

static rlx_status read_number(schema_reader *r, json_t *schema, bool is_integer, const schema_path *at,
                              grammar_ref *out) {
  char min[MAX_DIGITS + 8], max[MAX_DIGITS + 8];
  grammar_bounds b = {0};
  RLX_TRY(find_bound(schema, "minimum", "exclusiveMinimum", true, at, min, &b.min, &b.min_is_out));
  RLX_TRY(find_bound(schema, "maximum", "exclusiveMaximum", false, at, max, &b.max, &b.max_is_out));
  if (b.min || b.max) *out = grammar_json_bounded(r->t, &b, is_integer);
  else *out = is_integer ? grammar_json_integer(&r->json) : grammar_json_number(&r->json);
  return grammar_tree_check(r->t);
}

/* ---- Strings ---- */

static grammar_ref lexeme(schema_reader *r, const char *name, grammar_ref body) {
  const uint32_t rule = grammar_rule_add(r->t, name, strlen(name));
  grammar_rule_set(r->t, rule, body);
  if (!r->t->failed) r->t->rules.v[rule].is_shared = true;
  return grammar_call(r->t, rule);
}

static rlx_status read_pattern(schema_reader *r, const char *pattern, size_t bytes, grammar_ref *out) {
  grammar_ref body, quote = GRAMMAR_LITERAL(r->t, "\"");
  RLX_TRY(grammar_read_regex(r->t, pattern, bytes, (grammar_regex_mode){.in_json = true, .search = true}, &body));
  *out = lexeme(r, "string", GRAMMAR_SEQUENCE_OF(r->t, quote, body, quote));
  return RLX_OK;
}

static rlx_status read_string(schema_reader *r, json_t *schema, const schema_path *at, grammar_ref *out) {
  const json_t *pattern = json_object_get(schema, "pattern"), *format = json_object_get(schema, "format");
  const bool has_length = is_there(schema, "minLength") || is_there(schema, "maxLength");
  const char *text = NULL;
  if ((pattern != NULL) + (format != NULL) + has_length > 1)
    return schema_fail(at, RLX_UNSUPPORTED, "'%s' beside '%s'", pattern ? "pattern" : "format",
                       pattern && format               ? "format"
                       : is_there(schema, "minLength") ? "minLength"
                                                       : "maxLength");
  if (pattern || format) {
    schema_path here = schema_at(at, pattern ? "pattern" : "format");
    text = pattern ? json_string_value(pattern) : schema_text(format);
    size_t bytes = json_string_length(pattern ? pattern : format);
    if (!text)
      return schema_fail(&here, RLX_INVALID, "expected a text, got %s", json_kind_name(pattern ? pattern : format));
    const char *known = format ? grammar_json_format(text) : text;
    if (!known) return schema_fail(&here, RLX_UNSUPPORTED, "the format '%.100s' is not supported", text);
    if (format) bytes = strlen(known);
    rlx_status s = read_pattern(r, known, bytes, out);
    return s ? rlx_fail_frame(s, "schema") : RLX_OK;
  }
  uint32_t min = 0, max = GRAMMAR_MANY;
  RLX_TRY(schema_count(schema, "minLength", at, &min));
  RLX_TRY(schema_count(schema, "maxLength", at, &max));
  *out = GRAMMAR_NEVER;
  if (!min && max == GRAMMAR_MANY) *out = grammar_json_string(&r->json);
  else if (min <= max) {
    grammar_ref quote = GRAMMAR_LITERAL(r->t, "\"");
    grammar_ref all = grammar_repeat(r->t, grammar_json_character(&r->json), min, max);
    *out = GRAMMAR_SEQUENCE_OF(r->t, quote, all, quote);
  }
  return grammar_tree_check(r->t);
}

/* ---- Arrays ---- */

static grammar_ref after_comma(schema_reader *r, grammar_ref item) {
  return GRAMMAR_SEQUENCE_OF(r->t, GRAMMAR_LITERAL(r->t, ","), grammar_json_blank(&r->json), item);
}

/* A part that need not be written out where it is used. */
static grammar_ref as_rule(schema_reader *r, const char *name, grammar_ref body) {
  const uint32_t rule = grammar_rule_add(r->t, name, strlen(name));
  grammar_rule_set(r->t, rule, body);
  return body == GRAMMAR_NEVER || body == GRAMMAR_EMPTY ? body : grammar_call(r->t, rule);
}

/* items[0 .. n - 1] in front, then `others`; from the last one back. */
static grammar_ref tuple(schema_reader *r, const grammar_ref *items, uint32_t n, grammar_ref others, uint32_t min,
                         uint32_t max) {
  grammar_tree *t = r->t;
  grammar_ref blank = grammar_json_blank(&r->json);
  if (max < min) return GRAMMAR_NEVER;
  grammar_ref rest = grammar_repeat(t, after_comma(r, others), min > n ? min - n : 0,
                                    max == GRAMMAR_MANY ? max
                                    : max > n           ? max - n
                                                        : 0);
  for (uint32_t i = n < max ? n : max; i-- > 1;) {
    grammar_ref with = as_rule(r, "items", GRAMMAR_SEQUENCE_OF(t, after_comma(r, items[i]), rest));
    rest = i < min ? with : grammar_optional(t, with);
  }
  grammar_ref all = max ? GRAMMAR_SEQUENCE_OF(t, items[0], rest, blank) : GRAMMAR_EMPTY;
  if (!min) all = grammar_optional(t, all);
  return GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "["), blank, all, GRAMMAR_LITERAL(t, "]"));
}

static rlx_status read_tuple(schema_reader *r, json_t *list, grammar_ref others, uint32_t min, uint32_t max,
                             const schema_path *at, grammar_ref *out) {
  schema_path here = schema_at(at, "prefixItems");
  if (!json_is_array(list) || !json_array_size(list))
    return schema_fail(&here, RLX_INVALID, "expected a list of schemas");
  const uint32_t n = (uint32_t)json_array_size(list);
  grammar_ref *items = rlx_mem_calloc(n, sizeof *items);
  rlx_status s = items ? RLX_OK : schema_no_memory();
  for (uint32_t i = 0; i < n && !s; i++) {
    schema_path element = schema_at_index(&here, i);
    s = schema_read(r, json_array_get(list, i), &element, &items[i]);
    if (!s && items[i] == GRAMMAR_NEVER && i < max) max = i;
  }
  if (!s && others == GRAMMAR_NEVER && max > n) max = n;
  if (!s) *out = tuple(r, items, n, others, min, max);
  rlx_mem_free(items);
  return s;
}

static rlx_status read_array(schema_reader *r, json_t *schema, const schema_path *at, grammar_ref *out) {
  json_t *items = json_object_get(schema, "items"), *prefix = json_object_get(schema, "prefixItems");
  schema_path here = schema_at(at, "items");
  uint32_t min = 0, max = GRAMMAR_MANY;
  grammar_ref item = grammar_json_value(&r->json);
  RLX_TRY(schema_count(schema, "minItems", at, &min));
  RLX_TRY(schema_count(schema, "maxItems", at, &max));
  if (json_is_array(items))
    return schema_fail(&here, RLX_UNSUPPORTED, "a list of schemas: since draft 2020-12 that is prefixItems");
  if (items) RLX_TRY(schema_read(r, items, &here, &item));
  if (prefix) return read_tuple(r, prefix, item, min, max, at, out);
  if (item == GRAMMAR_NEVER) max = 0;
  *out = GRAMMAR_NEVER;
  if (min <= max)
    *out = items || min || max != GRAMMAR_MANY ? grammar_json_list(&r->json, '[', item, min, max, ']')
                                               : grammar_json_array(&r->json);
  return grammar_tree_check(r->t);
}

/* ---- Objects ---- */

typedef struct members {
  RLX_ARRAY(const char *) names;
  RLX_ARRAY(grammar_ref) nodes; /* of each, name and value */
  RLX_ARRAY(bool) required;
  bool is_impossible; /* one is required that no value fits */
  grammar_ref other;  /* an additional member; GRAMMAR_NEVER: none */
} members;

static rlx_status requires(json_t *schema, const schema_path *at, const char *name, bool *out) {
  json_t *list = json_object_get(schema, "required");
  schema_path here = schema_at(at, "required");
  *out = false;
  if (list && !json_is_array(list)) return schema_fail(&here, RLX_INVALID, "expected a list of names");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *v = schema_text(json_array_get(list, i));
    schema_path element = schema_at_index(&here, i);
    if (!v) return schema_fail(&element, RLX_INVALID, "expected a name");
    if (name && strcmp(v, name) == 0) *out = true;
  }
  return RLX_OK;
}

static grammar_ref member_node(schema_reader *r, const char *name, grammar_ref value) {
  grammar_tree *t = r->t;
  grammar_ref quote = GRAMMAR_LITERAL(t, "\"");
  return GRAMMAR_SEQUENCE_OF(t, quote, grammar_json_text(t, name, strlen(name)), GRAMMAR_LITERAL(t, "\":"),
                             grammar_json_blank(&r->json), value);
}

static rlx_status add_member(schema_reader *r, members *m, const char *name, grammar_ref value, bool is_required) {
  if (!rlx_array_reserve(&m->names, 1) || !rlx_array_reserve(&m->nodes, 1) || !rlx_array_reserve(&m->required, 1))
    return schema_no_memory();
  m->names.v[m->names.n++] = name;
  if (value == GRAMMAR_NEVER) {
    m->is_impossible |= is_required;
    return RLX_OK; /* the name is taken all the same */
  }
  m->nodes.v[m->nodes.n++] = member_node(r, name, value);
  m->required.v[m->required.n++] = is_required;
  return RLX_OK;
}

/* The names of patternProperties are told from listed ones by asking the pattern's automaton. */
static rlx_status matches(const char *pattern, const char *name, bool *out) {
  grammar_tree t;
  grammar_ref node;
  grammar_dfas d = {0};
  uint64_t work = 1 << 22;
  uint32_t start = 0, at;
  RLX_TRY(grammar_tree_init(&t));
  rlx_status s = grammar_read_regex(&t, pattern, strlen(pattern), (grammar_regex_mode){.search = true}, &node);
  if (!s && (!rlx_array_reserve(&d.next, 256) || !rlx_array_push(&d.flags, 0))) s = schema_no_memory();
  if (!s) {
    memset(d.next.v, 0, 256 * sizeof *d.next.v);
    d.next.n = 256;
    s = grammar_dfa_build(&t, node, 4096, &work, &d, &start);
  }
  if (!s && !start) s = RLX_FAIL(RLX_LIMIT, "the pattern is too large");
  at = start;
  for (const char *c = name; !s && *c; c++) at = d.next.v[(size_t)at * 256 + (unsigned char)*c];
  *out = !s && d.flags.v[at] & DFA_ACCEPTS;
  rlx_array_deinit(&d.next);
  rlx_array_deinit(&d.flags);
  grammar_tree_deinit(&t);
  return s;
}

/* Names of additional members: all but those listed. At each character of their trie: one that no listed name has
 * there, and then anything; or one that some have, and on; or the end, if no listed name ends. `list` is not sorted:
 * names are few. */
static grammar_ref other_names(schema_reader *r, const char *const *names, size_t n, size_t depth) {
  grammar_tree *t = r->t;
  const grammar_range all = {0, 0x10ffff};
  grammar_range *taken = rlx_mem_calloc(2 * n + 8, sizeof *taken), *free_ones = taken ? taken + n + 4 : NULL;
  const char **rest = rlx_mem_calloc(n + 1, sizeof *rest);
  grammar_ref *parts = rlx_mem_calloc(n + 3, sizeof *parts), node = GRAMMAR_NEVER;
  size_t n_taken = 0, k = 0;
  bool ends = false;
  if (!taken || !rest || !parts || depth > GRAMMAR_MAX_DEPTH) {
    if (!t->failed) t->failed = depth > GRAMMAR_MAX_DEPTH ? RLX_LIMIT : RLX_NO_MEMORY;
    n = 0;
  }
  for (size_t i = 0; i < n && !t->failed; i++) {
    const size_t bytes = rlx_utf8_length(names[i], strlen(names[i]));
    bool is_new = bytes > 0;
    ends |= !bytes;
    for (size_t m = 0; m < i && is_new; m++) is_new = strncmp(names[m], names[i], bytes) != 0;
    if (!is_new) continue;
    size_t n_rest = 0;
    for (size_t m = i; m < n; m++)
      if (strncmp(names[m], names[i], bytes) == 0) rest[n_rest++] = names[m] + bytes;
    uint32_t code = 0; /* UTF-8, checked by jansson */
    for (size_t b = 0; b < bytes; b++)
      code = b ? code << 6 | ((unsigned char)names[i][b] & 0x3fu)
               : (unsigned char)names[i][b] & (bytes == 1 ? 0x7fu : 0xffu >> (bytes + 1));
    taken[n_taken++] = (grammar_range){code, code};
    grammar_ref below = other_names(r, rest, n_rest, depth + 1);
    parts[k++] = GRAMMAR_SEQUENCE_OF(t, grammar_json_text(t, names[i], bytes), below);
  }
  if (!t->failed) {
    n_taken = grammar_ranges_sort(taken, n_taken);
    const size_t n_free = grammar_ranges_invert(taken, n_taken, free_ones);
    grammar_ref any = grammar_repeat(t, grammar_json_class(t, &all, 1), 0, GRAMMAR_MANY);
    parts[k++] = GRAMMAR_SEQUENCE_OF(t, grammar_json_class(t, free_ones, n_free), any);
    if (!ends) parts[k++] = GRAMMAR_EMPTY;
    node = grammar_choice(t, parts, k);
  }
  rlx_mem_free(taken);
  rlx_mem_free(rest);
  rlx_mem_free(parts);
  return node;
}

static rlx_status read_patterns(schema_reader *r, json_t *patterns, members *m, const schema_path *at) {
  const char *pattern;
  json_t *value;
  schema_path here = schema_at(at, "patternProperties");
  grammar_tree *t = r->t;
  if (!json_is_object(patterns)) return schema_fail(&here, RLX_INVALID, "expected an object");
  if (json_object_size(patterns) > 1)
    return schema_fail(&here, RLX_UNSUPPORTED, "more than one pattern, which may match the same name");
  json_object_foreach(patterns, pattern, value) {
    schema_path element = schema_at(&here, pattern);
    grammar_ref name, node;
    for (size_t i = 0; i < m->names.n; i++) {
      bool is_match;
      rlx_status s = matches(pattern, m->names.v[i], &is_match);
      if (s) return s == RLX_NO_MEMORY ? s : schema_fail(&element, s, "the pattern is not supported");
      if (is_match)
        return schema_fail(&element, RLX_UNSUPPORTED, "the pattern matches the name '%.100s', which is listed",
                           m->names.v[i]);
    }
    rlx_status s = read_pattern(r, pattern, strlen(pattern), &name);
    if (s) return rlx_fail_frame(s, "schema: patternProperties");
    RLX_TRY(schema_read(r, value, &element, &node));
    m->other = GRAMMAR_SEQUENCE_OF(t, name, GRAMMAR_LITERAL(t, ":"), grammar_json_blank(&r->json), node);
  }
  return grammar_tree_check(t);
}

static rlx_status read_others(schema_reader *r, json_t *schema, members *m, const schema_path *at) {
  json_t *extra = json_object_get(schema, "additionalProperties"),
         *patterns = json_object_get(schema, "patternProperties");
  schema_path here = schema_at(at, "additionalProperties");
  grammar_tree *t = r->t;
  grammar_ref value = grammar_json_value(&r->json), name;
  if (patterns && extra && !json_is_false(extra))
    return schema_fail(&here, RLX_UNSUPPORTED, "additionalProperties other than false beside patternProperties");
  if (patterns) return read_patterns(r, patterns, m, at);
  if (!extra && m->names.n) return RLX_OK;
  if (extra) RLX_TRY(schema_read(r, extra, &here, &value));
  if (value == GRAMMAR_NEVER) return RLX_OK;
  if (m->names.n) {
    grammar_ref quote = GRAMMAR_LITERAL(t, "\"");
    name = lexeme(r, "name", GRAMMAR_SEQUENCE_OF(t, quote, other_names(r, m->names.v, m->names.n, 0), quote));
  } else {
    name = grammar_json_string(&r->json);
  }
  m->other = GRAMMAR_SEQUENCE_OF(t, name, GRAMMAR_LITERAL(t, ":"), grammar_json_blank(&r->json), value);
  return grammar_tree_check(t);
}

/* Names that are required and not listed come behind the listed ones. */
static rlx_status add_required(schema_reader *r, json_t *schema, members *m, const schema_path *at) {
  json_t *list = json_object_get(schema, "required"), *extra = json_object_get(schema, "additionalProperties");
  schema_path here = schema_at(at, "required");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *name = schema_text(json_array_get(list, i));
    bool is_known = false;
    grammar_ref value = grammar_json_value(&r->json);
    for (size_t k = 0; k < m->names.n && !is_known; k++) is_known = strcmp(m->names.v[k], name) == 0;
    if (is_known) continue;
    if (json_object_get(schema, "patternProperties"))
      return schema_fail(&here, RLX_UNSUPPORTED, "'%.100s' is not listed, beside patternProperties", name);
    if (extra) {
      schema_path there = schema_at(at, "additionalProperties");
      RLX_TRY(schema_read(r, extra, &there, &value));
    }
    RLX_TRY(add_member(r, m, name, value, true));
  }
  return RLX_OK;
}

static rlx_status read_members(schema_reader *r, json_t *schema, members *m, const schema_path *at) {
  json_t *list = json_object_get(schema, "properties"), *value;
  const char *name;
  schema_path here = schema_at(at, "properties");
  bool is_required;
  if (list && !json_is_object(list)) return schema_fail(&here, RLX_INVALID, "expected an object");
  if (json_object_size(list) > MAX_MEMBERS || json_array_size(json_object_get(schema, "required")) > MAX_MEMBERS)
    return schema_fail(at, RLX_LIMIT, "more than %d members", (int)MAX_MEMBERS);
  RLX_TRY(requires(schema, at, NULL, &is_required));
  json_object_foreach(list, name, value) {
    schema_path element = schema_at(&here, name);
    grammar_ref node;
    RLX_TRY(requires(schema, at, name, &is_required));
    RLX_TRY(schema_read(r, value, &element, &node));
    RLX_TRY(add_member(r, m, name, node, is_required));
  }
  RLX_TRY(add_required(r, schema, m, at));
  return read_others(r, schema, m, at);
}

/* The members in their order. What follows the k-th one is a rule, as each may be the first that is there. */
static grammar_ref member_list(schema_reader *r, const members *m, bool *may_be_empty) {
  grammar_tree *t = r->t;
  const size_t n = m->nodes.n;
  grammar_ref *starts = rlx_mem_calloc(n + 2, sizeof *starts), rest, all;
  if (!starts) {
    if (!t->failed) t->failed = RLX_NO_MEMORY;
    return GRAMMAR_NEVER;
  }
  size_t k = 0;
  rest = m->other == GRAMMAR_NEVER ? GRAMMAR_EMPTY : grammar_repeat(t, after_comma(r, m->other), 0, GRAMMAR_MANY);
  *may_be_empty = true;
  if (m->other != GRAMMAR_NEVER) starts[k++] = GRAMMAR_SEQUENCE_OF(t, m->other, rest);
  for (size_t i = n; i-- > 0;) {
    if (m->required.v[i]) {
      k = 0; /* nothing behind it can be the first one */
      *may_be_empty = false;
    }
    starts[k++] = GRAMMAR_SEQUENCE_OF(t, m->nodes.v[i], rest);
    if (!i) break;
    grammar_ref part = after_comma(r, m->nodes.v[i]);
    if (!m->required.v[i]) part = grammar_optional(t, part);
    rest = as_rule(r, "members", GRAMMAR_SEQUENCE_OF(t, part, rest));
  }
  all = grammar_choice(t, starts, k);
  rlx_mem_free(starts);
  return all;
}

/* Only names that may be anything are counted: a member that comes twice counts once for a validator. */
static rlx_status count_members(schema_reader *r, json_t *schema, const members *m, const schema_path *at,
                                grammar_ref *out) {
  uint32_t min = 0, max = GRAMMAR_MANY;
  RLX_TRY(schema_count(schema, "minProperties", at, &min));
  RLX_TRY(schema_count(schema, "maxProperties", at, &max));
  if (m->names.n || min > 1)
    return schema_fail(at, RLX_UNSUPPORTED, "minProperties above 1, or beside listed members, or maxProperties so");
  *out = GRAMMAR_NEVER;
  if (m->other == GRAMMAR_NEVER) max = 0;
  if (min <= max) *out = grammar_json_list(&r->json, '{', m->other, min, max, '}');
  return grammar_tree_check(r->t);
}

static rlx_status read_object(schema_reader *r, json_t *schema, const schema_path *at, grammar_ref *out) {
  grammar_tree *t = r->t;
  members m = {0};
  rlx_status s = read_members(r, schema, &m, at);
  if (!s && (is_there(schema, "minProperties") || is_there(schema, "maxProperties"))) {
    s = count_members(r, schema, &m, at, out);
  } else if (!s) {
    bool may_be_empty = false;
    grammar_ref blank = grammar_json_blank(&r->json), list = member_list(r, &m, &may_be_empty);
    grammar_ref all = GRAMMAR_SEQUENCE_OF(t, list, blank);
    if (may_be_empty) all = grammar_optional(t, all);
    *out = m.is_impossible ? GRAMMAR_NEVER
                           : GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "{"), blank, all, GRAMMAR_LITERAL(t, "}"));
    s = grammar_tree_check(t);
  }
  rlx_array_deinit(&m.names);
  rlx_array_deinit(&m.nodes);
  rlx_array_deinit(&m.required);
  return s;
}

rlx_status schema_shape(schema_reader *r, json_t *schema, unsigned type, const schema_path *at, grammar_ref *out) {
  switch (type) {
    case TYPE_NULL: *out = GRAMMAR_LITERAL(r->t, "null"); return RLX_OK;
    case TYPE_BOOLEAN:
      *out = GRAMMAR_CHOICE_OF(r->t, GRAMMAR_LITERAL(r->t, "true"), GRAMMAR_LITERAL(r->t, "false"));
      return RLX_OK;
    case TYPE_INTEGER: return read_number(r, schema, true, at, out);
    case TYPE_NUMBER: return read_number(r, schema, false, at, out);
    case TYPE_STRING: return read_string(r, schema, at, out);
    case TYPE_ARRAY: return read_array(r, schema, at, out);
    default: return read_object(r, schema, at, out);
  }
}
