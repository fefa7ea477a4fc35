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
  pthread_mutex_t lock;
  RLX_ARRAY(rlx_state_entry *) all;
  rlx_name_map names; /* index in `all` of the newest entry */
  unsigned n_jobs;    /* runs that use them and wait for, or are in, the session's worker (async.c) */
  pthread_cond_t job_ended;
};

rlx_states *rlx_states_retain(rlx_states *st);
void rlx_states_release(rlx_states *st); /* NULL is fine */
rlx_status rlx_states_create_own(rlx_session *s, rlx_states **out);
/* The state of this name, created if there is none; one of another type is an error unless by_type. The entry does not
 * move as long as `st` exists. */
rlx_status rlx_states_get(rlx_states *st, const char *name, const rlx_type *type, rlx_state_entry **out);
/* Whether a state of this name and type exists, with its memory. */
bool rlx_states_has(rlx_states *st, const char *name, const rlx_type *type);
/* Runs of the session's worker are counted from their submission, so that later accesses are ordered after them. */
void rlx_states_begin_job(rlx_states *st);
void rlx_states_end_job(rlx_states *st);
bool rlx_states_have_jobs(rlx_states *st);
/* Before the host, or a run that the calling thread executes, accesses them: waits for the worker's runs; and for the queue
 * too, if the host accesses memory directly. */
void rlx_states_wait_for_jobs(rlx_states *st);
rlx_status rlx_states_settle(rlx_states *st);
rlx_status rlx_states_zero_one(rlx_states *st, rlx_state_entry *e);

#endif
