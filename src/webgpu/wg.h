/* An open WebGPU device: the state shared by the files of this directory.
 *
 * WebGPU has one queue per device, which executes in order. So all sessions share one timeline, whose points are
 * serials of submissions, and a queue of the backend interface is only a name for it (queue.h). Copies are gathered
 * in a batch, a command encoder, which is submitted with the next submission.
 *
 * Errors: a call of WebGPU returns nothing. Its error reaches a callback in the same thread, and a guard around the
 * call (wg_guard) turns it into a status.
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
};

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
  WGPUDevice handle;
  WGPUQueue queue;
  uint64_t submit_cost; /* maximum cost of one submission, in gpu_dispatch.cost */
  uint64_t max_buffer_bytes;
  uint64_t slot_bytes; /* of a write or read in pieces */

  gpu_pipelines pipelines;
  WGPUBindGroupLayout window_groups[GPU_MAX_WINDOWS + 1]; /* by number of windows */
  WGPUBindGroupLayout params_group;
  WGPUPipelineLayout layouts[GPU_MAX_WINDOWS + 1];
  WGPUBuffer nothing;             /* WG_ALIGN bytes, bound for an absent window of a kernel */
  WGPUComputePipeline move, fill; /* moves.c */

  rlx_mutex lock; /* guards what follows */
  bool has_lock;
  WGPUCommandEncoder batch;                  /* NULL: nothing is batched */
  bool has_writes;                           /* buffers were written after the last submission */
  uint64_t written_bytes;                    /* of those */
  uint64_t submitted;                        /* serial of the last submission */
  WGPUSubmissionIndex indices[WG_N_INDICES]; /* by serial, modulo their number */
  wg_read *reads, *last_read;                /* oldest first */
  wg_read read_slots[WG_N_READS];            /* a run allocates nothing; more than these are on the heap */

  atomic_uint_least64_t completed; /* highest serial that is done */
  atomic_bool lost_begun;          /* base.is_lost is set after lost_why is written */
  char lost_why[256];
} wg_device;

typedef struct wg_block {
  rlx_block base;
  WGPUBuffer buffer;             /* NULL: empty, or host memory */
  uint64_t bytes;                /* of the buffer */
  atomic_uint_least64_t pending; /* serial of the last copy to host memory; 0: none */
} wg_block;

static inline wg_device *wg_device_of(rlx_device *d) { return (wg_device *)d; }
static inline WGPUBuffer wg_buffer(const rlx_block *b) { return ((const wg_block *)b)->buffer; }
static inline WGPUStringView wg_text(const char *text) { return (WGPUStringView){text, SIZE_MAX}; }

/* ---- errors (device.c) ---- */

/* The first error of the calls that this thread makes between begin and end. Nests. */
typedef struct wg_guard {
  struct wg_guard *outer;
  uint32_t type; /* 0: none */
  char message[320];
} wg_guard;
void wg_guard_begin(wg_guard *g);
/* RLX_OK, or the status of the error or of the lost device; the message has the operation. */
rlx_status wg_guard_end(wg_device *d, wg_guard *g, const char *fmt, ...) RLX_PRINTF(3, 4);
/* The same without a status: whether there was an error. */
bool wg_guard_drop(wg_guard *g);
/* The status of an error that a guard caught elsewhere. */
rlx_status wg_fail(wg_device *d, const wg_guard *g, const char *what);
/* RLX_OK, or RLX_DEVICE_LOST if the device was lost before. */
rlx_status wg_check(wg_device *d);

rlx_status wg_device_open(uint32_t index, const rlx_open_options *options, rlx_device **out);
void wg_device_close(rlx_device *d);

rlx_status wg_buffer_create(wg_device *d, uint64_t bytes, WGPUFlags usage, WGPUBuffer *out);
void wg_buffer_release(const wg_device *d, WGPUBuffer b); /* NULL is fine; the device may still use it */

extern const gpu_pipeline_maker wg_pipeline_maker;
WGPUComputePipeline wg_pipeline_handle(const gpu_pipeline *p);
rlx_status wg_layouts_create(wg_device *d);
void wg_layouts_destroy(wg_device *d);
/* A pipeline of our own text, which is not in the kernel table. */
rlx_status wg_pipeline_create(wg_device *d, const char *text, const char *entry, uint32_t n_windows,
                              WGPUComputePipeline *out);

#endif
