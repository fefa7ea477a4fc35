/* Splits work into tasks for threads by its size alone. The split, and with it every rounding, is the same for any
 * number of threads. */
#include "base/budget.h"
#include "cpu/cpu.h"

/* Waking a thread costs some microseconds; a task should take a few times that. More than MAX_TASKS tasks balance no
 * better on the machines measured, unless tasks were so long that cancelling has to wait for one. */
enum { TASK_NS = 16000, MAX_TASKS = 128, LONG_TASK_NS = 10000000 };

/* Set while this thread runs a program, whose results may be abandoned. Packing a weight may not be: others will read
 * it. */
static _Thread_local bool may_stop;

void cpu_set_may_stop(bool on) { may_stop = on; }

bool cpu_stops(void) { return may_stop ? rlx_budget_stops() : rlx_pool_is_stopped(); }

typedef struct range_work {
  cpu_range_fn fn;
  void *user;
  size_t n, grain;
} range_work;

static void run_range(void *user, size_t task, unsigned thread) {
  const range_work *w = user;
  size_t begin = task * w->grain, left = w->n - begin;
  w->fn(w->user, begin, begin + (left < w->grain ? left : w->grain), thread);
}

void cpu_parallel(rlx_pool *pool, size_t n, size_t grain, cpu_range_fn fn, void *user) {
  if (n == 0 || (may_stop && rlx_budget_is_stopped())) return; /* its inputs may be incomplete */
  if (grain == 0) grain = 1;
  if (n <= grain) {
    fn(user, 0, n, 0);
    return;
  }
  range_work w = {fn, user, n, grain};
  if (may_stop) rlx_pool_run_stoppable(pool, (n - 1) / grain + 1, run_range, &w);
  else rlx_pool_run(pool, (n - 1) / grain + 1, run_range, &w);
}

size_t cpu_grain(size_t n, double cost) {
  double items = cost > 0 ? (double)TASK_NS / cost : (double)n;
  size_t grain = items < 1 ? 1 : items < (double)n ? (size_t)items : n;
  size_t min_grain = n / MAX_TASKS + (n % MAX_TASKS != 0);
  if (grain < min_grain) grain = min_grain;
  double max_grain = cost > 0 ? (double)LONG_TASK_NS / cost : (double)n;
  if ((double)grain > max_grain) grain = max_grain < 1 ? 1 : (size_t)max_grain;
  if (grain == 0) return 1;
  /* The same number of tasks, but of equal size: two threads wait for the longer of two. */
  size_t tasks = n / grain + (n % grain != 0);
  return tasks ? n / tasks + (n % tasks != 0) : 1;
}
