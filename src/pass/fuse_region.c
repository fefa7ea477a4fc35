/* Fuses groups of element-wise nodes into regions: one node with a small graph inside.
 *
 * A region has one result, that of its root. It grows from the root backwards: a node joins if all its readers are in
 * the region. So no path leaves the region and re-enters it, and nothing is computed twice. Nodes are visited from the
 * end of the graph to its start; when a node is visited all its readers have their regions, so one traversal groups
 * everything.
 *
 * All nodes of a region have the root's shape: a smaller node would be computed again for each element it is broadcast
 * to. A region reads at most 8 inputs and holds at most 64 nodes (constants of one element go inside and do not count),
 * which is what device kernels can bind and hold in registers. If a target rejects a region, its nodes are grouped
 * again in smaller regions. Excluded: nodes that depend on the index along an axis (quantize per channel), complex and
 * block types, and nodes that are already fused. */
#include <stdio.h>

#include "pass/fuse.h"

/* The limits to try: from the largest that devices support to the smallest that still saves a launch. */
typedef struct limits {
  uint32_t nodes, inputs;
} limits;
static const limits tries[] = {{64, RLX_FUSE_MAX_IN}, {16, 7}, {12, 6}, {6, 4}, {3, 3}};
#define MIXED UINT32_MAX /* read from outside regions, or from several regions */

typedef struct region {
  rlx_node root, first; /* first: the member with the smallest id; `next` links the others */
  uint32_t n_nodes, n_inputs;
  rlx_node inputs[RLX_FUSE_MAX_IN];
} region;

typedef struct grouping {
  rlx_fuse *f;
  limits limits;
  bool was_refused;          /* whether the target refused a region */
  RLX_ARRAY(region) regions; /* [0] is none */
  uint32_t *reader;          /* by node: the only region that reads it, 0 if none so far, or MIXED */
  rlx_node *next;            /* by node: the next member, ascending */
  struct inside {            /* by node: its node in the body being built */
    uint32_t region;
    rlx_node node;
  } * inside;
} grouping;

static void grouping_deinit(grouping *g) {
  rlx_array_deinit(&g->regions);
  rlx_mem_free(g->reader);
  rlx_mem_free(g->next);
  rlx_mem_free(g->inside);
}

static rlx_status grouping_init(rlx_fuse *f, limits max, grouping *g) {
  uint32_t end = rlx_graph_end(f->w.in);
  *g = (grouping){.f = f, .limits = max};
  g->reader = rlx_mem_calloc(end, sizeof *g->reader);
  g->next = rlx_mem_calloc(end, sizeof *g->next);
  g->inside = rlx_mem_calloc(end, sizeof *g->inside);
  bool ok = g->reader && g->next && g->inside && rlx_array_push(&g->regions, ((region){0}));
  if (!ok) return RLX_FAIL(RLX_NO_MEMORY, "grouping %u nodes", (unsigned)end);
  for (size_t i = 0; i < f->w.in->outputs.n; i++) g->reader[f->w.in->outputs.v[i].node] = MIXED;
  return RLX_OK;
}

/* ---- growing ---- */

static bool is_plain(rlx_dtype t) { return !rlx_dtype_is_block(t) && t != RLX_C64 && !rlx_type_in(RLX_TYPES_MOVED, t); }

static bool may_join(const rlx_fuse *f, const rlx_node_rec *n) {
  bool element_wise = rlx_op_table_has(n->op, RLX_TRAIT_POINTWISE) && !rlx_op_table_has(n->op, RLX_TRAIT_FUSED) &&
                      n->op != RLX_OP_quantize && n->op != RLX_OP_dequantize;
  bool plain = element_wise && is_plain(n->type.dtype);
  for (uint32_t i = 0; plain && i < n->n_in; i++) plain = n->in[i] && is_plain(rlx_fuse_at(f, n->in[i])->type.dtype);
  return plain;
}

/* Constants of one element become part of the body. */
static bool goes_inside(const rlx_fuse *f, rlx_node id) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  return n->op == RLX_OP_constant && rlx_dims_count(&n->type.shape) == 1;
}

static bool add_input(region *r, rlx_node id, uint32_t max) {
  for (uint32_t i = 0; i < r->n_inputs; i++)
    if (r->inputs[i] == id) return true;
  if (r->n_inputs == max) return false;
  r->inputs[r->n_inputs++] = id;
  return true;
}

/* Adds a node to the region if the limits allow it. */
static bool grow(const rlx_fuse *f, limits max, region *r, rlx_node id) {
  region larger = *r;
  if (larger.n_nodes == max.nodes) return false;
  for (uint32_t i = 0; i < larger.n_inputs; i++)
    if (larger.inputs[i] == id) larger.inputs[i] = larger.inputs[--larger.n_inputs];
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  for (uint32_t i = 0; i < n->n_in; i++)
    if (!goes_inside(f, n->in[i]) && !add_input(&larger, n->in[i], max.inputs)) return false;
  larger.n_nodes++;
  larger.first = id;
  *r = larger;
  return true;
}

static void note_reader(grouping *g, rlx_node read, uint32_t by) {
  if (g->reader[read] == 0) g->reader[read] = by;
  else if (g->reader[read] != by) g->reader[read] = MIXED;
}

static void note_inputs(grouping *g, rlx_node id, uint32_t by) {
  const rlx_planned *p = g->f->planned[id];
  const rlx_node_rec *n = rlx_fuse_at(g->f, id);
  for (uint32_t i = 0; i < (p ? p->n_in : n->n_in); i++) note_reader(g, p ? p->in[i].node : n->in[i], by);
}

static rlx_status visit(grouping *g, rlx_node id) {
  rlx_fuse *f = g->f;
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  if (f->taken[id] || !f->w.uses[id]) return RLX_OK;
  if (f->planned[id] || f->weight_only[id] || !may_join(f, n)) {
    note_inputs(g, id, MIXED);
    return RLX_OK;
  }
  uint32_t r = g->reader[id];
  bool joins = r != 0 && r != MIXED && rlx_dims_equal(rlx_fuse_shape(f, g->regions.v[r].root), &n->type.shape);
  if (joins) g->next[id] = g->regions.v[r].first;
  if (!joins || !grow(f, g->limits, &g->regions.v[r], id)) {
    r = (uint32_t)g->regions.n;
    g->next[id] = RLX_NONE;
    if (!rlx_array_push(&g->regions, ((region){.root = id}))) return RLX_FAIL(RLX_NO_MEMORY, "a region");
    (void)grow(f, g->limits, &g->regions.v[r], id); /* element-wise ops have few inputs */
  }
  note_inputs(g, id, r);
  return RLX_OK;
}

/* ---- the body ---- */

/* The body's node for an input of a member. */
static rlx_node body_input(grouping *g, uint32_t r, rlx_node id, rlx_graph *body, rlx_match *m) {
  if (g->inside[id].region == r) return g->inside[id].node;
  const rlx_node_rec *n = rlx_fuse_at(g->f, id);
  rlx_node node;
  if (goes_inside(g->f, id)) {
    node = rlx_graph_add(body, RLX_OP_constant, NULL, 0, n->attrs);
  } else {
    char name[16];
    snprintf(name, sizeof name, "x%u", (unsigned)m->n_in);
    node = rlx_graph_add(body, RLX_OP_input, NULL, 0,
                         &(rlx_attrs_input){.name = name, .dtype = n->type.dtype, .shape = n->type.shape});
    rlx_match_add(m, id);
  }
  g->inside[id] = (struct inside){r, node};
  return node;
}

static rlx_status build_body(grouping *g, uint32_t r, rlx_graph *body, rlx_match *m) {
  rlx_node last = RLX_NONE;
  for (rlx_node id = g->regions.v[r].first; id; id = g->next[id]) {
    const rlx_node_rec *n = rlx_fuse_at(g->f, id);
    rlx_node in[4] = {0};
    for (uint32_t i = 0; i < n->n_in; i++) in[i] = body_input(g, r, n->in[i], body, m);
    last = rlx_graph_add(body, n->op, in, n->n_in, n->attrs);
    g->inside[id] = (struct inside){r, last};
  }
  if (last) rlx_graph_add_output(body, "y", last); /* the root has the largest id */
  return rlx_graph_finish(body);
}

static rlx_status fuse_region(grouping *g, uint32_t r, rlx_match *m) {
  const region *x = &g->regions.v[r];
  if (x->n_nodes < 2) return RLX_OK;
  m->op = RLX_OP_region;
  m->n_in = m->n_inner = 0;
  rlx_graph *body;
  RLX_TRY(rlx_graph_begin(&body));
  rlx_status s = build_body(g, r, body, m);
  m->attrs.region_ = (rlx_attrs_region){.body = body};
  bool accepted = false;
  if (!s) s = rlx_fuse_plan(g->f, x->root, m, &accepted);
  g->was_refused = g->was_refused || !accepted;
  for (rlx_node id = x->first; accepted && id; id = g->next[id]) g->f->taken[id] = id != x->root;
  rlx_graph_destroy(body);
  return s;
}

static rlx_status group(rlx_fuse *f, limits max, bool *was_refused) {
  grouping g;
  rlx_match m = {.n_in = 0};
  rlx_status s = grouping_init(f, max, &g);
  for (rlx_node id = rlx_graph_end(f->w.in) - 1; id > 0 && !s; id--) s = visit(&g, id);
  for (uint32_t r = 1; r < g.regions.n && !s; r++) s = fuse_region(&g, r, &m);
  *was_refused = g.was_refused;
  grouping_deinit(&g);
  return s;
}

rlx_status rlx_fuse_regions(rlx_fuse *f) {
  bool was_refused = true;
  for (size_t i = 0; i < sizeof tries / sizeof *tries && was_refused; i++) RLX_TRY(group(f, tries[i], &was_refused));
  return RLX_OK;
}
