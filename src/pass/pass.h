/* Passes: each reads one graph and writes another.
 *
 * A pass is a row of passes.def: a name, a line of documentation and a function. It does not edit a graph in place: it
 * visits the old nodes in order and appends to a new graph, with a map from old ids to new ones. So every pass is one
 * loop (or a fixed number of them) and costs O(nodes). Passes run on graphs without symbols. Results with and without
 * any pass are bit-identical where elements are moved or computed one by one, except for idiom, which rounds less often
 * than what it replaces. */
#ifndef RLX_PASS_PASS_H
#define RLX_PASS_PASS_H

#include "base/str.h"
#include "ir/graph.h"

typedef struct rlx_report rlx_report; /* report.h */
typedef struct rlx_rewrite_large rlx_rewrite_large;

/* The target's capabilities, and what the passes report. */
typedef struct rlx_pass_context {
  rlx_supports_fn supports; /* NULL: everything is supported */
  void *supports_user;
  const rlx_rewrite_large *large; /* NULL: all weights fit the target */
  uint32_t switches;              /* rlx_switch */
  rlx_report *report;             /* may be NULL: filled by legalise */
  rlx_graph *load; /* set by hoist: computes params of the result from params of the source; NULL if none */
  /* The current node of each node of the first pass's input; 0: none. NULL: not tracked. */
  rlx_node *origin;
  uint32_t n_origin;
} rlx_pass_context;

/* What splits weights for the target; a library without GPUs has nothing that does. */
static inline const rlx_rewrite_large *rlx_pass_large(const rlx_pass_context *ctx) {
#ifdef RLX_NO_GPUS
  return (void)ctx, NULL;
#else
  return ctx->large;
#endif
}

typedef rlx_status (*rlx_pass_fn)(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out);

typedef struct rlx_pass {
  const char *name;
  const char *doc;
  rlx_pass_fn run;
} rlx_pass;

/* In pipeline order (passes.def). */
extern const rlx_pass rlx_passes[];
extern const size_t rlx_passes_count;
#define PASS(name, doc) rlx_status rlx_pass_##name(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out);
#include "pass/passes.def"
#undef PASS

/* Runs one pass: creates the new graph, lets the pass fill it, and finishes it, which verifies it. */
rlx_status rlx_pass_run(const rlx_pass *pass, const rlx_graph *in, rlx_pass_context *ctx, rlx_graph **out);

/* rlx_optimize for a device's target, with a cancel function, called before each pass. */
typedef struct rlx_stop {
  rlx_cancel_fn fn; /* NULL: never */
  void *user;
} rlx_stop;
rlx_status rlx_optimize_for(const rlx_graph *g, const rlx_optimize_options *options, const rlx_rewrite_large *large,
                            const rlx_stop *stop, rlx_optimized **out);
/* Checks that every pass that these options name exists. */
rlx_status rlx_optimize_check(const rlx_optimize_options *options);
/* The node of the result with the value of a node of the source; 0: fused, folded or removed. */
rlx_node rlx_optimized_origin(const rlx_optimized *o, rlx_node source);
/* The dispatch report; JSON without its last '}', so that fields can follow. */
void rlx_optimized_add_report(const rlx_optimized *o, bool json, rlx_str *s);

/* The state of a traversal that most passes need. */
typedef struct rlx_walk {
  const rlx_graph *in;
  rlx_graph *out;
  rlx_node *map;    /* old id -> new id; 0 until copied or when dropped */
  uint32_t *uses;   /* use counts of old nodes: reads by live nodes and by outputs, plus one for an effect; 0: dead */
  rlx_node *inputs; /* scratch for the inputs of any one node */
} rlx_walk;
rlx_status rlx_walk_init(const rlx_graph *in, rlx_graph *out, rlx_walk *w);
void rlx_walk_deinit(rlx_walk *w);
/* The inputs of an old node as new ids: w->inputs, valid until the next call. */
rlx_node *rlx_walk_inputs(rlx_walk *w, rlx_node id);
/* Copies a node with its inputs mapped, and records it in the map. */
rlx_status rlx_walk_copy(rlx_walk *w, rlx_node id);
/* Copies every node. */
rlx_status rlx_walk_copy_all(rlx_walk *w);
/* Copies the outputs and records in ctx where the nodes are now. */
rlx_status rlx_walk_end(rlx_walk *w, rlx_pass_context *ctx);
/* Composes ctx->origin with a map: node n is now map[n]. For passes with several rounds. */
void rlx_origin_follow(rlx_pass_context *ctx, const rlx_node *map);

/* A dead node that is not part of the graph's interface (inputs, params and states are). */
static inline bool rlx_walk_is_dead(const rlx_walk *w, rlx_node id) {
  rlx_op op = rlx_graph_at(w->in, id)->op;
  return w->uses[id] == 0 && (op == RLX_OP_constant || !rlx_op_table_has(op, RLX_TRAIT_LEAF));
}

/* Flags, by node id, of nodes that depend on params and constants alone, and so have the same value in every run; free
 * with rlx_mem_free. Random nodes, updates, control flow and values far larger than all weights together are
 * excluded. */
rlx_status rlx_weight_only(const rlx_graph *g, bool **flags);

/* ---- rewrites: one small function per composite op, listed in rewrites.def ---- */
typedef struct rlx_rewrite {
  rlx_graph *to;            /* append here, with the public builder functions */
  const rlx_node_rec *node; /* the node to replace (attributes: RLX_ATTRS(op, r->node)) */
  const rlx_type *type;     /* its type: the result must have it */
  const rlx_node *in;       /* its inputs in `to`; 0: absent */
  uint32_t n_in;
  const char *why;    /* out: why it does not apply to this node */
  uint64_t max_bytes; /* largest weight, for rlx_rewrite_large; else 0 */
} rlx_rewrite;
/* Returns the replacement of r->node, or 0 with r->why set. */
typedef rlx_node (*rlx_rewrite_fn)(rlx_rewrite *r);
rlx_rewrite_fn rlx_rewrite_get(rlx_op op); /* NULL: a primitive */

/* How a target that binds at most max_bytes to a kernel runs a node that reads a larger weight: `split` replaces the
 * node by ones that read slices of the weight, which become weights of their own (hoist). It is called for nodes that
 * the target refuses and that no rewrite simplifies. */
struct rlx_rewrite_large {
  rlx_rewrite_fn split;
  uint64_t max_bytes;
};

#endif
