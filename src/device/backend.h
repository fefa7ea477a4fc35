/* A backend is a table of functions. It opens devices, allocates blocks, moves bytes and runs programs. It contains no
 * policy: fusion, planning, placement on the host, sharing and caching are decided above it, once for all backends.
 *
 * Work reaches a device through queues, one per session. A queue executes its work in submission order, and each call may
 * return before its work is done. A point is a position on a queue's timeline: it is reached when all work submitted
 * before it is done. The host waits for a point, polls it, or lets another queue wait for it (`after`). Two queues of a
 * device never wait for each other otherwise, except where the hardware has fewer queues than there are sessions.
 *
 * A backend says of each node whether it claims it (claim), and gets programs made of planned steps whose windows are
 * bound to blocks. A queue and its programs may be used by several threads at once as long as the ranges of the blocks do
 * not overlap; one program is submitted by one thread at a time. A failure is a status and a message that names the node; it
 * never ends the process.
 *
 * To write a new one, start from null.c, which claims nothing, and add a line to backends.def. */
#ifndef RLX_DEVICE_BACKEND_H
#define RLX_DEVICE_BACKEND_H

#include <stdatomic.h>

#include "base/thread.h"
#include "ir/graph.h"

typedef struct rlx_backend rlx_backend;

/* An opened device; a backend's own struct begins with it. Devices are shared: see registry.h. */
typedef struct rlx_device {
  const rlx_backend *backend;
  rlx_device_info info;
  atomic_bool is_lost; /* set by the backend, for good: who acquires this device next gets it opened anew */
} rlx_device;

/* A piece of device memory; a backend's own struct begins with it. */
typedef struct rlx_block {
  uint64_t bytes;
  void *map; /* where the host may read and write it directly; NULL: only through write and read */
} rlx_block;

/* Executes work in submission order; a backend's own struct begins with it. */
typedef struct rlx_queue {
  rlx_device *device;
} rlx_queue;

/* Reached when the work submitted to the queue before it is done. Value 0 is reached from the beginning. */
typedef struct rlx_point {
  rlx_queue *queue;
  uint64_t value; /* rises with each submission */
} rlx_point;

typedef struct rlx_bound { /* a window with its block */
  rlx_block *block;        /* NULL: absent */
  uint64_t offset, bytes;
} rlx_bound;

/* ---- what runs where ---- */

typedef struct rlx_claim_query {
  const rlx_graph *graph;
  rlx_node node;
  const uint32_t *layout; /* by input: how weights lie; NULL: not decided, say what you wish */
  uint32_t switches;      /* rlx_switch */
} rlx_claim_query;

typedef struct rlx_lowering rlx_lowering; /* how a device runs a node: a backend's own */

typedef struct rlx_claim {
  bool native;
  const char *why;     /* where not native: a text that lives forever */
  uint32_t in_place;   /* bit i: the result may be written over input i, which has the same bytes */
  uint64_t work_bytes; /* memory the step needs beside its windows, for the layouts in the query */
  /* The wish: how input i should lie if it is a param or constant and all its readers agree. 0: as the graph has it
   * (row-major, or the block type's own order). Depends on the weight and the op alone and not on the other inputs'
   * sizes, so that executables of different sizes share one packed weight: where they wish for different ones, it is kept
   * twice. */
  uint32_t layout[RLX_OP_MAX_INPUTS];
  /* Bit i: input i is read in whatever layout of this device it lies, so the wish yields: it counts only where no other
   * reader has one. It should be what the likeliest other reader would wish for (a table of embeddings: a matrix product
   * with its rows), so that a program without that reader shares the weight with one that has it. */
  uint32_t weak;
  /* For the layouts in the query; of a native node of a backend that keeps one. Freed with rlx_claim_deinit (claims.h). */
  rlx_lowering *lowering;
} rlx_claim;

/* ---- programs ---- */

typedef struct rlx_bound_step {
  rlx_node node;
  bool copy; /* in[0] to out[0], which do not overlap; else the node */
  uint32_t n_in, n_out;
  const rlx_bound *in, *out;
  const uint32_t *layout; /* by input */
  const rlx_claim *claim; /* of the node, with those layouts; of a copy not looked at */
  rlx_bound work;
} rlx_bound_step;

typedef struct rlx_program_desc { /* all of it outlives the program */
  const rlx_graph *graph;
  const rlx_bound_step *steps;
  size_t n_steps;
  uint32_t switches; /* rlx_switch */
} rlx_program_desc;

typedef struct rlx_run_args {
  uint64_t draw;  /* the run's number, for random ops */
  rlx_pool *pool; /* threads for devices that compute with them; NULL: the caller's alone */
  /* With any of these submit returns when the steps are done: */
  bool is_stoppable;    /* the caller's budget (base/budget.h) is polled between steps */
  rlx_cancel_fn cancel; /* and this, where not NULL */
  void *cancel_user;
  uint64_t *begin_ns, *end_ns; /* per step of this run, where not NULL */
} rlx_run_args;

typedef struct rlx_program rlx_program;

typedef struct rlx_open_options {
  const char *variant; /* what followed the colon in "cpu:avx2"; NULL or "": none */
} rlx_open_options;

struct rlx_backend {
  const char *name;
  /* How many devices there are. A missing driver is 0 devices and *why a text that says so, never an error. Any thread
   * may call this and describe, at any time. */
  uint32_t (*count)(const char **why);
  rlx_status (*describe)(uint32_t index, rlx_device_info *out);
  rlx_status (*open)(uint32_t index, const rlx_open_options *options, rlx_device **out);
  void (*close)(rlx_device *d);

  /* *out is zeroed before. What is said depends on the node's op and attributes, its types, which of its inputs are one
   * value, and the rest of the query alone: one claim serves all equal nodes (claims.h), and programs get it back. A node
   * that it does not run is RLX_OK and a reason; a status is what ends the compilation, as memory that cannot be had: it
   * must not look like a refusal, which moves the node to the host. */
  rlx_status (*claim)(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out);
  void (*lowering_destroy)(rlx_lowering *l); /* NULL: claims have none */
  /* The bytes of a weight of this type in a layout (0 for a layout it does not know), and the weight moved between the
   * graph's layout and that one, in host memory. Only where claims wish for layouts; may be NULL. */
  uint64_t (*layout_bytes)(const rlx_device *d, uint32_t layout, const rlx_type *type);
  rlx_status (*repack)(const rlx_device *d, uint32_t layout, const rlx_type *type, bool to_layout, const void *src,
                       void *dst, rlx_pool *pool);
  /* Rows of axis 0 in whose multiples a weight can be packed piece by piece, each behind the one before; 0: only whole. May be
   * NULL. */
  uint32_t (*layout_rows)(const rlx_device *d, uint32_t layout, const rlx_type *type);

  rlx_status (*block_create)(rlx_device *d, uint64_t bytes, rlx_block **out); /* contents unknown; bytes may be 0 */
  /* The same in memory of the host that the device can write: it has a map. Results are copied there to be read once a
   * point is reached. NULL: all blocks of this device have maps. */
  rlx_status (*block_create_host)(rlx_device *d, uint64_t bytes, rlx_block **out);
  /* No program that uses the block is in flight; copies may be, and are waited for. */
  void (*block_destroy)(rlx_device *d, rlx_block *b);

  rlx_status (*queue_create)(rlx_device *d, rlx_queue **out);
  void (*queue_destroy)(rlx_queue *q); /* waits for its work */
  /* The point behind everything submitted so far. Copies that were gathered are sent. */
  rlx_status (*mark)(rlx_queue *q, uint64_t *value);
  rlx_status (*wait)(rlx_queue *q, uint64_t value);            /* fails where the work before it failed */
  rlx_status (*poll)(rlx_queue *q, uint64_t value, bool *out); /* *out: it is reached, and waiting returns at once */
  /* Work submitted from now on begins once the point of another queue of this device is reached. */
  rlx_status (*after)(rlx_queue *q, rlx_point point);

  /* Copies are submissions: ordered with the programs of their queue, and not waited for. Host memory is free again on
   * return. A block with a map is an exception: the host moves its bytes itself where no copy of the queue is pending, so
   * the caller first waits for programs in flight that use these bytes. `read` waits for the bytes. */
  rlx_status (*write)(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes);
  rlx_status (*read)(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes);
  rlx_status (*copy)(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                     uint64_t bytes); /* ranges of one block do not overlap */
  rlx_status (*zero)(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes);

  rlx_status (*program_create)(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out);
  /* Submits steps to the program's queue; `mark` gives the point behind them. A program may be submitted again before it
   * is done. A backend that computes in the calling thread returns when it is done. */
  rlx_status (*submit)(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args);
  void (*program_destroy)(rlx_program *p); /* waits where it is in flight */
};

/* One line per backend: rlx_backend_cpu, ... in order of preference among equals. A missing one does not link. */
#define BACKEND(name) extern const rlx_backend rlx_backend_##name;
#include "device/backends.def"
#undef BACKEND

#endif
