/* Files of the user's cache folder ($XDG_CACHE_HOME or ~/.cache, folder rlx): what takes long to make and can be made
 * again. A file is replaced whole, so a reader sees the old one or the new one. Without a writable folder there is no
 * cache, and nothing fails. */
#ifndef RLX_BASE_CACHE_FILE_H
#define RLX_BASE_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { RLX_CACHE_PATH_BYTES = 1024 };

/* The path of a file, which need not exist; false: there is no folder for it. `name` may contain folders. */
bool rlx_cache_path(const char *name, char *out, size_t bytes);
/* The whole file (free with rlx_mem_free); false: it is not there, cannot be read, or is larger. Sets no message. */
bool rlx_cache_read(const char *path, size_t limit, char **data, size_t *bytes);
/* Creates missing folders, with access for the user only. */
bool rlx_cache_write(const char *path, const void *data, size_t bytes);

#endif
