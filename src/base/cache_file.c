/* Paths by the XDG specification, and files that are written beside their place and renamed. */
#include "base/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/os.h"

/* The specification requires that a relative path is ignored. */
bool rlx_cache_path(const char *name, char *out, size_t bytes) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n = -1;
  if (xdg && xdg[0] == '/') n = snprintf(out, bytes, "%s/rlx/%s", xdg, name);
  else if (home && home[0] == '/') n = snprintf(out, bytes, "%s/.cache/rlx/%s", home, name);
  return n > 0 && (size_t)n < bytes;
}

/* Not at each use, which would be a write for each read. */
static void note_use(const char *path) {
  enum { DAY = 24 * 60 * 60 };
  struct stat st;
  if (stat(path, &st) == 0 && time(NULL) - st.st_mtime > DAY) (void)utimensat(AT_FDCWD, path, NULL, 0);
}

bool rlx_cache_read(const char *path, size_t limit, char **data, size_t *bytes) {
  rlx_saved_message message;
  if (access(path, R_OK)) return false;
  rlx_message_save(&message);
  const bool is_read = rlx_file_read(path, limit, data, bytes) == RLX_OK;
  rlx_message_restore(&message);
  if (is_read) note_use(path);
  return is_read;
}

/* Creates the folders of a file. */
static bool make_folders(const char *path) {
  char at[RLX_CACHE_PATH_BYTES];
  int n = snprintf(at, sizeof at, "%s", path);
  if (n < 0 || (size_t)n >= sizeof at) return false;
  for (char *slash = strchr(at + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(at, 0700) && errno != EEXIST) return false;
    *slash = '/';
  }
  return true;
}

static bool write_all(int fd, const char *data, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    ssize_t n = write(fd, data + at, bytes - at);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) at += (size_t)n;
  }
  return true;
}

bool rlx_cache_write(const char *path, const void *data, size_t bytes) {
  char temporary[RLX_CACHE_PATH_BYTES + 16];
  if (!make_folders(path)) return false;
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  int fd = rlx_os_open_temporary(temporary); /* 0600 */
  if (fd < 0) return false;
  bool ok = write_all(fd, data, bytes);
  ok = close(fd) == 0 && ok;
  ok = ok && rename(temporary, path) == 0;
  if (!ok) unlink(temporary);
  return ok;
}
