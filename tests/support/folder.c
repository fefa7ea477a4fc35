/* A folder for the files of tests: see folder.h. */
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os_file.h"

static char folder[200];

const char *folder_name(void) { return folder; }

const char *folder_path(const char *name) {
  static char paths[4][512];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

/* The number of entries of a folder; with remove_them, those that it had. Folders in it are removed with theirs. */
static int visit(const char *path, bool remove_them) {
  int n = 0;
  rlx_os_listing *names = rlx_os_list_begin(path);
  for (const char *name; names && (name = rlx_os_list_next(names));) {
    char entry[512];
    n++;
    snprintf(entry, sizeof entry, "%.250s/%.250s", path, name);
    if (!remove_them || rlx_os_remove(entry)) continue;
    visit(entry, true);
    (void)rlx_os_remove_folder(entry);
  }
  if (names) rlx_os_list_end(names);
  return n;
}

int folder_count(void) { return visit(folder, false); }

static void remove_folder(void) {
  visit(folder, true);
  rmdir(folder);
}

/* Makes a folder of this name, with letters for the X at its end. */
static bool make_folder(void) {
#if defined(__wasi__) || defined(_WIN32) /* which have no mkdtemp */
  for (unsigned seed = (unsigned)time(NULL), i = 0; i < 1000; i++, seed++) {
    snprintf(folder + strlen(folder) - 6, 7, "%06x", (seed * 2654435761u + (unsigned)getpid()) >> 8);
    if (rlx_os_make_folder(folder)) return true;
  }
  return false;
#else
  return mkdtemp(folder) != NULL;
#endif
}

bool folder_begin(void) {
  if (!folder[0]) {
#if defined(_WIN32)
    const char *parent = getenv("TEMP");
#else
    const char *parent = getenv("TMPDIR");
#endif
    bool fits = parent && *parent && strlen(parent) < sizeof folder / 2;
    snprintf(folder, sizeof folder, "%s/rlx-test-XXXXXX", fits ? parent : "/tmp");
    if (!make_folder()) {
      folder[0] = '\0';
      return false;
    }
    atexit(remove_folder);
  }
  visit(folder, true);
  return folder_count() == 0;
}
