/* Encodes the chosen order as steps with windows, and the location of each value.
 *
 * Weights and states get slots here, in node order, if a step or an output reads them. The device's limit on a binding
 * is checked for windows of steps that the device runs. */
#include <stdio.h>

#include "plan/planner.h"

typedef struct encoder {
  planner *p;
  const plan_order *o;
  rlx_plan *out;
  uint32_t *slot; /* by node: of a weight or state, plus 1 */
} encoder;

void rlx_planner_name_value(const rlx_graph *g, rlx_node n, char *text, size_t cap) {
  const rlx_node_rec *r = rlx_graph_at(g, n);
  const char *name = rlx_node_name(g, n);
  snprintf(text, cap, "node %u (%s%s%s%s) %s%s", (unsigned)n, rlx_op_table_get(r->op)->name, name ? " '" : "",
           name ? name : "", name ? "'" : "", rlx_dtype_name(r->type.dtype), RLX_DIMS_TEXT(r->type.shape));
}

/* ---- windows ---- */

static rlx_window buffer_window(const encoder *e, uint32_t buffer, uint64_t shift, uint64_t bytes) {
  uint32_t root = rlx_planner_buffer_root(e->p, buffer, &shift);
  const plan_storage *s = &e->o->storage[e->o->slot[root]];
  return (rlx_window){RLX_SEGMENT_SCRATCH, s->block, s->offset + shift, bytes};
}

/* `bytes` of a root starting at `shift`; with `old`, of the copy of a state's old value. */
static rlx_window root_window(const encoder *e, rlx_node root, uint64_t shift, uint64_t bytes, bool old) {
  const plan_value *v = &e->p->value[root];
  if (!v->bytes && v->kind == PLAN_EMPTY) return (rlx_window){RLX_SEGMENT_SCRATCH, 0, 0, 0};
  if (v->kind == PLAN_WEIGHT) return (rlx_window){RLX_SEGMENT_WEIGHTS, e->slot[root] - 1, shift, bytes};
  if (v->state && !old) return (rlx_window){RLX_SEGMENT_STATE, e->slot[v->state] - 1, shift, bytes};
  return buffer_window(e, v->state ? v->old_buffer : v->buffer, shift, bytes);
}

static rlx_window value_window(const encoder *e, rlx_node n, bool old) {
  const plan_value *v = &e->p->value[n];
  return root_window(e, v->root, v->shift, v->bytes, old);
}

/* ---- slots ---- */

static void mark_slot(encoder *e, rlx_node root) {
  const plan_value *v = &e->p->value[root];
  if (v->kind == PLAN_WEIGHT) e->slot[root] = 1;
  if (v->state) e->slot[v->state] = 1;
}

/* Includes empty inputs, and those that are parts of a join: they have windows. */
static void mark_inputs(encoder *e, rlx_node node) {
  const rlx_node_rec *n = rlx_graph_at(e->p->g, node);
  for (uint32_t i = 0; i < n->n_in; i++)
    if (n->in[i]) mark_slot(e, e->p->value[n->in[i]].root);
}

static rlx_status number_slots(encoder *e) {
  planner *p = e->p;
  for (uint32_t u = 1; u < p->units.n; u++) {
    const plan_unit *unit = &p->units.v[u];
    if (unit->kind == PLAN_UNIT_COPY) mark_slot(e, unit->from);
    else mark_inputs(e, unit->node);
  }
  for (size_t i = 0; i < p->g->outputs.n; i++) mark_slot(e, p->value[p->g->outputs.v[i].node].root);
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++) {
    if (!e->slot[id]) continue;
    if (p->value[id].kind == PLAN_WEIGHT) e->slot[id] = ++e->out->n_weights;
    else e->slot[id] = ++e->out->n_states;
  }
  e->out->weights = rlx_bump_array(&e->out->bump, rlx_node, e->out->n_weights);
  e->out->states = rlx_bump_array(&e->out->bump, rlx_node, e->out->n_states);
  if (!e->out->weights || !e->out->states) return rlx_planner_no_memory(p);
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++) {
    if (!e->slot[id]) continue;
    bool is_weight = p->value[id].kind == PLAN_WEIGHT;
    (is_weight ? e->out->weights : e->out->states)[e->slot[id] - 1] = id;
    *(is_weight ? &e->out->weights_bytes : &e->out->state_bytes) += p->value[id].bytes;
    if (p->o.max_block_bytes && p->value[id].bytes > p->o.max_block_bytes) {
      char name[256];
      rlx_planner_name_value(p->g, id, name, sizeof name);
      return RLX_FAIL(RLX_UNSUPPORTED,
                      "%s takes %llu bytes, but the device allocates at most %llu at once; splitting the tensor or a "
                      "smaller type would help",
                      name, (unsigned long long)p->value[id].bytes, (unsigned long long)p->o.max_block_bytes);
    }
  }
  return RLX_OK;
}

/* ---- steps ---- */

static rlx_status check_window(const encoder *e, rlx_node n, const rlx_window *w, const char *what) {
  uint64_t limit = e->p->o.max_window_bytes;
  if (!limit || w->bytes <= limit) return RLX_OK;
  char name[256];
  rlx_planner_name_value(e->p->g, n, name, sizeof name);
  return RLX_FAIL(
    RLX_UNSUPPORTED,
    "%s%s takes %llu bytes, but the device binds at most %llu to a kernel; splitting the tensor, a smaller "
    "batch or sequence, or a smaller type would help",
    what, name, (unsigned long long)w->bytes, (unsigned long long)limit);
}

static rlx_status check_windows(const encoder *e, const rlx_step *s) {
  if (s->host || s->kind == RLX_STEP_COPY) return RLX_OK; /* nothing is bound */
  const rlx_node_rec *n = rlx_graph_at(e->p->g, s->node);
  for (uint32_t i = 0; i < s->n_in; i++) RLX_TRY(check_window(e, n->in[i], &s->in[i], ""));
  for (uint32_t i = 0; i < s->n_out; i++) RLX_TRY(check_window(e, s->nodes[i], &s->out[i], ""));
  return check_window(e, s->node, &s->work, "the workspace of ");
}

static void encode_copy(const encoder *e, uint32_t unit, rlx_step *s, rlx_window *in, rlx_window *out) {
  const plan_unit *u = &e->p->units.v[unit];
  uint64_t bytes = e->p->value[u->node].bytes;
  *in = root_window(e, u->from, u->from_shift, bytes, rlx_planner_reads_old(e->p, unit, 0, u->from));
  *out = buffer_window(e, u->to, u->to_shift, bytes);
  s->kind = RLX_STEP_COPY;
  e->out->n_copies++;
}

static void encode_node(const encoder *e, uint32_t unit, rlx_step *s, rlx_window *in, rlx_window *out) {
  planner *p = e->p;
  const plan_unit *u = &p->units.v[unit];
  const rlx_node_rec *n = rlx_graph_at(p->g, u->node);
  for (uint32_t i = 0; i < n->n_in; i++) {
    if (!n->in[i]) continue;
    in[i] = value_window(e, n->in[i], rlx_planner_reads_old(p, unit, i, p->value[n->in[i]].root));
  }
  for (uint32_t i = 0; i < s->n_out; i++) out[i] = value_window(e, s->nodes[i], false);
  s->host = u->host;
  e->out->n_host += u->host;
  if (e->o->work[unit]) {
    const plan_storage *w = &e->o->storage[e->o->work[unit]];
    s->work = (rlx_window){RLX_SEGMENT_SCRATCH, w->block, w->offset, w->bytes};
  }
}

static rlx_status encode_step(const encoder *e, uint32_t unit, rlx_step *s) {
  planner *p = e->p;
  const plan_unit *u = &p->units.v[unit];
  bool is_copy = u->kind == PLAN_UNIT_COPY;
  s->node = u->node;
  s->n_in = rlx_planner_reads(p, unit);
  s->n_out = is_copy ? 1 : u->n_nodes;
  const rlx_node *nodes = is_copy ? &u->node : &p->results.v[u->first_node];
  s->nodes = rlx_bump_copy(&e->out->bump, nodes, s->n_out, sizeof *nodes);
  rlx_window *in = rlx_bump_array(&e->out->bump, rlx_window, s->n_in);
  rlx_window *out = rlx_bump_array(&e->out->bump, rlx_window, s->n_out);
  if (!s->nodes || !in || !out) return rlx_planner_no_memory(p);
  s->in = in;
  s->out = out;
  if (is_copy) encode_copy(e, unit, s, in, out);
  else encode_node(e, unit, s, in, out);
  return check_windows(e, s);
}

static rlx_status encode_values(const encoder *e) {
  planner *p = e->p;
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++) {
    const plan_value *v = &p->value[id], *root = &p->value[v->root];
    if (v->kind == PLAN_UNUSED) continue;
    if ((root->kind == PLAN_WEIGHT && !e->slot[v->root]) || (root->state && !e->slot[root->state])) continue;
    e->out->at[id] = value_window(e, id, root->is_output && root->old_buffer);
  }
  return RLX_OK;
}

/* Sorts by first step; the counting sort is stable. */
static rlx_status encode_storages(const encoder *e) {
  planner *p = e->p;
  uint32_t n = e->o->n_storages;
  uint32_t *start = rlx_bump_array(&p->mem, uint32_t, (size_t)p->n_steps + 2);
  e->out->storages = rlx_bump_array(&e->out->bump, rlx_storage, n);
  if (!start || !e->out->storages) return rlx_planner_no_memory(p);
  e->out->n_storages = n;
  for (uint32_t i = 1; i <= n; i++) start[e->o->storage[i].first + 1]++;
  for (uint32_t i = 1; i < p->n_steps + 2; i++) start[i] += start[i - 1];
  for (uint32_t i = 1; i <= n; i++) {
    const plan_storage *s = &e->o->storage[i];
    e->out->storages[start[s->first]++] =
      (rlx_storage){s->node, s->first, s->last, {RLX_SEGMENT_SCRATCH, s->block, s->offset, s->bytes}};
  }
  return RLX_OK;
}

static void count_savings(const encoder *e) {
  const planner *p = e->p;
  rlx_plan *out = e->out;
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++) {
    const plan_value *v = &p->value[id];
    bool is_view = v->kind == PLAN_VIEW, takes = v->kind >= PLAN_INPUT && v->kind != PLAN_UPDATE;
    if (takes) out->naive_bytes += rlx_planner_padded(p, v->bytes);
    if (is_view) out->view_bytes += rlx_planner_padded(p, v->bytes);
    out->n_views += is_view || v->kind == PLAN_JOIN;
  }
  for (uint32_t u = 1; u < p->units.n; u++) out->naive_bytes += rlx_planner_padded(p, p->units.v[u].work_bytes);
  out->view_bytes += p->join_bytes;
  out->n_in_place = e->o->n_in_place;
  out->in_place_bytes = e->o->in_place_bytes;
}

rlx_status rlx_planner_encode(planner *p, const plan_order *o, rlx_plan *out) {
  encoder e = {p, o, out, rlx_bump_array(&p->mem, uint32_t, rlx_graph_end(p->g))};
  out->at = rlx_bump_array(&out->bump, rlx_window, rlx_graph_end(p->g));
  out->steps = rlx_bump_array(&out->bump, rlx_step, p->n_steps);
  if (!e.slot || !out->at || !out->steps) return rlx_planner_no_memory(p);
  RLX_TRY(number_slots(&e));
  for (size_t i = 0; i + 1 < p->units.n; i++)
    if (p->units.v[o->units[i]].kind != PLAN_UNIT_JOIN)
      RLX_TRY(encode_step(&e, o->units[i], &out->steps[out->n_steps++]));
  RLX_TRY(encode_values(&e));
  RLX_TRY(encode_storages(&e));
  count_savings(&e);
  return RLX_OK;
}
