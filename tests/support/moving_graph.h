/* Random graphs that any device must run to the bit: bytes that move, and whole numbers.
 *
 * They are aimed at the planner and the runtime, not at arithmetic: chains of updates of states with readers of every
 * value in between, rows that are pieces of the very state they go into, views of views, pieces with odd offsets, concats
 * of concats, values that are outputs twice, control flow with several results, empty tensors, sizes that are symbols.
 * random_graph.h has the other kind, over the whole op table. */
#ifndef RLX_TESTS_MOVING_GRAPH_H
#define RLX_TESTS_MOVING_GRAPH_H

#include "ir/graph.h"

/* with_symbol: some inputs have a leading size "N". */
rlx_status moving_graph_make(uint64_t seed, uint32_t n_nodes, bool with_symbol, rlx_graph **out);

#endif
