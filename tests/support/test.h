/* The test harness: write `TEST(name) { CHECK(1 + 1 == 2); }`, include this file, and the program is complete.
 *
 * A test registers itself before main. A failed check reports its location and returns from the enclosing function, so
 * a void helper with checks should be followed by `if (test_has_failed()) return;`. Several files that include this may
 * be linked into one program: the shared parts are weak symbols, of which the linker keeps one.
 *
 *   test_str             runs all tests      test_str -v        a line for each, also when it passes
 *   test_str quoted      only tests with "quoted" in their name
 *
 * The last line is "N passed, N failed, N skipped"; the exit status is 1 if a test failed or none was found. */
#ifndef RLX_TESTS_TEST_H
#define RLX_TESTS_TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rlx/rlx.h"

/* 1 if the program is slow and takes far more memory than usual. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_IS_SANITIZED 1
#endif
#endif
#ifndef TEST_IS_SANITIZED
#define TEST_IS_SANITIZED 0
#endif
/* 1 under the thread sanitizer, which does not follow the stacks of the emulated GPU's kernels. */
#if defined(__SANITIZE_THREAD__)
#define TEST_IS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_IS_TSAN 1
#endif
#endif
#ifndef TEST_IS_TSAN
#define TEST_IS_TSAN 0
#endif

/* As many threads as a test asks for. A module of WebAssembly without shared memory has one. */
#if defined(__wasm__) && !defined(__wasm_atomics__)
#define TEST_THREADS(n) ((n) > 1 ? 1 : (n))
#else
#define TEST_THREADS(n) (n)
#endif

typedef struct test_case {
  const char *name;
  void (*fn)(void);
  struct test_case *next;
} test_case;

typedef enum test_result { TEST_PASSED, TEST_FAILED, TEST_SKIPPED, TEST_RESULT_COUNT } test_result;

typedef struct test_state {
  test_case *first, *last, *current;
  test_result result; /* of the current test */
  const char *program;
  bool was_in_part;
} test_state;

#if defined(_WIN32) /* where a weak symbol is another thing */
__attribute__((selectany)) test_state test_all = {0};
#else
__attribute__((weak)) test_state test_all;
#endif

#define TEST(test_name)                                                      \
  static void test_fn_##test_name(void);                                     \
  __attribute__((constructor)) static void test_register_##test_name(void) { \
    static test_case test = {.name = #test_name, .fn = test_fn_##test_name}; \
    test_add(&test);                                                         \
  }                                                                          \
  static void test_fn_##test_name(void)

/* The tests of a file run in its order. On Windows its last one is registered first. */
static inline void test_add(test_case *test) {
#if defined(_WIN32)
  test->next = test_all.first;
  test_all.first = test;
#else
  if (test_all.last) test_all.last->next = test;
  else test_all.first = test;
  test_all.last = test;
#endif
}

/* A guard against hangs and quadratic work, never a measurement. A very slow machine sets RLX_TEST_TIME to a factor. */
static inline unsigned test_hang_seconds(void) {
  const char *factor = getenv("RLX_TEST_TIME");
  return (unsigned)(600 * (factor && atof(factor) > 0 ? atof(factor) : 1));
}

/* Whether this run takes a part of what tests repeat: under a sanitizer, unless RLX_TEST_ALL or RLX_SOAK asks for all
 * of it. The program says so at its end. */
static inline bool test_in_part(void) {
  if (!TEST_IS_SANITIZED || getenv("RLX_TEST_ALL") || getenv("RLX_SOAK")) return false;
  test_all.was_in_part = true;
  return true;
}

/* Draws the part: another one every day, or that of RLX_TEST_SEED. */
static inline unsigned long long test_part_seed(void) {
  const char *given = getenv("RLX_TEST_SEED");
  return given && *given ? strtoull(given, NULL, 10) : (unsigned long long)time(NULL) / 86400;
}

/* Whether to do piece k of case i: all of them, or one in `n`, of which each case has others. */
static inline bool test_takes(size_t i, size_t k, size_t n) {
  return !test_in_part() || (i + k + (size_t)test_part_seed()) % n == 0;
}

/* The fault behind number `at` of a sweep. In part: one in four beyond the first ones. */
static inline size_t test_next_fault(size_t at) {
  enum { FIRST_ONES = 40, ONE_IN = 4 };
  if (at < FIRST_ONES || !test_in_part()) return at + 1;
  return at + (at == FIRST_ONES ? 1 + (size_t)(test_part_seed() % ONE_IN) : ONE_IN);
}

static inline bool test_has_failed(void) { return test_all.result == TEST_FAILED; }

/* Ends the line for the current test; the first result stands. */
#if defined(__MINGW32__) && !defined(__clang__)
#define TEST_PRINTF gnu_printf
#else
#define TEST_PRINTF printf
#endif
__attribute__((format(TEST_PRINTF, 4, 5))) static inline void test_report(test_result result, const char *file,
                                                                          int line, const char *fmt, ...) {
  if (test_all.result != TEST_PASSED) return;
  test_all.result = result;
  printf("%s %s: %s:%d: ", result == TEST_FAILED ? "FAIL" : "SKIP", test_all.current->name, file, line);
  va_list args;
  va_start(args, fmt);
  vprintf(fmt, args);
  va_end(args);
  putchar('\n');
}

/* WebAssembly has no clock of the processor, no emulated GPU, and no memory that goes back to the system. */
#if defined(__wasi__)
#define TEST_IS_WASM 1
#else
#define TEST_IS_WASM 0
#endif
#if defined(_WIN32)
#define TEST_IS_WINDOWS 1
#else
#define TEST_IS_WINDOWS 0
#endif
#define TEST_HAS_EMULATOR (!TEST_IS_WASM && !TEST_IS_WINDOWS) /* the emulated GPU, which switches stacks by POSIX */

#define TEST_STOP_(result, ...)                             \
  do {                                                      \
    test_report((result), __FILE__, __LINE__, __VA_ARGS__); \
    return;                                                 \
  } while (0)

#define SKIP(why) TEST_STOP_(TEST_SKIPPED, "%s", (why))
#define SKIP_WITH_32_BITS() \
  if (sizeof(void *) == 4) SKIP("expects sizes of 64 bits")
#define FAIL(...) TEST_STOP_(TEST_FAILED, __VA_ARGS__)

#define CHECK(cond)                 \
  do {                              \
    if (!(cond)) FAIL("%s", #cond); \
  } while (0)

#define CHECK_EQ_INT(a, b)                                                                \
  do {                                                                                    \
    long long check_a_ = (long long)(a), check_b_ = (long long)(b);                       \
    if (check_a_ != check_b_) FAIL("%s is %lld, %s is %lld", #a, check_a_, #b, check_b_); \
  } while (0)

#define CHECK_EQ_STR(a, b)                                                                                \
  do {                                                                                                    \
    const char *check_a_ = (a), *check_b_ = (b);                                                          \
    if (!check_a_ || !check_b_ || strcmp(check_a_, check_b_) != 0)                                        \
      FAIL("%s is <%s>, %s is <%s>", #a, check_a_ ? check_a_ : "NULL", #b, check_b_ ? check_b_ : "NULL"); \
  } while (0)

#define CHECK_OK(status_expr)                                                                                     \
  do {                                                                                                            \
    rlx_status check_status_ = (status_expr);                                                                     \
    if (check_status_ != RLX_OK) FAIL("%s: %s: %s", #status_expr, rlx_status_name(check_status_), rlx_message()); \
  } while (0)

/* Must fail with exactly this code and a message that contains `part`. */
#define CHECK_FAILS(status_expr, code, part)                                                                        \
  do {                                                                                                              \
    rlx_status check_status_ = (status_expr);                                                                       \
    if (check_status_ != (code))                                                                                    \
      FAIL("%s: expected '%s', got '%s' (%s)", #status_expr, rlx_status_name(code), rlx_status_name(check_status_), \
           check_status_ ? rlx_message() : "");                                                                     \
    if (!strstr(rlx_message(), (part)))                                                                             \
      FAIL("%s: expected a message with <%s>, got <%s>", #status_expr, (part), rlx_message());                      \
  } while (0)

#if !defined(TEST_IS_PART) /* of a program, where the linker knows no weak symbols */
#if defined(_WIN32)
int main(int argc, char **argv) {
#else
__attribute__((weak)) int main(int argc, char **argv) {
#endif
  const char *filter = "";
  bool is_verbose = false;
  test_all.program = argv[0];
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-v") == 0) is_verbose = true;
    else filter = argv[i];
  }
  /* Line-buffered, so that output is written before a crash, and a forked child has nothing to repeat. */
  setvbuf(stdout, NULL, _IOLBF, 0);
  unsigned count[TEST_RESULT_COUNT] = {0};
  for (test_case *test = test_all.first; test; test = test->next) {
    if (!strstr(test->name, filter)) continue;
    test_all.current = test;
    test_all.result = TEST_PASSED;
    test->fn();
    count[test_all.result]++;
    if (is_verbose && test_all.result == TEST_PASSED) printf("pass %s\n", test->name);
  }
  unsigned total = count[TEST_PASSED] + count[TEST_FAILED] + count[TEST_SKIPPED];
  if (test_all.was_in_part) printf("part of it: RLX_TEST_SEED=%llu; RLX_TEST_ALL=1 takes all\n", test_part_seed());
  if (total == 0) printf("no test has '%s' in its name\n", filter);
  printf("%u passed, %u failed, %u skipped\n", count[TEST_PASSED], count[TEST_FAILED], count[TEST_SKIPPED]);
  return total == 0 || count[TEST_FAILED] > 0;
}
#endif

#endif
