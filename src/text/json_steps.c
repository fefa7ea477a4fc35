/* The steps of a tokenizer.json: converts its normalizer and pre_tokenizer to internal steps.
 *
 * Each type is one function in a table. An unknown type is refused by name, since a missing step would change all
 * following ids. Most pre-tokenizers are a pattern and a behaviour. */
#include <jansson.h>
#include <string.h>

#include "text/text.h"

enum { MAX_DEPTH = 16 };

/* ---- Helpers ------------------------------------------------------------------------------------------------- */

static const char *type_of(json_t *step) {
  const char *type = json_string_value(json_object_get(step, "type"));
  return type ? type : "(none)";
}

static bool flag_or(json_t *step, const char *key, bool fallback) {
  json_t *v = json_object_get(step, key);
  return json_is_boolean(v) ? json_is_true(v) : fallback;
}

static rlx_status add_normal(text_desc *d, text_normal_kind kind, text_normal **out) {
  text_normal *grown = rlx_mem_realloc(d->normals, d->n_normals + 1, sizeof *grown);
  if (!grown) return RLX_FAIL(RLX_NO_MEMORY, "tokenizer");
  d->normals = grown;
  *out = &grown[d->n_normals++];
  **out = (text_normal){.kind = kind};
  return RLX_OK;
}

static rlx_status add_split(text_desc *d, text_split_kind kind, text_split **out) {
  text_split *grown = rlx_mem_realloc(d->splits, d->n_splits + 1, sizeof *grown);
  if (!grown) return RLX_FAIL(RLX_NO_MEMORY, "tokenizer");
  d->splits = grown;
  *out = &grown[d->n_splits++];
  **out = (text_split){.kind = kind};
  return RLX_OK;
}

static rlx_status add_pattern(text_desc *d, const char *pattern, text_behavior behavior, bool invert) {
  text_split *s;
  RLX_TRY(add_split(d, SPLIT_PATTERN, &s));
  s->behavior = behavior;
  s->invert = invert;
  return text_pattern_compile(pattern, &s->code);
}

/* Adds a pattern that matches exactly this text. */
static rlx_status add_literal(text_desc *d, text_span text, text_behavior behavior, bool invert) {
  rlx_str pattern = {0};
  for (size_t i = 0; i < text.n; i++) {
    unsigned char c = (unsigned char)text.p[i];
    bool is_plain = c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (is_plain) rlx_str_add_char(&pattern, (char)c);
    else rlx_str_add(&pattern, "\\x{%x}", c);
  }
  rlx_status s =
    pattern.failed || !pattern.v ? RLX_FAIL(RLX_NO_MEMORY, "tokenizer") : add_pattern(d, pattern.v, behavior, invert);
  rlx_str_deinit(&pattern);
  return s;
}

/* Reads {"Regex": ".."} or {"String": ".."}. */
static rlx_status pattern_of(json_t *step, const char **regex, text_span *string) {
  json_t *p = json_object_get(step, "pattern"), *s = json_object_get(p, "String");
  *regex = json_string_value(json_object_get(p, "Regex"));
  if (*regex && strlen(*regex) != json_string_length(json_object_get(p, "Regex")))
    return RLX_FAIL(RLX_UNSUPPORTED, "%s: a pattern with NUL in it", type_of(step));
  if (json_is_string(s)) *string = (text_span){json_string_value(s), json_string_length(s)};
  if (*regex || (json_is_string(s) && string->n)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s has no pattern: expected {\"Regex\": ..} or {\"String\": ..}", type_of(step));
}

/* ---- Normalizers --------------------------------------------------------------------------------------------- */

static rlx_status prepend(json_t *j, text_desc *d) {
  json_t *text = json_object_get(j, "prepend");
  text_normal *n;
  if (!json_is_string(text)) return RLX_FAIL(RLX_INVALID, "Prepend has no text to prepend");
  RLX_TRY(add_normal(d, NORMAL_PREPEND, &n));
  n->to_bytes = json_string_length(text);
  return text_copy(json_string_value(text), n->to_bytes, &n->to);
}

static rlx_status replace(json_t *j, text_desc *d) {
  const char *regex = NULL;
  text_span from = {0};
  text_normal *n;
  json_t *to = json_object_get(j, "content");
  RLX_TRY(pattern_of(j, &regex, &from));
  if (!json_is_string(to)) return RLX_FAIL(RLX_INVALID, "Replace has no content");
  RLX_TRY(add_normal(d, NORMAL_REPLACE, &n));
  n->to_bytes = json_string_length(to);
  RLX_TRY(text_copy(json_string_value(to), n->to_bytes, &n->to));
  if (regex) return text_pattern_compile(regex, &n->code);
  n->from_bytes = from.n;
  return text_copy(from.p, from.n, &n->from);
}

static rlx_status plain_normal(json_t *j, text_desc *d) {
  static const struct {
    const char *type;
    text_normal_kind kind;
  } kinds[] = {{"NFC", NORMAL_NFC},
               {"NFD", NORMAL_NFD},
               {"NFKC", NORMAL_NFKC},
               {"NFKD", NORMAL_NFKD},
               {"Lowercase", NORMAL_LOWERCASE},
               {"StripAccents", NORMAL_STRIP_ACCENTS}};
  text_normal *n;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].type, type_of(j)) == 0) return add_normal(d, kinds[i].kind, &n);
  return RLX_FAIL(RLX_UNSUPPORTED, "normalizer %.100s", type_of(j));
}

static rlx_status bert_normal(json_t *j, text_desc *d) {
  text_normal *n;
  RLX_TRY(add_normal(d, NORMAL_BERT, &n));
  n->clean = flag_or(j, "clean_text", true);
  n->chinese = flag_or(j, "handle_chinese_chars", true);
  n->lowercase = flag_or(j, "lowercase", true);
  n->strip_accents = flag_or(j, "strip_accents", n->lowercase);
  return RLX_OK;
}

static rlx_status strip(json_t *j, text_desc *d) {
  text_normal *n;
  RLX_TRY(add_normal(d, NORMAL_STRIP, &n));
  n->left = flag_or(j, "strip_left", true);
  n->right = flag_or(j, "strip_right", true);
  return RLX_OK;
}

static int digit_of(char c) {
  return c >= 'A' && c <= 'Z'   ? c - 'A'
         : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52
         : c == '+'             ? 62
         : c == '/'             ? 63
                                : -1;
}

/* SentencePiece's precompiled table, base64-encoded. */
static rlx_status precompiled(json_t *j, text_desc *d) {
  json_t *table = json_object_get(j, "precompiled_charsmap");
  const char *p = json_string_value(table);
  text_normal *n;
  if (!p) return RLX_FAIL(RLX_INVALID, "Precompiled has no precompiled_charsmap");
  if (!*p) return RLX_OK;
  RLX_TRY(add_normal(d, NORMAL_CHARSMAP, &n));
  n->to = rlx_mem_alloc(json_string_length(table));
  if (!n->to) return RLX_FAIL(RLX_NO_MEMORY, "a table of %zu bytes", json_string_length(table));
  uint32_t bits = 0;
  int have = 0;
  for (; *p && *p != '='; p++) {
    int digit = digit_of(*p);
    if (digit < 0) return RLX_FAIL(RLX_INVALID, "Precompiled: its table is not in base 64");
    bits = bits << 6 | (uint32_t)digit;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    n->to[n->to_bytes++] = (char)(bits >> have & 0xff);
  }
  return text_check_charsmap(n);
}

/* ---- Pre-tokenizers ------------------------------------------------------------------------------------------ */

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define PUNCTUATION "[!-/:-@\\[-`{-~\\p{P}]"

static rlx_status behavior_of(json_t *j, text_behavior fallback, text_behavior *out) {
  static const char *const names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  const char *name = json_string_value(json_object_get(j, "behavior"));
  *out = fallback;
  if (!name) return RLX_OK;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0) {
      *out = (text_behavior)i;
      return RLX_OK;
    }
  return RLX_FAIL(RLX_UNSUPPORTED, "%s with the behavior '%.100s'", type_of(j), name);
}

static rlx_status add_prefix(text_desc *d, const char *text, bool only_first) {
  text_split *s;
  RLX_TRY(add_split(d, SPLIT_PREFIX, &s));
  s->only_first = only_first;
  return text_copy(text, strlen(text), &s->text);
}

static rlx_status byte_level(json_t *j, text_desc *d) {
  text_split *s;
  if (flag_or(j, "add_prefix_space", true)) RLX_TRY(add_prefix(d, " ", false));
  if (flag_or(j, "use_regex", true)) RLX_TRY(add_pattern(d, GPT2, SPLIT_ISOLATED, false));
  d->byte_level = d->is_spelled = true;
  return add_split(d, SPLIT_BYTES, &s);
}

static rlx_status split(json_t *j, text_desc *d) {
  const char *regex = NULL;
  text_span string = {0};
  text_behavior behavior;
  bool invert = flag_or(j, "invert", false);
  RLX_TRY(pattern_of(j, &regex, &string));
  RLX_TRY(behavior_of(j, SPLIT_ISOLATED, &behavior));
  return regex ? add_pattern(d, regex, behavior, invert) : add_literal(d, string, behavior, invert);
}

static rlx_status digits(json_t *j, text_desc *d) {
  return add_pattern(d, "\\p{N}", flag_or(j, "individual_digits", false) ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS, false);
}

static rlx_status punctuation(json_t *j, text_desc *d) {
  text_behavior behavior;
  RLX_TRY(behavior_of(j, SPLIT_ISOLATED, &behavior));
  return add_pattern(d, PUNCTUATION, behavior, false);
}

static rlx_status whitespace(json_t *j, text_desc *d) {
  (void)j;
  return add_pattern(d, "\\w+|[^\\w\\s]+", SPLIT_REMOVED, true);
}

static rlx_status whitespace_split(json_t *j, text_desc *d) {
  (void)j;
  return add_pattern(d, "\\s+", SPLIT_REMOVED, false);
}

static rlx_status bert_words(json_t *j, text_desc *d) {
  RLX_TRY(whitespace_split(j, d));
  return add_pattern(d, PUNCTUATION, SPLIT_ISOLATED, false);
}

static rlx_status delimiter(json_t *j, text_desc *d) {
  json_t *text = json_object_get(j, "delimiter");
  if (!json_string_length(text)) return RLX_FAIL(RLX_INVALID, "CharDelimiterSplit has no delimiter");
  return add_literal(d, (text_span){json_string_value(text), json_string_length(text)}, SPLIT_REMOVED, false);
}

/* Older files have add_prefix_space, newer ones prepend_scheme. */
static rlx_status metaspace(json_t *j, text_desc *d) {
  const char *mark = json_string_value(json_object_get(j, "replacement"));
  const char *scheme = json_string_value(json_object_get(j, "prepend_scheme"));
  text_split *s;
  if (!mark || !*mark) mark = TEXT_MARK;
  if (!scheme) scheme = flag_or(j, "add_prefix_space", true) ? "always" : "never";
  bool first = strcmp(scheme, "first") == 0, never = strcmp(scheme, "never") == 0;
  if (!first && !never && strcmp(scheme, "always") != 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "Metaspace with the prepend_scheme '%.100s'", scheme);
  RLX_TRY(add_split(d, SPLIT_REPLACE, &s));
  RLX_TRY(text_copy(mark, strlen(mark), &s->text));
  if (!never) RLX_TRY(add_prefix(d, mark, first));
  if (strcmp(mark, TEXT_MARK) == 0) d->space_is_mark = true;
  if (!flag_or(j, "split", true)) return RLX_OK;
  return add_literal(d, (text_span){mark, strlen(mark)}, SPLIT_WITH_NEXT, false);
}

/* ---- The tables ---------------------------------------------------------------------------------------------- */

typedef struct step_type {
  const char *type;
  rlx_status (*add)(json_t *step, text_desc *d);
} step_type;
static const step_type normal_types[] = {{"Prepend", prepend},
                                         {"Replace", replace},
                                         {"NFC", plain_normal},
                                         {"NFD", plain_normal},
                                         {"NFKC", plain_normal},
                                         {"NFKD", plain_normal},
                                         {"Lowercase", plain_normal},
                                         {"StripAccents", plain_normal},
                                         {"BertNormalizer", bert_normal},
                                         {"Strip", strip},
                                         {"Precompiled", precompiled},
                                         {NULL, NULL}};
static const step_type split_types[] = {{"ByteLevel", byte_level},
                                        {"Split", split},
                                        {"Digits", digits},
                                        {"Punctuation", punctuation},
                                        {"Whitespace", whitespace},
                                        {"WhitespaceSplit", whitespace_split},
                                        {"BertPreTokenizer", bert_words},
                                        {"CharDelimiterSplit", delimiter},
                                        {"Metaspace", metaspace},
                                        {NULL, NULL}};

static rlx_status add_steps(json_t *j, const char *what, const char *list, const step_type *types, int depth,
                            text_desc *d) {
  if (!j || json_is_null(j)) return RLX_OK;
  if (depth > MAX_DEPTH) return RLX_FAIL(RLX_UNSUPPORTED, "%s: sequences inside sequences, %d deep", what, depth);
  if (!json_is_object(j)) return RLX_FAIL(RLX_INVALID, "%s is not an object", what);
  if (strcmp(type_of(j), "Sequence") == 0) {
    json_t *steps = json_object_get(j, list), *step;
    size_t i;
    if (!json_is_array(steps)) return RLX_FAIL(RLX_INVALID, "%s: a Sequence without '%s'", what, list);
    for (i = 0; (step = json_array_get(steps, i)); i++) RLX_TRY(add_steps(step, what, list, types, depth + 1, d));
    return RLX_OK;
  }
  for (const step_type *t = types; t->type; t++)
    if (strcmp(t->type, type_of(j)) == 0) {
      RLX_TRY_AT(t->add(j, d), "%s", what);
      return RLX_OK;
    }
  rlx_str known = {0};
  for (const step_type *t = types; t->type; t++) rlx_str_add(&known, " %s", t->type);
  rlx_status s = RLX_FAIL(RLX_UNSUPPORTED, "%s of the type '%.100s' is not known; these are: Sequence%s", what,
                          type_of(j), known.failed ? "" : known.v);
  rlx_str_deinit(&known);
  return s;
}

rlx_status text_json_normals(json_t *j, text_desc *d) {
  return add_steps(j, "normalizer", "normalizers", normal_types, 0, d);
}

/* If byte-level spelling is the last step, as nearly always, the model does it with a table, which is faster than a
 * copy. */
rlx_status text_json_splits(json_t *j, text_desc *d) {
  RLX_TRY(add_steps(j, "pre_tokenizer", "pretokenizers", split_types, 0, d));
  if (d->n_splits && d->splits[d->n_splits - 1].kind == SPLIT_BYTES) {
    d->n_splits--;
    d->is_spelled = false;
  }
  for (size_t i = 0, times = 0; i < d->n_splits; i++) {
    times += d->splits[i].kind == SPLIT_BYTES;
    if (times > (d->is_spelled ? 1u : 0u)) return RLX_FAIL(RLX_UNSUPPORTED, "pre_tokenizer: ByteLevel twice");
  }
  return RLX_OK;
}
