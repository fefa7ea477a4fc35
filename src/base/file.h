/* Files: read-only mapping, and writing that never leaves half a file (temporary beside the target, then rename).
 * Only regular files are mapped; a directory, FIFO or device is refused by name. */
#ifndef RLX_BASE_FILE_H
#define RLX_BASE_FILE_H

#include <stddef.h>

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

#endif
