/* The large tables of a tokenizer.json: vocab, merges and added_tokens, read without a tree.
 *
 * A vocabulary of 150,000 tokens has some 600,000 values, which as a tree take ten times the file. So the file is
 * checked as a whole (json_check), the tables stay text, and only what describes the pipeline becomes a tree: four
 * members of the root, and the scalars of the model. Members that no reader uses are checked and skipped. */
#include <jansson.h>
#include <string.h>

#include "io/file_json.h"
#include "text/text.h"

/* A member of the tree, with the names that are kept. */
static rlx_status keep(json_t *object, const char *const *names, size_t n, json_text key, json_text value) {
  for (size_t i = 0; i < n; i++) {
    json_t *v;
    if (!json_string_is(key, names[i])) continue;
    RLX_TRY(json_load_whole(value, names[i], JSON_MAX_CONFIG, JSON_ALLOW_NUL | JSON_DECODE_ANY, &v));
    return json_object_set_new(object, names[i], v) ? RLX_FAIL(RLX_NO_MEMORY, "%s", names[i]) : RLX_OK;
  }
  return RLX_OK;
}

#define KEEP(object, names, key, value) keep((object), (names), sizeof(names) / sizeof *(names), (key), (value))

static rlx_status read_model(text_tables *t, json_text text) {
  static const char *const scalars[] = {"type",
                                        "continuing_subword_prefix",
                                        "end_of_word_suffix",
                                        "dropout",
                                        "byte_fallback",
                                        "ignore_merges",
                                        "fuse_unk",
                                        "unk_token",
                                        "unk_id",
                                        "max_input_chars_per_word"};
  json_cursor c = json_cursor_begin(text);
  json_text key, value;
  json_t *model = json_object();
  if (!model || json_object_set_new(t->root, "model", model)) return RLX_FAIL(RLX_NO_MEMORY, "model");
  while (json_cursor_member(&c, &key, &value)) {
    if (json_string_is(key, "vocab")) t->vocab = value;
    else if (json_string_is(key, "merges")) t->merges = value;
    else if (!json_begins(value, '{') && !json_begins(value, '[')) RLX_TRY(KEEP(model, scalars, key, value));
  }
  return RLX_OK;
}

rlx_status text_tables_open(text_span text, const char *name, text_tables *out) {
  static const char *const steps[] = {"normalizer", "pre_tokenizer", "decoder", "post_processor"};
  json_text whole = {text.p, text.n}, key, value;
  *out = (text_tables){0};
  RLX_TRY(json_check(whole, name, json_max_vocabulary(text.n), false));
  while (whole.n && strchr(" \n\t\r", *whole.v)) whole.v++, whole.n--;
  if (!json_begins(whole, '{')) return RLX_FAIL(RLX_INVALID, "%s is not an object", name);
  out->root = json_object();
  if (!out->root) return RLX_FAIL(RLX_NO_MEMORY, "%s", name);
  for (json_cursor c = json_cursor_begin(whole); json_cursor_member(&c, &key, &value);) {
    if (json_string_is(key, "added_tokens")) out->added = value;
    else if (!json_string_is(key, "model")) RLX_TRY(KEEP(out->root, steps, key, value));
    else if (json_begins(value, '{')) RLX_TRY(read_model(out, value));
  }
  return RLX_OK;
}

void text_tables_close(text_tables *t) {
  json_decref(t->root);
  rlx_bump_deinit(&t->pool);
  *t = (text_tables){0};
}

rlx_status text_tables_string(text_tables *t, json_text quoted, text_span *out) {
  json_text s;
  RLX_TRY(json_string_of(quoted, &t->pool, &s));
  *out = (text_span){s.v, s.n};
  return RLX_OK;
}

rlx_status text_tables_merge(text_tables *t, json_text merge, size_t rank, text_pair *out) {
  json_cursor c = json_cursor_begin(merge);
  json_text left, right, more;
  *out = (text_pair){0};
  if (json_begins(merge, '"')) {
    text_span s;
    RLX_TRY(text_tables_string(t, merge, &s));
    const char *space = s.n > 1 ? memchr(s.p + 1, ' ', s.n - 1) : NULL;
    if (space) {
      size_t n = (size_t)(space - s.p);
      *out = (text_pair){{s.p, n}, {space + 1, s.n - n - 1}};
      return RLX_OK;
    }
  }
  if (!json_begins(merge, '[') || !json_cursor_element(&c, &left) || !json_cursor_element(&c, &right) ||
      json_cursor_element(&c, &more) || !json_begins(left, '"') || !json_begins(right, '"'))
    return RLX_FAIL(RLX_INVALID, "merge %zu: expected two tokens", rank);
  RLX_TRY(text_tables_string(t, left, &out->left));
  return text_tables_string(t, right, &out->right);
}
