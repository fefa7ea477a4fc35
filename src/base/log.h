/* Log and trace hooks: the library prints nothing by itself. rlx_set_log and rlx_set_trace (public header) install
 * callbacks; without one these calls cost a load and a branch. A trace span is named and nests per thread. */
#ifndef RLX_BASE_LOG_H
#define RLX_BASE_LOG_H

#include "base/status.h"

void rlx_log_write(rlx_log_level level, const char *fmt, ...) RLX_PRINTF(2, 3);
void rlx_trace_begin(const char *name);
void rlx_trace_end(const char *name);
/* The clock of trace spans: nanoseconds from some point in the past, never going back. */
uint64_t rlx_now_ns(void);

#endif
