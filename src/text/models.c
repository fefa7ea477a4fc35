/* The tokenizer models without merges: WordPiece and Unigram.
 *
 * WordPiece takes the longest token at the start of a word, then the longest one of the rest; a word with a
 * remainder is unknown. Unigram takes the segmentation with the highest sum of scores (Viterbi). Both look up all
 * prefixes at a position with one incremental hash. */
#include <math.h>
#include <string.h>

#include "base/budget.h"
#include "text/text.h"

/* A position costs as many steps as the longest token has bytes, and a file may contain a token of any length. So
 * steps are counted and the budget, which reads the clock, is checked every CHECK_EVERY steps. */
static rlx_status count_steps(text_run *r, size_t left) {
  enum { CHECK_EVERY = 1 << 14 };
  r->lookups += r->t->vocab.longest < left ? r->t->vocab.longest : left;
  if (r->lookups < CHECK_EVERY) return RLX_OK;
  uint64_t n = r->lookups;
  r->lookups = 0;
  if (!rlx_budget_count_work(n)) return RLX_OK;
  return RLX_FAIL(RLX_CANCELLED, "looking for tokens of up to %zu bytes", r->t->vocab.longest);
}

/* Length in `in` of the longest token that `prefix` and a start of `in` spell; 0: none. */
static size_t longest_token(text_run *r, const char *prefix, text_span in, int32_t *id) {
  const text_vocab *v = &r->t->vocab;
  rlx_str *joined = &r->word;
  size_t bytes = strlen(prefix), max = v->longest > bytes ? v->longest - bytes : 0, best = 0;
  if (max > in.n) max = in.n;
  joined->n = 0;
  rlx_str_add_bytes(joined, prefix, bytes);
  rlx_str_add_bytes(joined, in.p, max);
  if (joined->failed) return 0;
  uint64_t h = text_hash(v->seed, prefix, bytes);
  for (size_t i = 0; i < max; i++) {
    h = text_hash_byte(h, in.p[i]);
    int32_t found = text_find_hashed(v, h, joined->v, bytes + i + 1);
    if (!text_may_be(r, found)) continue;
    best = i + 1;
    *id = found;
  }
  return best;
}

static size_t characters(text_span in) {
  size_t n = 0;
  for (size_t i = 0; i < in.n; i++) n += ((unsigned char)in.p[i] & 0xc0) != 0x80;
  return n;
}

rlx_status text_wordpiece(text_run *r, text_span word) {
  const rlx_tokenizer *t = r->t;
  size_t had = r->ids.n, at = 0, begins = strlen(t->word_prefix);
  if (t->max_characters && characters(word) > t->max_characters) return text_push_unknown(r);
  while (at < word.n) {
    int32_t id = -1;
    text_span rest = {word.p + at, word.n - at};
    if (at && !*t->continuing_prefix && rest.n >= begins && memcmp(rest.p, t->word_prefix, begins) == 0) {
      r->ids.n = had; /* such tokens start words, and this position is inside a word */
      return text_push_unknown(r);
    }
    RLX_TRY(count_steps(r, rest.n));
    size_t n = longest_token(r, at ? t->continuing_prefix : t->word_prefix, rest, &id);
    if (r->word.failed) return RLX_FAIL(RLX_NO_MEMORY, "a word of %zu bytes", word.n);
    if (!n) {
      r->ids.n = had;
      return text_push_unknown(r);
    }
    RLX_TRY(text_push(r, id));
    at += n;
  }
  return RLX_OK;
}

/* ---- Unigram ------------------------------------------------------------------------------------------------- */

/* Allocates the best path to each position: score, predecessor, and token (-1: unknown). */
static rlx_status make_room(text_run *r, size_t n) {
  r->scores.n = r->came.n = r->symbols.n = 0;
  if (n >= UINT32_MAX) return RLX_FAIL(RLX_UNSUPPORTED, "a piece of %zu bytes: at most 4 GiB", n);
  if (!rlx_array_reserve(&r->scores, n + 1) || !rlx_array_reserve(&r->came, n + 1) ||
      !rlx_array_reserve(&r->symbols, n + 1))
    return RLX_FAIL(RLX_NO_MEMORY, "a piece of %zu bytes", n);
  return RLX_OK;
}

static void relax(text_run *r, size_t from, size_t to, double score, int32_t id) {
  if (!(score > r->scores.v[to])) return;
  r->scores.v[to] = score;
  r->came.v[to] = (uint32_t)from;
  r->symbols.v[to].id = id;
}

static void extend_from(text_run *r, text_span in, size_t from, size_t character) {
  const text_vocab *v = &r->t->vocab;
  size_t max = v->longest < in.n - from ? v->longest : in.n - from;
  bool has_single = false;
  uint64_t h = v->seed;
  for (size_t i = 0; i < max; i++) {
    h = text_hash_byte(h, in.p[from + i]);
    int32_t id = text_find_hashed(v, h, in.p + from, i + 1);
    if (!text_may_be(r, id) || (!r->t->match_special && v->flags[id] & (TOKEN_CONTROL | TOKEN_UNKNOWN | TOKEN_BYTE)))
      continue;
    if (i + 1 == character) has_single = true;
    double score = v->flags[id] & TOKEN_ADDED && !r->t->match_special ? 0 : text_score(v, (uint32_t)id);
    relax(r, from, from + i + 1, r->scores.v[from] + score, id);
  }
  if (!has_single) relax(r, from, from + character, r->scores.v[from] + r->t->unknown_score, -1);
}

static rlx_status push_best_path(text_run *r, text_span in) {
  size_t n = 0;
  for (size_t at = in.n; at > 0; at = r->came.v[at]) r->symbols.v[n++].start = (uint32_t)at;
  bool unknown_before = false;
  for (size_t from = 0; n-- > 0;) {
    size_t to = r->symbols.v[n].start;
    int32_t id = r->symbols.v[to].id;
    if (id >= 0) RLX_TRY(text_push(r, id));
    else if (r->t->byte_fallback) RLX_TRY(text_push_bytes(r, (text_span){in.p + from, to - from}));
    else if (!unknown_before) RLX_TRY(text_push_unknown(r));
    unknown_before = id < 0;
    from = to;
  }
  return RLX_OK;
}

rlx_status text_unigram(text_run *r, text_span in) {
  RLX_TRY(make_room(r, in.n));
  for (size_t i = 0; i <= in.n; i++) {
    r->scores.v[i] = i ? -INFINITY : 0;
    r->came.v[i] = 0;
    r->symbols.v[i] = (text_symbol){.id = -1};
  }
  for (size_t at = 0, size; at < in.n; at += size) {
    int32_t code;
    size = text_character(in.p + at, in.n - at, &code);
    if (!size) size = 1;
    RLX_TRY(count_steps(r, in.n - at));
    extend_from(r, in, at, size);
  }
  return push_best_path(r, in);
}
