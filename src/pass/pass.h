/* Passes: each reads one graph and writes another.
 *
 * A pass is a row of passes.def: a name, a line of documentation and a function. It never edits a graph in place; it
 * walks the old nodes in order and appends to a new graph, keeping a map from old ids to new ones, so every pass is one
 * loop (or a fixed number of them) and costs O(nodes). Passes run on graphs of numbers: bind symbols first. Results are
 * the same with and without any pass: to the bit where elements are moved or computed one by one, but for idiom, which
 * rounds less often than what it replaces. */
#ifndef RLX_PASS_PASS_H
#define RLX_PASS_PASS_H

#include "ir/graph.h"

typedef struct rlx_report rlx_report; /* report.h */

/* What the target can do, and what the passes tell about their work. */
typedef struct rlx_pass_context {
  rlx_supports_fn supports; /* NULL: everything is supported */
  void *supports_user;
  uint32_t switches;  /* rlx_switch */
  rlx_report *report; /* may be NULL: filled by legalise */
  rlx_graph *load;    /* out, from hoist: computes params of the result from params of the source; NULL if none */
  /* Where each node of the graph that came to the first pass is now; 0: nowhere. NULL: not kept. */
  rlx_node *origin;
  uint32_t n_origin;
} rlx_pass_context;

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

/* Runs one pass: makes the new graph, lets the pass fill it, finishes and so verifies it. */
rlx_status rlx_pass_run(const rlx_pass *pass, const rlx_graph *in, rlx_pass_context *ctx, rlx_graph **out);

/* rlx_optimize for those who may stop it: asked before each pass. */
typedef struct rlx_stop {
  rlx_cancel_fn fn; /* NULL: never */
  void *user;
} rlx_stop;
rlx_status rlx_optimize_stoppable(const rlx_graph *g, const rlx_optimize_options *options, const rlx_stop *stop,
                                  rlx_optimized **out);
/* Whether rlx_optimize would know every pass that these options name. */
rlx_status rlx_optimize_check(const rlx_optimize_options *options);
/* The node of the result that holds the value of a node of the source; 0: fused, folded or moved away. */
rlx_node rlx_optimized_origin(const rlx_optimized *o, rlx_node source);

/* What most passes need while they walk. */
typedef struct rlx_walk {
  const rlx_graph *in;
  rlx_graph *out;
  rlx_node *map;    /* old id -> new id; 0 until copied or when dropped */
  uint32_t *uses;   /* of old nodes: reads by needed nodes and by outputs, and one for an effect; 0: not needed */
  rlx_node *inputs; /* room for the inputs of any one node */
} rlx_walk;
rlx_status rlx_walk_init(const rlx_graph *in, rlx_graph *out, rlx_walk *w);
void rlx_walk_deinit(rlx_walk *w);
/* The inputs of an old node by their new ids: w->inputs, until the next call. */
rlx_node *rlx_walk_inputs(rlx_walk *w, rlx_node id);
/* Copies a node with its inputs mapped, and notes it in the map. */
rlx_status rlx_walk_copy(rlx_walk *w, rlx_node id);
/* Copies every node. */
rlx_status rlx_walk_copy_all(rlx_walk *w);
/* Copies the outputs and notes in ctx where the nodes went. */
rlx_status rlx_walk_end(rlx_walk *w, rlx_pass_context *ctx);
/* One more step on the way: what was node n is now map[n]. For passes that walk in several rounds. */
void rlx_origin_follow(rlx_pass_context *ctx, const rlx_node *map);

/* A node that nothing needs and that is no part of the graph's interface (an input, param or state is). */
static inline bool rlx_walk_is_dead(const rlx_walk *w, rlx_node id) {
  rlx_op op = rlx_graph_at(w->in, id)->op;
  return w->uses[id] == 0 && (op == RLX_OP_constant || !rlx_op_table_has(op, RLX_TRAIT_LEAF));
}

/* Which nodes depend on params and constants alone, and so have the same value in every run: flags by node id, to be
 * freed with rlx_mem_free. Random nodes, updates and control flow are never among them, nor is what is far larger than all
 * weights together. */
rlx_status rlx_weight_only(const rlx_graph *g, bool **flags);

/* ---- rewrites: one small function per composite op, listed in rewrites.def ---- */
typedef struct rlx_rewrite {
  rlx_graph *to;            /* append here, with the public builder functions */
  const rlx_node_rec *node; /* the node to replace (attributes: RLX_ATTRS(op, r->node)) */
  const rlx_type *type;     /* its type: the result must have it */
  const rlx_node *in;       /* its inputs in `to`; 0 where absent */
  uint32_t n_in;
  const char *why; /* out: why it does not apply to this node, where it does not */
} rlx_rewrite;
/* The node that stands for r->node now, or 0 with r->why set. */
typedef rlx_node (*rlx_rewrite_fn)(rlx_rewrite *r);
rlx_rewrite_fn rlx_rewrite_get(rlx_op op); /* NULL: a primitive */

#endif
