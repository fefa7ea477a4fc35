/* Checks output paths before the work whose result would be lost: the folder exists and is writable, no folder or
 * device has the name, and it is none of the files that are read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- Folders ------------------------------------------------------------------------------------------------- */

static int check_can_write(const char *option, const char *out, const char *folder) {
  cli_stat st;
  if (!cli_look(folder, &st)) return cli_fail("%s %s: cannot use '%s': %s", option, out, folder, strerror(errno));
  if (!st.is_folder) return cli_fail("%s %s: expected a folder, but '%s' is none", option, out, folder);
  return cli_may_write(folder) ? CLI_DONE
                               : cli_fail("%s %s: cannot write '%s': %s", option, out, folder, strerror(errno));
}

/* The parent folder of a path. Free with free. */
static char *parent_of(const char *path) {
  size_t n = strlen(path);
  while (n > 1 && cli_is_separator(path[n - 1])) n--;
  while (n > 0 && !cli_is_separator(path[n - 1])) n--;
  char *parent = malloc(n + 2);
  if (!parent) return NULL;
  memcpy(parent, n ? path : ".", n ? n : 1);
  parent[n ? n : 1] = '\0';
  return parent;
}

static int check_parent(const char *option, const char *path) {
  char *parent = parent_of(path);
  int code = parent ? check_can_write(option, path, parent) : cli_fail("out of memory");
  free(parent);
  return code;
}

int cli_folder_check(const char *option, const char *folder) {
  cli_stat st;
  if (!*folder || cli_look(folder, &st) || errno != ENOENT) return check_can_write(option, folder, folder);
  return check_parent(option, folder);
}

/* ---- Files --------------------------------------------------------------------------------------------------- */

static bool is_same(const cli_stat *st, const char *path) {
  cli_stat other;
  return path && cli_look(path, &other) && st->device == other.device && st->inode == other.inode;
}

/* The file among those read that it is, or NULL. */
static const char *find_read(const cli_stat *st, const cli_reads *reads) {
  if (!reads) return NULL;
  if (is_same(st, reads->path)) return reads->path;
  for (size_t i = 0; reads->inputs && i < reads->inputs->n; i++)
    if (is_same(st, reads->inputs->v[i].value)) return reads->inputs->v[i].value;
  return NULL;
}

int cli_target_check_file(const char *where, const char *path, const cli_reads *reads, bool may_be_special) {
  cli_stat st;
  if (!cli_look(path, &st))
    return errno == ENOENT ? CLI_DONE : cli_fail("%s: cannot write '%s': %s", where, path, strerror(errno));
  if (st.is_folder) return cli_fail("%s: cannot write '%s': it is a directory", where, path);
  if (!st.is_regular && !may_be_special) return cli_fail("%s: cannot write '%s': expected a regular file", where, path);
  const char *read = find_read(&st, reads);
  return read ? cli_fail("%s: '%s' is '%s', which is read; expected another file", where, path, read) : CLI_DONE;
}

int cli_target_check(const char *option, const char *path, const cli_reads *reads, bool may_be_special) {
  if (!*path) return cli_fail("%s: expected the name of a file, got ''", option);
  if (cli_target_check_file(option, path, reads, may_be_special)) return CLI_FAILED;
  cli_stat st;
  return may_be_special && cli_look(path, &st) ? CLI_DONE : check_parent(option, path);
}
