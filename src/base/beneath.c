/* Checks that an open file lies beneath a folder: see beneath.h. */
#include "base/beneath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os_file.h"

/* The rest of `path` after `folder` and a slash; NULL if `path` does not begin with them. */
static const char *after_folder(const char *path, const char *folder, size_t n) {
  while (n && folder[n - 1] == '/') n--;
  return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* Whether `file` is directly in the blobs folder beside the last "snapshots" component of `folder`. */
static bool is_blob(const char *file, const char *folder) {
  static const char snapshots[] = "/snapshots/", blobs[] = "blobs/";
  const char *at = NULL;
  for (const char *p = folder; (p = strstr(p, snapshots)); p++) at = p;
  const char *rest = at ? after_folder(file, folder, (size_t)(at - folder)) : NULL;
  if (!rest || strncmp(rest, blobs, sizeof blobs - 1) != 0) return false;
  rest += sizeof blobs - 1;
  return *rest && !strchr(rest, '/');
}

static rlx_status check_location(int fd, const char *path, const char *real, const char *folder) {
  rlx_os_stat opened, there;
  bool inside = after_folder(real, folder, strlen(folder));
  if (!inside && !is_blob(real, folder))
    return RLX_FAIL(
      RLX_INVALID,
      "'%s' is a link that leads out of the model's folder, to '%s'; copy the file there, or pass its own path", path,
      real);
  if (!rlx_os_stat_open(fd, &opened) || !rlx_os_stat_link(real, &there) || opened.device != there.device ||
      opened.inode != there.inode)
    return RLX_FAIL(RLX_IO, "'%s' changed while it was opened", path);
  return RLX_OK;
}

rlx_status rlx_fd_check_beneath(int fd, const char *path, const char *folder) {
  char *real = rlx_os_real_path(path), *base = real ? rlx_os_real_path(folder) : NULL;
  rlx_status s = RLX_OK;
  if (base) s = check_location(fd, path, real, base);
  else if (errno == ENOMEM) s = RLX_FAIL(RLX_NO_MEMORY, "no memory to resolve '%s'", path);
  else s = RLX_FAIL(RLX_IO, "cannot resolve '%s'", path);
  free(real);
  free(base);
  return s;
}

rlx_status rlx_file_read_beneath(const char *folder, const char *path, size_t limit, char **text, size_t *bytes) {
  int fd;
  rlx_stamp stamp;
  *text = NULL;
  *bytes = 0;
  RLX_TRY(rlx_fd_open(path, &fd, &stamp));
  rlx_status s = rlx_fd_check_beneath(fd, path, folder);
  if (!s) s = rlx_fd_read_all(fd, path, &stamp, limit, text, bytes);
  rlx_fd_close(fd);
  return s;
}

bool rlx_path_is_blob(const char *path, const char *folder) {
  char *real = rlx_os_real_path(path), *base = real ? rlx_os_real_path(folder) : NULL;
  bool is = base && is_blob(real, base);
  free(real);
  free(base);
  return is;
}
