/* Launches the parts of a recording in order. If the caller may stop the run, each part is waited for before the next;
 * if it wants times, events are recorded around each step and the last is waited for. In both cases the device is done
 * when the call returns, and a failure names the nodes that ran. Otherwise the call does not wait. */
#include "base/budget.h"
#include "base/log.h"
#include "base/mem.h"
#include "cuda/program.h"

static rlx_status frame(const rlx_program *p, rlx_status s, size_t first, size_t last) {
  return gpu_program_frame_span(&p->body, s, first, last);
}

/* ---- launching, under the queue's lock ---- */

static rlx_status launch_step(rlx_program *p, size_t index) {
  const cu_driver *f = p->device->f;
  const gpu_step *step = &p->body.steps[index];
  CUresult r = CUDA_SUCCESS;
  for (size_t k = step->first; k < step->first + step->n && !r; k++) {
    const gpu_bound_dispatch *q = &p->body.dispatches.v[k];
    if (p->dispatches[k].product) {
      RLX_TRY(cu_product_launch(p->device, p->dispatches[k].product, p->queue->stream));
      continue;
    }
    cu_arguments arguments;
    cu_arguments_of(p, k, &arguments);
    r = f->LaunchKernel(p->dispatches[k].function, q->groups_x, q->groups_y, 1, q->group_size, 1, 1, q->dynamic_bytes,
                        p->queue->stream, arguments.v, NULL);
  }
  if (!r && step->copy_bytes)
    r = f->MemcpyDtoDAsync(cu_address(step->to.block) + step->to.offset,
                           cu_address(step->from.block) + step->from.offset, step->copy_bytes, p->queue->stream);
  return r ? cu_fail(p->device, r, "launching") : RLX_OK;
}

static rlx_status launch_part_locked(rlx_program *p, const cu_part *part) {
  p->queue->is_dirty = true;
  p->last = p->queue->submitted + 1;
  if (part->graph) {
    CUresult r = p->device->f->GraphLaunch(part->graph, p->queue->stream);
    return r ? cu_fail(p->device, r, "launching a graph") : RLX_OK;
  }
  for (size_t i = part->first; i <= part->last; i++) RLX_TRY(launch_step(p, i));
  return RLX_OK;
}

static rlx_status launch_part(rlx_program *p, const cu_part *part) {
  rlx_log_lock(&p->queue->lock);
  rlx_status s = launch_part_locked(p, part);
  rlx_log_unlock(&p->queue->lock);
  return s ? frame(p, s, part->first, part->last) : RLX_OK;
}

static rlx_status wait_for_all(rlx_program *p) {
  uint64_t serial;
  RLX_TRY(cu_mark(p->queue, &serial));
  return cu_wait(p->queue, serial);
}

/* ---- the three manners ---- */

/* A span that has run often is walked from now on. One that cannot be made a kernel stays a graph. */
static void consider_walking(rlx_program *p, cu_recording *r) {
  if (++r->n_runs != p->device->walk_runs) return;
  rlx_saved_message message;
  rlx_message_save(&message);
  if (cu_walk_create(p, r->first, r->n, &r->walk))
    rlx_log_write(RLX_LOG_WARN, "cuda: %zu steps as one kernel: %s", r->n, rlx_message());
  rlx_message_restore(&message);
}

static rlx_status launch_walk(rlx_program *p, const cu_recording *r) {
  rlx_log_lock(&p->queue->lock);
  p->queue->is_dirty = true;
  p->last = p->queue->submitted + 1;
  CUresult failed = cu_walk_launch(p, r->walk);
  rlx_status s = failed ? cu_fail(p->device, failed, "launching %zu steps as one kernel", r->n) : RLX_OK;
  rlx_log_unlock(&p->queue->lock);
  return s ? frame(p, s, r->first, r->first + r->n - 1) : RLX_OK;
}

static rlx_status run_plain(rlx_program *p, size_t first, size_t n) {
  cu_recording *r;
  RLX_TRY(cu_program_record(p, first, n, CU_PLAIN, &r));
  consider_walking(p, r);
  if (r->walk) return launch_walk(p, r);
  for (size_t i = 0; i < r->parts.n; i++) RLX_TRY(launch_part(p, &r->parts.v[i]));
  return RLX_OK;
}

static rlx_status run_watched(rlx_program *p, size_t first, size_t n, const rlx_run_args *args) {
  cu_recording *r;
  RLX_TRY(cu_program_record(p, first, n, CU_WATCHED, &r));
  for (size_t i = 0; i < r->parts.n; i++) {
    const cu_part *part = &r->parts.v[i];
    if (rlx_stops(args->cancel, args->cancel_user))
      return frame(p, RLX_FAIL(RLX_CANCELLED, "stopped by the caller"), part->first, part->first);
    rlx_status s = launch_part(p, part);
    if (s) return s;
    s = wait_for_all(p);
    if (s) return frame(p, s, part->first, part->last);
  }
  return RLX_OK;
}

/* Launches each step by itself between two events. */
static rlx_status launch_timed(rlx_program *p, size_t first, size_t n, CUevent *events, const rlx_run_args *args) {
  const cu_driver *f = p->device->f;
  CUresult r = CUDA_SUCCESS;
  for (size_t i = 0; i <= n && !r; i++) r = f->EventCreate(&events[i], CU_EVENT_DEFAULT);
  if (!r) r = f->EventRecord(events[0], p->queue->stream);
  if (r) return cu_fail(p->device, r, "%zu events", n + 1);
  for (size_t i = 0; i < n; i++) {
    const cu_part part = {.first = first + i, .last = first + i};
    if (rlx_stops(args->cancel, args->cancel_user)) {
      RLX_TRY(wait_for_all(p));
      return frame(p, RLX_FAIL(RLX_CANCELLED, "stopped by the caller"), first + i, first + i);
    }
    RLX_TRY(launch_part(p, &part));
    r = f->EventRecord(events[i + 1], p->queue->stream);
    if (r) return frame(p, cu_fail(p->device, r, "an event"), first + i, first + i);
  }
  rlx_status s = wait_for_all(p);
  return s ? frame(p, s, first, first + n - 1) : RLX_OK;
}

/* Converts to nanoseconds of the host's clock; the first event is the time of submission. */
static void read_times(const rlx_program *p, size_t n, const CUevent *events, uint64_t start_ns,
                       const rlx_run_args *args) {
  uint64_t latest = start_ns;
  for (size_t i = 0; i < n; i++) {
    float ms = 0;
    if (args->begin_ns) args->begin_ns[i] = latest;
    if (!p->device->f->EventElapsedTime(&ms, events[0], events[i + 1]) && ms > 0) {
      const uint64_t now = start_ns + (uint64_t)((double)ms * 1e6);
      if (now > latest) latest = now;
    }
    if (args->end_ns) args->end_ns[i] = latest;
  }
}

static rlx_status run_timed(rlx_program *p, size_t first, size_t n, const rlx_run_args *args) {
  CUevent *events = rlx_mem_calloc(n + 1, sizeof *events);
  if (!events) return RLX_FAIL(RLX_NO_MEMORY, "cuda: %zu events", n + 1);
  const uint64_t start_ns = rlx_now_ns();
  rlx_status s = launch_timed(p, first, n, events, args);
  if (!s) read_times(p, n, events, start_ns, args);
  for (size_t i = 0; i <= n; i++)
    if (events[i]) p->device->f->EventDestroy(events[i]);
  rlx_mem_free(events);
  return s;
}

/* ---- the call ---- */

/* In order with the program before, which may still read its own number. */
static rlx_status write_run_words(rlx_program *p, uint64_t draw) {
  const uint32_t run_words[4] = {(uint32_t)draw, (uint32_t)(draw >> 32), 0, 0};
  rlx_log_lock(&p->queue->lock);
  rlx_status s = cu_write_locked(p->queue, cu_address(p->run_block), run_words, sizeof run_words);
  rlx_log_unlock(&p->queue->lock);
  return s;
}

rlx_status cu_program_submit(rlx_program *p, size_t first, size_t n, const rlx_run_args *args) {
  if (first > p->body.n_steps || n > p->body.n_steps - first)
    return RLX_FAIL(RLX_INVALID, "cuda: %zu steps from %zu: the program has %zu", n, first, p->body.n_steps);
  if (n == 0) return RLX_OK;
  RLX_TRY(cu_enter(p->device));
  rlx_status s = p->run_block ? write_run_words(p, args->draw) : RLX_OK;
  if (s) s = frame(p, s, first, first + n - 1);
  else if (args->begin_ns || args->end_ns) s = run_timed(p, first, n, args);
  else if (args->cancel || args->is_stoppable) s = run_watched(p, first, n, args);
  else s = run_plain(p, first, n);
  cu_leave(p->device);
  return s;
}
