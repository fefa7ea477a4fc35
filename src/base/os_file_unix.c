/* Files by the calls of POSIX, most of which WASI has as well. */
#if defined(__APPLE__)
#define st_mtim st_mtimespec
#endif
#include "base/os_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is there ---- */

static rlx_os_kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return RLX_OS_REGULAR;
  if (S_ISDIR(mode)) return RLX_OS_FOLDER;
  if (S_ISLNK(mode)) return RLX_OS_LINK;
  if (S_ISFIFO(mode)) return RLX_OS_FIFO;
  if (S_ISSOCK(mode)) return RLX_OS_SOCKET;
  if (S_ISCHR(mode) || S_ISBLK(mode)) return RLX_OS_DEVICE;
  return RLX_OS_OTHER;
}

static bool describe(int result, const struct stat *st, rlx_os_stat *out) {
  if (result != 0) return false;
  *out = (rlx_os_stat){.kind = kind_of(st->st_mode),
                       .mode = st->st_mode & 0777,
                       .device = (uint64_t)st->st_dev,
                       .inode = (uint64_t)st->st_ino,
                       .n_names = (uint64_t)st->st_nlink,
                       .bytes = (int64_t)st->st_size,
                       .seconds = (int64_t)st->st_mtim.tv_sec,
                       .nanoseconds = (int64_t)st->st_mtim.tv_nsec};
  return true;
}

bool rlx_os_stat_path(const char *path, rlx_os_stat *out) {
  struct stat st;
  return describe(stat(path, &st), &st, out);
}

bool rlx_os_stat_link(const char *path, rlx_os_stat *out) {
  struct stat st;
  return describe(lstat(path, &st), &st, out);
}

bool rlx_os_stat_open(int fd, rlx_os_stat *out) {
  struct stat st;
  return describe(fstat(fd, &st), &st, out);
}

bool rlx_os_can_read(const char *path) { return access(path, R_OK) == 0; }

/* ---- opening ---- */

static int open_again(const char *path, int flags, mode_t mode) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

int rlx_os_open(const char *path) { return open_again(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0); }
int rlx_os_open_folder(const char *path) { return open_again(path, O_RDONLY | O_DIRECTORY, 0); }
int rlx_os_open_new(const char *path) { return open_again(path, O_WRONLY | O_CREAT | O_EXCL, 0666); }

int rlx_os_open_in(int folder, const char *name, bool is_folder) {
  int flags = is_folder ? O_RDONLY | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY, fd;
  do fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  if (fd < 0 && errno == ENOTDIR && is_folder) { /* some systems report a link this way when a directory is expected */
    struct stat st;
    errno = fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
  }
  if (fd < 0 && errno == EMLINK) errno = ELOOP; /* FreeBSD's for a link */
  return fd;
}

bool rlx_os_close(int fd) { return close(fd) == 0 || errno == EINTR; }

/* ---- bytes ---- */

ptrdiff_t rlx_os_read(int fd, void *to, size_t bytes) {
  ssize_t n;
  do n = read(fd, to, bytes);
  while (n < 0 && errno == EINTR);
  return (ptrdiff_t)n;
}

ptrdiff_t rlx_os_read_at(int fd, void *to, size_t bytes, uint64_t offset) {
  ssize_t n;
  do n = pread(fd, to, bytes, (off_t)offset);
  while (n < 0 && errno == EINTR);
  return (ptrdiff_t)n;
}

bool rlx_os_write(int fd, const void *data, size_t bytes) {
  const unsigned char *from = data;
  while (bytes > 0) {
    ssize_t n = write(fd, from, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;
    if (n <= 0) return false;
    from += n;
    bytes -= (size_t)n;
  }
  return true;
}

bool rlx_os_sync(int fd) {
  int failed;
  do failed = fsync(fd);
  while (failed && errno == EINTR);
  return !failed;
}

/* ---- names ---- */

bool rlx_os_replace(const char *from, const char *to) { return rename(from, to) == 0; }
bool rlx_os_remove(const char *path) { return unlink(path) == 0; }
bool rlx_os_make_folder(const char *path) { return mkdir(path, 0700) == 0; }
bool rlx_os_remove_folder(const char *path) { return rmdir(path) == 0; }
void rlx_os_touch(const char *path) { (void)utimensat(AT_FDCWD, path, NULL, 0); }

/* If the file system cannot do it (EINVAL), or the folder is writable but not readable, the new file is in place all
 * the same. */
bool rlx_os_sync_folder_of(char *path) {
  char *slash = strrchr(path, '/'), after = slash ? slash[1] : '\0';
  if (slash) slash[1] = '\0';
  int fd = rlx_os_open_folder(slash ? path : "."), error = fd < 0 ? errno : 0;
  if (slash) slash[1] = after;
  if (fd >= 0) {
    error = rlx_os_sync(fd) ? 0 : errno;
    (void)rlx_os_close(fd);
    if (error == EINVAL || error == ENOTSUP) error = 0;
  } else if (error == EACCES) {
    error = 0;
  }
  errno = error;
  return !error;
}

/* A listing is the system's own. */
rlx_os_listing *rlx_os_list_begin(const char *folder) { return (rlx_os_listing *)opendir(folder); }
void rlx_os_list_end(rlx_os_listing *l) { closedir((DIR *)l); }

const char *rlx_os_list_next(rlx_os_listing *l) {
  for (const struct dirent *e; (e = readdir((DIR *)l));)
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) return e->d_name;
  return NULL;
}

/* ---- paths ---- */

size_t rlx_os_folder_bytes(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

bool rlx_os_leads_away(const char *name) { return strchr(name, '/') != NULL; }

/* By the XDG specification, which requires that a relative path is ignored. */
bool rlx_os_cache_path(const char *name, char *out, size_t bytes) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n = -1;
  if (xdg && xdg[0] == '/') n = snprintf(out, bytes, "%s/rlx/%s", xdg, name);
  else if (home && home[0] == '/') n = snprintf(out, bytes, "%s/.cache/rlx/%s", home, name);
  return n > 0 && (size_t)n < bytes;
}
