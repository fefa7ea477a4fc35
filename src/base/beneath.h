/* Files beside a model: a file that the user did not name must lie beneath the model's folder, all links resolved (the
 * rule of openat2's RESOLVE_BENEATH).
 *
 * A model's folder is untrusted input: a symbolic link in it may point at any file of the user who opens it. So such a
 * file is opened, its path resolved with realpath, and the result must lie beneath the folder. One more location is
 * allowed, for the layout of Hugging Face's cache (models--x--y/snapshots/REVISION/file -> ../../blobs/HASH): the blobs
 * beside the snapshots. The open descriptor must be the file at the resolved path, so replacing a link between the two
 * steps gains nothing. */
#ifndef RLX_BASE_BENEATH_H
#define RLX_BASE_BENEATH_H

#include <stdbool.h>

#include "base/file.h"

/* RLX_INVALID if the open file `path` lies neither beneath `folder` nor in the blobs of its cache. */
rlx_status rlx_fd_check_beneath(int fd, const char *path, const char *folder);
/* rlx_file_read with that check. */
rlx_status rlx_file_read_beneath(const char *folder, const char *path, size_t limit, char **text, size_t *bytes);
/* Whether `path` resolves to a blob of the folder's cache, for callers that follow no other link. */
bool rlx_path_is_blob(const char *path, const char *folder);

#endif
