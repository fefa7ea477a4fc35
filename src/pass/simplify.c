/* The simplify pass: the rounds, drafts of nodes, and detection of splat constants. The rules are in simplify_values.c
 * and simplify_layout.c.
 *
 * A round is one traversal. Another follows while something changed, up to a limit. Nodes that lost their last reader
 * are left out of the result. */
#include "pass/simplify.h"

#include <string.h>

#include "ir/element.h"

enum {
  MAX_ROUNDS = 4,
  MAX_STEPS = 16 /* of one draft; each rule makes it simpler, so this is only a safeguard */
};

/* ---- for rules ---- */

rlx_rule_result rlx_draft_becomes_unary(rlx_draft *d, rlx_op op, rlx_node x, const void *attrs) {
  d->op = op;
  d->n_in = 1;
  d->in[0] = x;
  if (attrs) memcpy(&d->attrs, attrs, rlx_op_table_get(op)->attrs_bytes);
  return RLX_RULE_CHANGED;
}

rlx_rule_result rlx_draft_becomes_input(rlx_simplifier *s, rlx_draft *d, uint32_t i) {
  if (rlx_dims_equal(rlx_draft_shape(s, d, i), &d->type.shape)) return rlx_draft_done(d, d->in[i]);
  return rlx_draft_becomes_unary(d, RLX_OP_expand, d->in[i], &(rlx_attrs_expand){d->type.shape});
}

/* Compares elements by their bytes. Each constant is scanned once, and most scans end at the second element. */
static bool is_splat(const rlx_node_rec *n) {
  if (n->op != RLX_OP_constant || rlx_dtype_is_block(n->type.dtype) || n->type.dtype == RLX_C64) return false;
  const rlx_blob *b = RLX_ATTRS(constant, n)->data;
  size_t size = rlx_dtype_size(n->type.dtype);
  return b->bytes >= size && memcmp(b->data, b->data + size, b->bytes - size) == 0;
}

static bool note_nodes(rlx_simplifier *s) {
  while (s->splat.n < rlx_graph_end(s->to))
    if (!rlx_array_push(&s->splat, is_splat(rlx_graph_at(s->to, (rlx_node)s->splat.n)))) return false;
  return true;
}

rlx_node rlx_simplify_add(rlx_simplifier *s, rlx_op op, const rlx_node *in, uint32_t n_in, const void *attrs) {
  rlx_node id = rlx_graph_add(s->to, op, in, n_in, attrs);
  if (id && !note_nodes(s)) return rlx_graph_set_error(s->to, RLX_FAIL(RLX_NO_MEMORY, "simplify"));
  return id;
}

bool rlx_simplify_splat(const rlx_simplifier *s, rlx_node id, rlx_splat *out) {
  if (id >= s->splat.n || !s->splat.v[id]) return false;
  const rlx_node_rec *n = rlx_graph_at(s->to, id);
  rlx_tensor t = {.dtype = n->type.dtype, .data = RLX_ATTRS(constant, n)->data->data};
  *out = (rlx_splat){.is_float = rlx_dtype_is_float(t.dtype)};
  if (out->is_float) out->f = rlx_load(&t, 0);
  else out->i = rlx_load_int(&t, 0);
  return true;
}

/* ---- the walk ---- */

static rlx_status append_draft(rlx_simplifier *s, rlx_draft *d) {
  rlx_rule_result r = RLX_RULE_CHANGED;
  for (int step = 0; step < MAX_STEPS && r == RLX_RULE_CHANGED; step++) {
    r = rlx_simplify_value(s, d);
    if (r == RLX_RULE_NO) r = rlx_simplify_layout(s, d);
    s->changed = s->changed || r != RLX_RULE_NO;
  }
  if (r != RLX_RULE_DONE && r != RLX_RULE_FAILED) d->done = rlx_simplify_add(s, d->op, d->in, d->n_in, &d->attrs);
  RLX_TRY(rlx_graph_status(s->to));
  const rlx_type *got = &rlx_graph_at(s->to, d->done)->type;
  if (rlx_type_equal(got, &d->type)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "a rule for %s gave %s%s instead of %s%s", rlx_op_table_get(d->op)->name,
                  rlx_dtype_name(got->dtype), RLX_DIMS_TEXT(got->shape), rlx_dtype_name(d->type.dtype),
                  RLX_DIMS_TEXT(d->type.shape));
}

static rlx_status step(rlx_simplifier *s, rlx_walk *w, rlx_draft *d, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(w->in, id);
  if (rlx_op_table_has(n->op, RLX_TRAIT_LEAF)) {
    w->map[id] = rlx_simplify_add(s, n->op, NULL, 0, n->attrs);
    return rlx_graph_status(s->to);
  }
  d->op = n->op;
  d->n_in = n->n_in;
  for (uint32_t i = 0; i < n->n_in; i++) d->in[i] = w->map[n->in[i]];
  memcpy(&d->attrs, n->attrs, rlx_op_table_get(n->op)->attrs_bytes);
  d->type = n->type;
  RLX_TRY_AT(append_draft(s, d), "node %u (%s)", (unsigned)id, rlx_op_table_get(n->op)->name);
  w->map[id] = d->done;
  return RLX_OK;
}

/* Scratch for the inputs of any draft of this graph. */
static rlx_node *draft_room(const rlx_graph *g) {
  uint32_t max = 4;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++)
    if (rlx_graph_at(g, id)->n_in > max) max = rlx_graph_at(g, id)->n_in;
  return rlx_mem_calloc(max, sizeof(rlx_node));
}

static rlx_status run_round(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out, bool *changed) {
  rlx_simplifier s = {.to = out};
  rlx_draft d = {.in = draft_room(in)};
  rlx_walk w = {0};
  rlx_status status = d.in && note_nodes(&s) ? rlx_walk_init(in, out, &w) : RLX_FAIL(RLX_NO_MEMORY, "simplify");
  for (rlx_node id = 1; id < rlx_graph_end(in) && !status; id++)
    if (!rlx_walk_is_dead(&w, id)) status = step(&s, &w, &d, id);
  if (!status) status = rlx_walk_end(&w, ctx);
  *changed = s.changed;
  rlx_walk_deinit(&w);
  rlx_array_deinit(&s.splat);
  rlx_mem_free(d.in);
  return status;
}

rlx_status rlx_pass_simplify(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  rlx_graph *current = rlx_graph_retain(in);
  rlx_status s = RLX_OK;
  bool changed = true;
  for (int round = 0; round < MAX_ROUNDS && changed && !s; round++) {
    rlx_graph *next = NULL;
    s = rlx_graph_begin(&next);
    if (!s) s = run_round(current, ctx, next, &changed);
    rlx_graph_destroy(current);
    current = next;
  }
  if (!s) s = rlx_pass_dead(current, ctx, out);
  rlx_graph_destroy(current);
  return s;
}
