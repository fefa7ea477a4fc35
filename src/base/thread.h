/* Thread pool: rlx_pool_run distributes n tasks over the workers and the caller, and returns when all are done. The
 * assignment of tasks to threads is not fixed; results must not depend on it. A pool executes one run at a time: a
 * second caller waits. A pool of 1 thread has no workers and runs tasks in the caller; NULL stands for such a pool. A
 * run started by a task of the same pool is executed in that task's thread. So is a run in a forked child, which has
 * none of the workers. */
#ifndef RLX_BASE_THREAD_H
#define RLX_BASE_THREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct rlx_pool rlx_pool;
typedef void (*rlx_pool_task)(void *user, size_t task, unsigned thread); /* thread < n_threads */

rlx_status rlx_pool_create(unsigned n_threads, rlx_pool **out); /* 0: one per core */
void rlx_pool_destroy(rlx_pool *p);
unsigned rlx_pool_threads(const rlx_pool *p);
void rlx_pool_run(rlx_pool *p, size_t n_tasks, rlx_pool_task fn, void *user);
/* As rlx_pool_run, but when the caller's budget (budget.h) stops, tasks that have not begun are skipped. The caller
 * checks rlx_budget_is_stopped before it uses the results. */
void rlx_pool_run_stoppable(rlx_pool *p, size_t n_tasks, rlx_pool_task fn, void *user);
/* Inside a task: whether its run was stopped, so that a long task can end early. Only the caller's thread polls the
 * budget, including while it waits for the others. */
bool rlx_pool_is_stopped(void);

/* The thread that this thread works for: inside a task the caller of the run, else itself. Never NULL. */
const void *rlx_thread_self(void);
bool rlx_pool_is_inside(void); /* whether this thread runs a task of any pool */

#endif
