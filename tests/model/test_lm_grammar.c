/* Generation under a grammar, with the model that ships: the greedy text is the one that trying every token gives, each
 * sequence and each request keeps its own place, and the end comes where the grammar allows nothing else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "rlx/lm.h"
#include "test.h"
#include "text/grammar.h"

enum { MAX_TOKENS = 200 };
static const char pattern[] = "( [a-z]{2,7}){3}\\.", schema[] =
                                                       "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
                                                       "\"string\",\"maxLength\":8},\"age\":{\"type\":\"integer\","
                                                       "\"minimum\":1,\"maximum\":99}},\"required\":[\"name\","
                                                       "\"age\"]}";

static rlx_status load(uint32_t n_sequences, rlx_lm **out) {
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = RLX_TEST_DATA "/../../models/shakespeare/shakespeare.gguf",
                   .n_sequences = n_sequences, .context = 256, .cache_type = RLX_LM_CACHE_F32};
  return rlx_lm_load(&d, out);
}

static rlx_status make(const rlx_lm *lm, rlx_grammar_kind kind, const char *text, rlx_grammar **out) {
  return rlx_grammar_create(rlx_lm_tokenizer(lm), kind, text, strlen(text), out);
}

typedef struct heard {
  int32_t ids[MAX_TOKENS];
  size_t n;
  rlx_str text;
  char ended[16];
  rlx_status status;
} heard;

static bool keep(void *user, int32_t id) {
  heard *h = user;
  if (h->n < MAX_TOKENS) h->ids[h->n++] = id;
  return h->n < MAX_TOKENS;
}

static void keep_text(void *user, const char *text, size_t bytes) {
  rlx_str_add_bytes(&((heard *)user)->text, text, bytes);
}

static void hear(void *user, const rlx_lm_event *e) {
  heard *h = user;
  if (e->id >= 0 && h->n < MAX_TOKENS) h->ids[h->n++] = e->id;
  keep_text(h, e->text, e->bytes);
  if (!e->ended) return;
  snprintf(h->ended, sizeof h->ended, "%s", e->ended);
  h->status = e->status;
}

static bool matches(const rlx_grammar *g, const char *text, size_t n) {
  grammar_state *s;
  if (!text || grammar_state_create(g, &s)) return false;
  bool is_match = !grammar_state_accept_bytes(s, text, n) && grammar_state_may_end(s);
  grammar_state_destroy(s);
  return is_match;
}

/* The likeliest token that fits, by trying each. */
static int32_t best_of(const rlx_lm *lm, const rlx_grammar *g, const heard *h, const float *logits) {
  int32_t best = -1;
  for (int32_t id = 0; (uint32_t)id < rlx_tokenizer_size(rlx_lm_tokenizer(lm)); id++) {
    grammar_state *s;
    if (best >= 0 && !(logits[id] > logits[best])) continue;
    if (grammar_state_create(g, &s)) return -1;
    bool fits = true;
    for (size_t i = 0; i < h->n && fits; i++) fits = !grammar_state_accept(s, h->ids[i]);
    if (fits)
      fits = rlx_tokenizer_is_end(rlx_lm_tokenizer(lm), id) ? grammar_state_may_end(s) : !grammar_state_accept(s, id);
    grammar_state_destroy(s);
    if (fits) best = id;
  }
  return best;
}

static rlx_status try_everything(rlx_lm *lm, const rlx_grammar *g, const int32_t *prompt, size_t n, heard *out) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  RLX_TRY(rlx_lm_describe(lm, &info));
  RLX_TRY(rlx_lm_truncate(lm, 0, 0));
  float *logits = calloc(info.n_vocabulary, sizeof *logits);
  rlx_status s = logits ? rlx_lm_append(lm, 0, prompt, n, false, logits) : RLX_NO_MEMORY;
  while (!s && out->n < MAX_TOKENS) {
    int32_t id = best_of(lm, g, out, logits);
    if (id < 0 || rlx_tokenizer_is_end(rlx_lm_tokenizer(lm), id)) break;
    out->ids[out->n++] = id;
    s = rlx_lm_append(lm, 0, &id, 1, false, logits);
  }
  free(logits);
  return s;
}

static bool are_equal(const heard *a, const heard *b) {
  return a->n == b->n && memcmp(a->ids, b->ids, a->n * sizeof *a->ids) == 0;
}

TEST(greedy_text_is_what_trying_every_token_gives) {
  static const struct {
    rlx_grammar_kind kind;
    const char *text;
  } grammars[] = {{RLX_GRAMMAR_REGEX, pattern},
                  {RLX_GRAMMAR_JSON_SCHEMA, schema},
                  {RLX_GRAMMAR_GBNF, "root ::= \"a\"{4} | \"the \" [a-z]{1,12} \"!\""}};
  rlx_lm *lm;
  int32_t *ids;
  size_t n;
  CHECK_OK(load(1, &lm));
  CHECK_OK(rlx_tokenizer_encode(rlx_lm_tokenizer(lm), "KING:\nWhat", 10, RLX_TOKENS_ADD_SPECIAL, &ids, &n));
  for (size_t i = 0; i < sizeof grammars / sizeof *grammars; i++) {
    rlx_grammar *g;
    heard want = {0}, got = {0}, text = {0};
    rlx_lm_stats stats = {RLX_LM_STATS_INIT};
    CHECK_OK(make(lm, grammars[i].kind, grammars[i].text, &g));
    CHECK_OK(try_everything(lm, g, ids, n, &want));
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = MAX_TOKENS, .grammar = g};
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids, n, &o, keep, &got, &stats));
    CHECK(want.n > 3 && are_equal(&want, &got));
    CHECK_EQ_STR(stats.ended, "end");
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate(lm, "KING:\nWhat", 10, &o, keep_text, &text, &stats));
    CHECK(matches(g, text.text.v, text.text.n));
    text.text.n = 0;
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_reply(lm, "chatml", &(rlx_chat_message){"user", "Speak."}, 1, &o, keep_text, &text, &stats));
    CHECK(matches(g, text.text.v, text.text.n));
    rlx_str_deinit(&text.text);
    rlx_grammar_destroy(g);
  }
  rlx_free(ids);
  rlx_lm_destroy(lm);
}

TEST(guesses_follow_the_grammar) {
  rlx_lm *lm;
  rlx_grammar *g;
  const int32_t prompt = 5;
  CHECK_OK(load(1, &lm));
  CHECK_OK(make(lm, RLX_GRAMMAR_GBNF, "root ::= (\"one \" | \"two \"){12} \"!\"", &g));
  for (uint32_t seed = 0; seed < 4; seed++) {
    heard plain = {0}, guessed = {0};
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .grammar = g, .seed = seed, .temperature = seed ? 0.8 : 0};
    rlx_lm_stats stats = {RLX_LM_STATS_INIT};
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, &prompt, 1, &o, keep, &plain, NULL));
    o.lookup = 8;
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, &prompt, 1, &o, keep, &guessed, &stats));
    CHECK(plain.n > 12 && are_equal(&plain, &guessed));
    CHECK_EQ_STR(stats.ended, "end");
  }
  rlx_grammar_destroy(g);
  rlx_lm_destroy(lm);
}

/* With every setting that draws. */
TEST(drawn_texts_match) {
  rlx_lm *lm;
  rlx_grammar *g;
  CHECK_OK(load(1, &lm));
  CHECK_OK(make(lm, RLX_GRAMMAR_JSON_SCHEMA, schema, &g));
  for (uint64_t seed = 0; seed < 20; seed++) {
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = MAX_TOKENS, .temperature = 1.2, .seed = seed, .grammar = g};
    heard h = {0};
    if (seed % 5 == 1) o.top_k = 3;
    if (seed % 5 == 2) o.mirostat_tau = 4;
    if (seed % 5 == 3) o.repetition_penalty = 1.3, o.dry_multiplier = 1;
    if (seed % 5 == 4) o.typical_p = 0.8, o.top_p = 0.9, o.xtc_probability = 0.5;
    rlx_lm_stats stats = {RLX_LM_STATS_INIT};
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate(lm, "KING:\n", 6, &o, keep_text, &h, &stats));
    CHECK_EQ_STR(stats.ended, "end");
    CHECK(matches(g, h.text.v, h.text.n));
    rlx_str_deinit(&h.text);
  }
  rlx_grammar_destroy(g);
  rlx_lm_destroy(lm);
}

TEST(requests_have_a_place_each) {
  enum { N = 4 };
  rlx_lm *lm;
  rlx_grammar *g[2];
  heard alone[N] = {0}, h[N] = {0};
  int32_t *ids;
  size_t n;
  CHECK_OK(load(3, &lm));
  CHECK_OK(make(lm, RLX_GRAMMAR_REGEX, pattern, &g[0]));
  CHECK_OK(make(lm, RLX_GRAMMAR_JSON_SCHEMA, schema, &g[1]));
  CHECK_OK(rlx_tokenizer_encode(rlx_lm_tokenizer(lm), "KING:\nWhat", 10, RLX_TOKENS_ADD_SPECIAL, &ids, &n));
  for (size_t i = 0; i < N; i++) {
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = MAX_TOKENS, .grammar = i < 3 ? g[i % 2] : NULL};
    if (i == 3) o.max_tokens = 20;
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids, n, &o, keep, &alone[i], NULL));
  }
  for (size_t i = 0; i < N; i++) {
    uint64_t number;
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = MAX_TOKENS, .grammar = i < 3 ? g[i % 2] : NULL};
    if (i == 3) o.max_tokens = 20;
    rlx_lm_request r = {RLX_LM_REQUEST_INIT, .ids = ids, .n = n, .options = &o, .fn = hear, .user = &h[i]};
    CHECK_OK(rlx_lm_submit(lm, &r, &number));
  }
  rlx_grammar *last = g[1];
  rlx_grammar_destroy(g[0]); /* the requests hold it */
  uint32_t left = 1;
  while (left) CHECK_OK(rlx_lm_step(lm, &left));
  for (size_t i = 0; i < N; i++) {
    CHECK(are_equal(&alone[i], &h[i]));
    CHECK_EQ_STR(h[i].ended, i < 3 ? "end" : "length");
    rlx_str_deinit(&h[i].text);
  }
  rlx_grammar_destroy(last);
  rlx_free(ids);
  rlx_lm_destroy(lm);
}

typedef struct rows {
  heard of[3];
} rows;

static bool keep_row(void *user, uint32_t sequence, int32_t id) { return keep(&((rows *)user)->of[sequence], id); }

TEST(sequences_of_a_batch_have_a_place_each) {
  static const char *const prompts[] = {"KING:\nWhat", "QUEEN:\nO", "FIRST CITIZEN:\nBefore we"};
  rlx_lm *lm;
  rlx_grammar *g;
  rows got = {0};
  heard alone[3] = {0};
  rlx_lm_prompt p[3];
  int32_t *ids[3];
  CHECK_OK(load(3, &lm));
  CHECK_OK(make(lm, RLX_GRAMMAR_JSON_SCHEMA, schema, &g));
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = MAX_TOKENS, .grammar = g};
  for (size_t i = 0; i < 3; i++) {
    CHECK_OK(rlx_tokenizer_encode(rlx_lm_tokenizer(lm), prompts[i], strlen(prompts[i]), RLX_TOKENS_ADD_SPECIAL, &ids[i],
                                  &p[i].n));
    p[i].ids = ids[i];
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, p[i].ids, p[i].n, &o, keep, &alone[i], NULL));
  }
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  CHECK_OK(rlx_lm_generate_batch(lm, p, 3, &o, keep_row, &got, NULL));
  for (size_t i = 0; i < 3; i++) CHECK(alone[i].n > 5 && are_equal(&alone[i], &got.of[i]));
  o.temperature = 1; /* and the settings of the host, which a batch has since it has grammars */
  o.grammar = NULL;
  o.typical_p = 0.5;
  o.max_tokens = 5;
  memset(&got, 0, sizeof got);
  for (uint32_t i = 0; i < 3; i++) CHECK_OK(rlx_lm_truncate(lm, i, 0));
  CHECK_OK(rlx_lm_generate_batch(lm, p, 2, &o, keep_row, &got, NULL));
  CHECK(got.of[0].n == 5 && got.of[1].n == 5 && got.of[2].n == 0);
  for (size_t i = 0; i < 3; i++) rlx_free(ids[i]);
  rlx_grammar_destroy(g);
  rlx_lm_destroy(lm);
}

TEST(the_empty_text_ends_at_once) {
  rlx_lm *lm;
  rlx_grammar *g;
  heard h = {0}, request = {0};
  rows r = {0};
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  uint64_t number;
  uint32_t left = 1;
  const int32_t prompt = 5;
  CHECK_OK(load(2, &lm));
  CHECK_OK(make(lm, RLX_GRAMMAR_GBNF, "root ::= \"\"", &g));
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 9, .grammar = g};
  CHECK_OK(rlx_lm_generate_ids(lm, &prompt, 1, &o, keep, &h, &stats));
  CHECK(h.n == 0 && stats.n_tokens == 0);
  CHECK_EQ_STR(stats.ended, "end");
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  CHECK_OK(rlx_lm_generate_batch(lm, &(rlx_lm_prompt){&prompt, 1}, 1, &o, keep_row, &r, NULL));
  CHECK(r.of[0].n == 0);
  rlx_lm_request q = {RLX_LM_REQUEST_INIT, .ids = &prompt, .n = 1, .options = &o, .fn = hear, .user = &request};
  CHECK_OK(rlx_lm_submit(lm, &q, &number));
  while (left) CHECK_OK(rlx_lm_step(lm, &left));
  CHECK(request.n == 0);
  CHECK_EQ_STR(request.ended, "end");
  rlx_str_deinit(&request.text);
  rlx_grammar_destroy(g);
  rlx_lm_destroy(lm);
}

/* max_tokens cuts; past the end token only where the grammar goes on; a grammar of another vocabulary. */
TEST(ends_and_refusals) {
  rlx_lm *lm;
  rlx_grammar *g, *other;
  heard h = {0};
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  const int32_t prompt = 5;
  CHECK_OK(load(1, &lm));
  CHECK_OK(make(lm, RLX_GRAMMAR_REGEX, "[a-c]{1,30}", &g));
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 4, .grammar = g};
  CHECK_OK(rlx_lm_generate_ids(lm, &prompt, 1, &o, keep, &h, &stats));
  CHECK_EQ_STR(stats.ended, "length");
  o.max_tokens = 0;
  o.ignore_end = true;
  h.n = 0;
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  CHECK_OK(rlx_lm_generate_ids(lm, &prompt, 1, &o, keep, &h, &stats));
  CHECK_EQ_STR(stats.ended, "end");
  size_t letters = 0;
  for (size_t i = 0; i < h.n; i++) letters += strlen(rlx_tokenizer_spelling(rlx_lm_tokenizer(lm), h.ids[i]));
  CHECK(letters == 30); /* as many as there may be: no end token came before */
  char path[1024];
  rlx_lm *llama;
  snprintf(path, sizeof path, "%s/lm/llama", RLX_TEST_DATA);
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = path};
  CHECK_OK(rlx_lm_load(&d, &llama));
  if (rlx_lm_tokenizer(llama)) CHECK_OK(make(llama, RLX_GRAMMAR_REGEX, "a", &other));
  else
    CHECK_FAILS(rlx_lm_generate_ids(llama, &prompt, 1, &o, keep, &h, NULL), RLX_UNSUPPORTED, "no supported tokenizer");
  rlx_lm_destroy(llama);
  rlx_grammar_destroy(g);
  rlx_lm_destroy(lm);
}

static rlx_status generate(void *user) {
  rlx_lm *lm = user;
  rlx_grammar *g;
  heard h = {0};
  const int32_t prompt = 5;
  RLX_TRY(rlx_lm_truncate(lm, 0, 0));
  RLX_TRY(make(lm, RLX_GRAMMAR_REGEX, "( [a-z]+){2}\\.", &g));
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 4, .grammar = g};
  rlx_status s = rlx_lm_generate_ids(lm, &prompt, 1, &o, keep, &h, NULL);
  rlx_grammar_destroy(g);
  return s;
}

TEST(failing_allocations) {
  rlx_lm *lm;
  CHECK_OK(load(1, &lm));
  CHECK_OK(generate(lm)); /* programs, and the trie, that stay */
  CHECK_OK(alloc_sweep(generate, lm));
  rlx_lm_destroy(lm);
}
