/* See the header. Everything is bounded, because the text may request anything: a graph runs only if all its tensors
 * together are small, and a run stops after a number of nodes, because loops need not terminate. */
#include "text_check.h"

#include <string.h>

#include "graphs.h"

enum { MAX_ELEMENTS = 4096, MAX_NODES = 256, MAX_STEPS = 2000 };

/* ---- small enough to run ---- */

static bool is_small(const rlx_graph *g, size_t *elements, size_t *nodes) {
  if (g->symbols.n) return false;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    const rlx_op_table_row *row = rlx_op_table_get(n->op);
    size_t count = 1;
    for (int i = 0; i < n->type.shape.n; i++) { /* not rlx_dims_count: a size of 0 may hide a huge one */
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

/* Leaves of the run: small numbers that depend on the name, so that both runs see the same. */
static void fill_leaf(void *user, const char *name, rlx_tensor *t) {
  (void)user;
  unsigned char *data = t->data;
  uint64_t seed = rlx_hash_bytes(0, name, strlen(name));
  size_t size = rlx_dtype_size(t->dtype);
  for (size_t i = 0; i < t->bytes; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    unsigned value = (unsigned)(seed >> 60);
    if (size <= 1) data[i] = (unsigned char)(t->dtype == RLX_BOOL ? value & 1u : value);
    else if (i % size == 0) data[i] = (unsigned char)value; /* small integers */
    else if (rlx_dtype_is_float(t->dtype) && i % size == size - 1)
      data[i] = (unsigned char)(0x3c + (value & 0x83)); /* about 1 */
  }
}

/* Params that load computes are taken from it. */
static rlx_status run(const rlx_graph *g, const rlx_evaluator *load, rlx_evaluator **out) {
  unsigned left = MAX_STEPS;
  RLX_TRY(rlx_evaluator_create(g, out));
  RLX_TRY(graph_set_leaves(*out, g, load, fill_leaf, NULL));
  rlx_evaluator_set_cancel(*out, count_down, &left);
  rlx_status s = rlx_evaluator_run(*out);
  rlx_evaluator_set_cancel(*out, NULL, NULL);
  return s;
}

static rlx_status run_optimised(const rlx_optimized *o) {
  rlx_evaluator *load = NULL, *e = NULL;
  rlx_status s = rlx_optimized_load(o) ? run(rlx_optimized_load(o), NULL, &load) : RLX_OK;
  if (!s) s = run(rlx_optimized_graph(o), load, &e);
  rlx_evaluator_destroy(e);
  rlx_evaluator_destroy(load);
  return s;
}

static rlx_status check_passes(const rlx_graph *g, bool runs, rlx_supports_fn supports) {
  rlx_optimized *o = NULL;
  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .supports = supports};
  RLX_TRY_AT(rlx_optimize(g, &options, &o), "optimising");
  rlx_status s = runs ? run_optimised(o) : RLX_OK;
  if (s == RLX_CANCELLED) s = RLX_OK; /* it may take more steps */
  rlx_optimized_destroy(o);
  return s ? rlx_fail_frame(s, "running what ran before it was optimised") : RLX_OK;
}

static rlx_status check_runs(const rlx_graph *g, text_tally *tally) {
  rlx_evaluator *e = NULL;
  bool runs = run(g, NULL, &e) == RLX_OK;
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
  s = graph_round_trip(g);
  if (!s && is_small(g, &elements, &nodes)) s = check_runs(g, tally);
  rlx_graph_destroy(g);
  return s;
}
