/* The lexer of the text form; the contract is in text_lex.h. */
#include "ir/text_lex.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

size_t rlx_lex_line(const rlx_lexer *p, const char *at, size_t *column) {
  size_t line = 1;
  *column = 1;
  for (const char *c = p->begin; c < at; c++) {
    *column = *c == '\n' ? 1 : *column + 1;
    line += *c == '\n';
  }
  return line;
}

rlx_status rlx_lex_fail(const rlx_lexer *p, const char *expected) {
  char found[24] = "the end";
  size_t n = 0, column, line = rlx_lex_line(p, p->at, &column);
  while (p->at + n < p->end && n < 16 && p->at[n] >= ' ' && p->at[n] < 127) {
    found[n] = p->at[n];
    n++;
  }
  if (n) found[n] = 0;
  else if (p->at < p->end) snprintf(found, sizeof found, "byte 0x%02x", (unsigned)(unsigned char)*p->at);
  return RLX_FAIL(RLX_INVALID, "line %zu, column %zu: expected %s, got '%s'", line, column, expected, found);
}

void rlx_lex_skip(rlx_lexer *p) {
  while (p->at < p->end) {
    if (*p->at == '#')
      while (p->at < p->end && *p->at != '\n') p->at++;
    else if (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r' || *p->at == ';') p->at++;
    else return;
  }
}

bool rlx_lex_accept(rlx_lexer *p, char c) {
  rlx_lex_skip(p);
  if (p->at >= p->end || *p->at != c) return false;
  p->at++;
  return true;
}

rlx_status rlx_lex_expect(rlx_lexer *p, char c) {
  char expected[4] = {'\'', c, '\'', 0};
  return rlx_lex_accept(p, c) ? RLX_OK : rlx_lex_fail(p, expected);
}

/* Independent of the locale. */
bool rlx_lex_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_word_char(char c) { return rlx_lex_is_letter(c) || (c >= '0' && c <= '9') || c == '.'; }

/* A run of word characters; n is 0 if there is none. */
const char *rlx_lex_word(rlx_lexer *p, size_t *n) {
  rlx_lex_skip(p);
  const char *from = p->at;
  while (p->at < p->end && is_word_char(*p->at)) p->at++;
  *n = (size_t)(p->at - from);
  return from;
}

bool rlx_lex_accept_word(rlx_lexer *p, const char *text) {
  rlx_lex_skip(p);
  const char *before = p->at;
  size_t n;
  const char *w = rlx_lex_word(p, &n);
  if (n == strlen(text) && memcmp(w, text, n) == 0) return true;
  p->at = before;
  return false;
}

rlx_status rlx_lex_copy(rlx_lexer *p, const char *text, size_t n, const char **out) {
  *out = rlx_bump_text(&p->scratch, text, n);
  return *out ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "parsing");
}

/* A number's characters: digits, sign, point, exponent, inf, nan. */
static const char *number_text(rlx_lexer *p, size_t *n) {
  rlx_lex_skip(p);
  const char *from = p->at;
  while (p->at < p->end && (is_word_char(*p->at) || ((*p->at == '-' || *p->at == '+') &&
                                                     (p->at == from || p->at[-1] == 'e' || p->at[-1] == 'E'))))
    p->at++;
  *n = (size_t)(p->at - from);
  return from;
}

rlx_status rlx_lex_double(rlx_lexer *p, double *out) {
  size_t n;
  const char *from = number_text(p, &n);
  if (n && rlx_text_to_double(from, n, out)) return RLX_OK;
  p->at = from;
  return rlx_lex_fail(p, "a number");
}

rlx_status rlx_lex_int(rlx_lexer *p, int64_t *out) {
  size_t n;
  const char *from = number_text(p, &n);
  bool negative = n && *from == '-';
  uint64_t limit = negative ? (uint64_t)1 << 63 : INT64_MAX, v = 0;
  size_t i = negative ? 1 : 0;
  bool ok = i < n;
  for (; ok && i < n; i++) {
    uint64_t digit = (uint64_t)(from[i] - '0');
    ok = from[i] >= '0' && from[i] <= '9' && v <= (limit - digit) / 10;
    v = v * 10 + digit;
  }
  if (!ok) {
    p->at = from;
    return rlx_lex_fail(p, "an integer of 64 bits");
  }
  *out = negative ? (int64_t)(0 - v) : (int64_t)v;
  return RLX_OK;
}

bool rlx_lex_hex(char c, uint32_t *out) {
  if (c >= '0' && c <= '9') *out = (uint32_t)(c - '0');
  else if (c >= 'a' && c <= 'f') *out = (uint32_t)(c - 'a' + 10);
  else if (c >= 'A' && c <= 'F') *out = (uint32_t)(c - 'A' + 10);
  else return false;
  return true;
}

/* \uXXXX as UTF-8; NUL and surrogates are rejected. */
static rlx_status parse_unicode(rlx_lexer *p, rlx_str *s) {
  uint32_t code = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t digit;
    if (p->at >= p->end || !rlx_lex_hex(*p->at, &digit)) return rlx_lex_fail(p, "four hex digits");
    code = code * 16 + digit;
    p->at++;
  }
  if (code == 0 || (code >= 0xd800 && code < 0xe000))
    return rlx_lex_fail(p, "a character other than NUL and surrogates");
  if (code >= 0x800) rlx_str_add_char(s, (char)(0xe0 | (code >> 12)));
  if (code >= 0x80)
    rlx_str_add_char(s, (char)((code >= 0x800 ? 0x80 : 0xc0) | ((code >> 6) & (code >= 0x800 ? 0x3f : 0x1f))));
  rlx_str_add_char(s, (char)(code >= 0x80 ? 0x80 | (code & 0x3f) : code));
  return RLX_OK;
}

static rlx_status parse_string_into(rlx_lexer *p, rlx_str *s) {
  RLX_TRY(rlx_lex_expect(p, '"'));
  while (p->at < p->end && *p->at != '"') {
    char c = *p->at;
    if (!c || c == '\n') return rlx_lex_fail(p, "the end of the string");
    p->at++;
    if (c != '\\') {
      rlx_str_add_char(s, c);
      continue;
    }
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    char escape = p->at < p->end ? *p->at++ : 0;
    const char *known = escape ? strchr(letters, escape) : NULL;
    if (known) rlx_str_add_char(s, meant[known - letters]);
    else if (escape == 'u') RLX_TRY(parse_unicode(p, s));
    else return rlx_lex_fail(p, "an escape of JSON");
  }
  return rlx_lex_expect(p, '"');
}

rlx_status rlx_lex_string(rlx_lexer *p, const char **out) {
  rlx_str s = {0};
  rlx_str_add_bytes(&s, "", 0);
  rlx_status status = parse_string_into(p, &s);
  if (!status && s.failed) status = RLX_FAIL(RLX_NO_MEMORY, "parsing a string");
  if (!status) status = rlx_lex_copy(p, s.v ? s.v : "", s.n, out);
  rlx_str_deinit(&s);
  return status;
}
