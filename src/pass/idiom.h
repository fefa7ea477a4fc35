/* Idioms: recognises ops that exporters decompose, and replaces them by the op.
 *
 * Training frameworks export a norm as eight nodes and a gelu as five. Each rule recognises one decomposition by its
 * last node: when a node is about to be appended to the new graph, its rules inspect the nodes that produce its inputs,
 * and either do nothing or append the replacement. Later rules see the results of earlier ones: a norm absorbs its
 * gamma, then its beta, each by its own rule. Nodes that lost their last reader are dropped at the end.
 *
 * A value with other readers is not an inner value of an idiom: it would be computed twice. So each new node has the
 * use count of the old node that it stands for. If a target is given and does not support a rule's result, the rule
 * counts as not matched.
 *
 * Results agree within rounding, and rules match only what is equivalent: an epsilon outside the root, a variance over
 * n - 1, or an exponential that may overflow are different functions and stay. Constants such as sqrt(2 / pi) are
 * rounded in files; rlx_idiom_is_near defines the tolerance. */
#ifndef RLX_PASS_IDIOM_H
#define RLX_PASS_IDIOM_H

#include "pass/pass.h"

typedef struct rlx_idiom {
  rlx_walk w;
  rlx_pass_context *ctx;
  rlx_graph *to;
  RLX_ARRAY(uint32_t) uses;    /* by node of `to`: uses of the old node that it stands for; 1 for a helper */
  RLX_ARRAY(bool) weight_only; /* by node of `to`: it depends on params and constants alone */
} rlx_idiom;

/* n is the node to append; its inputs are nodes of p->to. Returns the node that replaces it: a new one, or an existing
 * one whose inner nodes the idiom skips; 0 if the rule does not match. Appending a node may move others in memory: read
 * what is needed of them first. */
typedef rlx_node (*rlx_idiom_rule)(rlx_idiom *p, const rlx_node_rec *n);

/* idiom_activation.c */
rlx_node rlx_idiom_product(rlx_idiom *p, const rlx_node_rec *n); /* root mul or div: gelu, silu, mish, hard_swish */
rlx_node rlx_idiom_sigmoid(rlx_idiom *p, const rlx_node_rec *n); /* root div or reciprocal; also silu */
rlx_node rlx_idiom_relu(rlx_idiom *p, const rlx_node_rec *n);    /* root max or clamp */
/* idiom_norm.c */
rlx_node rlx_idiom_norm(rlx_idiom *p, const rlx_node_rec *n);        /* root div or mul */
rlx_node rlx_idiom_norm_scale(rlx_idiom *p, const rlx_node_rec *n);  /* root mul: a norm and its gamma */
rlx_node rlx_idiom_norm_shift(rlx_idiom *p, const rlx_node_rec *n);  /* root add: a norm and its beta */
rlx_node rlx_idiom_norm_affine(rlx_idiom *p, const rlx_node_rec *n); /* root add or sub: x f + (beta - mean f) */
rlx_node rlx_idiom_group_norm(rlx_idiom *p, const rlx_node_rec *n);  /* root reshape */
rlx_node rlx_idiom_softmax(rlx_idiom *p, const rlx_node_rec *n);     /* root div or mul */
rlx_node rlx_idiom_log_softmax(rlx_idiom *p, const rlx_node_rec *n); /* root sub */
rlx_node rlx_idiom_narrow(rlx_idiom *p, const rlx_node_rec *n);      /* root cast */
/* idiom_attention.c */
rlx_node rlx_idiom_mask(rlx_idiom *p, const rlx_node_rec *n); /* root softmax */
/* idiom_heads.c */
rlx_node rlx_idiom_joined_product(rlx_idiom *p, const rlx_node_rec *n); /* root matmul */
rlx_node rlx_idiom_joined_softmax(rlx_idiom *p, const rlx_node_rec *n);
rlx_node rlx_idiom_reshape_twice(rlx_idiom *p, const rlx_node_rec *n);
rlx_node rlx_idiom_head_scale(rlx_idiom *p, const rlx_node_rec *n); /* root transpose */
/* idiom_layout.c */
rlx_node rlx_idiom_transposes(rlx_idiom *p, const rlx_node_rec *n); /* root transpose */
rlx_node rlx_idiom_slice(rlx_idiom *p, const rlx_node_rec *n);
rlx_node rlx_idiom_reshape(rlx_idiom *p, const rlx_node_rec *n);
rlx_node rlx_idiom_gather(rlx_idiom *p, const rlx_node_rec *n);
rlx_node rlx_idiom_flat_product(rlx_idiom *p, const rlx_node_rec *n); /* root reshape */
/* idiom_conv.c */
rlx_node rlx_idiom_batch_norm(rlx_idiom *p, const rlx_node_rec *n);
rlx_node rlx_idiom_conv_scale(rlx_idiom *p, const rlx_node_rec *n);     /* root mul */
rlx_node rlx_idiom_conv_shift(rlx_idiom *p, const rlx_node_rec *n);     /* root add or sub */
rlx_node rlx_idiom_channel_affine(rlx_idiom *p, const rlx_node_rec *n); /* root mul or add */

/* ---- helpers of the rules ---- */

static inline const rlx_node_rec *rlx_idiom_at(const rlx_idiom *p, rlx_node id) { return rlx_graph_at(p->to, id); }
static inline const rlx_dims *rlx_idiom_shape(const rlx_idiom *p, rlx_node id) {
  return &rlx_idiom_at(p, id)->type.shape;
}
/* The node if it has this op and only the idiom reads it, `reads` times; else NULL. */
static inline const rlx_node_rec *rlx_idiom_inner(const rlx_idiom *p, rlx_node id, rlx_op op, uint32_t reads) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  return id && n->op == op && p->uses.v[id] == reads ? n : NULL;
}
/* A constant of one float element. */
bool rlx_idiom_number(const rlx_idiom *p, rlx_node id, double *value);
/* Splits a binary node into a constant *value and the *other operand. False if neither is a constant, or if the
 * constant determines the result's shape. */
bool rlx_idiom_operand(const rlx_idiom *p, const rlx_node_rec *n, double *value, rlx_node *other);
/* Whether a constant of this type stands for `want`: equal up to the rounding of the type, and for f32 up to the seven
 * digits that are commonly written. Exact numbers such as 1 and 0.5 are compared with ==. */
bool rlx_idiom_is_near(rlx_dtype dtype, double value, double want);

#endif
