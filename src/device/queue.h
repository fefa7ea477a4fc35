/* Helpers for queues: waiting for all work, ordering two queues, and the queue of backends that compute in the calling
 * thread. */
#ifndef RLX_DEVICE_QUEUE_H
#define RLX_DEVICE_QUEUE_H

#include "device/backend.h"

/* Waits for all work of the queue, including batched copies. */
rlx_status rlx_queue_sync(rlx_queue *q);
/* Work submitted to q from now on sees the results of all work submitted to `other` before. Both are queues of one
 * device. */
rlx_status rlx_queue_follow(rlx_queue *q, rlx_queue *other);
/* Whether submit may return before the work is done. */
bool rlx_queue_is_async(const rlx_queue *q);

/* For a backend whose calls return when their work is done. */
rlx_status rlx_queue_immediate_create(rlx_device *d, rlx_queue **out);
void rlx_queue_immediate_destroy(rlx_queue *q);
rlx_status rlx_queue_immediate_mark(rlx_queue *q, uint64_t *value);
rlx_status rlx_queue_immediate_wait(rlx_queue *q, uint64_t value);
rlx_status rlx_queue_immediate_poll(rlx_queue *q, uint64_t value, bool *out);
rlx_status rlx_queue_immediate_after(rlx_queue *q, rlx_point point);
#define RLX_QUEUE_IMMEDIATE                                                                             \
  .queue_create = rlx_queue_immediate_create, .queue_destroy = rlx_queue_immediate_destroy,             \
  .mark = rlx_queue_immediate_mark, .wait = rlx_queue_immediate_wait, .poll = rlx_queue_immediate_poll, \
  .after = rlx_queue_immediate_after

#endif
