/* Sessions: what is created once and used by everything compiled for one device.
 *
 * A session is small. The device is shared with other sessions through the registry, so that they can share weights on
 * it. Threads, the pool of freed blocks and the cache of compiled graphs belong to the session alone. */
#include "runtime/session.h"

#include "base/process.h"
#include "base/sized.h"
#include "runtime/compiled.h"

#define DEFAULT_POOL_BYTES ((uint64_t)256 << 20)

rlx_status rlx_session_mutex_init(rlx_mutex *lock, bool recursive) {
  const bool ok = recursive ? rlx_mutex_init_recursive(lock) : rlx_mutex_init(lock);
  return ok ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the system refused a lock");
}

static void session_free(rlx_session *s) {
  for (size_t i = 0; i < s->compiled.n; i++) rlx_compiled_release(s->compiled.v[i]);
  rlx_array_deinit(&s->compiled);
  rlx_worker_destroy(s->worker);
  rlx_block_pool_release(s->blocks);
  rlx_pool_destroy(s->threads);
  rlx_device_release(s->device);
  rlx_cache_deinit(&s->cache);
  rlx_mem_source *source = s->source;
  rlx_mem_free(s);
  rlx_mem_source_release(source);
}

void rlx_session_begin(const rlx_session *s, rlx_budget *b, const char *call, uint64_t work, const rlx_watch *watch) {
  rlx_limits l = watch ? watch->limits : (rlx_limits){0};
  if (!l.host_bytes) l.host_bytes = s->limits.host_bytes;
  if (!l.device_bytes) l.device_bytes = s->limits.device_bytes;
  if (!l.work) l.work = s->limits.work;
  if (!(l.seconds > 0)) l.seconds = s->limits.seconds;
  rlx_budget_begin(b, call, &l, work, watch);
  rlx_budget_set_log(s->log, s->log_user);
  rlx_mem_use(s->source);
}

rlx_session *rlx_session_retain(rlx_session *s) {
  atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
  return s;
}

rlx_status rlx_session_check(const rlx_session *s, const char *call) {
  return rlx_process_is_own(s->process) ? RLX_OK : rlx_process_refuse(call, "session");
}

void rlx_session_release(rlx_session *s) {
  if (s && !rlx_process_is_own(s->process)) return; /* its threads and its device belong to the parent process */
  if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) session_free(s);
}

static rlx_status session_fill(rlx_session *s, const rlx_session_desc *d) {
  RLX_TRY(rlx_device_acquire(d->device, &s->device));
  RLX_TRY(rlx_pool_create(d->n_threads, &s->threads));
  RLX_TRY(rlx_worker_create(&s->worker));
  uint64_t cap = d->no_pool ? 0 : d->pool_bytes ? d->pool_bytes : DEFAULT_POOL_BYTES;
  s->limits = d->limits;
  RLX_TRY(rlx_block_pool_create(s->device, cap, &s->blocks));
  if (d->limits.device_bytes) rlx_block_pool_set_limit(s->blocks, d->limits.device_bytes);
  return RLX_OK;
}

/* `source` is already the calling thread's; on failure the caller still owns it. */
static rlx_status session_make(const rlx_session_desc *d, rlx_mem_source *source, rlx_session **out) {
  rlx_session *s = rlx_new(rlx_session);
  if (!s) return RLX_FAIL(RLX_NO_MEMORY, "a session");
  rlx_status status = rlx_cache_init(&s->cache, d->cache_bytes);
  if (status) {
    rlx_mem_free(s);
    return status;
  }
  atomic_init(&s->refs, 1);
  s->process = rlx_process_number();
  s->log = d->log;
  s->log_user = d->log_user;
  status = session_fill(s, d);
  if (status) {
    session_free(s);
    return status;
  }
  s->source = source;
  *out = s;
  return RLX_OK;
}

rlx_status rlx_session_create(const rlx_session_desc *desc, rlx_session **out) {
  rlx_session_desc own;
  const rlx_session_desc *d = &own;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_session_create: out is NULL");
  *out = NULL;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_session_desc", desc, &own), "rlx_session_create");
  RLX_TRY(rlx_limits_check("rlx_session_create", &d->limits));
  if (!(d->limits.seconds >= 0))
    return RLX_FAIL(RLX_INVALID, "rlx_session_create: limits.seconds is %g", d->limits.seconds);
  if (!d->alloc != !d->dealloc)
    return RLX_FAIL(RLX_INVALID, "rlx_session_create: %s is NULL, but not the other", d->alloc ? "dealloc" : "alloc");
  rlx_mem_source *source = d->alloc ? rlx_mem_source_create(d->alloc, d->dealloc, d->alloc_user) : NULL;
  if (d->alloc && !source) return RLX_FAIL(RLX_NO_MEMORY, "a session");
  rlx_budget opening; /* without limits: carries the log and the source */
  rlx_budget_begin(&opening, "rlx_session_create", NULL, 0, NULL);
  rlx_budget_set_log(d->log, d->log_user);
  rlx_mem_use(source);
  rlx_status status = rlx_budget_end(&opening, session_make(d, source, out));
  if (status) rlx_mem_source_release(source);
  return status;
}

void rlx_session_destroy(rlx_session *s) {
  if (!s || !rlx_process_is_own(s->process)) return;
  rlx_worker_drain(s->worker); /* or a run without a completion could free the session while the process ends */
  rlx_session_release(s);
}

rlx_status rlx_session_device(const rlx_session *s, rlx_device_info *out) {
  if (!s || !out) return RLX_FAIL(RLX_INVALID, "rlx_session_device: %s is NULL", s ? "out" : "the session");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_device_info", out));
  RLX_TRY(rlx_session_check(s, "rlx_session_device"));
  return RLX_SIZED_WRITE("rlx_device_info", &s->device->info, out);
}

void rlx_session_trim(rlx_session *s, uint64_t keep_bytes) {
  if (s && rlx_process_is_own(s->process)) rlx_block_pool_trim(s->blocks, keep_bytes);
}

rlx_status rlx_session_stats_get(rlx_session *s, rlx_session_stats *out) {
  if (!s || !out) return RLX_FAIL(RLX_INVALID, "rlx_session_stats_get: %s is NULL", s ? "out" : "the session");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_session_stats", out));
  RLX_TRY(rlx_session_check(s, "rlx_session_stats_get"));
  rlx_block_pool_stats pool;
  rlx_block_pool_stats_get(s->blocks, &pool);
  rlx_cache_lock(&s->cache);
  rlx_session_stats stats = {.used_bytes = pool.used_bytes,
                             .idle_bytes = pool.idle_bytes,
                             .n_blocks_reused = pool.n_reused,
                             .n_blocks_made = pool.n_created,
                             .n_compiled = s->n_compiled,
                             .n_cache_hits = s->n_hits,
                             .cache_bytes = s->cache.bytes,
                             .cache_budget = s->cache.budget,
                             .cache_evicted = s->cache.n_evicted,
                             .limit_bytes = pool.limit_bytes};
  rlx_cache_unlock(&s->cache);
  return RLX_SIZED_WRITE("rlx_session_stats", &stats, out);
}
