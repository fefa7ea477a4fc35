/* The system's part for WebAssembly, over WASI.
 *
 * Without shared memory there is one thread: locks are counters, and starting a thread is refused. With it
 * (-matomics), threads are workers that JavaScript starts beforehand, because a worker cannot be started while the
 * caller waits. Each has an instance of the module on the same memory and calls rlx_os_worker, which waits for a
 * function to run. Waiting is the memory's own wait and notify.
 *
 * The C library here is not made for threads. That suffices: the library's own threads compute, and the little that
 * they allocate goes through the lock of heap_wasm.c. They neither print nor read files. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/os_file.h"

enum { PAGE_BYTES = 65536 };

/* ---- waiting ---- */

#if defined(__wasm_atomics__)
/* False: the time is over. nanoseconds < 0: for ever. */
static bool wait_while(int32_t *at, int32_t value, int64_t nanoseconds) {
  return __builtin_wasm_memory_atomic_wait32(at, value, nanoseconds) != 2;
}
static void wake(int32_t *at, uint32_t count) { (void)__builtin_wasm_memory_atomic_notify(at, count); }
#else
/* Nobody else could change the value. */
static bool wait_while(int32_t *at, int32_t value, int64_t nanoseconds) {
  (void)at, (void)value;
  if (nanoseconds < 0) __builtin_trap(); /* a deadlock */
  return false;
}
static void wake(int32_t *at, uint32_t count) { (void)at, (void)count; }
#endif

static int32_t load(const int32_t *at) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
static void store(int32_t *at, int32_t value) { __atomic_store_n(at, value, __ATOMIC_SEQ_CST); }
/* Not the instruction for it: with that, tests/base/test_pool.c hangs in most runs under the quick compiler of Node 20
 * (--liftoff-only), and never under its other one. */
static int32_t swap(int32_t *at, int32_t value) {
  int32_t seen = load(at);
  while (!__atomic_compare_exchange_n(at, &seen, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
  return seen;
}
static bool change(int32_t *at, int32_t from, int32_t to) {
  return __atomic_compare_exchange_n(at, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* ---- mutexes, conditions ---- */

static _Thread_local char self; /* its address is the thread's identity */

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
  if (m->is_recursive && __atomic_load_n(&m->holder, __ATOMIC_SEQ_CST) == &self) {
    m->depth++;
    return;
  }
  if (!change(&m->state, 0, 1))
    while (swap(&m->state, 2) != 0) wait_while(&m->state, 2, -1);
  if (m->is_recursive) __atomic_store_n(&m->holder, &self, __ATOMIC_SEQ_CST);
}

void rlx_mutex_unlock(rlx_mutex *m) {
  if (m->depth) {
    m->depth--;
    return;
  }
  if (m->is_recursive) __atomic_store_n(&m->holder, NULL, __ATOMIC_SEQ_CST);
  if (swap(&m->state, 0) == 2) wake(&m->state, 1);
}

bool rlx_cond_init(rlx_cond *c) {
  *c = (rlx_cond){0};
  return true;
}

void rlx_cond_destroy(rlx_cond *c) { (void)c; }

static bool wait_for_signal(rlx_cond *c, rlx_mutex *m, int64_t nanoseconds) {
  const int32_t seen = load(&c->signals);
  rlx_mutex_unlock(m);
  const bool ok = wait_while(&c->signals, seen, nanoseconds);
  rlx_mutex_lock(m);
  return ok;
}

void rlx_cond_wait(rlx_cond *c, rlx_mutex *m) { (void)wait_for_signal(c, m, -1); }

bool rlx_cond_wait_for(rlx_cond *c, rlx_mutex *m, uint64_t nanoseconds) {
  return wait_for_signal(c, m, nanoseconds > INT64_MAX ? INT64_MAX : (int64_t)nanoseconds);
}

void rlx_cond_signal(rlx_cond *c) {
  __atomic_fetch_add(&c->signals, 1, __ATOMIC_SEQ_CST);
  wake(&c->signals, 1);
}

void rlx_cond_broadcast(rlx_cond *c) {
  __atomic_fetch_add(&c->signals, 1, __ATOMIC_SEQ_CST);
  wake(&c->signals, UINT32_MAX);
}

void rlx_once_run(rlx_once *o, void (*fn)(void)) {
  if (load(&o->state) == 2) return;
  if (change(&o->state, 0, 1)) {
    fn();
    store(&o->state, 2);
    wake(&o->state, UINT32_MAX);
  }
  while (load(&o->state) == 1) wait_while(&o->state, 1, -1);
}

/* ---- threads ---- */

#if defined(__wasm_atomics__)
enum { MAX_WORKERS = 64, STACK_BYTES = 1 << 18 };
enum { ABSENT, IDLE, TAKEN, RUNS, ENDED, DETACHED }; /* state of a worker; TAKEN: has no function yet */

static struct {
  int32_t state;
  void *(*fn)(void *);
  void *user;
} workers[MAX_WORKERS];

static bool is_worker(int32_t index) { return index >= 0 && index < MAX_WORKERS; }

/* Memory of a worker, which it keeps: its stack, which grows down from here, and from here on its thread-local
 * variables. NULL: there is none. */
__attribute__((export_name("rlx_os_worker_memory"))) void *rlx_os_worker_memory(void) {
  const size_t tls_align = __builtin_wasm_tls_align(), align = tls_align > 16 ? tls_align : 16;
  char *p = malloc(STACK_BYTES + align + __builtin_wasm_tls_size());
  if (!p) return NULL;
  return p + STACK_BYTES + (align - (uintptr_t)p % align) % align;
}

/* The worker with this number has its instance, and its memory, and is about to call rlx_os_worker. */
__attribute__((export_name("rlx_os_worker_add"))) void rlx_os_worker_add(int32_t index) {
  if (is_worker(index)) (void)change(&workers[index].state, ABSENT, IDLE);
}

/* What a worker's instance runs; returns only if there is no such worker. */
__attribute__((export_name("rlx_os_worker"))) void rlx_os_worker(int32_t index) {
  if (!is_worker(index)) return;
  int32_t *at = &workers[index].state;
  for (int32_t state;;) {
    while ((state = load(at)) != RUNS && state != DETACHED) wait_while(at, state, -1);
    (void)workers[index].fn(workers[index].user);
    if (!change(at, RUNS, ENDED)) store(at, IDLE); /* it was detached */
    wake(at, UINT32_MAX);
  }
}

/* Of workers that wait for work. */
__attribute__((export_name("rlx_os_workers_idle"))) int32_t rlx_os_workers_idle(void) {
  int32_t n = 0;
  for (int32_t i = 0; i < MAX_WORKERS; i++) n += load(&workers[i].state) == IDLE;
  return n;
}

int rlx_os_thread_start(rlx_os_thread *t, void *(*fn)(void *), void *user) {
  for (int32_t i = 0; i < MAX_WORKERS; i++) {
    if (!change(&workers[i].state, IDLE, TAKEN)) continue;
    workers[i].fn = fn;
    workers[i].user = user;
    store(&workers[i].state, RUNS);
    wake(&workers[i].state, UINT32_MAX);
    *t = i;
    return 0;
  }
  return EAGAIN;
}

void rlx_os_thread_join(rlx_os_thread t) {
  for (int32_t state; (state = load(&workers[t].state)) != ENDED;) wait_while(&workers[t].state, state, -1);
  store(&workers[t].state, IDLE);
}

void rlx_os_thread_detach(rlx_os_thread t) {
  if (!change(&workers[t].state, RUNS, DETACHED)) store(&workers[t].state, IDLE);
}

uint32_t rlx_os_cores(void) {
  uint32_t n = 1;
  for (int32_t i = 0; i < MAX_WORKERS; i++) n += load(&workers[i].state) != ABSENT;
  return n;
}

/* What other pools have taken cannot be started. */
uint32_t rlx_os_max_threads(void) { return (uint32_t)rlx_os_workers_idle() + 1; }
#else
int rlx_os_thread_start(rlx_os_thread *t, void *(*fn)(void *), void *user) {
  (void)t, (void)fn, (void)user;
  return EAGAIN;
}

void rlx_os_thread_join(rlx_os_thread t) { (void)t; }
void rlx_os_thread_detach(rlx_os_thread t) { (void)t; }
uint32_t rlx_os_cores(void) { return 1; }
uint32_t rlx_os_max_threads(void) { return 1; }
#endif

uint32_t rlx_os_own_cores(void) { return rlx_os_cores(); }

void rlx_os_sleep(uint64_t nanoseconds) {
  nanosleep(
    &(struct timespec){.tv_sec = (time_t)(nanoseconds / 1000000000u), .tv_nsec = (long)(nanoseconds % 1000000000u)},
    NULL);
}

uint64_t rlx_os_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- memory: its pages are the module's for ever ---- */

void rlx_os_use_large_pages(void *p, size_t bytes) { (void)p, (void)bytes; }
void rlx_os_discard(void *p, size_t bytes) { (void)p, (void)bytes; }

/* ---- processes ---- */

void rlx_os_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  (void)before, (void)parent, (void)child;
}

bool rlx_os_signals_hold(rlx_os_signals *before) {
  (void)before;
  return false;
}

void rlx_os_signals_release(const rlx_os_signals *before) { (void)before; }

/* The memory and what it can grow to; what is free inside it counts as used. */
uint64_t rlx_os_address_space(void) { return (uint64_t)(sizeof(void *) == 4 ? 65536 : 262144) * PAGE_BYTES; }
uint64_t rlx_os_address_space_used(void) { return (uint64_t)__builtin_wasm_memory_size(0) * PAGE_BYTES; }

/* The address space is all there is. */
uint64_t rlx_os_memory_bytes(void) { return (uint64_t)1 << 32; }
uint64_t rlx_os_free_bytes(void) {
  return rlx_os_memory_bytes() - (uint64_t)__builtin_wasm_memory_size(0) * PAGE_BYTES;
}

/* ---- files ---- */

/* Whether the first n bytes of the path name a link. */
static bool is_link(const char *path, size_t n) {
  char part[1024];
  struct stat st;
  if (n >= sizeof part) return true;
  memcpy(part, path, n);
  part[n] = '\0';
  return lstat(part, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Paths begin at the folder that the program was given, which WASI does not let them leave. What a link leads to WASI
 * does not tell, so a path with one has no real path. */
char *rlx_os_real_path(const char *path) {
  char *out = malloc(strlen(path) + 2);
  struct stat st;
  size_t n = 0;
  if (!out) return NULL;
  for (const char *at = path; *at;) {
    const size_t part = strcspn(at, "/");
    if (part == 2 && memcmp(at, "..", 2) == 0)
      while (n && out[--n] != '/') {}
    else if (part && !(part == 1 && *at == '.')) {
      out[n++] = '/';
      memcpy(out + n, at, part);
      n += part;
    }
    at += part;
    if (is_link(path, (size_t)(at - path))) break;
    at += *at == '/';
    if (*at) continue;
    out[n] = '\0';
    if (n == 0) memcpy(out, "/", 2);
    if (stat(path, &st) == 0) return out;
  }
  free(out);
  errno = ENOENT;
  return NULL;
}

int rlx_os_open_temporary(char *path) {
  static uint32_t number;
  const size_t n = strlen(path);
  for (int attempt = 0; attempt < 100 && n >= 6; attempt++, number++) {
    for (size_t i = 0, x = number ^ (uint32_t)rlx_os_clock(); i < 6; i++, x /= 26)
      path[n - 6 + i] = (char)('a' + x % 26);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  errno = EEXIST;
  return -1;
}

bool rlx_os_set_mode(int fd, unsigned mode) { /* WASI has no permissions */
  (void)fd, (void)mode;
  return true;
}

/* ---- libraries that are found at run time: there are none ---- */

void *rlx_os_library_open(const char *name) {
  (void)name;
  return NULL;
}

void *rlx_os_library_find(void *library, const char *name) {
  (void)library, (void)name;
  return NULL;
}
