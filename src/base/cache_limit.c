/* A limit on what a folder of the cache takes.
 *
 * Files are removed whole, the least recently used first; rlx_cache_read keeps the time of last modification near the
 * time of last use. Another process may write, read or remove the same files meanwhile: a file that is gone is skipped,
 * one that is open stays readable, and one that was removed is made again by whoever needs it. Temporary files that a
 * process left when it ended are removed after a day. Links are neither followed nor removed. */
#if defined(__APPLE__)
#define st_mtim st_mtimespec
#endif
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cache_file.h"

enum { MAX_FILES = 16384, MAX_DEPTH = 2, STALE_SECONDS = 24 * 60 * 60 };

typedef struct found {
  char *path;
  int64_t seconds, nanoseconds; /* of last use */
  uint64_t bytes;
} found;

typedef struct listing {
  const char *ending;
  int64_t now;
  RLX_ARRAY(found) files;
  uint64_t bytes;
} listing;

/* Whether the name has the ending; *is_temporary: followed by the six letters of rlx_cache_write. */
static bool is_ours(const char *name, const char *ending, bool *is_temporary) {
  enum { LETTERS = 7 }; /* with the point */
  const size_t n = strlen(name), m = strlen(ending);
  *is_temporary = n > m + LETTERS && name[n - LETTERS] == '.' && memcmp(name + n - LETTERS - m, ending, m) == 0;
  return *is_temporary || (n > m && memcmp(name + n - m, ending, m) == 0);
}

static void note(listing *l, const char *path, const char *name, const struct stat *st) {
  bool is_temporary;
  if (!is_ours(name, l->ending, &is_temporary)) return;
  if (is_temporary) {
    if (l->now - (int64_t)st->st_mtim.tv_sec > STALE_SECONDS) unlink(path);
    return;
  }
  const size_t n = strlen(path) + 1;
  found f = {rlx_mem_alloc(n), (int64_t)st->st_mtim.tv_sec, (int64_t)st->st_mtim.tv_nsec,
             st->st_size > 0 ? (uint64_t)st->st_size : 0};
  if (!f.path || !rlx_array_push(&l->files, f)) {
    rlx_mem_free(f.path);
    return;
  }
  memcpy(f.path, path, n);
  l->bytes += f.bytes;
}

static void list_folder(listing *l, const char *folder, int depth) {
  DIR *d = opendir(folder);
  if (!d) return;
  for (struct dirent *e; l->files.n < MAX_FILES && (e = readdir(d));) {
    char path[RLX_CACHE_PATH_BYTES];
    struct stat st;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    const int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (n < 0 || (size_t)n >= sizeof path || lstat(path, &st) != 0) continue;
    if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH) list_folder(l, path, depth + 1);
    else if (S_ISREG(st.st_mode)) note(l, path, e->d_name, &st);
  }
  closedir(d);
}

static int oldest_first(const void *a, const void *b) {
  const found *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
  if (x->nanoseconds != y->nanoseconds) return x->nanoseconds < y->nanoseconds ? -1 : 1;
  return strcmp(x->path, y->path);
}

void rlx_cache_limit(const char *name, const char *ending, uint64_t limit_bytes) {
  char folder[RLX_CACHE_PATH_BYTES];
  listing l = {.ending = ending, .now = (int64_t)time(NULL)};
  if (!rlx_cache_path(name, folder, sizeof folder)) return;
  list_folder(&l, folder, 1);
  if (l.bytes > limit_bytes) qsort(l.files.v, l.files.n, sizeof *l.files.v, oldest_first);
  for (size_t i = 0; i < l.files.n; i++) {
    if (l.bytes > limit_bytes) {
      unlink(l.files.v[i].path); /* if it fails, another process was faster, or the folder is read-only */
      l.bytes -= l.files.v[i].bytes;
    }
    rlx_mem_free(l.files.v[i].path);
  }
  rlx_array_deinit(&l.files);
}
