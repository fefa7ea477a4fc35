/* Process identity. A forked child has a copy of its parent's memory but none of its threads, and must not touch
 * objects that were created with them. Objects that have threads, locks or a device store the number of the process
 * that created them. */
#ifndef RLX_BASE_PROCESS_H
#define RLX_BASE_PROCESS_H

#include "base/status.h"

/* 0 in the process that loaded the library; a child has its parent's number plus 1. */
uint32_t rlx_process_number(void);
/* Whether an object with this number was created by this process. */
bool rlx_process_is_own(uint32_t number);
/* RLX_INVALID, with the message that all such calls share. */
rlx_status rlx_process_refuse(const char *call, const char *what);

#endif
