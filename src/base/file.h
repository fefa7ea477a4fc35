/* Files: read-only mapping, reading by place, and writing that never leaves half a file (temporary beside the target,
 * then rename). Only regular files are read; a directory, FIFO or device is refused by name. */
#ifndef RLX_BASE_FILE_H
#define RLX_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct rlx_file_map {
  const unsigned char *data; /* NULL when bytes is 0 */
  size_t bytes;
} rlx_file_map;

rlx_status rlx_file_map_open(const char *path, rlx_file_map *out);
void rlx_file_map_close(rlx_file_map *m);
/* The whole file as NUL-terminated text (free with rlx_mem_free); refuses files above `limit` bytes. */
rlx_status rlx_file_read(const char *path, size_t limit, char **text, size_t *bytes);
rlx_status rlx_file_write(const char *path, const void *data, size_t bytes);

/* A regular file open for reading, and its bytes now; close it with rlx_fd_close, which takes -1 too. */
rlx_status rlx_fd_open(const char *path, int *fd, size_t *bytes);
void rlx_fd_close(int fd);
/* These very bytes; a file that ends before is RLX_IO and says where. Threads may share the descriptor. `path` is for the
 * message. */
rlx_status rlx_fd_read(int fd, const char *path, uint64_t offset, void *data, size_t bytes);

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
