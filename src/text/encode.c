/* Text to token ids: the whole pipeline, in order.
 *
 * Special tokens are cut out first: leftmost first, the longest one at each position. The text between them is
 * normalised, split into pieces and passed to the model. Steps that need characters skip invalid UTF-8: its bytes
 * become byte tokens, or U+FFFD if the vocabulary has no byte tokens.
 *
 * User text must stay text. Unless special tokens are enabled, no step may produce one, neither by merging
 * characters into its spelling nor by a normal form that yields it. In a conversation (content and markers) special
 * tokens are searched outside content only. All other steps are the same, so ordinary content gets the same tokens
 * as if they were searched everywhere. */
#include <string.h>

#include "base/budget.h"
#include "text/text.h"

rlx_status text_push(text_run *r, int32_t id) {
  return rlx_array_push(&r->ids, id) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", r->ids.n);
}

/* Appends the unknown token. A vocabulary without one drops what it cannot represent. The same holds if the file
 * declares BOS or an end token as the unknown one: an unknown character must not end a text. */
rlx_status text_push_unknown(text_run *r) {
  const rlx_tokenizer *t = r->t;
  if (t->unknown < 0 || t->unknown == t->bos || t->unknown == t->eos || t->vocab.flags[t->unknown] & TOKEN_END)
    return RLX_OK;
  return text_push(r, t->unknown);
}

static bool is_marker(const text_run *r, int32_t id) {
  for (size_t i = 0; i < r->markers.n; i++)
    if (r->markers.v[i] == id) return true;
  return false;
}

static bool is_text(const text_run *r, int32_t id) {
  return !(r->t->vocab.flags[id] & TOKEN_NOT_TEXT) && !is_marker(r, id);
}

bool text_may_be(const text_run *r, int32_t id) { return id >= 0 && (!r->only_text || is_text(r, id)); }

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

/* Looks up a whole piece as a token, for vocabularies where merges need not produce it. */
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
    if (text_may_be(r, id)) return text_push(r, id);
  }
  return text_merge_piece(r, piece);
}

static bool is_mark(const char *p, size_t n) { return n >= 3 && memcmp(p, TEXT_MARK, 3) == 0; }

/* If no token spans the start of a run of U+2581, pieces can be cut there: the result is the same and faster. */
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

/* Index of the first content range that ends after this offset. */
static size_t content_after(const text_run *r, size_t at) {
  size_t low = 0, high = r->n_content;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (r->content[middle].end > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

static bool has_content(const text_run *r, text_span in) {
  size_t start = (size_t)(in.p - r->text), i = content_after(r, start);
  return i < r->n_content && r->content[i].start < start + in.n;
}

/* Whether a token spelled at this position is cut out: added tokens always, control tokens only where special tokens
 * are searched. */
static bool is_wanted(const text_run *r, int32_t id, text_span at) {
  if (id < 0) return false;
  if (r->special == SPECIAL_ALL || is_text(r, id)) return true;
  return r->special == SPECIAL_AROUND && !has_content(r, at);
}

static bool is_word_at(text_span in, size_t at, bool before) {
  int32_t code;
  if (before) {
    if (at == 0) return false;
    for (at--; at > 0 && ((unsigned char)in.p[at] & 0xc0) == 0x80;) at--;
  }
  return text_character(in.p + at, in.n - at, &code) && text_is_word(code);
}

/* Length of the longest special token at a position; 0: none. */
static size_t special_at(const text_run *r, const text_tree *t, text_span in, size_t at, int32_t *id) {
  size_t best = 0;
  uint32_t node = t->root[(unsigned char)in.p[at]];
  for (size_t i = at + 1; node; i++) {
    int32_t here = t->nodes.v[node].id;
    if (is_wanted(r, here, (text_span){in.p + at, i - at}) &&
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

static rlx_status normalize(text_run *r, text_span *in) {
  for (size_t i = 0; i < r->t->n_normals; i++) {
    rlx_str *out = &r->normal[i & 1];
    RLX_TRY(text_normalize(&r->t->normals[i], *in, out));
    *in = (text_span){out->v, out->n};
  }
  return RLX_OK;
}

static rlx_status cut_normal(text_run *r, text_span in, bool is_first, text_special special) {
  text_special had = r->special;
  RLX_TRY(normalize(r, &in));
  r->special = special;
  rlx_status s = in.n ? cut_specials(r, &r->t->normal_specials, in, is_first, split_fragment) : RLX_OK;
  r->special = had;
  return s;
}

/* U+FDD0, a noncharacter: not in valid text, in no token, unchanged by all normal forms. It marks content during
 * alignment. */
#define RESERVED "\xef\xb7\x90"
enum { RESERVED_BYTES = 3 };

static const char *find_reserved(const char *p, const char *end) {
  for (; end - p >= RESERVED_BYTES; p++)
    if (memcmp(p, RESERVED, RESERVED_BYTES) == 0) return p;
  return NULL;
}

/* The next span of one kind (content, or text between content) from an offset on. */
static bool next_range(const text_run *r, size_t at, size_t end, text_span *out) {
  size_t i = content_after(r, at), stop = end;
  bool is_content = i < r->n_content && r->content[i].start <= at;
  if (i < r->n_content) stop = is_content ? r->content[i].end : r->content[i].start;
  if (stop > end) stop = end;
  *out = (text_span){r->text + at, stop - at};
  return is_content;
}

typedef struct aligned {
  rlx_str text;
  RLX_ARRAY(text_range) content;
} aligned;

/* Appends the normal form of a content range and records its range. Blanks at its ends are not part of the range: a
 * marker may be spelled with the one before it. */
static bool add_normal_content(text_run *r, text_span in, aligned *out, rlx_status *s) {
  rlx_str between = {0};
  rlx_str_add(&between, RESERVED);
  rlx_str_add_bytes(&between, in.p, in.n);
  rlx_str_add(&between, RESERVED);
  text_span form = {between.v, between.n};
  *s = between.failed ? RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", in.n) : normalize(r, &form);
  const char *end = form.n ? form.p + form.n : form.p;
  const char *first = *s || !form.n ? NULL : find_reserved(form.p, end), *last = first;
  for (const char *p = first; p; p = find_reserved(p + 1, end)) last = p;
  bool ok = first && last > first;
  if (ok) {
    const char *p = first + RESERVED_BYTES;
    text_range range = {out->text.n, out->text.n + (size_t)(last - p)};
    rlx_str_add_bytes(&out->text, p, (size_t)(last - p));
    for (; p < last && *p == ' '; p++) range.start++;
    for (; last - p >= 3 && memcmp(p, TEXT_MARK, 3) == 0; p += 3) range.start += 3;
    for (; p < last && last[-1] == ' '; last--) range.end--;
    for (; last - p >= 3 && memcmp(last - 3, TEXT_MARK, 3) == 0; last -= 3) range.end -= 3;
    if (p < last && !rlx_array_push(&out->content, range)) *s = RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", in.n);
  }
  rlx_str_deinit(&between);
  return ok;
}

/* Normalises a part with content and markers and finds the content ranges in the result: markers are normalised with
 * RESERVED in place of content, and each content alone. False: the whole is not the concatenation of these
 * (characters join across a border). */
static bool align(text_run *r, text_span in, aligned *out, rlx_status *s) {
  size_t base = (size_t)(in.p - r->text), end = base + in.n;
  rlx_str around = {0}, form = {0};
  text_span span;
  for (size_t at = base; at < end; at += span.n)
    if (next_range(r, at, end, &span)) rlx_str_add(&around, RESERVED);
    else rlx_str_add_bytes(&around, span.p, span.n);
  text_span normal = {around.v, around.n};
  *s = around.failed ? RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", in.n) : normalize(r, &normal);
  rlx_str_add_bytes(&form, normal.p, *s ? 0 : normal.n); /* even if empty: it has a range */
  bool ok = !*s && !form.failed;
  const char *p = form.v, *stop = ok ? p + form.n : p;
  for (size_t at = base; ok && !*s && at < end; at += span.n) {
    if (!next_range(r, at, end, &span)) continue;
    const char *here = find_reserved(p, stop);
    ok = here != NULL;
    if (!ok) break;
    rlx_str_add_bytes(&out->text, p, (size_t)(here - p));
    ok = add_normal_content(r, span, out, s);
    p = here + RESERVED_BYTES;
  }
  if (ok) rlx_str_add_bytes(&out->text, p, (size_t)(stop - p));
  if (!*s && (form.failed || out->text.failed)) *s = RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", in.n);
  rlx_str_deinit(&around);
  rlx_str_deinit(&form);
  return ok;
}

/* Cuts a part with content and markers whose special tokens are searched after normalisation, which loses offsets.
 * The ranges are found again (align), or each kind is encoded separately. */
static rlx_status cut_mixed(text_run *r, text_span in, bool is_first) {
  aligned a = {0};
  rlx_status s = RLX_OK;
  text_span normal = in;
  bool ok = align(r, in, &a, &s);
  if (!s) s = normalize(r, &normal);
  ok = ok && normal.n == a.text.n && (!normal.n || memcmp(normal.p, a.text.v, normal.n) == 0);
  if (!s && ok && normal.n) {
    const char *text = r->text;
    const text_range *content = r->content;
    size_t n_content = r->n_content;
    r->text = normal.p;
    r->content = a.content.v;
    r->n_content = a.content.n;
    s = cut_specials(r, &r->t->normal_specials, normal, is_first, split_fragment);
    r->text = text;
    r->content = content;
    r->n_content = n_content;
  }
  text_span span;
  size_t base = (size_t)(in.p - r->text), end = base + in.n;
  for (size_t at = base; !s && !ok && at < end; at += span.n) {
    bool is_content = next_range(r, at, end, &span);
    s = cut_normal(r, span, is_first && at == base, is_content ? SPECIAL_NONE : SPECIAL_ALL);
  }
  rlx_str_deinit(&a.text);
  rlx_array_deinit(&a.content);
  return s;
}

static rlx_status normalize_fragment(text_run *r, text_span in, bool is_first) {
  if (r->special != SPECIAL_AROUND || !r->t->normal_specials.nodes.n) return cut_normal(r, in, is_first, r->special);
  if (!has_content(r, in)) return cut_normal(r, in, is_first, SPECIAL_ALL);
  return cut_mixed(r, in, is_first);
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
  for (size_t i = 0; i < TEXT_MAX_SPLITS; i++) rlx_str_deinit(&r->scratch[i]);
  rlx_str_deinit(&r->word);
  rlx_str_deinit(&r->valid);
  rlx_array_deinit(&r->moved);
  rlx_array_deinit(&r->markers);
}

static rlx_status push_all(text_run *r, const int32_t *ids, size_t n) {
  for (size_t i = 0; i < n; i++) RLX_TRY(text_push(r, ids[i]));
  return RLX_OK;
}

static bool has_tokens(const rlx_tokenizer *t, text_span bytes) {
  for (size_t i = 0; i < bytes.n; i++)
    if (t->byte_ids[(unsigned char)bytes.p[i]] < 0) return false;
  return true;
}

/* Offset and length of the next invalid character whose bytes have no tokens; in.n: none. */
static size_t find_broken(const rlx_tokenizer *t, text_span in, size_t from, size_t *bytes) {
  for (size_t at = from; at < in.n; at += *bytes) {
    at += text_valid_prefix(in.p + at, in.n - at);
    if (at == in.n) break;
    *bytes = text_broken_bytes(in.p + at, in.n - at);
    if (!has_tokens(t, (text_span){in.p + at, *bytes})) return at;
  }
  return in.n;
}

/* Shifts content borders up to offset `at`, which is the end of the text copied so far. */
static void move_content(text_run *r, size_t at, size_t *border) {
  for (; *border < 2 * r->n_content; ++*border) {
    const text_range *from = &r->content[*border / 2];
    text_range *to = &r->moved.v[*border / 2];
    size_t place = *border & 1 ? from->end : from->start;
    if (place > at) return;
    *(*border & 1 ? &to->end : &to->start) = r->valid.n - (at - place);
  }
}

/* Replaces invalid bytes without tokens by U+FFFD; content ranges move along. */
static rlx_status replace_broken(text_run *r, text_span *text) {
  size_t bytes = 0, at = find_broken(r->t, *text, 0, &bytes), done = 0, border = 0;
  if (at == text->n) return RLX_OK;
  if (!rlx_array_reserve(&r->moved, r->n_content + 1)) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", text->n);
  for (; at < text->n; at = find_broken(r->t, *text, done, &bytes)) {
    rlx_str_add_bytes(&r->valid, text->p + done, at - done);
    if (r->valid.failed) break;
    move_content(r, at, &border);
    rlx_str_add_bytes(&r->valid, TEXT_REPLACEMENT, 3);
    done = at + bytes;
  }
  rlx_str_add_bytes(&r->valid, text->p + done, text->n - done);
  if (r->valid.failed) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", text->n);
  move_content(r, text->n, &border);
  *text = (text_span){r->valid.v, r->valid.n};
  r->content = r->moved.v;
  return RLX_OK;
}

static bool is_blank(text_span s) {
  int32_t code;
  for (size_t at = 0, size; at < s.n; at += size) {
    size = text_character(s.p + at, s.n - at, &code);
    if (!size || !text_is_space(code)) return false;
  }
  return true;
}

/* Some files declare template markers ("<|im_start|>") as user-defined text tokens. Tokens that the text around
 * content spells must not come from content. Blanks and line ends are exempt. */
static rlx_status find_markers(text_run *r, text_span text) {
  const text_tree *trees[] = {&r->t->raw_specials, &r->t->normal_specials};
  for (size_t i = 0, at = 0; i <= r->n_content && at < text.n; i++) {
    size_t end = i < r->n_content ? r->content[i].start : text.n;
    for (; at < end; at++)
      for (size_t k = 0; k < 2; k++) {
        int32_t id = -1;
        text_span in = {text.p, end};
        size_t n = trees[k]->nodes.n ? special_at(r, trees[k], in, at, &id) : 0;
        if (!n || !is_text(r, id) || is_blank((text_span){text.p + at, n})) continue;
        if (!rlx_array_push(&r->markers, id)) return RLX_FAIL(RLX_NO_MEMORY, "the tokens of a chat template");
      }
    if (i < r->n_content) at = r->content[i].end;
  }
  return RLX_OK;
}

static rlx_status encode(text_run *r, text_span text, unsigned flags) {
  const rlx_tokenizer *t = r->t;
  bool add = (flags & RLX_TOKENS_ADD_SPECIAL) != 0;
  RLX_TRY(replace_broken(r, &text));
  r->text = text.p;
  if (r->special == SPECIAL_AROUND) RLX_TRY(find_markers(r, text));
  if (add) RLX_TRY(push_all(r, t->around, t->n_before));
  RLX_TRY(cut_specials(r, &t->raw_specials, text, true, fragment));
  if (add) RLX_TRY(push_all(r, t->around + t->n_before, t->n_after));
  return rlx_array_reserve(&r->ids, 1) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "tokens");
}

/* Budget of lookup steps: ten times what the longest tokens of real vocabularies need per byte. */
enum { WORK_PER_BYTE = 1 << 10 };

rlx_status text_encode_around(const rlx_tokenizer *t, text_span text, const text_range *content, size_t n_content,
                              unsigned flags, int32_t **ids, size_t *n) {
  *ids = NULL;
  *n = 0;
  if (!t || (!text.p && text.n))
    return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_encode: %s is NULL", t ? "text" : "tokenizer");
  if (flags & ~(unsigned)(RLX_TOKENS_ADD_SPECIAL | RLX_TOKENS_PARSE_SPECIAL))
    return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_encode: unknown flags %#x", flags);
  text_run *r = rlx_new(text_run);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "tokens");
  r->t = t;
  r->content = content;
  r->n_content = n_content;
  r->special = !(flags & RLX_TOKENS_PARSE_SPECIAL) ? SPECIAL_NONE : n_content ? SPECIAL_AROUND : SPECIAL_ALL;
  r->only_text = r->special != SPECIAL_ALL;
  rlx_budget budget;
  uint64_t work = RLX_LOAD_WORK / 2 + WORK_PER_BYTE * (uint64_t)text.n;
  rlx_budget_begin(&budget, "rlx_tokenizer_encode", &t->limits, work, NULL);
  rlx_status s = rlx_budget_end(&budget, encode(r, text, flags));
  if (!s) {
    *ids = r->ids.v;
    *n = r->ids.n;
    r->ids.v = NULL;
  }
  run_deinit(r);
  rlx_mem_free(r);
  return s;
}

rlx_status rlx_tokenizer_encode(const rlx_tokenizer *t, const char *text, size_t bytes, unsigned flags, int32_t **ids,
                                size_t *n) {
  if (!ids || !n) return RLX_FAIL(RLX_INVALID, "rlx_tokenizer_encode: ids or n is NULL");
  return text_encode_around(t, (text_span){text, bytes}, NULL, 0, flags, ids, n);
}

rlx_status text_broken_become(const rlx_tokenizer *t, const char **out) {
  int32_t *ids;
  size_t n;
  bool is_unknown = false;
  *out = NULL;
  for (size_t i = 0; i < t->n_normals; i++)
    if (t->normals[i].kind == NORMAL_BERT && t->normals[i].clean) return RLX_OK;
  RLX_TRY(rlx_tokenizer_encode(t, "\xff", 1, 0, &ids, &n));
  for (size_t i = 0; i < n; i++) is_unknown |= ids[i] == t->unknown;
  if (is_unknown) *out = "the unknown token";
  else if (n == 0) *out = "nothing";
  rlx_free(ids);
  return RLX_OK;
}
