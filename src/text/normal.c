/* Normal forms: transformations of a text before it is split into pieces.
 *
 * The four Unicode forms come from utf8proc; those of BERT and SentencePiece are implemented here. The text is valid
 * UTF-8, except for NORMAL_PREPEND, NORMAL_SPACES and NORMAL_REPLACE of a plain text, which accept any bytes. */
#include <string.h>
#include <utf8proc.h>

#include "text/text.h"

static rlx_status no_memory(size_t bytes) { return RLX_FAIL(RLX_NO_MEMORY, "normalising %zu bytes", bytes); }

static void add_code(rlx_str *out, int32_t code) {
  char bytes[4];
  rlx_str_add_bytes(out, bytes, text_put(bytes, code));
}

/* ---- Unicode's forms ----------------------------------------------------------------------------------------- */

/* Reordering and composition need a base character with all its marks, but nothing more. So texts are processed in
 * parts that end before a character of combining class 0 with which nothing composes. ASCII is sufficient and
 * frequent. */
enum { PART = 1 << 16 };

static size_t part_of(text_span in, size_t from) {
  size_t end = from + PART;
  if (end >= in.n) return in.n;
  while (end < in.n && (unsigned char)in.p[end] >= 0x80) end++;
  return end;
}

typedef RLX_ARRAY(utf8proc_int32_t) code_list;

static bool decompose(text_span in, utf8proc_option_t options, code_list *out) {
  int boundary = 0;
  int32_t code = 0;
  out->n = 0;
  for (size_t at = 0, size; at < in.n; at += size) {
    size = text_character(in.p + at, in.n - at, &code);
    if (!size) size = 1, code = 0xfffd;
    for (;;) {
      if (!rlx_array_reserve(out, 1)) return false;
      utf8proc_ssize_t room = (utf8proc_ssize_t)(out->cap - out->n);
      utf8proc_ssize_t n = utf8proc_decompose_char(code, out->v + out->n, room, options, &boundary);
      if (n >= 0 && n <= room) {
        out->n += (size_t)n;
        break;
      }
      if (n < 0 || !rlx_array_reserve(out, (size_t)n)) return false;
    }
  }
  return true;
}

static int class_of(utf8proc_int32_t code) { return utf8proc_get_property(code)->combining_class; }

/* Sorts a run of combining marks by class, stable. A run can be as long as the text, so it takes one pass per class
 * present (about fifty at most) instead of one per mark. */
static bool order_run(utf8proc_int32_t *codes, size_t n, code_list *sorted) {
  bool is_there[256] = {0};
  sorted->n = 0;
  if (!rlx_array_reserve(sorted, n)) return false;
  for (size_t i = 0; i < n; i++) is_there[class_of(codes[i]) & 255] = true;
  for (int class = 1; class < 256; class ++)
    for (size_t i = 0; is_there[class] && i < n; i++)
      if (class_of(codes[i]) == class) sorted->v[sorted->n++] = codes[i];
  memcpy(codes, sorted->v, sorted->n * sizeof *codes);
  return true;
}

static bool order_marks(code_list *codes, code_list *sorted) {
  for (size_t start = 0; start < codes->n; start++) {
    size_t end = start;
    bool is_ordered = true;
    for (int class, before = 0; end < codes->n && (class = class_of(codes->v[end])) != 0; end++) {
      if (class < before) is_ordered = false;
      before = class;
    }
    if (!is_ordered && !order_run(codes->v + start, end - start, sorted)) return false;
    if (end > start) start = end - 1;
  }
  return true;
}

static rlx_status unicode_form(text_span in, utf8proc_option_t options, rlx_str *out) {
  rlx_status s = RLX_OK;
  code_list codes = {0}, sorted = {0};
  for (size_t from = 0, end; from < in.n && !s; from = end) {
    end = part_of(in, from);
    if (!decompose((text_span){in.p + from, end - from}, options, &codes) || !order_marks(&codes, &sorted)) {
      s = no_memory(in.n);
      break;
    }
    utf8proc_ssize_t n = utf8proc_normalize_utf32(codes.v, (utf8proc_ssize_t)codes.n, options);
    if (n < 0) s = RLX_FAIL(RLX_INVALID, "normalising: %s", utf8proc_errmsg(n));
    for (utf8proc_ssize_t i = 0; i < n; i++) add_code(out, codes.v[i]);
  }
  rlx_array_deinit(&codes);
  rlx_array_deinit(&sorted);
  return s;
}

static rlx_status form(text_normal_kind kind, text_span in, rlx_str *out) {
  int options = UTF8PROC_STABLE;
  options |= kind == NORMAL_NFC || kind == NORMAL_NFKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (kind == NORMAL_NFKC || kind == NORMAL_NFKD) options |= UTF8PROC_COMPAT;
  return unicode_form(in, (utf8proc_option_t)options, out);
}

/* ---- Letters ------------------------------------------------------------------------------------------------- */

static void add_lower(rlx_str *out, int32_t code) {
  if (code == 0x130) rlx_str_add(out, "i\xcc\x87"); /* the only letter that becomes two */
  else add_code(out, utf8proc_tolower(code));
}

static bool is_accent(int32_t code) { return utf8proc_category(code) == UTF8PROC_CATEGORY_MN; }
static bool is_mark(int32_t code) {
  utf8proc_category_t k = utf8proc_category(code);
  return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_ME;
}

typedef void (*each_fn)(const text_normal *n, int32_t code, rlx_str *out);
static void for_each(const text_normal *n, text_span in, rlx_str *out, each_fn fn) {
  int32_t code = 0;
  for (size_t at = 0, size; at < in.n; at += size) {
    size = text_character(in.p + at, in.n - at, &code);
    if (!size) return;
    fn(n, code, out);
  }
}

static void lower(const text_normal *n, int32_t code, rlx_str *out) {
  (void)n;
  add_lower(out, code);
}

static void without_accents(const text_normal *n, int32_t code, rlx_str *out) {
  (void)n;
  if (!is_mark(code)) add_code(out, code);
}

/* ---- BERT ---------------------------------------------------------------------------------------------------- */

/* The ranges that BERT treats as Chinese, including the gap in its list. */
static bool is_chinese(int32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static bool is_control(int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  utf8proc_category_t k = utf8proc_category(c);
  return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
}

static void bert_clean(const text_normal *n, int32_t c, rlx_str *out) {
  if (n->clean && (c == 0 || c == 0xfffd || is_control(c))) return;
  if (n->clean && text_is_space(c)) c = ' ';
  if (n->chinese && is_chinese(c)) {
    rlx_str_add_char(out, ' ');
    add_code(out, c);
    rlx_str_add_char(out, ' ');
  } else {
    add_code(out, c);
  }
}

static void bert_letters(const text_normal *n, int32_t c, rlx_str *out) {
  if (n->strip_accents && is_accent(c)) return;
  if (n->lowercase) add_lower(out, c);
  else add_code(out, c);
}

static rlx_status bert(const text_normal *n, text_span in, rlx_str *out) {
  rlx_str cleaned = {0}, apart = {0};
  for_each(n, in, &cleaned, bert_clean);
  rlx_status s = RLX_OK;
  text_span rest = {cleaned.v, cleaned.n};
  if (n->strip_accents && !cleaned.failed) {
    s = form(NORMAL_NFD, rest, &apart);
    rest = (text_span){apart.v, apart.n};
  }
  if (!s && (cleaned.failed || apart.failed)) s = no_memory(in.n);
  if (!s) for_each(n, rest, out, bert_letters);
  rlx_str_deinit(&cleaned);
  rlx_str_deinit(&apart);
  return s;
}

/* ---- SentencePiece ------------------------------------------------------------------------------------------- */

/* SentencePiece's replacement table: a length, then so many bytes of a double-array trie of little-endian words,
 * then NUL-terminated texts. A word of the trie has a base (bits 10 to 30, times 256 if bit 9 is set), an end flag
 * (bit 8) and the label byte (bits 0 to 7). In an end word, bits 0 to 30 are the offset of the replacement. */
static bool map_word(const text_normal *n, uint32_t at, uint32_t words, uint32_t *out) {
  if (at >= words) return false;
  const unsigned char *p = (const unsigned char *)n->to + 4 + (size_t)at * 4;
  *out = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  return true;
}
static uint32_t map_base(uint32_t word) { return (word >> 10) << ((word & 1u << 9) >> 6); }

/* Length of the longest table entry that `in` starts with (0: none), and its replacement. */
static size_t map_prefix(const text_normal *n, text_span in, text_span *to) {
  const unsigned char *head = (const unsigned char *)n->to;
  uint32_t blob = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
  uint32_t words = blob / 4, word, at = 0, end;
  const char *texts = n->to + 4 + blob;
  size_t bytes = n->to_bytes - 4 - blob, longest = 0;
  if (!map_word(n, 0, words, &word)) return 0;
  at = map_base(word);
  for (size_t i = 0; i < in.n && in.p[i]; i++) {
    at ^= (unsigned char)in.p[i];
    if (!map_word(n, at, words, &word) || (word & (1u << 31 | 0xff)) != (unsigned char)in.p[i]) break;
    at ^= map_base(word);
    if (!(word >> 8 & 1)) continue;
    if (!map_word(n, at, words, &end) || (end & 0x7fffffff) >= bytes) break;
    const char *text = texts + (end & 0x7fffffff), *stop = memchr(text, 0, bytes - (end & 0x7fffffff));
    if (!stop) break;
    longest = i + 1;
    *to = (text_span){text, (size_t)(stop - text)};
  }
  return longest;
}

rlx_status text_check_charsmap(const text_normal *n) {
  const unsigned char *p = (const unsigned char *)n->to;
  size_t blob = n->to_bytes < 4 ? 0 : (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
  if (n->to_bytes >= 4 && blob < n->to_bytes - 4) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "the table of replacements has %zu bytes, and says that its first part has %zu",
                  n->to_bytes, blob);
}

static void charsmap(const text_normal *n, text_span in, rlx_str *out) {
  for (size_t at = 0; at < in.n;) {
    text_span to;
    int32_t code;
    size_t size = map_prefix(n, (text_span){in.p + at, in.n - at}, &to);
    if (size) {
      rlx_str_add_bytes(out, to.p, to.n);
    } else {
      size = text_character(in.p + at, in.n - at, &code);
      if (!size) size = 1;
      rlx_str_add_bytes(out, in.p + at, size);
    }
    at += size;
  }
}

static void spaces(const text_normal *n, text_span in, rlx_str *out) {
  bool in_word = false, has_prefix = false;
  for (size_t i = 0; i < in.n; i++) {
    if (in.p[i] == ' ') {
      in_word = false;
      if (!n->merge) rlx_str_add(out, "%s", TEXT_MARK);
      continue;
    }
    if (!in_word && ((n->prefix && !has_prefix) || n->merge)) {
      rlx_str_add(out, "%s", TEXT_MARK);
      has_prefix = true;
    }
    in_word = true;
    rlx_str_add_char(out, in.p[i]);
  }
}

/* ---- Dispatch ------------------------------------------------------------------------------------------------ */

static void replace_text(const text_normal *n, text_span in, rlx_str *out) {
  size_t from = n->from_bytes;
  for (size_t at = 0, done = 0;;) {
    const char *p = at < in.n ? memchr(in.p + at, n->from[0], in.n - at) : NULL;
    if (!p || from > in.n - (size_t)(p - in.p)) {
      rlx_str_add_bytes(out, in.p + done, in.n - done);
      return;
    }
    at = (size_t)(p - in.p);
    if (memcmp(p, n->from, from) != 0) {
      at++;
      continue;
    }
    rlx_str_add_bytes(out, in.p + done, at - done);
    rlx_str_add_bytes(out, n->to, n->to_bytes);
    at = done = at + from;
  }
}

static rlx_status replace_pattern(const text_normal *n, text_span in, rlx_str *out) {
  text_run r = {0};
  rlx_status s = RLX_OK;
  size_t at = 0, start = 0, end = 0;
  for (bool found = true; !s;) {
    s = text_match(&r, n->code, in, at, &start, &end, &found);
    if (s || !found || end == start) break; /* an empty match replaces nothing */
    rlx_str_add_bytes(out, in.p + at, start - at);
    rlx_str_add_bytes(out, n->to, n->to_bytes);
    at = end;
  }
  rlx_str_add_bytes(out, in.p + at, in.n - at);
  text_match_deinit(&r);
  return s;
}

static void strip(const text_normal *n, text_span in, rlx_str *out) {
  size_t start = 0, end = in.n, size;
  int32_t code;
  while (n->left && (size = text_character(in.p + start, end - start, &code)) > 0 && text_is_space(code)) start += size;
  while (n->right && end > start) {
    size_t last = end - 1;
    while (last > start && ((unsigned char)in.p[last] & 0xc0) == 0x80) last--;
    if (text_character(in.p + last, end - last, &code) == 0 || !text_is_space(code)) break;
    end = last;
  }
  rlx_str_add_bytes(out, in.p + start, end - start);
}

rlx_status text_normalize(const text_normal *n, text_span in, rlx_str *out) {
  rlx_status s = RLX_OK;
  out->n = 0;
  switch (n->kind) {
    case NORMAL_PREPEND:
      if (in.n) rlx_str_add_bytes(out, n->to, n->to_bytes);
      rlx_str_add_bytes(out, in.p, in.n);
      break;
    case NORMAL_REPLACE:
      if (n->code) s = replace_pattern(n, in, out);
      else replace_text(n, in, out);
      break;
    case NORMAL_NFC:
    case NORMAL_NFD:
    case NORMAL_NFKC:
    case NORMAL_NFKD: s = form(n->kind, in, out); break;
    case NORMAL_LOWERCASE: for_each(n, in, out, lower); break;
    case NORMAL_STRIP_ACCENTS: for_each(n, in, out, without_accents); break;
    case NORMAL_BERT: s = bert(n, in, out); break;
    case NORMAL_STRIP: strip(n, in, out); break;
    case NORMAL_CHARSMAP: charsmap(n, in, out); break;
    case NORMAL_SPACES: spaces(n, in, out); break;
  }
  if (!s && out->failed) s = no_memory(in.n);
  if (out->failed) {
    rlx_str_deinit(out);
    *out = (rlx_str){0};
  }
  return s;
}

void text_normal_deinit(text_normal *n) {
  rlx_mem_free(n->from);
  rlx_mem_free(n->to);
  text_pattern_free(n->code);
  *n = (text_normal){0};
}
