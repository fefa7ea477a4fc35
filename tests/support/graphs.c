/* Helpers for whole graphs: see graphs.h. */
#include "graphs.h"

#include <string.h>

/* ---- text ---- */

static rlx_status compare_texts(const rlx_graph *g, const char *text, const rlx_graph *again) {
  char *text_again = NULL;
  if (!rlx_graph_same(g, again))
    return RLX_FAIL(RLX_INVALID, "not the same graph after printing and parsing:\n%s", text);
  if (rlx_graph_hash(g) != rlx_graph_hash(again))
    return RLX_FAIL(RLX_INVALID, "same graphs with different hashes:\n%s", text);
  RLX_TRY(rlx_graph_print(again, &text_again));
  bool same = strcmp(text, text_again) == 0;
  rlx_status s = same ? RLX_OK : RLX_FAIL(RLX_INVALID, "printed twice, two texts:\n%.300s\n%.300s", text, text_again);
  rlx_free(text_again);
  return s;
}

rlx_status graph_round_trip(const rlx_graph *g) {
  char *text = NULL;
  rlx_graph *again = NULL;
  RLX_TRY_AT(rlx_graph_verify(g), "verifying");
  RLX_TRY_AT(rlx_graph_print(g, &text), "printing");
  rlx_status s = rlx_graph_parse(text, strlen(text), &again);
  if (s) rlx_fail_frame(s, "parsing what was printed:\n%.300s\n", text);
  else s = compare_texts(g, text, again);
  rlx_graph_destroy(again);
  rlx_free(text);
  return s;
}

/* ---- leaves ---- */

static rlx_status set_leaf(rlx_evaluator *e, const rlx_graph *g, rlx_node id, leaf_fn fill, void *user) {
  const char *name = rlx_node_name(g, id);
  rlx_tensor t = {.dtype = rlx_node_dtype(g, id), .shape = rlx_node_shape(g, id)};
  RLX_TRY(rlx_tensor_bytes(t.dtype, t.shape, &t.bytes));
  t.data = rlx_mem_calloc(1, t.bytes);
  if (!t.data) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes", t.bytes);
  if (fill) fill(user, name, &t);
  rlx_status s = rlx_evaluator_set(e, name, &t);
  rlx_mem_free(t.data);
  return s;
}

rlx_status graph_set_leaves(rlx_evaluator *e, const rlx_graph *g, const rlx_evaluator *load, leaf_fn fill, void *user) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const char *name = rlx_node_name(g, id);
    if (!name) continue;
    rlx_tensor view;
    rlx_status s = load ? rlx_evaluator_get(load, name, &view) : RLX_NOT_FOUND;
    if (s == RLX_NOT_FOUND) s = set_leaf(e, g, id, fill, user);
    else if (!s) s = rlx_evaluator_set(e, name, &view);
    if (s) return s;
  }
  return RLX_OK;
}

/* ---- targets ---- */

bool only_primitives(void *user, const rlx_graph *g, rlx_node n, const char **why) {
  (void)user;
  (void)why;
  return !rlx_op_table_has(rlx_graph_at(g, n)->op, RLX_TRAIT_COMPOSITE);
}
