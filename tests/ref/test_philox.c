/* Philox against the authors' known answers, and the random ops built on it: the draw numbers they use, the
 * distribution of their values, which tokens may be sampled. */
#include "base/philox.h"

#include <math.h>

#include "rules.h"
#include "test.h"

TEST(philox_known_answers) {
  static const struct {
    rlx_philox_words counter;
    uint32_t key[2];
    rlx_philox_words want;
  } known[] = {
    {{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{~0u, ~0u, ~0u, ~0u}}, {~0u, ~0u}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     {0xa4093822, 0x299f31d0},
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    rlx_philox_words got = rlx_philox_block(known[i].counter, known[i].key[0], known[i].key[1]);
    CHECK(memcmp(&got, &known[i].want, sizeof got) == 0);
  }
}

TEST(philox_takes_low_words_first) {
  rlx_philox_words got = rlx_philox(0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu);
  CHECK_EQ_INT(got.v[0], 0xd16cfe09);
  CHECK(rlx_philox_unit(0) == 0 && rlx_philox_unit(~0u) == 1 - 0x1p-24 && rlx_philox_unit(0xff) == 0);
}

TEST(each_run_draws_anew_and_each_evaluator_begins_alike) {
  rlx_graph *g;
  CHECK_OK(expr_graph("", "rng_uniform() {shape=[64], seed=3}", &g));
  rlx_evaluator *e[2];
  float drawn[2][2][64]; /* by evaluator and run */
  for (int i = 0; i < 2; i++) {
    CHECK_OK(rlx_evaluator_create(g, &e[i]));
    for (int run = 0; run < 2; run++) {
      rlx_tensor y;
      CHECK_OK(rlx_evaluator_run(e[i]));
      CHECK_OK(rlx_evaluator_get(e[i], "y", &y));
      CHECK_EQ_INT(y.bytes, sizeof drawn[i][run]);
      memcpy(drawn[i][run], y.data, sizeof drawn[i][run]);
    }
    rlx_evaluator_destroy(e[i]);
  }
  rlx_graph_destroy(g);
  CHECK(memcmp(drawn[0][0], drawn[0][1], sizeof drawn[0][0]) != 0);
  CHECK(memcmp(drawn[0], drawn[1], sizeof drawn[0]) == 0);
  for (int run = 0; run < 2; run++)
    CHECK_EQ_INT(rlx_philox(3, 5, (uint64_t)run).v[0] >> 8, (long long)(drawn[0][run][5] * 0x1p24f));
}

TEST(numbers_are_spread_as_they_should) {
  enum { N = 20000 };
  rlx_tensor y;
  CHECK_OK(expr_run("", "rng_normal() {shape=[20000], seed=9, mean=3, std=2, to=f64}", &y));
  double sum = 0, square = 0;
  for (size_t i = 0; i < N; i++) sum += ((double *)y.data)[i];
  for (size_t i = 0; i < N; i++) square += pow(((double *)y.data)[i] - sum / N, 2);
  CHECK(fabs(sum / N - 3) < 0.06 && fabs(sqrt(square / N) - 2) < 0.05);
  rlx_tensor_deinit(&y);
  CHECK_OK(expr_run("", "rng_uniform() {shape=[20000], seed=9, lo=-1, hi=3}", &y));
  sum = 0;
  for (size_t i = 0; i < N; i++) {
    float x = ((float *)y.data)[i];
    CHECK(x >= -1 && x < 3);
    sum += (double)x;
  }
  CHECK(fabs(sum / N - 1) < 0.03);
  rlx_tensor_deinit(&y);
}

/* How often each of the four tokens with logits log 1 .. log 4 is sampled in 8,000 rows. */
static rlx_status count_tokens(const char *attrs, unsigned count[4]) {
  char expr[256];
  snprintf(expr, sizeof expr,
           "%%x = constant : f32[4] = [0,0.6931471805599453,1.0986122886681098,1.3862943611198906]; "
           "%%r = expand(%%x) {shape=[8000,4]}; sample(%%r) {%s}",
           attrs);
  rlx_tensor y;
  memset(count, 0, 4 * sizeof *count);
  rlx_status s = expr_run("", expr, &y);
  for (size_t i = 0; !s && i < 8000; i++) count[((int32_t *)y.data)[i] & 3]++;
  rlx_tensor_deinit(&y);
  return s;
}

static bool is_near(unsigned n, double share) { return fabs(n / 8000.0 - share) < 0.02; }

TEST(tokens_come_up_as_often_as_they_should) {
  unsigned n[4];
  CHECK_OK(count_tokens("seed=1", n));
  CHECK(is_near(n[0], 0.1) && is_near(n[1], 0.2) && is_near(n[2], 0.3) && is_near(n[3], 0.4));
  CHECK_OK(count_tokens("seed=1, temperature=0.5", n)); /* weights 1, 4, 9, 16 */
  CHECK(is_near(n[0], 1 / 30.0) && is_near(n[1], 4 / 30.0) && is_near(n[2], 9 / 30.0) && is_near(n[3], 16 / 30.0));
  CHECK_OK(count_tokens("seed=1, top_k=2", n));
  CHECK(n[0] == 0 && n[1] == 0 && is_near(n[2], 3 / 7.0) && is_near(n[3], 4 / 7.0));
  CHECK_OK(count_tokens("seed=1, top_p=0.69", n)); /* 0.4 + 0.3 reaches it */
  CHECK(n[0] == 0 && n[1] == 0 && is_near(n[2], 3 / 7.0) && is_near(n[3], 4 / 7.0));
  CHECK_OK(count_tokens("seed=1, min_p=0.3", n)); /* 0.1 is below 0.3 x 0.4 */
  CHECK(n[0] == 0 && is_near(n[1], 2 / 9.0) && is_near(n[2], 3 / 9.0) && is_near(n[3], 4 / 9.0));
  CHECK_OK(count_tokens("temperature=0", n));
  CHECK_EQ_INT(n[3], 8000);
}
