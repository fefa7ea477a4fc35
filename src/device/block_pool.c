/* The block pool: an array of idle blocks, ordered from the least recently used.
 *
 * One mutex guards the array and the counters. The device is called outside it, so a slow allocation in one thread does
 * not block another. Creating a block reserves its entry in the array, so returning a block allocates nothing and
 * cannot fail. */
#include "device/block_pool.h"

#include <stdatomic.h>
#include <string.h>

#include "base/array.h"
#include "base/budget.h"
#include "base/machine.h"
#include "base/os.h"
#include "device/registry.h"

/* Smaller requests do not query the system for free memory: the query would cost more than the check is worth. */
#define LARGE_BYTES ((uint64_t)64 << 20)

struct rlx_block_pool {
  atomic_size_t refs;
  rlx_device *device;
  rlx_queue *queue;
  rlx_mutex lock; /* guards all below */
  RLX_ARRAY(rlx_block *) idle;
  rlx_block_pool_stats stats;
};

/* A mapped device with known free memory has no fixed limit (0): host memory changes by the minute and is queried anew.
 * For other devices the limit comes from the free memory at opening. */
static uint64_t default_limit(const rlx_device *d) {
  if (!d->info.is_mapped || !d->info.free_bytes) return d->info.free_bytes / 10 * 9;
  return 0;
}

rlx_status rlx_block_pool_create(rlx_device *d, uint64_t cap_bytes, rlx_block_pool **out) {
  *out = NULL;
  if (!d) return RLX_FAIL(RLX_INVALID, "rlx_block_pool_create: the device is NULL");
  rlx_block_pool *p = rlx_new(rlx_block_pool);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "block pool of %s", d->info.name);
  if (!rlx_mutex_init(&p->lock)) {
    rlx_mem_free(p);
    return RLX_FAIL(RLX_NO_MEMORY, "block pool of %s: no mutex", d->info.name);
  }
  rlx_status s = d->backend->queue_create(d, &p->queue);
  if (s) {
    rlx_mutex_destroy(&p->lock);
    rlx_mem_free(p);
    return rlx_fail_frame(s, "a queue of %s", d->info.name);
  }
  atomic_init(&p->refs, 1);
  p->device = rlx_device_retain(d);
  p->stats.cap_bytes = cap_bytes;
  p->stats.limit_bytes = default_limit(d);
  *out = p;
  return RLX_OK;
}

rlx_queue *rlx_block_pool_queue(const rlx_block_pool *p) { return p->queue; }

rlx_block_pool *rlx_block_pool_retain(rlx_block_pool *p) {
  if (p) atomic_fetch_add(&p->refs, 1);
  return p;
}

void rlx_block_pool_release(rlx_block_pool *p) {
  if (!p || atomic_fetch_sub(&p->refs, 1) != 1) return;
  rlx_block_pool_trim(p, 0);
  p->device->backend->queue_destroy(p->queue);
  rlx_device_release(p->device);
  rlx_array_deinit(&p->idle);
  rlx_mutex_destroy(&p->lock);
  rlx_mem_free(p);
}

/* ---- the idle blocks, under the lock ---- */

static rlx_block *take(rlx_block_pool *p, size_t i) {
  rlx_block *b = p->idle.v[i];
  p->idle.n--;
  memmove(p->idle.v + i, p->idle.v + i + 1, (p->idle.n - i) * sizeof *p->idle.v);
  p->stats.idle_bytes -= b->bytes;
  return b;
}

/* The smallest idle block of at least `bytes` and at most twice as many; NULL if there is none. */
static rlx_block *take_best(rlx_block_pool *p, uint64_t bytes) {
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < p->idle.n; i++) {
    uint64_t has = p->idle.v[i]->bytes;
    if (has < bytes || has - bytes > bytes) continue;
    if (best == SIZE_MAX || has < p->idle.v[best]->bytes) best = i;
  }
  return best == SIZE_MAX ? NULL : take(p, best);
}

static void count_used(rlx_block_pool *p, const rlx_block *b) {
  p->stats.n_used++;
  p->stats.used_bytes += b->bytes;
}

/* ---- blocks of the device ---- */

static void destroy_block(rlx_block_pool *p, rlx_block *b) { p->device->backend->block_destroy(p->device, b); }

/* Removes the least recently used block if more than `keep_bytes` are idle. */
static rlx_block *take_oldest(rlx_block_pool *p, uint64_t keep_bytes) {
  rlx_mutex_lock(&p->lock);
  rlx_block *b = p->stats.idle_bytes > keep_bytes && p->idle.n ? take(p, 0) : NULL;
  rlx_mutex_unlock(&p->lock);
  return b;
}

void rlx_block_pool_trim(rlx_block_pool *p, uint64_t keep_bytes) {
  for (rlx_block *b; p && (b = take_oldest(p, keep_bytes));) destroy_block(p, b);
}

/* Creates and counts a block, and reserves the array entry for its return. */
static rlx_status make_block(rlx_block_pool *p, uint64_t bytes, rlx_block **out) {
  rlx_status s = p->device->backend->block_create(p->device, bytes, out);
  if (s) return s;
  rlx_mutex_lock(&p->lock);
  bool has_room = rlx_array_reserve(&p->idle, (size_t)p->stats.n_used + 1);
  if (has_room) {
    count_used(p, *out);
    p->stats.n_created++;
  }
  rlx_mutex_unlock(&p->lock);
  if (has_room) return RLX_OK;
  destroy_block(p, *out);
  *out = NULL;
  return RLX_FAIL(RLX_NO_MEMORY, "block pool: the list of idle blocks");
}

void rlx_block_pool_set_limit(rlx_block_pool *p, uint64_t bytes) { p->stats.limit_bytes = bytes; }

/* For host memory if no limit was set. Idle bytes count as free because idle blocks would be released first. */
static uint64_t limit_now(const rlx_block_pool_stats *s) {
  if (s->limit_bytes) return s->limit_bytes;
  uint64_t here = rlx_machine_free_bytes();
  return here ? s->used_bytes + (here + s->idle_bytes) / 10 * 9 : 0;
}

rlx_status rlx_block_pool_affords(rlx_block_pool *p, uint64_t bytes) {
  rlx_mutex_lock(&p->lock);
  rlx_block_pool_stats stats = p->stats;
  rlx_mutex_unlock(&p->lock);
  uint64_t used = stats.used_bytes, limit = bytes < LARGE_BYTES ? stats.limit_bytes : limit_now(&stats);
  if (!limit || (used <= limit && bytes <= limit - used)) return RLX_OK;
  return RLX_FAIL(RLX_LIMIT, "%s of memory on %s, with %s in use there; the limit is %s", RLX_BYTES_TEXT(bytes),
                  p->device->info.name, RLX_BYTES_TEXT(used), RLX_BYTES_TEXT(limit));
}

static bool has_idle(rlx_block_pool *p) {
  rlx_mutex_lock(&p->lock);
  bool has = p->idle.n > 0;
  rlx_mutex_unlock(&p->lock);
  return has;
}

rlx_status rlx_block_pool_get(rlx_block_pool *p, uint64_t bytes, bool zeroed, rlx_block **out) {
  *out = NULL;
  if (!p) return RLX_FAIL(RLX_INVALID, "rlx_block_pool_get: the pool is NULL");
  if (rlx_backend_fills_words(p->device->backend) && bytes <= UINT64_MAX - 3) bytes = (bytes + 3) / 4 * 4;
  RLX_TRY(rlx_block_pool_affords(p, bytes));
  rlx_mutex_lock(&p->lock);
  rlx_block *b = take_best(p, bytes);
  if (b) {
    count_used(p, b);
    p->stats.n_reused++;
  }
  rlx_mutex_unlock(&p->lock);
  rlx_status s = RLX_OK;
  if (!b) {
    s = make_block(p, bytes, &b);
    if (s == RLX_NO_MEMORY && has_idle(p)) {
      rlx_block_pool_trim(p, 0);
      s = make_block(p, bytes, &b);
    }
    if (s) return rlx_fail_frame(s, "a block of %llu bytes on %s", (unsigned long long)bytes, p->device->info.name);
  }
  /* The whole block, because the new owner may use all of it. */
  if (zeroed && b->bytes) s = p->device->backend->zero(p->queue, b, 0, b->bytes);
  if (s) rlx_block_pool_put(p, b);
  else *out = b;
  return s;
}

/* The block is added first and the oldest are removed after it, so two threads that return blocks at once cannot both
 * find room. An empty block is not kept: it costs nothing to create, and no cap would ever remove it. */
static void give_back(rlx_block_pool *p, rlx_block *b, bool keep) {
  if (!p || !b) return;
  uint64_t cap_bytes = p->stats.cap_bytes; /* never changes */
  bool is_kept = keep && b->bytes > 0 && b->bytes <= cap_bytes;
  rlx_mutex_lock(&p->lock);
  p->stats.n_used--;
  p->stats.used_bytes -= b->bytes;
  if (is_kept) {
    p->idle.v[p->idle.n++] = b;
    p->stats.idle_bytes += b->bytes;
  }
  rlx_mutex_unlock(&p->lock);
  if (is_kept) rlx_block_pool_trim(p, cap_bytes);
  else destroy_block(p, b);
}

void rlx_block_pool_put(rlx_block_pool *p, rlx_block *b) { give_back(p, b, true); }
void rlx_block_pool_drop(rlx_block_pool *p, rlx_block *b) { give_back(p, b, false); }

void rlx_block_pool_stats_get(rlx_block_pool *p, rlx_block_pool_stats *out) {
  *out = (rlx_block_pool_stats){0};
  if (!p) return;
  rlx_mutex_lock(&p->lock);
  *out = p->stats;
  out->n_idle = p->idle.n;
  rlx_mutex_unlock(&p->lock);
  out->limit_bytes = limit_now(out);
}
