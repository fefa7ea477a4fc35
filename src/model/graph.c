/* The frame of every model graph: inputs, token embedding, layers, and the result.
 *
 * Positions are inputs, one per sequence. Everything derived from them is computed here once: the position of each
 * token, the number of keys, the index of the last valid row. */
#include "model/graph.h"

#include <string.h>

#include "ir/dtype.h"
#include "ir/sampling.h"
#include "model/family.h"
#include "model/names.h"

static void make_packed_inputs(lm_build *b) {
  rlx_dims rows = RLX_DIMS(b->tokens);
  b->positions = rlx_op_input(b->g, "positions", RLX_I32, RLX_DIMS(1, b->tokens));
  b->places = rlx_op_input(b->g, "places", RLX_I32, rows);
  b->queries = rlx_op_input(b->g, "queries", RLX_I32, RLX_DIMS(b->d->sequences, b->d->slots));
  b->answers = rlx_op_input(b->g, "answers", RLX_I32, rows);
}

static void make_step_inputs(lm_build *b) {
  int64_t runs = (int64_t)b->d->singles + b->d->groups;
  b->positions = rlx_op_input(b->g, "positions", RLX_I32, RLX_DIMS(1, b->tokens));
  b->places = rlx_op_input(b->g, "places", RLX_I32, RLX_DIMS(b->tokens));
  b->pages = rlx_op_input(b->g, "pages", RLX_I32, RLX_DIMS(runs, b->d->context / b->d->page));
  if (b->d->result == LM_LAST) b->picks = rlx_op_input(b->g, "picks", RLX_I32, RLX_DIMS(runs));
}

static void make_factors(lm_build *b) {
  bool is_long = (int64_t)b->d->context > b->c->first_context;
  b->factors = lm_weight_node(b, "rope_freqs.weight", 0);
  if (!b->factors)
    b->factors = lm_weight_node(b, is_long ? "rope_factors_long.weight" : "rope_factors_short.weight", 0);
  if (!b->factors && b->c->rope_factors)
    b->factors = rlx_op_constant(b->g, RLX_F32, RLX_DIMS(b->c->rotated / 2), b->c->rope_factors,
                                 (size_t)b->c->rotated / 2 * sizeof(float));
}

static void make_inputs(lm_build *b) {
  rlx_graph *g = b->g;
  rlx_dims each = RLX_DIMS(b->d->page ? (int64_t)b->d->singles + b->d->groups : (int64_t)b->d->sequences);
  b->ids = rlx_op_input(g, "tokens", RLX_I32, RLX_DIMS(b->sequences, b->tokens));
  bool is_encoder = b->c->is_encoder, is_flat = b->d->page || b->d->slots;
  if (b->d->adapters) {
    int64_t n = b->d->adapters, n_rows = is_flat ? b->tokens : b->sequences;
    b->scales = rlx_op_input(g, "adapters", RLX_F32, RLX_DIMS(n_rows, n));
    b->scales = rlx_op_reshape(g, b->scales, is_flat ? RLX_DIMS(1, n_rows, n) : RLX_DIMS(n_rows, 1, n));
  }
  if (b->tokens > 1 || b->d->page) b->length = rlx_op_input(g, "length", RLX_I32, each);
  if (is_encoder) {
    b->seen = b->length;
    if (b->d->result == LM_SCORE && b->m->facts.n_types > 1)
      b->types = rlx_op_input(g, "types", RLX_I32, RLX_DIMS(b->sequences, b->tokens));
    b->positions = rlx_op_range(g, 0, 1, b->tokens, RLX_I32);
    make_factors(b);
    return;
  }
  b->position = rlx_op_input(g, "position", RLX_I32, each);
  b->seen = rlx_op_add(g, b->position, b->length ? b->length : lm_i32(b, 1));
  if (b->d->page) {
    make_step_inputs(b);
  } else if (b->d->slots) {
    make_packed_inputs(b);
  } else {
    b->positions = rlx_op_reshape(g, b->position, RLX_DIMS(b->sequences, 1));
    if (b->tokens > 1) b->positions = rlx_op_add(g, b->positions, rlx_op_range(g, 0, 1, b->tokens, RLX_I32));
  }
  make_factors(b);
}

/* The rows of a step graph that get a result: [1, T, width] to [1, S, width]. */
static rlx_node picked_rows(lm_build *b, rlx_node x, int64_t width) {
  int64_t runs = (int64_t)b->d->singles + b->d->groups;
  rlx_node rows = rlx_op_reshape(b->g, x, RLX_DIMS(b->tokens, width));
  return rlx_op_reshape(b->g, rlx_op_gather(b->g, rows, b->picks, 0), RLX_DIMS(1, runs, width));
}

/* The last valid row of each sequence: [B, T, width] to [B, 1, width]. */
static rlx_node last_row(lm_build *b, rlx_node x) {
  rlx_graph *g = b->g;
  rlx_node first =
    rlx_op_range(g, -1, (double)b->tokens, b->sequences, RLX_I32); /* first row of each sequence, minus 1 */
  rlx_node rows = rlx_op_reshape(g, x, RLX_DIMS(b->sequences * b->tokens, b->c->width));
  rows = rlx_op_gather(g, rows, rlx_op_add(g, first, b->length), 0);
  return rlx_op_reshape(g, rows, RLX_DIMS(b->sequences, 1, b->c->width));
}

/* Reduces values to the rows that get a result, once. */
static void keep_last_rows(lm_build *b, rlx_node *x, int n) {
  const bool is_step = b->d->page > 0;
  if (is_step ? b->is_picked : b->tokens == 1) return;
  for (int i = 0; i < n; i++) x[i] = is_step ? picked_rows(b, x[i], b->c->width) : last_row(b, x[i]);
  if (is_step && b->scales) b->scales = picked_rows(b, b->scales, b->d->adapters);
  b->tokens = is_step ? (int64_t)b->d->singles + b->d->groups : 1;
  b->is_picked = is_step;
}

rlx_node lm_last_rows(lm_build *b, rlx_node x) {
  keep_last_rows(b, &x, 1);
  return x;
}

void lm_keep_active_rows(lm_build *b, uint32_t layer, rlx_node *x, int n) {
  bool is_last = layer + 1 == (uint32_t)b->c->layers;
  if (is_last && (b->d->result == LM_LAST || b->d->result == LM_TOKEN)) keep_last_rows(b, x, n);
}

static rlx_node logits_of(lm_build *b, rlx_node x) {
  rlx_node h = lm_norm(b, "output_norm", 0, x);
  bool is_tied = lm_find_weight(b->m, "output.weight") == SIZE_MAX;
  h = lm_scale(b, lm_linear(b, is_tied ? "token_embd" : "output", 0, h), b->c->logit_scale);
  return lm_soft_cap(b, h, b->c->final_cap);
}

/* The draw number differs at every step although only the position changes. */
static rlx_node draw_number(lm_build *b) {
  rlx_node first = rlx_op_reshape(b->g, rlx_op_narrow(b->g, b->position, 0, 0, 1), RLX_SCALAR);
  return rlx_op_add(b->g, rlx_op_input(b->g, "draw", RLX_I32, RLX_SCALAR), first);
}

/* The logits, and the likeliest token of each row, so that the host need not read logits that it does not sample. */
static void make_step_result(lm_build *b, rlx_node x) {
  rlx_op_sample_desc greedy = {RLX_OP_SAMPLE_DESC_INIT};
  rlx_node logits = logits_of(b, b->d->result == LM_LOGITS ? x : lm_last_rows(b, x));
  logits = rlx_op_reshape(b->g, logits, RLX_DIMS(b->tokens, b->c->vocabulary));
  rlx_graph_add_output(b->g, "logits", logits);
  rlx_graph_add_output(b->g, "token", rlx_op_sample(b->g, logits, 0, &greedy));
}

static void make_result(lm_build *b, rlx_node x) {
  rlx_graph *g = b->g;
  const lm_graph_desc *d = b->d;
  if (d->result == LM_EMBEDDING || d->result == LM_SCORE) {
    bool is_score = d->result == LM_SCORE;
    x = lm_norm(b, "output_norm", 0, x);
    rlx_graph_add_output(g, is_score ? "score" : "embedding", is_score ? lm_score_of(b, x) : lm_embedding_of(b, x));
    return;
  }
  rlx_graph_add_output(g, "next", b->seen);
  if (d->result == LM_NONE) return;
  if (d->page) {
    make_step_result(b, x);
    return;
  }
  const bool has_all = d->result == LM_LOGITS || d->result == LM_LIKELIEST;
  rlx_node logits = logits_of(b, has_all ? x : lm_last_rows(b, x));
  if (d->result == LM_LIKELIEST) {
    rlx_op_sample_desc greedy = {RLX_OP_SAMPLE_DESC_INIT};
    logits = rlx_op_reshape(g, logits, RLX_DIMS(b->sequences * b->tokens, b->c->vocabulary));
    rlx_graph_add_output(g, "token", rlx_op_sample(g, logits, 0, &greedy));
    return;
  }
  if (!has_all) logits = rlx_op_reshape(g, logits, RLX_DIMS(b->sequences, b->c->vocabulary));
  if (d->result == LM_TOKEN) {
    rlx_op_sample_desc how = {RLX_OP_SAMPLE_DESC_INIT, .top_k = d->max_k};
    if (d->is_penalised) logits = lm_penalise(b, logits);
    if (d->is_drawn) how.draw = draw_number(b);
    if (d->is_drawn) how.settings = rlx_op_input(g, "sampling", RLX_F32, RLX_DIMS(RLX_SAMPLING_COUNT));
    rlx_node token = rlx_op_sample(g, logits, d->is_drawn ? 1 : 0, &how);
    if (d->is_penalised) lm_mark_seen(b, token);
    rlx_graph_add_output(g, "token", rlx_op_reshape(g, token, RLX_DIMS(b->sequences, 1)));
  } else {
    rlx_graph_add_output(g, "logits", logits);
  }
}

static rlx_status check_packed(const lm_model *m, const lm_graph_desc *d) {
  if (m->facts.is_recurrent || d->result != LM_NONE)
    return RLX_FAIL(RLX_UNSUPPORTED, "family %s: a packed graph fills caches of keys and values, and has no result",
                    m->facts.family);
  if (d->tokens < 2 || d->slots > INT32_MAX / d->sequences || d->context > INT32_MAX / d->sequences)
    return RLX_FAIL(RLX_INVALID, "%u tokens of %u sequences packed, %u of each, with a context of %u",
                    (unsigned)d->tokens, (unsigned)d->sequences, (unsigned)d->slots, (unsigned)d->context);
  return RLX_OK;
}

static rlx_status check_step(const lm_model *m, const lm_graph_desc *d) {
  if (m->facts.is_recurrent || (d->result != LM_NONE && d->result != LM_LAST && d->result != LM_LOGITS))
    return RLX_FAIL(RLX_UNSUPPORTED, "family %s: a step graph has caches of keys and values, and logits as its result",
                    m->facts.family);
  uint64_t tokens = d->singles + (uint64_t)d->groups * d->slots;
  if (tokens != d->tokens || d->context % d->page || d->context > INT32_MAX / d->sequences)
    return RLX_FAIL(RLX_INVALID, "a step of %u tokens: %u alone and %u runs of %u, pages of %u, a context of %u",
                    (unsigned)d->tokens, (unsigned)d->singles, (unsigned)d->groups, (unsigned)d->slots,
                    (unsigned)d->page, (unsigned)d->context);
  return RLX_OK;
}

static rlx_status check_measuring(const lm_model *m, const lm_graph_desc *d) {
  if (d->sequences == 1 && d->result == LM_LOGITS && !d->page && !d->slots) return RLX_OK;
  return RLX_FAIL(RLX_UNSUPPORTED, "family %s: inputs are measured with one sequence and all logits", m->facts.family);
}

static rlx_status check_desc(const lm_model *m, const lm_graph_desc *d) {
  if (d->sequences < 1 || d->tokens < 1 || d->sequences > INT32_MAX / d->tokens)
    return RLX_FAIL(RLX_INVALID, "a graph of %u sequences by %u tokens", (unsigned)d->sequences, (unsigned)d->tokens);
  bool is_whole = d->result == LM_EMBEDDING || d->result == LM_SCORE;
  if (m->facts.is_encoder != is_whole || (is_whole && m->facts.is_ranker != (d->result == LM_SCORE)))
    return RLX_FAIL(RLX_UNSUPPORTED, "family %s %s", m->facts.family,
                    m->facts.is_ranker    ? "gives pairs of texts a score; it cannot generate or embed"
                    : m->facts.is_encoder ? "embeds texts; it cannot generate"
                                          : "generates text; it cannot embed");
  bool any_rows = d->slots || d->page;
  if (d->measures) RLX_TRY(check_measuring(m, d));
  if (any_rows) RLX_TRY(d->page ? check_step(m, d) : check_packed(m, d));
  if (!m->facts.is_encoder && !any_rows && (d->context < d->tokens || d->context > INT32_MAX))
    return RLX_FAIL(RLX_INVALID, "a context of %u has no room for %u tokens", (unsigned)d->context,
                    (unsigned)d->tokens);
  if (d->cache != RLX_F32 && d->cache != RLX_F16 && !rlx_type_in(RLX_TYPES_STATE_BLOCK, d->cache))
    return RLX_FAIL(RLX_UNSUPPORTED, "caches of keys and values are f32, f16, q8_0 or q4_0");
  if (rlx_dtype_is_block(d->cache) && m->config.head % 32)
    return RLX_FAIL(RLX_UNSUPPORTED, "a cache of %s: heads have %lld elements, expected a multiple of 32",
                    rlx_dtype_name(d->cache), (long long)m->config.head);
  return RLX_OK;
}

static void build_all(lm_build *b) {
  const lm_family *family = b->c->family;
  make_inputs(b);
  rlx_node x = family->embed ? family->embed(b) : lm_embed_tokens(b);
  for (uint32_t i = 0; i < (uint32_t)b->c->layers; i++) x = lm_layer(b, i, x);
  make_result(b, x);
}

rlx_status lm_graph_build(const lm_model *m, const lm_graph_desc *d, rlx_graph **out) {
  *out = NULL;
  RLX_TRY(check_desc(m, d));
  rlx_graph *g;
  RLX_TRY(rlx_graph_create(&g));
  lm_build b = {.m = m, .c = &m->config, .d = d, .g = g, .tokens = d->tokens};
  b.sequences = d->slots || d->page ? 1 : d->sequences;
  build_all(&b);
  rlx_status s = b.status ? b.status : rlx_graph_finish(g);
  if (s) {
    rlx_graph_destroy(g);
    return rlx_fail_frame(s, "graph of a %s model", m->facts.family);
  }
  *out = g;
  return RLX_OK;
}
