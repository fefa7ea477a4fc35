/* Log and trace hooks: two process-wide callbacks, each with its argument.
 *
 * A callback and its argument must change together while other threads log, so the pair is protected by a mutex.
 * Logging with no callback must cost nothing, so an atomic flag is tested first. The callback runs outside the mutex:
 * it may call the library, and log. So a callback that was just replaced may still be running in another thread. A
 * session may have a log of its own, which the thread's budget holds for the current call. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "base/budget.h"
#include "base/os.h"

enum { LOG_BYTES = 1024, HELD_BYTES = 256, MAX_HELD = 8 };

static rlx_mutex hooks_lock = RLX_MUTEX_INIT;
static struct {
  rlx_log_fn log;
  void *log_user;
  rlx_trace_fn trace;
  void *trace_user;
} hooks;
static atomic_bool has_log, has_trace;

/* Messages that this thread logged while holding them back (rlx_log_hold). */
static _Thread_local struct {
  unsigned depth, n;
  struct {
    rlx_log_fn own; /* the session's function; NULL: the process's */
    void *user;
    rlx_log_level level;
    char text[HELD_BYTES];
  } v[MAX_HELD];
} held;

/* No thread is changing the hooks when the process forks. */
static void hold_hooks(void) { rlx_mutex_lock(&hooks_lock); }
static void release_hooks(void) { rlx_mutex_unlock(&hooks_lock); }
__attribute__((constructor)) static void survive_fork(void) {
  rlx_os_at_fork(hold_hooks, release_hooks, release_hooks);
}

void rlx_set_log(rlx_log_fn fn, void *user) {
  rlx_mutex_lock(&hooks_lock);
  hooks.log = fn;
  hooks.log_user = user;
  atomic_store_explicit(&has_log, fn != NULL, memory_order_relaxed);
  rlx_mutex_unlock(&hooks_lock);
}

void rlx_set_trace(rlx_trace_fn fn, void *user) {
  rlx_mutex_lock(&hooks_lock);
  hooks.trace = fn;
  hooks.trace_user = user;
  atomic_store_explicit(&has_trace, fn != NULL, memory_order_relaxed);
  rlx_mutex_unlock(&hooks_lock);
}

static void deliver(rlx_log_fn own, void *own_user, rlx_log_level level, const char *text) {
  if (own) {
    own(own_user, level, text);
    return;
  }
  rlx_mutex_lock(&hooks_lock);
  rlx_log_fn fn = hooks.log;
  void *user = hooks.log_user;
  rlx_mutex_unlock(&hooks_lock);
  if (fn) fn(user, level, text);
}

void rlx_log_write(rlx_log_level level, const char *fmt, ...) {
  void *user;
  rlx_log_fn own = rlx_budget_log(&user);
  if (!own && !atomic_load_explicit(&has_log, memory_order_relaxed)) return;
  char text[LOG_BYTES];
  const bool waits = held.depth > 0;
  if (waits && held.n == MAX_HELD) return;
  va_list args;
  va_start(args, fmt);
  if (waits) rlx_format_fixed(held.v[held.n].text, HELD_BYTES, fmt, args);
  else rlx_format_fixed(text, sizeof text, fmt, args);
  va_end(args);
  if (!waits) {
    deliver(own, user, level, text);
    return;
  }
  held.v[held.n].own = own;
  held.v[held.n].user = user;
  held.v[held.n++].level = level;
}

void rlx_log_hold(void) { held.depth++; }

/* Each message is removed before it is delivered, because the callback may itself log under locks. */
void rlx_log_release(void) {
  if (--held.depth) return;
  while (held.n) {
    char text[HELD_BYTES];
    const rlx_log_level level = held.v[0].level;
    const rlx_log_fn own = held.v[0].own;
    void *const user = held.v[0].user;
    memcpy(text, held.v[0].text, sizeof text);
    memmove(&held.v[0], &held.v[1], --held.n * sizeof held.v[0]);
    deliver(own, user, level, text);
  }
}

void rlx_log_lock(rlx_mutex *lock) {
  rlx_log_hold();
  rlx_mutex_lock(lock);
}

void rlx_log_unlock(rlx_mutex *lock) {
  rlx_mutex_unlock(lock);
  rlx_log_release();
}

uint64_t rlx_now_ns(void) { return rlx_os_clock(); }

static void trace_write(const char *name, bool begin) {
  if (held.depth) return;
  if (!atomic_load_explicit(&has_trace, memory_order_relaxed)) return;
  rlx_mutex_lock(&hooks_lock);
  rlx_trace_fn fn = hooks.trace;
  void *user = hooks.trace_user;
  rlx_mutex_unlock(&hooks_lock);
  if (!fn) return;
  fn(user, name, begin, rlx_now_ns());
}

void rlx_trace_begin(const char *name) { trace_write(name, true); }
void rlx_trace_end(const char *name) { trace_write(name, false); }
