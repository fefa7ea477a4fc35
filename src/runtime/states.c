/* States: named, typed buffers, zeroed when created, shared by executables. */
#include "runtime/states.h"

#include <string.h>

#include "base/thread.h"

static void entry_free(rlx_states *st, rlx_state_entry *e) {
  rlx_block_pool_put(st->session->blocks, e->block);
  rlx_mem_free(e->name);
  rlx_mem_free(e);
}

static rlx_state_entry *find(const rlx_states *st, const char *name) {
  uint32_t i;
  return rlx_name_map_get(&st->names, name, &i) ? st->all.v[i] : NULL;
}

static rlx_status entry_make(rlx_states *st, const char *name, const rlx_type *type, rlx_state_entry **out) {
  size_t bytes, name_bytes = strlen(name) + 1;
  RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &bytes));
  rlx_state_entry *e = rlx_new(rlx_state_entry);
  if (!e) return RLX_FAIL(RLX_NO_MEMORY, "state '%s'", name);
  e->type = *type;
  e->bytes = bytes;
  e->next = find(st, name);
  rlx_status s = RLX_OK;
  if ((e->name = rlx_mem_alloc(name_bytes))) memcpy(e->name, name, name_bytes);
  if (!e->name || !rlx_array_reserve(&st->all, 1)) s = RLX_FAIL(RLX_NO_MEMORY, "state '%s'", name);
  if (!s) s = rlx_block_pool_get(st->session->blocks, bytes, true, &e->block);
  if (!s && !rlx_name_map_put(&st->names, e->name, (uint32_t)st->all.n))
    s = RLX_FAIL(RLX_NO_MEMORY, "state '%s'", name);
  if (s) {
    entry_free(st, e);
    return s;
  }
  st->all.v[st->all.n++] = *out = e;
  return RLX_OK;
}

static rlx_status get(rlx_states *st, const char *name, const rlx_type *type, rlx_state_entry **out) {
  for (rlx_state_entry *e = find(st, name); e; e = e->next) {
    if (rlx_type_equal(&e->type, type)) {
      *out = e;
      return RLX_OK;
    }
    if (!st->by_type)
      return RLX_FAIL(RLX_INVALID, "state '%s': expected %s%s, got %s%s", name, rlx_dtype_name(type->dtype),
                      RLX_DIMS_TEXT(type->shape), rlx_dtype_name(e->type.dtype), RLX_DIMS_TEXT(e->type.shape));
  }
  return entry_make(st, name, type, out);
}

rlx_status rlx_states_get(rlx_states *st, const char *name, const rlx_type *type, rlx_state_entry **out) {
  *out = NULL;
  rlx_mutex_lock(&st->lock);
  rlx_mem_source *before = rlx_mem_use(st->session->source); /* even for an executable of another session */
  rlx_status s = get(st, name, type, out);
  rlx_mem_use(before);
  rlx_mutex_unlock(&st->lock);
  return s;
}

bool rlx_states_has(rlx_states *st, const char *name, const rlx_type *type) {
  rlx_mutex_lock(&st->lock);
  const rlx_state_entry *e = find(st, name);
  while (e && !rlx_type_equal(&e->type, type)) e = e->next;
  rlx_mutex_unlock(&st->lock);
  return e != NULL;
}

rlx_status rlx_states_zero_one(rlx_states *st, rlx_state_entry *e) {
  rlx_queue *q = rlx_session_queue(st->session);
  RLX_TRY_AT(q->device->backend->zero(q, e->block, 0, e->bytes), "state '%s'", e->name);
  return RLX_OK;
}

/* ---- access ---- */

/* Under the lock. Without jobs, a user is a call that nobody may interrupt. With jobs it is the worker, because a call
 * begins only when there are none. */
static rlx_status check_free(const rlx_states *st, const char *call) {
  return st->user ? RLX_FAIL(RLX_BUSY, "%s: the states are in use by another call", call) : RLX_OK;
}

static void enter(rlx_states *st) {
  st->user = rlx_thread_self();
  st->depth++;
}

static void leave(rlx_states *st) {
  if (--st->depth == 0) st->user = NULL;
}

rlx_status rlx_states_begin(rlx_states *st, const char *call) {
  rlx_status s = RLX_OK;
  rlx_mutex_lock(&st->lock);
  const bool is_nested = st->user == rlx_thread_self();
  while (!is_nested && st->n_jobs > 0) {
    rlx_mutex_unlock(&st->lock);
    const bool helped = rlx_worker_run_next(st->session->worker); /* a callback of the worker would wait for itself */
    rlx_mutex_lock(&st->lock);
    if (!helped && st->n_jobs > 0) rlx_cond_wait(&st->job_ended, &st->lock);
  }
  if (!is_nested) s = check_free(st, call);
  if (!s) enter(st);
  rlx_mutex_unlock(&st->lock);
  return s;
}

void rlx_states_end(rlx_states *st) {
  rlx_mutex_lock(&st->lock);
  leave(st);
  rlx_mutex_unlock(&st->lock);
}

rlx_status rlx_states_settle(rlx_states *st) {
  rlx_queue *q = rlx_session_queue(st->session);
  return q->device->info.is_mapped ? rlx_queue_sync(q) : RLX_OK;
}

/* ---- jobs of the worker ---- */

rlx_status rlx_states_add_job(rlx_states *st, const char *call) {
  rlx_mutex_lock(&st->lock);
  rlx_status s = st->n_jobs ? RLX_OK : check_free(st, call);
  if (!s) st->n_jobs++;
  rlx_mutex_unlock(&st->lock);
  return s;
}

void rlx_states_enter_job(rlx_states *st) {
  rlx_mutex_lock(&st->lock);
  enter(st);
  rlx_mutex_unlock(&st->lock);
}

static void end_job(rlx_states *st, bool was_entered) {
  rlx_mutex_lock(&st->lock);
  if (was_entered) leave(st);
  st->n_jobs--;
  rlx_cond_broadcast(&st->job_ended);
  rlx_mutex_unlock(&st->lock);
}

void rlx_states_leave_job(rlx_states *st) { end_job(st, true); }
void rlx_states_drop_job(rlx_states *st) { end_job(st, false); }

bool rlx_states_have_jobs(rlx_states *st) {
  rlx_mutex_lock(&st->lock);
  const bool any = st->n_jobs > 0;
  rlx_mutex_unlock(&st->lock);
  return any;
}

rlx_status rlx_states_zero(rlx_states *st) {
  if (!st) return RLX_FAIL(RLX_INVALID, "rlx_states_zero: the states are NULL");
  RLX_TRY(rlx_session_check(st->session, "rlx_states_zero"));
  RLX_TRY(rlx_states_begin(st, "rlx_states_zero"));
  rlx_status s = rlx_states_settle(st);
  rlx_mutex_lock(&st->lock);
  for (size_t i = 0; i < st->all.n && !s; i++) s = rlx_states_zero_one(st, st->all.v[i]);
  rlx_mutex_unlock(&st->lock);
  rlx_states_end(st);
  return s;
}

static void states_free(rlx_states *st) {
  for (size_t i = 0; i < st->all.n; i++) entry_free(st, st->all.v[i]);
  rlx_array_deinit(&st->all);
  rlx_name_map_deinit(&st->names);
  rlx_cond_destroy(&st->job_ended);
  rlx_mutex_destroy(&st->lock);
  rlx_session_release(st->session);
  rlx_mem_free(st);
}

rlx_states *rlx_states_retain(rlx_states *st) {
  atomic_fetch_add_explicit(&st->refs, 1, memory_order_relaxed);
  return st;
}

void rlx_states_release(rlx_states *st) {
  if (st && rlx_session_check(st->session, "rlx_states_destroy")) return; /* belongs to the parent process */
  if (st && atomic_fetch_sub_explicit(&st->refs, 1, memory_order_acq_rel) == 1) states_free(st);
}

rlx_status rlx_states_create_own(rlx_session *s, rlx_states **out) {
  RLX_TRY(rlx_states_create(s, out));
  (*out)->by_type = true;
  return RLX_OK;
}

rlx_status rlx_states_create(rlx_session *s, rlx_states **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_states_create: out is NULL");
  *out = NULL;
  if (!s) return RLX_FAIL(RLX_INVALID, "rlx_states_create: the session is NULL");
  RLX_TRY(rlx_session_check(s, "rlx_states_create"));
  rlx_mem_source *before = rlx_mem_use(s->source);
  rlx_states *st = rlx_new(rlx_states);
  rlx_mem_use(before);
  if (!st) return RLX_FAIL(RLX_NO_MEMORY, "states");
  rlx_status status = rlx_session_mutex_init(&st->lock, false);
  if (!status && !rlx_cond_init(&st->job_ended)) {
    rlx_mutex_destroy(&st->lock);
    status = RLX_FAIL(RLX_NO_MEMORY, "the system refused a condition variable");
  }
  if (status) {
    rlx_mem_free(st);
    return status;
  }
  atomic_init(&st->refs, 1);
  st->session = rlx_session_retain(s);
  *out = st;
  return RLX_OK;
}

void rlx_states_destroy(rlx_states *st) { rlx_states_release(st); }
