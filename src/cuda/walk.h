/* A span of steps as one kernel that walks them: every multiprocessor has one block, which takes its share of each
 * dispatch in turn, and all blocks wait for each other between dispatches that depend on one another. That takes about
 * a microsecond, where the start of a kernel after another takes several; and a step's weights are fetched into the
 * level-2 cache while the steps before it run. So a token of a language model is one launch.
 *
 * The kernel is composed of the texts of the kernels that the span uses (VARIANT(walks)), each with its constants, so
 * programs of the same kinds of steps share it. What differs is the table of steps: windows, parameters, groups. A span
 * that cannot be walked stays a graph: a kernel that does not walk, a copy, a group that does not divide a block. */
#ifndef RLX_CUDA_WALK_H
#define RLX_CUDA_WALK_H

#include "cuda/compile.h"

struct cu_recording;

typedef struct cu_walk_range { /* of memory, to fetch */
  uint64_t at, bytes;
} cu_walk_range;

enum { CU_WALK_RANGES = 6 };

/* A dispatch in the table, as the kernel reads it (walk_text.h). */
typedef struct cu_walk_step {
  uint64_t windows[GPU_MAX_WINDOWS];
  uint32_t params[GPU_MAX_PARAM_WORDS];
  uint32_t kernel, groups;
  uint32_t turn;                       /* the block that takes group 0 */
  uint32_t ends;                       /* 1: what follows waits for this one and all before it */
  cu_walk_range ahead[CU_WALK_RANGES]; /* to fetch at its start; of 0 bytes: none */
} cu_walk_step;

typedef struct cu_walker { /* a composed kernel; the device keeps it */
  uint64_t key;            /* hash of its text */
  cu_code code;
  struct cu_walker *next;
} cu_walker;

typedef struct cu_walk {
  CUfunction function;
  rlx_block *table; /* the blocks' common counter, and the steps */
  uint32_t n_steps, n_blocks, n_threads;
} cu_walk;

/* *out is NULL if the span cannot be walked. The context is current. */
rlx_status cu_walk_create(rlx_program *p, size_t first, size_t n, cu_walk **out);
void cu_walk_destroy(rlx_program *p, cu_walk *w);
CUresult cu_walk_launch(rlx_program *p, const cu_walk *w); /* under the queue's lock */
void cu_walkers_destroy(cu_device *d);                     /* the context is current */

#endif
