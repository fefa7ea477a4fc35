/* The fuse pass: tries the matchers, plans the fusions, and writes the graph.
 *
 * A match is first built in a trial graph with inputs of the same types. There the op's shape rule checks it, and the
 * target reports whether it supports the node. Only then are the inner nodes marked as taken. A second traversal writes
 * the nodes that are needed with each root replaced by its fused node. */
#include "pass/fuse.h"

#include <stdio.h>
#include <string.h>

#include "ir/act.h"

#define ENDS_NORM_MATMUL(NAME, op) {RLX_OP_##op, rlx_fuse_norm_matmul},
#define ENDS_MATMUL(NAME, op) {RLX_OP_##op, rlx_fuse_matmul},
#define ENDS_CONV(NAME, op) {RLX_OP_##op, rlx_fuse_conv},
/* The matchers of each root op, in the order they are tried. */
static const struct {
  rlx_op root;
  rlx_matcher match;
} matchers[] = {
  {RLX_OP_add, rlx_fuse_attention_block},
  {RLX_OP_matmul, rlx_fuse_attention_block},
  {RLX_OP_transpose, rlx_fuse_attention_bshd},
  {RLX_OP_matmul, rlx_fuse_attention},
  {RLX_OP_attention, rlx_fuse_rope_attention},
  {RLX_OP_mul, rlx_fuse_norm_gate_up},
  {RLX_OP_mul, rlx_fuse_gate_up},
  {RLX_OP_mul, rlx_fuse_swiglu},
  {RLX_OP_matmul, rlx_fuse_norm_matmul},
  {RLX_OP_add, rlx_fuse_norm_matmul},
  RLX_ACTS(ENDS_NORM_MATMUL){RLX_OP_add, rlx_fuse_matmul},
  RLX_ACTS(ENDS_MATMUL){RLX_OP_add, rlx_fuse_conv},
  RLX_ACTS(ENDS_CONV){RLX_OP_update, rlx_fuse_rope_update},
  {RLX_OP_rope, rlx_fuse_norm_rope},
  {RLX_OP_rms_norm, rlx_fuse_residual_norm},
  {RLX_OP_layer_norm, rlx_fuse_residual_norm},
};

/* ---- trial of a match ---- */

/* A leaf with the type that an input has in the fused node. Weights become params, so that the target can recognise
 * them. */
static rlx_node trial_leaf(const rlx_fuse *f, const rlx_fuse_in *in, uint32_t i, rlx_graph *trial) {
  if (!in->node) return RLX_NONE;
  const rlx_node_rec *n = rlx_fuse_at(f, in->node);
  bool as_it_is = !in->perm.n && !in->reshaped && !in->sliced;
  if (as_it_is && n->op == RLX_OP_constant) return rlx_graph_add(trial, n->op, NULL, 0, n->attrs);
  rlx_dims shape = n->type.shape;
  for (int k = 0; k < in->perm.n; k++) shape.v[k] = n->type.shape.v[in->perm.v[k]];
  if (in->reshaped) shape = in->shape;
  if (in->sliced) shape = rlx_fuse_at(f, in->sliced)->type.shape;
  char name[16];
  snprintf(name, sizeof name, "x%u", (unsigned)i);
  if (n->op == RLX_OP_state)
    return rlx_graph_add(trial, RLX_OP_state, NULL, 0,
                         &(rlx_attrs_state){.name = name, .dtype = n->type.dtype, .shape = shape});
  if (f->weight_only[in->node])
    return rlx_graph_add(trial, RLX_OP_param, NULL, 0,
                         &(rlx_attrs_param){.name = name, .dtype = n->type.dtype, .shape = shape});
  return rlx_graph_add(trial, RLX_OP_input, NULL, 0,
                       &(rlx_attrs_input){.name = name, .dtype = n->type.dtype, .shape = shape});
}

static rlx_status try_out(const rlx_fuse *f, rlx_node root, const rlx_match *m, rlx_graph *trial, bool *accepted) {
  rlx_node in[RLX_FUSE_MAX_IN];
  const rlx_type *want = &rlx_fuse_at(f, root)->type;
  for (uint32_t i = 0; i < m->n_in; i++) in[i] = trial_leaf(f, &m->in[i], i, trial);
  rlx_node node = rlx_graph_add(trial, m->op, in, m->n_in, &m->attrs);
  if (node) rlx_graph_add_output(trial, "y", node);
  rlx_status s = rlx_graph_finish(trial);
  if (s) return s == RLX_NO_MEMORY ? s : RLX_OK; /* the fused op's shape rule rejected it */
  const rlx_type *got = &rlx_graph_at(trial, node)->type;
  if (got->dtype != want->dtype || rlx_dims_count(&got->shape) != rlx_dims_count(&want->shape)) return RLX_OK;
  const char *why = NULL;
  *accepted = !f->ctx->supports || f->ctx->supports(f->ctx->supports_user, trial, node, &why);
  return RLX_OK;
}

/* Sub-graphs in the attributes are retained for the plan. (Only a region has one; no fused op has data or text.) */
static rlx_status record(rlx_fuse *f, rlx_node root, const rlx_match *m) {
  const rlx_op_table_row *row = rlx_op_table_get(m->op);
  rlx_planned *p = rlx_bump_new(&f->bump, rlx_planned);
  if (p)
    *p = (rlx_planned){
      .next = f->all, .op = m->op, .n_in = m->n_in, .in = rlx_bump_copy(&f->bump, m->in, m->n_in, sizeof *m->in)};
  if (p) p->attrs = rlx_bump_copy(&f->bump, &m->attrs, 1, row->attrs_bytes);
  if (!p || !p->in || !p->attrs) return RLX_FAIL(RLX_NO_MEMORY, "the plan of a fused node");
  if (m->op == RLX_OP_region) rlx_graph_retain(m->attrs.region_.body);
  f->all = p;
  f->planned[root] = p;
  for (uint32_t i = 0; i < m->n_inner; i++) f->taken[m->inner[i]] = true;
  for (uint32_t i = 0; i < m->n_in; i++) f->read[m->in[i].node] = true;
  return RLX_OK;
}

rlx_status rlx_fuse_plan(rlx_fuse *f, rlx_node root, const rlx_match *m, bool *accepted) {
  rlx_graph *trial;
  *accepted = false;
  RLX_TRY(rlx_graph_begin(&trial));
  rlx_status s = try_out(f, root, m, trial, accepted);
  rlx_graph_destroy(trial);
  return s || !*accepted ? s : record(f, root, m);
}

static rlx_status match_node(rlx_fuse *f, rlx_node id, rlx_match *m) {
  rlx_op op = rlx_fuse_at(f, id)->op;
  if (!f->w.uses[id] || f->taken[id] || f->weight_only[id]) return RLX_OK;
  for (size_t i = 0; i < sizeof matchers / sizeof *matchers; i++) {
    if (matchers[i].root != op) continue;
    m->n_in = m->n_inner = 0;
    bool accepted;
    if (!matchers[i].match(f, id, m)) continue;
    RLX_TRY(rlx_fuse_plan(f, id, m, &accepted));
    if (accepted) return RLX_OK;
  }
  return RLX_OK;
}

/* ---- writing ---- */

static rlx_node write_input(rlx_fuse *f, const rlx_fuse_in *in) {
  rlx_node x = f->w.map[in->node];
  if (x && in->sliced) x = rlx_graph_add(f->w.out, RLX_OP_slice, &x, 1, rlx_fuse_at(f, in->sliced)->attrs);
  if (x && in->perm.n) x = rlx_graph_add(f->w.out, RLX_OP_transpose, &x, 1, &(rlx_attrs_transpose){in->perm});
  if (x && in->reshaped) x = rlx_graph_add(f->w.out, RLX_OP_reshape, &x, 1, &(rlx_attrs_reshape){in->shape});
  return x;
}

static rlx_status write_fused(rlx_fuse *f, rlx_node root) {
  const rlx_planned *p = f->planned[root];
  const rlx_dims *want = rlx_fuse_shape(f, root);
  rlx_node in[RLX_FUSE_MAX_IN];
  for (uint32_t i = 0; i < p->n_in; i++) in[i] = write_input(f, &p->in[i]);
  rlx_node node = rlx_graph_add(f->w.out, p->op, in, p->n_in, p->attrs);
  if (node && !rlx_dims_equal(&rlx_graph_at(f->w.out, node)->type.shape, want))
    node = rlx_graph_add(f->w.out, RLX_OP_reshape, &node, 1, &(rlx_attrs_reshape){*want});
  f->w.map[root] = node;
  return rlx_graph_status(f->w.out);
}

/* Marks live nodes, in reverse order, with fused nodes in place of their patterns. It reuses `taken`, which is no
 * longer needed: taken now means dead. */
static void find_needed(rlx_fuse *f) {
  const rlx_graph *g = f->w.in;
  bool *unneeded = f->taken;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++)
    unneeded[id] = !rlx_op_table_has(rlx_fuse_at(f, id)->op, RLX_TRAIT_EFFECT);
  for (size_t i = 0; i < g->outputs.n; i++) unneeded[g->outputs.v[i].node] = false;
  for (rlx_node id = rlx_graph_end(g) - 1; id > 0; id--) {
    const rlx_node_rec *n = rlx_fuse_at(f, id);
    const rlx_planned *p = f->planned[id];
    for (uint32_t i = 0; !unneeded[id] && i < (p ? p->n_in : n->n_in); i++)
      unneeded[p ? p->in[i].node : n->in[i]] = false;
    /* part of the interface */
    if (rlx_op_table_has(n->op, RLX_TRAIT_LEAF) && n->op != RLX_OP_constant) unneeded[id] = false;
  }
}

static rlx_status write_all(rlx_fuse *f) {
  find_needed(f);
  for (rlx_node id = 1; id < rlx_graph_end(f->w.in); id++) {
    if (f->taken[id]) continue;
    if (f->planned[id])
      RLX_TRY_AT(write_fused(f, id), "node %u (%s)", (unsigned)id, rlx_op_table_get(rlx_fuse_at(f, id)->op)->name);
    else RLX_TRY(rlx_walk_copy(&f->w, id));
  }
  return rlx_walk_end(&f->w, f->ctx);
}

/* ---- the pass ---- */

static void fuse_deinit(rlx_fuse *f) {
  for (rlx_planned *p = f->all; p; p = p->next) rlx_attrs_release(rlx_op_table_get(p->op), p->attrs);
  rlx_mem_free(f->weight_only);
  rlx_mem_free(f->taken);
  rlx_mem_free(f->read);
  rlx_mem_free(f->planned);
  rlx_bump_deinit(&f->bump);
  rlx_walk_deinit(&f->w);
}

static rlx_status fuse_init(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out, rlx_fuse *f) {
  *f = (rlx_fuse){.ctx = ctx};
  RLX_TRY(rlx_walk_init(in, out, &f->w));
  RLX_TRY(rlx_weight_only(in, &f->weight_only));
  f->taken = rlx_mem_calloc(rlx_graph_end(in), sizeof *f->taken);
  f->read = rlx_mem_calloc(rlx_graph_end(in), sizeof *f->read);
  f->planned = rlx_mem_calloc(rlx_graph_end(in), sizeof *f->planned);
  return f->taken && f->read && f->planned ? RLX_OK
                                           : RLX_FAIL(RLX_NO_MEMORY, "fusing %u nodes", (unsigned)rlx_graph_end(in));
}

rlx_status rlx_pass_fuse(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  rlx_fuse f;
  rlx_match m = {.n_in = 0};
  rlx_status s = fuse_init(in, ctx, out, &f);
  for (rlx_node id = rlx_graph_end(in) - 1; id > 0 && !s; id--) s = match_node(&f, id, &m);
  if (!s) s = rlx_fuse_regions(&f);
  if (!s) s = write_all(&f);
  fuse_deinit(&f);
  return s;
}
