/* Graphs for planning: real networks with real sizes, which no test has to run, and random ones that mix everything the
 * planner has a rule for (views, concats, in-place results, states read before and after they are updated). */
#ifndef RLX_TESTS_PLAN_GRAPHS_H
#define RLX_TESTS_PLAN_GRAPHS_H

#include "ir/graph.h"

typedef struct plan_graph_kind {
  const char *name;
  void (*build)(rlx_graph *g);
} plan_graph_kind;

/* mlp, prefill, decode, unet, densenet. */
extern const plan_graph_kind plan_graph_kinds[];
extern const size_t plan_graph_kinds_count;

rlx_status plan_graph_build(const plan_graph_kind *kind, rlx_graph **out);
/* About n_nodes nodes with vectors of up to `longest` (at least 16) elements, concats longer. The same seed gives the
 * same graph. */
rlx_status plan_graph_random(uint64_t seed, uint32_t n_nodes, uint32_t longest, rlx_graph **out);

#endif
