/* Lock of a public object: a few fields under a mutex that is never held while waiting for a caller or calling out. */
#include "base/lock.h"

#include "base/process.h"
#include "base/thread.h"

/* Locks that this thread holds. If there are any, the thread is inside a library call, so what runs now is a
 * callback. */
static _Thread_local unsigned n_held;

rlx_status rlx_lock_init(rlx_lock *l, const char *what, void (*free)(void *object), void *object) {
  *l = (rlx_lock){.what = what, .free = free, .object = object, .process = rlx_process_number()};
  int error = !rlx_mutex_init(&l->mutex);
  if (error) return RLX_FAIL(RLX_NO_MEMORY, "the system refused the lock of the %s (error %d)", what, error);
  error = !rlx_cond_init(&l->released);
  if (error) rlx_mutex_destroy(&l->mutex);
  return error ? RLX_FAIL(RLX_NO_MEMORY, "the system refused the condition of the %s (error %d)", what, error) : RLX_OK;
}

void rlx_lock_deinit(rlx_lock *l) {
  rlx_cond_destroy(&l->released);
  rlx_mutex_destroy(&l->mutex);
}

/* With the mutex held. */
static void enter(rlx_lock *l) {
  l->holder = rlx_thread_self();
  l->depth++;
  n_held++;
}

static rlx_status acquire(rlx_lock *l, const char *call, bool may_nest) {
  if (!rlx_process_is_own(l->process)) return rlx_process_refuse(call, l->what);
  rlx_mutex_lock(&l->mutex);
  bool is_free = !l->holder && !l->is_destroyed, is_nested = l->holder == rlx_thread_self() && may_nest;
  if (is_free || is_nested) enter(l);
  rlx_mutex_unlock(&l->mutex);
  if (is_free || is_nested) return RLX_OK;
  return RLX_FAIL(RLX_BUSY, "%s: the %s is in use, by another thread or by the call that this is a callback of", call,
                  l->what);
}

rlx_status rlx_lock_try(rlx_lock *l, const char *call) { return acquire(l, call, false); }
rlx_status rlx_lock_try_nested(rlx_lock *l, const char *call) { return acquire(l, call, true); }

/* A lock that is its own holder is held by no thread. */
static bool is_detached(const rlx_lock *l) { return l->holder == l; }

bool rlx_lock_wait(rlx_lock *l) {
  if (!rlx_process_is_own(l->process)) return false;
  const void *self = rlx_thread_self();
  rlx_mutex_lock(&l->mutex);
  while (l->holder && l->holder != self && !is_detached(l)) rlx_cond_wait(&l->released, &l->mutex);
  bool ok = l->holder == self || (!l->holder && !l->is_destroyed);
  if (ok) enter(l);
  rlx_mutex_unlock(&l->mutex);
  return ok;
}

void rlx_lock_release(rlx_lock *l) {
  n_held--;
  if (!rlx_process_is_own(l->process)) return; /* a callback forked, and this is the child: the lock is the parent's */
  rlx_mutex_lock(&l->mutex);
  bool is_last = --l->depth == 0, frees = is_last && l->is_destroyed && !l->n_waiting;
  if (is_last) l->holder = NULL;
  if (is_last) rlx_cond_broadcast(&l->released);
  rlx_mutex_unlock(&l->mutex);
  if (frees) l->free(l->object);
}

void rlx_lock_detach(rlx_lock *l) {
  n_held--;
  rlx_mutex_lock(&l->mutex);
  l->holder = l;
  rlx_mutex_unlock(&l->mutex);
}

void rlx_lock_adopt(rlx_lock *l) {
  rlx_mutex_lock(&l->mutex);
  l->holder = rlx_thread_self();
  rlx_mutex_unlock(&l->mutex);
  n_held++;
}

void rlx_lock_end(rlx_lock *l) {
  if (!rlx_process_is_own(l->process)) return;
  const bool in_callback = n_held > 0 || rlx_pool_is_inside();
  rlx_mutex_lock(&l->mutex);
  bool is_first = !l->is_destroyed; /* destroying twice is a caller's error; the second call does nothing */
  bool waits = is_first && l->holder && !is_detached(l) && !in_callback;
  l->is_destroyed = true;
  l->n_waiting += waits;
  while (waits && l->holder) rlx_cond_wait(&l->released, &l->mutex);
  bool frees = is_first && !l->holder;
  rlx_mutex_unlock(&l->mutex);
  if (frees) l->free(l->object);
}
