/* Builds a tokenizer: from a description to the tables of the pipeline, with all checks.
 *
 * Refused: two tokens with the same spelling (the second could never be produced), merges of tokens or into tokens
 * that do not exist, ids out of range. An empty spelling is allowed because files contain them; no text produces it. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/budget.h"
#include "io/file.h"
#include "text/grammar.h"
#include "text/text.h"

enum { MAX_TOKENS = 1 << 26 };

/* ---- The vocabulary ------------------------------------------------------------------------------------------ */

static rlx_status allocate_vocab(text_vocab *v, const text_desc *d) {
  size_t bytes = 0, slots = 16;
  bool has_scores = false, are_floats = true;
  if (d->n_tokens == 0) return RLX_FAIL(RLX_INVALID, "the vocabulary has no tokens");
  if (d->n_tokens > MAX_TOKENS)
    return RLX_FAIL(RLX_INVALID, "a vocabulary of %zu tokens: at most %d are possible", d->n_tokens, MAX_TOKENS);
  for (size_t i = 0; i < d->n_tokens; i++) {
    if (!rlx_add_size(bytes, d->tokens[i].spelling.n + 1, &bytes) || bytes > UINT32_MAX)
      return RLX_FAIL(RLX_INVALID, "the spellings have more than 2^32 bytes together");
    double score = d->tokens[i].score;
    has_scores |= score != 0;
    are_floats &= fabs(score) <= (double)FLT_MAX && (double)(float)score == score;
  }
  while (slots < d->n_tokens + d->n_tokens / 2) slots *= 2;
  v->pool = rlx_mem_alloc(bytes);
  v->starts = rlx_mem_calloc(d->n_tokens + 1, sizeof *v->starts);
  v->flags = rlx_mem_calloc(d->n_tokens, sizeof *v->flags);
  if (has_scores && are_floats) v->scores = rlx_mem_calloc(d->n_tokens, sizeof *v->scores);
  if (has_scores && !are_floats) v->fine_scores = rlx_mem_calloc(d->n_tokens, sizeof *v->fine_scores);
  v->slots = rlx_mem_calloc(slots, sizeof *v->slots);
  v->mask = slots - 1;
  v->seed = rlx_text_hash_seed(v->slots);
  v->n = (uint32_t)d->n_tokens;
  if (!v->pool || !v->starts || !v->flags || (has_scores && !v->scores && !v->fine_scores) || !v->slots)
    return RLX_FAIL(RLX_NO_MEMORY, "a vocabulary of %zu tokens", d->n_tokens);
  return RLX_OK;
}

static rlx_status enter_token(text_vocab *v, uint32_t id, text_span s) {
  uint64_t hash = text_hash(v->seed, s.p, s.n);
  size_t at = (size_t)(hash ^ hash >> 29);
  for (; v->slots[at & v->mask]; at++) {
    uint32_t other = v->slots[at & v->mask] - 1;
    text_span o = text_spelling(v, other);
    if (o.n == s.n && memcmp(o.p, s.p, s.n) == 0)
      return RLX_FAIL(RLX_INVALID, "token %u is '%.100s', and so is token %u: a spelling may be there once", id, s.p,
                      other);
  }
  v->slots[at & v->mask] = id + 1;
  return RLX_OK;
}

static rlx_status fill_vocab(text_vocab *v, const text_desc *d) {
  RLX_TRY(allocate_vocab(v, d));
  uint32_t at = 0;
  for (uint32_t i = 0; i < v->n; i++) {
    text_span s = d->tokens[i].spelling;
    if (s.n) memcpy(v->pool + at, s.p, s.n);
    v->pool[at + s.n] = '\0';
    v->starts[i] = at;
    v->starts[i + 1] = at += (uint32_t)s.n + 1;
    v->flags[i] = (uint16_t)d->tokens[i].flags;
    if (v->scores) v->scores[i] = (float)d->tokens[i].score;
    if (v->fine_scores) v->fine_scores[i] = d->tokens[i].score;
    if (s.n > v->longest) v->longest = s.n;
    if (!(d->tokens[i].score - d->tokens[i].score == 0))
      return RLX_FAIL(RLX_INVALID, "token %u '%.100s': its score is %g", i, v->pool + v->starts[i], d->tokens[i].score);
    if (s.n) RLX_TRY(enter_token(v, i, text_spelling(v, i)));
  }
  return RLX_OK;
}

/* ---- The rest ------------------------------------------------------------------------------------------------ */

static rlx_status find_part(const text_vocab *v, size_t merge, const char *which, text_span s, uint32_t *id) {
  int32_t found = text_find(v, s.p, s.n);
  if (found < 0)
    return RLX_FAIL(RLX_INVALID, "merge %zu: its %s '%.*s' is no token", merge, which, s.n > 100 ? 100 : (int)s.n,
                    s.p ? s.p : "");
  *id = (uint32_t)found;
  return RLX_OK;
}

static rlx_status fill_merges(rlx_tokenizer *t, const text_desc *d) {
  rlx_str joined = {0};
  rlx_status s = text_merges_init(&t->merges, d->n_merges);
  for (size_t i = 0; i < d->n_merges && !s; i++) {
    text_pair p = d->merges[i];
    text_merge m = {0};
    joined.n = 0;
    rlx_str_add_bytes(&joined, p.left.p, p.left.n);
    rlx_str_add_bytes(&joined, p.right.p, p.right.n);
    if (joined.failed) s = RLX_FAIL(RLX_NO_MEMORY, "merges");
    if (!s) s = find_part(&t->vocab, i, "left", p.left, &m.left);
    if (!s) s = find_part(&t->vocab, i, "right", p.right, &m.right);
    if (!s) s = find_part(&t->vocab, i, "result", (text_span){joined.v, joined.n}, &m.id);
    if (!s) (void)text_merges_add(&t->merges, m); /* for a repeated pair the first rank counts */
  }
  rlx_str_deinit(&joined);
  return s;
}

static rlx_status fill_specials(rlx_tokenizer *t) {
  for (uint32_t i = 0; i < t->vocab.n; i++) {
    unsigned flags = t->vocab.flags[i];
    if (!(flags & (TOKEN_CONTROL | TOKEN_ADDED | TOKEN_UNKNOWN))) continue;
    text_span s = text_spelling(&t->vocab, i);
    if (!(flags & TOKEN_NORMALIZED) || t->n_normals == 0) {
      RLX_TRY(text_tree_add(flags & TOKEN_NORMALIZED ? &t->normal_specials : &t->raw_specials, s, (int32_t)i));
      continue;
    }
    rlx_str form[2] = {{0}, {0}};
    rlx_status status = RLX_OK;
    for (size_t k = 0; k < t->n_normals && !status; k++) {
      rlx_str *out = s.p == form[0].v ? &form[1] : &form[0];
      if (text_valid_prefix(s.p, s.n) == s.n) status = text_normalize(&t->normals[k], s, out);
      s = (text_span){out->v, out->n};
    }
    if (!status) status = text_tree_add(&t->normal_specials, s, (int32_t)i);
    for (size_t k = 0; k < 2; k++) rlx_str_deinit(&form[k]);
    RLX_TRY(status);
  }
  return RLX_OK;
}

/* Marks tokens that are not text. A file may declare an ordinary character (a line end) as end token; that stays
 * text. */
static void mark_not_text(text_vocab *v) {
  for (uint32_t i = 0; i < v->n; i++) {
    text_span s = text_spelling(v, i);
    int32_t code;
    bool is_letter = v->flags[i] & TOKEN_BYTE || text_character(s.p, s.n, &code) == s.n;
    if (v->flags[i] & (TOKEN_CONTROL | TOKEN_UNKNOWN) || (v->flags[i] & TOKEN_END && !is_letter))
      v->flags[i] |= TOKEN_NOT_TEXT;
  }
}

static void fill_bytes(rlx_tokenizer *t) {
  for (int b = 0; b < 256; b++) {
    char text[8], raw = (char)b;
    if (t->byte_level) {
      t->byte_ids[b] = text_find(&t->vocab, text, text_put(text, text_byte_character(b)));
      continue;
    }
    snprintf(text, sizeof text, "<0x%02X>", (unsigned)b);
    t->byte_ids[b] = text_find(&t->vocab, text, 6);
    if (t->byte_ids[b] < 0) t->byte_ids[b] = text_find(&t->vocab, &raw, 1);
  }
}

/* Whether U+2581 occurs in spellings only as a run at the start. Control tokens are not produced by merging. */
static bool marks_only_lead(const text_vocab *v) {
  for (uint32_t i = 0; i < v->n; i++) {
    text_span s = text_spelling(v, i);
    size_t at = 0;
    if (v->flags[i] & (TOKEN_CONTROL | TOKEN_UNKNOWN)) continue;
    while (s.n - at >= 3 && memcmp(s.p + at, TEXT_MARK, 3) == 0) at += 3;
    if (strstr(s.p + at, TEXT_MARK)) return false;
  }
  return true;
}

static double min_score(const text_vocab *v) {
  double min = INFINITY;
  for (uint32_t i = 0; i < v->n; i++)
    if (!(v->flags[i] & (TOKEN_CONTROL | TOKEN_ADDED | TOKEN_UNKNOWN | TOKEN_BYTE | TOKEN_UNUSED)) &&
        text_score(v, i) < min)
      min = text_score(v, i);
  return min == INFINITY ? 0 : min;
}

static bool needs_characters(const rlx_tokenizer *t) {
  bool needs = t->n_splits > 0;
  for (size_t i = 0; i < t->n_normals; i++) {
    const text_normal *n = &t->normals[i];
    bool takes_bytes = n->kind == NORMAL_PREPEND || n->kind == NORMAL_SPACES || (n->kind == NORMAL_REPLACE && !n->code);
    if (!takes_bytes) needs = true;
  }
  return needs;
}

static rlx_status copy_text(const char *text, char **out) {
  size_t n = strlen(text ? text : "") + 1;
  *out = rlx_mem_alloc(n);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "a prefix");
  memcpy(*out, text ? text : "", n);
  return RLX_OK;
}

static rlx_status check_id(const rlx_tokenizer *t, const char *what, int32_t id, int32_t min) {
  if (id >= min && (id < 0 || (uint32_t)id < t->vocab.n)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "the %s token is %d, but there are %u tokens", what, id, t->vocab.n);
}

static rlx_status fill_around(rlx_tokenizer *t, const text_desc *d) {
  t->around = rlx_mem_calloc(d->n_before + d->n_after + 1, sizeof *t->around);
  if (!t->around) return RLX_FAIL(RLX_NO_MEMORY, "tokenizer");
  for (size_t i = 0; i < d->n_before; i++) t->around[i] = d->before[i];
  for (size_t i = 0; i < d->n_after; i++) t->around[d->n_before + i] = d->after[i];
  for (size_t i = 0; i < d->n_before + d->n_after; i++) { RLX_TRY(check_id(t, "first or last", t->around[i], 0)); }
  t->n_before = d->n_before;
  t->n_after = d->n_after;
  return RLX_OK;
}

/* Templates that do not have each text once are not of models for pairs: such a tokenizer knows none. */
static rlx_status fill_parts(rlx_tokenizer *t, const text_desc *d) {
  size_t n_first = 0, n_second = 0;
  t->parts = rlx_mem_calloc(d->n_parts + 1, sizeof *t->parts);
  if (!t->parts) return RLX_FAIL(RLX_NO_MEMORY, "tokenizer");
  for (size_t i = 0; i < d->n_parts; i++) {
    t->parts[i] = d->parts[i];
    n_first += t->parts[i].id == TEXT_FIRST;
    n_second += t->parts[i].id == TEXT_SECOND;
    RLX_TRY(check_id(t, "separating", t->parts[i].id, TEXT_SECOND));
  }
  if (n_first == 1 && n_second == 1) t->n_parts = d->n_parts;
  return RLX_OK;
}

static rlx_status fill(rlx_tokenizer *t, const text_desc *d) {
  if (t->n_splits > TEXT_MAX_SPLITS)
    return RLX_FAIL(RLX_UNSUPPORTED, "%zu steps that cut text: at most %d", t->n_splits, TEXT_MAX_SPLITS);
  RLX_TRY(fill_vocab(&t->vocab, d));
  RLX_TRY(check_id(t, "BOS", d->bos, -1));
  RLX_TRY(check_id(t, "EOS", d->eos, -1));
  RLX_TRY(check_id(t, "unknown", d->unknown, -1));
  RLX_TRY(fill_around(t, d));
  RLX_TRY(fill_parts(t, d));
  RLX_TRY(copy_text(d->word_prefix, &t->word_prefix));
  RLX_TRY(copy_text(d->continuing_prefix, &t->continuing_prefix));
  RLX_TRY(fill_merges(t, d));
  RLX_TRY(fill_specials(t));
  mark_not_text(&t->vocab);
  fill_bytes(t);
  t->needs_characters = needs_characters(t);
  t->cuts_at_marks = d->space_is_mark && d->model != TEXT_WORDPIECE && marks_only_lead(&t->vocab);
  t->unknown_score = min_score(&t->vocab) - 10; /* as in SentencePiece */
  return RLX_OK;
}

void text_desc_drop_steps(text_desc *d) {
  for (size_t i = 0; i < d->n_normals; i++) text_normal_deinit(&d->normals[i]);
  for (size_t i = 0; i < d->n_splits; i++) {
    text_pattern_free(d->splits[i].code);
    rlx_mem_free(d->splits[i].text);
  }
  rlx_mem_free(d->normals);
  rlx_mem_free(d->splits);
  d->normals = NULL;
  d->splits = NULL;
  d->n_normals = d->n_splits = 0;
}

rlx_status text_build(text_desc *d, rlx_tokenizer **out) {
  *out = NULL;
  rlx_tokenizer *t = rlx_new(rlx_tokenizer);
  if (!t) {
    text_desc_drop_steps(d);
    return RLX_FAIL(RLX_NO_MEMORY, "tokenizer");
  }
  t->model = d->model;
  snprintf(t->kind, sizeof t->kind, "%s", d->kind);
  t->normals = d->normals;
  t->n_normals = d->n_normals;
  t->splits = d->splits;
  t->n_splits = d->n_splits;
  d->normals = NULL;
  d->splits = NULL;
  t->byte_level = d->byte_level;
  t->is_spelled = d->is_spelled;
  t->match_special = d->match_special;
  t->byte_fallback = d->byte_fallback;
  t->ignore_merges = d->ignore_merges;
  t->fuse_unknown = d->fuse_unknown;
  t->bos = d->bos;
  t->eos = d->eos;
  t->unknown = d->unknown;
  t->max_characters = d->max_characters;
  t->keep_leading_space = d->keep_leading_space;
  t->space_is_mark = d->space_is_mark;
  t->clean_up = d->clean_up;
  rlx_status s = fill(t, d);
  if (s) {
    rlx_tokenizer_destroy(t);
    return s;
  }
  *out = t;
  return RLX_OK;
}

void rlx_tokenizer_destroy(rlx_tokenizer *t) {
  if (!t) return;
  text_desc steps = {.normals = t->normals, .n_normals = t->n_normals, .splits = t->splits, .n_splits = t->n_splits};
  text_desc_drop_steps(&steps);
  text_vocab_deinit(&t->vocab);
  text_merges_deinit(&t->merges);
  text_tree_deinit(&t->raw_specials);
  text_tree_deinit(&t->normal_specials);
  rlx_mem_free(t->around);
  rlx_mem_free(t->parts);
  rlx_mem_free(t->word_prefix);
  rlx_mem_free(t->continuing_prefix);
  grammar_vocab_release(t->grammar_vocab);
  rlx_mem_free(t);
}

/* ---- Queries ------------------------------------------------------------------------------------------------- */

uint32_t rlx_tokenizer_size(const rlx_tokenizer *t) { return t ? t->vocab.n : 0; }
const char *rlx_tokenizer_kind(const rlx_tokenizer *t) { return t ? t->kind : ""; }
static bool has(const rlx_tokenizer *t, int32_t id) { return t && id >= 0 && (uint32_t)id < t->vocab.n; }
const char *rlx_tokenizer_spelling(const rlx_tokenizer *t, int32_t id) {
  return has(t, id) ? text_spelling(&t->vocab, (uint32_t)id).p : NULL;
}
bool rlx_tokenizer_is_special(const rlx_tokenizer *t, int32_t id) {
  return has(t, id) && t->vocab.flags[id] & (TOKEN_CONTROL | TOKEN_UNKNOWN);
}
bool rlx_tokenizer_is_end(const rlx_tokenizer *t, int32_t id) { return has(t, id) && t->vocab.flags[id] & TOKEN_END; }
int32_t rlx_tokenizer_bos(const rlx_tokenizer *t) { return t ? t->bos : -1; }
int32_t rlx_tokenizer_eos(const rlx_tokenizer *t) { return t ? t->eos : -1; }
int32_t rlx_tokenizer_find(const rlx_tokenizer *t, const char *spelling) {
  return t && spelling && *spelling ? text_find(&t->vocab, spelling, strlen(spelling)) : -1;
}

static rlx_status create(const rlx_file *f, rlx_tokenizer **out) {
  rlx_meta model, json, other;
  if (rlx_file_meta_find(f, "tokenizer.ggml.model", &model)) return text_from_gguf(f, out);
  if (!rlx_file_meta_find(f, "tokenizer.json", &json) || json.kind != RLX_META_TEXT)
    return RLX_FAIL(RLX_NOT_FOUND,
                    "the file has no tokenizer: neither the key tokenizer.ggml.model nor a tokenizer.json");
  text_json texts = {.tokenizer = {json.text, json.n}};
  if (rlx_file_meta_find(f, "tokenizer_config.json", &other) && other.kind == RLX_META_TEXT)
    texts.config = (text_span){other.text, other.n};
  if (rlx_file_meta_find(f, "config.json", &other) && other.kind == RLX_META_TEXT)
    texts.model = (text_span){other.text, other.n};
  if (rlx_file_meta_find(f, "generation_config.json", &other) && other.kind == RLX_META_TEXT)
    texts.generation = (text_span){other.text, other.n};
  RLX_TRY_AT(text_from_json(&texts, out), "tokenizer.json");
  return RLX_OK;
}

rlx_status rlx_tokenizer_create(const rlx_file *f, rlx_tokenizer **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_create: out is NULL");
  *out = NULL;
  if (!f) return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_create: file is NULL");
  rlx_budget budget;
  rlx_budget_begin(&budget, "rlx_tokenizer_create", &f->limits, RLX_LOAD_WORK, NULL);
  rlx_status s = rlx_budget_end(&budget, create(f, out));
  if (!s) (*out)->limits = f->limits;
  return s;
}
