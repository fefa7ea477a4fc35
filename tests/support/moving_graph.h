/* Random graphs that every device must compute bit-exactly: moves of bytes, and integers.
 *
 * They target the planner and the runtime, not arithmetic: chains of updates of states with readers of every value in
 * between, rows that are slices of the state they are written to, views of views, slices at odd offsets, concats of
 * concats, values that are outputs twice, control flow with several results, empty tensors, symbolic sizes.
 * random_graph.h has the other kind, over the whole op table. */
#ifndef RLX_TESTS_MOVING_GRAPH_H
#define RLX_TESTS_MOVING_GRAPH_H

#include "ir/graph.h"

/* with_symbol: some inputs have a leading size "N". */
rlx_status moving_graph_make(uint64_t seed, uint32_t n_nodes, bool with_symbol, rlx_graph **out);

#endif
