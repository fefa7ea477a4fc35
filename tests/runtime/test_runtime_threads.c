/* Many threads at once: separate sessions over one weight store, clones of one executable, one session in which all
 * compile, executables that share states. Sharing is safe (the thread sanitizer checks it), and all threads get the same
 * bits. */
#include <pthread.h>
#include <stdatomic.h>

#include "ref/eval.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

enum { THREADS = 8, RUNS = 20, SESSION_THREADS = 16, N = 16 };
#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

typedef struct shared {
  const char *device;
  rlx_graph *g;
  rlx_weights *weights;
  rlx_session *session;
  rlx_executable *first;
  float w[N * N], x[N], want[2 * N];
  pthread_barrier_t start;
} shared;

typedef struct worker {
  shared *shared;
  pthread_t thread;
  rlx_status status;
  char message[256];
} worker;

static rlx_status run_many(const shared *k, rlx_executable *e, int runs) {
  float y[2 * N];
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(1, N), {.const_data = k->x}, sizeof k->x}};
  rlx_named_tensor out = {"y", {.data = y, .bytes = sizeof y}};
  for (int i = 0; i < runs; i++) {
    memset(y, 0xa5, sizeof y);
    out.tensor.bytes = sizeof y;
    RLX_TRY(rlx_run(e, &in, 1, &out, 1));
    if (memcmp(y, k->want, sizeof y) != 0) return RLX_FAIL(RLX_INVALID, "run %d has other bits", i);
  }
  return RLX_OK;
}

static rlx_status own_session(const shared *k) {
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_status status = run_session(k->device, 2, &s);
  if (!status) status = rlx_compile(s, k->g, OPTIONS(.weights = k->weights), &e);
  if (!status && rlx_weights_bytes(k->weights) == 0) status = RLX_FAIL(RLX_INVALID, "no weights");
  if (!status) status = run_many(k, e, RUNS);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  return status;
}

static rlx_status own_clone(const shared *k) {
  rlx_executable *e;
  RLX_TRY(rlx_executable_clone(k->first, &e));
  rlx_status status = run_many(k, e, RUNS);
  rlx_executable_destroy(e);
  return status;
}

static rlx_status shared_session(const shared *k) {
  rlx_status status = RLX_OK;
  for (int i = 0; i < 4 && !status; i++) {
    rlx_executable *e = NULL;
    status = rlx_compile(k->session, k->g,
                         OPTIONS(.weights = k->weights, .switches = i % 2 == 1 ? RLX_SWITCH_NO_SEARCH : 0), &e);
    if (!status) status = run_many(k, e, 2);
    rlx_executable_destroy(e);
  }
  return status;
}

/* A finished graph is immutable: all threads bind, print, query and optimise it at the same time. */
static rlx_status read_graph(const shared *k) {
  rlx_status status = RLX_OK;
  for (int i = 0; i < 4 && !status; i++) {
    char *text = NULL;
    rlx_graph *copy = NULL, *bound = NULL;
    rlx_optimized *done = NULL;
    status = rlx_graph_print(k->g, &text);
    if (!status) status = rlx_graph_parse(text, strlen(text), &copy);
    if (!status && !rlx_graph_same(copy, k->g)) status = RLX_FAIL(RLX_INVALID, "another graph");
    if (!status) status = rlx_graph_verify(k->g);
    if (!status) status = rlx_graph_bind(k->g, NULL, 0, &bound);
    if (!status) status = rlx_optimize(bound, NULL, &done);
    if (!status && !rlx_graph_find(k->g, "x")) status = RLX_FAIL(RLX_INVALID, "no x");
    rlx_optimized_destroy(done);
    rlx_graph_destroy(bound);
    rlx_graph_destroy(copy);
    rlx_free(text);
  }
  return status;
}

/* Each thread has its own objects, including the device: only what the library shares internally is shared. */
static rlx_status all_own(const shared *k) {
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_tensor w = {RLX_F32, RLX_DIMS(N, N), {.const_data = k->w}, sizeof k->w};
  rlx_status status = run_session(k->device, 1, &s);
  if (!status) status = rlx_compile(s, k->g, NULL, &e);
  rlx_session_destroy(s); /* retained by the executable */
  if (!status) status = rlx_executable_write(e, "w", &w);
  if (!status) status = run_many(k, e, 3);
  rlx_executable_destroy(e);
  return status;
}

typedef struct job {
  worker worker;
  rlx_status (*fn)(const shared *k);
} job;

static void *work(void *user) {
  job *j = user;
  pthread_barrier_wait(&j->worker.shared->start);
  j->worker.status = j->fn(j->worker.shared);
  if (j->worker.status) snprintf(j->worker.message, sizeof j->worker.message, "%s", rlx_message());
  return NULL;
}

static void run_jobs(shared *k, rlx_status (*fn)(const shared *k), int n) {
  static job jobs[SESSION_THREADS];
  CHECK(pthread_barrier_init(&k->start, NULL, (unsigned)n) == 0);
  for (int i = 0; i < n; i++) {
    jobs[i] = (job){.worker = {.shared = k}, .fn = fn};
    CHECK(pthread_create(&jobs[i].worker.thread, NULL, work, &jobs[i]) == 0);
  }
  for (int i = 0; i < n; i++) CHECK(pthread_join(jobs[i].worker.thread, NULL) == 0);
  pthread_barrier_destroy(&k->start);
  for (int i = 0; i < n; i++)
    if (jobs[i].worker.status)
      FAIL("thread %d: %s: %s", i, rlx_status_name(jobs[i].worker.status), jobs[i].worker.message);
}

/* All threads must compute what a single thread computes. */
static rlx_status prepare(const char *device, shared *k) {
  *k = (shared){.device = device};
  RLX_TRY(run_session(device, 2, &k->session));
  for (int i = 0; i < N * N; i++) k->w[i] = (float)(i % 11) * 0.1f;
  for (int i = 0; i < N; i++) k->x[i] = (float)i - 3;
  RLX_TRY(expr_graph("x: f32[1,16]; param w: f32[16,16]",
                     "%r = reverse(%w) {axes=[0]}; %c = concat(%r, %w) {axis=1}; %m = matmul(%x, %c); softmax(%m)",
                     &k->g));
  rlx_tensor w = {RLX_F32, RLX_DIMS(N, N), {k->w}, sizeof k->w},
             y = {.dtype = RLX_F32, .data = k->want, .bytes = sizeof k->want};
  rlx_tensor x = {RLX_F32, RLX_DIMS(1, N), {k->x}, sizeof k->x};
  RLX_TRY(rlx_compile(k->session, k->g, OPTIONS(.no_cache = true), &k->first));
  RLX_TRY(rlx_executable_write(k->first, "w", &w));
  RLX_TRY(rlx_executable_write(k->first, "x", &x));
  RLX_TRY(rlx_executable_run(k->first));
  RLX_TRY(rlx_executable_read(k->first, "y", &y));
  RLX_TRY(rlx_weights_create(k->session, &k->weights));
  return rlx_weights_set(k->weights, "w", &w);
}

static void check_threads(const char *device, rlx_status (*fn)(const shared *k), int n) {
  static shared k;
  rlx_status s = prepare(device, &k);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  run_jobs(&k, fn, n);
  rlx_executable_destroy(k.first);
  rlx_weights_destroy(k.weights);
  rlx_graph_destroy(k.g);
  rlx_session_destroy(k.session);
}

TEST(separate_sessions_share_weights_on_null) { check_threads("null", own_session, THREADS); }
TEST(separate_sessions_share_weights_on_cpu) { check_threads("cpu", own_session, THREADS); }
TEST(clones_run_at_once_on_null) { check_threads("null", own_clone, THREADS); }
TEST(clones_run_at_once_on_cpu) { check_threads("cpu", own_clone, THREADS); }
TEST(one_session_compiles_for_all_on_null) { check_threads("null", shared_session, THREADS); }
TEST(one_session_compiles_for_all_on_cpu) { check_threads("cpu", shared_session, THREADS); }
TEST(sessions_come_and_go_on_null) { check_threads("null", all_own, SESSION_THREADS); }
TEST(sessions_come_and_go_on_cpu) { check_threads("cpu", all_own, SESSION_THREADS); }
TEST(threads_read_one_graph) { check_threads("null", read_graph, THREADS); }

/* ---- states ---- */

typedef struct adder {
  rlx_executable *e;
  rlx_states *states;
  unsigned n, n_wrong;
  pthread_t thread;
} adder;

/* Adds 1 to the state in rlx_run or rlx_run_async; reads and zeroing may be refused as well, but nothing else. */
static void *add_often(void *user) {
  adder *a = user;
  float one[4] = {1, 1, 1, 1}, y[4];
  int32_t at = 0;
  rlx_named_tensor in[] = {{"x", {RLX_F32, RLX_DIMS(4), {one}, sizeof one}},
                           {"at", {.dtype = RLX_I32, .data = &at, .bytes = sizeof at}}};
  for (unsigned i = 0; i < 200; i++) {
    rlx_named_tensor out = {"y", {.data = y, .bytes = sizeof y}};
    rlx_completion *c = NULL;
    rlx_status s = i % 4 == 3 ? rlx_run_async(a->e, in, 2, &out, 1, NULL, &c)
                   : i % 4 == 2
                     ? rlx_executable_read(a->e, "a", &(rlx_tensor){.dtype = RLX_F32, {.n = 0}, {y}, sizeof y})
                     : rlx_run(a->e, in, 2, &out, 1);
    a->n_wrong += s && s != RLX_BUSY;
    if (!s && c) a->n_wrong += rlx_completion_wait(c) != RLX_OK;
    rlx_completion_destroy(c);
    a->n += !s && i % 4 != 2;
    a->n_wrong += !s && (y[0] != y[3] || y[0] < 0);
  }
  return NULL;
}

/* Executables that share states never access them at the same time: a second thread is refused and changes nothing. */
static void check_shared_states(const char *device) {
  enum { ADDERS = 4 };
  rlx_session *s;
  rlx_states *states;
  rlx_graph *g;
  OPEN_SESSION(device, 2, &s);
  CHECK_OK(expr_graph("x: f32[4]; state a: f32[4]; at: i32[]", "%n = add(%a, %x); update(%a, %n, %at)", &g));
  CHECK_OK(rlx_states_create(s, &states));
  static adder a[ADDERS];
  unsigned total = 0;
  for (int i = 0; i < ADDERS; i++) {
    a[i] = (adder){.states = states};
    CHECK_OK(rlx_compile(s, g, OPTIONS(.states = states), &a[i].e));
  }
  for (int i = 0; i < ADDERS; i++) CHECK(pthread_create(&a[i].thread, NULL, add_often, &a[i]) == 0);
  for (int i = 0; i < ADDERS; i++) pthread_join(a[i].thread, NULL);
  float found[4];
  rlx_tensor t = {.dtype = RLX_F32, .data = found, .bytes = sizeof found};
  CHECK_OK(rlx_executable_read(a[0].e, "a", &t));
  for (int i = 0; i < ADDERS; i++) {
    CHECK_EQ_INT(a[i].n_wrong, 0);
    total += a[i].n;
    rlx_executable_destroy(a[i].e);
  }
  CHECK(total > 0);
  for (int i = 0; i < 4; i++) CHECK(found[i] == (float)total);
  rlx_graph_destroy(g);
  rlx_states_destroy(states);
  rlx_session_destroy(s);
}

TEST(executables_share_states_on_cpu) { check_shared_states("cpu"); }
TEST(executables_share_states_on_null) { check_shared_states("null"); }
TEST(executables_share_states_on_vulkan) { check_shared_states("vulkan"); }
TEST(executables_share_states_on_emu_stream) {
  if (TEST_IS_TSAN) SKIP("the thread sanitizer does not follow the emulated GPU's stacks");
  check_shared_states("emu:stream");
}
