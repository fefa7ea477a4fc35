/* The thread pool on every system, WebAssembly with and without threads included: what test_thread.c, which needs POSIX
 * threads, tests in depth. Where there is one thread, a pool has one, and everything below holds as well. */
#include "base/thread.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "test.h"

enum { N_TASKS = 1000, N_RUNS = 300 };

typedef struct work {
  atomic_uint done[N_TASKS];
  atomic_uint by_thread[16];
  atomic_uint arrived;
  unsigned n_expected; /* threads that must be in the run at once */
} work;

static void count_task(void *user, size_t task, unsigned thread) {
  work *w = user;
  atomic_fetch_add(&w->done[task], 1);
  atomic_fetch_add(&w->by_thread[thread % 16], 1);
}

/* Returns only when all threads of the pool are here: they run at once. */
static void meet(void *user, size_t task, unsigned thread) {
  work *w = user;
  count_task(user, task, thread);
  atomic_fetch_add(&w->arrived, 1);
  while (atomic_load(&w->arrived) < w->n_expected) rlx_os_sleep(1000);
}

TEST(every_task_runs_once) {
  static work w;
  for (unsigned n = 1; n <= 4; n++) {
    rlx_pool *p;
    CHECK_OK(rlx_pool_create(n, &p));
    CHECK(rlx_pool_threads(p) <= n);
    memset(&w, 0, sizeof w);
    for (int run = 0; run < N_RUNS; run++) rlx_pool_run(p, N_TASKS, count_task, &w);
    for (size_t i = 0; i < N_TASKS; i++) CHECK_EQ_INT(atomic_load(&w.done[i]), N_RUNS);
    rlx_pool_destroy(p);
  }
}

TEST(threads_run_at_once) {
  static work w;
  rlx_pool *p;
  CHECK_OK(rlx_pool_create(3, &p));
  memset(&w, 0, sizeof w);
  w.n_expected = rlx_pool_threads(p);
  rlx_pool_run(p, w.n_expected, meet, &w);
  for (unsigned i = 0; i < w.n_expected; i++) CHECK_EQ_INT(atomic_load(&w.by_thread[i]), 1);
  rlx_pool_destroy(p);
}

/* The threads of a pool that is gone serve the next one, and several pools share them. */
TEST(pools_come_and_go) {
  static work w;
  rlx_pool *first;
  CHECK_OK(rlx_pool_create(2, &first));
  const unsigned before = rlx_pool_threads(first);
  rlx_pool_destroy(first);
  for (int i = 0; i < 100; i++) {
    rlx_pool *a, *b;
    CHECK_OK(rlx_pool_create(2, &a));
    CHECK_OK(rlx_pool_create(2, &b));
    CHECK_EQ_INT(rlx_pool_threads(a), before);
    memset(&w, 0, sizeof w);
    rlx_pool_run(a, 50, count_task, &w);
    rlx_pool_run(b, 50, count_task, &w);
    CHECK_EQ_INT(atomic_load(&w.done[49]), 2);
    rlx_pool_destroy(a);
    rlx_pool_destroy(b);
  }
}

static void use_the_heap(void *user, size_t task, unsigned thread) {
  (void)thread;
  unsigned char *v[20];
  for (size_t i = 0; i < 20; i++) {
    v[i] = rlx_mem_alloc(16 + task * 7 % 3000 + i);
    if (v[i]) memset(v[i], (int)(task + i), 16);
  }
  for (size_t i = 0; i < 20; i++) {
    if (!v[i] || v[i][15] != (unsigned char)(task + i)) atomic_fetch_add((atomic_uint *)user, 1);
    rlx_mem_free(v[i]);
  }
}

TEST(threads_share_the_heap) {
  const size_t before = rlx_mem_live();
  atomic_uint n_wrong = 0;
  rlx_pool *p;
  CHECK_OK(rlx_pool_create(4, &p));
  for (int i = 0; i < 20; i++) rlx_pool_run(p, N_TASKS, use_the_heap, &n_wrong);
  rlx_pool_destroy(p);
  CHECK_EQ_INT(atomic_load(&n_wrong), 0);
  CHECK(rlx_mem_live() == before);
}
