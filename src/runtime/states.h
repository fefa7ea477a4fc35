/* Internals of states: named buffers that persist between runs, zeroed when created. */
#ifndef RLX_RUNTIME_STATES_H
#define RLX_RUNTIME_STATES_H

#include "ir/graph.h"
#include "runtime/session.h"

typedef struct rlx_state_entry {
  char *name;
  struct rlx_state_entry *next; /* of the same name and another type */
  rlx_type type;
  uint64_t bytes;
  rlx_block *block;
} rlx_state_entry;

struct rlx_states {
  atomic_uint refs;
  rlx_session *session;
  bool by_type; /* owned by one executable: a name may have several entries, one per type, as sizes change */
  rlx_mutex lock;
  RLX_ARRAY(rlx_state_entry *) all;
  rlx_name_map names; /* index in `all` of the newest entry */
  unsigned n_jobs;    /* runs that use them and wait for, or are in, the session's worker (async.c) */
  rlx_cond job_ended;
  const void *user; /* rlx_thread_self of the thread whose call accesses their memory; NULL: none */
  unsigned depth;   /* its calls: 1, and 1 more per nested call of a callback */
};

rlx_states *rlx_states_retain(rlx_states *st);
void rlx_states_release(rlx_states *st); /* NULL is fine */
rlx_status rlx_states_create_own(rlx_session *s, rlx_states **out);
/* The state of this name, created if there is none; one of another type is an error unless by_type. The entry does not
 * move as long as `st` exists. */
rlx_status rlx_states_get(rlx_states *st, const char *name, const rlx_type *type, rlx_state_entry **out);
/* Whether a state of this name and type exists, with its memory. */
bool rlx_states_has(rlx_states *st, const char *name, const rlx_type *type);
/* Around a call that accesses their memory: a run, a read or write of a state, zeroing. Waits for runs of the session's
 * worker that were queued before. RLX_BUSY if a call of another thread accesses them; a callback of the same thread's
 * call may. */
rlx_status rlx_states_begin(rlx_states *st, const char *call);
void rlx_states_end(rlx_states *st);
/* Before the host accesses mapped memory: waits for the queue. */
rlx_status rlx_states_settle(rlx_states *st);
/* A run that becomes a job of the session's worker: counted from its submission, so that later accesses are ordered
 * after it, and entered when the worker begins it. RLX_BUSY if a call accesses them. */
rlx_status rlx_states_add_job(rlx_states *st, const char *call);
void rlx_states_enter_job(rlx_states *st);
void rlx_states_leave_job(rlx_states *st);
void rlx_states_drop_job(rlx_states *st); /* one that was not entered */
bool rlx_states_have_jobs(rlx_states *st);
rlx_status rlx_states_zero_one(rlx_states *st, rlx_state_entry *e);

#endif
