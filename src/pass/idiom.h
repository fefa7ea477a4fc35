/* Idioms: ops that exporters spell out, found and said in one word.
 *
 * A file that came out of a training framework has a norm as eight nodes and a gelu as five. Each rule here knows one
 * such spelling from its last node: as a node is about to be appended to the new graph, its rules look at what stands
 * behind its inputs there, and either leave it or append what it means. What a rule made is seen by the rules of later
 * nodes: a norm takes in its gamma, then its beta, each by a rule of its own. What lost its reader so is dropped at the
 * end.
 *
 * A value that something else reads too is no inner value of an idiom: it would be computed twice. So new nodes know
 * how often their old selves are read. Where a target is given, it is asked about what a rule makes, and a rule whose
 * result it does not have is as if it had not matched.
 *
 * Results agree within rounding, and only there: an epsilon outside of its root, a variance over n - 1, an exponential
 * that may overflow are other functions, and stay. Constants that are no round numbers were rounded by whoever wrote
 * them: rlx_idiom_is_near says how much is taken for that. */
#ifndef RLX_PASS_IDIOM_H
#define RLX_PASS_IDIOM_H

#include "pass/pass.h"

typedef struct rlx_idiom {
  rlx_walk w;
  rlx_pass_context *ctx;
  rlx_graph *to;
  RLX_ARRAY(uint32_t) uses;    /* by node of `to`: reads of the old node that it stands for; 1 of a helper */
  RLX_ARRAY(bool) weight_only; /* by node of `to`: params and constants alone decide it */
} rlx_idiom;

/* n is the node to append, its inputs being nodes of p->to. The node that stands for it, or 0: a new one, or
 * one that an inner node of the idiom has stood between. Nodes move when one is appended: read what is needed of them
 * first. */
typedef rlx_node (*rlx_idiom_rule)(rlx_idiom *p, const rlx_node_rec *n);

/* idiom_activation.c */
rlx_node rlx_idiom_product(rlx_idiom *p, const rlx_node_rec *n); /* root mul or div: gelu, silu, mish, hard_swish */
rlx_node rlx_idiom_sigmoid(rlx_idiom *p, const rlx_node_rec *n); /* root div or reciprocal; silu too */
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

/* ---- what rules are written with ---- */

static inline const rlx_node_rec *rlx_idiom_at(const rlx_idiom *p, rlx_node id) { return rlx_graph_at(p->to, id); }
static inline const rlx_dims *rlx_idiom_shape(const rlx_idiom *p, rlx_node id) {
  return &rlx_idiom_at(p, id)->type.shape;
}
/* The node if it is this op and the idiom alone reads it, `reads` times; else NULL. */
static inline const rlx_node_rec *rlx_idiom_inner(const rlx_idiom *p, rlx_node id, rlx_op op, uint32_t reads) {
  const rlx_node_rec *n = rlx_idiom_at(p, id);
  return id && n->op == op && p->uses.v[id] == reads ? n : NULL;
}
/* A constant of one float element. */
bool rlx_idiom_number(const rlx_idiom *p, rlx_node id, double *value);
/* Of a node with two inputs, which is a number: *value it, *other the other one; false if none is, or if it is the
 * number that gives the result its shape. */
bool rlx_idiom_operand(const rlx_idiom *p, const rlx_node_rec *n, double *value, rlx_node *other);
/* Whether a number of a graph of this type stands for `want`: equal but for the rounding to the type, and of f32 to the
 * seven digits that people write. 1, 0.5 and their like need no such help and are compared with ==. */
bool rlx_idiom_is_near(rlx_dtype dtype, double value, double want);

#endif
