/* The planned steps of a program as dispatches with bound windows: what every GPU backend begins a program with. The
 * backend then adds its own objects (pipelines, descriptor sets, graph nodes) by the index of the dispatch.
 *
 * Tables and the run's words are buffers of the program that the backend makes; until then their windows have the
 * blocks gpu_table_block and gpu_run_block, which only stand for them. */
#ifndef RLX_GPU_PROGRAM_H
#define RLX_GPU_PROGRAM_H

#include "gpu/pipelines.h"

typedef struct gpu_bound_dispatch {
  const gpu_kernel *kernel;
  const uint32_t *constants, *params;
  uint32_t group_size, groups_x, groups_y, dynamic_bytes;
  uint64_t cost;
  bool reads_part;
  size_t step;
  rlx_bound windows[GPU_MAX_WINDOWS];
} gpu_bound_dispatch;

typedef struct gpu_step {
  rlx_node node;
  size_t first, n;     /* its dispatches; if none: */
  uint64_t copy_bytes; /* bytes to copy; 0: nothing to do */
  rlx_bound from, to;  /* of a copy */
} gpu_step;

typedef struct gpu_program {
  const rlx_graph *graph;
  rlx_bump memory;
  gpu_step *steps;
  size_t n_steps;
  RLX_ARRAY(gpu_bound_dispatch) dispatches;
  RLX_ARRAY(uint32_t) table; /* the tables of all dispatches; the backend may free it once it has copied them */
  bool reads_run_words;
  gpu_pipelines *pipelines;       /* where `requests` are from; NULL until they are made */
  gpu_pipeline_request *requests; /* by dispatch */
} gpu_program;

extern rlx_block gpu_table_block, gpu_run_block;
static inline bool gpu_is_own_block(const rlx_block *b) { return b == &gpu_table_block || b == &gpu_run_block; }

/* The bytes that a copy step moves: the value's and, since kernels read whole words, the rest of its last word. */
uint64_t gpu_copy_bytes(const rlx_bound *from, const rlx_bound *to);
/* *p is zeroed. Checks every window; a failure names the node. */
rlx_status gpu_program_init(gpu_program *p, const gpu_caps *caps, const rlx_program_desc *desc);
/* Gets the pipeline of every dispatch whose kernel has code. */
rlx_status gpu_program_find_pipelines(gpu_program *p, gpu_pipelines *from);
void gpu_program_deinit(gpu_program *p); /* releases the pipelines */
/* Adds the node's name to a failure. */
rlx_status gpu_program_frame(const gpu_program *p, rlx_status s, size_t step);
/* The same for steps first to last: "nodes 3 (matmul) to 9 (add)". */
rlx_status gpu_program_frame_span(const gpu_program *p, rlx_status s, size_t first, size_t last);

#endif
