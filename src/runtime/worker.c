/* A session's worker thread: one FIFO list of jobs under one lock. */
#include "runtime/worker.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "base/os.h"

struct rlx_worker {
  atomic_uint refs; /* one for the session, one for the thread */
  rlx_mutex lock;
  rlx_cond changed;
  rlx_job *first, **last;
  uint64_t n_added, n_taken, n_done; /* jobs; done: those before a job of the outer loop has returned, it included */
  rlx_os_thread thread;
  bool is_started, stops;
};

static _Thread_local const rlx_worker *inside; /* the worker whose thread this is */

rlx_status rlx_worker_create(rlx_worker **out) {
  *out = NULL;
  rlx_worker *w = rlx_new(rlx_worker);
  if (!w) return RLX_FAIL(RLX_NO_MEMORY, "a session's worker");
  bool has_lock = rlx_mutex_init(&w->lock);
  if (!has_lock || !rlx_cond_init(&w->changed)) {
    if (has_lock) rlx_mutex_destroy(&w->lock);
    rlx_mem_free(w);
    return RLX_FAIL(RLX_NO_MEMORY, "the system refused the lock of a session's worker");
  }
  atomic_init(&w->refs, 1);
  w->last = &w->first;
  *out = w;
  return RLX_OK;
}

static void release(rlx_worker *w) {
  if (atomic_fetch_sub(&w->refs, 1) != 1) return;
  rlx_cond_destroy(&w->changed);
  rlx_mutex_destroy(&w->lock);
  rlx_mem_free(w);
}

/* Under the lock. */
static rlx_job *take(rlx_worker *w) {
  rlx_job *job = w->first;
  if (!job) return NULL;
  w->first = job->next;
  if (!w->first) w->last = &w->first;
  w->n_taken++;
  return job;
}

static void *worker_main(void *user) {
  rlx_worker *w = user;
  inside = w;
  rlx_mutex_lock(&w->lock);
  for (;;) {
    rlx_job *job = take(w);
    if (!job && w->stops) break;
    if (!job) {
      rlx_cond_wait(&w->changed, &w->lock);
      continue;
    }
    rlx_mutex_unlock(&w->lock);
    job->run(job->user);
    rlx_mutex_lock(&w->lock);
    w->n_done = w->n_taken;
    rlx_cond_broadcast(&w->changed);
  }
  rlx_mutex_unlock(&w->lock);
  release(w);
  return NULL;
}

static int start(rlx_worker *w) {
  atomic_fetch_add(&w->refs, 1);
  int error = rlx_os_thread_start(&w->thread, worker_main, w);
  if (error) atomic_fetch_sub(&w->refs, 1);
  return error;
}

rlx_status rlx_worker_add(rlx_worker *w, rlx_job *job) {
  job->next = NULL;
  rlx_mutex_lock(&w->lock);
  int error = w->is_started ? 0 : start(w);
  if (!error) {
    w->is_started = true;
    *w->last = job;
    w->last = &job->next;
    w->n_added++;
    rlx_cond_broadcast(&w->changed);
  }
  rlx_mutex_unlock(&w->lock);
  return error ? RLX_FAIL(RLX_NO_MEMORY, "the system refused a thread (error %d)", error) : RLX_OK;
}

bool rlx_worker_is_inside(const rlx_worker *w) { return inside == w; }

bool rlx_worker_run_next(rlx_worker *w) {
  if (inside != w) return false;
  rlx_mutex_lock(&w->lock);
  rlx_job *job = take(w);
  rlx_mutex_unlock(&w->lock);
  if (job) job->run(job->user);
  return job != NULL;
}

void rlx_worker_drain(rlx_worker *w) {
  if (inside == w) return;
  rlx_mutex_lock(&w->lock);
  const uint64_t n = w->n_added;
  while (w->n_done < n) rlx_cond_wait(&w->changed, &w->lock);
  rlx_mutex_unlock(&w->lock);
}

void rlx_worker_destroy(rlx_worker *w) {
  if (!w) return;
  rlx_mutex_lock(&w->lock);
  w->stops = true;
  rlx_cond_broadcast(&w->changed);
  const bool is_started = w->is_started;
  rlx_mutex_unlock(&w->lock);
  if (is_started && inside == w) rlx_os_thread_detach(w->thread);
  else if (is_started) rlx_os_thread_join(w->thread);
  release(w);
}
