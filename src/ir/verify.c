/* The verifier: checks a graph from its nodes alone, in every build.
 *
 * Inference accepted each node when it was created. The verifier runs it again and compares, so a pass that edited a
 * node by hand is caught. It also checks properties of the whole graph: names, outputs, and that each state is updated
 * along one chain (two updates of one value would have no order). */
#include <string.h>

#include "ir/infer.h"

static rlx_status verify_node(const rlx_graph *g, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(g, id);
  if (n->op <= RLX_OP_INVALID || n->op >= RLX_OP_COUNT)
    return RLX_FAIL(RLX_INVALID, "has the unknown op %d", (int)n->op);
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i] >= id)
      return RLX_FAIL(RLX_INVALID, "input %u is node %u, which is not earlier", (unsigned)i, (unsigned)n->in[i]);
  rlx_infer c = {
    .graph = g, .op = n->op, .row = rlx_op_table_get(n->op), .attrs = n->attrs, .ids = n->in, .n_in = n->n_in};
  RLX_TRY(rlx_infer_run(&c));
  if (!rlx_type_equal(&c.out, &n->type))
    return RLX_FAIL(RLX_INVALID, "is %s%s but its inputs give %s%s", rlx_dtype_name(n->type.dtype),
                    RLX_DIMS_TEXT(n->type.shape), rlx_dtype_name(c.out.dtype), RLX_DIMS_TEXT(c.out.shape));
  return RLX_OK;
}

/* Each value of a state is the first input of at most one update, and every chain of updates begins at a state. */
static rlx_status verify_updates(const rlx_graph *g) {
  bool any = false;
  for (rlx_node id = 1; id < rlx_graph_end(g) && !any; id++) any = rlx_op_is_update(rlx_graph_at(g, id)->op);
  if (!any) return RLX_OK;
  rlx_node *updated_by = rlx_mem_calloc(rlx_graph_end(g), sizeof *updated_by);
  if (!updated_by) return RLX_FAIL(RLX_NO_MEMORY, "verifying");
  rlx_status s = RLX_OK;
  for (rlx_node id = 1; id < rlx_graph_end(g) && s == RLX_OK; id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (!rlx_op_is_update(n->op)) continue;
    rlx_node of = n->in[0];
    rlx_op from = rlx_graph_at(g, of)->op;
    if (from != RLX_OP_state && !rlx_op_is_update(from))
      s = RLX_FAIL(RLX_INVALID, "node %u (update): its first input is node %u (%s), not a state or an update of one",
                   (unsigned)id, (unsigned)of, rlx_op_table_get(from)->name);
    else if (updated_by[of])
      s = RLX_FAIL(RLX_INVALID,
                   "node %u (update): node %u is already updated by node %u; update that one's result instead",
                   (unsigned)id, (unsigned)of, (unsigned)updated_by[of]);
    updated_by[of] = id;
  }
  rlx_mem_free(updated_by);
  return s;
}

rlx_status rlx_graph_verify(const rlx_graph *g) {
  if (!g) return RLX_FAIL(RLX_INVALID, "rlx_graph_verify: the graph is NULL");
  RLX_TRY(rlx_graph_status(g));
  for (rlx_node id = 1; id < rlx_graph_end(g); id++)
    RLX_TRY_AT(verify_node(g, id), "node %u (%s)", (unsigned)id, rlx_op_table_get(rlx_graph_at(g, id)->op)->name);
  for (size_t i = 0; i < g->outputs.n; i++)
    if (!g->outputs.v[i].node || g->outputs.v[i].node >= rlx_graph_end(g))
      return RLX_FAIL(RLX_INVALID, "output '%s' is node %u, which does not exist", g->outputs.v[i].name,
                      (unsigned)g->outputs.v[i].node);
  return verify_updates(g);
}
