/* The system's calls failing under weight files: each once, in every way it can.
 *
 * The calls are replaced in this program by ones that do the same, but for the Nth, which is interrupted, does half of what it was
 * asked, or fails. What can be tried again must not be noticed; what cannot must be a status, and leave what was there before. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/status.h"
#include "folder.h"
#include "rlx/lm.h"
#include "test.h"

#ifdef __linux__

typedef enum fault { INTERRUPTED, SHORT, FAILS } fault;
enum { ON_READ = 1, ON_WRITE = 2, ON_SYNC = 4, ON_OPEN = 8 };

static struct {
  unsigned calls; /* which of them */
  fault fault;
  int error;
  size_t at, seen; /* the one that fails, from 1; 0: none */
} plan;

/* Whether this call is the one. */
static bool is_hit(unsigned call) { return plan.at && (plan.calls & call) && ++plan.seen == plan.at; }

static ssize_t fail_with(int error) {
  errno = error;
  return -1;
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset) {
  if (is_hit(ON_READ)) {
    if (plan.fault == INTERRUPTED) return fail_with(EINTR);
    if (plan.fault == FAILS) return fail_with(plan.error);
    bytes = bytes > 1 ? bytes / 2 : bytes;
  }
  return syscall(SYS_pread64, fd, data, bytes, offset);
}

ssize_t write(int fd, const void *data, size_t bytes) {
  if (fd > 2 && is_hit(ON_WRITE)) {
    if (plan.fault == INTERRUPTED) return fail_with(EINTR);
    if (plan.fault == FAILS) return fail_with(plan.error);
    bytes = bytes > 1 ? bytes / 2 : bytes;
  }
  return syscall(SYS_write, fd, data, bytes);
}

int fsync(int fd) {
  if (is_hit(ON_SYNC) && plan.fault != SHORT) return (int)fail_with(plan.fault == INTERRUPTED ? EINTR : plan.error);
  return (int)syscall(SYS_fsync, fd);
}

int open(const char *path, int flags, ...) {
  if (is_hit(ON_OPEN) && plan.fault != SHORT) return (int)fail_with(plan.fault == INTERRUPTED ? EINTR : plan.error);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0666);
}

/* ---- The work: a file is written, opened, checked and converted ---- */

static unsigned char pattern[3000];

static rlx_status write_file(const char *path) {
  rlx_file_writer *w;
  RLX_TRY(rlx_file_writer_create(path, &w));
  rlx_status s = rlx_file_writer_tensor(w, "a", RLX_I8, RLX_DIMS(1000));
  if (!s) s = rlx_file_writer_tensor(w, "b", RLX_I8, RLX_DIMS(2, 1000));
  if (!s) s = rlx_file_writer_bytes(w, pattern, sizeof pattern);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

static rlx_status work(void) {
  rlx_file *f;
  RLX_TRY(write_file(folder_path("a.gguf")));
  RLX_TRY(rlx_file_open(folder_path("a.gguf"), NULL, &f));
  rlx_status s = rlx_file_check(f, NULL, NULL);
  if (!s)
    s = rlx_file_convert(f, folder_path("b.safetensors"),
                         &(rlx_convert_options){.struct_bytes = sizeof(rlx_convert_options), .threads = 1});
  rlx_file_close(f);
  return s;
}

/* Whether a file is there with all its bytes as they were. */
static bool is_whole(const char *path) {
  rlx_file *f;
  unsigned char back[2000];
  if (rlx_file_open(path, NULL, &f)) return false;
  const rlx_file_tensor *t = rlx_file_tensor_find(f, "b");
  bool ok = t && t->bytes == 2000 && rlx_file_read_tensor(f, t, 0, back, 2000) == RLX_OK &&
            memcmp(back, pattern + 1000, 2000) == 0;
  rlx_file_close(f);
  return ok;
}

/* Every call of these kinds in turn; how many there were. Files that are there before stay whole through all of it. */
static size_t sweep(unsigned calls, fault how, int error, rlx_status expected) {
  for (size_t at = 1;; at++) {
    size_t live = rlx_mem_live();
    plan.calls = calls;
    plan.fault = how;
    plan.error = error;
    plan.seen = 0;
    plan.at = at;
    rlx_status s = work();
    bool was_hit = plan.seen >= plan.at;
    plan.at = 0;
    bool ok = s == (was_hit ? expected : RLX_OK) && (s == RLX_OK || rlx_message()[0]) && rlx_mem_live() == live &&
              is_whole(folder_path("a.gguf")) && is_whole(folder_path("b.safetensors")) && folder_count() == 2;
    if (!ok) printf("call %zu: %s: %s\n", at, rlx_status_name(s), s ? rlx_message() : "");
    if (!ok) return 0;
    if (!was_hit) return at - 1;
  }
}

static bool begin(void) {
  for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (unsigned char)(i * 31 % 251);
  return folder_begin() && work() == RLX_OK;
}

TEST(interruptions_and_short_calls_are_not_noticed) {
  CHECK(begin());
  CHECK(sweep(ON_READ, INTERRUPTED, 0, RLX_OK) >= 4);
  CHECK(sweep(ON_READ, SHORT, 0, RLX_OK) >= 4);
  CHECK(sweep(ON_WRITE, INTERRUPTED, 0, RLX_OK) >= 4);
  CHECK(sweep(ON_WRITE, SHORT, 0, RLX_OK) >= 4);
  CHECK(sweep(ON_SYNC, INTERRUPTED, 0, RLX_OK) == 4);
  CHECK(sweep(ON_OPEN, INTERRUPTED, 0, RLX_OK) >= 4);
}

TEST(failures_leave_what_was_there) {
  CHECK(begin());
  CHECK(sweep(ON_READ, FAILS, EIO, RLX_IO) >= 4);
  CHECK(sweep(ON_WRITE, FAILS, ENOSPC, RLX_IO) >= 4);
  CHECK(sweep(ON_SYNC, FAILS, EIO, RLX_IO) == 4);
  CHECK(sweep(ON_OPEN, FAILS, EMFILE, RLX_IO) >= 4);
}

#else

TEST(failing_calls) { SKIP("calls are replaced on Linux alone"); }

#endif
