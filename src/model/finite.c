/* Detects non-finite values (NaN, infinity) in the results of a model and traces where they first appeared.
 *
 * A model with non-finite logits has no next token. Detection is almost free: sampling returns -1 for such a row,
 * and logits are checked when they reach the host. Tracing runs only after detection and may be slow. It recomputes
 * the sequence from its first token with an observer that checks the result of every step: first by chunks, then
 * token by token inside the first bad chunk and at the token whose logits were bad. The message names the token, the
 * node and the weight that the node uses. */
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "ir/graph.h"
#include "model/engine.h"

/* ---- One run ---- */

typedef struct finding {
  bool found;
  uint32_t position; /* first token of the run */
  uint32_t tokens;   /* tokens in the run */
  rlx_node node;
  const char *op;
  char weight[160]; /* used by the node, or the last one before it; "": none */
  bool weight_is_own;
  bool is_nan;
  size_t at; /* index of the element */
} finding;

typedef struct search {
  const rlx_graph *graph;
  rlx_arena *arena;
  finding *out;
} search;

static bool is_finite_bits(uint32_t bits) { return (bits & 0x7f800000u) != 0x7f800000u; }

static uint32_t bits_at(const rlx_tensor *v, size_t i) {
  if (v->dtype == RLX_F32) return rlx_f32_bits(((const float *)v->data)[i]);
  uint16_t half = ((const uint16_t *)v->data)[i];
  return rlx_f32_bits(v->dtype == RLX_F16 ? rlx_f16_to_f32(half) : rlx_bf16_to_f32(half));
}

/* Index of the first non-finite element; the number of elements if all are finite. */
static size_t find_element(const rlx_tensor *v) {
  size_t n = rlx_dims_count(&v->shape), i = 0;
  while (i < n && is_finite_bits(bits_at(v, i))) i++;
  return i;
}

static void note_weight(search *s, rlx_node node) {
  const rlx_node_rec *rec = rlx_graph_at(s->graph, node);
  s->out->weight_is_own = false;
  for (uint32_t i = 0; i < rec->n_in; i++) {
    if (!rec->in[i] || rlx_graph_at(s->graph, rec->in[i])->op != RLX_OP_param) continue;
    const char *name = rlx_node_name(s->graph, rec->in[i]);
    if (!name || !name[0] || s->out->weight_is_own) continue;
    s->out->weight_is_own = true;
    size_t n = strlen(name) < sizeof s->out->weight - 1 ? strlen(name) : sizeof s->out->weight - 1;
    memcpy(s->out->weight, name, n);
    s->out->weight[n] = '\0';
  }
}

static void observe(void *user, rlx_node node, const rlx_tensor *value) {
  search *s = user;
  if (s->out->found) return;
  note_weight(s, node);
  if (value->dtype != RLX_F32 && value->dtype != RLX_F16 && value->dtype != RLX_BF16) return;
  /* A state also holds stale rows of later tokens. */
  rlx_arena_place place = {RLX_ARENA_PLACE_INIT};
  if (rlx_arena_where(s->arena, node, &place) == RLX_OK && place.segment == RLX_SEGMENT_STATE) return;
  size_t at = find_element(value);
  if (at == rlx_dims_count(&value->shape)) return;
  s->out->found = true;
  s->out->node = node;
  s->out->op = rlx_node_op(s->graph, node);
  s->out->at = at;
  s->out->is_nan = (bits_at(value, at) & 0x7fffffffu) > 0x7f800000u;
}

/* Runs the program again with the inputs already written. */
static rlx_status run_again(lm_program *p, finding *out) {
  search s = {.out = out, .graph = rlx_executable_graph(p->executable)};
  RLX_TRY(rlx_executable_arena(p->executable, &s.arena));
  RLX_TRY(rlx_executable_observe(p->executable, observe, &s));
  rlx_status status = rlx_executable_run(p->executable);
  rlx_status ended = rlx_executable_observe(p->executable, NULL, NULL);
  return status ? status : ended;
}

/* Runs the next n tokens of the sequence through the program of `size` tokens with the observer. */
static rlx_status run_and_check(rlx_lm *lm, lm_sequence *q, uint32_t size, uint32_t n, lm_result result, finding *out) {
  lm_program *p;
  *out = (finding){.position = q->done, .tokens = n};
  RLX_TRY(lm_write_tokens(lm, q, size, n, result, &p));
  RLX_TRY(run_again(p, out));
  q->done += n;
  return RLX_OK;
}

/* "node 12 (matmul with 'blk.0.ffn_up.weight'), element 3, with a NaN" */
typedef struct place_text {
  char v[320];
} place_text;

static place_text describe(const finding *f) {
  place_text t;
  const char *joint = !f->weight[0] ? "" : f->weight_is_own ? " with '" : " after '";
  snprintf(t.v, sizeof t.v, "node %u (%s%s%s%s), element %zu, with %s", (unsigned)f->node, f->op, joint, f->weight,
           f->weight[0] ? "'" : "", f->at, f->is_nan ? "a NaN" : "an infinity");
  return t;
}

rlx_status lm_fail_embedding(lm_program *p, size_t n) {
  finding f = {0};
  const char *what = p->desc.result == LM_SCORE ? "score" : "embedding";
  RLX_TRY_AT(run_again(p, &f), "the %s of %zu tokens is not finite; tracing where that began", what, n);
  if (!f.found) return RLX_FAIL(RLX_INVALID, "the %s of %zu tokens is not finite", what, n);
  return RLX_FAIL(RLX_INVALID, "the %s of %zu tokens is not finite: that began in %s", what, n, describe(&f).v);
}

/* ---- The whole sequence ---- */

/* Runs from the first token to the one at `position`, until something is found. */
static rlx_status trace(rlx_lm *lm, uint32_t sequence, uint32_t position, finding *out) {
  lm_sequence *q = &lm->sequences[sequence];
  bool one_by_one =
    lm_model_facts(lm->model)->is_recurrent; /* a recurrent state cannot be rewound to the start of a chunk */
  RLX_TRY(lm_hold(lm, sequence));
  for (q->done = 0; q->done < position;) {
    uint32_t from = q->done, size = lm->chunk, n = position - from;
    if (one_by_one || size > lm->context - from) size = 1;
    if (n > size) n = size;
    RLX_TRY(run_and_check(lm, q, size, n, LM_NONE, out));
    if (!out->found) continue;
    if (size == 1) return RLX_OK;
    /* Positions past the last token are computed as well but have no meaning, so single-token runs decide. */
    const finding of_chunk = *out;
    for (q->done = from; q->done < from + n;) {
      RLX_TRY(run_and_check(lm, q, 1, 1, LM_NONE, out));
      if (out->found) return RLX_OK;
    }
    if (n == size) { /* no such positions: the value appears only when the whole chunk runs */
      *out = of_chunk;
      return RLX_OK;
    }
  }
  return run_and_check(lm, q, 1, 1, LM_LAST, out);
}

rlx_status lm_fail_not_finite(rlx_lm *lm, uint32_t sequence, uint32_t position) {
  finding f = {0};
  rlx_status s = trace(lm, sequence, position, &f);
  lm->sequences[sequence].done = 0; /* the states hold non-finite values: recompute from the start */
  if (s)
    return rlx_fail_frame(s, "the logits of token %u are not finite; tracing where that began", (unsigned)position);
  if (!f.found)
    return RLX_FAIL(RLX_INVALID, "the logits of token %u are not finite, but computed one by one they are",
                    (unsigned)position);
  char where[64];
  if (f.tokens == 1) snprintf(where, sizeof where, "token %u", (unsigned)f.position);
  else snprintf(where, sizeof where, "tokens %u to %u", (unsigned)f.position, (unsigned)(f.position + f.tokens - 1));
  return RLX_FAIL(RLX_INVALID, "the logits of token %u are not finite: that began at %s, in %s", (unsigned)position,
                  where, describe(&f).v);
}

rlx_status lm_check_logits(rlx_lm *lm, uint32_t sequence, uint32_t position, const float *logits, size_t n_rows) {
  size_t n_vocab = lm_model_facts(lm->model)->n_vocab;
  for (size_t row = 0; row < n_rows; row++)
    if (!lm_is_finite(logits + row * n_vocab, n_vocab))
      return lm_fail_not_finite(lm, sequence, position + (uint32_t)row);
  return RLX_OK;
}

bool lm_is_finite(const float *v, size_t n) {
  uint32_t odd = 0;
  for (size_t i = 0; i < n; i++) odd |= (uint32_t)((rlx_f32_bits(v[i]) & 0x7fffffffu) >= 0x7f800000u);
  return odd == 0;
}
