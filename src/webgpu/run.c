/* Encodes steps in parts of bounded cost and submits them. WebGPU orders dispatches that use the same buffers
 * itself. If the caller may stop the run, parts are smaller and each is waited for before the next. If it wants times,
 * they are the device's (times.h), or each step is a part, timed by the host's clock. In both cases the device is done
 * when the call returns. Otherwise the call waits only until few of the program's submissions are in flight. */
#include "base/budget.h"
#include "base/log.h"
#include "webgpu/moves.h"
#include "webgpu/times.h"

enum { WATCHED_PARTS = 4 };

typedef struct encoding {
  rlx_program *p;
  WGPUCommandEncoder encoder;  /* NULL: nothing is encoded */
  WGPUComputePassEncoder pass; /* NULL: not in a pass */
  WGPUComputePipeline bound;
  uint64_t cost, max_cost;
  size_t first, last; /* steps of the part */
  bool is_watched;
  bool is_ticked;   /* passes have times */
  size_t pass_step; /* of the pass, if so */
  size_t from;      /* first step of the run */
  const rlx_run_args *args;
  wg_guard guard; /* of the part, while there is an encoder */
} encoding;

static rlx_status frame(const encoding *e, rlx_status s) {
  return s ? gpu_program_frame_span(&e->p->body, s, e->first, e->last) : RLX_OK;
}

/* ---- parts ---- */

static void end_pass(encoding *e) {
  const wg_api *f = e->p->device->f;
  if (!e->pass) return;
  f->ComputePassEncoderEnd(e->pass);
  f->ComputePassEncoderRelease(e->pass);
  e->pass = NULL;
  e->bound = NULL;
}

static void drop(encoding *e) {
  end_pass(e);
  if (e->encoder) e->p->device->f->CommandEncoderRelease(e->encoder);
  e->encoder = NULL;
}

static rlx_status finish(encoding *e, WGPUCommandBuffer *out) {
  wg_device *d = e->p->device;
  wg_guard g;
  wg_catch_begin(&g, NULL);
  end_pass(e);
  if (e->is_ticked) wg_times_resolve(e->p, e->encoder);
  *out = d->f->CommandEncoderFinish(e->encoder, NULL);
  drop(e);
  rlx_status s = wg_catch_end(d, &g, "encoding");
  if (!s && !*out) s = RLX_FAIL(RLX_NO_MEMORY, "webgpu: a command buffer");
  if (s && *out) d->f->CommandBufferRelease(*out);
  return s;
}

static rlx_status end_guard(encoding *e) {
  return wg_guard_end(e->p->device, &e->guard, "%sencoding", wg_place_of(e->p, e->first, e->last).text);
}

/* Submits the part, and waits for it, or for an earlier one where too many are in flight. */
static rlx_status submit_pass(encoding *e) {
  rlx_program *p = e->p;
  WGPUCommandBuffer commands;
  if (!e->encoder) return RLX_OK;
  rlx_status s = finish(e, &commands);
  const uint64_t start_ns = e->is_ticked ? rlx_now_ns() : 0;
  const rlx_status caught = end_guard(e); /* before the submission, whose error would only say that there was one */
  if (!s) s = wg_submit(p->device, commands, wg_place_of(p, e->first, e->last).text, &p->last);
  if (s || caught) return frame(e, s ? s : caught);
  uint64_t *oldest = &p->in_flight[p->next_in_flight++ % WG_MAX_AHEAD];
  s = e->is_watched ? wg_queue_wait(p->queue, p->last) : wg_wait(p->device, *oldest);
  *oldest = p->last;
  if (!s && e->is_ticked) s = wg_times_read(p, start_ns, e->from, e->args);
  return frame(e, s);
}

static rlx_status stopped(encoding *e) {
  const rlx_status s = frame(e, RLX_FAIL(RLX_CANCELLED, "stopped by the caller"));
  rlx_saved_message message;
  rlx_message_save(&message);
  (void)(wg_wait(e->p->device, e->p->last) == RLX_OK); /* submitted work must not outlive the call */
  rlx_message_restore(&message);
  return s;
}

static rlx_status begin(encoding *e, size_t step) {
  wg_device *d = e->p->device;
  e->first = e->last = step;
  e->cost = 0;
  if (rlx_stops(e->args->cancel, e->args->cancel_user)) return stopped(e);
  RLX_TRY(wg_check(d));
  wg_guard_begin(d, &e->guard, wg_late_of(e->p->queue));
  e->encoder = d->f->DeviceCreateCommandEncoder(d->handle, NULL);
  if (e->encoder) return RLX_OK;
  RLX_TRY(end_guard(e));
  return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a command encoder");
}

/* Makes room for work of this cost: in the current part if that is empty or the work fits, otherwise in a new one. */
static rlx_status reserve(encoding *e, size_t step, uint64_t cost) {
  if (e->cost && (cost > e->max_cost || e->cost > e->max_cost - cost)) RLX_TRY(submit_pass(e));
  if (e->is_ticked && wg_times_full(e->p)) RLX_TRY(submit_pass(e));
  if (!e->encoder) RLX_TRY(begin(e, step));
  e->cost += cost ? cost : 1;
  e->last = step;
  return RLX_OK;
}

/* ---- steps ---- */

static void copy_windows(encoding *e, const wg_dispatch *made) {
  const wg_api *f = e->p->device->f;
  if (made->n_copies) end_pass(e);
  for (size_t i = made->first_copy; i < made->first_copy + made->n_copies; i++) {
    const wg_window_copy *c = &e->p->copies.v[i];
    f->CommandEncoderCopyBufferToBuffer(e->encoder, c->from, c->offset, e->p->apart, c->to, c->bytes);
  }
}

static rlx_status begin_pass(encoding *e, size_t step) {
  if (e->is_ticked && e->pass_step != step) end_pass(e);
  if (e->pass) return RLX_OK;
  e->pass = e->is_ticked ? wg_times_pass(e->p, e->encoder, step)
                         : e->p->device->f->CommandEncoderBeginComputePass(e->encoder, NULL);
  e->pass_step = step;
  return e->pass ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "webgpu: a compute pass");
}

static rlx_status dispatch(encoding *e, size_t i) {
  const wg_api *f = e->p->device->f;
  const gpu_bound_dispatch *q = &e->p->body.dispatches.v[i];
  const wg_dispatch *made = &e->p->dispatches[i];
  const uint32_t offset = (uint32_t)(i * WG_PARAMS_BYTES);
  RLX_TRY(reserve(e, q->step, q->cost));
  copy_windows(e, made);
  RLX_TRY(begin_pass(e, q->step));
  if (e->bound != made->pipeline) f->ComputePassEncoderSetPipeline(e->pass, made->pipeline);
  e->bound = made->pipeline;
  f->ComputePassEncoderSetBindGroup(e->pass, 0, made->windows, 0, NULL);
  f->ComputePassEncoderSetBindGroup(e->pass, 1, e->p->params_group, 1, &offset);
  f->ComputePassEncoderDispatchWorkgroups(e->pass, q->groups_x, q->groups_y, 1);
  return RLX_OK;
}

static rlx_status copy(encoding *e, size_t step, const gpu_step *s) {
  wg_device *d = e->p->device;
  const wg_range to = {wg_buffer(s->to.block), s->to.offset, s->copy_bytes},
                 from = {wg_buffer(s->from.block), s->from.offset, s->copy_bytes};
  RLX_TRY(reserve(e, step, s->copy_bytes));
  end_pass(e);
  if (e->is_ticked) wg_times_before(e->p, e->encoder, step);
  rlx_log_lock(&d->lock); /* it may write parameters */
  rlx_status status = wg_record_copy(d, e->encoder, &to, &from);
  d->has_writes = true;
  rlx_log_unlock(&d->lock);
  if (e->is_ticked) wg_times_after(e->p, e->encoder);
  return status;
}

static rlx_status encode_step(encoding *e, size_t step) {
  const gpu_step *s = &e->p->body.steps[step];
  for (size_t k = 0; k < s->n; k++) RLX_TRY(dispatch(e, s->first + k));
  return s->copy_bytes ? copy(e, step, s) : RLX_OK;
}

/* Each step is submitted by itself and waited for. */
static rlx_status encode_timed(encoding *e, size_t first, size_t n) {
  for (size_t i = first; i < first + n; i++) {
    if (e->args->begin_ns) e->args->begin_ns[i - first] = rlx_now_ns();
    RLX_TRY(encode_step(e, i));
    RLX_TRY(submit_pass(e));
    if (e->args->end_ns) e->args->end_ns[i - first] = rlx_now_ns();
  }
  return RLX_OK;
}

/* Steps that do nothing are in no pass: they begin and end with the step before. */
static void fill_times(const rlx_run_args *args, size_t n, uint64_t start_ns) {
  uint64_t latest = start_ns;
  for (size_t i = 0; i < n; i++) {
    uint64_t *begin = args->begin_ns ? &args->begin_ns[i] : &args->end_ns[i],
             *end = args->end_ns ? &args->end_ns[i] : begin;
    if (!*begin) *begin = *end = latest;
    latest = *end;
  }
}

static rlx_status encode(encoding *e, size_t first, size_t n) {
  const rlx_run_args *args = e->args;
  const bool is_timed = args->begin_ns || args->end_ns;
  const uint64_t start_ns = is_timed ? rlx_now_ns() : 0;
  e->is_ticked = is_timed && wg_times_ready(e->p);
  if (is_timed && !e->is_ticked) return encode_timed(e, first, n);
  e->p->times.n = 0;
  for (size_t i = 0; is_timed && i < n; i++) {
    if (args->begin_ns) args->begin_ns[i] = 0;
    if (args->end_ns) args->end_ns[i] = 0;
  }
  for (size_t i = first; i < first + n; i++) RLX_TRY(encode_step(e, i));
  RLX_TRY(submit_pass(e));
  if (is_timed) fill_times(args, n, start_ns);
  return RLX_OK;
}

/* ---- the call ---- */

static rlx_status run(encoding *e, size_t first, size_t n) {
  wg_guard g;
  wg_catch_begin(&g, wg_late_of(e->p->queue));
  rlx_status s = encode(e, first, n);
  if (e->encoder) { /* a part that was not sent */
    drop(e);
    const rlx_status caught = end_guard(e);
    if (!s) s = frame(e, caught);
  }
  const rlx_status caught = wg_catch_end(e->p->device, &g, "a run");
  return s ? s : frame(e, caught);
}

rlx_status wg_program_submit(rlx_program *p, size_t first, size_t n, const rlx_run_args *args) {
  if (first > p->body.n_steps || n > p->body.n_steps - first)
    return RLX_FAIL(RLX_INVALID, "webgpu: %zu steps from %zu: the program has %zu", n, first, p->body.n_steps);
  if (n == 0) return RLX_OK;
  const bool is_stoppable = args->cancel || args->is_stoppable, is_timed = args->begin_ns || args->end_ns;
  encoding e = {.p = p,
                .max_cost = p->device->submit_cost / (is_stoppable ? WATCHED_PARTS : 1),
                .first = first,
                .last = first + n - 1,
                .from = first,
                .is_watched = is_stoppable || is_timed,
                .args = args};
  if (p->run_block) { /* in order with the run before, which may still read its own number */
    const uint32_t words[4] = {(uint32_t)args->draw, (uint32_t)(args->draw >> 32), 0, 0};
    RLX_TRY(frame(&e, wg_write(p->queue, p->run_block, 0, words, sizeof words)));
  }
  return run(&e, first, n);
}
