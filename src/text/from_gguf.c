/* Tokenizers from GGUF metadata: the keys under tokenizer.ggml.
 *
 * Missing keys get the defaults of llama.cpp, for which files are made: the special tokens of each model type, which
 * of them are added, how blanks are encoded. Two of its guesses are not made here: BOS and EOS of byte-level
 * vocabularies, and pre-tokenizers without a pattern. A file without tokenizer.ggml.pre is older than that key; it
 * gets the default of its time, with a warning. A key of the wrong type, an id outside the vocabulary and an unknown
 * key (io/file_leftover.def) are refused. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "io/file_leftover.h"
#include "text/text.h"

#define KEY(NAME) "tokenizer.ggml." NAME
#define DEEPSEEK_END "<\357\275\234end\342\226\201of\342\226\201sentence\357\275\234>"

/* GGUF token types as flags. */
static const uint32_t type_flags[] = {0, 0, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_ADDED, TOKEN_UNUSED, TOKEN_BYTE};

/* Spellings that end a turn or a text whatever the file declares; they become control tokens. */
static const char *const ends[] = {"<|eot_id|>",
                                   "<|im_end|>",
                                   "<|end|>",
                                   "<|return|>",
                                   "<|call|>",
                                   "<|flush|>",
                                   "<|calls|>",
                                   "<end_of_turn>",
                                   "<|endoftext|>",
                                   "</s>",
                                   "<|eom_id|>",
                                   "<EOT>",
                                   "_<EOT>",
                                   "[EOT]",
                                   "[EOS]",
                                   "<|end_of_text|>",
                                   "<end_of_utterance>",
                                   "<eos>",
                                   "<turn|>",
                                   "<|tool_response>",
                                   DEEPSEEK_END,
                                   "[e~[",
                                   "<|fim_pad|>",
                                   "<|fim_repo|>",
                                   "<|repo_name|>",
                                   "<|file_sep|>"};

bool text_is_end_spelling(text_span s) {
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (strlen(ends[i]) == s.n && memcmp(ends[i], s.p, s.n) == 0) return true;
  return false;
}

typedef struct reader {
  const rlx_file *f;
  text_desc d;
  text_token *tokens;
  text_pair *merges;
  const text_pre *pre;
  int32_t around[2];
  text_part parts[6];
  char kind[64];
  RLX_ARRAY(const char *) known; /* keys that were read */
  rlx_status status;             /* the first error */
} reader;

/* ---- Keys ---------------------------------------------------------------------------------------------------- */

/* Finds a key and marks it as read. */
static bool find(reader *r, const char *key, rlx_meta *out) {
  if (!rlx_array_push(&r->known, key) && !r->status) r->status = RLX_FAIL(RLX_NO_MEMORY, "the keys of a tokenizer");
  return rlx_file_meta_find(r->f, key, out);
}

static void fail_kind(reader *r, const rlx_meta *m, const char *expected) {
  if (!r->status) r->status = RLX_FAIL(RLX_INVALID, "%s is %s, expected %s", m->key, m->type, expected);
}

static bool find_text(reader *r, const char *key, text_span *out) {
  rlx_meta m;
  if (!find(r, key, &m)) return false;
  if (m.kind != RLX_META_TEXT) fail_kind(r, &m, "a text");
  else *out = (text_span){m.text, m.n};
  return m.kind == RLX_META_TEXT;
}

static bool is_text(text_span s, const char *text) { return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0; }

static bool flag_or(reader *r, const char *key, bool fallback) {
  rlx_meta m;
  if (!find(r, key, &m)) return fallback;
  if (m.kind != RLX_META_BOOL && m.kind != RLX_META_INT) fail_kind(r, &m, "true or false");
  return m.integer != 0;
}

/* Id of a special token. Writers use -1, in 32 or 64 bits, for none. */
static int32_t id_or(reader *r, const char *key, int32_t fallback) {
  rlx_meta m;
  if (fallback >= 0 && (size_t)fallback >= r->d.n_tokens) fallback = -1;
  if (!find(r, key, &m)) return fallback;
  if (m.kind == RLX_META_INT && m.integer >= 0 && (uint64_t)m.integer < r->d.n_tokens) return (int32_t)m.integer;
  if (m.kind == RLX_META_INT && (m.integer == UINT32_MAX || m.integer == -1)) return fallback;
  if (m.kind != RLX_META_INT) fail_kind(r, &m, "the number of a token");
  else if (!r->status)
    r->status = RLX_FAIL(RLX_INVALID, "%s is %lld, but there are %zu tokens", key, (long long)m.integer, r->d.n_tokens);
  return fallback;
}

static rlx_status find_list(reader *r, const char *key, rlx_meta_kind kind, size_t n, rlx_meta *out) {
  if (!find(r, key, out)) {
    *out = (rlx_meta){0};
    return RLX_OK;
  }
  if (out->kind != RLX_META_LIST ||
      (out->elements != kind && out->n > 0 && !(kind == RLX_META_FLOAT && out->elements == RLX_META_INT)))
    return RLX_FAIL(RLX_INVALID, "%s is %s, expected a list of %s", key, out->type,
                    kind == RLX_META_TEXT    ? "strings"
                    : kind == RLX_META_FLOAT ? "numbers"
                                             : "whole numbers");
  if (n && out->n != n) return RLX_FAIL(RLX_INVALID, "%s has %zu entries for %zu tokens", key, out->n, n);
  return RLX_OK;
}

/* ---- The tables ---------------------------------------------------------------------------------------------- */

static rlx_status read_tokens(reader *r) {
  rlx_meta list, scores, types, e;
  RLX_TRY(find_list(r, KEY("tokens"), RLX_META_TEXT, 0, &list));
  if (list.n == 0) return RLX_FAIL(RLX_INVALID, "%s is missing or empty: there is no vocabulary", KEY("tokens"));
  RLX_TRY(find_list(r, KEY("scores"), RLX_META_FLOAT, list.n, &scores));
  RLX_TRY(find_list(r, KEY("token_type"), RLX_META_INT, list.n, &types));
  r->tokens = rlx_mem_calloc(list.n, sizeof *r->tokens);
  if (!r->tokens) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", list.n);
  for (size_t i = 0; i < list.n; i++) {
    text_token *t = &r->tokens[i];
    if (!rlx_meta_element(&list, i, &e)) return RLX_FAIL(RLX_INVALID, "%s ends before token %zu", KEY("tokens"), i);
    t->spelling = (text_span){e.text, e.n};
    if (scores.n && rlx_meta_element(&scores, i, &e)) t->score = e.number;
    if (!types.n || !rlx_meta_element(&types, i, &e)) continue;
    if (e.integer < 0 || e.integer > 6)
      return RLX_FAIL(RLX_INVALID, "%s of token %zu is %lld: the kinds are 1 to 6", KEY("token_type"), i,
                      (long long)e.integer);
    t->flags = type_flags[e.integer];
  }
  r->d.tokens = r->tokens;
  r->d.n_tokens = list.n;
  return RLX_OK;
}

/* Parses "left right". The blank is searched from the second byte on, since the left part may begin with one. */
static rlx_status read_merges(reader *r) {
  rlx_meta list, e;
  RLX_TRY(find_list(r, KEY("merges"), RLX_META_TEXT, 0, &list));
  if (list.n == 0)
    return RLX_FAIL(RLX_INVALID, "%s is missing or empty, and a vocabulary of this kind is nothing without",
                    KEY("merges"));
  r->merges = rlx_mem_calloc(list.n, sizeof *r->merges);
  if (!r->merges) return RLX_FAIL(RLX_NO_MEMORY, "%zu merges", list.n);
  for (size_t i = 0; i < list.n; i++) {
    if (!rlx_meta_element(&list, i, &e)) return RLX_FAIL(RLX_INVALID, "%s ends before entry %zu", KEY("merges"), i);
    const char *space = e.n > 1 ? memchr(e.text + 1, ' ', e.n - 1) : NULL;
    if (!space)
      return RLX_FAIL(RLX_INVALID, "merge %zu is '%.100s': expected two tokens with a blank between", i, e.text);
    size_t left = (size_t)(space - e.text);
    r->merges[i] = (text_pair){{e.text, left}, {space + 1, e.n - left - 1}};
  }
  r->d.merges = r->merges;
  r->d.n_merges = list.n;
  return RLX_OK;
}

/* ---- Steps --------------------------------------------------------------------------------------------------- */

rlx_status text_copy(const char *p, size_t n, char **out) {
  *out = rlx_mem_alloc(n + 1);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes of text", n);
  if (n) memcpy(*out, p, n);
  (*out)[n] = '\0';
  return RLX_OK;
}

static rlx_status make_normals(text_desc *d, size_t n) {
  d->normals = rlx_mem_calloc(n, sizeof *d->normals);
  return d->normals ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "tokenizer");
}

/* Adds SentencePiece normalisation: an optional leading blank, and blanks as U+2581. */
static rlx_status spm_spaces(text_desc *d, bool prefix) {
  RLX_TRY(make_normals(d, 2));
  if (prefix) {
    text_normal *n = &d->normals[d->n_normals++];
    n->kind = NORMAL_PREPEND;
    RLX_TRY(text_copy(" ", 1, &n->to));
    n->to_bytes = 1;
  }
  text_normal *n = &d->normals[d->n_normals++];
  n->kind = NORMAL_REPLACE;
  RLX_TRY(text_copy(" ", 1, &n->from));
  n->from_bytes = 1;
  RLX_TRY(text_copy(TEXT_MARK, 3, &n->to));
  n->to_bytes = 3;
  return RLX_OK;
}

static rlx_status add_patterns(text_desc *d, const char *const *patterns, size_t n) {
  d->splits = rlx_mem_calloc(n ? n : 1, sizeof *d->splits);
  if (!d->splits) return RLX_FAIL(RLX_NO_MEMORY, "tokenizer");
  for (size_t i = 0; i < n; i++) {
    text_split *s = &d->splits[d->n_splits++];
    if (strcmp(patterns[i], TEXT_DIGITS_RIGHT) == 0) s->kind = SPLIT_DIGITS_RIGHT;
    else RLX_TRY(text_pattern_compile(patterns[i], &s->code));
  }
  return RLX_OK;
}

/* ---- The models ---------------------------------------------------------------------------------------------- */

/* Whether a token can be added. If it is requested but has no id it is skipped with a warning: texts without it are
 * nearly right. */
static bool can_add(bool wanted, int32_t id, const char *name) {
  if (wanted && id < 0) rlx_log_write(RLX_LOG_WARN, "%s is to be added to texts, but the file has none", name);
  return wanted && id >= 0;
}

static void add_around(reader *r, bool bos, int32_t first, bool eos, int32_t last) {
  r->around[0] = first;
  r->around[1] = last;
  r->d.before = &r->around[0];
  r->d.n_before = can_add(bos, first, "a token at the start");
  r->d.after = &r->around[1];
  r->d.n_after = can_add(eos, last, "a token at the end");
}

/* Two texts: FIRST A LAST B LAST as a single text, with a separator more before B if the file says so, as programs for
 * GGUF files write them. `type`: of the second text; BERT's is 1. */
static void add_parts(reader *r, int32_t separator, int32_t type) {
  text_desc *d = &r->d;
  text_part *p = r->parts;
  size_t n = 0;
  if (d->n_before) p[n++] = (text_part){r->around[0], 0};
  p[n++] = (text_part){TEXT_FIRST, 0};
  if (d->n_after) p[n++] = (text_part){r->around[1], 0};
  if (separator >= 0) p[n++] = (text_part){separator, 0};
  p[n++] = (text_part){TEXT_SECOND, type};
  if (d->n_after) p[n++] = (text_part){r->around[1], type};
  d->parts = p;
  d->n_parts = d->n_after || separator >= 0 ? n : 0;
}

/* The token between two texts; -1: none beyond the one that ends a text. */
static int32_t separator_or(reader *r, int32_t fallback) {
  return id_or(r, KEY("seperator_token_id"), id_or(r, KEY("separator_token_id"), fallback));
}

static void add_parts_by_keys(reader *r) {
  int32_t separator = separator_or(r, r->d.eos);
  add_parts(r, flag_or(r, KEY("add_sep_token"), false) ? separator : -1, 0);
}

static void read_bos_eos(reader *r, int32_t bos, int32_t eos, int32_t unknown) {
  r->d.bos = id_or(r, KEY("bos_token_id"), bos);
  r->d.eos = id_or(r, KEY("eos_token_id"), eos);
  r->d.unknown = id_or(r, KEY("unknown_token_id"), unknown);
}

static rlx_status read_spm(reader *r) {
  text_desc *d = &r->d;
  bool prefix = flag_or(r, KEY("add_space_prefix"), true);
  d->model = TEXT_SPM;
  d->byte_fallback = d->space_is_mark = true;
  d->keep_leading_space = !prefix;
  snprintf(r->kind, sizeof r->kind, "spm");
  read_bos_eos(r, 1, 2, 0);
  add_around(r, flag_or(r, KEY("add_bos_token"), true), d->bos, flag_or(r, KEY("add_eos_token"), false), d->eos);
  return spm_spaces(d, prefix);
}

static rlx_status find_pre(reader *r, bool is_gemma) {
  text_span name;
  if (is_gemma) {
    name = (text_span){"gemma4", 6};
  } else if (!find_text(r, KEY("pre"), &name) || name.n == 0) {
    rlx_log_write(
      RLX_LOG_WARN,
      "the file names no pre-tokenizer (%s): using an old default, so text may be split differently than in training",
      KEY("pre"));
    name = (text_span){"default", 7};
  }
  r->pre = text_pre_find(name.p, name.n);
  snprintf(r->kind, sizeof r->kind, "bpe (%.40s)", name.p);
  if (r->pre) return RLX_OK;
  rlx_str known = {0};
  text_pre_list(&known);
  rlx_status s = RLX_FAIL(RLX_UNSUPPORTED, "the pre-tokenizer '%.100s' (%s) is not known; these are: %s", name.p,
                          KEY("pre"), known.failed ? "" : known.v);
  rlx_str_deinit(&known);
  return s;
}

static rlx_status read_bpe(reader *r, bool is_gemma) {
  text_desc *d = &r->d;
  d->model = TEXT_BPE;
  d->keep_leading_space = true;
  RLX_TRY(find_pre(r, is_gemma));
  RLX_TRY(read_merges(r));
  read_bos_eos(r, -1, -1, -1);
  d->byte_level = !r->pre->raw;
  d->byte_fallback = d->space_is_mark = r->pre->raw;
  d->ignore_merges = r->pre->ignore_merges;
  bool bos = flag_or(r, KEY("add_bos_token"), r->pre->add_bos) || is_gemma;
  add_around(r, bos, d->bos, flag_or(r, KEY("add_eos_token"), false), d->eos);
  add_parts_by_keys(r);
  size_t n = 0;
  while (n < sizeof r->pre->patterns / sizeof *r->pre->patterns && r->pre->patterns[n]) n++;
  if (r->pre->raw) RLX_TRY(spm_spaces(d, false));
  return add_patterns(d, r->pre->patterns, n);
}

static rlx_status read_wordpiece(reader *r) {
  static const char *const words[] = {"\\s+", "[!-/:-@\\[-`{-~\\p{P}]"};
  text_desc *d = &r->d;
  d->model = TEXT_WORDPIECE;
  d->word_prefix = TEXT_MARK;
  d->max_characters = 100; /* BERT's default; the format has no key */
  d->clean_up = true;
  snprintf(r->kind, sizeof r->kind, "wordpiece");
  read_bos_eos(r, id_or(r, KEY("cls_token_id"), 101), -1, 100);
  int32_t sep = separator_or(r, 102);
  add_around(r, flag_or(r, KEY("add_bos_token"), true), d->bos, flag_or(r, KEY("add_sep_token"), true), sep);
  add_parts(r, -1, 1);
  RLX_TRY(make_normals(d, 1));
  bool lower = flag_or(r, "tokenizer.ggml.normalizer.lowercase", true);
  *d->normals = (text_normal){.kind = NORMAL_BERT,
                              .clean = true,
                              .chinese = true,
                              .lowercase = lower,
                              .strip_accents = flag_or(r, "tokenizer.ggml.normalizer.strip_accents", lower)};
  d->n_normals = 1;
  RLX_TRY(add_patterns(d, words, 2));
  d->splits[0].behavior = SPLIT_REMOVED;
  return RLX_OK;
}

static rlx_status read_charsmap(reader *r, text_normal *n) {
  rlx_meta list, e;
  RLX_TRY(find_list(r, KEY("precompiled_charsmap"), RLX_META_INT, 0, &list));
  if (list.n == 0) return RLX_OK;
  n->to = rlx_mem_alloc(list.n);
  if (!n->to) return RLX_FAIL(RLX_NO_MEMORY, "a table of %zu bytes", list.n);
  for (size_t i = 0; i < list.n; i++) {
    if (!rlx_meta_element(&list, i, &e)) return RLX_FAIL(RLX_INVALID, "%s ends at %zu", KEY("precompiled_charsmap"), i);
    n->to[i] = (char)e.integer;
  }
  n->to_bytes = list.n;
  n->kind = NORMAL_CHARSMAP;
  r->d.n_normals++;
  return text_check_charsmap(n);
}

static rlx_status read_unigram(reader *r) {
  text_desc *d = &r->d;
  d->model = TEXT_UNIGRAM;
  d->space_is_mark = true;
  bool prefix = flag_or(r, KEY("add_space_prefix"), false);
  d->keep_leading_space = !prefix;
  snprintf(r->kind, sizeof r->kind, "unigram");
  read_bos_eos(r, -1, 1, 2);
  add_around(r, flag_or(r, KEY("add_bos_token"), false), d->bos, flag_or(r, KEY("add_eos_token"), true), d->eos);
  add_parts_by_keys(r);
  RLX_TRY(make_normals(d, 2));
  RLX_TRY(read_charsmap(r, &d->normals[0]));
  d->normals[d->n_normals++] =
    (text_normal){.kind = NORMAL_SPACES, .prefix = prefix, .merge = flag_or(r, KEY("remove_extra_whitespaces"), false)};
  return RLX_OK;
}

/* ---- Facts without a key ------------------------------------------------------------------------------------- */

/* ASCII only, independent of the locale. */
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool name_has(const rlx_file *f, const char *key, const char *word) {
  rlx_meta m;
  if (!rlx_file_meta_find(f, key, &m) || m.kind != RLX_META_TEXT) return false;
  size_t n = strlen(word);
  for (size_t i = 0; i + n <= m.n; i++) {
    size_t k = 0;
    while (k < n && lower(m.text[i + k]) == word[k]) k++;
    if (k == n) return true;
  }
  return false;
}

/* Special tokens of some models absorb adjacent blanks, for which GGUF has no key. */
static void mark_strips(reader *r) {
  bool is_phi3 = name_has(r->f, "general.name", "phi-3") || name_has(r->f, "general.name", "phi3");
  bool mask = name_has(r->f, KEY("pre"), "jina-v2-de") || name_has(r->f, KEY("pre"), "jina-v2-es") ||
              name_has(r->f, KEY("pre"), "jina-v2-code") || name_has(r->f, "general.architecture", "nomic-bert-moe") ||
              name_has(r->f, "general.architecture", "jina-bert-v3");
  bool modern = name_has(r->f, "general.name", "modern-bert");
  for (size_t i = 0; i < r->d.n_tokens; i++) {
    text_token *t = &r->tokens[i];
    bool is_special = t->flags & (TOKEN_CONTROL | TOKEN_ADDED | TOKEN_UNKNOWN);
    if (is_phi3 && is_special && !is_text(t->spelling, "<unk>") && !is_text(t->spelling, "<s>") &&
        !is_text(t->spelling, "<|endoftext|>"))
      t->flags |= TOKEN_RSTRIP;
    if ((mask && is_text(t->spelling, "<mask>")) || (modern && is_text(t->spelling, "[MASK]")))
      t->flags |= TOKEN_LSTRIP;
  }
}

/* Marks end tokens: those that the file names, and by spelling. "<|end|>" ends only a part of a message if
 * "<|return|>" or "<|flush|>" exist. "</s>" is ordinary text if another token is the end. */
void text_mark_ends(text_token *tokens, size_t n, const int32_t *named, size_t n_named, bool only_marked) {
  bool has_return = false, has_other = false;
  for (size_t i = 0; i < n; i++) {
    if (is_text(tokens[i].spelling, "<|return|>") || is_text(tokens[i].spelling, "<|flush|>")) has_return = true;
    if (is_text(tokens[i].spelling, "<|tool_response>") || is_text(tokens[i].spelling, "<|plamo:eos|>"))
      has_other = true;
  }
  for (size_t i = 0; i < n; i++) {
    if (!text_is_end_spelling(tokens[i].spelling)) continue;
    if (only_marked && !(tokens[i].flags & (TOKEN_CONTROL | TOKEN_ADDED))) continue;
    if (has_return && is_text(tokens[i].spelling, "<|end|>")) continue;
    if (has_other && is_text(tokens[i].spelling, "</s>")) continue;
    tokens[i].flags |= only_marked ? TOKEN_END : TOKEN_END | TOKEN_CONTROL;
  }
  for (size_t i = 0; i < n_named; i++)
    if (named[i] >= 0) tokens[named[i]].flags |= TOKEN_END;
}

/* ---- The reader ---------------------------------------------------------------------------------------------- */

/* Refuses all tokenizer keys that were not read. `kind` is the value of tokenizer.ggml.model. */
static rlx_status refuse_leftovers(const reader *r, text_span kind) {
  char name[32];
  rlx_meta m;
  snprintf(name, sizeof name, "%.*s", (int)kind.n, kind.p);
  leftovers left = {.family = name};
  for (uint32_t i = 0; rlx_file_meta_at(r->f, i, &m); i++) {
    bool is_read = strncmp(m.key, "tokenizer.", 10) != 0 || strcmp(m.key, "tokenizer.json") == 0;
    for (size_t k = 0; k < r->known.n && !is_read; k++) is_read = strcmp(r->known.v[k], m.key) == 0;
    if (!is_read) leftover_add(&left, &(leftover){.kind = LEFT_TOKENIZER, .name = m.key, .value = m});
  }
  rlx_status s = leftover_refuse(&left);
  leftovers_deinit(&left);
  return s;
}

static rlx_status read_all(reader *r) {
  text_span model;
  if (!find_text(r, KEY("model"), &model)) return RLX_FAIL(RLX_INVALID, "%s is not a text", KEY("model"));
  bool spm = is_text(model, "llama"), bpe = is_text(model, "gpt2"), gemma = is_text(model, "gemma4");
  bool bert = is_text(model, "bert"), unigram = is_text(model, "t5");
  if (!spm && !bpe && !gemma && !bert && !unigram)
    return RLX_FAIL(RLX_UNSUPPORTED,
                    "a tokenizer of the kind '%.100s' (%s); known are llama, gpt2, gemma4, bert and t5", model.p,
                    KEY("model"));
  RLX_TRY(read_tokens(r));
  if (spm) RLX_TRY(read_spm(r));
  else if (bert) RLX_TRY(read_wordpiece(r));
  else if (unigram) RLX_TRY(read_unigram(r));
  else RLX_TRY(read_bpe(r, gemma));
  int32_t named[] = {r->d.eos, id_or(r, KEY("eot_token_id"), -1), id_or(r, KEY("eom_token_id"), -1)};
  RLX_TRY(r->status);
  RLX_TRY(refuse_leftovers(r, model));
  mark_strips(r);
  text_mark_ends(r->tokens, r->d.n_tokens, named, 3, false);
  return RLX_OK;
}

rlx_status text_from_gguf(const rlx_file *f, rlx_tokenizer **out) {
  reader r = {.f = f, .d = {.bos = -1, .eos = -1, .unknown = -1}};
  *out = NULL;
  rlx_status s = read_all(&r);
  r.d.kind = r.kind;
  if (s) text_desc_drop_steps(&r.d);
  else s = text_build(&r.d, out);
  rlx_mem_free(r.tokens);
  rlx_mem_free(r.merges);
  rlx_array_deinit(&r.known);
  return s;
}
