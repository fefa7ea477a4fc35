/* Pairs of queries, one for each pass of a part. */
#include "webgpu/times.h"

#include "base/log.h"
#include "base/mem.h"

enum { MAX_PAIRS = 1024 }; /* of a part; a set has at most 4096 queries */
static const uint32_t no_query = UINT32_MAX;

/* ---- what is needed ---- */

static bool create(rlx_program *p) {
  wg_device *d = p->device;
  wg_times *t = &p->times;
  const uint32_t n = 2 * MAX_PAIRS;
  const uint64_t bytes = n * sizeof *t->ticks;
  t->ticks = rlx_bump_array(&p->body.memory, uint64_t, n);
  t->steps = rlx_bump_array(&p->body.memory, size_t, MAX_PAIRS);
  if (!t->ticks || !t->steps) return false;
  wg_guard g;
  wg_guard_begin(d, &g, NULL);
  t->set = d->f->DeviceCreateQuerySet(d->handle, &(WGPUQuerySetDescriptor){.type = WGPU_QUERY_TIMESTAMP, .n = n});
  t->buffer = d->f->DeviceCreateBuffer(
    d->handle, &(WGPUBufferDescriptor){.usage = WGPU_BUFFER_QUERY_RESOLVE | WGPU_BUFFER_COPY_SRC, .bytes = bytes});
  return wg_guard_wait(d, &g, "timestamps") == RLX_OK && t->set && t->buffer;
}

bool wg_times_ready(rlx_program *p) {
  wg_times *t = &p->times;
  if (!p->device->has_timestamps || t->is_refused) return false;
  if (t->set) return true;
  rlx_saved_message message;
  rlx_message_save(&message);
  if (!create(p)) {
    rlx_log_write(RLX_LOG_INFO, "webgpu: steps are timed by the host's clock: %s", rlx_message());
    wg_times_deinit(p);
    t->is_refused = true;
  }
  rlx_message_restore(&message);
  return !t->is_refused;
}

void wg_times_deinit(rlx_program *p) {
  const wg_device *d = p->device;
  if (p->times.set) d->f->QuerySetRelease(p->times.set);
  wg_buffer_release(d, p->times.buffer);
  p->times = (wg_times){0};
}

/* ---- commands ---- */

bool wg_times_full(const rlx_program *p) { return p->times.n == MAX_PAIRS; }

static WGPUComputePassEncoder begin_pass(const rlx_program *p, WGPUCommandEncoder e, uint32_t begin, uint32_t end) {
  const WGPUPassTimestampWrites writes = {.set = p->times.set, .begin = begin, .end = end};
  return p->device->f->CommandEncoderBeginComputePass(e, &(WGPUComputePassDescriptor){.timestamps = &writes});
}

static void empty_pass(const rlx_program *p, WGPUCommandEncoder e, uint32_t begin, uint32_t end) {
  WGPUComputePassEncoder pass = begin_pass(p, e, begin, end);
  if (!pass) return;
  p->device->f->ComputePassEncoderEnd(pass);
  p->device->f->ComputePassEncoderRelease(pass);
}

WGPUComputePassEncoder wg_times_pass(rlx_program *p, WGPUCommandEncoder e, size_t step) {
  const uint32_t pair = p->times.n++;
  p->times.steps[pair] = step;
  return begin_pass(p, e, 2 * pair, 2 * pair + 1);
}

void wg_times_before(rlx_program *p, WGPUCommandEncoder e, size_t step) {
  p->times.steps[p->times.n] = step;
  empty_pass(p, e, 2 * p->times.n, no_query);
}

void wg_times_after(rlx_program *p, WGPUCommandEncoder e) { empty_pass(p, e, no_query, 2 * p->times.n++ + 1); }

void wg_times_resolve(rlx_program *p, WGPUCommandEncoder e) {
  if (p->times.n) p->device->f->CommandEncoderResolveQuerySet(e, p->times.set, 0, 2 * p->times.n, p->times.buffer, 0);
}

/* ---- results ---- */

static rlx_status fetch(rlx_program *p, uint64_t bytes) {
  wg_device *d = p->device;
  uint64_t serial = 0;
  rlx_log_lock(&d->lock);
  rlx_status s = wg_read_locked(d, p->times.buffer, 0, p->times.ticks, bytes);
  if (!s) s = wg_submit_locked(d, &serial);
  rlx_log_unlock(&d->lock);
  return s ? s : wg_queue_wait(p->queue, serial);
}

/* The first tick is the time of submission. Times never decrease, even if the device's clock steps back a little. */
rlx_status wg_times_read(rlx_program *p, uint64_t start_ns, size_t first, const rlx_run_args *args) {
  wg_times *t = &p->times;
  const uint32_t n = t->n;
  const double period = p->device->f->QueueGetTimestampPeriod
                          ? (double)p->device->f->QueueGetTimestampPeriod(p->device->queue)
                          : 1.0; /* of the specification: nanoseconds */
  t->n = 0;
  if (!n) return RLX_OK;
  RLX_TRY(fetch(p, 2 * (uint64_t)n * sizeof *t->ticks));
  uint64_t latest = start_ns;
  for (uint32_t i = 0; i < 2 * n; i++) {
    const uint64_t ticks = t->ticks[i] > t->ticks[0] ? t->ticks[i] - t->ticks[0] : 0;
    const uint64_t now = start_ns + (uint64_t)((double)ticks * period);
    const size_t at = t->steps[i / 2] - first;
    if (now > latest) latest = now;
    if (i % 2 == 0 && args->begin_ns && !args->begin_ns[at]) args->begin_ns[at] = latest; /* of its first pass */
    if (i % 2 && args->end_ns) args->end_ns[at] = latest;
  }
  return RLX_OK;
}
