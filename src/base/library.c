/* dlopen and dlsym. */
#define _GNU_SOURCE /* dladdr */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

/* Keeps the shared object with this function loaded; no effect in the program itself. */
static void stay_loaded(void) {
  static const char inside;
  Dl_info self;
  if (!dladdr(&inside, &self) || !self.dli_fname) return;
  void *handle = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle) dlclose(handle);
}

void *rlx_library_open(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library) stay_loaded();
  return library;
}

void *rlx_library_open_first(const char *const *names, size_t n) {
  void *library = NULL;
  for (size_t i = 0; i < n && !library; i++) library = rlx_library_open(names[i]);
  return library;
}

/* memcpy, because ISO C has no cast for what dlsym returns. */
bool rlx_library_find(void *library, const char *name, void *function) {
  void *p = dlsym(library, name);
  memcpy(function, &p, sizeof p);
  return p != NULL;
}
