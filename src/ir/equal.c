/* Equality and hash of whole graphs: the text form's notion of identical, and the key of caches. */
#include <string.h>

#include "ir/graph.h"

static bool node_equal(const rlx_node_rec *a, const rlx_node_rec *b) {
  return a->op == b->op && a->n_in == b->n_in && rlx_type_equal(&a->type, &b->type) &&
         (a->n_in == 0 || memcmp(a->in, b->in, a->n_in * sizeof *a->in) == 0) &&
         rlx_attrs_equal(rlx_op_table_get(a->op), a->attrs, b->attrs);
}

bool rlx_node_is_sibling(const rlx_node_rec *a, const rlx_node_rec *b) {
  const rlx_op_table_row *row = rlx_op_table_get(a->op);
  if (a->op != b->op || !(row->traits & RLX_TRAIT_CONTROL) || a->n_in != b->n_in ||
      memcmp(a->in, b->in, a->n_in * sizeof *a->in) != 0)
    return false;
  rlx_any_attrs like_a;
  memcpy(&like_a, b->attrs, row->attrs_bytes);
  int64_t *index = rlx_attr_named(row, &like_a, "index");
  *index = *(const int64_t *)rlx_attr_named(row, a->attrs, "index");
  return rlx_attrs_equal(row, a->attrs, &like_a);
}

bool rlx_graph_same(const rlx_graph *a, const rlx_graph *b) {
  if (a == b) return true;
  if (!a || !b || a->nodes.n != b->nodes.n || a->outputs.n != b->outputs.n || a->symbols.n != b->symbols.n)
    return false;
  for (rlx_node id = 1; id < rlx_graph_end(a); id++)
    if (!node_equal(rlx_graph_at(a, id), rlx_graph_at(b, id))) return false;
  for (size_t i = 0; i < a->outputs.n; i++)
    if (a->outputs.v[i].node != b->outputs.v[i].node || strcmp(a->outputs.v[i].name, b->outputs.v[i].name) != 0)
      return false;
  for (size_t i = 0; i < a->symbols.n; i++)
    if (strcmp(a->symbols.v[i], b->symbols.v[i]) != 0) return false;
  return true;
}

static uint64_t hash_nodes(const rlx_graph *g) {
  uint64_t h = 1;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    uint64_t words[3] = {(uint64_t)n->op, (uint64_t)n->type.dtype, rlx_attrs_hash(rlx_op_table_get(n->op), n->attrs)};
    h = rlx_hash_bytes(h, words, sizeof words);
    h = rlx_hash_bytes(h, n->in, n->n_in * sizeof *n->in);
    h = rlx_hash_bytes(h, n->type.shape.v, (size_t)n->type.shape.n * sizeof n->type.shape.v[0]);
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    h = rlx_hash_bytes(h, g->outputs.v[i].name, strlen(g->outputs.v[i].name));
    h = rlx_hash_bytes(h, &g->outputs.v[i].node, sizeof g->outputs.v[i].node);
  }
  return h ? h : 1;
}

/* Cached once computed, because many nodes on many levels may share a sub-graph. */
uint64_t rlx_graph_hash(const rlx_graph *g) {
  if (!g) return 0;
  if (!g->finished) return hash_nodes(g);
  rlx_graph *shared =
    (rlx_graph *)(uintptr_t)g; /* like the reference count, the cached hash is not part of the graph's value */
  uint64_t h = atomic_load_explicit(&shared->hash, memory_order_relaxed);
  if (!h) atomic_store_explicit(&shared->hash, h = hash_nodes(g), memory_order_relaxed);
  return h;
}
