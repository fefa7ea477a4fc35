/* Programs: planned steps as kernels with bound windows (gpu/program.h). Each span of steps is recorded once as CUDA
 * graphs and launched many times; a span that runs often becomes one kernel (walk.h). program.c creates programs,
 * record.c records graphs, run.c launches them and measures times. */
#ifndef RLX_CUDA_PROGRAM_H
#define RLX_CUDA_PROGRAM_H

#include "cuda/blas.h"
#include "cuda/compile.h"
#include "cuda/walk.h"
#include "gpu/hazards.h"
#include "gpu/program.h"

/* What CUDA adds to the dispatch with the same index. */
typedef struct cu_dispatch {
  CUfunction function; /* NULL: a library computes it: */
  cu_product *product;
  CUdeviceptr windows[GPU_MAX_WINDOWS];
  uint32_t n_accesses;
  gpu_access accesses[GPU_MAX_WINDOWS]; /* of memory that changes, not of tables */
} cu_dispatch;

/* One launch: a graph, or the steps themselves if they are few. */
typedef struct cu_part {
  CUgraphExec graph;  /* NULL: the steps are launched one by one */
  size_t first, last; /* steps */
} cu_part;

typedef enum cu_manner {
  CU_PLAIN,  /* as one part */
  CU_WATCHED /* in parts between which the run can be stopped */
} cu_manner;

typedef struct cu_recording { /* of a span of steps */
  size_t first, n;
  cu_manner manner;
  RLX_ARRAY(cu_part) parts;
  uint64_t n_runs;
  cu_walk *walk;             /* not NULL: launched in place of the parts (CU_PLAIN) */
  struct cu_recording *next; /* with the same first step */
} cu_recording;

struct rlx_program {
  cu_queue *queue;
  cu_device *device;
  gpu_program body;
  cu_dispatch *dispatches; /* by dispatch */
  rlx_block *table_block, *run_block;
  uint64_t last;             /* serial of its last submission */
  cu_recording **recordings; /* by first step */
};

rlx_status cu_program_create(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out);
void cu_program_destroy(rlx_program *p);
rlx_status cu_program_submit(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args);

/* The recording of a span, created on first use. The context is current. */
rlx_status cu_program_record(rlx_program *p, size_t first, size_t n, cu_manner manner, cu_recording **out);
void cu_recording_destroy(rlx_program *p, cu_recording *r);

/* The arguments of a kernel as the driver takes them: pointers to the windows' addresses and to the parameters. */
typedef struct cu_arguments {
  void *v[GPU_MAX_WINDOWS + 1];
} cu_arguments;
void cu_arguments_of(const rlx_program *p, size_t dispatch, cu_arguments *out);

#endif
