/* Shared libraries that are found at run time: drivers of GPUs. Not all of them survive being unloaded, so one that was
 * opened stays, and a shared librlx that has opened one stays loaded as well, also after dlclose. */
#ifndef RLX_BASE_LIBRARY_H
#define RLX_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* NULL: there is none of this name, or it cannot be loaded. */
void *rlx_library_open(const char *name);
/* The first of n names that can be loaded. */
void *rlx_library_open_first(const char *const *names, size_t n);
/* Stores the function of this name in *function, a pointer to a function pointer; NULL and false if it is missing. */
bool rlx_library_find(void *library, const char *name, void *function);

#endif
