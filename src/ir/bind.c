/* Binding: turns a graph with symbols into one with numbers.
 *
 * The graph is rebuilt node by node with numbers in place of symbols, so every shape rule runs again and checks what it
 * had to accept before. Sub-graphs are bound as well; their symbols are matched by name. */
#include <string.h>

#include "base/str.h"
#include "ir/algebra.h"
#include "ir/infer.h"

rlx_node rlx_graph_copy_node(rlx_graph *g, const rlx_graph *from, rlx_node id, const rlx_node *map) {
  const rlx_node_rec *n = rlx_graph_at(from, id);
  return rlx_graph_copy_with(g, n, n->attrs, map);
}

rlx_node rlx_graph_copy_with(rlx_graph *g, const rlx_node_rec *n, const void *attrs, const rlx_node *map) {
  rlx_node on_stack[16] = {0}, *in = on_stack;
  if (n->n_in > 16 && !(in = rlx_mem_calloc(n->n_in, sizeof *in)))
    return rlx_graph_set_error(g, RLX_FAIL(RLX_NO_MEMORY, "copying a node"));
  for (uint32_t i = 0; i < n->n_in; i++) in[i] = n->in[i] ? map[n->in[i]] : RLX_NONE;
  rlx_node copy = rlx_graph_add(g, n->op, in, n->n_in, attrs);
  if (in != on_stack) rlx_mem_free(in);
  return copy;
}

rlx_status rlx_graph_copy_outputs(rlx_graph *g, const rlx_graph *from, const rlx_node *map) {
  for (size_t i = 0; i < from->outputs.n; i++)
    rlx_graph_add_output(g, from->outputs.v[i].name, map[from->outputs.v[i].node]);
  return rlx_graph_status(g);
}

/* What a graph is bound to: by symbol, and by expression of its algebra. */
typedef struct bound {
  const int64_t *sizes;
  int64_t *values;
} bound;

static rlx_status bind_sizes(const rlx_graph *g, const int64_t *sizes, rlx_graph **out);

/* Binds a sub-graph: the sizes of its symbols are looked up by name in the parent's. */
static rlx_status bind_subgraph(const rlx_graph *parent, const int64_t *sizes, const rlx_graph *sub, rlx_graph **out) {
  int64_t *own = rlx_mem_calloc(sub->symbols.n + 1, sizeof *own);
  if (!own) return RLX_FAIL(RLX_NO_MEMORY, "binding a sub-graph");
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < sub->symbols.n && !s; i++) {
    size_t k = 0;
    while (k < parent->symbols.n && strcmp(parent->symbols.v[k], sub->symbols.v[i]) != 0) k++;
    if (k == parent->symbols.n)
      s = RLX_FAIL(RLX_INVALID, "symbol '%s' of a sub-graph is not one of its parent's", sub->symbols.v[i]);
    else own[i] = sizes[k];
  }
  if (!s) s = bind_sizes(sub, own, out);
  rlx_mem_free(own);
  return s;
}

static rlx_status bind_attrs(const rlx_graph *g, const bound *b, const rlx_op_table_row *row, void *attrs) {
  for (uint32_t i = 0; i < row->n_attrs; i++) { /* own references, so that one release serves success and failure */
    if (row->attrs[i].kind == RLX_ATTR_DATA) rlx_blob_retain(*(rlx_blob **)rlx_attr_at(attrs, &row->attrs[i]));
    if (row->attrs[i].kind == RLX_ATTR_GRAPH) rlx_graph_retain(*(rlx_graph **)rlx_attr_at(attrs, &row->attrs[i]));
  }
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    void *at = rlx_attr_at(attrs, &row->attrs[i]);
    if (row->attrs[i].kind == RLX_ATTR_DIMS) {
      rlx_dims *d = at;
      for (int k = 0; k < d->n; k++) d->v[k] = rlx_size_value(d->v[k], b->sizes, b->values);
    } else if (row->attrs[i].kind == RLX_ATTR_GRAPH) {
      rlx_graph *open = *(rlx_graph **)at, *closed;
      if (open->symbols.n == 0) continue; /* then no graph nested in it has any either */
      RLX_TRY_AT(bind_subgraph(g, b->sizes, open, &closed), "%s", row->attrs[i].name);
      *(rlx_graph **)at = closed;
      rlx_graph_destroy(open);
    }
  }
  return RLX_OK;
}

/* A constant whose elements are sizes gets bytes of its own. */
static rlx_status bind_elements(const bound *b, rlx_attrs_constant *a) {
  size_t n = a->data->bytes / sizeof(int64_t);
  rlx_blob *numbers = rlx_blob_create(a->data->bytes);
  if (!numbers) return RLX_FAIL(RLX_NO_MEMORY, "binding a constant");
  for (size_t i = 0; i < n; i++)
    ((int64_t *)(void *)numbers->data)[i] = rlx_size_value(((int64_t *)(void *)a->data->data)[i], b->sizes, b->values);
  rlx_blob_release(a->data);
  a->data = numbers;
  return RLX_OK;
}

static rlx_status bind_node(const rlx_graph *g, const bound *b, rlx_node id, rlx_graph *to, rlx_node *map) {
  const rlx_node_rec *n = rlx_graph_at(g, id);
  const rlx_op_table_row *row = rlx_op_table_get(n->op);
  rlx_any_attrs attrs;
  memcpy(&attrs, n->attrs, row->attrs_bytes);
  rlx_status s = bind_attrs(g, b, row, &attrs);
  if (!s && rlx_graph_holds_sizes(g, id)) s = bind_elements(b, &attrs.constant_);
  if (!s) {
    map[id] = rlx_graph_copy_with(to, n, &attrs, map);
    s = rlx_graph_status(to);
  }
  rlx_attrs_release(row, &attrs);
  return s;
}

static rlx_status bind_all(const rlx_graph *g, const bound *b, rlx_graph *to) {
  rlx_node *map = rlx_mem_calloc(rlx_graph_end(g), sizeof *map);
  if (!map) return RLX_FAIL(RLX_NO_MEMORY, "binding");
  rlx_status s = RLX_OK;
  for (rlx_node id = 1; id < rlx_graph_end(g) && !s; id++) s = bind_node(g, b, id, to, map);
  if (!s) s = rlx_graph_copy_outputs(to, g, map);
  rlx_mem_free(map);
  return s ? s : rlx_graph_finish(to);
}

static rlx_status bind_sizes(const rlx_graph *g, const int64_t *sizes, rlx_graph **out) {
  rlx_graph *to;
  bound b = {.sizes = sizes};
  *out = NULL;
  RLX_TRY(rlx_algebra_evaluate(g, sizes, &b.values));
  rlx_status s = rlx_graph_begin(&to);
  if (!s) s = bind_all(g, &b, to);
  rlx_mem_free(b.values);
  if (s) rlx_graph_destroy(to);
  else *out = to;
  return s;
}

/* ---- sources of the sizes ---- */

enum { UNBOUND = -1 };

static rlx_status begin(const rlx_graph *g, const char *call, rlx_graph **out, int64_t **sizes) {
  if (!out) return RLX_FAIL(RLX_INVALID, "%s: out is NULL", call);
  *out = NULL;
  if (!g) return RLX_FAIL(RLX_INVALID, "%s: the graph is NULL", call);
  if (!g->finished) return RLX_FAIL(RLX_INVALID, "%s: the graph is not finished", call);
  *sizes = rlx_mem_calloc(g->symbols.n + 1, sizeof **sizes);
  if (!*sizes) return RLX_FAIL(RLX_NO_MEMORY, "binding");
  for (size_t i = 0; i < g->symbols.n; i++) (*sizes)[i] = UNBOUND;
  return RLX_OK;
}

/* The input shapes that sizes came from, if they came from shapes. */
typedef struct named_shapes {
  const rlx_named_shape *v;
  size_t n;
} named_shapes;

/* The first input with the symbol; NULL if none has it. */
static const char *input_with_symbol(const rlx_graph *g, size_t symbol, named_shapes inputs) {
  for (size_t i = 0; i < inputs.n; i++) {
    const rlx_dims *shape = &rlx_graph_at(g, rlx_graph_leaf(g, inputs.v[i].name))->type.shape;
    for (int k = 0; k < shape->n; k++)
      if (rlx_dim_is_symbol(shape->v[k]) && rlx_dim_symbol(shape->v[k]) == symbol) return inputs.v[i].name;
  }
  return NULL;
}

/* Prefixes the message of a node that failed with these sizes with the sizes, and with the input that each came
 * from. */
static rlx_status report_sizes(const rlx_graph *g, rlx_status s, const int64_t *sizes, named_shapes inputs) {
  enum { ENOUGH = 200 };
  rlx_str text = {0};
  for (size_t i = 0; i < g->symbols.n && text.n < ENOUGH; i++) {
    const char *from = input_with_symbol(g, i, inputs);
    rlx_str_add(&text, "%s%s = %lld", i ? ", " : "with ", g->symbols.v[i], (long long)sizes[i]);
    if (from) rlx_str_add(&text, " of '%s'", from);
  }
  if (!text.failed && text.n) s = rlx_fail_frame(s, "%s", text.v);
  rlx_str_deinit(&text);
  return s;
}

static rlx_status end(const rlx_graph *g, rlx_status s, int64_t *sizes, named_shapes inputs, rlx_graph **out) {
  for (size_t i = 0; i < g->symbols.n && !s; i++)
    if (sizes[i] == UNBOUND) s = RLX_FAIL(RLX_INVALID, "symbol '%s' is not bound", g->symbols.v[i]);
  if (!s) {
    s = bind_sizes(g, sizes, out);
    if (s == RLX_INVALID) s = report_sizes(g, s, sizes, inputs);
  }
  rlx_mem_free(sizes);
  return s;
}

static rlx_status set_binding(const rlx_graph *g, const rlx_binding *b, int64_t *sizes) {
  if (!b->symbol) return RLX_FAIL(RLX_INVALID, "a binding's symbol is NULL");
  for (size_t i = 0; i < g->symbols.n; i++) {
    if (strcmp(g->symbols.v[i], b->symbol) != 0) continue;
    if (b->size < 0)
      return RLX_FAIL(RLX_INVALID, "symbol '%s' is bound to the negative size %lld", b->symbol, (long long)b->size);
    if (sizes[i] != UNBOUND) return RLX_FAIL(RLX_INVALID, "symbol '%s' is bound twice", b->symbol);
    sizes[i] = b->size;
    return RLX_OK;
  }
  return RLX_FAIL(RLX_NOT_FOUND, "the graph has no symbol '%s'", b->symbol);
}

rlx_status rlx_graph_bind(const rlx_graph *g, const rlx_binding *bindings, size_t n, rlx_graph **out) {
  int64_t *sizes;
  RLX_TRY(begin(g, "rlx_graph_bind", out, &sizes));
  rlx_status s = n && !bindings ? RLX_FAIL(RLX_INVALID, "rlx_graph_bind: bindings is NULL") : RLX_OK;
  for (size_t i = 0; i < n && !s; i++) s = set_binding(g, &bindings[i], sizes);
  return end(g, s, sizes, (named_shapes){NULL, 0}, out);
}

static rlx_status set_from_shape(const rlx_graph *g, const rlx_named_shape *in, int64_t *sizes) {
  rlx_node id = rlx_graph_leaf(g, in->name);
  if (!id) return RLX_FAIL(RLX_NOT_FOUND, "the graph has no input, param or state '%s'", in->name ? in->name : "NULL");
  const rlx_dims *want = &rlx_graph_at(g, id)->type.shape;
  if (in->shape.n != want->n)
    return RLX_FAIL(RLX_INVALID, "'%s' has rank %d but must have rank %d", in->name, (int)in->shape.n, (int)want->n);
  for (int i = 0; i < want->n; i++) {
    int64_t have = in->shape.v[i];
    if (have < 0)
      return RLX_FAIL(RLX_INVALID, "'%s': axis %d has the negative size %lld", in->name, i, (long long)have);
    if (!rlx_dim_is_symbol(want->v[i])) {
      if (have != want->v[i])
        return RLX_FAIL(RLX_INVALID, "'%s': axis %d is %lld but must be %lld", in->name, i, (long long)have,
                        (long long)want->v[i]);
      continue;
    }
    uint32_t symbol = rlx_dim_symbol(want->v[i]);
    if (sizes[symbol] != UNBOUND && sizes[symbol] != have)
      return RLX_FAIL(RLX_INVALID, "'%s': axis %d is %lld but symbol '%s' is already %lld", in->name, i,
                      (long long)have, g->symbols.v[symbol], (long long)sizes[symbol]);
    sizes[symbol] = have;
  }
  return RLX_OK;
}

rlx_status rlx_graph_bind_inputs(const rlx_graph *g, const rlx_named_shape *inputs, size_t n, rlx_graph **out) {
  int64_t *sizes;
  RLX_TRY(begin(g, "rlx_graph_bind_inputs", out, &sizes));
  rlx_status s = n && !inputs ? RLX_FAIL(RLX_INVALID, "rlx_graph_bind_inputs: inputs is NULL") : RLX_OK;
  for (size_t i = 0; i < n && !s; i++) s = set_from_shape(g, &inputs[i], sizes);
  return end(g, s, sizes, (named_shapes){inputs, n}, out);
}

/* ---- the same in steps, for callers that inspect the sizes before they bind ---- */

rlx_status rlx_graph_sizes(const rlx_graph *g, const rlx_binding *bindings, size_t n, int64_t *sizes) {
  for (size_t i = 0; i < g->symbols.n; i++) sizes[i] = UNBOUND;
  for (size_t i = 0; i < n; i++) RLX_TRY(set_binding(g, &bindings[i], sizes));
  return RLX_OK;
}

rlx_status rlx_graph_sizes_add(const rlx_graph *g, const rlx_named_shape *input, int64_t *sizes) {
  return set_from_shape(g, input, sizes);
}

rlx_status rlx_graph_bind_sizes(const rlx_graph *g, const int64_t *sizes, rlx_graph **out) {
  int64_t *own;
  RLX_TRY(begin(g, "rlx_graph_bind", out, &own));
  if (g->symbols.n) memcpy(own, sizes, g->symbols.n * sizeof *own);
  return end(g, RLX_OK, own, (named_shapes){NULL, 0}, out);
}
