/* Running: the parts of a recording are submitted one behind the other and waited for; where the caller may want to stop,
 * smaller ones and one at a time: what has been submitted ends first. When it returns, the device is done: so a failure can name the nodes that were running.
 *
 * A run ahead is not waited for, only one some way before it: the device always has the next work at hand, and never so much
 * of it that the slots of the staging ring, whose copies go between the runs, are all in use. */
#include "base/budget.h"
#include "base/log.h"
#include "vulkan/program.h"

/* "nodes 3 (matmul) to 9 (add)" */
static rlx_status frame(const rlx_program *p, rlx_status s, size_t first, size_t last) {
  rlx_node a = p->steps[first].node, b = p->steps[last].node;
  if (first == last) return rlx_fail_frame(s, "node %u (%s)", (unsigned)a, rlx_node_op(p->graph, a));
  return rlx_fail_frame(s, "nodes %u (%s) to %u (%s)", (unsigned)a, rlx_node_op(p->graph, a), (unsigned)b,
                        rlx_node_op(p->graph, b));
}

static rlx_status wait_parts(rlx_program *p, const vk_part *from, const vk_part *last, uint64_t serial) {
  rlx_status s = vk_wait(p->device, serial);
  return s ? frame(p, s, from->first, last->last) : RLX_OK;
}

static bool is_watched(const rlx_run_args *args) { return args->cancel || rlx_budget_is_watched(); }

static rlx_status run_parts(rlx_program *p, const vk_recording *r, const rlx_run_args *args) {
  uint64_t serial = 0;
  const vk_part *v = r->parts.v, *waiting = v; /* the first part that is not known to be done */
  rlx_status s = RLX_OK;
  size_t i = 0;
  const bool one_by_one = is_watched(args);
  for (; i < r->parts.n && !s; i++) {
    if (one_by_one && i) {
      RLX_TRY(wait_parts(p, waiting, &v[i - 1], serial));
      waiting = &v[i];
    }
    if (rlx_stops(args->cancel, args->cancel_user))
      return frame(p, RLX_FAIL(RLX_CANCELLED, "stopped by the caller"), v[i].first, v[i].first);
    s = vk_submit(p->device, v[i].cmd, &serial);
    if (s) s = frame(p, s, v[i].first, v[i].last);
  }
  if (!s) return wait_parts(p, waiting, &v[r->parts.n - 1], serial);
  if (s != RLX_DEVICE_LOST && i > 1) {
    rlx_status done = vk_wait(p->device, serial); /* what was sent before must not run on behind the caller's back */
    if (done) s = frame(p, done, waiting->first, v[i - 1].last);
  }
  return s;
}

/* ---- ahead ---- */

/* Submissions that are not done. */
enum { MAX_AHEAD = VK_N_SLOTS - 1 };

static rlx_status run_ahead(rlx_program *p, size_t first, size_t n) {
  const vk_recording *r;
  rlx_status s = vk_program_record(p, first, n, VK_AHEAD, &r);
  if (s) return frame(p, s, first, first + n - 1);
  for (size_t i = 0; i < r->parts.n; i++) {
    const vk_part *part = &r->parts.v[i];
    uint64_t serial;
    if (i && rlx_budget_stops()) {
      s = vk_wait(p->device, p->last); /* what was sent before must not run on behind the caller's back */
      return frame(p, s ? s : RLX_FAIL(RLX_CANCELLED, "stopped by the caller"), part->first, part->first);
    }
    s = vk_submit(p->device, part->cmd, &serial);
    if (!s) p->last = serial;
    if (!s && serial > MAX_AHEAD) s = vk_wait(p->device, serial - MAX_AHEAD);
    if (s) return frame(p, s, part->first, part->last);
  }
  return RLX_OK;
}

/* ---- times ---- */

/* Ticks of the device as nanoseconds of the host's clock: the first is when the work was handed over. */
static rlx_status read_times(rlx_program *p, const vk_recording *r, uint64_t start_ns, const rlx_run_args *args) {
  vk_device *d = p->device;
  const uint32_t bits = d->physical->timestamp_bits;
  const uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  const double period = d->physical->properties.limits.timestampPeriod;
  VkResult q = d->GetQueryPoolResults(d->handle, r->queries, 0, (uint32_t)r->n + 1, (r->n + 1) * sizeof *r->ticks,
                                      r->ticks, sizeof *r->ticks, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (q) return frame(p, vk_fail(d, q, "reading timestamps"), r->first, r->first + r->n - 1);
  uint64_t latest = 0; /* ticks since the first; a clock that steps back a little is held */
  for (size_t i = 0; i < r->n; i++) {
    if (args->begin_ns) args->begin_ns[i] = start_ns + (uint64_t)((double)latest * period);
    uint64_t now = (r->ticks[i + 1] - r->ticks[0]) & mask;
    if (now > latest && now <= mask / 2) latest = now;
    if (args->end_ns) args->end_ns[i] = start_ns + (uint64_t)((double)latest * period);
  }
  return RLX_OK;
}

static rlx_status run_span(rlx_program *p, size_t first, size_t n, const rlx_run_args *args, bool is_timed) {
  const vk_recording *r;
  rlx_status s = vk_program_record(p, first, n, is_timed ? VK_TIMED : is_watched(args) ? VK_WATCHED : VK_PLAIN, &r);
  if (s) return frame(p, s, first, first + n - 1);
  const uint64_t start_ns = is_timed ? rlx_now_ns() : 0;
  RLX_TRY(run_parts(p, r, args));
  return is_timed ? read_times(p, r, start_ns, args) : RLX_OK;
}

/* A device without a clock: each step by itself, and the host's clock around it. */
static rlx_status run_singly(rlx_program *p, size_t first, size_t n, const rlx_run_args *args) {
  for (size_t i = 0; i < n; i++) {
    if (args->begin_ns) args->begin_ns[i] = rlx_now_ns();
    RLX_TRY(run_span(p, first + i, 1, args, false));
    if (args->end_ns) args->end_ns[i] = rlx_now_ns();
  }
  return RLX_OK;
}

rlx_status vk_program_run(rlx_program *p, size_t first, size_t n, const rlx_run_args *args) {
  if (first > p->n_steps || n > p->n_steps - first)
    return RLX_FAIL(RLX_INVALID, "vulkan: %zu steps from %zu: the program has %zu", n, first, p->n_steps);
  if (n == 0) return RLX_OK;
  const bool wants_times = args->begin_ns || args->end_ns;
  if (p->reads_run_words) {
    rlx_status s = vk_wait(p->device, p->last); /* whoever runs ahead still reads the last number */
    if (s) return frame(p, s, first, first + n - 1);
    uint32_t *words = vk_range_map(&p->run_words);
    words[0] = (uint32_t)args->draw;
    words[1] = (uint32_t)(args->draw >> 32);
    words[2] = words[3] = 0;
  }
  if (args->ahead) return run_ahead(p, first, n);
  if (wants_times && (!p->device->physical->timestamp_bits || n >= UINT32_MAX)) return run_singly(p, first, n, args);
  return run_span(p, first, n, args, wants_times);
}
