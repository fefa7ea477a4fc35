/* Files: reading whole or at an offset, and atomic writing (a temporary beside the target, then rename). Only regular
 * files are read; the message names a directory, FIFO or device as such. A file that changes while it is read is
 * RLX_IO, because the bytes read may belong to neither version. */
#ifndef RLX_BASE_FILE_H
#define RLX_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* The whole file as NUL-terminated text (free with rlx_mem_free). RLX_INVALID above `limit` bytes. */
rlx_status rlx_file_read(const char *path, size_t limit, char **text, size_t *bytes);

/* Identity and version of a file: what must be the same after reading as it was at opening. */
typedef struct rlx_stamp {
  uint64_t device, inode;
  uint64_t bytes;
  int64_t seconds, nanoseconds; /* time of last modification */
} rlx_stamp;

/* Opens a regular file for reading and takes its stamp. rlx_fd_close accepts -1. */
rlx_status rlx_fd_open(const char *path, int *fd, rlx_stamp *stamp);
void rlx_fd_close(int fd);
/* The stamp of an open file, which must be a regular one. `path` is for messages, here and below. */
rlx_status rlx_fd_stamp(int fd, const char *path, rlx_stamp *out);
/* Reads exactly these bytes. RLX_IO if the file ends before them or no longer matches the stamp. Threads may share the
 * descriptor. */
rlx_status rlx_fd_read(int fd, const char *path, const rlx_stamp *stamp, uint64_t offset, void *data, size_t bytes);
/* Reads from the current position to the end, as rlx_file_read. */
rlx_status rlx_fd_read_all(int fd, const char *path, const rlx_stamp *stamp, size_t limit, char **text, size_t *bytes);

/* A file that is written in parts. Commit renames it over the target; discard leaves nothing behind. */
typedef struct rlx_draft {
  char *path, *temporary;
  int fd;
  unsigned mode; /* permissions of the file it replaces; 0: there is none */
} rlx_draft;
rlx_status rlx_draft_begin(rlx_draft *d, const char *path);
rlx_status rlx_draft_write(rlx_draft *d, const void *data, size_t bytes);
rlx_status rlx_draft_commit(rlx_draft *d); /* ends the draft, even on failure */
void rlx_draft_discard(rlx_draft *d);      /* a zeroed or ended draft is allowed */

#endif
