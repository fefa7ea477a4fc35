/* The process contract (docs/process.md): fork, signals, threads, callbacks. A hang is a failure, so every child has an
 * alarm, far above what it needs. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "folder.h"
#include "onnx_image.h"
#include "rlx/experimental.h"
#include "rlx/onnx.h"
#include "rules.h"
#include "run_check.h"
#include "test.h"

enum { N = 16, ALARM_SECONDS = 600 };

/* ---- the fixture ---- */

typedef struct world {
  rlx_session *session;
  rlx_graph *graph;
  rlx_executable *e;
  float x[N * N], y[N * N];
} world;

static rlx_status world_open(world *w, const char *device) {
  *w = (world){0};
  for (int i = 0; i < N * N; i++) w->x[i] = (float)(i % 7) * 0.25f;
  RLX_TRY(run_session(device, 2, &w->session));
  RLX_TRY(
    expr_graph("x: f32[16,16]", "%a = matmul(%x, %x); %b = tanh(%a); %c = sort(%b) {axis=1}; softmax(%c)", &w->graph));
  return rlx_compile(w->session, w->graph, NULL, &w->e);
}

static void world_close(world *w) {
  rlx_executable_destroy(w->e);
  rlx_graph_destroy(w->graph);
  rlx_session_destroy(w->session);
}

static rlx_status world_run(world *w) {
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(N, N), {w->x}, sizeof w->x}};
  rlx_named_tensor out = {"y", {.data = w->y, .bytes = sizeof w->y}};
  return rlx_run(w->e, &in, 1, &out, 1);
}

/* Creates everything again, like a program that has not used the library before. */
static bool works_anew(const char *device, const float *want) {
  world w;
  bool ok =
    world_open(&w, device) == RLX_OK && world_run(&w) == RLX_OK && (!want || memcmp(w.y, want, sizeof w.y) == 0);
  world_close(&w);
  return ok;
}

/* ---- fork ---- */

/* Runs fn in a child. Returns its result, or -1 if the child did not exit by itself. */
static int in_child(int (*fn)(void *), void *user, bool by_exit) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(ALARM_SECONDS);
    int code = fn(user);
    if (by_exit && !TEST_IS_SANITIZED) exit(code); /* a leak detector would report the parent's objects */
    _exit(code);
  }
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_foreign(rlx_status s) { return s == RLX_INVALID && strstr(rlx_message(), "belongs to the process"); }

/* Number of the first failed check; 0: none. */
static int child_refuses(void *user) {
  world *w = user;
  rlx_executable *other;
  rlx_weights *weights;
  rlx_states *states;
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  rlx_session_stats stats = {RLX_SESSION_STATS_INIT};
  rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
  rlx_tensor t = {RLX_F32, RLX_DIMS(N, N), {w->y}, sizeof w->y};
  if (!is_foreign(world_run(w))) return 1;
  if (!is_foreign(rlx_executable_run(w->e))) return 2;
  if (!is_foreign(rlx_compile(w->session, w->graph, NULL, &other))) return 3;
  if (!is_foreign(rlx_executable_clone(w->e, &other))) return 4;
  if (!is_foreign(rlx_weights_create(w->session, &weights))) return 5;
  if (!is_foreign(rlx_states_create(w->session, &states))) return 6;
  if (!is_foreign(rlx_session_device(w->session, &info))) return 7;
  if (!is_foreign(rlx_session_stats_get(w->session, &stats))) return 8;
  if (!is_foreign(rlx_executable_memory(w->e, &memory))) return 9;
  if (!is_foreign(rlx_executable_read(w->e, "y", &t))) return 10;
  if (rlx_executable_graph(w->e)) return 11;
  rlx_session_trim(w->session, 0);
  rlx_executable_set_watch(w->e, NULL);
  if (!works_anew("cpu", NULL)) return 12;
  world_close(w); /* the parent's objects: no effect, and no hang */
  return works_anew("cpu", NULL) ? 0 : 13;
}

TEST(a_child_refuses_its_parents_objects_and_makes_its_own) {
  if (TEST_IS_SANITIZED) SKIP("a sanitizer's own locks do not survive a fork among threads");
  if (TEST_IS_TSAN) SKIP("the thread sanitizer ends a child that starts threads");
  world w;
  CHECK_OK(world_open(&w, "cpu"));
  CHECK_OK(world_run(&w));
  for (int by_exit = 0; by_exit < 2; by_exit++) {
    CHECK_EQ_INT(in_child(child_refuses, &w, by_exit), 0);
    CHECK_OK(world_run(&w)); /* the parent's objects are unchanged */
  }
  world_close(&w);
}

static int child_forks_again(void *user) {
  const float *want = user;
  world w;
  if (world_open(&w, "cpu") || world_run(&w) || memcmp(w.y, want, sizeof w.y) != 0) return 1;
  int code = in_child(child_refuses, &w, false);
  if (code || world_run(&w)) return 20 + code;
  world_close(&w);
  return 0;
}

TEST(children_of_children) {
  if (TEST_IS_SANITIZED) SKIP("a sanitizer's own locks do not survive a fork among threads");
  if (TEST_IS_TSAN) SKIP("the thread sanitizer ends a child that starts threads");
  world w;
  CHECK_OK(world_open(&w, "cpu"));
  CHECK_OK(world_run(&w));
  CHECK_EQ_INT(in_child(child_forks_again, w.y, true), 0);
  CHECK_OK(world_run(&w));
  world_close(&w);
}

static int child_ends(void *user) { return (void)user, 0; }
static int child_execs(void *user) {
  (void)user;
  if (!freopen("/dev/null", "w", stdout)) return 2; /* the child's last line is not wanted */
  execl("/proc/self/exe", test_all.program, "the_process_of_an_exec", (char *)NULL);
  return 1;
}

TEST(a_child_that_only_ends_or_execs) {
  if (TEST_IS_SANITIZED) SKIP("a sanitizer's own locks do not survive a fork among threads");
  world w;
  CHECK_OK(world_open(&w, "cpu"));
  CHECK_OK(world_run(&w));
  CHECK_EQ_INT(in_child(child_ends, NULL, true), 0);
  CHECK_EQ_INT(in_child(child_execs, NULL, false), 0);
  CHECK_OK(world_run(&w));
  world_close(&w);
}

TEST(the_process_of_an_exec) { CHECK(works_anew("cpu", NULL)); }

/* Forks while other threads run, compile, log and open devices: the child works whichever lock was held at that
 * moment. */
static atomic_bool is_over;

static void *busy_thread(void *user) {
  bool *ok = user;
  for (*ok = true; *ok && !atomic_load(&is_over);) *ok = works_anew("cpu", NULL);
  return NULL;
}

static int child_works(void *user) { return (void)user, works_anew("cpu", NULL) ? 0 : 1; }

TEST(forks_while_other_threads_work) {
  pthread_t threads[2];
  bool ok[2];
  if (TEST_IS_SANITIZED) SKIP("the sanitizers' own locks do not survive a fork among threads");
  atomic_store(&is_over, false);
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, busy_thread, &ok[i]) == 0);
  int bad = 0;
  for (int i = 0; i < 50; i++) bad += in_child(child_works, NULL, i % 2) != 0;
  atomic_store(&is_over, true);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK_EQ_INT(bad, 0);
  CHECK(ok[0] && ok[1]);
}

/* Vulkan that was initialised before the fork is not available in the child: calls fail there and do not hang. */
static int child_without_vulkan(void *user) {
  rlx_session *s;
  if (run_session("vulkan", 1, &s) != RLX_NOT_FOUND || !strstr(rlx_message(), "fork")) return 1;
  rlx_session_destroy(user);
  return works_anew(NULL, NULL) ? 0 : 2;
}

TEST(vulkan_after_a_fork) {
  if (TEST_IS_SANITIZED) SKIP("a sanitizer's own locks do not survive a fork among threads");
  if (TEST_IS_TSAN) SKIP("the thread sanitizer ends a child that starts threads");
  rlx_session *s;
  OPEN_SESSION("vulkan", 1, &s);
  CHECK_EQ_INT(in_child(child_without_vulkan, s, false), 0); /* exit would run the driver's own handlers */
  rlx_session_destroy(s);
  CHECK(works_anew("vulkan", NULL));
}

/* A fork inside a callback: the child may exit or exec; even if it continues, it does not hang. */
static pid_t forked_in_callback;
static bool fork_once(void *user) {
  (void)user;
  if (!forked_in_callback) {
    forked_in_callback = fork();
    if (!forked_in_callback) alarm(ALARM_SECONDS);
    if (!forked_in_callback) forked_in_callback = -1;
  }
  return false;
}

TEST(a_fork_inside_a_callback) {
  world w;
  const pid_t self = getpid();
  if (TEST_IS_SANITIZED) SKIP("the sanitizers' own threads do not survive it");
  CHECK_OK(world_open(&w, "cpu"));
  rlx_executable_set_watch(w.e, &(rlx_watch){.cancel = fork_once});
  forked_in_callback = 0;
  rlx_status s = world_run(&w);
  if (getpid() != self) _exit(is_foreign(world_run(&w)) ? 0 : 1);
  int status = -1;
  CHECK_OK(s);
  CHECK(waitpid(forked_in_callback, &status, 0) == forked_in_callback && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  world_close(&w);
}

/* ---- signals ---- */

static atomic_int n_signals;
static void on_alarm(int number) {
  (void)number;
  atomic_fetch_add(&n_signals, 1);
}

TEST(the_library_installs_no_handler) {
  struct sigaction before[65], after;
  for (int i = 1; i < 65; i++) sigaction(i, NULL, &before[i]);
  CHECK(works_anew("cpu", NULL));
  CHECK(works_anew(NULL, NULL)); /* the best device, with its driver */
  for (int i = 1; i < 65; i++) {
    if (sigaction(i, NULL, &after)) continue;
    if (after.sa_handler != before[i].sa_handler) FAIL("the handler of signal %d has changed", i);
  }
}

/* A handler without SA_RESTART makes every call that can be interrupted return early. */
TEST(interrupted_calls_are_tried_again) {
  struct sigaction act = {.sa_handler = on_alarm}, old;
  struct itimerval fast = {{0, 200}, {0, 200}}, none = {{0, 0}, {0, 0}};
  const size_t n = 1 << 18;
  float *v = malloc(n * sizeof *v);
  rlx_tensor t = {RLX_F32, RLX_DIMS((int64_t)n), {v}, n * sizeof *v}, back = {0};
  world w;
  CHECK(v && folder_begin());
  for (size_t i = 0; i < n; i++) v[i] = (float)i;
  CHECK_OK(world_open(&w, "cpu"));
  CHECK_OK(world_run(&w));
  float want[N * N];
  memcpy(want, w.y, sizeof want);
  atomic_store(&n_signals, 0);
  sigaction(SIGALRM, &act, &old);
  setitimer(ITIMER_REAL, &fast, NULL);
  rlx_status s = RLX_OK;
  bool same = true;
  for (int i = 0; i < 20 && !s && same; i++) {
    s = rlx_npy_write(folder_path("a.npy"), &t);
    if (!s) s = rlx_npy_read(folder_path("a.npy"), &back);
    same = s || memcmp(back.data, v, t.bytes) == 0;
    rlx_free(back.data);
    back = (rlx_tensor){0};
    if (!s) s = world_run(&w);
    same = same && memcmp(w.y, want, sizeof want) == 0;
  }
  setitimer(ITIMER_REAL, &none, NULL);
  sigaction(SIGALRM, &old, NULL);
  CHECK_OK(s);
  CHECK(same);
  CHECK(atomic_load(&n_signals) > 0);
  world_close(&w);
  free(v);
}

/* A process that is stopped and continued at any moment, with threads asleep and awake, works on. */
static int child_runs_often(void *user) {
  const float *want = user;
  world w;
  if (world_open(&w, "cpu")) return 1;
  for (int i = 0; i < 3000; i++)
    if (world_run(&w) || memcmp(w.y, want, sizeof w.y) != 0) return 2;
  world_close(&w);
  return 0;
}

TEST(stopped_and_continued) {
  if (TEST_IS_SANITIZED) SKIP("a sanitizer's own locks do not survive a fork among threads");
  if (TEST_IS_TSAN) SKIP("the thread sanitizer ends a child that starts threads");
  world w;
  CHECK_OK(world_open(&w, "cpu"));
  CHECK_OK(world_run(&w));
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(ALARM_SECONDS);
    _exit(child_runs_often(w.y));
  }
  int status = 0;
  for (int i = 0; i < 50; i++) {
    usleep(1000);
    kill(child, SIGSTOP);
    usleep(1000);
    kill(child, SIGCONT);
  }
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_EQ_INT(WEXITSTATUS(status), 0);
  world_close(&w);
}

/* ---- two threads in one object ---- */

/* What a thread may do with an executable; most calls return RLX_BUSY while another thread uses it. */
static rlx_status use_executable(void *object, unsigned what) {
  world *w = object;
  rlx_executable *e = w->e;
  float y[N * N];
  rlx_tensor x = {RLX_F32, RLX_DIMS(N, N), {w->x}, sizeof w->x}, out = {.dtype = RLX_F32, .data = y, .bytes = sizeof y};
  rlx_named_tensor in = {"x", x}, result = {"y", out};
  rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
  rlx_arena *arena;
  rlx_executable *clone = NULL;
  char *text = NULL;
  rlx_status s = RLX_OK;
  const rlx_graph *g;
  switch (what % 15) {
    case 0: return rlx_run(e, &in, 1, &result, 1);
    case 1: return rlx_executable_write(e, "x", &x);
    case 2: return rlx_executable_run(e);
    case 3: s = rlx_executable_read(e, "y", &out); return s == RLX_INVALID ? RLX_OK : s; /* nothing ran yet */
    case 4: return rlx_executable_describe(e, "y", &out);
    case 5: return rlx_executable_memory(e, &memory);
    case 6: s = rlx_executable_report(e, RLX_REPORT_PLAN, RLX_JSON, &text); break;
    case 7: return rlx_executable_profile(e, what % 2);
    case 8: return rlx_executable_set_draw(e, what);
    case 9: rlx_executable_set_watch(e, NULL); return RLX_OK;
    case 10: return rlx_executable_observe(e, NULL, NULL);
    case 11: return rlx_executable_repeat(e, 2, NULL, 0);
    case 12: s = rlx_executable_clone(e, &clone); break;
    case 13:
      s = rlx_executable_arena(e, &arena);
      g = rlx_executable_graph(e);
      if (!s && g) s = rlx_arena_read(arena, rlx_graph_output_at(g, 0, NULL), RLX_F32, y, N * N);
      break;
    default: return rlx_executable_compare(e, NULL, NULL, NULL);
  }
  rlx_executable_destroy(clone);
  rlx_free(text);
  return s;
}

typedef struct crowd {
  void *object;
  rlx_status (*use)(void *object, unsigned what);
  unsigned seed, n_ok, n_busy;
  char wrong[256];
  pthread_t thread;
} crowd;

static void *use_often(void *user) {
  crowd *c = user;
  for (unsigned i = 0; i < 400 && !c->wrong[0]; i++) {
    c->seed = c->seed * 1664525u + 1013904223u;
    rlx_status s = c->use(c->object, c->seed >> 8);
    c->n_ok += s == RLX_OK;
    c->n_busy += s == RLX_BUSY;
    if (s != RLX_OK && s != RLX_BUSY) snprintf(c->wrong, sizeof c->wrong, "%s: %s", rlx_status_name(s), rlx_message());
  }
  return NULL;
}

static void check_crowd(void *object, rlx_status (*use)(void *object, unsigned what)) {
  crowd c[3];
  unsigned n_ok = 0, n_busy = 0;
  for (unsigned i = 0; i < 3; i++) {
    c[i] = (crowd){.object = object, .use = use, .seed = i + 1};
    CHECK(pthread_create(&c[i].thread, NULL, use_often, &c[i]) == 0);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(c[i].thread, NULL);
    if (c[i].wrong[0]) FAIL("thread %d: %s", i, c[i].wrong);
    n_ok += c[i].n_ok;
    n_busy += c[i].n_busy;
  }
  CHECK(n_ok > 0 && n_ok + n_busy == 3 * 400);
}

static void check_executable_crowd(const char *device) {
  world w;
  rlx_status s = world_open(&w, device);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  CHECK_OK(world_run(&w));
  check_crowd(&w, use_executable);
  world_close(&w);
}

TEST(threads_in_one_executable_on_cpu) { check_executable_crowd("cpu"); }
TEST(threads_in_one_executable_on_emu) {
  if (TEST_IS_TSAN) SKIP("the thread sanitizer does not follow the emulated GPU's stacks");
  check_executable_crowd("emu");
}
TEST(threads_in_one_executable_on_null) { check_executable_crowd("null"); }

static rlx_status use_evaluator(void *object, unsigned what) {
  float x[N * N] = {1};
  rlx_tensor t = {RLX_F32, RLX_DIMS(N, N), {x}, sizeof x};
  rlx_status s;
  switch (what % 4) {
    case 0: return rlx_evaluator_set(object, "x", &t);
    case 1: return rlx_evaluator_run(object);
    case 2: rlx_evaluator_set_cancel(object, NULL, NULL); return RLX_OK;
    default: s = rlx_evaluator_get(object, "y", &t); return s == RLX_INVALID ? RLX_OK : s; /* nothing ran yet */
  }
}

TEST(threads_in_one_evaluator) {
  world w;
  rlx_evaluator *e;
  CHECK_OK(world_open(&w, "null"));
  CHECK_OK(rlx_evaluator_create(w.graph, &e));
  CHECK_OK(use_evaluator(e, 0));
  check_crowd(e, use_evaluator);
  rlx_evaluator_destroy(e);
  world_close(&w);
}

/* A model with open sizes: y = Relu(x) + 1. */
typedef struct onnx_world {
  onnx_image f; /* the model's bytes, which must live as long as the model */
  bool stays;   /* the model outlives this fixture: its bytes are not freed with it */
  rlx_session *session;
  rlx_onnx *model;
  rlx_onnx_runner *runner;
} onnx_world;

static rlx_status onnx_world_open(onnx_world *w, const rlx_watch *watch) {
  *w = (onnx_world){0};
  onnx_image f = {0};
  image_model(&f, 17);
  image_begin(&f, MODEL_GRAPH);
  image_value(&f, GRAPH_INPUT, "x", 1, "N,2");
  image_floats(&f, GRAPH_INITIALIZER, "w", "2", (const float[]){1, 1}, 2);
  image_node(&f, "Relu", "x", "r", "");
  image_node(&f, "Add", "r,w", "y", "");
  image_value(&f, GRAPH_OUTPUT, "y", 1, "N,2");
  image_end(&f);
  w->f = f;
  rlx_status s = rlx_onnx_open_memory(f.v, f.n, NULL, &w->model);
  if (!s) s = run_session("cpu", 1, &w->session);
  rlx_onnx_options o = {RLX_ONNX_OPTIONS_INIT};
  if (watch) o.watch = *watch;
  return s ? s : rlx_onnx_runner_create(w->session, w->model, &o, &w->runner);
}

static void onnx_world_close(onnx_world *w) {
  rlx_onnx_runner_destroy(w->runner);
  rlx_onnx_close(w->model);
  rlx_session_destroy(w->session);
  if (!w->stays) image_free(&w->f);
}

static rlx_status onnx_world_run(rlx_onnx_runner *r, int64_t rows) {
  float x[64] = {1, -1};
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(rows, 2), {x}, (size_t)rows * 2 * sizeof *x}};
  return rlx_onnx_run(r, &in, 1);
}

static rlx_status use_runner(void *object, unsigned what) {
  rlx_tensor t;
  rlx_onnx_runner_part part = {RLX_ONNX_RUNNER_PART_INIT};
  rlx_status s;
  switch (what % 5) {
    case 0: s = rlx_onnx_runner_output(object, 0, NULL, &t); return s == RLX_INVALID ? RLX_OK : s; /* nothing ran yet */
    case 1: s = rlx_onnx_runner_part_at(object, 0, &part); return s == RLX_NOT_FOUND ? RLX_OK : s;
    case 2:
      return rlx_onnx_runner_part_count(object) + rlx_onnx_runner_compile_count(object) < 1000 ? RLX_OK : RLX_INVALID;
    default: return onnx_world_run(object, 1 + what / 5 % 6);
  }
}

TEST(threads_in_one_runner) {
  onnx_world w;
  CHECK_OK(onnx_world_open(&w, NULL));
  check_crowd(w.runner, use_runner);
  onnx_world_close(&w);
}

/* ---- callbacks ---- */

/* What a callback of a run tries, one time. */
typedef struct nosy {
  world *w;
  bool done;
  rlx_status ran, read, wrote, described, cloned;
  const rlx_graph *graph;
} nosy;

static bool try_everything(void *user) {
  nosy *n = user;
  rlx_executable *e = n->w->e, *clone = NULL;
  if (n->done) return false;
  n->done = true;
  rlx_tensor t = {RLX_F32, RLX_DIMS(N, N), {n->w->x}, sizeof n->w->x}, d;
  n->ran = rlx_executable_run(e);
  n->read = rlx_executable_read(e, "x", &t);
  n->wrote = rlx_executable_write(e, "x", &t);
  n->described = rlx_executable_describe(e, "y", &d);
  n->graph = rlx_executable_graph(e);
  n->cloned = rlx_executable_clone(e, &clone);
  rlx_executable_destroy(clone);
  works_anew("cpu", NULL); /* a whole session of its own */
  usleep(1000);
  return false;
}

TEST(what_a_callback_may_call) {
  world w;
  CHECK_OK(world_open(&w, "cpu"));
  nosy n = {.w = &w};
  rlx_executable_set_watch(w.e, &(rlx_watch){.cancel = try_everything, .user = &n});
  CHECK_OK(world_run(&w));
  CHECK(n.done && n.graph == rlx_executable_graph(w.e));
  CHECK_EQ_INT(n.ran, RLX_BUSY);
  CHECK_EQ_INT(n.read, RLX_BUSY);
  CHECK_EQ_INT(n.wrote, RLX_BUSY);
  CHECK_EQ_INT(n.described, RLX_OK);
  CHECK_EQ_INT(n.cloned, RLX_OK);
  world_close(&w);
}

/* A callback that destroys the executable that calls it, with everything else. The executable whose callback it is may
 * be destroyed twice: the second call does nothing. */
static world doomed;
static bool destroy_all(void *user) {
  rlx_executable_destroy(doomed.e);
  if (user == &doomed) rlx_executable_destroy(doomed.e);
  rlx_session_destroy(doomed.session);
  rlx_graph_destroy(doomed.graph);
  doomed.session = NULL;
  doomed.graph = NULL;
  return doomed.e = NULL, false;
}
static void destroy_on_progress(void *user, const char *what, uint64_t done, uint64_t total) {
  (void)what, (void)done, (void)total;
  if (doomed.e) destroy_all(user);
}
static bool destroy_once(void *user) { return doomed.e ? destroy_all(user) : false; }
static void destroy_on_value(void *user, rlx_node node, const rlx_tensor *value) {
  (void)node, (void)value;
  if (doomed.e) destroy_all(user);
}

static void check_doomed(const char *device, int how) {
  const size_t live = rlx_mem_live();
  rlx_status s = world_open(&doomed, device);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  rlx_executable *e = doomed.e;
  if (how == 0) rlx_executable_set_watch(e, &(rlx_watch){.cancel = destroy_once, .user = &doomed});
  if (how == 1) rlx_executable_set_watch(e, &(rlx_watch){.progress = destroy_on_progress, .user = &doomed});
  if (how == 2) CHECK_OK(rlx_executable_observe(e, destroy_on_value, NULL));
  CHECK_OK(world_run(&doomed));
  CHECK(!doomed.e);
  CHECK_EQ_INT(rlx_mem_live(), live); /* freed at the end of the run */
}

TEST(destroy_inside_a_callback) {
  for (int how = 0; how < 3; how++) {
    check_doomed("cpu", how);
    if (test_has_failed()) return;
    if (!TEST_IS_TSAN) check_doomed("emu", how);
    if (test_has_failed()) return;
  }
}

/* The same during a compile: the callback may destroy the session and the graph; the call continues. */
TEST(destroy_while_compiling) {
  const size_t live = rlx_mem_live();
  rlx_executable *e;
  CHECK_OK(world_open(&doomed, "cpu"));
  CHECK_OK(rlx_compile(doomed.session, doomed.graph,
                       &(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, .no_cache = true,
                                              .watch = {.cancel = destroy_once, .progress = destroy_on_progress}},
                       &e));
  CHECK(!doomed.e);
  rlx_executable_destroy(e);
  CHECK_EQ_INT(rlx_mem_live(), live);
}

static rlx_evaluator *doomed_evaluator;
static bool destroy_evaluator(void *user) {
  (void)user;
  rlx_evaluator_destroy(doomed_evaluator);
  return doomed_evaluator = NULL, false;
}

TEST(destroy_an_evaluator_inside_its_callback) {
  world w;
  CHECK_OK(world_open(&w, "null"));
  const size_t live = rlx_mem_live();
  CHECK_OK(rlx_evaluator_create(w.graph, &doomed_evaluator));
  CHECK_OK(use_evaluator(doomed_evaluator, 0));
  rlx_evaluator_set_cancel(doomed_evaluator, destroy_evaluator, NULL);
  CHECK_OK(rlx_evaluator_run(doomed_evaluator));
  CHECK(!doomed_evaluator);
  CHECK_EQ_INT(rlx_mem_live(), live);
  world_close(&w);
}

static onnx_world doomed_onnx;
static rlx_status rerun;
static bool destroy_runner(void *user) {
  (void)user;
  if (!doomed_onnx.runner) return false;
  rerun = onnx_world_run(doomed_onnx.runner, 2);
  onnx_world_close(&doomed_onnx);
  return doomed_onnx.runner = NULL, false;
}

TEST(destroy_a_runner_inside_its_callback) {
  const size_t live = rlx_mem_live();
  CHECK_OK(onnx_world_open(&doomed_onnx, &(rlx_watch){.cancel = destroy_runner}));
  doomed_onnx.stays = true;
  CHECK_OK(onnx_world_run(doomed_onnx.runner, 3));
  CHECK(!doomed_onnx.runner);
  image_free(&doomed_onnx.f);
  CHECK_EQ_INT(rerun, RLX_BUSY);
  CHECK_EQ_INT(rlx_mem_live(), live);
}

/* Log and trace callbacks may do anything as well: none is called under a lock. */
static atomic_int n_logged, n_traced;
static _Thread_local bool is_listening;
static atomic_int n_opened;
static void open_a_session(void) {
  enum { MAX_OPENED = 30 }; /* a real GPU takes a fifth of a second each time */
  if (is_listening || atomic_fetch_add(&n_opened, 1) >= MAX_OPENED) return;
  is_listening = true;
  works_anew("cpu", NULL);
  (void)rlx_device_count();
  rlx_session *s = NULL;
  if (run_session(NULL, 1, &s) == RLX_OK) rlx_session_destroy(s);
  if (run_session("vulkan", 1, &s) == RLX_OK) rlx_session_destroy(s);
  is_listening = false;
}
static void on_log(void *user, rlx_log_level level, const char *text) {
  (void)user, (void)level, (void)text;
  atomic_fetch_add(&n_logged, 1);
  open_a_session();
}
static void on_trace(void *user, const char *name, bool begin, uint64_t ns) {
  (void)user, (void)name, (void)begin, (void)ns;
  atomic_fetch_add(&n_traced, 1);
  open_a_session();
}

TEST(log_and_trace_callbacks_may_open_sessions) {
  rlx_set_log(on_log, NULL);
  rlx_set_trace(on_trace, NULL);
  bool ok = works_anew("cpu", NULL) && works_anew(NULL, NULL);
  rlx_session *s = NULL;
  if (run_session("vulkan", 1, &s) == RLX_OK) ok = ok && works_anew("vulkan", NULL);
  rlx_session_destroy(s);
  rlx_set_log(NULL, NULL);
  rlx_set_trace(NULL, NULL);
  CHECK(ok && atomic_load(&n_logged) > 0 && atomic_load(&n_traced) > 0);
}

/* A task of a pool counts as the caller of the run: it may query and destroy the same objects. */
static void look_in_task(void *user, size_t task, unsigned thread) {
  world *w = user;
  (void)task, (void)thread;
  if (!rlx_executable_graph(w->e)) abort();
}
static void look_in_pool(void *user, const char *what, uint64_t done, uint64_t total) {
  (void)what, (void)done, (void)total;
  rlx_pool *pool;
  if (rlx_pool_create(4, &pool)) return;
  rlx_pool_run(pool, 64, look_in_task, user);
  rlx_pool_destroy(pool);
}

TEST(threads_that_work_for_a_run_may_look) {
  world w;
  CHECK_OK(world_open(&w, "cpu"));
  rlx_executable_set_watch(w.e, &(rlx_watch){.progress = look_in_pool, .user = &w});
  CHECK_OK(world_run(&w));
  world_close(&w);
}
