/* Process identity: the number of forks between this process and the one that loaded the library.
 *
 * An atfork handler increments the number in the child before fork returns there, so reading it costs a load and no
 * system call. The handler is registered when the library is loaded; the C library drops it when it is unloaded. */
#include "base/process.h"

#include <stdatomic.h>

#include "base/os.h"

static atomic_uint n_forks;

static void in_child(void) { atomic_fetch_add_explicit(&n_forks, 1, memory_order_relaxed); }

__attribute__((constructor)) static void watch_forks(void) { rlx_os_at_fork(NULL, NULL, in_child); }

uint32_t rlx_process_number(void) { return atomic_load_explicit(&n_forks, memory_order_relaxed); }

bool rlx_process_is_own(uint32_t number) { return number == rlx_process_number(); }

rlx_status rlx_process_refuse(const char *call, const char *what) {
  return RLX_FAIL(RLX_INVALID, "%s: the %s belongs to the process that forked this one: make another here", call, what);
}
