/* The builder: control flow and custom ops.
 *
 * A construct with several results becomes several adjacent nodes that differ only in `index`. Evaluators recognise
 * such siblings and execute the construct once. */
#include "ir/build.h"

/* Sub-graph attributes are not const because a node's copy changes the reference count. */
static rlx_graph *counted(const rlx_graph *g) { return (rlx_graph *)(uintptr_t)g; }

/* The inputs, and the array for the resulting nodes. */
typedef struct values {
  const rlx_node *first; /* inputs of the op before the list */
  uint32_t n_first;
  const rlx_node *xs;
  size_t n;
  rlx_node *outs;
  size_t n_outs;
} values;

/* One node per result; they differ in *index, a field of attrs. */
static rlx_node add_values(rlx_graph *g, rlx_op op, const values *v, const void *attrs, int64_t *index) {
  for (size_t i = 0; v->outs && i < v->n_outs; i++) v->outs[i] = RLX_NONE;
  if (!g || g->error) return RLX_NONE;
  if (v->n_outs && !v->outs)
    return rlx_graph_set_error(
      g, RLX_FAIL(RLX_INVALID, "rlx_op_%s: outs is NULL but n_outs is %zu", rlx_op_table_get(op)->name, v->n_outs));
  rlx_node first = RLX_NONE;
  for (size_t i = 0; i == 0 || i < v->n_outs; i++) {
    *index = (int64_t)i;
    rlx_node node = rlx_build_after(g, op, v->first, v->n_first, v->xs, v->n, attrs);
    if (!node) return RLX_NONE;
    if (i == 0) first = node;
    if (i < v->n_outs) v->outs[i] = node;
  }
  return first;
}

rlx_node rlx_op_if(rlx_graph *g, rlx_node cond, const rlx_graph *on_true, const rlx_graph *on_false, const rlx_node *xs,
                   size_t n, rlx_node *outs, size_t n_outs) {
  rlx_attrs_if attrs = {.on_true = counted(on_true), .on_false = counted(on_false)};
  return add_values(g, RLX_OP_if, &(values){&cond, 1, xs, n, outs, n_outs}, &attrs, &attrs.index);
}

rlx_node rlx_op_while(rlx_graph *g, const rlx_graph *cond, const rlx_graph *body, int64_t carried, int64_t max_trips,
                      const rlx_node *xs, size_t n, rlx_node *outs, size_t n_outs) {
  rlx_attrs_while attrs = {.cond = counted(cond), .body = counted(body), .carried = carried, .max_trips = max_trips};
  return add_values(g, RLX_OP_while, &(values){NULL, 0, xs, n, outs, n_outs}, &attrs, &attrs.index);
}

rlx_node rlx_op_scan(rlx_graph *g, const rlx_graph *body, int64_t carried, int64_t scanned, bool reverse,
                     const rlx_node *xs, size_t n, rlx_node *outs, size_t n_outs) {
  rlx_attrs_scan attrs = {.body = counted(body), .carried = carried, .scanned = scanned, .reverse = reverse};
  return add_values(g, RLX_OP_scan, &(values){NULL, 0, xs, n, outs, n_outs}, &attrs, &attrs.index);
}

rlx_node rlx_op_custom(rlx_graph *g, const char *name, const char *config, const rlx_node *xs, size_t n) {
  return rlx_build_list(g, RLX_OP_custom, xs, n, &(rlx_attrs_custom){.name = name, .config = config});
}
