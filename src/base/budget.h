/* Budgets: limits on the memory, work and time of one public call.
 *
 * A public call opens a budget on its stack and closes it before it returns; a thread-local list holds the open ones.
 * The heap checks it before each allocation (mem.c) and long loops poll it. Neither needs a parameter for this, so no
 * allocation and no loop can be missed. Calls nest (a model's generate runs an executable): memory and work count in
 * all open budgets, and each of them can stop the innermost call.
 *
 * To the code inside, an exceeded budget looks like a failed allocation or a cancelled loop. rlx_budget_end translates
 * that into RLX_LIMIT, with a message that gives the request and the limit. Threads of a pool have no budget: they
 * allocate nothing, and the pool polls the caller's budget for them. */
#ifndef RLX_BASE_BUDGET_H
#define RLX_BASE_BUDGET_H

#include "base/status.h"

typedef enum rlx_stop_reason {
  RLX_STOP_NONE,
  RLX_STOP_CANCEL, /* the cancel function returned true */
  RLX_STOP_TIME,
  RLX_STOP_WORK
} rlx_stop_reason;

typedef struct rlx_budget {
  struct rlx_budget *outer;
  const char *call; /* "rlx_compile" */
  rlx_limits limits;
  rlx_cancel_fn cancel;
  void *user;
  int64_t taken;                   /* bytes of the heap: allocated less freed */
  uint64_t refused;                /* bytes of the last request that was over the limit */
  uint64_t work;                   /* elements visited so far */
  uint64_t deadline_ns, polled_ns; /* polled_ns: when `cancel` was last called */
  rlx_stop_reason stopped;
  struct rlx_mem_source *outside; /* the thread's allocator before the call */
  rlx_log_fn log;                 /* receives what the thread logs during the call; NULL: the function of rlx_set_log */
  void *log_user;
} rlx_budget;

/* RLX_UNSUPPORTED if a reserved field is set: a newer header gave it a meaning that this library does not have. The
 * pointers may be NULL. */
rlx_status rlx_limits_check(const char *call, const rlx_limits *limits);
rlx_status rlx_watch_check(const char *call, const rlx_watch *watch);

/* Fields of `limits` that are 0 take the machine's defaults, `work` the given default (0: no limit). watch may be
 * NULL. */
void rlx_budget_begin(rlx_budget *b, const char *call, const rlx_limits *limits, uint64_t work, const rlx_watch *watch);
/* Sends what the thread logs to `fn` until the innermost call ends: a session's log. fn NULL changes nothing. */
void rlx_budget_set_log(rlx_log_fn fn, void *user);
rlx_log_fn rlx_budget_log(void **user); /* NULL: the function of rlx_set_log */
/* Returns the status for the caller: `s`, or RLX_LIMIT where a limit caused it. */
rlx_status rlx_budget_end(rlx_budget *b, rlx_status s);

/* Whether the thread's calls must stop: cancelled by the caller, whose function is called at most every few
 * milliseconds, out of time, or out of work. */
bool rlx_budget_stops(void);
/* Whether rlx_budget_stops returned true before; polls nothing. */
bool rlx_budget_is_stopped(void);
/* Adds n visited elements, then as rlx_budget_stops. */
bool rlx_budget_count_work(uint64_t n);
/* Whether all open calls may still visit n elements. */
bool rlx_budget_affords(uint64_t n);
/* Whether an open call has a cancel function or a deadline. If so, work should be submitted in small parts. */
bool rlx_budget_is_watched(void);
/* rlx_budget_stops for loops with a cancel function of their own. */
bool rlx_stops(rlx_cancel_fn fn, void *user);

/* For the heap: whether a block may be allocated; then its bytes, after it was allocated and before it is freed. */
bool rlx_budget_allows(size_t bytes);
void rlx_budget_charge(size_t bytes);
void rlx_budget_refund(size_t bytes);

/* "1.5 GiB", returned by value. */
typedef struct rlx_bytes_text {
  char v[32];
} rlx_bytes_text;
rlx_bytes_text rlx_bytes_print(uint64_t bytes);
#define RLX_BYTES_TEXT(bytes) (rlx_bytes_print(bytes).v)

/* The default limit of elements visited by loading and compiling: a few seconds of plain loops. */
#define RLX_LOAD_WORK ((uint64_t)1 << 28)

#endif
