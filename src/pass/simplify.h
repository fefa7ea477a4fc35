/* Simplification: local rules (peephole) applied to each node as it is appended.
 *
 * A node that is about to be appended is a draft: its op, its attributes and its inputs, which are nodes of the new
 * graph and already simplified. A rule inspects the draft and the nodes that produce its inputs. It either does
 * nothing, makes the draft simpler, or returns an existing node with the same value. So rules never search, one
 * traversal applies all that local rules can reach, and a rule is a function of a few lines.
 *
 * Every rule is bit-exact for every input: NaN, infinities, -0, the smallest integer. x + 0 is not x (-0 + 0 is 0), x +
 * -0 is. Which of its many bit patterns a NaN has is not part of a result. */
#ifndef RLX_PASS_SIMPLIFY_H
#define RLX_PASS_SIMPLIFY_H

#include "pass/pass.h"

typedef struct rlx_draft {
  rlx_op op;
  uint32_t n_in;
  rlx_node *in;        /* capacity: as many as the node had, and at least 4 */
  rlx_any_attrs attrs; /* sub-graphs and data in it belong to the old graph */
  rlx_type type;       /* of the result: no rule changes it */
  rlx_node done;       /* set by a rule that returns RLX_RULE_DONE */
} rlx_draft;

typedef struct rlx_simplifier {
  rlx_graph *to;
  RLX_ARRAY(bool) splat; /* by node of `to`: a constant with all elements equal */
  bool changed;
} rlx_simplifier;

typedef enum rlx_rule_result {
  RLX_RULE_NO,      /* does not apply */
  RLX_RULE_CHANGED, /* the draft is simpler now */
  RLX_RULE_DONE,    /* draft->done is an existing node with its value */
  RLX_RULE_FAILED   /* no memory: the status is in the graph */
} rlx_rule_result;

typedef rlx_rule_result (*rlx_rule)(rlx_simplifier *s, rlx_draft *d);

/* The rules of each family, in the order they are tried. */
rlx_rule_result rlx_simplify_value(rlx_simplifier *s, rlx_draft *d);  /* simplify_values.c */
rlx_rule_result rlx_simplify_layout(rlx_simplifier *s, rlx_draft *d); /* simplify_layout.c */

/* ---- helpers of the rules ---- */

static inline const rlx_node_rec *rlx_draft_in(const rlx_simplifier *s, const rlx_draft *d, uint32_t i) {
  return rlx_graph_at(s->to, d->in[i]);
}
static inline const rlx_dims *rlx_draft_shape(const rlx_simplifier *s, const rlx_draft *d, uint32_t i) {
  return &rlx_draft_in(s, d, i)->type.shape;
}

static inline rlx_rule_result rlx_draft_done(rlx_draft *d, rlx_node value) {
  d->done = value;
  return RLX_RULE_DONE;
}

/* The draft becomes input i, expanded to the draft's shape if that differs. */
rlx_rule_result rlx_draft_becomes_input(rlx_simplifier *s, rlx_draft *d, uint32_t i);
/* The draft becomes a unary op. attrs: rlx_attrs_<op>. */
rlx_rule_result rlx_draft_becomes_unary(rlx_draft *d, rlx_op op, rlx_node x, const void *attrs);
/* Appends an additional node that a rule needs; 0 on failure. */
rlx_node rlx_simplify_add(rlx_simplifier *s, rlx_op op, const rlx_node *in, uint32_t n_in, const void *attrs);

/* A splat constant (one or more equal elements): its value, as a double (float types) or an integer (integers,
 * bool). */
typedef struct rlx_splat {
  bool is_float;
  double f;
  int64_t i;
} rlx_splat;
bool rlx_simplify_splat(const rlx_simplifier *s, rlx_node id, rlx_splat *out);

#endif
