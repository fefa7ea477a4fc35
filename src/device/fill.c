/* Parts of a window, filled by the threads of a pool. */
#include "device/fill.h"

#include <string.h>

#include "base/mem.h"
#include "device/queue.h"

/* Part of a task: large enough for a system call, small enough that a slot of 8 MiB occupies 16 threads. */
enum { PART_BYTES = 512 << 10, BUFFER_BYTES = 8 << 20 };

/* In WebAssembly a thread is an instance of its own, with none of the files that another one opened. */
#if defined(__wasm__)
enum { THREADS_READ_FILES = 0 };
#else
enum { THREADS_READ_FILES = 1 };
#endif

/* ---- a range in parts ---- */

typedef rlx_status (*part_fn)(const void *what, uint64_t from, void *to, size_t bytes);

typedef struct range_work {
  part_fn fn;
  const void *what;
  uint64_t from, bytes;
  unsigned char *to;
  atomic_bool has_failed;
  rlx_status status; /* of the first part that failed */
  rlx_saved_message message;
} range_work;

static void do_part(void *user, size_t task, unsigned thread) {
  (void)thread;
  range_work *w = user;
  if (atomic_load_explicit(&w->has_failed, memory_order_relaxed)) return;
  const uint64_t at = (uint64_t)task * PART_BYTES, left = w->bytes - at;
  rlx_status s = w->fn(w->what, w->from + at, w->to + at, (size_t)(left < PART_BYTES ? left : PART_BYTES));
  if (!s || atomic_exchange(&w->has_failed, true)) return;
  w->status = s;
  rlx_message_save(&w->message);
}

static rlx_status do_range(part_fn fn, const void *what, uint64_t from, void *to, uint64_t bytes, rlx_pool *pool) {
  if (bytes <= PART_BYTES) return bytes ? fn(what, from, to, (size_t)bytes) : RLX_OK;
  range_work w = {.fn = fn, .what = what, .from = from, .bytes = bytes, .to = to};
  rlx_pool_run(pool, (size_t)((bytes - 1) / PART_BYTES + 1), do_part, &w);
  if (w.status) rlx_message_restore(&w.message);
  return w.status;
}

/* ---- what a part is made of ---- */

static rlx_status read_part(const void *what, uint64_t from, void *to, size_t bytes) {
  const rlx_byte_source *s = what;
  if (!s->data) return s->read(s->user, from, to, bytes);
  memcpy(to, (const unsigned char *)s->data + from, bytes);
  return RLX_OK;
}

static rlx_pool *readers(const rlx_byte_source *s, rlx_pool *pool) {
  return s->data || THREADS_READ_FILES ? pool : NULL;
}

typedef struct packing {
  const rlx_device *device;
  uint32_t layout;
  const rlx_type *type;
  const void *plain;
} packing;

static rlx_status pack_part(const void *what, uint64_t from, void *to, size_t bytes) {
  const packing *p = what;
  p->device->backend->repack_part(p->device, p->layout, p->type, p->plain, from, to, bytes);
  return RLX_OK;
}

/* ---- to the device ---- */

typedef struct filling {
  part_fn fn;
  const void *what;
  rlx_pool *pool;
} filling;

static rlx_status produce(void *user, uint64_t from, void *to, uint64_t bytes) {
  const filling *f = user;
  return do_range(f->fn, f->what, from, to, bytes, f->pool);
}

/* For a backend that cannot lend memory: through a buffer. */
static rlx_status write_pieces(rlx_queue *q, const rlx_bound *at, const filling *f) {
  const uint64_t most = at->bytes < BUFFER_BYTES ? at->bytes : BUFFER_BYTES;
  void *buffer = rlx_mem_alloc((size_t)most);
  rlx_status s =
    buffer ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%llu bytes for a weight on its way", (unsigned long long)most);
  for (uint64_t from = 0, n; from < at->bytes && !s; from += n) {
    n = at->bytes - from < most ? at->bytes - from : most;
    s = do_range(f->fn, f->what, from, buffer, n, f->pool);
    if (!s) s = q->device->backend->write(q, at->block, at->offset + from, buffer, n);
  }
  rlx_mem_free(buffer);
  return s;
}

static rlx_status write_window(rlx_queue *q, const rlx_bound *at, const filling *f) {
  const rlx_backend *b = q->device->backend;
  if (at->block->map) {
    RLX_TRY(rlx_queue_sync(q));
    return do_range(f->fn, f->what, 0, (unsigned char *)at->block->map + at->offset, at->bytes, f->pool);
  }
  if (!b->write_from) return write_pieces(q, at, f);
  const rlx_producer producer = {produce, (void *)(uintptr_t)f};
  return b->write_from(q, at->block, at->offset, at->bytes, &producer);
}

/* A backend without repack_part packs a weight as a whole, into host memory if the block has no map. */
static rlx_status write_packed(rlx_queue *q, const rlx_bound *at, const packing *p, rlx_pool *pool) {
  const rlx_backend *b = q->device->backend;
  void *map = at->block->map ? (unsigned char *)at->block->map + at->offset : NULL;
  if (map) {
    RLX_TRY(rlx_queue_sync(q));
    return b->repack(q->device, p->layout, p->type, true, p->plain, map, pool);
  }
  void *packed = rlx_mem_alloc((size_t)at->bytes);
  if (!packed)
    return RLX_FAIL(RLX_NO_MEMORY, "%llu bytes for a packed weight on its way", (unsigned long long)at->bytes);
  rlx_status s = b->repack(q->device, p->layout, p->type, true, p->plain, packed, pool);
  if (!s) s = b->write(q, at->block, at->offset, packed, at->bytes);
  rlx_mem_free(packed);
  return s;
}

/* ---- public calls ---- */

rlx_status rlx_source_read(const rlx_byte_source *s, void *to, uint64_t bytes, rlx_pool *pool) {
  return do_range(read_part, s, 0, to, bytes, readers(s, pool));
}

rlx_status rlx_bound_fill(rlx_queue *q, const rlx_bound *at, const rlx_type *type, uint32_t layout,
                          const rlx_byte_source *source, rlx_pool *pool) {
  if (!at->bytes) return RLX_OK;
  const rlx_backend *b = q->device->backend;
  const packing p = {q->device, layout, type, source->data};
  if (layout && !b->repack_part) return write_packed(q, at, &p, pool);
  if (layout) return write_window(q, at, &(filling){pack_part, &p, pool});
  if (source->data && (at->bytes < RLX_FILL_LARGE || !pool))
    return b->write(q, at->block, at->offset, source->data, at->bytes);
  return write_window(q, at, &(filling){read_part, source, readers(source, pool)});
}
