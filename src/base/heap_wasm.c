/* One lock around the heap, for modules with shared memory.
 *
 * The C library of WASI is compiled for one thread. The linker sends every call of the functions below here, also those
 * of the other libraries and of the C library itself (--wrap, in CMakeLists.txt). Without shared memory the file is
 * empty. */
#include "base/os.h"

#if defined(__wasm_atomics__)
static rlx_mutex lock = RLX_MUTEX_INIT;

#define WRAP(result, name, parameters, arguments) \
  result __real_##name parameters;                \
  result __wrap_##name parameters;                \
  result __wrap_##name parameters {               \
    rlx_mutex_lock(&lock);                        \
    result r = __real_##name arguments;           \
    rlx_mutex_unlock(&lock);                      \
    return r;                                     \
  }

WRAP(void *, malloc, (size_t bytes), (bytes))
WRAP(void *, calloc, (size_t n, size_t bytes), (n, bytes))
WRAP(void *, realloc, (void *p, size_t bytes), (p, bytes))
WRAP(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes))
WRAP(int, posix_memalign, (void **p, size_t align, size_t bytes), (p, align, bytes))

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p) {
  rlx_mutex_lock(&lock);
  __real_free(p);
  rlx_mutex_unlock(&lock);
}
#else
typedef int heap_has_one_thread; /* a file must not be empty */
#endif
