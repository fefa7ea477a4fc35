/* Keys and values in q8_0 and q4_0: less memory by what the types' sizes say, the same text however tokens are split
 * into programs, saved and restored; and refusals that name what is missing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "rlx/experimental.h"
#include "rlx/lm.h"
#include "test.h"

#define SHAKESPEARE RLX_TEST_DATA "/../../models/shakespeare/shakespeare.gguf"
static const char prompt[] = "ROMEO:\nBut soft, what light through yonder window breaks?\nIt is the east, and Juliet ";
enum { MAX_TOKENS = 64 };

static rlx_status load(rlx_lm_cache cache, rlx_lm_desc d, rlx_lm **out) {
  d.struct_bytes = sizeof d; /* as its RLX_LM_DESC_INIT */
  d.cache_type = cache;
  d.switches = RLX_SWITCH_EXACT; /* so that a sum does not depend on the rows beside it */
  if (!d.path) d.path = SHAKESPEARE;
  if (!d.device) d.device = "cpu";
  if (!d.context) d.context = 256;
  return rlx_lm_load(&d, out);
}

/* ---- memory ---- */

static uint64_t state_bytes(rlx_lm_cache cache) {
  rlx_lm *lm = NULL;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  if (load(cache, (rlx_lm_desc){.dry_run = true}, &lm) || rlx_lm_describe(lm, &info)) return 0;
  rlx_lm_destroy(lm);
  return info.state_bytes;
}

TEST(blocks_take_less_memory) {
  const uint64_t f32 = state_bytes(RLX_LM_CACHE_F32);
  CHECK(f32 > 0);
  CHECK_EQ_INT(state_bytes(RLX_LM_CACHE_F16), f32 / 2);
  CHECK_EQ_INT(state_bytes(RLX_LM_CACHE_Q8_0), f32 / 128 * 34);
  CHECK_EQ_INT(state_bytes(RLX_LM_CACHE_Q4_0), f32 / 128 * 18);
}

/* ---- the logits ---- */

static double *logits_of(rlx_lm_cache cache, uint32_t chunk, size_t *n) {
  rlx_lm *lm = NULL;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  int32_t *ids = NULL;
  size_t n_ids = 0;
  float *all = NULL;
  double *out = NULL;
  if (load(cache, (rlx_lm_desc){.chunk = chunk}, &lm) || rlx_lm_describe(lm, &info)) goto end;
  if (rlx_tokenizer_encode(rlx_lm_tokenizer(lm), prompt, strlen(prompt), 0, &ids, &n_ids)) goto end;
  *n = n_ids * info.n_vocabulary;
  all = malloc(*n * sizeof *all);
  out = malloc(*n * sizeof *out);
  if (!all || !out || rlx_lm_append(lm, 0, ids, n_ids, true, all)) *n = 0;
  for (size_t i = 0; i < *n; i++) out[i] = (double)all[i];
end:
  free(all);
  rlx_free(ids);
  rlx_lm_destroy(lm);
  return out;
}

/* Root mean square of the difference, as part of that of the second. */
static double difference(const double *a, const double *b, size_t n) {
  double error = 0, sum = 0;
  for (size_t i = 0; i < n; i++) error += (a[i] - b[i]) * (a[i] - b[i]), sum += b[i] * b[i];
  return sqrt(error / sum);
}

TEST(logits_are_near_those_of_f32) {
  static const struct {
    rlx_lm_cache cache;
    double bound;
  } all[] = {{RLX_LM_CACHE_F16, 2e-4}, {RLX_LM_CACHE_Q8_0, 0.01}, {RLX_LM_CACHE_Q4_0, 0.15}};
  size_t n = 0, m = 0;
  double *want = logits_of(RLX_LM_CACHE_F32, 0, &n);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    double *whole = logits_of(all[i].cache, 0, &m), *cut = logits_of(all[i].cache, 8, &m);
    CHECK(want && whole && cut && n && m == n);
    const double off = difference(whole, want, n);
    CHECK(off > 0 && off < all[i].bound);
    CHECK(difference(cut, whole, n) < all[i].bound / 4); /* rows are rounded alike in every program */
    free(whole);
    free(cut);
  }
  free(want);
}

/* ---- the text ---- */

typedef struct heard {
  int32_t ids[MAX_TOKENS];
  size_t n;
  uint64_t number;
  bool has_ended;
} heard;

static bool keep(void *user, int32_t id) {
  heard *h = user;
  if (h->n < MAX_TOKENS) h->ids[h->n++] = id;
  return true;
}

static void hear(void *user, const rlx_lm_event *e) {
  heard *h = user;
  if (e->id >= 0) keep(h, e->id);
  h->has_ended = h->has_ended || e->ended;
}

/* Requests, in pages that they share, draw what one sequence draws alone. */
static void check_requests(rlx_lm_cache cache) {
  enum { N = 5 };
  rlx_lm *lm = NULL;
  int32_t *ids = NULL;
  size_t n = 0;
  heard want[N] = {{.n = 0}}, got[N] = {{.n = 0}};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 12, .ignore_end = true};
  CHECK_OK(load(cache, (rlx_lm_desc){.n_sequences = 3}, &lm));
  CHECK_OK(rlx_tokenizer_encode(rlx_lm_tokenizer(lm), prompt, strlen(prompt), 0, &ids, &n));
  CHECK(n > N);
  for (uint32_t i = 0; i < N; i++) {
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids, n - i, &o, keep, &want[i], NULL));
  }
  for (uint32_t i = 0; i < N; i++) {
    rlx_lm_request r = {RLX_LM_REQUEST_INIT, .ids = ids, .n = n - i, .options = &o, .fn = hear, .user = &got[i]};
    CHECK_OK(rlx_lm_submit(lm, &r, &got[i].number));
  }
  for (uint32_t left = 1; left;) CHECK_OK(rlx_lm_step(lm, &left));
  for (uint32_t i = 0; i < N; i++)
    CHECK(got[i].has_ended && got[i].n == 12 && memcmp(got[i].ids, want[i].ids, sizeof want[i].ids) == 0);
  rlx_free(ids);
  rlx_lm_destroy(lm);
}

TEST(requests_draw_what_they_draw_alone) {
  check_requests(RLX_LM_CACHE_Q8_0);
  if (!test_has_failed()) check_requests(RLX_LM_CACHE_Q4_0);
}

/* ---- saving ---- */

TEST(saved_and_restored) {
  rlx_lm *lm = NULL, *other = NULL, *small = NULL;
  heard a = {.n = 0}, b = {.n = 0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 8, .ignore_end = true};
  int32_t *ids = NULL;
  size_t n = 0;
  CHECK(folder_begin());
  CHECK_OK(load(RLX_LM_CACHE_Q8_0, (rlx_lm_desc){0}, &lm));
  CHECK_OK(load(RLX_LM_CACHE_Q8_0, (rlx_lm_desc){.context = 128}, &other));
  CHECK_OK(load(RLX_LM_CACHE_Q4_0, (rlx_lm_desc){0}, &small));
  CHECK_OK(rlx_tokenizer_encode(rlx_lm_tokenizer(lm), prompt, strlen(prompt), 0, &ids, &n));
  CHECK_OK(rlx_lm_generate_ids(lm, ids, n, &o, keep, &a, NULL));
  CHECK_OK(rlx_lm_save(lm, 0, folder_path("saved.safetensors")));
  CHECK_OK(rlx_lm_restore(other, 0, folder_path("saved.safetensors")));
  a.n = 0;
  CHECK_OK(rlx_lm_generate_ids(lm, NULL, 0, &o, keep, &a, NULL));
  CHECK_OK(rlx_lm_generate_ids(other, NULL, 0, &o, keep, &b, NULL));
  CHECK(a.n == 8 && memcmp(&a, &b, sizeof a) == 0);
  CHECK_FAILS(rlx_lm_restore(small, 0, folder_path("saved.safetensors")), RLX_INVALID, "other sizes or another type");
  rlx_free(ids);
  rlx_lm_destroy(small);
  rlx_lm_destroy(other);
  rlx_lm_destroy(lm);
}

/* ---- what cannot be ---- */

TEST(refusals_say_what_is_missing) {
  rlx_lm *lm = NULL;
  CHECK_FAILS(load(RLX_LM_CACHE_Q8_0, (rlx_lm_desc){.path = RLX_TEST_DATA "/lm/llama"}, &lm), RLX_UNSUPPORTED,
              "heads have 8 elements, expected a multiple of 32");
  CHECK_FAILS(load(RLX_LM_CACHE_Q4_0, (rlx_lm_desc){.path = RLX_TEST_DATA "/lm/mamba"}, &lm), RLX_UNSUPPORTED,
              "mamba model keeps no keys and values");
  CHECK_FAILS(load(RLX_LM_CACHE_Q8_0, (rlx_lm_desc){.device = "null", .dry_run = true}, &lm), RLX_UNSUPPORTED,
              "the device has no kernel for it");
  CHECK(!lm);
}
