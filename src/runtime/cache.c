/* LRU cache of programs: a list from the least to the most recently used entry. */
#include "runtime/cache.h"

#include "base/machine.h"
#include "runtime/session.h"

#define MIN_DEFAULT ((uint64_t)16 << 20)
#define MAX_DEFAULT ((uint64_t)256 << 20)

static uint64_t default_budget(void) {
  uint64_t bytes = rlx_machine_free_bytes() / 64;
  return bytes < MIN_DEFAULT ? MIN_DEFAULT : bytes > MAX_DEFAULT ? MAX_DEFAULT : bytes;
}

rlx_status rlx_cache_init(rlx_cache *c, uint64_t budget) {
  *c = (rlx_cache){.budget = budget ? budget : default_budget()};
  return rlx_session_mutex_init(&c->lock, false);
}

void rlx_cache_deinit(rlx_cache *c) { rlx_mutex_destroy(&c->lock); }
void rlx_cache_lock(rlx_cache *c) { rlx_mutex_lock(&c->lock); }
void rlx_cache_unlock(rlx_cache *c) { rlx_mutex_unlock(&c->lock); }

static void link_newest(rlx_cache *c, rlx_cached *e) {
  e->older = c->newest;
  e->newer = NULL;
  if (c->newest) c->newest->newer = e;
  else c->oldest = e;
  c->newest = e;
}

static void unlink(rlx_cache *c, rlx_cached *e) {
  if (e->older) e->older->newer = e->newer;
  else c->oldest = e->newer;
  if (e->newer) e->newer->older = e->older;
  else c->newest = e->older;
  e->older = e->newer = NULL;
}

void rlx_cache_add(rlx_cache *c, rlx_cached *e, const rlx_cached_class *class, uint64_t bytes) {
  *e = (rlx_cached){.class = class, .bytes = bytes, .users = 1, .is_in = true};
  c->bytes += bytes;
  link_newest(c, e);
}

void rlx_cache_use(rlx_cache *c, rlx_cached *e) {
  e->users++;
  unlink(c, e);
  link_newest(c, e);
}

void rlx_cache_leave(rlx_cache *c, rlx_cached *e) {
  (void)c;
  e->users--;
}

void rlx_cache_resize(rlx_cache *c, rlx_cached *e, uint64_t bytes) {
  c->bytes = c->bytes - e->bytes + bytes;
  e->bytes = bytes;
}

void rlx_cache_remove(rlx_cache *c, rlx_cached *e) {
  if (!e->is_in) return;
  unlink(c, e);
  c->bytes -= e->bytes;
  e->is_in = false;
}

static bool is_used(const rlx_cached *e) { return e->users || (e->class->is_used && e->class->is_used(e)); }

/* Removes the least recently used entry that is not in use from the cache and from its owner's list. The caller frees
 * it. NULL: the cache is within its budget, or all entries are in use. */
static rlx_cached *take_oldest(rlx_cache *c) {
  rlx_cache_lock(c);
  rlx_cached *e = c->bytes > c->budget ? c->oldest : NULL;
  while (e && is_used(e)) e = e->newer;
  if (e) {
    rlx_cache_remove(c, e);
    e->class->take(e);
    c->n_evicted++;
  }
  rlx_cache_unlock(c);
  return e;
}

void rlx_cache_trim(rlx_cache *c) {
  for (rlx_cached *e; (e = take_oldest(c));) e->class->free(e);
}
