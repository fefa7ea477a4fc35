/* Fault injection: every allocation, and every file call, of a piece of work fails once.
 *
 *   static rlx_status work(void *user) { create; use; destroy; return the first failure }
 *   CHECK_OK(alloc_sweep(work, NULL));
 *   CHECK(file_sweep(&(file_faults){ON_READ, FAILS, EIO, RLX_IO}, work, NULL, NULL) >= 4);
 *
 * Allocations: the work is repeated with the 1st allocation failing, then the 2nd, and so on (test_next_fault) until it
 * succeeds with nothing left to fail. Two sweeps: only the Nth fails (the work may continue and must notice), and all
 * from the Nth on (cleanup must not allocate). Each time the work must return RLX_OK or RLX_NO_MEMORY, and leave as
 * many live blocks as before.
 *
 * File calls (if FAULTS_OF_FILES is defined before this is included): the system's calls are replaced in this program
 * by wrappers; the Nth is interrupted, transfers half of the bytes, or fails. Faults that can be retried must not be
 * noticeable; others must give the expected status, with a message, and leave no memory and no open file behind.
 *
 * The work is repeated once per fault, so it should be small. */
#ifndef RLX_TESTS_FAULTS_H
#define RLX_TESTS_FAULTS_H

#include <stdatomic.h>

#include "base/mem.h"
#include "base/status.h"
#include "test.h"

typedef rlx_status (*alloc_sweep_fn)(void *user);

/* Atomic, because the work may allocate in several threads. */
typedef struct alloc_sweep_point {
  size_t fail_at; /* counted from 1; 0: never */
  bool from_there_on;
  atomic_size_t n_seen, n_failed;
} alloc_sweep_point;

static inline bool alloc_sweep_hook(void *user, size_t bytes) {
  alloc_sweep_point *point = user;
  (void)bytes;
  size_t n = atomic_fetch_add(&point->n_seen, 1) + 1;
  bool fails = n == point->fail_at || (point->from_there_on && point->fail_at != 0 && n > point->fail_at);
  if (fails) atomic_fetch_add(&point->n_failed, 1);
  return !fails;
}

/* One run; the verdict is a status, so that its message reaches the test's output. */
static inline rlx_status alloc_sweep_once(alloc_sweep_fn fn, void *user, alloc_sweep_point *point) {
  size_t live = rlx_mem_live();
  rlx_mem_set_hook(alloc_sweep_hook, point);
  rlx_status s = fn(user);
  rlx_mem_set_hook(NULL, NULL);
  const char *mode = point->from_there_on ? "from there on" : "once";
  size_t n_failed = atomic_load(&point->n_failed);
  if (rlx_mem_live() != live)
    return RLX_FAIL(RLX_INVALID, "allocation %zu failing %s: %zu live blocks before, %zu after", point->fail_at, mode,
                    live, rlx_mem_live());
  if (s == RLX_OK || (s == RLX_NO_MEMORY && n_failed > 0)) return RLX_OK;
  return rlx_fail_frame(RLX_INVALID, "allocation %zu failing %s (it did %zu times): the work returned '%s'",
                        point->fail_at, mode, n_failed, rlx_status_name(s));
}

static inline rlx_status alloc_sweep(alloc_sweep_fn fn, void *user) {
  for (int mode = 0; mode < 2; mode++) {
    for (size_t at = 1;; at = test_next_fault(at)) {
      alloc_sweep_point point = {.fail_at = at, .from_there_on = mode == 1};
      RLX_TRY(alloc_sweep_once(fn, user, &point));
      if (atomic_load(&point.n_failed) > 0) continue;
      if (at == 1) return RLX_FAIL(RLX_INVALID, "the work allocates nothing: there is nothing to sweep");
      break;
    }
  }
  return RLX_OK;
}

#if defined(FAULTS_OF_FILES) && defined(__linux__)

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000 /* Linux's own */
#endif

typedef enum file_fault { INTERRUPTED, SHORT, FAILS } file_fault;
enum { ON_READ = 1, ON_WRITE = 2, ON_SYNC = 4, ON_OPEN = 8, ON_STAT = 16 };

typedef struct file_faults {
  unsigned calls; /* the calls to fail */
  file_fault fault;
  int error;           /* the errno of a failure */
  rlx_status expected; /* the status expected then */
} file_faults;

static struct {
  file_faults f;
  size_t at, seen; /* the call that fails, from 1; 0: none */
} fault_plan;

/* Whether this call is the one to fail. */
static bool fault_hits(unsigned call) {
  return fault_plan.at && (fault_plan.f.calls & call) && ++fault_plan.seen == fault_plan.at;
}

static ssize_t fault_fails(int error) {
  errno = error;
  return -1;
}

/* The value for the call to return, or 0: the call is made, with fewer bytes if it is to be short. */
static ssize_t fault_of_bytes(unsigned call, size_t *bytes) {
  if (!fault_hits(call)) return 0;
  if (fault_plan.f.fault != SHORT) return fault_fails(fault_plan.f.fault == INTERRUPTED ? EINTR : fault_plan.f.error);
  *bytes = *bytes > 1 ? *bytes / 2 : *bytes;
  return 0;
}
static int fault_of_call(unsigned call) {
  if (!fault_hits(call) || fault_plan.f.fault == SHORT) return 0;
  return (int)fault_fails(fault_plan.f.fault == INTERRUPTED ? EINTR : fault_plan.f.error);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset) {
  return fault_of_bytes(ON_READ, &bytes) ? -1 : syscall(SYS_pread64, fd, data, bytes, offset);
}
ssize_t read(int fd, void *data, size_t bytes) {
  return fd > 2 && fault_of_bytes(ON_READ, &bytes) ? -1 : syscall(SYS_read, fd, data, bytes);
}
ssize_t write(int fd, const void *data, size_t bytes) {
  return fd > 2 && fault_of_bytes(ON_WRITE, &bytes) ? -1 : syscall(SYS_write, fd, data, bytes);
}
int fsync(int fd) { return fault_of_call(ON_SYNC) ? -1 : (int)syscall(SYS_fsync, fd); }
int open(const char *path, int flags, ...) {
  return fault_of_call(ON_OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
}
int openat(int folder, const char *path, int flags, ...) {
  return fault_of_call(ON_OPEN) ? -1 : (int)syscall(SYS_openat, folder, path, flags, 0666);
}
int fstat(int fd, struct stat *out) { return fault_of_call(ON_STAT) ? -1 : fstatat(fd, "", out, AT_EMPTY_PATH); }

/* The lowest free descriptor: detects files left open. */
static int fault_open_files(void) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
  if (fd >= 0) close(fd);
  return fd;
}

/* Fails every call of these kinds once. Returns their number, or 0 after printing what went wrong. `holds` (or NULL) is
 * called after each to check that existing data is intact. */
static inline size_t file_sweep(const file_faults *f, alloc_sweep_fn work, void *user, bool (*holds)(void *user)) {
  for (size_t at = 1;; at++) {
    const size_t live = rlx_mem_live();
    const int files = fault_open_files();
    fault_plan.f = *f;
    fault_plan.seen = 0;
    fault_plan.at = at;
    rlx_status s = work(user);
    const bool was_hit = fault_plan.seen >= fault_plan.at;
    fault_plan.at = 0;
    const rlx_status want = was_hit && f->fault == FAILS ? f->expected : RLX_OK;
    const char *wrong = s != want                     ? "another status"
                        : s && !rlx_message()[0]      ? "no words"
                        : rlx_mem_live() != live      ? "memory is left"
                        : fault_open_files() != files ? "a file is left open"
                        : holds && !holds(user)       ? "what was there before is not whole"
                                                      : NULL;
    if (wrong) printf("call %zu: %s: %s: %s\n", at, wrong, rlx_status_name(s), s ? rlx_message() : "");
    if (wrong) return 0;
    if (!was_hit) return at - 1;
  }
}

#endif

#endif
