/* Budgets: what one public call may take, and when it has to stop.
 *
 * A public call opens a budget on its stack and closes it on the way out; in between, the thread knows it. The heap asks it
 * before it gives memory (mem.c), loops ask it whether to go on, and both need no parameter for that, so no allocation and
 * no loop can be forgotten on the way. Calls nest (a model's generate runs an executable): memory and work count in all
 * of the open ones, and each may stop the innermost.
 *
 * What a budget refuses looks to the code below like a failed allocation or a cancelled loop; closing turns that into
 * RLX_LIMIT and says what asked for how much. Threads of a pool have no budget: they allocate nothing, and the pool asks
 * on their behalf. */
#ifndef RLX_BASE_BUDGET_H
#define RLX_BASE_BUDGET_H

#include "base/status.h"

typedef enum rlx_stop_reason {
  RLX_STOP_NONE,
  RLX_STOP_CANCEL, /* the caller's function said so */
  RLX_STOP_TIME,
  RLX_STOP_WORK
} rlx_stop_reason;

typedef struct rlx_budget {
  struct rlx_budget *outer;
  const char *call; /* "rlx_compile" */
  rlx_limits limits;
  rlx_cancel_fn cancel;
  void *user;
  int64_t taken;    /* bytes of the heap: given less freed */
  uint64_t refused; /* bytes of the last request that was over the limit */
  uint64_t work;    /* visits so far */
  uint64_t deadline_ns, asked_ns;
  rlx_stop_reason stopped;
  rlx_log_fn log; /* where what the thread logs meanwhile goes; NULL: where rlx_set_log says */
  void *log_user;
} rlx_budget;

/* RLX_UNSUPPORTED where a reserved field is set: a newer header's, with a meaning that is not known here. NULL is fine. */
rlx_status rlx_limits_check(const char *call, const rlx_limits *limits);
rlx_status rlx_watch_check(const char *call, const rlx_watch *watch);

/* What is 0 in `limits` is the machine's; work that is 0 there is `work` (0: no limit). watch may be NULL. */
void rlx_budget_begin(rlx_budget *b, const char *call, const rlx_limits *limits, uint64_t work, const rlx_watch *watch);
/* From now on what the thread logs goes there, until the innermost call ends; fn NULL changes nothing. A session's log. */
void rlx_budget_set_log(rlx_log_fn fn, void *user);
rlx_log_fn rlx_budget_log(void **user); /* NULL: where rlx_set_log says */
/* The status as the caller sees it. */
rlx_status rlx_budget_end(rlx_budget *b, rlx_status s);

/* Whether the thread's calls have to stop: by the caller's word, asked at most every few milliseconds, by time, or by work. */
bool rlx_budget_stops(void);
/* Whether it was found so before; asks nobody. */
bool rlx_budget_is_stopped(void);
/* rlx_budget_stops, with n more visits done. */
bool rlx_budget_works(uint64_t n);
/* Whether so many visits are left to all open calls. */
bool rlx_budget_affords(uint64_t n);
/* Whether one of them has a function to ask or a deadline: where work is handed over in parts, they had better be small. */
bool rlx_budget_is_watched(void);
/* For loops that have a cancel function of their own. */
bool rlx_stops(rlx_cancel_fn fn, void *user);

/* Of the heap: before a block is made; after it was made, and before one is freed. */
bool rlx_budget_allows(size_t bytes);
void rlx_budget_takes(size_t bytes);
void rlx_budget_gives(size_t bytes);

/* "1.5 GiB", in a buffer of the caller's. */
typedef struct rlx_bytes_text {
  char v[32];
} rlx_bytes_text;
rlx_bytes_text rlx_bytes_print(uint64_t bytes);
#define RLX_BYTES_TEXT(bytes) (rlx_bytes_print(bytes).v)

/* Visits that loading and compiling may cost where nobody says otherwise: a few seconds of plain loops. */
#define RLX_LOAD_WORK ((uint64_t)1 << 28)

#endif
