/* Included before every file of a module with shared memory. The C library of WASI, compiled for one thread, has one
 * errno for all threads; its header declares one per thread. */
#include <errno.h>
#undef errno
extern int rlx_libc_errno __asm__("errno");
#define errno rlx_libc_errno
