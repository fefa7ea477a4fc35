/* Weights: the tensors of a model that become params of its graphs, looked up by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "onnx/model.h"
#include "runtime/weights.h"

static int by_leaf(const void *a, const void *b) {
  return strcmp(((const onnx_weight *)a)->leaf, ((const onnx_weight *)b)->leaf);
}

static int by_place(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const onnx_weight_place *)a)->tensor,
            y = (uintptr_t)((const onnx_weight_place *)b)->tensor;
  return (x > y) - (x < y);
}

static rlx_status add(rlx_onnx *m, const onnx_tensor *t, const char *name, bool is_main) {
  size_t bytes, cap = strlen(name) + 40;
  if (t->type != ONNX_STRING && !onnx_raw_bytes(t->type, t->elements, &bytes)) m->weight_bytes += bytes;
  m->n_weights++;
  if (onnx_type_carrier(t->type) == RLX_DTYPE_UNKNOWN) return RLX_OK; /* reported by the node that reads it */
  RLX_TRY_AT(onnx_tensor_bytes(t, &bytes), "tensor '%s'", name);
  if (bytes <= ONNX_CONSTANT_BYTES) return RLX_OK;
  char *leaf = rlx_bump_alloc(&m->bump, cap, 1);
  onnx_weight w = {leaf, t};
  if (!leaf || !rlx_array_push(&m->weights, w)) return RLX_FAIL(RLX_NO_MEMORY, "weight '%s'", name);
  if (is_main) snprintf(leaf, cap, "%s", name);
  else snprintf(leaf, cap, "%s@%u.%llu", name, (unsigned)t->file, (unsigned long long)t->at);
  return RLX_OK;
}

static rlx_status add_graph(rlx_onnx *m, const onnx_graph *g, bool is_main);

static rlx_status add_nodes(rlx_onnx *m, const onnx_node *nodes, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < nodes[i].n_attributes; k++) {
      const onnx_attribute *a = &nodes[i].attributes[k];
      if (a->tensor) RLX_TRY(add(m, a->tensor, nodes[i].n_out ? nodes[i].out[0] : "", false));
      if (a->graph) RLX_TRY(add_graph(m, a->graph, false));
    }
  return RLX_OK;
}

static rlx_status add_graph(rlx_onnx *m, const onnx_graph *g, bool is_main) {
  for (uint32_t i = 0; i < g->n_initializers; i++)
    RLX_TRY(add(m, &g->initializers[i], g->initializers[i].name, is_main));
  return add_nodes(m, g->nodes, g->n_nodes);
}

rlx_status onnx_list_weights(rlx_onnx *m) {
  RLX_TRY(add_graph(m, m->graph, true));
  for (uint32_t i = 0; i < m->n_functions; i++) {
    RLX_TRY(add_nodes(m, m->functions[i].nodes, m->functions[i].n_nodes));
    for (uint32_t k = 0; k < m->functions[i].n_defaults; k++)
      if (m->functions[i].defaults[k].tensor)
        RLX_TRY(add(m, m->functions[i].defaults[k].tensor, m->functions[i].name, false));
  }
  if (m->weights.n) qsort(m->weights.v, m->weights.n, sizeof *m->weights.v, by_leaf);
  for (size_t i = 0; i < m->weights.n; i++) {
    onnx_weight_place p = {m->weights.v[i].tensor, (uint32_t)i};
    if (!rlx_array_push(&m->by_tensor, p)) return RLX_FAIL(RLX_NO_MEMORY, "%zu weights", m->weights.n);
  }
  if (m->by_tensor.n) qsort(m->by_tensor.v, m->by_tensor.n, sizeof *m->by_tensor.v, by_place);
  return RLX_OK;
}

const onnx_weight *onnx_weight_named(const rlx_onnx *m, const char *leaf) {
  onnx_weight key = {leaf, NULL};
  return m->weights.n ? bsearch(&key, m->weights.v, m->weights.n, sizeof *m->weights.v, by_leaf) : NULL;
}

const onnx_weight *onnx_weight_of(const rlx_onnx *m, const onnx_tensor *t) {
  size_t bytes;
  if (onnx_tensor_bytes(t, &bytes) || bytes <= ONNX_CONSTANT_BYTES) return NULL;
  onnx_weight_place key = {t, 0};
  const onnx_weight_place *p =
    m->by_tensor.n ? bsearch(&key, m->by_tensor.v, m->by_tensor.n, sizeof key, by_place) : NULL;
  return p ? &m->weights.v[p->weight] : NULL;
}

/* ---- into a store ---- */

static rlx_status list_missing(const rlx_onnx *m, const rlx_graph *g, const rlx_weights *w, rlx_weight_item *v,
                               size_t *n) {
  *n = 0;
  for (rlx_node id = 1; id <= rlx_graph_size(g); id++) {
    const char *name = rlx_node_name(g, id);
    if (strcmp(rlx_node_op(g, id), "param") != 0 || rlx_weights_has(w, name)) continue;
    const onnx_weight *found = onnx_weight_named(m, name);
    if (!found) return RLX_FAIL(RLX_NOT_FOUND, "the model has no weight '%s'", name);
    const onnx_tensor *t = found->tensor;
    rlx_weight_item *item = &v[(*n)++];
    *item = (rlx_weight_item){
      .name = found->leaf, .type = {onnx_type_carrier(t->type), t->dims}, .at = (size_t)(found - m->weights.v)};
    RLX_TRY(onnx_tensor_bytes(t, &item->bytes));
  }
  return RLX_OK;
}

static rlx_status read_numbered(void *user, size_t at, void *to) {
  const rlx_onnx *m = user;
  const onnx_weight *w = &m->weights.v[at];
  RLX_TRY_AT(onnx_tensor_read(m, w->tensor, to), "weight '%s'", w->leaf);
  return RLX_OK;
}

rlx_status rlx_onnx_load(rlx_onnx *m, const rlx_graph *g, rlx_weights *w, const rlx_watch *watch) {
  if (!m || !g || !w) return RLX_FAIL(RLX_INVALID, "rlx_onnx_load: a NULL");
  rlx_weight_item *v = rlx_mem_calloc((size_t)rlx_graph_size(g) + 1, sizeof *v);
  size_t n;
  rlx_status s = v ? list_missing(m, g, w, v, &n) : RLX_FAIL(RLX_NO_MEMORY, "the order of weights");
  if (!s) s = rlx_weights_set_all(w, v, n, (rlx_weight_reader){.read = read_numbered, .user = m}, watch);
  rlx_mem_free(v);
  return s;
}
