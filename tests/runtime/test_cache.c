/* Cache of programs: which entries are evicted, that none in use is, and that memory stays level over hundreds of
 * sizes. Programs of one executable, and those compiled to share one, compute in one scratch. */
#include <pthread.h>

#include "ref/eval.h"
#include "rules.h"
#include "run_check.h"
#include "runtime/executable.h"
#include "test.h"

#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

static rlx_status open_session(const char *device, uint64_t cache_bytes, rlx_session **out) {
  return rlx_session_create(
    &(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1, .cache_bytes = cache_bytes}, out);
}

static rlx_session_stats stats_of(rlx_session *s) {
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  if (rlx_session_stats_get(s, &stats)) stats.n_compiled = UINT64_MAX;
  return stats;
}

/* y = x + 1 in a few steps, over [N,3]. */
static rlx_graph *template(const char *rows) {
  char leaves[64];
  rlx_graph *g = NULL;
  snprintf(leaves, sizeof leaves, "x: f32[%s,3]", rows);
  return expr_graph(leaves, "%a = exp(%x); %b = log(%a); %c = constant : f32[] = [1]; add(%b, %c)", &g) ? NULL : g;
}

/* ---- which entry is evicted ---- */

static void compile_size(rlx_session *s, const rlx_graph *g, int64_t n) {
  rlx_executable *e;
  CHECK_OK(rlx_compile(s, g, OPTIONS(.bindings = &(rlx_binding){"N", n}, .n_bindings = 1, .plan_only = true), &e));
  rlx_executable_destroy(e);
}

TEST(the_one_used_longest_ago_goes) {
  rlx_session *s;
  rlx_graph *g = template("N");
  CHECK_OK(open_session("null", 0, &s));
  compile_size(s, g, 1);
  uint64_t one = stats_of(s).cache_bytes;
  CHECK(one > 0);
  rlx_session_destroy(s);
  CHECK_OK(open_session("null", 2 * one + one / 2, &s)); /* room for two */
  static const int64_t order[] = {1, 2, 1, 3, 1, 2};     /* 3 evicts 2, 1 stays */
  for (int i = 0; i < 6; i++) compile_size(s, g, order[i]);
  rlx_session_stats stats = stats_of(s);
  CHECK_EQ_INT(stats.n_cache_hits, 2);
  CHECK_EQ_INT(stats.n_compiled, 4);
  CHECK_EQ_INT(stats.cache_evicted, 2);
  CHECK(stats.cache_bytes <= stats.cache_budget);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(the_default_is_the_machines) {
  rlx_session *s;
  CHECK_OK(open_session("null", 0, &s));
  rlx_session_stats stats = stats_of(s);
  CHECK(stats.cache_budget >= 16 << 20 && stats.cache_budget <= 256 << 20);
  rlx_session_destroy(s);
}

/* ---- executables with open sizes ---- */

enum { MAX_ROWS = 600 };

static rlx_status run_rows(rlx_executable *e, int64_t n) {
  static _Thread_local float x[MAX_ROWS * 3], y[MAX_ROWS * 3];
  for (int64_t i = 0; i < 3 * n; i++) x[i] = (float)(i % 7) * 0.25f, y[i] = -1;
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(n, 3), {x}, 12 * (size_t)n}};
  rlx_named_tensor out = {"y", {.data = y, .bytes = 12 * (size_t)n}};
  RLX_TRY(rlx_run(e, &in, 1, &out, 1));
  for (int64_t i = 0; i < 3 * n; i++) {
    float d = y[i] - (x[i] + 1);
    if (d > 1e-5f || d < -1e-5f)
      return RLX_FAIL(RLX_INVALID, "element %d of %d rows is %g", (int)i, (int)n, (double)y[i]);
  }
  return RLX_OK;
}

/* The budget has room for a few: heap blocks and device bytes do not grow between 100 and 600 sizes. */
TEST(memory_is_level_over_many_sizes) {
  rlx_session *s;
  rlx_executable *e;
  rlx_graph *g = template("N");
  size_t blocks = 0;
  uint64_t device = 0;
  CHECK_OK(open_session("cpu", 64 << 10, &s));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  for (int64_t n = MAX_ROWS; n > 0; n--) {
    CHECK_OK(run_rows(e, n));
    if (n == MAX_ROWS - 100) blocks = rlx_mem_live(), device = stats_of(s).used_bytes;
  }
  rlx_session_stats stats = stats_of(s);
  CHECK(stats.cache_evicted > 0 && stats.cache_bytes <= stats.cache_budget);
  CHECK(rlx_mem_live() <= blocks + 64);
  CHECK(stats.used_bytes <= device);
  rlx_executable_destroy(e);
  CHECK(stats_of(s).cache_bytes <= stats.cache_bytes);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* Two executables evict each other's programs: the outputs of the last run can still be read. */
TEST(what_is_in_use_stays) {
  rlx_session *s;
  rlx_executable *a, *b;
  rlx_graph *g = template("N");
  float y[30];
  CHECK_OK(open_session("cpu", 1, &s));
  CHECK_OK(rlx_compile(s, g, NULL, &a));
  CHECK_OK(rlx_compile(s, g, NULL, &b));
  CHECK_OK(run_rows(a, 10));
  for (int64_t n = 1; n < 20; n++) CHECK_OK(run_rows(b, n));
  rlx_tensor t = {.dtype = RLX_F32, .data = y, .bytes = sizeof y};
  CHECK_OK(rlx_executable_read(a, "y", &t)); /* of its last run */
  CHECK(y[0] > 0.99f && y[0] < 1.01f && y[1] > 1.24f && y[1] < 1.26f);
  uint64_t compiled = stats_of(s).n_compiled;
  CHECK_OK(run_rows(a, 10)); /* and nothing is compiled again */
  CHECK_EQ_INT(stats_of(s).n_compiled, compiled);
  CHECK(stats_of(s).cache_evicted >= 18);
  rlx_executable_destroy(a);
  rlx_executable_destroy(b);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* ---- one scratch ---- */

TEST(sizes_share_one_scratch) {
  rlx_session *s;
  rlx_executable *e;
  rlx_graph *g = template("N");
  CHECK_OK(open_session("cpu", 0, &s));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(run_rows(e, 500));
  uint64_t one = stats_of(s).used_bytes;
  for (int64_t n = 490; n < 500; n++) CHECK_OK(run_rows(e, n));
  CHECK(stats_of(s).used_bytes < one + one / 2); /* each size has its own constants */
  CHECK_OK(run_rows(e, 600));                    /* the scratch grows and moves */
  CHECK_OK(run_rows(e, 495));                    /* earlier instances are bound again */
  CHECK_OK(run_rows(e, 500));
  CHECK_EQ_INT(stats_of(s).n_compiled, 12);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(a_shared_scratch_has_the_values_of_one) {
  rlx_session *s;
  rlx_scratch *scratch;
  rlx_executable *e[2];
  float y[24];
  CHECK_OK(open_session("cpu", 0, &s));
  CHECK_OK(rlx_scratch_create(s->blocks, &scratch));
  for (int i = 0; i < 2; i++) {
    rlx_graph *g = template(i ? "8" : "4");
    CHECK_OK(rlx_compile_sharing(s, g, NULL, scratch, &e[i]));
    rlx_graph_destroy(g);
  }
  CHECK_OK(run_rows(e[0], 4));
  CHECK_OK(run_rows(e[1], 8));
  rlx_tensor t = {.dtype = RLX_F32, .data = y, .bytes = sizeof y};
  CHECK_OK(rlx_executable_read(e[1], "y", &t));
  t.bytes = sizeof y;
  CHECK_FAILS(rlx_executable_read(e[0], "y", &t), RLX_INVALID, "output 'y' has no value");
  t.bytes = sizeof y;
  CHECK_FAILS(rlx_executable_read(e[0], "x", &t), RLX_INVALID, "input 'x' is not set");
  CHECK_FAILS(rlx_executable_run(e[0]), RLX_INVALID, "input 'x' is not set");
  CHECK_OK(run_rows(e[0], 4));
  CHECK_OK(run_rows(e[1], 8));
  rlx_scratch_release(scratch);
  for (int i = 0; i < 2; i++) rlx_executable_destroy(e[i]);
  rlx_session_destroy(s);
}

/* ---- threads ---- */

enum { THREADS = 4 };

typedef struct worker {
  rlx_session *session;
  const rlx_graph *graph;
  pthread_t thread;
  int number;
  rlx_status status;
  char message[200];
} worker;

static void *work(void *user) {
  worker *w = user;
  rlx_executable *e = NULL;
  w->status = rlx_compile(w->session, w->graph, NULL, &e);
  for (int i = 0; i < 60 && !w->status; i++) w->status = run_rows(e, 1 + (i * 7 + w->number) % 12);
  if (w->status) snprintf(w->message, sizeof w->message, "%s", rlx_message());
  rlx_executable_destroy(e);
  return NULL;
}

TEST(threads_take_each_others_room) {
  rlx_session *s;
  worker w[THREADS];
  rlx_graph *g = template("N");
  CHECK_OK(open_session("cpu", 1, &s));
  for (int i = 0; i < THREADS; i++) {
    w[i] = (worker){.session = s, .graph = g, .number = i};
    CHECK(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_join(w[i].thread, NULL) == 0);
    if (w[i].status) printf("%s\n", w[i].message);
    CHECK(w[i].status == RLX_OK);
  }
  CHECK(stats_of(s).cache_evicted > 0);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}
