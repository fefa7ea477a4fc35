/* The graph: create, append, finish, destroy.
 *
 * rlx_graph_add is the only way to create a node, for the builder, the parser and the passes, so every graph has passed
 * inference. */
#include "ir/graph.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "ir/infer.h"

/* ---- bytes of constants ---- */

rlx_blob *rlx_blob_create(size_t bytes) {
  size_t total;
  if (!rlx_add_size(sizeof(rlx_blob), bytes, &total)) return NULL;
  rlx_blob *b = rlx_mem_alloc(total);
  if (!b) return NULL;
  atomic_init(&b->refs, 1);
  b->bytes = bytes;
  b->data = (unsigned char *)(b + 1);
  return b;
}

rlx_blob *rlx_blob_retain(rlx_blob *b) {
  if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
  return b;
}

void rlx_blob_release(rlx_blob *b) {
  if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1) rlx_mem_free(b);
}

/* ---- create, retain, destroy ---- */

/* Every graph that a program can see has its own serial number; they repeat after 2^32 graphs. */
static uint32_t next_serial(void) {
  static atomic_uint last;
  uint32_t serial;
  do serial = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  while (serial == 0);
  return serial;
}

rlx_status rlx_graph_create(rlx_graph **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_graph_create: out is NULL");
  RLX_TRY(rlx_graph_begin(out));
  (*out)->serial = next_serial();
  return RLX_OK;
}

rlx_status rlx_graph_begin(rlx_graph **out) {
  *out = NULL;
  rlx_graph *g = rlx_new(rlx_graph);
  if (!g) return RLX_FAIL(RLX_NO_MEMORY, "a graph");
  atomic_init(&g->refs, 1);
  if (!rlx_array_push(&g->nodes, ((rlx_node_rec){0}))) {
    rlx_graph_destroy(g);
    return RLX_FAIL(RLX_NO_MEMORY, "a graph");
  }
  *out = g;
  return RLX_OK;
}

rlx_graph *rlx_graph_retain(const rlx_graph *g) {
  /* the reference count is the only part of a finished graph that changes */
  rlx_graph *shared = (rlx_graph *)(uintptr_t)g;
  if (shared) atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
  return shared;
}

void rlx_graph_destroy(rlx_graph *g) {
  if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1) return;
  for (uint32_t id = 1; id < rlx_graph_end(g); id++)
    rlx_attrs_release(rlx_op_table_get(g->nodes.v[id].op), g->nodes.v[id].attrs);
  rlx_array_deinit(&g->nodes);
  rlx_array_deinit(&g->outputs);
  rlx_array_deinit(&g->symbols);
  rlx_algebra_destroy(g->algebra);
  rlx_name_map_deinit(&g->leaf_names);
  rlx_name_map_deinit(&g->output_names);
  rlx_bump_deinit(&g->bump);
  rlx_mem_free(g);
}

/* ---- the sticky error ---- */

rlx_node rlx_graph_set_error(rlx_graph *g, rlx_status status) {
  if (g && !g->error) {
    g->error = status;
    snprintf(g->message, sizeof g->message, "%s", rlx_message());
  }
  return RLX_NONE;
}

rlx_status rlx_graph_status(const rlx_graph *g) {
  if (!g) return RLX_FAIL(RLX_INVALID, "the graph is NULL");
  return g->error ? RLX_FAIL(g->error, "%s", g->message) : RLX_OK;
}

rlx_status rlx_graph_name_symbols(const rlx_graph *g, rlx_status status) {
  char named[1024];
  size_t n = 0;
  if (!status || !g->symbols.n || !strchr(rlx_message(), '$')) return status;
  for (const char *p = rlx_message(); *p && n + 1 < sizeof named;) {
    char *end = NULL;
    unsigned long symbol = *p == '$' && p[1] >= '0' && p[1] <= '9' ? strtoul(p + 1, &end, 10) : ULONG_MAX;
    if (symbol >= g->symbols.n) {
      named[n++] = *p++;
      continue;
    }
    for (const char *c = g->symbols.v[symbol]; *c && n + 1 < sizeof named; c++) named[n++] = *c;
    p = end;
  }
  named[n] = 0;
  return RLX_FAIL(status, "%s", named);
}

/* ---- append ---- */

static rlx_status check_inputs(const rlx_graph *g, const rlx_node *in, uint32_t n_in) {
  if (n_in && !in) return RLX_FAIL(RLX_INVALID, "has %u inputs but the list is NULL", (unsigned)n_in);
  for (uint32_t i = 0; i < n_in; i++) {
    if (in[i] && in[i] >> 32 != g->serial)
      return RLX_FAIL(RLX_INVALID, "input %u is node %u of another graph", (unsigned)i, (unsigned)in[i]);
    if ((uint32_t)in[i] >= rlx_graph_end(g))
      return RLX_FAIL(RLX_INVALID, "input %u is node %u, but this graph has only %u", (unsigned)i, (unsigned)in[i],
                      (unsigned)(rlx_graph_end(g) - 1));
  }
  return RLX_OK;
}

/* Copies the inputs to the graph's memory, as numbers. */
static const rlx_node *copy_inputs(rlx_graph *g, const rlx_node *in, uint32_t n_in) {
  rlx_node *copy = rlx_bump_copy(&g->bump, in, n_in, sizeof *in);
  for (uint32_t i = 0; copy && i < n_in; i++) copy[i] = (uint32_t)copy[i];
  return copy;
}

/* Leaves with names must be unique by name. */
static const char *leaf_name(rlx_op op, const void *attrs) {
  switch (op) {
    case RLX_OP_input: return ((const rlx_attrs_input *)attrs)->name;
    case RLX_OP_param: return ((const rlx_attrs_param *)attrs)->name;
    case RLX_OP_state: return ((const rlx_attrs_state *)attrs)->name;
    default: return NULL;
  }
}

static uint32_t subgraph_depth(const rlx_op_table_row *row, const void *attrs) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    if (row->attrs[i].kind != RLX_ATTR_GRAPH) continue;
    const rlx_graph *sub = *(rlx_graph **)rlx_attr_at(attrs, &row->attrs[i]);
    if (sub && sub->depth + 1 > depth) depth = sub->depth + 1;
  }
  return depth;
}

/* Drops absent trailing inputs, so that each node has one representation. */
static uint32_t trim_inputs(const rlx_op_table_row *row, const rlx_node *in, uint32_t n_in) {
  while (n_in > 0 && n_in <= row->n_inputs && !in[n_in - 1] && row->inputs[n_in - 1].mode == RLX_IN_OPTIONAL) n_in--;
  return n_in;
}

static rlx_status append(rlx_graph *g, rlx_op op, const rlx_node *in, uint32_t n_in, const void *attrs, rlx_node *out) {
  const rlx_op_table_row *row = rlx_op_table_get(op);
  RLX_TRY(check_inputs(g, in, n_in));
  n_in = trim_inputs(row, in, n_in);
  rlx_node_rec node = {.op = op, .n_in = n_in};
  if (n_in && !(in = node.in = copy_inputs(g, in, n_in)))
    return RLX_FAIL(RLX_NO_MEMORY, "node %u", (unsigned)rlx_graph_end(g));
  rlx_infer c = {.graph = g, .op = op, .row = row, .attrs = attrs, .ids = in, .n_in = n_in};
  RLX_TRY(rlx_infer_run(&c));
  uint32_t depth = subgraph_depth(row, attrs), seen;
  if (depth > RLX_MAX_DEPTH) return RLX_FAIL(RLX_INVALID, "nests sub-graphs more than %d deep", RLX_MAX_DEPTH);
  if (rlx_graph_end(g) == UINT32_MAX) return RLX_FAIL(RLX_INVALID, "the graph is full");
  const char *name = leaf_name(op, attrs);
  if (name && rlx_name_map_get(&g->leaf_names, name, &seen))
    return RLX_FAIL(RLX_INVALID, "the name '%s' is taken by node %u (%s)", name, (unsigned)seen,
                    rlx_op_table_get(rlx_graph_at(g, seen)->op)->name);

  node.type = c.out;
  node.attrs = rlx_attrs_copy(g, row, attrs);
  uint32_t id = rlx_graph_end(g);
  bool ok = node.attrs && rlx_array_push(&g->nodes, node);
  if (!ok) {
    if (node.attrs) rlx_attrs_release(row, node.attrs);
    return RLX_FAIL(RLX_NO_MEMORY, "node %u", (unsigned)id);
  }
  if (name && !rlx_name_map_put(&g->leaf_names, leaf_name(op, node.attrs), id))
    return RLX_FAIL(RLX_NO_MEMORY, "node %u", (unsigned)id);
  if (depth > g->depth) g->depth = depth;
  *out = rlx_node_of(g, id);
  return RLX_OK;
}

rlx_node rlx_graph_add(rlx_graph *g, rlx_op op, const rlx_node *in, uint32_t n_in, const void *attrs) {
  if (!g || g->error) return RLX_NONE;
  if (g->finished)
    return rlx_graph_set_error(g, RLX_FAIL(RLX_INVALID, "%s: the graph is finished", rlx_op_table_get(op)->name));
  if (op <= RLX_OP_INVALID || op >= RLX_OP_COUNT)
    return rlx_graph_set_error(g, RLX_FAIL(RLX_INVALID, "unknown op %d", (int)op));
  const rlx_op_table_row *row = rlx_op_table_get(op);
  rlx_node id = RLX_NONE;
  rlx_status s = append(g, op, in, n_in, attrs ? attrs : row->attrs_default, &id);
  if (s == RLX_OK) return id;
  rlx_graph_name_symbols(g, s);
  const char *name = leaf_name(op, attrs ? attrs : row->attrs_default);
  if (name) rlx_fail_frame(s, "node %u (%s '%s')", (unsigned)rlx_graph_end(g), row->name, name);
  else rlx_fail_frame(s, "node %u (%s)", (unsigned)rlx_graph_end(g), row->name);
  return rlx_graph_set_error(g, s);
}

/* ---- outputs and symbols ---- */

void rlx_graph_add_output(rlx_graph *g, const char *name, rlx_node n) {
  uint32_t seen;
  if (!g || g->error) return;
  rlx_status s = RLX_OK;
  if (g->finished) s = RLX_FAIL(RLX_INVALID, "output: the graph is finished");
  else if (!name || !*name || !rlx_text_is_utf8(name)) s = RLX_FAIL(RLX_INVALID, "output: needs a name in UTF-8");
  else if (n && n >> 32 != g->serial)
    s = RLX_FAIL(RLX_INVALID, "output '%s': node %u is of another graph", name, (unsigned)n);
  else if (!n || (uint32_t)n >= rlx_graph_end(g))
    s = RLX_FAIL(RLX_INVALID, "output '%s': node %u does not exist", name, (unsigned)n);
  else if (rlx_name_map_get(&g->output_names, name, &seen))
    s = RLX_FAIL(RLX_INVALID, "output '%s' is named twice", name);
  else {
    const char *copy = rlx_bump_text(&g->bump, name, strlen(name));
    uint32_t at = (uint32_t)g->outputs.n;
    if (!copy || !rlx_array_push(&g->outputs, ((rlx_output_rec){copy, (uint32_t)n})) ||
        !rlx_name_map_put(&g->output_names, copy, at))
      s = RLX_FAIL(RLX_NO_MEMORY, "output '%s'", name);
  }
  if (s) rlx_graph_set_error(g, s);
}

static bool symbol_name_ok(const char *name) {
  if (!name || !*name || (*name >= '0' && *name <= '9') || *name == '.') return false;
  for (const char *p = name; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_' || *p == '.'))
      return false;
  return strlen(name) < 64;
}

int64_t rlx_graph_add_symbol(rlx_graph *g, const char *name) {
  if (!g || g->error) return RLX_DIM_UNKNOWN;
  rlx_status s = RLX_OK;
  if (g->finished) s = RLX_FAIL(RLX_INVALID, "symbol: the graph is finished");
  else if (!symbol_name_ok(name))
    s = RLX_FAIL(RLX_INVALID,
                 "'%s' is not a symbol's name: a letter or '_', then letters, digits, '_' and '.', less than 64 in all",
                 name ? name : "NULL");
  if (!s) {
    for (size_t i = 0; i < g->symbols.n; i++)
      if (strcmp(g->symbols.v[i], name) == 0) return rlx_dim_from_symbol((uint32_t)i);
    const char *copy = NULL;
    if (g->symbols.n >= RLX_FIRST_EXPRESSION) s = RLX_FAIL(RLX_INVALID, "symbol '%s': a graph has at most 4096", name);
    else if (!(copy = rlx_bump_text(&g->bump, name, strlen(name))) || !rlx_array_push(&g->symbols, copy))
      s = RLX_FAIL(RLX_NO_MEMORY, "symbol '%s'", name);
  }
  if (s) {
    rlx_graph_set_error(g, s);
    return RLX_DIM_UNKNOWN;
  }
  return rlx_dim_from_symbol((uint32_t)g->symbols.n - 1);
}

/* ---- finish ---- */

rlx_status rlx_graph_finish(rlx_graph *g) {
  RLX_TRY(rlx_graph_status(g));
  if (g->finished) return RLX_OK;
  rlx_status s = g->outputs.n ? rlx_graph_verify(g) : RLX_FAIL(RLX_INVALID, "the graph has no output");
  if (s) {
    rlx_graph_set_error(g, s);
    return s;
  }
  g->finished = true;
  if (!g->serial) g->serial = next_serial();
  return RLX_OK;
}

/* ---- queries ---- */

/* Counts uses in reverse order: a node is visited after all its readers. */
uint32_t rlx_graph_count_uses(const rlx_graph *g, uint32_t *uses) {
  uint32_t max_inputs = 0;
  for (size_t i = 0; i < g->outputs.n; i++) uses[g->outputs.v[i].node]++;
  for (rlx_node id = rlx_graph_end(g) - 1; id > 0; id--) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (n->n_in > max_inputs) max_inputs = n->n_in;
    if (rlx_op_table_has(n->op, RLX_TRAIT_EFFECT)) uses[id]++;
    for (uint32_t i = 0; uses[id] && i < n->n_in; i++) uses[n->in[i]]++;
  }
  uses[RLX_NONE] = 0;
  return max_inputs;
}

uint32_t rlx_graph_size(const rlx_graph *g) { return g ? rlx_graph_end(g) - 1 : 0; }

static const rlx_node_rec *node_or_none(const rlx_graph *g, rlx_node n) {
  bool known = g && (uint32_t)n && (uint32_t)n < rlx_graph_end(g) && rlx_node_is_of(g, n);
  return known ? rlx_graph_at(g, n) : NULL;
}

const char *rlx_node_op(const rlx_graph *g, rlx_node n) {
  const rlx_node_rec *r = node_or_none(g, n);
  return r ? rlx_op_table_get(r->op)->name : NULL;
}

uint32_t rlx_node_number(const rlx_graph *g, rlx_node n) { return node_or_none(g, n) ? (uint32_t)n : 0; }

uint32_t rlx_node_input_count(const rlx_graph *g, rlx_node n) {
  const rlx_node_rec *r = node_or_none(g, n);
  return r ? r->n_in : 0;
}

bool rlx_graph_computes_with(const rlx_graph *g, const rlx_node_rec *n, rlx_type_set types) {
  bool has = rlx_type_in(types, n->type.dtype);
  for (uint32_t i = 0; !has && i < n->n_in; i++)
    has = n->in[i] && rlx_type_in(types, rlx_graph_at(g, n->in[i])->type.dtype);
  return has && !rlx_op_table_has(n->op, RLX_TRAIT_MOVES | RLX_TRAIT_VIEW);
}

rlx_node rlx_node_input_at(const rlx_graph *g, rlx_node n, uint32_t i) {
  const rlx_node_rec *r = node_or_none(g, n);
  return r && i < r->n_in ? rlx_node_of(g, r->in[i]) : RLX_NONE;
}

rlx_dtype rlx_node_dtype(const rlx_graph *g, rlx_node n) {
  const rlx_node_rec *r = node_or_none(g, n);
  return r ? r->type.dtype : RLX_DTYPE_UNKNOWN;
}

rlx_dims rlx_node_shape(const rlx_graph *g, rlx_node n) {
  const rlx_node_rec *r = node_or_none(g, n);
  return r ? r->type.shape : (rlx_dims){.n = 0};
}

const char *rlx_node_name(const rlx_graph *g, rlx_node n) {
  const rlx_node_rec *r = node_or_none(g, n);
  return r ? leaf_name(r->op, r->attrs) : NULL;
}

rlx_node rlx_graph_find(const rlx_graph *g, const char *name) {
  return g ? rlx_node_of(g, rlx_graph_leaf(g, name)) : RLX_NONE;
}

rlx_node rlx_graph_leaf(const rlx_graph *g, const char *name) {
  uint32_t id;
  return g && name && rlx_name_map_get(&g->leaf_names, name, &id) ? id : RLX_NONE;
}

uint32_t rlx_graph_output_count(const rlx_graph *g) { return g ? (uint32_t)g->outputs.n : 0; }

rlx_node rlx_graph_output_at(const rlx_graph *g, uint32_t i, const char **name) {
  bool known = g && i < g->outputs.n;
  if (name) *name = known ? g->outputs.v[i].name : NULL;
  return known ? rlx_node_of(g, g->outputs.v[i].node) : RLX_NONE;
}

uint32_t rlx_graph_symbol_count(const rlx_graph *g) { return g ? (uint32_t)g->symbols.n : 0; }

const char *rlx_graph_symbol_at(const rlx_graph *g, uint32_t i) {
  return g && i < g->symbols.n ? g->symbols.v[i] : NULL;
}

const char *rlx_graph_symbol_name(const rlx_graph *g, int64_t size) {
  return rlx_dim_is_symbol(size) ? rlx_graph_symbol_at(g, rlx_dim_symbol(size)) : NULL;
}
