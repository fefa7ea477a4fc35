/* Programs: planned steps as dispatches with bound windows (gpu/program.h). WebGPU's command buffers are submitted
 * once, so every run encodes its steps anew. program.c creates programs, run.c encodes, submits and times them. */
#ifndef RLX_WEBGPU_PROGRAM_H
#define RLX_WEBGPU_PROGRAM_H

#include "gpu/program.h"
#include "webgpu/queue.h"

/* What WebGPU adds to the dispatch with the same index. */
typedef struct wg_dispatch {
  WGPUComputePipeline pipeline;
  WGPUBindGroup windows;
  size_t first_copy, n_copies; /* before it: windows that it may not share */
} wg_dispatch;

/* Of a window to the program's own buffer. */
typedef struct wg_window_copy {
  uint32_t window;
  WGPUBuffer from;
  uint64_t offset, bytes, to;
} wg_window_copy;

/* Queries of the device's clock (times.h). */
typedef struct wg_times {
  WGPUQuerySet set;  /* NULL: none was needed yet */
  WGPUBuffer buffer; /* for its values */
  uint64_t *ticks;   /* the values */
  size_t *steps;     /* by pair of queries */
  uint32_t n;        /* pairs of the current part */
  bool is_refused;
} wg_times;

enum { WG_MAX_AHEAD = 3 }; /* submissions of a program in flight */

struct rlx_program {
  wg_device *device;
  rlx_queue *queue;
  gpu_program body;
  wg_dispatch *dispatches;            /* by dispatch */
  rlx_block *table_block, *run_block; /* NULL: none */
  WGPUBuffer params;                  /* WG_PARAMS_BYTES for each dispatch */
  WGPUBindGroup params_group;
  RLX_ARRAY(wg_window_copy) copies; /* where the library forbids windows that overlap */
  WGPUBuffer apart;                 /* where they go */
  uint64_t apart_bytes;
  wg_times times;
  uint64_t last;                    /* serial of its last submission */
  uint64_t in_flight[WG_MAX_AHEAD]; /* of the last submissions, the oldest at next_in_flight */
  uint32_t next_in_flight;
};

/* "node 3 (softmax): " for errors that come late, which get no other frame; otherwise "". */
typedef struct wg_place {
  char text[120];
} wg_place;
wg_place wg_place_of(const rlx_program *p, size_t first_step, size_t last_step);

rlx_status wg_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out);
void wg_program_destroy(rlx_program *p);
rlx_status wg_program_submit(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args);

#endif
