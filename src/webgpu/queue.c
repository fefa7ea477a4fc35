/* Submissions and their serials. */
#include "webgpu/queue.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"

/* ---- queues: names for the device's timeline ---- */

rlx_status wg_queue_create(rlx_device *d, rlx_queue **out) {
  *out = NULL;
  RLX_TRY(wg_check(wg_device_of(d)));
  wg_queue *q = rlx_new(wg_queue);
  if (!q) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: a queue");
  q->base.device = d;
  *out = &q->base;
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

/* place: what is submitted, for errors that come late. */
static rlx_status submit_locked(wg_device *d, WGPUCommandBuffer commands, const char *place, uint64_t *serial) {
  WGPUCommandBuffer all[2];
  size_t n = 0;
  rlx_status s = wg_check(d);
  wg_guard g;
  wg_guard_begin(d, &g, NULL);
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
  rlx_status submitted = wg_guard_end(d, &g, "%ssubmitting work", place);
  if (!s) s = submitted;
  d->has_writes = false;
  d->written_bytes = 0;
  *serial = d->submitted;
  wg_reads_submitted(d, d->submitted, s != RLX_OK);
  return s;
}

rlx_status wg_submit_locked(wg_device *d, uint64_t *serial) { return submit_locked(d, NULL, "", serial); }

rlx_status wg_submit(wg_device *d, WGPUCommandBuffer commands, const char *place, uint64_t *serial) {
  rlx_log_lock(&d->lock);
  rlx_status s = submit_locked(d, commands, place, serial);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status wg_mark(wg_device *d, uint64_t *serial) {
  rlx_log_lock(&d->lock);
  *serial = d->submitted;
  rlx_status s = d->batch || d->has_writes ? wg_submit_locked(d, serial) : wg_check(d);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status wg_queue_mark(rlx_queue *q, uint64_t *value) {
  wg_device *d = wg_device_of(q->device);
  wg_guard g;
  wg_guard_begin(d, &g, wg_late_of(q));
  rlx_status s = wg_mark(d, value);
  rlx_status caught = wg_guard_end(d, &g, "submitting work");
  return s ? s : caught;
}

/* ---- waiting ---- */

static void nap(void) { rlx_os_sleep(50000); }

/* Runs callbacks; with `waits`, returns when the submission is done, where the library can wait. */
static void pump(const wg_device *d, WGPUSubmissionIndex index, bool waits) {
  if (d->f->DevicePoll) d->f->DevicePoll(d->handle, waits, waits ? &index : NULL);
  else wg_pump(d);
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
  wg_catch_begin(&g, NULL);
  for (uint32_t i = 0; serial > atomic_load(&d->completed) && !atomic_load(&d->base.is_lost) && !g.type; i++) {
    pump(d, index, true);
    if (i && !d->is_late) nap(); /* another thread is running the callback */
  }
  RLX_TRY(wg_catch_end(d, &g, "waiting for the device"));
  if (serial > atomic_load(&d->completed)) return wg_check(d);
  rlx_log_lock(&d->lock);
  rlx_status s = wg_reads_fetch(d, serial);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status wg_queue_wait(rlx_queue *q, uint64_t value) {
  wg_device *d = wg_device_of(q->device);
  rlx_status s = wg_wait(d, value);
  wg_answers_await(d);
  rlx_status late = wg_late_take(d, wg_late_of(q)), other = late ? RLX_OK : wg_late_take(d, &d->late);
  return s ? s : late ? late : other;
}

rlx_status wg_queue_poll(rlx_queue *q, uint64_t value, bool *out) {
  wg_device *d = wg_device_of(q->device);
  wg_guard g;
  wg_catch_begin(&g, NULL);
  if (value > atomic_load(&d->completed) && !atomic_load(&d->base.is_lost)) pump(d, 0, false);
  wg_catch_drop(&g);
  *out = true;
  if (atomic_load(&d->base.is_lost)) return RLX_OK; /* waiting reports it */
  *out = value <= atomic_load(&d->completed);
  return *out ? wg_queue_wait(q, value) : RLX_OK; /* which fetches what was copied to the host */
}

/* All queues are one timeline, and a point is of work that was submitted. */
rlx_status wg_queue_after(rlx_queue *q, rlx_point point) {
  (void)point;
  return wg_check(wg_device_of(q->device));
}

void wg_settle(wg_device *d) {
  rlx_saved_message message;
  rlx_message_save(&message);
  uint64_t serial;
  if (!wg_mark(d, &serial)) (void)(wg_wait(d, serial) == RLX_OK);
  wg_answers_await(d);
  rlx_message_restore(&message);
}
