/* Shape rules of ops with sub-graphs (if, while, scan, region) and of custom ops.
 *
 * A sub-graph is a finished graph of its own. Its inputs are its `input` nodes in node order. Each receives a value
 * that the node captures, so their types must agree. Params and states belong to the outermost graph alone and are
 * passed as captured values. A symbol of a sub-graph is the outer graph's symbol of the same name; if the outer graph
 * has no symbols, neither may the sub-graph.
 *
 * Sub-graphs were checked when they were finished, and contain only finished ones, so nothing here recurses. */
#include <string.h>

#include "base/mem.h"
#include "ir/custom.h"
#include "ir/infer.h"

/* ---- types across the sub-graph boundary ---- */

/* A size of the sub-graph in the outer graph's encoding. */
static int64_t outer_size(const rlx_infer *c, const rlx_graph *sub, int64_t size) {
  if (!rlx_dim_is_symbol(size)) return size;
  uint32_t symbol = rlx_dim_symbol(size);
  for (size_t i = 0; symbol < sub->symbols.n && i < c->graph->symbols.n; i++)
    if (strcmp(sub->symbols.v[symbol], c->graph->symbols.v[i]) == 0) return rlx_dim_from_symbol((uint32_t)i);
  return RLX_DIM_UNKNOWN;
}

static rlx_type outer_type(const rlx_infer *c, const rlx_graph *sub, rlx_node id) {
  rlx_type t = rlx_graph_at(sub, id)->type;
  for (int i = 0; i < t.shape.n; i++) t.shape.v[i] = outer_size(c, sub, t.shape.v[i]);
  return t;
}

static rlx_type output_type(const rlx_infer *c, const rlx_graph *sub, size_t i) {
  return outer_type(c, sub, sub->outputs.v[i].node);
}

/* Two types that must agree: false if they certainly differ, else *a is the more specific one. */
static bool unify_types(rlx_type *a, const rlx_type *b) {
  bool fits = a->dtype == b->dtype && a->shape.n == b->shape.n;
  for (int i = 0; fits && i < a->shape.n; i++) fits = rlx_dim_unify(a->shape.v[i], b->shape.v[i], &a->shape.v[i]);
  return fits;
}

#define TYPE_TEXT(t) rlx_dtype_name((t).dtype), RLX_DIMS_TEXT((t).shape)

/* ---- checks of every sub-graph ---- */

/* The node's inputs that a sub-graph captures: all from `first` on. Those in sliced_from .. sliced_to - 1 (counted from
 * `first`) are passed as slices of axis 0. */
typedef struct captured {
  uint32_t first, sliced_from, sliced_to;
} captured;

static rlx_type captured_type(const rlx_infer *c, const captured *cap, uint32_t i) {
  rlx_type t = *rlx_infer_in(c, cap->first + i);
  if (i < cap->sliced_from || i >= cap->sliced_to) return t;
  t.shape.n--; /* the rule checked that there is an axis 0 */
  memmove(t.shape.v, t.shape.v + 1, (size_t)t.shape.n * sizeof t.shape.v[0]);
  return t;
}

static rlx_status check_input(const rlx_infer *c, const char *what, const rlx_graph *sub, rlx_node id, uint32_t i,
                              const captured *cap) {
  uint32_t n = c->n_in - cap->first;
  const char *name = RLX_ATTRS(input, rlx_graph_at(sub, id))->name;
  if (i >= n)
    return RLX_FAIL(RLX_INVALID, "%s has more inputs ('%s') than the %u values given to it", what, name, (unsigned)n);
  rlx_type given = captured_type(c, cap, i), wanted = outer_type(c, sub, id), both = given;
  if (!unify_types(&both, &wanted))
    return RLX_FAIL(RLX_INVALID, "input '%s' of %s is %s%s but is given %s%s", name, what, TYPE_TEXT(wanted),
                    TYPE_TEXT(given));
  for (int k = 0; k < given.shape.n; k++)
    if (rlx_dim_is_open(rlx_graph_at(sub, id)->type.shape.v[k]) && !rlx_dim_is_open(given.shape.v[k]))
      return RLX_FAIL(RLX_INVALID, "axis %d of input '%s' of %s is open but is given the size %lld: bind %s first", k,
                      name, what, (long long)given.shape.v[k], what);
  return RLX_OK;
}

static rlx_status check_subgraph(const rlx_infer *c, const char *what, const rlx_graph *sub, captured cap) {
  uint32_t n_inputs = 0;
  for (rlx_node id = 1; id < rlx_graph_end(sub); id++) {
    const rlx_node_rec *node = rlx_graph_at(sub, id);
    if (node->op == RLX_OP_param || node->op == RLX_OP_state)
      return RLX_FAIL(RLX_INVALID, "%s has the %s '%s': give it to the sub-graph as an input", what,
                      rlx_op_table_get(node->op)->name,
                      node->op == RLX_OP_param ? RLX_ATTRS(param, node)->name : RLX_ATTRS(state, node)->name);
    if (node->op == RLX_OP_input) RLX_TRY(check_input(c, what, sub, id, n_inputs++, &cap));
    if (c->graph->symbols.n == 0 && rlx_dims_open(&node->type.shape))
      return RLX_FAIL(RLX_INVALID, "%s is open at node %u (%s %s) but the graph around it has no symbols", what,
                      (unsigned)id, rlx_op_table_get(node->op)->name, RLX_DIMS_TEXT(node->type.shape));
  }
  if (n_inputs < c->n_in - cap.first)
    return RLX_FAIL(RLX_INVALID, "%s has %u inputs but is given %u values", what, (unsigned)n_inputs,
                    (unsigned)(c->n_in - cap.first));
  return RLX_OK;
}

static rlx_status check_index(int64_t index, uint64_t n, const char *what) {
  if (index >= 0 && (uint64_t)index < n) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "index is %lld but there are %llu %s", (long long)index, (unsigned long long)n, what);
}

/* Output i of the body is the next value of carried value i: *type becomes the type of both. */
static rlx_status carry(const rlx_infer *c, const rlx_graph *body, uint32_t i, rlx_type *type) {
  rlx_type given = *rlx_infer_in(c, i), next = output_type(c, body, i);
  *type = given;
  if (unify_types(type, &next)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "carried value %u is %s%s but body gives %s%s for it", (unsigned)i, TYPE_TEXT(given),
                  TYPE_TEXT(next));
}

/* ---- the rules ---- */

static rlx_status check_carried(const rlx_infer *c, int64_t carried, int min) {
  if (carried >= min && carried <= c->n_in) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "carried is %lld but must be %d..%u, the values given", (long long)carried, min,
                  (unsigned)c->n_in);
}

rlx_status rlx_shape_if(rlx_infer *c) {
  const rlx_attrs_if *a = c->attrs;
  RLX_TRY(rlx_expect_rank(c, 0, 0));
  RLX_TRY(check_subgraph(c, "on_true", a->on_true, (captured){.first = 1}));
  RLX_TRY(check_subgraph(c, "on_false", a->on_false, (captured){.first = 1}));
  size_t n = a->on_true->outputs.n;
  if (a->on_false->outputs.n != n)
    return RLX_FAIL(RLX_INVALID, "on_true has %zu outputs but on_false has %zu", n, a->on_false->outputs.n);
  RLX_TRY(check_index(a->index, n, "outputs"));
  for (size_t i = 0; i < n; i++) {
    rlx_type t = output_type(c, a->on_true, i), f = output_type(c, a->on_false, i), both = t;
    if (!unify_types(&both, &f))
      return RLX_FAIL(RLX_INVALID, "output %zu is %s%s in on_true but %s%s in on_false", i, TYPE_TEXT(t), TYPE_TEXT(f));
    if (i == (size_t)a->index) c->out = both;
  }
  return RLX_OK;
}

rlx_status rlx_shape_while(rlx_infer *c) {
  const rlx_attrs_while *a = c->attrs;
  RLX_TRY(check_carried(c, a->carried, 1));
  if (a->max_trips == INT64_MIN) return RLX_FAIL(RLX_INVALID, "max_trips is %lld", (long long)a->max_trips);
  RLX_TRY(check_index(a->index, (uint64_t)a->carried, "carried values"));
  RLX_TRY(check_subgraph(c, "cond", a->cond, (captured){0}));
  RLX_TRY(check_subgraph(c, "body", a->body, (captured){0}));
  if (a->cond->outputs.n != 1) return RLX_FAIL(RLX_INVALID, "cond has %zu outputs but must have 1", a->cond->outputs.n);
  rlx_type cond = output_type(c, a->cond, 0);
  if (cond.dtype != RLX_BOOL || cond.shape.n != 0)
    return RLX_FAIL(RLX_INVALID, "cond gives %s%s but must give bool[]", TYPE_TEXT(cond));
  if (a->body->outputs.n != (size_t)a->carried)
    return RLX_FAIL(RLX_INVALID, "body has %zu outputs but %lld values are carried", a->body->outputs.n,
                    (long long)a->carried);
  for (uint32_t i = 0; i < (uint32_t)a->carried; i++) {
    rlx_type both;
    RLX_TRY(carry(c, a->body, i, &both));
    if (i == (uint32_t)a->index) c->out = both;
  }
  return RLX_OK;
}

/* The common length of the scanned inputs from .. to - 1. */
static rlx_status scan_length(const rlx_infer *c, uint32_t from, uint32_t to, int64_t *length) {
  *length = RLX_DIM_UNKNOWN;
  for (uint32_t i = from; i < to; i++) {
    const rlx_dims *s = rlx_infer_shape(c, i);
    if (s->n < 1) return RLX_FAIL(RLX_INVALID, "input %u is a scalar and cannot be scanned", (unsigned)i);
    if (!rlx_dim_unify(*length, s->v[0], length))
      return RLX_FAIL(RLX_INVALID, "input %u is %s but %lld slices are scanned", (unsigned)i, RLX_DIMS_TEXT(*s),
                      (long long)*length);
  }
  return RLX_OK;
}

rlx_status rlx_shape_scan(rlx_infer *c) {
  const rlx_attrs_scan *a = c->attrs;
  RLX_TRY(check_carried(c, a->carried, 0));
  if (a->scanned < 1 || a->scanned > (int64_t)c->n_in - a->carried)
    return RLX_FAIL(RLX_INVALID, "scanned is %lld but must be 1..%lld, the values beyond those carried",
                    (long long)a->scanned, (long long)c->n_in - a->carried);
  uint32_t carried = (uint32_t)a->carried, end = carried + (uint32_t)a->scanned;
  int64_t length;
  RLX_TRY(scan_length(c, carried, end, &length));
  RLX_TRY(check_subgraph(c, "body", a->body, (captured){.sliced_from = carried, .sliced_to = end}));
  if (a->body->outputs.n < carried)
    return RLX_FAIL(RLX_INVALID, "body has %zu outputs but %u values are carried", a->body->outputs.n,
                    (unsigned)carried);
  RLX_TRY(check_index(a->index, a->body->outputs.n, "outputs"));
  for (uint32_t i = 0; i < carried; i++) {
    rlx_type both;
    RLX_TRY(carry(c, a->body, i, &both));
    if (i == (uint32_t)a->index) c->out = both;
  }
  if (a->index < a->carried) return RLX_OK;
  rlx_type slice = output_type(c, a->body, (size_t)a->index);
  if (slice.shape.n == RLX_MAX_RANK)
    return RLX_FAIL(RLX_INVALID, "output %lld has rank %d: a stack of it has too many axes", (long long)a->index,
                    RLX_MAX_RANK);
  c->out.dtype = slice.dtype;
  c->out.shape.n = slice.shape.n + 1;
  c->out.shape.v[0] = length;
  memcpy(c->out.shape.v + 1, slice.shape.v, (size_t)slice.shape.n * sizeof slice.shape.v[0]);
  return RLX_OK;
}

rlx_status rlx_shape_region(rlx_infer *c) {
  const rlx_graph *body = RLX_ATTRS(region, c)->body;
  RLX_TRY(check_subgraph(c, "body", body, (captured){0}));
  for (rlx_node id = 1; id < rlx_graph_end(body); id++) {
    rlx_op op = rlx_graph_at(body, id)->op;
    if (op != RLX_OP_input && op != RLX_OP_constant &&
        (!rlx_op_table_has(op, RLX_TRAIT_POINTWISE) || op == RLX_OP_region))
      return RLX_FAIL(RLX_INVALID, "node %u of body is %s, which a region cannot hold: only element-wise ops",
                      (unsigned)id, rlx_op_table_get(op)->name);
  }
  if (body->outputs.n != 1) return RLX_FAIL(RLX_INVALID, "body has %zu outputs but must have 1", body->outputs.n);
  c->out = output_type(c, body, 0);
  return RLX_OK;
}

/* ---- custom ---- */

/* A callback's result is untrusted: sizes must be numbers, sizes of its inputs, or unknown if an input's was open. */
static rlx_status check_custom_result(const rlx_infer *c, const rlx_tensor *out) {
  bool open_inputs = false;
  for (uint32_t i = 0; i < c->n_in; i++) open_inputs = open_inputs || rlx_dims_open(rlx_infer_shape(c, i));
  if ((unsigned)out->dtype >= RLX_DTYPE_COUNT || rlx_dtype_is_block(out->dtype))
    return RLX_FAIL(RLX_INVALID, "its shape rule gave the dtype %d, not an element type", (int)out->dtype);
  if (out->shape.n < 0 || out->shape.n > RLX_MAX_RANK)
    return RLX_FAIL(RLX_INVALID, "its shape rule gave rank %d, not 0..%d", (int)out->shape.n, RLX_MAX_RANK);
  for (int i = 0; i < out->shape.n; i++) {
    int64_t size = out->shape.v[i];
    bool known_symbol = rlx_dim_is_symbol(size) && rlx_dim_symbol(size) < c->graph->symbols.n;
    if (size < 0 && !(open_inputs && (size == RLX_DIM_UNKNOWN || known_symbol)))
      return RLX_FAIL(RLX_INVALID, "its shape rule gave axis %d the size %lld", i, (long long)size);
  }
  return RLX_OK;
}

static rlx_status call_custom_rule(rlx_infer *c, const rlx_custom_entry *entry, const rlx_tensor **inputs,
                                   rlx_tensor *types) {
  const rlx_attrs_custom *a = c->attrs;
  for (uint32_t i = 0; i < c->n_in; i++) {
    types[i] = (rlx_tensor){.dtype = rlx_infer_in(c, i)->dtype, .shape = *rlx_infer_shape(c, i)};
    inputs[i] = &types[i];
  }
  rlx_tensor out = {.dtype = RLX_DTYPE_UNKNOWN};
  rlx_custom_call call = {.inputs = inputs, .n_inputs = c->n_in, .output = &out, .config = a->config ? a->config : ""};
  RLX_TRY(rlx_custom_invoke(entry, "shape rule", entry->shape, &call));
  RLX_TRY_AT(check_custom_result(c, &out), "'%s'", a->name);
  c->out = (rlx_type){out.dtype, {.n = out.shape.n}};
  memcpy(c->out.shape.v, out.shape.v, (size_t)out.shape.n * sizeof out.shape.v[0]);
  return RLX_OK;
}

rlx_status rlx_shape_custom(rlx_infer *c) {
  const rlx_attrs_custom *a = c->attrs;
  rlx_custom_entry entry;
  if (!a->name || !*a->name) return RLX_FAIL(RLX_INVALID, "needs the name of a registered op");
  RLX_TRY(rlx_custom_find(a->name, &entry));
  const rlx_tensor **inputs = rlx_mem_calloc(c->n_in + 1u, sizeof *inputs);
  rlx_tensor *types = rlx_mem_calloc(c->n_in + 1u, sizeof *types);
  rlx_status s = inputs && types ? call_custom_rule(c, &entry, inputs, types)
                                 : RLX_FAIL(RLX_NO_MEMORY, "the types of %u inputs", (unsigned)c->n_in);
  rlx_mem_free(inputs);
  rlx_mem_free(types);
  return s;
}
