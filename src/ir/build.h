/* Shared by the builder's files: creates a node in one expression.
 *
 *   rlx_node rlx_op_softmax(rlx_graph *g, rlx_node x, int64_t axis) { return NODE(softmax, (x), .axis = axis); }
 *
 * An attribute that is not named is zero, not its default in the table: name every attribute whose default is not
 * zero. */
#ifndef RLX_IR_BUILD_H
#define RLX_IR_BUILD_H

#include "ir/graph.h"

#define NODE(op, inputs, ...)                                                                  \
  rlx_graph_add(g, RLX_OP_##op, (const rlx_node[]){RLX_UNPAREN inputs},                        \
                (uint32_t)(sizeof((const rlx_node[]){RLX_UNPAREN inputs}) / sizeof(rlx_node)), \
                &(rlx_attrs_##op){__VA_ARGS__})
#define NO_ATTRIBUTES .none_ = 0

/* A node with a caller's list of inputs. Checks what rlx_graph_add cannot: the count, and NULL under the function's
 * name. */
rlx_node rlx_build_list(rlx_graph *g, rlx_op op, const rlx_node *xs, size_t n, const void *attrs);
/* The same with the op's inputs `first` before the list. n_first is at most 4. */
rlx_node rlx_build_after(rlx_graph *g, rlx_op op, const rlx_node *first, uint32_t n_first, const rlx_node *xs, size_t n,
                         const void *attrs);

/* The builder's `desc` in the library's layout; NULL counts as all zeros. Returns NULL, with the graph's error set, if
 * it is rejected. */
#define DESC(type) \
  ((const type *)rlx_build_desc(g, #type, (1 ? desc : (const type *)NULL), &(type){RLX_SIZED(type)}, sizeof(type)))
const void *rlx_build_desc(rlx_graph *g, const char *type, const void *desc, void *own, size_t bytes);
/* A zero in a desc selects the default. */
static inline int64_t rlx_or_one(int64_t x) { return x ? x : 1; }

#endif
