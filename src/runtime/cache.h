/* LRU cache of programs: everything that a session keeps for reuse, under one budget in bytes.
 *
 * Compiled graphs, an executable's programs for sizes other than its current ones, an ONNX runner's paths and a
 * language model's programs have one entry each. When their total exceeds the budget, the least recently used entry
 * that is not in use is evicted. Entries in use are never evicted: the budget bounds what is kept, not what may run.
 *
 * One lock protects the entries and the lists of their owners, because any thread that needs room may evict an entry of
 * any owner. It is held only briefly: evicted entries are freed after it is released. */
#ifndef RLX_RUNTIME_CACHE_H
#define RLX_RUNTIME_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/os.h"
#include "base/status.h"

typedef struct rlx_cached rlx_cached;
typedef struct rlx_cached_class {
  bool (*is_used)(const rlx_cached *c); /* in addition to `users`; NULL: no. Under the lock */
  void (*take)(rlx_cached *c);          /* removes it from its owner's list. Under the lock */
  void (*free)(rlx_cached *c);          /* without the lock */
} rlx_cached_class;

/* An entry, embedded in the cached object. */
struct rlx_cached {
  const rlx_cached_class *class;
  rlx_cached *older, *newer;
  uint64_t bytes;
  uint32_t users; /* above 0: not evicted */
  bool is_in;
};

typedef struct rlx_cache {
  rlx_mutex lock;
  rlx_cached *oldest, *newest;
  uint64_t bytes, budget, n_evicted;
} rlx_cache;

/* Budget 0: the default, 1/64 of the machine's free memory, at least 16 MiB and at most 256 MiB. */
rlx_status rlx_cache_init(rlx_cache *c, uint64_t budget);
void rlx_cache_deinit(rlx_cache *c); /* every owner has removed its entries */

void rlx_cache_lock(rlx_cache *c);
void rlx_cache_unlock(rlx_cache *c);
/* All under the lock. add: adds an entry with one user, the caller. use: adds a user and makes the entry the most
 * recently used. leave: removes a user. resize: changes its size. remove: removes it from the cache; its owner frees
 * it. */
void rlx_cache_add(rlx_cache *c, rlx_cached *e, const rlx_cached_class *class, uint64_t bytes);
void rlx_cache_use(rlx_cache *c, rlx_cached *e);
void rlx_cache_leave(rlx_cache *c, rlx_cached *e);
void rlx_cache_resize(rlx_cache *c, rlx_cached *e, uint64_t bytes);
void rlx_cache_remove(rlx_cache *c, rlx_cached *e);
/* Without the lock: evicts and frees entries until the cache is within its budget or all are in use. */
void rlx_cache_trim(rlx_cache *c);

#endif
