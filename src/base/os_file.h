/* Files, as the system has them: what base/file.h and its users are built on.
 *
 * Paths are UTF-8. Folders are separated by slashes, on Windows also by backslashes. Descriptors are those of the C
 * library, and bytes are never translated. A call that a signal interrupts is repeated. On failure (false, -1, NULL)
 * errno has the reason. os_file_unix.c has it for POSIX and WebAssembly, os_file_windows.c for Windows. */
#ifndef RLX_BASE_OS_FILE_H
#define RLX_BASE_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rlx_os_kind {
  RLX_OS_REGULAR,
  RLX_OS_FOLDER,
  RLX_OS_LINK,
  RLX_OS_FIFO,
  RLX_OS_SOCKET,
  RLX_OS_DEVICE,
  RLX_OS_OTHER
} rlx_os_kind;
typedef struct rlx_os_stat {
  rlx_os_kind kind;
  unsigned mode;          /* permissions */
  uint64_t device, inode; /* the file's identity */
  uint64_t n_names;       /* hard links */
  int64_t bytes;
  int64_t seconds, nanoseconds; /* time of last modification */
} rlx_os_stat;

bool rlx_os_stat_path(const char *path, rlx_os_stat *out); /* links are followed */
bool rlx_os_stat_link(const char *path, rlx_os_stat *out); /* not at the end of the path */
bool rlx_os_stat_open(int fd, rlx_os_stat *out);

/* Opens for reading whatever the path names, and never waits for a writer. */
int rlx_os_open(const char *path);
int rlx_os_open_folder(const char *path);
/* A folder or a file in an open folder, by a name without separators. Never a link: ELOOP. */
int rlx_os_open_in(int folder, const char *name, bool is_folder);
/* Creates a file for writing; EEXIST if there is one. */
int rlx_os_open_new(const char *path);
/* Opens a new file; the six X at the end of `path` become its name. Only its owner may read it, where the system knows
 * owners. */
int rlx_os_open_temporary(char *path);
/* Not repeated: after EINTR the descriptor is closed, and its number may belong to another thread's file. */
bool rlx_os_close(int fd);

/* They return the number of bytes, which may be fewer; 0: the end. */
ptrdiff_t rlx_os_read(int fd, void *to, size_t bytes);
ptrdiff_t rlx_os_read_at(int fd, void *to, size_t bytes, uint64_t offset); /* threads may share the descriptor */
bool rlx_os_write(int fd, const void *data, size_t bytes);                 /* all of them */
bool rlx_os_sync(int fd);                                                  /* to disk */
bool rlx_os_set_mode(int fd, unsigned mode);                               /* permissions, where there are any */

/* The file gets the name `to`; one of that name is replaced at once. Readers of that one keep it. */
bool rlx_os_replace(const char *from, const char *to);
/* Writes to disk that a file of this name is in its folder, where the system can. The path is as before afterwards. */
bool rlx_os_sync_folder_of(char *path);
bool rlx_os_remove(const char *path);
bool rlx_os_make_folder(const char *path);   /* with access for the user only */
bool rlx_os_remove_folder(const char *path); /* an empty one */
bool rlx_os_can_read(const char *path);
void rlx_os_touch(const char *path); /* it was modified now */

/* The names in a folder, without "." and "..". */
typedef struct rlx_os_listing rlx_os_listing;
rlx_os_listing *rlx_os_list_begin(const char *folder);
const char *rlx_os_list_next(rlx_os_listing *l); /* valid until the next call; NULL: there are no more */
void rlx_os_list_end(rlx_os_listing *l);

/* The path without links, "." and "..", with slashes; free with free. */
char *rlx_os_real_path(const char *path);
/* Bytes of the path up to its last part: the folder with its separator, or 0. */
size_t rlx_os_folder_bytes(const char *path);
/* Whether a name from a file that is not trusted could lead elsewhere than into its folder: it has a separator, or
 * stands for a drive, a device or a stream. "." and ".." have none. */
bool rlx_os_leads_away(const char *name);
/* The user's folder for caches, with the name in it; false: there is none, or it does not fit. */
bool rlx_os_cache_path(const char *name, char *out, size_t bytes);

#endif
