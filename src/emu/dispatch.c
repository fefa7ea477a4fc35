/* Runs one dispatch on the host: all of its groups, one after the other, until one of them faults.
 *
 * Kernels compiled as C keep their windows, parameters and shared arrays in static variables, so only one dispatch runs
 * at a time in the process: a lock is held. Nothing here knows devices or programs, and nothing of the library but the
 * kernel table and f16 is used: the fake CUDA driver of the tests contains these files as well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/os.h"
#include "emu/run.h"

static rlx_mutex one_dispatch = RLX_MUTEX_INIT;

/* In a forked child the thread that may hold the mutex does not exist: reinitialise it, and what it was doing. */
static void reset_mutex(void) {
  static const rlx_mutex fresh = RLX_MUTEX_INIT;
  one_dispatch = fresh;
  emu_fibers_forget();
}
__attribute__((constructor)) static void register_fork_handler(void) { rlx_os_at_fork(NULL, NULL, reset_mutex); }

/* ---- functions that kernels call ---- */

static char fault[EMU_FAULT_BYTES];     /* the first fault of the dispatch; "" if none */
static char unwritten[EMU_FAULT_BYTES]; /* the first read of bytes that nothing wrote; "" if none */
static const char *running;             /* name of the kernel */
static void *shared_arrays[32];         /* shared arrays of the current group */
static int n_shared;

static void describe(char text[EMU_FAULT_BYTES], const char *window, uint64_t index, uint64_t words, const char *what) {
  if (*text) return;
  snprintf(text, EMU_FAULT_BYTES, "kernel %s: group %u, invocation %u: %s[%llu], of %llu words%s", running,
           (unsigned)emu_wg, (unsigned)emu_lid, window, (unsigned long long)index, (unsigned long long)words, what);
}

void emu_fault(const char *window, uint64_t index, uint64_t words) { describe(fault, window, index, words, ""); }

void emu_unwritten(const char *window, uint64_t index, uint64_t words) {
  describe(unwritten, window, index, words, ", is read, and nothing wrote all its bytes");
}

void *emu_shared(size_t bytes) {
  void *array = n_shared < 32 ? malloc(bytes ? bytes : 1) : NULL;
  if (!array) {
    emu_fault("shared memory", bytes, 0);
    return NULL;
  }
  memset(array, 0xa5, bytes); /* shared memory is uninitialised on a GPU */
  return shared_arrays[n_shared++] = array;
}

static void free_shared(void) {
  while (n_shared) free(shared_arrays[--n_shared]);
}

float emu_half(uint16_t h) { return rlx_f16_to_f32(h); }

/* ---- dispatches ---- */

bool emu_dispatch(const emu_launch *d, char text[EMU_FAULT_BYTES]) {
  const emu_kernel *k = emu_kernels[d->kernel->index];
  rlx_mutex_lock(&one_dispatch);
  *fault = *unwritten = 0;
  running = d->kernel->name;
  emu_group_size = d->group_size; /* sizes of shared arrays depend on it */
  k->bind(d->constants, d->params, d->windows);
  for (uint32_t g = 0; g < d->groups_x * d->groups_y && !*fault; g++) {
    k->group();
    if (!*fault && !emu_run_group(k->run, g, d->group_size)) emu_fault("memory for invocations", d->group_size, 0);
    free_shared();
  }
  const bool ok = !*fault;
  memcpy(text, ok ? unwritten : fault, EMU_FAULT_BYTES);
  rlx_mutex_unlock(&one_dispatch);
  return ok;
}

void emu_dispatch_free(void) {
  rlx_mutex_lock(&one_dispatch);
  emu_fibers_free();
  rlx_mutex_unlock(&one_dispatch);
}
