/* Recipes: splits the load graph that hoisting made, by output.
 *
 * Each weight that is computed at load gets its own graph, with only the nodes that it needs. This has three uses.
 * Executables whose hoisted weights overlap share the equal ones, even if their load graphs differ. Setting a source
 * again recomputes only what depends on it. The sources of a weight can be dropped as soon as it is computed. The cost
 * is that nodes common to two outputs are computed twice, at load. */
#include "runtime/compiled.h"

typedef struct cone {
  const rlx_graph *from;
  bool *needed; /* by node */
  rlx_node first, last;
} cone;

/* Marks what the output depends on. Inputs precede their readers, so one backward walk finds all; it ends at the lowest
 * marked node. */
static void mark(cone *c) {
  c->needed[c->last] = true;
  c->first = c->last;
  for (rlx_node id = c->last; id >= c->first; id--) {
    const rlx_node_rec *n = rlx_graph_at(c->from, id);
    for (uint32_t i = 0; c->needed[id] && i < n->n_in; i++) {
      if (!n->in[i]) continue;
      c->needed[n->in[i]] = true;
      if (n->in[i] < c->first) c->first = n->in[i];
    }
  }
}

static rlx_status copy(const cone *c, rlx_node *map, rlx_graph *to) {
  for (rlx_node id = c->first; id <= c->last; id++) {
    if (!c->needed[id]) continue;
    map[id] = rlx_graph_copy_node(to, c->from, id, map);
    RLX_TRY(rlx_graph_status(to));
  }
  rlx_graph_add_output(to, "value", map[c->last]);
  return rlx_graph_finish(to);
}

rlx_status rlx_recipe_make(const rlx_graph *load, uint32_t output, rlx_graph **out) {
  uint32_t end = rlx_graph_end(load);
  cone c = {.from = load, .needed = rlx_mem_calloc(end, sizeof *c.needed), .last = load->outputs.v[output].node};
  rlx_node *map = rlx_mem_calloc(end, sizeof *map);
  *out = NULL;
  rlx_graph *g = NULL;
  rlx_status s = c.needed && map ? rlx_graph_begin(&g) : RLX_FAIL(RLX_NO_MEMORY, "a recipe");
  if (!s) {
    mark(&c);
    s = copy(&c, map, g);
  }
  rlx_mem_free(c.needed);
  rlx_mem_free(map);
  if (s) rlx_graph_destroy(g);
  else *out = g;
  return s;
}
