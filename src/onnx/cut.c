/* Ends a graph: with the model's outputs, or at a cut with all values that are used later.
 *
 * Liveness is determined by name: values named by the remaining nodes of every graph and function that is being
 * imported, by their sub-graphs, and by outputs. Other values are not passed on. */
#include <string.h>

#include "onnx/importer.h"

static const char no_name[] = "value"; /* for passed-on values without a name */

rlx_status onnx_live_add(onnx_importer *imp, onnx_value *v, const char *name) {
  size_t cap = strlen(name) + 16;
  uint32_t number = (uint32_t)imp->live.n;
  char *leaf = onnx_alloc(imp, cap, 1);
  if (!leaf) return RLX_FAIL(RLX_NO_MEMORY, "value '%s'", name);
  bool is_own = imp->scope && !imp->scope->caller && name != no_name; /* in the main graph names are unique */
  snprintf(leaf, cap, is_own ? "%s" : "%s#%u", name, (unsigned)number);
  v->leaf = leaf;
  v->live = number + 1;
  onnx_live l = {leaf, number};
  return rlx_array_push(&imp->live, l) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "value '%s'", name);
}

/* ---- what is used later ---- */

typedef struct later {
  onnx_importer *imp;
  RLX_ARRAY(onnx_value *) v; /* live values computed by this graph */
  RLX_ARRAY(const char *) names;
} later;

static rlx_status use(later *l, onnx_value *v, const char *name) {
  if (!v || v->mark == l->imp->walk) return RLX_OK;
  v->mark = l->imp->walk;
  onnx_take_known(l->imp, v);
  if (!v->node || v->known || v->weight || v->live || v->refused) return RLX_OK;
  return rlx_array_push(&l->v, v) && rlx_array_push(&l->names, name) ? RLX_OK
                                                                     : RLX_FAIL(RLX_NO_MEMORY, "values of a cut");
}

static rlx_status use_nodes(later *l, const onnx_scope *s, const onnx_node *nodes, uint32_t from, uint32_t n);

static rlx_status use_graph(later *l, const onnx_scope *s, const onnx_graph *g) {
  for (uint32_t i = 0; i < g->n_outputs; i++)
    RLX_TRY(use(l, onnx_lookup(l->imp, s, g->outputs[i].name), g->outputs[i].name));
  return use_nodes(l, s, g->nodes, 0, g->n_nodes);
}

static rlx_status use_nodes(later *l, const onnx_scope *s, const onnx_node *nodes, uint32_t from, uint32_t n) {
  for (uint32_t i = from; i < n; i++) {
    for (uint32_t k = 0; k < nodes[i].n_in; k++)
      RLX_TRY(use(l, onnx_lookup(l->imp, s, nodes[i].in[k]), nodes[i].in[k]));
    for (uint32_t k = 0; k < nodes[i].n_attributes; k++)
      if (nodes[i].attributes[k].graph) RLX_TRY(use_graph(l, s, nodes[i].attributes[k].graph));
  }
  return RLX_OK;
}

static rlx_status use_scope(later *l, const onnx_scope *s) {
  for (uint32_t i = 0; i < s->n_outputs; i++) RLX_TRY(use(l, onnx_lookup(l->imp, s, s->outputs[i]), s->outputs[i]));
  for (size_t i = 0; i < s->n_held; i++) RLX_TRY(use(l, s->held[i], no_name));
  return use_nodes(l, s, s->nodes, s->at, s->n_nodes);
}

/* ---- the two ends ---- */

/* Lists the live values that the graph reads, in order. A value that became known during the import may be an input
 * for one reader and a constant for another. */
static rlx_status list_inputs(onnx_importer *imp, onnx_live **out, size_t *n) {
  size_t max = 0;
  for (rlx_node id = 1; id < rlx_graph_end(imp->g); id++) max += rlx_graph_at(imp->g, id)->op == RLX_OP_input;
  *n = 0;
  *out = rlx_bump_array(&imp->bump, onnx_live, max + 1);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "%zu inputs of a graph", max);
  for (size_t i = 0; i < imp->live.n && *n < max; i++) {
    rlx_node id = rlx_graph_leaf(imp->g, imp->live.v[i].leaf);
    if (id && rlx_graph_at(imp->g, id)->op == RLX_OP_input) (*out)[(*n)++] = imp->live.v[i];
  }
  return RLX_OK;
}

static rlx_status end_graph(onnx_importer *imp, const later *l, const char *why) {
  onnx_live *in, *out = rlx_bump_array(&imp->bump, onnx_live, l->v.n + 1);
  size_t n_in;
  if (!out) return RLX_FAIL(RLX_NO_MEMORY, "%zu outputs of a graph", l->v.n);
  RLX_TRY(list_inputs(imp, &in, &n_in));
  for (size_t i = 0; i < l->v.n; i++) {
    onnx_value *v = l->v.v[i];
    RLX_TRY(onnx_live_add(imp, v, l->names.v[i]));
    rlx_graph_add_output(imp->g, v->leaf, v->node);
    out[i] = (onnx_live){v->leaf, v->live - 1};
  }
  RLX_TRY(rlx_graph_finish(imp->g));
  return onnx_stop(imp, imp->client->graph(imp->client->user, imp->g, in, n_in, out, l->v.n, why));
}

static rlx_status begin_graph(onnx_importer *imp) {
  for (size_t i = 0; i < imp->values.n; i++) imp->values.v[i]->node = 0;
  rlx_graph_destroy(imp->g);
  imp->g = NULL;
  imp->known.n = 0;
  imp->folded = 1;
  return rlx_graph_begin(&imp->g);
}

rlx_status onnx_cut(onnx_importer *imp, onnx_value *also, const char *why) {
  later l = {.imp = imp};
  if (imp->is_symbolic) return onnx_need_numbers(imp, why);
  if (++imp->walk > ONNX_MAX_CUTS)
    return onnx_stop(imp, RLX_FAIL(RLX_UNSUPPORTED, "the graph is cut more than %d times: %s", ONNX_MAX_CUTS, why));
  rlx_status s = also ? use(&l, also, no_name) : RLX_OK;
  for (const onnx_scope *scope = imp->scope; scope && !s; scope = scope->caller) s = use_scope(&l, scope);
  if (!s && l.v.n) s = end_graph(imp, &l, why);
  if (!s) s = begin_graph(imp);
  rlx_array_deinit(&l.v);
  rlx_array_deinit(&l.names);
  return s;
}

rlx_status onnx_finish(onnx_importer *imp) {
  const onnx_graph *g = imp->m->graph;
  onnx_live *in, *out = rlx_bump_array(&imp->bump, onnx_live, (size_t)g->n_outputs + 1);
  size_t n_in;
  if (!out) return RLX_FAIL(RLX_NO_MEMORY, "%u outputs", (unsigned)g->n_outputs);
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    onnx_value *v = onnx_lookup(imp, imp->scope, g->outputs[i].name);
    if (!v) return RLX_FAIL(RLX_INVALID, "output '%s' is not computed", g->outputs[i].name);
    if (v->refused)
      return RLX_FAIL(RLX_UNSUPPORTED, "output '%s' is a tensor of %s", g->outputs[i].name, onnx_type_name(v->type));
    rlx_graph_add_output(imp->g, g->outputs[i].name, onnx_value_node(imp, v));
    out[i] = (onnx_live){g->outputs[i].name, i};
  }
  RLX_TRY(rlx_graph_finish(imp->g));
  RLX_TRY(list_inputs(imp, &in, &n_in));
  return imp->client->graph(imp->client->user, imp->g, in, n_in, out, g->n_outputs, NULL);
}
