/* Files of a folder that the system names, written beside their place and renamed. */
#include "base/cache_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/os.h"
#include "base/os_file.h"

bool rlx_cache_path(const char *name, char *out, size_t bytes) { return rlx_os_cache_path(name, out, bytes); }

/* Not at each use, which would be a write for each read. */
static void note_use(const char *path) {
  enum { DAY = 24 * 60 * 60 };
  rlx_os_stat st;
  if (rlx_os_stat_path(path, &st) && rlx_os_time() - st.seconds > DAY) rlx_os_touch(path);
}

bool rlx_cache_read(const char *path, size_t limit, char **data, size_t *bytes) {
  rlx_saved_message message;
  if (!rlx_os_can_read(path)) return false;
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
    if (!rlx_os_make_folder(at) && errno != EEXIST) return false;
    *slash = '/';
  }
  return true;
}

bool rlx_cache_write(const char *path, const void *data, size_t bytes) {
  char temporary[RLX_CACHE_PATH_BYTES + 16];
  if (!make_folders(path)) return false;
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  int fd = rlx_os_open_temporary(temporary); /* 0600 */
  if (fd < 0) return false;
  bool ok = rlx_os_write(fd, data, bytes);
  ok = rlx_os_close(fd) && ok;
  ok = ok && rlx_os_replace(temporary, path);
  if (!ok) rlx_os_remove(temporary);
  return ok;
}
