/* Submits the parts of a recording in order. If the caller may stop the run, each part is waited for before the next;
 * if it wants times, the last part is waited for. In both cases the device is done when the call returns, and a failure
 * names the nodes that ran. Otherwise the call waits only until few of the program's submissions are in flight: the
 * device always has work queued, and the copies between the runs find a free slot in the staging ring. */
#include "base/budget.h"
#include "base/log.h"
#include "vulkan/program.h"

static rlx_status frame(const rlx_program *p, rlx_status s, size_t first, size_t last) {
  return gpu_program_frame_span(&p->body, s, first, last);
}

static bool is_watched(const rlx_run_args *args) { return args->cancel || args->is_stoppable; }

static rlx_status submit_part(rlx_program *p, const vk_part *part) {
  rlx_status s = vk_submit(p->queue, part->cmd, &p->last);
  return s ? frame(p, s, part->first, part->last) : RLX_OK;
}

/* ---- runs that are waited for ---- */

/* Work that was submitted must not outlive a call that failed. */
static rlx_status settle(rlx_program *p, rlx_status s, const vk_part *first, const vk_part *last) {
  rlx_status done = s == RLX_DEVICE_LOST ? RLX_OK : vk_wait(p->queue, p->last);
  return done ? frame(p, done, first->first, last->last) : s;
}

static rlx_status stopped(const rlx_program *p, const vk_part *part) {
  return frame(p, RLX_FAIL(RLX_CANCELLED, "stopped by the caller"), part->first, part->first);
}

static rlx_status run_parts(rlx_program *p, const vk_recording *r, const rlx_run_args *args) {
  const vk_part *v = r->parts.v, *waiting = v; /* the first part not known to be done */
  for (size_t i = 0; i < r->parts.n; i++) {
    rlx_status s = rlx_stops(args->cancel, args->cancel_user) ? stopped(p, &v[i]) : submit_part(p, &v[i]);
    if (s) return i ? settle(p, s, waiting, &v[i - 1]) : s;
    if (!is_watched(args) && i + 1 < r->parts.n) continue;
    RLX_TRY(settle(p, RLX_OK, waiting, &v[i]));
    waiting = &v[i + 1];
  }
  return RLX_OK;
}

/* ---- runs that are not waited for ---- */

static rlx_status send_parts(rlx_program *p, const vk_recording *r) {
  const vk_part *v = r->parts.v;
  for (size_t i = 0; i < r->parts.n; i++) {
    if (i && rlx_budget_stops()) return settle(p, stopped(p, &v[i]), v, &v[i - 1]);
    RLX_TRY(submit_part(p, &v[i]));
    uint64_t *oldest = &p->in_flight[p->next_in_flight++ % VK_MAX_AHEAD];
    rlx_status s = vk_wait(p->queue, *oldest);
    *oldest = p->last;
    if (s) return frame(p, s, v[i].first, v[i].last);
  }
  return RLX_OK;
}

/* ---- times ---- */

/* Converts ticks of the device to nanoseconds of the host's clock; the first tick is the time of submission. */
static rlx_status read_times(rlx_program *p, const vk_recording *r, uint64_t start_ns, const rlx_run_args *args) {
  vk_device *d = p->device;
  const uint32_t bits = d->physical->timestamp_bits;
  const uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  const double period = d->physical->properties.limits.timestampPeriod;
  VkResult q = d->GetQueryPoolResults(d->handle, r->queries, 0, (uint32_t)r->n + 1, (r->n + 1) * sizeof *r->ticks,
                                      r->ticks, sizeof *r->ticks, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (q) return frame(p, vk_fail(d, q, "reading timestamps"), r->first, r->first + r->n - 1);
  uint64_t latest = 0; /* ticks since the first; never decreases, even if the clock steps back a little */
  for (size_t i = 0; i < r->n; i++) {
    if (args->begin_ns) args->begin_ns[i] = start_ns + (uint64_t)((double)latest * period);
    uint64_t now = (r->ticks[i + 1] - r->ticks[0]) & mask;
    if (now > latest && now <= mask / 2) latest = now;
    if (args->end_ns) args->end_ns[i] = start_ns + (uint64_t)((double)latest * period);
  }
  return RLX_OK;
}

static rlx_status submit_span(rlx_program *p, size_t first, size_t n, const rlx_run_args *args, bool is_timed) {
  const vk_recording *r;
  const bool is_plain = !is_timed && !is_watched(args);
  rlx_status s = vk_program_record(p, first, n,
                                   is_timed           ? VK_TIMED
                                   : !is_plain        ? VK_WATCHED
                                   : args->is_awaited ? VK_AWAITED
                                                      : VK_PLAIN,
                                   &r);
  if (s) return frame(p, s, first, first + n - 1);
  if (is_plain) return send_parts(p, r);
  const uint64_t start_ns = is_timed ? rlx_now_ns() : 0;
  RLX_TRY(run_parts(p, r, args));
  return is_timed ? read_times(p, r, start_ns, args) : RLX_OK;
}

/* For a device without timestamps: runs each step by itself and reads the host's clock around it. */
static rlx_status run_singly(rlx_program *p, size_t first, size_t n, const rlx_run_args *args) {
  for (size_t i = 0; i < n; i++) {
    if (args->begin_ns) args->begin_ns[i] = rlx_now_ns();
    RLX_TRY(submit_span(p, first + i, 1, args, false));
    rlx_status s = vk_wait(p->queue, p->last);
    if (s) return frame(p, s, first + i, first + i);
    if (args->end_ns) args->end_ns[i] = rlx_now_ns();
  }
  return RLX_OK;
}

rlx_status vk_program_submit(rlx_program *p, size_t first, size_t n, const rlx_run_args *args) {
  if (first > p->body.n_steps || n > p->body.n_steps - first)
    return RLX_FAIL(RLX_INVALID, "vulkan: %zu steps from %zu: the program has %zu", n, first, p->body.n_steps);
  if (n == 0) return RLX_OK;
  const bool wants_times = args->begin_ns || args->end_ns;
  if (p->body.reads_run_words) {
    rlx_status s = vk_wait(p->queue, p->last); /* the previous run may still read its number */
    if (s) return frame(p, s, first, first + n - 1);
    uint32_t *words = vk_range_map(&p->run_words);
    words[0] = (uint32_t)args->draw;
    words[1] = (uint32_t)(args->draw >> 32);
    words[2] = words[3] = 0;
  }
  if (wants_times && (!p->device->physical->timestamp_bits || n >= UINT32_MAX)) return run_singly(p, first, n, args);
  return submit_span(p, first, n, args, wants_times);
}
