/* Sequences: their tokens, and computing those that the states do not hold yet.
 *
 * Tokens are computed lazily: prefill stops before the last prompt token, which the first decode step computes. If
 * several sequences share the model, each has a row in the states `batch`. One at a time is copied into `states`,
 * which the single-sequence programs use. */
#include <string.h>

#include "base/mem.h"
#include "model/engine.h"
#include "model/requests.h"

rlx_status lm_check_kind(const rlx_lm *lm, const char *what) {
  if (!lm) return RLX_FAIL(RLX_INVALID, "%s: the model is NULL", what);
  if (lm->is_dry) return RLX_FAIL(RLX_INVALID, "%s: the model was opened with dry_run and has no weights", what);
  if (lm_model_facts(lm->model)->is_encoder)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s: a %s model embeds texts and does not continue them", what,
                    lm_model_facts(lm->model)->family);
  return RLX_OK;
}

rlx_status lm_check_sequence(rlx_lm *lm, const char *what, uint32_t sequence) {
  if (lm && !lm->is_dry && sequence >= lm->n_sequences)
    return RLX_FAIL(RLX_INVALID, "%s: sequence %u, but there are %u", what, (unsigned)sequence,
                    (unsigned)lm->n_sequences);
  RLX_TRY(lm_check_kind(lm, what));
  if (lm_requests_left(lm))
    return RLX_FAIL(RLX_BUSY, "%s: the model's sequences belong to %u requests until they have ended", what,
                    (unsigned)lm_requests_left(lm));
  lm_requests_forget(lm);
  return RLX_OK;
}

void lm_drop_sequences(rlx_lm *lm) {
  for (uint32_t i = 0; i < lm->n_sequences; i++) lm->sequences[i].ids.n = lm->sequences[i].done = 0;
  for (uint32_t i = 0; i < lm->n_sequences; i++) lm->sequences[i].dropped = 0;
  lm->holder = LM_NO_SEQUENCE;
}

rlx_status lm_push(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n) {
  lm_sequence *q = &lm->sequences[sequence];
  uint32_t n_vocab = lm_model_facts(lm->model)->n_vocab;
  for (size_t i = 0; i < n; i++)
    if (ids[i] < 0 || (uint32_t)ids[i] >= n_vocab)
      return RLX_FAIL(RLX_INVALID, "token %zu is %d, but the vocabulary has %u", i, (int)ids[i], (unsigned)n_vocab);
  if (n > lm->context - q->ids.n)
    return RLX_FAIL(RLX_INVALID,
                    "%zu tokens after the %zu there are: the context holds %u; use a larger context or fewer tokens", n,
                    q->ids.n, (unsigned)lm->context);
  if (!rlx_array_reserve(&q->ids, n)) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", n);
  if (n) memcpy(q->ids.v + q->ids.n, ids, n * sizeof *ids);
  q->ids.n += n;
  return RLX_OK;
}

/* ---- Several sequences ---- */

static rlx_status copy_states(rlx_lm *lm, uint32_t sequence, bool in) {
  lm_program *one, *all;
  rlx_arena *a, *b;
  RLX_TRY(lm_program_get(lm, &(lm_graph_desc){.sequences = 1, .tokens = 1, .result = LM_TOKEN}, &one));
  RLX_TRY(lm_program_get(lm, &(lm_graph_desc){.sequences = lm->n_sequences, .tokens = 1, .result = LM_TOKEN}, &all));
  RLX_TRY(rlx_executable_arena(one->executable, &a));
  RLX_TRY(rlx_executable_arena(all->executable, &b));
  const rlx_graph *ga = rlx_executable_graph(one->executable), *gb = rlx_executable_graph(all->executable);
  for (rlx_node n = 1; n <= rlx_graph_size(ga); n++) {
    if (strcmp(rlx_node_op(ga, n), "state") != 0) continue;
    rlx_node other = rlx_graph_find(gb, rlx_node_name(ga, n));
    if (in) RLX_TRY(rlx_arena_copy_rows(a, n, 0, b, other, sequence, 1));
    else RLX_TRY(rlx_arena_copy_rows(b, other, sequence, a, n, 0, 1));
  }
  return RLX_OK;
}

rlx_status lm_release(rlx_lm *lm) {
  if (lm->n_sequences == 1 || lm->holder == LM_NO_SEQUENCE) return RLX_OK;
  RLX_TRY(copy_states(lm, lm->holder, false));
  lm->holder = LM_NO_SEQUENCE;
  return RLX_OK;
}

rlx_status lm_hold(rlx_lm *lm, uint32_t sequence) {
  if (lm->n_sequences > 1 && lm->holder != sequence) {
    RLX_TRY(lm_release(lm));
    if (lm->sequences[sequence].done) RLX_TRY(copy_states(lm, sequence, true));
    lm->holder = sequence;
  }
  return RLX_OK;
}

/* ---- Computation ---- */

/* Size of the program for the next n pending tokens: the chunk size or a quarter, a sixteenth .. of it. A program
 * reads all weights whatever its size, so some padding is cheaper than a second program. If the context has no room
 * for padding, a size of at most n is used. */
static uint32_t choose_size(const rlx_lm *lm, uint32_t n, uint32_t room) {
  uint32_t size = lm->chunk;
  if (n >= size) return size;
  while (size / 4 >= LM_MIN_CHUNK && size / 4 >= n) size /= 4; /* the smallest of at least n */
  bool is_half_full = size - n <= n || size <= 2 * LM_MIN_CHUNK;
  if (n > 1 && size <= room && is_half_full) return size;
  while (size > n && size / 4 >= LM_MIN_CHUNK) size /= 4;
  return size <= n ? size : 1;
}

rlx_status lm_write_tokens(rlx_lm *lm, lm_sequence *q, uint32_t size, uint32_t n, lm_result result, lm_program **out) {
  lm_program *p;
  RLX_TRY(lm_program_get(lm, &(lm_graph_desc){.sequences = 1, .tokens = size, .result = result}, &p));
  memset(p->tokens, 0, size * sizeof *p->tokens);
  memcpy(p->tokens, q->ids.v + q->done, n * sizeof *p->tokens);
  p->position[0] = (int32_t)q->done;
  if (p->length) p->length[0] = (int32_t)n;
  *out = p;
  return lm_program_write(lm, p);
}

rlx_status lm_run_tokens(rlx_lm *lm, lm_sequence *q, uint32_t size, uint32_t n, lm_result result, lm_program **out) {
  RLX_TRY(lm_write_tokens(lm, q, size, n, result, out));
  RLX_TRY(rlx_executable_run((*out)->executable));
  q->done += n;
  return RLX_OK;
}

rlx_status lm_catch_up(rlx_lm *lm, uint32_t sequence, uint32_t left, rlx_cancel_fn cancel, void *user) {
  lm_sequence *q = &lm->sequences[sequence];
  RLX_TRY(lm_hold(lm, sequence));
  while (q->ids.n > q->done + left) {
    uint32_t n = (uint32_t)q->ids.n - q->done - left;
    uint32_t size = choose_size(lm, n, lm->context - q->done);
    lm_program *p;
    if (cancel && cancel(user))
      return RLX_FAIL(RLX_CANCELLED, "stopped after %u of %zu tokens", (unsigned)q->done, q->ids.n);
    RLX_TRY(lm_run_tokens(lm, q, size, n < size ? n : size, LM_NONE, &p));
  }
  return RLX_OK;
}

/* Computes the logits of every token that is not in the states yet, in blocks of at most 32 MiB. */
static rlx_status read_all_logits(rlx_lm *lm, uint32_t sequence, float *logits) {
  lm_sequence *q = &lm->sequences[sequence];
  size_t n_vocab = lm_model_facts(lm->model)->n_vocab, row = n_vocab * sizeof *logits;
  uint32_t max = lm->chunk;
  while (max > 1 && max * row > (32u << 20)) max /= 2;
  while (q->done < q->ids.n) {
    uint32_t n = (uint32_t)q->ids.n - q->done, size = max;
    if (size > lm->context - q->done) size = 1;
    if (n > size) n = size;
    lm_program *p;
    rlx_arena *a;
    RLX_TRY(lm_run_tokens(lm, q, size, n, LM_LOGITS, &p));
    RLX_TRY(rlx_executable_arena(p->executable, &a));
    RLX_TRY(rlx_arena_read_raw(a, rlx_graph_output_at(rlx_executable_graph(p->executable), p->logits, NULL), 0, logits,
                               n * row));
    RLX_TRY(lm_check_logits(lm, sequence, q->done - n, logits, n));
    logits += n * n_vocab;
  }
  return RLX_OK;
}

static rlx_status append(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n, bool all, float *logits) {
  lm_sequence *q = &lm->sequences[sequence];
  uint32_t waiting = (uint32_t)q->ids.n - q->done;
  RLX_TRY(lm_push(lm, sequence, ids, n));
  if (!logits) return lm_catch_up(lm, sequence, q->ids.n ? 1 : 0, NULL, NULL);
  if (all) {
    RLX_TRY(lm_catch_up(lm, sequence, (uint32_t)q->ids.n - q->done - waiting, NULL, NULL));
    return read_all_logits(lm, sequence, logits);
  }
  RLX_TRY(lm_catch_up(lm, sequence, 1, NULL, NULL));
  lm_program *p;
  RLX_TRY(lm_run_tokens(lm, q, 1, 1, LM_LAST, &p));
  rlx_tensor row = {.dtype = RLX_F32, .data = logits, .bytes = lm_model_facts(lm->model)->n_vocab * sizeof *logits};
  RLX_TRY(rlx_executable_read(p->executable, "logits", &row));
  return lm_check_logits(lm, sequence, q->done - 1, logits, 1);
}

rlx_status lm_append(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n, bool all, float *logits) {
  RLX_TRY(lm_check_sequence(lm, "rlx_lm_append", sequence));
  if (n && !ids) return RLX_FAIL(RLX_INVALID, "rlx_lm_append: the tokens are NULL");
  if (logits && !n) return RLX_FAIL(RLX_INVALID, "rlx_lm_append: logits of no tokens");
  lm_sequence *q = &lm->sequences[sequence];
  lm_scales_apply(lm, sequence, &lm->usual);
  size_t before = q->ids.n;
  rlx_status s = append(lm, sequence, ids, n, all, logits);
  if (s && q->done <= before) q->ids.n = before; /* undo the append */
  return s;
}

/* ---- Reading and truncating ---- */

void lm_rewind(rlx_lm *lm, uint32_t sequence, uint32_t tokens) {
  lm_sequence *q = &lm->sequences[sequence];
  if (q->done > tokens) q->done = lm_model_facts(lm->model)->is_recurrent ? 0 : tokens;
}

const int32_t *lm_tokens(const rlx_lm *lm, uint32_t sequence, size_t *n) {
  bool there = sequence < lm->n_sequences;
  if (n) *n = there ? lm->sequences[sequence].ids.n : 0;
  return there ? lm->sequences[sequence].ids.v : NULL;
}

rlx_status lm_truncate(rlx_lm *lm, uint32_t sequence, uint32_t tokens) {
  RLX_TRY(lm_check_sequence(lm, "rlx_lm_truncate", sequence));
  lm_sequence *q = &lm->sequences[sequence];
  if (tokens > q->ids.n)
    return RLX_FAIL(RLX_INVALID, "rlx_lm_truncate: to %u tokens, but there are %zu", (unsigned)tokens, q->ids.n);
  q->ids.n = tokens;
  lm_rewind(lm, sequence, tokens);
  return RLX_OK;
}
