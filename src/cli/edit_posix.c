/* Lines by libedit's functions in the form of readline, found by dlopen: a program that never asks a person needs no
 * library for it, and building needs no header. The history lives as long as the process: what is typed into a chat is
 * not written to a file that nobody asked for. */
#include "cli/edit.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef struct editor {
  bool is_tried;
  char *(*readline)(const char *prompt);
  int (*add_history)(const char *line);
} editor;
static editor lib;

/* POSIX lets a function's address pass through void *, ISO C does not: hence the union. */
static bool find(void *library, const char *name, void *out, size_t bytes) {
  union {
    void *object;
    char bytes[sizeof(void *)];
  } address = {dlsym(library, name)};
  for (size_t i = 0; i < bytes && i < sizeof address; i++) ((char *)out)[i] = address.bytes[i];
  return address.object != NULL;
}

bool cli_edit_is_there(void) {
  static const char *const names[] = {"libedit.so.2", "libedit.so.0", "libedit.3.dylib"};
  if (lib.is_tried) return lib.readline != NULL;
  lib.is_tried = true;
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (!library) return false;
  editor found = {.is_tried = true};
  if (find(library, "readline", &found.readline, sizeof found.readline) &&
      find(library, "add_history", &found.add_history, sizeof found.add_history))
    lib = found;
  return lib.readline != NULL;
}

char *cli_edit_line(const char *prompt) {
  char *line = lib.readline(prompt);
  if (line && *line) lib.add_history(line);
  return line;
}
