/* Common subexpression elimination: nodes with the same op, inputs and attributes are merged.
 *
 * Nodes are visited in order, so the inputs of a node are already merged when it is looked up, and one pass merges
 * chains of any length. The hash table uses open addressing over new ids, expected O(1) per node. Constants are
 * compared by their bytes. Random nodes merge as well: equal seed and draw number give equal values. Nodes with a name
 * or an effect (inputs, params, states, updates) never merge. */
#include <string.h>

#include "pass/pass.h"

typedef struct table {
  struct entry {
    uint64_t hash;
    rlx_node node; /* in the new graph; 0: empty slot */
  } * v;
  size_t mask;
} table;

static rlx_status table_init(const rlx_graph *g, table *t) {
  size_t cap = 16;
  while (cap < (size_t)rlx_graph_end(g) * 2) cap *= 2;
  *t = (table){.v = rlx_mem_calloc(cap, sizeof *t->v), .mask = cap - 1};
  return t->v ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a table of %zu nodes", cap);
}

/* The inputs of a commutative op are compared in either order. */
static bool is_swapped(const rlx_op_table_row *row, const rlx_node *in) {
  return (row->traits & RLX_TRAIT_COMMUTES) && in[0] > in[1];
}

static uint64_t hash_node(const rlx_node_rec *n, const rlx_op_table_row *row, const rlx_node *in) {
  uint64_t h = rlx_attrs_hash(row, n->attrs) + (uint64_t)n->op;
  if (!is_swapped(row, in)) return rlx_hash_bytes(h, in, n->n_in * sizeof *in);
  rlx_node two[2] = {in[1], in[0]};
  return rlx_hash_bytes(h, two, sizeof two); /* commutative ops have two inputs */
}

static bool same_inputs(const rlx_op_table_row *row, const rlx_node *a, const rlx_node *b, uint32_t n) {
  if (n == 0 || memcmp(a, b, n * sizeof *a) == 0) return true;
  return (row->traits & RLX_TRAIT_COMMUTES) && n == 2 && a[0] == b[1] && a[1] == b[0];
}

static bool is_named_or_effect(rlx_op op) {
  return rlx_op_table_has(op, RLX_TRAIT_EFFECT) || (rlx_op_table_has(op, RLX_TRAIT_LEAF) && op != RLX_OP_constant);
}

static rlx_status step(rlx_walk *w, table *t, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(w->in, id);
  if (is_named_or_effect(n->op)) return rlx_walk_copy(w, id);
  const rlx_op_table_row *row = rlx_op_table_get(n->op);
  const rlx_node *in = rlx_walk_inputs(w, id);
  uint64_t hash = hash_node(n, row, in);
  size_t at = (size_t)hash & t->mask;
  for (; t->v[at].node; at = (at + 1) & t->mask) {
    const rlx_node_rec *seen = rlx_graph_at(w->out, t->v[at].node);
    if (t->v[at].hash == hash && seen->op == n->op && seen->n_in == n->n_in &&
        same_inputs(row, seen->in, in, n->n_in) && rlx_attrs_equal(row, seen->attrs, n->attrs)) {
      w->map[id] = t->v[at].node;
      return RLX_OK;
    }
  }
  RLX_TRY(rlx_walk_copy(w, id));
  t->v[at] = (struct entry){hash, w->map[id]};
  return RLX_OK;
}

rlx_status rlx_pass_dedupe(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  table t;
  rlx_walk w;
  RLX_TRY(table_init(in, &t));
  rlx_status s = rlx_walk_init(in, out, &w);
  for (rlx_node id = 1; id < rlx_graph_end(in) && !s; id++) s = step(&w, &t, id);
  if (!s) s = rlx_walk_end(&w, ctx);
  rlx_walk_deinit(&w);
  rlx_mem_free(t.v);
  return s;
}
