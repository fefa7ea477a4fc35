/* A thread of a session that runs jobs in the order in which they are added. It is started by the first job. */
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
/* No jobs are left. Inside a job the thread ends by itself; else it is waited for. NULL is fine. */
void rlx_worker_destroy(rlx_worker *w);
/* The job is the caller's memory. Fails where the system refuses a thread: then it is not run. */
rlx_status rlx_worker_add(rlx_worker *w, rlx_job *job);
bool rlx_worker_is_inside(const rlx_worker *w); /* this is its thread */
/* In a job of this worker: runs the next job, so that waiting for it inside this one ends. False: not in such a job, or there
 * is none. */
bool rlx_worker_run_next(rlx_worker *w);

#endif
