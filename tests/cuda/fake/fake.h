/* The inside of the fake CUDA driver. tests/support/cuda_fake.h says what it does and what controls it.
 *
 * The functions of libcuda are those of src/cuda/functions.def: fake_NAME here, and the symbol of the table in the
 * library, so that the compiler compares each definition with the declaration that the backend uses.
 *
 * A handle is a number, not a pointer: where the object is in a table, and how often that place was used. So a handle
 * of an object that is gone, or of another kind, is found out and never followed. Device addresses are numbers that
 * no host address has, and that are never given out again.
 *
 * One lock is held during every call. Functions below that are not fake_NAME are called with it. */
#ifndef RLX_TESTS_CUDA_FAKE_FAKE_H
#define RLX_TESTS_CUDA_FAKE_FAKE_H

#include <stdbool.h>

#include "cuda/blas_api.h"
#include "cuda/driver.h"
#include "cuda_fake.h"
#include "gpu/gpu.h"

#define FAKE_EXPORT __attribute__((visibility("default")))
#define CU_FUNCTION(name, symbol, args) FAKE_EXPORT CUresult fake_##name args __asm__(symbol);
#define NVRTC_FUNCTION(name, args) FAKE_EXPORT nvrtcResult nvrtc##name args;
#include "cuda/functions.def"
#undef CU_FUNCTION
#undef NVRTC_FUNCTION
#define BLAS_FUNCTION(name, args) FAKE_EXPORT cublasStatus cublasLt##name args;
#include "cuda/blas.def"
#undef BLAS_FUNCTION

typedef struct fake_stream fake_stream;
typedef struct fake_exec fake_exec;

/* ---- state (device.c) ---- */

typedef struct fake_settings { /* from the environment */
  uint64_t seed, memory_bytes;
  int n_devices, units, threads, shared_bytes, grid_x, warp, arch, version, nvrtc_arch;
  bool is_blind, is_logged;
  int init; /* reads of bytes that nothing wrote: 0: taken, 1: faults, 2: lines on stderr */
  char name[128];
} fake_settings;

extern fake_settings fake_device;
extern fake_cuda_plan fake_plan;
extern fake_cuda_counts fake_count; /* all but the counts of live objects */

void fake_lock(void);
CUresult fake_unlock(CUresult r);                      /* returns r */
CUresult fake_ready(void);                             /* whether cuInit was called, in this process */
CUresult fake_refuse(CUresult r, const char *fmt, ...) /* keeps the reason; returns r */
  __attribute__((format(printf, 2, 3)));
void fake_log(const char *what, const char *text);
/* Counts a call; true: the plan makes it fail. */
bool fake_fails(uint64_t *counter, uint64_t at);
CUresult fake_loses_now(void);        /* the error that the launch just counted ends with; 0: none */
uint32_t fake_random(uint32_t below); /* below > 0 */
void *fake_new(size_t bytes);         /* zeros; the process ends if it has no memory */
void *fake_copy(const void *p, size_t bytes);

/* ---- handles (handle.c) ---- */

typedef enum fake_kind {
  FAKE_CONTEXT = 1,
  FAKE_STREAM,
  FAKE_EVENT,
  FAKE_MODULE,
  FAKE_FUNCTION,
  FAKE_GRAPH,
  FAKE_EXEC,
  FAKE_PROGRAM,
  FAKE_BLAS, /* handles and descriptions of cuBLASLt */
  FAKE_KINDS,
} fake_kind;

void *fake_handle_new(fake_kind kind, void *object);
void *fake_handle_find(fake_kind kind, const void *handle); /* the object; NULL: no such handle */
void fake_handle_free(const void *handle);
uint64_t fake_handle_count(fake_kind kind);

/* ---- contexts (context.c) ---- */

typedef struct fake_context {
  CUcontext handle;
  CUresult lost;        /* not 0: each call reports it */
  fake_stream *streams; /* in order of creation; the first is the default stream */
  struct fake_event *events;
  struct fake_module *modules;
  struct fake_exec *execs;
} fake_context;

/* The current context of the thread. Fails if there is none, or if it is lost. */
CUresult fake_current(fake_context **out);
/* The same, but a lost context is returned as well, with its error: for what destroys objects. */
CUresult fake_current_or_lost(fake_context **out);
/* An operation failed: the context is lost and what is pending in it is dropped. */
void fake_lose(fake_context *c, CUresult error, const char *text);

/* ---- memory (memory.c) ---- */

typedef struct fake_memory {
  uint64_t address; /* of pinned memory: the host's address */
  size_t bytes;
  unsigned char *host;
  unsigned char *written; /* by byte: 1 if a copy, a set or a kernel wrote it; NULL: not known (pinned memory) */
  bool is_pinned;
  fake_context *context;
} fake_memory;

/* The memory that contains an address, or that ends there; NULL: none. */
const fake_memory *fake_memory_at(const fake_context *c, uint64_t address);
/* The host's pointer to a range, NULL if it is not inside one allocation of the context. */
unsigned char *fake_range(const fake_context *c, uint64_t address, size_t bytes);
/* What is known of the bytes of a range, which is inside one allocation; NULL: all are taken to be written. */
unsigned char *fake_written(const fake_context *c, uint64_t address);
void fake_set_written(const fake_context *c, uint64_t address, size_t bytes);
/* An operation read bytes that nothing wrote: counts and keeps the text. Not 0: the context is lost with it. */
CUresult fake_unwritten(const char *text);
/* Whether a copy between two ranges is one that CUDA takes. */
CUresult fake_copy_check(const fake_context *c, uint64_t dst, uint64_t src, size_t bytes);
void fake_memory_free_all(const fake_context *c);
void fake_memory_count(fake_cuda_counts *out);

/* ---- streams and events (stream.c) ---- */

typedef struct fake_mark { /* a position in a stream */
  uint32_t refs;
  bool is_done;
  fake_stream *stream; /* valid until it is done */
  uint64_t time_ns;
} fake_mark;

typedef struct fake_copied { /* a copy; src_bytes: the bytes, if not at src */
  uint64_t dst, src;
  size_t bytes;
  unsigned char *src_bytes;
} fake_copied;

typedef struct fake_matrix { /* by columns */
  int type;                  /* CUDA_R_x */
  uint64_t rows, columns;
  int64_t column_step, step; /* elements; step: to the matrix of the next product */
} fake_matrix;

typedef struct fake_product { /* y = a b, as cuBLASLt takes it */
  uint64_t at[4];             /* a, b, y, bias; bias 0: none */
  fake_matrix a, b, y;
  int32_t n_batches;
  bool is_a_transposed, is_relu;
} fake_product;

typedef struct fake_launch {
  bool is_product; /* of blas.c: then only `product` counts */
  fake_product product;
  CUfunction function;
  uint32_t grid_x, grid_y, block_x;
  uint64_t windows[GPU_MAX_WINDOWS];
  uint32_t params[GPU_MAX_PARAM_WORDS];
  uint64_t steps; /* of "walk": their table, and how many */
  uint32_t n_steps;
} fake_launch;

typedef enum fake_op_kind { FAKE_OP_NONE, FAKE_OP_COPY, FAKE_OP_SET, FAKE_OP_LAUNCH, FAKE_OP_GRAPH } fake_op_kind;

typedef struct fake_op {
  struct fake_op *next;
  fake_op_kind kind;
  fake_mark *after; /* it is executed when this is done; may be NULL */
  fake_mark *mark;  /* is done with it; may be NULL */
  CUresult lose;    /* not 0: when executed, it loses the context */
  fake_copied copy; /* of a set: dst and bytes */
  unsigned char value;
  fake_launch launch;
  fake_exec *exec;
} fake_op;

fake_op *fake_push(fake_stream *s, fake_op_kind kind); /* a new operation at the end */
fake_mark *fake_mark_new(fake_stream *s);
fake_mark *fake_mark_ref(fake_mark *m);
void fake_mark_unref(fake_mark *m);
CUresult fake_run_mark(fake_context *c, fake_mark *m);     /* until it is done */
CUresult fake_run_stream(fake_context *c, fake_stream *s); /* until it is empty */
CUresult fake_run_all(fake_context *c);                    /* all streams, in a random order */
void fake_drop_all(fake_context *c);                       /* what is pending is forgotten */
void fake_add_default_stream(fake_context *c);
void fake_streams_free(fake_context *c); /* and events */
uint64_t fake_pending(void);             /* operations, of all contexts */
/* The graph that a stream records into; NULL: it does not record. */
CUgraph fake_recorded(const fake_stream *s);
/* Counts a submission and checks the stream: the beginning of every call that gives work to a stream. */
CUresult fake_submit(CUstream handle, uint64_t *counter, fake_context **c, fake_stream **s);

/* Executes. Not 0: the error that the context is lost with, with a text. */
CUresult fake_execute_copy(fake_context *c, const fake_copied *copy, char text[256]);
CUresult fake_execute_product(fake_context *c, const fake_product *p, char text[256]);
/* What kernels that start early may read before they wait (gpu_kernel.early): they get the bytes of the moment when their
 * graph started. `keep` copies the memory that a launch may read so; while `use` is on, launches read the copies. */
void fake_early_keep(fake_context *c, const fake_launch *l);
void fake_early_use(bool use);
void fake_early_free(void);
CUresult fake_execute_launch(fake_context *c, const fake_launch *l, char text[256]);
CUresult fake_execute_graph(fake_context *c, const fake_exec *e, char text[256]);

/* ---- modules and launches (module.c) ---- */

/* What the fake compiler makes and the fake driver loads. */
typedef struct fake_image {
  char magic[8];
  uint64_t checksum; /* of what follows */
  uint32_t arch;     /* 0: any */
  uint32_t group_size;
  uint32_t window_align[GPU_MAX_WINDOWS];
  uint32_t constants[GPU_MAX_CONSTANTS];
  uint32_t n_more; /* of "walk": the kernels that it is composed of, whose images follow */
  char kernel[64];
} fake_image;
#define FAKE_MAGIC "fakecuda"
uint64_t fake_checksum(const fake_image *image);
const gpu_kernel *fake_kernel(const char *name); /* NULL: the emulator has no such kernel */

/* Checks and copies what a launch or a kernel node is given. */
CUresult fake_launch_read(const fake_context *c, const CUDA_KERNEL_NODE_PARAMS_v1 *params, fake_launch *out);
bool fake_function_is_live(const fake_context *c, CUfunction f);
void fake_modules_free(fake_context *c);

/* ---- graphs (graph.c) ---- */

/* Adds a node that waits for nothing. */
CUresult fake_graph_add_launch(CUgraph handle, const fake_launch *l);
void fake_exec_unref(fake_exec *e);
void fake_execs_free(fake_context *c);

#endif
