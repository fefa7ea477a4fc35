/* Speculation: the tokens are those without it, whatever is guessed, by whom, and however they are drawn. */
#include <string.h>

#include "faults.h"
#include "rlx/lm.h"
#include "test.h"

static const char *const families[] = {"llama", "qwen2", "qwen3", "qwen3moe", "mixtral", "gemma2", "gemma3", "gpt2"};
enum { N_FAMILIES = sizeof families / sizeof *families, MAX_TOKENS = 128, N_PROMPT = 24 };

#define SHAKESPEARE RLX_TEST_DATA "/../../models/shakespeare/shakespeare.gguf"

static rlx_status load(const char *family, const char *device, rlx_lm **out) {
  char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s", RLX_TEST_DATA, family);
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = path, .device = device, .cache_type = RLX_LM_CACHE_F32};
  return rlx_lm_load(&d, out);
}

typedef struct drawn {
  int32_t ids[MAX_TOKENS];
  size_t n, stop_after; /* stop_after: tokens; 0: never */
  rlx_lm_stats stats;
} drawn;

static bool keep(void *user, int32_t id) {
  drawn *d = user;
  if (d->n < MAX_TOKENS) d->ids[d->n++] = id;
  return d->n != d->stop_after;
}

/* A prompt that repeats itself. */
static void make_prompt(int32_t *ids) {
  for (int i = 0; i < N_PROMPT; i++) ids[i] = 5 + i % 7;
}

static rlx_status draw(rlx_lm *lm, const rlx_lm_options *o, drawn *out) {
  int32_t prompt[N_PROMPT];
  make_prompt(prompt);
  out->n = 0;
  out->stats = (rlx_lm_stats){RLX_LM_STATS_INIT};
  RLX_TRY(rlx_lm_truncate(lm, o->sequence, 0));
  return rlx_lm_generate_ids(lm, prompt, N_PROMPT, o, keep, out, &out->stats);
}

/* Draws with these options, without and with speculation. */
static rlx_status compare(rlx_lm *lm, rlx_lm_options o, rlx_lm *draft, uint32_t most, drawn *with) {
  drawn without = {.stop_after = with->stop_after};
  RLX_TRY(draw(lm, &o, &without));
  o.lookup = draft ? 0 : most;
  o.n_draft = draft ? most : 0;
  o.draft = draft;
  RLX_TRY(draw(lm, &o, with));
  if (with->n != without.n || memcmp(with->ids, without.ids, with->n * sizeof *with->ids) != 0)
    return RLX_FAIL(RLX_INVALID, "%zu tokens with speculation (%u of %u guesses right), %zu without, or others",
                    with->n, (unsigned)with->stats.n_right, (unsigned)with->stats.n_guessed, without.n);
  if (strcmp(with->stats.ended, without.stats.ended) != 0 || with->stats.n_tokens != without.stats.n_tokens)
    return RLX_FAIL(RLX_INVALID, "ended by %s after %u, without by %s after %u", with->stats.ended,
                    (unsigned)with->stats.n_tokens, without.stats.ended, (unsigned)without.stats.n_tokens);
  if (with->stats.n_right > with->stats.n_guessed) return RLX_FAIL(RLX_INVALID, "more right than guessed");
  return RLX_OK;
}

static const rlx_lm_options settings[] = {
  {RLX_LM_OPTIONS_INIT},
  {RLX_LM_OPTIONS_INIT, .temperature = 0.8, .seed = 3},
  {RLX_LM_OPTIONS_INIT, .temperature = 0.7, .top_k = 3, .top_p = 0.9, .seed = 11},
  {RLX_LM_OPTIONS_INIT, .repetition_penalty = 1.3},
  {RLX_LM_OPTIONS_INIT, .temperature = 0.5, .repetition_penalty = 1.1, .penalty_tokens = 8, .seed = 5},
  {RLX_LM_OPTIONS_INIT, .temperature = 0.9, .mirostat_tau = 3, .seed = 9},
  {RLX_LM_OPTIONS_INIT, .presence_penalty = 0.5, .dry_multiplier = 0.8},
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* Every setting with every number of guesses, or (`few`) in turn with one of them. */
static void compare_all(const char *family, const char *device, rlx_lm *draft, bool few) {
  static const uint32_t most[] = {1, 3, 7, 31};
  rlx_lm *lm;
  uint32_t guessed = 0, right = 0;
  const bool on_emulator = strcmp(device, "emu") == 0;
  rlx_status s = load(family, device, &lm);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  for (size_t i = 0; i < N_SETTINGS; i++) {
    for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
      if (few && (k != i % 4 || (on_emulator && !test_takes(i, 0, 3)))) continue;
      drawn with = {0};
      rlx_lm_options o = settings[i];
      o.max_tokens = 40;
      o.ignore_end = true;
      s = compare(lm, o, draft, most[k], &with);
      if (s) FAIL("%s, setting %zu, %u at once: %s", family, i, (unsigned)most[k], rlx_message());
      guessed += with.stats.n_guessed;
      right += with.stats.n_right;
    }
  }
  rlx_lm_destroy(lm);
  CHECK(guessed > 0 && right > 0); /* or nothing was tried */
}

TEST(looked_up_tokens_change_nothing) {
  for (int i = 0; i < N_FAMILIES; i++) {
    compare_all(families[i], "cpu", NULL, i > 0);
    if (test_has_failed()) return;
  }
}

TEST(looked_up_tokens_change_nothing_on_the_emulated_gpu) {
  if (TEST_IS_TSAN) SKIP("the thread sanitizer does not follow the emulated GPU's stacks");
  compare_all("qwen3", "emu", NULL, true);
}

TEST(a_draft_model_changes_nothing) {
  rlx_lm *draft;
  CHECK_OK(load("llama", "cpu", &draft));
  compare_all("llama", "cpu", draft, true); /* all is right: it is the same model */
  rlx_lm_destroy(draft);
}

TEST(a_perfect_draft_is_always_right) {
  rlx_lm *lm, *draft;
  drawn with = {0};
  CHECK_OK(load("llama", "cpu", &lm));
  CHECK_OK(load("llama", "cpu", &draft));
  CHECK_OK(compare(lm, (rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = 40, .ignore_end = true}, draft, 3, &with));
  CHECK_EQ_INT(with.stats.n_right, with.stats.n_guessed);
  CHECK(with.stats.n_guessed > 0);
  rlx_lm_destroy(draft);
  rlx_lm_destroy(lm);
}

TEST(ends_in_the_middle_of_guesses) {
  rlx_lm *lm;
  CHECK_OK(load("llama", "cpu", &lm));
  for (size_t stop = 1; stop <= 12; stop++) {
    drawn with = {.stop_after = stop};
    CHECK_OK(compare(lm, (rlx_lm_options){RLX_LM_OPTIONS_INIT, .ignore_end = true}, NULL, 7, &with));
    CHECK_EQ_INT(with.n, stop);
    with.stop_after = 0;
    rlx_lm_options few = {RLX_LM_OPTIONS_INIT, .ignore_end = true, .max_tokens = (uint32_t)stop};
    CHECK_OK(compare(lm, few, NULL, 31, &with));
    /* the sequence goes on as if nothing had been guessed */
    const uint32_t length = rlx_lm_length(lm, 0);
    CHECK_EQ_INT(length, N_PROMPT + stop);
  }
  drawn with = {0};
  CHECK_OK(compare(lm, (rlx_lm_options){RLX_LM_OPTIONS_INIT, .ignore_end = true}, NULL, 31, &with)); /* to the end */
  CHECK_EQ_STR(with.stats.ended, "context");
  rlx_lm_destroy(lm);
}

static void add_text(void *user, const char *text, size_t bytes) {
  char *out = user;
  strncat(out, text, bytes < 200 ? bytes : 200);
}

TEST(a_grammar_goes_with_guesses) {
  static const char grammar[] = "root ::= ((\"abcabc\" | \"abcabd\") \" \"){3,6} \"!\"";
  rlx_lm *lm;
  rlx_grammar *g;
  /* so that no rounding decides between two tokens */
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = SHAKESPEARE, .device = "cpu", .cache_type = RLX_LM_CACHE_F32,
                   .switches = RLX_SWITCH_EXACT};
  CHECK_OK(rlx_lm_load(&d, &lm));
  CHECK_OK(rlx_grammar_create(rlx_lm_tokenizer(lm), RLX_GRAMMAR_GBNF, grammar, strlen(grammar), &g));
  uint32_t right = 0;
  for (uint64_t seed = 0; seed < 12; seed++) {
    char text[2][1000] = {"", ""};
    rlx_lm_stats stats[2] = {{RLX_LM_STATS_INIT}, {RLX_LM_STATS_INIT}};
    for (uint32_t k = 0; k < 2; k++) {
      rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .grammar = g, .temperature = 1, .seed = seed, .lookup = k ? 7 : 0};
      CHECK_OK(rlx_lm_truncate(lm, 0, 0));
      CHECK_OK(rlx_lm_generate(lm, "abcabc abcabd abcabc ", 21, &o, add_text, text[k], &stats[k]));
      CHECK_EQ_STR(stats[k].ended, "end");
    }
    CHECK_EQ_STR(text[1], text[0]);
    right += stats[1].n_right;
  }
  CHECK(right > 0);
  rlx_grammar_destroy(g);
  rlx_lm_destroy(lm);
}

/* ---- requests ---- */

enum { N_REQUESTS = 7 };

typedef struct asked {
  drawn d;
  rlx_lm *lm;
  uint64_t number;
  char ended[16];
} asked;

static void hear(void *user, const rlx_lm_event *e) {
  asked *a = user;
  if (e->id >= 0) keep(&a->d, e->id);
  if (!e->ended) {
    if (a->d.stop_after && a->d.n == a->d.stop_after) (void)!rlx_lm_cancel(a->lm, a->number);
    return;
  }
  snprintf(a->ended, sizeof a->ended, "%s", e->ended);
  a->d.stats = *e->stats;
}

static rlx_status ask_all(rlx_lm *lm, const rlx_lm_options *o, uint32_t most, rlx_lm *draft, asked *all) {
  int32_t prompt[N_PROMPT];
  make_prompt(prompt);
  for (uint32_t i = 0; i < N_REQUESTS; i++) {
    rlx_lm_options own = *o;
    own.seed += i;
    own.max_tokens = 10 + 5 * i;
    own.lookup = draft ? 0 : i == 2 ? 0 : most; /* one without */
    own.n_draft = draft ? most : 0;
    own.draft = draft;
    prompt[0] = (int32_t)(5 + i);
    all[i].lm = lm;
    rlx_lm_request r = {RLX_LM_REQUEST_INIT, .ids = prompt, .n = N_PROMPT - i % 3,
                        .options = &own,     .fn = hear,    .user = &all[i]};
    RLX_TRY(rlx_lm_submit(lm, &r, &all[i].number));
  }
  for (uint32_t left = 1; left;) RLX_TRY(rlx_lm_step(lm, &left));
  return RLX_OK;
}

static rlx_status load_many(const char *family, uint32_t n, uint32_t context, rlx_lm **out) {
  char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s", RLX_TEST_DATA, family);
  return rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = path, .device = "cpu", .n_sequences = n,
                                    .context = context, .cache_type = RLX_LM_CACHE_F32},
                     out);
}

/* Every step-th setting: requests draw the same with and without guesses, also where memory is short and where one is cancelled. */
static void compare_requests(const char *family, rlx_lm *draft, uint32_t most, size_t stop_after, size_t step) {
  rlx_lm *lm;
  uint32_t guessed = 0;
  CHECK_OK(load_many(family, 4, 64, &lm));
  for (size_t i = step % N_SETTINGS; i < N_SETTINGS; i += step) {
    asked with[N_REQUESTS] = {0}, without[N_REQUESTS] = {0};
    rlx_lm_options o = settings[i];
    o.ignore_end = true;
    with[3].d.stop_after = without[3].d.stop_after = stop_after;
    CHECK_OK(ask_all(lm, &o, 0, NULL, without));
    CHECK_OK(ask_all(lm, &o, most, draft, with));
    for (size_t k = 0; k < N_REQUESTS; k++) {
      CHECK_EQ_STR(with[k].ended, without[k].ended);
      if (with[k].d.n != without[k].d.n || memcmp(with[k].d.ids, without[k].d.ids, with[k].d.n * sizeof(int32_t)) != 0)
        FAIL("%s, setting %zu, request %zu: other tokens with guesses", family, i, k);
      CHECK(with[k].d.stats.n_right <= with[k].d.stats.n_guessed && without[k].d.stats.n_guessed == 0);
      guessed += with[k].d.stats.n_guessed;
    }
  }
  CHECK(guessed > 0);
  rlx_lm_destroy(lm);
}

TEST(guesses_change_no_request) {
  for (int i = 0; i < N_FAMILIES; i++) {
    compare_requests(families[i], NULL, i % 2 ? 7 : 31, i % 3 ? 0 : 4, i ? (size_t)i % 4 + 3 : 1);
    if (test_has_failed()) return;
  }
}

TEST(a_draft_model_changes_no_request) {
  rlx_lm *draft;
  CHECK_OK(load_many("llama", 2, 64, &draft)); /* fewer sequences than requests */
  compare_requests("llama", draft, 3, 0, 2);
  rlx_lm_destroy(draft);
}

TEST(what_cannot_be) {
  rlx_lm *lm, *other, *mamba;
  drawn d = {0};
  CHECK_OK(load("llama", "cpu", &lm));
  CHECK_OK(rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = SHAKESPEARE, .device = "cpu"}, &other));
  CHECK_OK(load("mamba", "cpu", &mamba));
#define DRAW(on, ...) draw(on, &(rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = 4, __VA_ARGS__}, &d)
  CHECK_FAILS(DRAW(lm, .lookup = 32), RLX_INVALID, "at most 31");
  CHECK_FAILS(DRAW(lm, .draft = lm), RLX_INVALID, "itself");
  CHECK_FAILS(DRAW(lm, .n_draft = 3), RLX_INVALID, "without a draft model");
  CHECK_FAILS(DRAW(lm, .draft = other, .lookup = 3), RLX_INVALID, "exclude");
  CHECK_FAILS(DRAW(mamba, .lookup = 3), RLX_UNSUPPORTED, "mamba");
  CHECK_FAILS(DRAW(lm, .draft = other), RLX_INVALID, "vocabulary");
#undef DRAW
  rlx_lm_destroy(mamba);
  rlx_lm_destroy(other);
  rlx_lm_destroy(lm);
}

static rlx_status with_lookup(void *lm) {
  drawn d = {0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 12, .lookup = 7, .ignore_end = true, .temperature = 0.5};
  return draw(lm, &o, &d);
}

TEST(where_memory_fails) {
  rlx_lm *lm;
  CHECK_OK(load("llama", "cpu", &lm));
  CHECK_OK(with_lookup(lm)); /* makes the programs */
  CHECK_OK(alloc_sweep(with_lookup, lm));
  rlx_lm_destroy(lm);
}
