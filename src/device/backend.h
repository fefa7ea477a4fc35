/* The backend interface: a table of functions that open devices, allocate blocks, move bytes and run programs. A
 * backend contains no policy. Fusion, planning, placement on the host, sharing and caching are decided above it, once
 * for all backends.
 *
 * Work reaches a device through queues, one per session. A queue executes its work in submission order, and each call
 * may return before its work is done. A point is a position on a queue's timeline: it is reached when all work
 * submitted before it is done. The host waits for a point, polls it, or makes another queue wait for it (`after`). Two
 * queues of a device never wait for each other otherwise, except when the hardware has fewer queues than there are
 * sessions.
 *
 * For each node, `claim` reports whether the backend runs it. Programs consist of planned steps whose windows are bound
 * to blocks. Several threads may use a queue and its programs at once as long as the ranges of the blocks do not
 * overlap; one program is submitted by one thread at a time. A failure is a status and a message that names the node.
 * It never ends the process.
 *
 * To write a new backend, start from null.c, which claims nothing, and add a line to backends.def. */
#ifndef RLX_DEVICE_BACKEND_H
#define RLX_DEVICE_BACKEND_H

#include <stdatomic.h>

#include "base/thread.h"
#include "ir/graph.h"
#include "pass/pass.h"

typedef struct rlx_backend rlx_backend;

/* An open device. A backend's own struct begins with it. Devices are shared: see registry.h. */
typedef struct rlx_device {
  const rlx_backend *backend;
  rlx_device_info info;
  atomic_bool is_lost; /* set by the backend, never cleared; the next acquire opens the device again */
} rlx_device;

/* A range of device memory. A backend's own struct begins with it. */
typedef struct rlx_block {
  uint64_t bytes;
  void *map; /* the host may read and write here; NULL: only through write and read */
} rlx_block;

/* Executes work in submission order. A backend's own struct begins with it. */
typedef struct rlx_queue {
  rlx_device *device;
} rlx_queue;

/* Reached when the work submitted to the queue before it is done. Value 0 is reached from the beginning. */
typedef struct rlx_point {
  rlx_queue *queue;
  uint64_t value; /* increases with each submission */
} rlx_point;

typedef struct rlx_bound { /* a window with its block */
  rlx_block *block;        /* NULL: absent */
  uint64_t offset, bytes;
} rlx_bound;

/* ---- claims ---- */

typedef struct rlx_claim_query {
  const rlx_graph *graph;
  rlx_node node;
  const uint32_t *layout; /* by input: the layout of weights; NULL: not decided, the claim reports its preferences */
  uint32_t switches;      /* rlx_switch */
} rlx_claim_query;

typedef struct rlx_lowering rlx_lowering; /* how a device runs a node; defined by the backend */

typedef struct rlx_claim {
  bool native;
  const char *why;     /* if not native: the reason, a string with static lifetime */
  uint32_t in_place;   /* bit i: the result may overwrite input i, which has the same number of bytes */
  uint64_t work_bytes; /* scratch memory the step needs besides its windows, for the layouts in the query */
  /* The preferred layout of input i. It is used if the input is a param or constant and all its consumers agree. 0: as
   * in the graph (row-major, or the block type's own order). It depends only on the weight and the op, not on the sizes
   * of the other inputs, so executables of different sizes share one packed weight. If they preferred different
   * layouts, the weight would be stored twice. */
  uint32_t layout[RLX_OP_MAX_INPUTS];
  /* Bit i: input i is read in any layout of this device, so the preference is weak: it counts only if no other consumer
   * has one. A weak preference should equal what the likeliest other consumer prefers (for an embedding table: a matrix
   * product with its rows). Then a program without that consumer shares the weight with a program that has it. */
  uint32_t weak;
  /* For the layouts in the query; set for native nodes if the backend has lowerings. Freed by rlx_claim_deinit
   * (claims.h). */
  rlx_lowering *lowering;
} rlx_claim;

/* ---- programs ---- */

typedef struct rlx_bound_step {
  rlx_node node;
  bool copy; /* copies in[0] to out[0], which do not overlap; false: runs the node */
  uint32_t n_in, n_out;
  const rlx_bound *in, *out;
  const uint32_t *layout; /* by input */
  const rlx_claim *claim; /* of the node, with those layouts; ignored for a copy */
  rlx_bound work;
} rlx_bound_step;

typedef struct rlx_program_desc { /* everything in it outlives the program */
  const rlx_graph *graph;
  const rlx_bound_step *steps;
  size_t n_steps;
  uint32_t switches; /* rlx_switch */
} rlx_program_desc;

typedef struct rlx_run_args {
  uint64_t draw;   /* number of the run, for random ops */
  rlx_pool *pool;  /* threads for devices that compute on the host; NULL: the calling thread only */
  bool is_awaited; /* the caller waits for the steps before it submits the program again */
  /* If any of the following is set, submit returns when the steps are done: */
  bool is_stoppable;    /* the calling thread's budget (base/budget.h) is polled between steps */
  rlx_cancel_fn cancel; /* polled as well, if not NULL */
  void *cancel_user;
  uint64_t *begin_ns, *end_ns; /* per step of this run, if not NULL */
} rlx_run_args;

typedef struct rlx_program rlx_program;

/* ---- transfers ---- */

/* Produces bytes [from, from + bytes) of what is written. */
typedef struct rlx_producer {
  rlx_status (*produce)(void *user, uint64_t from, void *to, uint64_t bytes);
  void *user;
} rlx_producer;

typedef struct rlx_open_options {
  const char *variant; /* the text after the colon in "cpu:avx2"; NULL or "": none */
} rlx_open_options;

struct rlx_backend {
  const char *name;
  /* The number of devices. A missing driver is not an error: the count is 0 and *why is the reason. Any thread may call
   * `count` and `describe` at any time. */
  uint32_t (*count)(const char **why);
  rlx_status (*describe)(uint32_t index, rlx_device_info *out);
  rlx_status (*open)(uint32_t index, const rlx_open_options *options, rlx_device **out);
  void (*close)(rlx_device *d);

  /* *out is zeroed before the call. The result depends only on the node's op and attributes, its types, which of its
   * inputs are the same value, and the rest of the query. One claim therefore serves all equal nodes (claims.h), and
   * programs receive the same claim. A node that the backend does not run is RLX_OK with a reason, and the node moves
   * to the host. A failure, such as memory that cannot be allocated, is a status and ends the compilation; it must not
   * be reported as a refusal. */
  rlx_status (*claim)(const rlx_device *d, const rlx_claim_query *q, rlx_claim *out);
  void (*lowering_destroy)(rlx_lowering *l); /* NULL: claims have no lowering */
  /* Writes what the device runs as part i of a lowering, a kernel or a product of a library, for the dispatch report;
   * false: it has no more parts. NULL: claims have no lowering. */
  bool (*lowering_part)(const rlx_lowering *l, size_t i, char *out, size_t bytes);
  /* layout_bytes: the bytes of a weight of this type in a layout; 0 for an unknown layout. repack: converts the weight
   * between the graph's layout and that one, in host memory. May be NULL if claims prefer no layouts. */
  uint64_t (*layout_bytes)(const rlx_device *d, uint32_t layout, const rlx_type *type);
  rlx_status (*repack)(const rlx_device *d, uint32_t layout, const rlx_type *type, bool to_layout, const void *src,
                       void *dst, rlx_pool *pool);
  /* The same for bytes [from, from + bytes) of the packed weight, whose bounds are multiples of 16 or its end; src is
   * the whole plain weight. The type has the layout. NULL: a weight is packed as a whole. */
  void (*repack_part)(const rlx_device *d, uint32_t layout, const rlx_type *type, const void *src, uint64_t from,
                      void *dst, size_t bytes);
  /* The granularity, in rows of axis 0, at which a weight can be packed in chunks, each stored after the one before; 0:
   * only as a whole. May be NULL. */
  uint32_t (*layout_rows)(const rlx_device *d, uint32_t layout, const rlx_type *type);
  /* Replaces a node that reads a weight larger than a binding (pass.h, rlx_rewrite_large). NULL: there is no limit. */
  rlx_rewrite_fn split_large;

  /* Tools of this device report reads of memory that nothing wrote. Kernels read whole words, so the runtime then
   * writes the last word of each value whole (rlx_bound_end). */
  bool fills_words;
  rlx_status (*block_create)(rlx_device *d, uint64_t bytes, rlx_block **out); /* contents undefined; bytes may be 0 */
  /* The same in host memory that the device can write: the block has a map. Results are copied there, to be read once a
   * point is reached. NULL: all blocks of this device have maps. */
  rlx_status (*block_create_host)(rlx_device *d, uint64_t bytes, rlx_block **out);
  /* No program that uses the block is in flight. Copies may be; the call waits for them. */
  void (*block_destroy)(rlx_device *d, rlx_block *b);

  rlx_status (*queue_create)(rlx_device *d, rlx_queue **out);
  void (*queue_destroy)(rlx_queue *q); /* waits for its work */
  /* Returns the point after everything submitted so far, and submits the copies that were batched. */
  rlx_status (*mark)(rlx_queue *q, uint64_t *value);
  rlx_status (*wait)(rlx_queue *q, uint64_t value);            /* fails if the work before it failed */
  rlx_status (*poll)(rlx_queue *q, uint64_t value, bool *out); /* *out: reached, and wait returns at once */
  /* Work submitted from now on begins once the point of another queue of this device is reached. */
  rlx_status (*after)(rlx_queue *q, rlx_point point);

  /* Copies are submissions: they execute in order with the programs of their queue, and the call does not wait for
   * them. Host memory may be reused on return. Exception: if the block has a map, the host moves the bytes itself when
   * no copy of the queue is pending, so the caller first waits for programs in flight that use these bytes. `read`
   * waits for the bytes. */
  rlx_status (*write)(rlx_queue *q, rlx_block *b, uint64_t offset, const void *src, uint64_t bytes);
  rlx_status (*read)(rlx_queue *q, const rlx_block *b, uint64_t offset, void *dst, uint64_t bytes);
  /* Writes bytes that the producer puts straight into memory that the device copies from: piece after piece, in order,
   * in the calling thread, without a lock that another call on the queue needs. If it fails, so does the call, and the
   * range is undefined. Only for blocks without a map. NULL: there is no such memory. */
  rlx_status (*write_from)(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes, const rlx_producer *p);
  rlx_status (*copy)(rlx_queue *q, rlx_block *dst, uint64_t dst_offset, const rlx_block *src, uint64_t src_offset,
                     uint64_t bytes); /* ranges of one block do not overlap */
  rlx_status (*zero)(rlx_queue *q, rlx_block *b, uint64_t offset, uint64_t bytes);

  rlx_status (*program_create)(rlx_queue *q, const rlx_program_desc *desc, rlx_program **out);
  /* Submits steps to the program's queue; `mark` returns the point after them. A program may be submitted again before
   * it is done. A backend that computes in the calling thread returns when the steps are done. */
  rlx_status (*submit)(rlx_program *p, size_t first, size_t n_steps, const rlx_run_args *args);
  void (*program_destroy)(rlx_program *p); /* waits while it is in flight */
};

/* A library without GPUs has no such backend. */
static inline bool rlx_backend_fills_words(const rlx_backend *b) {
#ifdef RLX_NO_GPUS
  return (void)b, false;
#else
  return b->fills_words;
#endif
}

/* Declares rlx_backend_cpu, ... in order of preference among equals. A backend without a definition does not link. */
#define BACKEND(name) extern const rlx_backend rlx_backend_##name;
#include "device/backends.def"
#undef BACKEND

#endif
