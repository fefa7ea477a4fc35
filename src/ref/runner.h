/* The interface between control flow and the evaluator of graphs.
 *
 * A control kernel (if, while, scan, region) decides when a sub-graph runs and on what; the evaluator runs it. With
 * this interface neither includes the other. The caller owns all memory that outlives a run: it provides the tensors
 * for the results, whose types are known from the sub-graph. So a loop keeps its carried values in two fixed sets of
 * buffers (double buffering), a scan writes each slice directly into the result, and 10^6 iterations need no more
 * memory than two. What a run allocates for itself, the runner frees before it returns.
 *
 * A loop opens a cache per sub-graph and states which inputs are loop-invariant. The runner keeps there what depends
 * only on constants and those inputs, so it is computed once per loop instead of once per iteration.
 *
 * Random ops inside a sub-graph use the draw number of the run. A body that needs new numbers in each iteration passes
 * them a `draw` input that it counts itself. */
#ifndef RLX_REF_RUNNER_H
#define RLX_REF_RUNNER_H

#include "ref/ref.h"

typedef struct rlx_loop_cache rlx_loop_cache; /* defined by the runner */

typedef struct rlx_subgraph_runner {
  /* Runs g, a finished graph without symbols. inputs[i] is the value of its i-th `input` node in node order, of that
   * node's type. outputs[i] is storage of the type of output i, which no input overlaps; data NULL: the output is not
   * needed. loop may be NULL. Returns RLX_CANCELLED if the user cancelled. This is checked at the start of a run (so
   * that an endless loop over an empty body stops) and at each node. */
  rlx_status (*run)(struct rlx_subgraph_runner *r, const rlx_graph *g, const rlx_tensor *const *inputs,
                    rlx_loop_cache *loop, rlx_tensor *outputs);
  /* Opens a cache for the runs of g in one loop: where invariant[i], input i is the same tensor with the same bytes in
   * all of them. *out may stay NULL where nothing is worth caching. */
  rlx_status (*loop_begin)(struct rlx_subgraph_runner *r, const rlx_graph *g, const bool *invariant,
                           rlx_loop_cache **out);
  void (*loop_end)(struct rlx_subgraph_runner *r, rlx_loop_cache *loop); /* loop may be NULL */
} rlx_subgraph_runner;

/* The number of values of a control node: nodes that differ only in the attribute `index` share one execution. 1 for
 * ops that are not CONTROL. */
uint32_t rlx_control_count(const rlx_node_rec *node);
/* Runs c's node (if, while or scan) once for all its values. outputs has rlx_control_count entries: storage for value i
 * (of the type of the node with index i), or data NULL where it is not needed. c->out is not used. */
rlx_status rlx_control_run_all(rlx_ref_call *c, rlx_tensor *outputs);

#endif
