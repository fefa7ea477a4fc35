/* Log and trace hooks: the library prints nothing by itself. rlx_set_log and rlx_set_trace (public header) install
 * callbacks; without one these calls cost a load and a branch. A trace span is named and nests per thread. */
#ifndef RLX_BASE_LOG_H
#define RLX_BASE_LOG_H

#include <pthread.h>

#include "base/status.h"

void rlx_log_write(rlx_log_level level, const char *fmt, ...) RLX_PRINTF(2, 3);
void rlx_trace_begin(const char *name);
void rlx_trace_end(const char *name);
/* While held, what this thread logs waits, and comes when it is released: a callback may call back into the library, so it must
 * not run under a lock. Nests. A few messages of a line are kept; what is more is lost, and so are trace spans. */
void rlx_log_hold(void);
void rlx_log_release(void);
/* A lock with that: for all under which something may be logged. */
void rlx_log_lock(pthread_mutex_t *lock);
void rlx_log_unlock(pthread_mutex_t *lock);
/* The clock of trace spans: nanoseconds from some point in the past, never going back. */
uint64_t rlx_now_ns(void);

#endif
