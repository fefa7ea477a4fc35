/* What the system must provide beyond the C library: mutexes, conditions, threads, fork, signals, cores, the heap,
 * libraries that are found at run time. Files are in os_file.h.
 *
 * os_posix.c has it for POSIX systems, os_windows.c for Windows, os_wasm.c for WebAssembly, where threads are workers
 * that JavaScript started beforehand, or absent; os_unix.c has what POSIX and WebAssembly share. No other file of the
 * library includes a header of the system (tools/check_layers). */
#ifndef RLX_BASE_OS_H
#define RLX_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__wasm__)
typedef struct rlx_mutex {
  int32_t state; /* 0: free, 1: held, 2: held and somebody waits */
  int32_t depth; /* of a recursive one: how often its holder has it */
  const void *holder;
  bool is_recursive;
} rlx_mutex;
typedef struct rlx_cond {
  int32_t signals; /* how often it was signalled */
} rlx_cond;
typedef struct rlx_once {
  int32_t state; /* 0: not begun, 1: somebody runs it, 2: done */
} rlx_once;
typedef int32_t rlx_os_thread; /* index of a worker */
#define RLX_MUTEX_INIT \
  { 0 }
#define RLX_ONCE_INIT \
  { 0 }
#elif defined(_WIN32)
typedef struct rlx_mutex {
  void *lock; /* an SRWLOCK */
  bool is_recursive;
  uint32_t holder, depth; /* of a recursive one: its thread, and how often that has it beyond the first time */
} rlx_mutex;
typedef struct rlx_cond {
  void *variable; /* a CONDITION_VARIABLE */
} rlx_cond;
typedef struct rlx_once {
  void *once; /* an INIT_ONCE */
} rlx_once;
typedef void *rlx_os_thread; /* its handle */
#define RLX_MUTEX_INIT \
  { 0 }
#define RLX_ONCE_INIT \
  { 0 }
#else
#include <pthread.h>
typedef pthread_mutex_t rlx_mutex;
typedef pthread_cond_t rlx_cond;
typedef pthread_once_t rlx_once;
typedef pthread_t rlx_os_thread;
#define RLX_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define RLX_ONCE_INIT PTHREAD_ONCE_INIT
#endif

/* ---- mutexes, conditions ---- */

bool rlx_mutex_init(rlx_mutex *m); /* false: the system refused it */
bool rlx_mutex_init_recursive(rlx_mutex *m);
void rlx_mutex_destroy(rlx_mutex *m);
void rlx_mutex_lock(rlx_mutex *m);
void rlx_mutex_unlock(rlx_mutex *m);

bool rlx_cond_init(rlx_cond *c);
void rlx_cond_destroy(rlx_cond *c);
void rlx_cond_wait(rlx_cond *c, rlx_mutex *m);
/* False: the time is over and nobody signalled. */
bool rlx_cond_wait_for(rlx_cond *c, rlx_mutex *m, uint64_t nanoseconds);
void rlx_cond_signal(rlx_cond *c);
void rlx_cond_broadcast(rlx_cond *c);

void rlx_once_run(rlx_once *o, void (*fn)(void));

/* ---- threads ---- */

/* The thread starts with all signals blocked: they are for the program's own threads. Returns 0 or the system's error
 * number. */
int rlx_os_thread_start(rlx_os_thread *t, void *(*fn)(void *), void *user);
void rlx_os_thread_join(rlx_os_thread t);
void rlx_os_thread_detach(rlx_os_thread t);

uint32_t rlx_os_max_threads(void); /* that can be started, with the caller's */
uint32_t rlx_os_cores(void);       /* of the machine; at least 1 */
uint32_t rlx_os_own_cores(void);   /* that this process may use; at least 1 */
void rlx_os_sleep(uint64_t nanoseconds);
uint64_t rlx_os_clock(void); /* nanoseconds, monotonic */
int64_t rlx_os_time(void);   /* seconds since 1970 */

/* ---- memory ---- */

/* The heap, with alignments of any power of two. All its blocks are freed by rlx_os_heap_free. */
void *rlx_os_heap_alloc(size_t bytes, bool is_zeroed);
void *rlx_os_heap_alloc_aligned(size_t bytes, size_t align); /* a power of two, at least that of a pointer */
void *rlx_os_heap_realloc(void *p, size_t bytes);            /* a block of rlx_os_heap_alloc */
void rlx_os_heap_free(void *p);
size_t rlx_os_heap_bytes(void *p); /* what the block really takes; 0: unknown */

#define RLX_OS_LARGE_PAGE ((size_t)1 << (sizeof(void *) == 8 ? 21 : 30)) /* of a 64-bit machine; elsewhere never */
void rlx_os_use_large_pages(void *p, size_t bytes);                      /* a hint */
void rlx_os_discard(void *p, size_t bytes); /* whole pages go back to the system, and their content is lost */

/* ---- processes ---- */

/* Calls `before` in a process that forks, then `parent` and `child`; any may be NULL. Where nothing forks it does
 * nothing. */
void rlx_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void));
/* Blocks the signals of the calling thread, but for those of a fault, until release. False: they could not be. */
typedef struct rlx_os_signals {
  uint64_t words[16];
} rlx_os_signals;
bool rlx_os_signals_hold(rlx_os_signals *before);
void rlx_os_signals_release(const rlx_os_signals *before);
uint64_t rlx_os_address_space(void);      /* bytes that this process may address; UINT64_MAX: no limit */
uint64_t rlx_os_address_space_used(void); /* of those; UINT64_MAX: unknown */
uint64_t rlx_os_memory_bytes(void);       /* of the machine; 0: unknown */
/* What could be allocated now, where one call reports it. UINT64_MAX: none does (machine.c reads Linux's files); 0:
 * unknown. */
uint64_t rlx_os_free_bytes(void);
unsigned long rlx_os_process_id(void);

/* ---- libraries that are found at run time: base/library.h ---- */

void *rlx_os_library_open(const char *name);
void *rlx_os_library_find(void *library, const char *name); /* a function */

/* ---- texts ---- */

/* The locale of this thread becomes C for numbers, until the end; other threads keep theirs. */
typedef struct rlx_os_locale {
  void *was;
  int mode;
  char name[64];
} rlx_os_locale;
void rlx_os_locale_begin(rlx_os_locale *l);
void rlx_os_locale_end(rlx_os_locale *l);
/* The system's words for an errno value. */
void rlx_os_error_text(int error, char *out, size_t bytes);
/* Whether a pattern with *, ? and [sets] fits the whole text. */
bool rlx_os_fits(const char *pattern, const char *text);

#endif
