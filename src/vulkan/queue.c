/* Submitting and waiting. */
#include "vulkan/queue.h"

#include "base/log.h"

#include "vulkan/vk.h"

rlx_status vk_queue_init(vk_device *d) {
  d->GetDeviceQueue(d->handle, d->physical->queue_family, 0, &d->queue.handle);
  VkResult r = VK_SUCCESS;
  if (d->physical->has_timeline && !d->is_minimal) {
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    r = d->CreateSemaphore(d->handle, &info, NULL, &d->queue.timeline);
  } else {
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    for (uint32_t i = 0; i < VK_N_FENCES && !r; i++) r = d->CreateFence(d->handle, &info, NULL, &d->queue.fences[i]);
  }
  return r ? vk_fail(d, r, "the queue's clock") : RLX_OK;
}

void vk_queue_deinit(vk_device *d) {
  if (d->queue.timeline) d->DestroySemaphore(d->handle, d->queue.timeline, NULL);
  for (uint32_t i = 0; i < VK_N_FENCES; i++)
    if (d->queue.fences[i]) d->DestroyFence(d->handle, d->queue.fences[i], NULL);
}

/* ---- waiting ---- */

static void note_done(vk_queue *q, uint64_t serial) {
  uint64_t seen = atomic_load(&q->completed);
  while (seen < serial && !atomic_compare_exchange_weak(&q->completed, &seen, serial)) {}
}

static rlx_status wait_timeline(vk_device *d, uint64_t serial) {
  const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                    .semaphoreCount = 1,
                                    .pSemaphores = &d->queue.timeline,
                                    .pValues = &serial};
  VkResult r = d->WaitSemaphores(d->handle, &info, UINT64_MAX);
  if (r) return vk_fail(d, r, "waiting for the device");
  note_done(&d->queue, serial);
  return RLX_OK;
}

rlx_status vk_wait_locked(vk_device *d, uint64_t serial) {
  if (serial <= atomic_load(&d->queue.completed)) return RLX_OK;
  if (d->queue.timeline) return wait_timeline(d, serial);
  VkResult r = d->WaitForFences(d->handle, 1, &d->queue.fences[serial % VK_N_FENCES], VK_TRUE, UINT64_MAX);
  if (r) return vk_fail(d, r, "waiting for the device");
  note_done(&d->queue, serial);
  return RLX_OK;
}

rlx_status vk_wait(vk_device *d, uint64_t serial) {
  if (serial <= atomic_load(&d->queue.completed)) return RLX_OK;
  if (d->queue.timeline) return wait_timeline(d, serial);
  rlx_log_lock(&d->lock);
  rlx_status s = vk_wait_locked(d, serial);
  rlx_log_unlock(&d->lock);
  return s;
}

bool vk_is_done_locked(vk_device *d, uint64_t serial) {
  uint64_t now;
  if (serial <= atomic_load(&d->queue.completed)) return true;
  if (!d->queue.timeline || d->GetSemaphoreCounterValue(d->handle, d->queue.timeline, &now)) return false;
  if (now <= d->queue.submitted) note_done(&d->queue, now); /* a lost device counts as it likes */
  return serial <= atomic_load(&d->queue.completed);
}

/* ---- submitting ---- */

static VkResult submit_timeline(vk_device *d, const VkSubmitInfo *work, uint64_t serial) {
  const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                .signalSemaphoreValueCount = 1,
                                                .pSignalSemaphoreValues = &serial};
  VkSubmitInfo info = *work;
  info.pNext = &values;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &d->queue.timeline;
  return d->QueueSubmit(d->queue.handle, 1, &info, VK_NULL_HANDLE);
}

/* The fence's last serial is waited for first, so a fence that is waited for is never reset. */
static VkResult submit_fence(vk_device *d, const VkSubmitInfo *info, uint64_t serial) {
  VkFence *fence = &d->queue.fences[serial % VK_N_FENCES];
  VkResult r = d->ResetFences(d->handle, 1, fence);
  return r ? r : d->QueueSubmit(d->queue.handle, 1, info, *fence);
}

rlx_status vk_submit_locked(vk_device *d, VkCommandBuffer cmd, uint64_t *serial) {
  VkCommandBuffer all[2];
  vk_slot *batch = NULL;
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pCommandBuffers = all};
  *serial = d->queue.submitted;
  RLX_TRY(vk_check(d));
  RLX_TRY(vk_batch_end_locked(d, &batch));
  if (batch) all[info.commandBufferCount++] = batch->cmd;
  if (cmd) all[info.commandBufferCount++] = cmd;
  if (info.commandBufferCount == 0) return RLX_OK;
  const uint64_t next = d->queue.submitted + 1;
  if (!d->queue.timeline && next > VK_N_FENCES) RLX_TRY(vk_wait_locked(d, next - VK_N_FENCES));
  VkResult r = d->queue.timeline ? submit_timeline(d, &info, next) : submit_fence(d, &info, next);
  if (r) return vk_fail(d, r, "submitting work");
  d->queue.submitted = *serial = next;
  if (batch) {
    batch->serial = next;
    d->staging.open = NULL;
  }
  return RLX_OK;
}

rlx_status vk_submit(vk_device *d, VkCommandBuffer cmd, uint64_t *serial) {
  rlx_log_lock(&d->lock);
  rlx_status s = vk_submit_locked(d, cmd, serial);
  rlx_log_unlock(&d->lock);
  return s;
}

rlx_status vk_device_sync(rlx_device *base) {
  vk_device *d = vk_device_of(base);
  uint64_t serial;
  rlx_status s = vk_submit(d, VK_NULL_HANDLE, &serial);
  if (s == RLX_DEVICE_LOST) return s;
  rlx_status done =
    vk_wait(d, serial); /* also where nothing could be sent: what was sent before must come to its end */
  return done ? done : s;
}

/* A lost device must answer this in finite time, and its objects may be destroyed only after. */
void vk_settle(vk_device *d) {
  if (!atomic_load(&d->base.is_lost) && vk_device_sync(&d->base) == RLX_OK) return;
  rlx_log_lock(&d->lock);
  d->DeviceWaitIdle(d->handle);
  rlx_log_unlock(&d->lock);
}
