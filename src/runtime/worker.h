/* A thread of a session that executes jobs in the order in which they were added. The first job starts it. */
#ifndef RLX_RUNTIME_WORKER_H
#define RLX_RUNTIME_WORKER_H

#include "base/status.h"

typedef struct rlx_worker rlx_worker;

typedef struct rlx_job {
  struct rlx_job *next;
  void (*run)(void *user); /* may free the job */
  void *user;
} rlx_job;

rlx_status rlx_worker_create(rlx_worker **out);
/* No jobs may be left. Inside a job the thread is detached and ends by itself; otherwise it is joined. NULL is fine. */
void rlx_worker_destroy(rlx_worker *w);
/* The job is in the caller's memory. Fails if the system refuses a thread; the job is not executed then. */
rlx_status rlx_worker_add(rlx_worker *w, rlx_job *job);
bool rlx_worker_is_inside(const rlx_worker *w); /* whether the caller is its thread */
/* Waits until the jobs added before the call have returned. Inside a job of this worker it does not wait. */
void rlx_worker_drain(rlx_worker *w);
/* Inside a job of this worker: executes the next job, so that waiting for that job does not deadlock. False: not inside
 * such a job, or there is no next one. */
bool rlx_worker_run_next(rlx_worker *w);

#endif
