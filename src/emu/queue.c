/* Queues whose calls return before the work is done: the variants "emu:stream" and "emu:events".
 *
 * With them, tests use the runtime as a GPU does on any machine and under the sanitizers, in the two forms that the
 * backend interface must fit. "emu:stream" works as CUDA's streams: each queue has a thread that executes its work in
 * order. "emu:events" works as WebGPU in a browser: no thread executes anything, work proceeds only inside calls that
 * poll or wait, and a poll executes one entry. Memory is not mapped, except that of block_create_host, which has its
 * contents once the point after the copy is reached.
 *
 * One lock per device guards all its queues. Work is executed without it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "emu/device.h"

typedef enum work_kind { WORK_WRITE, WORK_COPY, WORK_ZERO, WORK_STEPS, WORK_AFTER } work_kind;

typedef struct work {
  struct work *next;
  work_kind kind;
  uint64_t serial;
  rlx_block *dst;
  const rlx_block *src;
  uint64_t dst_offset, src_offset, bytes;
  rlx_program *program;
  size_t first, n_steps;
  uint64_t draw;
  uint32_t queue_id; /* of the point that WORK_AFTER waits for */
  uint64_t value;
  unsigned char data[]; /* of WORK_WRITE */
} work;

typedef struct emu_queue {
  rlx_queue base;
  emu_device *device;
  struct emu_queue *next;
  uint32_t id; /* unique on the device: a point outlives its queue */
  work *first, **last;
  work *running;
  uint64_t submitted, completed; /* serials */
  uint64_t failed;               /* serial of the first failure that was not reported; 0: none */
  rlx_status status;             /* of that failure */
  rlx_saved_message message;
  rlx_os_thread thread; /* of EMU_STREAM */
  bool stops;
} emu_queue;

static emu_queue *queue_of(rlx_queue *q) { return (emu_queue *)q; }

/* ---- executing ---- */

static void reach(emu_device *d, uint32_t id, uint64_t value);

static rlx_status run_steps(const work *w) {
  for (size_t i = 0; i < w->n_steps; i++) RLX_TRY(emu_step_run(w->program, w->first + i, w->draw));
  return RLX_OK;
}

static rlx_status execute(emu_device *d, const work *w) {
  switch (w->kind) {
    case WORK_WRITE: memcpy(emu_data(w->dst) + w->dst_offset, w->data, (size_t)w->bytes); break;
    case WORK_COPY: memcpy(emu_data(w->dst) + w->dst_offset, emu_data(w->src) + w->src_offset, (size_t)w->bytes); break;
    case WORK_ZERO: memset(emu_data(w->dst) + w->dst_offset, 0, (size_t)w->bytes); break;
    case WORK_STEPS: return run_steps(w);
    case WORK_AFTER:
      rlx_mutex_lock(&d->lock);
      reach(d, w->queue_id, w->value);
      rlx_mutex_unlock(&d->lock);
  }
  return RLX_OK;
}

/* Executes the queue's next work, if no thread is executing. Under the lock, which is released meanwhile. */
static bool advance(emu_queue *q) {
  emu_device *d = q->device;
  work *w = q->running ? NULL : q->first;
  if (!w) return false;
  q->first = w->next;
  if (!q->first) q->last = &q->first;
  q->running = w;
  rlx_mutex_unlock(&d->lock);
  rlx_saved_message before;
  rlx_message_save(&before); /* the calling thread has nothing to do with this work */
  rlx_status s = execute(d, w);
  rlx_mutex_lock(&d->lock);
  if (s && !q->failed) {
    q->failed = w->serial;
    q->status = s;
    rlx_message_save(&q->message);
  }
  rlx_message_restore(&before);
  q->running = NULL;
  q->completed = w->serial;
  rlx_cond_broadcast(&d->changed);
  free(w);
  return true;
}

static emu_queue *find(emu_device *d, uint32_t id) {
  emu_queue *q = d->queues;
  while (q && q->id != id) q = q->next;
  return q;
}

/* Returns when the point is reached. Under the lock. A queue that is gone has done all its work. */
static void reach(emu_device *d, uint32_t id, uint64_t value) {
  for (emu_queue *q; (q = find(d, id)) && q->completed < value;)
    if (d->mode != EMU_EVENTS || !advance(q)) rlx_cond_wait(&d->changed, &d->lock);
}

static void *queue_main(void *user) {
  emu_queue *q = user;
  rlx_mutex_lock(&q->device->lock);
  while (q->first || !q->stops)
    if (!advance(q)) rlx_cond_wait(&q->device->changed, &q->device->lock);
  rlx_mutex_unlock(&q->device->lock);
  return NULL;
}

/* ---- queues ---- */

static rlx_status queue_create(rlx_device *base, rlx_queue **out) {
  emu_device *d = (emu_device *)base;
  *out = NULL;
  emu_queue *q = rlx_new(emu_queue);
  if (!q) return RLX_FAIL(RLX_NO_MEMORY, "emulated device: a queue");
  q->base.device = base;
  q->device = d;
  q->last = &q->first;
  if (d->mode == EMU_STREAM && rlx_os_thread_start(&q->thread, queue_main, q)) {
    rlx_mem_free(q);
    return RLX_FAIL(RLX_NO_MEMORY, "emulated device: a queue's thread");
  }
  rlx_mutex_lock(&d->lock);
  q->id = ++d->last_id;
  q->next = d->queues;
  d->queues = q;
  rlx_mutex_unlock(&d->lock);
  *out = &q->base;
  return RLX_OK;
}

static void queue_destroy(rlx_queue *base) {
  if (!base) return;
  emu_queue *q = queue_of(base);
  emu_device *d = q->device;
  rlx_mutex_lock(&d->lock);
  reach(d, q->id, q->submitted);
  q->stops = true;
  emu_queue **at = &d->queues;
  while (*at != q) at = &(*at)->next;
  *at = q->next;
  rlx_cond_broadcast(&d->changed);
  rlx_mutex_unlock(&d->lock);
  if (d->mode == EMU_STREAM) rlx_os_thread_join(q->thread);
  rlx_mem_free(q);
}

static rlx_status mark(rlx_queue *q, uint64_t *value) {
  emu_device *d = queue_of(q)->device;
  rlx_mutex_lock(&d->lock);
  *value = queue_of(q)->submitted;
  rlx_mutex_unlock(&d->lock);
  return RLX_OK;
}

static rlx_status wait(rlx_queue *base, uint64_t value) {
  emu_queue *q = queue_of(base);
  rlx_status s = RLX_OK;
  rlx_mutex_lock(&q->device->lock);
  reach(q->device, q->id, value);
  if (q->failed && q->failed <= value) {
    s = q->status;
    q->failed = 0;
    rlx_message_restore(&q->message);
  }
  rlx_mutex_unlock(&q->device->lock);
  return s;
}

static rlx_status poll(rlx_queue *base, uint64_t value, bool *out) {
  emu_queue *q = queue_of(base);
  rlx_mutex_lock(&q->device->lock);
  if (q->completed < value && q->device->mode == EMU_EVENTS) advance(q);
  *out = q->completed >= value;
  rlx_mutex_unlock(&q->device->lock);
  return RLX_OK;
}

/* ---- submitting ---- */

static rlx_status add(rlx_queue *base, const work *like, const void *data) {
  emu_queue *q = queue_of(base);
  const size_t bytes = data ? (size_t)like->bytes : 0;
  work *w = bytes <= SIZE_MAX - sizeof *w ? malloc(sizeof *w + bytes) : NULL; /* as a driver would, not the library */
  if (!w) return RLX_FAIL(RLX_NO_MEMORY, "emulated device: work of %zu bytes", bytes);
  *w = *like;
  w->next = NULL;
  if (bytes) memcpy(w->data, data, bytes);
  rlx_mutex_lock(&q->device->lock);
  w->serial = ++q->submitted;
  if (w->program) w->program->last = w->serial;
  *q->last = w;
  q->last = &w->next;
  rlx_cond_broadcast(&q->device->changed);
  rlx_mutex_unlock(&q->device->lock);
  return RLX_OK;
}

static rlx_status after(rlx_queue *q, rlx_point point) {
  if (q == point.queue) return RLX_OK;
  return add(q, &(work){.kind = WORK_AFTER, .queue_id = queue_of(point.queue)->id, .value = point.value}, NULL);
}

static rlx_status check_range(const char *what, const rlx_block *b, uint64_t offset, uint64_t bytes) {
  if (offset <= b->bytes && bytes <= b->bytes - offset) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "emulated device: %s: %llu bytes at %llu are not inside a block of %llu", what,
                  (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)b->bytes);
}

static rlx_status write(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes) {
  RLX_TRY(check_range("write", b, offset, bytes));
  if (!bytes) return RLX_OK;
  return add(q, &(work){.kind = WORK_WRITE, .dst = b, .dst_offset = offset, .bytes = bytes}, src);
}

static rlx_status read(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes) {
  uint64_t value;
  RLX_TRY(check_range("read", b, offset, bytes));
  RLX_TRY(mark(q, &value));
  RLX_TRY(wait(q, value));
  if (bytes) memcpy(dst, emu_data(b) + offset, (size_t)bytes);
  return RLX_OK;
}

static rlx_status copy(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                       uint64_t bytes) {
  RLX_TRY(check_range("copy to", dst, dst_offset, bytes));
  RLX_TRY(check_range("copy from", src, src_offset, bytes));
  if (!bytes) return RLX_OK;
  if (dst == src && dst_offset < src_offset + bytes && src_offset < dst_offset + bytes)
    return RLX_FAIL(RLX_INVALID, "emulated device: copy of %llu bytes from %llu to %llu of one block: they overlap",
                    (unsigned long long)bytes, (unsigned long long)src_offset, (unsigned long long)dst_offset);
  const work w = {
    .kind = WORK_COPY, .dst = dst, .src = src, .dst_offset = dst_offset, .src_offset = src_offset, .bytes = bytes};
  return add(q, &w, NULL);
}

static rlx_status zero(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes) {
  RLX_TRY(check_range("zero", b, offset, bytes));
  if (!bytes) return RLX_OK;
  return add(q, &(work){.kind = WORK_ZERO, .dst = b, .dst_offset = offset, .bytes = bytes}, NULL);
}

static rlx_status submit(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args) {
  if (args->cancel || args->is_stoppable || args->begin_ns || args->end_ns) {
    uint64_t value;
    RLX_TRY(mark(p->queue, &value));
    RLX_TRY(wait(p->queue, value));
    return rlx_backend_emu.submit(p, first, n_steps, args); /* in this thread, which the caller watches */
  }
  if (first > p->n_steps || n_steps > p->n_steps - first)
    return RLX_FAIL(RLX_INVALID, "emulated device: steps %zu to %zu of a program of %zu", first, first + n_steps,
                    p->n_steps);
  const work w = {.kind = WORK_STEPS, .program = p, .first = first, .n_steps = n_steps, .draw = args->draw};
  return add(p->queue, &w, NULL);
}

/* ---- destroying what work may use ---- */

static void program_destroy(rlx_program *p) {
  if (!p) return;
  rlx_mutex_lock(&p->device->lock);
  reach(p->device, queue_of(p->queue)->id, p->last);
  rlx_mutex_unlock(&p->device->lock);
  rlx_backend_emu.program_destroy(p);
}

static const work *find_use(const emu_queue *q, const rlx_block *b) {
  const work *w = q->running ? q->running : q->first;
  while (w && w->dst != b && w->src != b) w = w == q->running ? q->first : w->next;
  return w;
}

static void block_destroy(rlx_device *base, rlx_block *b) {
  emu_device *d = (emu_device *)base;
  if (!b) return;
  rlx_mutex_lock(&d->lock);
  for (emu_queue *q = d->queues; q;) {
    const work *w = find_use(q, b);
    if (w) reach(d, q->id, w->serial);
    q = w ? d->queues : q->next; /* the list may have changed */
  }
  rlx_mutex_unlock(&d->lock);
  rlx_backend_emu.block_destroy(base, b);
}

void emu_queue_install(rlx_backend *b) {
  b->queue_create = queue_create;
  b->queue_destroy = queue_destroy;
  b->mark = mark;
  b->wait = wait;
  b->poll = poll;
  b->after = after;
  b->write = write;
  b->read = read;
  b->copy = copy;
  b->zero = zero;
  b->submit = submit;
  b->program_destroy = program_destroy;
  b->block_destroy = block_destroy;
}
