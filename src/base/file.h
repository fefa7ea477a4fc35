/* Files: reading whole or by place, and writing that never leaves half a file (temporary beside the target, then rename).
 * Only regular files are read; a directory, FIFO or device is refused by name. A file that changes while it is read is
 * RLX_IO: what was read of it may be of neither state. */
#ifndef RLX_BASE_FILE_H
#define RLX_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

/* The whole file as NUL-terminated text (free with rlx_mem_free); refuses files above `limit` bytes. */
rlx_status rlx_file_read(const char *path, size_t limit, char **text, size_t *bytes);

/* Which file it is, and its state: what must be the same after reading as it was at opening. */
typedef struct rlx_stamp {
  uint64_t device, inode;
  size_t bytes;
  int64_t seconds, nanoseconds; /* when it was last written to */
} rlx_stamp;

/* A regular file open for reading, and its state now; close it with rlx_fd_close, which takes -1 too. */
rlx_status rlx_fd_open(const char *path, int *fd, rlx_stamp *stamp);
void rlx_fd_close(int fd);
/* The state of an open file, which must be a regular one. `path` is for the message, here and below. */
rlx_status rlx_fd_stamp(int fd, const char *path, rlx_stamp *out);
/* These very bytes, of the file as it was stamped: one that ends before them, or has changed since, is RLX_IO. Threads may
 * share the descriptor. */
rlx_status rlx_fd_read(int fd, const char *path, const rlx_stamp *stamp, uint64_t offset, void *data, size_t bytes);
/* All of it, from where it stands, as rlx_file_read has it. */
rlx_status rlx_fd_read_all(int fd, const char *path, const rlx_stamp *stamp, size_t limit, char **text, size_t *bytes);

/* A file that is being written in pieces. It takes the target's place when committed; discarding leaves nothing. */
typedef struct rlx_draft {
  char *path, *temporary;
  int fd;
  mode_t mode; /* of the file it replaces; 0: there is none */
} rlx_draft;
rlx_status rlx_draft_begin(rlx_draft *d, const char *path);
rlx_status rlx_draft_write(rlx_draft *d, const void *data, size_t bytes);
rlx_status rlx_draft_commit(rlx_draft *d); /* ends it, also on failure */
void rlx_draft_discard(rlx_draft *d);      /* a zeroed or ended one is fine */

#endif
