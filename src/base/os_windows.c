/* Threads, locks, the heap and libraries by Windows (8 or later).
 *
 * A lock is an SRWLOCK, which needs no destroying; a recursive one notes its holder beside it. Blocks of the heap
 * have a small header, so that one function frees blocks of any alignment and knows their size. There is no fork,
 * and Ctrl-C arrives in a thread of its own, so there are no signals to hold. */
#include "base/os.h"

#include "base/os_windows.h"

#include <errno.h>
#include <locale.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND_NS = 1000000000, MILLISECOND_NS = 1000000 };

/* ---- mutexes, conditions ---- */

_Static_assert(sizeof(SRWLOCK) == sizeof(void *) && sizeof(CONDITION_VARIABLE) == sizeof(void *) &&
                 sizeof(INIT_ONCE) == sizeof(void *),
               "each is one pointer, and zero at first");

static SRWLOCK *lock_of(rlx_mutex *m) { return (SRWLOCK *)&m->lock; }

bool rlx_mutex_init(rlx_mutex *m) {
  *m = (rlx_mutex){0};
  return true;
}

bool rlx_mutex_init_recursive(rlx_mutex *m) {
  *m = (rlx_mutex){.is_recursive = true};
  return true;
}

void rlx_mutex_destroy(rlx_mutex *m) { (void)m; }

void rlx_mutex_lock(rlx_mutex *m) {
  if (!m->is_recursive) {
    AcquireSRWLockExclusive(lock_of(m));
    return;
  }
  const uint32_t self = (uint32_t)GetCurrentThreadId();
  if (__atomic_load_n(&m->holder, __ATOMIC_RELAXED) == self) { /* only this thread ever stores its own number */
    m->depth++;
    return;
  }
  AcquireSRWLockExclusive(lock_of(m));
  __atomic_store_n(&m->holder, self, __ATOMIC_RELAXED);
}

void rlx_mutex_unlock(rlx_mutex *m) {
  if (m->is_recursive && m->depth) {
    m->depth--;
    return;
  }
  if (m->is_recursive) __atomic_store_n(&m->holder, 0u, __ATOMIC_RELAXED);
  ReleaseSRWLockExclusive(lock_of(m));
}

bool rlx_cond_init(rlx_cond *c) {
  *c = (rlx_cond){0};
  return true;
}

static CONDITION_VARIABLE *variable_of(rlx_cond *c) { return (CONDITION_VARIABLE *)&c->variable; }

void rlx_cond_destroy(rlx_cond *c) { (void)c; }
void rlx_cond_wait(rlx_cond *c, rlx_mutex *m) {
  (void)SleepConditionVariableSRW(variable_of(c), lock_of(m), INFINITE, 0);
}
void rlx_cond_signal(rlx_cond *c) { WakeConditionVariable(variable_of(c)); }
void rlx_cond_broadcast(rlx_cond *c) { WakeAllConditionVariable(variable_of(c)); }

/* Whole milliseconds, and at least one. */
static DWORD milliseconds(uint64_t nanoseconds) {
  const uint64_t ms = nanoseconds / MILLISECOND_NS + (nanoseconds % MILLISECOND_NS != 0);
  return ms < INFINITE ? (DWORD)ms : INFINITE - 1;
}

bool rlx_cond_wait_for(rlx_cond *c, rlx_mutex *m, uint64_t nanoseconds) {
  return SleepConditionVariableSRW(variable_of(c), lock_of(m), milliseconds(nanoseconds), 0) ||
         GetLastError() != ERROR_TIMEOUT;
}

typedef struct once_call {
  void (*fn)(void);
} once_call;

static BOOL CALLBACK run_once(INIT_ONCE *once, void *argument, void **context) {
  (void)once, (void)context;
  ((once_call *)argument)->fn();
  return TRUE;
}

void rlx_once_run(rlx_once *o, void (*fn)(void)) {
  once_call call = {fn};
  InitOnceExecuteOnce((INIT_ONCE *)&o->once, run_once, &call, NULL);
}

/* ---- threads ---- */

typedef struct thread_call {
  void *(*fn)(void *);
  void *user;
} thread_call;

static unsigned __stdcall run_thread(void *argument) {
  const thread_call call = *(thread_call *)argument;
  free(argument);
  (void)call.fn(call.user);
  return 0;
}

int rlx_os_thread_start(rlx_os_thread *t, void *(*fn)(void *), void *user) {
  thread_call *call = malloc(sizeof *call);
  if (!call) return ENOMEM;
  *call = (thread_call){fn, user};
  const uintptr_t handle = _beginthreadex(NULL, 0, run_thread, call, 0, NULL);
  if (!handle) {
    const int error = errno;
    free(call);
    return error ? error : EAGAIN;
  }
  *t = (rlx_os_thread)handle;
  return 0;
}

void rlx_os_thread_join(rlx_os_thread t) {
  WaitForSingleObject(t, INFINITE);
  CloseHandle(t);
}

void rlx_os_thread_detach(rlx_os_thread t) { CloseHandle(t); }

uint32_t rlx_os_max_threads(void) { return UINT32_MAX; } /* starting one reports where it ends */

uint32_t rlx_os_cores(void) {
  const DWORD n = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
  return n ? (uint32_t)n : 1;
}

/* The masks are those of one group of at most 64 cores; a process that is kept from none of them may use other groups
 * as well. */
uint32_t rlx_os_own_cores(void) {
  DWORD_PTR own, all;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all) || own == all) return rlx_os_cores();
  return (uint32_t)__builtin_popcountll(own);
}

void rlx_os_sleep(uint64_t nanoseconds) {
  if (nanoseconds) Sleep(milliseconds(nanoseconds));
  else SwitchToThread();
}

uint64_t rlx_os_clock(void) {
  LARGE_INTEGER now, rate;
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&rate);
  const uint64_t ticks = (uint64_t)now.QuadPart, each = (uint64_t)rate.QuadPart;
  return ticks / each * SECOND_NS + ticks % each * SECOND_NS / each;
}

int64_t rlx_os_time(void) {
  FILETIME t;
  GetSystemTimeAsFileTime(&t);
  const uint64_t units = (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime; /* of 100 ns since 1601 */
  return (int64_t)(units / 10000000u) - INT64_C(11644473600);
}

unsigned long rlx_os_process_id(void) { return GetCurrentProcessId(); }

/* ---- memory ---- */

/* Before each block. */
typedef struct heap_head {
  void *base; /* of the allocation */
  size_t bytes;
} heap_head;
enum { HEAD_BYTES = 16 };
_Static_assert(sizeof(heap_head) <= HEAD_BYTES, "blocks stay aligned to 16 bytes");

static heap_head *head_of(void *p) { return (heap_head *)((char *)p - HEAD_BYTES); }

static void *put_head(void *base, void *p, size_t bytes) {
  *head_of(p) = (heap_head){base, bytes};
  return p;
}

void *rlx_os_heap_alloc(size_t bytes, bool is_zeroed) {
  if (bytes > PTRDIFF_MAX - HEAD_BYTES) return NULL;
  char *base = is_zeroed ? calloc(1, bytes + HEAD_BYTES) : malloc(bytes + HEAD_BYTES);
  return base ? put_head(base, base + HEAD_BYTES, bytes) : NULL;
}

void *rlx_os_heap_alloc_aligned(size_t bytes, size_t align) {
  if (align <= HEAD_BYTES) return rlx_os_heap_alloc(bytes, false);
  if (bytes > PTRDIFF_MAX - align - HEAD_BYTES) return NULL;
  char *base = malloc(bytes + align + HEAD_BYTES);
  if (!base) return NULL;
  const uintptr_t at = ((uintptr_t)base + HEAD_BYTES + align - 1) & ~(uintptr_t)(align - 1);
  return put_head(base, base + (at - (uintptr_t)base), bytes);
}

void *rlx_os_heap_realloc(void *p, size_t bytes) {
  const heap_head head = *head_of(p);
  if (bytes > PTRDIFF_MAX - HEAD_BYTES) return NULL;
  if ((char *)p - (char *)head.base == HEAD_BYTES) {
    char *base = realloc(head.base, bytes + HEAD_BYTES);
    return base ? put_head(base, base + HEAD_BYTES, bytes) : NULL;
  }
  void *grown = rlx_os_heap_alloc(bytes, false); /* it was aligned */
  if (!grown) return NULL;
  memcpy(grown, p, bytes < head.bytes ? bytes : head.bytes);
  free(head.base);
  return grown;
}

void rlx_os_heap_free(void *p) {
  if (p) free(head_of(p)->base);
}

size_t rlx_os_heap_bytes(void *p) { return p ? head_of(p)->bytes + HEAD_BYTES : 0; }

/* Large pages need a privilege that users do not have. */
void rlx_os_use_large_pages(void *p, size_t bytes) { (void)p, (void)bytes; }

void rlx_os_discard(void *p, size_t bytes) {
  enum { PAGE = 4096 };
  const size_t before = (size_t)(-(uintptr_t)p & (PAGE - 1));
  if (before < bytes && bytes - before >= PAGE)
    (void)VirtualAlloc((char *)p + before, (bytes - before) / PAGE * PAGE, MEM_RESET, PAGE_READWRITE);
}

/* ---- processes ---- */

void rlx_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)before, (void)parent, (void)child;
}

bool rlx_os_signals_hold(rlx_os_signals *before) {
  (void)before;
  return false;
}

void rlx_os_signals_release(const rlx_os_signals *before) { (void)before; }

uint64_t rlx_os_address_space(void) { return UINT64_MAX; }
uint64_t rlx_os_address_space_used(void) { return UINT64_MAX; }

uint64_t rlx_os_memory_bytes(void) {
  MEMORYSTATUSEX m = {.dwLength = sizeof m};
  return GlobalMemoryStatusEx(&m) ? (uint64_t)m.ullTotalPhys : 0;
}

/* Of the machine, and of what the system may promise with its page files. */
uint64_t rlx_os_free_bytes(void) {
  MEMORYSTATUSEX m = {.dwLength = sizeof m};
  if (!GlobalMemoryStatusEx(&m)) return 0;
  const uint64_t left = m.ullAvailPhys < m.ullAvailPageFile ? m.ullAvailPhys : m.ullAvailPageFile;
  return left ? left : 1;
}

/* ---- libraries ---- */

/* Keeps the DLL with this function loaded; no effect in the program itself. */
static void stay_loaded(void) {
  static const char inside;
  HMODULE self;
  (void)GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                           (const wchar_t *)(const void *)&inside, &self);
}

/* A name without a folder is looked for in the program's folder, the system's and those of PATH, never in the current
 * one. No box is shown where a DLL is broken. */
void *rlx_os_library_open(const char *name) {
  const bool is_path = strchr(name, '/') || strchr(name, '\\');
  wchar_t plain[128], *path = is_path ? os_windows_path(name) : NULL;
  if (is_path ? !path : !MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, plain, 128)) return NULL;
  DWORD mode;
  const bool is_quiet = SetThreadErrorMode(SEM_FAILCRITICALERRORS, &mode) != 0;
  HMODULE library = NULL;
  if (path) library = LoadLibraryExW(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
  else {
    wchar_t found[MAX_PATH];
    library = LoadLibraryExW(plain, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    const DWORD n = library ? 0 : GetEnvironmentVariableW(L"PATH", NULL, 0);
    wchar_t *folders = n ? malloc(n * sizeof *folders) : NULL;
    if (folders && GetEnvironmentVariableW(L"PATH", folders, n) &&
        SearchPathW(folders, plain, NULL, MAX_PATH, found, NULL))
      library = LoadLibraryExW(found, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    free(folders);
  }
  if (is_quiet) SetThreadErrorMode(mode, NULL);
  free(path);
  if (library) stay_loaded();
  return (void *)library;
}

void *rlx_os_library_find(void *library, const char *name) {
  FARPROC f = GetProcAddress((HMODULE)library, name);
  void *p;
  memcpy(&p, &f, sizeof p);
  return p;
}

/* ---- texts ---- */

/* The C library here has one locale for the program, or one for each thread that asks for it. */
void rlx_os_locale_begin(rlx_os_locale *l) {
  const char *name = setlocale(LC_NUMERIC, NULL);
  l->was = NULL;
  if (!name || strcmp(name, "C") == 0 || strlen(name) >= sizeof l->name) return;
  memcpy(l->name, name, strlen(name) + 1);
  l->mode = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
  l->was = l->name;
  (void)setlocale(LC_NUMERIC, "C");
}

void rlx_os_locale_end(rlx_os_locale *l) {
  if (!l->was) return;
  (void)setlocale(LC_NUMERIC, l->name);
  (void)_configthreadlocale(l->mode);
}

void rlx_os_error_text(int error, char *out, size_t bytes) {
  if (strerror_s(out, bytes, error) != 0) snprintf(out, bytes, "error %d", error);
}

/* A set such as [a-z0] or [!x], which begins after its bracket. Returns what follows it; NULL: it has no end. */
static const char *fits_set(const char *set, char c, bool *fits) {
  const bool is_negated = *set == '!' || *set == '^';
  bool has = false;
  set += is_negated;
  for (const char *first = set; *set && (*set != ']' || set == first);) {
    const unsigned char low = (unsigned char)set[0];
    const bool is_range = set[1] == '-' && set[2] && set[2] != ']';
    const unsigned char high = is_range ? (unsigned char)set[2] : low;
    has |= low <= (unsigned char)c && (unsigned char)c <= high;
    set += is_range ? 3 : 1;
  }
  *fits = has != is_negated;
  return *set ? set + 1 : NULL;
}

bool rlx_os_fits(const char *pattern, const char *text) {
  for (; *pattern; pattern++, text++) {
    if (*pattern == '*') {
      for (;; text++)
        if (rlx_os_fits(pattern + 1, text)) return true;
        else if (!*text) return false;
    }
    if (!*text) return false;
    bool fits;
    const char *after = *pattern == '[' ? fits_set(pattern + 1, *text, &fits) : NULL;
    if (after) {
      if (!fits) return false;
      pattern = after - 1;
      continue;
    }
    if (*pattern == '\\' && pattern[1]) pattern++;
    else if (*pattern == '?') continue;
    if (*pattern != *text) return false;
  }
  return !*text;
}
