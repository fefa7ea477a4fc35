/* Waits for queues, and implements the immediate queue, whose work is done when the submitting call returns. */
#include "device/queue.h"

rlx_status rlx_queue_sync(rlx_queue *q) {
  const rlx_backend *b = q->device->backend;
  uint64_t value;
  rlx_status s = b->mark(q, &value);
  if (s == RLX_DEVICE_LOST) return s;
  /* Also after a failed mark: work submitted earlier must not outlive the call. */
  rlx_status done = b->wait(q, value);
  return done ? done : s;
}

rlx_status rlx_queue_follow(rlx_queue *q, rlx_queue *other) {
  if (q == other) return RLX_OK;
  rlx_point last = {.queue = other};
  RLX_TRY(q->device->backend->mark(other, &last.value));
  return q->device->backend->after(q, last);
}

bool rlx_queue_is_async(const rlx_queue *q) { return q->device->backend->queue_create != rlx_queue_immediate_create; }

/* ---- the immediate queue ---- */

rlx_status rlx_queue_immediate_create(rlx_device *d, rlx_queue **out) {
  *out = rlx_new(rlx_queue);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "a queue");
  (*out)->device = d;
  return RLX_OK;
}

void rlx_queue_immediate_destroy(rlx_queue *q) { rlx_mem_free(q); }

rlx_status rlx_queue_immediate_mark(rlx_queue *q, uint64_t *value) {
  (void)q;
  *value = 0;
  return RLX_OK;
}

rlx_status rlx_queue_immediate_wait(rlx_queue *q, uint64_t value) {
  (void)q;
  (void)value;
  return RLX_OK;
}

rlx_status rlx_queue_immediate_poll(rlx_queue *q, uint64_t value, bool *out) {
  (void)q;
  (void)value;
  *out = true;
  return RLX_OK;
}

rlx_status rlx_queue_immediate_after(rlx_queue *q, rlx_point point) {
  (void)q;
  (void)point;
  return RLX_OK;
}
