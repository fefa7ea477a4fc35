/* See the header. Everything is bounded here, since the text may ask for anything: a graph runs only if all its tensors
 * together are small, and a run stops after a number of nodes, since loops need not end. */
#include "text_check.h"

#include <string.h>

#include "ir/graph.h"

enum { MAX_ELEMENTS = 4096, MAX_NODES = 256, MAX_STEPS = 2000 };

/* ---- text ---- */

static rlx_status check_round_trip(const rlx_graph *g) {
  char *text = NULL, *text_again = NULL;
  rlx_graph *again = NULL;
  RLX_TRY_AT(rlx_graph_verify(g), "verifying what was parsed");
  RLX_TRY_AT(rlx_graph_print(g, &text), "printing what was parsed");
  rlx_status s = rlx_graph_parse(text, strlen(text), &again);
  if (s) rlx_fail_frame(s, "parsing what was printed:\n%s\n", text);
  else if (!rlx_graph_same(g, again))
    s = RLX_FAIL(RLX_INVALID, "not the same graph after printing and parsing:\n%s", text);
  else if (rlx_graph_hash(g) != rlx_graph_hash(again))
    s = RLX_FAIL(RLX_INVALID, "same graphs with different hashes:\n%s", text);
  if (!s) s = rlx_graph_print(again, &text_again);
  if (!s && strcmp(text, text_again) != 0)
    s = RLX_FAIL(RLX_INVALID, "printed twice, two texts:\n%s\n%s", text, text_again);
  rlx_graph_destroy(again);
  rlx_free(text_again);
  rlx_free(text);
  return s;
}

/* ---- small enough to run ---- */

static bool is_small(const rlx_graph *g, size_t *elements, size_t *nodes) {
  if (g->symbols.n) return false;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    const rlx_op_row *row = rlx_op_get(n->op);
    size_t count = 1;
    for (int i = 0; i < n->type.shape.n; i++) { /* not rlx_dims_count: 0 elements may hide a huge size behind it */
      if (n->type.shape.v[i] > MAX_ELEMENTS) return false;
      count *= n->type.shape.v[i] ? (size_t)n->type.shape.v[i] : 1;
      if (count > MAX_ELEMENTS) return false;
    }
    *elements += count;
    *nodes += 1;
    if (*elements > MAX_ELEMENTS || *nodes > MAX_NODES) return false;
    for (uint32_t i = 0; i < row->n_attrs; i++)
      if (row->attrs[i].kind == RLX_ATTR_GRAPH &&
          !is_small(*(rlx_graph **)rlx_attr_at(n->attrs, &row->attrs[i]), elements, nodes))
        return false;
  }
  return true;
}

/* ---- running ---- */

static bool count_down(void *user) {
  unsigned *left = user;
  return *left == 0 || --*left == 0;
}

/* Leaves of the run: small numbers that follow from the name, so that both runs see the same. */
static rlx_status set_leaf(rlx_evaluator *e, const rlx_graph *g, rlx_node id) {
  rlx_tensor t = {.dtype = rlx_node_dtype(g, id), .shape = rlx_node_shape(g, id)};
  RLX_TRY(rlx_tensor_bytes(t.dtype, t.shape, &t.bytes));
  unsigned char *data = rlx_mem_calloc(1, t.bytes);
  if (!data) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", t.bytes);
  uint64_t seed = rlx_hash_bytes(0, rlx_node_name(g, id), strlen(rlx_node_name(g, id)));
  size_t size = rlx_dtype_size(t.dtype);
  for (size_t i = 0; i < t.bytes; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    unsigned value = (unsigned)(seed >> 60);
    if (size <= 1) data[i] = (unsigned char)(t.dtype == RLX_BOOL ? value & 1u : value);
    else if (i % size == 0) data[i] = (unsigned char)value; /* small integers */
    else if (rlx_dtype_is_float(t.dtype) && i % size == size - 1)
      data[i] = (unsigned char)(0x3c + (value & 0x83)); /* about 1 */
  }
  t.data = data;
  rlx_status s = rlx_evaluator_set(e, rlx_node_name(g, id), &t);
  rlx_mem_free(data);
  return s;
}

static bool is_named_leaf(rlx_op op) { return op == RLX_OP_input || op == RLX_OP_param || op == RLX_OP_state; }

/* Params that load computes are taken from it. */
static rlx_status set_leaves(rlx_evaluator *e, const rlx_graph *g, const rlx_evaluator *load,
                             const rlx_graph *load_graph) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    if (!is_named_leaf(rlx_graph_at(g, id)->op)) continue;
    const char *name = rlx_node_name(g, id);
    uint32_t seen;
    rlx_tensor view;
    if (load && rlx_name_map_get(&load_graph->output_names, name, &seen)) {
      RLX_TRY(rlx_evaluator_get(load, name, &view));
      RLX_TRY(rlx_evaluator_set(e, name, &view));
    } else {
      RLX_TRY(set_leaf(e, g, id));
    }
  }
  return RLX_OK;
}

static rlx_status run(const rlx_graph *g, const rlx_evaluator *load, const rlx_graph *load_graph, rlx_evaluator **out) {
  unsigned left = MAX_STEPS;
  RLX_TRY(rlx_evaluator_create(g, out));
  RLX_TRY(set_leaves(*out, g, load, load_graph));
  rlx_evaluator_set_cancel(*out, count_down, &left);
  rlx_status s = rlx_evaluator_run(*out);
  rlx_evaluator_set_cancel(*out, NULL, NULL);
  return s;
}

static rlx_status run_optimised(const rlx_optimized *o) {
  rlx_evaluator *load = NULL, *e = NULL;
  rlx_status s = rlx_optimized_load(o) ? run(rlx_optimized_load(o), NULL, NULL, &load) : RLX_OK;
  if (!s) s = run(rlx_optimized_graph(o), load, rlx_optimized_load(o), &e);
  rlx_evaluator_destroy(e);
  rlx_evaluator_destroy(load);
  return s;
}

static bool only_primitives(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user;
  (void)why;
  return !rlx_op_has(rlx_graph_at(g, n)->op, RLX_TRAIT_COMPOSITE);
}

static rlx_status check_passes(const rlx_graph *g, bool runs, rlx_supports_fn supports) {
  rlx_optimized *o = NULL;
  rlx_optimize_options options = {.struct_bytes = sizeof options, .supports = supports};
  RLX_TRY_AT(rlx_optimize(g, &options, &o), "optimising");
  rlx_status s = runs ? run_optimised(o) : RLX_OK;
  if (s == RLX_CANCELLED) s = RLX_OK; /* it may take more steps */
  rlx_optimized_destroy(o);
  return s ? rlx_fail_frame(s, "running what ran before it was optimised") : RLX_OK;
}

static rlx_status check_runs(const rlx_graph *g, text_tally *tally) {
  rlx_evaluator *e = NULL;
  bool runs = run(g, NULL, NULL, &e) == RLX_OK;
  rlx_evaluator_destroy(e);
  RLX_TRY(check_passes(g, runs, NULL));
  RLX_TRY_AT(check_passes(g, runs, only_primitives), "for a target without composite ops");
  tally->optimised++;
  tally->ran += runs;
  return RLX_OK;
}

rlx_status text_check(const char *text, size_t bytes, text_tally *tally) {
  text_tally mine = {0};
  if (!tally) tally = &mine;
  rlx_graph *g = NULL;
  rlx_status s = rlx_graph_parse(text, bytes, &g);
  if (s) {
    tally->refused++;
    if (g) return RLX_FAIL(RLX_INVALID, "refused, and yet a graph came back");
    return rlx_message()[0] ? RLX_OK : RLX_FAIL(RLX_INVALID, "refused as '%s' without a message", rlx_status_name(s));
  }
  tally->parsed++;
  size_t elements = 0, nodes = 0;
  s = check_round_trip(g);
  if (!s && is_small(g, &elements, &nodes)) s = check_runs(g, tally);
  rlx_graph_destroy(g);
  return s;
}
