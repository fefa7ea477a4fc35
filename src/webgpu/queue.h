/* The timeline of a device: the batch of copies, submissions, and waiting for them; and copies to the host.
 *
 * A submission has a serial, and a callback notes that it is done. Callbacks run while a thread waits. A copy to the
 * host (wg_read) goes to a buffer that can be mapped, and from there to its destination when a thread waits for its
 * submission: so after a wait, the bytes of every copy submitted before it are there. A wait for a queue also reports
 * the errors of its calls that came after them. */
#ifndef RLX_WEBGPU_QUEUE_H
#define RLX_WEBGPU_QUEUE_H

#include "webgpu/wg.h"

rlx_status wg_queue_create(rlx_device *d, rlx_queue **out);
void wg_queue_destroy(rlx_queue *q);
rlx_status wg_queue_mark(rlx_queue *q, uint64_t *value);
rlx_status wg_queue_wait(rlx_queue *q, uint64_t value);
rlx_status wg_queue_poll(rlx_queue *q, uint64_t value, bool *out);
rlx_status wg_queue_after(rlx_queue *q, rlx_point point);

/* The encoder of the open batch; under the lock. */
rlx_status wg_batch_locked(wg_device *d, WGPUCommandEncoder *out);
/* Submits the batch and the writes before it. */
rlx_status wg_submit_locked(wg_device *d, uint64_t *serial);
/* The same, and then `commands`, which is released; errors that come late have the place (wg_place) in front. */
rlx_status wg_submit(wg_device *d, WGPUCommandBuffer commands, const char *place, uint64_t *serial);
/* Submits the batch and the writes, if there are any. */
rlx_status wg_mark(wg_device *d, uint64_t *serial);
/* Without the lock. Errors that came late are wg_queue_wait's. */
rlx_status wg_wait(wg_device *d, uint64_t serial);
/* Waits for all work as far as the device can still do it; reports nothing. */
void wg_settle(wg_device *d);

/* ---- copies to the host (reads.c) ---- */

/* Records a copy in the batch: `bytes` of a buffer to host memory, which stays valid until a wait for the batch's
 * submission, or wg_reads_forget. At most slot_bytes. Under the lock. */
rlx_status wg_read_locked(wg_device *d, WGPUBuffer from, uint64_t offset, void *to, uint64_t bytes);
/* After a submission: begins to map what was recorded for it. If it failed, those copies are dropped. */
void wg_reads_submitted(wg_device *d, uint64_t serial, bool failed);
/* Copies the bytes of submissions up to this serial, which are done, to their destinations. Under the lock. */
rlx_status wg_reads_fetch(wg_device *d, uint64_t serial);
/* Drops the copies whose destination is in this range. Under the lock. */
void wg_reads_forget(wg_device *d, const void *to, uint64_t bytes);
void wg_reads_deinit(wg_device *d);

/* ---- blocks and the backend's copies (transfer.c) ---- */

rlx_status wg_block_create(rlx_device *d, uint64_t bytes, rlx_block **out);
rlx_status wg_block_create_host(rlx_device *d, uint64_t bytes, rlx_block **out);
void wg_block_destroy(rlx_device *d, rlx_block *b);
rlx_status wg_write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes);
rlx_status wg_read_block(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes);
rlx_status wg_copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                   uint64_t bytes);
rlx_status wg_zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes);

#endif
