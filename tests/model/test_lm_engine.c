/* The engine: the public functions of rlx/lm.h on tiny models of all families, with expected results from
 * transformers (tests/golden/lm). The result must not depend on how tokens are split into programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "folder.h"
#include "own_memory.h"
#include "rlx/experimental.h"
#include "rlx/lm.h"
#include "test.h"

static const char *const families[] = {"llama",   "qwen2",  "qwen3",  "qwen3moe", "qwen3moe_mixed",
                                       "mixtral", "gemma2", "gemma3", "gpt2",     "mamba"};
enum { N_FAMILIES = sizeof families / sizeof *families, N_GREEDY = 64 };

static const char *path_of(const char *family) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s", RLX_TEST_DATA, family);
  return path;
}

/* ---- goldens ---- */

typedef struct golden {
  rlx_tensor tokens, greedy, logits;
  size_t n, n_vocab;
} golden;

static rlx_status read_one(const char *family, const char *name, rlx_tensor *out) {
  char path[1200];
  snprintf(path, sizeof path, "%s/%s.npy", path_of(family), name);
  return rlx_npy_read(path, out);
}

static rlx_status golden_open(const char *family, golden *g) {
  *g = (golden){0};
  rlx_status s = read_one(family, "tokens", &g->tokens);
  if (!s) s = read_one(family, "greedy", &g->greedy);
  if (!s) s = read_one(family, "logits", &g->logits);
  if (s) return s;
  g->n = (size_t)g->tokens.shape.v[0];
  g->n_vocab = (size_t)g->logits.shape.v[1];
  return RLX_OK;
}

static void golden_close(golden *g) {
  rlx_free(g->tokens.data);
  rlx_free(g->greedy.data);
  rlx_free(g->logits.data);
}

static const int32_t *ids_of(const rlx_tensor *t) { return t->data; }

/* ---- a model and what it says ---- */

/* Goldens are of f32; f16 is the default. */
static rlx_lm_cache cache_type = RLX_LM_CACHE_F32;

static rlx_status load_with(rlx_lm_desc d, const char *family, rlx_lm **out) {
  d.struct_bytes = sizeof d; /* as its RLX_LM_DESC_INIT */
  if (d.cache_type == RLX_LM_CACHE_F16) d.cache_type = cache_type;
  d.path = path_of(family);
  if (!d.device) d.device = "cpu";
  if (!d.context) d.context = 128;
  return rlx_lm_load(&d, out);
}

typedef struct said {
  int32_t ids[256];
  size_t n, max;
} said;

static bool hear(void *user, int32_t id) {
  said *s = user;
  if (s->n < 256) s->ids[s->n++] = id;
  return s->n != s->max;
}

static rlx_lm_options greedy(uint32_t tokens) {
  return (rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = tokens, .ignore_end = true};
}

static rlx_status speak(rlx_lm *lm, const int32_t *ids, size_t n, uint32_t tokens, said *to) {
  rlx_lm_options o = greedy(tokens);
  return rlx_lm_generate_ids(lm, ids, n, &o, hear, to, NULL);
}

/* ---- answers ---- */

static void check_greedy(const char *family, rlx_lm_desc d) {
  golden g;
  rlx_lm *lm = NULL;
  said s = {0};
  CHECK_OK(golden_open(family, &g));
  CHECK_OK(load_with(d, family, &lm));
  CHECK_OK(speak(lm, ids_of(&g.tokens), g.n, N_GREEDY, &s));
  CHECK(s.n == N_GREEDY && memcmp(s.ids, g.greedy.data, sizeof(int32_t) * N_GREEDY) == 0);
  CHECK(rlx_lm_length(lm, 0) == g.n + N_GREEDY);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

TEST(greedy_answers_of_every_family) {
  static const uint32_t chunks[] = {0, 8, 3, 1};
  for (size_t f = 0; f < N_FAMILIES; f++)
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
      check_greedy(families[f], (rlx_lm_desc){.chunk = chunks[i]});
      if (test_has_failed()) return;
    }
}

TEST(as_much_context_as_is_needed) { check_greedy("llama", (rlx_lm_desc){.context = 24 + N_GREEDY, .chunk = 16}); }
TEST(among_several_sequences) { check_greedy("qwen3", (rlx_lm_desc){.n_sequences = 3}); }

static double difference(const float *a, const float *b, size_t n) {
  double max = 0, size = 0;
  for (size_t i = 0; i < n; i++) {
    max = fmax(max, fabs((double)a[i] - (double)b[i]));
    size = fmax(size, fabs((double)b[i]));
  }
  return max / size;
}

TEST(logits_of_every_family) {
  for (size_t f = 0; f < N_FAMILIES; f++) {
    golden g;
    rlx_lm *lm = NULL;
    CHECK_OK(golden_open(families[f], &g));
    CHECK_OK(load_with((rlx_lm_desc){.chunk = 8}, families[f], &lm));
    float *all = malloc(g.n * g.n_vocab * sizeof *all), *last = malloc(g.n_vocab * sizeof *last);
    const float *want = g.logits.data;
    CHECK(all && last);
    CHECK_OK(rlx_lm_append(lm, 0, ids_of(&g.tokens), g.n, true, all));
    CHECK(difference(all, want, g.n * g.n_vocab) < 1e-4);
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_append(lm, 0, ids_of(&g.tokens), 5, false, NULL)); /* some without, the rest with */
    CHECK_OK(rlx_lm_append(lm, 0, ids_of(&g.tokens) + 5, g.n - 5, true, all));
    CHECK(difference(all, want + 5 * g.n_vocab, (g.n - 5) * g.n_vocab) < 1e-4);
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_append(lm, 0, ids_of(&g.tokens), g.n, false, last));
    CHECK(difference(last, want + (g.n - 1) * g.n_vocab, g.n_vocab) < 1e-4);
    free(all), free(last);
    rlx_lm_destroy(lm);
    golden_close(&g);
  }
}

/* ---- a conversation goes on ---- */

static void check_in_parts(const char *family) {
  golden g;
  rlx_lm *lm = NULL;
  said s = {0};
  CHECK_OK(golden_open(family, &g));
  CHECK_OK(load_with((rlx_lm_desc){.chunk = 8}, family, &lm));
  CHECK_OK(speak(lm, ids_of(&g.tokens), 10, 3, &s)); /* something else first */
  CHECK_OK(rlx_lm_truncate(lm, 0, 7));
  s.n = 0;
  CHECK_OK(speak(lm, ids_of(&g.tokens) + 7, g.n - 7, 20, &s));
  CHECK_OK(speak(lm, NULL, 0, 30, &s));
  CHECK_OK(rlx_lm_truncate(lm, 0, (uint32_t)g.n + 40)); /* forget ten, and say them again */
  s.n = 40;
  CHECK_OK(speak(lm, NULL, 0, 24, &s));
  CHECK(s.n == N_GREEDY && memcmp(s.ids, g.greedy.data, sizeof(int32_t) * N_GREEDY) == 0);
  size_t n;
  const int32_t *held = rlx_lm_tokens(lm, 0, &n);
  CHECK(n == g.n + N_GREEDY && memcmp(held, g.tokens.data, g.n * sizeof *held) == 0);
  CHECK(memcmp(held + g.n, s.ids, N_GREEDY * sizeof *held) == 0);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

TEST(in_parts_and_with_second_thoughts) {
  check_in_parts("llama");
  if (!test_has_failed()) check_in_parts("mamba");
}

TEST(ended_by_the_listener) {
  golden g;
  rlx_lm *lm = NULL;
  said s = {.max = 5};
  rlx_lm_options o = greedy(0);
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(load_with((rlx_lm_desc){0}, "llama", &lm));
  CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s, &stats));
  CHECK(s.n == 5 && strcmp(stats.ended, "stop") == 0 && stats.n_tokens == 5 && stats.n_prompt_tokens == g.n);
  s.max = 0;
  CHECK_OK(speak(lm, NULL, 0, N_GREEDY - 5, &s));
  CHECK(memcmp(s.ids, g.greedy.data, sizeof(int32_t) * N_GREEDY) == 0);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

static bool at_once(void *user) { return user != NULL; }

TEST(cancelled) {
  golden g;
  rlx_lm *lm = NULL;
  said s = {0};
  rlx_lm_options o = greedy(9);
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  o.cancel = at_once;
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(load_with((rlx_lm_desc){.chunk = 8}, "llama", &lm));
  CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s, &stats));
  CHECK(strcmp(stats.ended, "cancelled") == 0 && s.n == 0);
  CHECK_OK(speak(lm, NULL, 0, N_GREEDY, &s)); /* and on from there */
  CHECK(memcmp(s.ids, g.greedy.data, sizeof(int32_t) * N_GREEDY) == 0);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

/* ---- the end of the context ---- */

TEST(a_full_context) {
  golden g;
  rlx_lm *lm = NULL;
  said s = {0};
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(load_with((rlx_lm_desc){.context = 40, .chunk = 16}, "llama", &lm));
  CHECK_FAILS(speak(lm, ids_of(&g.tokens), g.n, 17, &s), RLX_INVALID, "context of 40");
  CHECK(s.n == 16 && memcmp(s.ids, g.greedy.data, 16 * sizeof(int32_t)) == 0);
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  CHECK_FAILS(rlx_lm_append(lm, 0, ids_of(&g.greedy), 41, false, NULL), RLX_INVALID, "41 tokens");
  CHECK(rlx_lm_length(lm, 0) == 0);
  s.n = 0;
  CHECK_OK(speak(lm, ids_of(&g.tokens), g.n, 0, &s)); /* no number: until it is full */
  CHECK(s.n == 16 && rlx_lm_length(lm, 0) == 40);
  rlx_lm_options o = greedy(100);
  o.shift = true;
  s.n = 0;
  CHECK_OK(rlx_lm_generate_ids(lm, NULL, 0, &o, hear, &s, NULL));
  CHECK(s.n == 100 && rlx_lm_length(lm, 0) <= 40);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

/* Each call goes on with the sequence: with shift it never ends. */
TEST(any_number_of_prompts_with_shift) {
  golden g;
  rlx_lm *lm = NULL;
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(load_with((rlx_lm_desc){.context = 40, .chunk = 16}, "llama", &lm));
  rlx_lm_options o = greedy(3);
  o.shift = true;
  for (int i = 0; i < 200; i++) {
    said s = {0};
    CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), 1 + (size_t)i % g.n, &o, hear, &s, NULL));
    CHECK(s.n == 3 && rlx_lm_length(lm, 0) <= 40);
  }
  CHECK_FAILS(rlx_lm_generate_ids(lm, ids_of(&g.greedy), 41, &o, hear, &(said){0}, NULL), RLX_INVALID, "41 tokens");
  rlx_lm_destroy(lm);
  golden_close(&g);
}

/* ---- several sequences ---- */

typedef struct said_all {
  said v[3];
} said_all;

static bool hear_one(void *user, uint32_t sequence, int32_t id) { return hear(&((said_all *)user)->v[sequence], id); }

static void check_batch(const char *family) {
  golden g;
  rlx_lm *lm = NULL, *one = NULL;
  said_all s = {0};
  rlx_lm_options o = greedy(20);
  CHECK_OK(golden_open(family, &g));
  CHECK_OK(load_with((rlx_lm_desc){.n_sequences = 3, .chunk = 8}, family, &lm));
  CHECK_OK(load_with((rlx_lm_desc){.chunk = 8}, family, &one));
  const int32_t *ids = ids_of(&g.tokens);
  rlx_lm_prompt prompts[3] = {{ids, g.n}, {ids + 3, 1}, {ids + 5, 11}};
  s.v[1].max = 4; /* one ends before the others */
  CHECK_OK(rlx_lm_generate_batch(lm, prompts, 3, &o, hear_one, &s, NULL));
  CHECK(s.v[0].n == 20 && s.v[1].n == 4 && s.v[2].n == 20);
  s.v[1].max = 0;
  CHECK_OK(rlx_lm_generate_batch(lm, (rlx_lm_prompt[3]){{0}}, 2, &o, hear_one, &s, NULL)); /* the third rests */
  rlx_lm_options more = greedy(9);
  more.sequence = 2;
  CHECK_OK(rlx_lm_generate_ids(lm, NULL, 0, &more, hear, &s.v[2], NULL)); /* and goes on alone */
  for (size_t i = 0; i < 3; i++) {
    said alone = {0};
    CHECK_OK(rlx_lm_truncate(one, 0, 0));
    CHECK_OK(speak(one, prompts[i].ids, prompts[i].n, (uint32_t)s.v[i].n, &alone));
    CHECK(memcmp(alone.ids, s.v[i].ids, alone.n * sizeof *alone.ids) == 0);
  }
  CHECK_FAILS(rlx_lm_generate_batch(lm, prompts, 4, &o, hear_one, &s, NULL), RLX_INVALID, "4 prompts");
  rlx_lm_destroy(lm);
  rlx_lm_destroy(one);
  golden_close(&g);
}

TEST(several_sequences_at_once) {
  check_batch("llama");
  if (!test_has_failed()) check_batch("mamba");
}

/* ---- drawing ---- */

TEST(the_same_seed_gives_the_same_tokens) {
  golden g;
  said s[4] = {0};
  CHECK_OK(golden_open("llama", &g));
  for (int i = 0; i < 4; i++) {
    rlx_lm *lm = NULL;
    rlx_lm_options o = greedy(60);
    o.temperature = 1.5, o.top_k = 40, o.top_p = 0.95, o.seed = i == 3 ? 8 : 7;
    CHECK_OK(load_with((rlx_lm_desc){.n_threads = i == 1 ? 1 : 2, .chunk = i == 2 ? 4 : 0}, "llama", &lm));
    CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s[i], NULL));
    rlx_lm_destroy(lm);
  }
  CHECK(memcmp(s[0].ids, s[1].ids, sizeof s[0].ids) == 0);
  CHECK(memcmp(s[0].ids, s[2].ids, sizeof s[0].ids) == 0);
  CHECK(memcmp(s[0].ids, s[3].ids, sizeof s[0].ids) != 0);
  golden_close(&g);
}

/* Settings are inputs of one program: the second one of them compiles nothing, and a setting that comes again draws
 * the same. GPUs have two such programs, with and without a top_k of at most 64: the first two settings need both. */
static void check_settings(const char *device, int warm_up) {
  golden g;
  said s[12] = {0};
  rlx_session *session = NULL;
  rlx_lm *lm = NULL;
  rlx_session_stats before = {RLX_SESSION_STATS_INIT}, after = {RLX_SESSION_STATS_INIT};
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1}, &session));
  CHECK_OK(load_with((rlx_lm_desc){.session = session}, "llama", &lm));
  for (int i = 0; i < 12; i++) {
    rlx_lm_options o = greedy(20);
    const int k = i % 6; /* all of them twice */
    o.seed = 5, o.temperature = 0.7 + 0.3 * k, o.top_k = (uint32_t)(k % 3) * 20;
    o.top_p = k == 1 ? 0.9 : 0, o.min_p = k == 4 ? 0.05 : 0;
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s[i], NULL));
    if (i + 1 == warm_up) CHECK_OK(rlx_session_stats_get(session, &before));
    if (i >= 6) CHECK(memcmp(s[i].ids, s[i - 6].ids, sizeof s[0].ids) == 0);
  }
  CHECK(memcmp(s[0].ids, s[5].ids, sizeof s[0].ids) != 0);
  CHECK_OK(rlx_session_stats_get(session, &after));
  CHECK_EQ_INT(after.n_compiled, before.n_compiled);
  rlx_lm_destroy(lm);
  rlx_session_destroy(session);
  golden_close(&g);
}

TEST(a_changed_setting_compiles_nothing) { check_settings("cpu", 1); }

TEST(a_changed_setting_compiles_nothing_on_vulkan) {
  rlx_session *session;
  if (rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "vulkan", .n_threads = 1}, &session))
    SKIP(rlx_message());
  rlx_session_destroy(session);
  check_settings("vulkan", 2);
}

TEST(options_that_make_no_sense) {
  golden g;
  rlx_lm *lm = NULL;
  said s = {0};
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(load_with((rlx_lm_desc){0}, "llama", &lm));
  rlx_lm_options o = greedy(1);
#define REFUSED(set, word) \
  o = greedy(1), set;      \
  CHECK_FAILS(rlx_lm_generate_ids(lm, ids_of(&g.tokens), 1, &o, hear, &s, NULL), RLX_INVALID, word)
  REFUSED(o.temperature = (double)NAN, "temperature");
  REFUSED(o.temperature = -1, "temperature");
  REFUSED(o.top_k = UINT32_MAX, "top_k");
  REFUSED(o.top_p = 1.5, "top_p");
  REFUSED(o.min_p = -0.1, "min_p");
  REFUSED(o.sequence = 1, "sequence 1");
  REFUSED(o.ahead = 65, "65 tokens ahead");
  REFUSED(o.special = (rlx_lm_special)3, "special is 3");
  REFUSED(o.struct_bytes = 3, "struct_bytes");
  o = greedy(1);
  int32_t bad = (int32_t)g.n_vocab;
  CHECK_FAILS(speak(lm, &bad, 1, 1, &s), RLX_INVALID, "vocabulary");
  CHECK_FAILS(speak(lm, NULL, 0, 1, &s), RLX_INVALID, "nothing to continue");
  CHECK_FAILS(rlx_lm_generate(lm, "a", 1, &o, NULL, NULL, NULL), RLX_INVALID, "fn is NULL");
  CHECK_FAILS(rlx_lm_embed(lm, "a", 1, (float[1]){0}, NULL), RLX_UNSUPPORTED, "does not embed");
  CHECK_FAILS(rlx_lm_truncate(lm, 0, 1), RLX_INVALID, "there are 0");
  rlx_lm_destroy(lm);
  lm = NULL;
  CHECK_FAILS(load_with((rlx_lm_desc){.cache_type = (rlx_lm_cache)7}, "llama", &lm), RLX_INVALID,
              "q8_0 (2) or q4_0 (3)");
  CHECK_FAILS(load_with((rlx_lm_desc){.n_sequences = 100000}, "llama", &lm), RLX_INVALID, "sequences");
  CHECK_FAILS(load_with((rlx_lm_desc){.chunk = 1u << 30}, "llama", &lm), RLX_INVALID, "chunks");
  CHECK_FAILS(load_with((rlx_lm_desc){.context = 1u << 30}, "llama", &lm), RLX_INVALID, "context");
  CHECK_FAILS(load_with((rlx_lm_desc){0}, "no-such-model", &lm), RLX_NOT_FOUND, "no-such-model");
  CHECK(lm == NULL);
  golden_close(&g);
}

TEST(a_look_takes_no_memory) {
  rlx_lm *lm = NULL;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  CHECK_OK(load_with((rlx_lm_desc){.dry_run = true}, "llama", &lm));
  CHECK_OK(rlx_lm_describe(lm, &info));
  CHECK(info.weight_bytes > 50000 && info.state_bytes > 0 && info.scratch_bytes > 0 &&
        strcmp(info.family, "llama") == 0);
  CHECK(info.context == 128 && info.n_vocabulary == 101 && info.n_parameters * 4 == info.weight_bytes);
  CHECK_FAILS(rlx_lm_append(lm, 0, (int32_t[1]){1}, 1, false, NULL), RLX_INVALID, "dry_run");
  rlx_lm_destroy(lm);
}

/* ---- saving ---- */

static void check_saved(const char *family) {
  golden g;
  rlx_lm *lm = NULL, *other = NULL;
  said s = {0};
  CHECK(folder_begin());
  const char *path = folder_path("saved.safetensors");
  CHECK_OK(golden_open(family, &g));
  CHECK_OK(load_with((rlx_lm_desc){.chunk = 8}, family, &lm));
  CHECK_OK(load_with((rlx_lm_desc){.context = 100}, family, &other));
  CHECK_OK(speak(lm, ids_of(&g.tokens), g.n, 10, &s));
  CHECK_OK(rlx_lm_save(lm, 0, path));
  CHECK_OK(rlx_lm_append(other, 0, ids_of(&g.tokens), 3, false, NULL)); /* gives way */
  CHECK_OK(rlx_lm_restore(other, 0, path));
  CHECK(rlx_lm_length(other, 0) == g.n + 10);
  said a = s, b = s;
  CHECK_OK(speak(lm, NULL, 0, 20, &a));
  CHECK_OK(speak(other, NULL, 0, 20, &b));
  CHECK(a.n == 30 && memcmp(&a, &b, sizeof a) == 0);
  rlx_lm_destroy(other);
  CHECK_OK(load_with((rlx_lm_desc){.context = 20}, family, &other));
  CHECK_FAILS(rlx_lm_restore(other, 0, path), RLX_INVALID, "context here holds 20");
  rlx_lm_destroy(other);
  CHECK_OK(load_with((rlx_lm_desc){0}, "qwen2", &other));
  CHECK_FAILS(rlx_lm_restore(other, 0, path), RLX_INVALID, "rlx.family");
  char model[1200];
  snprintf(model, sizeof model, "%s/model.safetensors", path_of(family));
  CHECK_FAILS(rlx_lm_restore(other, 0, model), RLX_INVALID, "not a saved sequence");
  rlx_lm_destroy(other);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

TEST(saved_and_restored) {
  check_saved("llama");
  if (!test_has_failed()) check_saved("mamba");
  cache_type = RLX_LM_CACHE_F16;
  if (!test_has_failed()) check_saved("llama");
  cache_type = RLX_LM_CACHE_F32;
}

/* The default cache type is f16. */
TEST(one_default_for_keys_and_values) {
  rlx_lm *lm[2] = {NULL, NULL};
  rlx_lm_info info[2] = {{RLX_LM_INFO_INIT}, {RLX_LM_INFO_INIT}};
  for (int i = 0; i < 2; i++) {
    rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = path_of("llama"), .device = "cpu", .context = 64, .dry_run = true};
    if (i) d.cache_type = RLX_LM_CACHE_F32;
    CHECK_OK(rlx_lm_load(&d, &lm[i]));
    CHECK_OK(rlx_lm_describe(lm[i], &info[i]));
    rlx_lm_destroy(lm[i]);
  }
  CHECK(info[0].state_bytes && 2 * info[0].state_bytes == info[1].state_bytes);
}

/* ---- tokens drawn ahead: the text is the same, however many there are and wherever it ends ---- */

static const uint32_t ahead_of[] = {1, 2, 3, 8, 64};
enum { N_AHEAD = sizeof ahead_of / sizeof *ahead_of };

/* What the model on this device says token by token, and with any number of them ahead. */
static void check_ahead(const char *family, const char *device, double temperature) {
  golden g;
  rlx_lm *lm = NULL;
  said s[N_AHEAD] = {0};
  rlx_lm_options o = greedy(50);
  rlx_status status = load_with((rlx_lm_desc){.device = device, .chunk = 8}, family, &lm);
  if (status == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(status);
  CHECK_OK(golden_open(family, &g));
  o.temperature = temperature, o.top_p = 0.9, o.seed = 5;
  for (int i = 0; i < N_AHEAD; i++) {
    o.ahead = ahead_of[i];
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s[i], NULL));
    CHECK(s[i].n == 50);
    if (memcmp(s[i].ids, s[0].ids, sizeof s[0].ids) != 0)
      FAIL("%s on %s: other tokens with %u ahead", family, device, (unsigned)o.ahead);
    CHECK(memcmp(rlx_lm_tokens(lm, 0, NULL) + g.n, s[0].ids, 50 * sizeof(int32_t)) == 0);
  }
  if (temperature == 0 && !strcmp(device, "cpu")) CHECK(memcmp(s[0].ids, g.greedy.data, 50 * sizeof(int32_t)) == 0);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

TEST(drawn_ahead_on_the_cpu) {
  for (size_t f = 0; f < N_FAMILIES && !test_has_failed(); f++)
    for (int hot = 0; hot < 2 && !test_has_failed(); hot++) check_ahead(families[f], "cpu", hot);
}
TEST(drawn_ahead_on_cuda) {
  check_ahead("llama", "cuda", 0);
  if (test_all.result == TEST_PASSED) check_ahead("llama", "cuda", 1.2);
}
TEST(drawn_ahead_on_vulkan) {
  check_ahead("llama", "vulkan", 0);
  if (test_all.result == TEST_PASSED) check_ahead("llama", "vulkan", 1.2);
  if (test_all.result == TEST_PASSED) check_ahead("mamba", "vulkan", 1.2);
}
TEST(drawn_ahead_on_vulkan_staging) {
  check_ahead("llama", "vulkan:staging", 1.2);
  if (test_all.result == TEST_PASSED) check_ahead("gemma3", "vulkan:staging", 0);
  if (test_all.result == TEST_PASSED) check_ahead("qwen3moe", "vulkan:staging", 1.2);
}

/* ---- repetition penalty ---- */

typedef struct penalty {
  double penalty;
  uint32_t window;
} penalty;

/* The token that greedy decoding takes after the n tokens of the sequence: by the definition, on the host. */
static int32_t penalised_best(float *logits, size_t n_vocab, const int32_t *ids, size_t n, penalty p) {
  bool *is_seen = calloc(n_vocab, sizeof *is_seen);
  size_t best = 0;
  for (size_t i = p.window && n > p.window ? n - p.window : 0; is_seen && i < n; i++) is_seen[ids[i]] = true;
  for (size_t i = 0; is_seen && i < n_vocab; i++) {
    const float by = (float)p.penalty;
    if (is_seen[i]) logits[i] = logits[i] < 0 ? logits[i] * by : logits[i] / by;
    if (logits[i] > logits[best]) best = i;
  }
  free(is_seen);
  return (int32_t)best;
}

static void check_penalty(const char *family, const char *device, penalty p) {
  golden g;
  rlx_lm *lm = NULL;
  enum { N = 40 };
  said s[N_AHEAD] = {0};
  int32_t want[N];
  rlx_status status = load_with((rlx_lm_desc){.device = device, .chunk = 8}, family, &lm);
  if (status == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(status);
  CHECK_OK(golden_open(family, &g));
  float *row = malloc(g.n_vocab * sizeof *row);
  CHECK(row);
  CHECK_OK(rlx_lm_append(lm, 0, ids_of(&g.tokens), g.n, false, row));
  for (int i = 0; i < N; i++) {
    size_t n;
    const int32_t *ids = rlx_lm_tokens(lm, 0, &n);
    want[i] = penalised_best(row, g.n_vocab, ids, n, p);
    CHECK_OK(rlx_lm_append(lm, 0, &want[i], 1, false, row));
  }
  rlx_lm_options o = greedy(N);
  o.repetition_penalty = p.penalty, o.penalty_tokens = p.window;
  for (int i = 0; i < N_AHEAD; i++) {
    o.ahead = ahead_of[i];
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s[i], NULL));
    if (s[i].n != N || memcmp(s[i].ids, want, sizeof want) != 0)
      FAIL("%s on %s: other tokens with a penalty of %g and %u ahead", family, device, p.penalty, (unsigned)o.ahead);
  }
  said plain = {0};
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  CHECK_OK(speak(lm, ids_of(&g.tokens), g.n, N, &plain));
  CHECK(memcmp(plain.ids, want, sizeof want) != 0); /* it changes the text */
  free(row);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

TEST(repetition_penalty) {
  check_penalty("llama", "cpu", (penalty){1.3, 0});
  if (!test_has_failed()) check_penalty("llama", "cpu", (penalty){1.5, 4});
  if (!test_has_failed()) check_penalty("gemma2", "cpu", (penalty){0.8, 0});
  if (!test_has_failed()) check_penalty("mamba", "cpu", (penalty){2, 16});
}
TEST(repetition_penalty_on_vulkan) { check_penalty("llama", "vulkan", (penalty){1.3, 8}); }

/* With a temperature, over the end of the context, and for several sequences: as one token at a time, one sequence at a
 * time. */
TEST(repetition_penalty_in_every_call) {
  golden g;
  rlx_lm *lm = NULL, *three = NULL;
  said s[2] = {0};
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(load_with((rlx_lm_desc){.context = 48}, "llama", &lm));
  rlx_lm_options o = greedy(60);
  o.repetition_penalty = 1.4, o.temperature = 0.8, o.shift = true, o.seed = 3;
  for (int i = 0; i < 2; i++) {
    o.ahead = i ? 8 : 1;
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s[i], NULL));
  }
  CHECK(s[0].n == 60 && memcmp(s[0].ids, s[1].ids, sizeof s[0].ids) == 0);
  rlx_lm_destroy(lm);
  lm = NULL;
  CHECK_OK(load_with((rlx_lm_desc){.context = 64}, "llama", &lm));
  CHECK_OK(load_with((rlx_lm_desc){.context = 64, .n_sequences = 3}, "llama", &three));
  o = greedy(20);
  o.repetition_penalty = 1.4, o.penalty_tokens = 12;
  said_all all = {0};
  const rlx_lm_prompt prompts[2] = {{ids_of(&g.tokens), g.n}, {ids_of(&g.tokens) + 4, 7}};
  CHECK_OK(rlx_lm_generate_batch(three, prompts, 2, &o, hear_one, &all, NULL));
  for (int i = 0; i < 2; i++) {
    said alone = {0};
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, prompts[i].ids, prompts[i].n, &o, hear, &alone, NULL));
    CHECK(alone.n == 20 && all.v[i].n == 20 && memcmp(alone.ids, all.v[i].ids, 20 * sizeof(int32_t)) == 0);
  }
  o.repetition_penalty = -1;
  CHECK_FAILS(rlx_lm_generate_ids(lm, NULL, 0, &o, hear, &s[0], NULL), RLX_INVALID,
              "expected a number from 0.01 to 100");
  o.repetition_penalty = (double)NAN;
  CHECK_FAILS(rlx_lm_generate_ids(lm, NULL, 0, &o, hear, &s[0], NULL), RLX_INVALID, "repetition_penalty");
  rlx_lm_destroy(lm);
  rlx_lm_destroy(three);
  golden_close(&g);
}

/* Ended by the listener after any number of tokens, and then on; by way of a file now and then. */
static void check_stops(const char *family, const char *device) {
  golden g;
  rlx_lm *lm = NULL;
  rlx_lm_options o = greedy(0);
  said want = {0};
  rlx_status status = load_with((rlx_lm_desc){.device = device, .chunk = 8}, family, &lm);
  if (status == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(status);
  CHECK_OK(golden_open(family, &g));
  CHECK(folder_begin());
  CHECK_OK(speak(lm, ids_of(&g.tokens), g.n, 40, &want)); /* on software each token is told at once */
  o.ahead = 8;
  for (size_t max = 1; max <= 20; max += max < 10 ? 1 : 5) {
    said s = {.max = max};
    rlx_lm_stats stats = {RLX_LM_STATS_INIT};
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s, &stats));
    CHECK(s.n == max && stats.n_tokens == max && strcmp(stats.ended, "stop") == 0);
    CHECK(rlx_lm_length(lm, 0) == g.n + max);
    if (max % 3 == 0) {
      CHECK_OK(rlx_lm_save(lm, 0, folder_path("stopped.safetensors")));
      CHECK_OK(rlx_lm_truncate(lm, 0, 1));
      CHECK_OK(rlx_lm_restore(lm, 0, folder_path("stopped.safetensors")));
    }
    s.max = 40;
    CHECK_OK(rlx_lm_generate_ids(lm, NULL, 0, &o, hear, &s, NULL));
    if (s.n != 40 || memcmp(s.ids, want.ids, 40 * sizeof(int32_t)) != 0)
      FAIL("%s on %s: other tokens after a stop at %zu", family, device, max);
  }
  rlx_lm_destroy(lm);
  golden_close(&g);
}

TEST(stopped_within_a_span) {
  check_stops("llama", "cpu");
  if (!test_has_failed()) check_stops("gemma2", "cpu"); /* with windows */
  if (!test_has_failed()) check_stops("mamba", "cpu");
}
TEST(stopped_within_a_span_on_vulkan) { check_stops("llama", "vulkan:staging"); }

typedef struct patience {
  said heard; /* comes first: hear gets it */
  size_t max;
} patience;
static bool has_enough(void *user) { return ((patience *)user)->heard.n >= ((patience *)user)->max; }

/* File, tokenizer, weights, states, programs and sequences are the session's. */
TEST(a_session_with_an_allocator) {
  golden g;
  own_memory m = {0};
  rlx_session *session, *keeper;
  rlx_lm *lm = NULL;
  said s = {0};
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &keeper));
  size_t heap = rlx_mem_live();
  CHECK_OK(own_session(&m, "cpu", 2, &session));
  CHECK_OK(load_with((rlx_lm_desc){.session = session, .chunk = 8}, "llama", &lm));
  rlx_session_destroy(session);
  CHECK_OK(speak(lm, ids_of(&g.tokens), g.n, N_GREEDY, &s));
  CHECK(memcmp(s.ids, g.greedy.data, sizeof(int32_t) * N_GREEDY) == 0);
  CHECK_EQ_INT(rlx_mem_live() - heap, atomic_load(&m.n_live));
  rlx_lm_destroy(lm);
  CHECK(own_is_whole(&m));
  rlx_session_destroy(keeper);
  golden_close(&g);
}

TEST(cancelled_within_a_span) {
  golden g;
  rlx_lm *lm = NULL;
  rlx_lm_options o = greedy(60);
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  patience p = {.max = 6}; /* 1, 2, and then within four */
  o.cancel = has_enough, o.ahead = 8;
  CHECK_OK(golden_open("llama", &g));
  CHECK_OK(load_with((rlx_lm_desc){0}, "llama", &lm));
  CHECK_OK(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &p, &stats));
  CHECK(p.heard.n == 6 && strcmp(stats.ended, "cancelled") == 0 && rlx_lm_length(lm, 0) == g.n + 6);
  CHECK_OK(speak(lm, NULL, 0, N_GREEDY - 6, &p.heard));
  CHECK(memcmp(p.heard.ids, g.greedy.data, sizeof(int32_t) * N_GREEDY) == 0);
  rlx_lm_destroy(lm);
  golden_close(&g);
}

TEST(a_full_context_within_a_span) {
  golden g;
  said shifted[N_AHEAD] = {0};
  CHECK_OK(golden_open("llama", &g));
  for (int i = 0; i < N_AHEAD; i++) {
    rlx_lm *lm = NULL;
    said s = {0};
    rlx_lm_options o = greedy(18);
    o.ahead = ahead_of[i];
    CHECK_OK(load_with((rlx_lm_desc){.context = 41, .chunk = 16}, "llama", &lm));
    CHECK_FAILS(rlx_lm_generate_ids(lm, ids_of(&g.tokens), g.n, &o, hear, &s, NULL), RLX_INVALID, "context of 41");
    CHECK(s.n == 17 && memcmp(s.ids, g.greedy.data, 17 * sizeof(int32_t)) == 0);
    o.max_tokens = 100, o.shift = true, o.temperature = 1;
    CHECK_OK(rlx_lm_generate_ids(lm, NULL, 0, &o, hear, &shifted[i], NULL));
    CHECK(shifted[i].n == 100 && memcmp(shifted[i].ids, shifted[0].ids, sizeof shifted[0].ids) == 0);
    rlx_lm_destroy(lm);
  }
  golden_close(&g);
}

/* Sequences that end at different times, the first of them first, drawn with a temperature: what the others say does
 * not depend on when it ends. */
static void check_batch_ahead(const char *device) {
  golden g;
  said_all s[N_AHEAD] = {0};
  CHECK_OK(golden_open("llama", &g));
  for (int i = 0; i < N_AHEAD; i++) {
    rlx_lm *lm = NULL;
    rlx_lm_options o = greedy(30);
    o.ahead = ahead_of[i], o.temperature = 1.5, o.seed = 3;
    rlx_status status = load_with((rlx_lm_desc){.device = device, .n_sequences = 3, .context = 50}, "llama", &lm);
    if (status == RLX_NOT_FOUND) SKIP(rlx_message());
    CHECK_OK(status);
    const int32_t *ids = ids_of(&g.tokens);
    rlx_lm_prompt prompts[3] = {{ids + 3, 1}, {ids, g.n}, {ids + 5, 11}};
    s[i].v[0].max = 5;
    CHECK_OK(rlx_lm_generate_batch(lm, prompts, 3, &o, hear_one, &s[i], NULL));
    CHECK(s[i].v[0].n == 5 && s[i].v[1].n == 26 && s[i].v[2].n == 30); /* by the listener, a full context, its tokens */
    said_all on = {0};
    for (uint32_t k = 0; k < 3; k++) CHECK_OK(rlx_lm_truncate(lm, k, 0));
    CHECK_OK(rlx_lm_generate_batch(lm, prompts, 3, &o, hear_one, &on, NULL));
    CHECK(on.v[0].n == 30 && memcmp(&on.v[1], &s[i].v[1], 2 * sizeof on.v[0]) == 0);
    s[i].v[0].max = 12;
    CHECK_OK(rlx_lm_truncate(lm, 0, 6));
    o.max_tokens = 7;
    CHECK_OK(rlx_lm_truncate(lm, 1, 30));
    CHECK_OK(rlx_lm_generate_batch(lm, (rlx_lm_prompt[3]){{0}}, 3, &o, hear_one, &s[i], NULL));
    CHECK(s[i].v[0].n == 12 && s[i].v[1].n == 33 && s[i].v[2].n == 37);
    if (memcmp(&s[i], &s[0], sizeof s[0]) != 0) FAIL("other tokens on %s with %u ahead", device, (unsigned)o.ahead);
    rlx_lm_destroy(lm);
  }
  golden_close(&g);
}
TEST(several_sequences_ahead) { check_batch_ahead("cpu"); }
TEST(several_sequences_ahead_on_vulkan) { check_batch_ahead("vulkan:staging"); }

/* ---- embeddings need text: an encoder without a tokenizer says so ---- */

TEST(an_encoder_does_not_continue) {
  rlx_lm *lm = NULL;
  float out[64];
  CHECK_OK(load_with((rlx_lm_desc){.context = 16}, "bert", &lm));
  CHECK_FAILS(rlx_lm_append(lm, 0, (int32_t[1]){1}, 1, false, NULL), RLX_UNSUPPORTED, "embeds texts");
  CHECK_FAILS(rlx_lm_embed(lm, "a", 1, out, NULL), RLX_UNSUPPORTED, "tokenizer");
  rlx_lm_destroy(lm);
}
