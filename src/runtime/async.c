/* Asynchronous runs (rlx_run_async) and their completions.
 *
 * If the device executes all steps and nothing has to be observed between them, the calling thread submits the run to
 * the queue, followed by copies of its outputs to host memory. The completion stores the queue's point after those
 * copies. The first caller that polls or waits after the point is reached finishes the run: it copies the outputs to
 * the caller's memory and releases the executable. If there is a callback, the session's worker waits for the point.
 *
 * All other runs, and all runs on devices that compute in the calling thread, are jobs of the session's worker, which
 * executes them as rlx_run does. In both cases the executable's lock is held from the call until the run is finished.
 * The run therefore keeps everything that the executable retains; the caller may destroy the executable, the session
 * and the graph meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "runtime/executable.h"

typedef struct delivery { /* copy of an output from the download block */
  const rlx_arena_entry *from;
  uint64_t offset;
  void *to;
  size_t bytes;
} delivery;

struct rlx_completion {
  rlx_session *session;
  rlx_executable *e;
  void (*done)(void *user, rlx_status status);
  void *user;
  rlx_job job;
  rlx_named_tensor *outputs; /* a copy, owned by the run */
  size_t n_outputs;
  bool is_submitted; /* to the device; `point` is valid then */
  uint64_t point;
  delivery *deliveries;
  size_t n_deliveries;

  rlx_mutex lock; /* protects the fields below */
  int refs;       /* one for the caller, one for the run */
  rlx_cond changed;
  bool is_finishing, is_done; /* finishing: a thread waits for the point or copies the outputs */
  bool is_over;               /* the callback, if any, has returned */
  rlx_status status;
  rlx_saved_message message; /* of the failure, if status is one */
};

static void completion_free(rlx_completion *c) {
  rlx_cond_destroy(&c->changed);
  rlx_mutex_destroy(&c->lock);
  rlx_mem_free(c->outputs);
  rlx_mem_free(c->deliveries);
  rlx_session_release(c->session);
  rlx_mem_free(c);
}

/* Under the lock, which it unlocks. Counted there, or the last holder could free it while the other one unlocks. */
static void release_locked(rlx_completion *c) {
  const bool is_last = --c->refs == 0;
  rlx_mutex_unlock(&c->lock);
  if (is_last) completion_free(c);
}

static void release(rlx_completion *c) {
  rlx_mutex_lock(&c->lock);
  release_locked(c);
}

static rlx_status create(rlx_executable *e, const rlx_named_tensor *outputs, size_t n, const rlx_async_options *options,
                         rlx_completion **out) {
  *out = NULL;
  rlx_completion *c = rlx_new(rlx_completion);
  rlx_named_tensor *copy = rlx_mem_calloc(n, sizeof *copy);
  bool has_lock = c && copy && rlx_mutex_init(&c->lock);
  if (!has_lock || !rlx_cond_init(&c->changed)) {
    if (has_lock) rlx_mutex_destroy(&c->lock);
    rlx_mem_free(copy);
    rlx_mem_free(c);
    return RLX_FAIL(RLX_NO_MEMORY, "the completion of a run");
  }
  if (n) memcpy(copy, outputs, n * sizeof *copy);
  c->refs = 2;
  c->session = rlx_session_retain(e->states->session); /* the session that owns the queue */
  c->e = e;
  c->outputs = copy;
  c->n_outputs = n;
  c->done = options->done;
  c->user = options->user;
  *out = c;
  return RLX_OK;
}

/* The run is complete; the executable is unlocked or already freed. */
static void complete(rlx_completion *c, rlx_status s) {
  rlx_mutex_lock(&c->lock);
  if (s) rlx_message_save(&c->message);
  c->status = s;
  c->is_done = true;
  rlx_cond_broadcast(&c->changed);
  rlx_mutex_unlock(&c->lock);
  if (c->done) c->done(c->user, s);
  rlx_mutex_lock(&c->lock);
  c->is_over = true;
  rlx_cond_broadcast(&c->changed);
  release_locked(c);
}

/* ---- runs executed by the session's worker ---- */

static void run_job(void *user) {
  rlx_completion *c = user;
  rlx_executable *e = c->e;
  rlx_lock_adopt(&e->lock);
  rlx_session_begin(e->session, &e->budget, "rlx_run_async", 0, &e->watch);
  if (e->has_states) rlx_states_enter_job(e->states);
  rlx_status s = rlx_run_prepared(e, c->outputs, c->n_outputs);
  if (e->has_states) rlx_states_leave_job(e->states);
  complete(c, rlx_leave(e, s));
}

/* ---- runs submitted to the device ---- */

static rlx_status add_delivery(rlx_completion *c, uint32_t output, void *to, size_t bytes, uint64_t *total) {
  const rlx_arena_entry *from = rlx_result_entry(c->e, output, bytes);
  if (!from) return RLX_UNSUPPORTED; /* no message: the worker runs it instead */
  c->deliveries[c->n_deliveries++] = (delivery){from, *total, to, bytes};
  *total += (bytes + 15) / 16 * 16;
  return RLX_OK;
}

/* Lists the outputs to copy to the caller's memory: those of the call and those that are bound. */
static rlx_status list_deliveries(rlx_completion *c, uint64_t *total) {
  rlx_executable *e = c->e;
  c->deliveries = rlx_mem_calloc(c->n_outputs + e->n_results, sizeof *c->deliveries);
  if (!c->deliveries) return RLX_FAIL(RLX_NO_MEMORY, "%zu outputs", c->n_outputs);
  for (size_t i = 0; i < c->n_outputs; i++) {
    const rlx_tensor *t = &c->outputs[i].tensor;
    RLX_TRY(add_delivery(c, rlx_result_find(e, c->outputs[i].name), t->data, t->bytes, total));
  }
  for (uint32_t i = 0; i < e->n_results; i++)
    if (e->results[i].bound) RLX_TRY(add_delivery(c, i, e->results[i].bound, e->results[i].bound_bytes, total));
  return RLX_OK;
}

static rlx_status make_download(rlx_executable *e, uint64_t bytes) {
  rlx_device *d = e->session->device;
  if (!bytes || (e->download && e->download->bytes >= bytes)) return RLX_OK;
  if (e->download) d->backend->block_destroy(d, e->download);
  e->download = NULL;
  RLX_TRY_AT(
    (d->backend->block_create_host ? d->backend->block_create_host : d->backend->block_create)(d, bytes, &e->download),
    "the outputs of a run in flight");
  return RLX_OK;
}

static rlx_status submit_all(rlx_completion *c) {
  rlx_executable *e = c->e;
  rlx_queue *q = rlx_executable_queue(e);
  RLX_TRY(rlx_steps_submit(e));
  atomic_fetch_add_explicit(&e->draw, 1, memory_order_relaxed);
  for (size_t i = 0; i < c->n_deliveries; i++) {
    const delivery *o = &c->deliveries[i];
    RLX_TRY(q->device->backend->copy(q, e->download, o->offset, o->from->at.block, o->from->at.offset, o->bytes));
  }
  RLX_TRY(rlx_feeds_submit(e));
  return q->device->backend->mark(q, &c->point);
}

static rlx_status submit(rlx_completion *c) {
  rlx_executable *e = c->e;
  RLX_TRY(rlx_run_begin(e));
  e->now->has_run = false;
  rlx_status s = submit_all(c);
  if (!s) return RLX_OK;
  s = rlx_steps_settle(e, s); /* no part of the run may be in flight when the call fails */
  rlx_run_end(e);
  return s;
}

/* Waits for the point, copies the outputs and unlocks the executable. */
static void finish(rlx_completion *c) {
  rlx_executable *e = c->e;
  rlx_queue *q = rlx_executable_queue(e);
  rlx_lock_adopt(&e->lock);
  rlx_status s = q->device->backend->wait(q, c->point);
  if (s) s = rlx_steps_frame(e, s);
  for (size_t i = 0; i < c->n_deliveries && !s; i++) {
    const delivery *o = &c->deliveries[i];
    if (o->bytes) memcpy(o->to, (const char *)e->download->map + o->offset, o->bytes);
  }
  e->now->has_run = !s;
  rlx_run_end(e);
  rlx_lock_release(&e->lock);
  complete(c, s);
}

static void finish_job(void *user) { finish(user); }

/* Submits the run if the device can execute it without the host; otherwise is_submitted stays false. */
static rlx_status try_to_submit(rlx_completion *c) {
  uint64_t bytes = 0;
  if (!rlx_steps_can_submit(c->e) || !rlx_feeds_can_submit(c->e) || rlx_budget_is_watched()) return RLX_OK;
  if (rlx_states_have_jobs(c->e->states)) return RLX_OK; /* it would overtake them */
  rlx_status s = list_deliveries(c, &bytes);
  if (s == RLX_UNSUPPORTED) return RLX_OK;
  if (s) return s;
  RLX_TRY(make_download(c->e, bytes));
  if (c->e->has_states) RLX_TRY(rlx_states_begin(c->e->states, "rlx_run_async"));
  s = submit(c);
  if (c->e->has_states) rlx_states_end(c->e->states); /* from here on the queue orders accesses */
  c->is_submitted = !s;
  return s;
}

/* ---- the calls ---- */

static rlx_status run_async(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs,
                            rlx_named_tensor *outputs, size_t n_outputs, const rlx_async_options *options,
                            rlx_completion **out) {
  RLX_TRY(rlx_run_prepare(e, inputs, n_inputs, outputs, n_outputs));
  rlx_completion *c;
  RLX_TRY(create(e, outputs, n_outputs, options, &c));
  rlx_status s = try_to_submit(c);
  if (s) {
    completion_free(c); /* no run holds it */
    return s;
  }
  *out = c;
  return RLX_OK;
}

/* Queues the run on the worker, if it needs one. The executable's lock is detached by now: it belongs to the run. */
static rlx_status hand_over(rlx_completion *c) {
  c->job = (rlx_job){.run = c->is_submitted ? finish_job : run_job, .user = c};
  if (c->is_submitted && !c->done) return RLX_OK;
  rlx_states *st = c->is_submitted || !c->e->has_states ? NULL : c->e->states;
  if (st) RLX_TRY(rlx_states_add_job(st, "rlx_run_async"));
  rlx_status s = rlx_worker_add(c->session->worker, &c->job); /* from here on the run may be over */
  if (s && st) rlx_states_drop_job(st);
  return s;
}

rlx_status rlx_run_async(rlx_executable *e, const rlx_named_tensor *inputs, size_t n_inputs, rlx_named_tensor *outputs,
                         size_t n_outputs, const rlx_async_options *options, rlx_completion **out) {
  rlx_async_options own;
  rlx_completion *c = NULL;
  if (out) *out = NULL;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_async_options", options, &own), "rlx_run_async");
  if (!out && !own.done) return RLX_FAIL(RLX_INVALID, "rlx_run_async: out is NULL and there is no callback");
  RLX_TRY(rlx_enter(e, "rlx_run_async"));
  rlx_status s = rlx_budget_end(&e->budget, run_async(e, inputs, n_inputs, outputs, n_outputs, &own, &c));
  if (s) {
    rlx_lock_release(&e->lock);
    return s;
  }
  if (out) *out = c;
  rlx_lock_detach(&e->lock);
  s = hand_over(c); /* from here on the executable may be freed */
  if (s && c->is_submitted) {
    finish(c); /* no thread is available: the callback is called here */
    s = RLX_OK;
  }
  if (s) {
    rlx_lock_adopt(&e->lock);
    rlx_lock_release(&e->lock);
    completion_free(c);
    if (out) *out = NULL;
  } else if (!out) release(c);
  return s;
}

/* Under the lock. Finishes a submitted run if its point is reached or the caller waits. A run with a callback is
 * finished by the worker. */
static void try_to_finish(rlx_completion *c, bool waits) {
  if (!c->is_submitted || c->done || c->is_done || c->is_finishing) return;
  rlx_queue *q = rlx_session_queue(c->session);
  bool is_reached = waits;
  if (!waits && q->device->backend->poll(q, c->point, &is_reached)) is_reached = true; /* finish returns the error */
  if (!is_reached) return;
  c->is_finishing = true;
  rlx_mutex_unlock(&c->lock);
  finish(c);
  rlx_mutex_lock(&c->lock);
}

bool rlx_completion_is_done(rlx_completion *c) {
  if (!c || rlx_session_check(c->session, "rlx_completion_is_done")) return false;
  rlx_mutex_lock(&c->lock);
  try_to_finish(c, false);
  bool is_done = c->is_done;
  rlx_mutex_unlock(&c->lock);
  return is_done;
}

rlx_status rlx_completion_wait(rlx_completion *c) {
  if (!c) return RLX_FAIL(RLX_INVALID, "rlx_completion_wait: the completion is NULL");
  RLX_TRY(rlx_session_check(c->session, "rlx_completion_wait"));
  rlx_mutex_lock(&c->lock);
  try_to_finish(c, true);
  while (!c->is_done) {
    rlx_mutex_unlock(&c->lock);
    const bool helped = rlx_worker_run_next(c->session->worker); /* a callback may wait for a later run */
    rlx_mutex_lock(&c->lock);
    if (!helped && !c->is_done) rlx_cond_wait(&c->changed, &c->lock);
  }
  rlx_status s = c->status;
  if (s) rlx_message_restore(&c->message);
  rlx_mutex_unlock(&c->lock);
  return s;
}

void rlx_completion_destroy(rlx_completion *c) {
  if (!c || rlx_session_check(c->session, "rlx_completion_destroy")) return;
  rlx_saved_message message;
  rlx_message_save(&message);
  (void)!rlx_completion_wait(c);
  rlx_message_restore(&message);
  /* When this returns, no part of the run is left, unless the callback itself is the caller. */
  rlx_mutex_lock(&c->lock);
  while (!c->is_over && !rlx_worker_is_inside(c->session->worker)) rlx_cond_wait(&c->changed, &c->lock);
  release_locked(c);
}
