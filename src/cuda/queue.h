/* The queue of one session: a stream, with serial numbers for points on it.
 *
 * A point is an event. Events are a ring: before one is used again, its previous point is waited for, so an event that
 * is found by a serial is of that point or a later one. Waiting for a later one is right, only longer.
 *
 * Bytes from the host go through pinned memory, a ring of slots: small writes share a slot, large ones use whole slots,
 * one after another, with several in flight. A producer fills a slot without the lock (write_from), one at a time per
 * queue, so that at least two other slots remain for what other threads do meanwhile. */
#ifndef RLX_CUDA_QUEUE_H
#define RLX_CUDA_QUEUE_H

#include <stdatomic.h>

#include "base/os.h"
#include "cuda/driver.h"
#include "device/backend.h"

enum { CU_N_EVENTS = 64, CU_N_SLOTS = 4 };

typedef struct cu_device cu_device;

typedef struct cu_queue {
  rlx_queue base;
  cu_device *device;
  CUstream stream;
  uint32_t id; /* unique on the device, in the bits that blocks store */
  struct cu_queue *next;
  uint32_t n_waiting; /* threads that wait for it without owning it; under the device's lock */

  rlx_mutex fill_lock;             /* held while a producer fills a slot; before `lock` */
  rlx_mutex lock;                  /* guards what follows */
  uint32_t n_locks;                /* how many of the two there are */
  bool is_dirty;                   /* work was submitted after the last event */
  uint64_t submitted;              /* serial of the last event */
  atomic_uint_least64_t completed; /* highest serial known to be done */
  CUevent events[CU_N_EVENTS];     /* event i: of the serials with serial % CU_N_EVENTS == i; made on first use */

  unsigned char *slots; /* pinned memory, made on first use */
  uint64_t slot_bytes;
  uint64_t slot_serial[CU_N_SLOTS]; /* of the last work that uses the slot */
  uint64_t slot_used;               /* bytes of the current slot that small writes have taken */
  uint32_t slot;                    /* the current one */
  uint32_t filling;                 /* the one that a producer fills; CU_N_SLOTS: none */
} cu_queue;

static inline cu_queue *cu_queue_of(rlx_queue *q) { return (cu_queue *)q; }

rlx_status cu_queue_create(rlx_device *d, rlx_queue **out);
void cu_queue_destroy(rlx_queue *q);
rlx_status cu_queue_mark(rlx_queue *q, uint64_t *value);
rlx_status cu_queue_wait(rlx_queue *q, uint64_t value);
rlx_status cu_queue_poll(rlx_queue *q, uint64_t value, bool *out);
rlx_status cu_queue_after(rlx_queue *q, rlx_point point);

/* The following expect the context to be current. */

/* The serial of a point after all work so far; records an event if there was any since the last. */
rlx_status cu_mark_locked(cu_queue *q, uint64_t *serial);
rlx_status cu_mark(cu_queue *q, uint64_t *serial);
rlx_status cu_wait(cu_queue *q, uint64_t serial); /* with or without the lock */
/* Orders later work of q, on the device, after the last copy recorded for a block on another queue. */
rlx_status cu_follow_pending(cu_queue *q, uint64_t pending);
/* The host waits for that copy. */
rlx_status cu_wait_pending(cu_device *d, uint64_t pending);

/* ---- transfers (transfer.c) ---- */

rlx_status cu_write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes);
rlx_status cu_write_from(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes, const rlx_producer *p);
rlx_status cu_read(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes);
rlx_status cu_copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                   uint64_t bytes);
rlx_status cu_zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes);
/* Writes to an address in order with the queue's work; the host memory may be reused at once. */
rlx_status cu_write_locked(cu_queue *q, CUdeviceptr to, const void *src, uint64_t bytes);

#endif
