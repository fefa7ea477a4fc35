/* An open CUDA device: the state shared by the files of this directory.
 *
 * The device has a context of its own, not the primary one that CUDA's run-time library shares: a kernel that fails
 * ends its context, and then only this one. A call of the backend makes the context current in its thread and puts back
 * what was there (cu_enter, cu_leave).
 *
 * Work reaches the device through the queues of its sessions (queue.h), each a stream. Addresses are those of one
 * address space, so memory needs no allocator of its own: the pool above keeps blocks for reuse.
 *
 * Lock order: walk_lock, pipelines.lock, lock (the list of queues), cu_queue.lock. */
#ifndef RLX_CUDA_CU_H
#define RLX_CUDA_CU_H

#include <stdatomic.h>

#include "base/os.h"
#include "cuda/loader.h"
#include "cuda/queue.h"
#include "gpu/pipelines.h"

struct cu_device {
  rlx_device base;
  const cu_loader *loader;
  const cu_driver *f;
  const cu_physical *physical;
  gpu_caps caps; /* of this variant */
  bool uses_ptx; /* kernels are compiled by the driver (ptx.h), not by NVRTC */
  CUcontext context;
  uint64_t submit_cost; /* maximum cost of one submission of a run that can be stopped, in gpu_dispatch.cost */

  rlx_mutex lock; /* guards the list of queues */
  rlx_cond waited;
  cu_queue *queues;
  uint32_t last_queue_id;
  int n_locks; /* number of locks that were initialised */

  gpu_pipelines pipelines;
  rlx_mutex walk_lock;       /* guards what follows, and is held while a kernel is composed and compiled */
  struct cu_walker *walkers; /* walk.h */
  uint64_t walk_runs;        /* runs after which a span is walked */
  size_t walk_min;           /* minimum of its dispatches */
  bool overlaps; /* kernels wait for those before them themselves, so graphs may start them earlier (record.c) */
  const struct cu_blas *blas; /* NULL: none (blas.h) */
  struct cublasLtContext *blas_handle;
  CUdeviceptr nothing;    /* CU_ALIGN bytes of zeros, for an absent window of a kernel */
  atomic_bool lost_begun; /* base.is_lost is set after lost_why is written */
  char lost_why[384];
};

/* Alignment of blocks; kernels may read to the end of the last 16 bytes of a window, and blocks are padded to this. */
enum { CU_ALIGN = 256 };

/* A block stores the last copy recorded for it: the queue's id and the serial. */
enum { CU_SERIAL_BITS = 48, CU_MAX_QUEUE_ID = 0xffff };

typedef struct cu_block {
  rlx_block base;
  CUdeviceptr at;                /* 0: empty */
  atomic_uint_least64_t pending; /* 0: none */
} cu_block;

static inline cu_device *cu_device_of(rlx_device *d) { return (cu_device *)d; }
static inline CUdeviceptr cu_address(const rlx_block *b) { return ((const cu_block *)b)->at; }

/* The status for a failed call; the message has the operation and the driver's name for the error. Sets is_lost if the
 * context has ended. */
rlx_status cu_fail(cu_device *d, CUresult r, const char *fmt, ...) RLX_PRINTF(3, 4);
/* RLX_OK, or RLX_DEVICE_LOST if the device was lost before. */
rlx_status cu_check(cu_device *d);
/* Makes the context current; fails if the device is lost. Each success is followed by cu_leave in the same thread. */
rlx_status cu_enter(cu_device *d);
/* The same for destroying objects: also if the device is lost. False: nothing can be called. */
bool cu_enter_any(cu_device *d);
void cu_leave(cu_device *d);

rlx_status cu_device_open(uint32_t index, const rlx_open_options *options, rlx_device **out);
void cu_device_close(rlx_device *d);

rlx_status cu_block_create(rlx_device *d, uint64_t bytes, rlx_block **out);
rlx_status cu_block_create_host(rlx_device *d, uint64_t bytes, rlx_block **out);
void cu_block_destroy(rlx_device *d, rlx_block *b);

#endif
