/* Absorbing: what multiplies and shifts the channels of a convolution's result goes into its weight and bias.
 *
 * A chain begins with a convolution whose weight and bias do not change from run to run, and goes on with nodes that each
 * turn channel c of their input into a x + b: batch_norm_inference, and mul, add and sub with a value that has one element
 * per channel, all of it weights too. Each link is read by the next alone. The chain becomes one convolution: its weight
 * times the product of the factors, its bias what all the factors and sums make of the old one. These expressions of weights
 * are computed once at load, because hoist moves them there. Results differ in rounding only, as in other products.
 *
 * A chain that begins with a batch norm of anything else becomes one fma in the same way. */
#include "pass/pass.h"

enum { MOST_LINKS = 16 };

typedef struct absorb {
  rlx_walk w;
  bool *weight_only;
  rlx_node *before; /* by node: the link before it in a chain, 0: none */
  bool *inside;     /* it has a link behind it, and goes away */
  bool *starts;     /* a batch norm that begins a chain: what is before it is no part of that */
} absorb;

static const rlx_node_rec *at(const absorb *a, rlx_node id) { return rlx_graph_at(a->w.in, id); }

/* ---- finding ---- */

static bool is_convolution(const absorb *a, const rlx_node_rec *n) {
  if (n->op != RLX_OP_conv || n->type.dtype != RLX_F32 || at(a, n->in[1])->type.dtype != RLX_F32) return false;
  return a->weight_only[n->in[1]] && (n->n_in < 3 || !n->in[2] || a->weight_only[n->in[2]]);
}

/* Whether `id` has one element for each channel of [N, C, ..], or a single one, and is made of weights. */
static bool is_by_channel(const absorb *a, rlx_node id, const rlx_dims *like) {
  const rlx_dims *d = &at(a, id)->type.shape;
  if (!a->weight_only[id] || d->n > like->n) return false;
  for (int i = 0; i < d->n; i++) {
    bool is_channel = i + like->n - d->n == 1;
    if (d->v[i] != 1 && !(is_channel && d->v[i] == like->v[1])) return false;
  }
  return true;
}

/* The input of n that its chain may come from; 0: n is no link. */
static rlx_node link_before(const absorb *a, const rlx_node_rec *n) {
  switch (n->op) {
    case RLX_OP_batch_norm_inference:
      for (uint32_t i = 1; i < n->n_in; i++)
        if (n->in[i] && !a->weight_only[n->in[i]]) return RLX_NONE;
      return n->in[0];
    case RLX_OP_mul:
    case RLX_OP_add:
      for (uint32_t i = 0; i < 2; i++)
        if (is_by_channel(a, n->in[1 - i], &n->type.shape) && !a->weight_only[n->in[i]]) return n->in[i];
      return RLX_NONE;
    case RLX_OP_sub: return is_by_channel(a, n->in[1], &n->type.shape) ? n->in[0] : RLX_NONE;
    default: return RLX_NONE;
  }
}

static void find_chains(absorb *a) {
  for (rlx_node id = 1; id < rlx_graph_end(a->w.in); id++) {
    const rlx_node_rec *n = at(a, id);
    if (!a->w.uses[id] || a->weight_only[id] || n->type.dtype != RLX_F32) continue;
    rlx_node before = link_before(a, n);
    if (!before || !rlx_dims_equal(&at(a, before)->type.shape, &n->type.shape)) continue;
    bool joins = a->w.uses[before] == 1 && (is_convolution(a, at(a, before)) || a->before[before]);
    if (!joins && n->op != RLX_OP_batch_norm_inference) continue;
    a->before[id] = before;
    a->starts[id] = !joins;
    a->inside[before] = a->inside[before] || joins;
  }
}

/* ---- writing ---- */

/* a x + b, each [C]; 0: one and zero. */
typedef struct affine {
  rlx_node factor, sum;
} affine;

static rlx_node flat(absorb *a, rlx_node old, int64_t channels) {
  rlx_graph *g = a->w.out;
  rlx_node x = a->w.map[old];
  if (rlx_dims_count(&at(a, old)->type.shape) == 1 && channels != 1)
    return rlx_expand(g, rlx_reshape(g, x, RLX_DIMS(1)), RLX_DIMS(channels));
  return rlx_reshape(g, x, RLX_DIMS(channels));
}

static affine norm_link(absorb *a, rlx_node id) {
  rlx_graph *g = a->w.out;
  const rlx_node_rec *n = at(a, id);
  const rlx_node *in = rlx_walk_inputs(&a->w, id);
  rlx_node gamma = n->n_in > 3 ? in[3] : RLX_NONE, beta = n->n_in > 4 ? in[4] : RLX_NONE;
  rlx_node eps = rlx_scalar(g, RLX_F32, RLX_ATTRS(batch_norm_inference, n)->eps);
  rlx_node deviation = rlx_sqrt(g, rlx_add(g, in[2], eps));
  rlx_node factor = rlx_div(g, gamma ? gamma : rlx_scalar(g, RLX_F32, 1), deviation);
  rlx_node shift = rlx_neg(g, rlx_mul(g, in[1], factor));
  return (affine){factor, beta ? rlx_add(g, shift, beta) : shift};
}

static affine link_of(absorb *a, rlx_node id) {
  const rlx_node_rec *n = at(a, id);
  if (n->op == RLX_OP_batch_norm_inference) return norm_link(a, id);
  rlx_node other = flat(a, n->in[n->in[0] == a->before[id] ? 1 : 0], n->type.shape.v[1]);
  if (n->op == RLX_OP_mul) return (affine){other, RLX_NONE};
  return (affine){RLX_NONE, n->op == RLX_OP_sub ? rlx_neg(a->w.out, other) : other};
}

/* What the link makes of a x + b. */
static affine then(absorb *a, affine x, affine link) {
  rlx_graph *g = a->w.out;
  if (link.factor) {
    x.factor = x.factor ? rlx_mul(g, x.factor, link.factor) : link.factor;
    if (x.sum) x.sum = rlx_mul(g, x.sum, link.factor);
  }
  if (link.sum) x.sum = x.sum ? rlx_add(g, x.sum, link.sum) : link.sum;
  return x;
}

static rlx_node by_channel(absorb *a, rlx_node x, rlx_dims shape, int axis) {
  for (int i = 0; i < shape.n; i++)
    if (i != axis) shape.v[i] = 1;
  return rlx_reshape(a->w.out, x, shape);
}

static rlx_node write_conv(absorb *a, const rlx_node_rec *conv, affine all) {
  const rlx_attrs_conv *attrs = RLX_ATTRS(conv, conv);
  rlx_conv_desc desc = {attrs->stride, attrs->dilation, attrs->pad_lo, attrs->pad_hi, attrs->groups};
  rlx_node w = a->w.map[conv->in[1]];
  if (all.factor) w = rlx_mul(a->w.out, w, by_channel(a, all.factor, at(a, conv->in[1])->type.shape, 0));
  return rlx_conv(a->w.out, a->w.map[conv->in[0]], w, all.sum, &desc);
}

static rlx_node write_fma(absorb *a, rlx_node x, rlx_dims shape, affine all) {
  rlx_node factor = by_channel(a, all.factor, shape, 1), sum = by_channel(a, all.sum, shape, 1);
  return rlx_fma(a->w.out, x, factor, sum);
}

/* The whole chain that ends with `id`. */
static rlx_status write_chain(absorb *a, rlx_node id) {
  rlx_node links[MOST_LINKS], first = id;
  bool is_conv = true;
  size_t n = 0;
  for (; a->before[first] && is_conv; first = a->before[first]) {
    links[n++] = first;
    is_conv = !a->starts[first];
  }
  const rlx_node_rec *base = at(a, first);
  affine all = {RLX_NONE, is_conv && base->n_in > 2 && base->in[2] ? a->w.map[base->in[2]] : RLX_NONE};
  while (n > 0) all = then(a, all, link_of(a, links[--n]));
  a->w.map[id] = is_conv ? write_conv(a, base, all) : write_fma(a, a->w.map[first], at(a, id)->type.shape, all);
  return rlx_graph_status(a->w.out);
}

/* ---- the pass ---- */

/* Chains that are too long are cut: what comes after stays as it is. */
static void cut_long(absorb *a) {
  for (rlx_node id = 1; id < rlx_graph_end(a->w.in); id++) {
    size_t n = 0;
    for (rlx_node link = id; a->before[link]; link = a->before[link]) {
      n++;
      if (a->starts[link]) break;
    }
    if (n < MOST_LINKS) continue;
    if (!a->starts[id]) a->inside[a->before[id]] = false;
    a->before[id] = RLX_NONE;
  }
}

rlx_status rlx_pass_absorb(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  absorb a = {0};
  rlx_status s = rlx_walk_init(in, out, &a.w);
  if (!s) s = rlx_weight_only(in, &a.weight_only);
  a.before = rlx_mem_calloc(rlx_graph_end(in), sizeof *a.before);
  a.inside = rlx_mem_calloc(rlx_graph_end(in), sizeof *a.inside);
  a.starts = rlx_mem_calloc(rlx_graph_end(in), sizeof *a.starts);
  if (!s && (!a.before || !a.inside || !a.starts))
    s = RLX_FAIL(RLX_NO_MEMORY, "absorbing in %u nodes", (unsigned)rlx_graph_end(in));
  if (!s) find_chains(&a);
  if (!s) cut_long(&a);
  for (rlx_node id = 1; id < rlx_graph_end(in) && !s; id++) {
    if (a.inside[id] || rlx_walk_is_dead(&a.w, id)) continue;
    s = a.before[id] ? write_chain(&a, id) : rlx_walk_copy(&a.w, id);
  }
  if (!s) s = rlx_walk_end(&a.w, ctx);
  rlx_mem_free(a.before);
  rlx_mem_free(a.inside);
  rlx_mem_free(a.starts);
  rlx_mem_free(a.weight_only);
  rlx_walk_deinit(&a.w);
  return s;
}
