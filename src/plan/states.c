/* In-place updates of states: readers of the old value must run before the update.
 *
 * The graph's order usually ensures that. If a reader comes after the update, the base order delays the update until
 * its readers are done. Only if every unit that could run is delayed (a reader needs the update itself) does an update
 * go first; then a copy of the old value is kept for the later readers, and for outputs. */
#include "plan/planner.h"

uint32_t rlx_planner_reads(const planner *p, uint32_t unit) {
  const plan_unit *u = &p->units.v[unit];
  return u->kind == PLAN_UNIT_NODE ? rlx_graph_at(p->g, u->node)->n_in : u->kind == PLAN_UNIT_COPY;
}

rlx_node rlx_planner_read(const planner *p, uint32_t unit, uint32_t i) {
  const plan_unit *u = &p->units.v[unit];
  if (u->kind == PLAN_UNIT_COPY) return u->from;
  rlx_node in = rlx_graph_at(p->g, u->node)->in[i];
  return in && p->value[in].bytes ? p->value[in].root : RLX_NONE;
}

/* The unit that replaces a root's value; 0: none. */
static uint32_t replaced_by(const planner *p, rlx_node root) {
  rlx_node update = p->value[root].next_update;
  return update ? p->value[update].unit : 0;
}

/* Whether this read is the value that the update replaces. */
static bool is_own_read(const planner *p, uint32_t unit, uint32_t i, rlx_node root) {
  return i == 0 && replaced_by(p, root) == unit && p->units.v[unit].kind == PLAN_UNIT_NODE;
}

bool rlx_planner_reads_old(const planner *p, uint32_t unit, uint32_t i, rlx_node root) {
  uint32_t update = replaced_by(p, root);
  if (!update || unit == p->value[root].old_unit || is_own_read(p, unit, i, root)) return false;
  return p->base_at[unit] >= p->base_at[update];
}

rlx_status rlx_planner_graph(planner *p, bool by_after, plan_graph *out) {
  size_t n = p->units.n;
  out->first = rlx_bump_array(&p->mem, uint32_t, n + 2);
  out->v = rlx_bump_array(&p->mem, uint32_t, p->edges.n);
  if (!out->first || !out->v) return rlx_planner_no_memory(p);
  for (size_t i = 0; i < p->edges.n; i++) out->first[(by_after ? p->edges.v[i].after : p->edges.v[i].before) + 2]++;
  for (size_t i = 2; i < n + 2; i++) out->first[i] += out->first[i - 1];
  for (size_t i = 0; i < p->edges.n; i++) {
    plan_edge e = p->edges.v[i];
    out->v[out->first[(by_after ? e.after : e.before) + 1]++] = by_after ? e.before : e.after;
  }
  return RLX_OK;
}

static rlx_status add_edge(planner *p, uint32_t before, uint32_t after) {
  if (!before || before == after) return RLX_OK;
  plan_edge e = {before, after};
  return rlx_array_push(&p->edges, e) ? RLX_OK : rlx_planner_no_memory(p);
}

/* Adds edges from the units that compute what a unit reads. */
static rlx_status add_data_edges(planner *p, uint32_t unit) {
  const plan_unit *u = &p->units.v[unit];
  for (uint32_t i = 0; i < rlx_planner_reads(p, unit); i++) {
    rlx_node root = rlx_planner_read(p, unit, i);
    if (root) RLX_TRY(add_edge(p, p->value[root].unit, unit));
  }
  if (u->kind != PLAN_UNIT_JOIN) return RLX_OK;
  for (uint32_t k = 1; k <= u->n_copies; k++) RLX_TRY(add_edge(p, unit - k, unit));
  const rlx_node_rec *n = rlx_graph_at(p->g, u->node);
  for (uint32_t i = 0; i < n->n_in; i++) /* copied parts come even earlier */
    if (p->value[n->in[i]].bytes) RLX_TRY(add_edge(p, p->value[p->value[n->in[i]].root].unit, unit));
  return RLX_OK;
}

/* ---- the base order ---- */

typedef struct heap {
  uint32_t *v;
  size_t n;
} heap;

static void heap_push(heap *h, uint32_t x) {
  size_t i = h->n++;
  for (; i && h->v[(i - 1) / 2] > x; i = (i - 1) / 2) h->v[i] = h->v[(i - 1) / 2];
  h->v[i] = x;
}

static uint32_t heap_pop(heap *h) {
  uint32_t top = h->v[0], x = h->v[--h->n];
  size_t i = 0;
  for (size_t c; (c = 2 * i + 1) < h->n; i = c) {
    if (c + 1 < h->n && h->v[c + 1] < h->v[c]) c++;
    if (h->v[c] >= x) break;
    h->v[i] = h->v[c];
  }
  h->v[i] = x;
  return top;
}

typedef struct base_sort {
  planner *p;
  plan_graph next;
  uint32_t *waits; /* by unit: units it still waits for */
  uint32_t *holds; /* by update: remaining readers of the old value */
  bool *done;
  heap ready, held;
  size_t n;
} base_sort;

static void offer(base_sort *b, uint32_t unit) {
  if (!b->waits[unit] && !b->done[unit]) heap_push(b->holds[unit] ? &b->held : &b->ready, unit);
}

static void run_unit(base_sort *b, uint32_t unit) {
  planner *p = b->p;
  b->done[unit] = true;
  p->base[b->n++] = unit;
  for (uint32_t i = 0; i < rlx_planner_reads(p, unit); i++) {
    rlx_node root = rlx_planner_read(p, unit, i);
    uint32_t update = root ? replaced_by(p, root) : 0;
    if (update && update != unit && --b->holds[update] == 0) offer(b, update);
  }
  for (uint32_t k = b->next.first[unit]; k < b->next.first[unit + 1]; k++)
    if (--b->waits[b->next.v[k]] == 0) offer(b, b->next.v[k]);
}

static rlx_status sort_base(planner *p) {
  size_t n = p->units.n;
  base_sort b = {.p = p,
                 .waits = rlx_bump_array(&p->mem, uint32_t, n),
                 .holds = rlx_bump_array(&p->mem, uint32_t, n),
                 .done = rlx_bump_array(&p->mem, bool, n),
                 .ready = {.v = rlx_bump_array(&p->mem, uint32_t, n)},
                 .held = {.v = rlx_bump_array(&p->mem, uint32_t, n)}};
  if (!b.waits || !b.holds || !b.done || !b.ready.v || !b.held.v) return rlx_planner_no_memory(p);
  RLX_TRY(rlx_planner_graph(p, false, &b.next));
  for (size_t i = 0; i < p->edges.n; i++) b.waits[p->edges.v[i].after]++;
  for (uint32_t u = 1; u < n; u++)
    for (uint32_t i = 0; i < rlx_planner_reads(p, u); i++) {
      rlx_node root = rlx_planner_read(p, u, i);
      uint32_t update = root ? replaced_by(p, root) : 0;
      if (update && update != u) b.holds[update]++;
    }
  for (uint32_t u = 1; u < n; u++) offer(&b, u);
  while (b.ready.n || b.held.n) {
    uint32_t u = heap_pop(b.ready.n ? &b.ready : &b.held);
    if (!b.done[u]) run_unit(&b, u); /* a delayed update may be in both heaps */
  }
  return RLX_OK;
}

/* ---- copies of old values ---- */

/* Whether the order by unit number has every reader before the update. */
static bool is_natural_order_fine(const planner *p) {
  for (uint32_t u = 1; u < p->units.n; u++)
    for (uint32_t i = 0; i < rlx_planner_reads(p, u); i++) {
      rlx_node root = rlx_planner_read(p, u, i);
      uint32_t update = root ? replaced_by(p, root) : 0;
      if (update && update < u) return false;
    }
  return true;
}

static bool is_state_value(const plan_value *v) { return v->kind == PLAN_STATE || v->kind == PLAN_UPDATE; }

static rlx_status keep_old(planner *p, rlx_node root) {
  plan_value *v = &p->value[root];
  if (v->old_unit) return RLX_OK;
  plan_buffer b = {.bytes = v->bytes, .node = root, .is_output = v->is_output};
  v->old_buffer = (uint32_t)p->buffers.n;
  plan_unit u = {.kind = PLAN_UNIT_COPY, .node = root, .from = root, .to = v->old_buffer};
  v->old_unit = (uint32_t)p->units.n;
  return rlx_array_push(&p->buffers, b) && rlx_array_push(&p->units, u) ? RLX_OK : rlx_planner_no_memory(p);
}

static rlx_status find_old(planner *p) {
  uint32_t n = (uint32_t)p->units.n;
  for (uint32_t u = 1; u < n; u++)
    for (uint32_t i = 0; i < rlx_planner_reads(p, u); i++) {
      rlx_node root = rlx_planner_read(p, u, i);
      if (root && rlx_planner_reads_old(p, u, i, root)) RLX_TRY(keep_old(p, root));
    }
  for (rlx_node id = 1; id < rlx_graph_end(p->g); id++)
    if (is_state_value(&p->value[id]) && p->value[id].is_output && replaced_by(p, id)) RLX_TRY(keep_old(p, id));
  return RLX_OK;
}

/* Rebuilds the base order with the copies directly before the updates. */
static rlx_status insert_old(planner *p, uint32_t n_before) {
  uint32_t n = (uint32_t)p->units.n, at = 0;
  uint32_t *base = rlx_bump_array(&p->mem, uint32_t, n), *base_at = rlx_bump_array(&p->mem, uint32_t, n);
  if (!base || !base_at) return rlx_planner_no_memory(p);
  for (uint32_t i = 0; i < n_before; i++) {
    uint32_t u = p->base[i];
    const plan_unit *unit = &p->units.v[u];
    if (unit->kind == PLAN_UNIT_NODE && p->value[unit->node].kind == PLAN_UPDATE) {
      uint32_t copy = p->value[rlx_graph_at(p->g, unit->node)->in[0]].old_unit;
      if (copy) base[at++] = copy;
    }
    base[at++] = u;
  }
  for (uint32_t i = 0; i < at; i++) base_at[base[i]] = i;
  p->base = base;
  p->base_at = base_at;
  return RLX_OK;
}

static rlx_status add_state_edges(planner *p) {
  for (uint32_t u = 1; u < p->units.n; u++)
    for (uint32_t i = 0; i < rlx_planner_reads(p, u); i++) {
      rlx_node root = rlx_planner_read(p, u, i);
      uint32_t update = root ? replaced_by(p, root) : 0;
      if (!update || is_own_read(p, u, i, root)) continue;
      if (rlx_planner_reads_old(p, u, i, root)) RLX_TRY(add_edge(p, p->value[root].old_unit, u));
      else RLX_TRY(add_edge(p, u, update));
    }
  return RLX_OK;
}

rlx_status rlx_planner_states(planner *p) {
  uint32_t n = (uint32_t)p->units.n;
  p->base = rlx_bump_array(&p->mem, uint32_t, n);
  p->base_at = rlx_bump_array(&p->mem, uint32_t, n);
  if (!p->base || !p->base_at) return rlx_planner_no_memory(p);
  for (uint32_t u = 1; u < n; u++) RLX_TRY(add_data_edges(p, u));
  for (uint32_t u = 1; u < n; u++) p->base[u - 1] = u;
  if (p->has_updates && !is_natural_order_fine(p)) RLX_TRY(sort_base(p));
  for (uint32_t i = 0; i + 1 < n; i++) p->base_at[p->base[i]] = i;
  if (!p->has_updates) return RLX_OK;
  RLX_TRY(find_old(p));
  for (uint32_t u = n; u < p->units.n; u++) RLX_TRY(add_data_edges(p, u));
  RLX_TRY(insert_old(p, n - 1));
  return add_state_edges(p);
}

/* ---- touches ---- */

uint32_t rlx_planner_read_buffer(planner *p, uint32_t unit, uint32_t i, rlx_node root, uint64_t *shift) {
  const plan_value *v = &p->value[root];
  uint32_t b = is_state_value(v) ? (rlx_planner_reads_old(p, unit, i, root) ? v->old_buffer : 0) : v->buffer;
  return b ? rlx_planner_buffer_root(p, b, shift) : 0;
}

static rlx_status touch(planner *p, uint32_t unit, uint32_t buffer, uint32_t *seen) {
  if (!buffer || seen[buffer] == unit) return RLX_OK;
  seen[buffer] = unit;
  p->units.v[unit].n_touches++;
  return rlx_array_push(&p->touches, buffer) ? RLX_OK : rlx_planner_no_memory(p);
}

static rlx_status touch_all(planner *p, uint32_t unit, uint32_t *seen) {
  plan_unit *u = &p->units.v[unit];
  uint64_t shift = 0;
  u->first_touch = (uint32_t)p->touches.n;
  for (uint32_t i = 0; i < rlx_planner_reads(p, unit); i++) {
    rlx_node root = rlx_planner_read(p, unit, i);
    if (root) RLX_TRY(touch(p, unit, rlx_planner_read_buffer(p, unit, i, root, &shift), seen));
  }
  if (u->kind == PLAN_UNIT_COPY) return touch(p, unit, rlx_planner_buffer_root(p, u->to, &shift), seen);
  for (uint32_t i = 0; i < u->n_nodes; i++) {
    uint32_t b = p->value[p->results.v[u->first_node + i]].buffer;
    if (b) RLX_TRY(touch(p, unit, rlx_planner_buffer_root(p, b, &shift), seen));
  }
  return RLX_OK;
}

rlx_status rlx_planner_connect(planner *p) {
  uint32_t *seen = rlx_bump_array(&p->mem, uint32_t, p->buffers.n);
  if (!seen) return rlx_planner_no_memory(p);
  for (uint32_t u = 1; u < p->units.n; u++) {
    RLX_TRY(touch_all(p, u, seen));
    if (p->units.v[u].kind != PLAN_UNIT_JOIN) p->n_steps++;
  }
  return rlx_planner_graph(p, false, &p->next);
}
