/* tokenizer_config.json: the settings of the tokenizer's class in transformers, next to tokenizer.json.
 *
 * tokenizer.json describes a whole pipeline, but transformers changes it by this file. So every field is one of
 * three: applied (the tokens that begin and end a text, flags of added tokens: from_json.c), compared with the
 * pipeline (here), or listed as harmless in io/file_leftover.def. A field that contradicts the pipeline is refused,
 * because it is unknown which of the two the model was trained with; an unknown field is refused by name. */
#include <jansson.h>
#include <string.h>

#include "io/file_json.h"
#include "io/file_leftover.h"
#include "text/text.h"

rlx_status text_load_config(text_span text, json_t **out) {
  return json_load_whole((json_text){text.p, text.n}, "tokenizer_config.json", JSON_MAX_TOKENIZER_CONFIG,
                         JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, out);
}

static const char *type_of(const json_t *step) {
  const char *type = json_string_value(json_object_get(step, "type"));
  return type ? type : "";
}

/* The first step of a type, also inside sequences; `list` is the member that holds their steps. */
static const json_t *find_step(const json_t *step, const char *type, const char *list, int depth) {
  const json_t *inner, *found = strcmp(type_of(step), type) == 0 ? step : NULL;
  for (size_t i = 0; !found && depth < 8 && (inner = json_array_get(json_object_get(step, list), i)); i++)
    found = find_step(inner, type, list, depth + 1);
  return found;
}

static rlx_status contradicts(const char *field, const json_t *v, const char *pipeline) {
  return RLX_FAIL(RLX_UNSUPPORTED, "tokenizer_config.json's %s is %s, but tokenizer.json %s", field,
                  json_is_true(v) ? "true" : "false", pipeline);
}

/* ---- The blank before a text ---- */

static bool has_prefix_space(const json_t *root) {
  const json_t *pre = json_object_get(root, "pre_tokenizer");
  const json_t *bytes = find_step(pre, "ByteLevel", "pretokenizers", 0);
  const json_t *marks = find_step(pre, "Metaspace", "pretokenizers", 0);
  const char *scheme = json_string_value(json_object_get(marks, "prepend_scheme"));
  if (json_is_true(json_object_get(bytes, "add_prefix_space"))) return true;
  if (marks && (scheme ? strcmp(scheme, "never") != 0 : !json_is_false(json_object_get(marks, "add_prefix_space"))))
    return true;
  return find_step(json_object_get(root, "normalizer"), "Prepend", "normalizers", 0) != NULL;
}

static rlx_status check_prefix_space(const json_t *config, const json_t *root) {
  const json_t *v = json_object_get(config, "add_prefix_space");
  if (!json_is_boolean(v) || json_is_true(v) == has_prefix_space(root)) return RLX_OK;
  return contradicts("add_prefix_space", v,
                     json_is_true(v) ? "puts no blank before a text" : "puts a blank before a text");
}

/* ---- BERT's normalizer ---- */

static rlx_status check_bert(const json_t *config, const json_t *root) {
  static const struct {
    const char *field, *member;
  } pairs[] = {{"do_lower_case", "lowercase"},
               {"strip_accents", "strip_accents"},
               {"tokenize_chinese_chars", "handle_chinese_chars"}};
  const json_t *bert = find_step(json_object_get(root, "normalizer"), "BertNormalizer", "normalizers", 0);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const json_t *v = json_object_get(config, pairs[i].field), *own = json_object_get(bert, pairs[i].member);
    if (!json_is_boolean(v)) continue;
    bool is_applied = json_is_true(own);
    if (!bert && i == 0) is_applied = find_step(json_object_get(root, "normalizer"), "Lowercase", "normalizers", 0);
    if (!bert && i == 1) is_applied = find_step(json_object_get(root, "normalizer"), "StripAccents", "normalizers", 0);
    if (bert && i == 1 && !json_is_boolean(own)) is_applied = json_is_true(json_object_get(bert, "lowercase"));
    if (json_is_true(v) != is_applied)
      return contradicts(pairs[i].field, v, is_applied ? "does that" : "does not do that");
  }
  return RLX_OK;
}

/* ---- Further special tokens ---- */

/* A token as "<x>" or {"content": "<x>"}: it must be one that tokenizer.json cuts out of texts. */
static rlx_status check_special(const rlx_tokenizer *t, const char *field, const json_t *v) {
  const json_t *content = json_is_object(v) ? json_object_get(v, "content") : v;
  const char *text = json_string_value(content);
  if (!text) return RLX_FAIL(RLX_INVALID, "tokenizer_config.json's %s: expected tokens", field);
  int32_t id = text_find(&t->vocab, text, json_string_length(content));
  if (id >= 0 && t->vocab.flags[id] & (TOKEN_CONTROL | TOKEN_ADDED)) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "tokenizer_config.json's %s has '%.100s', which is no added token of tokenizer.json",
                  field, text);
}

static rlx_status check_specials(const rlx_tokenizer *t, json_t *config, const char *field) {
  json_t *all = json_object_get(config, field), *v;
  const char *name;
  for (size_t i = 0; json_is_array(all) && (v = json_array_get(all, i)); i++) RLX_TRY(check_special(t, field, v));
  json_object_foreach(all, name, v) RLX_TRY(check_special(t, field, v));
  return RLX_OK;
}

/* ---- All fields ---- */

static rlx_status refuse_leftovers(json_t *config) {
  static const char read[] =
    "bos_token eos_token add_bos_token add_eos_token added_tokens_decoder tokenizer_class chat_template "
    "add_prefix_space do_lower_case strip_accents tokenize_chinese_chars additional_special_tokens "
    "extra_special_tokens";
  leftovers left = {.family = ""};
  const char *name;
  json_t *v;
  json_object_foreach(config, name, v) {
    if (!leftover_has_word(read, name, strlen(name)))
      leftover_add(&left, &(leftover){.kind = LEFT_TOKENIZER_FIELD, .name = name, .value = json_to_meta(v)});
  }
  rlx_status s = leftover_refuse(&left);
  leftovers_deinit(&left);
  return s;
}

rlx_status text_check_config(json_t *config, const json_t *root, const rlx_tokenizer *t) {
  if (!config) return RLX_OK;
  RLX_TRY(check_prefix_space(config, root));
  RLX_TRY(check_bert(config, root));
  RLX_TRY(check_specials(t, config, "additional_special_tokens"));
  RLX_TRY(check_specials(t, config, "extra_special_tokens"));
  return refuse_leftovers(config);
}
