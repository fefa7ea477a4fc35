/* The cache of programs: everything that a session keeps because it may be wanted again, under one budget in bytes.
 *
 * Compiled graphs, an executable's programs for sizes that it is not at now, an ONNX runner's paths and a language model's programs
 * have an entry each. When all of them together are over the budget, the one that was used longest ago and is in use by nobody
 * goes. What is in use is never touched: the budget is for what is kept, not a limit on what may run.
 *
 * One lock guards the entries and the lists of their owners, since an entry may be taken from an owner by whoever needs room, in
 * any thread. It is held for a moment only: what was taken is freed without it. */
#ifndef RLX_RUNTIME_CACHE_H
#define RLX_RUNTIME_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rlx_cached rlx_cached;
typedef struct rlx_cached_class {
  bool (*is_used)(const rlx_cached *c); /* beyond `users`; NULL: no. Under the lock */
  void (*take)(rlx_cached *c);          /* it leaves its owner's list. Under the lock */
  void (*free)(rlx_cached *c);          /* without the lock */
} rlx_cached_class;

/* A part of what is cached. */
struct rlx_cached {
  const rlx_cached_class *class;
  rlx_cached *older, *newer;
  uint64_t bytes;
  uint32_t users; /* above 0: it stays */
  bool is_in;
};

typedef struct rlx_cache {
  pthread_mutex_t lock;
  rlx_cached *oldest, *newest;
  uint64_t bytes, budget, n_evicted;
} rlx_cache;

/* Budget 0: the default, a 64th of the machine's free memory, 16 MiB at least and 256 MiB at most. */
rlx_status rlx_cache_init(rlx_cache *c, uint64_t budget);
void rlx_cache_deinit(rlx_cache *c); /* every owner has removed its own */

void rlx_cache_lock(rlx_cache *c);
void rlx_cache_unlock(rlx_cache *c);
/* Under the lock: adds an entry, used by the caller; says that it is used, now, by one more; by one less; that it has other bytes; and
 * takes it out, for its owner to free. */
void rlx_cache_add(rlx_cache *c, rlx_cached *e, const rlx_cached_class *class, uint64_t bytes);
void rlx_cache_use(rlx_cache *c, rlx_cached *e);
void rlx_cache_leave(rlx_cache *c, rlx_cached *e);
void rlx_cache_resize(rlx_cache *c, rlx_cached *e, uint64_t bytes);
void rlx_cache_remove(rlx_cache *c, rlx_cached *e);
/* Without the lock: frees what is over the budget. */
void rlx_cache_trim(rlx_cache *c);

#endif
