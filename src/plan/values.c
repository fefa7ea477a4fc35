/* Classifies values before anything is placed: which are live, which are views, and where a view's bytes begin.
 *
 * A view has no bytes of its own: its root has them. Inputs come before their readers, so one traversal resolves chains
 * of views. An empty value needs no computation, so its inputs are not live for it. */
#include "ir/slice.h"
#include "plan/planner.h"

static bool no_views(const planner *p) { return p->o.switches & (RLX_SWITCH_NO_VIEWS | RLX_SWITCH_KEEP_VALUES); }

static rlx_status measure(planner *p) {
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++) {
    const rlx_type *t = &rlx_graph_at(p->g, id)->type;
    size_t bytes;
    RLX_TRY_AT(rlx_tensor_bytes(t->dtype, t->shape, &bytes), "node %u", (unsigned)id);
    p->value[id].bytes = bytes;
  }
  return RLX_OK;
}

/* Marks the nodes that outputs and effects need; all others stay PLAN_UNUSED. */
static void mark_needed(planner *p) {
  for (size_t i = 0; i < p->g->outputs.n; i++) p->value[p->g->outputs.v[i].node].kind = PLAN_STEP;
  for (rlx_node id = rlx_graph_end(p->g) - 1; id > 0; id--) {
    const rlx_node_rec *n = rlx_graph_at(p->g, id);
    plan_value *v = &p->value[id];
    if (rlx_op_table_has(n->op, RLX_TRAIT_EFFECT) && v->bytes) v->kind = PLAN_STEP;
    if (v->kind == PLAN_UNUSED || !v->bytes) continue;
    for (uint32_t i = 0; i < n->n_in; i++)
      if (n->in[i]) p->value[n->in[i]].kind = PLAN_STEP;
  }
}

/* Whether a slice is contiguous in x: whole on the axes after the sliced one, single on those before it. */
static rlx_status slice_offset(const planner *p, const rlx_node_rec *n, bool *is_contiguous, uint64_t *offset) {
  const rlx_dims *x = &rlx_graph_at(p->g, n->in[0])->type.shape;
  rlx_slice_axis axis[RLX_MAX_RANK];
  RLX_TRY(rlx_slice_resolve(n->attrs, x, axis));
  const rlx_dtype_info *unit = rlx_dtype_describe(n->type.dtype); /* rows of a block type are whole */
  uint64_t stride = unit->block_bytes;
  bool is_whole = true;
  *is_contiguous = true;
  *offset = 0;
  for (int i = x->n - 1; i >= 0; i--) {
    if (axis[i].count != 1 && (!is_whole || axis[i].step != 1)) *is_contiguous = false;
    is_whole = is_whole && axis[i].count == x->v[i];
    *offset += (uint64_t)axis[i].start * stride;
    stride *= (uint64_t)x->v[i] / (i == x->n - 1 ? unit->block_elements : 1);
  }
  return RLX_OK;
}

/* Whether the node's bytes are part of its first input's, and their offset. */
static rlx_status find_view(const planner *p, const rlx_node_rec *n, bool *is_view, uint64_t *offset) {
  *offset = 0;
  *is_view = rlx_op_table_has(n->op, RLX_TRAIT_VIEW) || (n->op == RLX_OP_concat && n->n_in == 1) ||
             (n->op == RLX_OP_cast && n->type.dtype == rlx_graph_at(p->g, n->in[0])->type.dtype);
  return n->op == RLX_OP_slice ? slice_offset(p, n, is_view, offset) : RLX_OK;
}

static void classify_leaf(plan_value *v, rlx_node id, rlx_op op) {
  v->kind = op == RLX_OP_input ? PLAN_INPUT : op == RLX_OP_state ? PLAN_STATE : PLAN_WEIGHT;
  v->state = op == RLX_OP_state ? id : RLX_NONE;
}

static rlx_status classify(planner *p, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(p->g, id);
  plan_value *v = &p->value[id];
  v->root = id;
  if (rlx_op_table_has(n->op, RLX_TRAIT_LEAF)) classify_leaf(v, id, n->op);
  if (!v->bytes && v->kind != PLAN_WEIGHT && v->kind != PLAN_STATE) v->kind = PLAN_EMPTY;
  if (v->kind != PLAN_STEP) return RLX_OK;
  if (rlx_op_is_update(n->op) && p->value[n->in[0]].state) {
    v->kind = PLAN_UPDATE;
    p->has_updates = true;
    v->state = p->value[n->in[0]].state;
    p->value[n->in[0]].next_update = id;
    return RLX_OK;
  }
  bool is_view;
  uint64_t offset;
  RLX_TRY_AT(find_view(p, n, &is_view, &offset), "node %u", (unsigned)id);
  if (!is_view) return RLX_OK;
  const plan_value *from = &p->value[n->in[0]];
  offset += from->shift;
  if (no_views(p) || offset % p->o.view_align) {
    v->kind = PLAN_COPIED;
    v->from_shift = offset;
  } else {
    v->kind = PLAN_VIEW;
    v->root = from->root;
    v->shift = offset;
  }
  return RLX_OK;
}

rlx_status rlx_planner_values(planner *p) {
  p->value = rlx_bump_array(&p->kept, plan_value, rlx_graph_end(p->g));
  p->no_join = rlx_bump_array(&p->kept, bool, rlx_graph_end(p->g));
  if (!p->value || !p->no_join) return rlx_planner_no_memory(p);
  RLX_TRY(measure(p));
  mark_needed(p);
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++)
    if (p->value[id].kind != PLAN_UNUSED) RLX_TRY(classify(p, id));
  for (size_t i = 0; i < p->g->outputs.n; i++) p->value[p->value[p->g->outputs.v[i].node].root].is_output = true;
  return RLX_OK;
}
