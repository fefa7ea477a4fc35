/* Fuses the epilogue of a convolution: act(conv + residual). */
#include "ir/act.h"
#include "pass/fuse.h"

/* The convolution `id`; or, if id is a sum, the convolution that it adds to a value of the same shape. */
static const rlx_node_rec *find_conv(const rlx_fuse *f, rlx_node id, rlx_match *m, rlx_node *residual) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  *residual = RLX_NONE;
  if (n->op != RLX_OP_add) return NULL;
  /* of two convolutions the later one: the other's result exists by then */
  uint32_t later = n->in[1] > n->in[0] ? 1 : 0;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t side = i == 0 ? later : 1 - later;
    const rlx_node_rec *conv = rlx_fuse_inner(f, n->in[side], RLX_OP_conv);
    if (!conv || n->in[0] == n->in[1] || !rlx_dims_equal(&conv->type.shape, rlx_fuse_shape(f, n->in[1 - side])))
      continue;
    *residual = n->in[1 - side];
    rlx_match_take(m, n->in[side]);
    return conv;
  }
  return NULL;
}

/* The root is the activation or the sum. */
bool rlx_fuse_conv(rlx_fuse *f, rlx_node root, rlx_match *m) {
  const rlx_node_rec *n = rlx_fuse_at(f, root), *conv = NULL;
  int32_t act = rlx_act_of(n->op);
  rlx_node sum = act ? n->in[0] : root, residual = RLX_NONE;
  if (act && (conv = rlx_fuse_inner(f, sum, RLX_OP_conv))) rlx_match_take(m, sum);
  if (!conv && (!act || rlx_fuse_may_take(f, sum))) {
    conv = find_conv(f, sum, m, &residual);
    if (conv && act) rlx_match_take(m, sum);
  }
  if (!conv) return false;
  const rlx_attrs_conv *a = RLX_ATTRS(conv, conv);
  m->op = RLX_OP_fused_conv_bias_act;
  m->attrs.fused_conv_bias_act_ =
    (rlx_attrs_fused_conv_bias_act){a->stride, a->dilation, a->pad_lo, a->pad_hi, a->groups, act};
  rlx_match_add(m, conv->in[0]);
  rlx_match_add(m, conv->in[1]);
  if (conv->n_in > 2 || residual) rlx_match_add(m, conv->n_in > 2 ? conv->in[2] : RLX_NONE);
  if (residual) rlx_match_add(m, residual);
  return true;
}
