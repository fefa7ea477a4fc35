/* Thread pool: `rlx_pool_run` splits n tasks over the workers and the caller and returns when all are done. Which
 * thread runs which task is not fixed; results must not depend on it. One run at a time per pool (a second caller
 * waits). A pool of 1 thread has no workers and runs in the caller; NULL stands for such a pool. A run started by a
 * task of the same pool is done in that task's thread; so is one in a child made by fork, which has none of the workers. */
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
/* The same for work that may be given up: where the caller's budget (budget.h) says stop, tasks that have not begun are left
 * out. Who started it asks rlx_budget_is_stopped before it uses what came of it. */
void rlx_pool_run_stoppable(rlx_pool *p, size_t n_tasks, rlx_pool_task fn, void *user);
/* Inside a task: whether its run was stopped, so that a long one can end early. Only the caller's thread finds it out; it also
 * asks while it waits for the others. */
bool rlx_pool_is_stopped(void);

/* Who this thread works for: itself, or in a task the caller of the run. Never NULL. */
const void *rlx_thread_self(void);
bool rlx_pool_is_inside(void); /* this thread is in a task of some pool */

#endif
