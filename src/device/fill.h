/* Fills the window of a weight from bytes that several threads can read at once: a file, or memory.
 *
 * A large window is filled in parts by the threads of a pool, straight into the memory that the device copies from: a
 * mapped block, or the slots of a queue's staging ring (write_from in backend.h), where the next slot is filled while
 * the device copies the one before. So a byte is moved once by the host. A layout is made part by part in the same
 * place. */
#ifndef RLX_DEVICE_FILL_H
#define RLX_DEVICE_FILL_H

#include "device/arena.h"

typedef struct rlx_byte_source {
  /* Bytes [from, from + bytes) of the value. Several threads call it at once. */
  rlx_status (*read)(void *user, uint64_t from, void *to, size_t bytes);
  void *user;
  const void *data; /* all bytes in memory; then read is not called. NULL: they are read */
} rlx_byte_source;

/* Windows below this are not worth waking threads for. */
enum { RLX_FILL_LARGE = 1 << 20 };

/* Reads bytes into host memory. Fails with the message of the part that failed first. */
rlx_status rlx_source_read(const rlx_byte_source *s, void *to, uint64_t bytes, rlx_pool *pool);
/* Writes a value of the stored type, which is not bool, to a checked window. For a packed layout the source must have
 * `data`. Returns when the source is no longer needed. */
rlx_status rlx_bound_fill(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout,
                          const rlx_byte_source *source, rlx_pool *pool);
/* rlx_bound_write with the threads of a pool. */
rlx_status rlx_bound_write_by(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout, rlx_dtype from,
                              const void *data, size_t count, rlx_pool *pool);

#endif
