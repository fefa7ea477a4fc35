/* Tokens of a chat template.
 *
 * A template is text with tags in it: {% statement %}, {{ expression }}, {# comment #}. Blanks around tags are removed
 * as chat templates expect (trim_blocks and lstrip_blocks): the line end after a statement or comment, and the blanks
 * before one that stands first in its line. "-" at a tag's border removes all white space there, "+" keeps it all.
 * Inside a tag, end marks count only outside of braces, so that {{ {'a': {}} }} is one expression. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "text/jinja.h"

typedef struct lexer {
  const char *p, *at, *end;
  uint32_t line;
  bool line_starts; /* the text before `at` ended with a line feed, or there was none */
  jinja_tokens *out;
} lexer;

static rlx_status push(lexer *x, jinja_token t) {
  return rlx_array_push(&x->out->list, t) ? RLX_OK
                                          : RLX_FAIL(RLX_NO_MEMORY, "%zu tokens of a chat template", x->out->list.n);
}

static rlx_status wrong(const lexer *x, const char *what) {
  return RLX_FAIL(RLX_INVALID, "chat template, line %u: %s", (unsigned)x->line, what);
}

static size_t left(const lexer *x) { return (size_t)(x->end - x->at); }
static bool starts(const lexer *x, const char *text) {
  size_t n = strlen(text);
  return left(x) >= n && memcmp(x->at, text, n) == 0;
}

static void skip(lexer *x, size_t n) {
  for (size_t i = 0; i < n; i++) x->line += x->at[i] == '\n';
  x->at += n;
}

static size_t space_at(const char *p, size_t n) {
  int32_t code;
  if (!n) return 0;
  size_t size = jinja_character(p, n, &code);
  return jinja_is_space(code) ? size : 0;
}

static void skip_space(lexer *x) {
  for (size_t n; (n = space_at(x->at, left(x))) > 0;) skip(x, n);
}

static size_t without_trailing_space(const char *p, size_t n) {
  while (n) {
    size_t last = n - 1;
    while (last && ((unsigned char)p[last] & 0xc0) == 0x80) last--;
    if (space_at(p + last, n - last) != n - last) break;
    n = last;
  }
  return n;
}

/* ---- Strings and numbers ---- */

static int digit_of(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'z' ? c - 'a' + 10
         : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                : 99;
}

/* \xhh, \uhhhh, \Uhhhhhhhh: `digits` of them at p. */
static rlx_status lex_code(const lexer *x, const char *p, size_t n, size_t digits, int32_t *code) {
  int64_t c = 0;
  for (size_t i = 0; i < digits; i++) {
    if (i >= n || digit_of(p[i]) > 15) return wrong(x, "an escape with too few hexadecimal digits");
    c = c * 16 + digit_of(p[i]);
  }
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return wrong(x, "an escape that names no character");
  *code = (int32_t)c;
  return RLX_OK;
}

/* Writes what an escape stands for; *used: its bytes after the backslash. */
static rlx_status lex_escape(const lexer *x, const char *p, size_t n, char *out, size_t *written, size_t *used) {
  static const char plain[] = "\\'\"abfnrtv", meant[] = "\\'\"\a\b\f\n\r\t\v";
  int32_t code = 0;
  const char *at = p[0] ? strchr(plain, p[0]) : NULL;
  *used = 1;
  *written = 1;
  if (at) {
    out[0] = meant[at - plain];
  } else if (p[0] == '\n') {
    *written = 0;
  } else if (p[0] == 'x' || p[0] == 'u' || p[0] == 'U') {
    size_t digits = p[0] == 'x' ? 2 : p[0] == 'u' ? 4 : 8;
    RLX_TRY(lex_code(x, p + 1, n - 1, digits, &code));
    *used += digits;
    *written = text_put(out, code);
  } else if (p[0] >= '0' && p[0] <= '7') {
    for (*used = 0; *used < 3 && *used < n && p[*used] >= '0' && p[*used] <= '7'; ++*used)
      code = code * 8 + p[*used] - '0';
    *written = text_put(out, code);
  } else if (p[0] == 'N' || (unsigned char)p[0] >= 0x80) {
    return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: the escape \\%s is not supported", (unsigned)x->line,
                    p[0] == 'N' ? "N{..}" : "before a character that is not ASCII");
  } else {
    out[0] = '\\';
    out[1] = p[0];
    *written = 2;
  }
  return RLX_OK;
}

static rlx_status lex_string(lexer *x) {
  char quote = *x->at;
  const char *p = x->at + 1, *stop = p;
  while (stop < x->end && *stop != quote) stop += *stop == '\\' && stop + 1 < x->end ? 2 : 1;
  if (stop >= x->end) return wrong(x, "a string without its closing quote");
  size_t n = (size_t)(stop - p), used = 0;
  char *text = rlx_bump_alloc(x->out->heap, n + 5, 1); /* an escape is never shorter than what it stands for */
  if (!text) return RLX_FAIL(RLX_NO_MEMORY, "a string of a chat template");
  for (size_t i = 0; i < n;) {
    if (p[i] != '\\') {
      text[used++] = p[i++];
      continue;
    }
    size_t written, taken;
    RLX_TRY(lex_escape(x, p + i + 1, n - i - 1, text + used, &written, &taken));
    used += written;
    i += 1 + taken;
  }
  RLX_TRY(push(x, (jinja_token){.kind = LEX_STRING, .line = x->line, .p = text, .n = used}));
  skip(x, n + 2);
  return RLX_OK;
}

/* Digits of a base, with single underscores between them. */
static size_t digits_at(const char *p, size_t n, int base, bool may_begin_with_underscore) {
  size_t i = 0;
  while (i < n) {
    size_t next = i + (p[i] == '_' && (i || may_begin_with_underscore));
    if (next >= n || digit_of(p[next]) >= base) break;
    i = next + 1;
  }
  return i;
}

static rlx_status lex_integer(lexer *x, size_t skipped, size_t n, int base) {
  int64_t value = 0;
  for (size_t i = skipped; i < skipped + n; i++) {
    if (x->at[i] == '_') continue;
    if (!rlx_mul_i64(value, base, &value) || !rlx_add_i64(value, digit_of(x->at[i]), &value))
      return RLX_FAIL(RLX_UNSUPPORTED, "chat template, line %u: an integer of more than 64 bits", (unsigned)x->line);
  }
  RLX_TRY(push(x, (jinja_token){.kind = LEX_INTEGER, .line = x->line, .integer = value}));
  x->at += skipped + n;
  return RLX_OK;
}

static rlx_status lex_number(lexer *x) {
  const char *p = x->at;
  size_t n = left(x), whole = digits_at(p, n, 10, false), at = whole;
  bool is_index = p > x->p && p[-1] == '.'; /* messages.0.1 */
  if (!is_index && at + 1 < n && p[at] == '.' && digits_at(p + at + 1, n - at - 1, 10, false))
    at += 1 + digits_at(p + at + 1, n - at - 1, 10, false);
  if (!is_index && at + 1 < n && (p[at] == 'e' || p[at] == 'E')) {
    size_t sign = at + 2 < n && (p[at + 1] == '+' || p[at + 1] == '-');
    size_t digits = digits_at(p + at + 1 + sign, n - at - 1 - sign, 10, false);
    if (digits) at += 1 + sign + digits;
  }
  if (at > whole) {
    char plain[64];
    size_t used = 0;
    for (size_t i = 0; i < at && used < sizeof plain; i++)
      if (p[i] != '_') plain[used++] = p[i];
    jinja_token t = {.kind = LEX_NUMBER, .line = x->line};
    if (used == sizeof plain || !rlx_text_to_double(plain, used, &t.number) || !isfinite(t.number))
      return wrong(x, "a number that is too long or too large");
    x->at += at;
    return push(x, t);
  }
  static const char *const prefixes[] = {"0b", "0B", "0o", "0O", "0x", "0X"};
  for (size_t i = 0; i < 6; i++) {
    static const int bases[] = {2, 8, 16};
    size_t digits = starts(x, prefixes[i]) ? digits_at(p + 2, n - 2, bases[i / 2], true) : 0;
    if (digits) return lex_integer(x, 2, digits, bases[i / 2]);
  }
  if (p[0] != '0') return lex_integer(x, 0, whole, 10);
  size_t zeros = 1;
  while (zeros < whole && (p[zeros] == '0' || (p[zeros] == '_' && zeros + 1 < whole && p[zeros + 1] == '0'))) zeros++;
  return lex_integer(x, 0, zeros, 10);
}

/* ---- Inside of tags ---- */

static bool is_name(char c) { return c == '_' || digit_of(c) < 36; }

/* Open brackets: more than these in one tag are refused before the parser would. */
typedef struct brackets {
  char v[2 * JINJA_MAX_PARSE_DEPTH];
  size_t n;
} brackets;

static rlx_status lex_operator(lexer *x, brackets *open) {
  static const char two[][3] = {"//", "**", "==", "!=", ">=", "<="};
  static const char one[] = "+-/*%~[](){}><=.:|,;";
  char c = *x->at;
  size_t n = 0;
  for (size_t i = 0; i < sizeof two / sizeof *two && !n; i++) n = starts(x, two[i]) ? 2 : 0;
  if (!n && c && strchr(one, c)) n = 1;
  if (!n) {
    int32_t code = 0;
    (void)jinja_character(x->at, left(x), &code);
    return RLX_FAIL(code < 0x80 ? RLX_INVALID : RLX_UNSUPPORTED,
                    "chat template, line %u: a character that is no part of an expression: U+%04X", (unsigned)x->line,
                    (unsigned)code);
  }
  if (c == '(' || c == '[' || c == '{') {
    if (open->n == sizeof open->v)
      return RLX_FAIL(RLX_LIMIT, "chat template, line %u: more than %zu open brackets", (unsigned)x->line, open->n);
    open->v[open->n++] = c == '(' ? ')' : c == '[' ? ']' : '}';
  }
  if (c == ')' || c == ']' || c == '}') {
    if (!open->n || open->v[open->n - 1] != c) return wrong(x, "a closing bracket without its opening one");
    open->n--;
  }
  RLX_TRY(push(x, (jinja_token){.kind = LEX_OPERATOR, .line = x->line, .p = x->at, .n = n}));
  x->at += n;
  return RLX_OK;
}

/* The end mark here: its length with what it removes after it; 0: none. */
static size_t end_of_tag(const lexer *x, const char *mark, bool may_keep, bool trims_line) {
  size_t sign = left(x) > 2 && (*x->at == '-' || (may_keep && *x->at == '+')), n = sign + 2;
  if (left(x) < n || memcmp(x->at + sign, mark, 2) != 0) return 0;
  if (!sign) return n + (trims_line && left(x) > n && x->at[n] == '\n');
  if (*x->at == '-')
    for (size_t more; (more = space_at(x->at + n, left(x) - n)) > 0;) n += more;
  return n;
}

static rlx_status lex_tag(lexer *x, bool is_block) {
  brackets open = {.n = 0};
  const char *mark = is_block ? "%}" : "}}";
  RLX_TRY(push(x, (jinja_token){.kind = is_block ? LEX_BLOCK_BEGIN : LEX_OUTPUT_BEGIN, .line = x->line}));
  for (;;) {
    size_t n = open.n ? 0 : end_of_tag(x, mark, is_block, is_block);
    if (n) {
      RLX_TRY(push(x, (jinja_token){.kind = is_block ? LEX_BLOCK_END : LEX_OUTPUT_END, .line = x->line}));
      x->line_starts = x->at[n - 1] == '\n';
      skip(x, n);
      return RLX_OK;
    }
    if (x->at == x->end) return wrong(x, is_block ? "a statement without its %}" : "an expression without its }}");
    char c = *x->at;
    if (space_at(x->at, left(x))) {
      skip_space(x);
    } else if (c >= '0' && c <= '9') {
      RLX_TRY(lex_number(x));
    } else if (is_name(c)) {
      const char *p = x->at;
      while (x->at < x->end && is_name(*x->at)) x->at++;
      RLX_TRY(push(x, (jinja_token){.kind = LEX_NAME, .line = x->line, .p = p, .n = (size_t)(x->at - p)}));
    } else if (c == '"' || c == '\'') {
      RLX_TRY(lex_string(x));
    } else {
      RLX_TRY(lex_operator(x, &open));
    }
  }
}

/* ---- Text between tags ---- */

static rlx_status push_data(lexer *x, const char *p, size_t n, uint32_t line) {
  return n ? push(x, (jinja_token){.kind = LEX_DATA, .line = line, .p = p, .n = n}) : RLX_OK;
}

/* What remains of the text before a tag with this sign. */
static size_t stripped(const lexer *x, const char *p, size_t n, char sign, bool is_output) {
  if (sign == '-') return without_trailing_space(p, n);
  if (sign == '+' || is_output) return n;
  size_t line = n;
  while (line && p[line - 1] != '\n') line--;
  if (line == 0 && !x->line_starts) return n;
  for (size_t at = line, size; at < n; at += size)
    if (!(size = space_at(p + at, n - at))) return n;
  return line;
}

static rlx_status lex_comment(lexer *x) {
  for (; x->at < x->end; skip(x, 1)) {
    size_t n = end_of_tag(x, "#}", true, true);
    if (!n) continue;
    x->line_starts = x->at[n - 1] == '\n';
    skip(x, n);
    return RLX_OK;
  }
  return wrong(x, "a comment without its #}");
}

/* Whether {% NAME %} is here, `at` at its brace; then past what stands after the name. */
static bool is_word_tag(lexer x, const char *name, char *sign, lexer *after) {
  if (!starts(&x, "{%")) return false;
  skip(&x, 2);
  *sign = left(&x) && (*x.at == '-' || *x.at == '+') ? *x.at : '\0';
  if (*sign) skip(&x, 1);
  skip_space(&x);
  if (!starts(&x, name)) return false;
  skip(&x, strlen(name));
  skip_space(&x);
  *after = x;
  return true;
}

/* {% raw %} .. {% endraw %}: x is behind the opening tag. */
static rlx_status lex_raw(lexer *x) {
  const char *p = x->at;
  uint32_t line = x->line;
  for (; x->at < x->end; skip(x, 1)) {
    lexer after;
    char sign;
    if (!is_word_tag(*x, "endraw", &sign, &after)) continue;
    size_t n = end_of_tag(&after, "%}", true, true);
    if (!n) continue;
    RLX_TRY(push_data(x, p, stripped(x, p, (size_t)(x->at - p), sign, false), line));
    after.line_starts = after.at[n - 1] == '\n';
    skip(&after, n);
    *x = after;
    return RLX_OK;
  }
  return wrong(x, "{% raw %} without its {% endraw %}");
}

static const char *next_tag(const lexer *x) {
  for (const char *p = x->at; (p = memchr(p, '{', (size_t)(x->end - p))); p++)
    if (p + 1 < x->end && (p[1] == '{' || p[1] == '%' || p[1] == '#')) return p;
  return NULL;
}

static rlx_status lex_all(lexer *x) {
  while (x->at < x->end) {
    const char *p = x->at, *tag = next_tag(x);
    if (!tag) {
      RLX_TRY(push_data(x, p, left(x), x->line));
      break;
    }
    uint32_t line = x->line;
    size_t n = (size_t)(tag - p);
    skip(x, n);
    char kind = tag[1], sign = left(x) > 2 && (tag[2] == '-' || tag[2] == '+') ? tag[2] : '\0', raw_sign;
    lexer after;
    size_t raw = 0;
    if (is_word_tag(*x, "raw", &raw_sign, &after)) raw = end_of_tag(&after, "%}", false, false);
    RLX_TRY(push_data(x, p, stripped(x, p, n, sign, kind == '{'), line));
    if (raw) {
      after.line_starts = after.at[raw - 1] == '\n';
      skip(&after, raw);
      *x = after;
      RLX_TRY(lex_raw(x));
      continue;
    }
    skip(x, 2 + (sign != '\0'));
    if (kind == '#') RLX_TRY(lex_comment(x));
    else RLX_TRY(lex_tag(x, kind == '%'));
  }
  return push(x, (jinja_token){.kind = LEX_END, .line = x->line});
}

rlx_status jinja_lex(const char *text, size_t bytes, jinja_tokens *out) {
  lexer x = {.p = text, .at = text, .end = text + bytes, .line = 1, .line_starts = true, .out = out};
  return lex_all(&x);
}
