/* The fake CUDA driver (tests/cuda/fake/): its controls, and how a test program comes to use it.
 *
 * The fake is a library with the names libcuda.so.1, libnvrtc.so.13 and libcublasLt.so.13 in a folder of the build. A program that has the
 * folder in LD_LIBRARY_PATH when it starts loads it in place of NVIDIA's. It has one device, whose kernels are run by
 * the emulator of src/emu, or from PTX as it is (tests/cuda/fake/ptx.h). Work in streams is executed as late as CUDA allows, and the nodes of a graph in a random
 * order, so a missing wait or a missing edge gives wrong results instead of being hidden by luck.
 *
 * Environment, read at each cuInit (numbers):
 *   FAKE_CUDA_SEED      of the random order and of cuEventQuery
 *   FAKE_CUDA_LOG       1: each refused call and each fault is a line on stderr that says what was expected
 *   FAKE_CUDA_DEVICES   0: cuInit reports CUDA_ERROR_NO_DEVICE
 *   FAKE_CUDA_NAME, FAKE_CUDA_UNITS, FAKE_CUDA_THREADS (per block), FAKE_CUDA_SHARED (bytes per block),
 *   FAKE_CUDA_GRID (blocks along x), FAKE_CUDA_WARP (0: no sub-groups), FAKE_CUDA_MEMORY (bytes), FAKE_CUDA_ARCH (90:
 *   compute capability 9.0), FAKE_CUDA_VERSION (of the driver): what the device looks like
 *   FAKE_CUDA_BLIND     1: modules are made from any image, any function is found, launches do nothing
 *   FAKE_CUDA_INIT      what a read of device memory that nothing wrote is: 1 (default) a fault, 2 a line on stderr, 0
 *                       nothing
 *   FAKE_CUDA_PTX       a folder: each PTX text that is loaded is written there, for NVIDIA's assembler
 *   FAKE_NVRTC_ARCH     the newest architecture that the compiler knows */
#ifndef RLX_TESTS_CUDA_FAKE_H
#define RLX_TESTS_CUDA_FAKE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fake_cuda_plan { /* calls are counted from 1 when the plan is set; 0: never */
  uint64_t fail_memory;         /* this cuMemAlloc is out of memory */
  uint64_t fail_host;           /* this cuMemHostAlloc */
  uint64_t fail_create;         /* this creation of a context, stream, event, module, graph, node or instantiation */
  uint64_t fail_submit;         /* this copy, memset, launch, graph launch, event record or stream wait */
  uint64_t fail_compile;        /* this nvrtcCompileProgram, or this module of PTX, is an error in the program */
  bool fails_from_then_on;      /* and so do all calls of that kind after it */
  uint64_t lose_at_launch;      /* when this launch (of a kernel or a graph) is executed, its context is lost */
  int lose_with;                /* 0: CUDA_ERROR_ILLEGAL_ADDRESS */
  uint32_t wander;              /* of 256: how often a step of a wait also runs an operation of any other stream */
} fake_cuda_plan;

typedef struct fake_cuda_counts {
  /* calls since the plan was set: those that the plan can make fail */
  uint64_t memory, host, creates, submits, compiles;
  uint64_t launches; /* of kernels and graphs, as lose_at_launch counts them */
  /* of these */
  uint64_t graph_launches, copies, sets, records, stream_waits;
  uint64_t host_waits; /* cuEventSynchronize, cuCtxSynchronize */
  uint64_t queries;    /* cuEventQuery */
  uint64_t kernels;    /* executed, including those of graphs */
  uint64_t products;   /* of these, by cuBLASLt */
  uint64_t walks;      /* kernels made of many (src/cuda/walk.h), executed */
  uint64_t refused;    /* calls that failed for a reason other than the plan or a lost context; not NOT_READY */
  /* created and not yet destroyed, at this moment */
  uint64_t contexts, allocations, pinned, streams, events, modules, graphs, graph_execs, programs;
  uint64_t live;    /* the sum of these */
  uint64_t pending; /* operations in streams that have not been executed */
  uint64_t device_bytes, pinned_bytes;
  char fault[256];  /* the last one of a kernel or of an operation; "": none since the plan was set */
  char reason[256]; /* why the last call was refused */
} fake_cuda_counts;

typedef void (*fake_cuda_set_fn)(const fake_cuda_plan *plan);
typedef void (*fake_cuda_get_fn)(fake_cuda_counts *out);
#define FAKE_CUDA_SET "fake_cuda_set"
#define FAKE_CUDA_GET "fake_cuda_get"

/* Makes this program use the fake: unless LD_LIBRARY_PATH names its folder already, puts it there and executes the same
 * program with the same arguments again. So it does not return then, and true is returned in the new program. False:
 * that failed. To be called before anything else, from main or from a constructor, to which glibc passes argc and
 * argv. */
bool cuda_fake_enter(int argc, char **argv);

const char *cuda_fake_folder(void);

/* The controls of the fake in this program; false: libcuda.so.1 is not the fake. */
bool cuda_fake_set(const fake_cuda_plan *plan);
bool cuda_fake_get(fake_cuda_counts *out);

#endif
