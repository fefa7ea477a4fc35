/* Files: read whole or at an offset, write whole or in parts.
 *
 * A path from a user may name anything. A file is opened without blocking (a FIFO with no writer would otherwise block
 * forever), then fstat on the descriptor rejects what is not a regular file, and the message gives its kind. Files are
 * not memory-mapped: another process that truncates one would cause a SIGBUS instead of an error. After each read the
 * file's size and modification time are checked again, so all that is loaded belongs to one version of the file. A file
 * that is replaced by rename causes no error, because the descriptor keeps the old one.
 *
 * Writing goes to a temporary file beside the target, which is flushed to disk and renamed over the target; rename is
 * atomic. Then the folder is flushed, so that the new name survives a power failure. A reader sees the old file or the
 * new one, and every failure removes the temporary. A target that is a symbolic link is replaced, not followed. */
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/os_file.h"
#include "base/str.h"

/* ---- Failures ----------------------------------------------------------------------------------------------- */

static rlx_status fail_errno(const char *verb, const char *path, int error) {
  char words[128];
  rlx_os_error_text(error, words, sizeof words);
  rlx_status code = error == ENOENT || error == ENOTDIR ? RLX_NOT_FOUND : error == ENOMEM ? RLX_NO_MEMORY : RLX_IO;
  rlx_fail(code, "cannot %s '%s': %s", verb, path, words);
  return code;
}

static rlx_status require_regular(const rlx_os_stat *st, const char *path) {
  static const char *const kinds[] = {[RLX_OS_FOLDER] = "a directory",
                                      [RLX_OS_FIFO] = "a FIFO",
                                      [RLX_OS_SOCKET] = "a socket",
                                      [RLX_OS_DEVICE] = "a device"};
  if (st->kind == RLX_OS_REGULAR) return RLX_OK;
  const char *kind = (size_t)st->kind < sizeof kinds / sizeof *kinds ? kinds[st->kind] : NULL;
  return RLX_FAIL(RLX_INVALID, "'%s': expected a regular file, got %s", path, kind ? kind : "something else");
}

/* ---- Reading ------------------------------------------------------------------------------------------------- */

rlx_status rlx_fd_stamp(int fd, const char *path, rlx_stamp *out) {
  rlx_os_stat st;
  *out = (rlx_stamp){0};
  if (!rlx_os_stat_open(fd, &st)) return fail_errno("inspect", path, errno);
  RLX_TRY(require_regular(&st, path));
  if (st.bytes < 0) return RLX_FAIL(RLX_UNSUPPORTED, "'%s': its size is negative", path);
  *out = (rlx_stamp){.device = st.device,
                     .inode = st.inode,
                     .bytes = (uint64_t)st.bytes,
                     .seconds = st.seconds,
                     .nanoseconds = st.nanoseconds};
  return RLX_OK;
}

static rlx_status check_unchanged(int fd, const char *path, const rlx_stamp *before) {
  rlx_stamp now;
  RLX_TRY(rlx_fd_stamp(fd, path, &now));
  if (now.bytes != before->bytes)
    return RLX_FAIL(RLX_IO, "'%s' changed while it was read: it had %" PRIu64 " bytes, and now has %" PRIu64, path,
                    before->bytes, now.bytes);
  bool same = now.device == before->device && now.inode == before->inode && now.seconds == before->seconds &&
              now.nanoseconds == before->nanoseconds;
  return same ? RLX_OK : RLX_FAIL(RLX_IO, "'%s' changed while it was read: it has been written to", path);
}

rlx_status rlx_fd_open(const char *path, int *fd, rlx_stamp *stamp) {
  *fd = -1;
  *stamp = (rlx_stamp){0};
  if (!path) return RLX_FAIL(RLX_INVALID, "expected a path, got NULL");
  int opened = rlx_os_open(path);
  if (opened < 0) return fail_errno("open", path, errno);
  rlx_status s = rlx_fd_stamp(opened, path, stamp);
  if (s) rlx_os_close(opened);
  else *fd = opened;
  return s;
}

void rlx_fd_close(int fd) {
  if (fd >= 0) rlx_os_close(fd);
}

rlx_status rlx_fd_read(int fd, const char *path, const rlx_stamp *stamp, uint64_t offset, void *data, size_t bytes) {
  unsigned char *to = data;
  if (offset > INT64_MAX || bytes > INT64_MAX - offset)
    return RLX_FAIL(RLX_INVALID, "'%s': offset %" PRIu64 " is beyond what a file can have", path, offset);
  while (bytes > 0) {
    ptrdiff_t n = rlx_os_read_at(fd, to, bytes, offset);
    if (n < 0) return fail_errno("read", path, errno);
    if (n == 0)
      return RLX_FAIL(RLX_IO, "'%s' ends at byte %" PRIu64 ", %zu bytes too early: it was truncated while in use", path,
                      offset, bytes);
    to += n;
    offset += (uint64_t)n;
    bytes -= (size_t)n;
  }
  return check_unchanged(fd, path, stamp);
}

static rlx_status fail_above_limit(const char *path, size_t limit) {
  return RLX_FAIL(RLX_INVALID, "'%s': expected at most %zu bytes, got more", path, limit);
}

/* Reads to the end, whatever size fstat reported: some regular files (those of /proc) report 0 bytes. The reported size
 * is the first guess, so the common case allocates once. */
static rlx_status read_to_end(int fd, const char *path, const rlx_stamp *stamp, size_t limit, char **text,
                              size_t *bytes) {
  /* the terminator, and one byte so that the end of file is seen without growing */
  if (stamp->bytes > PTRDIFF_MAX - 2) return fail_above_limit(path, PTRDIFF_MAX - 2);
  size_t n = 0, cap = (size_t)stamp->bytes + 2;
  char *v = rlx_mem_alloc(cap);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "no memory for '%s'", path);
  rlx_status s = RLX_OK;
  while (s == RLX_OK) {
    ptrdiff_t got = rlx_os_read(fd, v + n, cap - n - 1);
    if (got < 0) s = fail_errno("read", path, errno);
    if (got <= 0) break;
    n += (size_t)got;
    if (n > limit) s = fail_above_limit(path, limit);
    if (s != RLX_OK || n < cap - 1) continue;
    char *grown = rlx_mem_realloc(v, cap, 2);
    if (grown) v = grown, cap *= 2;
    else s = RLX_FAIL(RLX_NO_MEMORY, "no memory for '%s'", path);
  }
  if (s == RLX_OK) s = check_unchanged(fd, path, stamp);
  if (s != RLX_OK) {
    rlx_mem_free(v);
    return s;
  }
  v[n] = '\0';
  *text = v;
  *bytes = n;
  return RLX_OK;
}

rlx_status rlx_fd_read_all(int fd, const char *path, const rlx_stamp *stamp, size_t limit, char **text, size_t *bytes) {
  *text = NULL;
  *bytes = 0;
  return stamp->bytes > limit ? fail_above_limit(path, limit) : read_to_end(fd, path, stamp, limit, text, bytes);
}

rlx_status rlx_file_read(const char *path, size_t limit, char **text, size_t *bytes) {
  *text = NULL;
  *bytes = 0;
  int fd;
  rlx_stamp stamp;
  RLX_TRY(rlx_fd_open(path, &fd, &stamp));
  rlx_status s = rlx_fd_read_all(fd, path, &stamp, limit, text, bytes);
  rlx_os_close(fd);
  return s;
}

/* ---- Writing ------------------------------------------------------------------------------------------------- */

/* Inspects the target: *mode is 0 if it does not exist, else the permissions of that regular file, which are kept. */
static rlx_status inspect_target(const char *path, unsigned *mode) {
  *mode = 0;
  if (!path) return RLX_FAIL(RLX_INVALID, "expected a path, got NULL");
  rlx_os_stat st;
  if (rlx_os_stat_path(path, &st)) {
    RLX_TRY(require_regular(&st, path));
    *mode = st.mode;
  } else if (errno != ENOENT) {
    return fail_errno("write", path, errno);
  }
  return RLX_OK;
}

/* Creates an empty file in the target's folder. Its name does not contain the target's, which may have the maximum
 * length. Not mkstemp, which ignores the umask and makes files that no other user can read. */
static rlx_status open_temporary(const char *path, char **temporary, int *fd) {
  static atomic_uint counter;
  const size_t folder_bytes = rlx_os_folder_bytes(path);
  for (int attempt = 0; attempt < 100; attempt++) {
    rlx_str name = {0};
    rlx_str_add_bytes(&name, path, folder_bytes);
    rlx_str_add(&name, ".rlx-%lu-%u.tmp", rlx_os_process_id(), atomic_fetch_add(&counter, 1u));
    RLX_TRY_AT(rlx_str_take(&name, temporary), "writing '%s'", path);
    *fd = rlx_os_open_new(*temporary);
    if (*fd >= 0) return RLX_OK;
    int error = errno;
    rlx_mem_free(*temporary);
    *temporary = NULL;
    if (error != EEXIST) return fail_errno("write", path, error);
  }
  return fail_errno("write", path, EEXIST);
}

static rlx_status begin_draft(rlx_draft *d, const char *path) {
  RLX_TRY(inspect_target(path, &d->mode));
  size_t n = strlen(path) + 1;
  d->path = rlx_mem_alloc(n);
  if (!d->path) return RLX_FAIL(RLX_NO_MEMORY, "writing '%s': no memory", path);
  memcpy(d->path, path, n);
  RLX_TRY(open_temporary(path, &d->temporary, &d->fd));
  return d->mode == 0 || rlx_os_set_mode(d->fd, d->mode) ? RLX_OK : fail_errno("write", path, errno);
}

rlx_status rlx_draft_begin(rlx_draft *d, const char *path) {
  *d = (rlx_draft){.fd = -1};
  rlx_status s = begin_draft(d, path);
  if (s) rlx_draft_discard(d);
  return s;
}

rlx_status rlx_draft_write(rlx_draft *d, const void *data, size_t bytes) {
  return rlx_os_write(d->fd, data, bytes) ? RLX_OK : fail_errno("write", d->path, errno);
}

static void forget_draft(rlx_draft *d) {
  rlx_mem_free(d->temporary);
  rlx_mem_free(d->path);
  *d = (rlx_draft){.fd = -1};
}

void rlx_draft_discard(rlx_draft *d) {
  if (d->temporary) {
    rlx_fd_close(d->fd);
    rlx_os_remove(d->temporary);
  }
  forget_draft(d);
}

rlx_status rlx_draft_commit(rlx_draft *d) {
  int error = rlx_os_sync(d->fd) ? 0 : errno;
  if (!rlx_os_close(d->fd) && !error) error = errno;
  const bool is_named = !error && rlx_os_replace(d->temporary, d->path);
  if (!error && !is_named) error = errno;
  if (!is_named) rlx_os_remove(d->temporary);
  if (is_named) error = rlx_os_sync_folder_of(d->path) ? 0 : errno;
  rlx_status s = error ? fail_errno(is_named ? "flush the folder of" : "write", d->path, error) : RLX_OK;
  forget_draft(d);
  return s;
}

static rlx_status write_whole(const char *path, const void *data, size_t bytes) {
  rlx_draft d;
  RLX_TRY(rlx_draft_begin(&d, path));
  rlx_status s = rlx_draft_write(&d, data, bytes);
  if (!s) return rlx_draft_commit(&d);
  rlx_draft_discard(&d);
  return s;
}

/* Blocks signals of the calling thread until the file is in place or removed, so that no temporary is left behind.
 * Those of a fault are not blocked, and other threads receive theirs as usual. */
rlx_status rlx_file_write(const char *path, const void *data, size_t bytes) {
  rlx_os_signals before;
  if (!data && bytes) return RLX_FAIL(RLX_INVALID, "rlx_file_write: data is NULL");
  const bool is_held = rlx_os_signals_hold(&before);
  rlx_status s = write_whole(path, data, bytes);
  if (is_held) rlx_os_signals_release(&before);
  return s;
}
