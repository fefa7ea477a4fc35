/* The repetition penalty: lowers the logits of tokens that the sequence already has, before sampling.
 *
 *   logit < 0 ? logit * penalty : logit / penalty      for every token among the last `window` ones
 *
 * This is the rule of CTRL, as in transformers and llama.cpp. It is part of the decode program, because that feeds
 * itself on the device and draws several tokens per read-back. Its state last_seen [B, vocabulary] holds the index of
 * the last occurrence of each token, or -1, so a window needs one comparison and a drawn token one write. Indices are
 * f32, which is exact up to the largest context (2^24).
 *
 * The state is not part of a saved sequence. Each generation writes it from the tokens of the sequence before its
 * first step, and again when positions change (shift). Tokens that are drawn ahead and discarded leave marks that no
 * later step reads. */
#include <string.h>

#include "base/mem.h"
#include "model/engine.h"
#include "model/graph.h"

static const char state_name[] = "last_seen";

/* The index of the token that this step draws: f32 [B, 1]. */
static rlx_node next_index(lm_build *b) {
  rlx_node next = rlx_op_add(b->g, b->position, lm_i32(b, 1));
  return rlx_op_cast(b->g, rlx_op_reshape(b->g, next, RLX_DIMS(b->sequences, 1)), RLX_F32);
}

rlx_node lm_penalise(lm_build *b, rlx_node logits) {
  rlx_graph *g = b->g;
  b->last_seen = rlx_op_state(g, state_name, RLX_F32, RLX_DIMS(b->sequences, b->c->vocabulary));
  rlx_node penalty = rlx_op_input(g, "penalty", RLX_F32, RLX_SCALAR);
  rlx_node window = rlx_op_input(g, "penalty_window", RLX_F32, RLX_SCALAR);
  rlx_node first = rlx_op_max(g, rlx_op_sub(g, next_index(b), window), rlx_op_scalar(g, RLX_F32, 0));
  rlx_node is_negative = rlx_op_lt(g, logits, rlx_op_scalar(g, RLX_F32, 0));
  rlx_node scaled = rlx_op_where(g, is_negative, rlx_op_mul(g, logits, penalty), rlx_op_div(g, logits, penalty));
  return rlx_op_where(g, rlx_op_ge(g, b->last_seen, first), scaled, logits);
}

void lm_mark_seen(lm_build *b, rlx_node token) {
  rlx_node at = rlx_op_max(b->g, token, lm_i32(b, 0)); /* -1: the logits were not finite, and the run ends */
  rlx_op_update(b->g, b->last_seen, next_index(b), at, 1);
}

bool lm_has_penalty(const rlx_lm_options *o) { return o->repetition_penalty > 0 && o->repetition_penalty != 1; }

rlx_status lm_write_seen(rlx_lm *lm, lm_program *p, uint32_t row, const lm_sequence *q) {
  if (!p->desc.is_penalised) return RLX_OK;
  size_t n = lm_model_facts(lm->model)->n_vocab, bytes = n * sizeof(float);
  float *last = rlx_mem_alloc(bytes);
  if (!last) return RLX_FAIL(RLX_NO_MEMORY, "the last occurrences of %zu tokens", n);
  for (size_t i = 0; i < n; i++) last[i] = -1;
  for (size_t i = 0; q && i < q->ids.n; i++) last[q->ids.v[i]] = (float)i;
  rlx_arena *arena;
  rlx_status s = rlx_executable_arena(p->executable, &arena);
  rlx_node node = rlx_graph_find(rlx_executable_graph(p->executable), state_name);
  if (!s) s = rlx_arena_write_raw(arena, node, (uint64_t)row * bytes, last, bytes);
  rlx_mem_free(last);
  return s;
}
