/* Sub-graphs: how control flow runs them, and what it asks of whoever evaluates graphs.
 *
 * A control kernel (if, while, scan, region) knows when a sub-graph runs and on what; the evaluator knows how to run a
 * graph. Between them stands this interface, so that neither includes the other. The one idea is that the caller owns
 * all memory that outlives a run: it hands over the tensors that the results are written to (their types are known from
 * the sub-graph, whose shapes are numbers). A loop so carries its values in two fixed sets of buffers that take turns,
 * a scan writes each slice straight into its place, and 10^6 trips need no more memory than two. What a run needs for
 * itself, the runner frees before it returns.
 *
 * A loop opens a cache per sub-graph and says which inputs stay the same from trip to trip. The runner keeps there what
 * depends on constants and those inputs alone, so it is computed once per loop and not once per trip.
 *
 * Random ops inside a sub-graph use the draw number of the run, as everywhere: a body that wants fresh numbers each
 * trip gives them a `draw` input that it counts itself. */
#ifndef RLX_REF_RUNNER_H
#define RLX_REF_RUNNER_H

#include "ref/ref.h"

typedef struct rlx_loop_cache rlx_loop_cache; /* the runner's own */

typedef struct rlx_subgraph_runner {
  /* Runs g, a finished graph whose shapes are numbers. inputs[i] is the value of its i-th `input` node in node order,
   * of that node's type; outputs[i] is storage of the type of output i, which no input overlaps, or has data NULL
   * where that output is not wanted. loop may be NULL. Returns RLX_CANCELLED if the user asked to stop: this is checked
   * when a run begins (so an endless loop over an empty body stops too) and at each node. */
  rlx_status (*run)(struct rlx_subgraph_runner *r, const rlx_graph *g, const rlx_tensor *const *inputs,
                    rlx_loop_cache *loop, rlx_tensor *outputs);
  /* Opens a cache for the runs of g in one loop: input i is the same tensor with the same bytes in all of them where
   * invariant[i]. *out may stay NULL where nothing is worth keeping. */
  rlx_status (*loop_begin)(struct rlx_subgraph_runner *r, const rlx_graph *g, const bool *invariant,
                           rlx_loop_cache **out);
  void (*loop_end)(struct rlx_subgraph_runner *r, rlx_loop_cache *loop); /* takes NULL */
} rlx_subgraph_runner;

/* How many values a control node has: nodes that differ only in the attribute `index` share one execution. 1 for ops
 * that are not CONTROL. */
uint32_t rlx_control_count(const rlx_node_rec *node);
/* Runs c's node (if, while or scan) once for all its values: outputs has rlx_control_count entries, storage for value i
 * (of the type that the node with index i has) or data NULL where it is not wanted. c->out is not used. */
rlx_status rlx_control_run_all(rlx_ref_call *c, rlx_tensor *outputs);

#endif
