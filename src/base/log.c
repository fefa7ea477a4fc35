/* Log and trace hooks: two callbacks, each with its argument.
 *
 * A callback and its argument must change together even while other threads log, so the pair is behind a lock; and
 * logging with no callback must cost nothing, so an atomic flag in front says whether there is one. The callback runs
 * outside the lock: it may call back into the library, and log. One that has just been replaced may therefore still be
 * finishing a call in another thread. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

enum { LOG_BYTES = 1024 };

static pthread_mutex_t hooks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  rlx_log_fn log;
  void *log_user;
  rlx_trace_fn trace;
  void *trace_user;
} hooks;
static atomic_bool has_log, has_trace;

void rlx_set_log(rlx_log_fn fn, void *user) {
  pthread_mutex_lock(&hooks_lock);
  hooks.log = fn;
  hooks.log_user = user;
  atomic_store_explicit(&has_log, fn != NULL, memory_order_relaxed);
  pthread_mutex_unlock(&hooks_lock);
}

void rlx_set_trace(rlx_trace_fn fn, void *user) {
  pthread_mutex_lock(&hooks_lock);
  hooks.trace = fn;
  hooks.trace_user = user;
  atomic_store_explicit(&has_trace, fn != NULL, memory_order_relaxed);
  pthread_mutex_unlock(&hooks_lock);
}

void rlx_log_write(rlx_log_level level, const char *fmt, ...) {
  if (!atomic_load_explicit(&has_log, memory_order_relaxed)) return;
  pthread_mutex_lock(&hooks_lock);
  rlx_log_fn fn = hooks.log;
  void *user = hooks.log_user;
  pthread_mutex_unlock(&hooks_lock);
  if (!fn) return;
  char text[LOG_BYTES];
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(text, sizeof text, fmt, args);
  va_end(args);
  fn(user, level, text);
}

uint64_t rlx_now_ns(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void trace_write(const char *name, bool begin) {
  if (!atomic_load_explicit(&has_trace, memory_order_relaxed)) return;
  pthread_mutex_lock(&hooks_lock);
  rlx_trace_fn fn = hooks.trace;
  void *user = hooks.trace_user;
  pthread_mutex_unlock(&hooks_lock);
  if (!fn) return;
  fn(user, name, begin, rlx_now_ns());
}

void rlx_trace_begin(const char *name) { trace_write(name, true); }
void rlx_trace_end(const char *name) { trace_write(name, false); }
