/* Runs: a session gives what the evaluator gives, on every device that is there, whatever the compile switches.
 *
 * On the null device everything runs on the host by the very kernels of the evaluator: without passes that is equal to the
 * bit. With passes, and on other devices, within a tolerance. RLX_GRAPHS=n runs n random graphs, RLX_SEED=s only that one. */
#include <stdlib.h>

#include "random_graph.h"
#include "ref/eval.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

enum { GRAPHS = 400, GRAPHS_SANITIZED = 100, NODES = 40 };

static const char *const devices[] = {"null", "cpu"};
enum { DEVICES = sizeof devices / sizeof *devices };

/* ---- graphs by hand ---- */

static const struct {
  const char *leaves, *expr;
} graphs[] = {
  {"x: f32[3,5]", "softmax(%x)"},
  {"x: f32[4,6]; param w: f32[6,3]; param b: f32[3]", "%m = matmul(%x, %w); %a = add(%m, %b); gelu(%a)"},
  {"x: f32[4,32]; param w: f32[8,32]", "%t = transpose(%w) {perm=[1,0]}; matmul(%x, %t)"}, /* a hoisted weight */
  {"x: f32[4,64]; param w: q8_0[16,64]", "matmul(%x, %w) {trans_b=true}"},
  {"x: f32[2,3]; y: f32[2,4]", "concat(%x, %y, %x) {axis=1}"},
  {"x: f32[0,3]", "exp(%x)"},
  {"x: f32[2,3,4]", "%t = transpose(%x) {perm=[1,0,2]}; reshape(%t) {shape=[3,8]}"},
  {"x: f16[2,3]; state s: f16[4,3]; at: i32[] values(1)", "update(%s, %x, %at)"},
  {"x: f32[2,3]; state s: f32[4,3]; at: i32[] values(2)",
   "%old = mul(%s, %s); %n = update(%s, %x, %at); add(%n, %old)"},
  {"x: f32[1,3]; state s: f32[4,3]; a: i32[] values(0); b: i32[] values(3)",
   "%u = update(%s, %x, %a); %m = neg(%u); %w = add(%x, %x); %v = update(%u, %w, %b); sub(%v, %m)"},
  {"x: f32[8]", "%r = rng_uniform() {shape=[8], seed=7}; add(%x, %r)"},
};
enum { N_GRAPHS = sizeof graphs / sizeof *graphs };

/* ---- the switches ---- */

typedef struct variant {
  const char *name;
  rlx_compile_options options;
} variant;

#define WITH(...) \
  { .struct_bytes = sizeof(rlx_compile_options), __VA_ARGS__ }
static const variant variants[] = {
  {"defaults", WITH(.exact = true)},
  {"no passes", WITH(.exact = true, .passes = "")},
  {"no fuse", WITH(.exact = true, .without = "fuse")},
  {"no hoist", WITH(.exact = true, .without = "hoist")},
  {"no legalise", WITH(.exact = true, .without = "legalise")},
  {"keep values", WITH(.exact = true, .keep_values = true)},
  {"no views", WITH(.exact = true, .no_views = true)},
  {"no in-place", WITH(.exact = true, .no_in_place = true)},
  {"no reorder", WITH(.exact = true, .no_reorder = true)},
  {"no search", WITH(.exact = true, .no_search = true)},
  {"plan only", WITH(.exact = true, .plan_only = true)},
  {"nothing at all", WITH(.exact = true, .passes = "", .no_views = true, .no_in_place = true, .no_reorder = true,
                          .no_search = true, .no_cache = true)},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static bool is_exact(const char *device, const variant *v) {
  return strcmp(device, "null") == 0 && v->options.passes && !*v->options.passes;
}

static void check_device(const char *device, uint32_t threads) {
  rlx_session *s;
  OPEN_SESSION(device, threads, &s);
  for (int i = 0; i < N_GRAPHS; i++) {
    rlx_graph *g;
    CHECK_OK(expr_graph(graphs[i].leaves, graphs[i].expr, &g));
    for (int v = 0; v < VARIANTS; v++) {
      rlx_status status = run_check(s, g, &variants[v].options, 5, 3, is_exact(device, &variants[v]));
      if (status) FAIL("%s on %s, %s: %s", graphs[i].expr, device, variants[v].name, rlx_message());
    }
    rlx_graph_destroy(g);
  }
  rlx_session_destroy(s);
}

TEST(graphs_on_null) { check_device("null", 1); }
TEST(graphs_on_cpu) { check_device("cpu", 2); }

/* ---- random graphs ---- */

static bool check_random(rlx_session *s, const char *device, uint64_t seed) {
  random_graph r;
  if (random_graph_make(seed, 4 + (uint32_t)(seed % NODES), &r)) return false;
  const variant *v = &variants[seed % VARIANTS];
  rlx_status status = run_check(s, r.graph, &v->options, seed, 2, is_exact(device, v));
  char *text = NULL;
  if (status) {
    printf("seed %llu on %s, %s: %s\n", (unsigned long long)seed, device, v->name, rlx_message());
    if (!rlx_graph_print(r.graph, &text)) printf("%s\n", text);
    rlx_free(text);
  }
  random_graph_deinit(&r);
  return status == RLX_OK;
}

static void check_many(const char *device) {
  const char *graphs_text = getenv("RLX_GRAPHS"), *seed_text = getenv("RLX_SEED");
  uint64_t n = graphs_text ? strtoull(graphs_text, NULL, 10) : TEST_IS_SANITIZED ? GRAPHS_SANITIZED : GRAPHS;
  uint64_t first = seed_text ? strtoull(seed_text, NULL, 10) : 1;
  rlx_session *s;
  OPEN_SESSION(device, 2, &s);
  for (uint64_t seed = first; seed < (seed_text ? first + 1 : n); seed++) CHECK(check_random(s, device, seed));
  rlx_session_destroy(s);
}

TEST(random_graphs_on_null) { check_many("null"); }
TEST(random_graphs_on_cpu) { check_many("cpu"); }

/* ---- threads and repetition change no bit ---- */

typedef struct kept {
  rlx_tensor v[4];
} kept;

static void run_and_keep(uint32_t threads, const rlx_graph *g, const rlx_tensor *leaves, kept *out) {
  rlx_session *s;
  rlx_executable *e;
  OPEN_SESSION("cpu", threads, &s);
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(run_write_leaves(e, g, leaves));
  CHECK_OK(rlx_executable_run(e));
  CHECK_OK(run_read(e, "y", &out->v[0]));
  CHECK_OK(rlx_executable_run(e));
  CHECK_OK(run_read(e, "y", &out->v[1]));
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
}

TEST(threads_and_runs_give_equal_bits) {
  static const char *const exprs[][2] = {
    {"x: f32[129,300]; param w: f32[300,257]", "%m = matmul(%x, %w); softmax(%m)"},
    {"x: f32[64,1024]", "%n = layer_norm(%x); reduce_sum(%n) {axes=[0]}"},
    {"x: f32[7,512]; param w: q4_0[96,512]", "matmul(%x, %w) {trans_b=true}"},
    {"x: f32[1,130,4,32]", "attention(%x, %x, %x) {causal=true}"},
  };
  for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++) {
    rlx_graph *g;
    rlx_tensor *leaves;
    kept all[3] = {0};
    CHECK_OK(expr_graph(exprs[i][0], exprs[i][1], &g));
    CHECK_OK(random_leaves(g, 3, &leaves));
    for (int t = 0; t < 3; t++) run_and_keep(1u << t, g, leaves, &all[t]);
    if (!all[2].v[1].data) return;
    for (int t = 0; t < 3; t++)
      for (int k = 0; k < 2; k++) {
        if (memcmp(all[t].v[k].data, all[0].v[0].data, all[0].v[0].bytes) != 0)
          FAIL("%s: run %d with %d threads has other bits", exprs[i][1], k, 1 << t);
        if (t + k) rlx_tensor_deinit(&all[t].v[k]);
      }
    rlx_tensor_deinit(&all[0].v[0]);
    random_leaves_free(g, leaves);
    rlx_graph_destroy(g);
  }
}

/* ---- draws ---- */

static void read_draw(rlx_executable *e, float *out) {
  rlx_tensor y = {.dtype = RLX_F32, .data = out, .bytes = 4 * sizeof *out};
  CHECK_OK(rlx_executable_run(e));
  CHECK_OK(rlx_executable_read(e, "y", &y));
}

TEST(draws_count_up_and_can_be_set) {
  for (int d = 0; d < DEVICES; d++) {
    rlx_session *s;
    rlx_graph *g;
    rlx_executable *e;
    float a[4], b[4], again[4];
    OPEN_SESSION(devices[d], 1, &s);
    CHECK_OK(rlx_graph_create(&g));
    rlx_output(g, "y", rlx_rng_uniform(g, RLX_NONE, RLX_DIMS(4), RLX_F32, 11, 0, 1));
    CHECK_OK(rlx_graph_finish(g));
    CHECK_OK(rlx_compile(s, g, NULL, &e));
    read_draw(e, a), read_draw(e, b);
    CHECK_OK(rlx_executable_set_draw(e, 0));
    read_draw(e, again);
    if (test_has_failed()) return;
    CHECK(memcmp(a, b, sizeof a) != 0);
    CHECK(memcmp(a, again, sizeof a) == 0);
    rlx_executable_destroy(e);
    rlx_graph_destroy(g);
    rlx_session_destroy(s);
  }
}
