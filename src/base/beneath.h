/* Files beside a model: they lie in its folder, and nothing that the folder holds leads out of it.
 *
 * A folder of a model comes from anybody, and a symbolic link in it may point at any file of whoever opens it. So a file that nobody named
 * himself is opened and then asked where it lies, all links followed: beneath the folder, or, in the layout of Hugging Face's cache
 * (models--x--y/snapshots/REVISION/file -> ../../blobs/HASH), in the blobs beside the snapshots. What was opened must be what lies there, so
 * a link that changes in between gains nothing. */
#ifndef RLX_BASE_BENEATH_H
#define RLX_BASE_BENEATH_H

#include <stdbool.h>

#include "base/file.h"

/* RLX_INVALID: the open file `path` lies neither beneath `folder` nor in its cache. */
rlx_status rlx_fd_check_beneath(int fd, const char *path, const char *folder);
/* As rlx_file_read, of a file that must lie there. */
rlx_status rlx_file_read_beneath(const char *folder, const char *path, size_t limit, char **text, size_t *bytes);
/* Whether it is a blob of the folder's cache, for those who follow no other link. */
bool rlx_path_is_blob(const char *path, const char *folder);

#endif
