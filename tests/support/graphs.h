/* Helpers for whole graphs: round trips through their text, filling their leaves, and a target with few ops.
 *
 * Nothing here depends on the test harness, so the fuzz targets and the benchmarks can use it as well. */
#ifndef RLX_TESTS_GRAPHS_H
#define RLX_TESTS_GRAPHS_H

#include "ir/graph.h"

/* Verifies, prints, parses, compares (with hashes), prints again and compares the texts. The message describes a
 * difference. */
rlx_status graph_round_trip(const rlx_graph *g);

/* Fills the value of a leaf; t has its type and memory, cleared. */
typedef void (*leaf_fn)(void *user, const char *name, rlx_tensor *t);
/* Sets every input, param and state of g: from `load` if it computes that name (a run of rlx_optimized_load's graph;
 * NULL: none), else by `fill` (NULL: zero). */
rlx_status graph_set_leaves(rlx_evaluator *e, const rlx_graph *g, const rlx_evaluator *load, leaf_fn fill, void *user);

/* A target without composite ops: an rlx_supports_fn. */
bool only_primitives(void *user, const rlx_graph *g, rlx_node n, const char **why);

#endif
