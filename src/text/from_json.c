/* Tokenizers from tokenizer.json: the file format of the `tokenizers` package, which describes a whole pipeline.
 *
 * It has the model with its tables, added tokens, the steps before the model (json_steps.c), the tokens put around a
 * text, and the decoder. Unknown parts are refused by name. The tokens that begin and end a text come from
 * tokenizer_config.json, config.json and generation_config.json if the folder has them. */
#include <jansson.h>
#include <string.h>

#include "io/file_json.h"
#include "text/text.h"

enum { MAX_AROUND = 32, MAX_GAP = 1 << 20 };

typedef struct reader {
  text_tables tables; /* of tokenizer.json */
  json_t *config, *model_config, *generation;
  json_t *model; /* its scalars */
  text_desc d;
  text_token *tokens;
  text_pair *merges;
  bool *is_there; /* per id */
  int32_t before[MAX_AROUND], after[MAX_AROUND];
  text_part parts[MAX_AROUND];
} reader;

static text_span span_of(json_t *s) { return (text_span){json_string_value(s), json_string_length(s)}; }
#define SHOWN(span) ((span).n < 100 ? (int)(span).n : 100), (span).p /* for "%.*s" */

static const char *text_or(json_t *j, const char *key, const char *fallback) {
  const char *s = json_string_value(json_object_get(j, key));
  return s ? s : fallback;
}

static rlx_status parse(text_span text, const char *name, json_t **out) {
  if (!text.p) return RLX_OK;
  RLX_TRY(json_load_whole((json_text){text.p, text.n}, name, JSON_MAX_CONFIG, JSON_ALLOW_NUL, out));
  if (!json_is_object(*out)) return RLX_FAIL(RLX_INVALID, "%s is not an object", name);
  return RLX_OK;
}

/* ---- Tokens -------------------------------------------------------------------------------------------------- */

typedef struct id_value {
  bool is_integer;
  int64_t v; /* 0 if it is no integer */
} id_value;
static id_value id_of(const json_t *j) { return (id_value){json_is_integer(j), json_integer_value(j)}; }
static id_value id_in(json_text text) {
  id_value id;
  id.is_integer = json_integer_of(text, &id.v);
  return id;
}

static rlx_status check_id(id_value id, size_t n, const char *what, text_span spelling) {
  if (!id.is_integer) return RLX_FAIL(RLX_INVALID, "%s '%.*s': expected an integer as id", what, SHOWN(spelling));
  if (id.v >= 0 && (uint64_t)id.v < n) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s '%.*s' has the id %lld, with %zu tokens in all", what, SHOWN(spelling),
                  (long long)id.v, n);
}

static rlx_status set_spelling(reader *r, size_t id, text_span spelling, const char *what) {
  text_token *t = &r->tokens[id];
  if (r->is_there[id] && (t->spelling.n != spelling.n || memcmp(t->spelling.p, spelling.p, spelling.n) != 0))
    return RLX_FAIL(RLX_INVALID, "%s '%.*s' has the id %zu, and so has '%.*s'", what, SHOWN(spelling), id,
                    SHOWN(t->spelling));
  r->is_there[id] = true;
  t->spelling = spelling;
  return RLX_OK;
}

static void raise_to(size_t *n, id_value id) {
  if (id.v >= 0 && (uint64_t)id.v >= *n) *n = (size_t)id.v + 1;
}

/* The members of an added token that are used. */
typedef struct added_token {
  json_text content; /* in quotes; v is NULL: none */
  id_value id;
  uint32_t flags;
} added_token;

static const struct {
  const char *name;
  uint32_t flag;
} added_names[] = {{"special", TOKEN_CONTROL},
                   {"lstrip", TOKEN_LSTRIP},
                   {"rstrip", TOKEN_RSTRIP},
                   {"single_word", TOKEN_WHOLE_WORD},
                   {"normalized", TOKEN_NORMALIZED}};
enum { N_ADDED_NAMES = sizeof added_names / sizeof *added_names };

static uint32_t text_unless_control(uint32_t flags) { return flags & TOKEN_CONTROL ? flags : flags | TOKEN_ADDED; }

static added_token read_added_token(json_text text) {
  added_token a = {.flags = 0};
  json_text key, value;
  for (json_cursor c = json_cursor_begin(text); json_cursor_member(&c, &key, &value);) {
    if (json_string_is(key, "content") && json_begins(value, '"')) a.content = value;
    else if (json_string_is(key, "id")) a.id = id_in(value);
    for (size_t i = 0; json_begins(value, 't') && i < N_ADDED_NAMES; i++)
      if (json_string_is(key, added_names[i].name)) a.flags |= added_names[i].flag;
  }
  a.flags = text_unless_control(a.flags);
  return a;
}

static json_text added_list(const reader *r) {
  return json_begins(r->tables.added, '[') ? r->tables.added : (json_text){0};
}

/* One more than the greatest id; `given` is how many tokens are listed. */
static size_t count_ids(const reader *r, size_t *given) {
  json_text key, value;
  size_t n = 0;
  *given = 0;
  if (json_begins(r->tables.vocab, '[')) *given = n = json_element_count(r->tables.vocab);
  else
    for (json_cursor c = json_cursor_begin(r->tables.vocab); json_cursor_member(&c, &key, &value); ++*given)
      raise_to(&n, id_in(value));
  for (json_cursor c = json_cursor_begin(added_list(r)); json_cursor_element(&c, &value); ++*given)
    raise_to(&n, read_added_token(value).id);
  return n;
}

static rlx_status read_object(reader *r) {
  json_text key, value;
  text_span spelling;
  for (json_cursor c = json_cursor_begin(r->tables.vocab); json_cursor_member(&c, &key, &value);) {
    id_value id = id_in(value);
    RLX_TRY(text_tables_string(&r->tables, key, &spelling));
    RLX_TRY(check_id(id, r->d.n_tokens, "token", spelling));
    RLX_TRY(set_spelling(r, (size_t)id.v, spelling, "token"));
  }
  return RLX_OK;
}

static rlx_status read_scored(reader *r) {
  json_text pair, text, score;
  text_span spelling;
  size_t i = 0;
  for (json_cursor c = json_cursor_begin(r->tables.vocab); json_cursor_element(&c, &pair); i++) {
    json_cursor parts = json_cursor_begin(json_begins(pair, '[') ? pair : (json_text){0});
    double number;
    if (!json_cursor_element(&parts, &text) || !json_begins(text, '"') || !json_cursor_element(&parts, &score) ||
        !json_number_of(score, &number))
      return RLX_FAIL(RLX_INVALID, "token %zu: expected a text and a score", i);
    RLX_TRY(text_tables_string(&r->tables, text, &spelling));
    RLX_TRY(set_spelling(r, i, spelling, "token"));
    r->tokens[i].score = number;
  }
  return RLX_OK;
}

static rlx_status read_added(reader *r) {
  json_text text;
  size_t i = 0;
  for (json_cursor c = json_cursor_begin(added_list(r)); json_cursor_element(&c, &text); i++) {
    added_token a = read_added_token(text);
    text_span content;
    if (!a.content.v) return RLX_FAIL(RLX_INVALID, "added token %zu has no content", i);
    RLX_TRY(text_tables_string(&r->tables, a.content, &content));
    RLX_TRY(check_id(a.id, r->d.n_tokens, "added token", content));
    RLX_TRY(set_spelling(r, (size_t)a.id.v, content, "added token"));
    r->tokens[a.id.v].flags = a.flags;
  }
  return RLX_OK;
}

static uint32_t configured_flags(const json_t *a) {
  uint32_t flags = 0;
  for (size_t i = 0; i < N_ADDED_NAMES; i++)
    if (json_is_true(json_object_get(a, added_names[i].name))) flags |= added_names[i].flag;
  return text_unless_control(flags);
}

/* The flags of tokenizer_config.json, which transformers prefers; the tokens must be those of tokenizer.json. */
static rlx_status read_configured(reader *r) {
  json_t *all = json_object_get(r->config, "added_tokens_decoder"), *a;
  const char *key;
  json_object_foreach(all, key, a) {
    json_t *content = json_object_get(a, "content");
    text_span spelling = span_of(content);
    double id = -1;
    bool is_id = rlx_text_to_double(key, strlen(key), &id) && id >= 0 && id < (double)r->d.n_tokens;
    const text_token *t = is_id ? &r->tokens[(size_t)id] : NULL;
    if (!spelling.p || !t || t->spelling.n != spelling.n || memcmp(t->spelling.p, spelling.p, spelling.n) != 0)
      return RLX_FAIL(RLX_UNSUPPORTED,
                      "tokenizer_config.json's added_tokens_decoder has '%.100s' as token %.20s, "
                      "which tokenizer.json does not",
                      spelling.p ? spelling.p : "", key);
    r->tokens[(size_t)id].flags = configured_flags(a);
  }
  return RLX_OK;
}

static rlx_status read_tokens(reader *r) {
  size_t given, n = count_ids(r, &given);
  if (n > given + MAX_GAP)
    return RLX_FAIL(RLX_INVALID, "%zu tokens, but ids up to %zu: too many are missing", given, n - 1);
  r->d.n_tokens = n;
  r->tokens = rlx_mem_calloc(n ? n : 1, sizeof *r->tokens);
  r->is_there = rlx_mem_calloc(n ? n : 1, sizeof *r->is_there);
  if (!r->tokens || !r->is_there) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", n);
  r->d.tokens = r->tokens;
  for (size_t i = 0; i < n; i++) r->tokens[i] = (text_token){.spelling = {"", 0}, .flags = TOKEN_UNUSED};
  if (json_begins(r->tables.vocab, '{')) RLX_TRY(read_object(r));
  else if (json_begins(r->tables.vocab, '[')) RLX_TRY(read_scored(r));
  else return RLX_FAIL(RLX_INVALID, "the model has no vocab");
  for (size_t i = 0; i < n; i++)
    if (r->is_there[i]) r->tokens[i].flags = 0;
  RLX_TRY(read_added(r));
  return read_configured(r);
}

/* Linear search, before the tables exist. */
static int32_t find_token(const reader *r, const char *spelling) {
  size_t bytes = spelling ? strlen(spelling) : 0;
  for (size_t i = 0; bytes && i < r->d.n_tokens; i++)
    if (r->tokens[i].spelling.n == bytes && memcmp(r->tokens[i].spelling.p, spelling, bytes) == 0) return (int32_t)i;
  return -1;
}

/* ---- Models -------------------------------------------------------------------------------------------------- */

static rlx_status read_merges(reader *r) {
  json_text merge;
  size_t i = 0, n = json_element_count(r->tables.merges);
  if (!json_begins(r->tables.merges, '[')) return RLX_FAIL(RLX_INVALID, "the model has no merges");
  r->merges = rlx_mem_calloc(n ? n : 1, sizeof *r->merges);
  if (!r->merges) return RLX_FAIL(RLX_NO_MEMORY, "%zu merges", n);
  for (json_cursor c = json_cursor_begin(r->tables.merges); json_cursor_element(&c, &merge); i++)
    RLX_TRY(text_tables_merge(&r->tables, merge, i, &r->merges[i]));
  r->d.merges = r->merges;
  r->d.n_merges = n;
  return RLX_OK;
}

static rlx_status read_bpe(reader *r) {
  text_desc *d = &r->d;
  static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
  for (size_t i = 0; i < 2; i++)
    if (*text_or(r->model, affixes[i], ""))
      return RLX_FAIL(RLX_UNSUPPORTED, "BPE with %s '%.100s'", affixes[i], text_or(r->model, affixes[i], ""));
  if (json_number_value(json_object_get(r->model, "dropout")) != 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "BPE with dropout: its tokens are not the same twice");
  d->model = TEXT_BPE;
  d->kind = d->byte_level ? "bpe (tokenizer.json)" : "bpe (tokenizer.json, characters)";
  d->byte_fallback = json_is_true(json_object_get(r->model, "byte_fallback"));
  d->ignore_merges = json_is_true(json_object_get(r->model, "ignore_merges"));
  d->fuse_unknown = json_is_true(json_object_get(r->model, "fuse_unk"));
  d->unknown = find_token(r, text_or(r->model, "unk_token", ""));
  return read_merges(r);
}

static rlx_status read_wordpiece(reader *r) {
  text_desc *d = &r->d;
  json_t *max = json_object_get(r->model, "max_input_chars_per_word");
  d->model = TEXT_WORDPIECE;
  d->kind = "wordpiece";
  d->continuing_prefix = text_or(r->model, "continuing_subword_prefix", "##");
  d->max_characters = json_integer_value(max) > 0 ? (size_t)json_integer_value(max) : 100;
  d->unknown = find_token(r, text_or(r->model, "unk_token", "[UNK]"));
  if (d->unknown >= 0) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "the unknown token '%.100s' is not in the vocabulary",
                  text_or(r->model, "unk_token", "[UNK]"));
}

static rlx_status read_unigram(reader *r) {
  text_desc *d = &r->d;
  json_t *unknown = json_object_get(r->model, "unk_id");
  d->model = TEXT_UNIGRAM;
  d->kind = "unigram";
  d->match_special = true; /* the package does not distinguish special tokens here */
  d->byte_fallback = json_is_true(json_object_get(r->model, "byte_fallback"));
  if (!json_is_integer(unknown)) return RLX_OK;
  RLX_TRY(check_id(id_of(unknown), d->n_tokens, "unk_id", (text_span){"", 0}));
  d->unknown = (int32_t)json_integer_value(unknown);
  return RLX_OK;
}

/* Old files omit the type; the members of the model determine it. */
static rlx_status read_model(reader *r) {
  const char *type = text_or(r->model, "type", NULL);
  if (!type) type = r->tables.merges.v ? "BPE" : json_object_get(r->model, "unk_id") ? "Unigram" : "WordPiece";
  if (strcmp(type, "BPE") == 0) return read_bpe(r);
  if (strcmp(type, "WordPiece") == 0) return read_wordpiece(r);
  if (strcmp(type, "Unigram") == 0) return read_unigram(r);
  return RLX_FAIL(RLX_UNSUPPORTED, "a model of the type '%.100s'; known are BPE, WordPiece and Unigram", type);
}

/* ---- What is put around a text ------------------------------------------------------------------------------- */

static rlx_status add_around(reader *r, bool is_before, json_t *id) {
  size_t *n = is_before ? &r->d.n_before : &r->d.n_after;
  RLX_TRY(check_id(id_of(id), r->d.n_tokens, "post_processor: a token", (text_span){"", 0}));
  if (*n == MAX_AROUND)
    return RLX_FAIL(RLX_UNSUPPORTED, "post_processor: more than %d tokens around a text", MAX_AROUND);
  (is_before ? r->before : r->after)[(*n)++] = (int32_t)json_integer_value(id);
  return RLX_OK;
}

static rlx_status add_part(reader *r, int32_t id, json_int_t type) {
  if (type < 0 || type > INT32_MAX) return RLX_FAIL(RLX_INVALID, "post_processor: a type_id is %lld", (long long)type);
  if (r->d.n_parts == MAX_AROUND)
    return RLX_FAIL(RLX_UNSUPPORTED, "post_processor: more than %d parts of a pair", MAX_AROUND);
  r->parts[r->d.n_parts++] = (text_part){id, (int32_t)type};
  return RLX_OK;
}

static rlx_status add_part_token(reader *r, json_t *id, json_int_t type) {
  RLX_TRY(check_id(id_of(id), r->d.n_tokens, "post_processor: a token", (text_span){"", 0}));
  return add_part(r, (int32_t)json_integer_value(id), type);
}

/* How the template writes two texts, A and B. */
static rlx_status read_pair(reader *r, json_t *p) {
  json_t *part, *id;
  size_t i, k;
  for (i = 0; (part = json_array_get(json_object_get(p, "pair"), i)); i++) {
    json_t *token = json_object_get(part, "SpecialToken"), *text = json_object_get(part, "Sequence");
    json_int_t type = json_integer_value(json_object_get(token ? token : text, "type_id"));
    const char *name = text_or(token ? token : text, "id", "");
    if (!token) {
      if (strcmp(name, "A") != 0 && strcmp(name, "B") != 0)
        return RLX_FAIL(RLX_UNSUPPORTED, "post_processor: part %zu of the template of a pair", i);
      RLX_TRY(add_part(r, *name == 'B' ? TEXT_SECOND : TEXT_FIRST, type));
      continue;
    }
    json_t *ids = json_object_get(json_object_get(json_object_get(p, "special_tokens"), name), "ids");
    if (!json_is_array(ids)) return RLX_FAIL(RLX_INVALID, "post_processor: the template's '%.100s' has no ids", name);
    for (k = 0; (id = json_array_get(ids, k)); k++) RLX_TRY(add_part_token(r, id, type));
  }
  return RLX_OK;
}

/* [CLS] A [SEP] B [SEP] with the types 0 and 1; of RoBERTa <s> A </s></s> B </s>, all of type 0. */
static rlx_status read_fixed_pair(reader *r, json_t *first, json_t *separator, bool is_bert) {
  RLX_TRY(add_part_token(r, first, 0));
  RLX_TRY(add_part(r, TEXT_FIRST, 0));
  RLX_TRY(add_part_token(r, separator, 0));
  if (!is_bert) RLX_TRY(add_part_token(r, separator, 0));
  RLX_TRY(add_part(r, TEXT_SECOND, is_bert));
  return add_part_token(r, separator, is_bert);
}

static rlx_status read_template(reader *r, json_t *p) {
  json_t *part, *id;
  size_t i, k;
  bool is_before = true;
  for (i = 0; (part = json_array_get(json_object_get(p, "single"), i)); i++) {
    const char *name = text_or(json_object_get(part, "SpecialToken"), "id", NULL);
    if (!name) {
      if (!json_object_get(part, "Sequence"))
        return RLX_FAIL(RLX_UNSUPPORTED, "post_processor: part %zu of the template", i);
      is_before = false;
      continue;
    }
    json_t *ids = json_object_get(json_object_get(json_object_get(p, "special_tokens"), name), "ids");
    if (!json_is_array(ids)) return RLX_FAIL(RLX_INVALID, "post_processor: the template's '%.100s' has no ids", name);
    for (k = 0; (id = json_array_get(ids, k)); k++) RLX_TRY(add_around(r, is_before, id));
  }
  return read_pair(r, p);
}

static rlx_status read_post(reader *r, json_t *p, int depth) {
  const char *type = text_or(p, "type", "");
  json_t *step;
  size_t i;
  if (!p || json_is_null(p) || strcmp(type, "ByteLevel") == 0) return RLX_OK;
  if (strcmp(type, "TemplateProcessing") == 0) return read_template(r, p);
  if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
    json_t *first = json_array_get(json_object_get(p, "cls"), 1), *last = json_array_get(json_object_get(p, "sep"), 1);
    RLX_TRY(add_around(r, true, first));
    RLX_TRY(add_around(r, false, last));
    return read_fixed_pair(r, first, last, *type == 'B');
  }
  if (strcmp(type, "Sequence") != 0 || depth > 8)
    return RLX_FAIL(RLX_UNSUPPORTED,
                    "post_processor of the type '%.100s' is not known; these are: ByteLevel TemplateProcessing "
                    "BertProcessing RobertaProcessing Sequence",
                    type);
  for (i = 0; (step = json_array_get(json_object_get(p, "processors"), i)); i++) RLX_TRY(read_post(r, step, depth + 1));
  return RLX_OK;
}

/* ---- Back to text -------------------------------------------------------------------------------------------- */

static rlx_status read_decoder(reader *r, json_t *p, int depth) {
  const char *type = text_or(p, "type", "");
  text_desc *d = &r->d;
  json_t *step;
  size_t i;
  if (!p || json_is_null(p) || strcmp(type, "Fuse") == 0) return RLX_OK;
  if (strcmp(type, "ByteLevel") == 0) {
    d->byte_level = true;
  } else if (strcmp(type, "ByteFallback") == 0) {
    d->byte_fallback = true;
  } else if (strcmp(type, "WordPiece") == 0) {
    d->clean_up = json_is_true(json_object_get(p, "cleanup"));
    d->keep_leading_space = false;
  } else if (strcmp(type, "Metaspace") == 0) {
    d->space_is_mark = true;
    d->keep_leading_space = strcmp(text_or(p, "prepend_scheme", "always"), "never") == 0 ||
                            json_is_false(json_object_get(p, "add_prefix_space"));
  } else if (strcmp(type, "Replace") == 0) {
    const char *from = text_or(json_object_get(p, "pattern"), "String", ""), *to = text_or(p, "content", "");
    if (strcmp(from, TEXT_MARK) != 0 || strcmp(to, " ") != 0)
      return RLX_FAIL(RLX_UNSUPPORTED, "decoder: Replace of '%.100s' by '%.100s'", from, to);
    d->space_is_mark = true;
  } else if (strcmp(type, "Strip") == 0) {
    if (json_integer_value(json_object_get(p, "start")) > 0) d->keep_leading_space = false;
  } else if (strcmp(type, "Sequence") == 0 && depth < 8) {
    for (i = 0; (step = json_array_get(json_object_get(p, "decoders"), i)); i++)
      RLX_TRY(read_decoder(r, step, depth + 1));
  } else {
    return RLX_FAIL(RLX_UNSUPPORTED,
                    "decoder of the type '%.100s' is not known; these are: ByteLevel ByteFallback Fuse WordPiece "
                    "Metaspace Replace Strip Sequence",
                    type);
  }
  return RLX_OK;
}

/* ---- Where texts begin and end ------------------------------------------------------------------------------- */

/* A token given as "</s>" or {"content": "</s>"}. */
static int32_t named_token(const reader *r, const char *key) {
  json_t *t = json_object_get(r->config, key);
  return find_token(r, json_is_object(t) ? text_or(t, "content", "") : json_string_value(t));
}

/* An id of config.json or generation_config.json; -1 and null mean none. Ids beyond the tokenizer are allowed:
 * models may have more embedding rows than tokens. */
static rlx_status read_id(const reader *r, const char *where, const char *key, const json_t *id, int32_t *out) {
  json_int_t v = json_is_integer(id) ? json_integer_value(id) : -1;
  json_int_t rows = json_integer_value(json_object_get(r->model_config, "vocab_size"));
  json_int_t max = (json_int_t)r->d.n_tokens > rows ? (json_int_t)r->d.n_tokens : rows;
  *out = v >= 0 && (uint64_t)v < r->d.n_tokens ? (int32_t)v : -1;
  if (!id || json_is_null(id) || (json_is_integer(id) && v >= -1 && v < max)) return RLX_OK;
  if (!json_is_integer(id))
    return RLX_FAIL(RLX_INVALID, "%s's %s is %s, expected the number of a token", where, key, json_kind_name(id));
  return RLX_FAIL(RLX_INVALID, "%s's %s is %lld, but there are %lld tokens", where, key, (long long)v, (long long)max);
}

typedef struct end_list {
  int32_t v[2 * MAX_AROUND];
  size_t n;
} end_list;

static rlx_status add_ends(const reader *r, const char *where, const json_t *config, end_list *to) {
  const json_t *eos = json_object_get(config, "eos_token_id"), *id;
  if (json_array_size(eos) >= MAX_AROUND)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s's eos_token_id has %zu tokens, expected fewer than %d", where,
                    json_array_size(eos), MAX_AROUND);
  if (!json_is_array(eos)) return read_id(r, where, "eos_token_id", eos, &to->v[to->n++]);
  for (size_t i = 0; (id = json_array_get(eos, i)); i++)
    RLX_TRY(read_id(r, where, "eos_token_id", id, &to->v[to->n++]));
  return RLX_OK;
}

static rlx_status read_ends(reader *r) {
  end_list ends = {.n = 0};
  int32_t bos;
  r->d.bos = named_token(r, "bos_token");
  r->d.eos = named_token(r, "eos_token");
  RLX_TRY(add_ends(r, "config.json", r->model_config, &ends));
  RLX_TRY(add_ends(r, "generation_config.json", r->generation, &ends));
  for (size_t i = 0; i < ends.n && r->d.eos < 0; i++) r->d.eos = ends.v[i];
  RLX_TRY(read_id(r, "config.json", "bos_token_id", json_object_get(r->model_config, "bos_token_id"), &bos));
  if (r->d.bos < 0) r->d.bos = bos;
  text_mark_ends(r->tokens, r->d.n_tokens, &r->d.eos, 1, true);
  text_mark_ends(r->tokens, r->d.n_tokens, ends.v, ends.n, true);
  return RLX_OK;
}

/* Classes of transformers that make their post-processor anew from add_bos_token and add_eos_token. */
static bool remakes_post_processor(const reader *r) {
  static const char *const classes[] = {"Llama", "CodeLlama", "Gemma", "Cohere"};
  const char *name = text_or(r->config, "tokenizer_class", "");
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    size_t n = strlen(classes[i]);
    if (strncmp(name, classes[i], n) == 0 && strncmp(name + n, "Tokenizer", 9) == 0) return true;
  }
  return false;
}

/* Whether BOS begins a text, or EOS ends it, by tokenizer_config.json. For other classes it must agree with
 * tokenizer.json. */
static rlx_status apply_switch(reader *r, const char *key, bool is_before, int32_t id) {
  const json_t *v = json_object_get(r->config, key);
  size_t *n = is_before ? &r->d.n_before : &r->d.n_after;
  int32_t *list = is_before ? r->before : r->after;
  if (!v || json_is_null(v)) return RLX_OK;
  if (!json_is_boolean(v)) return RLX_FAIL(RLX_INVALID, "tokenizer_config.json's %s: expected true or false", key);
  bool has = id >= 0 && *n && list[is_before ? 0 : *n - 1] == id;
  if (has == json_is_true(v)) return RLX_OK;
  if (!remakes_post_processor(r))
    return RLX_FAIL(RLX_UNSUPPORTED, "tokenizer_config.json's %s is %s, but tokenizer.json %s that token", key,
                    has ? "false" : "true", has ? "adds" : "does not add");
  if (id < 0) return RLX_FAIL(RLX_INVALID, "tokenizer_config.json's %s is true, but there is no such token", key);
  if (!has && *n == MAX_AROUND) return RLX_FAIL(RLX_UNSUPPORTED, "more than %d tokens around a text", MAX_AROUND);
  if (is_before && has) memmove(list, list + 1, (*n - 1) * sizeof *list);
  if (is_before && !has) memmove(list + 1, list, *n * sizeof *list);
  if (!has) list[is_before ? 0 : *n] = id;
  *n = has ? *n - 1 : *n + 1;
  return RLX_OK;
}

/* ---- The reader ---------------------------------------------------------------------------------------------- */

static rlx_status read_all(reader *r, const text_json *j) {
  RLX_TRY(text_tables_open(j->tokenizer, "the file", &r->tables));
  const json_t *root = r->tables.root;
  if (j->config.p) RLX_TRY(text_load_config(j->config, &r->config));
  if (r->config && !json_is_object(r->config)) return RLX_FAIL(RLX_INVALID, "tokenizer_config.json is not an object");
  RLX_TRY(parse(j->model, "config.json", &r->model_config));
  RLX_TRY(parse(j->generation, "generation_config.json", &r->generation));
  r->model = json_object_get(root, "model");
  if (!json_is_object(r->model)) return RLX_FAIL(RLX_INVALID, "there is no model");
  r->d.keep_leading_space = true;
  r->d.before = r->before;
  r->d.after = r->after;
  r->d.parts = r->parts;
  RLX_TRY(read_tokens(r));
  RLX_TRY(text_json_normals(json_object_get(root, "normalizer"), &r->d));
  RLX_TRY(text_json_splits(json_object_get(root, "pre_tokenizer"), &r->d));
  RLX_TRY(read_decoder(r, json_object_get(root, "decoder"), 0));
  RLX_TRY(read_model(r));
  RLX_TRY(read_post(r, json_object_get(root, "post_processor"), 0));
  RLX_TRY(read_ends(r));
  RLX_TRY(apply_switch(r, "add_bos_token", true, r->d.bos));
  return apply_switch(r, "add_eos_token", false, r->d.eos);
}

rlx_status text_from_json(const text_json *j, rlx_tokenizer **out) {
  reader r = {.d = {.bos = -1, .eos = -1, .unknown = -1}};
  *out = NULL;
  rlx_status s = read_all(&r, j);
  if (s) text_desc_drop_steps(&r.d);
  else s = text_build(&r.d, out);
  if (!s) s = text_check_config(r.config, r.tables.root, *out);
  if (s) {
    rlx_tokenizer_destroy(*out);
    *out = NULL;
  }
  rlx_mem_free(r.tokens);
  rlx_mem_free(r.merges);
  rlx_mem_free(r.is_there);
  text_tables_close(&r.tables);
  json_decref(r.config);
  json_decref(r.model_config);
  json_decref(r.generation);
  return s;
}
