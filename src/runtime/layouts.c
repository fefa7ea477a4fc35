/* Chooses how weights are stored on the device: plain, as in the graph, or packed for a kernel.
 *
 * A device has a preferred layout per reader. A weight is stored once, so all its readers must prefer the same layout;
 * otherwise it stays plain. The preference of a reader that accepts any layout is weak: it counts only if no other
 * reader has one. Weights that the host reads, that are outputs, or that are read through a view (whose window may
 * start at any offset) stay plain.
 *
 * Preferences depend only on the weight and the op, so that executables of other sizes choose the same layout. A weak
 * preference is the one that other readers are likely to have, so that executables with only some of the readers choose
 * the same layout as well. */
#include "runtime/compiled.h"

enum { NOT_MET = UINT32_MAX };

static bool is_weight(const rlx_graph *g, rlx_node n) {
  rlx_op op = rlx_graph_at(g, n)->op;
  return op == RLX_OP_param || op == RLX_OP_constant;
}

/* Combines one reader's preference with those of the readers before it. */
static void merge(uint32_t *layout, uint32_t preferred) {
  if (*layout == NOT_MET) *layout = preferred;
  else if (*layout != preferred) *layout = 0;
}

static rlx_status ask_readers(const rlx_graph *g, rlx_claims *claims, const uint32_t *uses, uint32_t *layout,
                              uint32_t *weak_layout) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    bool reads_weight = false;
    for (uint32_t i = 0; i < n->n_in && !reads_weight; i++) reads_weight = n->in[i] && is_weight(g, n->in[i]);
    if (!uses[id] || !reads_weight) continue;
    const rlx_claim *claim;
    RLX_TRY(rlx_claims_get(claims, g, id, NULL, &claim));
    bool plain = !claim->native || rlx_op_table_has(n->op, RLX_TRAIT_VIEW);
    for (uint32_t i = 0; i < n->n_in; i++)
      if (n->in[i] && is_weight(g, n->in[i])) {
        bool firm = plain || i >= RLX_OP_MAX_INPUTS;
        bool weak = !firm && (claim->weak >> i & 1);
        merge(weak ? &weak_layout[n->in[i]] : &layout[n->in[i]], firm ? 0 : claim->layout[i]);
      }
  }
  return RLX_OK;
}

static bool is_known(const rlx_device *d, uint32_t layout, const rlx_type *type) {
  return d->backend->layout_bytes && d->backend->repack && d->backend->layout_bytes(d, layout, type) > 0;
}

rlx_status rlx_layouts_decide(const rlx_device *d, const rlx_graph *g, rlx_claims *claims, uint32_t **out) {
  uint32_t end = rlx_graph_end(g);
  uint32_t *layout = rlx_mem_alloc(end * sizeof *layout), *weak_layout = rlx_mem_alloc(end * sizeof *weak_layout);
  uint32_t *uses = rlx_mem_calloc(end, sizeof *uses);
  *out = NULL;
  rlx_status s =
    layout && weak_layout && uses ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the layouts of %u nodes", (unsigned)end);
  if (!s) {
    rlx_graph_count_uses(g, uses);
    for (rlx_node id = 0; id < end; id++) layout[id] = weak_layout[id] = NOT_MET;
    for (size_t i = 0; i < g->outputs.n; i++) layout[g->outputs.v[i].node] = 0;
    s = ask_readers(g, claims, uses, layout, weak_layout);
  }
  for (rlx_node id = 0; id < end && !s; id++) {
    if (layout[id] == NOT_MET) layout[id] = weak_layout[id];
    if (layout[id] == NOT_MET || (layout[id] && !is_known(d, layout[id], &rlx_graph_at(g, id)->type))) layout[id] = 0;
  }
  rlx_mem_free(uses);
  rlx_mem_free(weak_layout);
  if (s) rlx_mem_free(layout);
  else *out = layout;
  return s;
}
