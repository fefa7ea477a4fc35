/* Submissions and their serials. */
#include "webgpu/queue.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"

/* ---- queues: names for the device's timeline ---- */

rlx_status wg_queue_create(rlx_device *d, rlx_queue **out) {
  *out = NULL;
  RLX_TRY(wg_check(wg_device_of(d)));
  rlx_queue *q = rlx_new(rlx_queue);
  if (!q) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a queue");
  q->device = d;
  *out = q;
  return RLX_OK;
}

void wg_queue_destroy(rlx_queue *q) {
  if (!q) return;
  wg_settle(wg_device_of(q->device));
  rlx_mem_free(q);
}

/* ---- submissions ---- */

rlx_status wg_batch_locked(wg_device *d, WGPUCommandEncoder *out) {
  *out = NULL;
  RLX_TRY(wg_check(d));
  if (!d->batch) d->batch = d->f->DeviceCreateCommandEncoder(d->handle, NULL);
  *out = d->batch;
  return d->batch ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "webgpu: a command encoder");
}

static void note_done(wg_device *d, uint64_t serial) {
  uint64_t seen = atomic_load(&d->completed);
  while (seen < serial && !atomic_compare_exchange_weak(&d->completed, &seen, serial)) {}
}

static void on_done(uint32_t status, WGPUStringView message, void *user1, void *user2) {
  (void)message;
  if (status == WGPU_STATUS_SUCCESS) note_done(user1, (uint64_t)(uintptr_t)user2);
}

static void submit_commands(wg_device *d, const WGPUCommandBuffer *commands, size_t n) {
  const uint64_t serial = ++d->submitted;
  if (d->f->QueueSubmitForIndex) d->indices[serial % WG_N_INDICES] = d->f->QueueSubmitForIndex(d->queue, n, commands);
  else d->f->QueueSubmit(d->queue, n, commands);
  d->f->QueueOnSubmittedWorkDone(d->queue, (WGPUDoneCallbackInfo){.mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS,
                                                                  .callback = on_done,
                                                                  .user1 = d,
                                                                  .user2 = (void *)(uintptr_t)serial});
}

rlx_status wg_submit_locked(wg_device *d, WGPUCommandBuffer commands, uint64_t *serial) {
  WGPUCommandBuffer all[2];
  size_t n = 0;
  rlx_status s = wg_check(d);
  wg_guard g;
  wg_guard_begin(&g);
  if (d->batch) {
    all[n] = s ? NULL : d->f->CommandEncoderFinish(d->batch, NULL);
    n += all[n] != NULL;
    d->f->CommandEncoderRelease(d->batch);
    d->batch = NULL;
  }
  if (commands) all[n++] = commands;
  if (!s) s = wg_check(d);
  if (!s && !g.type) submit_commands(d, all, n); /* wgpu-native ends the process if it cannot submit */
  for (size_t i = 0; i < n; i++) d->f->CommandBufferRelease(all[i]);
  rlx_status submitted = wg_guard_end(d, &g, "submitting work");
  if (!s) s = submitted;
  d->has_writes = false;
  d->written_bytes = 0;
  *serial = d->submitted;
  wg_reads_submitted(d, d->submitted, s != RLX_OK);
  return s;
}

rlx_status wg_submit(wg_device *d, WGPUCommandBuffer commands, uint64_t *serial) {
  rlx_log_lock(&d->lock);
  rlx_status s = wg_submit_locked(d, commands, serial);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status wg_queue_mark(rlx_queue *q, uint64_t *value) {
  wg_device *d = wg_device_of(q->device);
  rlx_log_lock(&d->lock);
  *value = d->submitted;
  rlx_status s = d->batch || d->has_writes ? wg_submit_locked(d, NULL, value) : wg_check(d);
  rlx_log_unlock(&d->lock);
  return s;
}

/* ---- waiting ---- */

static void nap(void) { rlx_os_sleep(50000); }

/* Runs callbacks; with `waits`, returns when the submission is done, where the library can wait. */
static void pump(const wg_device *d, uint64_t serial, WGPUSubmissionIndex index, bool waits) {
  if (!d->f->DevicePoll) {
    d->f->InstanceProcessEvents(d->loader->instance);
    if (waits && serial > atomic_load(&d->completed)) nap();
    return;
  }
  d->f->DevicePoll(d->handle, waits, waits ? &index : NULL);
}

static WGPUSubmissionIndex index_of(wg_device *d, uint64_t serial) {
  rlx_log_lock(&d->lock);
  const WGPUSubmissionIndex index = d->indices[serial % WG_N_INDICES]; /* or of a later one: longer, but right */
  rlx_log_unlock(&d->lock);
  return index;
}

rlx_status wg_wait(wg_device *d, uint64_t serial) {
  const WGPUSubmissionIndex index = serial > atomic_load(&d->completed) ? index_of(d, serial) : 0;
  wg_guard g;
  wg_guard_begin(&g);
  for (uint32_t i = 0; serial > atomic_load(&d->completed) && !atomic_load(&d->base.is_lost) && !g.type; i++) {
    pump(d, serial, index, true);
    if (i) nap(); /* another thread is running the callback */
  }
  RLX_TRY(wg_guard_end(d, &g, "waiting for the device"));
  if (serial > atomic_load(&d->completed)) return wg_check(d);
  rlx_log_lock(&d->lock);
  rlx_status s = wg_reads_fetch(d, serial);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status wg_queue_wait(rlx_queue *q, uint64_t value) { return wg_wait(wg_device_of(q->device), value); }

rlx_status wg_queue_poll(rlx_queue *q, uint64_t value, bool *out) {
  wg_device *d = wg_device_of(q->device);
  wg_guard g;
  wg_guard_begin(&g);
  if (value > atomic_load(&d->completed) && !atomic_load(&d->base.is_lost)) pump(d, value, 0, false);
  wg_guard_drop(&g);
  *out = true;
  if (atomic_load(&d->base.is_lost)) return RLX_OK; /* waiting reports it */
  *out = value <= atomic_load(&d->completed);
  return *out ? wg_wait(d, value) : RLX_OK; /* which fetches what was copied to the host */
}

/* All queues are one timeline, and a point is of work that was submitted. */
rlx_status wg_queue_after(rlx_queue *q, rlx_point point) {
  (void)point;
  return wg_check(wg_device_of(q->device));
}

void wg_settle(wg_device *d) {
  rlx_saved_message message;
  rlx_message_save(&message);
  rlx_queue q = {.device = &d->base};
  uint64_t value;
  if (!wg_queue_mark(&q, &value)) (void)(wg_wait(d, value) == RLX_OK);
  rlx_message_restore(&message);
}
