/* The cost of an order: assigns in-place results and computes the live ranges and the peak.
 *
 * A buffer is live from the first unit that touches it to the last; inputs always, outputs to the end. The order is
 * known here, so it is decided here whether an input dies where a result can overwrite it: the result's buffer then
 * shares the input's storage, and chains of such results share one. The bound is the maximum of bytes of storages and
 * workspace live at one step: no placement of this order can be below it. */
#include "plan/planner.h"

typedef struct live {
  planner *p;
  plan_order *o;
  uint32_t *first, *last; /* by root buffer: steps */
} live;

static void find_ranges(live *l) {
  planner *p = l->p;
  uint32_t step = 0, end = p->n_steps ? p->n_steps - 1 : 0;
  for (size_t i = 0; i + 1 < p->units.n; i++) {
    const plan_unit *u = &p->units.v[l->o->units[i]];
    if (u->kind == PLAN_UNIT_JOIN) continue;
    for (uint32_t k = 0; k < u->n_touches; k++) {
      uint32_t b = p->touches.v[u->first_touch + k];
      if (l->first[b] == UINT32_MAX) l->first[b] = step;
      l->last[b] = step;
    }
    step++;
  }
  for (uint32_t b = 1; b < p->buffers.n; b++) {
    if (p->buffers.v[b].parent) continue;
    if (p->buffers.v[b].is_input) l->first[b] = 0;
    if (p->buffers.v[b].is_input || p->buffers.v[b].is_output) l->last[b] = end;
  }
}

static uint32_t new_storage(live *l, plan_storage s) {
  l->o->storage[++l->o->n_storages] = s;
  return l->o->n_storages;
}

/* The root buffer that input i of a unit reads as a whole; 0: the input is part of one, or not in scratch. */
static uint32_t whole_input(planner *p, uint32_t unit, uint32_t i, rlx_node root) {
  const plan_value *in = &p->value[rlx_graph_at(p->g, p->units.v[unit].node)->in[i]];
  uint64_t shift = in->shift;
  uint32_t b = rlx_planner_read_buffer(p, unit, i, root, &shift);
  return b && shift == 0 && p->buffers.v[b].bytes == in->bytes ? b : 0;
}

static bool may_take(const planner *p, uint32_t unit, uint32_t i) {
  const plan_unit *u = &p->units.v[unit];
  const rlx_node_rec *n = rlx_graph_at(p->g, u->node);
  return i < 32 && (u->in_place >> i & 1) && n->in[i] &&
         rlx_dtype_size(rlx_graph_at(p->g, n->in[i])->type.dtype) == rlx_dtype_size(n->type.dtype);
}

/* Whether every read of buffer b by this unit is of the whole buffer, by an input that the result may overwrite. */
static bool reads_only_whole(planner *p, uint32_t unit, uint32_t b) {
  for (uint32_t i = 0; i < rlx_planner_reads(p, unit); i++) {
    rlx_node root = rlx_planner_read(p, unit, i);
    uint64_t shift = 0;
    if (!root || rlx_planner_read_buffer(p, unit, i, root, &shift) != b) continue;
    if (!may_take(p, unit, i) || whole_input(p, unit, i, root) != b) return false;
  }
  return true;
}

/* The buffer that the result of a unit, computed in buffer `out` at `step`, overwrites; 0: none. */
static uint32_t find_overwritten(live *l, uint32_t unit, uint32_t out, uint32_t step) {
  planner *p = l->p;
  const plan_unit *u = &p->units.v[unit];
  if (u->kind != PLAN_UNIT_NODE || !u->in_place || u->n_nodes != 1 ||
      p->o.switches & (RLX_SWITCH_NO_IN_PLACE | RLX_SWITCH_KEEP_VALUES))
    return 0;
  if (p->buffers.v[out].bytes != p->value[u->node].bytes || l->first[out] != step) return 0;
  for (uint32_t i = 0; i < rlx_planner_reads(p, unit); i++) {
    rlx_node root = rlx_planner_read(p, unit, i);
    if (!root || !may_take(p, unit, i)) continue;
    uint32_t b = whole_input(p, unit, i, root);
    if (!b || b == out || l->last[b] != step || p->buffers.v[b].is_input || p->buffers.v[b].is_output) continue;
    if (p->buffers.v[b].bytes == p->buffers.v[out].bytes && reads_only_whole(p, unit, b)) return b;
  }
  return 0;
}

static void begin_buffer(live *l, uint32_t unit, uint32_t b, uint32_t step) {
  const plan_buffer *buffer = &l->p->buffers.v[b];
  plan_order *o = l->o;
  uint32_t overwritten = find_overwritten(l, unit, b, step);
  if (overwritten) {
    o->slot[b] = o->slot[overwritten];
    o->storage[o->slot[b]].last = l->last[b];
    o->n_in_place++;
    o->in_place_bytes += rlx_planner_padded(l->p, buffer->bytes);
  } else {
    o->slot[b] = new_storage(
      l, (plan_storage){.node = buffer->node,
                        .bytes = buffer->bytes,
                        .first = l->first[b],
                        .last = l->p->o.switches & RLX_SWITCH_KEEP_VALUES ? l->p->n_steps - 1 : l->last[b]});
  }
}

static void begin_buffers(live *l) {
  planner *p = l->p;
  for (uint32_t b = 1; b < p->buffers.n; b++)
    if (!p->buffers.v[b].parent && p->buffers.v[b].is_input)
      l->o->slot[b] = new_storage(
        l, (plan_storage){.node = p->buffers.v[b].node, .bytes = p->buffers.v[b].bytes, .last = l->last[b]});
  uint32_t step = 0;
  for (size_t i = 0; i + 1 < p->units.n; i++) {
    uint32_t unit = l->o->units[i];
    const plan_unit *u = &p->units.v[unit];
    if (u->kind == PLAN_UNIT_JOIN) continue;
    for (uint32_t k = 0; k < u->n_touches; k++) {
      uint32_t b = p->touches.v[u->first_touch + k];
      if (!l->o->slot[b]) begin_buffer(l, unit, b, step);
    }
    if (u->work_bytes)
      l->o->work[unit] = new_storage(l, (plan_storage){.bytes = u->work_bytes, .first = step, .last = step});
    step++;
  }
}

/* Overflow of 64 bits is detected here, for all later sums of sizes. */
static rlx_status find_bound(live *l) {
  planner *p = l->p;
  plan_order *o = l->o;
  uint64_t *up = rlx_bump_array(&p->mem, uint64_t, (size_t)p->n_steps + 1);
  uint64_t *down = rlx_bump_array(&p->mem, uint64_t, (size_t)p->n_steps + 1);
  if (!up || !down) return rlx_planner_no_memory(p);
  uint64_t total = 0, now = 0;
  for (uint32_t i = 1; i <= o->n_storages; i++) {
    uint64_t bytes = rlx_planner_padded(p, o->storage[i].bytes);
    if (bytes > INT64_MAX || (total += bytes) > INT64_MAX)
      return RLX_FAIL(RLX_UNSUPPORTED, "all values together are above 2^63 bytes");
    up[o->storage[i].first] += bytes;
    down[o->storage[i].last] += bytes;
  }
  o->bound = 0;
  for (uint32_t step = 0; step <= p->n_steps; step++) {
    now += up[step];
    if (now > o->bound) {
      o->bound = now;
      o->peak_step = step;
    }
    now -= down[step];
  }
  return RLX_OK;
}

rlx_status rlx_planner_evaluate(planner *p, plan_order *o) {
  live l = {.p = p,
            .o = o,
            .first = rlx_bump_array(&p->mem, uint32_t, p->buffers.n),
            .last = rlx_bump_array(&p->mem, uint32_t, p->buffers.n)};
  o->slot = rlx_bump_array(&p->mem, uint32_t, p->buffers.n);
  o->work = rlx_bump_array(&p->mem, uint32_t, p->units.n);
  o->storage = rlx_bump_array(&p->mem, plan_storage, p->buffers.n + p->units.n);
  if (!l.first || !l.last || !o->slot || !o->work || !o->storage) return rlx_planner_no_memory(p);
  for (size_t b = 0; b < p->buffers.n; b++) l.first[b] = UINT32_MAX;
  find_ranges(&l);
  begin_buffers(&l);
  return find_bound(&l);
}
