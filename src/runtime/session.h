/* Internals of a session: one device, its threads and freed blocks, and the graphs compiled for it.
 *
 * Executables, weights and states retain their session, so a caller may destroy it first. Compiled graphs do not,
 * because the session's cache holds them. */
#ifndef RLX_RUNTIME_SESSION_H
#define RLX_RUNTIME_SESSION_H

#include <stdatomic.h>

#include "base/array.h"
#include "base/budget.h"
#include "base/mem_source.h"
#include "base/os.h"
#include "device/block_pool.h"
#include "device/registry.h"
#include "runtime/cache.h"
#include "runtime/worker.h"

typedef struct rlx_compiled rlx_compiled; /* compiled.h */

struct rlx_session {
  atomic_uint refs;
  uint32_t process; /* that created it */
  rlx_device *device;
  rlx_pool *threads;
  rlx_worker *worker; /* of asynchronous runs */
  rlx_block_pool *blocks;
  rlx_limits limits;
  rlx_mem_source *source; /* of its memory; NULL: the heap */
  rlx_log_fn log;         /* NULL: that of the process */
  void *log_user;
  rlx_cache cache;                    /* of programs; its lock protects the fields below */
  RLX_ARRAY(rlx_compiled *) compiled; /* those in the cache */
  uint64_t n_compiled, n_hits;
};

/* Begins the budget of a call, with the limits of the watch (which may be NULL); limits that it leaves at 0 are the
 * session's. Until the budget ends, log messages go to the session's log and memory comes from its source. */
void rlx_session_begin(const rlx_session *s, rlx_budget *b, const char *call, uint64_t work, const rlx_watch *watch);
rlx_session *rlx_session_retain(rlx_session *s);
void rlx_session_release(rlx_session *s); /* NULL is fine */

/* The queue for its work. */
static inline rlx_queue *rlx_session_queue(const rlx_session *s) { return rlx_block_pool_queue(s->blocks); }

/* RLX_INVALID in a child of the process that created it. */
rlx_status rlx_session_check(const rlx_session *s, const char *call);

/* Initialises a mutex; the failure has the system's error number. */
rlx_status rlx_session_mutex_init(rlx_mutex *lock, bool recursive);

#endif
