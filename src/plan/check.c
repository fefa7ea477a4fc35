/* The checker: proves a plan by simulating its steps over a map of which bytes hold which part of which value.
 *
 * It uses nothing that the planner computed, only the steps, the graph and the device's needs of each node. A step is
 * correct if every input window holds the bytes of that input at that moment, and if the step may write where it
 * writes. The bytes of a value follow from the semantics of the ops: a reshape's are its input's, a contiguous slice's
 * are part of its input's, a concat's along its outermost axis are its parts'. To decide whether two names mean the
 * same bytes, the later one is followed to the value it was made from, until both agree.
 *
 * A second map holds the live storages, so that no two overlap and every window lies inside one.
 *
 * The planner's code is not used here; check_steps.c has the rules of a single step. */
#include "plan/checker.h"

#include "ir/slice.h"

/* ---- the bytes of each op's result ---- */

/* The row-major indices of the first and last element of a slice. If no step is negative the elements are in ascending
 * order, so they are contiguous exactly if their number equals the length of that range. */
static rlx_status resolve_slice(checker *c, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(c->g, id);
  const rlx_dims *x = &rlx_graph_at(c->g, n->in[0])->type.shape;
  rlx_slice_axis cut[RLX_MAX_RANK];
  RLX_TRY(rlx_slice_resolve(n->attrs, x, cut));
  int64_t first = 0, last = 0;
  bool rises = true;
  for (int i = 0; i < x->n; i++) {
    first = first * x->v[i] + cut[i].start;
    last = last * x->v[i] + cut[i].start + (cut[i].count - 1) * cut[i].step;
    rises = rises && cut[i].step > 0;
  }
  if (!rises || (size_t)(last - first) + 1 != rlx_dims_count(&n->type.shape)) return RLX_OK;
  c->moves[id] = CHECK_VIEW;
  c->view_root[id] = c->view_root[n->in[0]];
  const rlx_dtype_info *unit = rlx_dtype_describe(n->type.dtype);
  c->view_shift[id] = c->view_shift[n->in[0]] + (uint64_t)first / unit->block_elements * unit->block_bytes;
  return RLX_OK;
}

static void resolve_concat(checker *c, rlx_node id, uint64_t **next_end) {
  const rlx_node_rec *n = rlx_graph_at(c->g, id);
  size_t outer = 1;
  for (int i = 0; i < rlx_axis_of(RLX_ATTRS(concat, n)->axis, n->type.shape.n); i++)
    outer *= (size_t)n->type.shape.v[i];
  if (outer != 1) return;
  c->moves[id] = CHECK_CONCAT;
  uint64_t end = 0;
  c->part_end[id] = *next_end;
  for (uint32_t i = 0; i < n->n_in; i++) *(*next_end)++ = end += c->bytes[n->in[i]];
}

static rlx_status resolve(checker *c, rlx_node id, uint64_t **next_end) {
  const rlx_node_rec *n = rlx_graph_at(c->g, id);
  size_t bytes;
  RLX_TRY(rlx_tensor_bytes(n->type.dtype, n->type.shape, &bytes));
  c->bytes[id] = bytes;
  c->view_root[id] = id;
  if (!bytes || n->n_in == 0) return RLX_OK;
  if (n->op == RLX_OP_slice) return resolve_slice(c, id);
  if (n->op == RLX_OP_concat && n->n_in > 1) resolve_concat(c, id, next_end);
  if (rlx_op_is_update(n->op)) c->replaced[n->in[0]] = id;
  bool is_same = (n->op == RLX_OP_cast && rlx_graph_at(c->g, n->in[0])->type.dtype == n->type.dtype) ||
                 (n->op == RLX_OP_concat && n->n_in == 1);
  if (rlx_op_table_has(n->op, RLX_TRAIT_VIEW) || is_same) {
    c->moves[id] = CHECK_VIEW;
    c->view_root[id] = c->view_root[n->in[0]];
    c->view_shift[id] = c->view_shift[n->in[0]];
  }
  return RLX_OK;
}

/* Follows byte `shift` of a value to the value it was moved from; *run is reduced to the bytes that come from there. */
static bool follow(const checker *c, rlx_node *v, uint64_t *shift, uint64_t *run) {
  if (c->moves[*v] == CHECK_NONE) return false;
  if (c->moves[*v] == CHECK_VIEW) {
    *shift += c->view_shift[*v];
    *v = c->view_root[*v];
    return true;
  }
  const rlx_node_rec *n = rlx_graph_at(c->g, *v);
  const uint64_t *end = c->part_end[*v];
  uint32_t lo = 0, hi = n->n_in - 1; /* the first part that ends after shift */
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (end[mid] > *shift) hi = mid;
    else lo = mid + 1;
  }
  if (*run > end[lo] - *shift) *run = end[lo] - *shift;
  *shift -= lo ? end[lo - 1] : 0;
  *v = n->in[lo];
  return true;
}

/* Whether byte `a_shift` of value a is byte `b_shift` of value b; *run is reduced to the bytes for which that holds. */
static bool is_same_byte(const checker *c, rlx_node a, uint64_t a_shift, rlx_node b, uint64_t b_shift, uint64_t *run) {
  while (a != b || a_shift != b_shift) {
    if (a == b || !a || !b) return false;
    if (a > b ? !follow(c, &a, &a_shift, run) : !follow(c, &b, &b_shift, run)) return false;
  }
  return true;
}

/* ---- content of windows ---- */

rlx_status rlx_plan_check_inside(const checker *c, const rlx_window *w) {
  uint64_t size = 0;
  const rlx_plan *p = c->p;
  bool is_known = (w->segment == RLX_SEGMENT_WEIGHTS && w->block < p->n_weights) ||
                  (w->segment == RLX_SEGMENT_STATE && w->block < p->n_states) ||
                  (w->segment == RLX_SEGMENT_SCRATCH && w->block < p->n_scratch);
  if (!is_known)
    return RLX_FAIL(RLX_INVALID, "a window is in block %u of segment %d, which does not exist", (unsigned)w->block,
                    (int)w->segment);
  if (w->segment == RLX_SEGMENT_WEIGHTS) size = c->bytes[p->weights[w->block]];
  if (w->segment == RLX_SEGMENT_STATE) size = c->bytes[p->states[w->block]];
  if (w->segment == RLX_SEGMENT_SCRATCH) size = p->scratch[w->block];
  if (w->offset > size || w->bytes > size - w->offset)
    return RLX_FAIL(RLX_INVALID, "a window of %llu bytes at %llu exceeds its block of %llu",
                    (unsigned long long)w->bytes, (unsigned long long)w->offset, (unsigned long long)size);
  return RLX_OK;
}

uint32_t rlx_plan_check_room(const checker *c, const rlx_window *w) {
  return w->segment == RLX_SEGMENT_STATE ? c->p->n_scratch + w->block : w->block;
}

/* Whether a window, which is inside its block, holds the value; *other is the last range examined. */
bool rlx_plan_check_holds(checker *c, const rlx_window *w, rlx_node v, check_range *other) {
  uint64_t done = 0;
  bool is_weight = w->segment == RLX_SEGMENT_WEIGHTS;
  while (done < w->bytes) {
    check_range r = {0};
    if (is_weight) r = (check_range){(uint32_t)c->p->weights[w->block], w->offset + done, w->bytes - done};
    else r = rlx_plan_check_map_at(&c->content, rlx_plan_check_room(c, w), w->offset + done);
    uint64_t run = r.bytes < w->bytes - done ? r.bytes : w->bytes - done;
    *other = r;
    if (!is_same_byte(c, v, done, r.label, r.shift, &run)) return false;
    done += run;
  }
  /* The next query finds it as one range. */
  if (!is_weight && w->bytes && c->moves[v] == CHECK_CONCAT &&
      rlx_plan_check_map_has_point(&c->content, rlx_plan_check_room(c, w), w->offset) &&
      rlx_plan_check_map_has_point(&c->content, rlx_plan_check_room(c, w), w->offset + w->bytes))
    rlx_plan_check_map_write(&c->content, rlx_plan_check_room(c, w), w->offset, w->bytes, (uint32_t)v, 0);
  return true;
}

rlx_status rlx_plan_check_value_at(checker *c, const rlx_window *w, rlx_node v) {
  check_range other;
  if (w->segment == RLX_SEGMENT_NONE) return RLX_FAIL(RLX_INVALID, "the value of node %u has no location", (unsigned)v);
  if (w->bytes != c->bytes[v])
    return RLX_FAIL(RLX_INVALID, "a window of %llu bytes stands for node %u, which has %llu",
                    (unsigned long long)w->bytes, (unsigned)v, (unsigned long long)c->bytes[v]);
  RLX_TRY(rlx_plan_check_inside(c, w));
  if (rlx_plan_check_holds(c, w, v, &other)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID,
                  "segment %d, block %u, offset %llu should hold node %u, but holds node %u from byte %llu on",
                  (int)w->segment, (unsigned)w->block, (unsigned long long)w->offset, (unsigned)v,
                  (unsigned)other.label, (unsigned long long)other.shift);
}

/* A non-empty scratch window must lie inside one live storage. */
rlx_status rlx_plan_check_in_storage(checker *c, const rlx_window *w, size_t step) {
  if (w->segment != RLX_SEGMENT_SCRATCH || !w->bytes) return RLX_OK;
  check_range r = rlx_plan_check_map_at(&c->live, w->block, w->offset);
  if (!r.label || c->p->storages[r.label - 1].last < step || r.bytes < w->bytes)
    return RLX_FAIL(RLX_INVALID, "%llu bytes at %llu of block %u are in no storage that is live at step %zu",
                    (unsigned long long)w->bytes, (unsigned long long)w->offset, (unsigned)w->block, step);
  return RLX_OK;
}

void rlx_plan_check_write(checker *c, const rlx_window *w, rlx_node v) {
  if (w->bytes) rlx_plan_check_map_write(&c->content, rlx_plan_check_room(c, w), w->offset, w->bytes, (uint32_t)v, 0);
}

/* ---- tables ---- */

static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "checking a plan"); }

static rlx_status make_tables(checker *c) {
  uint32_t end = rlx_graph_end(c->g);
  size_t n_parts = 0;
  for (rlx_node id = 1; id < end; id++)
    if (rlx_graph_at(c->g, id)->op == RLX_OP_concat) n_parts += rlx_graph_at(c->g, id)->n_in;
  c->bytes = rlx_bump_array(&c->mem, uint64_t, end);
  c->is_needed = rlx_bump_array(&c->mem, bool, end);
  c->is_made = rlx_bump_array(&c->mem, bool, end);
  c->moves = rlx_bump_array(&c->mem, uint8_t, end);
  c->view_root = rlx_bump_array(&c->mem, rlx_node, end);
  c->view_shift = rlx_bump_array(&c->mem, uint64_t, end);
  c->replaced = rlx_bump_array(&c->mem, rlx_node, end);
  c->part_end = (uint64_t **)rlx_bump_array(&c->mem, uint64_t *, end);
  uint64_t *next_end = rlx_bump_array(&c->mem, uint64_t, n_parts);
  if (!c->bytes || !c->is_needed || !c->is_made || !c->moves || !c->view_root || !c->view_shift || !c->replaced ||
      !c->part_end || !next_end)
    return no_memory();
  for (rlx_node id = 1; id < end; id++) RLX_TRY(resolve(c, id, &next_end));
  for (size_t i = 0; i < c->g->outputs.n; i++) c->is_needed[c->g->outputs.v[i].node] = true;
  for (rlx_node id = end - 1; id > 0; id--) {
    const rlx_node_rec *n = rlx_graph_at(c->g, id);
    if (rlx_op_table_has(n->op, RLX_TRAIT_EFFECT) && c->bytes[id]) c->is_needed[id] = true;
    for (uint32_t i = 0; c->is_needed[id] && c->bytes[id] && i < n->n_in; i++) c->is_needed[n->in[i]] = true;
  }
  c->is_needed[0] = false;
  return RLX_OK;
}

static bool is_weight_op(rlx_op op) { return op == RLX_OP_param || op == RLX_OP_constant; }

/* Slots must hold the right kind of node, each once. */
static rlx_status check_slots(const checker *c) {
  const rlx_plan *p = c->p;
  for (uint32_t i = 0; i < p->n_weights; i++)
    if (!p->weights[i] || p->weights[i] >= rlx_graph_end(c->g) ||
        !is_weight_op(rlx_graph_at(c->g, p->weights[i])->op) || !c->is_needed[p->weights[i]] ||
        (i && p->weights[i] <= p->weights[i - 1]))
      return RLX_FAIL(RLX_INVALID, "slot %u of the weights holds node %u", (unsigned)i, (unsigned)p->weights[i]);
  for (uint32_t i = 0; i < p->n_states; i++)
    if (!p->states[i] || p->states[i] >= rlx_graph_end(c->g) || rlx_graph_at(c->g, p->states[i])->op != RLX_OP_state ||
        !c->is_needed[p->states[i]] || (i && p->states[i] <= p->states[i - 1]))
      return RLX_FAIL(RLX_INVALID, "slot %u of the states holds node %u", (unsigned)i, (unsigned)p->states[i]);
  return RLX_OK;
}

typedef struct point_list {
  check_point *v;
  size_t n;
} point_list;

static void add_points(const checker *c, point_list *l, const rlx_window *w) {
  if (w->segment != RLX_SEGMENT_SCRATCH && w->segment != RLX_SEGMENT_STATE) return;
  l->v[l->n++] = (check_point){rlx_plan_check_room(c, w), w->offset};
  l->v[l->n++] = (check_point){rlx_plan_check_room(c, w), w->offset + w->bytes};
}

/* Divides all blocks into cells at the ends of everything that is written. */
static rlx_status make_maps(checker *c) {
  const rlx_plan *p = c->p;
  uint32_t n_rooms = p->n_scratch + p->n_states;
  size_t n = 2 * ((size_t)n_rooms + p->n_storages + rlx_graph_end(c->g));
  for (size_t i = 0; i < p->n_steps; i++) n += 2 * ((size_t)p->steps[i].n_out + 1);
  point_list l = {.v = rlx_bump_array(&c->mem, check_point, n)};
  if (!l.v) return no_memory();
  for (uint32_t i = 0; i < n_rooms; i++) {
    l.v[l.n++] = (check_point){i, 0};
    l.v[l.n++] = (check_point){i, i < p->n_scratch ? p->scratch[i] : c->bytes[p->states[i - p->n_scratch]]};
  }
  for (size_t i = 0; i < p->n_storages; i++) add_points(c, &l, &p->storages[i].at);
  for (rlx_node id = 1; id < rlx_graph_end(c->g); id++)
    if (c->moves[id] == CHECK_CONCAT || rlx_graph_at(c->g, id)->op == RLX_OP_input) add_points(c, &l, &p->at[id]);
  for (size_t i = 0; i < p->n_steps; i++) {
    for (uint32_t k = 0; k < p->steps[i].n_out; k++) add_points(c, &l, &p->steps[i].out[k]);
    add_points(c, &l, &p->steps[i].work);
  }
  return rlx_plan_check_points_init(&c->points, &c->mem, l.v, l.n, n_rooms) &&
             rlx_plan_check_map_init(&c->content, &c->mem, &c->points) &&
             rlx_plan_check_map_init(&c->live, &c->mem, &c->points)
           ? RLX_OK
           : no_memory();
}

/* ---- locations and storages ---- */

/* Checks the location of a value: it has one exactly if it is live, of its size; leaves are in their own slots. */
static rlx_status check_location(const checker *c, rlx_node id) {
  const rlx_plan *p = c->p;
  const rlx_window *w = &p->at[id];
  rlx_op op = rlx_graph_at(c->g, id)->op;
  if (!c->is_needed[id])
    return w->segment == RLX_SEGMENT_NONE ? RLX_OK : RLX_FAIL(RLX_INVALID, "it is dead but has a location");
  RLX_TRY(rlx_plan_check_inside(c, w));
  if (w->bytes != c->bytes[id])
    return RLX_FAIL(RLX_INVALID, "it has %llu bytes, its location %llu", (unsigned long long)c->bytes[id],
                    (unsigned long long)w->bytes);
  if (is_weight_op(op) && (w->segment != RLX_SEGMENT_WEIGHTS || p->weights[w->block] != id))
    return RLX_FAIL(RLX_INVALID, "it is not in its slot");
  if (op == RLX_OP_state && w->segment == RLX_SEGMENT_STATE && p->states[w->block] != id)
    return RLX_FAIL(RLX_INVALID, "it is in another value's slot");
  if (op == RLX_OP_input && w->segment != RLX_SEGMENT_SCRATCH)
    return RLX_FAIL(RLX_INVALID, "an input is not in scratch");
  return RLX_OK;
}

static rlx_status check_storage(const checker *c, size_t i) {
  const rlx_storage *s = &c->p->storages[i];
  const rlx_window *w = &s->at;
  size_t end = c->p->n_steps ? c->p->n_steps : 1;
  if (s->first > s->last || s->last >= end || (i && s->first < s[-1].first))
    return RLX_FAIL(RLX_INVALID, "it lives from step %u to %u", (unsigned)s->first, (unsigned)s->last);
  if (w->segment != RLX_SEGMENT_SCRATCH || !w->bytes || w->offset % c->p->align)
    return RLX_FAIL(RLX_INVALID, "segment %d, %llu bytes at %llu", (int)w->segment, (unsigned long long)w->bytes,
                    (unsigned long long)w->offset);
  RLX_TRY(rlx_plan_check_inside(c, w));
  if (s->node >= rlx_graph_end(c->g) || (s->node && !c->is_needed[s->node]))
    return RLX_FAIL(RLX_INVALID, "it is named after node %u", (unsigned)s->node);
  const rlx_window *at = &c->p->at[s->node];
  if (s->node && at->segment == RLX_SEGMENT_SCRATCH &&
      (at->block != w->block || at->offset < w->offset || at->offset + at->bytes > w->offset + w->bytes))
    return RLX_FAIL(RLX_INVALID, "node %u, which it is named after, is elsewhere", (unsigned)s->node);
  return RLX_OK;
}

/* Recomputes the block sizes and the bound from the storages. */
static rlx_status check_sizes(checker *c) {
  const rlx_plan *p = c->p;
  uint64_t *end = rlx_bump_array(&c->mem, uint64_t, p->n_scratch), total = 0, now = 0, max = 0;
  uint64_t *dies = rlx_bump_array(&c->mem, uint64_t, p->n_steps + 1);
  if (!end || !dies) return no_memory();
  for (size_t i = 0, step = 0; i < p->n_storages; i++) {
    const rlx_storage *s = &p->storages[i];
    for (; step < s->first; step++) now -= dies[step];
    uint64_t size = (s->at.bytes + p->align - 1) / p->align * p->align, to = s->at.offset + size;
    if (c->o.max_block_bytes && to > c->o.max_block_bytes) to = c->o.max_block_bytes;
    if (to > end[s->at.block]) end[s->at.block] = to;
    now += size;
    dies[s->last] += size;
    if (now > max) max = now;
  }
  for (uint32_t b = 0; b < p->n_scratch; b++) {
    total += p->scratch[b];
    if (p->scratch[b] != end[b])
      return RLX_FAIL(RLX_INVALID, "block %u has %llu bytes, its storages end at %llu", (unsigned)b,
                      (unsigned long long)p->scratch[b], (unsigned long long)end[b]);
  }
  if (total != p->scratch_bytes || max != p->lower_bound)
    return RLX_FAIL(RLX_INVALID, "%llu bytes of scratch and a bound of %llu, but they are %llu and %llu",
                    (unsigned long long)p->scratch_bytes, (unsigned long long)p->lower_bound, (unsigned long long)total,
                    (unsigned long long)max);
  return RLX_OK;
}

/* Everything that must hold before the first step, including the windows of steps, because the map's cells depend on
 * them. */
static rlx_status check_static(checker *c) {
  const rlx_plan *p = c->p;
  RLX_TRY(check_slots(c));
  for (rlx_node id = 1; id < rlx_graph_end(c->g); id++)
    RLX_TRY_AT(check_location(c, id), "node %u (%s)", (unsigned)id, rlx_op_table_get(rlx_graph_at(c->g, id)->op)->name);
  if (p->at[0].segment != RLX_SEGMENT_NONE) return RLX_FAIL(RLX_INVALID, "no node has a location");
  for (size_t i = 0; i < p->n_storages; i++) RLX_TRY_AT(check_storage(c, i), "storage %zu", i);
  RLX_TRY(check_sizes(c));
  for (size_t i = 0; i < p->n_steps; i++) RLX_TRY_AT(rlx_plan_check_step_form(c, &p->steps[i]), "step %zu", i);
  return RLX_OK;
}

/* ---- simulation ---- */

/* Storages that begin at this step must find their bytes free. */
static rlx_status begin_storages(checker *c, size_t step, size_t *next) {
  const rlx_plan *p = c->p;
  for (; *next < p->n_storages && p->storages[*next].first <= step; (*next)++) {
    const rlx_window *w = &p->storages[*next].at;
    for (uint64_t done = 0; done < w->bytes;) {
      check_range r = rlx_plan_check_map_at(&c->live, w->block, w->offset + done);
      if (r.label && p->storages[r.label - 1].last >= step)
        return RLX_FAIL(RLX_INVALID, "storages %u and %zu (nodes %u and %u) overlap", (unsigned)r.label - 1, *next,
                        (unsigned)p->storages[r.label - 1].node, (unsigned)p->storages[*next].node);
      done += r.bytes;
    }
    rlx_plan_check_map_write(&c->live, w->block, w->offset, w->bytes, (uint32_t)*next + 1, 0);
    rlx_plan_check_write(c, w, RLX_NONE); /* dead values there must not be read */
  }
  return RLX_OK;
}

static rlx_status check_begin(checker *c) {
  const rlx_plan *p = c->p;
  for (uint32_t i = 0; i < p->n_states; i++)
    rlx_plan_check_write(c, &(rlx_window){RLX_SEGMENT_STATE, i, 0, c->bytes[p->states[i]]}, p->states[i]);
  for (rlx_node id = 1; id < rlx_graph_end(c->g); id++)
    if (rlx_graph_at(c->g, id)->op == RLX_OP_input && c->is_needed[id]) {
      RLX_TRY_AT(rlx_plan_check_in_storage(c, &p->at[id], p->n_steps ? p->n_steps - 1 : 0), "input, node %u",
                 (unsigned)id);
      rlx_plan_check_write(c, &p->at[id], id);
    }
  return RLX_OK;
}

static rlx_status check_end(checker *c) {
  const rlx_plan *p = c->p;
  size_t last = p->n_steps ? p->n_steps - 1 : 0;
  for (rlx_node id = 1; id < rlx_graph_end(c->g); id++) {
    const rlx_node_rec *n = rlx_graph_at(c->g, id);
    if (!c->is_needed[id]) continue;
    bool is_leaf = rlx_op_table_has(n->op, RLX_TRAIT_LEAF);
    if (!is_leaf && !c->is_made[id] && c->bytes[id] && c->moves[id] == CHECK_NONE)
      return RLX_FAIL(RLX_INVALID, "node %u (%s) is never computed", (unsigned)id, rlx_op_table_get(n->op)->name);
    if (n->op == RLX_OP_input || ((c->o.switches & RLX_SWITCH_KEEP_VALUES) && p->at[id].segment == RLX_SEGMENT_SCRATCH))
      RLX_TRY_AT(rlx_plan_check_value_at(c, &p->at[id], id), "after the last step");
  }
  for (size_t i = 0; i < c->g->outputs.n; i++) {
    rlx_node id = c->g->outputs.v[i].node;
    RLX_TRY_AT(rlx_plan_check_value_at(c, &p->at[id], id), "output '%s' after the last step", c->g->outputs.v[i].name);
    RLX_TRY_AT(rlx_plan_check_in_storage(c, &p->at[id], last), "output '%s'", c->g->outputs.v[i].name);
  }
  for (uint32_t i = 0; i < p->n_states; i++) {
    rlx_node id = p->states[i];
    while (c->replaced[id]) id = c->replaced[id];
    rlx_window w = {RLX_SEGMENT_STATE, i, 0, c->bytes[id]};
    RLX_TRY_AT(rlx_plan_check_value_at(c, &w, id), "state '%s' after the last step", rlx_node_name(c->g, p->states[i]));
  }
  return RLX_OK;
}

static rlx_status check_all(checker *c) {
  const rlx_plan *p = c->p;
  size_t next = 0;
  RLX_TRY(make_tables(c));
  RLX_TRY(check_static(c));
  RLX_TRY(make_maps(c));
  RLX_TRY(begin_storages(c, 0, &next));
  RLX_TRY(check_begin(c));
  for (size_t i = 0; i < p->n_steps; i++) {
    const rlx_step *s = &p->steps[i];
    RLX_TRY_AT(begin_storages(c, i, &next), "step %zu", i);
    RLX_TRY_AT(rlx_plan_check_step(c, s, i), "step %zu (%s%u, %s)", i,
               s->kind == RLX_STEP_COPY ? "copy of node " : "node ", (unsigned)s->node,
               rlx_op_table_get(rlx_graph_at(c->g, s->node)->op)->name);
  }
  return check_end(c);
}

rlx_status rlx_plan_check(const rlx_plan *p, const rlx_plan_options *options) {
  if (!p || !p->graph) return RLX_FAIL(RLX_INVALID, "rlx_plan_check: the plan is NULL");
  checker c = {.p = p, .g = p->graph, .o = options ? *options : (rlx_plan_options){0}};
  c.view_align = c.o.view_align ? c.o.view_align : 1;
  rlx_status s = p->align && (p->align & (p->align - 1)) == 0 && p->align >= c.o.align
                   ? check_all(&c)
                   : RLX_FAIL(RLX_INVALID, "the plan's alignment is %llu", (unsigned long long)p->align);
  rlx_bump_deinit(&c.mem);
  return s ? rlx_fail_frame(s, "the plan is wrong") : RLX_OK;
}
