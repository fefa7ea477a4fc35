/* What the machine has left for this process. */
#ifndef RLX_BASE_MACHINE_H
#define RLX_BASE_MACHINE_H

#include <stdint.h>

/* Bytes of memory that could be had now: what the system calls available, at most what is left to the control groups of this
 * process (containers) and to its address space. 0: not known. */
uint64_t rlx_machine_free_bytes(void);
/* The same with the system's files below `root` ("" is the real ones): for tests. */
uint64_t rlx_machine_free_bytes_at(const char *root);

#endif
