/* Traversal of one graph while writing another: the map of ids, and which nodes depend on weights alone. */
#include "pass/pass.h"

rlx_status rlx_walk_init(const rlx_graph *in, rlx_graph *out, rlx_walk *w) {
  uint32_t end = rlx_graph_end(in);
  *w = (rlx_walk){
    .in = in, .out = out, .map = rlx_mem_calloc(end, sizeof *w->map), .uses = rlx_mem_calloc(end, sizeof *w->uses)};
  if (w->map && w->uses) w->inputs = rlx_mem_calloc((size_t)rlx_graph_count_uses(in, w->uses) + 1, sizeof *w->inputs);
  if (w->inputs) return RLX_OK;
  rlx_walk_deinit(w);
  return RLX_FAIL(RLX_NO_MEMORY, "traversing %u nodes", (unsigned)end);
}

void rlx_walk_deinit(rlx_walk *w) {
  rlx_mem_free(w->map);
  rlx_mem_free(w->uses);
  rlx_mem_free(w->inputs);
  *w = (rlx_walk){0};
}

rlx_node *rlx_walk_inputs(rlx_walk *w, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(w->in, id);
  for (uint32_t i = 0; i < n->n_in; i++) w->inputs[i] = w->map[n->in[i]];
  return w->inputs;
}

rlx_status rlx_walk_copy(rlx_walk *w, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(w->in, id);
  w->map[id] = rlx_graph_add(w->out, n->op, rlx_walk_inputs(w, id), n->n_in, n->attrs);
  return w->map[id] ? RLX_OK : rlx_graph_status(w->out);
}

rlx_status rlx_walk_copy_all(rlx_walk *w) {
  for (rlx_node id = 1; id < rlx_graph_end(w->in); id++) RLX_TRY(rlx_walk_copy(w, id));
  return RLX_OK;
}

void rlx_origin_follow(rlx_pass_context *ctx, const rlx_node *map) {
  for (uint32_t id = 0; ctx->origin && id < ctx->n_origin; id++) ctx->origin[id] = map[ctx->origin[id]];
}

rlx_status rlx_walk_end(rlx_walk *w, rlx_pass_context *ctx) {
  rlx_origin_follow(ctx, w->map);
  return rlx_graph_copy_outputs(w->out, w->in, w->map);
}

#define LOAD_BYTES ((uint64_t)16 << 20)

/* Bytes of a value; UINT64_MAX if the size overflows. */
static uint64_t bytes_of(const rlx_node_rec *n) {
  size_t bytes;
  return rlx_tensor_bytes(n->type.dtype, n->type.shape, &bytes) ? UINT64_MAX : bytes;
}

/* The maximum size of a value at load: some megabytes, or a few times the size of the weights. A number expanded to a
 * large shape stays in the run, where the plan accounts for it. */
static uint64_t largest_at_load(const rlx_graph *g) {
  uint64_t leaves = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    uint64_t bytes = n->op == RLX_OP_param || n->op == RLX_OP_constant ? bytes_of(n) : 0;
    leaves = bytes > UINT64_MAX / 8 - leaves ? UINT64_MAX / 8 : leaves + bytes;
  }
  return 4 * leaves > LOAD_BYTES ? 4 * leaves : LOAD_BYTES;
}

rlx_status rlx_weight_only(const rlx_graph *g, bool **flags) {
  const uint32_t never = RLX_TRAIT_RANDOM | RLX_TRAIT_EFFECT | RLX_TRAIT_CONTROL;
  bool *is = *flags = rlx_mem_calloc(rlx_graph_end(g), sizeof *is);
  if (!is) return RLX_FAIL(RLX_NO_MEMORY, "marking %u nodes", (unsigned)rlx_graph_end(g));
  const uint64_t largest = largest_at_load(g);
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    is[id] = n->op != RLX_OP_input && n->op != RLX_OP_state && !rlx_op_table_has(n->op, never) &&
             (n->op == RLX_OP_param || bytes_of(n) <= largest);
    for (uint32_t i = 0; is[id] && i < n->n_in; i++) is[id] = !n->in[i] || is[n->in[i]];
  }
  return RLX_OK;
}
