/* String builder: a growable byte array, NUL-terminated, with a sticky failure.
 *
 * Every append goes through make_room, which reserves one byte for the terminator. So a caller may append a hundred
 * times and check once, at rlx_str_take. Quoted strings and numbers read back to exactly what was written, on any
 * machine and in any locale. */
#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/os.h"

/* Room for n more bytes and the terminator. */
static bool make_room(rlx_str *s, size_t n) {
  if (s->failed) return false;
  if (n == SIZE_MAX || !rlx_array_reserve(s, n + 1)) s->failed = true;
  return !s->failed;
}

void rlx_str_add_bytes(rlx_str *s, const char *bytes, size_t n) {
  if (!make_room(s, n)) return;
  if (n > 0) memcpy(s->v + s->n, bytes, n);
  s->n += n;
  s->v[s->n] = '\0';
}

void rlx_str_add_char(rlx_str *s, char c) { rlx_str_add_bytes(s, &c, 1); }

/* Formats into the free capacity; grows and formats again only if that was too small. */
void rlx_str_add(rlx_str *s, const char *fmt, ...) {
  if (!make_room(s, 0)) return;
  rlx_os_locale before;
  rlx_os_locale_begin(&before);
  va_list args;
  for (int attempt = 0; attempt < 2; attempt++) {
    size_t room = s->cap - s->n;
    va_start(args, fmt);
    int n = vsnprintf(s->v + s->n, room, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n < room) {
      s->n += (size_t)n;
      break;
    }
    s->v[s->n] = '\0';
    if (n < 0) s->failed = true; /* over INT_MAX bytes, or a wide character that has no encoding */
    if (n < 0 || !make_room(s, (size_t)n)) break;
  }
  rlx_os_locale_end(&before);
}

/* Bytes of the UTF-8 character at p (NUL-terminated text), or 0 if it is invalid: a stray or missing continuation byte,
 * an over-long form, a surrogate, or above U+10FFFF. The bounds of the second byte exclude the last three. */
static size_t utf8_length(const unsigned char *p) {
  static const struct {
    unsigned char first_low, first_high, second_low, second_high, length;
  } forms[] = {
    {0x00, 0x7F, 0x00, 0x00, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
    {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
  };
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (p[0] < forms[i].first_low || p[0] > forms[i].first_high) continue;
    if (forms[i].length == 1) return 1;
    if (p[1] < forms[i].second_low || p[1] > forms[i].second_high) return 0;
    for (size_t k = 2; k < forms[i].length; k++)
      if ((p[k] & 0xC0u) != 0x80u) return 0;
    return forms[i].length;
  }
  return 0;
}

/* The letter after the backslash for characters that have a short escape, else 0. */
static char short_escape(unsigned char c) {
  static const char escapes[128] = {
    ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
  return c < 128 ? escapes[c] : '\0';
}

void rlx_str_add_quoted(rlx_str *s, const char *text) {
  rlx_str_add_char(s, '"');
  for (const unsigned char *p = (const unsigned char *)text; p && *p && !s->failed;) {
    size_t length = utf8_length(p);
    char escape = short_escape(*p);
    if (escape) {
      rlx_str_add(s, "\\%c", escape);
    } else if (length == 0 || *p < 0x20) {
      rlx_str_add(s, "\\u%04x", *p);
      length = 1;
    } else {
      rlx_str_add_bytes(s, (const char *)p, length);
    }
    p += length;
  }
  rlx_str_add_char(s, '"');
}

/* In the C locale. A float must also read back through double, as rlx_text_to_double reads it; for a few numbers the
 * shortest text does not, because that rounds twice. */
static bool reads_back(const char *number, double x, bool as_float) {
  double read = strtod(number, NULL);
  return as_float ? strtof(number, NULL) == (float)x && (float)read == (float)x : read == x;
}

/* Any decimal of `sure` digits survives a round trip through a normal number of the type. So if a shorter text existed,
 * %.*g with `sure` digits would have printed it. Subnormals carry fewer digits and are searched from one digit up. */
static void add_shortest(rlx_str *s, double x, bool as_float) {
  if (isnan(x) || isinf(x)) {
    rlx_str_add(s, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
    return;
  }
  char number[40];
  int sure = as_float ? 6 : 15, max = as_float ? 9 : 17;
  bool subnormal = as_float ? fpclassify((float)x) == FP_SUBNORMAL : fpclassify(x) == FP_SUBNORMAL;
  rlx_os_locale before;
  rlx_os_locale_begin(&before);
  for (int digits = subnormal ? 1 : sure; digits <= max; digits++) {
    snprintf(number, sizeof number, "%.*g", digits, x);
    if (reads_back(number, x, as_float)) break;
  }
  rlx_os_locale_end(&before);
  rlx_str_add_bytes(s, number, strlen(number));
}

void rlx_str_add_double(rlx_str *s, double x) { add_shortest(s, x, false); }

void rlx_str_add_float(rlx_str *s, float x) { add_shortest(s, (double)x, true); }

rlx_status rlx_str_take(rlx_str *s, char **out) {
  *out = NULL;
  if (!make_room(s, 0)) {
    rlx_str_deinit(s);
    return RLX_FAIL(RLX_NO_MEMORY, "no memory for a text");
  }
  s->v[s->n] = '\0'; /* nothing may have been appended */
  *out = s->v;
  *s = (rlx_str){0};
  return RLX_OK;
}

void rlx_str_deinit(rlx_str *s) {
  rlx_mem_free(s->v);
  *s = (rlx_str){0};
}

bool rlx_text_ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

bool rlx_text_is_utf8(const char *text) {
  for (const unsigned char *p = (const unsigned char *)text; *p;) {
    size_t length = utf8_length(p);
    if (length == 0) return false;
    p += length;
  }
  return true;
}

size_t rlx_utf8_length(const char *p, size_t n) {
  unsigned char bytes[4] = {0};
  if (n == 0) return 0;
  memcpy(bytes, p, n < sizeof bytes ? n : sizeof bytes);
  size_t length = utf8_length(bytes); /* a NUL continues no character, so bytes past the end are invalid */
  return length <= n ? length : 0;
}

bool rlx_text_to_double(const char *text, size_t n, double *out) {
  static const struct {
    const char *word;
    double value;
  } words[] = {{"inf", (double)INFINITY}, {"-inf", -(double)INFINITY}, {"nan", (double)NAN}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i].word) == n && memcmp(words[i].word, text, n) == 0) {
      *out = words[i].value;
      return true;
    }
  /* strtod also accepts hexadecimal and "infinity": only plain decimals are passed to it. */
  char number[512];
  size_t digits = 0;
  if (n >= sizeof number) return false;
  for (size_t i = 0; i < n; i++) {
    if (!strchr("0123456789+-eE.", text[i]) || !text[i]) return false;
    digits += text[i] >= '0' && text[i] <= '9';
  }
  memcpy(number, text, n);
  number[n] = 0;
  char *end;
  rlx_os_locale before;
  rlx_os_locale_begin(&before);
  double x = strtod(number, &end);
  rlx_os_locale_end(&before);
  if (!digits || *end || end == number) return false;
  *out = x;
  return true;
}

uint64_t rlx_text_hash(uint64_t seed, const char *text) {
  uint64_t h = seed;
  for (; *text; text++) {
    h = (h ^ (unsigned char)*text) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h ^ h >> 32;
}

uint64_t rlx_text_hash_seed(const void *salt) {
  return (rlx_os_clock() << 24 ^ (uint64_t)(uintptr_t)salt) * 0xd6e8feb86659fd93u | 1u;
}
