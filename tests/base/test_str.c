/* Text: the string builder, quoting, numbers in and out, UTF-8. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "faults.h"
#include "test.h"

TEST(text_is_appended) {
  rlx_str s = {0};
  char expected[4096] = "";
  for (int i = 0; i < 100; i++) {
    rlx_str_add(&s, "%d,%s;", i, i % 10 ? "" : "a longer piece that does not fit what is left");
    rlx_str_add_char(&s, '.');
    size_t n = strlen(expected);
    snprintf(expected + n, sizeof expected - n, "%d,%s;.", i,
             i % 10 ? "" : "a longer piece that does not fit what is left");
    CHECK_EQ_STR(s.v, expected);
  }
  rlx_str_add_bytes(&s, NULL, 0);
  char *text;
  CHECK_OK(rlx_str_take(&s, &text));
  CHECK_EQ_STR(text, expected);
  CHECK(!s.v && s.n == 0 && !s.failed);
  rlx_mem_free(text);
  CHECK_OK(rlx_str_take(&s, &text));
  CHECK_EQ_STR(text, "");
  rlx_mem_free(text);
}

static rlx_status str_work(void *user) {
  rlx_str s = {0};
  (void)user;
  for (int i = 0; i < 50; i++) {
    rlx_str_add(&s, "%d", i);
    rlx_str_add_quoted(&s, "a\"\xFF");
    rlx_str_add_double(&s, 0.1 * i);
    if (s.v && strlen(s.v) != s.n) return RLX_FAIL(RLX_IO, "text of %zu bytes ends at %zu", s.n, strlen(s.v));
  }
  char *text;
  rlx_status status = rlx_str_take(&s, &text);
  if (status == RLX_OK && strlen(text) < 600) return RLX_FAIL(RLX_IO, "a piece is missing in %s", text);
  if (status != RLX_OK && text) return RLX_FAIL(RLX_IO, "failed, yet there is a text");
  rlx_mem_free(text);
  return status;
}

TEST(text_survives_failing_allocations) { CHECK_OK(alloc_sweep(str_work, NULL)); }

static const char *quoted(rlx_str *s, const char *text) {
  rlx_str_deinit(s);
  rlx_str_add_quoted(s, text);
  return s->v;
}

TEST(quoted_escapes) {
  rlx_str s = {0};
  CHECK_EQ_STR(quoted(&s, ""), "\"\"");
  CHECK_EQ_STR(quoted(&s, NULL), "\"\"");
  CHECK_EQ_STR(quoted(&s, "a\"b\\c/\b\f\n\r\t"), "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\"");
  CHECK_EQ_STR(quoted(&s, "\x01\x1F\x7F"), "\"\\u0001\\u001f\x7F\"");
  CHECK_EQ_STR(quoted(&s, "\xFF\xC3(\xC3\xA9"), "\"\\u00ff\\u00c3(\xC3\xA9\"");
  CHECK_EQ_STR(quoted(&s, "\xE2\x82"), "\"\\u00e2\\u0082\"");                       /* cut short */
  CHECK_EQ_STR(quoted(&s, "\xC0\x80"), "\"\\u00c0\\u0080\"");                       /* over-long */
  CHECK_EQ_STR(quoted(&s, "\xED\xA0\x80"), "\"\\u00ed\\u00a0\\u0080\"");            /* a surrogate */
  CHECK_EQ_STR(quoted(&s, "\xF4\x90\x80\x80"), "\"\\u00f4\\u0090\\u0080\\u0080\""); /* past U+10FFFF */
  rlx_str_deinit(&s);
}

static size_t encode_utf8(unsigned c, char *out) {
  size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (size_t i = length; i-- > 0; c >>= 6) out[i] = (char)(i ? 0x80 | (c & 0x3F) : lead[length] | c);
  out[length] = '\0';
  return length;
}

/* Undoes the escapes; false if the text is not one quoted string. */
static bool unquote(const char *q, char *out) {
  static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
  if (*q++ != '"') return false;
  for (; *q && *q != '"'; q++) {
    if ((unsigned char)*q < 0x20) return false;
    if (*q != '\\') {
      *out++ = *q;
    } else if (*++q == 'u') {
      char hex[5] = {q[1], q[2], q[3], q[4], 0};
      out += encode_utf8((unsigned)strtoul(hex, NULL, 16), out);
      q += 4;
    } else {
      const char *at = strchr(letters, *q);
      if (!at || !*at) return false;
      *out++ = meanings[at - letters];
    }
  }
  *out = '\0';
  return strcmp(q, "\"") == 0;
}

TEST(quoted_comes_back_for_every_character) {
  rlx_str s = {0};
  char text[16], back[64];
  for (unsigned c = 1; c < 0x110000; c++) {
    if (c >= 0xD800 && c < 0xE000) continue;
    size_t n = encode_utf8(c, text);
    text[n] = 'z', text[n + 1] = '\0';
    s.n = 0;
    rlx_str_add_quoted(&s, text);
    if (!unquote(s.v, back) || strcmp(back, text) != 0) FAIL("U+%04X became %s", c, s.v);
    if (c >= 0x80 && strchr(s.v, '\\')) FAIL("U+%04X was escaped", c);
  }
  rlx_str_deinit(&s);
}

static const char *number(rlx_str *s, double x) {
  rlx_str_deinit(s);
  rlx_str_add_double(s, x);
  return s->v;
}

TEST(numbers_are_short) {
  static const struct {
    double x;
    const char *text;
  } cases[] = {
    {0, "0"},
    {-0.0, "-0"},
    {1, "1"},
    {-2.5, "-2.5"},
    {0.1, "0.1"},
    {1e22, "1e+22"},
    {100000, "100000"},
    {0.1 + 0.2, "0.30000000000000004"},
    {0x1p-1074, "5e-324"},
    {0x1.fffffffffffffp+1023, "1.7976931348623157e+308"},
    {1.0 / 3, "0.3333333333333333"},
    {INFINITY, "inf"},
    {-INFINITY, "-inf"},
    {NAN, "nan"},
    {-NAN, "nan"},
  };
  rlx_str s = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) CHECK_EQ_STR(number(&s, cases[i].x), cases[i].text);
  rlx_str_deinit(&s);
}

TEST(numbers_come_back) {
  rlx_str s = {0};
  uint64_t state = 88172645463325252u;
  for (int i = 0; i < 100000; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    double x;
    memcpy(&x, &state, sizeof x);
    if (!isfinite(x)) continue;
    double back = strtod(number(&s, x), NULL);
    if (back != x || signbit(back) != signbit(x)) FAIL("%a became %s", x, s.v);
  }
  rlx_str_deinit(&s);
}

/* A float is printed with as many digits as a float needs, not those of the double it would become. */
TEST(floats_are_short_and_come_back) {
  rlx_str s = {0};
  rlx_str_add_float(&s, 0.1f);
  rlx_str_add_char(&s, ' ');
  rlx_str_add_float(&s, 0x1p-149f);
  rlx_str_add_char(&s, ' ');
  rlx_str_add_float(&s, -16777216.0f);
  rlx_str_add_char(&s, ' ');
  rlx_str_add_float(&s, -INFINITY);
  CHECK_EQ_STR(s.v, "0.1 1e-45 -16777216 -inf");
  for (uint32_t bits = 0; bits < 0xFFFF0000u; bits += 40009) {
    float x;
    memcpy(&x, &bits, sizeof x);
    if (!isfinite(x)) continue;
    s.n = 0;
    rlx_str_add_float(&s, x);
    float back = strtof(s.v, NULL);
    if (back != x || signbit(back) != signbit(x) || strlen(s.v) > 15) FAIL("%a became %s", (double)x, s.v);
  }
  rlx_str_deinit(&s);
}

TEST(numbers_are_read) {
  static const struct {
    const char *text;
    double x;
  } good[] = {{"0", 0},       {"-2.5e3", -2500}, {"+.5", 0.5},        {"5.", 5},
              {"1E-2", 0.01}, {"inf", INFINITY}, {"-inf", -INFINITY}, {"0.30000000000000004", 0.1 + 0.2}};
  static const char *const bad[] = {"",  " 1", "1 ", "0x10", "1,5",   "infinity", "Inf", "NaN",  "e5",
                                    ".", "-",  "1e", "1e+",  "1.2.3", "--1",      "1-",  "+inf", "nan(1)"};
  double x;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    x = 42;
    if (!rlx_text_to_double(good[i].text, strlen(good[i].text), &x) || x != good[i].x) FAIL("%s: %g", good[i].text, x);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    x = 42;
    if (rlx_text_to_double(bad[i], strlen(bad[i]), &x) || x != 42) FAIL("<%s> was taken for %g", bad[i], x);
  }
  CHECK(rlx_text_to_double("nan", 3, &x) && isnan(x));
  CHECK(rlx_text_to_double("12345", 2, &x) && x == 12);
  CHECK(!rlx_text_to_double("1\0"
                            "2",
                            3, &x));
  char digits[2000];
  memset(digits, '9', sizeof digits);
  CHECK(!rlx_text_to_double(digits, sizeof digits, &x)); /* longer than any valid number */
}

TEST(utf8_is_recognised) {
  CHECK(rlx_text_is_utf8("") && rlx_text_is_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82"));
  static const char *const bad[] = {"\x80",
                                    "a\xC3",
                                    "\xC3(",
                                    "\xC0\x80",
                                    "\xE0\x80\x80",
                                    "\xED\xA0\x80",
                                    "\xF4\x90\x80\x80",
                                    "\xF0\x9F\x99",
                                    "\xFF",
                                    "\xF8\x88\x80\x80\x80"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!rlx_text_is_utf8(bad[i]));
}

TEST(numbers_do_not_follow_the_locale) {
  static const char *const with_comma[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "nl_NL.UTF-8", "ps_AF"};
  const char *found = NULL;
  for (size_t i = 0; i < sizeof with_comma / sizeof *with_comma && !found; i++)
    found = setlocale(LC_NUMERIC, with_comma[i]);
  if (!found) SKIP("no locale with a decimal comma is installed");
  char printed[16];
  snprintf(printed, sizeof printed, "%.1f", 2.5);
  rlx_str s = {0};
  rlx_str_add_double(&s, -2.5e-300);
  double x = 0;
  bool is_read = rlx_text_to_double("-2.5e-300", 9, &x);
  setlocale(LC_NUMERIC, "C");
  if (strcmp(printed, "2.5") == 0) { /* a C library that takes any name */
    rlx_str_deinit(&s);
    SKIP("no locale has a decimal comma");
  }
  CHECK(is_read && x == -2.5e-300);
  CHECK_EQ_STR(s.v, "-2.5e-300");
  rlx_str_deinit(&s);
}
