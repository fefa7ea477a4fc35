/* Budgets: a thread-local list of the open ones, innermost first. */
#include "base/budget.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/machine.h"
#include "base/mem_source.h"

/* Below this, a call is not checked against the machine's free memory: reading that costs more than the allocation. */
#define SMALL_BYTES ((int64_t)64 << 20)
/* Least time between two calls of a cancel function from inside a loop: well below what a person notices. */
#define POLL_NS ((uint64_t)4000000)

static _Thread_local rlx_budget *innermost;

void rlx_budget_begin(rlx_budget *b, const char *call, const rlx_limits *limits, uint64_t work,
                      const rlx_watch *watch) {
  *b = (rlx_budget){.outer = innermost, .call = call, .cancel = watch ? watch->cancel : NULL};
  b->user = watch ? watch->user : NULL;
  b->log = rlx_budget_log(&b->log_user); /* inherited from the enclosing call */
  b->outside = rlx_mem_source_now();
  if (limits) b->limits = *limits;
  if (!b->limits.work) b->limits.work = work;
  b->polled_ns = rlx_now_ns();
  if (b->limits.seconds > 0) b->deadline_ns = b->polled_ns + (uint64_t)(b->limits.seconds * 1e9);
  innermost = b;
}

void rlx_budget_set_log(rlx_log_fn fn, void *user) {
  if (!innermost || !fn) return;
  innermost->log = fn;
  innermost->log_user = user;
}

rlx_log_fn rlx_budget_log(void **user) {
  *user = innermost ? innermost->log_user : NULL;
  return innermost ? innermost->log : NULL;
}

rlx_status rlx_limits_check(const char *call, const rlx_limits *limits) {
  for (size_t i = 0; limits && i < sizeof limits->reserved / sizeof *limits->reserved; i++)
    if (limits->reserved[i])
      return RLX_FAIL(RLX_UNSUPPORTED, "%s: limits.reserved[%zu] is set; version %s has no such limit", call, i,
                      rlx_version());
  return RLX_OK;
}

rlx_status rlx_watch_check(const char *call, const rlx_watch *watch) {
  for (size_t i = 0; watch && i < sizeof watch->reserved / sizeof *watch->reserved; i++)
    if (watch->reserved[i])
      return RLX_FAIL(RLX_UNSUPPORTED, "%s: watch.reserved[%zu] is set; version %s has no such field", call, i,
                      rlx_version());
  return watch ? rlx_limits_check(call, &watch->limits) : RLX_OK;
}

rlx_bytes_text rlx_bytes_print(uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  rlx_bytes_text t;
  int unit = 0;
  double x = (double)bytes;
  for (; x >= 1024 && unit < 6; unit++) x /= 1024;
  snprintf(t.v, sizeof t.v, unit ? "%.1f %s" : "%.0f %s", x, units[unit]);
  return t;
}

rlx_status rlx_budget_end(rlx_budget *b, rlx_status s) {
  innermost = b->outer;
  rlx_mem_use(b->outside);
  if (s != RLX_NO_MEMORY && s != RLX_CANCELLED) return s; /* before the message is copied: most calls succeed */
  char cause[512];
  snprintf(cause, sizeof cause, "%.511s", rlx_message());
  if (s == RLX_NO_MEMORY && b->refused)
    return RLX_FAIL(RLX_LIMIT,
                    "%s: asks for %s of the host's memory, with %s taken already; the limit of this call is %s", cause,
                    RLX_BYTES_TEXT(b->refused), RLX_BYTES_TEXT((uint64_t)(b->taken > 0 ? b->taken : 0)),
                    RLX_BYTES_TEXT(b->limits.host_bytes));
  if (s == RLX_CANCELLED && b->stopped == RLX_STOP_TIME)
    return RLX_FAIL(RLX_LIMIT, "%s: the time limit of %g s is over", b->call, b->limits.seconds);
  if (s == RLX_CANCELLED && b->stopped == RLX_STOP_WORK)
    return RLX_FAIL(RLX_LIMIT, "%s: %s asks for more than the %llu visits of elements that are its limit", cause,
                    b->call, (unsigned long long)b->limits.work);
  return s;
}

/* ---- stopping ---- */

/* The reason is kept: a cancel function that returned true once need not do so again. */
static bool budget_stops(rlx_budget *b, uint64_t now) {
  if (b->stopped) return true;
  if (b->limits.work && b->work > b->limits.work) b->stopped = RLX_STOP_WORK;
  else if (b->deadline_ns && now > b->deadline_ns) b->stopped = RLX_STOP_TIME;
  else if (b->cancel && now - b->polled_ns >= POLL_NS) {
    b->polled_ns = now;
    if (b->cancel(b->user)) b->stopped = RLX_STOP_CANCEL;
  }
  return b->stopped != RLX_STOP_NONE;
}

bool rlx_budget_stops(void) {
  uint64_t now = innermost ? rlx_now_ns() : 0;
  for (rlx_budget *b = innermost; b; b = b->outer)
    if (budget_stops(b, now)) return true;
  return false;
}

bool rlx_budget_is_stopped(void) {
  const rlx_budget *b = innermost;
  while (b && !b->stopped) b = b->outer;
  return b != NULL;
}

bool rlx_budget_count_work(uint64_t n) {
  for (rlx_budget *b = innermost; b; b = b->outer) b->work += n;
  return rlx_budget_stops();
}

bool rlx_budget_affords(uint64_t n) {
  for (const rlx_budget *b = innermost; b; b = b->outer)
    if (b->limits.work && (b->work > b->limits.work || n > b->limits.work - b->work)) return false;
  return true;
}

bool rlx_budget_is_watched(void) {
  const rlx_budget *b = innermost;
  while (b && !b->cancel && !b->deadline_ns) b = b->outer;
  return b != NULL;
}

bool rlx_stops(rlx_cancel_fn fn, void *user) { return (fn && fn(user)) || rlx_budget_stops(); }

/* ---- memory ---- */

static bool budget_allows(rlx_budget *b, size_t bytes) {
  int64_t taken = b->taken > 0 ? b->taken : 0;
  if (!b->limits.host_bytes) {
    if (bytes < (size_t)SMALL_BYTES && taken < SMALL_BYTES) return true;
    uint64_t here = rlx_machine_free_bytes();
    b->limits.host_bytes = here ? (uint64_t)taken + here / 10 * 9 : UINT64_MAX;
  }
  if ((uint64_t)taken <= b->limits.host_bytes && bytes <= b->limits.host_bytes - (uint64_t)taken) return true;
  b->refused = bytes;
  return false;
}

bool rlx_budget_allows(size_t bytes) {
  for (rlx_budget *b = innermost; b; b = b->outer)
    if (!budget_allows(b, bytes)) return false;
  return true;
}

void rlx_budget_charge(size_t bytes) {
  for (rlx_budget *b = innermost; b; b = b->outer) b->taken += (int64_t)bytes;
}

void rlx_budget_refund(size_t bytes) {
  for (rlx_budget *b = innermost; b; b = b->outer) b->taken -= (int64_t)bytes;
}
