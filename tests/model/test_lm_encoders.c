/* Encoders and cross-encoders against transformers: two texts at once of which one is filled up, one alone, from a
 * folder and from a GGUF that was made of it, through the reference and on a GPU driver. See
 * tools/goldens/encoders.py for the models. */
#include "test.h"

#include <string.h>

#include "base/status.h"
#include "faults.h"
#include "folder.h"
#include "lm_models.h"

enum { TOKENS = 24, MAX_WIDTH = 64 };
#define TOLERANCE 1e-4

static float got[2 * MAX_WIDTH];

static const struct {
  const char *name;
  const char *no_gguf; /* what a GGUF cannot represent, or NULL */
} cases[] = {{"bert", NULL},         {"bert_rank", NULL},   {"roberta", NULL},
             {"roberta_rank", NULL}, {"distilbert", NULL},  {"distilbert_rank", "the head"},
             {"mpnet", NULL},        {"modernbert", NULL},  {"modernbert_rank", NULL},
             {"nomicbert", NULL},    {"gte", NULL},         {"eurobert", NULL},
             {"qwen3_embed", NULL},  {"gemma3_embed", NULL}};
enum { N_CASES = sizeof cases / sizeof *cases };

typedef struct check {
  const lm_golden *g;
  const lm_model *m; /* of the golden's folder, or of a GGUF made of it */
  lm_graph_desc desc;
  const char *how;
} check;

static size_t width_of(const check *c) { return (size_t)c->g->result.shape.v[1]; }

/* A run for text `first` and all after it. */
static lm_step step_of(const check *c, size_t first) {
  const int32_t *types = c->g->types.data;
  bool has_types = types && lm_model_facts(c->m)->n_types > 1;
  return (lm_step){.tokens = (const int32_t *)c->g->tokens.data + first * TOKENS,
                   .length = (const int32_t *)c->g->lengths.data + first,
                   .types = has_types ? types + first * TOKENS : NULL,
                   .result = c->desc.result == LM_SCORE ? "score" : "embedding",
                   .out = got,
                   .bytes = c->desc.sequences * width_of(c) * sizeof(float)};
}

static rlx_status expect(const check *c, size_t first) {
  const float *want = (const float *)c->g->result.data + first * width_of(c);
  double d = lm_difference(got, want, c->desc.sequences * width_of(c));
  return d <= TOLERANCE ? RLX_OK : rlx_fail(RLX_INVALID, "%s: the result differs by %g", c->how, d);
}

static rlx_status check_from(check *c, lm_world *w, size_t first, uint32_t tokens) {
  rlx_executable *e;
  c->desc.sequences = first ? 1 : 2;
  c->desc.tokens = tokens;
  lm_step step = step_of(c, first);
  RLX_TRY(lm_world_compile(w, &c->desc, &e));
  rlx_status s = lm_step_run(e, &c->desc, &step);
  if (!s) s = expect(c, first);
  rlx_executable_destroy(e);
  return s;
}

/* Both texts at once, the second filled up with tokens that do not count; then it alone, in a graph of its size. */
static rlx_status check_on(check *c, const char *device) {
  lm_world w;
  uint32_t alone = (uint32_t)((const int32_t *)c->g->lengths.data)[1];
  rlx_status s = lm_world_open(c->m, device, &w);
  w.switches = RLX_SWITCH_FORBID_HOST;
  c->how = "two texts";
  if (!s) s = check_from(c, &w, 0, TOKENS);
  c->how = "one text";
  if (!s) s = check_from(c, &w, 1, alone);
  lm_world_deinit(&w);
  return s;
}

static rlx_status check_reference(check *c) {
  rlx_evaluator *e;
  c->how = "reference";
  c->desc.sequences = 2;
  c->desc.tokens = TOKENS;
  lm_step step = step_of(c, 0);
  rlx_status s = lm_evaluator_open(c->m, &c->desc, &e);
  if (!s) s = lm_step_evaluate(e, &c->desc, &step);
  if (!s) s = expect(c, 0);
  rlx_evaluator_destroy(e);
  return s;
}

static lm_result result_of(const lm_golden *g) { return g->types.data ? LM_SCORE : LM_EMBEDDING; }

/* The same model from a GGUF that rlx_lm_convert writes. */
static rlx_status check_gguf(const lm_golden *g, const char *device) {
  rlx_file *f = NULL;
  lm_model *m = NULL;
  rlx_status s = rlx_lm_convert(g->file, folder_path("m.gguf"), NULL);
  if (!s) s = rlx_file_open(folder_path("m.gguf"), NULL, &f);
  if (!s) s = lm_model_open(f, &m);
  check c = {.g = g, .m = m, .desc = {.result = result_of(g)}};
  if (!s) s = check_on(&c, device);
  lm_model_close(m);
  rlx_file_close(f);
  return s;
}

/* What a GGUF cannot represent is not written into one. */
static rlx_status refuse_gguf(const lm_golden *g, const char *what) {
  rlx_status s = rlx_lm_convert(g->file, folder_path("m.gguf"), NULL);
  if (s == RLX_UNSUPPORTED && strstr(rlx_message(), what)) return RLX_OK;
  return s ? s : rlx_fail(RLX_INVALID, "it was converted");
}

static rlx_status check_case(size_t at, const char *device) {
  const char *name = cases[at].name;
  lm_golden g;
  rlx_status s = lm_golden_open(name, &g);
  check c = {.g = &g, .m = g.model, .desc = {.result = result_of(&g)}};
  if (!s) s = check_on(&c, device);
  if (!s && strcmp(device, "cpu") == 0) s = check_reference(&c);
  if (!s && strcmp(device, "cpu") == 0)
    s = cases[at].no_gguf ? refuse_gguf(&g, cases[at].no_gguf) : check_gguf(&g, device);
  lm_golden_deinit(&g);
  return s == RLX_NOT_FOUND ? s : s ? rlx_fail_frame(s, "%s", name) : RLX_OK;
}

TEST(encoders) {
  CHECK(folder_begin());
  for (size_t i = 0; i < N_CASES; i++) CHECK_OK(check_case(i, "cpu"));
}

#define ON(device)                                 \
  TEST(encoders_on_##device) {                     \
    for (size_t i = 0; i < N_CASES; i++) {         \
      rlx_status s = check_case(i, #device);       \
      if (s == RLX_NOT_FOUND) SKIP(rlx_message()); \
      CHECK_OK(s);                                 \
    }                                              \
  }
ON(vulkan)
ON(cuda)

static rlx_status build_graph(void *user) {
  const lm_golden *g = user;
  rlx_graph *graph = NULL;
  rlx_status s =
    lm_graph_build(g->model, &(lm_graph_desc){.sequences = 2, .tokens = TOKENS, .result = result_of(g)}, &graph);
  rlx_graph_destroy(graph);
  return s;
}

TEST(graphs_without_memory) {
  static const char *const names[] = {"mpnet", "modernbert", "gemma3_embed", "roberta_rank"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lm_golden g;
    rlx_status s = lm_golden_open(names[i], &g);
    if (!s) s = alloc_sweep(build_graph, &g);
    lm_golden_deinit(&g);
    CHECK_OK(s);
  }
}
