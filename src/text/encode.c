/* Text to ids: the pipeline, in order.
 *
 * Special tokens are cut out first, the longest where several begin at the same place, leftmost first. What is between them is
 * normalised, cut into pieces and given to the model. Where a step reads characters, broken UTF-8 goes around it: its bytes are
 * tokens of their own. */
#include <string.h>

#include "text/text.h"

rlx_status text_push(text_run *r, int32_t id) {
  return rlx_array_push(&r->ids, id) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", r->ids.n);
}

/* A vocabulary without an unknown token leaves out what it cannot spell. */
rlx_status text_push_unknown(text_run *r) { return r->t->unknown < 0 ? RLX_OK : text_push(r, r->t->unknown); }

rlx_status text_push_bytes(text_run *r, text_span bytes) {
  bool unknown_before = false;
  for (size_t i = 0; i < bytes.n; i++) {
    int32_t id = r->t->byte_ids[(unsigned char)bytes.p[i]];
    if (id >= 0) RLX_TRY(text_push(r, id));
    else if (!unknown_before) RLX_TRY(text_push_unknown(r));
    unknown_before = id < 0;
  }
  return RLX_OK;
}

/* ---- The models ---------------------------------------------------------------------------------------------- */

/* A whole piece that is a token, where merges need not lead to it. */
static int32_t whole_piece(text_run *r, text_span piece) {
  if (!r->t->byte_level || r->t->is_spelled) return text_find(&r->t->vocab, piece.p, piece.n);
  if (piece.n > r->t->vocab.longest) return -1;
  char bytes[4];
  r->word.n = 0;
  for (size_t i = 0; i < piece.n; i++)
    rlx_str_add_bytes(&r->word, bytes, text_put(bytes, text_byte_character((unsigned char)piece.p[i])));
  return r->word.failed ? -1 : text_find(&r->t->vocab, r->word.v, r->word.n);
}

static rlx_status run_one(text_run *r, text_span piece) {
  if (r->t->model == TEXT_WORDPIECE) return text_wordpiece(r, piece);
  if (r->t->model == TEXT_UNIGRAM) return text_unigram(r, piece);
  if (r->t->ignore_merges) {
    int32_t id = whole_piece(r, piece);
    if (r->word.failed) return RLX_FAIL(RLX_NO_MEMORY, "a piece of %zu bytes", piece.n);
    if (id >= 0) return text_push(r, id);
  }
  return text_merge_piece(r, piece);
}

static bool is_mark(const char *p, size_t n) { return n >= 3 && memcmp(p, TEXT_MARK, 3) == 0; }

/* Where no token reaches across the start of a run of marks, pieces end there: it changes nothing but the time. */
rlx_status text_model_run(text_run *r, text_span piece) {
  if (!r->t->cuts_at_marks) return run_one(r, piece);
  size_t start = 0;
  for (size_t at = 0; at < piece.n;) {
    const char *p = memchr(piece.p + at, (unsigned char)TEXT_MARK[0], piece.n - at);
    if (!p) break;
    at = (size_t)(p - piece.p);
    if (!is_mark(p, piece.n - at)) {
      at++;
      continue;
    }
    if (at > start) {
      RLX_TRY(run_one(r, (text_span){piece.p + start, at - start}));
      start = at;
    }
    while (is_mark(piece.p + at, piece.n - at)) at += 3;
  }
  return start < piece.n ? run_one(r, (text_span){piece.p + start, piece.n - start}) : RLX_OK;
}

/* ---- Special tokens ------------------------------------------------------------------------------------------ */

typedef rlx_status (*fragment_fn)(text_run *r, text_span in, bool is_first);

static bool is_wanted(const text_run *r, int32_t id) {
  return id >= 0 && (r->parse_special || !(r->t->vocab.flags[id] & (TOKEN_CONTROL | TOKEN_UNKNOWN)));
}

static bool is_word_at(text_span in, size_t at, bool before) {
  int32_t code;
  if (before) {
    if (at == 0) return false;
    for (at--; at > 0 && ((unsigned char)in.p[at] & 0xc0) == 0x80;) at--;
  }
  return text_character(in.p + at, in.n - at, &code) && text_is_word(code);
}

/* The longest special token at a place; its bytes, 0: none. */
static size_t special_at(const text_run *r, const text_tree *t, text_span in, size_t at, int32_t *id) {
  size_t best = 0;
  uint32_t node = t->root[(unsigned char)in.p[at]];
  for (size_t i = at + 1; node; i++) {
    int32_t here = t->nodes.v[node].id;
    if (is_wanted(r, here) &&
        !(r->t->vocab.flags[here] & TOKEN_WHOLE_WORD && (is_word_at(in, at, true) || is_word_at(in, i, false)))) {
      best = i - at;
      *id = here;
    }
    if (i >= in.n) break;
    for (node = t->nodes.v[node].child; node && t->nodes.v[node].byte != in.p[i];) node = t->nodes.v[node].next;
  }
  return best;
}

static size_t without_trailing_space(text_span in, size_t start, size_t end) {
  int32_t code;
  while (end > start) {
    size_t last = end - 1;
    while (last > start && ((unsigned char)in.p[last] & 0xc0) == 0x80) last--;
    if (!text_character(in.p + last, end - last, &code) || !text_is_space(code)) break;
    end = last;
  }
  return end;
}

static size_t after_space(text_span in, size_t at) {
  int32_t code;
  for (size_t size; at < in.n; at += size) {
    size = text_character(in.p + at, in.n - at, &code);
    if (!size || !text_is_space(code)) break;
  }
  return at;
}

static rlx_status cut_specials(text_run *r, const text_tree *t, text_span in, bool is_first, fragment_fn fn) {
  size_t start = 0;
  for (size_t at = 0; t->nodes.n && at < in.n;) {
    int32_t id = -1;
    size_t n = t->root[(unsigned char)in.p[at]] ? special_at(r, t, in, at, &id) : 0;
    if (!n) {
      at++;
      continue;
    }
    unsigned flags = r->t->vocab.flags[id];
    size_t end = flags & TOKEN_LSTRIP ? without_trailing_space(in, start, at) : at;
    if (end > start) RLX_TRY(fn(r, (text_span){in.p + start, end - start}, is_first && start == 0));
    RLX_TRY(text_push(r, id));
    at += n;
    if (flags & TOKEN_RSTRIP) at = after_space(in, at);
    start = at;
  }
  if (start >= in.n) return RLX_OK;
  return fn(r, (text_span){in.p + start, in.n - start}, is_first && start == 0);
}

/* ---- Fragments ----------------------------------------------------------------------------------------------- */

static rlx_status split_fragment(text_run *r, text_span in, bool is_first) {
  return text_split_pieces(r, 0, in, is_first);
}

static rlx_status normalize_fragment(text_run *r, text_span in, bool is_first) {
  for (size_t i = 0; i < r->t->n_normals; i++) {
    rlx_str *out = &r->normal[i & 1];
    RLX_TRY(text_normalize(&r->t->normals[i], in, out));
    in = (text_span){out->v, out->n};
  }
  if (in.n == 0) return RLX_OK;
  return cut_specials(r, &r->t->normal_specials, in, is_first, split_fragment);
}

static rlx_status fragment(text_run *r, text_span in, bool is_first) {
  if (!r->t->needs_characters) return normalize_fragment(r, in, is_first);
  for (size_t at = 0; at < in.n;) {
    size_t good = text_valid_prefix(in.p + at, in.n - at), bad = 0;
    int32_t code;
    if (good) RLX_TRY(normalize_fragment(r, (text_span){in.p + at, good}, is_first && at == 0));
    at += good;
    while (at + bad < in.n && !text_character(in.p + at + bad, in.n - at - bad, &code)) bad++;
    RLX_TRY(text_push_bytes(r, (text_span){in.p + at, bad}));
    at += bad;
  }
  return RLX_OK;
}

/* ---- The call ------------------------------------------------------------------------------------------------ */

void text_match_deinit(text_run *r) {
  pcre2_match_data_free(r->match);
  pcre2_match_context_free(r->context);
  pcre2_jit_stack_free(r->stack);
  r->match = NULL;
  r->context = NULL;
  r->stack = NULL;
}

static void run_deinit(text_run *r) {
  rlx_array_deinit(&r->ids);
  rlx_array_deinit(&r->symbols);
  rlx_array_deinit(&r->heap);
  rlx_array_deinit(&r->scores);
  rlx_array_deinit(&r->came);
  text_match_deinit(r);
  for (size_t i = 0; i < 2; i++) rlx_str_deinit(&r->normal[i]);
  for (size_t i = 0; i < TEXT_MOST_SPLITS; i++) rlx_str_deinit(&r->scratch[i]);
  rlx_str_deinit(&r->word);
}

static rlx_status push_all(text_run *r, const int32_t *ids, size_t n) {
  for (size_t i = 0; i < n; i++) RLX_TRY(text_push(r, ids[i]));
  return RLX_OK;
}

static rlx_status encode(text_run *r, text_span text, unsigned flags) {
  const rlx_tokenizer *t = r->t;
  bool add = (flags & RLX_TOKENS_ADD_SPECIAL) != 0;
  if (add) RLX_TRY(push_all(r, t->around, t->n_before));
  RLX_TRY(cut_specials(r, &t->raw_specials, text, true, fragment));
  if (add) RLX_TRY(push_all(r, t->around + t->n_before, t->n_after));
  return rlx_array_reserve(&r->ids, 1) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "tokens");
}

rlx_status rlx_tokenizer_encode(const rlx_tokenizer *t, const char *text, size_t bytes, unsigned flags, int32_t **ids,
                                size_t *n) {
  if (!ids || !n) return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_encode: ids or n is NULL");
  *ids = NULL;
  *n = 0;
  if (!t || (!text && bytes))
    return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_encode: %s is NULL", t ? "text" : "tokenizer");
  if (flags & ~(unsigned)(RLX_TOKENS_ADD_SPECIAL | RLX_TOKENS_PARSE_SPECIAL))
    return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_encode: unknown flags %#x", flags);
  text_run *r = rlx_new(text_run);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "tokens");
  r->t = t;
  r->parse_special = (flags & RLX_TOKENS_PARSE_SPECIAL) != 0;
  rlx_status s = encode(r, (text_span){text, bytes}, flags);
  if (!s) {
    *ids = r->ids.v;
    *n = r->ids.n;
    r->ids.v = NULL;
  }
  run_deinit(r);
  rlx_mem_free(r);
  return s;
}
