/* The idiom pass: the table of rules, the traversal, and the helpers that read constants. */
#include "pass/idiom.h"

#include <math.h>

#include "ir/element.h"

/* The rules of each root op, in the order they are tried. */
static const struct {
  rlx_op root;
  rlx_idiom_rule rule;
} rules[] = {
  {RLX_OP_mul, rlx_idiom_product},
  {RLX_OP_mul, rlx_idiom_norm},
  {RLX_OP_mul, rlx_idiom_norm_scale},
  {RLX_OP_mul, rlx_idiom_softmax},
  {RLX_OP_mul, rlx_idiom_conv_scale},
  {RLX_OP_mul, rlx_idiom_channel_affine},
  {RLX_OP_div, rlx_idiom_product},
  {RLX_OP_div, rlx_idiom_sigmoid},
  {RLX_OP_div, rlx_idiom_norm},
  {RLX_OP_div, rlx_idiom_softmax},
  {RLX_OP_add, rlx_idiom_norm_shift},
  {RLX_OP_add, rlx_idiom_norm_affine},
  {RLX_OP_add, rlx_idiom_conv_shift},
  {RLX_OP_add, rlx_idiom_channel_affine},
  {RLX_OP_sub, rlx_idiom_norm_affine},
  {RLX_OP_sub, rlx_idiom_log_softmax},
  {RLX_OP_sub, rlx_idiom_conv_shift},
  {RLX_OP_reciprocal, rlx_idiom_sigmoid},
  {RLX_OP_max, rlx_idiom_relu},
  {RLX_OP_clamp, rlx_idiom_relu},
  {RLX_OP_matmul, rlx_idiom_joined_product},
  {RLX_OP_softmax, rlx_idiom_joined_softmax},
  {RLX_OP_softmax, rlx_idiom_mask},
  {RLX_OP_transpose, rlx_idiom_head_scale},
  {RLX_OP_transpose, rlx_idiom_transposes},
  {RLX_OP_slice, rlx_idiom_slice},
  {RLX_OP_reshape, rlx_idiom_flat_product},
  {RLX_OP_reshape, rlx_idiom_group_norm},
  {RLX_OP_reshape, rlx_idiom_reshape_twice},
  {RLX_OP_reshape, rlx_idiom_reshape},
  {RLX_OP_gather, rlx_idiom_gather},
  {RLX_OP_cast, rlx_idiom_narrow},
  {RLX_OP_batch_norm_inference, rlx_idiom_batch_norm},
};

/* ---- numbers ---- */

bool rlx_idiom_number(const rlx_idiom *p, rlx_node id, double *value) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  if (n->op != RLX_OP_constant || !rlx_dtype_is_float(n->type.dtype) || rlx_dims_count(&n->type.shape) != 1)
    return false;
  rlx_tensor t = {.dtype = n->type.dtype, .data = RLX_ATTRS(constant, n)->data->data};
  *value = rlx_load(&t, 0);
  return true;
}

bool rlx_idiom_operand(const rlx_idiom *p, const rlx_node_rec *n, double *value, rlx_node *other) {
  for (uint32_t i = 0; i < 2; i++) {
    if (!rlx_idiom_number(p, n->in[i], value)) continue;
    *other = n->in[1 - i];
    return rlx_dims_equal(rlx_idiom_shape(p, *other), &n->type.shape);
  }
  return false;
}

/* Tolerances: half a unit in the last place for f16 and bf16; the last digits of f64; and for f32 the error of a number
 * written with seven digits: 0.797885 is sqrt(2 / pi) to 5.5e-7. */
bool rlx_idiom_is_near(rlx_dtype dtype, double value, double want) {
  double share = dtype == RLX_F16 ? 0x1p-11 : dtype == RLX_BF16 ? 0x1p-8 : dtype == RLX_F64 ? 1e-12 : 1e-6;
  return fabs(value - want) <= share * fabs(want);
}

/* ---- the walk ---- */

static bool is_weight_only(const rlx_idiom *p, const rlx_node_rec *n) {
  const uint32_t never = RLX_TRAIT_RANDOM | RLX_TRAIT_EFFECT | RLX_TRAIT_CONTROL;
  bool is = n->op != RLX_OP_input && n->op != RLX_OP_state && !rlx_op_table_has(n->op, never);
  for (uint32_t i = 0; is && i < n->n_in; i++) is = !n->in[i] || p->weight_only.v[n->in[i]];
  return is;
}

static rlx_status note_nodes(rlx_idiom *p) {
  while (p->uses.n < rlx_graph_end(p->to)) {
    bool weight_only = p->uses.n > 0 && is_weight_only(p, rlx_idiom_at(p, (rlx_node)p->uses.n));
    if (!rlx_array_push(&p->weight_only, weight_only) || !rlx_array_push(&p->uses, 1))
      return RLX_FAIL(RLX_NO_MEMORY, "idioms of %u nodes", (unsigned)rlx_graph_end(p->to));
  }
  return RLX_OK;
}

/* Whether the target supports all nodes from `first` on, except weight-only ones, which are computed at load. */
static bool is_supported(const rlx_idiom *p, rlx_node first) {
  const char *why = NULL;
  for (rlx_node id = first; p->ctx->supports && id < rlx_graph_end(p->to); id++)
    if (!p->weight_only.v[id] && !p->ctx->supports(p->ctx->supports_user, p->to, id, &why)) return false;
  return true;
}

static rlx_status check_type(const rlx_idiom *p, const rlx_node_rec *n, rlx_node made) {
  const rlx_type *got = &rlx_idiom_at(p, made)->type;
  if (rlx_type_equal(got, &n->type)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "a rule for %s gave %s%s instead of %s%s", rlx_op_table_get(n->op)->name,
                  rlx_dtype_name(got->dtype), RLX_DIMS_TEXT(got->shape), rlx_dtype_name(n->type.dtype),
                  RLX_DIMS_TEXT(n->type.shape));
}

/* Tries the rules of a node: *made is its replacement, or 0. */
static rlx_status try_rules(rlx_idiom *p, const rlx_node_rec *n, rlx_node *made) {
  *made = RLX_NONE;
  for (size_t i = 0; i < sizeof rules / sizeof *rules && !*made; i++) {
    if (rules[i].root != n->op) continue;
    rlx_node first = rlx_graph_end(p->to);
    *made = rules[i].rule(p, n);
    RLX_TRY(rlx_graph_status(p->to));
    RLX_TRY(note_nodes(p));
    if (*made) RLX_TRY(check_type(p, n, *made));
    if (*made && !is_supported(p, first)) *made = RLX_NONE;
  }
  return RLX_OK;
}

static rlx_status step(rlx_idiom *p, rlx_node id) {
  rlx_node_rec n = *rlx_graph_at(p->w.in, id);
  rlx_node made = RLX_NONE;
  if (!rlx_op_table_has(n.op, RLX_TRAIT_LEAF)) {
    n.in = rlx_walk_inputs(&p->w, id);
    RLX_TRY_AT(try_rules(p, &n, &made), "node %u (%s)", (unsigned)id, rlx_op_table_get(n.op)->name);
  }
  p->w.map[id] = made;
  if (!made) RLX_TRY(rlx_walk_copy(&p->w, id));
  RLX_TRY(note_nodes(p));
  p->uses.v[p->w.map[id]] += p->w.uses[id] - 1; /* replaces the 1 that it had; a leaf may have no reader */
  return RLX_OK;
}

static rlx_status walk(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *to) {
  rlx_idiom p = {.ctx = ctx, .to = to};
  rlx_status s = rlx_walk_init(in, to, &p.w);
  if (!s) s = note_nodes(&p);
  for (rlx_node id = 1; id < rlx_graph_end(in) && !s; id++)
    if (!rlx_walk_is_dead(&p.w, id)) s = step(&p, id);
  if (!s) s = rlx_walk_end(&p.w, ctx);
  rlx_array_deinit(&p.uses);
  rlx_array_deinit(&p.weight_only);
  rlx_walk_deinit(&p.w);
  return s;
}

rlx_status rlx_pass_idiom(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  rlx_graph *found;
  RLX_TRY(rlx_graph_begin(&found));
  rlx_status s = walk(in, ctx, found);
  if (!s) s = rlx_pass_dead(found, ctx, out);
  rlx_graph_destroy(found);
  return s;
}
