/* Control flow, regions and custom ops: kernels that run a sub-graph or a callback.
 *
 * A control node has several values (the outputs of the sub-graph that ran); `index` selects one. rlx_control_run_all
 * computes all values in one execution, so an evaluator can compute the siblings of a node at once. Carried values use
 * two sets of buffers, whatever the number of iterations (runner.h). */
#include "ref/runner.h"

#include "ir/custom.h"

static rlx_status runner_of(const rlx_ref_call *c, rlx_subgraph_runner **out) {
  *out = c->runner;
  return c->runner ? RLX_OK
                   : RLX_FAIL(RLX_UNSUPPORTED, "%s runs inside an evaluator only", rlx_op_table_get(c->node->op)->name);
}

static rlx_type output_type(const rlx_graph *g, size_t i) { return rlx_graph_at(g, g->outputs.v[i].node)->type; }

/* ---- carried values ---- */

/* The inputs and outputs of a loop's body. */
typedef struct loop {
  const rlx_graph *body;
  size_t n_carried, n_outputs;
  const rlx_tensor **now; /* the body's inputs for the next iteration */
  rlx_tensor *next[2];    /* the body's outputs; alternating, so that what is read is never written */
} loop;

static rlx_status loop_init(rlx_ref_call *c, const rlx_graph *body, size_t n_carried, loop *l) {
  *l = (loop){.body = body, .n_carried = n_carried, .n_outputs = body->outputs.n};
  RLX_TRY(rlx_ref_scratch(c, c->n_in, sizeof *l->now, &l->now));
  memcpy(l->now, c->in, c->n_in * sizeof *l->now);
  for (int side = 0; side < 2; side++) {
    RLX_TRY(rlx_ref_scratch(c, l->n_outputs, sizeof(rlx_tensor), &l->next[side]));
    for (size_t i = 0; i < l->n_outputs; i++) {
      rlx_type t = output_type(body, i);
      rlx_tensor *value = &l->next[side][i];
      *value = (rlx_tensor){.dtype = t.dtype, .shape = t.shape};
      RLX_TRY(rlx_tensor_bytes(t.dtype, t.shape, &value->bytes));
      if (i < n_carried) RLX_TRY(rlx_ref_scratch(c, value->bytes, 1, &value->data));
    }
  }
  return RLX_OK;
}

static void loop_carry(loop *l, uint64_t trip) {
  for (size_t i = 0; i < l->n_carried; i++) l->now[i] = &l->next[trip & 1][i];
}

static void loop_finish(rlx_ref_call *c, const loop *l, rlx_tensor *outputs) {
  for (size_t i = 0; i < l->n_carried; i++)
    if (outputs[i].data) rlx_ref_copy(c, outputs[i].data, l->now[i]->data, l->now[i]->bytes);
}

/* Opens a cache for one sub-graph of a loop; inputs from invariant_from on are loop-invariant. */
static rlx_status open_cache(rlx_ref_call *c, const rlx_graph *g, size_t invariant_from, rlx_loop_cache **out) {
  bool *invariant;
  RLX_TRY(rlx_ref_scratch(c, c->n_in, sizeof *invariant, &invariant));
  for (size_t i = invariant_from; i < c->n_in; i++) invariant[i] = true;
  return c->runner->loop_begin(c->runner, g, invariant, out);
}

/* ---- while ---- */

enum { DEFAULT_TRIPS = 1 << 24 }; /* of a loop without max_trips */

static rlx_status while_trips(rlx_ref_call *c, loop *l, rlx_loop_cache *cond_cache, rlx_loop_cache *body_cache) {
  const rlx_attrs_while *a = c->attrs;
  rlx_subgraph_runner *r = c->runner;
  uint64_t bound = a->max_trips < 0 ? (uint64_t)-a->max_trips : a->max_trips ? UINT64_MAX : DEFAULT_TRIPS;
  for (uint64_t trip = 0; a->max_trips <= 0 || trip < (uint64_t)a->max_trips; trip++) {
    uint8_t goes_on = 0;
    rlx_tensor cond = {.dtype = RLX_BOOL, .data = &goes_on, .bytes = 1};
    RLX_TRY_AT(r->run(r, a->cond, l->now, cond_cache, &cond), "cond of trip %llu", (unsigned long long)trip);
    if (!goes_on) break;
    if (trip == bound)
      return RLX_FAIL(RLX_LIMIT, "has not ended after %llu trips; max_trips may allow more", (unsigned long long)bound);
    RLX_TRY_AT(r->run(r, l->body, l->now, body_cache, l->next[trip & 1]), "trip %llu", (unsigned long long)trip);
    loop_carry(l, trip);
  }
  return RLX_OK;
}

static rlx_status run_while(rlx_ref_call *c, rlx_tensor *outputs) {
  const rlx_attrs_while *a = c->attrs;
  rlx_loop_cache *cond_cache = NULL, *body_cache = NULL;
  loop l;
  RLX_TRY(loop_init(c, a->body, (size_t)a->carried, &l));
  rlx_status s = open_cache(c, a->cond, l.n_carried, &cond_cache);
  if (!s) s = open_cache(c, a->body, l.n_carried, &body_cache);
  if (!s) s = while_trips(c, &l, cond_cache, body_cache);
  if (!s) loop_finish(c, &l, outputs);
  c->runner->loop_end(c->runner, cond_cache);
  c->runner->loop_end(c->runner, body_cache);
  return s;
}

/* ---- scan ---- */

/* Points a tensor at slice `at` of the whole, or at NULL where the whole is not needed. */
static void point_at_slice(rlx_tensor *slice, const rlx_tensor *whole, size_t at) {
  slice->data = whole->data ? (char *)whole->data + at * slice->bytes : NULL;
}

static rlx_status scan_trips(rlx_ref_call *c, loop *l, rlx_tensor *slices, rlx_loop_cache *cache, rlx_tensor *outputs) {
  const rlx_attrs_scan *a = c->attrs;
  rlx_subgraph_runner *r = c->runner;
  size_t n_trips = (size_t)c->in[l->n_carried]->shape.v[0];
  for (size_t trip = 0; trip < n_trips; trip++) {
    size_t at = a->reverse ? n_trips - 1 - trip : trip;
    rlx_tensor *next = l->next[trip & 1];
    for (size_t i = 0; i < (size_t)a->scanned; i++) point_at_slice(&slices[i], c->in[l->n_carried + i], at);
    for (size_t i = l->n_carried; i < l->n_outputs; i++) point_at_slice(&next[i], &outputs[i], at);
    RLX_TRY_AT(r->run(r, l->body, l->now, cache, next), "trip %zu", trip);
    loop_carry(l, trip);
  }
  return RLX_OK;
}

/* The results of slice i are at index i of the stacked result, in either direction. */
static rlx_status run_scan(rlx_ref_call *c, rlx_tensor *outputs) {
  const rlx_attrs_scan *a = c->attrs;
  size_t n_carried = (size_t)a->carried, n_scanned = (size_t)a->scanned;
  rlx_tensor *slices;
  loop l;
  RLX_TRY(loop_init(c, a->body, n_carried, &l));
  RLX_TRY(rlx_ref_scratch(c, n_scanned, sizeof *slices, &slices));
  for (size_t i = 0; i < n_scanned; i++) {
    const rlx_tensor *whole = c->in[n_carried + i];
    slices[i] = (rlx_tensor){.dtype = whole->dtype, .shape = {.n = whole->shape.n - 1}};
    memcpy(slices[i].shape.v, whole->shape.v + 1, (size_t)slices[i].shape.n * sizeof whole->shape.v[0]);
    RLX_TRY(rlx_tensor_bytes(whole->dtype, slices[i].shape, &slices[i].bytes));
    l.now[n_carried + i] = &slices[i];
  }
  rlx_loop_cache *cache = NULL;
  rlx_status s = open_cache(c, a->body, n_carried + n_scanned, &cache);
  if (!s) s = scan_trips(c, &l, slices, cache, outputs);
  if (!s) loop_finish(c, &l, outputs);
  c->runner->loop_end(c->runner, cache);
  return s;
}

/* ---- all values, or one ---- */

uint32_t rlx_control_count(const rlx_node_rec *node) {
  switch (node->op) {
    case RLX_OP_if: return (uint32_t)RLX_ATTRS(if, node)->on_true->outputs.n;
    case RLX_OP_while: return (uint32_t)RLX_ATTRS(while, node)->carried;
    case RLX_OP_scan: return (uint32_t)RLX_ATTRS(scan, node)->body->outputs.n;
    default: return 1;
  }
}

rlx_status rlx_control_run_all(rlx_ref_call *c, rlx_tensor *outputs) {
  rlx_subgraph_runner *r;
  RLX_TRY(runner_of(c, &r));
  switch (c->node->op) {
    case RLX_OP_if: {
      bool holds = rlx_load_int(c->in[0], 0) != 0;
      const rlx_graph *g = holds ? RLX_ATTRS(if, c)->on_true : RLX_ATTRS(if, c)->on_false;
      RLX_TRY_AT(r->run(r, g, c->in + 1, NULL, outputs), "%s", holds ? "on_true" : "on_false");
      return RLX_OK;
    }
    case RLX_OP_while: return run_while(c, outputs);
    case RLX_OP_scan: return run_scan(c, outputs);
    default: return RLX_FAIL(RLX_INVALID, "%s is not control flow", rlx_op_table_get(c->node->op)->name);
  }
}

static rlx_status run_one(rlx_ref_call *c, int64_t index) {
  rlx_tensor *outputs;
  RLX_TRY(rlx_ref_scratch(c, rlx_control_count(c->node), sizeof *outputs, &outputs));
  outputs[index] = *c->out;
  return rlx_control_run_all(c, outputs);
}

rlx_status rlx_ref_if(rlx_ref_call *c) { return run_one(c, RLX_ATTRS(if, c)->index); }
rlx_status rlx_ref_while(rlx_ref_call *c) { return run_one(c, RLX_ATTRS(while, c)->index); }
rlx_status rlx_ref_scan(rlx_ref_call *c) { return run_one(c, RLX_ATTRS(scan, c)->index); }

/* Op by op, each value rounded to its own dtype: bit-identical to the graph before fusion. */
rlx_status rlx_ref_region(rlx_ref_call *c) {
  rlx_subgraph_runner *r;
  RLX_TRY(runner_of(c, &r));
  return r->run(r, RLX_ATTRS(region, c)->body, c->in, NULL, c->out);
}

/* ---- custom ---- */

rlx_status rlx_ref_custom(rlx_ref_call *c) {
  const rlx_attrs_custom *a = c->attrs;
  rlx_custom_entry entry;
  RLX_TRY(rlx_custom_find(a->name, &entry));
  rlx_tensor out = *c->out; /* a copy: the callback may change only the bytes */
  rlx_custom_call call = {.inputs = c->in, .n_inputs = c->n_in, .output = &out, .config = a->config ? a->config : ""};
  RLX_TRY(rlx_custom_invoke(&entry, "kernel", entry.kernel, &call));
  const uint8_t *bytes = c->out->data;
  for (size_t i = 0, n = c->out->dtype == RLX_BOOL ? rlx_tensor_count(c->out) : 0; i < n; i++)
    if (bytes[i] > 1)
      return RLX_FAIL(RLX_INVALID, "the kernel of '%s' wrote %u to a bool, not 0 or 1", a->name, (unsigned)bytes[i]);
  return RLX_OK;
}
