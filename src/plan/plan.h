/* The memory plan: the execution order of a bound graph's nodes, and the location of each value.
 *
 * A plan is a sequence of steps. A step reads windows and writes windows; a window is a range of bytes of one block of
 * one segment, never a whole arena. Everything that runs later (device programs, host segments) reads only the steps,
 * so what the checker proves about the steps holds for the run.
 *
 * Segments. A weights window's `block` is a slot: the ordinal of a param or constant in `weights`; a state window's is
 * the ordinal of a state in `states`. The owner of weights and states maps slots to memory later. A scratch window's
 * `block` is one of `scratch`, whose sizes the plan determines.
 *
 * Aliasing. Values share bytes in three ways. A view (reshape, same-type cast, contiguous slice, a concat whose parts
 * are written in place) has no step. An in-place result overwrites an input that dies there. An update of a state
 * writes the state itself: all readers of the old value run before it, or, if that is impossible, a copy step keeps the
 * old value.
 *
 * Live ranges. Inputs are live from the first step to the last, outputs from their step to the last: both stay readable
 * until the next run. Workspace is live during its step alone.
 *
 * An empty value has a location of 0 bytes and no step. Windows of copies need no alignment, because no kernel binds
 * them. The location of a state is its slot, except if the old value of an updated state is an output: then it is the
 * copy. */
#ifndef RLX_PLAN_PLAN_H
#define RLX_PLAN_PLAN_H

#include "base/str.h"
#include "ir/graph.h"

typedef struct rlx_window {
  rlx_segment segment; /* RLX_SEGMENT_NONE: no bytes: an absent input, or a dead value */
  uint32_t block;
  uint64_t offset, bytes;
} rlx_window;

/* The device's requirements of a node (filled by the backend, backend.h). */
typedef struct rlx_node_needs {
  bool native;         /* the device runs it; else the host does */
  uint32_t in_place;   /* bit i: the result may overwrite input i if that dies here and has as many bytes */
  uint64_t work_bytes; /* workspace of the step */
} rlx_node_needs;

typedef struct rlx_plan_options {
  uint64_t align;            /* of every scratch value; a power of two; 0: 256 */
  uint64_t view_align;       /* of a window that begins inside another value; 0: 1. Misaligned views are copied */
  uint64_t max_block_bytes;  /* largest allocation; 0: no limit */
  uint64_t max_window_bytes; /* largest binding: a single value above it is an error; 0: no limit */
  void (*needs)(void *user, const rlx_graph *g, rlx_node n, rlx_node_needs *out); /* NULL: native, in place by trait */
  void *needs_user;
  uint32_t switches;     /* rlx_switch */
  uint64_t place_budget; /* budget of rlx_place; 0: its default */
  rlx_cancel_fn cancel;  /* may be NULL */
  void *cancel_user;
} rlx_plan_options;

typedef enum rlx_step_kind { RLX_STEP_NODE, RLX_STEP_COPY } rlx_step_kind;

typedef struct rlx_step {
  rlx_step_kind kind;
  bool host;             /* the host runs it; copies are never host steps */
  uint32_t n_in, n_out;  /* a copy has one of each, of equal bytes */
  rlx_node node;         /* the first result; of a copy, the value copied */
  const rlx_node *nodes; /* n_out results: the node, and for control flow its siblings (equal except for `index`) */
  const rlx_window *in;  /* by input of the node; segment NONE: absent */
  const rlx_window *out;
  rlx_window work; /* segment NONE: no workspace */
} rlx_step;

/* A range of bytes that one or more values share: an item of the placement. */
typedef struct rlx_storage {
  rlx_node node;        /* the value that it is named after: the largest, then the first; 0 for workspace */
  uint32_t first, last; /* steps: live from first to last, both included */
  rlx_window at;        /* in scratch; bytes are the value's, not rounded up */
} rlx_storage;

typedef struct rlx_plan {
  rlx_graph *graph; /* retained */
  rlx_bump bump;    /* memory of everything below */
  rlx_step *steps;
  size_t n_steps;
  rlx_window *at;             /* by node id: the value's location after its step; NONE: dead */
  rlx_node *weights, *states; /* nodes by slot; constants are weights. Only those that a step or an output reads */
  uint32_t n_weights, n_states;
  uint64_t *scratch; /* bytes of each scratch block */
  uint32_t n_scratch;
  rlx_storage *storages; /* scratch only, by first step */
  size_t n_storages;
  uint64_t align;

  /* For the report. Bytes of storages are rounded up to align. */
  uint64_t weights_bytes, state_bytes, scratch_bytes; /* weights and states: the sizes of their types */
  uint64_t lower_bound;                               /* maximum of bytes live at one step */
  uint64_t greedy_bytes;                              /* greedy-by-size alone, same schedule */
  uint64_t naive_bytes;                               /* every value in its own memory: no views, no reuse */
  uint64_t view_bytes, in_place_bytes;                /* saved by views and by in-place results */
  uint64_t order_bound;                               /* the lower bound of the graph's own order, without reordering */
  uint32_t n_views, n_in_place, n_copies, n_host;
  double seconds; /* spent planning */
} rlx_plan;

/* g is finished and has no symbols. The result is checked with rlx_plan_check. */
rlx_status rlx_plan_build(const rlx_graph *g, const rlx_plan_options *options, rlx_plan **out);
void rlx_plan_destroy(rlx_plan *p);

/* Proves, from the steps alone and the semantics of the ops, that every read finds the value it needs: simulates the
 * steps over a map of which bytes hold which part of which value. Also checks that every window is inside its block and
 * aligned, that in-place results and views are permitted by the ops, and that inputs and outputs are intact at the end.
 * Shares no code with the planner (check.c). */
rlx_status rlx_plan_check(const rlx_plan *p, const rlx_plan_options *options);

typedef enum rlx_plan_format { RLX_PLAN_TEXT, RLX_PLAN_JSON, RLX_PLAN_SVG } rlx_plan_format;
rlx_status rlx_plan_report(const rlx_plan *p, rlx_plan_format format, rlx_str *out);

#endif
