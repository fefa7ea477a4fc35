/* What the system has for it (os.h), with types. */
#include "base/library.h"

#include <string.h>

#include "base/os.h"

void *rlx_library_open(const char *name) { return rlx_os_library_open(name); }

void *rlx_library_open_first(const char *const *names, size_t n) {
  void *library = NULL;
  for (size_t i = 0; i < n && !library; i++) library = rlx_library_open(names[i]);
  return library;
}

/* memcpy, because ISO C has no cast from an object's pointer to a function's. */
bool rlx_library_find(void *library, const char *name, void *function) {
  void *p = rlx_os_library_find(library, name);
  memcpy(function, &p, sizeof p);
  return p != NULL;
}
