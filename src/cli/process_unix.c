/* Files, folders, terminals and clocks for the command, by what POSIX and WASI share. */
#define _XOPEN_SOURCE 700 /* strdup */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

void cli_begin(int *argc, char ***argv) { (void)argc, (void)argv; }

double cli_seconds(void) {
  struct timespec t = {0};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t cli_noise(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  return (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec * 31u + (uint64_t)getpid() * 2654435761u;
}

bool cli_is_terminal(int fd) { return isatty(fd) == 1; }

/* ---- Files ---------------------------------------------------------------------------------------------------- */

bool cli_look(const char *path, cli_stat *out) {
  struct stat st;
  if (stat(path, &st) != 0) return false;
  *out = (cli_stat){S_ISREG(st.st_mode), S_ISDIR(st.st_mode), (uint64_t)st.st_dev, (uint64_t)st.st_ino};
  return true;
}

int cli_open(const char *path, bool to_write) {
  return open(path, (to_write ? O_WRONLY : O_RDONLY | O_NONBLOCK) | O_CLOEXEC);
}

bool cli_open_is_regular(int fd) {
  struct stat st;
  return fstat(fd, &st) != 0 || S_ISREG(st.st_mode); /* what cannot be looked at fails when it is read */
}

ptrdiff_t cli_read(int fd, void *to, size_t bytes) {
  ssize_t n;
  do n = read(fd, to, bytes);
  while (n < 0 && errno == EINTR);
  return (ptrdiff_t)n;
}

ptrdiff_t cli_write(int fd, const void *data, size_t bytes) {
  ssize_t n;
  do n = write(fd, data, bytes);
  while (n < 0 && errno == EINTR);
  return (ptrdiff_t)n;
}

bool cli_close(int fd) { return close(fd) == 0; }

bool cli_is_separator(char c) { return c == '/'; }
char cli_in_name(char c) { return c == '/' ? '_' : c; }

/* ---- Folders -------------------------------------------------------------------------------------------------- */

bool cli_may_write(const char *folder) { return access(folder, W_OK | X_OK) == 0; }
bool cli_make_folder(const char *path) { return mkdir(path, 0777) == 0; }
void cli_remove_folder(const char *path) { (void)rmdir(path); }

/* Without memory the list is shorter. */
char **cli_list_folder(const char *path, size_t *n) {
  *n = 0;
  size_t cap = 64;
  char **names = malloc(cap * sizeof *names);
  DIR *d = names ? opendir(path) : NULL;
  if (!d) {
    free(names);
    return NULL;
  }
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    if (*n == cap) {
      char **more = realloc(names, 2 * cap * sizeof *names);
      if (!more) break;
      names = more;
      cap *= 2;
    }
    if (!(names[*n] = strdup(e->d_name))) break;
    ++*n;
  }
  closedir(d);
  return names;
}
