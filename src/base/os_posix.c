/* Threads, conditions, fork, signals and libraries by POSIX. Waiting for a condition uses the system's real-time
 * clock, which is what a condition made without attributes understands. */
#if defined(__linux__)
#define _GNU_SOURCE /* sched_getaffinity, dladdr */
#endif
#define _DEFAULT_SOURCE   /* madvise */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/os.h"
#include "base/os_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000 };

/* ---- mutexes, conditions ---- */

bool rlx_mutex_init(rlx_mutex *m) { return pthread_mutex_init(m, NULL) == 0; }

bool rlx_mutex_init_recursive(rlx_mutex *m) {
  pthread_mutexattr_t attr;
  if (pthread_mutexattr_init(&attr)) return false;
  const bool ok = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) == 0 && pthread_mutex_init(m, &attr) == 0;
  pthread_mutexattr_destroy(&attr);
  return ok;
}

void rlx_mutex_destroy(rlx_mutex *m) { pthread_mutex_destroy(m); }
void rlx_mutex_lock(rlx_mutex *m) { pthread_mutex_lock(m); }
void rlx_mutex_unlock(rlx_mutex *m) { pthread_mutex_unlock(m); }

bool rlx_cond_init(rlx_cond *c) { return pthread_cond_init(c, NULL) == 0; }
void rlx_cond_destroy(rlx_cond *c) { pthread_cond_destroy(c); }
void rlx_cond_wait(rlx_cond *c, rlx_mutex *m) { pthread_cond_wait(c, m); }
void rlx_cond_signal(rlx_cond *c) { pthread_cond_signal(c); }
void rlx_cond_broadcast(rlx_cond *c) { pthread_cond_broadcast(c); }

bool rlx_cond_wait_for(rlx_cond *c, rlx_mutex *m, uint64_t nanoseconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += (time_t)(nanoseconds / SECOND_NS);
  until.tv_nsec += (long)(nanoseconds % SECOND_NS);
  if (until.tv_nsec >= SECOND_NS) until.tv_sec++, until.tv_nsec -= SECOND_NS;
  return pthread_cond_timedwait(c, m, &until) != ETIMEDOUT;
}

void rlx_once_run(rlx_once *o, void (*fn)(void)) { pthread_once(o, fn); }

/* ---- threads ---- */

int rlx_os_thread_start(rlx_os_thread *t, void *(*fn)(void *), void *user) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(t, NULL, fn, user);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

void rlx_os_thread_join(rlx_os_thread t) { pthread_join(t, NULL); }
void rlx_os_thread_detach(rlx_os_thread t) { pthread_detach(t); }

uint32_t rlx_os_max_threads(void) { return UINT32_MAX; } /* starting one reports where it ends */

uint32_t rlx_os_cores(void) {
  const long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > INT32_MAX ? INT32_MAX : (uint32_t)n;
}

uint32_t rlx_os_own_cores(void) {
#if defined(__linux__)
  cpu_set_t set; /* the affinity mask */
  if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint32_t)CPU_COUNT(&set);
#endif
  return rlx_os_cores();
}

void rlx_os_sleep(uint64_t nanoseconds) {
  nanosleep(&(struct timespec){.tv_sec = (time_t)(nanoseconds / SECOND_NS), .tv_nsec = (long)(nanoseconds % SECOND_NS)},
            NULL);
}

uint64_t rlx_os_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* ---- memory ---- */

void rlx_os_use_large_pages(void *p, size_t bytes) {
#if defined(MADV_HUGEPAGE)
  (void)madvise(p, bytes, MADV_HUGEPAGE);
#else
  (void)p, (void)bytes;
#endif
}

void rlx_os_discard(void *p, size_t bytes) {
#if defined(MADV_DONTNEED)
  const long page = sysconf(_SC_PAGESIZE);
  const size_t before = page > 0 ? (size_t)(-(intptr_t)p & (page - 1)) : bytes;
  if (before < bytes && bytes - before >= (size_t)page)
    (void)madvise((char *)p + before, (bytes - before) / (size_t)page * (size_t)page, MADV_DONTNEED);
#else
  (void)p, (void)bytes;
#endif
}

/* ---- processes ---- */

void rlx_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)pthread_atfork(before, parent, child);
}

_Static_assert(sizeof(sigset_t) <= sizeof(rlx_os_signals), "a set of signals fits");

bool rlx_os_signals_hold(rlx_os_signals *before) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
  sigset_t blocked, old;
  sigfillset(&blocked);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
  if (pthread_sigmask(SIG_BLOCK, &blocked, &old)) return false;
  memcpy(before, &old, sizeof old);
  return true;
}

void rlx_os_signals_release(const rlx_os_signals *before) {
  sigset_t old;
  memcpy(&old, before, sizeof old);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

uint64_t rlx_os_address_space(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : (uint64_t)limit.rlim_cur;
}

uint64_t rlx_os_address_space_used(void) { return UINT64_MAX; } /* machine.c reads what the kernel reports */

uint64_t rlx_os_free_bytes(void) {
#if defined(_SC_AVPHYS_PAGES)
  return UINT64_MAX;
#else
  return 0;
#endif
}

uint64_t rlx_os_memory_bytes(void) {
#if defined(_SC_PHYS_PAGES)
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
#else
  return 0;
#endif
}

/* ---- libraries ---- */

/* Keeps the shared object with this function loaded; no effect in the program itself. */
static void stay_loaded(void) {
  static const char inside;
  Dl_info self;
  if (!dladdr(&inside, &self) || !self.dli_fname) return;
  void *handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle) dlclose(handle);
}

void *rlx_os_library_open(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library) stay_loaded();
  return library;
}

void *rlx_os_library_find(void *library, const char *name) { return dlsym(library, name); }

/* ---- files ---- */

char *rlx_os_real_path(const char *path) { return realpath(path, NULL); }
int rlx_os_open_temporary(char *path) { return mkstemp(path); }
bool rlx_os_set_mode(int fd, unsigned mode) { return fchmod(fd, (mode_t)mode) == 0; }
