/* Thread pool: workers sleep until a run is open; then they and the caller claim tasks from one atomic counter.
 *
 * No worker is needed for a run to finish. The caller claims tasks like a worker. When none is left it closes the run
 * and waits only for workers that joined. A worker that wakes late finds the run closed and sleeps again, so a run of
 * few short tasks does not wait for the slowest thread to wake.
 *
 * Waking takes tens of microseconds, and runs often follow each other sooner than that. So a worker spins for a short
 * while before it sleeps, and so does a caller that waits for the last tasks. If the pool has more threads than the
 * process has cores, nothing spins, because that would take time from the threads that work.
 *
 * While all threads spin, no mutex is touched. Correctness rests on pairs of variables: each side writes its own and
 * then reads the other's, sequentially consistent, so at least one of the two sees the other's write:
 *   the caller closes the run, then reads n_joined | a worker increments n_joined, then reads whether a run is open
 *   the caller opens the run, then reads n_asleep  | a worker increments n_asleep, then reads whether a run is open
 *   the caller sets `waits`, then reads n_joined   | the last worker decrements n_joined, then reads `waits`
 * fn, user and n_tasks are written only while no run is open and no worker has joined.
 *
 * A task that calls rlx_pool_run on its own pool would wait for itself. Such a run is executed at once in that thread.
 *
 * A forked child has the pool's memory and none of its workers. There a run is executed in the caller's thread, and
 * destroy waits for no thread. A worker whose task forked is the child's only thread; it ends, because it has no caller
 * to return to.
 *
 * Not provided: work stealing, priorities, results. Tasks write to memory of their own. */
#include "base/thread.h"

#include <stdatomic.h>
#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/process.h"

enum {
  MAX_THREADS = 1024,
  MAX_SPINS = 2000, /* before sleeping: some 40 to 80 microseconds */
};

typedef struct worker {
  rlx_pool *pool;
  struct worker *next;
  rlx_os_thread thread;
  unsigned index;
} worker;

struct rlx_pool {
  rlx_mutex run_lock; /* held by the caller of the current run */
  rlx_mutex lock;     /* for the two conditions */
  rlx_cond wake, idle;
  int n_made;      /* how many of the four above are initialised */
  worker *workers; /* started ones, newest first */
  unsigned n_threads;
  uint32_t process; /* that created it */
  bool spins;       /* before it sleeps */

  rlx_pool_task fn;
  void *user;
  size_t n_tasks;
  bool stoppable;
  const void *caller;                     /* of the current run, as rlx_thread_self */
  atomic_bool is_stopped;                 /* the current run was stopped by its caller's budget */
  _Alignas(64) atomic_uint_least64_t run; /* incremented when a run opens and when it closes: odd while a run is open */
  atomic_bool stop;
  _Alignas(64) atomic_uint n_joined; /* workers in the run, or about to find it closed */
  atomic_uint n_asleep;              /* workers waiting for `wake`, or about to */
  atomic_bool waits;                 /* the caller is waiting for `idle`, or about to */
  _Alignas(64) atomic_size_t next_task;
};

/* The pool whose task this thread runs, the thread's index in it, and the caller of the run. */
static _Thread_local struct {
  rlx_pool *pool;
  unsigned index;
  const void *caller;
} inside;

const void *rlx_thread_self(void) { return inside.pool ? inside.caller : &inside; }
bool rlx_pool_is_inside(void) { return inside.pool != NULL; }

static void claim_tasks(rlx_pool *p, unsigned index) {
  rlx_pool *outer_pool = inside.pool;
  const void *outer_caller = inside.caller;
  unsigned outer_index = inside.index;
  inside.pool = p;
  inside.index = index;
  inside.caller = p->caller;
  for (;;) {
    size_t task = atomic_fetch_add_explicit(&p->next_task, 1, memory_order_relaxed);
    if (task >= p->n_tasks) break;
    if (index == 0 && p->stoppable && rlx_budget_stops()) {
      atomic_store_explicit(&p->next_task, p->n_tasks, memory_order_relaxed); /* no thread finds another task */
      atomic_store_explicit(&p->is_stopped, true, memory_order_relaxed);
      break;
    }
    p->fn(p->user, task, index);
  }
  inside.pool = outer_pool;
  inside.index = outer_index;
  inside.caller = outer_caller;
}

/* Hints to the core that this is a spin loop. */
static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static bool is_new(rlx_pool *p, uint64_t last_run) {
  uint64_t run = atomic_load(&p->run);
  return (run & 1) && run != last_run;
}

/* Waits until a run other than last_run is open, or the pool stops. */
static void await_run(rlx_pool *p, uint64_t last_run) {
  for (int i = 0; i < MAX_SPINS && p->spins; i++) {
    if (is_new(p, last_run) || atomic_load_explicit(&p->stop, memory_order_relaxed)) return;
    pause_core();
  }
  rlx_mutex_lock(&p->lock);
  atomic_fetch_add(&p->n_asleep, 1);
  if (!is_new(p, last_run) && !atomic_load(&p->stop)) rlx_cond_wait(&p->wake, &p->lock);
  atomic_fetch_sub(&p->n_asleep, 1);
  rlx_mutex_unlock(&p->lock);
}

/* Joins the open run, if there is one. Returns its number, else last_run. */
static uint64_t join_run(rlx_pool *p, uint64_t last_run, unsigned index) {
  atomic_fetch_add(&p->n_joined, 1);
  uint64_t run = atomic_load(&p->run);
  bool joins = (run & 1) && run != last_run;
  if (joins) claim_tasks(p, index);
  if (!rlx_process_is_own(p->process)) return last_run;
  if (atomic_fetch_sub(&p->n_joined, 1) == 1 && atomic_load(&p->waits)) {
    rlx_mutex_lock(&p->lock);
    rlx_cond_signal(&p->idle);
    rlx_mutex_unlock(&p->lock);
  }
  return joins ? run : last_run;
}

static void *worker_main(void *argument) {
  worker *w = argument;
  uint64_t last_run = 0;
  while (!atomic_load(&w->pool->stop) && rlx_process_is_own(w->pool->process)) {
    await_run(w->pool, last_run);
    if (is_new(w->pool, last_run)) last_run = join_run(w->pool, last_run, w->index);
  }
  return NULL;
}

static rlx_status add_worker(rlx_pool *p, unsigned index) {
  worker *w = rlx_new(worker);
  if (!w) return RLX_FAIL(RLX_NO_MEMORY, "no memory for thread %u of %u", index + 1, p->n_threads);
  w->pool = p;
  w->index = index;
  int error = rlx_os_thread_start(&w->thread, worker_main, w);
  if (error) {
    rlx_mem_free(w);
    return RLX_FAIL(RLX_NO_MEMORY, "the system refused thread %u of %u (error %d)", index + 1, p->n_threads, error);
  }
  w->next = p->workers;
  p->workers = w;
  return RLX_OK;
}

static rlx_status make_locks(rlx_pool *p) {
  bool ok = rlx_mutex_init(&p->run_lock) && ++p->n_made && rlx_mutex_init(&p->lock) && ++p->n_made &&
            rlx_cond_init(&p->wake) && ++p->n_made && rlx_cond_init(&p->idle) && ++p->n_made;
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the system refused lock %d of a thread pool", p->n_made + 1);
}

static unsigned count_cores(void) {
  const uint32_t n = rlx_os_cores();
  return n > MAX_THREADS ? MAX_THREADS : n;
}

rlx_status rlx_pool_create(unsigned n_threads, rlx_pool **out) {
  *out = NULL;
  if (n_threads > MAX_THREADS)
    return RLX_FAIL(RLX_INVALID, "thread pool: expected at most %d threads, got %u", MAX_THREADS, n_threads);
  rlx_pool *p = rlx_mem_alloc_aligned(sizeof *p, _Alignof(rlx_pool));
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "no memory for a thread pool");
  memset(p, 0, sizeof *p);
  p->n_threads = n_threads ? n_threads : count_cores();
  if (p->n_threads > rlx_os_max_threads()) p->n_threads = rlx_os_max_threads(); /* a module without threads */
  p->process = rlx_process_number();
  p->spins = p->n_threads <= rlx_os_own_cores();
  rlx_status s = make_locks(p);
  for (unsigned i = 1; i < p->n_threads && s == RLX_OK; i++) s = add_worker(p, i);
  if (s != RLX_OK) {
    rlx_pool_destroy(p);
    return s;
  }
  *out = p;
  return RLX_OK;
}

void rlx_pool_destroy(rlx_pool *p) {
  if (!p) return;
  /* else there are no threads, and the locks may be held by threads of the parent */
  const bool is_own = rlx_process_is_own(p->process);
  if (p->workers && is_own) {
    rlx_mutex_lock(&p->lock);
    atomic_store(&p->stop, true);
    rlx_cond_broadcast(&p->wake);
    rlx_mutex_unlock(&p->lock);
  }
  for (worker *w = p->workers, *next; w; w = next) {
    next = w->next;
    if (is_own) rlx_os_thread_join(w->thread);
    rlx_mem_free(w);
  }
  if (!is_own) p->n_made = 0;
  if (p->n_made > 3) rlx_cond_destroy(&p->idle);
  if (p->n_made > 2) rlx_cond_destroy(&p->wake);
  if (p->n_made > 1) rlx_mutex_destroy(&p->lock);
  if (p->n_made > 0) rlx_mutex_destroy(&p->run_lock);
  rlx_mem_free(p);
}

unsigned rlx_pool_threads(const rlx_pool *p) { return p ? p->n_threads : 1; }

/* Opens the run and wakes as many sleeping workers as there are tasks for. */
static void open_run(rlx_pool *p, size_t n_tasks, rlx_pool_task fn, void *user) {
  p->fn = fn;
  p->user = user;
  p->n_tasks = n_tasks;
  p->caller = rlx_thread_self();
  atomic_store_explicit(&p->next_task, 0, memory_order_relaxed);
  atomic_fetch_add(&p->run, 1);
  if (atomic_load(&p->n_asleep) == 0) return;
  size_t n_wanted = n_tasks < p->n_threads ? n_tasks : p->n_threads;
  rlx_mutex_lock(&p->lock);
  for (size_t i = 1; i < n_wanted; i++) rlx_cond_signal(&p->wake);
  rlx_mutex_unlock(&p->lock);
}

/* Waits for `idle`, with the lock held. Workers have no budget: while their last tasks run, the caller polls its
 * own. */
static void await_idle(rlx_pool *p) {
  enum { POLL_NS = 5000000 };
  if (!p->stoppable || atomic_load_explicit(&p->is_stopped, memory_order_relaxed)) {
    rlx_cond_wait(&p->idle, &p->lock);
    return;
  }
  if (rlx_cond_wait_for(&p->idle, &p->lock, POLL_NS)) return;
  rlx_mutex_unlock(&p->lock); /* the caller's cancel function may take long */
  if (rlx_budget_stops()) atomic_store_explicit(&p->is_stopped, true, memory_order_relaxed);
  rlx_mutex_lock(&p->lock);
}

/* After this no worker joins, and what the joined workers wrote is visible, by way of n_joined. */
static void close_run(rlx_pool *p) {
  if (!rlx_process_is_own(p->process)) return; /* a task forked, and this is the child */
  atomic_fetch_add(&p->run, 1);
  for (int i = 0; i < MAX_SPINS && p->spins; i++) {
    if (atomic_load(&p->n_joined) == 0) return;
    pause_core();
  }
  if (atomic_load(&p->n_joined) == 0) return;
  rlx_mutex_lock(&p->lock);
  (void)atomic_exchange(&p->waits, true); /* QEMU lets a load pass a store that is no exchange: C does not */
  while (atomic_load(&p->n_joined) > 0) await_idle(p);
  atomic_store(&p->waits, false);
  rlx_mutex_unlock(&p->lock);
}

static void run(rlx_pool *p, size_t n_tasks, rlx_pool_task fn, void *user, bool stoppable) {
  const bool is_inside = p && inside.pool == p;
  if (!p || is_inside || !rlx_process_is_own(p->process)) {
    for (size_t i = 0; i < n_tasks && !(stoppable && rlx_budget_stops()); i++)
      fn(user, i, is_inside ? inside.index : 0);
    return;
  }
  if (n_tasks == 0) return;
  rlx_mutex_lock(&p->run_lock);
  p->stoppable = stoppable;
  atomic_store_explicit(&p->is_stopped, false, memory_order_relaxed);
  open_run(p, n_tasks, fn, user);
  claim_tasks(p, 0);
  close_run(p);
  rlx_mutex_unlock(&p->run_lock);
}

void rlx_pool_run(rlx_pool *p, size_t n_tasks, rlx_pool_task fn, void *user) { run(p, n_tasks, fn, user, false); }

void rlx_pool_run_stoppable(rlx_pool *p, size_t n_tasks, rlx_pool_task fn, void *user) {
  if (!rlx_budget_stops()) run(p, n_tasks, fn, user, true);
}

bool rlx_pool_is_stopped(void) {
  return inside.pool && atomic_load_explicit(&inside.pool->is_stopped, memory_order_relaxed);
}
