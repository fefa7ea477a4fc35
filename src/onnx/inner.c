/* Bodies of loops as graphs of their own: one graph that runs trip after trip, instead of its nodes written out for each.
 *
 * A body is imported like any sub-graph, into a graph that is begun for it. What it reads of the graphs around it is captured: it becomes
 * an input, and the loop gives it the value. That works where nothing in the body asks for a value that only a run gives and where what
 * goes round keeps its type. Where it does not, the caller writes the trips out; so whatever fails here is forgotten, but for what
 * would fail again (memory, a cancel).
 *
 * Control flow runs on the host, node by node through the reference. So it is only worth it where a trip is cheap (elements are moved or
 * computed one by one, and few of them) and there are many. */
#include "onnx/inner.h"

#include "base/budget.h"
#include "base/mem.h"
#include "onnx/compose.h"

enum {
  MIN_TRIPS = 32,        /* fewer are written out */
  MAX_ELEMENTS = 1 << 13 /* that a trip may compute */
};

/* ---- entering and leaving ---- */

typedef struct outside { /* what the importer had before */
  rlx_graph *g;
  rlx_node *nodes; /* by value */
  onnx_inner *inner;
  uint32_t n_refused;
  rlx_node folded;
  size_t refused_bytes;
  bool is_stopped;
} outside;

static rlx_status enter(onnx_importer *imp, onnx_inner *in, outside *o) {
  RLX_TRY(onnx_fold_new(imp));
  *o = (outside){.g = imp->g,
                 .inner = imp->inner,
                 .n_refused = imp->n_refused,
                 .folded = imp->folded,
                 .refused_bytes = imp->refused.n,
                 .is_stopped = imp->is_stopped};
  *in = (onnx_inner){.n_outer = (uint32_t)imp->values.n};
  rlx_graph *g;
  if (!(o->nodes = rlx_mem_alloc(imp->values.n * sizeof *o->nodes))) return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  rlx_status s = rlx_graph_begin(&g);
  if (s) {
    rlx_mem_free(o->nodes);
    return s;
  }
  for (size_t i = 0; i < imp->values.n; i++) {
    onnx_take_known(imp, imp->values.v[i]);
    o->nodes[i] = imp->values.v[i]->node;
    imp->values.v[i]->node = 0;
  }
  in->known.v = imp->known.v, in->known.n = imp->known.n, in->known.cap = imp->known.cap;
  imp->known.v = NULL, imp->known.n = imp->known.cap = 0;
  imp->g = g;
  imp->folded = 1;
  imp->inner = in;
  return RLX_OK;
}

/* Back to the graph around it; the body's is the caller's. */
static rlx_graph *leave(onnx_importer *imp, onnx_inner *in, outside *o, bool failed) {
  rlx_graph *body = imp->g;
  for (size_t i = 0; i < imp->values.n; i++) imp->values.v[i]->node = i < in->n_outer ? o->nodes[i] : 0;
  rlx_array_deinit(&imp->known);
  imp->known.v = in->known.v, imp->known.n = in->known.n, imp->known.cap = in->known.cap;
  imp->g = o->g;
  imp->folded = o->folded;
  imp->inner = o->inner;
  if (failed) {
    imp->n_refused = o->n_refused;
    imp->is_stopped = o->is_stopped;
    imp->refused.n = o->refused_bytes;
    if (imp->refused.v) imp->refused.v[o->refused_bytes] = 0;
  }
  rlx_mem_free(o->nodes);
  return body;
}

/* ---- a body ---- */

static rlx_status add_input(onnx_importer *imp, onnx_type type, const rlx_type *is, uint32_t number, onnx_value **out) {
  char name[32];
  snprintf(name, sizeof name, "in%u", (unsigned)number);
  onnx_value *v = *out = onnx_value_new(imp);
  if (!v) return RLX_NO_MEMORY;
  v->type = type;
  v->is = *is;
  v->node = rlx_op_input(imp->g, name, is->dtype, is->shape);
  return rlx_graph_status(imp->g);
}

rlx_node onnx_capture(onnx_importer *imp, onnx_value *v) {
  char name[32];
  onnx_inner *in = imp->inner;
  snprintf(name, sizeof name, "captured%u", (unsigned)in->captured.n);
  if (!rlx_array_push(&in->captured, v))
    return rlx_graph_set_error(imp->g, RLX_FAIL(RLX_NO_MEMORY, "what a loop reads"));
  return v->node = rlx_op_input(imp->g, name, v->is.dtype, v->is.shape);
}

/* Whether running it through the reference costs little. */
static bool is_cheap(const rlx_graph *g) {
  uint64_t elements = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (!rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_VIEW | RLX_TRAIT_POINTWISE | RLX_TRAIT_MOVES)) return false;
    if (!rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_VIEW)) elements += rlx_dims_count(&n->type.shape);
  }
  return elements <= MAX_ELEMENTS;
}

static rlx_status refuse(const char *why) { return RLX_FAIL(RLX_UNSUPPORTED, "a body that %s", why); }

/* The body's inputs, its nodes, its outputs. */
static rlx_status import(onnx_call *c, onnx_loop *l, onnx_value **in, onnx_value **out) {
  onnx_importer *imp = c->imp;
  uint32_t number = 0;
  for (uint32_t i = 0; i < l->n_carried; i++)
    RLX_TRY(add_input(imp, l->carried[i]->type, &l->carried[i]->is, number++, &in[l->carried_at + i]));
  for (uint32_t i = 0; i < l->n_scanned; i++)
    RLX_TRY(add_input(imp, l->scanned_type[i], &l->slice[i], number++, &in[l->scanned_at + i]));
  if (l->always) in[l->always_at] = l->always;
  onnx_body b = {.graph = l->body, .in = in, .n_in = l->body->n_inputs, .out = out, .n_out = l->body->n_outputs};
  RLX_TRY(onnx_import_body(c, &b));
  for (uint32_t i = 0; i < b.n_out; i++)
    if (out[i]->refused) return refuse("cannot be imported");
  if (l->always) {
    RLX_TRY(onnx_know(imp, out[0]));
    if (!out[0]->known || out[0]->is.dtype != RLX_BOOL || rlx_dims_count(&out[0]->is.shape) != 1 ||
        !*(const uint8_t *)out[0]->known)
      return refuse("decides when it ends");
  }
  for (uint32_t i = l->first_out; i < b.n_out; i++) {
    char name[32];
    uint32_t k = i - l->first_out;
    if (k < l->n_carried && (out[i]->type != l->carried[k]->type || !rlx_type_equal(&out[i]->is, &l->carried[k]->is)))
      return refuse("changes the type of what goes round");
    snprintf(name, sizeof name, "out%u", (unsigned)k);
    rlx_graph_add_output(imp->g, name, onnx_value_node(imp, out[i]));
  }
  RLX_TRY(rlx_graph_finish(imp->g));
  return is_cheap(imp->g) ? RLX_OK : refuse("costs more than writing it out");
}

/* ---- the loop ---- */

/* The node of each value of the loop, in the graph around it. */
static rlx_status add_loop(onnx_call *c, const onnx_loop *l, const rlx_graph *body, const onnx_inner *in) {
  size_t n = l->n_carried + l->n_scanned + in->captured.n, n_outs = l->body->n_outputs - l->first_out;
  rlx_node *xs = onnx_alloc(c->imp, n + 1, sizeof *xs), *outs = l->results;
  if (!xs) return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  for (uint32_t i = 0; i < l->n_carried; i++) xs[i] = onnx_node_of(c, l->carried[i]);
  for (uint32_t i = 0; i < l->n_scanned; i++) xs[l->n_carried + i] = l->scanned(c, l->user, i);
  for (size_t i = 0; i < in->captured.n; i++) xs[l->n_carried + l->n_scanned + i] = onnx_node_of(c, in->captured.v[i]);
  rlx_op_scan(c->g, body, l->n_carried, l->n_scanned, l->reverse, xs, n, outs, n_outs);
  return rlx_graph_status(c->g);
}

rlx_status onnx_loop_as_graph(onnx_call *c, onnx_loop *l, bool *done) {
  onnx_importer *imp = c->imp;
  onnx_inner in;
  outside o;
  *done = false;
  if (l->trips < MIN_TRIPS || imp->inner || imp->client->no_loops) return RLX_OK;
  if (imp->is_symbolic) return onnx_need_numbers(imp, "a loop as a graph");
  onnx_value **body_in = onnx_alloc(imp, (size_t)l->body->n_inputs + 1, sizeof *body_in);
  onnx_value **body_out = onnx_alloc(imp, (size_t)l->body->n_outputs + 1, sizeof *body_out);
  l->results = onnx_alloc(imp, (size_t)l->body->n_outputs + 1, sizeof *l->results);
  if (!body_in || !body_out || !l->results) return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  RLX_TRY(enter(imp, &in, &o));
  rlx_status s = import(c, l, body_in, body_out);
  rlx_graph *body = leave(imp, &in, &o, s != RLX_OK);
  c->g = imp->g;
  if (!s) {
    for (uint32_t i = l->first_out; i < l->body->n_outputs; i++) l->result_type[i - l->first_out] = body_out[i]->type;
    s = add_loop(c, l, body, &in);
    *done = !s;
  } else if (s != RLX_NO_MEMORY && s != RLX_CANCELLED && s != RLX_LIMIT && !rlx_budget_is_stopped()) {
    s = RLX_OK; /* written out, then */
  }
  rlx_graph_destroy(body);
  rlx_array_deinit(&in.captured);
  return s;
}
