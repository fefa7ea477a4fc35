/* Runs: a session computes what the evaluator computes, on every available device, with any compile switches.
 *
 * On the null device everything runs on the host with the evaluator's kernels: without passes the results are
 * bit-identical. With passes, and on other devices, they agree within a tolerance; but graphs that only move bytes and
 * compute integers are bit-identical everywhere. RLX_GRAPHS=n runs random graphs up to number n, starting at
 * RLX_FIRST=f if that is set; RLX_SEED=s runs only that one; RLX_SOAK=1 runs many more of the exact ones. */
#include <stdlib.h>

#include "ir/switches.h"
#include "moving_graph.h"
#include "random_graph.h"
#include "ref/eval.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

enum { GRAPHS = 400, GRAPHS_SANITIZED = 100, GRAPHS_VULKAN = 40, NODES = 40 };

static const char *const devices[] = {"null", "cpu", "emu"};
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
  {"x: f32[2]; param w: f32[0]; state s: f32[0]", "%a = exp(%x); concat(%w, %a, %s)"}, /* concat with empty inputs */
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
  { RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__ }
static const variant variants[] = {
  {"defaults", WITH(.switches = RLX_SWITCH_EXACT)},
  {"no passes", WITH(.switches = RLX_SWITCH_EXACT, .passes = "")},
  {"no fuse", WITH(.switches = RLX_SWITCH_EXACT, .without = "fuse")},
  {"no hoist", WITH(.switches = RLX_SWITCH_EXACT, .without = "hoist")},
  {"no legalise", WITH(.switches = RLX_SWITCH_EXACT, .without = "legalise")},
  {"keep values", WITH(.switches = RLX_SWITCH_EXACT | RLX_SWITCH_KEEP_VALUES)},
  {"no views", WITH(.switches = RLX_SWITCH_EXACT | RLX_SWITCH_NO_VIEWS)},
  {"no in-place", WITH(.switches = RLX_SWITCH_EXACT | RLX_SWITCH_NO_IN_PLACE)},
  {"no reorder", WITH(.switches = RLX_SWITCH_EXACT | RLX_SWITCH_NO_REORDER)},
  {"no search", WITH(.switches = RLX_SWITCH_EXACT | RLX_SWITCH_NO_SEARCH)},
  {"plan only", WITH(.switches = RLX_SWITCH_EXACT, .plan_only = true)},
  {"nothing at all", WITH(.passes = "",
                          .switches = RLX_SWITCH_EXACT | RLX_SWITCH_NO_VIEWS | RLX_SWITCH_NO_IN_PLACE |
                                      RLX_SWITCH_NO_CONCAT | RLX_SWITCH_NO_REORDER | RLX_SWITCH_NO_SEARCH,
                          .no_cache = true)},
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
TEST(graphs_on_emu) { check_device("emu", 1); }
TEST(graphs_on_vulkan) { check_device("vulkan", 1); }
TEST(graphs_on_cuda) { check_device("cuda", 1); }
TEST(graphs_on_webgpu) { check_device("webgpu", 1); }

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
  const bool is_gpu = strcmp(device, "vulkan") == 0 || strcmp(device, "cuda") == 0 || strcmp(device, "webgpu") == 0;
  if (is_gpu && !graphs_text) n = GRAPHS_VULKAN;
  const char *first_text = seed_text ? seed_text : getenv("RLX_FIRST");
  uint64_t first = first_text ? strtoull(first_text, NULL, 10) : 1;
  rlx_session *s;
  /* Bytes of blocks that are used again count as written. */
  const rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 2,
                                 .no_pool = strcmp(device, "emu:init") == 0};
  const rlx_status opened = rlx_session_create(&desc, &s);
  if (opened == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(opened);
  for (uint64_t seed = first; seed < (seed_text ? first + 1 : n); seed++) CHECK(check_random(s, device, seed));
  rlx_session_destroy(s);
}

TEST(random_graphs_on_null) { check_many("null"); }
TEST(random_graphs_on_cpu) { check_many("cpu"); }
TEST(random_graphs_on_emu) { check_many("emu"); }
TEST(random_graphs_on_emu_read_what_was_written) { check_many("emu:init"); }
/* Pipelines are slow to create on a software driver: fewer graphs, unless more are requested. */
TEST(random_graphs_on_vulkan) { check_many("vulkan"); }
TEST(random_graphs_on_cuda) { check_many("cuda"); }
TEST(random_graphs_on_webgpu) { check_many("webgpu"); }

/* ---- graphs with exact results, on every device ---- */

static const char *const exact_devices[] = {"null", "cpu", "cpu:avx2", "cpu:base"};
enum { EXACT_DEVICES = sizeof exact_devices / sizeof *exact_devices, MOVING_NODES = 60 };

/* Each switch by one bit of a number, except the one that fails on purpose. */
static rlx_compile_options random_switches(uint64_t bits) {
  static const char *const passes[] = {"fuse", "hoist", "fold", "dedupe"};
  uint32_t switches = (uint32_t)(bits >> 8) & RLX_SWITCHES_KNOWN & ~(uint32_t)RLX_SWITCH_FORBID_HOST;
  return (rlx_compile_options)WITH(.switches = switches, .no_cache = bits & 1, .plan_only = bits & 2,
                                   .passes = (bits >> 2) % 4 == 0 ? "" : NULL,
                                   .without = (bits >> 2) % 4 == 1 ? passes[(bits >> 4) % 4] : NULL);
}

/* One executable, as the sizes change and change back. */
static rlx_status check_sizes(rlx_executable *e, rlx_evaluator *want, const rlx_graph *g, uint64_t seed) {
  static const int64_t sizes[] = {3, 1, 5, 3, 0, 9};
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !s; i++) {
    rlx_graph *bound;
    rlx_tensor *leaves = NULL;
    if (rlx_graph_bind(g, &(rlx_binding){"N", sizes[i]}, 1, &bound)) continue; /* not every size fits every graph */
    s = random_leaves(bound, seed + i, &leaves);
    if (!s) s = run_set_leaves(want, bound, leaves);
    if (!s) s = run_write_leaves(e, bound, leaves);
    if (!s) s = rlx_evaluator_run(want);
    if (!s) s = rlx_executable_run(e);
    if (!s) s = run_compare(e, want, bound, true);
    if (s) rlx_fail_frame(s, "N = %d", (int)sizes[i]);
    random_leaves_free(bound, leaves);
    rlx_graph_destroy(bound);
  }
  return s;
}

static rlx_status check_open(rlx_session *s, const rlx_graph *g, const rlx_compile_options *options, uint64_t seed) {
  rlx_executable *e = NULL;
  rlx_evaluator *want = NULL;
  rlx_status status = rlx_compile(s, g, options, &e);
  if (!status) status = rlx_evaluator_create(g, &want);
  if (!status) status = check_sizes(e, want, g, seed);
  rlx_evaluator_destroy(want);
  rlx_executable_destroy(e);
  return status;
}

static bool check_moving(rlx_session *s, const char *device, uint64_t seed) {
  rlx_graph *g;
  bool with_symbol = seed % 4 == 0;
  rlx_compile_options options = random_switches(rlx_hash_bytes(1, &seed, sizeof seed));
  if (moving_graph_make(seed, 4 + (uint32_t)(seed % MOVING_NODES), with_symbol, &g)) return false;
  rlx_status status = with_symbol ? check_open(s, g, &options, seed) : run_check(s, g, &options, seed, 3, true);
  char *text = NULL;
  if (status) {
    printf("moving graph of seed %llu on %s: %s\n", (unsigned long long)seed, device, rlx_message());
    if (!rlx_graph_print(g, &text)) printf("%s\n", text);
    rlx_free(text);
  }
  rlx_graph_destroy(g);
  return status == RLX_OK;
}

TEST(moving_graphs_to_the_bit) {
  uint64_t n = TEST_IS_SANITIZED ? GRAPHS_SANITIZED : GRAPHS, first = 1;
  const char *seed_text = getenv("RLX_SEED");
  if (getenv("RLX_SOAK")) n *= 50;
  if (seed_text) first = strtoull(seed_text, NULL, 10), n = 1;
  for (uint32_t d = 0; d < EXACT_DEVICES; d++) {
    rlx_session *s;
    rlx_status status = run_session(exact_devices[d], 1u << d % 3, &s);
    if (status == RLX_NOT_FOUND) continue; /* an instruction set that this machine lacks */
    CHECK_OK(status);
    for (uint64_t seed = first; seed < first + n; seed++) CHECK(check_moving(s, exact_devices[d], seed));
    rlx_session_destroy(s);
  }
}

/* The sign of a zero is a bit like any other. */
TEST(zeros_have_the_sign_of_the_reference) {
  static const char *const exprs[] = {"relu(%m)", "max(%m, %z)", "min(%z, %m)", "abs(%m)", "clamp(%m) {lo=0, hi=1}"};
  for (uint32_t d = 0; d < EXACT_DEVICES; d++) {
    rlx_session *s;
    rlx_status status = run_session(exact_devices[d], 1, &s);
    if (status == RLX_NOT_FOUND) continue;
    CHECK_OK(status);
    for (size_t i = 0; i < sizeof exprs / sizeof *exprs; i++) {
      rlx_graph *g;
      char expr[192];
      snprintf(expr, sizeof expr, "%%o = range() {step=0, count=[37], to=f32}; %%z = mul(%%x, %%o); %%m = neg(%%z); %s",
               exprs[i]);
      CHECK_OK(expr_graph("x: f32[37]", expr, &g)); /* zeros of both signs */
      CHECK_OK(run_check(s, g, NULL, 3, 1, true));
      rlx_graph_destroy(g);
    }
    rlx_session_destroy(s);
  }
}

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
    rlx_graph_add_output(g, "y", rlx_op_rng_uniform(g, RLX_NONE, RLX_DIMS(4), RLX_F32, 11, 0, 1));
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
