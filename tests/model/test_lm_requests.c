/* Requests: texts that join and leave between steps are those that each would be alone, whatever runs beside them,
 * however little memory there is, and wherever their prompts' beginnings come from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "rlx/experimental.h"
#include "rlx/lm.h"
#include "test.h"

static const char *const families[] = {"llama",  "qwen2", "qwen3",   "qwen3moe", "mixtral",    "gemma2",
                                       "gemma3", "gpt2",  "gpt_oss", "cohere2",  "ministral3", "phi3_long"};
enum { N_FAMILIES = sizeof families / sizeof *families, MAX_TOKENS = 160, MAX_REQUESTS = 40 };

static rlx_status load(const char *family, const char *device, uint32_t n_sequences, uint32_t context, rlx_lm **out) {
  char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s", RLX_TEST_DATA, family);
  rlx_lm_desc d = {RLX_LM_DESC_INIT,           .path = path,       .device = device,
                   .n_sequences = n_sequences, .context = context, .cache_type = RLX_LM_CACHE_F32};
  return rlx_lm_load(&d, out);
}

/* ---- a listener ---- */

typedef struct heard {
  rlx_lm *lm;
  int32_t ids[MAX_TOKENS];
  size_t n;
  char ended[16];
  rlx_lm_stats stats;
  uint64_t number;
  size_t cancel_after;   /* tokens; 0: never */
  struct heard *submits; /* once: another request, from inside the callback */
  float logprob;
  rlx_status status;
} heard;

static rlx_status submit(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *o, heard *to);

static void hear(void *user, const rlx_lm_event *e) {
  heard *h = user;
  if (e->request != h->number) snprintf(h->ended, sizeof h->ended, "confused");
  if (e->id >= 0 && h->n < MAX_TOKENS) h->ids[h->n++] = e->id;
  h->logprob = e->logprob;
  if (e->ended) {
    snprintf(h->ended, sizeof h->ended, "%s", e->ended);
    h->stats = *e->stats;
    h->status = e->status;
  }
  if (h->submits && !e->ended) {
    heard *other = h->submits;
    h->submits = NULL;
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 5, .ignore_end = true};
    if (submit(h->lm, h->ids, h->n, &o, other)) snprintf(other->ended, sizeof other->ended, "refused");
  }
  if (h->cancel_after && h->n == h->cancel_after && !e->ended && rlx_lm_cancel(h->lm, h->number))
    snprintf(h->ended, sizeof h->ended, "refused");
}

static rlx_status submit(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *o, heard *to) {
  to->lm = lm;
  rlx_lm_request r = {RLX_LM_REQUEST_INIT, .ids = ids, .n = n, .options = o, .fn = hear, .user = to};
  return rlx_lm_submit(lm, &r, &to->number);
}

static rlx_status run_all(rlx_lm *lm, uint32_t *steps) {
  uint32_t left = 1;
  rlx_status s = RLX_OK;
  for (*steps = 0; left && !s; (*steps)++) s = rlx_lm_step(lm, &left);
  return s;
}

/* ---- the same alone ---- */

static bool keep(void *user, int32_t id) {
  heard *h = user;
  if (h->n < MAX_TOKENS) h->ids[h->n++] = id;
  return true;
}

static rlx_status alone(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *o, heard *to) {
  rlx_status s = rlx_lm_truncate(lm, 0, 0);
  return s ? s : rlx_lm_generate_ids(lm, ids, n, o, keep, to, NULL);
}

typedef struct plan {
  size_t n;
  int32_t ids[MAX_REQUESTS][MAX_TOKENS];
  size_t n_ids[MAX_REQUESTS];
  rlx_lm_options options[MAX_REQUESTS];
  heard want[MAX_REQUESTS], got[MAX_REQUESTS];
} plan;

static plan *p;

static bool begin_plan(size_t n) {
  p = calloc(1, sizeof *p);
  if (p) p->n = n;
  return p != NULL;
}

static void end_plan(void) { free(p); }

static uint32_t draw_number(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Prompts of 1 to `longest` tokens; every third begins as the one before it. */
static void fill_plan(uint32_t n_vocab, uint32_t longest, uint32_t tokens, uint32_t seed) {
  for (size_t i = 0; i < p->n; i++) {
    p->n_ids[i] = 1 + draw_number(&seed) % longest;
    for (size_t k = 0; k < p->n_ids[i]; k++) p->ids[i][k] = (int32_t)(draw_number(&seed) % n_vocab);
    if (i % 3 == 2)
      for (size_t k = 0; k < p->n_ids[i] && k < p->n_ids[i - 1]; k++) p->ids[i][k] = p->ids[i - 1][k];
    p->options[i] =
      (rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = 1 + draw_number(&seed) % tokens, .ignore_end = true};
  }
}

static rlx_status run_plan(rlx_lm *lm, uint32_t *steps) {
  for (size_t i = 0; i < p->n; i++) {
    p->want[i].n = p->got[i].n = 0;
    rlx_status s = alone(lm, p->ids[i], p->n_ids[i], &p->options[i], &p->want[i]);
    if (s) return s;
  }
  for (size_t i = 0; i < p->n; i++) {
    rlx_status s = submit(lm, p->ids[i], p->n_ids[i], &p->options[i], &p->got[i]);
    if (s) return s;
  }
  return run_all(lm, steps);
}

static void check_plan(void) {
  for (size_t i = 0; i < p->n; i++) {
    if (p->want[i].n != p->got[i].n || memcmp(p->want[i].ids, p->got[i].ids, p->got[i].n * sizeof(int32_t)) != 0)
      FAIL("request %zu of %zu prompt tokens: %zu tokens that are not the %zu of it alone", i, p->n_ids[i], p->got[i].n,
           p->want[i].n);
    CHECK_EQ_STR(p->got[i].ended, "length");
    CHECK(p->got[i].stats.n_tokens == p->got[i].n);
    CHECK(p->got[i].stats.n_prompt_tokens + p->got[i].stats.n_held == p->n_ids[i]);
  }
}

static void check_family(const char *family, const char *device, uint32_t n_sequences, uint32_t context, size_t n) {
  rlx_lm *lm = NULL;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  uint32_t steps;
  CHECK(begin_plan(n));
  CHECK_OK(load(family, device, n_sequences, context, &lm));
  CHECK_OK(rlx_lm_describe(lm, &info));
  fill_plan(info.n_vocabulary, context / 2, context / 2 < 20 ? context / 2 : 20, 7 * (uint32_t)n + n_sequences);
  CHECK_OK(run_plan(lm, &steps));
  check_plan();
  rlx_lm_destroy(lm);
  end_plan();
}

TEST(each_as_if_it_were_alone) {
  for (size_t f = 0; f < N_FAMILIES && !test_has_failed(); f++) check_family(families[f], "cpu", 3, 128, 9);
}

TEST(with_any_number_of_sequences) {
  static const uint32_t counts[] = {1, 2, 7, 16};
  for (size_t i = 0; i < 4 && !test_has_failed(); i++) check_family("llama", "cpu", counts[i], 96, 20);
}

/* Pages of 64, 32, 4 and 1 tokens. */
TEST(with_any_context) {
  static const uint32_t contexts[] = {192, 96, 68, 77};
  for (size_t i = 0; i < 4 && !test_has_failed(); i++) check_family("qwen3", "cpu", 3, contexts[i], 8);
}

static void check_on(const char *device, const char *family, uint32_t n_sequences, uint32_t context, size_t n) {
  rlx_session *session = NULL;
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = device};
  if (rlx_session_create(&d, &session)) SKIP(rlx_message());
  check_family(family, device, n_sequences, context, n);
  rlx_session_destroy(session);
}
TEST(on_an_emulated_gpu) { check_on("emu", "llama", 2, 64, 4); }
TEST(on_vulkan) { check_on("vulkan", "gemma3", 3, 128, 6); }
TEST(on_cuda) { check_on("cuda", "llama", 3, 128, 6); }

/* ---- pages ---- */

/* All requests together need more pages than there are: some are sent back, and lose nothing. */
TEST(with_too_little_memory_for_all) {
  rlx_lm *lm = NULL;
  uint32_t steps;
  CHECK(begin_plan(6));
  CHECK_OK(load("llama", "cpu", 4, 128, &lm));
  for (size_t i = 0; i < p->n; i++) {
    p->n_ids[i] = 3 + i;
    for (size_t k = 0; k < p->n_ids[i]; k++) p->ids[i][k] = (int32_t)(1 + i * 7 + k);
    p->options[i] = (rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = 118, .ignore_end = true};
  }
  CHECK_OK(run_plan(lm, &steps));
  check_plan();
  rlx_lm_destroy(lm);
  end_plan();
}

TEST(a_beginning_is_computed_once) {
  rlx_lm *lm = NULL;
  heard first = {0}, again = {0}, other = {0}, want = {0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 4, .ignore_end = true};
  int32_t ids[100];
  uint32_t steps, steps_again;
  for (int i = 0; i < 100; i++) ids[i] = 1 + i % 50;
  CHECK_OK(load("llama", "cpu", 2, 128, &lm));
  CHECK_OK(alone(lm, ids, 100, &o, &want));
  CHECK_OK(submit(lm, ids, 100, &o, &first));
  CHECK_OK(run_all(lm, &steps));
  CHECK(first.stats.n_held == 0 && first.stats.n_prompt_tokens == 100);
  CHECK_OK(submit(lm, ids, 100, &o, &again));
  CHECK_OK(run_all(lm, &steps_again));
  CHECK(again.stats.n_held == 99 && again.stats.n_prompt_tokens == 1 && steps_again <= steps);
  CHECK(again.n == 4 && memcmp(again.ids, want.ids, sizeof *ids * 4) == 0);
  /* Another model of the same text, once a sequence has written to the states: nothing is held. */
  CHECK_OK(rlx_lm_append(lm, 0, ids, 3, false, NULL));
  CHECK_OK(submit(lm, ids, 100, &o, &other));
  CHECK_OK(run_all(lm, &steps));
  CHECK(other.stats.n_held == 0 && memcmp(other.ids, want.ids, sizeof *ids * 4) == 0);
  rlx_lm_destroy(lm);
}

/* What prompts have in common ends in the middle of a page: its rows are copied. */
TEST(a_part_of_a_page_is_computed_once) {
  static const size_t common[] = {90, 75, 64, 40, 8, 7};
  rlx_lm *lm = NULL;
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 6, .ignore_end = true};
  int32_t ids[6][100];
  heard want[6] = {{0}}, got[6] = {{0}}, first = {0};
  uint32_t steps;
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 100; k++) ids[i][k] = 1 + (k + ((size_t)k >= common[i] ? 3 * i + 5 : 0)) % 50;
  CHECK_OK(load("qwen3", "cpu", 2, 128, &lm));
  for (int i = 0; i < 6; i++) CHECK_OK(alone(lm, ids[i], 100, &o, &want[i]));
  int32_t whole[100];
  for (int k = 0; k < 100; k++) whole[k] = 1 + k % 50;
  CHECK_OK(submit(lm, whole, 100, &o, &first));
  CHECK_OK(run_all(lm, &steps));
  for (int i = 0; i < 6; i++) {
    CHECK_OK(submit(lm, ids[i], 100, &o, &got[i]));
    CHECK_OK(run_all(lm, &steps));
    CHECK_EQ_INT(got[i].stats.n_held, common[i] < 8 ? 0 : common[i]);
    CHECK(got[i].n == 6 && memcmp(got[i].ids, want[i].ids, 6 * sizeof(int32_t)) == 0);
  }
  rlx_lm_destroy(lm);
}

/* 30 different prompts pass through pages for 4: the oldest go. */
TEST(old_pages_go_first) {
  rlx_lm *lm = NULL;
  uint32_t steps;
  CHECK(begin_plan(30));
  CHECK_OK(load("llama", "cpu", 2, 128, &lm));
  for (size_t i = 0; i < p->n; i++) {
    p->n_ids[i] = 70 + i % 5;
    for (size_t k = 0; k < p->n_ids[i]; k++) p->ids[i][k] = (int32_t)(1 + (i * 31 + k * k) % 60);
    p->options[i] = (rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = 3, .ignore_end = true};
  }
  CHECK_OK(run_plan(lm, &steps));
  check_plan();
  rlx_lm_destroy(lm);
  end_plan();
}

/* ---- joining, leaving ---- */

TEST(cancelled_and_submitted_from_inside) {
  rlx_lm *lm = NULL;
  heard a = {.cancel_after = 3}, b = {0}, c = {0}, want = {0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 10, .ignore_end = true};
  const int32_t ids[] = {1, 5, 9};
  uint32_t steps;
  b.submits = &c;
  CHECK_OK(load("qwen3", "cpu", 2, 64, &lm));
  CHECK_OK(alone(lm, ids, 3, &o, &want));
  CHECK_OK(submit(lm, ids, 3, &o, &a));
  CHECK_OK(submit(lm, ids, 3, &o, &b));
  CHECK_OK(run_all(lm, &steps));
  CHECK_EQ_STR(a.ended, "cancelled");
  CHECK_EQ_STR(b.ended, "length");
  CHECK_EQ_STR(c.ended, "length");
  CHECK(a.n == 3 && b.n == 10 && c.n == 5 && memcmp(b.ids, want.ids, sizeof(int32_t) * 10) == 0);
  CHECK_FAILS(rlx_lm_cancel(lm, a.number), RLX_NOT_FOUND, "runs no more");
  rlx_lm_destroy(lm);
}

TEST(cancelled_while_it_waits) {
  rlx_lm *lm = NULL;
  heard a = {0}, b = {0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 4, .ignore_end = true};
  const int32_t ids[] = {1, 5, 9};
  uint32_t steps, left;
  CHECK_OK(load("llama", "cpu", 1, 64, &lm));
  CHECK_OK(submit(lm, ids, 3, &o, &a));
  CHECK_OK(submit(lm, ids, 3, &o, &b));
  CHECK_OK(rlx_lm_step(lm, &left));
  CHECK(left == 2 && a.n == 1 && b.n == 0);
  CHECK_OK(rlx_lm_cancel(lm, b.number));
  CHECK_EQ_STR(b.ended, "cancelled");
  CHECK_OK(run_all(lm, &steps));
  CHECK(a.n == 4 && b.n == 0);
  rlx_lm_destroy(lm);
}

TEST(destroyed_with_requests) {
  rlx_lm *lm = NULL;
  heard a = {0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 4};
  const int32_t ids[] = {1, 5, 9};
  uint32_t left;
  CHECK_OK(load("llama", "cpu", 2, 64, &lm));
  CHECK_OK(submit(lm, ids, 3, &o, &a));
  CHECK_OK(rlx_lm_step(lm, &left));
  rlx_lm_destroy(lm);
  CHECK(!a.ended[0]);
}

TEST(the_sequences_belong_to_requests) {
  rlx_lm *lm = NULL;
  heard a = {0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 2, .ignore_end = true};
  const int32_t ids[] = {1, 5, 9};
  uint32_t steps;
  CHECK_OK(load("llama", "cpu", 2, 64, &lm));
  CHECK_OK(rlx_lm_append(lm, 0, ids, 3, false, NULL));
  CHECK_OK(submit(lm, ids, 3, &o, &a));
  CHECK(rlx_lm_length(lm, 0) == 0);
  CHECK_FAILS(rlx_lm_append(lm, 0, ids, 3, false, NULL), RLX_BUSY, "belong to 1 requests");
  CHECK_FAILS(rlx_lm_generate_ids(lm, ids, 3, &o, keep, &a, NULL), RLX_BUSY, "belong to 1 requests");
  CHECK_OK(run_all(lm, &steps));
  CHECK_OK(rlx_lm_append(lm, 0, ids, 3, false, NULL));
  rlx_lm_destroy(lm);
}

/* ---- what is drawn ---- */

TEST(settings_of_their_own) {
  rlx_lm *lm = NULL;
  uint32_t steps;
  CHECK(begin_plan(12));
  CHECK_OK(load("llama", "cpu", 4, 128, &lm));
  fill_plan(60, 40, 30, 11);
  for (size_t i = 0; i < p->n; i++) {
    rlx_lm_options *o = &p->options[i];
    o->seed = i;
    o->temperature = i % 4 ? 0.5 * (double)(i % 4) : 0;
    o->top_k = i % 3 ? (uint32_t)(5 * i) : 0;
    o->top_p = i % 2 ? 0.9 : 0;
    o->min_p = i % 5 == 1 ? 0.02 : 0;
    o->repetition_penalty = i % 6 == 5 ? 1.2 : 0;
    o->penalty_tokens = i % 12 == 5 ? 9 : 0;
  }
  CHECK_OK(run_plan(lm, &steps));
  check_plan();
  rlx_lm_destroy(lm);
  end_plan();
}

/* The logprobs of an event are those of rlx_lm_append's logits. */
TEST(logprobs) {
  rlx_lm *lm = NULL;
  heard h = {0};
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 1, .ignore_end = true};
  const int32_t ids[] = {1, 5, 9};
  uint32_t steps;
  CHECK_OK(load("llama", "cpu", 2, 64, &lm));
  CHECK_OK(rlx_lm_describe(lm, &info));
  float *logits = malloc(info.n_vocabulary * sizeof *logits);
  CHECK_OK(rlx_lm_append(lm, 0, ids, 3, false, logits));
  double sum = 0;
  for (uint32_t i = 0; i < info.n_vocabulary; i++) sum += exp((double)logits[i]);
  h.lm = lm;
  rlx_lm_request r = {RLX_LM_REQUEST_INIT, .ids = ids, .n = 3, .options = &o, .fn = hear, .user = &h, .logprobs = 1};
  CHECK_OK(rlx_lm_submit(lm, &r, &h.number));
  CHECK_OK(run_all(lm, &steps));
  CHECK(h.n == 1 && fabs((double)h.logprob - (double)logits[h.ids[0]] + log(sum)) < 1e-4);
  free(logits);
  rlx_lm_destroy(lm);
}

/* ---- what is refused, and failures ---- */

TEST(requests_that_make_no_sense) {
  rlx_lm *lm = NULL;
  const int32_t ids[] = {1, 5, 9}, wrong[] = {1, -1};
  int32_t many[64] = {0};
  heard h = {0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT};
  uint64_t number;
  uint32_t left = 9;
  CHECK_OK(load("llama", "cpu", 2, 64, &lm));
  rlx_lm_request r = {RLX_LM_REQUEST_INIT, .ids = ids, .n = 3, .options = &o, .fn = hear, .user = &h};
  CHECK_FAILS(rlx_lm_submit(NULL, &r, &number), RLX_INVALID, "the model is NULL");
  CHECK_FAILS(rlx_lm_submit(lm, NULL, &number), RLX_INVALID, "request is NULL");
  CHECK_FAILS(rlx_lm_submit(lm, &r, NULL), RLX_INVALID, "number is NULL");
  CHECK_FAILS(submit(lm, wrong, 2, &o, &h), RLX_INVALID, "token 1 is -1");
  CHECK_FAILS(submit(lm, ids, 0, &o, &h), RLX_INVALID, "no tokens");
  CHECK_FAILS(submit(lm, many, 64, &o, &h), RLX_INVALID, "the context holds 64");
  r.n_top = 21;
  CHECK_FAILS(rlx_lm_submit(lm, &r, &number), RLX_INVALID, "at most 20");
  o.sequence = 1;
  CHECK_FAILS(submit(lm, ids, 3, &o, &h), RLX_INVALID, "has no sequence");
  o = (rlx_lm_options){RLX_LM_OPTIONS_INIT, .temperature = -1};
  CHECK_FAILS(submit(lm, ids, 3, &o, &h), RLX_INVALID, "temperature");
  CHECK_OK(rlx_lm_step(lm, &left));
  CHECK(left == 0);
  CHECK_FAILS(rlx_lm_cancel(lm, 1), RLX_NOT_FOUND, "runs no more");
  rlx_lm_destroy(lm);
  CHECK_OK(load("mamba", "cpu", 2, 64, &lm));
  CHECK_FAILS(submit(lm, ids, 3, NULL, &h), RLX_UNSUPPORTED, "mamba");
  rlx_lm_destroy(lm);
}

typedef struct sweep_work {
  rlx_lm *lm;
} sweep_work;

/* All requests have an end, and the first failure is returned. */
static rlx_status sweep(void *user) {
  rlx_lm *lm = ((sweep_work *)user)->lm;
  static const int32_t ids[] = {1, 5, 9, 2, 7};
  heard h[3] = {{0}};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 3, .ignore_end = true, .temperature = 0.7, .lookup = 3};
  rlx_status first = RLX_OK;
  uint32_t left = 1;
  for (size_t i = 0; i < 3; i++) {
    rlx_status s = submit(lm, ids, 3 + i, &o, &h[i]);
    if (s && !first) first = s;
    if (s) snprintf(h[i].ended, sizeof h[i].ended, "refused");
  }
  for (int i = 0; left && i < 100; i++) {
    rlx_status s = rlx_lm_step(lm, &left);
    if (s && !first) first = s;
  }
  for (size_t i = 0; i < 3; i++) {
    if (!h[i].ended[0]) return RLX_INVALID;
    if (h[i].status && !first) first = h[i].status;
  }
  return first;
}

TEST(failing_allocations) {
  sweep_work w = {0};
  CHECK_OK(load("llama", "cpu", 2, 64, &w.lm));
  CHECK_OK(sweep(&w)); /* makes the queue and the programs */
  CHECK_OK(alloc_sweep(sweep, &w));
  CHECK_OK(sweep(&w));
  rlx_lm_destroy(w.lm);
}
