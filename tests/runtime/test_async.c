/* Asynchronous runs: completions that are polled, waited for or called back; what a run in flight retains; order within
 * one session and independence of two sessions. Each test runs on each available device. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "faults.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

#define F32(data_, n_) \
  { .dtype = RLX_F32, .shape = RLX_DIMS(n_), .data = (data_), .bytes = (size_t)(n_) * sizeof(float) }
#define OUT(data_, n_)                                              \
  {                                                                 \
    "y", { .data = (data_), .bytes = (size_t)(n_) * sizeof(float) } \
  }

#define ON_EACH_DEVICE(name)                                      \
  static void name##_on(const char *device);                      \
  TEST(name##_on_cpu) { name##_on("cpu"); }                       \
  TEST(name##_on_null) { name##_on("null"); }                     \
  TEST(name##_on_emu) { name##_on("emu"); }                       \
  TEST(name##_on_emu_stream) { name##_on("emu:stream"); }         \
  TEST(name##_on_emu_events) { name##_on("emu:events"); }         \
  TEST(name##_on_cuda) { name##_on("cuda"); }                     \
  TEST(name##_on_webgpu) { name##_on("webgpu"); }                 \
  TEST(name##_on_vulkan) { name##_on("vulkan"); }                 \
  TEST(name##_on_vulkan_staging) { name##_on("vulkan:staging"); } \
  TEST(name##_on_vulkan_minimal) { name##_on("vulkan:minimal"); } \
  static void name##_on(const char *device)

#define OPEN(device, threads, out)                                            \
  do {                                                                        \
    if (TEST_IS_TSAN && strncmp(device, "emu", 3) == 0)                       \
      SKIP("the thread sanitizer does not follow the emulated GPU's stacks"); \
    OPEN_SESSION(device, threads, out);                                       \
  } while (0)

/* y = 2 x + 1 */
static rlx_executable *compile(rlx_session *s, const char *n) {
  rlx_graph *g;
  rlx_executable *e = NULL;
  char leaves[96];
  snprintf(leaves, sizeof leaves, "x: f32[%s]", n);
  if (expr_graph(leaves, "%d = add(%x, %x); %z = sub(%x, %x); %o = exp(%z); add(%d, %o)", &g)) return NULL;
  if (rlx_compile(s, g, NULL, &e)) e = NULL;
  rlx_graph_destroy(g);
  return e;
}

enum { N = 1000 };

static void fill(float *x, int run) {
  for (int i = 0; i < N; i++) x[i] = (float)(i % 97 + run);
}

static bool is_right(const float *y, int run) {
  for (int i = 0; i < N; i++)
    if (y[i] != 2 * (float)(i % 97 + run) + 1) return false;
  return true;
}

/* ---- polling and waiting ---- */

ON_EACH_DEVICE(many_in_flight) {
  enum { RUNS = 12 };
  rlx_session *s;
  OPEN(device, 2, &s);
  static float y[RUNS][N];
  float x[N];
  rlx_executable *e[RUNS];
  rlx_completion *c[RUNS];
  for (int i = 0; i < RUNS; i++) {
    e[i] = compile(s, "1000");
    CHECK(e[i]);
  }
  for (int i = 0; i < RUNS; i++) {
    fill(x, i); /* reused at once: the call has read it */
    rlx_named_tensor in = {"x", F32(x, N)}, out = OUT(y[i], N);
    CHECK_OK(rlx_run_async(e[i], &in, 1, &out, 1, NULL, &c[i]));
    CHECK(out.tensor.dtype == RLX_F32 && out.tensor.shape.n == 1 && out.tensor.bytes == sizeof y[i]);
  }
  for (int i = RUNS; i-- > 0;) {
    if (i % 2) CHECK_OK(rlx_completion_wait(c[i]));
    else
      while (!rlx_completion_is_done(c[i])) {}
    CHECK(is_right(y[i], i));
    CHECK_OK(rlx_completion_wait(c[i])); /* again */
    CHECK(rlx_completion_is_done(c[i]));
    rlx_completion_destroy(c[i]);
  }
  rlx_named_tensor out = OUT(y[0], N); /* unlocked again; an input that is not passed keeps its value */
  CHECK_OK(rlx_run(e[0], NULL, 0, &out, 1));
  CHECK(is_right(y[0], 0));
  for (int i = 0; i < RUNS; i++) rlx_executable_destroy(e[i]);
  rlx_session_destroy(s);
}

typedef struct asker {
  rlx_completion *c;
  bool waits;
  bool is_right;
  const float *y;
  pthread_t thread;
} asker;

static void *ask(void *user) {
  asker *a = user;
  if (!a->waits)
    while (!rlx_completion_is_done(a->c)) {}
  a->is_right = !rlx_completion_wait(a->c) && is_right(a->y, 7);
  return NULL;
}

/* Any number of threads may poll and wait for one completion; all see the outputs. */
ON_EACH_DEVICE(threads_ask_one_completion) {
  enum { THREADS = 4 };
  rlx_session *s;
  OPEN(device, 1, &s);
  float x[N], y[N];
  rlx_executable *e = compile(s, "1000");
  CHECK(e);
  fill(x, 7);
  for (int round = 0; round < 10; round++) {
    rlx_completion *c;
    rlx_named_tensor in = {"x", F32(x, N)}, out = OUT(y, N);
    memset(y, 0, sizeof y);
    CHECK_OK(rlx_run_async(e, &in, 1, &out, 1, NULL, &c));
    asker a[THREADS];
    for (int i = 0; i < THREADS; i++) {
      a[i] = (asker){.c = c, .waits = i % 2, .y = y};
      CHECK(pthread_create(&a[i].thread, NULL, ask, &a[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(a[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) CHECK(a[i].is_right);
    rlx_completion_destroy(c);
  }
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
}

static int count_threads(void) {
  DIR *d = opendir("/proc/self/task");
  int n = 0;
  if (!d) return -1;
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

/* As in a browser: nothing happens between the calls of the one thread there is, and runs are polled to their end. The
 * outputs are written when a poll returns true, not before. */
TEST(polled_runs_need_no_thread) {
  rlx_session *s, *other;
  OPEN("emu:events", 1, &s);
  CHECK_OK(run_session("emu:events", 1, &other));
  float x[N], y[2][N];
  rlx_completion *c[2];
  rlx_executable *e = compile(s, "1000"), *later = compile(other, "1000");
  CHECK(e && later);
  const int before = count_threads();
  int polls = 0;
  fill(x, 4);
  memset(y, 0, sizeof y);
  rlx_named_tensor in = {"x", F32(x, N)}, out[2] = {OUT(y[0], N), OUT(y[1], N)};
  CHECK_OK(rlx_run_async(e, &in, 1, &out[0], 1, NULL, &c[0]));
  CHECK_OK(rlx_run_async(later, &in, 1, &out[1], 1, NULL, &c[1]));
  CHECK_OK(rlx_completion_wait(c[1])); /* the other session's run is still where it was */
  CHECK(is_right(y[1], 4) && y[0][5] == 0);
  for (; !rlx_completion_is_done(c[0]); polls++) CHECK(y[0][5] == 0);
  CHECK(polls >= 2); /* the input, the steps and the output are entries of their own */
  CHECK(is_right(y[0], 4));
  CHECK_EQ_INT(count_threads(), before);
  rlx_completion_destroy(c[0]);
  rlx_completion_destroy(c[1]);
  rlx_executable_destroy(e);
  rlx_executable_destroy(later);
  rlx_session_destroy(other);
  rlx_session_destroy(s);
}

/* ---- callbacks ---- */

typedef struct chain {
  rlx_executable *e;
  float x[N], y[N];
  int n, n_wrong;
  rlx_status status;
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool is_ended;
} chain;

static void submit_next(chain *k);

static void next_link(void *user, rlx_status status) {
  chain *k = user;
  k->n_wrong += status || !is_right(k->y, k->n);
  k->n++;
  if (!status && k->n < 20) {
    submit_next(k);
    return;
  }
  pthread_mutex_lock(&k->lock);
  k->status = status;
  k->is_ended = true;
  pthread_cond_signal(&k->ended);
  pthread_mutex_unlock(&k->lock);
}

static void submit_next(chain *k) {
  fill(k->x, k->n);
  rlx_named_tensor in = {"x", F32(k->x, N)}, out = OUT(k->y, N);
  const rlx_async_options o = {RLX_ASYNC_OPTIONS_INIT, .done = next_link, .user = k};
  rlx_status s = rlx_run_async(k->e, &in, 1, &out, 1, &o, NULL);
  if (s) next_link(k, s);
}

ON_EACH_DEVICE(a_callback_submits_the_next_run) {
  rlx_session *s;
  OPEN(device, 1, &s);
  static chain k;
  k = (chain){.e = compile(s, "1000"), .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
  CHECK(k.e);
  submit_next(&k);
  pthread_mutex_lock(&k.lock);
  while (!k.is_ended) pthread_cond_wait(&k.ended, &k.lock);
  pthread_mutex_unlock(&k.lock);
  CHECK_OK(k.status);
  CHECK_EQ_INT(k.n, 20);
  CHECK_EQ_INT(k.n_wrong, 0);
  rlx_executable_destroy(k.e);
  rlx_session_destroy(s);
}

static void count_end(void *user, rlx_status status) {
  if (!status) atomic_fetch_add((atomic_int *)user, 1);
}

/* Without a completion for the caller, the call may return while the worker ends the run; then both release it. When
 * the session is destroyed, no thread is left that could still do so. */
ON_EACH_DEVICE(runs_without_a_completion) {
  enum { RUNS = 400 };
  rlx_session *s;
  OPEN(device, 1, &s);
  float x[N];
  static float y[N]; /* a run in flight writes it */
  static atomic_int n_ended;
  atomic_store(&n_ended, 0);
  rlx_executable *e = compile(s, "1000");
  CHECK(e);
  fill(x, 2);
  rlx_named_tensor in = {"x", F32(x, N)}, out = OUT(y, N);
  const rlx_async_options o = {RLX_ASYNC_OPTIONS_INIT, .done = count_end, .user = &n_ended};
  for (int i = 0; i < RUNS;) {
    const rlx_status status = rlx_run_async(e, &in, 1, &out, 1, &o, NULL);
    if (status == RLX_BUSY) continue; /* the run before */
    CHECK_OK(status);
    i++;
  }
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  CHECK_EQ_INT(atomic_load(&n_ended), RUNS);
  CHECK(is_right(y, 2));
}

typedef struct pair {
  rlx_completion *second;
  rlx_status status;
} pair;

static void wait_for_second(void *user, rlx_status status) {
  pair *p = user;
  p->status = status ? status : rlx_completion_wait(p->second);
}

/* Both runs are jobs of the worker: the second is queued after the callback that waits for it. */
TEST(a_callback_waits_for_a_later_run) {
  rlx_session *s;
  OPEN_SESSION("cpu", 1, &s);
  float x[N], y[2][N];
  rlx_executable *e[2] = {compile(s, "1000"), compile(s, "1000")};
  rlx_completion *first;
  pair p = {0};
  CHECK(e[0] && e[1]);
  fill(x, 3);
  rlx_named_tensor in = {"x", F32(x, N)}, out[2] = {OUT(y[0], N), OUT(y[1], N)};
  CHECK_OK(rlx_run_async(e[1], &in, 1, &out[1], 1, NULL, &p.second));
  const rlx_async_options o = {RLX_ASYNC_OPTIONS_INIT, .done = wait_for_second, .user = &p};
  CHECK_OK(rlx_run_async(e[0], &in, 1, &out[0], 1, &o, &first));
  CHECK_OK(rlx_completion_wait(first));
  rlx_completion_destroy(first);
  CHECK_OK(rlx_completion_wait(p.second));
  CHECK(is_right(y[0], 3) && is_right(y[1], 3));
  rlx_completion_destroy(p.second);
  rlx_executable_destroy(e[0]);
  rlx_executable_destroy(e[1]);
  rlx_session_destroy(s); /* waits for the callback */
  CHECK_OK(p.status);
}

/* ---- what a run in flight retains ---- */

typedef struct gate {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_open, is_reached;
} gate;

static void wait_at_gate(void *user, rlx_node node, const rlx_tensor *value) {
  (void)node;
  (void)value;
  gate *g = user;
  pthread_mutex_lock(&g->lock);
  g->is_reached = true;
  pthread_cond_broadcast(&g->changed);
  while (!g->is_open) pthread_cond_wait(&g->changed, &g->lock);
  pthread_mutex_unlock(&g->lock);
}

static void open_gate(gate *g) {
  pthread_mutex_lock(&g->lock);
  g->is_open = true;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->lock);
}

/* One session's run is blocked in its middle; another session's run completes meanwhile, on the same device. */
ON_EACH_DEVICE(two_sessions_do_not_wait_for_each_other) {
  rlx_session *s, *other;
  OPEN(device, 1, &s);
  OPEN(device, 1, &other);
  gate g = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  float x[N], y[2][N];
  rlx_completion *held, *free_one;
  rlx_executable *e = compile(s, "1000"), *quick = compile(other, "1000");
  CHECK(e && quick);
  CHECK_OK(rlx_executable_observe(e, wait_at_gate, &g));
  fill(x, 5);
  rlx_named_tensor in = {"x", F32(x, N)}, out[2] = {OUT(y[0], N), OUT(y[1], N)};
  CHECK_OK(rlx_run_async(e, &in, 1, &out[0], 1, NULL, &held));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(rlx_run_async(quick, &in, 1, &out[1], 1, NULL, &free_one));
    CHECK_OK(rlx_completion_wait(free_one));
    rlx_completion_destroy(free_one);
    CHECK_OK(rlx_run(quick, &in, 1, &out[1], 1));
    CHECK(is_right(y[1], 5));
  }
  CHECK(!rlx_completion_is_done(held));
  CHECK_FAILS(rlx_run(e, &in, 1, &out[1], 1), RLX_BUSY, "in use");
  rlx_completion *none;
  CHECK_FAILS(rlx_run_async(e, &in, 1, &out[1], 1, NULL, &none), RLX_BUSY, "in use");
  CHECK(!none);
  open_gate(&g);
  CHECK_OK(rlx_completion_wait(held));
  CHECK(is_right(y[0], 5));
  rlx_completion_destroy(held);
  rlx_executable_destroy(e);
  rlx_executable_destroy(quick);
  rlx_session_destroy(other);
  rlx_session_destroy(s);
}

/* The executable and the session are destroyed while the run is in flight; nothing is leaked and the outputs arrive. */
ON_EACH_DEVICE(a_run_in_flight_holds_what_it_needs) {
  size_t live = 0;
  for (int round = 0; round < 3; round++) {
    rlx_session *s;
    OPEN(device, 2, &s);
    float x[N], y[N];
    rlx_completion *c;
    rlx_executable *e = compile(s, "1000");
    CHECK(e);
    fill(x, round);
    rlx_named_tensor in = {"x", F32(x, N)}, out = OUT(y, N);
    CHECK_OK(rlx_run_async(e, &in, 1, &out, 1, NULL, &c));
    rlx_executable_destroy(e);
    rlx_session_destroy(s);
    if (round == 0) CHECK_OK(rlx_completion_wait(c));
    rlx_completion_destroy(c);
    CHECK(is_right(y, round));
    if (round == 1) live = rlx_mem_live();
  }
  CHECK_EQ_INT(rlx_mem_live(), live);
}

/* ---- order ---- */

/* An accumulator: runs in flight together, on clones that share the state, add up in the order of submission. */
ON_EACH_DEVICE(runs_of_a_session_are_in_order) {
  enum { RUNS = 6 };
  rlx_session *s;
  OPEN(device, 1, &s);
  rlx_graph *g;
  CHECK_OK(
    expr_graph("x: f32[4]; state a: f32[4]; at: i32[]", "%h = add(%a, %a); %n = add(%h, %x); update(%a, %n, %at)", &g));
  rlx_executable *e[RUNS];
  CHECK_OK(rlx_compile(s, g, NULL, &e[0]));
  rlx_graph_destroy(g);
  for (int i = 1; i < RUNS; i++) CHECK_OK(rlx_executable_clone(e[0], &e[i]));
  float x[4], y[RUNS][4], expected[4] = {0};
  int32_t at = 0;
  rlx_completion *c[RUNS];
  for (int i = 0; i < RUNS; i++) {
    for (int k = 0; k < 4; k++) x[k] = (float)((i + 1) * (k + 1));
    rlx_named_tensor in[] = {{"x", F32(x, 4)}, {"at", {.dtype = RLX_I32, .data = &at, .bytes = sizeof at}}},
                     out = OUT(y[i], 4);
    CHECK_OK(rlx_run_async(e[i], in, 2, &out, 1, NULL, &c[i]));
  }
  for (int i = 0; i < RUNS; i++) {
    CHECK_OK(rlx_completion_wait(c[i]));
    for (int k = 0; k < 4; k++) {
      expected[k] = 2 * expected[k] + (float)((i + 1) * (k + 1));
      CHECK(y[i][k] == expected[k]);
    }
    rlx_completion_destroy(c[i]);
    rlx_executable_destroy(e[i]);
  }
  rlx_session_destroy(s);
}

static void read_state(rlx_executable *e, float *out) {
  rlx_tensor t = {.dtype = RLX_F32, .data = out, .bytes = 4 * sizeof *out};
  CHECK_OK(rlx_executable_read(e, "a", &t));
}

/* A run that is waited for, a read of the state and a zeroing come after runs in flight that share the state. */
ON_EACH_DEVICE(later_calls_come_after_runs_in_flight) {
  enum { RUNS = 5 };
  rlx_session *s;
  OPEN(device, 1, &s);
  rlx_graph *g;
  rlx_states *states;
  CHECK_OK(expr_graph("x: f32[4]; state a: f32[4]; at: i32[]", "%n = add(%a, %x); update(%a, %n, %at)", &g));
  CHECK_OK(rlx_states_create(s, &states));
  rlx_executable *e[RUNS];
  for (int i = 0; i < RUNS; i++)
    CHECK_OK(rlx_compile(s, g, &(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, .states = states}, &e[i]));
  rlx_graph_destroy(g);
  float x[4] = {1, 2, 3, 4}, y[RUNS][4], found[4];
  int32_t at = 0;
  rlx_named_tensor in[] = {{"x", F32(x, 4)}, {"at", {.dtype = RLX_I32, .data = &at, .bytes = sizeof at}}};
  rlx_completion *c[RUNS];
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < RUNS - 1; i++) {
      rlx_named_tensor out = OUT(y[i], 4);
      CHECK_OK(rlx_run_async(e[i], in, 2, &out, 1, NULL, &c[i]));
    }
    rlx_named_tensor last = OUT(y[RUNS - 1], 4);
    if (round % 3 == 0) CHECK_OK(rlx_run(e[RUNS - 1], in, 2, &last, 1));
    if (round % 3 == 0) CHECK(y[RUNS - 1][3] == 4 * RUNS);
    if (round % 3 == 1) read_state(e[RUNS - 1], found);
    if (round % 3 == 1) CHECK(found[3] == 4 * (RUNS - 1));
    CHECK_OK(rlx_states_zero(states));
    for (int i = 0; i < RUNS - 1; i++) {
      CHECK_OK(rlx_completion_wait(c[i]));
      CHECK(y[i][3] == (float)(4 * (i + 1)));
      rlx_completion_destroy(c[i]);
    }
  }
  for (int i = 0; i < RUNS; i++) rlx_executable_destroy(e[i]);
  rlx_states_destroy(states);
  rlx_session_destroy(s);
}

typedef struct looker {
  rlx_executable *clone;
  rlx_states *states;
  rlx_status read, run, async;
} looker;

/* In the middle of a run that shares the states. */
static void look(void *user, rlx_node node, const rlx_tensor *value) {
  (void)node;
  (void)value;
  looker *l = user;
  float found[4], x[4] = {0}, y[4];
  int32_t at = 0;
  rlx_completion *c = NULL;
  rlx_tensor t = {.dtype = RLX_F32, .data = found, .bytes = sizeof found};
  rlx_named_tensor in[] = {{"x", F32(x, 4)}, {"at", {.dtype = RLX_I32, .data = &at, .bytes = sizeof at}}},
                   out = OUT(y, 4);
  l->read = rlx_executable_read(l->clone, "a", &t);
  l->run = rlx_run(l->clone, in, 2, &out, 1);
  l->async = rlx_run_async(l->clone, in, 2, &out, 1, NULL, &c);
  if (!l->async) l->async = rlx_completion_wait(c);
  rlx_completion_destroy(c);
}

/* A callback may use the states of the run that calls it, in a run that is waited for and in one that is not; a run in
 * flight beside one that is waited for is refused if it would need the worker. */
ON_EACH_DEVICE(a_callback_uses_the_states_of_its_run) {
  rlx_session *s;
  OPEN(device, 1, &s);
  rlx_graph *g;
  rlx_executable *e;
  looker l = {0};
  CHECK_OK(expr_graph("x: f32[4]; state a: f32[4]; at: i32[]", "%n = add(%a, %x); update(%a, %n, %at)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_clone(e, &l.clone));
  rlx_graph_destroy(g);
  CHECK_OK(rlx_executable_observe(e, look, &l));
  float x[4] = {1, 2, 3, 4}, y[4];
  int32_t at = 0;
  rlx_completion *c;
  rlx_named_tensor in[] = {{"x", F32(x, 4)}, {"at", {.dtype = RLX_I32, .data = &at, .bytes = sizeof at}}},
                   out = OUT(y, 4);
  CHECK_OK(rlx_run(e, in, 2, &out, 1));
  CHECK(l.read == RLX_OK && l.run == RLX_OK);
  CHECK(l.async == RLX_OK || l.async == RLX_BUSY);
  CHECK_OK(rlx_run_async(e, in, 2, &out, 1, NULL, &c)); /* executed by the worker, which makes the calls */
  CHECK_OK(rlx_completion_wait(c));
  rlx_completion_destroy(c);
  CHECK(l.read == RLX_OK && l.run == RLX_OK && l.async == RLX_OK);
  CHECK(y[3] == 8);
  rlx_executable_destroy(e);
  rlx_executable_destroy(l.clone);
  rlx_session_destroy(s);
}

/* Bound outputs, feeds and new sizes behave as with rlx_run. */
ON_EACH_DEVICE(bound_memory_feeds_and_sizes) {
  rlx_session *s;
  OPEN(device, 1, &s);
  float x[N], y[N], bound[N];
  rlx_completion *c;
  rlx_executable *e = compile(s, "1000"), *open = compile(s, "n");
  CHECK(e && open);
  CHECK_OK(rlx_executable_bind_output(e, "y", bound, sizeof bound));
  CHECK_OK(rlx_executable_feed(e, "y", "x"));
  for (int i = 0; i < N; i++) x[i] = 1;
  rlx_named_tensor in = {"x", F32(x, N)}, out = OUT(y, N);
  for (int i = 0; i < 3; i++) {
    CHECK_OK(rlx_run_async(e, &in, i == 0, &out, 1, NULL, &c));
    CHECK_OK(rlx_completion_wait(c));
    rlx_completion_destroy(c);
    CHECK(y[7] == (float)((4 << i) - 1) && bound[N - 1] == y[7]);
  }
  for (int n = 1; n <= N; n += 333) {
    rlx_named_tensor some = {"x", F32(x, n)}, part = OUT(y, N);
    CHECK_OK(rlx_run_async(open, &some, 1, &part, 1, NULL, &c));
    CHECK_EQ_INT(part.tensor.shape.v[0], n);
    CHECK_OK(rlx_completion_wait(c));
    CHECK(y[n - 1] == 3);
    rlx_completion_destroy(c);
  }
  rlx_executable_destroy(e);
  rlx_executable_destroy(open);
  rlx_session_destroy(s);
}

/* ---- failures ---- */

static bool at_once(void *user) {
  (void)user;
  return true;
}

ON_EACH_DEVICE(failures_are_reported_by_the_call_or_the_completion) {
  rlx_session *s;
  OPEN(device, 1, &s);
  float x[N], y[N];
  rlx_completion *c = NULL;
  rlx_executable *e = compile(s, "1000");
  CHECK(e);
  fill(x, 1);
  rlx_named_tensor in = {"x", F32(x, N)}, out = OUT(y, N), wrong = {"z", F32(x, N)}, small = OUT(y, 3);
  CHECK_FAILS(rlx_run_async(NULL, &in, 1, &out, 1, NULL, &c), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_run_async(e, &wrong, 1, &out, 1, NULL, &c), RLX_NOT_FOUND, "'z'");
  CHECK_FAILS(rlx_run_async(e, &in, 1, &small, 1, NULL, &c), RLX_INVALID, "12 bytes");
  CHECK_FAILS(rlx_run_async(e, &in, 1, &out, 1, NULL, NULL), RLX_INVALID, "no callback");
  CHECK(!c);
  rlx_executable_set_watch(e, &(rlx_watch){.cancel = at_once});
  CHECK_OK(rlx_run_async(e, &in, 1, &out, 1, NULL, &c));
  CHECK_FAILS(rlx_completion_wait(c), RLX_CANCELLED, "stopped by the caller");
  CHECK_FAILS(rlx_completion_wait(c), RLX_CANCELLED, "stopped by the caller");
  rlx_completion_destroy(c);
  rlx_executable_set_watch(e, NULL);
  CHECK_OK(rlx_run_async(e, NULL, 0, &out, 1, NULL, &c)); /* it can be run again */
  CHECK_OK(rlx_completion_wait(c));
  CHECK(is_right(y, 1));
  rlx_completion_destroy(c);
  rlx_completion_destroy(NULL);
  CHECK(!rlx_completion_is_done(NULL));
  CHECK_FAILS(rlx_completion_wait(NULL), RLX_INVALID, "NULL");
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
}

static rlx_status work(void *user) {
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_completion *c = NULL;
  rlx_graph *g = NULL;
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  rlx_named_tensor in = {"x", F32(x, 4)}, out = OUT(y, 4);
  rlx_status status =
    rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = user, .n_threads = 1}, &s);
  if (!status) status = expr_graph("x: f32[4]", "%z = sub(%x, %x); %o = exp(%z); add(%x, %o)", &g);
  if (!status) status = rlx_compile(s, g, NULL, &e);
  if (!status) status = rlx_run_async(e, &in, 1, &out, 1, NULL, &c);
  if (!status) status = rlx_completion_wait(c);
  if (!status && y[3] != 5) status = RLX_INVALID;
  rlx_completion_destroy(c);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
  return status;
}

TEST(under_failing_allocations) { CHECK_OK(alloc_sweep(work, "cpu")); }
TEST(under_failing_allocations_on_emu_events) {
  if (!TEST_HAS_EMULATOR) SKIP("there is no emulated GPU here");
  CHECK_OK(alloc_sweep(work, "emu:events"));
}
