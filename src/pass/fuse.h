/* Fusion: patterns matched backwards from their last node.
 *
 * A matcher is given a node and checks whether it ends a pattern. If so it describes the fused node: op, attributes,
 * inputs, and the inner nodes that it replaces. Only the pattern reads its inner nodes, so no value that is used
 * elsewhere is lost and nothing is computed twice. Nodes are tried from the end of the graph to its start, so larger
 * patterns, which end later, come first.
 *
 * Nodes that depend on weights alone are not fused: hoist computes them once at load, and a fused node would compute
 * them in every run. */
#ifndef RLX_PASS_FUSE_H
#define RLX_PASS_FUSE_H

#include "pass/pass.h"

enum { RLX_FUSE_MAX_IN = 8, RLX_FUSE_MAX_INNER = 48 };

/* An input of a fused node: a node of the old graph, possibly through a slice, or through a transpose and then a
 * reshape. */
typedef struct rlx_fuse_in {
  rlx_node node;   /* 0: absent */
  rlx_node sliced; /* a slice node, of another node of the same shape, to apply to this one; 0: none */
  rlx_dims perm;   /* n == 0: none */
  bool reshaped;
  rlx_dims shape; /* if reshaped */
  bool shared;    /* the pattern skipped a node that has other readers and therefore stays */
} rlx_fuse_in;

/* The result of a matcher. If the fused node's shape is not the root's, a reshape to it follows. */
typedef struct rlx_match {
  rlx_op op;
  rlx_any_attrs attrs;
  uint32_t n_in;
  rlx_fuse_in in[RLX_FUSE_MAX_IN];
  uint32_t n_inner;
  rlx_node inner[RLX_FUSE_MAX_INNER];
} rlx_match;

/* An accepted match, in the pass's memory. */
typedef struct rlx_planned {
  struct rlx_planned *next;
  rlx_op op;
  uint32_t n_in;
  const rlx_fuse_in *in;
  const void *attrs; /* a region's body is retained */
} rlx_planned;

typedef struct rlx_fuse {
  rlx_walk w;
  rlx_pass_context *ctx;
  bool *weight_only;
  bool *taken;           /* inner nodes that belong to a pattern */
  bool *read;            /* inputs of fused nodes: they have a reader that w.uses does not count */
  rlx_planned **planned; /* by root */
  rlx_planned *all;
  rlx_bump bump;
  struct { /* the last constant mask classified: layers share theirs */
    const rlx_blob *blob;
    int64_t rows, columns;
    int verdict;
  } mask;
} rlx_fuse;

typedef bool (*rlx_matcher)(rlx_fuse *f, rlx_node root, rlx_match *m);
bool rlx_fuse_attention_block(rlx_fuse *f, rlx_node root, rlx_match *m); /* fuse_block.c */
bool rlx_fuse_attention(rlx_fuse *f, rlx_node root, rlx_match *m);       /* fuse_attention.c: root is matmul */
bool rlx_fuse_attention_bshd(rlx_fuse *f, rlx_node root, rlx_match *m);  /* root is transpose */
/* For the block: any attention node or its pattern; and a tensor of heads [B, H, S, D] before it was transposed from
 * [B, S, H, D], if it was. */
bool rlx_fuse_read_attention(rlx_fuse *f, rlx_node id, rlx_match *m);
bool rlx_fuse_before_head_swap(const rlx_fuse *f, rlx_fuse_in *x);
bool rlx_fuse_conv(rlx_fuse *f, rlx_node root, rlx_match *m);        /* fuse_conv.c */
bool rlx_fuse_matmul(rlx_fuse *f, rlx_node root, rlx_match *m);      /* fuse_matmul.c */
bool rlx_fuse_norm_matmul(rlx_fuse *f, rlx_node root, rlx_match *m); /* with the preceding norm */
bool rlx_fuse_norm_gate_up(rlx_fuse *f, rlx_node root, rlx_match *m);
bool rlx_fuse_gate_up(rlx_fuse *f, rlx_node root, rlx_match *m);
bool rlx_fuse_swiglu(rlx_fuse *f, rlx_node root, rlx_match *m);
bool rlx_fuse_residual_norm(rlx_fuse *f, rlx_node root, rlx_match *m);

bool rlx_fuse_norm_rope(rlx_fuse *f, rlx_node root, rlx_match *m); /* fuse_rope.c */
bool rlx_fuse_rope_update(rlx_fuse *f, rlx_node root, rlx_match *m);
bool rlx_fuse_rope_attention(rlx_fuse *f, rlx_node root, rlx_match *m); /* fuse_step.c */
/* The norm that computes `id`, if an op can absorb it: an rms_norm over the last axis with only a gamma. It may have
 * other readers: computing it again costs almost nothing, and if all its readers absorb it, it is removed. */
const rlx_node_rec *rlx_fuse_norm_before(const rlx_fuse *f, rlx_node id);

/* Whether a node is a slice of [B, S, H, D] that selects some heads, from *first on. */
bool rlx_fuse_cuts_heads(const rlx_fuse *f, const rlx_node_rec *n, int64_t *first);

/* Groups the remaining element-wise nodes (fuse_region.c). */
rlx_status rlx_fuse_regions(rlx_fuse *f);

/* Plans a match for its root if the op's shape rule and the target accept it. */
rlx_status rlx_fuse_plan(rlx_fuse *f, rlx_node root, const rlx_match *m, bool *accepted);

/* ---- helpers of the matchers ---- */

static inline const rlx_node_rec *rlx_fuse_at(const rlx_fuse *f, rlx_node id) { return rlx_graph_at(f->w.in, id); }
static inline const rlx_dims *rlx_fuse_shape(const rlx_fuse *f, rlx_node id) { return &rlx_fuse_at(f, id)->type.shape; }

/* A node that a pattern may absorb: the pattern is its only reader. */
static inline bool rlx_fuse_is_free(const rlx_fuse *f, rlx_node id) {
  return !f->taken[id] && !f->read[id] && !f->planned[id] && !f->weight_only[id];
}
static inline bool rlx_fuse_may_take(const rlx_fuse *f, rlx_node id) {
  return f->w.uses[id] == 1 && rlx_fuse_is_free(f, id);
}
static inline const rlx_node_rec *rlx_fuse_inner(const rlx_fuse *f, rlx_node id, rlx_op op) {
  const rlx_node_rec *n = rlx_fuse_at(f, id);
  return n->op == op && rlx_fuse_may_take(f, id) ? n : NULL;
}

static inline void rlx_match_add(rlx_match *m, rlx_node node) { m->in[m->n_in++] = (rlx_fuse_in){.node = node}; }
static inline void rlx_match_add_in(rlx_match *m, rlx_fuse_in in) { m->in[m->n_in++] = in; }
static inline void rlx_match_take(rlx_match *m, rlx_node inner) { m->inner[m->n_inner++] = inner; }

/* A product with a bias per column: add(matmul, bias) in either order, or the matmul alone; its nodes are taken. A bias
 * may have axes of size 1 before its columns, so the residual of a single row qualifies. */
typedef struct rlx_product_match {
  rlx_node a, b;
  rlx_fuse_in bias;
  bool trans_b;
} rlx_product_match;
/* is_root: the node itself is not an inner node. */
bool rlx_fuse_product(rlx_fuse *f, rlx_node id, bool is_root, rlx_match *m, rlx_product_match *out);

#endif
