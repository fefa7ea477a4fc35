/* Writes a tokenizer.json as GGUF keys (tokenizer.ggml.*), for model conversion.
 *
 * A tokenizer.json describes a pipeline; a GGUF names one of the pipelines that its readers implement. So the steps
 * are compared with those that have a name, and everything else is refused before anything is written:
 *   byte-level BPE      "gpt2", with the name of the pattern in pre
 *   BPE with <0x..>     "llama": merges become scores, earlier ones higher
 *   WordPiece           "bert": U+2581 before tokens that start a word, nothing before others
 *   Unigram             "t5": words apart, U+2581 before each, with the compiled table of the normal form
 * Embedding rows without a token are named [PAD7] and marked unused. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "io/file_json.h"
#include "text/text.h"

#define KEY(name) "tokenizer.ggml." name

typedef struct converter {
  const rlx_file *f;
  rlx_file_writer *w;
  text_tables tables; /* of tokenizer.json */
  json_t *config;
  rlx_tokenizer *t;
  size_t n; /* number of tokens in the GGUF */
  const char *model, *pre;
  bool prefix;          /* a blank is prepended to a text */
  const text_part *sep; /* a token between two texts beside that which ends one; NULL: none */
  rlx_str names;
  rlx_meta *list;
} converter;

/* ---- Source -------------------------------------------------------------------------------------------------- */

static bool is_hole(const converter *c, size_t i) {
  return i >= c->t->vocab.n || text_spelling(&c->t->vocab, (uint32_t)i).n == 0;
}

/* GGUF token types: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte. */
static int kind_of(const converter *c, size_t i) {
  if (is_hole(c, i)) return 5;
  unsigned flags = c->t->vocab.flags[i];
  text_span s = text_spelling(&c->t->vocab, (uint32_t)i);
  if (c->t->model == TEXT_UNIGRAM && (int32_t)i == c->t->unknown) return 2;
  if (c->t->model == TEXT_BPE && !c->t->byte_level) {
    if ((int32_t)i == c->t->unknown) return 2;
    if (s.n == 6 && memcmp(s.p, "<0x", 3) == 0 && s.p[5] == '>') return 6;
  }
  return flags & TOKEN_CONTROL ? 3 : flags & TOKEN_ADDED ? 4 : flags & TOKEN_UNUSED ? 5 : 1;
}

/* Both parts of a merge, joined in c->names by `between` (may be empty). */
static rlx_status join_parts(converter *c, json_text merge, size_t rank, const char *between) {
  text_pair p;
  rlx_status s = text_tables_merge(&c->tables, merge, rank, &p);
  if (!s) {
    rlx_str_add_bytes(&c->names, p.left.p, p.left.n);
    rlx_str_add_bytes(&c->names, between, strlen(between));
    rlx_str_add_bytes(&c->names, p.right.p, p.right.n);
  }
  rlx_bump_reset(&c->tables.pool);
  return s;
}

/* ---- Recognising the pipeline -------------------------------------------------------------------------------- */

static const char *type_of(json_t *step) {
  const char *s = json_string_value(json_object_get(step, "type"));
  return s ? s : "";
}

static bool is_false(json_t *step, const char *key) { return json_is_false(json_object_get(step, key)); }

static bool is_isolated(json_t *split) {
  const char *behavior = json_string_value(json_object_get(split, "behavior"));
  return behavior && strcmp(behavior, "Isolated") == 0 && !json_is_true(json_object_get(split, "invert"));
}

/* Describes each known step by a letter or its pattern; '?': unknown. */
static void describe(json_t *step, rlx_str *out) {
  const char *type = type_of(step),
             *regex = json_string_value(json_object_get(json_object_get(step, "pattern"), "Regex"));
  json_t *each;
  size_t i;
  if (strcmp(type, "Sequence") == 0) {
    for (i = 0; (each = json_array_get(json_object_get(step, "pretokenizers"), i)); i++) { describe(each, out); }
  } else if (strcmp(type, "Digits") == 0 && json_is_true(json_object_get(step, "individual_digits"))) {
    rlx_str_add(out, "D;");
  } else if (strcmp(type, "ByteLevel") == 0 && is_false(step, "add_prefix_space")) {
    rlx_str_add(out, is_false(step, "use_regex") ? "" : "B;");
  } else if (strcmp(type, "Split") == 0 && regex && is_isolated(step)) {
    rlx_str_add(out, "%s;", regex);
  } else {
    rlx_str_add(out, "?%s;", type);
  }
}

#define WORDS(digits)                                                        \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" digits \
  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+;"

static const struct {
  const char *steps, *name;
  bool ignore_merges;
} known[] = {{"B;", "gpt-2", false},
             {"D;B;", "smollm", false},
             {WORDS("{1,3}"), "llama-bpe", true},
             {WORDS("{1,3}"), "dbrx", false},
             {WORDS(""), "qwen2", false}};

static rlx_status name_bytes(converter *c) {
  rlx_str steps = {0};
  describe(json_object_get(c->tables.root, "pre_tokenizer"), &steps);
  for (size_t i = 0; i < sizeof known / sizeof *known && steps.v; i++)
    if (strcmp(known[i].steps, steps.v) == 0 && known[i].ignore_merges == c->t->ignore_merges) c->pre = known[i].name;
  json_t *normal = json_object_get(c->tables.root, "normalizer");
  bool is_plain = !normal || json_is_null(normal) || strcmp(type_of(normal), "NFC") == 0;
  rlx_status s = steps.failed || !steps.v ? RLX_FAIL(RLX_NO_MEMORY, "tokenizer.json")
                 : !is_plain              ? RLX_FAIL(RLX_UNSUPPORTED, "the normalizer '%.100s'", type_of(normal))
                 : !c->pre                ? RLX_FAIL(RLX_UNSUPPORTED, "the pre-tokenizer '%.300s'", steps.v)
                                          : RLX_OK;
  rlx_str_deinit(&steps);
  c->model = "gpt2";
  return s;
}

/* Scores belong to tokens: two pieces merge whenever the result is a token. Merges belong to pairs. Both are
 * equivalent if every pair that forms a token is a merge and the merges of one token are consecutive, as in all
 * vocabularies that come from SentencePiece. */
static bool has_all_pairs(const rlx_tokenizer *t, uint32_t id) {
  text_span s = text_spelling(&t->vocab, id);
  for (size_t i = 1; i < s.n; i++) {
    if (((unsigned char)s.p[i] & 0xc0) == 0x80) continue; /* inside a character */
    int32_t left = text_find(&t->vocab, s.p, i), right = text_find(&t->vocab, s.p + i, s.n - i);
    if (left >= 0 && right >= 0 && !text_merges_find(&t->merges, (uint32_t)left, (uint32_t)right)) return false;
  }
  return true;
}

static rlx_status check_scores(converter *c) {
  json_text merge;
  size_t rank = 0;
  int32_t last = -1;
  for (uint32_t i = 0; i < c->t->vocab.n; i++)
    if (kind_of(c, i) == 1 && !has_all_pairs(c->t, i))
      return RLX_FAIL(RLX_UNSUPPORTED, "merges that scores cannot express, of '%.100s'",
                      text_spelling(&c->t->vocab, i).p);
  bool *is_seen = rlx_mem_calloc(c->t->vocab.n ? c->t->vocab.n : 1, sizeof *is_seen);
  if (!is_seen) return RLX_FAIL(RLX_NO_MEMORY, "%u tokens", c->t->vocab.n);
  bool is_mixed = false;
  for (json_cursor at = json_cursor_begin(c->tables.merges); json_cursor_element(&at, &merge); rank++) {
    c->names.n = 0;
    if (join_parts(c, merge, rank, "")) continue;
    int32_t id = c->names.failed ? -1 : text_find(&c->t->vocab, c->names.v, c->names.n);
    if (id < 0 || id == last) continue;
    is_mixed |= is_seen[id];
    is_seen[id] = true;
    last = id;
  }
  rlx_mem_free(is_seen);
  return is_mixed ? RLX_FAIL(RLX_UNSUPPORTED, "merges in an order that scores cannot express") : RLX_OK;
}

/* Determines from the steps whether blanks become U+2581 and whether one is prepended. */
static rlx_status name_marks(converter *c) {
  size_t n_replaced = 0, n_prefixed = 0;
  for (size_t i = 0; i < c->t->n_normals; i++) {
    if (c->t->normals[i].kind == NORMAL_PREPEND) n_prefixed++;
    if (c->t->normals[i].kind == NORMAL_REPLACE) n_replaced++;
  }
  for (size_t i = 0; i < c->t->n_splits; i++) {
    if (c->t->splits[i].kind == SPLIT_PREFIX) n_prefixed++;
    if (c->t->splits[i].kind == SPLIT_REPLACE) n_replaced++;
  }
  bool are_all = n_replaced + n_prefixed == c->t->n_normals + c->t->n_splits;
  c->prefix = n_prefixed > 0;
  c->model = "llama";
  c->pre = "default";
  if (n_replaced == 1 && n_prefixed <= 1 && are_all && c->t->space_is_mark) return check_scores(c);
  return RLX_FAIL(RLX_UNSUPPORTED, "steps other than U+2581 for blanks");
}

static rlx_status name_words(converter *c) {
  c->model = "bert";
  c->pre = "default";
  json_t *normal = json_object_get(c->tables.root, "normalizer");
  if (strcmp(type_of(normal), "BertNormalizer") == 0 && c->t->n_before == 1 && c->t->n_after == 1) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "WordPiece with the normalizer '%.100s', %zu tokens before and %zu after a text",
                  type_of(normal), c->t->n_before, c->t->n_after);
}

static const text_normal *charsmap_of(const rlx_tokenizer *t) {
  return t->n_normals == 1 && t->normals[0].kind == NORMAL_CHARSMAP ? &t->normals[0] : NULL;
}

/* In a GGUF only blanks separate words. Here every white space does, which is the same if the table turns it into
 * blanks. */
static rlx_status check_blanks(const converter *c) {
  rlx_str out = {0};
  rlx_status s = text_normalize(charsmap_of(c->t), (text_span){"\t\n", 2}, &out);
  bool are_blanks = !s && out.n == 2 && memcmp(out.v, "  ", 2) == 0;
  rlx_str_deinit(&out);
  if (s || are_blanks) return s;
  return RLX_FAIL(RLX_UNSUPPORTED, "white space that the normal form does not turn into blanks");
}

static rlx_status name_unigram(converter *c) {
  json_t *step = json_object_get(c->tables.root, "pre_tokenizer"), *list = json_object_get(step, "pretokenizers");
  json_t *marks = json_array_get(list, 1);
  const char *scheme = json_string_value(json_object_get(marks, "prepend_scheme"));
  bool is_usual = json_array_size(list) == 2 && strcmp(type_of(json_array_get(list, 0)), "WhitespaceSplit") == 0 &&
                  strcmp(type_of(marks), "Metaspace") == 0 && c->t->space_is_mark &&
                  (scheme ? strcmp(scheme, "always") == 0 : !is_false(marks, "add_prefix_space"));
  c->model = "t5";
  c->pre = "default";
  c->prefix = true;
  if (!is_usual || !charsmap_of(c->t) || c->t->byte_fallback)
    return RLX_FAIL(RLX_UNSUPPORTED, "Unigram with other steps than a compiled table, WhitespaceSplit and Metaspace");
  return check_blanks(c);
}

/* Two texts are written as in a GGUF (from_gguf.c): what begins a text, A, what ends it, perhaps a token more, B, what
 * ends it. A tokenizer for which that is not so knows no pairs in a GGUF, or is none of a cross-encoder. */
static rlx_status name_pair(converter *c) {
  const rlx_tokenizer *t = c->t;
  const text_part *p = t->parts;
  const size_t n = t->n_parts, before = t->n_before, after = t->n_after;
  if (before > 1 || after > 1)
    return RLX_FAIL(RLX_UNSUPPORTED, "%zu tokens before and %zu after a text", before, after);
  const size_t second = n > after + 1 ? n - after - 1 : 0, between = second > before + 1 ? second - before - 1 : 0;
  if (!n || !after) return RLX_OK;
  bool is_usual = second && p[before].id == TEXT_FIRST && p[second].id == TEXT_SECOND && between >= 1 && between <= 2 &&
                  p[before + 1].id == t->around[before] && p[n - 1].id == t->around[before];
  bool is_bert = t->model == TEXT_WORDPIECE;
  if (is_bert) is_usual &= between == 1 && p[before].type == 0 && p[second].type == 1;
  if (!is_usual) return RLX_FAIL(RLX_UNSUPPORTED, "pairs of texts that are written in another order");
  if (between == 2) c->sep = &p[before + 2];
  return RLX_OK;
}

static rlx_status name_kind(converter *c) {
  if (c->t->vocab.n > c->n)
    return RLX_FAIL(RLX_UNSUPPORTED, "%u tokens for an embedding of %zu rows", c->t->vocab.n, c->n);
  if (c->t->model == TEXT_BPE && c->t->byte_level) return name_bytes(c);
  if (c->t->model == TEXT_BPE && c->t->byte_fallback) return name_marks(c);
  if (c->t->model == TEXT_WORDPIECE) return name_words(c);
  if (c->t->model == TEXT_UNIGRAM) return name_unigram(c);
  return RLX_FAIL(RLX_UNSUPPORTED, "a model of the kind '%s'", c->t->kind);
}

static rlx_status name_model(converter *c) {
  RLX_TRY(name_kind(c));
  return name_pair(c);
}

/* ---- Tables -------------------------------------------------------------------------------------------------- */

static rlx_status put_list(converter *c, const char *key, size_t n) {
  rlx_meta m = {.key = key, .kind = RLX_META_LIST, .elements = c->list[0].kind, .n = n, .opaque = c->list};
  return rlx_file_writer_meta(c->w, &m);
}

/* Appends the GGUF spelling of a token. */
static void add_spelling(converter *c, size_t i) {
  if (is_hole(c, i)) {
    rlx_str_add(&c->names, "[PAD%zu]", i);
    return;
  }
  text_span s = text_spelling(&c->t->vocab, (uint32_t)i);
  const char *more = c->t->continuing_prefix;
  size_t n = more ? strlen(more) : 0;
  if (c->t->model == TEXT_WORDPIECE && n && s.n > n && memcmp(s.p, more, n) == 0) {
    rlx_str_add_bytes(&c->names, s.p + n, s.n - n);
    return;
  }
  bool is_word = c->t->model == TEXT_WORDPIECE && !(s.p[0] == '[' && s.p[s.n - 1] == ']' && s.n > 2);
  if (is_word) rlx_str_add(&c->names, "%s", TEXT_MARK);
  rlx_str_add_bytes(&c->names, s.p, s.n);
}

static rlx_status put_tokens(converter *c) {
  for (size_t i = 0; i < c->n; i++) {
    c->list[i].n = c->names.n; /* offset, not pointer: the text moves while it grows */
    add_spelling(c, i);
    rlx_str_add_char(&c->names, '\0');
  }
  if (c->names.failed) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", c->n);
  for (size_t i = 0; i < c->n; i++) {
    size_t at = c->list[i].n, end = i + 1 < c->n ? c->list[i + 1].n : c->names.n;
    c->list[i] = (rlx_meta){.kind = RLX_META_TEXT, .text = c->names.v + at, .n = end - at - 1};
  }
  return put_list(c, KEY("tokens"), c->n);
}

static rlx_status put_kinds(converter *c) {
  for (size_t i = 0; i < c->n; i++)
    c->list[i] = (rlx_meta){.type = "i32", .kind = RLX_META_INT, .integer = kind_of(c, i)};
  return put_list(c, KEY("token_type"), c->n);
}

/* Pieces merge whenever the result is a token, so a token that no merge produces gets the lowest score. */
static rlx_status put_scores(converter *c) {
  json_text merge;
  size_t rank = 0;
  for (size_t i = 0; i < c->n; i++)
    c->list[i] = (rlx_meta){.type = "f32", .kind = RLX_META_FLOAT, .number = kind_of(c, i) == 1 ? -1e6 : 0};
  for (json_cursor at = json_cursor_begin(c->tables.merges); json_cursor_element(&at, &merge); rank++) {
    c->names.n = 0;
    RLX_TRY(join_parts(c, merge, rank, ""));
    if (c->names.failed) return RLX_FAIL(RLX_NO_MEMORY, "merges");
    int32_t id = text_find(&c->t->vocab, c->names.v, c->names.n);
    if (id >= 0 && (size_t)id < c->n && c->list[id].number <= -1e6) c->list[id].number = -1.0 - (double)rank;
  }
  return put_list(c, KEY("scores"), c->n);
}

static rlx_status put_own_scores(converter *c) {
  for (size_t i = 0; i < c->n; i++)
    c->list[i] = (rlx_meta){
      .type = "f32", .kind = RLX_META_FLOAT, .number = i < c->t->vocab.n ? text_score(&c->t->vocab, (uint32_t)i) : 0};
  return put_list(c, KEY("scores"), c->n);
}

static rlx_status put_charsmap(converter *c) {
  const text_normal *table = charsmap_of(c->t);
  rlx_meta *list = rlx_mem_calloc(table->to_bytes, sizeof *list);
  if (!list) return RLX_FAIL(RLX_NO_MEMORY, "a table of %zu bytes", table->to_bytes);
  for (size_t i = 0; i < table->to_bytes; i++)
    list[i] = (rlx_meta){.type = "u8", .kind = RLX_META_INT, .integer = (unsigned char)table->to[i]};
  rlx_mem_free(c->list);
  c->list = list;
  return put_list(c, KEY("precompiled_charsmap"), table->to_bytes);
}

static rlx_status put_merges(converter *c) {
  json_text merge;
  size_t i = 0, n = json_element_count(c->tables.merges);
  rlx_meta *list = rlx_mem_calloc(n ? n : 1, sizeof *list);
  if (!list) return RLX_FAIL(RLX_NO_MEMORY, "%zu merges", n);
  rlx_mem_free(c->list);
  c->list = list;
  c->names.n = 0;
  for (json_cursor cursor = json_cursor_begin(c->tables.merges); json_cursor_element(&cursor, &merge); i++) {
    list[i].n = c->names.n;
    RLX_TRY(join_parts(c, merge, i, " "));
    rlx_str_add_char(&c->names, '\0');
  }
  if (c->names.failed) return RLX_FAIL(RLX_NO_MEMORY, "%zu merges", n);
  for (i = 0; i < n; i++) {
    size_t at = list[i].n, end = i + 1 < n ? list[i + 1].n : c->names.n;
    list[i] = (rlx_meta){.kind = RLX_META_TEXT, .text = c->names.v + at, .n = end - at - 1};
  }
  return n ? put_list(c, KEY("merges"), n) : RLX_OK;
}

/* ---- Single facts -------------------------------------------------------------------------------------------- */

static rlx_status put_text(converter *c, const char *key, const char *text) {
  return rlx_file_writer_meta(c->w, &(rlx_meta){.key = key, .kind = RLX_META_TEXT, .text = text, .n = strlen(text)});
}

static rlx_status put_flag(converter *c, const char *key, bool value) {
  return rlx_file_writer_meta(c->w, &(rlx_meta){.key = key, .type = "bool", .kind = RLX_META_BOOL, .integer = value});
}

static rlx_status put_id(converter *c, const char *key, int32_t id) {
  if (id < 0) return RLX_OK;
  return rlx_file_writer_meta(c->w, &(rlx_meta){.key = key, .type = "u32", .kind = RLX_META_INT, .integer = id});
}

static int32_t named(const converter *c, const char *key) {
  json_t *v = json_object_get(c->config, key);
  const char *s = json_string_value(json_is_object(v) ? json_object_get(v, "content") : v);
  return rlx_tokenizer_find(c->t, s);
}

static rlx_status put_template(converter *c) {
  rlx_meta m;
  const char *text = json_string_value(json_object_get(c->config, "chat_template"));
  if (rlx_file_meta_find(c->f, "chat_template.jinja", &m) && m.kind == RLX_META_TEXT) text = m.text;
  return text ? put_text(c, "tokenizer.chat_template", text) : RLX_OK;
}

static rlx_status put_facts(converter *c) {
  const rlx_tokenizer *t = c->t;
  bool is_bert = t->model == TEXT_WORDPIECE;
  RLX_TRY(put_id(c, KEY("bos_token_id"), t->n_before ? t->around[0] : t->bos));
  RLX_TRY(put_id(c, KEY("eos_token_id"), t->n_after ? t->around[t->n_before] : t->eos));
  RLX_TRY(put_id(c, KEY("unknown_token_id"), t->unknown));
  RLX_TRY(put_id(c, KEY("padding_token_id"), named(c, "pad_token")));
  if (is_bert) {
    json_t *normal = json_object_get(c->tables.root, "normalizer");
    RLX_TRY(put_id(c, KEY("cls_token_id"), t->around[0]));
    RLX_TRY(put_id(c, KEY("seperator_token_id"), t->around[1]));
    RLX_TRY(put_id(c, KEY("mask_token_id"), named(c, "mask_token")));
    if (is_false(normal, "lowercase")) RLX_TRY(put_flag(c, KEY("normalizer.lowercase"), false));
  } else {
    RLX_TRY(put_flag(c, KEY("add_bos_token"), t->n_before > 0));
    RLX_TRY(put_flag(c, KEY("add_eos_token"), t->n_after > 0));
  }
  if (c->sep) RLX_TRY(put_flag(c, KEY("add_sep_token"), true));
  if (c->sep) RLX_TRY(put_id(c, KEY("seperator_token_id"), c->sep->id));
  if (!t->byte_level && !is_bert) RLX_TRY(put_flag(c, KEY("add_space_prefix"), c->prefix));
  if (t->model == TEXT_UNIGRAM) RLX_TRY(put_flag(c, KEY("remove_extra_whitespaces"), true));
  return put_template(c);
}

static rlx_status write_all(converter *c) {
  RLX_TRY(name_model(c));
  c->list = rlx_mem_calloc(c->n ? c->n : 1, sizeof *c->list);
  if (!c->list) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", c->n);
  RLX_TRY(put_text(c, KEY("model"), c->model));
  RLX_TRY(put_text(c, KEY("pre"), c->pre));
  RLX_TRY(put_tokens(c));
  if (c->t->model == TEXT_BPE && !c->t->byte_level) RLX_TRY(put_scores(c));
  if (c->t->model == TEXT_UNIGRAM) RLX_TRY(put_own_scores(c));
  RLX_TRY(put_kinds(c));
  if (c->t->model == TEXT_UNIGRAM) RLX_TRY(put_charsmap(c));
  if (c->t->byte_level) RLX_TRY(put_merges(c));
  return put_facts(c);
}

static rlx_status load_texts(const rlx_file *f, converter *c) {
  static const char name[] = "tokenizer.json";
  rlx_meta m;
  if (rlx_file_meta_find(f, name, &m) && m.kind == RLX_META_TEXT)
    RLX_TRY(text_tables_open((text_span){m.text, m.n}, name, &c->tables));
  if (rlx_file_meta_find(f, "tokenizer_config.json", &m) && m.kind == RLX_META_TEXT)
    RLX_TRY(text_load_config((text_span){m.text, m.n}, &c->config));
  return RLX_OK;
}

rlx_status text_to_gguf(const rlx_file *f, size_t n_tokens, rlx_file_writer *w) {
  rlx_meta m;
  if (!rlx_file_meta_find(f, "tokenizer.json", &m)) return RLX_FAIL(RLX_UNSUPPORTED, "there is no tokenizer.json");
  converter c = {.f = f, .w = w, .n = n_tokens};
  rlx_status s = rlx_tokenizer_create(f, &c.t);
  if (!s) s = load_texts(f, &c);
  if (!s) s = write_all(&c);
  text_tables_close(&c.tables);
  json_decref(c.config);
  rlx_tokenizer_destroy(c.t);
  rlx_str_deinit(&c.names);
  rlx_mem_free(c.list);
  return s;
}
