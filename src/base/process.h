/* Which process this is: a child made by fork has a copy of its parent's memory but none of its threads, and must not touch
 * what was made with them. Objects that have threads, locks or a device note the number of the process that made them. */
#ifndef RLX_BASE_PROCESS_H
#define RLX_BASE_PROCESS_H

#include "base/status.h"

/* 0 in the process that loaded the library, one more in each child of a child. */
uint32_t rlx_process_number(void);
/* Whether an object with this number is of this process. */
bool rlx_process_is_own(uint32_t number);
/* RLX_INVALID, in the words of every such call. */
rlx_status rlx_process_refuse(const char *call, const char *what);

#endif
