/* Validates a model before it is used, independent of its ops: known opsets, names defined once and before use,
 * outputs that are computed, functions that are not recursive. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "onnx/model.h"

int64_t onnx_opset_version(const onnx_opset *v, uint32_t n, const char *domain) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(v[i].domain, domain) == 0) return v[i].version;
  return 0;
}

/* ---- functions by name ---- */

static int compare_function(const onnx_function *f, const char *name, const char *domain, const char *overload) {
  int order = strcmp(f->name, name);
  if (!order) order = strcmp(f->domain, domain);
  return order ? order : strcmp(f->overload, overload);
}

static int by_name(const void *a, const void *b) {
  const onnx_function *x = *(const onnx_function *const *)a, *y = *(const onnx_function *const *)b;
  return compare_function(x, y->name, y->domain, y->overload);
}

rlx_status onnx_sort_functions(rlx_onnx *m) {
  if (!m->n_functions) return RLX_OK;
  m->by_name = rlx_bump_array(&m->bump, const onnx_function *, m->n_functions);
  if (!m->by_name) return RLX_FAIL(RLX_NO_MEMORY, "%u functions", (unsigned)m->n_functions);
  for (uint32_t i = 0; i < m->n_functions; i++) m->by_name[i] = &m->functions[i];
  qsort(m->by_name, m->n_functions, sizeof *m->by_name, by_name);
  for (uint32_t i = 1; i < m->n_functions; i++)
    if (by_name(&m->by_name[i - 1], &m->by_name[i]) == 0)
      return RLX_FAIL(RLX_INVALID, "function '%s' of '%s' is defined twice", m->by_name[i]->name,
                      m->by_name[i]->domain);
  return RLX_OK;
}

const onnx_function *onnx_find_function(const rlx_onnx *m, const onnx_node *n) {
  for (size_t low = 0, high = m->n_functions; low < high;) {
    size_t middle = (low + high) / 2;
    int order = compare_function(m->by_name[middle], n->op, n->domain, n->overload);
    if (order == 0) return m->by_name[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

/* ---- opsets ---- */

static rlx_status check_opsets(const onnx_opset *v, uint32_t n) {
  bool has_main = false;
  for (uint32_t i = 0; i < n; i++) {
    if (v[i].version < 1) return RLX_FAIL(RLX_INVALID, "opset %" PRId64 " of domain '%s'", v[i].version, v[i].domain);
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(v[k].domain, v[i].domain) == 0 && v[k].version != v[i].version)
        return RLX_FAIL(RLX_INVALID, "two opsets of domain '%s': %" PRId64 " and %" PRId64,
                        *v[i].domain ? v[i].domain : "ai.onnx", v[k].version, v[i].version);
    if (*v[i].domain) continue;
    has_main = true;
    if (v[i].version > ONNX_NEWEST_OPSET)
      return RLX_FAIL(RLX_UNSUPPORTED, "opset of ai.onnx: expected 1 to %d, got %" PRId64, ONNX_NEWEST_OPSET,
                      v[i].version);
  }
  if (!has_main && n == 0) return RLX_FAIL(RLX_INVALID, "no opset");
  return RLX_OK;
}

/* ---- names ---- */

typedef struct names {
  const struct names *outer;
  rlx_name_map defined;
} names;

static bool is_defined(const names *s, const char *name) {
  uint32_t ignored;
  for (; s; s = s->outer)
    if (rlx_name_map_get(&s->defined, name, &ignored)) return true;
  return false;
}

static rlx_status define(names *s, const char *what, const char *name, bool *twice) {
  uint32_t ignored;
  *twice = rlx_name_map_get(&s->defined, name, &ignored);
  if (*twice) return RLX_OK;
  return rlx_name_map_put(&s->defined, name, 1) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the name of %s '%s'", what, name);
}

static rlx_status define_once(names *s, const char *what, const char *name) {
  bool twice;
  RLX_TRY(define(s, what, name, &twice));
  return twice ? RLX_FAIL(RLX_INVALID, "%s '%s' is defined twice", what, name) : RLX_OK;
}

static rlx_status check_graph(const onnx_graph *g, const names *outer);

static bool is_computed_later(const onnx_node *nodes, uint32_t from, uint32_t n, const char *name) {
  for (uint32_t i = from; i < n; i++)
    for (uint32_t k = 0; k < nodes[i].n_out; k++)
      if (strcmp(nodes[i].out[k], name) == 0) return true;
  return false;
}

static rlx_status check_node(const onnx_node *nodes, uint32_t at, uint32_t n, names *s) {
  const onnx_node *node = &nodes[at];
  for (uint32_t i = 0; i < node->n_in; i++) {
    if (!*node->in[i] || is_defined(s, node->in[i])) continue;
    if (is_computed_later(nodes, at, n, node->in[i]))
      return RLX_FAIL(RLX_INVALID, "input '%s' is computed by this node or a later one: a cycle, or nodes out of order",
                      node->in[i]);
    return RLX_FAIL(RLX_INVALID, "input '%s' is not defined", node->in[i]);
  }
  for (uint32_t i = 0; i < node->n_attributes; i++) {
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(node->attributes[i].name, node->attributes[k].name) == 0)
        return RLX_FAIL(RLX_INVALID, "attribute '%s' comes twice", node->attributes[i].name);
    if (node->attributes[i].graph)
      RLX_TRY_AT(check_graph(node->attributes[i].graph, s), "attribute '%s'", node->attributes[i].name);
  }
  for (uint32_t i = 0; i < node->n_out; i++)
    if (*node->out[i]) RLX_TRY(define_once(s, "output", node->out[i]));
  return RLX_OK;
}

static rlx_status check_nodes(const onnx_node *nodes, uint32_t n, names *s) {
  for (uint32_t i = 0; i < n; i++)
    RLX_TRY_AT(check_node(nodes, i, n, s), "node %u '%s' (%s)", (unsigned)i, nodes[i].name, nodes[i].op);
  return RLX_OK;
}

static rlx_status check_names(const onnx_graph *g, names *s) {
  bool ignored;
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    if (!*g->inputs[i].name) return RLX_FAIL(RLX_INVALID, "input %u has no name", (unsigned)i);
    RLX_TRY(define_once(s, "input", g->inputs[i].name));
  }
  names initializers = {0};
  rlx_status status = RLX_OK;
  for (uint32_t i = 0; i < g->n_initializers && !status; i++) {
    const char *name = g->initializers[i].name;
    if (!*name) status = RLX_FAIL(RLX_INVALID, "initializer %u has no name", (unsigned)i);
    if (!status) status = define_once(&initializers, "initializer", name);
    if (!status) status = define(s, "initializer", name, &ignored); /* an input may have one as its default */
  }
  rlx_name_map_deinit(&initializers.defined);
  RLX_TRY(status);
  for (uint32_t i = 0; i < g->n_sparse; i++) RLX_TRY(define_once(s, "initializer", g->sparse[i].values.name));
  RLX_TRY(check_nodes(g->nodes, g->n_nodes, s));
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    if (!*g->outputs[i].name) return RLX_FAIL(RLX_INVALID, "output %u has no name", (unsigned)i);
    if (!is_defined(s, g->outputs[i].name))
      return RLX_FAIL(RLX_INVALID, "output '%s' is never computed", g->outputs[i].name);
  }
  return RLX_OK;
}

/* The model's output names must be unique. */
static rlx_status check_outputs(const onnx_graph *g, names *s) {
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    bool twice;
    RLX_TRY(define(s, "output", g->outputs[i].name, &twice));
    if (twice) return RLX_FAIL(RLX_INVALID, "output '%s' comes twice", g->outputs[i].name);
  }
  return RLX_OK;
}

static rlx_status check_graph(const onnx_graph *g, const names *outer) {
  names s = {.outer = outer};
  rlx_status status = check_names(g, &s);
  rlx_name_map_deinit(&s.defined);
  return status;
}

/* ---- functions ---- */

static rlx_status check_function(const onnx_function *f, names *s) {
  RLX_TRY(check_opsets(f->opsets, f->n_opsets));
  for (uint32_t i = 0; i < f->n_in; i++) RLX_TRY(define_once(s, "input", f->in[i]));
  RLX_TRY(check_nodes(f->nodes, f->n_nodes, s));
  for (uint32_t i = 0; i < f->n_out; i++)
    if (!is_defined(s, f->out[i])) return RLX_FAIL(RLX_INVALID, "output '%s' is never computed", f->out[i]);
  return RLX_OK;
}

/* Functions are inlined where they are called. `size` counts the resulting nodes, so that functions which call each
 * other several times on every level are refused before they are expanded. */
typedef struct seen {
  enum { UNSEEN, OPEN, DONE } state;
  int depth; /* of calls and graphs in it */
  uint64_t size;
} seen;

static rlx_status visit_calls(const rlx_onnx *m, const onnx_node *nodes, uint32_t n, seen *all, seen *out, int depth);

static rlx_status visit_function(const rlx_onnx *m, const onnx_function *f, seen *all, int depth) {
  seen *s = &all[f - m->functions];
  if (s->state == OPEN) return RLX_FAIL(RLX_INVALID, "function '%s' calls itself", f->name);
  if (depth + s->depth > ONNX_MAX_DEPTH)
    return RLX_FAIL(RLX_UNSUPPORTED, "functions in functions more than %d deep", ONNX_MAX_DEPTH);
  if (s->state == DONE) return RLX_OK;
  s->state = OPEN;
  RLX_TRY(visit_calls(m, f->nodes, f->n_nodes, all, s, depth));
  s->state = DONE;
  return RLX_OK;
}

static void add_seen(seen *out, const seen *inner) {
  out->size += inner->size;
  if (out->depth <= inner->depth) out->depth = inner->depth + 1;
}

static rlx_status visit_node(const rlx_onnx *m, const onnx_node *n, seen *all, seen *out, int depth) {
  const onnx_function *f = onnx_find_function(m, n);
  out->size++;
  if (f) {
    RLX_TRY(visit_function(m, f, all, depth + 1));
    add_seen(out, &all[f - m->functions]);
  }
  for (uint32_t k = 0; k < n->n_attributes; k++) {
    const onnx_graph *g = n->attributes[k].graph;
    seen inner = {0};
    if (!g) continue;
    RLX_TRY(visit_calls(m, g->nodes, g->n_nodes, all, &inner, depth + 1));
    add_seen(out, &inner);
  }
  if (out->size <= ONNX_MAX_IMPORTED) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "more than %d nodes, with functions written out", ONNX_MAX_IMPORTED);
}

static rlx_status visit_calls(const rlx_onnx *m, const onnx_node *nodes, uint32_t n, seen *all, seen *out, int depth) {
  if (depth > ONNX_MAX_DEPTH)
    return RLX_FAIL(RLX_UNSUPPORTED, "graphs and functions more than %d deep", ONNX_MAX_DEPTH);
  for (uint32_t i = 0; i < n; i++) RLX_TRY(visit_node(m, &nodes[i], all, out, depth));
  return RLX_OK;
}

static rlx_status check_functions(const rlx_onnx *m) {
  if (!m->n_functions) return RLX_OK;
  for (uint32_t i = 0; i < m->n_functions; i++) {
    names s = {0};
    rlx_status status = check_function(&m->functions[i], &s);
    rlx_name_map_deinit(&s.defined);
    RLX_TRY_AT(status, "function '%s'", m->functions[i].name);
  }
  seen *all = rlx_mem_calloc(m->n_functions, sizeof *all), whole = {0};
  if (!all) return RLX_FAIL(RLX_NO_MEMORY, "%u functions", (unsigned)m->n_functions);
  rlx_status status = RLX_OK;
  for (uint32_t i = 0; i < m->n_functions && !status; i++) status = visit_function(m, &m->functions[i], all, 0);
  if (!status) status = visit_calls(m, m->graph->nodes, m->graph->n_nodes, all, &whole, 0);
  rlx_mem_free(all);
  return status;
}

rlx_status onnx_check(const rlx_onnx *m) {
  RLX_TRY(check_opsets(m->opsets, m->n_opsets));
  RLX_TRY(check_functions(m));
  RLX_TRY(check_graph(m->graph, NULL));
  names outputs = {0};
  rlx_status status = check_outputs(m->graph, &outputs);
  rlx_name_map_deinit(&outputs.defined);
  return status;
}
