/* Files of the user's cache folder ($XDG_CACHE_HOME or ~/.cache, on Windows %LOCALAPPDATA%; folder rlx): what takes
 * long to make and can be made again. A file is replaced whole, so a reader sees the old one or the new one. Without
 * a writable folder there is no cache, and nothing fails. */
#ifndef RLX_BASE_CACHE_FILE_H
#define RLX_BASE_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RLX_CACHE_PATH_BYTES = 1024 };
#define RLX_CACHE_LIMIT_BYTES (UINT64_C(512) << 20) /* of each kind of file */

/* The path of a file, which need not exist; false: there is no folder for it. `name` may contain folders. */
bool rlx_cache_path(const char *name, char *out, size_t bytes);
/* The whole file (free with rlx_mem_free); false: it is not there, cannot be read, or is larger. Sets no message. The
 * file counts as used: its time of last modification is renewed once a day. */
bool rlx_cache_read(const char *path, size_t limit, char **data, size_t *bytes);
/* Creates missing folders, with access for the user only. */
bool rlx_cache_write(const char *path, const void *data, size_t bytes);
/* Removes the files of a folder and the folders in it whose names have this ending, the least recently used first,
 * until the rest takes at most limit_bytes. Nothing fails. (cache_limit.c) */
void rlx_cache_limit(const char *name, const char *ending, uint64_t limit_bytes);

#endif
