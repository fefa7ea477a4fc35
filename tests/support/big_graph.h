/* Big graphs of a chosen size, for the benchmark and the test of scale.
 *
 * Each kind stresses one way in which time could grow faster than the graph: depth, width, one node with a million
 * readers or a million inputs, everything constant, everything weight-only, everything named, one chain of updates; and
 * "wide" mixes what real graphs have. Tensors are tiny, so what is measured is the handling of nodes. Except for "wide"
 * the result is known without evaluating anything. */
#ifndef RLX_TESTS_BIG_GRAPH_H
#define RLX_TESTS_BIG_GRAPH_H

#include "ir/graph.h"

typedef struct big_graph {
  rlx_graph *graph; /* finished; its first output is "y" */
  double value;     /* every element of "y" when all inputs, params and states are 0; NAN: not known */
} big_graph;

typedef struct big_graph_kind {
  const char *name, *doc;
  void (*build)(rlx_graph *g, uint32_t n_nodes, double *value);
} big_graph_kind;

extern const big_graph_kind big_graph_kinds[];
extern const size_t big_graph_kinds_count;

/* About n_nodes nodes (at least 16). NULL for an unknown name. */
const big_graph_kind *big_graph_find(const char *name);
rlx_status big_graph_make(const big_graph_kind *kind, uint32_t n_nodes, big_graph *out);

/* Runs a graph with every input and param 0, and returns a copy of its output "y" (rlx_free(y->data)). load, which may
 * be NULL, is the graph of rlx_optimized_load: it runs first, and its outputs are params of g. */
rlx_status big_graph_run(const rlx_graph *g, const rlx_graph *load, rlx_tensor *y);

#endif
