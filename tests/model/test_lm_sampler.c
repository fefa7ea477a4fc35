/* The host's sampler: what each setting leaves of a distribution, against the setting's own definition computed
 * plainly, and the draws of the op `sample`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "model/sampler.h"
#include "rlx/lm.h"
#include "test.h"

enum { VOCAB = 600, DRAWS = 4000 };

static float logits[VOCAB];

static uint32_t random_bits(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static void fill_logits(uint32_t seed, double width) {
  for (int i = 0; i < VOCAB; i++) logits[i] = (float)(width * (random_bits(&seed) % 1000) / 1000.0);
}

/* How often each token is drawn. */
static rlx_status count_draws(const rlx_lm_options *o, const int32_t *ids, size_t n_ids, unsigned draws,
                              unsigned *count) {
  float row[VOCAB];
  lm_sampler *s;
  rlx_status status = lm_sampler_check(o, VOCAB);
  if (!status) status = lm_sampler_create(o, NULL, VOCAB, &s);
  if (status) return status;
  memset(count, 0, VOCAB * sizeof *count);
  for (unsigned i = 0; i < draws && !status; i++) {
    int32_t id;
    memcpy(row, logits, sizeof row);
    status = lm_sampler_draw(s, row, ids, n_ids, i, &id);
    if (!status && id < 0) status = RLX_INVALID;
    if (!status) count[id]++;
  }
  lm_sampler_destroy(s);
  return status;
}

/* The probabilities at a temperature. */
static void probabilities(double temperature, double *p) {
  double max = -1e30, sum = 0;
  for (int i = 0; i < VOCAB; i++) max = fmax(max, (double)logits[i]);
  for (int i = 0; i < VOCAB; i++) sum += p[i] = exp(((double)logits[i] - max) / temperature);
  for (int i = 0; i < VOCAB; i++) p[i] /= sum;
}

/* Each count within five standard deviations of what p, over the tokens with keep, leads to expect. */
static void check_counts(const unsigned *count, unsigned draws, const double *p, const bool *keep) {
  double sum = 0;
  for (int i = 0; i < VOCAB; i++) sum += keep[i] ? p[i] : 0;
  for (int i = 0; i < VOCAB; i++) {
    double share = keep[i] ? p[i] / sum : 0, wanted = share * draws, spread = sqrt(draws * share * (1 - share));
    if (fabs(count[i] - wanted) > 5 * spread + 1e-9 + (keep[i] ? 3 : 0))
      FAIL("token %d: drawn %u times, expected %.1f", i, count[i], wanted);
  }
}

static unsigned count[VOCAB];
static double p[VOCAB];
static bool keep[VOCAB];

static void keep_all(void) {
  for (int i = 0; i < VOCAB; i++) keep[i] = true;
}

TEST(greedy_takes_the_first_of_the_largest) {
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT};
  fill_logits(1, 3);
  logits[77] = logits[300] = 9;
  CHECK_OK(count_draws(&o, NULL, 0, 3, count));
  CHECK(count[77] == 3);
}

TEST(a_temperature) {
  static const double temperatures[] = {0.5, 1, 2.5};
  for (int i = 0; i < 3 && !test_has_failed(); i++) {
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = temperatures[i]};
    fill_logits(2, 8);
    probabilities(temperatures[i], p);
    keep_all();
    CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
    check_counts(count, DRAWS, p, keep);
  }
}

/* The tokens that are likelier than token i. */
static double mass_above(int i) {
  double sum = 0;
  for (int k = 0; k < VOCAB; k++) sum += p[k] > p[i] || (p[k] >= p[i] && k < i) ? p[k] : 0;
  return sum;
}

static int rank_of(int i) {
  int n = 0;
  for (int k = 0; k < VOCAB; k++) n += p[k] > p[i] || (p[k] >= p[i] && k < i);
  return n;
}

TEST(top_k_top_p_min_p) {
  fill_logits(3, 6);
  probabilities(1, p);
  static const uint32_t ks[] = {1, 3, 300};
  for (int i = 0; i < 3 && !test_has_failed(); i++) {
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .top_k = ks[i]};
    for (int k = 0; k < VOCAB; k++) keep[k] = rank_of(k) < (int)ks[i];
    CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
    check_counts(count, DRAWS, p, keep);
  }
  static const double shares[] = {0.05, 0.5, 0.98};
  for (int i = 0; i < 3 && !test_has_failed(); i++) {
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .top_p = shares[i]};
    for (int k = 0; k < VOCAB; k++) keep[k] = mass_above(k) < shares[i];
    CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
    check_counts(count, DRAWS, p, keep);
    o = (rlx_lm_options){RLX_LM_OPTIONS_INIT, .temperature = 1, .min_p = shares[i]};
    double max = 0;
    for (int k = 0; k < VOCAB; k++) max = fmax(max, p[k]);
    for (int k = 0; k < VOCAB; k++) keep[k] = p[k] >= shares[i] * max;
    CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
    check_counts(count, DRAWS, p, keep);
  }
}

/* The op and the sampler draw the same tokens from the same logits. */
TEST(the_same_tokens_as_the_op) {
  static const rlx_lm_options settings[] = {
    {RLX_LM_OPTIONS_INIT, .temperature = 1},
    {RLX_LM_OPTIONS_INIT, .temperature = 0.7, .top_k = 40, .top_p = 0.9},
    {RLX_LM_OPTIONS_INIT, .temperature = 1.5, .min_p = 0.05},
    {RLX_LM_OPTIONS_INIT, .temperature = 3, .top_p = 0.999},
  };
  rlx_session *session = NULL;
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  rlx_session_desc sd = {RLX_SESSION_DESC_INIT, .device = "cpu"};
  CHECK_OK(rlx_graph_create(&g));
  rlx_op_sample_desc how = {RLX_OP_SAMPLE_DESC_INIT, .draw = rlx_op_input(g, "d", RLX_I32, RLX_SCALAR),
                            .settings = rlx_op_input(g, "s", RLX_F32, RLX_DIMS(4))};
  rlx_graph_add_output(g, "y", rlx_op_sample(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1, VOCAB)), 1, &how));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_session_create(&sd, &session));
  CHECK_OK(rlx_compile(session, g, NULL, &e));
  for (uint32_t i = 0; i < 400; i++) {
    const rlx_lm_options *o = &settings[i % 4];
    float row[VOCAB],
      v[4] = {(float)o->temperature, (float)o->top_k, o->top_p > 0 ? (float)o->top_p : 1, (float)o->min_p};
    int32_t of_op, own, draw = (int32_t)(i * 77);
    rlx_lm_options rounded = *o; /* the op's settings are f32 */
    rounded.temperature = (double)v[0], rounded.top_p = (double)v[2], rounded.min_p = (double)v[3];
    fill_logits(i, 1 + i % 17);
    memcpy(row, logits, sizeof row);
    rlx_named_tensor in[] = {{"x", {RLX_F32, RLX_DIMS(1, VOCAB), {logits}, sizeof logits}},
                             {"d", {RLX_I32, RLX_SCALAR, {&draw}, sizeof draw}},
                             {"s", {RLX_F32, RLX_DIMS(4), {v}, sizeof v}}},
                     out = {"y", {.data = &of_op, .bytes = sizeof of_op}};
    CHECK_OK(rlx_run(e, in, 3, &out, 1));
    lm_sampler *s;
    CHECK_OK(lm_sampler_create(&rounded, NULL, VOCAB, &s));
    CHECK_OK(lm_sampler_draw(s, row, NULL, 0, (uint64_t)draw, &own));
    lm_sampler_destroy(s);
    if (own != of_op) FAIL("draw %u: %d, the op's is %d", (unsigned)i, (int)own, (int)of_op);
  }
  rlx_executable_destroy(e);
  rlx_session_destroy(session);
  rlx_graph_destroy(g);
}

TEST(penalties) {
  const int32_t ids[] = {5, 9, 5, 5, 30};
  static const int32_t seen[] = {5, 9, 30};
  static const int times[] = {3, 1, 1};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .frequency_penalty = 0.5, .presence_penalty = 0.25,
                      .repetition_penalty = 1.5};
  fill_logits(4, 2);
  logits[9] = -1;
  CHECK_OK(count_draws(&o, ids, 5, DRAWS, count));
  for (int i = 0; i < 3; i++) {
    float *x = &logits[seen[i]];
    *x = *x < 0 ? *x * 1.5f : *x / 1.5f;
    *x -= 0.5f * (float)times[i] + 0.25f;
  }
  probabilities(1, p);
  keep_all();
  check_counts(count, DRAWS, p, keep);
  /* Over the last two tokens alone. */
  fill_logits(4, 2);
  o.penalty_tokens = 2;
  o.frequency_penalty = 0;
  o.presence_penalty = 1;
  o.repetition_penalty = 0;
  CHECK_OK(count_draws(&o, ids, 5, DRAWS, count));
  logits[5] -= 1, logits[30] -= 1;
  probabilities(1, p);
  check_counts(count, DRAWS, p, keep);
}

TEST(biases) {
  const rlx_lm_bias biases[] = {{7, -INFINITY}, {8, 3}, {8, 1}};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .biases = biases, .n_biases = 3};
  fill_logits(5, 4);
  CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
  logits[8] += 4;
  probabilities(1, p);
  keep_all();
  keep[7] = false;
  check_counts(count, DRAWS, p, keep);
}

TEST(everything_forbidden) {
  rlx_lm_bias all[VOCAB];
  lm_sampler *s;
  int32_t id = 3;
  for (int i = 0; i < VOCAB; i++) all[i] = (rlx_lm_bias){i, -INFINITY};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .biases = all, .n_biases = VOCAB};
  fill_logits(6, 1);
  CHECK_OK(lm_sampler_create(&o, NULL, VOCAB, &s));
  CHECK_OK(lm_sampler_draw(s, logits, NULL, 0, 1, &id));
  CHECK(id == -1);
  lm_sampler_destroy(s);
}

/* ids end with 1 2 3, as twice before: followed by 4 (three tokens repeat) and by 6 (after 2 3 alone). */
TEST(dry) {
  const int32_t ids[] = {1, 2, 3, 4, 9, 2, 3, 6, 8, 1, 2, 3};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .dry_multiplier = 0.8, .dry_base = 1.5};
  fill_logits(7, 1);
  logits[4] = logits[6] = 4;
  CHECK_OK(count_draws(&o, ids, 12, DRAWS, count));
  logits[4] -= (float)(0.8 * 1.5), logits[6] -= 0.8f;
  probabilities(1, p);
  keep_all();
  check_counts(count, DRAWS, p, keep);
  /* Only repetitions of three tokens; and within the last eight tokens there is none. */
  fill_logits(7, 1);
  logits[4] = logits[6] = 4;
  o.dry_allowed_length = 3;
  CHECK_OK(count_draws(&o, ids, 12, DRAWS, count));
  logits[4] -= 0.8f;
  probabilities(1, p);
  check_counts(count, DRAWS, p, keep);
  logits[4] += 0.8f;
  o.dry_penalty_tokens = 8;
  CHECK_OK(count_draws(&o, ids, 12, DRAWS, count));
  probabilities(1, p);
  check_counts(count, DRAWS, p, keep);
}

/* The Z function against counting. */
TEST(dry_of_random_texts) {
  for (uint32_t seed = 0; seed < 200; seed++) {
    int32_t ids[40];
    uint32_t state = seed, n = 2 + seed % 39;
    float row[VOCAB], want[VOCAB];
    lm_sampler *s;
    int32_t id;
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .dry_multiplier = 1, .dry_base = 1.25, .dry_allowed_length = 1};
    for (uint32_t i = 0; i < n; i++) ids[i] = (int32_t)(random_bits(&state) % 3);
    fill_logits(seed, 2);
    memcpy(row, logits, sizeof row);
    memcpy(want, logits, sizeof want);
    size_t longest[3] = {0};
    for (uint32_t at = 1; at < n; at++) { /* an earlier end of the same tokens, before token `at` */
      size_t k = 0;
      while (k < at && ids[at - 1 - k] == ids[n - 1 - k]) k++;
      if (k > longest[ids[at]]) longest[ids[at]] = k;
    }
    for (int t = 0; t < 3; t++)
      if (longest[t]) want[t] -= (float)pow(1.25, (double)longest[t] - 1);
    CHECK_OK(lm_sampler_create(&o, NULL, VOCAB, &s));
    CHECK_OK(lm_sampler_draw(s, row, ids, n, 0, &id));
    lm_sampler_destroy(s);
    CHECK(memcmp(row, want, sizeof row) == 0);
  }
}

TEST(typical) {
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .typical_p = 0.4};
  fill_logits(8, 7);
  probabilities(1, p);
  double entropy = 0;
  for (int i = 0; i < VOCAB; i++) entropy -= p[i] * log(p[i]);
  for (int i = 0; i < VOCAB; i++) {
    double nearer = 0, own = fabs(-log(p[i]) - entropy);
    for (int k = 0; k < VOCAB; k++) {
      double other = fabs(-log(p[k]) - entropy);
      nearer += other < own || (other <= own && k < i) ? p[k] : 0;
    }
    keep[i] = nearer < 0.4;
  }
  CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
  check_counts(count, DRAWS, p, keep);
}

TEST(top_n_sigma) {
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 2, .top_n_sigma = 1};
  fill_logits(9, 5);
  double mean = 0, squares = 0, max = 0;
  for (int i = 0; i < VOCAB; i++) mean += (double)logits[i] / VOCAB, max = fmax(max, (double)logits[i]);
  for (int i = 0; i < VOCAB; i++) squares += ((double)logits[i] - mean) * ((double)logits[i] - mean) / VOCAB;
  for (int i = 0; i < VOCAB; i++) keep[i] = (double)logits[i] >= max - sqrt(squares);
  probabilities(2, p);
  CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
  check_counts(count, DRAWS, p, keep);
}

/* Of the tokens above the threshold only the least is left. */
TEST(xtc) {
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .xtc_probability = 1, .xtc_threshold = 0.1};
  fill_logits(10, 1);
  logits[3] = 9, logits[4] = 8.5f, logits[5] = 8;
  probabilities(1, p);
  CHECK(p[3] > 0.1 && p[4] > 0.1 && p[5] > 0.1);
  keep_all();
  keep[3] = keep[4] = false;
  CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
  check_counts(count, DRAWS, p, keep);
  o.xtc_probability = 0.5;
  CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
  CHECK(count[3] > DRAWS * p[3] * 0.4 && count[3] < DRAWS * p[3] * 0.6);
}

TEST(a_temperature_that_follows_the_entropy) {
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .dynatemp_range = 0.5};
  fill_logits(11, 6);
  probabilities(1, p);
  double entropy = 0;
  for (int i = 0; i < VOCAB; i++) entropy -= p[i] * log(p[i]);
  probabilities(0.5 + entropy / log(VOCAB), p);
  keep_all();
  CHECK_OK(count_draws(&o, NULL, 0, DRAWS, count));
  check_counts(count, DRAWS, p, keep);
}

/* Once it has adapted, what is drawn has about the wanted surprise on average: the entropy of the
 * draws, which is somewhat more, as the set that is drawn from varies. Without it, it is above 8. */
TEST(mirostat) {
  static const double taus[] = {2, 5};
  for (int k = 0; k < 2; k++) {
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .mirostat_tau = taus[k]};
    lm_sampler *s;
    double entropy = 0;
    memset(count, 0, sizeof count);
    CHECK_OK(lm_sampler_create(&o, NULL, VOCAB, &s));
    for (uint32_t i = 0; i < 2 * DRAWS; i++) {
      int32_t id;
      fill_logits(12, 6);
      CHECK_OK(lm_sampler_draw(s, logits, NULL, 0, i, &id));
      count[id] += i >= DRAWS;
    }
    lm_sampler_destroy(s);
    for (int i = 0; i < VOCAB; i++)
      if (count[i]) entropy -= (double)count[i] / DRAWS * log2((double)count[i] / DRAWS);
    if (entropy < 0.9 * taus[k] || entropy > 1.6 * taus[k]) FAIL("tau %g: an entropy of %g", taus[k], entropy);
  }
}

TEST(logits_that_are_not_finite) {
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1};
  static const float bad[] = {NAN, INFINITY};
  for (int i = 0; i < 2; i++) {
    lm_sampler *s;
    int32_t id = 5;
    fill_logits(13, 1);
    logits[50] = bad[i];
    CHECK_OK(lm_sampler_create(&o, NULL, VOCAB, &s));
    CHECK_OK(lm_sampler_draw(s, logits, NULL, 0, 0, &id));
    CHECK(id == -1);
    lm_sampler_destroy(s);
  }
}

TEST(settings_out_of_range) {
  const rlx_lm_bias past = {VOCAB, 1}, wrong = {1, NAN};
  const char *const empty[] = {""};
  rlx_lm_setting row = {RLX_LM_SETTING_INIT};
  CHECK_FAILS(lm_sampler_check(&(rlx_lm_options){.frequency_penalty = 3}, VOCAB), RLX_INVALID,
              "frequency_penalty is 3");
  CHECK_FAILS(lm_sampler_check(&(rlx_lm_options){.typical_p = -0.5}, VOCAB), RLX_INVALID, "typical_p is -0.5");
  CHECK_FAILS(lm_sampler_check(&(rlx_lm_options){.mirostat_tau = (double)NAN}, VOCAB), RLX_INVALID, "mirostat_tau is");
  CHECK_FAILS(lm_sampler_check(&(rlx_lm_options){.biases = &past, .n_biases = 1}, VOCAB), RLX_INVALID, "token 600");
  CHECK_FAILS(lm_sampler_check(&(rlx_lm_options){.biases = &wrong, .n_biases = 1}, VOCAB), RLX_INVALID, "bias 0 is");
  CHECK_FAILS(lm_sampler_check(&(rlx_lm_options){.n_biases = 1}, VOCAB), RLX_INVALID, "biases are NULL");
  CHECK_FAILS(lm_sampler_check(&(rlx_lm_options){.banned = empty, .n_banned = 1}, VOCAB), RLX_INVALID,
              "text 0 is empty");
  for (uint32_t i = 0; i < rlx_lm_setting_count(); i++) {
    CHECK_OK(rlx_lm_setting_at(i, &row));
    CHECK(row.name[0] && row.doc[0] && row.min < row.max);
  }
}

static rlx_status make_and_draw(void *user) {
  const rlx_lm_bias bias = {3, 1};
  const int32_t ids[] = {1, 2, 1, 2};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .temperature = 1, .typical_p = 0.5,
                      .dry_multiplier = 1, .biases = &bias,  .n_biases = 1};
  lm_sampler *s;
  int32_t id;
  (void)user;
  fill_logits(14, 2);
  rlx_status status = lm_sampler_create(&o, NULL, VOCAB, &s);
  if (status) return status;
  status = lm_sampler_draw(s, logits, ids, 4, 0, &id);
  lm_sampler_destroy(s);
  return status;
}

TEST(failing_allocations) { CHECK_OK(alloc_sweep(make_and_draw, NULL)); }
