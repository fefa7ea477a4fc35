/* Tests of base: status, memory, arithmetic, bump allocator, array, log. Text, files, 16-bit floats and threads have
 * their own files. */
#include <stdlib.h>

#include "base/arith.h"
#include "base/array.h"
#include "base/bump.h"
#include "base/log.h"
#include "base/mem_source.h"
#include "faults.h"
#include "own_memory.h"
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

static rlx_status innermost(bool fails) { return fails ? RLX_FAIL(RLX_IO, "got %d", 7) : RLX_OK; }
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
  CHECK_EQ_STR(rlx_message(), "tensor 3: got 7");
  CHECK_EQ_INT(rlx_fail_frame(RLX_BUSY, "loading %s", "m.gguf"), RLX_BUSY);
  CHECK_EQ_STR(rlx_message(), "loading m.gguf: tensor 3: got 7");
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

enum { MESSAGE_BYTES = 3840, LAST = MESSAGE_BYTES - 1 }; /* the buffer of base/status.c */

TEST(long_messages_are_cut_between_characters) {
  static const char *const characters[] = {"x", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x99\x82"};
  for (size_t c = 0; c < 4; c++) {
    char text[8192] = "";
    for (size_t n = 0; n + 4 < sizeof text; n += strlen(characters[c]))
      memcpy(text + n, characters[c], strlen(characters[c]));
    for (size_t shift = 0; shift < 8; shift++) { /* so that the cut falls at every offset within a character */
      CHECK_EQ_INT(rlx_fail(RLX_IO, "%.*s%s", (int)shift, "01234567", text), RLX_IO);
      size_t cause = strlen(rlx_message());
      CHECK(cause > 2800 && cause < MESSAGE_BYTES);
      CHECK(is_whole(rlx_message(), shift, characters[c]));
      CHECK_EQ_INT(rlx_fail_frame(RLX_IO, "%.*s%s", (int)shift, "01234567", text), RLX_IO);
      CHECK(strlen(rlx_message()) > MESSAGE_BYTES - 24 && strlen(rlx_message()) < MESSAGE_BYTES);
      CHECK(is_whole(rlx_message(), shift, characters[c]));
      CHECK_EQ_INT(strlen(strchr(rlx_message(), ':') + 2), cause);
    }
  }
}

TEST(frames_never_push_the_cause_out) {
  CHECK_EQ_INT(rlx_fail(RLX_IO, "the cause"), RLX_IO);
  for (int i = 0; i < 1000; i++) (void)!rlx_fail_frame(RLX_IO, "call %d", i);
  CHECK(strlen(rlx_message()) < MESSAGE_BYTES);
  CHECK(strstr(rlx_message(), "call 1: call 0: the cause") != NULL);
}

/* The last bytes of the buffer: too small for a frame, just large enough, and one more. */
TEST(frames_fill_the_buffer_to_its_end) {
  for (int room = 0; room < 6; room++) {
    CHECK_EQ_INT(rlx_fail(RLX_IO, "x"), RLX_IO);
    CHECK_EQ_INT(rlx_fail_frame(RLX_IO, "%*s", LAST - room - 3, "y"), RLX_IO);
    CHECK_EQ_INT(strlen(rlx_message()), LAST - room);
    CHECK_EQ_INT(rlx_fail_frame(RLX_IO, "abc"), RLX_IO);
    CHECK_EQ_INT(strlen(rlx_message()), room < 3 ? LAST - room : LAST);
    CHECK_EQ_INT(strcspn(rlx_message(), ": "), room < 3 ? 0 : room - 2);
    CHECK(strstr(rlx_message(), "y: x") != NULL);
  }
}

/* ---- Memory and arithmetic ----------------------------------------------------------------------------------- */

/* Thousands of blocks of two sources and of the heap, freed in another order than they were made: each goes back to its own. */
TEST(memory_goes_back_to_its_source) {
  enum { N = 6000 };
  static unsigned char *blocks[N];
  own_memory m[2] = {{0}};
  size_t live = rlx_mem_live();
  rlx_mem_source *sources[3] = {NULL};
  for (int i = 0; i < 2; i++) {
    sources[i] = rlx_mem_source_create(own_alloc, own_dealloc, &m[i]);
    CHECK(sources[i]);
  }
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 0; i < N; i++) {
      rlx_mem_use(sources[i % 3]);
      size_t bytes = i % 97;
      blocks[i] = i % 5 == 0   ? rlx_mem_alloc_aligned(bytes, 256)
                  : i % 5 == 1 ? rlx_mem_calloc(bytes, 1)
                               : rlx_mem_alloc(bytes);
      CHECK(blocks[i] && (i % 5 != 0 || (uintptr_t)blocks[i] % 256 == 0));
      CHECK(i % 5 != 1 || !bytes || (blocks[i][0] == 0 && blocks[i][bytes - 1] == 0));
      if (bytes) blocks[i][bytes - 1] = (unsigned char)i;
    }
    rlx_mem_use(NULL);
    CHECK_EQ_INT(atomic_load(&m[0].n_live), N / 3);
    CHECK_EQ_INT(atomic_load(&m[1].n_live), N / 3);
    for (size_t i = 0; i < N; i += 2) { /* growing stays where it began */
      size_t bytes = i % 97;
      blocks[i] = rlx_mem_realloc(blocks[i], bytes + 50, 1);
      CHECK(blocks[i] && (!bytes || blocks[i][bytes - 1] == (unsigned char)i));
    }
    CHECK_EQ_INT(atomic_load(&m[0].n_live), N / 3);
    CHECK_EQ_INT(rlx_mem_live(), live + N);
    for (size_t i = 0; i < N; i++) rlx_mem_free(blocks[i * 7 % N]);
    CHECK(own_is_whole(&m[0]) && own_is_whole(&m[1]));
    CHECK_EQ_INT(rlx_mem_live(), live);
  }
  rlx_mem_use(sources[0]);
  m[0].fail_at = 1;
  CHECK(!rlx_mem_alloc(1) && !rlx_mem_calloc(1, 1) && !rlx_mem_alloc_aligned(1, 64) && !rlx_mem_realloc(NULL, 1, 1));
  rlx_mem_use(NULL);
  for (int i = 0; i < 2; i++) rlx_mem_source_release(sources[i]);
}

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

/* The sweep itself must detect leaks and false successes. */
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

/* Against arithmetic in twice as many bits, on all pairs of values around the edges. */
#if defined(__SIZEOF_INT128__)
typedef unsigned __int128 wide_size;
#else
typedef uint64_t wide_size;
#endif
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
      size_t m = (size_t)a, n = (size_t)b, out = 42;
      wide_size sum = (wide_size)m + n, product = (wide_size)m * n, padded = n ? ((wide_size)m + n - 1) / n * n : 0;
      CHECK(rlx_add_size(m, n, &out) == (sum <= SIZE_MAX) && out == (sum <= SIZE_MAX ? (size_t)sum : 42));
      out = 42;
      CHECK(rlx_mul_size(m, n, &out) == (product <= SIZE_MAX) && out == (product <= SIZE_MAX ? (size_t)product : 42));
      out = 42;
      if (n)
        CHECK(rlx_pad_size(m, n, &out) == (padded <= SIZE_MAX) && out == (padded <= SIZE_MAX ? (size_t)padded : 42));

#if defined(__SIZEOF_INT128__)
      int64_t x = (int64_t)a, y = (int64_t)b, got = 42;
      __int128 signed_sum = (__int128)x + y, signed_product = (__int128)x * y;
      bool fits = signed_sum >= INT64_MIN && signed_sum <= INT64_MAX;
      CHECK(rlx_add_i64(x, y, &got) == fits && got == (fits ? (int64_t)signed_sum : 42));
      fits = signed_product >= INT64_MIN && signed_product <= INT64_MAX;
      got = 42;
      CHECK(rlx_mul_i64(x, y, &got) == fits && got == (fits ? (int64_t)signed_product : 42));
#endif
    }
  }
}

/* ---- Bump and array ------------------------------------------------------------------------------------------ */

/* Many sizes, each block filled with its own number and checked at the end: no two overlap. */
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
  char *alone = rlx_bump_alloc(&b, 1, 9000); /* the very first request is a large one */
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

TEST(bump_reset_keeps_the_memory_and_clears_it) {
  rlx_bump b = {0};
  rlx_bump_reset(&b); /* an empty one stays so */
  CHECK(!b.head);
  for (int round = 0; round < 3; round++) {
    size_t n = 0;
    alloc_sweep_point count = {0};
    if (round) rlx_mem_set_hook(alloc_sweep_hook, &count);
    for (size_t bytes = 8; bytes < 40000; bytes = bytes * 3 / 2, n++) {
      unsigned char *p = rlx_bump_alloc(&b, 1, bytes);
      bool clear = p && p[0] == 0 && p[bytes - 1] == 0;
      for (size_t i = 0; clear && i < bytes; i++) clear = p[i] == 0;
      if (p) memset(p, 0xff, bytes);
      if (!clear) rlx_mem_set_hook(NULL, NULL);
      CHECK(clear);
    }
    rlx_mem_set_hook(NULL, NULL);
    CHECK(round == 0 || atomic_load(&count.n_seen) == 0);
    rlx_bump_reset(&b);
  }
  rlx_bump_deinit(&b);
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
