/* The thread pool: every task runs once, indices are in range, runs are serialised, partly created pools are destroyed.
 * And the thread-safe parts of base: messages per thread, hooks changed while others log. Also run under TSan. */
#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "faults.h"
#include "test.h"

enum { N_TASKS = 1000, N_RUNS = 300, N_THREADS = 4, N_CALLERS = 3 };

/* Plain memory on purpose: each task owns its slot, and the end of the run must make it visible to the caller. */
typedef struct tally {
  unsigned times[N_TASKS];
  unsigned by_thread[N_THREADS];
  atomic_uint bad_thread;
} tally;

static void count_task(void *user, size_t task, unsigned thread) {
  tally *t = user;
  t->times[task]++;
  if (thread < N_THREADS) t->by_thread[thread]++;
  else atomic_fetch_add(&t->bad_thread, 1);
}

static void check_pool(unsigned n_threads) {
  rlx_pool *p;
  CHECK_OK(rlx_pool_create(n_threads, &p));
  bool ok = rlx_pool_threads(p) == n_threads;
  for (size_t n_tasks = 0; n_tasks <= N_TASKS && ok; n_tasks += n_tasks < 10 ? 1 : 99) {
    tally t = {0};
    rlx_pool_run(p, n_tasks, count_task, &t);
    unsigned total = 0;
    for (size_t i = 0; i < N_TASKS; i++) ok = ok && t.times[i] == (i < n_tasks);
    for (unsigned i = 0; i < N_THREADS; i++) total += i < n_threads ? t.by_thread[i] : 0;
    ok = ok && total == n_tasks && t.bad_thread == 0;
  }
  rlx_pool_destroy(p);
  CHECK(ok);
}

TEST(every_task_runs_once) {
  for (unsigned n = 1; n <= N_THREADS; n++) check_pool(n);
}

TEST(default_is_one_thread_per_core) {
  rlx_pool *p;
  CHECK_OK(rlx_pool_create(0, &p));
  unsigned n = rlx_pool_threads(p);
  rlx_pool_destroy(p);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  CHECK_EQ_INT(n, cores > 1024 ? 1024 : cores);
}

TEST(no_pool_runs_in_the_caller) {
  tally t = {0};
  rlx_pool_run(NULL, N_TASKS, count_task, &t);
  CHECK_EQ_INT(rlx_pool_threads(NULL), 1);
  CHECK_EQ_INT(t.by_thread[0], N_TASKS);
  rlx_pool_destroy(NULL);
}

TEST(too_many_threads_are_refused) {
  rlx_pool *p = (rlx_pool *)&p;
  CHECK_FAILS(rlx_pool_create(4000000000u, &p), RLX_INVALID, "at most 1024 threads, got 4000000000");
  CHECK(p == NULL);
}

/* Two tasks that wait for each other (10 s at most) can both proceed only if two threads are in the run. */
typedef struct meeting {
  atomic_uint n_arrived, n_alone;
} meeting;

static void meet(void *user, size_t task, unsigned thread) {
  meeting *m = user;
  (void)task;
  (void)thread;
  atomic_fetch_add(&m->n_arrived, 1);
  for (int i = 0; i < 100000 && atomic_load(&m->n_arrived) < 2; i++)
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  if (atomic_load(&m->n_arrived) < 2) atomic_fetch_add(&m->n_alone, 1);
}

TEST(workers_take_part) {
  rlx_pool *p;
  CHECK_OK(rlx_pool_create(2, &p));
  unsigned n_alone = 0;
  for (int i = 0; i < N_RUNS && n_alone == 0; i++) {
    meeting m = {0};
    rlx_pool_run(p, 2, meet, &m);
    n_alone = m.n_alone;
  }
  rlx_pool_destroy(p);
  CHECK_EQ_INT(n_alone, 0);
}

/* ---- Several callers ----------------------------------------------------------------------------------------- */

typedef struct caller {
  rlx_pool *pool;
  pthread_t thread;
  unsigned *scratch; /* by thread index, shared by all callers: two runs at once would race on it */
  size_t n_done;
  size_t slots[16];
} caller;

static void add_slot(void *user, size_t task, unsigned thread) {
  caller *c = user;
  c->slots[task]++;
  c->scratch[thread]++;
}

static void *call_often(void *user) {
  caller *c = user;
  for (int i = 0; i < N_RUNS; i++) {
    rlx_pool_run(c->pool, 16, add_slot, c);
    for (int k = 0; k < 16; k++) c->n_done += c->slots[k] == (size_t)i + 1;
  }
  return NULL;
}

TEST(second_callers_are_busy) {
  rlx_pool *p;
  CHECK_OK(rlx_pool_create(N_THREADS, &p));
  unsigned scratch[N_THREADS] = {0}, total = 0;
  caller callers[N_CALLERS] = {{0}};
  int n_started = 0;
  for (int i = 0; i < N_CALLERS; i++) {
    callers[i].pool = p;
    callers[i].scratch = scratch;
    n_started += pthread_create(&callers[i].thread, NULL, call_often, &callers[i]) == 0;
  }
  CHECK_EQ_INT(n_started, N_CALLERS);
  for (int i = 0; i < N_CALLERS; i++) pthread_join(callers[i].thread, NULL);
  rlx_pool_destroy(p);
  for (int i = 0; i < N_THREADS; i++) total += scratch[i];
  CHECK_EQ_INT(total, 16 * N_RUNS * N_CALLERS);
  for (int i = 0; i < N_CALLERS; i++) CHECK_EQ_INT(callers[i].n_done, 16 * N_RUNS);
}

/* ---- A run inside a run -------------------------------------------------------------------------------------- */

typedef struct nest {
  rlx_pool *pool, *other;
  atomic_uint n_inner, n_strayed;
} nest;

typedef struct inner {
  nest *nest;
  unsigned thread;
} inner;

static void inner_task(void *user, size_t task, unsigned thread) {
  inner *in = user;
  (void)task;
  atomic_fetch_add(&in->nest->n_inner, 1);
  if (thread != in->thread) atomic_fetch_add(&in->nest->n_strayed, 1);
}

static void count_only(void *user, size_t task, unsigned thread) {
  (void)task;
  (void)thread;
  atomic_fetch_add((atomic_uint *)user, 1);
}

static void outer_task(void *user, size_t task, unsigned thread) {
  nest *n = user;
  (void)task;
  rlx_pool_run(n->other, 3, count_only, &n->n_inner);
  rlx_pool_run(n->pool, 5, inner_task, &(inner){.nest = n, .thread = thread});
}

TEST(nested_run_stays_in_its_thread) {
  nest n = {0};
  CHECK_OK(rlx_pool_create(3, &n.pool));
  CHECK_OK(rlx_pool_create(2, &n.other));
  rlx_pool_run(n.pool, 20, outer_task, &n);
  rlx_pool_destroy(n.pool);
  rlx_pool_destroy(n.other);
  CHECK_EQ_INT(n.n_inner, 20 * (3 + 5));
  CHECK_EQ_INT(n.n_strayed, 0);
}

/* ---- Failures ------------------------------------------------------------------------------------------------ */

static rlx_status pool_work(void *user) {
  rlx_pool *p;
  (void)user;
  RLX_TRY(rlx_pool_create(N_THREADS, &p));
  tally t = {0};
  rlx_pool_run(p, N_TASKS, count_task, &t);
  rlx_pool_destroy(p);
  return RLX_OK;
}

/* Each worker is an allocation, so this also destroys pools with only some of their threads. */
TEST(failing_allocations) { CHECK_OK(alloc_sweep(pool_work, NULL)); }

/* In a child with little address space there is no room for many stacks. Exit 0: rejected with a message. */
static int create_in_little_space(void) {
  struct rlimit little = {.rlim_cur = 256u << 20, .rlim_max = 256u << 20};
  if (setrlimit(RLIMIT_AS, &little) != 0) return 2;
  rlx_pool *p;
  rlx_status s = rlx_pool_create(1024, &p);
  if (s != RLX_NO_MEMORY || p || !strstr(rlx_message(), "the system refused thread")) return 3;
  return rlx_mem_live() == 0 && rlx_pool_create(2, &p) == RLX_OK ? (rlx_pool_destroy(p), 0) : 4;
}

TEST(thread_refused_midway) {
  if (TEST_IS_SANITIZED) SKIP("sanitizers need the address space that this test takes away");
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(create_in_little_space());
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK_EQ_INT(WEXITSTATUS(status), 0);
}

/* ---- Messages and hooks -------------------------------------------------------------------------------------- */

static void *fail_elsewhere(void *user) {
  char *seen = user;
  snprintf(seen, 64, "<%s>", rlx_message());
  (void)!rlx_fail(RLX_IO, "elsewhere");
  return NULL;
}

TEST(each_thread_has_its_message) {
  char seen[64] = "";
  pthread_t thread;
  CHECK_EQ_INT(rlx_fail(RLX_INVALID, "here"), RLX_INVALID);
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, seen) == 0);
  pthread_join(thread, NULL);
  CHECK_EQ_STR(seen, "<>");
  CHECK_EQ_STR(rlx_message(), "here");
}

/* A callback with the other's argument would count as a mismatch. */
typedef struct sink {
  int kind;
  atomic_uint n, n_mixed;
} sink;

static void log_first(void *user, rlx_log_level level, const char *text) {
  sink *s = user;
  (void)level;
  atomic_fetch_add(s->kind == 1 ? &s->n : &s->n_mixed, strcmp(text, "task 7") == 0);
}
static void log_second(void *user, rlx_log_level level, const char *text) {
  sink *s = user;
  (void)level;
  atomic_fetch_add(s->kind == 2 ? &s->n : &s->n_mixed, strcmp(text, "task 7") == 0);
}
static void trace_first(void *user, const char *name, bool begin, uint64_t nanoseconds) {
  (void)name;
  (void)begin;
  (void)nanoseconds;
  atomic_fetch_add(&((sink *)user)->n, 1);
}

static void log_or_set(void *user, size_t task, unsigned thread) {
  sink *sinks = user;
  (void)thread;
  if (task % 8 == 0) rlx_set_log(task % 16 ? log_first : log_second, &sinks[task % 16 ? 0 : 1]);
  if (task % 8 == 1) rlx_set_trace(trace_first, &sinks[2]);
  rlx_trace_begin("task");
  rlx_log_write(RLX_LOG_INFO, "task %d", 7);
  rlx_trace_end("task");
}

TEST(hooks_change_while_others_log) {
  sink sinks[3] = {{.kind = 1}, {.kind = 2}, {.kind = 3}};
  rlx_pool *p;
  CHECK_OK(rlx_pool_create(N_THREADS, &p));
  rlx_set_log(log_first, &sinks[0]);
  rlx_set_trace(trace_first, &sinks[2]);
  rlx_pool_run(p, N_TASKS, log_or_set, sinks);
  rlx_set_log(NULL, NULL);
  rlx_set_trace(NULL, NULL);
  rlx_pool_destroy(p);
  CHECK_EQ_INT(sinks[0].n + sinks[1].n, N_TASKS);
  CHECK_EQ_INT(sinks[2].n, 2 * N_TASKS);
  CHECK_EQ_INT(sinks[0].n_mixed + sinks[1].n_mixed, 0);
}
