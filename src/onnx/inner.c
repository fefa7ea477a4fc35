/* Loop bodies as sub-graphs: one node that runs a graph per iteration, instead of the unrolled nodes.
 *
 * The body is imported like any sub-graph, into a new graph. Values of the outer graph that it reads are captured:
 * they become inputs of the body and of the loop node. This needs a body in which no op needs a value that only a
 * run gives, and carried values of constant type. If it fails the caller unrolls the loop, so errors are discarded,
 * except those that would recur (memory, cancellation).
 *
 * Control flow runs on the host by reference kernels. So a body must be cheap (element-wise ops and moves of few
 * elements), and a counted loop must have many iterations. */
#include "onnx/inner.h"

#include "base/budget.h"
#include "base/mem.h"
#include "onnx/compose.h"

enum {
  MIN_TRIPS = 32,        /* shorter loops are unrolled */
  MAX_ELEMENTS = 1 << 13 /* computed per iteration */
};

/* ---- entering and leaving ---- */

typedef struct outside { /* saved state of the importer */
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

/* Restores the outer graph and returns the body's, which the caller owns. */
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

static bool is_reduction(rlx_op op) {
  return op == RLX_OP_reduce_sum || op == RLX_OP_reduce_mean || op == RLX_OP_reduce_max || op == RLX_OP_reduce_min ||
         op == RLX_OP_reduce_prod;
}

/* Whether the reference kernels run it quickly. A body with a condition may reduce. */
static bool is_cheap(const rlx_graph *g, bool may_reduce) {
  uint64_t elements = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (may_reduce && is_reduction(n->op)) elements += rlx_dims_count(&rlx_graph_at(g, n->in[0])->type.shape);
    else if (!rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_VIEW | RLX_TRAIT_POINTWISE | RLX_TRAIT_MOVES))
      return false;
    if (!rlx_op_table_has(n->op, RLX_TRAIT_LEAF | RLX_TRAIT_VIEW)) elements += rlx_dims_count(&n->type.shape);
  }
  return elements <= MAX_ELEMENTS;
}

static rlx_status refuse(const char *why) { return RLX_FAIL(RLX_UNSUPPORTED, "a body that %s", why); }

static rlx_status add_output(onnx_importer *imp, uint32_t number, rlx_node n) {
  char name[32];
  snprintf(name, sizeof name, "out%u", (unsigned)number);
  rlx_graph_add_output(imp->g, name, n);
  return rlx_graph_status(imp->g);
}

/* A carried value must keep its type. */
static rlx_status add_carried(onnx_importer *imp, uint32_t number, const onnx_value *before, onnx_value *after) {
  if (after->type != before->type || !rlx_type_equal(&after->is, &before->is))
    return refuse("changes the type of what goes round");
  return add_output(imp, number, onnx_value_node(imp, after));
}

static rlx_status import_nodes(onnx_call *c, const onnx_graph *body, onnx_value **in, onnx_value **out) {
  onnx_body b = {.graph = body, .in = in, .n_in = body->n_inputs, .out = out, .n_out = body->n_outputs};
  RLX_TRY(onnx_import_body(c, &b));
  for (uint32_t i = 0; i < b.n_out; i++)
    if (out[i]->refused) return refuse("cannot be imported");
  return RLX_OK;
}

static rlx_status finish(const onnx_importer *imp, bool may_reduce) {
  RLX_TRY(rlx_graph_finish(imp->g));
  return is_cheap(imp->g, may_reduce) ? RLX_OK : refuse("costs more than writing it out");
}

/* Imports the body of a counted loop or a scan. */
static rlx_status import(onnx_call *c, onnx_loop *l, onnx_value **in, onnx_value **out) {
  onnx_importer *imp = c->imp;
  uint32_t number = 0;
  for (uint32_t i = 0; i < l->n_carried; i++)
    RLX_TRY(add_input(imp, l->carried[i]->type, &l->carried[i]->is, number++, &in[l->carried_at + i]));
  for (uint32_t i = 0; i < l->n_scanned; i++)
    RLX_TRY(add_input(imp, l->scanned_type[i], &l->slice[i], number++, &in[l->scanned_at + i]));
  if (l->always) in[l->always_at] = l->always;
  RLX_TRY(import_nodes(c, l->body, in, out));
  if (l->always) {
    RLX_TRY(onnx_know(imp, out[0]));
    if (!out[0]->known || out[0]->is.dtype != RLX_BOOL || rlx_dims_count(&out[0]->is.shape) != 1 ||
        !*(const uint8_t *)out[0]->known)
      return refuse("decides when it ends");
  }
  for (uint32_t i = l->first_out; i < l->body->n_outputs; i++) {
    uint32_t k = i - l->first_out;
    if (k < l->n_carried) RLX_TRY(add_carried(imp, k, l->carried[k], out[i]));
    else RLX_TRY(add_output(imp, k, onnx_value_node(imp, out[i])));
  }
  return finish(imp, false);
}

/* ---- the loop ---- */

/* Adds the scan node to the outer graph. */
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

/* A failed attempt is not an error, unless the failure would recur. */
static rlx_status forgiven(rlx_status s) {
  bool is_final = s == RLX_NO_MEMORY || s == RLX_CANCELLED || s == RLX_LIMIT || rlx_budget_is_stopped();
  return is_final ? s : RLX_OK;
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
  } else {
    s = forgiven(s);
  }
  rlx_graph_destroy(body);
  rlx_array_deinit(&in.captured);
  return s;
}

/* ---- loops that a computed condition ends ---- */

/* Carried: the iteration number, the condition, the loop's values. The body reads its condition as constant true. */
static rlx_status import_while(onnx_call *c, const onnx_while *w, onnx_value **in, onnx_value **out) {
  const rlx_type number = {RLX_I64, {.n = 0}}, flag = {RLX_BOOL, {.n = 0}};
  onnx_importer *imp = c->imp;
  onnx_value *unread;
  uint8_t *is_true = onnx_alloc(imp, 1, 1);
  if (!is_true) return RLX_FAIL(RLX_NO_MEMORY, "a flag");
  *is_true = 1;
  RLX_TRY(add_input(imp, ONNX_INT64, &number, 0, &in[0]));
  RLX_TRY(add_input(imp, ONNX_BOOL, &flag, 1, &unread));
  RLX_TRY(onnx_value_known(imp, ONNX_BOOL, &(rlx_tensor){.dtype = RLX_BOOL, .data = is_true}, &in[1]));
  for (uint32_t i = 0; i < w->n_carried; i++)
    RLX_TRY(add_input(imp, w->carried[i]->type, &w->carried[i]->is, 2 + i, &in[2 + i]));
  RLX_TRY(import_nodes(c, w->body, in, out));
  if (out[0]->is.dtype != RLX_BOOL || rlx_dims_count(&out[0]->is.shape) != 1) return refuse("has no condition");
  int64_t one = 1;
  rlx_node step = rlx_op_constant(imp->g, RLX_I64, RLX_SCALAR, &one, sizeof one);
  RLX_TRY(add_output(imp, 0, rlx_op_add(imp->g, in[0]->node, step)));
  RLX_TRY(add_output(imp, 1, onnx_one(c, onnx_value_node(imp, out[0]))));
  for (uint32_t i = 0; i < w->n_carried; i++) RLX_TRY(add_carried(imp, 2 + i, w->carried[i], out[1 + i]));
  return finish(imp, true);
}

/* Builds the `cond` graph, which has the body's inputs and returns the second one. */
static rlx_status make_condition(const rlx_graph *body, rlx_graph **out) {
  rlx_graph *g;
  RLX_TRY(rlx_graph_begin(&g));
  for (rlx_node id = 1; id < rlx_graph_end(body); id++) {
    const rlx_node_rec *n = rlx_graph_at(body, id);
    if (n->op == RLX_OP_input) rlx_op_input(g, RLX_ATTRS(input, n)->name, n->type.dtype, n->type.shape);
  }
  rlx_graph_add_output(g, "goes_on", rlx_graph_leaf(g, "in1"));
  rlx_status s = rlx_graph_finish(g);
  if (s) rlx_graph_destroy(g);
  else *out = g;
  return s;
}

static rlx_status add_while(onnx_call *c, onnx_while *w, const rlx_graph *body, const onnx_inner *in) {
  size_t n_round = 2 + (size_t)w->n_carried, n = n_round + in->captured.n;
  rlx_node *xs = onnx_alloc(c->imp, n, sizeof *xs), *outs = onnx_alloc(c->imp, n_round, sizeof *outs);
  rlx_graph *cond = NULL;
  if (!xs || !outs) return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  xs[0] = onnx_constant_i64(c, RLX_SCALAR, &w->first);
  xs[1] = onnx_one(c, onnx_node_of(c, w->cond));
  for (uint32_t i = 0; i < w->n_carried; i++) xs[2 + i] = onnx_node_of(c, w->carried[i]);
  for (size_t i = 0; i < in->captured.n; i++) xs[n_round + i] = onnx_node_of(c, in->captured.v[i]);
  RLX_TRY(make_condition(body, &cond));
  bool ends = w->max_trips >= 0 && w->max_trips <= w->fails_at;
  int64_t max_trips = ends ? w->max_trips - w->first : w->first - w->fails_at;
  rlx_op_while(c->g, cond, body, (int64_t)n_round, max_trips, xs, n, outs, n_round);
  rlx_graph_destroy(cond);
  RLX_TRY(rlx_graph_status(c->g));
  for (uint32_t i = 0; i < w->n_carried; i++)
    RLX_TRY(onnx_value_make(c, outs[2 + i], w->carried[i]->type, &w->carried[i]));
  return RLX_OK;
}

rlx_status onnx_while_as_graph(onnx_call *c, onnx_while *w, bool *done) {
  onnx_importer *imp = c->imp;
  onnx_inner in;
  outside o;
  *done = false;
  if (imp->inner || imp->client->no_loops || imp->is_symbolic) return RLX_OK;
  onnx_value **body_in = onnx_alloc(imp, (size_t)w->body->n_inputs + 1, sizeof *body_in);
  onnx_value **body_out = onnx_alloc(imp, (size_t)w->body->n_outputs + 1, sizeof *body_out);
  if (!body_in || !body_out) return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  RLX_TRY(enter(imp, &in, &o));
  rlx_status s = import_while(c, w, body_in, body_out);
  rlx_graph *body = leave(imp, &in, &o, s != RLX_OK);
  c->g = imp->g;
  *done = !s;
  s = s ? forgiven(s) : add_while(c, w, body, &in);
  rlx_graph_destroy(body);
  rlx_array_deinit(&in.captured);
  return s;
}
