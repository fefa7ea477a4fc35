/* Free memory of the machine, as far as this process may use it. */
#ifndef RLX_BASE_MACHINE_H
#define RLX_BASE_MACHINE_H

#include <stdint.h>

/* Bytes of memory that this process could allocate now: the least of what the system reports as available, what its
 * control groups (containers) leave, and what its address space leaves. 0: unknown. */
uint64_t rlx_machine_free_bytes(void);
/* For tests: the same with the system's files under `root` ("": the real ones). */
uint64_t rlx_machine_free_bytes_at(const char *root);

#endif
