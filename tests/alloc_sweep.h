/* The failing-allocation sweep: run a piece of work again and again, with its 1st allocation failing, then its 2nd,
 * and so on until it succeeds with nothing left to fail. Twice: only the Nth fails (the work may carry on and must
 * notice), and all from the Nth on (what cleans up must not allocate).
 *
 *   static rlx_status work(void *user) { create; use; destroy; return the first failure }
 *   CHECK_OK(alloc_sweep(work, NULL));
 *
 * Each time the work must return RLX_OK or RLX_NO_MEMORY, and leave as many live blocks as it found. It is repeated
 * once per allocation, so it should be small. */
#ifndef RLX_TESTS_ALLOC_SWEEP_H
#define RLX_TESTS_ALLOC_SWEEP_H

#include <stdatomic.h>

#include "base/mem.h"
#include "base/status.h"

typedef rlx_status (*alloc_sweep_fn)(void *user);

/* Atomic, since the work may allocate in several threads. */
typedef struct alloc_sweep_point {
  size_t fail_at; /* counted from 1; 0: never */
  bool from_there_on;
  atomic_size_t n_seen, n_failed;
} alloc_sweep_point;

static inline bool alloc_sweep_hook(void *user, size_t bytes) {
  alloc_sweep_point *point = user;
  (void)bytes;
  size_t n = atomic_fetch_add(&point->n_seen, 1) + 1;
  bool fails = n == point->fail_at || (point->from_there_on && point->fail_at != 0 && n > point->fail_at);
  if (fails) atomic_fetch_add(&point->n_failed, 1);
  return !fails;
}

/* One run; the verdict as a status, so that the words reach the test's output. */
static inline rlx_status alloc_sweep_once(alloc_sweep_fn fn, void *user, alloc_sweep_point *point) {
  size_t live = rlx_mem_live();
  rlx_mem_set_hook(alloc_sweep_hook, point);
  rlx_status s = fn(user);
  rlx_mem_set_hook(NULL, NULL);
  const char *mode = point->from_there_on ? "from there on" : "once";
  size_t n_failed = atomic_load(&point->n_failed);
  if (rlx_mem_live() != live)
    return RLX_FAIL(RLX_INVALID, "allocation %zu failing %s: %zu live blocks before, %zu after", point->fail_at, mode,
                    live, rlx_mem_live());
  if (s == RLX_OK || (s == RLX_NO_MEMORY && n_failed > 0)) return RLX_OK;
  return rlx_fail_frame(RLX_INVALID, "allocation %zu failing %s (it did %zu times): the work returned '%s'",
                        point->fail_at, mode, n_failed, rlx_status_name(s));
}

static inline rlx_status alloc_sweep(alloc_sweep_fn fn, void *user) {
  for (int mode = 0; mode < 2; mode++) {
    for (size_t at = 1;; at++) {
      alloc_sweep_point point = {.fail_at = at, .from_there_on = mode == 1};
      RLX_TRY(alloc_sweep_once(fn, user, &point));
      if (atomic_load(&point.n_failed) > 0) continue;
      if (at == 1) return RLX_FAIL(RLX_INVALID, "the work allocates nothing: there is nothing to sweep");
      break;
    }
  }
  return RLX_OK;
}

#endif
