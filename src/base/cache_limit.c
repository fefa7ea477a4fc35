/* A limit on what a folder of the cache takes.
 *
 * Files are removed whole, the least recently used first; rlx_cache_read keeps the time of last modification near the
 * time of last use. Another process may write, read or remove the same files meanwhile: a file that is gone is skipped,
 * one that is open stays readable, and one that was removed is made again by whoever needs it. Temporary files that a
 * process left when it ended are removed after a day. Links are neither followed nor removed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cache_file.h"
#include "base/os.h"
#include "base/os_file.h"

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

static void note(listing *l, const char *path, const char *name, const rlx_os_stat *st) {
  bool is_temporary;
  if (!is_ours(name, l->ending, &is_temporary)) return;
  if (is_temporary) {
    if (l->now - st->seconds > STALE_SECONDS) rlx_os_remove(path);
    return;
  }
  const size_t n = strlen(path) + 1;
  found f = {rlx_mem_alloc(n), st->seconds, st->nanoseconds, st->bytes > 0 ? (uint64_t)st->bytes : 0};
  if (!f.path || !rlx_array_push(&l->files, f)) {
    rlx_mem_free(f.path);
    return;
  }
  memcpy(f.path, path, n);
  l->bytes += f.bytes;
}

static void list_folder(listing *l, const char *folder, int depth) {
  rlx_os_listing *names = rlx_os_list_begin(folder);
  if (!names) return;
  for (const char *name; l->files.n < MAX_FILES && (name = rlx_os_list_next(names));) {
    char path[RLX_CACHE_PATH_BYTES];
    rlx_os_stat st;
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof path || !rlx_os_stat_link(path, &st)) continue;
    if (st.kind == RLX_OS_FOLDER && depth < MAX_DEPTH) list_folder(l, path, depth + 1);
    else if (st.kind == RLX_OS_REGULAR) note(l, path, name, &st);
  }
  rlx_os_list_end(names);
}

static int oldest_first(const void *a, const void *b) {
  const found *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? -1 : 1;
  if (x->nanoseconds != y->nanoseconds) return x->nanoseconds < y->nanoseconds ? -1 : 1;
  return strcmp(x->path, y->path);
}

void rlx_cache_limit(const char *name, const char *ending, uint64_t limit_bytes) {
  char folder[RLX_CACHE_PATH_BYTES];
  listing l = {.ending = ending, .now = rlx_os_time()};
  if (!rlx_cache_path(name, folder, sizeof folder)) return;
  list_folder(&l, folder, 1);
  if (l.bytes > limit_bytes) qsort(l.files.v, l.files.n, sizeof *l.files.v, oldest_first);
  for (size_t i = 0; i < l.files.n; i++) {
    if (l.bytes > limit_bytes) {
      rlx_os_remove(l.files.v[i].path); /* if it fails, another process was faster, or the folder is read-only */
      l.bytes -= l.files.v[i].bytes;
    }
    rlx_mem_free(l.files.v[i].path);
  }
  rlx_array_deinit(&l.files);
}
