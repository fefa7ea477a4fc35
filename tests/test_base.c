/* The ground floor: status, memory, arithmetic, bump, array, text, files, log. Half floats and threads have files of
 * their own. */
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_sweep.h"
#include "base/arith.h"
#include "base/array.h"
#include "base/bump.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "folder.h"
#include "test.h"

/* ---- Status -------------------------------------------------------------------------------------------------- */

TEST(version_and_names) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", RLX_VERSION_MAJOR, RLX_VERSION_MINOR, RLX_VERSION_PATCH);
  CHECK_EQ_STR(rlx_version(), version);
  CHECK_EQ_STR(rlx_status_name(RLX_INVALID), "invalid");
  for (int i = 0; i < RLX_STATUS_COUNT; i++) {
    CHECK(rlx_status_name((rlx_status)i) != NULL);
    for (int k = 0; k < i; k++) CHECK(strcmp(rlx_status_name((rlx_status)i), rlx_status_name((rlx_status)k)) != 0);
  }
  CHECK_EQ_STR(rlx_status_name(RLX_STATUS_COUNT), "unknown status");
  CHECK_EQ_STR(rlx_status_name((rlx_status)-1), "unknown status");
}

static rlx_status innermost(bool fails) { return fails ? RLX_FAIL(RLX_IO, "found %d", 7) : RLX_OK; }
static rlx_status middle(bool fails) {
  RLX_TRY_AT(innermost(fails), "tensor %u", 3u);
  return RLX_OK;
}
static rlx_status outermost(bool fails) {
  RLX_TRY(middle(fails));
  RLX_TRY_AT(middle(fails), "never");
  return RLX_OK;
}

TEST(frames_go_before_the_cause) {
  CHECK_OK(outermost(false));
  CHECK_EQ_INT(outermost(true), RLX_IO);
  CHECK_EQ_STR(rlx_message(), "tensor 3: found 7");
  CHECK_EQ_INT(rlx_fail_frame(RLX_BUSY, "loading %s", "m.gguf"), RLX_BUSY);
  CHECK_EQ_STR(rlx_message(), "loading m.gguf: tensor 3: found 7");
}

TEST(arguments_may_be_the_message_itself) {
  CHECK_EQ_INT(rlx_fail(RLX_IO, "one"), RLX_IO);
  CHECK_EQ_INT(rlx_fail(RLX_IO, "<%s|%s>", rlx_message(), rlx_message()), RLX_IO);
  CHECK_EQ_STR(rlx_message(), "<one|one>");
  CHECK_EQ_INT(rlx_fail_frame(RLX_IO, "frame of %s", rlx_message()), RLX_IO);
  CHECK_EQ_STR(rlx_message(), "frame of <one|one>: <one|one>");
}

/* True if the text is whole characters of the given one, after `skip` bytes. */
static bool is_whole(const char *text, size_t skip, const char *character) {
  size_t length = strlen(character);
  for (text += skip; *text && *text != ':'; text += length)
    if (strncmp(text, character, length) != 0) return false;
  return true;
}

TEST(long_messages_are_cut_between_characters) {
  static const char *const characters[] = {"x", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x99\x82"};
  for (size_t c = 0; c < 4; c++) {
    char text[8192] = "";
    for (size_t n = 0; n + 4 < sizeof text; n += strlen(characters[c]))
      memcpy(text + n, characters[c], strlen(characters[c]));
    for (size_t shift = 0; shift < 8; shift++) { /* so that the cut falls at every place within a character */
      CHECK_EQ_INT(rlx_fail(RLX_IO, "%.*s%s", (int)shift, "01234567", text), RLX_IO);
      size_t cause = strlen(rlx_message());
      CHECK(cause > 700 && cause < 1024);
      CHECK(is_whole(rlx_message(), shift, characters[c]));
      CHECK_EQ_INT(rlx_fail_frame(RLX_IO, "%.*s%s", (int)shift, "01234567", text), RLX_IO);
      CHECK(strlen(rlx_message()) > 1000 && strlen(rlx_message()) < 1024);
      CHECK(is_whole(rlx_message(), shift, characters[c]));
      CHECK_EQ_INT(strlen(strchr(rlx_message(), ':') + 2), cause);
    }
  }
}

TEST(frames_never_push_the_cause_out) {
  CHECK_EQ_INT(rlx_fail(RLX_IO, "the cause"), RLX_IO);
  for (int i = 0; i < 1000; i++) (void)!rlx_fail_frame(RLX_IO, "call %d", i);
  CHECK(strlen(rlx_message()) < 1024);
  CHECK(strstr(rlx_message(), "call 1: call 0: the cause") != NULL);
}

/* The last bytes of the buffer: too little room for a frame, just enough, and one more. */
TEST(frames_fill_the_buffer_to_its_end) {
  for (int room = 0; room < 6; room++) {
    CHECK_EQ_INT(rlx_fail(RLX_IO, "x"), RLX_IO);
    CHECK_EQ_INT(rlx_fail_frame(RLX_IO, "%*s", 1023 - room - 3, "y"), RLX_IO);
    CHECK_EQ_INT(strlen(rlx_message()), 1023 - room);
    CHECK_EQ_INT(rlx_fail_frame(RLX_IO, "abc"), RLX_IO);
    CHECK_EQ_INT(strlen(rlx_message()), room < 3 ? 1023 - room : 1023);
    CHECK_EQ_INT(strcspn(rlx_message(), ": "), room < 3 ? 0 : room - 2);
    CHECK(strstr(rlx_message(), "y: x") != NULL);
  }
}

/* ---- Memory and arithmetic ----------------------------------------------------------------------------------- */

TEST(memory_counts_and_refuses) {
  size_t live = rlx_mem_live();
  void *a = rlx_mem_alloc(0), *b = rlx_mem_alloc(0);
  unsigned char *c = rlx_mem_calloc(100, 10);
  CHECK(a && b && c && a != b);
  CHECK_EQ_INT(rlx_mem_live(), live + 3);
  for (int i = 0; i < 1000; i++) CHECK_EQ_INT(c[i], 0);
  CHECK((uintptr_t)a % 16 == 0 && (uintptr_t)b % 16 == 0 && (uintptr_t)c % 16 == 0);
  CHECK(!rlx_mem_alloc(SIZE_MAX) && !rlx_mem_calloc(SIZE_MAX / 2, 3) && !rlx_mem_realloc(c, SIZE_MAX / 2, 3));
  c[999] = 9;
  c = rlx_mem_realloc(c, 100000, 1);
  CHECK(c && c[999] == 9);
  c = rlx_mem_realloc(c, 0, 8);
  CHECK(c != NULL);
  CHECK_EQ_INT(rlx_mem_live(), live + 3);
  void *d = rlx_mem_realloc(NULL, 3, 5);
  CHECK(d != NULL);
  CHECK_EQ_INT(rlx_mem_live(), live + 4);
  rlx_mem_free(a), rlx_mem_free(b), rlx_mem_free(c), rlx_mem_free(d), rlx_mem_free(NULL);
  CHECK_EQ_INT(rlx_mem_live(), live);
}

typedef struct hook_log {
  size_t n, last_bytes;
  bool grants;
} hook_log;
static bool note_request(void *user, size_t bytes) {
  hook_log *log = user;
  log->n++;
  log->last_bytes = bytes;
  return log->grants;
}

TEST(hook_sees_every_request) {
  hook_log log = {.grants = true};
  rlx_mem_set_hook(note_request, &log);
  void *a = rlx_mem_alloc(11), *b = rlx_mem_calloc(3, 7);
  size_t n = log.n, bytes = log.last_bytes;
  a = rlx_mem_realloc(a, 5, 9);
  size_t n_grown = log.n, bytes_grown = log.last_bytes;
  log.grants = false;
  void *c = rlx_mem_alloc(1), *d = rlx_mem_calloc(1, 1), *e = rlx_mem_realloc(a, 50, 9),
       *f = rlx_mem_realloc(NULL, 1, 1);
  rlx_mem_set_hook(NULL, NULL);
  rlx_mem_free(a), rlx_mem_free(b);
  CHECK(n == 2 && bytes == 21 && n_grown == 3 && bytes_grown == 45 && log.n == 7);
  CHECK(!c && !d && !e && !f);
}

/* The sweep itself must see what it is there to see. */
static rlx_status leak_at_second(void *user) {
  void **leaked = user;
  *leaked = rlx_mem_alloc(1);
  if (!*leaked) return RLX_FAIL(RLX_NO_MEMORY, "first");
  void *second = rlx_mem_alloc(1);
  if (!second) return RLX_FAIL(RLX_NO_MEMORY, "second");
  rlx_mem_free(second);
  rlx_mem_free(*leaked);
  return RLX_OK;
}
static rlx_status wrong_status(void *user) {
  void *p = rlx_mem_alloc(1);
  (void)user;
  rlx_mem_free(p);
  return p ? RLX_OK : RLX_FAIL(RLX_IO, "cause");
}
static rlx_status no_allocation(void *user) { return user ? RLX_FAIL(RLX_NO_MEMORY, "by itself") : RLX_OK; }

TEST(sweep_sees_leaks_and_wrong_codes) {
  void *leaked = NULL;
  rlx_status s = alloc_sweep(leak_at_second, &leaked);
  rlx_mem_free(leaked);
  CHECK_FAILS(s, RLX_INVALID, "allocation 2 failing once: ");
  CHECK_FAILS(alloc_sweep(wrong_status, NULL), RLX_INVALID, "the work returned 'io': cause");
  CHECK_FAILS(alloc_sweep(no_allocation, NULL), RLX_INVALID, "allocates nothing");
  CHECK_FAILS(alloc_sweep(no_allocation, &s), RLX_INVALID, "it did 0 times");
}

/* Against arithmetic in 128 bits, on all pairs of values around the edges. */
TEST(checked_arithmetic) {
  static const uint64_t edges[] = {0,
                                   1,
                                   2,
                                   3,
                                   15,
                                   16,
                                   17,
                                   0x7FFFFFFF,
                                   0x80000000,
                                   0xFFFFFFFF,
                                   0x100000000,
                                   0x100000001,
                                   0x3FFFFFFFFFFFFFFF,
                                   0x5555555555555555,
                                   0x7FFFFFFFFFFFFFFF,
                                   0x8000000000000000,
                                   0x8000000000000001,
                                   0xAAAAAAAAAAAAAAAA,
                                   0xFFFFFFFFFFFFFFF0,
                                   0xFFFFFFFFFFFFFFFE,
                                   0xFFFFFFFFFFFFFFFF};
  enum { N = sizeof edges / sizeof *edges };
  for (int i = 0; i < N; i++) {
    for (int k = 0; k < N; k++) {
      uint64_t a = edges[i], b = edges[k];
      unsigned __int128 sum = (unsigned __int128)a + b, product = (unsigned __int128)a * b;
      size_t out = 42;
      CHECK(rlx_add_size(a, b, &out) == (sum <= SIZE_MAX) && out == (sum <= SIZE_MAX ? (size_t)sum : 42));
      out = 42;
      CHECK(rlx_mul_size(a, b, &out) == (product <= SIZE_MAX) && out == (product <= SIZE_MAX ? (size_t)product : 42));
      unsigned __int128 padded = b ? ((unsigned __int128)a + b - 1) / b * b : 0;
      out = 42;
      if (b)
        CHECK(rlx_pad_size(a, b, &out) == (padded <= SIZE_MAX) && out == (padded <= SIZE_MAX ? (size_t)padded : 42));

      int64_t x = (int64_t)a, y = (int64_t)b, got = 42;
      __int128 signed_sum = (__int128)x + y, signed_product = (__int128)x * y;
      bool fits = signed_sum >= INT64_MIN && signed_sum <= INT64_MAX;
      CHECK(rlx_add_i64(x, y, &got) == fits && got == (fits ? (int64_t)signed_sum : 42));
      fits = signed_product >= INT64_MIN && signed_product <= INT64_MAX;
      got = 42;
      CHECK(rlx_mul_i64(x, y, &got) == fits && got == (fits ? (int64_t)signed_product : 42));
    }
  }
}

/* ---- Bump and array ------------------------------------------------------------------------------------------ */

/* Many sizes, each block filled with its own number at once and checked at the end: no two overlap. */
TEST(bump_blocks_are_clear_aligned_and_apart) {
  enum { N = 3000 };
  static unsigned char *blocks[N];
  size_t live = rlx_mem_live(), asked = 0;
  rlx_bump b = {0};
  for (size_t i = 0; i < N; i++) {
    size_t bytes = i % 500 == 499 ? 3000000 : i % 50 == 49 ? 700 * (i % 7) : i % 97;
    blocks[i] = rlx_bump_alloc(&b, 1, bytes);
    CHECK(blocks[i] && (uintptr_t)blocks[i] % 16 == 0);
    for (size_t k = 0; k < bytes; k++) CHECK(blocks[i][k] == 0);
    if (bytes) memset(blocks[i], (int)(i % 251), bytes);
    asked += bytes;
  }
  for (size_t i = 0; i < N; i++) {
    size_t bytes = i % 500 == 499 ? 3000000 : i % 50 == 49 ? 700 * (i % 7) : i % 97;
    for (size_t k = 0; k < bytes; k++) CHECK_EQ_INT(blocks[i][k], i % 251);
  }
  CHECK(b.total >= asked && b.total < asked + asked / 4);
  CHECK(rlx_mem_live() - live < 30);
  rlx_bump_deinit(&b);
  CHECK(rlx_mem_live() == live && !b.head && b.total == 0);
}

TEST(bump_starts_small_and_large_requests_waste_nothing) {
  rlx_bump b = {0};
  char *first = rlx_bump_alloc(&b, 1, 16);
  CHECK(first && b.total <= 1024 + 64);
  char *large = rlx_bump_alloc(&b, 1, 5000000);
  char *second = rlx_bump_alloc(&b, 1, 16);
  CHECK(large && second == first + 16);
  large[4999999] = 1;
  CHECK(!rlx_bump_alloc(&b, SIZE_MAX, 1) && !rlx_bump_alloc(&b, SIZE_MAX / 2, 3) &&
        !rlx_bump_alloc(&b, SIZE_MAX - 15, 1));
  CHECK(!rlx_bump_text(&b, "", SIZE_MAX));
  CHECK((char *)rlx_bump_alloc(&b, 1, 16) == first + 32);
  CHECK_EQ_STR(rlx_bump_text(&b, "abcdef", 3), "abc");
  CHECK_EQ_STR(rlx_bump_text(&b, NULL, 0), "");
  const int64_t dims[] = {4, 5, 6};
  int64_t *copy = rlx_bump_copy(&b, dims, 3, sizeof *dims);
  CHECK(copy && memcmp(copy, dims, sizeof dims) == 0);
  CHECK(rlx_bump_copy(&b, NULL, 0, 8) != NULL);
  rlx_bump_deinit(&b);
  char *alone = rlx_bump_alloc(&b, 1, 9000); /* the first request of all is a large one */
  char *next = rlx_bump_alloc(&b, 1, 8);
  CHECK(alone && next && (next < alone || next >= alone + 9000));
  rlx_bump_deinit(&b);
}

static rlx_status bump_work(void *user) {
  rlx_bump b = {0};
  (void)user;
  bool ok = true;
  for (size_t i = 0; i < 200 && ok; i++) ok = rlx_bump_alloc(&b, i, i % 9 == 0 ? 40 : 1) != NULL;
  bool still_works = !ok && rlx_bump_alloc(&b, 1, 1); /* after a failure: NULL or a block, no crash */
  (void)still_works;
  rlx_bump_deinit(&b);
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "bump");
}

static rlx_status array_work(void *user) {
  RLX_ARRAY(int64_t) a = {0};
  (void)user;
  rlx_status s = RLX_OK;
  for (int64_t i = 0; i < 1000 && s == RLX_OK; i++) {
    size_t n = a.n;
    if (!rlx_array_push(&a, i)) s = a.n == n ? RLX_FAIL(RLX_NO_MEMORY, "push") : RLX_FAIL(RLX_IO, "array changed");
  }
  for (size_t i = 0; i < a.n; i++)
    if (a.v[i] != (int64_t)i) s = RLX_FAIL(RLX_IO, "element %zu is wrong", i);
  if (s == RLX_OK && !rlx_array_reserve(&a, 5000)) s = RLX_FAIL(RLX_NO_MEMORY, "reserve");
  if (s == RLX_OK && a.cap < 6000) s = RLX_FAIL(RLX_IO, "room for %zu only", a.cap);
  rlx_array_deinit(&a);
  return s;
}

TEST(bump_and_array_survive_failing_allocations) {
  CHECK_OK(alloc_sweep(bump_work, NULL));
  CHECK_OK(alloc_sweep(array_work, NULL));
}

TEST(array_refuses_what_cannot_fit) {
  RLX_ARRAY(int64_t) a = {0};
  CHECK(rlx_array_reserve(&a, 0) && !a.v);
  CHECK(rlx_array_push(&a, 5));
  CHECK(!rlx_array_reserve(&a, SIZE_MAX) && !rlx_array_reserve(&a, SIZE_MAX / 8) &&
        !rlx_array_reserve(&a, SIZE_MAX - 1));
  CHECK(a.n == 1 && a.v[0] == 5);
  rlx_array_deinit(&a);
  CHECK(!a.v && a.n == 0 && a.cap == 0);
}

/* ---- Text ---------------------------------------------------------------------------------------------------- */

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

/* Undoes the escapes; false where the text is not one quoted string. */
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
  CHECK(!rlx_text_to_double(digits, sizeof digits, &x)); /* longer than any number that is meant */
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
  CHECK(is_read && x == -2.5e-300);
  CHECK(strcmp(printed, "2.5") != 0);
  CHECK_EQ_STR(s.v, "-2.5e-300");
  rlx_str_deinit(&s);
}

/* ---- Files --------------------------------------------------------------------------------------------------- */

TEST(file_comes_back) {
  CHECK(folder_begin());
  static unsigned char data[100001];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7 >> 3);
  static const size_t sizes[] = {100001, 0, 1, 4096};
  for (size_t i = 0; i < 4; i++) { /* each replaces the one before */
    CHECK_OK(rlx_file_write(folder_path("f"), data, sizes[i]));
    rlx_file_map m;
    CHECK_OK(rlx_file_map_open(folder_path("f"), &m));
    CHECK(m.bytes == sizes[i] && (m.data == NULL) == (sizes[i] == 0));
    CHECK(sizes[i] == 0 || memcmp(m.data, data, sizes[i]) == 0);
    rlx_file_map_close(&m);
    CHECK(!m.data && m.bytes == 0);
    rlx_file_map_close(&m);
    char *text;
    size_t bytes;
    CHECK_OK(rlx_file_read(folder_path("f"), sizes[i], &text, &bytes));
    CHECK(bytes == sizes[i] && text[bytes] == '\0' && memcmp(text, data, bytes) == 0);
    rlx_mem_free(text);
  }
  CHECK_EQ_INT(folder_count(), 1);
}

TEST(file_above_the_limit_is_refused) {
  CHECK(folder_begin());
  CHECK_OK(rlx_file_write(folder_path("f"), "12345", 5));
  char *text = (char[]){"something"};
  size_t bytes = 9;
  CHECK_FAILS(rlx_file_read(folder_path("f"), 4, &text, &bytes), RLX_INVALID, "/f': expected at most 4 bytes");
  CHECK(!text && bytes == 0);
  /* Of a file that is much too large, nothing is read and no memory is asked for. */
  CHECK(truncate(folder_path("f"), (off_t)1 << 32) == 0);
  hook_log log = {.grants = true};
  rlx_mem_set_hook(note_request, &log);
  rlx_status s = rlx_file_read(folder_path("f"), 1 << 20, &text, &bytes);
  rlx_mem_set_hook(NULL, NULL);
  CHECK_FAILS(s, RLX_INVALID, "at most 1048576 bytes");
  CHECK_EQ_INT(log.n, 0);
}

TEST(file_without_a_size_is_read) {
  char *text;
  size_t bytes;
  if (access("/proc/self/status", R_OK) != 0) SKIP("there is no /proc");
  CHECK_OK(rlx_file_read("/proc/self/status", 1 << 20, &text, &bytes));
  CHECK(bytes > 100 && strlen(text) == bytes && strstr(text, "Pid:"));
  rlx_mem_free(text);
  CHECK_FAILS(rlx_file_read("/proc/self/status", 10, &text, &bytes), RLX_INVALID, "at most 10 bytes");
}

TEST(only_regular_files) {
  CHECK(folder_begin());
  CHECK(mkdir(folder_path("dir"), 0777) == 0 && mkfifo(folder_path("fifo"), 0666) == 0);
  rlx_file_map m = {.bytes = 7};
  char *text;
  size_t bytes;
  alarm(20); /* an open that waits for the FIFO's other end would wait for ever */
  CHECK_FAILS(rlx_file_map_open(folder_path("none"), &m), RLX_NOT_FOUND, "/none': No such file or directory");
  CHECK(!m.data && m.bytes == 0);
  CHECK_FAILS(rlx_file_map_open(folder_path("dir"), &m), RLX_INVALID,
              "/dir': expected a regular file, found a directory");
  CHECK_FAILS(rlx_file_map_open(folder_path("fifo"), &m), RLX_INVALID, "/fifo': expected a regular file, found a FIFO");
  CHECK_FAILS(rlx_file_map_open("/dev/null", &m), RLX_INVALID, "found a device");
  CHECK_FAILS(rlx_file_map_open(folder_path("dir/fifo/x"), &m), RLX_NOT_FOUND, "/dir/fifo/x'");
  CHECK_FAILS(rlx_file_map_open("", &m), RLX_NOT_FOUND, "''");
  CHECK_FAILS(rlx_file_map_open(NULL, &m), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_file_read(folder_path("fifo"), 10, &text, &bytes), RLX_INVALID, "found a FIFO");
  CHECK_FAILS(rlx_file_read(folder_path("none"), 10, &text, &bytes), RLX_NOT_FOUND, "cannot open");
  CHECK_FAILS(rlx_file_write(folder_path("dir"), "x", 1), RLX_INVALID, "found a directory");
  CHECK_FAILS(rlx_file_write(folder_path("fifo"), "x", 1), RLX_INVALID, "found a FIFO");
  CHECK_FAILS(rlx_file_write("/dev/null", "x", 1), RLX_INVALID, "found a device");
  CHECK_FAILS(rlx_file_write(folder_path("no/where"), "x", 1), RLX_NOT_FOUND, "cannot write");
  CHECK_FAILS(rlx_file_write(NULL, "x", 1), RLX_INVALID, "NULL");
  alarm(0);
  CHECK_EQ_INT(folder_count(), 2);
}

TEST(writing_keeps_permissions_and_long_names) {
  CHECK(folder_begin());
  char name[256], path[512];
  memset(name, 'n', 255);
  name[255] = '\0';
  snprintf(path, sizeof path, "%s/%s", folder_name(), name);
  CHECK_OK(rlx_file_write(path, "old", 3));
  CHECK(chmod(path, 0640) == 0);
  CHECK_OK(rlx_file_write(path, "new", 3));
  struct stat st;
  CHECK(stat(path, &st) == 0);
  CHECK_EQ_INT(st.st_mode & 07777, 0640);
  CHECK(remove(path) == 0);
  mode_t before = umask(027);
  rlx_status s = rlx_file_write(folder_path("fresh"), "x", 1);
  umask(before);
  CHECK_OK(s);
  CHECK(stat(folder_path("fresh"), &st) == 0);
  CHECK_EQ_INT(st.st_mode & 07777, 0640);
  CHECK_EQ_INT(folder_count(), 1);
}

/* In a child, where no file may grow past 1,000 bytes: the disk is full half-way. Exit 0: it failed with words. */
static int write_too_much(void) {
  static const char data[5000];
  struct rlimit small = {.rlim_cur = 1000, .rlim_max = 1000};
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 2;
  rlx_status s = rlx_file_write(folder_path("f"), data, sizeof data);
  return s == RLX_IO && strstr(rlx_message(), "/f': File too large") ? 0 : 3;
}

TEST(failed_write_leaves_the_old_file_and_nothing_else) {
  CHECK(folder_begin());
  CHECK_OK(rlx_file_write(folder_path("f"), "old", 3));
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(write_too_much());
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_EQ_INT(WEXITSTATUS(status), 0);
  char *text;
  size_t bytes;
  CHECK_OK(rlx_file_read(folder_path("f"), 100, &text, &bytes));
  CHECK_EQ_STR(text, "old");
  rlx_mem_free(text);
  CHECK_EQ_INT(folder_count(), 1);
}

static rlx_status file_work(void *user) {
  (void)user;
  char *text;
  size_t bytes;
  RLX_TRY(rlx_file_write(folder_path("f"), "text", 4));
  RLX_TRY(rlx_file_read(folder_path("f"), 10, &text, &bytes));
  rlx_mem_free(text);
  RLX_TRY(rlx_file_read("/proc/self/status", 1 << 20, &text, &bytes));
  rlx_mem_free(text);
  return RLX_OK;
}

TEST(files_survive_failing_allocations) {
  if (access("/proc/self/status", R_OK) != 0) SKIP("there is no /proc");
  CHECK(folder_begin());
  int lowest_before = dup(0), lowest_after;
  close(lowest_before);
  CHECK_OK(alloc_sweep(file_work, NULL));
  lowest_after = dup(0);
  close(lowest_after);
  CHECK_EQ_INT(lowest_after, lowest_before); /* no descriptor was left open */
  CHECK_EQ_INT(folder_count(), 1);
}

/* ---- Log and trace ------------------------------------------------------------------------------------------- */

typedef struct record {
  int n_logs, n_traces;
  rlx_log_level level;
  char text[2048], spans[64];
  uint64_t last_time;
  bool goes_back;
} record;

static void keep_log(void *user, rlx_log_level level, const char *text) {
  record *r = user;
  r->n_logs++;
  r->level = level;
  snprintf(r->text, sizeof r->text, "%s", text);
}
static void keep_trace(void *user, const char *name, bool begin, uint64_t nanoseconds) {
  record *r = user;
  r->n_traces++;
  size_t n = strlen(r->spans);
  snprintf(r->spans + n, sizeof r->spans - n, "%c%s", begin ? '+' : '-', name);
  r->goes_back = r->goes_back || nanoseconds < r->last_time || nanoseconds == 0;
  r->last_time = nanoseconds;
}

TEST(log_and_trace_reach_their_callbacks) {
  record r = {0};
  rlx_log_write(RLX_LOG_ERROR, "nobody listens");
  rlx_trace_begin("nobody");
  rlx_set_log(keep_log, &r);
  rlx_set_trace(keep_trace, &r);
  rlx_log_write(RLX_LOG_WARN, "%d of %s", 3, "four");
  rlx_trace_begin("outer");
  rlx_trace_begin("inner");
  rlx_trace_end("inner");
  rlx_trace_end("outer");
  CHECK_EQ_STR(r.text, "3 of four");
  CHECK_EQ_INT(r.level, RLX_LOG_WARN);
  CHECK_EQ_STR(r.spans, "+outer+inner-inner-outer");
  CHECK(!r.goes_back);
  rlx_log_write(RLX_LOG_DEBUG, "%2000s", "");
  CHECK_EQ_INT(strlen(r.text), 1023);
  rlx_set_log(NULL, NULL);
  rlx_set_trace(NULL, NULL);
  rlx_log_write(RLX_LOG_ERROR, "silence");
  rlx_trace_end("silence");
  CHECK(r.n_logs == 2 && r.n_traces == 4);
}
