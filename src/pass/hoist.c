/* Hoisting: values that depend on weights alone are computed once, when the weights are loaded, not in every run.
 *
 * The graph is split in two. The load graph computes the weight-only nodes that the rest reads, as outputs named
 * "hoisted.0", "hoisted.1", ..; the run graph has params of those names in their place. Views stay in the run graph,
 * where they cost nothing, so a weight that is only reshaped is not copied, and a hoisted node that several views read
 * is stored once. The run graph keeps the params that it still reads, and those that nothing reads. A param that only
 * the load graph reads is no longer a param of the run graph, so its bytes need not stay.
 *
 * Running the pass again extends the load graph: its outputs may be inputs of nodes that are hoisted now. */
#include <stdio.h>
#include <string.h>

#include "pass/pass.h"

typedef struct hoist {
  rlx_walk w; /* writes the run graph */
  rlx_pass_context *ctx;
  const rlx_graph *before; /* the load graph so far, or NULL */
  bool *weight_only;
  bool *in_run, *in_load, *hoisted; /* by node; a hoisted node is in the load graph and a param of the run graph */
  rlx_node *load_map;
  uint32_t next_name;
} hoist;

typedef struct hoist_name {
  char text[24];
} hoist_name;

static void hoist_deinit(hoist *h) {
  rlx_mem_free(h->weight_only);
  rlx_mem_free(h->in_run);
  rlx_mem_free(h->in_load);
  rlx_mem_free(h->hoisted);
  rlx_mem_free(h->load_map);
  rlx_walk_deinit(&h->w);
}

static rlx_status hoist_init(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out, hoist *h) {
  uint32_t end = rlx_graph_end(in);
  *h = (hoist){.ctx = ctx, .before = ctx->load};
  RLX_TRY(rlx_walk_init(in, out, &h->w));
  RLX_TRY(rlx_weight_only(in, &h->weight_only));
  h->in_run = rlx_mem_calloc(end, sizeof *h->in_run);
  h->in_load = rlx_mem_calloc(end, sizeof *h->in_load);
  h->hoisted = rlx_mem_calloc(end, sizeof *h->hoisted);
  h->load_map = rlx_mem_calloc(end, sizeof *h->load_map);
  return h->in_run && h->in_load && h->hoisted && h->load_map
           ? RLX_OK
           : RLX_FAIL(RLX_NO_MEMORY, "hoisting from %u nodes", (unsigned)end);
}

/* ---- splitting ---- */

static void read_in_run(hoist *h, rlx_node id) {
  bool computes = !rlx_op_table_has(rlx_graph_at(h->w.in, id)->op, RLX_TRAIT_LEAF | RLX_TRAIT_VIEW);
  if (h->weight_only[id] && computes) h->hoisted[id] = true;
  else h->in_run[id] = true;
}

/* In reverse order, so that all readers of a node are visited before it. */
static bool cut(hoist *h) {
  const rlx_graph *g = h->w.in;
  bool any = false;
  for (size_t i = 0; i < g->outputs.n; i++) read_in_run(h, g->outputs.v[i].node);
  for (rlx_node id = rlx_graph_end(g) - 1; id > 0; id--) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (rlx_op_table_has(n->op, RLX_TRAIT_EFFECT)) h->in_run[id] = true;
    any = any || h->hoisted[id];
    h->in_load[id] = h->in_load[id] || h->hoisted[id];
    for (uint32_t i = 0; i < n->n_in; i++) {
      if (!n->in[i]) continue;
      if (h->in_run[id]) read_in_run(h, n->in[i]);
      if (h->in_load[id]) h->in_load[n->in[i]] = true;
    }
  }
  return any;
}

/* ---- the load graph ---- */

/* The next name that no leaf and no earlier hoisted value has. */
static hoist_name make_name(hoist *h) {
  hoist_name name;
  uint32_t seen;
  do {
    snprintf(name.text, sizeof name.text, "hoisted.%u", (unsigned)h->next_name++);
  } while (rlx_graph_leaf(h->w.in, name.text) ||
           (h->before &&
            (rlx_graph_leaf(h->before, name.text) || rlx_name_map_get(&h->before->output_names, name.text, &seen))));
  return name;
}

/* Copies the previous load graph; its outputs replace the params that stood for them. */
static rlx_status write_before(hoist *h, rlx_graph *load) {
  const rlx_graph *g = h->w.in;
  rlx_walk w;
  RLX_TRY(rlx_walk_init(h->before, load, &w));
  rlx_status s = rlx_walk_copy_all(&w);
  for (rlx_node id = 1; id < rlx_graph_end(g) && !s; id++) {
    if (rlx_graph_at(g, id)->op != RLX_OP_param) continue;
    const char *name = RLX_ATTRS(param, rlx_graph_at(g, id))->name;
    uint32_t output;
    bool computed = rlx_name_map_get(&h->before->output_names, name, &output);
    rlx_node there = computed ? h->before->outputs.v[output].node : rlx_graph_leaf(h->before, name);
    h->load_map[id] = w.map[there];
    if (computed && (h->in_run[id] || !h->in_load[id]))
      rlx_graph_add_output(load, name, h->load_map[id]); /* still a param of the run graph */
  }
  rlx_walk_deinit(&w);
  return s ? s : rlx_graph_status(load);
}

static rlx_status write_load(hoist *h, rlx_graph *load) {
  const rlx_graph *g = h->w.in;
  if (h->before) RLX_TRY(write_before(h, load));
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    if (!h->in_load[id]) continue;
    if (!h->load_map[id]) h->load_map[id] = rlx_graph_copy_node(load, g, id, h->load_map);
    RLX_TRY(rlx_graph_status(load));
  }
  return RLX_OK;
}

/* ---- the run graph ---- */

/* Names each hoisted value: an output of the load graph and a param of the run graph. */
static rlx_status write_run(hoist *h, rlx_graph *load) {
  const rlx_graph *g = h->w.in;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (h->hoisted[id]) {
      hoist_name name = make_name(h);
      rlx_graph_add_output(load, name.text, h->load_map[id]);
      RLX_TRY(rlx_graph_status(load));
      h->w.map[id] =
        rlx_graph_add(h->w.out, RLX_OP_param, NULL, 0,
                      &(rlx_attrs_param){.name = name.text, .dtype = n->type.dtype, .shape = n->type.shape});
      RLX_TRY(rlx_graph_status(h->w.out));
      continue;
    }
    bool is_interface = n->op == RLX_OP_input || n->op == RLX_OP_state || (n->op == RLX_OP_param && !h->in_load[id]);
    if (h->in_run[id] || is_interface) RLX_TRY(rlx_walk_copy(&h->w, id));
  }
  return rlx_walk_end(&h->w, h->ctx);
}

static rlx_status copy_all(hoist *h) {
  RLX_TRY(rlx_walk_copy_all(&h->w));
  return rlx_walk_end(&h->w, h->ctx);
}

rlx_status rlx_pass_hoist(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  hoist h;
  rlx_graph *load = NULL;
  rlx_status s = hoist_init(in, ctx, out, &h);
  if (!s && cut(&h)) {
    s = rlx_graph_begin(&load);
    if (!s) s = write_load(&h, load);
    if (!s) s = write_run(&h, load);
    if (!s) s = rlx_graph_finish(load);
  } else if (!s) {
    s = copy_all(&h);
  }
  hoist_deinit(&h);
  if (s || !load) {
    rlx_graph_destroy(load);
    return s;
  }
  rlx_graph_destroy(ctx->load);
  ctx->load = load;
  return RLX_OK;
}
