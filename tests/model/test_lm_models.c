/* Model families against transformers: logits of a text in one chunk, token by token, in partly filled chunks, and
 * for two sequences at once; and greedy continuation. See tools/goldens/lm.py for the models.
 *
 * Every way of feeding the tokens must give the same logits: that is the contract of the states. */
#include "test.h"

#include "base/mem.h"
#include "base/status.h"
#include "faults.h"
#include "lm_models.h"

enum { TOKENS = 24, FOLLOW = 64, CONTEXT = 112, MAX_VOCABULARY = 128 };
#define TOLERANCE 1e-4

static float got[2 * TOKENS * MAX_VOCABULARY];

/* One executable from a description, and a run of it; both end with the test program's first failure. */
typedef struct feeder {
  lm_graph_desc desc;
  rlx_executable *program;
} feeder;

static rlx_status feeder_open(lm_world *w, uint32_t sequences, uint32_t tokens, lm_result result, feeder *out) {
  *out = (feeder){.desc = {.sequences = sequences, .tokens = tokens, .context = CONTEXT, .result = result}};
  return lm_world_compile(w, &out->desc, &out->program);
}

static const char *result_name(lm_result r) { return r == LM_TOKEN ? "token" : r == LM_NONE ? "next" : "logits"; }

static rlx_status feed(feeder *f, const int32_t *tokens, const int32_t *position, const int32_t *length, void *out,
                       size_t bytes) {
  lm_step step = {tokens, position, length, result_name(f->desc.result), out, bytes, NULL};
  return lm_step_run(f->program, &f->desc, &step);
}

/* ---- One sequence ---- */

static const float *want_row(const lm_golden *g, size_t i) {
  return (const float *)g->logits.data + i * (size_t)g->logits.shape.v[1];
}

static rlx_status expect(const lm_golden *g, size_t row, size_t n, const float *values, const char *how) {
  size_t vocabulary = (size_t)g->logits.shape.v[1];
  double d = lm_difference(values, want_row(g, row), n * vocabulary);
  if (d <= TOLERANCE) return RLX_OK;
  return rlx_fail(RLX_INVALID, "%s: logits from row %zu on differ by %g", how, row, d);
}

static rlx_status check_whole(const lm_golden *g, lm_world *w) {
  feeder f;
  int32_t position = 0, length = TOKENS;
  size_t bytes = (size_t)g->logits.shape.v[1] * TOKENS * sizeof(float);
  rlx_status s = feeder_open(w, 1, TOKENS, LM_LOGITS, &f);
  if (!s) s = feed(&f, g->tokens.data, &position, &length, got, bytes);
  if (!s) s = expect(g, 0, TOKENS, got, "one chunk");
  rlx_executable_destroy(f.program);
  return s;
}

static rlx_status check_reference(const lm_golden *g) {
  lm_graph_desc d = {.sequences = 1, .tokens = TOKENS, .context = TOKENS + 3, .result = LM_LOGITS};
  int32_t position = 0, length = TOKENS;
  rlx_evaluator *e;
  rlx_status s = lm_evaluator_open(g->model, &d, &e);
  lm_step step = {
    g->tokens.data, &position, &length, "logits", got, (size_t)g->logits.shape.v[1] * TOKENS * sizeof(float), NULL};
  if (!s) s = lm_step_evaluate(e, &d, &step);
  if (!s) s = expect(g, 0, TOKENS, got, "reference");
  rlx_evaluator_destroy(e);
  return s;
}

static rlx_status check_single(const lm_golden *g, lm_world *w) {
  feeder f;
  size_t row = (size_t)g->logits.shape.v[1];
  rlx_status s = feeder_open(w, 1, 1, LM_LOGITS, &f);
  for (int32_t i = 0; i < TOKENS && !s; i++) {
    s = feed(&f, (const int32_t *)g->tokens.data + i, &i, NULL, got, row * sizeof(float));
    if (!s) s = expect(g, (size_t)i, 1, got, "token by token");
  }
  rlx_executable_destroy(f.program);
  return s;
}

/* Chunks of seven of which not all count; what fills them up must leave no trace. The last row comes by itself too. */
static rlx_status check_padded(const lm_golden *g, lm_world *w) {
  static const int32_t lengths[] = {7, 3, 1, 7, 4, 2};
  feeder all, last;
  size_t row = (size_t)g->logits.shape.v[1];
  rlx_status s = feeder_open(w, 1, 7, LM_LOGITS, &all), t = feeder_open(w, 1, 7, LM_LAST, &last);
  if (!s) s = t;
  int32_t at = 0;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths && !s; at += lengths[i++]) {
    int32_t tokens[7];
    for (int32_t k = 0; k < 7; k++) tokens[k] = k < lengths[i] ? ((const int32_t *)g->tokens.data)[at + k] : 5 * k + 1;
    feeder *f = i % 2 ? &last : &all;
    s = feed(f, tokens, &at, &lengths[i], got, (i % 2 ? 1 : 7) * row * sizeof(float));
    if (!s && i % 2) s = expect(g, (size_t)(at + lengths[i] - 1), 1, got, "last row of a chunk");
    else if (!s) s = expect(g, (size_t)at, (size_t)lengths[i], got, "chunks that are not full");
  }
  if (!s && at != TOKENS) s = rlx_fail(RLX_INVALID, "the test fed %d tokens", (int)at);
  rlx_executable_destroy(all.program);
  rlx_executable_destroy(last.program);
  return s;
}

/* Two sequences of one text that stand at different places. */
static rlx_status check_two(const lm_golden *g, lm_world *w) {
  enum { T = 8, STEPS = 4 };
  static const int32_t lengths[STEPS][2] = {{8, 3}, {5, 8}, {8, 6}, {3, 7}};
  feeder f;
  size_t row = (size_t)g->logits.shape.v[1];
  int32_t at[2] = {0, 0};
  lm_world two = *w; /* states of their own: for two sequences they are larger */
  RLX_TRY(rlx_states_create(w->session, &two.states));
  rlx_status s = feeder_open(&two, 2, T, LM_LOGITS, &f);
  for (int i = 0; i < STEPS && !s; i++) {
    int32_t tokens[2 * T];
    for (int k = 0; k < 2 * T; k++) {
      int32_t from = at[k / T] + k % T;
      tokens[k] = k % T < lengths[i][k / T] ? ((const int32_t *)g->tokens.data)[from] : (90 - k) % (int32_t)row;
    }
    s = feed(&f, tokens, at, lengths[i], got, 2 * T * row * sizeof(float));
    for (int b = 0; b < 2 && !s; b++) {
      s = expect(g, (size_t)at[b], (size_t)lengths[i][b], got + (size_t)b * T * row,
                 b ? "second of two" : "first of two");
      at[b] += lengths[i][b];
    }
    int32_t next[2] = {-1, -1};
    rlx_tensor read = {.dtype = RLX_I32, .data = next, .bytes = sizeof next};
    if (!s) s = rlx_executable_read(f.program, "next", &read);
    if (!s && (next[0] != at[0] || next[1] != at[1]))
      s = rlx_fail(RLX_INVALID, "next is %d and %d, not %d and %d", (int)next[0], (int)next[1], (int)at[0], (int)at[1]);
  }
  if (!s && (at[0] != TOKENS || at[1] != TOKENS)) s = rlx_fail(RLX_INVALID, "the test fed %d tokens", (int)at[0]);
  rlx_executable_destroy(f.program);
  rlx_states_destroy(two.states);
  return s;
}

/* Two thirds of the text are only remembered; then the last row is asked for, also of a cache of f16. */
static rlx_status check_remembered(const lm_golden *g, lm_world *w, rlx_dtype cache, double tolerance) {
  enum { FIRST = 16, REST = TOKENS - FIRST };
  feeder some = {.desc = {.sequences = 1, .tokens = FIRST, .context = CONTEXT, .cache = cache, .result = LM_NONE}};
  feeder rest = {.desc = {.sequences = 1, .tokens = REST, .context = CONTEXT, .cache = cache, .result = LM_LAST}};
  int32_t position[2] = {0, FIRST}, length[2] = {FIRST, REST}, next = -1;
  size_t row = (size_t)g->logits.shape.v[1];
  lm_world own = *w;
  RLX_TRY(rlx_states_create(w->session, &own.states));
  rlx_status s = lm_world_compile(&own, &some.desc, &some.program);
  if (!s) s = lm_world_compile(&own, &rest.desc, &rest.program);
  if (!s) s = feed(&some, g->tokens.data, &position[0], &length[0], &next, sizeof next);
  if (!s && next != FIRST) s = rlx_fail(RLX_INVALID, "next is %d after %d tokens", (int)next, (int)FIRST);
  if (!s) s = feed(&rest, (const int32_t *)g->tokens.data + FIRST, &position[1], &length[1], got, row * sizeof(float));
  double d = s ? 0 : lm_difference(got, want_row(g, TOKENS - 1), row);
  if (!s && d > tolerance) s = rlx_fail(RLX_INVALID, "after remembering: the last row differs by %g", d);
  rlx_executable_destroy(some.program);
  rlx_executable_destroy(rest.program);
  rlx_states_destroy(own.states);
  return s;
}

static rlx_status check_greedy(const lm_golden *g, lm_world *w) {
  feeder prompt, next;
  int32_t position = 0, length = TOKENS, token = -1;
  rlx_status s = feeder_open(w, 1, TOKENS, LM_TOKEN, &prompt), t = feeder_open(w, 1, 1, LM_TOKEN, &next);
  if (!s) s = t;
  if (!s) s = feed(&prompt, g->tokens.data, &position, &length, &token, sizeof token);
  for (int32_t i = 0; i < FOLLOW && !s; i++) {
    int32_t want = ((const int32_t *)g->greedy.data)[i];
    position = TOKENS + i;
    if (token != want) s = rlx_fail(RLX_INVALID, "greedy token %d is %d, not %d", (int)i, (int)token, (int)want);
    else s = feed(&next, &token, &position, NULL, &token, sizeof token);
  }
  rlx_executable_destroy(prompt.program);
  rlx_executable_destroy(next.program);
  return s;
}

static rlx_status check_all(const lm_golden *g, lm_world *w) {
  RLX_TRY(check_whole(g, w));
  RLX_TRY(check_reference(g));
  RLX_TRY(check_single(g, w));
  RLX_TRY(check_padded(g, w));
  RLX_TRY(check_two(g, w));
  RLX_TRY(check_remembered(g, w, RLX_F32, TOLERANCE));
  RLX_TRY(check_remembered(g, w, RLX_F16, 1e-2));
  return check_greedy(g, w);
}

static rlx_status check_family(const char *name) {
  lm_golden g;
  lm_world w = {.model = NULL};
  rlx_status s = lm_golden_open(name, &g);
  if (!s) s = lm_world_open(g.model, "cpu", &w);
  if (!s) s = check_all(&g, &w);
  lm_world_deinit(&w);
  lm_golden_deinit(&g);
  return s;
}

/* clang-format off */
#define DECODERS(X) \
  X(llama) X(mistral) X(mixtral) X(qwen2) X(qwen2moe) X(qwen3) X(qwen3moe) X(qwen3moe_mixed) X(gemma) X(gemma2) \
  X(gemma3) X(gpt2) X(phi2) X(phi3) X(phi3_long) X(phi3_short) X(granite) X(granitemoe) X(olmo2) X(olmo3) X(olmoe) \
  X(smollm3) X(starcoder2) X(stablelm) X(stablelm_parallel) X(gptneox) X(cohere) X(cohere2) X(glm4) X(exaone4) \
  X(ernie4_5) X(seed_oss) X(hunyuan) X(gpt_oss) X(gpt_oss_packed) X(ernie4_5_moe) X(glm4moe) X(dots1) X(minimax_m2) X(ministral3) X(mamba)
/* clang-format on */

#define ONE(name) \
  TEST(name) { CHECK_OK(check_family(#name)); }
DECODERS(ONE)

/* GPUs compute the same: in one chunk, and token by token. RLX_NOT_FOUND: there is none. */
static rlx_status check_on(const char *name, const char *device) {
  lm_golden g;
  lm_world w = {.model = NULL};
  rlx_status s = lm_golden_open(name, &g);
  if (!s) s = lm_world_open(g.model, device, &w);
  if (!s) s = check_whole(&g, &w);
  if (!s) s = check_single(&g, &w);
  lm_world_deinit(&w);
  lm_golden_deinit(&g);
  return s == RLX_NOT_FOUND ? s : s ? rlx_fail_frame(s, "%s", name) : RLX_OK;
}

#define NAME(name) #name,
static const char *const decoders[] = {DECODERS(NAME)};

#define ON(device)                                                    \
  TEST(families_on_##device) {                                        \
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++) { \
      rlx_status s = check_on(decoders[i], #device);                  \
      if (s == RLX_NOT_FOUND) SKIP(rlx_message());                    \
      CHECK_OK(s);                                                    \
    }                                                                 \
  }
ON(vulkan)
ON(cuda)

/* ---- Drawing ---- */

/* The same draw at the same position gives the same token, and other draws give others now and then. */
static rlx_status check_draws(const lm_golden *g, lm_world *w) {
  lm_graph_desc d = {.sequences = 1, .tokens = TOKENS, .context = CONTEXT, .result = LM_TOKEN, .is_drawn = true};
  rlx_executable *e;
  RLX_TRY(lm_world_compile(w, &d, &e));
  int32_t position = 0, length = TOKENS, token[20];
  rlx_status s = RLX_OK;
  int n_other = 0;
  for (int32_t i = 0; i < 20 && !s; i++) {
    int32_t draw = i / 2;
    rlx_tensor t = {RLX_I32, RLX_SCALAR, {&draw}, sizeof draw};
    s = rlx_executable_write(e, "draw", &t);
    rlx_tensor how = {RLX_F32, RLX_DIMS(4), {(float[]){5, 0, 1, 0}}, 4 * sizeof(float)};
    if (!s) s = rlx_executable_write(e, "sampling", &how);
    if (!s)
      s = lm_step_run(e, &d, &(lm_step){g->tokens.data, &position, &length, "token", &token[i], sizeof *token, NULL});
    if (!s && i % 2 && token[i] != token[i - 1]) s = rlx_fail(RLX_INVALID, "draw %d gave two tokens", (int)draw);
    n_other += i > 0 && !s && token[i] != token[0];
  }
  rlx_executable_destroy(e);
  return s || n_other > 0 ? s : rlx_fail(RLX_INVALID, "ten draws gave one token");
}

TEST(tokens_are_drawn) {
  lm_golden g;
  lm_world w = {.model = NULL};
  rlx_status s = lm_golden_open("llama", &g);
  if (!s) s = lm_world_open(g.model, "cpu", &w);
  if (!s) s = check_draws(&g, &w);
  lm_world_deinit(&w);
  lm_golden_deinit(&g);
  CHECK_OK(s);
}
