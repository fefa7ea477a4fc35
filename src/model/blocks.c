/* The building blocks of transformer layers. They emit the patterns that the compiler fuses: a product followed by
 * its bias and activation, a gate times an up product of the same input, a residual addition followed by its norm. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/act.h"
#include "ir/dtype.h"
#include "model/adapter.h"
#include "model/family.h"
#include "model/graph.h"
#include "model/names.h"

/* ---- Weights ---- */

rlx_node lm_weight_node(lm_build *b, const char *name, uint32_t layer) {
  char text[96];
  if (!lm_write_name(text, sizeof text, name, layer, 0)) return RLX_NONE;
  size_t at = lm_find_weight(b->m, text);
  if (at == SIZE_MAX) return RLX_NONE;
  const lm_weight *w = lm_model_weight(b->m, at);
  rlx_node known = rlx_graph_find(b->g, text);
  return known ? known : rlx_op_param(b->g, text, w->dtype, w->shape);
}

/* Joins a name and a part: "blk.%.attn_q" and ".bias". */
static rlx_node part_of(lm_build *b, const char *name, const char *part, uint32_t layer) {
  char text[96];
  int n = snprintf(text, sizeof text, "%s%s", name, part);
  return n > 0 && (size_t)n < sizeof text ? lm_weight_node(b, text, layer) : RLX_NONE;
}

/* A required weight. Opening the model checked all weights of the family's table, so a missing one is a bug in the
 * family. */
static rlx_node required_weight(lm_build *b, const char *name, uint32_t layer) {
  rlx_node w = part_of(b, name, ".weight", layer);
  if (!w && !b->status && !rlx_graph_status(b->g))
    b->status = RLX_FAIL(RLX_NOT_FOUND, "weight '%s.weight' of layer %u", name, (unsigned)layer);
  return w;
}

/* ---- Measuring inputs ---- */

static void add_named_output(lm_build *b, const char *what, const char *name, uint32_t layer, rlx_node value) {
  char weight[96], text[128];
  if (!lm_write_name(weight, sizeof weight, name, layer, 0)) return;
  snprintf(text, sizeof text, "%s %s.weight", what, weight);
  rlx_graph_add_output(b->g, text, value);
}

/* Sums of squares of the columns of x, which is multiplied by this weight. */
static void measure(lm_build *b, const char *name, uint32_t layer, rlx_node x) {
  if (!b->d->measures) return;
  const rlx_dims shape = rlx_node_shape(b->g, x);
  rlx_dims rows = {.n = 2, .v = {1, 1}};
  for (int i = 0; i < shape.n; i++) rows.v[i + 1 == shape.n] *= shape.v[i];
  x = rlx_op_reshape(b->g, x, rows);
  add_named_output(b, "sums", name, layer, rlx_op_reduce_sum(b->g, rlx_op_mul(b->g, x, x), RLX_DIMS(0), true));
}

/* The same for each expert; `which` [rows of x] are the experts. */
static void measure_experts(lm_build *b, const char *name, uint32_t layer, rlx_node x, rlx_node which) {
  rlx_graph *g = b->g;
  if (!b->d->measures) return;
  rlx_node numbers = rlx_op_reshape(g, rlx_op_range(g, 0, 1, b->c->experts, RLX_I32), RLX_DIMS(b->c->experts, 1));
  rlx_node rows = rlx_op_reshape(g, which, RLX_DIMS(1, rlx_node_shape(g, which).v[0]));
  rlx_node is_of = rlx_op_cast(g, rlx_op_eq(g, numbers, rows), RLX_F32); /* [experts, rows] */
  add_named_output(b, "sums", name, layer, rlx_op_matmul(g, is_of, rlx_op_mul(g, x, x)));
  add_named_output(b, "counts", name, layer, rlx_op_reduce_sum(g, is_of, RLX_DIMS(1), false));
}

/* ---- Adapters ---- */

/* How much adapter k counts in each row of x. */
static rlx_node adapter_scale(lm_build *b, uint32_t k, rlx_node x) {
  rlx_graph *g = b->g;
  const rlx_dims shape = rlx_node_shape(g, x);
  rlx_node s = rlx_op_narrow(g, b->scales, 2, k, 1);
  if (shape.n != 2) return s;
  if (!b->d->page && !b->d->slots) s = rlx_op_expand(g, s, RLX_DIMS(b->sequences, b->tokens, 1));
  return rlx_op_reshape(g, s, RLX_DIMS(shape.v[0], 1));
}

static rlx_node adapter_param(lm_build *b, const char *name, int64_t rows, int64_t columns) {
  rlx_node known = rlx_graph_find(b->g, name);
  return known ? known : rlx_op_param(b->g, name, RLX_F32, RLX_DIMS(rows, columns));
}

/* y plus what each adapter adds to it: (x A^T) B^T, scaled between the two products, where rows are short. */
static rlx_node adapt(lm_build *b, const char *name, uint32_t layer, rlx_node x, rlx_node y) {
  char part[96], text[96];
  int n = snprintf(part, sizeof part, "%s.weight", name);
  if (!b->scales || n < 0 || (size_t)n >= sizeof part || !lm_write_name(text, sizeof text, part, layer, 0)) return y;
  size_t at = lm_find_weight(b->m, text);
  for (uint32_t k = 0; at != SIZE_MAX && k < b->d->adapters; k++) {
    const lm_lora *l = lm_adapter_at(&b->m->adapters[k], at);
    if (!l) continue;
    const rlx_dims shape = lm_model_weight(b->m, at)->shape;
    rlx_node low = rlx_op_matmul_t(b->g, x, adapter_param(b, l->a, l->rank, shape.v[1]));
    low = rlx_op_mul(b->g, low, adapter_scale(b, k, x));
    y = rlx_op_add(b->g, y, rlx_op_matmul_t(b->g, low, adapter_param(b, l->b, shape.v[0], l->rank)));
  }
  return y;
}

rlx_node lm_linear(lm_build *b, const char *name, uint32_t layer, rlx_node x) {
  measure(b, name, layer, x);
  rlx_node y = rlx_op_matmul_t(b->g, x, required_weight(b, name, layer)), bias = part_of(b, name, ".bias", layer);
  y = adapt(b, name, layer, x, y);
  return bias ? rlx_op_add(b->g, y, bias) : y;
}

rlx_node lm_norm(lm_build *b, const char *name, uint32_t layer, rlx_node x) {
  rlx_node w = part_of(b, name, ".weight", layer);
  if (!w) return x;
  if (b->c->family->norm == RLX_NORM_RMS) return rlx_op_rms_norm(b->g, x, w, RLX_NONE, -1, b->c->eps);
  return rlx_op_layer_norm(b->g, x, w, part_of(b, name, ".bias", layer), -1, b->c->eps);
}

/* ---- Small arithmetic ---- */

rlx_node lm_activate_by(lm_build *b, rlx_act act, rlx_node x) {
#define BUILT(NAME, op) \
  case RLX_ACT_##NAME: return rlx_op_##op(b->g, x);
  switch (act) {
    RLX_ACTS(BUILT)
    default: return x;
  }
#undef BUILT
}

rlx_node lm_activate(lm_build *b, rlx_node x) { return lm_activate_by(b, b->c->act, x); }

rlx_node lm_scale(lm_build *b, rlx_node x, double by) {
  return by == 0 || by == 1 ? x : rlx_op_mul(b->g, x, rlx_op_scalar(b->g, RLX_F32, by));
}

rlx_node lm_soft_cap(lm_build *b, rlx_node x, double cap) {
  return cap == 0 ? x : lm_scale(b, rlx_op_tanh(b->g, lm_scale(b, x, 1 / cap)), cap);
}

rlx_node lm_i32(lm_build *b, int32_t value) { return rlx_op_scalar(b->g, RLX_I32, value); }

rlx_node lm_rows(lm_build *b, const char *name, rlx_node ids) {
  rlx_node rows = rlx_op_gather(b->g, required_weight(b, name, 0), ids, 0);
  return rlx_node_dtype(b->g, rows) == RLX_F32 ? rows : rlx_op_cast(b->g, rows, RLX_F32);
}

/* ---- Attention ---- */

static rlx_node split_heads(lm_build *b, rlx_node x, int64_t heads) {
  return rlx_op_reshape(b->g, x, RLX_DIMS(b->sequences, b->tokens, heads, b->c->head));
}

static rlx_node lock(lm_build *b, rlx_node x, bool is_local) {
  const lm_config *c = b->c;
  bool stretched = !is_local || !c->local_is_plain;
  return rlx_op_rope(
    b->g, x,
    &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .positions = b->positions,
                        .style = c->family->positions == LM_ROTATE_PAIRS ? RLX_ROPE_GPTJ : RLX_ROPE_NEOX,
                        .factors = stretched ? b->factors : RLX_NONE, .n_rot = c->rotated == c->head ? 0 : c->rotated,
                        .theta = is_local ? c->local_theta : c->theta});
}

/* Writes rows into the KV cache at the current positions, rounded to the type of the cache, and returns the cache. */
static rlx_node write_cache(lm_build *b, const char *kind, uint32_t layer, rlx_node rows) {
  char name[32];
  snprintf(name, sizeof name, "%s.%u", kind, (unsigned)layer);
  rlx_dims shape = RLX_DIMS(b->d->sequences, b->d->context, b->c->kv_heads, b->c->head);
  if (b->places) rows = rlx_op_reshape(b->g, rows, RLX_DIMS(b->tokens, b->c->kv_heads, b->c->head));
  return rlx_op_update(b->g, rlx_op_state(b->g, name, b->d->cache, shape), rows, b->places ? b->places : b->position,
                       1);
}

/* Attention is the one part of a packed graph that knows sequences: queries [1, T, ..] are placed in the slots of
 * theirs, [B, slots, ..], and the answers taken back. A slot without a token computes what nobody reads. */
static rlx_node to_slots(lm_build *b, rlx_node q) {
  int64_t width = b->c->heads * b->c->head, n_seq = b->d->sequences, slots = b->d->slots;
  q = rlx_op_gather(b->g, rlx_op_reshape(b->g, q, RLX_DIMS(b->tokens, width)), b->queries, 0);
  return rlx_op_reshape(b->g, q, RLX_DIMS(n_seq, slots, b->c->heads, b->c->head));
}

static rlx_node from_slots(lm_build *b, rlx_node y) {
  rlx_dims all = RLX_DIMS((int64_t)b->d->sequences * b->d->slots, b->c->heads * b->c->head);
  return rlx_op_gather(b->g, rlx_op_reshape(b->g, y, all), b->answers, 0);
}

/* Attention of the runs first .. first + n - 1 of a step graph, whose queries are `slots` tokens each from `row` on. */
static rlx_node attend_runs(lm_build *b, rlx_node q, rlx_node k, rlx_node v, const rlx_op_attention_desc *how,
                            int64_t row, int64_t first, int64_t n, int64_t slots) {
  rlx_graph *g = b->g;
  const lm_config *c = b->c;
  rlx_op_paged_attention_desc d = {RLX_OP_PAGED_ATTENTION_DESC_INIT,
                                   .window = how->window,
                                   .scale = how->scale,
                                   .sinks = how->sinks,
                                   .softcap = how->softcap,
                                   .causal = slots > 1 || how->window};
  d.kv_len = rlx_op_narrow(g, b->seen, 0, first, n);
  if (d.causal) d.kv_offset = rlx_op_narrow(g, b->position, 0, first, n);
  q = rlx_op_reshape(g, rlx_op_narrow(g, q, 1, row, n * slots), RLX_DIMS(n, slots, c->heads, c->head));
  rlx_node y = rlx_op_paged_attention(g, q, k, v, rlx_op_narrow(g, b->pages, 0, first, n), &d);
  return rlx_op_reshape(g, y, RLX_DIMS(1, n * slots, c->heads * c->head));
}

/* The states as pages, and attention over them: of the single tokens, and of the runs of several. */
static rlx_node attend_step(lm_build *b, rlx_node q, rlx_node k, rlx_node v, const rlx_op_attention_desc *how) {
  const lm_graph_desc *d = b->d;
  int64_t rows = (int64_t)d->sequences * d->context / d->page, n = 0;
  rlx_dims pages = RLX_DIMS(rows, d->page, b->c->kv_heads, b->c->head);
  k = rlx_op_reshape(b->g, k, pages);
  v = rlx_op_reshape(b->g, v, pages);
  rlx_node parts[2];
  if (d->singles) parts[n++] = attend_runs(b, q, k, v, how, 0, 0, d->singles, 1);
  if (d->groups) parts[n++] = attend_runs(b, q, k, v, how, d->singles, d->singles, d->groups, d->slots);
  return n == 1 ? parts[0] : rlx_op_concat(b->g, parts, (uint32_t)n, 1);
}

rlx_node lm_join_heads(lm_build *b, rlx_node y) {
  return rlx_op_reshape(b->g, y, RLX_DIMS(b->sequences, b->tokens, b->c->heads * b->c->head));
}

/* A single query attends to the whole sequence, so a causal mask is required_weight only for several queries or a
 * window. */
rlx_node lm_attend(lm_build *b, uint32_t layer, rlx_node q, rlx_node k, rlx_node v) {
  const lm_config *c = b->c;
  rlx_op_attention_desc how = {RLX_OP_ATTENTION_DESC_INIT, .scale = c->attention_scale, .softcap = c->attention_cap,
                               .sinks = lm_weight_node(b, "blk.%.attn_sinks.weight", layer), .kv_len = b->seen};
  if (c->is_encoder) return lm_attend_whole(b, layer, q, k, v, &how);
  if (c->is_local && c->is_local[layer] && c->window < b->d->context) how.window = c->window;
  how.causal = b->tokens > 1 || how.window;
  if (how.causal) how.kv_offset = b->position;
  k = write_cache(b, "k", layer, k);
  v = write_cache(b, "v", layer, v);
  if (b->pages) return attend_step(b, q, k, v, &how);
  if (!b->queries) return lm_join_heads(b, rlx_op_attention(b->g, q, k, v, &how));
  return lm_join_heads(b, from_slots(b, rlx_op_attention(b->g, to_slots(b, q), k, v, &how)));
}

typedef struct qkv {
  rlx_node q, k, v; /* [B, T, heads, head] */
} qkv;

static rlx_node heads_of(lm_build *b, rlx_node all, int64_t first, int64_t n) {
  return rlx_op_narrow(b->g, all, 2, first, n);
}

/* One product if the weights are joined (join.c), otherwise three. */
static qkv project(lm_build *b, uint32_t layer, rlx_node x) {
  const lm_config *c = b->c;
  if (!lm_weight_node(b, "blk.%.attn_qkv.weight", layer))
    return (qkv){split_heads(b, lm_linear(b, "blk.%.attn_q", layer, x), c->heads),
                 split_heads(b, lm_linear(b, "blk.%.attn_k", layer, x), c->kv_heads),
                 split_heads(b, lm_linear(b, "blk.%.attn_v", layer, x), c->kv_heads)};
  rlx_node all = split_heads(b, lm_linear(b, "blk.%.attn_qkv", layer, x), c->heads + 2 * c->kv_heads);
  return (qkv){heads_of(b, all, 0, c->heads), heads_of(b, all, c->heads, c->kv_heads),
               heads_of(b, all, c->heads + c->kv_heads, c->kv_heads)};
}

/* Norms of q and k: of each head, or of all heads together. */
static rlx_node norm_heads(lm_build *b, const char *name, uint32_t layer, rlx_node x, int64_t heads) {
  const lm_config *c = b->c;
  if (!((c->family->has | c->family->may_have) & LM_ALL_NORMS)) return lm_norm(b, name, layer, x);
  x = lm_norm(b, name, layer, rlx_op_reshape(b->g, x, RLX_DIMS(b->sequences, b->tokens, heads * c->head)));
  return split_heads(b, x, heads);
}

/* By how much q grows with its position: 1 + temperature log(1 + floor(position / span)). */
static rlx_node growth(lm_build *b) {
  rlx_graph *g = b->g;
  rlx_node at = rlx_op_cast(g, rlx_op_reshape(g, b->positions, RLX_DIMS(b->sequences, b->tokens, 1, 1)), RLX_F32);
  at = rlx_op_floor(g, rlx_op_div(g, at, rlx_op_scalar(g, RLX_F32, b->c->temperature_span)));
  rlx_node one = rlx_op_scalar(g, RLX_F32, 1);
  return rlx_op_add(g, lm_scale(b, rlx_op_log(g, rlx_op_add(g, at, one)), b->c->temperature), one);
}

/* What scales the rotated elements of q, where rope scales the scores but rotates only a part of a head. */
static rlx_node gains(lm_build *b) {
  const lm_config *c = b->c;
  rlx_node rotated = rlx_op_range(b->g, c->rope_gain, 0, c->rotated, RLX_F32);
  rlx_node rest = rlx_op_range(b->g, 1, 0, c->head - c->rotated, RLX_F32);
  return rlx_op_concat(b->g, (rlx_node[]){rotated, rest}, 2, 0);
}

/* For one token, q and k are adjacent in memory, so one rope rotates both. For several tokens they would have to be
 * copied first. */
static qkv project_and_rotate(lm_build *b, uint32_t layer, rlx_node x, bool is_local) {
  const lm_config *c = b->c;
  bool is_joined = lm_weight_node(b, "blk.%.attn_qkv.weight", layer) != RLX_NONE;
  bool has_norms = lm_weight_node(b, "blk.%.attn_q_norm.weight", layer) != RLX_NONE;
  bool rotates = c->rotated && !(c->skips_rope && c->skips_rope[layer]), late = c->family->norms_after_rope;
  const bool scales_q = c->rope_gain > 0 || c->temperature > 0;
  if (is_joined && !has_norms && rotates && !scales_q && b->sequences * b->tokens == 1) {
    rlx_node all = split_heads(b, lm_linear(b, "blk.%.attn_qkv", layer, x), c->heads + 2 * c->kv_heads);
    rlx_node rotated = lock(b, heads_of(b, all, 0, c->heads + c->kv_heads), is_local);
    return (qkv){heads_of(b, rotated, 0, c->heads), heads_of(b, rotated, c->heads, c->kv_heads),
                 heads_of(b, all, c->heads + c->kv_heads, c->kv_heads)};
  }
  qkv h = project(b, layer, x);
  for (int i = 0; i < 2; i++) { /* norms, then rope; or the reverse */
    if (has_norms && (i == 1) == late) {
      h.q = norm_heads(b, "blk.%.attn_q_norm", layer, h.q, c->heads);
      h.k = norm_heads(b, "blk.%.attn_k_norm", layer, h.k, c->kv_heads);
    }
    if (rotates && (i == 0) == late) {
      h.q = lock(b, h.q, is_local);
      h.k = lock(b, h.k, is_local);
    }
  }
  if (c->temperature > 0) h.q = rlx_op_mul(b->g, h.q, growth(b));
  if (rotates && c->rope_gain > 0) h.q = rlx_op_mul(b->g, h.q, gains(b));
  return h;
}

rlx_node lm_attention(lm_build *b, uint32_t layer, rlx_node x) {
  const lm_config *c = b->c;
  bool is_local = c->is_local && c->is_local[layer];
  qkv h = project_and_rotate(b, layer, x, is_local);
  return lm_linear(b, "blk.%.attn_output", layer, lm_attend(b, layer, h.q, h.k, h.v));
}

/* ---- Feed-forward ---- */

static rlx_node within(lm_build *b, rlx_node x, double low, double high) {
  x = rlx_op_min(b->g, x, rlx_op_scalar(b->g, RLX_F32, high));
  return low < 0 ? rlx_op_max(b->g, x, rlx_op_scalar(b->g, RLX_F32, low)) : x;
}

static rlx_node gated(lm_build *b, rlx_node gate, rlx_node up) {
  const double limit = b->c->gate_limit;
  if (limit <= 0) return rlx_op_mul(b->g, lm_activate(b, gate), up);
  gate = within(b, gate, 0, limit);
  up = rlx_op_add(b->g, within(b, up, -limit, limit), rlx_op_scalar(b->g, RLX_F32, 1));
  gate = rlx_op_mul(b->g, gate, rlx_op_sigmoid(b->g, lm_scale(b, gate, b->c->gate_slope)));
  return rlx_op_mul(b->g, gate, up);
}

/* down(act(gate x) * up x), or without a gate down(act(up x)) */
static rlx_node dense(lm_build *b, uint32_t layer, rlx_node x) {
  const int64_t hidden = b->c->hidden;
  const bool has_gate = lm_weight_node(b, "blk.%.ffn_gate.weight", layer) != RLX_NONE;
  rlx_node gate = has_gate ? lm_linear(b, "blk.%.ffn_gate", layer, x) : RLX_NONE;
  rlx_node up = lm_linear(b, "blk.%.ffn_up", layer, x);
  if (b->c->family->has & LM_JOINED_GATE) {
    const bool up_first = b->c->family->up_first;
    rlx_node all = up;
    gate = rlx_op_narrow(b->g, all, 2, up_first ? hidden : 0, hidden);
    up = rlx_op_narrow(b->g, all, 2, up_first ? 0 : hidden, hidden);
  }
  return lm_linear(b, "blk.%.ffn_down", layer, gate ? gated(b, gate, up) : lm_activate(b, up));
}

/* The expert that every token uses, weighted by a gate if there is one. */
static rlx_node shared_expert(lm_build *b, uint32_t layer, rlx_node x) {
  rlx_node y = gated(b, lm_linear(b, "blk.%.ffn_gate_shexp", layer, x), lm_linear(b, "blk.%.ffn_up_shexp", layer, x));
  y = lm_linear(b, "blk.%.ffn_down_shexp", layer, y);
  rlx_node gate = lm_weight_node(b, "blk.%.ffn_gate_inp_shexp.weight", layer);
  if (!gate) return y;
  gate = rlx_op_matmul_t(b->g, x, rlx_op_reshape(b->g, gate, RLX_DIMS(1, b->c->width)));
  return rlx_op_mul(b->g, y, rlx_op_sigmoid(b->g, gate));
}

/* Multiplies each row of x by the weight of the expert that `which` holds for it. */
static rlx_node by_expert(lm_build *b, const char *name, uint32_t layer, rlx_node x, rlx_node which) {
  rlx_node w = required_weight(b, name, layer);
  bool is_block = rlx_dtype_is_block(rlx_node_dtype(b->g, w));
  measure_experts(b, name, layer, x, which);
  rlx_node y =
    is_block ? rlx_op_dequant_grouped_matmul(b->g, x, w, which, true) : rlx_op_grouped_matmul(b->g, x, w, which, true);
  rlx_node bias = part_of(b, name, ".bias", layer);
  return bias ? rlx_op_add(b->g, y, rlx_op_gather(b->g, bias, which, 0)) : y;
}

/* The scores by which experts are selected: those outside the best groups never win. A group is as good as its two best
 * experts together. */
static rlx_node in_best_groups(lm_build *b, rlx_node scores, int64_t n) {
  const lm_config *c = b->c;
  rlx_graph *g = b->g;
  const int64_t each = c->experts / c->groups;
  rlx_node by_group = rlx_op_reshape(g, scores, RLX_DIMS(n, c->groups, each));
  rlx_node best =
    rlx_op_reduce_sum(g, rlx_op_top_k_values(g, by_group, each < 2 ? each : 2, -1, true), RLX_DIMS(2), false);
  rlx_node worst_used =
    rlx_op_narrow(g, rlx_op_top_k_values(g, best, c->groups_used, -1, true), 1, c->groups_used - 1, 1);
  rlx_node is_used = rlx_op_reshape(g, rlx_op_ge(g, best, worst_used), RLX_DIMS(n, c->groups, 1));
  by_group = rlx_op_where(g, is_used, by_group, rlx_op_scalar(g, RLX_F32, -1e30));
  return rlx_op_reshape(g, by_group, RLX_DIMS(n, c->experts));
}

/* The selected experts of n rows, and their shares [n, used]. */
static rlx_node route(lm_build *b, uint32_t layer, rlx_node rows, int64_t n, rlx_node *which) {
  const lm_config *c = b->c;
  rlx_graph *g = b->g;
  rlx_node scores = lm_linear(b, "blk.%.ffn_gate_inp", layer, rows), share;
  rlx_node more = lm_weight_node(b, "blk.%.exp_probs_b.bias", layer);
  if (c->router == LM_ROUTER_ALL) scores = rlx_op_softmax(g, scores, -1);
  if (c->router == LM_ROUTER_SIGMOID) scores = rlx_op_sigmoid(g, scores);
  rlx_node by = more ? rlx_op_add(g, scores, more) : scores;
  if (c->groups > 1 && c->groups_used < c->groups) by = in_best_groups(b, by, n);
  *which = rlx_op_top_k_indices(g, by, c->experts_used, -1, true, RLX_I32);
  share = by == scores ? rlx_op_top_k_values(g, scores, c->experts_used, -1, true)
                       : rlx_op_gather_elements(g, scores, *which, 1);
  if (c->router == LM_ROUTER_SELECTED) share = rlx_op_softmax(g, share, -1);
  else if (c->shares_sum_to_1) share = rlx_op_div(g, share, rlx_op_reduce_sum(g, share, RLX_DIMS(1), true));
  return lm_scale(b, share, c->router_scale);
}

static rlx_node mixture(lm_build *b, uint32_t layer, rlx_node x) {
  const lm_config *c = b->c;
  rlx_graph *g = b->g;
  int64_t n = b->sequences * b->tokens, used = c->experts_used;
  rlx_node rows = rlx_op_reshape(g, x, RLX_DIMS(n, c->width)), which;
  rlx_node share = route(b, layer, rows, n, &which);
  which = rlx_op_reshape(g, which, RLX_DIMS(n * used));
  rlx_node wide = rlx_op_expand(g, rlx_op_reshape(g, rows, RLX_DIMS(n, 1, c->width)), RLX_DIMS(n, used, c->width));
  rlx_node each = rlx_op_reshape(g, wide, RLX_DIMS(n * used, c->width));
  rlx_node gate = by_expert(b, "blk.%.ffn_gate_exps", layer, each, which);
  rlx_node up = by_expert(b, "blk.%.ffn_up_exps", layer, each, which);
  rlx_node y = by_expert(b, "blk.%.ffn_down_exps", layer, gated(b, gate, up), which);
  y = rlx_op_mul(g, rlx_op_reshape(g, y, RLX_DIMS(n, used, c->width)), rlx_op_reshape(g, share, RLX_DIMS(n, used, 1)));
  return rlx_op_reshape(g, rlx_op_reduce_sum(g, y, RLX_DIMS(1), false), RLX_DIMS(b->sequences, b->tokens, c->width));
}

rlx_node lm_feed_forward(lm_build *b, uint32_t layer, rlx_node x) {
  if (!lm_has_experts(b->c, layer)) return dense(b, layer, x);
  rlx_node y = mixture(b, layer, x);
  bool is_shared = lm_weight_node(b, "blk.%.ffn_up_shexp.weight", layer) != RLX_NONE;
  return is_shared ? rlx_op_add(b->g, y, shared_expert(b, layer, x)) : y;
}

/* ---- Recurrent states ---- */

rlx_node lm_fresh(lm_build *b, rlx_node state) {
  rlx_dims ones = {.n = rlx_node_shape(b->g, state).n};
  for (int i = 0; i < ones.n; i++) ones.v[i] = i ? 1 : b->sequences;
  rlx_node begins = rlx_op_reshape(b->g, rlx_op_eq(b->g, b->position, lm_i32(b, 0)), ones);
  return rlx_op_where(b->g, begins, rlx_op_scalar(b->g, RLX_F32, 0), state);
}
