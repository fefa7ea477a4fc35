/* Evaluates a graph node by node, in topological order, with the reference kernels.
 *
 * A value is allocated when its node runs and freed after its last reader. Results are filled with a poison pattern
 * before the kernel runs, so that an element it does not write shows. The same loop runs sub-graphs; it implements the
 * interface of runner.h. Dead nodes are not run. */
#include "ref/eval.h"

#include "base/budget.h"
#include "ref/runner.h"

enum { POISON = 0xcb };

/* Computed before a run: which nodes are live and how often each value is read. */
typedef struct usage {
  uint32_t *reads; /* by node; outputs and the ends of update chains count once more; 0: not run */
  uint32_t max_inputs;
} usage;

/* The values of one run. */
typedef struct frame {
  const rlx_graph *graph;
  rlx_tensor *value; /* by node; data NULL until computed */
  bool *owned;       /* freed with the frame */
  uint32_t *left;    /* remaining readers */
  const rlx_tensor **in;
} frame;

struct rlx_loop_cache {
  const rlx_graph *graph;
  usage use;
  bool *kept;        /* depends only on constants and loop-invariant inputs */
  rlx_tensor *value; /* by node; of kept ones once computed */
};

typedef struct runner {
  rlx_subgraph_runner base;
  const rlx_eval_context *ctx;
} runner;

rlx_status rlx_tensor_create(const rlx_type *type, rlx_tensor *out) {
  *out = (rlx_tensor){.dtype = type->dtype, .shape = type->shape};
  size_t bytes;
  RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &bytes));
  out->data = rlx_mem_alloc(bytes);
  if (!out->data) return RLX_FAIL(RLX_NO_MEMORY, "a tensor of %zu bytes", bytes);
  out->bytes = bytes;
  return RLX_OK;
}

void rlx_tensor_deinit(rlx_tensor *t) {
  rlx_mem_free(t->data);
  t->data = NULL;
}

rlx_status rlx_tensor_check(const rlx_tensor *t) {
  size_t bytes;
  RLX_TRY(rlx_tensor_bytes(t->dtype, t->shape, &bytes));
  if (t->bytes != bytes)
    return RLX_FAIL(RLX_INVALID, "has %zu bytes but %s%s takes %zu", t->bytes, rlx_dtype_name(t->dtype),
                    RLX_DIMS_TEXT(t->shape), bytes);
  if (bytes && !t->data) return RLX_FAIL(RLX_INVALID, "has no data");
  for (size_t i = 0; t->dtype == RLX_BOOL && i < bytes; i++)
    if (((const uint8_t *)t->data)[i] > 1)
      return RLX_FAIL(RLX_INVALID, "element %zu is %u, not 0 or 1", i, (unsigned)((const uint8_t *)t->data)[i]);
  return RLX_OK;
}

/* ---- liveness ---- */

static void usage_deinit(usage *u) {
  rlx_mem_free(u->reads);
  *u = (usage){0};
}

static rlx_status usage_init(const rlx_graph *g, usage *u) {
  *u = (usage){.reads = rlx_mem_calloc(rlx_graph_end(g), sizeof *u->reads)};
  if (!u->reads) return RLX_FAIL(RLX_NO_MEMORY, "evaluating %u nodes", (unsigned)rlx_graph_end(g));
  u->max_inputs = rlx_graph_count_uses(g, u->reads);
  return RLX_OK;
}

/* ---- one run's values ---- */

static void frame_deinit(frame *f) {
  for (uint32_t id = 1; f->owned && f->value && id < rlx_graph_end(f->graph); id++)
    if (f->owned[id]) rlx_mem_free(f->value[id].data);
  rlx_mem_free(f->value);
  rlx_mem_free(f->owned);
  rlx_mem_free(f->left);
  rlx_mem_free((void *)f->in);
}

static rlx_status frame_init(const rlx_graph *g, const usage *u, frame *f) {
  uint32_t end = rlx_graph_end(g);
  *f = (frame){.graph = g,
               .value = rlx_mem_calloc(end, sizeof *f->value),
               .owned = rlx_mem_calloc(end, sizeof *f->owned),
               .left = rlx_mem_alloc(end * sizeof *f->left),
               .in = rlx_mem_calloc((size_t)u->max_inputs + 1, sizeof *f->in)};
  if (!f->value || !f->owned || !f->left || !f->in) {
    frame_deinit(f);
    return RLX_FAIL(RLX_NO_MEMORY, "evaluating %u nodes", (unsigned)end);
  }
  memcpy(f->left, u->reads, end * sizeof *f->left);
  return RLX_OK;
}

static void drop(frame *f, rlx_node id) {
  if (--f->left[id] == 0 && f->owned[id]) {
    rlx_mem_free(f->value[id].data);
    f->value[id].data = NULL;
    f->owned[id] = false;
  }
}

/* Filling or copying a large tensor takes long, so both poll in between; the caller checks the budget afterwards. */
enum { CHUNK_BYTES = 1 << 22 };

static void poison(const rlx_tensor *t) {
  for (size_t at = 0, n; at < t->bytes && !(at && rlx_budget_stops()); at += n) {
    n = t->bytes - at < CHUNK_BYTES ? t->bytes - at : CHUNK_BYTES;
    memset((char *)t->data + at, POISON, n);
  }
}

static void copy_value(void *to, const rlx_tensor *from) {
  for (size_t at = 0, n; at < from->bytes && !(at && rlx_budget_stops()); at += n) {
    n = from->bytes - at < CHUNK_BYTES ? from->bytes - at : CHUNK_BYTES;
    memcpy((char *)to + at, (const char *)from->data + at, n);
  }
}

static rlx_status make_value(frame *f, rlx_node id) {
  RLX_TRY(rlx_tensor_create(&rlx_graph_at(f->graph, id)->type, &f->value[id]));
  f->owned[id] = true;
  poison(&f->value[id]);
  return RLX_OK;
}

/* ---- control nodes that differ only in `index` share one execution ---- */

static int64_t *control_index(const rlx_op_table_row *row, const void *attrs) {
  return rlx_attr_named(row, attrs, "index");
}

/* The builder creates siblings next to each other, so only SEARCH nodes after `id` are searched. One farther away is
 * still correct, but computed again. */
static rlx_status run_control(frame *f, rlx_ref_call *c, rlx_node id, const usage *u) {
  enum { SEARCH = 64 };
  const rlx_node_rec *n = rlx_graph_at(f->graph, id);
  const rlx_op_table_row *row = rlx_op_table_get(n->op);
  uint32_t count = rlx_control_count(n);
  rlx_tensor *outputs = rlx_bump_array(c->scratch, rlx_tensor, count);
  if (!outputs) return RLX_FAIL(RLX_NO_MEMORY, "%u results", (unsigned)count);
  for (rlx_node k = id; k < rlx_graph_end(f->graph) && k < id + SEARCH; k++) {
    if (!u->reads[k] || (k != id && !rlx_node_is_sibling(n, rlx_graph_at(f->graph, k)))) continue;
    rlx_tensor *slot = &outputs[*control_index(row, rlx_graph_at(f->graph, k)->attrs)];
    if (slot->data) continue; /* the same index twice */
    RLX_TRY(make_value(f, k));
    *slot = f->value[k];
  }
  return rlx_control_run_all(c, outputs);
}

/* ---- running ---- */

static rlx_ref_call make_call(const rlx_node_rec *n, const rlx_tensor *const *in, runner *r, rlx_bump *scratch) {
  return (rlx_ref_call){.node = n,
                        .attrs = n->attrs,
                        .in = in,
                        .n_in = n->n_in,
                        .draw = r->ctx->draw,
                        .scratch = scratch,
                        .runner = &r->base};
}

/* A result without elements needs no kernel, which might loop over its other axes for days. Every result counts as at
 * least one visit, so that a loop of empty results ends by its count as well. */
static rlx_status call_kernel(rlx_ref_call *c) {
  c->visits = 1;
  rlx_status s = c->out->bytes ? rlx_ref_get(c->node->op)(c) : RLX_OK;
  bool stops = rlx_budget_count_work(c->visits);
  return !s && stops ? RLX_FAIL(RLX_CANCELLED, "stopped by the caller") : s;
}

static rlx_status run_node(frame *f, runner *r, rlx_node id, const usage *u) {
  const rlx_node_rec *n = rlx_graph_at(f->graph, id);
  for (uint32_t i = 0; i < n->n_in; i++) f->in[i] = n->in[i] ? &f->value[n->in[i]] : NULL;
  rlx_bump scratch = {0};
  rlx_ref_call c = make_call(n, f->in, r, &scratch);
  rlx_status s;
  if (rlx_op_table_has(n->op, RLX_TRAIT_CONTROL)) {
    s = run_control(f, &c, id, u);
  } else {
    s = make_value(f, id);
    c.out = &f->value[id];
    if (!s) s = call_kernel(&c);
  }
  rlx_bump_deinit(&scratch);
  return s;
}

static bool is_cancelled(const rlx_eval_context *ctx) { return rlx_stops(ctx->cancel, ctx->cancel_user); }

static rlx_status run_nodes(frame *f, runner *r, const usage *u, rlx_loop_cache *loop, bool observe) {
  if (is_cancelled(r->ctx)) return RLX_FAIL(RLX_CANCELLED, "stopped by the caller");
  for (rlx_node id = 1; id < rlx_graph_end(f->graph); id++) {
    const rlx_node_rec *n = rlx_graph_at(f->graph, id);
    if (!u->reads[id]) continue;
    if (!f->value[id].data) { /* leaves, kept values and siblings are set already */
      if (is_cancelled(r->ctx)) return RLX_FAIL(RLX_CANCELLED, "stopped by the caller at node %u", (unsigned)id);
      RLX_TRY_AT(run_node(f, r, id, u), "node %u (%s)", (unsigned)id, rlx_op_table_get(n->op)->name);
    }
    if (observe && r->ctx->observe) r->ctx->observe(r->ctx->observe_user, id, &f->value[id]);
    if (loop && loop->kept[id] && f->owned[id]) { /* ownership moves to the cache */
      loop->value[id] = f->value[id];
      f->owned[id] = false;
    }
    for (uint32_t i = 0; i < n->n_in; i++)
      if (n->in[i]) drop(f, n->in[i]);
  }
  return RLX_OK;
}

static rlx_status copy_outputs(const frame *f, rlx_tensor *outputs) {
  for (size_t i = 0; i < f->graph->outputs.n; i++) {
    const rlx_tensor *v = &f->value[f->graph->outputs.v[i].node];
    if (outputs[i].data) copy_value(outputs[i].data, v);
  }
  return rlx_budget_is_stopped() ? RLX_FAIL(RLX_CANCELLED, "stopped by the caller") : RLX_OK;
}

/* ---- sub-graphs ---- */

static rlx_status run_subgraph_with(runner *r, const rlx_graph *g, const rlx_tensor *const *inputs,
                                    rlx_loop_cache *loop, const usage *u, rlx_tensor *outputs) {
  frame f;
  RLX_TRY(frame_init(g, u, &f));
  uint32_t next = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    if (rlx_graph_at(g, id)->op == RLX_OP_input) f.value[id] = *inputs[next++];
    else if (loop && loop->value[id].data) f.value[id] = loop->value[id];
  }
  rlx_status s = run_nodes(&f, r, u, loop, false);
  if (!s) s = copy_outputs(&f, outputs);
  frame_deinit(&f);
  return s;
}

static rlx_status run_subgraph(rlx_subgraph_runner *base, const rlx_graph *g, const rlx_tensor *const *inputs,
                               rlx_loop_cache *loop, rlx_tensor *outputs) {
  runner *r = (runner *)base;
  if (loop) return run_subgraph_with(r, g, inputs, loop, &loop->use, outputs);
  usage u;
  RLX_TRY(usage_init(g, &u));
  rlx_status s = run_subgraph_with(r, g, inputs, NULL, &u, outputs);
  usage_deinit(&u);
  return s;
}

static void loop_end(rlx_subgraph_runner *base, rlx_loop_cache *loop) {
  (void)base;
  if (!loop) return;
  for (uint32_t id = 1; loop->kept && loop->value && id < rlx_graph_end(loop->graph); id++)
    rlx_mem_free(loop->value[id].data);
  rlx_mem_free(loop->kept);
  rlx_mem_free(loop->value);
  usage_deinit(&loop->use);
  rlx_mem_free(loop);
}

static rlx_status loop_begin(rlx_subgraph_runner *base, const rlx_graph *g, const bool *invariant,
                             rlx_loop_cache **out) {
  *out = NULL;
  rlx_loop_cache *loop = rlx_new(rlx_loop_cache);
  if (!loop) return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  loop->graph = g;
  loop->kept = rlx_mem_calloc(rlx_graph_end(g), sizeof *loop->kept);
  loop->value = rlx_mem_calloc(rlx_graph_end(g), sizeof *loop->value);
  if (!loop->kept || !loop->value || usage_init(g, &loop->use)) {
    loop_end(base, loop);
    return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  }
  bool *same = loop->kept;
  uint32_t next = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    same[id] = n->op == RLX_OP_input ? invariant[next++] : true;
    for (uint32_t i = 0; i < n->n_in; i++) same[id] = same[id] && (!n->in[i] || same[n->in[i]]);
  }
  *out = loop;
  return RLX_OK;
}

static runner make_runner(const rlx_eval_context *ctx) {
  return (runner){.base = {.run = run_subgraph, .loop_begin = loop_begin, .loop_end = loop_end}, .ctx = ctx};
}

/* ---- the outermost graph ---- */

/* The value of a state after the run: the last of its updates. */
static void copy_states(const frame *f, rlx_tensor *final_state, rlx_node *root) {
  for (rlx_node id = 1; id < rlx_graph_end(f->graph); id++) {
    const rlx_node_rec *n = rlx_graph_at(f->graph, id);
    root[id] = n->op == RLX_OP_state ? id : rlx_op_is_update(n->op) ? root[n->in[0]] : RLX_NONE;
    if (!rlx_op_is_update(n->op) || !root[id] || !final_state[root[id]].data) continue;
    /* A later update of the chain overwrites it. */
    memcpy(final_state[root[id]].data, f->value[id].data, f->value[id].bytes);
  }
}

static rlx_status check_leaves(const rlx_graph *g, const usage *u, const rlx_tensor *const *leaves, frame *f) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (!rlx_op_table_has(n->op, RLX_TRAIT_LEAF) || n->op == RLX_OP_constant || !u->reads[id]) continue;
    if (!leaves[id] || !leaves[id]->data)
      return RLX_FAIL(RLX_INVALID, "%s '%s' is not set", rlx_op_table_get(n->op)->name, rlx_node_name(g, id));
    f->value[id] = *leaves[id];
  }
  return RLX_OK;
}

static rlx_status run_outermost(const rlx_graph *g, const rlx_eval_context *ctx, const usage *u,
                                const rlx_tensor *const *leaves, rlx_tensor *outputs, rlx_tensor *final_state) {
  frame f;
  RLX_TRY(frame_init(g, u, &f));
  runner r = make_runner(ctx);
  rlx_node *root = final_state ? rlx_mem_calloc(rlx_graph_end(g), sizeof *root) : NULL;
  rlx_status s = final_state && !root ? RLX_FAIL(RLX_NO_MEMORY, "states") : check_leaves(g, u, leaves, &f);
  if (!s) s = run_nodes(&f, &r, u, NULL, true);
  if (!s) s = copy_outputs(&f, outputs);
  if (!s && final_state) copy_states(&f, final_state, root);
  rlx_mem_free(root);
  frame_deinit(&f);
  return s;
}

rlx_status rlx_eval_graph(const rlx_graph *g, const rlx_eval_context *ctx, const rlx_tensor *const *leaves,
                          rlx_tensor *outputs, rlx_tensor *final_state) {
  if (g->symbols.n) return RLX_FAIL(RLX_INVALID, "the graph has symbols; bind them first");
  usage u;
  RLX_TRY(usage_init(g, &u));
  rlx_status s = run_outermost(g, ctx, &u, leaves, outputs, final_state);
  usage_deinit(&u);
  return s;
}

static rlx_status run_siblings(const rlx_graph *g, const rlx_node *nodes, uint32_t n, rlx_ref_call *c,
                               rlx_tensor *out) {
  uint32_t count = rlx_control_count(c->node);
  rlx_tensor *outputs = rlx_bump_array(c->scratch, rlx_tensor, count);
  if (!outputs) return RLX_FAIL(RLX_NO_MEMORY, "%u results", (unsigned)count);
  for (uint32_t i = 0; i < n; i++)
    outputs[*control_index(rlx_op_table_get(c->node->op), rlx_graph_at(g, nodes[i])->attrs)] = out[i];
  return rlx_control_run_all(c, outputs);
}

rlx_status rlx_eval_step(const rlx_graph *g, const rlx_node *nodes, uint32_t n, const rlx_eval_context *ctx,
                         const rlx_tensor *const *in, rlx_tensor *out, rlx_bump *scratch) {
  const rlx_node_rec *node = rlx_graph_at(g, nodes[0]);
  runner r = make_runner(ctx);
  rlx_ref_call c = make_call(node, in, &r, scratch);
  for (uint32_t i = 0; i < n; i++) poison(&out[i]);
  if (rlx_op_table_has(node->op, RLX_TRAIT_CONTROL)) return run_siblings(g, nodes, n, &c, out);
  c.out = out;
  return call_kernel(&c);
}

rlx_status rlx_eval_node(const rlx_node_rec *n, const rlx_eval_context *ctx, const rlx_tensor *const *in,
                         rlx_tensor *out) {
  runner r = make_runner(ctx);
  rlx_bump scratch = {0};
  rlx_ref_call c = make_call(n, in, &r, &scratch);
  c.out = out;
  poison(out);
  rlx_status s = call_kernel(&c);
  rlx_bump_deinit(&scratch);
  return s;
}
