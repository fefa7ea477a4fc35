/* Streams and their points. */
#include "cuda/queue.h"

#include "base/log.h"
#include "base/mem.h"
#include "cuda/cu.h"

/* ---- creation and destruction ---- */

static void link_queue(cu_queue *q) {
  cu_device *d = q->device;
  rlx_log_lock(&d->lock);
  q->id = ++d->last_queue_id;
  q->next = d->queues;
  d->queues = q;
  rlx_log_unlock(&d->lock);
}

/* Returns when no other thread waits for the queue. */
static void unlink_queue(cu_queue *q) {
  cu_device *d = q->device;
  rlx_log_lock(&d->lock);
  cu_queue **at = &d->queues;
  while (*at != q) at = &(*at)->next;
  *at = q->next;
  while (q->n_waiting) rlx_cond_wait(&d->waited, &d->lock);
  rlx_log_unlock(&d->lock);
}

static rlx_status make_stream(cu_queue *q) {
  CUresult r = q->device->f->StreamCreate(&q->stream, CU_STREAM_NON_BLOCKING);
  return r ? cu_fail(q->device, r, "a queue") : RLX_OK;
}

static void queue_free(cu_queue *q) {
  const cu_driver *f = q->device->f;
  for (uint32_t i = 0; i < CU_N_EVENTS; i++)
    if (q->events[i]) f->EventDestroy(q->events[i]);
  if (q->stream) f->StreamDestroy(q->stream);
  if (q->slots) f->MemFreeHost(q->slots);
  if (q->n_locks > 1) rlx_mutex_destroy(&q->fill_lock);
  if (q->n_locks > 0) rlx_mutex_destroy(&q->lock);
  rlx_mem_free(q);
}

rlx_status cu_queue_create(rlx_device *base, rlx_queue **out) {
  cu_device *d = cu_device_of(base);
  *out = NULL;
  cu_queue *q = rlx_new(cu_queue);
  if (!q) return RLX_FAIL(RLX_NO_MEMORY, "cuda: a queue");
  q->base.device = base;
  q->device = d;
  q->filling = CU_N_SLOTS;
  q->slot_bytes = gpu_tuned(&d->caps)->staging_slot_bytes;
  rlx_status s = cu_enter(d);
  if (s) {
    rlx_mem_free(q);
    return s;
  }
  q->n_locks += rlx_mutex_init(&q->lock);
  if (q->n_locks) q->n_locks += rlx_mutex_init(&q->fill_lock);
  s = q->n_locks == 2 ? make_stream(q) : RLX_FAIL(RLX_NO_MEMORY, "cuda: a mutex");
  if (s) queue_free(q);
  cu_leave(d);
  if (s) return s;
  link_queue(q);
  *out = &q->base;
  return RLX_OK;
}

void cu_queue_destroy(rlx_queue *base) {
  if (!base) return;
  cu_queue *q = cu_queue_of(base);
  cu_device *d = q->device;
  uint64_t last;
  rlx_saved_message message;
  rlx_message_save(&message);
  const bool is_current = cu_enter_any(d);
  if (is_current && (cu_mark(q, &last) || cu_wait(q, last))) d->f->CtxSynchronize();
  rlx_message_restore(&message);
  unlink_queue(q);
  queue_free(q);
  if (is_current) cu_leave(d);
}

/* ---- points ---- */

static void note_done(cu_queue *q, uint64_t serial) {
  uint64_t seen = atomic_load(&q->completed);
  while (seen < serial && !atomic_compare_exchange_weak(&q->completed, &seen, serial)) {}
}

rlx_status cu_wait(cu_queue *q, uint64_t serial) {
  if (serial <= atomic_load(&q->completed)) return RLX_OK;
  CUresult r = q->device->f->EventSynchronize(q->events[serial % CU_N_EVENTS]);
  if (r) return cu_fail(q->device, r, "waiting for the device");
  note_done(q, serial);
  return RLX_OK;
}

rlx_status cu_mark_locked(cu_queue *q, uint64_t *serial) {
  *serial = q->submitted;
  if (!q->is_dirty) return RLX_OK;
  const uint64_t next = q->submitted + 1;
  if (next > CU_N_EVENTS) RLX_TRY(cu_wait(q, next - CU_N_EVENTS));
  CUevent *event = &q->events[next % CU_N_EVENTS];
  CUresult r = *event ? CUDA_SUCCESS : q->device->f->EventCreate(event, CU_EVENT_DISABLE_TIMING);
  if (!r) r = q->device->f->EventRecord(*event, q->stream);
  if (r) return cu_fail(q->device, r, "an event");
  q->is_dirty = false;
  q->submitted = *serial = next;
  return RLX_OK;
}

rlx_status cu_mark(cu_queue *q, uint64_t *serial) {
  rlx_log_lock(&q->lock);
  rlx_status s = cu_mark_locked(q, serial);
  rlx_log_unlock(&q->lock);
  return s;
}

rlx_status cu_queue_mark(rlx_queue *base, uint64_t *value) {
  cu_queue *q = cu_queue_of(base);
  *value = 0;
  RLX_TRY(cu_enter(q->device));
  rlx_status s = cu_mark(q, value);
  cu_leave(q->device);
  return s;
}

rlx_status cu_queue_wait(rlx_queue *base, uint64_t value) {
  cu_queue *q = cu_queue_of(base);
  if (value <= atomic_load(&q->completed)) return RLX_OK;
  RLX_TRY(cu_enter(q->device));
  rlx_status s = cu_wait(q, value);
  cu_leave(q->device);
  return s;
}

rlx_status cu_queue_poll(rlx_queue *base, uint64_t value, bool *out) {
  cu_queue *q = cu_queue_of(base);
  *out = true;
  if (value <= atomic_load(&q->completed)) return RLX_OK;
  if (!cu_enter_any(q->device)) return RLX_OK; /* waiting reports the loss */
  CUresult r = q->device->f->EventQuery(q->events[value % CU_N_EVENTS]);
  cu_leave(q->device);
  if (r == CUDA_SUCCESS) note_done(q, value);
  *out = r != CUDA_ERROR_NOT_READY;
  return RLX_OK;
}

/* The other queue's lock is held while its event is used, so that the event is of the point or of a later one. */
static rlx_status follow(cu_queue *q, cu_queue *other, uint64_t serial) {
  rlx_log_lock(&other->lock);
  CUresult r = serial <= atomic_load(&other->completed)
                 ? CUDA_SUCCESS
                 : q->device->f->StreamWaitEvent(q->stream, other->events[serial % CU_N_EVENTS], 0);
  rlx_log_unlock(&other->lock);
  return r ? cu_fail(q->device, r, "waiting for another queue") : RLX_OK;
}

rlx_status cu_queue_after(rlx_queue *base, rlx_point point) {
  cu_queue *q = cu_queue_of(base), *other = cu_queue_of(point.queue);
  if (q == other || point.value <= atomic_load(&other->completed)) return RLX_OK;
  RLX_TRY(cu_enter(q->device));
  rlx_status s = follow(q, other, point.value);
  cu_leave(q->device);
  return s;
}

/* ---- pending copies of blocks ---- */

/* Finds the queue and keeps it from being destroyed until leave_queue; NULL: it was destroyed, which waited for it. */
static cu_queue *find_queue(cu_device *d, uint64_t pending) {
  const uint32_t id = (uint32_t)(pending >> CU_SERIAL_BITS);
  rlx_log_lock(&d->lock);
  cu_queue *q = d->queues;
  while (q && (q->id & CU_MAX_QUEUE_ID) != id) q = q->next;
  if (q) q->n_waiting++;
  rlx_log_unlock(&d->lock);
  return q;
}

static void leave_queue(cu_queue *q) {
  cu_device *d = q->device;
  rlx_log_lock(&d->lock);
  q->n_waiting--;
  rlx_cond_broadcast(&d->waited);
  rlx_log_unlock(&d->lock);
}

static uint64_t serial_of(uint64_t pending) { return pending & ((UINT64_C(1) << CU_SERIAL_BITS) - 1); }

rlx_status cu_follow_pending(cu_queue *q, uint64_t pending) {
  cu_queue *other = find_queue(q->device, pending);
  uint64_t serial;
  if (!other) return RLX_OK;
  rlx_status s = cu_mark(other, &serial); /* the copy may be after the last event */
  if (!s) s = follow(q, other, serial_of(pending) < serial ? serial_of(pending) : serial);
  leave_queue(other);
  return s;
}

rlx_status cu_wait_pending(cu_device *d, uint64_t pending) {
  cu_queue *q = find_queue(d, pending);
  uint64_t serial;
  if (!q) return RLX_OK;
  rlx_status s = cu_mark(q, &serial);
  if (!s) s = cu_wait(q, serial_of(pending) < serial ? serial_of(pending) : serial);
  leave_queue(q);
  return s;
}
