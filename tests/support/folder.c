/* A folder for the files of tests: see folder.h. */
#include "folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d));) {
    char entry[512];
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    n++;
    snprintf(entry, sizeof entry, "%.250s/%.250s", path, e->d_name);
    if (remove_them && remove(entry) != 0) {
      visit(entry, true);
      (void)remove(entry);
    }
  }
  if (d) closedir(d);
  return n;
}

int folder_count(void) { return visit(folder, false); }

static void remove_folder(void) {
  visit(folder, true);
  rmdir(folder);
}

/* Makes a folder of this name, with letters for the X at its end. */
static bool make_folder(void) {
#if defined(__wasi__) /* which has no mkdtemp */
  for (unsigned seed = (unsigned)time(NULL), i = 0; i < 1000; i++, seed++) {
    snprintf(folder + strlen(folder) - 6, 7, "%06x", seed * 2654435761u >> 8);
    if (mkdir(folder, 0700) == 0) return true;
  }
  return false;
#else
  return mkdtemp(folder) != NULL;
#endif
}

bool folder_begin(void) {
  if (!folder[0]) {
    const char *parent = getenv("TMPDIR");
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
