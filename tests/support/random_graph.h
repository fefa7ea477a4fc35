/* Random graphs for tests: seeded, valid by construction, mixed over the op table.
 *
 * A graph grows by proposals: an op, inputs from existing nodes, attributes; inference accepts or rejects the proposal.
 * Patterns that passes match (bias and activation after a product, residual and norm, attention from its primitives,
 * decomposed norms and activations, a scale after a convolution, x * 1, duplicates, constant and weight-only parts,
 * dead nodes) are proposed as a whole, and so are conformance cases, so that every op of the table occurs.
 *
 * Each node has a required exactness: bit-exact, or within a tolerance (it depends on something that a pass may compute
 * in another order or with fewer roundings). An inexact value is never an input of a discontinuous op (floor, compare,
 * argmax, cast to int) or of one that amplifies errors (log, division). */
#ifndef RLX_TESTS_RANDOM_GRAPH_H
#define RLX_TESTS_RANDOM_GRAPH_H

#include "ir/graph.h"

typedef struct random_graph {
  rlx_graph *graph;
  uint8_t *exactness; /* by node id */
} random_graph;

enum {
  LOOSE_FUSED = 1,   /* fusing and naming passes may change rounding */
  LOOSE_REWRITE = 2, /* rewriting a composite op may change rounding */
};

rlx_status random_graph_make(uint64_t seed, uint32_t n_nodes, random_graph *out);
void random_graph_deinit(random_graph *r);

/* The bytes of a constant; NULL: no memory, or no such values. */
rlx_blob *random_blob(const rlx_type *type, uint64_t seed);

/* Values for all leaves of a graph, chosen by leaf name (so a smaller graph sees the same). By node id; free with
 * random_leaves_free. */
rlx_status random_leaves(const rlx_graph *g, uint64_t seed, rlx_tensor **out);
void random_leaves_free(const rlx_graph *g, rlx_tensor *leaves);

#endif
