/* Shared by the planner's files while a plan is built.
 *
 * A value is a node's result: its bytes are those of its root (itself, or the value it is a view of), starting at
 * `shift`. A buffer is a range of scratch bytes written by one or more units; buffers of concat parts are merged into
 * the concat's. A unit is what the schedule orders: a node with its siblings, a copy, or a join, which is a concat
 * whose parts are written in place and which has no step of its own.
 *
 *   values.c    classifies values: leaf, view, step, empty
 *   storage.c   buffers and units; which parts of a concat are written in place
 *   states.c    in-place updates of states: which units must run before, and which old values are copied
 *   schedule.c  orders of the units
 *   live.c      the cost of an order: in-place results, live ranges, the bound
 *   blocks.c    offsets, and blocks for devices with a limit
 *   encode.c    the steps
 *
 * All memory belongs to the planner and is freed with it. */
#ifndef RLX_PLAN_PLANNER_H
#define RLX_PLAN_PLANNER_H

#include "plan/plan.h"

typedef enum plan_kind {
  PLAN_UNUSED, /* dead */
  PLAN_EMPTY,  /* no bytes: no step, no location of its own */
  PLAN_WEIGHT,
  PLAN_STATE,
  PLAN_INPUT,
  PLAN_VIEW,
  PLAN_STEP,   /* computed into a buffer */
  PLAN_COPIED, /* a view that must be copied */
  PLAN_JOIN,   /* a concat with parts written in place */
  PLAN_UPDATE  /* computed into its state */
} plan_kind;

typedef struct plan_value {
  plan_kind kind;
  bool is_output; /* of a root: it contains an output */
  rlx_node root;
  uint64_t shift, bytes;
  uint64_t from_shift;           /* of a copied view: its offset in its input's root */
  uint32_t unit;                 /* the unit that computes it; 0: a leaf */
  uint32_t buffer;               /* of a root in scratch; else 0 */
  rlx_node state;                /* of a state or update: the state */
  rlx_node next_update;          /* of a state or update: the update that replaces its value; 0: none */
  uint32_t old_unit, old_buffer; /* of a state or update: the copy of its value made before next_update; 0: none */
} plan_value;

typedef struct plan_buffer {
  uint32_t parent; /* 0: a root */
  uint64_t shift;  /* in the parent */
  uint64_t bytes;
  rlx_node node; /* the node it was created for */
  bool is_input, is_output;
} plan_buffer;

typedef enum plan_unit_kind { PLAN_UNIT_NODE, PLAN_UNIT_COPY, PLAN_UNIT_JOIN } plan_unit_kind;

typedef struct plan_unit {
  plan_unit_kind kind;
  bool host;
  uint32_t in_place; /* inputs that the result may overwrite */
  uint32_t n_nodes;  /* results; starting at first_node in planner.results */
  uint32_t first_node;
  rlx_node node; /* of a copy: the value copied */
  uint64_t work_bytes;
  rlx_node from; /* a copy: the root that is read, starting at from_shift .. */
  uint64_t from_shift;
  uint32_t to; /* .. to this buffer, starting at to_shift */
  uint64_t to_shift;
  uint32_t n_copies;               /* a join: the number of units directly before it that copy parts */
  uint32_t first_touch, n_touches; /* buffers that it reads or writes, each once, in planner.touches */
} plan_unit;

typedef struct plan_edge {
  uint32_t before, after;
} plan_edge;

/* The successors of each unit: those of u are at v[first[u]] .. v[first[u + 1] - 1]. */
typedef struct plan_graph {
  uint32_t *first, *v;
} plan_graph;

/* A range of bytes for placement: buffers that overwrite each other, or workspace. */
typedef struct plan_storage {
  rlx_node node;
  uint64_t bytes;
  uint32_t first, last;
  uint32_t block;
  uint64_t offset;
} plan_storage;

/* An order of the units and its cost. */
typedef struct plan_order {
  uint32_t *units;       /* all of them, including joins */
  uint32_t *slot;        /* by buffer root: its storage */
  uint32_t *work;        /* by unit: the storage of its workspace; 0: none */
  plan_storage *storage; /* from 1 */
  uint32_t n_storages, n_in_place;
  uint64_t bound, in_place_bytes;
  uint32_t peak_step; /* the first step that reaches the bound */
} plan_order;

typedef struct planner {
  const rlx_graph *g;
  rlx_plan_options o;             /* with the defaults filled in */
  rlx_bump kept, mem;             /* for the whole plan; for one choice of joins */
  plan_value *value;              /* by node */
  RLX_ARRAY(plan_buffer) buffers; /* from 1 */
  RLX_ARRAY(plan_unit) units;     /* from 1 */
  RLX_ARRAY(rlx_node) results;
  RLX_ARRAY(plan_edge) edges;
  RLX_ARRAY(uint32_t) touches;
  uint32_t *base; /* the units in the graph's own order */
  uint32_t *base_at;
  uint32_t n_steps; /* units except joins */
  plan_graph next;
  bool *no_join; /* by node: concats that must be steps */
  bool has_joins, has_updates;
  uint64_t join_bytes; /* of parts that are written in place */
} planner;

/* Rounded up to the alignment; SIZE_MAX on overflow, which no later sum accepts. */
uint64_t rlx_planner_padded(const planner *p, uint64_t bytes);
rlx_status rlx_planner_no_memory(const planner *p);

rlx_status rlx_planner_values(planner *p);
/* with_joins: concat parts may be written in place. */
rlx_status rlx_planner_storages(planner *p, bool with_joins);
void rlx_planner_storages_deinit(planner *p);
rlx_status rlx_planner_states(planner *p);
/* Fills touches and next; after states. */
rlx_status rlx_planner_connect(planner *p);

/* The root buffer of a buffer; its offset in the root is added to *shift. */
uint32_t rlx_planner_buffer_root(planner *p, uint32_t buffer, uint64_t *shift);
/* The roots that a unit reads, by input; 0: none. */
uint32_t rlx_planner_reads(const planner *p, uint32_t unit);
rlx_node rlx_planner_read(const planner *p, uint32_t unit, uint32_t i);
/* Whether that read needs the copy of a state's old value. */
bool rlx_planner_reads_old(const planner *p, uint32_t unit, uint32_t i, rlx_node root);
/* The root buffer with the bytes of a root that is read; their offset is added to *shift. 0: not in scratch. */
uint32_t rlx_planner_read_buffer(planner *p, uint32_t unit, uint32_t i, rlx_node root, uint64_t *shift);
/* The edges by their source unit, or by their target. */
rlx_status rlx_planner_graph(planner *p, bool by_after, plan_graph *out);

rlx_status rlx_planner_orders(planner *p, plan_order *best, uint64_t *base_bound);
rlx_status rlx_planner_evaluate(planner *p, plan_order *order);
rlx_status rlx_planner_place(planner *p, plan_order *order, rlx_plan *out);
rlx_status rlx_planner_encode(planner *p, const plan_order *order, rlx_plan *out);

/* "node 7 (matmul 'name') f32[2,3]" for messages. */
void rlx_planner_name_value(const rlx_graph *g, rlx_node n, char *text, size_t cap);

#endif
