/* Pipelines: a kernel with its specialisation constants, compiled for a device. They are created when a program first
 * needs them, several at a time, each once per device. Pipelines that no program uses are kept for later programs up to
 * a limit (LRU), because sizes that keep changing must not fill the memory.
 *
 * How one is compiled is the backend's: its own struct begins with gpu_pipeline. */
#ifndef RLX_GPU_PIPELINES_H
#define RLX_GPU_PIPELINES_H

#include "base/os.h"
#include "gpu/codes.h"

typedef struct gpu_pipeline {
  const gpu_kernel *kernel;
  uint32_t group_size;
  uint32_t *constants; /* stored after the backend's struct */
  uint64_t hash;
  struct gpu_pipeline *next; /* in its hash bucket */
  size_t refs;               /* dispatches that use it; 0: idle, and in the LRU list: */
  struct gpu_pipeline *older, *newer;
} gpu_pipeline;

enum { GPU_PIPELINE_BUCKETS = 1024, GPU_MAX_PIPELINE_THREADS = 8 };

typedef struct gpu_pipelines gpu_pipelines;

/* What the backend provides. compile runs in several threads at once, whose messages nobody sees: it returns 0 or a
 * code, from which `fail` makes the status in the thread of the caller. */
typedef struct gpu_pipeline_maker {
  const char *name;    /* of the backend, for messages */
  const char *span;    /* of traces; a string with static lifetime */
  size_t struct_bytes; /* of the backend's struct */
  int (*compile)(gpu_pipelines *p, gpu_pipeline *q);
  int (*finish)(gpu_pipelines *p, gpu_pipeline *q); /* NULL, or the end of what compile only begins, in one thread */
  rlx_status (*fail)(gpu_pipelines *p, const gpu_pipeline *q, int code);
  void (*destroy)(gpu_pipelines *p, gpu_pipeline *q); /* what compile made; it may have failed or not have run */
  void (*made)(gpu_pipelines *p, size_t n);           /* after n pipelines were made, under the lock; may be NULL */
} gpu_pipeline_maker;

struct gpu_pipelines {
  const gpu_pipeline_maker *maker;
  void *device;   /* the backend's */
  rlx_mutex lock; /* guards all below, and is held while pipelines are compiled */
  bool has_lock;
  gpu_pipeline *buckets[GPU_PIPELINE_BUCKETS];
  size_t n, n_idle, max_idle;
  gpu_pipeline *oldest, *newest; /* of the idle pipelines */
  gpu_codes codes;
};

/* A pipeline that a program needs; the result is in `made`. */
typedef struct gpu_pipeline_request {
  const gpu_kernel *kernel;
  uint32_t group_size;
  const uint32_t *constants; /* kernel->n_constants values */
  gpu_pipeline *made;        /* stays NULL if the kernel has no code (library.h) */
} gpu_pipeline_request;

/* column: the code for this device (kernel.h). */
rlx_status gpu_pipelines_init(gpu_pipelines *p, const gpu_pipeline_maker *maker, void *device, const gpu_pack *column,
                              const gpu_caps *caps);
void gpu_pipelines_deinit(gpu_pipelines *p); /* accepts a zeroed struct */
/* Gets all requested pipelines, each with a reference, or none; then *failed is the index of the first that failed. */
rlx_status gpu_pipelines_get(gpu_pipelines *p, gpu_pipeline_request *requests, size_t n, size_t *failed);
/* Releases one reference; NULL is fine. */
void gpu_pipeline_release(gpu_pipelines *p, gpu_pipeline *q);

#endif
