/* A session's worker thread: one FIFO list of jobs under one lock. */
#include "runtime/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/mem.h"

struct rlx_worker {
  atomic_uint refs; /* one for the session, one for the thread */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  rlx_job *first, **last;
  pthread_t thread;
  bool is_started, stops;
};

static _Thread_local const rlx_worker *inside; /* the worker whose thread this is */

rlx_status rlx_worker_create(rlx_worker **out) {
  *out = NULL;
  rlx_worker *w = rlx_new(rlx_worker);
  if (!w) return RLX_FAIL(RLX_NO_MEMORY, "a session's worker");
  bool has_lock = pthread_mutex_init(&w->lock, NULL) == 0;
  if (!has_lock || pthread_cond_init(&w->changed, NULL)) {
    if (has_lock) pthread_mutex_destroy(&w->lock);
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
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->lock);
  rlx_mem_free(w);
}

/* Under the lock. */
static rlx_job *take(rlx_worker *w) {
  rlx_job *job = w->first;
  if (!job) return NULL;
  w->first = job->next;
  if (!w->first) w->last = &w->first;
  return job;
}

static void *worker_main(void *user) {
  rlx_worker *w = user;
  inside = w;
  pthread_mutex_lock(&w->lock);
  for (;;) {
    rlx_job *job = take(w);
    if (!job && w->stops) break;
    if (!job) {
      pthread_cond_wait(&w->changed, &w->lock);
      continue;
    }
    pthread_mutex_unlock(&w->lock);
    job->run(job->user);
    pthread_mutex_lock(&w->lock);
  }
  pthread_mutex_unlock(&w->lock);
  release(w);
  return NULL;
}

/* The thread starts with all signals blocked: they are for the program's own threads. */
static int start(rlx_worker *w) {
  sigset_t all, before;
  sigfillset(&all);
  atomic_fetch_add(&w->refs, 1);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&w->thread, NULL, worker_main, w);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) atomic_fetch_sub(&w->refs, 1);
  return error;
}

rlx_status rlx_worker_add(rlx_worker *w, rlx_job *job) {
  job->next = NULL;
  pthread_mutex_lock(&w->lock);
  int error = w->is_started ? 0 : start(w);
  if (!error) {
    w->is_started = true;
    *w->last = job;
    w->last = &job->next;
    pthread_cond_signal(&w->changed);
  }
  pthread_mutex_unlock(&w->lock);
  return error ? RLX_FAIL(RLX_NO_MEMORY, "the system refused a thread (error %d)", error) : RLX_OK;
}

bool rlx_worker_is_inside(const rlx_worker *w) { return inside == w; }

bool rlx_worker_run_next(rlx_worker *w) {
  if (inside != w) return false;
  pthread_mutex_lock(&w->lock);
  rlx_job *job = take(w);
  pthread_mutex_unlock(&w->lock);
  if (job) job->run(job->user);
  return job != NULL;
}

void rlx_worker_destroy(rlx_worker *w) {
  if (!w) return;
  pthread_mutex_lock(&w->lock);
  w->stops = true;
  pthread_cond_signal(&w->changed);
  const bool is_started = w->is_started;
  pthread_mutex_unlock(&w->lock);
  if (is_started && inside == w) pthread_detach(w->thread);
  else if (is_started) pthread_join(w->thread, NULL);
  release(w);
}
