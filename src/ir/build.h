/* What the builder's files share: a node in one expression.
 *
 *   rlx_node rlx_op_softmax(rlx_graph *g, rlx_node x, int64_t axis) { return NODE(softmax, (x), .axis = axis); }
 *
 * An attribute that is not named is zero, not its default in the table: name every one whose default is not zero. */
#ifndef RLX_IR_BUILD_H
#define RLX_IR_BUILD_H

#include "ir/graph.h"

#define NODE(op, inputs, ...)                                                                  \
  rlx_graph_add(g, RLX_OP_##op, (const rlx_node[]){RLX_UNPAREN inputs},                        \
                (uint32_t)(sizeof((const rlx_node[]){RLX_UNPAREN inputs}) / sizeof(rlx_node)), \
                &(rlx_attrs_##op){__VA_ARGS__})
#define NO_ATTRIBUTES .none_ = 0

/* A caller's list of inputs: what rlx_graph_add cannot know is the function's name, and that a count may not fit. */
rlx_node rlx_build_list(rlx_graph *g, rlx_op op, const rlx_node *xs, size_t n, const void *attrs);
/* The same with `first` inputs of the op before the list. n_first is at most 4. */
rlx_node rlx_build_after(rlx_graph *g, rlx_op op, const rlx_node *first, uint32_t n_first, const rlx_node *xs, size_t n,
                         const void *attrs);

/* The builder's `desc` as the library knows it, NULL being all zeros; NULL where it is refused, and the graph has the error. */
#define DESC(type) \
  ((const type *)rlx_build_desc(g, #type, (1 ? desc : (const type *)NULL), &(type){RLX_SIZED(type)}, sizeof(type)))
const void *rlx_build_desc(rlx_graph *g, const char *type, const void *desc, void *own, size_t bytes);
/* A zero in a desc stands for the default. */
static inline int64_t rlx_or_one(int64_t x) { return x ? x : 1; }

#endif
