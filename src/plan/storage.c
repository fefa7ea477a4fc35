/* Buffers and units: the scratch bytes that each value is written to, and the units that compute it.
 *
 * A concat needs no step if its parts are written in place: each part's buffer becomes a range of the concat's (a
 * union-find of buffers, each with an offset). A concat of concats nests. A part that cannot be computed there (a leaf,
 * a part of something else, a part of two concats) is copied. If no part can, the concat is an ordinary step.
 *
 * The device's needs of a node (native, in place, workspace) are queried here, once per unit. */

#include "plan/planner.h"

uint32_t rlx_planner_buffer_root(planner *p, uint32_t buffer, uint64_t *shift) {
  plan_buffer *b = p->buffers.v;
  uint32_t root = buffer;
  uint64_t whole = 0;
  while (b[root].parent) {
    whole += b[root].shift;
    root = b[root].parent;
  }
  *shift += whole;
  while (b[buffer].parent && b[buffer].parent != root) { /* path compression */
    uint32_t above = b[buffer].parent;
    uint64_t here = b[buffer].shift;
    b[buffer].parent = root;
    b[buffer].shift = whole;
    whole -= here;
    buffer = above;
  }
  return root;
}

static rlx_status add_buffer(planner *p, rlx_node id, uint32_t *out) {
  const plan_value *v = &p->value[id];
  plan_buffer b = {.bytes = v->bytes, .node = id, .is_input = v->kind == PLAN_INPUT, .is_output = v->is_output};
  *out = (uint32_t)p->buffers.n;
  return rlx_array_push(&p->buffers, b) ? RLX_OK : rlx_planner_no_memory(p);
}

static rlx_status add_unit(planner *p, plan_unit u, uint32_t *out) {
  *out = (uint32_t)p->units.n;
  return rlx_array_push(&p->units, u) ? RLX_OK : rlx_planner_no_memory(p);
}

/* ---- nodes ---- */

/* Without a device callback every node is native; element-wise results may overwrite any input. */
static void default_needs(const rlx_node_rec *n, rlx_node_needs *out) {
  out->native = true;
  if (rlx_op_table_has(n->op, RLX_TRAIT_POINTWISE)) out->in_place = UINT32_MAX;
  else if (rlx_op_table_has(n->op, RLX_TRAIT_IN_PLACE)) out->in_place = 1;
}

static rlx_status add_result(planner *p, rlx_node id, uint32_t unit) {
  plan_value *v = &p->value[id];
  v->unit = unit;
  if (!rlx_array_push(&p->results, id)) return rlx_planner_no_memory(p);
  p->units.v[unit].n_nodes++;
  return v->kind == PLAN_UPDATE ? RLX_OK : add_buffer(p, id, &v->buffer);
}

static int64_t control_index(const rlx_node_rec *n) {
  return *(const int64_t *)rlx_attr_named(rlx_op_table_get(n->op), n->attrs, "index");
}

/* The builder creates siblings next to each other, so only a short range of nodes is searched; one farther away is
 * computed again. */
static rlx_status add_siblings(planner *p, rlx_node id, uint32_t unit) {
  enum { SEARCH = 64 };
  const rlx_node_rec *n = rlx_graph_at(p->g, id);
  for (rlx_node k = id + 1; k < rlx_graph_end(p->g) && k < id + SEARCH; k++) {
    const rlx_node_rec *other = rlx_graph_at(p->g, k);
    if (p->value[k].kind != PLAN_STEP || p->value[k].unit || !rlx_node_is_sibling(n, other)) continue;
    bool is_twin = false;
    for (uint32_t i = 0; i < p->units.v[unit].n_nodes; i++) {
      rlx_node have = p->results.v[p->units.v[unit].first_node + i];
      is_twin = is_twin || control_index(rlx_graph_at(p->g, have)) == control_index(other);
    }
    if (!is_twin) RLX_TRY(add_result(p, k, unit));
  }
  return RLX_OK;
}

static rlx_status add_node(planner *p, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(p->g, id);
  if (p->value[id].unit) return RLX_OK; /* computed with a sibling */
  rlx_node_needs needs = {0};
  if (p->o.needs) p->o.needs(p->o.needs_user, p->g, id, &needs);
  else default_needs(n, &needs);
  bool is_control = rlx_op_table_has(n->op, RLX_TRAIT_CONTROL);
  plan_unit u = {.kind = PLAN_UNIT_NODE,
                 .node = id,
                 .host = !needs.native,
                 .in_place = is_control || !needs.native ? 0 : needs.in_place,
                 .work_bytes = needs.native ? needs.work_bytes : 0,
                 .first_node = (uint32_t)p->results.n};
  uint32_t unit;
  RLX_TRY(add_unit(p, u, &unit));
  RLX_TRY(add_result(p, id, unit));
  return is_control ? add_siblings(p, id, unit) : RLX_OK;
}

static rlx_status add_copied(planner *p, rlx_node id) {
  plan_value *v = &p->value[id];
  RLX_TRY(add_buffer(p, id, &v->buffer));
  plan_unit u = {.kind = PLAN_UNIT_COPY,
                 .node = id,
                 .from = p->value[rlx_graph_at(p->g, id)->in[0]].root,
                 .from_shift = v->from_shift,
                 .to = v->buffer};
  return add_unit(p, u, &v->unit);
}

/* ---- concat ---- */

static bool is_contiguous_concat(const rlx_node_rec *n) {
  int axis = rlx_axis_of(RLX_ATTRS(concat, n)->axis, n->type.shape.n);
  for (int i = 0; i < axis; i++)
    if (n->type.shape.v[i] != 1) return false;
  return true;
}

/* Whether a part can be computed at `offset` of the concat: it is a whole buffer that no other concat claims. */
static bool can_join(const planner *p, rlx_node concat, rlx_node part, uint64_t offset, const uint8_t *n_parts) {
  const plan_value *v = &p->value[part], *root = &p->value[v->root];
  if (root->kind != PLAN_STEP && root->kind != PLAN_COPIED && root->kind != PLAN_JOIN) return false;
  if (v->shift || v->bytes != root->bytes || n_parts[v->root] != 1 || offset % p->o.view_align) return false;
  const plan_buffer *b = &p->buffers.v[root->buffer];
  return !b->parent && (!b->is_output || p->value[concat].is_output);
}

static rlx_status add_part(planner *p, rlx_node part, uint32_t buffer, uint64_t offset, bool joins,
                           uint32_t *n_copies) {
  const plan_value *v = &p->value[part];
  if (joins) {
    plan_buffer *b = &p->buffers.v[p->value[v->root].buffer];
    b->parent = buffer;
    b->shift = offset;
    p->join_bytes += rlx_planner_padded(p, v->bytes);
    return RLX_OK;
  }
  plan_unit u = {
    .kind = PLAN_UNIT_COPY, .node = part, .from = v->root, .from_shift = v->shift, .to = buffer, .to_shift = offset};
  uint32_t unit;
  (*n_copies)++;
  return add_unit(p, u, &unit);
}

/* A concat as a join, if some part can be computed in place; else *done is false. */
static rlx_status add_join(planner *p, rlx_node id, const uint8_t *n_parts, bool *done) {
  const rlx_node_rec *n = rlx_graph_at(p->g, id);
  plan_value *v = &p->value[id];
  *done = false;
  uint64_t offset = 0;
  for (uint32_t i = 0; i < n->n_in; offset += p->value[n->in[i++]].bytes)
    if (p->value[n->in[i]].bytes && can_join(p, id, n->in[i], offset, n_parts)) *done = true;
  if (!*done) return RLX_OK;
  v->kind = PLAN_JOIN;
  RLX_TRY(add_buffer(p, id, &v->buffer));
  uint32_t n_copies = 0;
  offset = 0;
  for (uint32_t i = 0; i < n->n_in; offset += p->value[n->in[i++]].bytes)
    if (p->value[n->in[i]].bytes)
      RLX_TRY(add_part(p, n->in[i], v->buffer, offset, can_join(p, id, n->in[i], offset, n_parts), &n_copies));
  p->has_joins = true;
  return add_unit(p, (plan_unit){.kind = PLAN_UNIT_JOIN, .node = id, .n_copies = n_copies}, &v->unit);
}

/* How often each root is a part of a concat that may be a join; 2 means more than once. */
static uint8_t *count_parts(planner *p) {
  uint8_t *n_parts = rlx_bump_array(&p->mem, uint8_t, rlx_graph_end(p->g));
  for (rlx_node id = 1; n_parts && id < rlx_graph_end(p->g); id++) {
    const rlx_node_rec *n = rlx_graph_at(p->g, id);
    if (n->op != RLX_OP_concat || p->value[id].kind != PLAN_STEP || p->no_join[id] || !is_contiguous_concat(n))
      continue;
    for (uint32_t i = 0; i < n->n_in; i++) {
      uint8_t *count = &n_parts[p->value[n->in[i]].root];
      if (*count < 2) (*count)++;
    }
  }
  return n_parts;
}

/* ---- all ---- */

void rlx_planner_storages_deinit(planner *p) {
  rlx_array_deinit(&p->buffers);
  rlx_array_deinit(&p->units);
  rlx_array_deinit(&p->results);
  rlx_array_deinit(&p->edges);
  rlx_array_deinit(&p->touches);
  rlx_bump_deinit(&p->mem);
}

/* Resets the planner to its state after plan_values. */
static rlx_status begin(planner *p) {
  rlx_planner_storages_deinit(p);
  p->has_joins = false;
  p->join_bytes = 0;
  p->n_steps = 0;
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++) {
    plan_value *v = &p->value[id];
    v->unit = v->buffer = v->old_unit = v->old_buffer = 0;
    if (v->kind == PLAN_JOIN) v->kind = PLAN_STEP;
  }
  /* Number 0 is none. */
  return rlx_array_push(&p->buffers, (plan_buffer){0}) && rlx_array_push(&p->units, (plan_unit){0})
           ? RLX_OK
           : rlx_planner_no_memory(p);
}

rlx_status rlx_planner_storages(planner *p, bool with_joins) {
  RLX_TRY(begin(p));
  const uint8_t *n_parts = count_parts(p);
  if (!n_parts) return rlx_planner_no_memory(p);
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++) {
    plan_value *v = &p->value[id];
    const rlx_node_rec *n = rlx_graph_at(p->g, id);
    bool done = false;
    if (v->kind == PLAN_INPUT) RLX_TRY(add_buffer(p, id, &v->buffer));
    else if (v->kind == PLAN_COPIED) RLX_TRY(add_copied(p, id));
    else if (v->kind == PLAN_STEP || v->kind == PLAN_UPDATE) {
      if (with_joins && n->op == RLX_OP_concat && !p->no_join[id] && is_contiguous_concat(n))
        RLX_TRY(add_join(p, id, n_parts, &done));
      if (!done) RLX_TRY(add_node(p, id));
    }
  }
  return RLX_OK;
}
