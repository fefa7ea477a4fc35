/* Turns: a few words under a lock that is never held while anything is waited for or called. */
#include "base/lock.h"

#include "base/process.h"
#include "base/thread.h"

/* Turns that this thread has: where there are any, it is inside a call, and what runs now is a callback. */
static _Thread_local unsigned n_taken;

rlx_status rlx_lock_init(rlx_lock *t, const char *what, void (*free)(void *object), void *object) {
  *t = (rlx_lock){.what = what, .free = free, .object = object, .process = rlx_process_number()};
  int error = pthread_mutex_init(&t->lock, NULL);
  if (error) return RLX_FAIL(RLX_NO_MEMORY, "the system refused the lock of an %s (error %d)", what, error);
  error = pthread_cond_init(&t->left, NULL);
  if (error) pthread_mutex_destroy(&t->lock);
  return error ? RLX_FAIL(RLX_NO_MEMORY, "the system refused a condition (error %d)", error) : RLX_OK;
}

void rlx_lock_deinit(rlx_lock *t) {
  pthread_cond_destroy(&t->left);
  pthread_mutex_destroy(&t->lock);
}

/* Under the lock. */
static void enter(rlx_lock *t) {
  t->holder = rlx_thread_self();
  t->depth++;
  n_taken++;
}

static rlx_status take(rlx_lock *t, const char *call, bool may_nest) {
  if (!rlx_process_is_own(t->process)) return rlx_process_refuse(call, t->what);
  pthread_mutex_lock(&t->lock);
  bool is_free = !t->holder && !t->is_doomed, is_nested = t->holder == rlx_thread_self() && may_nest;
  if (is_free || is_nested) enter(t);
  pthread_mutex_unlock(&t->lock);
  if (is_free || is_nested) return RLX_OK;
  return RLX_FAIL(RLX_BUSY, "%s: the %s is in use, by another thread or by the call that this is a callback of", call,
                  t->what);
}

rlx_status rlx_lock_try(rlx_lock *t, const char *call) { return take(t, call, false); }
rlx_status rlx_lock_try_nested(rlx_lock *t, const char *call) { return take(t, call, true); }

bool rlx_lock_wait(rlx_lock *t) {
  if (!rlx_process_is_own(t->process)) return false;
  const void *self = rlx_thread_self();
  pthread_mutex_lock(&t->lock);
  while (t->holder && t->holder != self) pthread_cond_wait(&t->left, &t->lock);
  bool ok = t->holder == self || !t->is_doomed;
  if (ok) enter(t);
  pthread_mutex_unlock(&t->lock);
  return ok;
}

void rlx_lock_release(rlx_lock *t) {
  n_taken--;
  if (!rlx_process_is_own(t->process)) return; /* a callback forked, and this is the child */
  pthread_mutex_lock(&t->lock);
  bool is_last = --t->depth == 0, frees = is_last && t->is_doomed && !t->n_waiting;
  if (is_last) t->holder = NULL;
  if (is_last) pthread_cond_broadcast(&t->left);
  pthread_mutex_unlock(&t->lock);
  if (frees) t->free(t->object);
}

void rlx_lock_end(rlx_lock *t) {
  if (!rlx_process_is_own(t->process)) return;
  const bool in_callback = n_taken > 0 || rlx_pool_is_inside();
  pthread_mutex_lock(&t->lock);
  bool is_first = !t->is_doomed; /* a second destroy of a doomed object is a mistake, and does nothing */
  bool waits = is_first && t->holder && !in_callback;
  t->is_doomed = true;
  t->n_waiting += waits;
  while (waits && t->holder) pthread_cond_wait(&t->left, &t->lock);
  bool frees = is_first && !t->holder;
  pthread_mutex_unlock(&t->lock);
  if (frees) t->free(t->object);
}
