/* Packed prompts: what a sequence holds after a batch does not depend on which other prompts were computed with it, on
 * how they were cut into programs, or on the row it has in the batch. Each is compared with a model that has it
 * alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "faults.h"
#include "folder.h"
#include "rlx/lm.h"
#include "test.h"

enum { MAX_N = 16, MAX_LENGTH = 160, MAX_VOCABULARY = 512 };
#define TOLERANCE 1e-4

static rlx_status load(const char *family, const char *device, rlx_lm_desc d, rlx_lm **out) {
  char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s", RLX_TEST_DATA, family);
  d.struct_bytes = sizeof d; /* as its RLX_LM_DESC_INIT */
  d.path = path;
  d.device = device;
  d.cache_type = RLX_LM_CACHE_F32;
  if (!d.context) d.context = 128;
  return rlx_lm_load(&d, out);
}

/* ---- prompts, and the models that compute them ---- */

typedef struct world {
  rlx_lm *all, *one; /* several sequences, and one: the prompts together, and each alone */
  uint32_t n_vocabulary;
  int32_t ids[MAX_N][MAX_LENGTH]; /* by sequence: tokens that it has or will get */
  rlx_lm_prompt prompts[MAX_N];
  size_t n;
} world;

static rlx_lm_options first_token(void) {
  return (rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = 1, .ignore_end = true};
}

static rlx_status open_world(world *w, const char *family, const char *device, rlx_lm_desc d) {
  *w = (world){0};
  rlx_status s = load(family, device, d, &w->all);
  d.n_sequences = 1;
  d.chunk = 0;
  if (!s) s = load(family, device, d, &w->one);
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  if (!s) s = rlx_lm_describe(w->one, &info);
  w->n_vocabulary = info.n_vocabulary;
  return s;
}

static void close_world(world *w) {
  rlx_lm_destroy(w->all);
  rlx_lm_destroy(w->one);
}

/* Prompts of these lengths, of tokens that differ from one to the next. */
static void set_prompts(world *w, const size_t *lengths, size_t n, uint32_t seed) {
  uint32_t state = seed * 2654435761u + 1;
  w->n = n;
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < lengths[i]; k++) {
      state = state * 1664525u + 1013904223u;
      w->ids[i][k] = (int32_t)((state >> 8) % w->n_vocabulary);
    }
    w->prompts[i] = (rlx_lm_prompt){w->ids[i], lengths[i]};
  }
}

typedef struct drawn {
  int32_t id[MAX_N];
  size_t n[MAX_N];
} drawn;

static bool hear(void *user, uint32_t sequence, int32_t id) {
  drawn *d = user;
  d->id[sequence] = id;
  d->n[sequence]++;
  return true;
}

static bool hear_one(void *user, int32_t id) {
  *(int32_t *)user = id;
  return true;
}

/* The tokens of sequence i of the batch, computed alone: the token drawn last, and the logits after it, must agree. */
static void check_sequence(world *w, uint32_t i, const char *what) {
  static float want[MAX_VOCABULARY], got[MAX_VOCABULARY];
  int32_t id = -1, next = 1;
  size_t n;
  const int32_t *held = rlx_lm_tokens(w->all, i, &n);
  rlx_lm_options o = first_token();
  CHECK(held && n >= 2 && w->n_vocabulary <= MAX_VOCABULARY);
  CHECK_OK(rlx_lm_truncate(w->one, 0, 0));
  CHECK_OK(rlx_lm_generate_ids(w->one, held, n - 1, &o, hear_one, &id, NULL));
  if (id != held[n - 1]) FAIL("%s: sequence %u draws %d, alone %d", what, (unsigned)i, (int)held[n - 1], (int)id);
  CHECK_OK(rlx_lm_append(w->one, 0, &next, 1, false, want));
  CHECK_OK(rlx_lm_append(w->all, i, &next, 1, false, got));
  double max = 0, size = 0;
  for (uint32_t k = 0; k < w->n_vocabulary; k++) {
    max = fmax(max, fabs((double)got[k] - (double)want[k]));
    size = fmax(size, fabs((double)want[k]));
  }
  if (!(max <= TOLERANCE * size)) FAIL("%s: logits of sequence %u differ by %g of %g", what, (unsigned)i, max, size);
  CHECK_OK(rlx_lm_truncate(w->all, i, (uint32_t)n));
}

/* Computes the prompts together, and checks all sequences. */
static void check_prompts(world *w, const char *what) {
  drawn d = {0};
  rlx_lm_options o = first_token();
  CHECK_OK(rlx_lm_generate_batch(w->all, w->prompts, w->n, &o, hear, &d, NULL));
  for (uint32_t i = 0; i < w->n && !test_has_failed(); i++) {
    CHECK_EQ_INT(d.n[i], 1);
    check_sequence(w, i, what);
  }
}

static void forget(world *w) {
  for (uint32_t i = 0; i < w->n; i++) CHECK_OK(rlx_lm_truncate(w->all, i, 0));
}

/* ---- every family ---- */

static const char *const families[] = {"llama",          "qwen2",   "qwen3",  "qwen3moe", "mistral",
                                       "qwen3moe_mixed", "mixtral", "gemma2", "gemma3",   "gpt2"};
enum { N_FAMILIES = sizeof families / sizeof *families };

/* One token alone, shorter and longer than a program, on its border, and longer than the windows. */
static const size_t mixed[] = {24, 1, 11, 8, 9, 2, 70, 17};
enum { N_MIXED = sizeof mixed / sizeof *mixed };

static void check_family(const char *family, const char *device, uint32_t chunk) {
  world w;
  char what[80];
  snprintf(what, sizeof what, "%s on %s, chunks of %u", family, device, (unsigned)chunk);
  CHECK_OK(open_world(&w, family, device, (rlx_lm_desc){.n_sequences = N_MIXED, .chunk = chunk}));
  set_prompts(&w, mixed, N_MIXED, chunk + 1);
  check_prompts(&w, what);
  set_prompts(&w, (size_t[N_MIXED]){3, 30, 0, 1, 20, 0, 5, 2}, N_MIXED, chunk + 2); /* and goes on */
  if (!test_has_failed()) check_prompts(&w, what);
  close_world(&w);
}

TEST(prompts_of_every_family) {
  static const uint32_t chunks[] = {0, 64, 20, 8, 3, 1};
  for (size_t f = 0; f < N_FAMILIES; f++)
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks && !test_has_failed(); i++)
      if (test_takes(f, i, 3)) check_family(families[f], "cpu", chunks[i]);
}

/* Sinks, parallel layers with windows, queries that grow, long positions, a shared expert. */
TEST(prompts_of_layers_with_other_parts) {
  static const char *const others[] = {"gpt_oss", "cohere2", "ministral3", "phi3_long", "glm4moe"};
  for (size_t i = 0; i < sizeof others / sizeof *others && !test_has_failed(); i++) check_family(others[i], "cpu", 20);
}

/* Recurrent states are one sequence's: prompts are computed one after the other. */
TEST(prompts_of_a_recurrent_family) { check_family("mamba", "cpu", 20); }

TEST(prompts_on_the_emulated_gpu) {
  if (!TEST_HAS_EMULATOR) SKIP("there is no emulated GPU here");
  if (TEST_IS_TSAN) SKIP("the emulator's fibers are not visible to the thread sanitizer");
  check_family("llama", "emu", 20);
  if (!test_has_failed()) check_family("gemma2", "emu", 64);
  if (!test_has_failed() && !TEST_IS_SANITIZED) check_family("qwen3moe", "emu", 0);
}

TEST(prompts_on_vulkan) {
  rlx_session *session;
  if (rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "vulkan"}, &session)) SKIP(rlx_message());
  rlx_session_destroy(session);
  check_family("llama", "vulkan", 0);
  if (!test_has_failed()) check_family("gemma3", "vulkan", 20);
}

/* ---- mixtures ---- */

TEST(any_lengths_in_any_order) {
  world w;
  CHECK_OK(open_world(&w, "llama", "cpu", (rlx_lm_desc){.n_sequences = 13, .chunk = 32, .n_threads = 2}));
  for (uint32_t round = 0; round < 12 && !test_has_failed(); round++) {
    size_t lengths[13];
    for (size_t i = 0; i < 13; i++)
      lengths[i] = 1 + (i * 7919 + round * 104729) % (round % 3 == 0 ? 5 : round % 3 == 1 ? 40 : 110);
    set_prompts(&w, lengths, round % 2 ? 13 : 9, round);
    check_prompts(&w, "random lengths");
    if (!test_has_failed()) forget(&w);
  }
  close_world(&w);
}

/* The first prompt in another row, beside others: bit for bit the same logits. */
TEST(the_row_of_a_sequence_does_not_matter) {
  world w;
  static float logits[2][MAX_VOCABULARY];
  const uint32_t rows[2] = {0, 5};
  CHECK_OK(open_world(&w, "qwen3", "cpu", (rlx_lm_desc){.n_sequences = 7, .chunk = 64}));
  CHECK(w.n_vocabulary <= MAX_VOCABULARY);
  for (int k = 0; k < 2; k++) {
    size_t lengths[7] = {9, 9, 9, 9, 9, 9, 9};
    drawn d = {0};
    rlx_lm_options o = first_token();
    set_prompts(&w, lengths, 7, 3 + (uint32_t)k);
    for (int i = 0; i < 9; i++) w.ids[rows[k]][i] = 3 * i + 1;
    CHECK_OK(rlx_lm_generate_batch(w.all, w.prompts, 7, &o, hear, &d, NULL));
    CHECK_OK(rlx_lm_truncate(w.all, rows[k], 9));
    CHECK_OK(rlx_lm_append(w.all, rows[k], (int32_t[1]){2}, 1, false, logits[k]));
    forget(&w);
  }
  CHECK(memcmp(logits[0], logits[1], w.n_vocabulary * sizeof(float)) == 0);
  close_world(&w);
}

/* Packing writes the rows of its tokens and no others: beside it lies a sequence whose context is full. */
TEST(beside_a_full_context) {
  world w;
  rlx_lm_options o = first_token();
  drawn d = {0};
  int32_t full[40];
  CHECK_OK(open_world(&w, "mistral", "cpu", (rlx_lm_desc){.n_sequences = 4, .chunk = 16, .context = 40}));
  set_prompts(&w, (size_t[4]){12, 38, 1, 30}, 4, 1);
  check_prompts(&w, "nearly full");
  if (test_has_failed()) return;
  set_prompts(&w, (size_t[4]){2, 0, 3, 0}, 4, 2);
  CHECK_OK(rlx_lm_generate_batch(w.all, w.prompts, 4, &o, hear, &d, NULL));
  CHECK(rlx_lm_length(w.all, 1) == 40 && d.n[1] == 1);
  memcpy(full, rlx_lm_tokens(w.all, 1, NULL), sizeof full);
  set_prompts(&w, (size_t[4]){20, 0, 30, 5}, 4, 3);
  CHECK_OK(rlx_lm_generate_batch(w.all, w.prompts, 4, &o, hear, &d, NULL));
  CHECK(d.n[0] == 2 && d.n[1] == 1 && d.n[2] == 2 && d.n[3] == 2); /* the full one has no room for its token */
  for (uint32_t i = 0; i < 4 && !test_has_failed(); i += i ? 1 : 2) check_sequence(&w, i, "beside a full one");
  if (test_has_failed()) return;
  CHECK_OK(rlx_lm_truncate(w.all, 1, 39));
  CHECK_OK(rlx_lm_generate_batch(w.all, (rlx_lm_prompt[4]){{0}}, 4, &o, hear, &d, NULL));
  CHECK(d.n[1] == 2 && d.id[1] == full[39]); /* from the keys and values that were there */
  CHECK(memcmp(full, rlx_lm_tokens(w.all, 1, NULL), sizeof full) == 0);
  close_world(&w);
}

/* ---- with everything else that a sequence can do ---- */

TEST(saved_restored_and_continued) {
  world w;
  CHECK(folder_begin());
  CHECK_OK(open_world(&w, "gemma3", "cpu", (rlx_lm_desc){.n_sequences = 5, .chunk = 16}));
  set_prompts(&w, (size_t[5]){30, 7, 1, 22, 9}, 5, 1);
  check_prompts(&w, "before saving");
  if (test_has_failed()) return;
  CHECK_OK(rlx_lm_save(w.all, 3, folder_path("packed.safetensors")));
  CHECK_OK(rlx_lm_restore(w.all, 1, folder_path("packed.safetensors")));
  CHECK_OK(rlx_lm_append(w.all, 2, (int32_t[3]){4, 5, 6}, 3, false, NULL)); /* held alone when the batch begins */
  set_prompts(&w, (size_t[5]){5, 25, 12, 0, 40}, 5, 2);
  check_prompts(&w, "after restoring");
  close_world(&w);
}

typedef struct patience {
  drawn d; /* comes first: hear gets it */
  uint32_t n_asked, max;
} patience;

static bool is_over(void *user) {
  patience *p = user;
  return p->n_asked++ == p->max;
}

/* Cancelled before the first, second .. program; what was computed stays, and the rest follows. */
TEST(cancelled_between_programs) {
  world w;
  rlx_lm_options o = first_token();
  o.cancel = is_over;
  CHECK_OK(open_world(&w, "llama", "cpu", (rlx_lm_desc){.n_sequences = 6, .chunk = 16}));
  for (uint32_t max = 0; max < 5 && !test_has_failed(); max++) {
    patience p = {.max = max};
    set_prompts(&w, (size_t[6]){20, 15, 14, 13, 12, 3}, 6, max);
    CHECK_FAILS(rlx_lm_generate_batch(w.all, w.prompts, 6, &o, hear, &p, NULL), RLX_CANCELLED, "stopped");
    CHECK(p.n_asked == max + 1 && p.d.n[0] == 0 && rlx_lm_length(w.all, 0) == 20);
    for (int i = 0; i < 6; i++) w.prompts[i].n = 0;
    check_prompts(&w, "after a cancel");
    if (!test_has_failed()) forget(&w);
  }
  close_world(&w);
}

/* The number of programs is that of the tokens, not of the sequences: 12 prompts of 9 tokens, 8 of them before the last
 * one, are 96 tokens, which are 3 programs of 32. */
TEST(as_many_programs_as_tokens_need) {
  world w;
  size_t lengths[12];
  for (int i = 0; i < 12; i++) lengths[i] = 9;
  CHECK_OK(open_world(&w, "llama", "cpu", (rlx_lm_desc){.n_sequences = 12, .chunk = 32}));
  set_prompts(&w, lengths, 12, 1);
  rlx_lm_options o = first_token();
  o.cancel = is_over; /* asked before each program */
  patience p = {.max = UINT32_MAX};
  CHECK_OK(rlx_lm_generate_batch(w.all, w.prompts, 12, &o, hear, &p, NULL));
  CHECK_EQ_INT(p.n_asked, 3);
  close_world(&w);
}

/* What loading (or a dry run) reports is what a batch takes. */
TEST(memory_is_what_was_reported) {
  rlx_lm *dry = NULL;
  rlx_lm_info planned = {RLX_LM_INFO_INIT}, before = {RLX_LM_INFO_INIT}, after = {RLX_LM_INFO_INIT};
  world w;
  rlx_lm_desc d = {.n_sequences = N_MIXED, .chunk = 64};
  CHECK_OK(open_world(&w, "llama", "cpu", d));
  d.dry_run = true;
  CHECK_OK(load("llama", "cpu", d, &dry));
  CHECK_OK(rlx_lm_describe(dry, &planned));
  CHECK_OK(rlx_lm_describe(w.all, &before));
  set_prompts(&w, mixed, N_MIXED, 1);
  check_prompts(&w, "memory");
  CHECK_OK(rlx_lm_describe(w.all, &after));
  CHECK_EQ_INT(before.state_bytes, planned.state_bytes);
  CHECK_EQ_INT(after.state_bytes, before.state_bytes);
  CHECK_EQ_INT(after.scratch_bytes, before.scratch_bytes);
  CHECK_EQ_INT(before.scratch_bytes, planned.scratch_bytes);
  rlx_lm_destroy(dry);
  close_world(&w);
}

/* Where memory is short, programs are smaller, down to one prompt after the other: a model that fits without packing
 * loads, and computes the same. */
TEST(as_much_as_memory_allows) {
  rlx_session *session;
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  rlx_lm_info full = {RLX_LM_INFO_INIT}, less = {RLX_LM_INFO_INIT};
  rlx_lm *lm;
  unsigned n_smaller = 0;
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &session));
  rlx_lm_desc d = {.n_sequences = N_MIXED, .context = 96, .session = session};
  CHECK_OK(load("llama", NULL, d, &lm));
  CHECK_OK(rlx_lm_describe(lm, &full));
  CHECK_OK(rlx_session_stats_get(session, &stats));
  rlx_lm_destroy(lm);
  rlx_session_destroy(session);
  d.session = NULL;
  for (unsigned share = 98; share > 20 && !test_has_failed(); share -= 6) {
    world w;
    d.watch.limits.device_bytes = stats.used_bytes * share / 100;
    rlx_status s = open_world(&w, "llama", "cpu", d);
    CHECK(s == RLX_OK || s == RLX_LIMIT);
    if (!s) {
      set_prompts(&w, mixed, N_MIXED, share);
      check_prompts(&w, "little memory");
      CHECK_OK(rlx_lm_describe(w.all, &less));
      n_smaller += less.scratch_bytes < full.scratch_bytes;
    }
    close_world(&w);
  }
  CHECK(n_smaller >= 2);
}

/* Every allocation of a batch fails once; afterwards the model works. */
static rlx_status compute_prompts(void *user) {
  world *w = user;
  rlx_lm_options o = first_token();
  drawn d = {0};
  rlx_lm *lm = NULL;
  rlx_status s = load("llama", "cpu", (rlx_lm_desc){.n_sequences = 3, .chunk = 16, .n_threads = 1, .context = 32}, &lm);
  if (!s) s = rlx_lm_generate_batch(lm, w->prompts, 3, &o, hear, &d, NULL);
  if (s == RLX_NO_MEMORY && lm) { /* once more, from what is there */
    for (uint32_t i = 0; i < 3; i++) {
      rlx_status again = rlx_lm_truncate(lm, i, 0);
      if (again) s = again;
    }
    rlx_status again = s == RLX_NO_MEMORY ? rlx_lm_generate_batch(lm, w->prompts, 3, &o, hear, &d, NULL) : s;
    if (again && again != RLX_NO_MEMORY) s = again;
  }
  rlx_lm_destroy(lm);
  return s;
}

TEST(failing_allocations) {
  static world w = {.n_vocabulary = 64};
  rlx_session *keeper; /* the pool of threads and the device's tables stay */
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1}, &keeper));
  set_prompts(&w, (size_t[3]){9, 14, 6}, 3, 1);
  CHECK_OK(compute_prompts(&w));
  CHECK_OK(alloc_sweep(compute_prompts, &w));
  rlx_session_destroy(keeper);
}
