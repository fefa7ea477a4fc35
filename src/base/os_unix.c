/* What POSIX and WebAssembly share: the heap, the time, texts. */
#include "base/os.h"

#if defined(__linux__) || defined(__wasi__)
#include <malloc.h>
#endif
#include <fnmatch.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t rlx_os_time(void) { return (int64_t)time(NULL); }
unsigned long rlx_os_process_id(void) { return (unsigned long)getpid(); }

/* ---- memory ---- */

void *rlx_os_heap_alloc(size_t bytes, bool is_zeroed) { return is_zeroed ? calloc(bytes, 1) : malloc(bytes); }

void *rlx_os_heap_alloc_aligned(size_t bytes, size_t align) {
  void *p = NULL;
  return posix_memalign(&p, align, bytes) == 0 ? p : NULL;
}

void *rlx_os_heap_realloc(void *p, size_t bytes) { return realloc(p, bytes); }
void rlx_os_heap_free(void *p) { free(p); }

size_t rlx_os_heap_bytes(void *p) {
#if defined(__linux__) || defined(__wasi__)
  return malloc_usable_size(p);
#else
  (void)p;
  return 0;
#endif
}

/* ---- texts ---- */

/* The C locale, created once and kept until the process ends. Most C libraries have it as a static object. If it cannot
 * be created, the program's own locale stays in effect. */
static _Atomic(locale_t) c_locale;

void rlx_os_locale_begin(rlx_os_locale *l) {
  locale_t c = atomic_load_explicit(&c_locale, memory_order_acquire);
  l->was = NULL;
  if (!c) {
    locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!made) return;
    if (atomic_compare_exchange_strong(&c_locale, &c, made)) c = made;
    else if (made != c) freelocale(made);
  }
  l->was = (void *)uselocale(c);
}

void rlx_os_locale_end(rlx_os_locale *l) {
  if (l->was) (void)uselocale((locale_t)l->was);
}

void rlx_os_error_text(int error, char *out, size_t bytes) {
  if (strerror_r(error, out, bytes) != 0) snprintf(out, bytes, "error %d", error);
}

bool rlx_os_fits(const char *pattern, const char *text) { return fnmatch(pattern, text, 0) == 0; }
