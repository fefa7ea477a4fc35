/* Log and trace hooks: the library itself prints nothing. rlx_set_log and rlx_set_trace (public header) install
 * callbacks; without one these calls cost a load and a branch. A trace span has a name and nests per thread. */
#ifndef RLX_BASE_LOG_H
#define RLX_BASE_LOG_H

#include "base/os.h"
#include "base/status.h"

void rlx_log_write(rlx_log_level level, const char *fmt, ...) RLX_PRINTF(2, 3);
void rlx_trace_begin(const char *name);
void rlx_trace_end(const char *name);
/* Between hold and release, this thread's messages are queued and delivered at release. A callback may call the
 * library, so it must not run under a lock. Nests. A few one-line messages are kept; further ones and trace spans are
 * dropped. */
void rlx_log_hold(void);
void rlx_log_release(void);
/* A mutex with that: for every mutex under which something may be logged. */
void rlx_log_lock(rlx_mutex *lock);
void rlx_log_unlock(rlx_mutex *lock);
/* The clock of trace spans: nanoseconds of the monotonic clock. */
uint64_t rlx_now_ns(void);

#endif
