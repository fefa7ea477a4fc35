/* Legalisation: replaces nodes that the target does not support by their rewrites.
 *
 * Rounds repeat until nothing changes, because a rewrite may produce nodes that the target does not support either.
 * What then remains unsupported runs on the host. If the target runs no part of a rewritten node, the node is better
 * left whole: the host runs one op faster than its parts, and more exactly. If there are such nodes, the rounds run
 * once more without their rewrites.
 *
 * A round is one traversal that copies the graph. Each node keeps the source node that it came from, for the report.
 * Rewrites go only from composite to simpler ops, so a few rounds suffice; the bound guards against a rewrite that
 * produces itself. */
#include "pass/legalise.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/log.h"
#include "pass/report.h"

enum { MAX_ROUNDS = 12 };

/* A graph in progress, and for each of its nodes the source node and why it is not native (NULL: it is native). */
typedef struct stage {
  rlx_graph *graph;
  RLX_ARRAY(rlx_node) origin;
  RLX_ARRAY(const char *) why;
  bool changed;
} stage;

typedef RLX_ARRAY(rlx_node) input_list; /* a node's inputs in the new graph */

/* The inputs of the pass: the target, and the table of rewrites. */
typedef struct plan {
  rlx_pass_context *ctx;
  rlx_rewrite_table rewrites;
  const bool *whole; /* by source node: not to be rewritten; NULL: none */
} plan;

static void stage_deinit(stage *s) {
  rlx_graph_destroy(s->graph);
  rlx_array_deinit(&s->origin);
  rlx_array_deinit(&s->why);
  *s = (stage){0};
}

/* Rows of a weight that is larger than the target takes. They are copied when weights are loaded. */
static bool is_part_of_large(const rlx_pass_context *ctx, const rlx_graph *g, const rlx_node_rec *n) {
  const rlx_rewrite_large *large = rlx_pass_large(ctx);
  if (!large || n->op != RLX_OP_slice || rlx_graph_at(g, n->in[0])->op != RLX_OP_param) return false;
  const rlx_type *t = &rlx_graph_at(g, n->in[0])->type;
  size_t bytes;
  return rlx_tensor_bytes(t->dtype, t->shape, &bytes) == RLX_OK && bytes > large->max_bytes;
}

static bool ask(const rlx_pass_context *ctx, const rlx_graph *g, rlx_node id, const char **why) {
  const rlx_node_rec *n = rlx_graph_at(g, id);
  *why = NULL;
  if (!ctx->supports || rlx_op_table_has(n->op, RLX_TRAIT_LEAF) || is_part_of_large(ctx, g, n)) return true;
  bool yes = ctx->supports(ctx->supports_user, g, id, why);
  if (yes) *why = NULL; /* a callback may set a reason before it decides */
  else if (!*why) *why = "the target does not have this op";
  return yes;
}

/* Records the origin of all nodes appended to `to` since the last call. */
static rlx_status note(stage *to, rlx_node origin, const char *why) {
  while (to->origin.n < rlx_graph_end(to->graph))
    if (!rlx_array_push(&to->origin, origin) || !rlx_array_push(&to->why, why))
      return RLX_FAIL(RLX_NO_MEMORY, "legalise");
  return RLX_OK;
}

/* Whether sizes of a tensor can be multiplied and permuted without overflow. Those of an empty tensor may overflow in
 * another order; such nodes are not passed to rewrites. */
static bool has_plain_sizes(const rlx_type *type) {
  int64_t n = 1;
  for (int i = 0; i < type->shape.n; i++)
    if (type->shape.v[i] > 0 && (!rlx_mul_i64(n, type->shape.v[i], &n) || n > (int64_t)1 << 52)) return false;
  return true;
}

static bool is_rewritable(const rlx_graph *g, const rlx_node_rec *n) {
  bool plain = has_plain_sizes(&n->type);
  for (uint32_t i = 0; plain && i < n->n_in; i++) plain = has_plain_sizes(&rlx_graph_at(g, n->in[i])->type);
  return plain;
}

/* Tries the rewrite of node `id`: *replaced is the new node, or 0 with *why possibly set. */
static rlx_status rewrite_node(rlx_rewrite_fn rewrite, uint64_t max_bytes, const rlx_graph *from, rlx_node id,
                               stage *to, const rlx_node *map, input_list *in, rlx_node *replaced, const char **why) {
  const rlx_node_rec *n = rlx_graph_at(from, id);
  in->n = 0;
  for (uint32_t i = 0; i < n->n_in; i++)
    if (!rlx_array_push(in, map[n->in[i]])) return RLX_FAIL(RLX_NO_MEMORY, "legalise");
  rlx_rewrite r = {.to = to->graph, .node = n, .type = &n->type, .in = in->v, .n_in = n->n_in, .max_bytes = max_bytes};
  *replaced = rewrite(&r);
  RLX_TRY_AT(rlx_graph_status(to->graph), "rewriting node %u (%s)", (unsigned)id, rlx_op_table_get(n->op)->name);
  if (r.why) *why = r.why;
  if (!*replaced) return RLX_OK;
  const rlx_type *got = &rlx_graph_at(to->graph, *replaced)->type;
  if (rlx_type_equal(got, &n->type)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "rewriting node %u (%s) gave %s%s instead of %s%s", (unsigned)id,
                  rlx_op_table_get(n->op)->name, rlx_dtype_name(got->dtype), RLX_DIMS_TEXT(got->shape),
                  rlx_dtype_name(n->type.dtype), RLX_DIMS_TEXT(n->type.shape));
}

/* Appends node `id` of `from`, or its rewrite, and updates map. */
static rlx_status step(const plan *p, const stage *from, rlx_node id, stage *to, rlx_node *map, input_list *in) {
  const rlx_node_rec *n = rlx_graph_at(from->graph, id);
  const char *why;
  bool stays = ask(p->ctx, from->graph, id, &why) || (p->whole && p->whole[from->origin.v[id]]);
  rlx_rewrite_fn rewrite = stays ? NULL : p->rewrites(n->op);
  rlx_node replaced = RLX_NONE;
  if (rewrite && !is_rewritable(from->graph, n)) why = "it is empty, and its sizes are too large to rearrange";
  else if (rewrite) RLX_TRY(rewrite_node(rewrite, 0, from->graph, id, to, map, in, &replaced, &why));
  const rlx_rewrite_large *large = stays ? NULL : rlx_pass_large(p->ctx);
  if (large && !replaced)
    RLX_TRY(rewrite_node(large->split, large->max_bytes, from->graph, id, to, map, in, &replaced, &why));
  if (replaced) {
    map[id] = replaced;
    to->changed = true;
    return note(to, from->origin.v[id], NULL);
  }
  map[id] = rlx_graph_copy_node(to->graph, from->graph, id, map);
  RLX_TRY(rlx_graph_status(to->graph));
  return note(to, from->origin.v[id], why);
}

static rlx_status run_round(const plan *p, const stage *from, stage *to) {
  uint32_t end = rlx_graph_end(from->graph);
  rlx_node *map = rlx_mem_calloc(end, sizeof *map);
  input_list in = {0};
  rlx_status s = map ? rlx_graph_begin(&to->graph) : RLX_FAIL(RLX_NO_MEMORY, "legalise");
  if (!s) s = note(to, RLX_NONE, NULL);
  for (rlx_node id = 1; id < end && !s; id++) s = step(p, from, id, to, map, &in);
  if (!s) {
    rlx_origin_follow(p->ctx, map);
    s = rlx_graph_copy_outputs(to->graph, from->graph, map);
  }
  rlx_mem_free(map);
  rlx_array_deinit(&in);
  return s ? s : rlx_graph_finish(to->graph);
}

static rlx_status run_rounds(const rlx_graph *in, const plan *p, stage *current) {
  current->graph = rlx_graph_retain(in);
  for (rlx_node id = 0; id < rlx_graph_end(in); id++)
    if (!rlx_array_push(&current->origin, id) || !rlx_array_push(&current->why, NULL))
      return RLX_FAIL(RLX_NO_MEMORY, "legalise");
  bool changed = p->ctx->supports != NULL; /* a target that supports everything needs no rewrite */
  for (int round = 0; changed && round < MAX_ROUNDS; round++) {
    stage next = {0};
    rlx_status s = run_round(p, current, &next);
    changed = next.changed;
    if (s) {
      stage_deinit(&next);
      return s;
    }
    stage_deinit(current);
    *current = next;
  }
  return changed ? RLX_FAIL(RLX_UNSUPPORTED,
                            "rewrites still go on after %d rounds: some rewrite makes what it replaces", MAX_ROUNDS)
                 : RLX_OK;
}

/* ---- nodes that are better left whole ---- */

/* Marks rewritten source nodes none of whose parts the target runs; views do not count. */
static rlx_status find_whole(const rlx_graph *in, const stage *final, bool **whole, bool *any) {
  uint32_t end = rlx_graph_end(in);
  uint32_t *parts = rlx_mem_calloc(end, sizeof *parts);
  *whole = rlx_mem_calloc(end, sizeof **whole);
  if (!parts || !*whole) {
    rlx_mem_free(parts);
    return RLX_FAIL(RLX_NO_MEMORY, "legalise");
  }
  for (rlx_node id = 1; id < rlx_graph_end(final->graph); id++) {
    rlx_op op = rlx_graph_at(final->graph, id)->op;
    rlx_node origin = final->origin.v[id];
    if (rlx_op_table_has(op, RLX_TRAIT_LEAF | RLX_TRAIT_VIEW)) continue;
    if (!parts[origin]++) (*whole)[origin] = true;
    if (!final->why.v[id]) (*whole)[origin] = false;
  }
  for (rlx_node id = 1; id < end; id++) {
    (*whole)[id] = (*whole)[id] && parts[id] > 1;
    *any = *any || (*whole)[id];
  }
  rlx_mem_free(parts);
  return RLX_OK;
}

/* Runs the rounds, and if some nodes are better left whole, runs them again from the start. */
static rlx_status run_all(const rlx_graph *in, plan *p, stage *current) {
  bool *whole = NULL, any = false;
  rlx_pass_context *ctx = p->ctx;
  size_t bytes = ctx->n_origin * sizeof *ctx->origin;
  rlx_node *origin = ctx->origin ? rlx_mem_alloc(bytes) : NULL;
  if (ctx->origin && !origin) return RLX_FAIL(RLX_NO_MEMORY, "legalise");
  if (origin) memcpy(origin, ctx->origin, bytes);
  rlx_status s = run_rounds(in, p, current);
  if (!s) s = find_whole(in, current, &whole, &any);
  if (!s && any) {
    if (origin) memcpy(ctx->origin, origin, bytes);
    stage_deinit(current);
    p->whole = whole;
    s = run_rounds(in, p, current);
  }
  rlx_mem_free(whole);
  rlx_mem_free(origin);
  return s;
}

/* ---- the report ---- */

/* The report omits constants that a rewrite added. */
static bool is_reported(const rlx_graph *final, rlx_node id) {
  return !rlx_op_table_has(rlx_graph_at(final, id)->op, RLX_TRAIT_LEAF);
}

/* Groups the final nodes by their source node: counts, assigns ranges, fills. */
static rlx_status fill_report(const rlx_graph *in, const stage *final, rlx_report *r) {
  uint32_t end = rlx_graph_end(in), final_end = rlx_graph_end(final->graph);
  rlx_report_deinit(r);
  r->graph = rlx_graph_retain(in);
  if (!rlx_array_reserve(&r->rows, end) || !rlx_array_reserve(&r->into, final_end))
    return RLX_FAIL(RLX_NO_MEMORY, "the report");
  memset(r->rows.v, 0, end * sizeof *r->rows.v);
  memset(r->into.v, 0, final_end * sizeof *r->into.v);
  r->rows.n = end;
  r->into.n = final_end;
  for (rlx_node id = 1; id < final_end; id++) r->rows.v[final->origin.v[id]].count += is_reported(final->graph, id);
  for (rlx_node id = 1; id < end; id++) {
    r->rows.v[id].first = r->rows.v[id - 1].first + r->rows.v[id - 1].count;
    r->rows.v[id].how = rlx_op_table_has(rlx_graph_at(in, id)->op, RLX_TRAIT_LEAF) ? RLX_HOW_LEAF : RLX_HOW_NATIVE;
  }
  for (rlx_node id = 1; id < end; id++) r->rows.v[id].count = 0;
  for (rlx_node id = 1; id < final_end; id++) {
    if (!is_reported(final->graph, id)) continue;
    rlx_report_row *row = &r->rows.v[final->origin.v[id]];
    r->into.v[row->first + row->count++] =
      (struct rlx_report_into){rlx_graph_at(final->graph, id)->op, final->why.v[id] != NULL};
    if (final->why.v[id]) {
      row->why = final->why.v[id];
      row->how = RLX_HOW_HOST;
    }
  }
  for (rlx_node id = 1; id < end; id++) {
    rlx_report_row *row = &r->rows.v[id];
    if (row->how == RLX_HOW_LEAF) continue;
    bool same = row->count == 1 && r->into.v[row->first].op == rlx_graph_at(in, id)->op;
    if (!same) {
      r->partly += row->how == RLX_HOW_HOST;
      row->how = RLX_HOW_REWRITTEN;
    }
    r->native += row->how == RLX_HOW_NATIVE;
    r->rewritten += row->how == RLX_HOW_REWRITTEN;
    r->host += row->how == RLX_HOW_HOST;
  }
  return RLX_OK;
}

/* Reports all nodes that would run on the host: each in the log, and as many as fit in the message. */
static rlx_status refuse_host(const stage *final) {
  char list[400] = "";
  size_t used = 0, count = 0, reported = 0;
  for (rlx_node id = 1; id < rlx_graph_end(final->graph); id++) {
    if (!final->why.v[id]) continue;
    const char *op = rlx_op_table_get(rlx_graph_at(final->graph, id)->op)->name;
    unsigned origin = (unsigned) final->origin.v[id];
    rlx_log_write(RLX_LOG_ERROR, "node %u (%s) would run on the host: %s", origin, op, final->why.v[id]);
    if (reported == count++) {
      int n =
        snprintf(list + used, sizeof list - used, "%s%u (%s: %s)", used ? ", " : "", origin, op, final->why.v[id]);
      bool fits = n > 0 && (size_t)n < sizeof list - used;
      used += fits ? (size_t)n : 0;
      reported += fits;
    }
  }
  list[used] = 0;
  if (!count) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "host execution is forbidden but %zu node%s it: %s%s", count,
                  count == 1 ? " needs" : "s need", list, reported < count ? ", .." : "");
}

static rlx_status finish(const rlx_graph *in, rlx_pass_context *ctx, const stage *final, rlx_graph *out) {
  if (ctx->report) RLX_TRY(fill_report(in, final, ctx->report));
  if (ctx->switches & RLX_SWITCH_FORBID_HOST) RLX_TRY(refuse_host(final));
  rlx_walk w;
  RLX_TRY(rlx_walk_init(final->graph, out, &w));
  rlx_status s = rlx_walk_copy_all(&w);
  if (!s) s = rlx_walk_end(&w, ctx);
  rlx_walk_deinit(&w);
  return s;
}

rlx_status rlx_legalise_with(const rlx_graph *in, rlx_pass_context *ctx, rlx_rewrite_table rewrites, rlx_graph *out) {
  stage current = {0};
  rlx_status s = run_all(in, &(plan){.ctx = ctx, .rewrites = rewrites}, &current);
  if (!s) s = finish(in, ctx, &current, out);
  stage_deinit(&current);
  return s;
}

rlx_status rlx_pass_legalise(const rlx_graph *in, rlx_pass_context *ctx, rlx_graph *out) {
  return rlx_legalise_with(in, ctx, rlx_rewrite_get, out);
}
