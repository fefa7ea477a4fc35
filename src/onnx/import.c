/* Visits the nodes of the model: names, scopes, one call per node, and the report of nodes that cannot be imported. */
#include "onnx/import.h"

#include <inttypes.h>
#include <string.h>

#include "onnx/importer.h"

enum { MAX_REPORT = 2500 /* bytes of the message that lists refused nodes */ };

/* ---- names ---- */

onnx_value *onnx_lookup(const onnx_importer *imp, const onnx_scope *s, const char *name) {
  uint32_t i;
  if (!*name) return NULL;
  for (; s; s = s->outer)
    if (rlx_name_map_get(&s->names, name, &i)) return imp->values.v[i];
  return NULL;
}

static rlx_status name_value(onnx_scope *s, const char *name, const onnx_value *v) {
  return rlx_name_map_put(&s->names, name, v->index) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the name '%s'", name);
}

/* ---- what cannot be imported ---- */

static const char *domain_text(const char *domain) { return *domain ? domain : "ai.onnx"; }

/* One entry per node; long lists are truncated and counted. */
static void report_refused(onnx_importer *imp, const onnx_scope *s, const onnx_node *n, int64_t opset,
                           const char *reason) {
  imp->n_refused++;
  if (imp->refused.n > MAX_REPORT) return;
  rlx_str_add(&imp->refused, "; node %u '%s': %s (%s %" PRId64 ")%s%s: %s", (unsigned)n->number, n->name, n->op,
              domain_text(n->domain), opset, s->function ? " in function " : "", s->function ? s->function->name : "",
              reason);
}

static rlx_status fail_refused(const onnx_importer *imp) {
  if (!imp->n_refused) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "%u node%s cannot be imported%s%s", (unsigned)imp->n_refused,
                  imp->n_refused == 1 ? "" : "s", imp->refused.v ? imp->refused.v : "",
                  imp->refused.n > MAX_REPORT ? "; .." : "");
}

static rlx_status refuse_outputs(onnx_importer *imp, onnx_scope *s, const onnx_node *n) {
  for (uint32_t i = 0; i < n->n_out; i++) {
    if (!*n->out[i]) continue;
    onnx_value *v = onnx_value_new(imp);
    if (!v) return RLX_NO_MEMORY;
    v->refused = true;
    RLX_TRY(name_value(s, n->out[i], v));
  }
  return RLX_OK;
}

rlx_status onnx_stop(onnx_importer *imp, rlx_status s) {
  imp->is_stopped |= s != RLX_OK;
  return s;
}

/* ---- scopes ---- */

static rlx_status import_nodes(onnx_importer *imp, onnx_scope *s);

static rlx_status add_initializers(onnx_importer *imp, onnx_scope *s, const onnx_graph *g) {
  for (uint32_t i = 0; i < g->n_initializers; i++) {
    onnx_value *v, *there = NULL;
    const onnx_tensor *t = &g->initializers[i];
    uint32_t index;
    if (rlx_name_map_get(&s->names, t->name, &index)) there = imp->values.v[index]; /* an input that the caller gave */
    if (there) continue;
    RLX_TRY(onnx_value_from_tensor(imp, t, t->name, &v));
    RLX_TRY(name_value(s, t->name, v));
  }
  for (uint32_t i = 0; i < g->n_sparse; i++) {
    onnx_value *v;
    uint32_t index;
    if (rlx_name_map_get(&s->names, g->sparse[i].values.name, &index)) continue;
    RLX_TRY(onnx_value_from_sparse(imp, &g->sparse[i], &v));
    RLX_TRY(name_value(s, g->sparse[i].values.name, v));
  }
  return RLX_OK;
}

/* Imports all nodes of a scope. */
static rlx_status enter(onnx_importer *imp, onnx_scope *s) {
  if (s->depth > ONNX_MAX_DEPTH)
    return onnx_stop(imp, RLX_FAIL(RLX_UNSUPPORTED, "graphs and functions more than %d deep", ONNX_MAX_DEPTH));
  imp->scope = s;
  rlx_status status = import_nodes(imp, s);
  imp->scope = s->caller;
  return status;
}

static const char **output_names(onnx_importer *imp, const onnx_graph *g) {
  const char **v = rlx_bump_array(&imp->bump, const char *, (size_t)g->n_outputs + 1);
  for (uint32_t i = 0; v && i < g->n_outputs; i++) v[i] = g->outputs[i].name;
  return v;
}

static rlx_status import_body(onnx_call *c, const onnx_body *b, onnx_scope *s) {
  onnx_importer *imp = c->imp;
  if (!(s->outputs = output_names(imp, b->graph))) return RLX_FAIL(RLX_NO_MEMORY, "a sub-graph");
  if (b->n_in != b->graph->n_inputs || b->n_out != b->graph->n_outputs)
    return RLX_FAIL(RLX_INVALID, "sub-graph '%s' has %u inputs and %u outputs, expected %u and %u", b->graph->name,
                    (unsigned)b->graph->n_inputs, (unsigned)b->graph->n_outputs, (unsigned)b->n_in, (unsigned)b->n_out);
  for (uint32_t i = 0; i < b->n_in; i++) RLX_TRY(name_value(s, b->graph->inputs[i].name, b->in[i]));
  RLX_TRY(add_initializers(imp, s, b->graph));
  RLX_TRY(enter(imp, s));
  for (uint32_t i = 0; i < b->n_out; i++)
    if (!(b->out[i] = onnx_lookup(imp, s, s->outputs[i])))
      return RLX_FAIL(RLX_INVALID, "output '%s' of sub-graph '%s' is not computed", s->outputs[i], b->graph->name);
  return RLX_OK;
}

rlx_status onnx_import_body(onnx_call *c, const onnx_body *b) {
  onnx_scope s = {.outer = c->scope,
                  .caller = c->scope,
                  .nodes = b->graph->nodes,
                  .n_nodes = b->graph->n_nodes,
                  .n_outputs = b->graph->n_outputs,
                  .opsets = c->scope->opsets,
                  .n_opsets = c->scope->n_opsets,
                  .function = c->scope->function,
                  .call = c->scope->call,
                  .held = b->held,
                  .n_held = b->n_held,
                  .depth = c->scope->depth + 1};
  rlx_status status = import_body(c, b, &s);
  rlx_name_map_deinit(&s.names);
  c->g = c->imp->g;
  return status;
}

/* ---- functions of the model ---- */

static rlx_status import_function(onnx_call *c, const onnx_function *f, onnx_scope *s) {
  if (c->n_in > f->n_in || c->n_out > f->n_out)
    return RLX_FAIL(RLX_INVALID, "function '%s' has %u inputs and %u outputs, and is called with %u and %u", f->name,
                    (unsigned)f->n_in, (unsigned)f->n_out, (unsigned)c->n_in, (unsigned)c->n_out);
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i]) RLX_TRY(name_value(s, f->in[i], c->in[i]));
  RLX_TRY(enter(c->imp, s));
  for (uint32_t i = 0; i < c->n_out; i++) c->out[i] = onnx_lookup(c->imp, s, f->out[i]);
  return RLX_OK;
}

static rlx_status call_function(onnx_call *c, const onnx_function *f) {
  onnx_scope s = {.caller = c->scope,
                  .nodes = f->nodes,
                  .n_nodes = f->n_nodes,
                  .outputs = f->out,
                  .n_outputs = f->n_out,
                  .opsets = f->opsets,
                  .n_opsets = f->n_opsets,
                  .function = f,
                  .call = c->node,
                  .depth = c->scope->depth + 1};
  rlx_status status = import_function(c, f, &s);
  rlx_name_map_deinit(&s.names);
  c->g = c->imp->g;
  return status;
}

/* ---- nodes ---- */

static bool reads_refused(const onnx_call *c) {
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i] && c->in[i]->refused) return true;
  return false;
}

/* A tensor of a type without a carrier is reported at the first node that reads it. */
static const onnx_value *unsupported_type(const onnx_call *c) {
  for (uint32_t i = 0; i < c->n_in; i++)
    if (c->in[i] && c->in[i]->refused && c->in[i]->type) return c->in[i];
  return NULL;
}

static rlx_status call_row(onnx_call *c, const onnx_op_row *row) {
  if (c->n_in < row->min_in || (row->max_in != 255 && c->n_in > row->max_in))
    return RLX_FAIL(RLX_INVALID, "%u inputs, expected %u to %u", (unsigned)c->n_in, row->min_in, row->max_in);
  for (uint32_t i = 0; i < row->min_in; i++)
    if (!c->in[i] && row->max_in != 255) return RLX_FAIL(RLX_INVALID, "input %u is left out", (unsigned)i);
  rlx_status s;
  rlx_tensor ignored;
  while ((s = row->fn(c)) == ONNX_AGAIN) RLX_TRY(onnx_force(c, c->imp->asked, c->imp->why, &ignored));
  return s ? s : onnx_check_attributes(c);
}

static rlx_status call_node(onnx_call *c) {
  char reason[128];
  onnx_importer *imp = c->imp;
  const onnx_function *f = onnx_find_function(imp->m, c->node);
  const onnx_value *odd = unsupported_type(c);
  if (odd) {
    snprintf(reason, sizeof reason, "it reads elements of type %s", onnx_type_name(odd->type));
    report_refused(imp, c->scope, c->node, c->opset, reason);
    return RLX_UNSUPPORTED;
  }
  if (reads_refused(c)) return RLX_UNSUPPORTED; /* already reported */
  if (f) return call_function(c, f);
  const onnx_op_row *row = onnx_op_find(c->node->domain, c->node->op, c->opset);
  if (!row) {
    report_refused(imp, c->scope, c->node, c->opset, "RLX does not have this op");
    return RLX_UNSUPPORTED;
  }
  RLX_TRY(onnx_check_open(c, row->takes_open));
  uint32_t before = imp->n_refused;
  rlx_status s = call_row(c, row);
  if (imp->needs_numbers) return RLX_UNSUPPORTED;
  if (s == RLX_UNSUPPORTED && imp->n_refused == before && !imp->is_stopped)
    report_refused(imp, c->scope, c->node, c->opset, rlx_message());
  return s;
}

static rlx_status name_outputs(onnx_call *c) {
  for (uint32_t i = 0; i < c->n_out; i++) {
    if (!*c->node->out[i]) continue;
    if (!c->out[i])
      return RLX_FAIL(RLX_INVALID, "output %u ('%s') is not one of this op", (unsigned)i, c->node->out[i]);
    RLX_TRY(name_value(c->scope, c->node->out[i], c->out[i]));
  }
  return RLX_OK;
}

static rlx_status run_call(onnx_call *c) {
  rlx_status s = call_node(c);
  if (s == RLX_UNSUPPORTED && !c->imp->is_stopped && rlx_graph_status(c->imp->g) == RLX_OK)
    return refuse_outputs(c->imp, c->scope, c->node);
  if (!s) s = rlx_graph_status(c->imp->g);
  if (!s) s = onnx_fold_new(c->imp);
  if (!s) s = name_outputs(c);
  return s;
}

static rlx_status import_node(onnx_importer *imp, onnx_scope *s, const onnx_node *n) {
  onnx_call c = {.imp = imp, .scope = s, .node = n, .g = imp->g, .n_in = n->n_in, .n_out = n->n_out};
  if (++imp->n_imported > ONNX_MAX_IMPORTED)
    return onnx_stop(
      imp, RLX_FAIL(RLX_UNSUPPORTED, "more than %d nodes, with loops and functions written out", ONNX_MAX_IMPORTED));
  c.in = rlx_bump_array(&imp->bump, onnx_value *, (size_t)n->n_in + 1);
  c.out = rlx_bump_array(&imp->bump, onnx_value *, (size_t)n->n_out + 1);
  c.asked = rlx_bump_array(&imp->bump, bool, (size_t)n->n_attributes + 1);
  if (!c.in || !c.out || !c.asked) return RLX_FAIL(RLX_NO_MEMORY, "the inputs of a node");
  c.opset = onnx_opset_version(s->opsets, s->n_opsets, n->domain);
  for (uint32_t i = 0; i < n->n_in; i++) {
    c.in[i] = onnx_lookup(imp, s, n->in[i]);
    /* In a function, an input that the call leaves out is a name without a value. */
    if (!c.in[i] && *n->in[i] && !s->function) return RLX_FAIL(RLX_INVALID, "input '%s' is not computed", n->in[i]);
  }
  while (c.n_in && !c.in[c.n_in - 1]) c.n_in--; /* trailing inputs that are left out do not count */
  return run_call(&c);
}

static rlx_status import_nodes(onnx_importer *imp, onnx_scope *s) {
  for (s->at = 0; s->at < s->n_nodes; s->at++) {
    const onnx_node *n = &s->nodes[s->at];
    RLX_TRY_AT(import_node(imp, s, n), "node %u '%s' (%s)", (unsigned)n->number, n->name, n->op);
  }
  return RLX_OK;
}

/* ---- the model's inputs ---- */

static const onnx_input *find_given(const onnx_input *v, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(v[i].name, name) == 0) return &v[i];
  return NULL;
}

static rlx_status check_shape(const onnx_value_info *d, const rlx_dims *shape) {
  if (d->rank >= 0 && d->rank != shape->n)
    return RLX_FAIL(RLX_INVALID, "input '%s' has %d axes, expected %d", d->name, (int)shape->n, (int)d->rank);
  for (int i = 0; d->rank >= 0 && i < d->rank; i++)
    if (d->dims[i].size >= 0 && d->dims[i].size != shape->v[i])
      return RLX_FAIL(RLX_INVALID, "input '%s': axis %d has %" PRId64 " elements, expected %" PRId64, d->name, i,
                      shape->v[i], d->dims[i].size);
  return RLX_OK;
}

/* The axes that are symbols, with the given sizes as samples. */
static rlx_status add_symbols(onnx_importer *imp, const onnx_input *given, rlx_dims *shape) {
  char name[16];
  for (int i = 0; i < shape->n; i++) {
    if (!given->symbol[i]) continue;
    snprintf(name, sizeof name, "n%u", (unsigned)given->symbol[i]);
    imp->is_symbolic = true;
    RLX_TRY(rlx_graph_use_algebra(imp->g));
    /* Symbols are numbered in order of appearance: one that exists already is not added again. */
    if (given->symbol[i] <= rlx_graph_symbol_count(imp->g)) shape->v[i] = rlx_dim_from_symbol(given->symbol[i] - 1u);
    else shape->v[i] = rlx_graph_add_sample(imp->g, name, shape->v[i]);
  }
  return rlx_graph_status(imp->g);
}

static rlx_status add_input(onnx_importer *imp, onnx_scope *s, const onnx_value_info *d, const onnx_input *given) {
  rlx_dtype carrier = onnx_type_carrier(d->type);
  if (strcmp(d->kind, "tensor") != 0 || carrier == RLX_DTYPE_UNKNOWN)
    return RLX_FAIL(RLX_UNSUPPORTED, "input '%s' is a %s%s%s", d->name, *d->kind ? d->kind : "value of no type",
                    strcmp(d->kind, "tensor") ? "" : " of ", strcmp(d->kind, "tensor") ? "" : onnx_type_name(d->type));
  RLX_TRY(check_shape(d, &given->type.shape));
  RLX_TRY_AT(onnx_check_extent(&given->type.shape), "input '%s'", d->name);
  onnx_value *v = onnx_value_new(imp);
  if (!v) return RLX_NO_MEMORY;
  v->type = d->type;
  v->is = (rlx_type){carrier, given->type.shape};
  RLX_TRY(add_symbols(imp, given, &v->is.shape));
  RLX_TRY(onnx_live_add(imp, v, d->name));
  return name_value(s, d->name, v);
}

static rlx_status add_inputs(onnx_importer *imp, onnx_scope *s, const onnx_input *inputs, size_t n) {
  const onnx_graph *g = imp->m->graph;
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const onnx_input *given = find_given(inputs, n, g->inputs[i].name);
    if (given) RLX_TRY(add_input(imp, s, &g->inputs[i], given));
    else if (!onnx_has_default(imp->m, g->inputs[i].name))
      return RLX_FAIL(RLX_INVALID, "input '%s' has no value", g->inputs[i].name);
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t ignored;
    if (!rlx_name_map_get(&imp->m->inputs, inputs[i].name, &ignored))
      return RLX_FAIL(RLX_NOT_FOUND, "the model has no input '%s'", inputs[i].name);
  }
  return RLX_OK;
}

/* Refused outputs are reported by their nodes, except an output that is an input of an unsupported type. */
static rlx_status import_main(onnx_importer *imp, onnx_scope *s, const onnx_input *inputs, size_t n) {
  imp->scope = s;
  RLX_TRY(rlx_graph_begin(&imp->g));
  RLX_TRY(add_inputs(imp, s, inputs, n));
  RLX_TRY(add_initializers(imp, s, imp->m->graph));
  if (!(s->outputs = output_names(imp, imp->m->graph))) return RLX_FAIL(RLX_NO_MEMORY, "the outputs");
  rlx_status status = import_nodes(imp, s);
  if (status == RLX_UNSUPPORTED && imp->n_refused && !imp->is_stopped) return fail_refused(imp);
  RLX_TRY(status);
  RLX_TRY(fail_refused(imp));
  return onnx_finish(imp);
}

rlx_status onnx_import(rlx_onnx *m, const onnx_input *inputs, size_t n, uint64_t max_trips, const onnx_client *client) {
  onnx_importer imp = {.m = m, .client = client, .folded = 1, .max_trips = max_trips ? max_trips : 1000000};
  onnx_scope s = {.nodes = m->graph->nodes,
                  .n_nodes = m->graph->n_nodes,
                  .n_outputs = m->graph->n_outputs,
                  .opsets = m->opsets,
                  .n_opsets = m->n_opsets};
  rlx_status status = import_main(&imp, &s, inputs, n);
  rlx_name_map_deinit(&s.names);
  rlx_graph_destroy(imp.g);
  for (size_t i = 0; i < imp.blobs.n; i++) rlx_blob_release(imp.blobs.v[i]);
  rlx_array_deinit(&imp.blobs);
  rlx_array_deinit(&imp.values);
  rlx_array_deinit(&imp.known);
  rlx_array_deinit(&imp.open);
  rlx_array_deinit(&imp.live);
  rlx_str_deinit(&imp.refused);
  rlx_bump_deinit(&imp.bump);
  return status;
}
