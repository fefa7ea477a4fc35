/* An open WebGPU device: the state shared by the files of this directory.
 *
 * WebGPU has one queue per device, which executes in order. So all sessions share one timeline, whose points are
 * serials of submissions, and a queue of the backend interface is only a name for it (queue.h). Copies are gathered
 * in a batch, a command encoder, which is submitted with the next submission.
 *
 * Errors: a call of WebGPU returns nothing. Its error reaches a callback, inside the call or later, and a guard around
 * the call (wg_guard) turns it into a status: of the call, or of the next wait for the queue.
 *
 * Lock order: pipelines.lock, lock. */
#ifndef RLX_WEBGPU_WG_H
#define RLX_WEBGPU_WG_H

#include <stdatomic.h>

#include "base/os.h"
#include "gpu/pipelines.h"
#include "webgpu/loader.h"

enum {
  WG_ALIGN = 256,        /* of blocks, and of parameters in a uniform buffer */
  WG_PARAMS_BYTES = 256, /* of a binding of parameters */
  WG_N_INDICES = 64,     /* submissions whose index is known */
  WG_N_READS = 16,       /* copies to the host whose buffers are kept */
  WG_N_SCOPES = 64,      /* guards that ended, whose answers are awaited */
};

/* Where errors that come after their call go: the first of them, until it is taken. Zeros: none. */
typedef struct wg_late {
  atomic_uint state;
  uint32_t type;
  char what[160], message[320];
} wg_late;

/* A guard that ended, whose answers are awaited (errors.c). */
typedef struct wg_scope {
  atomic_uint n_open; /* answers that are missing; 0: not in use */
  wg_late *to;
  char what[160];
} wg_scope;

/* A copy to the host (reads.c), in the list of those that were not fetched. */
typedef struct wg_read {
  struct wg_read *next;
  WGPUBuffer buffer; /* can be mapped; kept for the next copy */
  uint64_t buffer_bytes;
  bool is_used;
  unsigned char *to;
  uint64_t skip, bytes; /* of the buffer */
  uint64_t serial;      /* 0: in the open batch */
  atomic_uint status;   /* of the mapping; 0: pending */
} wg_read;

typedef struct wg_device {
  rlx_device base;
  const wg_loader *loader;
  const wg_api *f;
  const wg_physical *physical;
  gpu_caps caps; /* of this variant */
  bool is_minimal;
  bool has_timestamps;
  bool is_late; /* the library reports errors after the call */
  WGPUDevice handle;
  WGPUQueue queue;
  uint64_t submit_cost; /* maximum cost of one submission, in gpu_dispatch.cost */
  uint64_t max_buffer_bytes;
  uint64_t slot_bytes; /* of a write or read in pieces */

  gpu_pipelines pipelines;
  WGPUBindGroupLayout window_groups[GPU_MAX_WINDOWS + 1]; /* by number of windows */
  WGPUBindGroupLayout params_group;
  WGPUPipelineLayout layouts[GPU_MAX_WINDOWS + 1];
  WGPUBuffer nothing;             /* WG_ALIGN bytes for each window of a kernel, bound where it is absent */
  WGPUComputePipeline move, fill; /* moves.c */

  rlx_mutex lock; /* guards what follows */
  bool has_lock;
  WGPUCommandEncoder batch;                  /* NULL: nothing is batched */
  bool has_writes;                           /* buffers were written after the last submission */
  uint64_t written_bytes;                    /* of those */
  uint64_t submitted;                        /* serial of the last submission */
  WGPUSubmissionIndex indices[WG_N_INDICES]; /* by serial, modulo their number */
  WGPUBuffer between;                        /* of copies within a buffer (moves.c); may be NULL */
  uint64_t between_bytes;
  wg_read *reads, *last_read;     /* oldest first */
  wg_read read_slots[WG_N_READS]; /* a run allocates nothing; more than these are on the heap */

  wg_scope scopes[WG_N_SCOPES];
  wg_late late; /* errors that belong to no queue */

  atomic_uint_least64_t completed; /* highest serial that is done */
  atomic_bool lost_begun;          /* base.is_lost is set after lost_why is written */
  char lost_why[256];
} wg_device;

/* A session's name for the device's timeline. */
typedef struct wg_queue {
  rlx_queue base;
  wg_late late; /* errors of its work */
} wg_queue;

typedef struct wg_block {
  rlx_block base;
  WGPUBuffer buffer;             /* NULL: empty, or host memory */
  uint64_t bytes;                /* of the buffer */
  atomic_uint_least64_t pending; /* serial of the last copy to host memory; 0: none */
} wg_block;

static inline wg_device *wg_device_of(rlx_device *d) { return (wg_device *)d; }
static inline wg_late *wg_late_of(rlx_queue *q) { return &((wg_queue *)q)->late; }
static inline WGPUBuffer wg_buffer(const rlx_block *b) { return ((const wg_block *)b)->buffer; }
static inline WGPUStringView wg_text(const char *text) { return (WGPUStringView){text, SIZE_MAX}; }

/* ---- errors (errors.c) ---- */

bool wg_late_is(const wg_late *late);
void wg_late_put(wg_late *late, uint32_t type, const char *what, WGPUStringView message);
rlx_status wg_late_status(wg_device *d, const wg_late *late); /* RLX_OK: there is none */
rlx_status wg_late_take(wg_device *d, wg_late *late);         /* the same, and then there is none */

/* Errors of the calls that this thread makes between begin and end. Nests. */
typedef struct wg_guard {
  struct wg_guard *outer;
  wg_late *late;
  uint32_t type; /* of the first error inside a call; 0: none */
  char message[320];
} wg_guard;
/* late: where errors go that come after the end; NULL: where those of the outer guard go, or to the device's. */
void wg_guard_begin(wg_device *d, wg_guard *g, wg_late *late);
/* RLX_OK, or the status of the error or of the lost device; the message has the operation. */
rlx_status wg_guard_end(wg_device *d, wg_guard *g, const char *fmt, ...) RLX_PRINTF(3, 4);
/* All errors go to `late`, also those inside the calls. */
void wg_guard_leave(wg_device *d, wg_guard *g, const char *fmt, ...) RLX_PRINTF(3, 4);
/* As wg_guard_end, but an error that comes later is waited for. */
rlx_status wg_guard_wait(wg_device *d, wg_guard *g, const char *fmt, ...) RLX_PRINTF(3, 4);
/* Errors inside calls only: around other guards, for which `late` is set, and calls that wait. */
void wg_catch_begin(wg_guard *g, wg_late *late);
rlx_status wg_catch_end(wg_device *d, wg_guard *g, const char *what);
bool wg_catch_drop(wg_guard *g); /* whether there was one */
/* Waits until all guards that ended are answered. */
void wg_answers_await(const wg_device *d);
/* Runs callbacks. A caller that waits calls it until what it waits for has happened. */
void wg_pump(const wg_device *d);
/* RLX_OK, or RLX_DEVICE_LOST if the device was lost before. */
rlx_status wg_check(wg_device *d);
/* One line of the library's text, which has many. */
void wg_copy_line(char *out, size_t bytes, WGPUStringView text);
/* The device's callbacks; user1 is the wg_device. */
void wg_on_lost(WGPUDevice const *device, uint32_t reason, WGPUStringView message, void *user1, void *user2);
void wg_on_error(WGPUDevice const *device, uint32_t type, WGPUStringView message, void *user1, void *user2);

rlx_status wg_device_open(uint32_t index, const rlx_open_options *options, rlx_device **out);
void wg_device_close(rlx_device *d);

rlx_status wg_buffer_create(wg_device *d, uint64_t bytes, WGPUFlags usage, WGPUBuffer *out);
void wg_buffer_release(const wg_device *d, WGPUBuffer b); /* NULL is fine; the device may still use it */

extern const gpu_pipeline_maker wg_pipeline_maker, wg_late_pipeline_maker; /* the latter where is_late */
WGPUComputePipeline wg_pipeline_handle(const gpu_pipeline *p);
/* Whether the library compiles a kernel with subgroup operations. */
bool wg_subgroups_work(wg_device *d);
rlx_status wg_layouts_create(wg_device *d);
void wg_layouts_destroy(wg_device *d);
/* A pipeline of our own text, which is not in the kernel table. */
rlx_status wg_pipeline_create(wg_device *d, const char *text, const char *entry, uint32_t n_windows,
                              WGPUComputePipeline *out);

#endif
