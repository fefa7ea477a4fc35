/* Faults that must be handled: invalid arguments, failing allocations, cancellation in the middle, two threads in one
 * executable. And what a steady-state run must not do: allocate, or make any system call except to wake a thread. */
#if defined(__linux__)
#define _GNU_SOURCE /* syscall, for the filter on system calls */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "faults.h"
#include "ref/eval.h"
#include "rules.h"
#include "run_check.h"
#include "runtime/session.h"
#include "test.h"

#define VALUE(data_, ...) \
  (&(rlx_tensor){.dtype = RLX_F32, .shape = RLX_DIMS(__VA_ARGS__), .data = (data_), .bytes = sizeof(data_)})
#define OPTIONS(...) (&(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, __VA_ARGS__})

/* ---- arguments ---- */

TEST(null_and_wrong_arguments_are_reported) {
  rlx_session *s;
  rlx_graph *g, *open;
  rlx_executable *e = NULL;
  rlx_tensor t = {0};
  OPEN_SESSION("null", 1, &s);
  CHECK_OK(expr_graph("x: f32[2,3]", "exp(%x)", &g));
  CHECK_OK(rlx_graph_create(&open));
  CHECK_FAILS(rlx_session_create(NULL, NULL), RLX_INVALID, "out is NULL");
  rlx_session *none;
  CHECK_FAILS(rlx_session_create(&(rlx_session_desc){.device = "null"}, &none), RLX_INVALID, "struct_bytes");
  CHECK(none == NULL);
  CHECK_FAILS(rlx_compile(NULL, g, NULL, &e), RLX_INVALID, "session is NULL");
  CHECK_FAILS(rlx_compile(s, NULL, NULL, &e), RLX_INVALID, "graph is NULL");
  CHECK_FAILS(rlx_compile(s, g, NULL, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_compile(s, open, NULL, &e), RLX_INVALID, "not finished");
  CHECK_FAILS(rlx_compile(s, g, &(rlx_compile_options){0}, &e), RLX_INVALID, "struct_bytes");
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.n_bindings = 1), &e), RLX_INVALID, "bindings is NULL");
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.passes = "polish"), &e), RLX_NOT_FOUND, "polish");
  CHECK_FAILS(rlx_weights_create(NULL, &(rlx_weights *){NULL}), RLX_INVALID, "session is NULL");
  CHECK_FAILS(rlx_states_create(s, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_weights_set(NULL, "w", &t), RLX_INVALID, "store is NULL");
  CHECK_FAILS(rlx_states_zero(NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_executable_run(NULL), RLX_INVALID, "executable is NULL");
  CHECK_FAILS(rlx_executable_write(NULL, "x", &t), RLX_INVALID, "executable is NULL");
  CHECK_FAILS(rlx_executable_clone(NULL, &e), RLX_INVALID, "executable is NULL");
  CHECK_FAILS(rlx_executable_memory(NULL, &(rlx_memory_info){RLX_MEMORY_INFO_INIT}), RLX_INVALID, "executable is NULL");
  CHECK(rlx_executable_graph(NULL) == NULL && rlx_executable_node(NULL, 1) == RLX_NONE);
  rlx_executable_destroy(NULL);
  rlx_session_destroy(NULL);
  rlx_weights_destroy(NULL);
  rlx_states_destroy(NULL);
  rlx_executable_set_watch(NULL, NULL);
  rlx_graph_destroy(open);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(wrong_values_are_refused_and_change_nothing) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
  uint8_t flags[3] = {0, 1, 2};
  rlx_tensor out = {.dtype = RLX_F32, .data = y, .bytes = sizeof y};
  OPEN_SESSION("null", 1, &s);
  CHECK_OK(expr_graph("x: f32[2,3]; c: bool[3]", "where(%c, %x, %x)", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_FAILS(rlx_executable_run(e), RLX_INVALID, "is not set");
  CHECK_FAILS(rlx_executable_read(e, "y", &out), RLX_INVALID, "nothing ran yet");
  CHECK_FAILS(rlx_executable_write(e, "z", VALUE(x, 2, 3)), RLX_NOT_FOUND, "'z'");
  CHECK_FAILS(rlx_executable_write(e, NULL, VALUE(x, 2, 3)), RLX_INVALID, "name is NULL");
  CHECK_FAILS(rlx_executable_write(e, "x", NULL), RLX_INVALID, "value is NULL");
  CHECK_FAILS(rlx_executable_write(e, "x", VALUE(x, 3, 2)), RLX_INVALID, "must be [2,3]");
  CHECK_FAILS(rlx_executable_write(e, "x", VALUE(x, 2, 2)), RLX_INVALID, "24 bytes");
  CHECK_FAILS(rlx_executable_write(e, "x", &(rlx_tensor){RLX_F32, {{0}, 9}, {x}, 24}), RLX_INVALID, "rank 9");
  CHECK_FAILS(rlx_executable_write(e, "x", &(rlx_tensor){(rlx_dtype)99, RLX_DIMS(2, 3), {x}, 24}), RLX_INVALID, "x");
  CHECK_FAILS(rlx_executable_write(e, "x", &(rlx_tensor){RLX_F32, RLX_DIMS(2, 3), {NULL}, 24}), RLX_INVALID, "no data");
  CHECK_FAILS(rlx_executable_write(e, "c", &(rlx_tensor){RLX_BOOL, RLX_DIMS(3), {flags}, 3}), RLX_INVALID,
              "element 2 is 2");
  flags[2] = 1;
  rlx_named_tensor in[] = {{"x", {RLX_F32, RLX_DIMS(2, 3), {x}, 24}}, {"c", {RLX_BOOL, RLX_DIMS(3), {flags}, 3}}};
  rlx_named_tensor twice[] = {in[0], in[0]}, outs[] = {{"y", out}, {"y", out}};
  CHECK_FAILS(rlx_run(e, twice, 2, outs, 1), RLX_INVALID, "given twice");
  CHECK_FAILS(rlx_run(e, in, 2, outs, 2), RLX_INVALID, "asked for twice");
  CHECK_FAILS(rlx_run(e, NULL, 2, outs, 1), RLX_INVALID, "inputs is NULL");
  outs[0].tensor.bytes = 20;
  CHECK_FAILS(rlx_run(e, in, 2, outs, 1), RLX_INVALID, "room for 20 bytes");
  outs[0].tensor.bytes = sizeof y;
  outs[0].name = "none";
  CHECK_FAILS(rlx_run(e, in, 2, outs, 1), RLX_NOT_FOUND, "'none'");
  CHECK_OK(rlx_executable_run(e));
  out.bytes = 23;
  CHECK_FAILS(rlx_executable_read(e, "y", &out), RLX_INVALID, "room for 23 bytes");
  out.bytes = sizeof y;
  CHECK_OK(rlx_executable_read(e, "y", &out));
  CHECK(memcmp(x, y, sizeof y) == 0);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(weights_of_another_device_are_refused) {
  rlx_session *s, *other;
  rlx_weights *w;
  rlx_graph *g;
  rlx_executable *e;
  OPEN_SESSION("null", 1, &s);
  rlx_status status = run_session("cpu", 1, &other);
  if (status == RLX_NOT_FOUND) {
    rlx_session_destroy(s);
    SKIP("there is no second device");
  }
  CHECK_OK(status);
  CHECK_OK(rlx_weights_create(other, &w));
  CHECK_OK(expr_graph("x: f32[2,3]", "exp(%x)", &g));
  CHECK_FAILS(rlx_compile(s, g, OPTIONS(.weights = w), &e), RLX_INVALID, "the weights are on");
  rlx_weights_destroy(w);
  rlx_graph_destroy(g);
  rlx_session_destroy(other);
  rlx_session_destroy(s);
}

TEST(a_fault_at_run_time_leaves_a_usable_executable) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e;
  float x[3] = {1, 2, 3}, y;
  int32_t at = 7;
  rlx_tensor index = {RLX_I32, RLX_DIMS(1), {&at}, sizeof at}, out = {.dtype = RLX_F32, .data = &y, .bytes = sizeof y};
  OPEN_SESSION("null", 1, &s);
  CHECK_OK(expr_graph("x: f32[3]; i: i32[1]", "gather(%x, %i) {axis=0}", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &e));
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 3)));
  CHECK_OK(rlx_executable_write(e, "i", &index));
  CHECK_FAILS(rlx_executable_run(e), RLX_INVALID, "gather");
  CHECK_FAILS(rlx_executable_read(e, "y", &out), RLX_INVALID, "nothing ran");
  at = 2;
  CHECK_OK(rlx_executable_write(e, "i", &index));
  CHECK_OK(rlx_executable_run(e));
  CHECK_OK(rlx_executable_read(e, "y", &out));
  CHECK(y == 3);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

/* ---- allocations ---- */

typedef struct sweep {
  const char *device;
  rlx_graph *g;
} sweep;

static void look_at(void *user, rlx_node node, const rlx_tensor *value) { (void)user, (void)node, (void)value; }
static void look_at_row(void *user, const rlx_compare_row *row) { (void)user, (void)row; }

static rlx_status use(rlx_executable *e, rlx_executable **twin) {
  float x[12] = {1, 2, 3, 4}, w[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[64];
  int32_t at = 1;
  rlx_tensor out = {.dtype = RLX_F32, .data = y, .bytes = sizeof y};
  char *text = NULL;
  RLX_TRY(rlx_executable_write(e, "w", VALUE(w, 2, 4)));
  RLX_TRY(rlx_executable_write(e, "at", &(rlx_tensor){.dtype = RLX_I32, .data = &at, .bytes = sizeof at}));
  for (int64_t n = 1; n < 3; n++) {
    rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(n, 4), {x}, 16 * (size_t)n}}, result = {"y", out};
    RLX_TRY(rlx_run(e, &in, 1, &result, 1));
  }
  RLX_TRY(rlx_executable_profile(e, true));
  RLX_TRY(rlx_executable_observe(e, look_at, NULL));
  RLX_TRY(rlx_executable_run(e));
  RLX_TRY(rlx_executable_observe(e, NULL, NULL));
  RLX_TRY(rlx_executable_compare(e, look_at_row, NULL, NULL));
  RLX_TRY(rlx_executable_report(e, RLX_REPORT_PROFILE, RLX_JSON, &text));
  rlx_free(text);
  RLX_TRY(rlx_executable_report(e, RLX_REPORT_TRACE, RLX_JSON, &text));
  rlx_free(text);
  RLX_TRY(rlx_executable_report(e, RLX_REPORT_PLAN, RLX_SVG, &text));
  rlx_free(text);
  RLX_TRY(rlx_executable_read(e, "s", &(rlx_tensor){.dtype = RLX_F32, .data = y, .bytes = sizeof y}));
  RLX_TRY(rlx_executable_clone(e, twin));
  RLX_TRY(rlx_executable_write(*twin, "x", VALUE(x, 3, 4)));
  RLX_TRY(rlx_executable_write(*twin, "at", &(rlx_tensor){.dtype = RLX_I32, .data = &at, .bytes = sizeof at}));
  return rlx_executable_run(*twin);
}

static rlx_status whole_life(void *user) {
  const sweep *sw = user;
  rlx_session *s = NULL;
  rlx_weights *w = NULL;
  rlx_executable *e = NULL, *twin = NULL;
  rlx_status status = run_session(sw->device, 1, &s);
  if (!status) status = rlx_weights_create(s, &w);
  if (!status) status = rlx_compile(s, sw->g, OPTIONS(.weights = w), &e);
  if (!status) status = use(e, &twin);
  rlx_executable_destroy(twin);
  rlx_executable_destroy(e);
  rlx_weights_destroy(w);
  rlx_session_destroy(s);
  return status;
}

static void sweep_device(const char *device) {
  sweep sw = {.device = device};
  rlx_session *s;
  OPEN_SESSION(device, 1, &s);
  rlx_session_destroy(s);
  CHECK_OK(expr_graph("x: f32[N,4]; param w: f32[2,4]; state s: f32[8,4]; at: i32[]",
                      "%u = update(%s, %x, %at); %r = reverse(%w) {axes=[0]}; %t = transpose(%r) {perm=[1,0]}; "
                      "%c = concat(%t, %t) {axis=1}; %e = exp(%c); %m = matmul(%u, %e); softmax(%m)",
                      &sw.g));
  CHECK_OK(whole_life(&sw));
  CHECK_OK(alloc_sweep(whole_life, &sw));
  rlx_graph_destroy(sw.g);
}

TEST(every_failing_allocation_on_null) { sweep_device("null"); }
TEST(every_failing_allocation_on_cpu) { sweep_device("cpu"); }

/* ---- steady runs ---- */

static const char *const steady_leaves =
  "x: f32[32,64]; param w: f32[64,64]; param b: f32[64]; state s: f32[40,64]; at: i32[]";
static const char *const steady_expr =
  "%m = matmul(%x, %w); %a = add(%m, %b); %g = gelu(%a); %n = layer_norm(%g); %u = update(%s, %n, %at); "
  "%k = sort(%u) {axis=1}; softmax(%k)";

typedef struct steady {
  rlx_session *s;
  rlx_executable *e;
  float x[32 * 64], w[64 * 64], b[64], y[40 * 64];
  int32_t at;
} steady;

static rlx_status steady_open(const char *device, uint32_t threads, steady *k) {
  rlx_graph *g;
  RLX_TRY(run_session(device, threads, &k->s));
  for (int i = 0; i < 64 * 64; i++) k->w[i] = (float)(i % 13) * 0.01f;
  RLX_TRY(expr_graph(steady_leaves, steady_expr, &g));
  rlx_status s = rlx_compile(k->s, g, NULL, &k->e);
  rlx_graph_destroy(g);
  if (!s) s = rlx_executable_write(k->e, "w", VALUE(k->w, 64, 64));
  if (!s) s = rlx_executable_write(k->e, "b", VALUE(k->b, 64));
  if (!s) s = rlx_executable_bind_input(k->e, "x", k->x, sizeof k->x);
  if (!s) s = rlx_executable_bind_input(k->e, "at", &k->at, sizeof k->at);
  if (!s) s = rlx_executable_bind_output(k->e, "y", k->y, sizeof k->y);
  for (int i = 0; i < 3 && !s; i++) s = rlx_executable_run(k->e);
  return s;
}

static void steady_close(steady *k) {
  rlx_executable_destroy(k->e);
  rlx_session_destroy(k->s);
}

static bool count_allocation(void *user, size_t bytes) {
  (void)bytes;
  atomic_fetch_add((atomic_size_t *)user, 1);
  return true;
}

static void check_allocations(const char *device, uint32_t threads) {
  static steady k;
  atomic_size_t count = 0;
  k = (steady){0};
  rlx_status s = steady_open(device, threads, &k);
  if (s == RLX_NOT_FOUND) SKIP(rlx_message());
  CHECK_OK(s);
  rlx_mem_set_hook(count_allocation, &count);
  for (int i = 0; i < 5 && !s; i++) s = rlx_executable_run(k.e);
  rlx_mem_set_hook(NULL, NULL);
  CHECK_OK(s);
  CHECK_EQ_INT(atomic_load(&count), 0);
  steady_close(&k);
}

TEST(a_steady_run_allocates_nothing_on_null) { check_allocations("null", 1); }
TEST(a_steady_run_allocates_nothing_on_cpu) { check_allocations("cpu", 2); }

#if defined(__linux__) && defined(SYS_seccomp)
/* From here on this process may only wait, write and exit: any other system call kills it. */
static bool forbid_system_calls(void) {
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(SYS_futex),
                               ALLOW(SYS_exit_group), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
#undef ALLOW
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/* A thread that is still starting makes system calls: both threads must be in a task at the same time. */
static void meet(void *user, size_t task, unsigned thread) {
  atomic_int *here = user;
  (void)task, (void)thread;
  atomic_fetch_add(here, 1);
  while (atomic_load(here) < 2) sched_yield();
}

enum { CHILD_FAILED = 3, CHILD_CANNOT = 4, CHILD_NO_DEVICE = 5 };

static void run_forbidden(const char *device, bool call) {
  static steady k;
  rlx_status s = steady_open(device, 2, &k);
  if (s) _exit(s == RLX_NOT_FOUND ? CHILD_NO_DEVICE : CHILD_FAILED);
  atomic_int here = 0;
  rlx_pool_run(k.s->threads, 2, meet, &here);
  if (!forbid_system_calls()) _exit(CHILD_CANNOT);
  for (int i = 0; i < 20 && !s; i++) s = rlx_executable_run(k.e);
  if (call) (void)getppid(); /* to check that the filter works */
  syscall(SYS_exit_group, s ? CHILD_FAILED : 0);
}

static int status_of_child(const char *device, bool call) {
  pid_t child = fork();
  int status = 0;
  if (child == 0) run_forbidden(device, call);
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static void check_system_calls(const char *device) {
  if (TEST_IS_SANITIZED) SKIP("sanitizers make system calls of their own");
  int status = status_of_child(device, true);
  if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_CANNOT) SKIP("this system has no filter for system calls");
  if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NO_DEVICE) SKIP("there is no such device");
  CHECK(WIFSIGNALED(status)); /* the filter works */
  status = status_of_child(device, false);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) FAIL("the child ended with wait status 0x%x", (unsigned)status);
}

TEST(a_steady_run_makes_no_system_call_on_null) { check_system_calls("null"); }
TEST(a_steady_run_makes_no_system_call_on_cpu) { check_system_calls("cpu"); }
#endif

/* ---- stopping ---- */

typedef struct stopper {
  int n, at; /* cancels at call number `at`; 0: never */
  int reported[3];
} stopper;

static bool stop(void *user) {
  stopper *k = user;
  return ++k->n == k->at;
}

static void report(void *user, const char *stage, uint64_t done, uint64_t total) {
  stopper *k = user;
  int i = strcmp(stage, "compile") == 0 ? 0 : strcmp(stage, "load") == 0 ? 1 : strcmp(stage, "run") == 0 ? 2 : -1;
  if (i >= 0 && done <= total) k->reported[i]++;
}

static void check_stops(const char *device) {
  rlx_session *s;
  rlx_graph *g;
  rlx_executable *e = NULL;
  rlx_evaluator *want;
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, w[16] = {1, 2, 3};
  stopper k = {0};
  rlx_watch watch = {.progress = report, .cancel = stop, .user = &k};
  OPEN_SESSION(device, 1, &s);
  CHECK_OK(expr_graph("x: f32[2,4]; param w: f32[4,4]",
                      "%r = reverse(%w) {axes=[0]}; %m = matmul(%x, %r); %s = sort(%m) {axis=1}; cumsum(%s) {axis=0}",
                      &g));
  CHECK_OK(rlx_evaluator_create(g, &want));
  CHECK_OK(rlx_evaluator_set(want, "x", VALUE(x, 2, 4)));
  CHECK_OK(rlx_evaluator_set(want, "w", VALUE(w, 4, 4)));
  CHECK_OK(rlx_evaluator_run(want));
  int n_stopped = 0;
  rlx_status status = RLX_CANCELLED;
  for (k.at = 1; status == RLX_CANCELLED; k.at++, n_stopped++) {
    k.n = 0;
    status = rlx_compile(s, g, OPTIONS(.watch = watch), &e);
    CHECK((status == RLX_CANCELLED) == (e == NULL));
  }
  CHECK_OK(status);
  CHECK(n_stopped > 5 && k.reported[0] > 0);
  CHECK_OK(rlx_executable_write(e, "x", VALUE(x, 2, 4)));
  CHECK_OK(rlx_executable_write(e, "w", VALUE(w, 4, 4)));
  rlx_executable_set_watch(e, &watch);
  n_stopped = 0;
  status = RLX_CANCELLED;
  for (k.at = 1; status == RLX_CANCELLED; k.at++, n_stopped++) {
    k.n = 0;
    status = rlx_executable_run(e);
  }
  CHECK_OK(status);
  CHECK(n_stopped > 3 && k.reported[1] > 0 && k.reported[2] > 0);
  rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
  CHECK_OK(rlx_executable_memory(e, &memory));
  n_stopped = 0;
  status = RLX_CANCELLED;
  for (k.at = 1; status == RLX_CANCELLED; k.at++, n_stopped++) {
    k.n = 0;
    status = rlx_executable_run(e); /* nothing to load now: one call before the steps, and one per step */
  }
  CHECK_OK(status);
  CHECK_EQ_INT(n_stopped - 1, 1 + memory.n_native + memory.n_host);
  CHECK_OK(run_compare(e, want, g, false));
  rlx_evaluator_destroy(want);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}

TEST(every_stop_on_null) { check_stops("null"); }
TEST(every_stop_on_cpu) { check_stops("cpu"); }

/* ---- two threads in one executable ---- */

/* A run that blocks in its middle until it is released. */
typedef struct gate {
  rlx_executable *e;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool inside, open;
  atomic_bool run_done, run_done_at_destroy;
  rlx_status status, nested;
} gate;

static bool wait_inside(void *user) {
  gate *k = user;
  k->nested = rlx_executable_run(k->e); /* from its own callback: busy, not a deadlock */
  pthread_mutex_lock(&k->lock);
  k->inside = true;
  pthread_cond_broadcast(&k->changed);
  while (!k->open) pthread_cond_wait(&k->changed, &k->lock);
  pthread_mutex_unlock(&k->lock);
  return false;
}

static void note_end(void *user, const char *stage, uint64_t done, uint64_t total) {
  gate *k = user;
  if (strcmp(stage, "run") == 0 && done == total) atomic_store(&k->run_done, true);
}

static void *run_in_thread(void *user) {
  gate *k = user;
  k->status = rlx_executable_run(k->e);
  return NULL;
}

static void *destroy_in_thread(void *user) {
  gate *k = user;
  rlx_executable_destroy(k->e);
  atomic_store(&k->run_done_at_destroy, atomic_load(&k->run_done));
  return NULL;
}

TEST(a_second_thread_is_reported_busy_and_destroy_waits) {
  rlx_session *s;
  rlx_graph *g;
  gate k = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  rlx_watch watch = {.progress = note_end, .cancel = wait_inside, .user = &k};
  float x[4] = {1, 2, 3, 4};
  pthread_t runner, destroyer;
  OPEN_SESSION("null", 1, &s);
  CHECK_OK(expr_graph("x: f32[4]", "%a = exp(%x); sort(%a) {axis=0}", &g));
  CHECK_OK(rlx_compile(s, g, NULL, &k.e));
  CHECK_OK(rlx_executable_write(k.e, "x", VALUE(x, 4)));
  rlx_executable_set_watch(k.e, &watch);
  CHECK(pthread_create(&runner, NULL, run_in_thread, &k) == 0);
  pthread_mutex_lock(&k.lock);
  while (!k.inside) pthread_cond_wait(&k.changed, &k.lock);
  pthread_mutex_unlock(&k.lock);
  CHECK_FAILS(rlx_executable_run(k.e), RLX_BUSY, "in use");
  CHECK_FAILS(rlx_executable_write(k.e, "x", VALUE(x, 4)), RLX_BUSY, "in use");
  CHECK_FAILS(rlx_executable_read(k.e, "y", VALUE(x, 4)), RLX_BUSY, "in use");
  CHECK(pthread_create(&destroyer, NULL, destroy_in_thread, &k) == 0);
  pthread_mutex_lock(&k.lock);
  k.open = true;
  pthread_cond_broadcast(&k.changed);
  pthread_mutex_unlock(&k.lock);
  CHECK(pthread_join(runner, NULL) == 0 && pthread_join(destroyer, NULL) == 0);
  CHECK_OK(k.status);
  CHECK_EQ_INT(k.nested, RLX_BUSY);
  CHECK(atomic_load(&k.run_done_at_destroy));
  rlx_graph_destroy(g);
  rlx_session_destroy(s);
}
