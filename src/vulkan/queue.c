/* Submission of command buffers, and waiting with a timeline semaphore or a ring of fences. */
#include "vulkan/queue.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"

#include "vulkan/vk.h"

/* ---- creation and destruction ---- */

static rlx_status make_clock(vk_queue *q) {
  vk_device *d = q->device;
  VkResult r = VK_SUCCESS;
  if (d->physical->has_timeline && !d->is_minimal) {
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    r = d->CreateSemaphore(d->handle, &info, NULL, &q->timeline);
  } else {
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    for (uint32_t i = 0; i < VK_N_FENCES && !r; i++) r = d->CreateFence(d->handle, &info, NULL, &q->fences[i]);
  }
  return r ? vk_fail(d, r, "the queue's clock") : RLX_OK;
}

/* Assigns it to the hardware queue with the fewest sessions. */
static void link_queue(vk_queue *q) {
  vk_device *d = q->device;
  rlx_log_lock(&d->lock);
  q->hardware = &d->hardware[0];
  for (uint32_t i = 1; i < d->n_hardware; i++)
    if (d->hardware[i].n_users < q->hardware->n_users) q->hardware = &d->hardware[i];
  q->hardware->n_users++;
  q->id = ++d->last_queue_id;
  q->next = d->queues;
  d->queues = q;
  rlx_log_unlock(&d->lock);
}

/* Returns when no other thread waits for the queue. */
static void unlink_queue(vk_queue *q) {
  vk_device *d = q->device;
  if (!q->hardware) return;
  rlx_log_lock(&d->lock);
  vk_queue **at = &d->queues;
  while (*at != q) at = &(*at)->next;
  *at = q->next;
  q->hardware->n_users--;
  while (q->n_waiting) rlx_cond_wait(&d->waited, &d->lock);
  rlx_log_unlock(&d->lock);
}

/* Removes the waits of `other` for the semaphore that were not submitted yet, and returns its last submission with a
 * wait. */
static uint64_t drop_waits(vk_queue *other, VkSemaphore timeline) {
  rlx_log_lock(&other->lock);
  for (uint32_t i = 0; i < other->n_after; i++)
    if (other->after[i].timeline == timeline) other->after[i--] = other->after[--other->n_after];
  const uint64_t last = other->last_after;
  rlx_log_unlock(&other->lock);
  return last;
}

/* Waits for the submissions of other queues that wait for this queue's semaphore: they must complete before it is
 * destroyed. The device's lock is not held meanwhile, since third sessions need it. */
static void wait_for_followers(vk_queue *q) {
  vk_device *d = q->device;
  if (!q->timeline) return;
  bool is_idle = false;
  rlx_log_lock(&d->lock);
  for (vk_queue *other = d->queues; other;) {
    const uint64_t last = other == q ? 0 : drop_waits(other, q->timeline);
    if (is_idle || last <= atomic_load(&other->completed)) {
      other = other->next;
      continue;
    }
    other->n_waiting++;
    rlx_log_unlock(&d->lock);
    is_idle = vk_wait(other, last) != RLX_OK;
    if (is_idle) vk_settle(d);
    rlx_log_lock(&d->lock);
    other->n_waiting--;
    rlx_cond_broadcast(&d->waited);
    other = d->queues; /* the list may have changed */
  }
  rlx_log_unlock(&d->lock);
}

static void queue_free(vk_queue *q) {
  vk_device *d = q->device;
  vk_staging_deinit(q);
  if (q->timeline) d->DestroySemaphore(d->handle, q->timeline, NULL);
  for (uint32_t i = 0; i < VK_N_FENCES; i++)
    if (q->fences[i]) d->DestroyFence(d->handle, q->fences[i], NULL);
  if (q->has_lock) rlx_mutex_destroy(&q->lock);
  rlx_mem_free(q);
}

rlx_status vk_queue_create(rlx_device *base, rlx_queue **out) {
  vk_device *d = vk_device_of(base);
  *out = NULL;
  RLX_TRY(vk_check(d));
  vk_queue *q = rlx_new(vk_queue);
  if (!q) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a queue");
  q->base.device = base;
  q->device = d;
  q->has_lock = rlx_mutex_init(&q->lock);
  rlx_status s = q->has_lock ? make_clock(q) : RLX_FAIL(RLX_NO_MEMORY, "vulkan: a mutex");
  if (!s) s = vk_staging_init(q);
  if (s) {
    queue_free(q);
    return s;
  }
  link_queue(q);
  *out = &q->base;
  return RLX_OK;
}

void vk_queue_destroy(rlx_queue *base) {
  if (!base) return;
  vk_queue *q = vk_queue_of(base);
  uint64_t last;
  rlx_saved_message message;
  rlx_message_save(&message);
  if (vk_queue_mark(base, &last) || vk_wait(q, last)) vk_settle(q->device);
  rlx_message_restore(&message);
  wait_for_followers(q);
  unlink_queue(q);
  queue_free(q);
}

/* ---- waiting ---- */

static void note_done(vk_queue *q, uint64_t serial) {
  uint64_t seen = atomic_load(&q->completed);
  while (seen < serial && !atomic_compare_exchange_weak(&q->completed, &seen, serial)) {}
}

static rlx_status wait_timeline(vk_queue *q, uint64_t serial) {
  vk_device *d = q->device;
  const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .semaphoreCount = 1,
                                    .pSemaphores = &q->timeline,
                                    .pValues = &serial};
  VkResult r = d->WaitSemaphores(d->handle, &info, UINT64_MAX);
  if (r) return vk_fail(d, r, "waiting for the device");
  note_done(q, serial);
  return RLX_OK;
}

rlx_status vk_wait_locked(vk_queue *q, uint64_t serial) {
  vk_device *d = q->device;
  if (serial <= atomic_load(&q->completed)) return RLX_OK;
  if (q->timeline) return wait_timeline(q, serial);
  VkResult r = d->WaitForFences(d->handle, 1, &q->fences[serial % VK_N_FENCES], VK_TRUE, UINT64_MAX);
  if (r) return vk_fail(d, r, "waiting for the device");
  note_done(q, serial);
  return RLX_OK;
}

rlx_status vk_wait(vk_queue *q, uint64_t serial) {
  if (serial <= atomic_load(&q->completed)) return RLX_OK;
  if (q->timeline) return wait_timeline(q, serial);
  rlx_log_lock(&q->lock);
  rlx_status s = vk_wait_locked(q, serial);
  rlx_log_unlock(&q->lock);
  return s;
}

bool vk_is_done_locked(vk_queue *q, uint64_t serial) {
  vk_device *d = q->device;
  uint64_t now;
  if (serial <= atomic_load(&q->completed)) return true;
  if (!q->timeline) {
    if (d->GetFenceStatus(d->handle, q->fences[serial % VK_N_FENCES]) == VK_SUCCESS) note_done(q, serial);
  } else if (!d->GetSemaphoreCounterValue(d->handle, q->timeline, &now) && now <= q->submitted) {
    note_done(q, now); /* a lost device may return any value */
  }
  return serial <= atomic_load(&q->completed);
}

/* ---- submitting ---- */

/* Stores the failure's message for a later caller. */
static void keep_failure(vk_queue *q, rlx_status s) {
  rlx_log_lock(&q->lock);
  q->lost_status = s;
  snprintf(q->lost_why, sizeof q->lost_why, "%s", rlx_message());
  rlx_log_unlock(&q->lock);
}

static rlx_status take_failure(vk_queue *q) {
  rlx_status s = q->lost_status;
  q->lost_status = RLX_OK;
  return s ? RLX_FAIL(s, "%s", q->lost_why) : RLX_OK;
}

static VkResult submit_timeline(vk_queue *q, const VkSubmitInfo *work, uint64_t serial) {
  VkSemaphore waits[VK_MAX_AFTER];
  uint64_t values[VK_MAX_AFTER];
  VkPipelineStageFlags stages[VK_MAX_AFTER];
  for (uint32_t i = 0; i < q->n_after; i++) {
    waits[i] = q->after[i].timeline;
    values[i] = q->after[i].value;
    stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  }
  const VkTimelineSemaphoreSubmitInfo points = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .waitSemaphoreValueCount = q->n_after,
                                                .pWaitSemaphoreValues = values,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &serial};
  VkSubmitInfo info = *work;
  info.pNext = &points;
  info.waitSemaphoreCount = q->n_after;
  info.pWaitSemaphores = waits;
  info.pWaitDstStageMask = stages;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &q->timeline;
  rlx_log_lock(&q->hardware->lock);
  VkResult r = q->device->QueueSubmit(q->hardware->handle, 1, &info, VK_NULL_HANDLE);
  rlx_log_unlock(&q->hardware->lock);
  if (!r && q->n_after) q->last_after = serial;
  if (!r) q->n_after = 0;
  return r;
}

/* The caller has waited for the fence's previous serial, so a fence that a thread waits for is never reset. */
static VkResult submit_fence(vk_queue *q, const VkSubmitInfo *info, uint64_t serial) {
  vk_device *d = q->device;
  VkFence *fence = &q->fences[serial % VK_N_FENCES];
  VkResult r = d->ResetFences(d->handle, 1, fence);
  if (r) return r;
  rlx_log_lock(&q->hardware->lock);
  r = d->QueueSubmit(q->hardware->handle, 1, info, *fence);
  rlx_log_unlock(&q->hardware->lock);
  return r;
}

rlx_status vk_submit_locked(vk_queue *q, VkCommandBuffer cmd, uint64_t *serial) {
  VkCommandBuffer all[2];
  vk_slot *batch = NULL;
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pCommandBuffers = all};
  *serial = q->submitted;
  RLX_TRY(vk_check(q->device));
  RLX_TRY(take_failure(q));
  RLX_TRY(vk_batch_end_locked(q, &batch));
  if (batch) all[info.commandBufferCount++] = batch->cmd;
  if (cmd) all[info.commandBufferCount++] = cmd;
  if (info.commandBufferCount == 0) return RLX_OK;
  const uint64_t next = q->submitted + 1;
  if (!q->timeline && next > VK_N_FENCES) RLX_TRY(vk_wait_locked(q, next - VK_N_FENCES));
  VkResult r = q->timeline ? submit_timeline(q, &info, next) : submit_fence(q, &info, next);
  if (r) return vk_fail(q->device, r, "submitting work");
  q->submitted = *serial = next;
  if (batch) {
    batch->serial = next;
    q->staging.open = NULL;
  }
  return RLX_OK;
}

rlx_status vk_submit(vk_queue *q, VkCommandBuffer cmd, uint64_t *serial) {
  rlx_log_lock(&q->lock);
  rlx_status s = vk_submit_locked(q, cmd, serial);
  rlx_log_unlock(&q->lock);
  return s;
}

/* For a lost device the driver must return from this in finite time. Its objects may be destroyed only after it. */
void vk_settle(vk_device *d) {
  for (uint32_t i = 0; i < d->n_hardware; i++) rlx_log_lock(&d->hardware[i].lock);
  d->DeviceWaitIdle(d->handle);
  for (uint32_t i = d->n_hardware; i-- > 0;) rlx_log_unlock(&d->hardware[i].lock);
}

rlx_status vk_wait_pending(vk_device *d, uint64_t pending) {
  if (!pending) return RLX_OK;
  const uint32_t id = (uint32_t)(pending >> VK_SERIAL_BITS);
  const uint64_t serial = pending & ((UINT64_C(1) << VK_SERIAL_BITS) - 1);
  rlx_log_lock(&d->lock);
  vk_queue *q = d->queues;
  while (q && (q->id & VK_MAX_QUEUE_ID) != id) q = q->next;
  if (q) q->n_waiting++;
  rlx_log_unlock(&d->lock);
  if (!q) return RLX_OK; /* it was destroyed, which waited for its work */
  rlx_status s = RLX_OK;
  if (serial > atomic_load(&q->completed)) {
    uint64_t last; /* a batch that failed to record is dropped, and its serial is never reached */
    s = vk_queue_mark(&q->base, &last);
    if (s) keep_failure(q, s);
    else s = vk_wait(q, serial < last ? serial : last);
    if (s) vk_settle(d);
  }
  rlx_log_lock(&d->lock);
  q->n_waiting--;
  rlx_cond_broadcast(&d->waited);
  rlx_log_unlock(&d->lock);
  return s;
}

/* ---- points ---- */

rlx_status vk_queue_mark(rlx_queue *q, uint64_t *value) { return vk_submit(vk_queue_of(q), VK_NULL_HANDLE, value); }

rlx_status vk_queue_wait(rlx_queue *q, uint64_t value) { return vk_wait(vk_queue_of(q), value); }

rlx_status vk_queue_poll(rlx_queue *base, uint64_t value, bool *out) {
  vk_queue *q = vk_queue_of(base);
  *out = value <= atomic_load(&q->completed);
  if (*out) return RLX_OK;
  rlx_log_lock(&q->lock);
  *out = vk_is_done_locked(q, value) || atomic_load(&q->device->base.is_lost); /* then waiting reports the loss */
  rlx_log_unlock(&q->lock);
  return RLX_OK;
}

rlx_status vk_queue_after(rlx_queue *base, rlx_point point) {
  vk_queue *q = vk_queue_of(base), *other = vk_queue_of(point.queue);
  if (q == other || point.value <= atomic_load(&other->completed)) return RLX_OK;
  rlx_log_lock(&q->lock);
  uint32_t i = 0;
  while (i < q->n_after && q->after[i].timeline != other->timeline) i++;
  const bool is_noted = other->timeline && i < VK_MAX_AFTER;
  if (is_noted) {
    if (i == q->n_after) q->after[q->n_after++] = (vk_after){other->timeline, 0};
    if (q->after[i].value < point.value) q->after[i].value = point.value;
  }
  rlx_log_unlock(&q->lock);
  return is_noted ? RLX_OK : vk_wait(other, point.value);
}
