/* The rules of a single step: its form, permitted overlaps, and its effect on the map. */
#include "plan/checker.h"

static bool is_none(const rlx_window *w) { return w->segment == RLX_SEGMENT_NONE; }

static bool is_equal(const rlx_window *a, const rlx_window *b) {
  return a->segment == b->segment && a->block == b->block && a->offset == b->offset && a->bytes == b->bytes;
}

static bool overlap(const rlx_window *a, const rlx_window *b) {
  return a->segment == b->segment && a->block == b->block && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

static rlx_status check_size(const checker *c, const rlx_window *w, rlx_node n, const char *what) {
  RLX_TRY(rlx_plan_check_inside(c, w));
  return w->bytes == c->bytes[n] ? RLX_OK
                                 : RLX_FAIL(RLX_INVALID, "%s is node %u of %llu bytes, its window has %llu", what,
                                            (unsigned)n, (unsigned long long)c->bytes[n], (unsigned long long)w->bytes);
}

/* Checks a window that a kernel binds; windows of copies need no alignment. */
static rlx_status check_bound(const checker *c, const rlx_window *w, rlx_node n, const char *what) {
  RLX_TRY(check_size(c, w, n, what));
  return w->offset % c->view_align == 0 ? RLX_OK
                                        : RLX_FAIL(RLX_INVALID, "%s begins at %llu, which is no multiple of %llu", what,
                                                   (unsigned long long)w->offset, (unsigned long long)c->view_align);
}

/* ---- form ---- */

static rlx_status check_copy_form(const checker *c, const rlx_step *s) {
  if (s->n_in != 1 || s->n_out != 1 || s->host || !is_none(&s->work) || s->nodes[0] != s->node)
    return RLX_FAIL(RLX_INVALID, "a copy has one window in and one out, no workspace, and is not the host's");
  RLX_TRY(check_size(c, &s->in[0], s->node, "what is copied"));
  RLX_TRY(check_size(c, &s->out[0], s->node, "the copy"));
  if (s->out[0].segment != RLX_SEGMENT_SCRATCH || !s->out[0].bytes)
    return RLX_FAIL(RLX_INVALID, "copies %llu bytes to segment %d", (unsigned long long)s->out[0].bytes,
                    (int)s->out[0].segment);
  return overlap(&s->in[0], &s->out[0]) ? RLX_FAIL(RLX_INVALID, "copies onto itself") : RLX_OK;
}

static rlx_status check_results_form(const checker *c, const rlx_step *s) {
  const rlx_node_rec *n = rlx_graph_at(c->g, s->node);
  if (!s->n_out || s->nodes[0] != s->node) return RLX_FAIL(RLX_INVALID, "its results do not begin with its node");
  for (uint32_t i = 0; i < s->n_out; i++) {
    rlx_node id = s->nodes[i];
    if (!id || id >= rlx_graph_end(c->g) || !c->is_needed[id] || !c->bytes[id])
      return RLX_FAIL(RLX_INVALID, "computes node %u, which nothing needs", (unsigned)id);
    if (i && !rlx_node_is_sibling(n, rlx_graph_at(c->g, id)))
      return RLX_FAIL(RLX_INVALID, "nodes %u and %u are not results of one execution", (unsigned)s->node, (unsigned)id);
    RLX_TRY(check_bound(c, &s->out[i], id, "the result"));
    /* The old value of a state that is an output ends up in a copy, which is checked after the last step. */
    bool is_kept = c->replaced[id] && c->p->at[id].segment == RLX_SEGMENT_SCRATCH;
    if (!is_kept && !is_equal(&s->out[i], &c->p->at[id]))
      return RLX_FAIL(RLX_INVALID, "node %u is not written at its location", (unsigned)id);
  }
  return RLX_OK;
}

static rlx_status check_node_form(const checker *c, const rlx_step *s) {
  const rlx_node_rec *n = rlx_graph_at(c->g, s->node);
  if (rlx_op_table_has(n->op, RLX_TRAIT_LEAF)) return RLX_FAIL(RLX_INVALID, "computes a leaf");
  if (s->n_in != n->n_in)
    return RLX_FAIL(RLX_INVALID, "has %u inputs, the node %u", (unsigned)s->n_in, (unsigned)n->n_in);
  RLX_TRY(check_results_form(c, s));
  for (uint32_t i = 0; i < s->n_in; i++) {
    if (is_none(&s->in[i]) != !n->in[i]) return RLX_FAIL(RLX_INVALID, "input %u is absent, or should be", (unsigned)i);
    if (n->in[i]) RLX_TRY(check_bound(c, &s->in[i], n->in[i], "an input"));
  }
  if (is_none(&s->work)) return RLX_OK;
  RLX_TRY(rlx_plan_check_inside(c, &s->work));
  return s->work.segment == RLX_SEGMENT_SCRATCH && s->work.bytes && s->work.offset % c->p->align == 0
           ? RLX_OK
           : RLX_FAIL(RLX_INVALID, "its workspace is %llu bytes at %llu of segment %d",
                      (unsigned long long)s->work.bytes, (unsigned long long)s->work.offset, (int)s->work.segment);
}

rlx_status rlx_plan_check_step_form(const checker *c, const rlx_step *s) {
  if (!s->node || s->node >= rlx_graph_end(c->g) || !c->is_needed[s->node])
    return RLX_FAIL(RLX_INVALID, "it is about node %u, which nothing needs", (unsigned)s->node);
  if (s->kind == RLX_STEP_COPY) return check_copy_form(c, s);
  return s->kind == RLX_STEP_NODE ? check_node_form(c, s) : RLX_FAIL(RLX_INVALID, "is of kind %d", (int)s->kind);
}

/* ---- the device's needs ---- */

static rlx_node_needs query_needs(const checker *c, rlx_node id) {
  const rlx_op_table_row *row = rlx_op_table_get(rlx_graph_at(c->g, id)->op);
  rlx_node_needs needs = {.native = !c->o.needs};
  if (c->o.needs) c->o.needs(c->o.needs_user, c->g, id, &needs);
  else needs.in_place = row->traits & RLX_TRAIT_POINTWISE ? ~0u : row->traits & RLX_TRAIT_IN_PLACE ? 1u : 0u;
  if (!needs.native || row->traits & RLX_TRAIT_CONTROL) needs.in_place = 0;
  if (!needs.native) needs.work_bytes = 0;
  return needs;
}

/* A result may overlap an input: the same window, elements of equal size, and permitted by the device. */
static bool may_overlap(const checker *c, const rlx_step *s, uint32_t i, const rlx_node_needs *needs) {
  const rlx_node_rec *n = rlx_graph_at(c->g, s->node);
  if (!is_equal(&s->in[i], &s->out[0])) return false;
  if (rlx_op_is_update(n->op)) return i == 0;
  return i < 32 && (needs->in_place >> i & 1) != 0 &&
         !(c->o.switches & (RLX_SWITCH_NO_IN_PLACE | RLX_SWITCH_KEEP_VALUES)) &&
         rlx_dtype_size(rlx_graph_at(c->g, n->in[i])->type.dtype) == rlx_dtype_size(n->type.dtype);
}

static rlx_status check_overlaps(const checker *c, const rlx_step *s, const rlx_node_needs *needs) {
  for (uint32_t k = 0; k < s->n_out; k++) {
    for (uint32_t i = 0; i < s->n_in; i++)
      if (!is_none(&s->in[i]) && overlap(&s->in[i], &s->out[k]) && (k || !may_overlap(c, s, i, needs)))
        return RLX_FAIL(RLX_INVALID, "result %u overwrites input %u, which is not permitted", (unsigned)k, (unsigned)i);
    for (uint32_t i = 0; i < k; i++)
      if (overlap(&s->out[i], &s->out[k])) return RLX_FAIL(RLX_INVALID, "two results overlap");
    if (overlap(&s->out[k], &s->work)) return RLX_FAIL(RLX_INVALID, "the workspace overlaps a result");
  }
  for (uint32_t i = 0; i < s->n_in; i++)
    if (!is_none(&s->in[i]) && overlap(&s->in[i], &s->work))
      return RLX_FAIL(RLX_INVALID, "the workspace overlaps input %u", (unsigned)i);
  return RLX_OK;
}

static rlx_status check_needs(const checker *c, const rlx_step *s) {
  rlx_node_needs needs = query_needs(c, s->node);
  if (s->host == needs.native)
    return RLX_FAIL(RLX_INVALID, "it is a step of the %s, but the device %s it", s->host ? "host" : "device",
                    needs.native ? "runs" : "does not run");
  if (s->work.bytes != needs.work_bytes)
    return RLX_FAIL(RLX_INVALID, "it has a workspace of %llu bytes and needs %llu", (unsigned long long)s->work.bytes,
                    (unsigned long long)needs.work_bytes);
  uint64_t max = s->work.bytes, limit = c->o.max_window_bytes;
  for (uint32_t i = 0; i < s->n_in; i++) max = s->in[i].bytes > max ? s->in[i].bytes : max;
  for (uint32_t i = 0; i < s->n_out; i++) max = s->out[i].bytes > max ? s->out[i].bytes : max;
  if (limit && !s->host && max > limit)
    return RLX_FAIL(RLX_INVALID, "it binds %llu bytes, the limit is %llu", (unsigned long long)max,
                    (unsigned long long)limit);
  return check_overlaps(c, s, &needs);
}

/* ---- simulation ---- */

static rlx_status play_copy(checker *c, const rlx_step *s, size_t at) {
  check_range other;
  RLX_TRY(rlx_plan_check_value_at(c, &s->in[0], s->node));
  RLX_TRY(rlx_plan_check_in_storage(c, &s->in[0], at));
  RLX_TRY(rlx_plan_check_in_storage(c, &s->out[0], at));
  if (rlx_plan_check_holds(c, &s->out[0], s->node, &other))
    return RLX_FAIL(RLX_INVALID, "copies what is there already");
  rlx_plan_check_write(c, &s->out[0], s->node);
  return RLX_OK;
}

/* A state is written only by its updates, whole and in place. */
static rlx_status check_state_rule(const checker *c, const rlx_step *s) {
  const rlx_node_rec *n = rlx_graph_at(c->g, s->node);
  for (uint32_t i = 0; i < s->n_out; i++) {
    const rlx_window *w = &s->out[i];
    if (w->segment == RLX_SEGMENT_WEIGHTS) return RLX_FAIL(RLX_INVALID, "writes weights");
    if ((w->segment == RLX_SEGMENT_STATE) != rlx_op_is_update(n->op))
      return RLX_FAIL(RLX_INVALID, "an update writes a state, and nothing else does");
    if (rlx_op_is_update(n->op) && !is_equal(w, &s->in[0]))
      return RLX_FAIL(RLX_INVALID, "an update is written elsewhere than the value it replaces");
  }
  return RLX_OK;
}

/* A read must be at the value's location; the old value of a state may be in a copy. */
static rlx_status check_read(checker *c, const rlx_step *s, uint32_t i, size_t at) {
  rlx_node id = rlx_graph_at(c->g, s->node)->in[i];
  rlx_op from = rlx_graph_at(c->g, c->view_root[id])->op;
  RLX_TRY(rlx_plan_check_value_at(c, &s->in[i], id));
  RLX_TRY(rlx_plan_check_in_storage(c, &s->in[i], at));
  return is_equal(&s->in[i], &c->p->at[id]) || from == RLX_OP_state || rlx_op_is_update(from)
           ? RLX_OK
           : RLX_FAIL(RLX_INVALID, "node %u is not read at its location", (unsigned)id);
}

rlx_status rlx_plan_check_step(checker *c, const rlx_step *s, size_t at) {
  if (s->kind == RLX_STEP_COPY) return play_copy(c, s, at);
  RLX_TRY(check_needs(c, s));
  RLX_TRY(check_state_rule(c, s));
  for (uint32_t i = 0; i < s->n_in; i++)
    if (!is_none(&s->in[i])) RLX_TRY_AT(check_read(c, s, i, at), "input %u", (unsigned)i);
  RLX_TRY(rlx_plan_check_in_storage(c, &s->work, at));
  if (s->work.segment == RLX_SEGMENT_SCRATCH) rlx_plan_check_write(c, &s->work, RLX_NONE);
  for (uint32_t i = 0; i < s->n_out; i++) {
    if (c->is_made[s->nodes[i]]) return RLX_FAIL(RLX_INVALID, "node %u is computed twice", (unsigned)s->nodes[i]);
    c->is_made[s->nodes[i]] = true;
    RLX_TRY(rlx_plan_check_in_storage(c, &s->out[i], at));
    rlx_plan_check_write(c, &s->out[i], s->nodes[i]);
  }
  return RLX_OK;
}
