/* Mutations of the text form: the seeds of the fuzz target and every conformance case, mutated thousands of times by a
 * seeded loop, each checked as text_check.h describes. This is the fuzz target for machines without libFuzzer, and is
 * deterministic. RLX_SOAK=1 runs a hundred times as many (ten under sanitizers). */
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "conform/conform.h"
#include "test.h"
#include "text_check.h"
#include "text_mutate.h"

enum { CAP = 8192 };

static const char *const seeds[] = {"mlp", "attention", "control", "layout", "quantised", "vision"};
enum { N_SEEDS = sizeof seeds / sizeof *seeds };

static rlx_status read_seed(size_t i, char **text, size_t *bytes) {
  char path[1024];
  snprintf(path, sizeof path, RLX_TEST_DATA "/../corpus/fuzz_text/%s.rlx", seeds[i]);
  return rlx_file_read(path, CAP, text, bytes);
}

static unsigned rounds(unsigned few) {
  return getenv("RLX_SOAK") ? few * (TEST_IS_SANITIZED ? 10 : 100) : TEST_IS_SANITIZED ? few / 4 : few;
}

/* ---- unmodified texts pass ---- */

TEST(seeds_are_graphs) {
  text_tally tally = {0};
  for (size_t i = 0; i < N_SEEDS; i++) {
    char *text;
    size_t bytes;
    CHECK_OK(read_seed(i, &text, &bytes));
    rlx_status s = text_check(text, bytes, &tally);
    rlx_free(text);
    if (s) FAIL("%s: %s", seeds[i], rlx_message());
  }
  CHECK_EQ_INT(tally.parsed, N_SEEDS);
  CHECK(tally.ran >= N_SEEDS - 1); /* the one with a symbol is not run */
}

/* The checker must detect a printer that does not print: it rejects what is not text, and counts the rejections. */
TEST(nonsense_is_refused) {
  static const char *const texts[] = {"",
                                      "graph",
                                      "graph {",
                                      "graph { }",
                                      "graph { output \"y\" = %1 }",
                                      "\xff\xfe",
                                      "graph { %x = input \"x\" : f32[2] }"};
  text_tally tally = {0};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) CHECK_OK(text_check(texts[i], strlen(texts[i]), &tally));
  CHECK_EQ_INT(tally.refused, sizeof texts / sizeof *texts);
}

/* The parser's stack is bounded: unlimited nesting is rejected without a crash. */
TEST(endless_nesting_is_refused) {
  static const char step[] = "graph { %a = region() {body=";
  enum { STEPS = 200000 };
  char *text = rlx_mem_alloc(STEPS * (sizeof step - 1));
  CHECK(text);
  for (size_t i = 0; i < STEPS; i++) memcpy(text + i * (sizeof step - 1), step, sizeof step - 1);
  text_tally tally = {0};
  rlx_status s = text_check(text, STEPS * (sizeof step - 1), &tally);
  rlx_free(text);
  CHECK_OK(s);
  CHECK_EQ_INT(tally.refused, 1);
}

/* ---- mutated texts ---- */

/* Prints the text that failed, so that it can become a case. */
static bool check_mutation(const char *text, size_t bytes, text_tally *tally) {
  if (text_check(text, bytes, tally) == RLX_OK) return true;
  printf("%.*s\n", (int)bytes, text);
  return false;
}

TEST(mutations_of_seeds) {
  static char text[CAP];
  char *seed[N_SEEDS];
  size_t bytes[N_SEEDS];
  uint64_t random = 1;
  text_tally tally = {0};
  for (size_t i = 0; i < N_SEEDS; i++) CHECK_OK(read_seed(i, &seed[i], &bytes[i]));
  for (unsigned round = 0; round < rounds(20000) && !test_has_failed(); round++) {
    size_t i = round % N_SEEDS, k = round / N_SEEDS % N_SEEDS;
    memcpy(text, seed[i], bytes[i]);
    size_t n = text_mutate(text, bytes[i], CAP, seed[k], bytes[k], &random);
    if (!check_mutation(text, n, &tally))
      test_report(TEST_FAILED, __FILE__, __LINE__, "round %u: %s", round, rlx_message());
  }
  for (size_t i = 0; i < N_SEEDS; i++) rlx_free(seed[i]);
  if (test_has_failed()) return;
  CHECK(tally.parsed > tally.refused / 100 && tally.refused > 0); /* some of both, otherwise the test shows little */
}

TEST(mutations_of_cases) {
  static char text[CAP];
  uint64_t random = 2;
  text_tally tally = {0};
  for (unsigned round = 0; round < rounds(40000); round++) {
    size_t n = text_random_case(text, CAP, &random);
    n = text_mutate(text, n, CAP, NULL, 0, &random);
    if (n && !check_mutation(text, n, &tally)) FAIL("round %u: %s", round, rlx_message());
  }
  printf("%u refused, %u parsed, %u optimised, %u ran\n", tally.refused, tally.parsed, tally.optimised, tally.ran);
  CHECK(tally.ran > tally.refused / 50 && tally.refused > 0);
}
