/* Prompts of several sequences in one program: prefill costs what its tokens cost, however many sequences they are of.
 *
 * A packed program (model.h) takes T tokens of any sequences, up to `slots` of each, straight from and to their rows
 * of the states `batch`. T is `pack` or a quarter, a sixteenth .. of it, so a handful of programs serves every
 * mixture of lengths. The sequences with the most tokens to go come first: they need the most programs, and those
 * with few fill what is left.
 *
 * A prompt that fills a program of its own (sequence.c) is better off there: attention has all its queries at once.
 * The same holds for the last one. Recurrent families have no packed program: their prompts are computed one after
 * the other. */
#include <stdlib.h>
#include <string.h>

#include "model/engine.h"

typedef struct pending {
  uint32_t sequence, n; /* tokens to compute */
  uint32_t share;       /* of them in the next program */
} pending;

typedef struct packing {
  rlx_lm *lm;
  pending v[LM_MAX_SEQUENCES];
  uint32_t n;
  rlx_cancel_fn cancel;
  void *user;
} packing;

uint32_t lm_pack_size(const rlx_lm *lm, uint32_t wanted) {
  const lm_facts *facts = lm_model_facts(lm->model);
  uint64_t all = (uint64_t)lm->n_sequences * lm->context;
  if (lm->n_sequences == 1 || facts->is_encoder || facts->is_recurrent || all > INT32_MAX) return 0;
  uint32_t size = all < wanted ? (uint32_t)all : wanted;
  return size > 1 ? size : 0;
}

/* Attention computes all slots of all sequences, so they are about twice as many as tokens. */
static uint32_t slots_of(const rlx_lm *lm, uint32_t tokens) {
  uint32_t slots = (2 * tokens + lm->n_sequences - 1) / lm->n_sequences;
  if (slots < LM_MIN_CHUNK) slots = LM_MIN_CHUNK;
  return slots < tokens ? slots : tokens;
}

lm_graph_desc lm_pack_desc(const rlx_lm *lm, uint32_t tokens) {
  return (lm_graph_desc){
    .sequences = lm->n_sequences, .tokens = tokens, .result = LM_NONE, .slots = tokens ? slots_of(lm, tokens) : 0};
}

/* ---- What the next program computes ---- */

static int by_most(const void *a, const void *b) {
  const pending *x = a, *y = b;
  if (x->n != y->n) return x->n < y->n ? 1 : -1;
  return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void find_pending(packing *k, uint32_t n) {
  k->n = 0;
  for (uint32_t i = 0; i < n; i++) {
    const lm_sequence *q = &k->lm->sequences[i];
    if (q->ids.n > q->done + 1) k->v[k->n++] = (pending){.sequence = i, .n = (uint32_t)q->ids.n - q->done - 1};
  }
  qsort(k->v, k->n, sizeof *k->v, by_most);
}

/* Deals the rows of a program of this size; returns how many are used. */
static uint32_t deal(packing *k, uint32_t size) {
  uint32_t slots = slots_of(k->lm, size), used = 0;
  for (uint32_t i = 0; i < k->n; i++) {
    uint32_t n = k->v[i].n < slots ? k->v[i].n : slots;
    k->v[i].share = n < size - used ? n : size - used;
    used += k->v[i].share;
  }
  return used;
}

/* The largest program that is at least half full, as far as there are smaller ones. */
static uint32_t choose_size(packing *k, uint32_t *used) {
  uint32_t size = k->lm->pack;
  while ((*used = deal(k, size)) < (size + 1) / 2 && size / 4 >= LM_MIN_CHUNK) size /= 4;
  return size;
}

/* ---- Running it ---- */

static void write_shares(const packing *k, lm_program *p) {
  uint32_t at = 0, slots = p->desc.slots;
  memset(p->tokens, 0, p->desc.tokens * sizeof *p->tokens);
  memset(p->positions, 0, p->desc.tokens * sizeof *p->positions);
  memset(p->answers, 0, p->desc.tokens * sizeof *p->answers);
  memset(p->queries, 0, (size_t)p->desc.sequences * slots * sizeof *p->queries);
  memset(p->position, 0, p->desc.sequences * sizeof *p->position);
  memset(p->length, 0, p->desc.sequences * sizeof *p->length);
  for (uint32_t i = 0; i < p->desc.tokens; i++) p->places[i] = -1;
  for (uint32_t i = 0; i < k->n; i++) {
    uint32_t sequence = k->v[i].sequence, share = k->v[i].share;
    const lm_sequence *q = &k->lm->sequences[sequence];
    for (uint32_t s = 0; s < share; s++, at++) {
      p->tokens[at] = q->ids.v[q->done + s];
      p->positions[at] = (int32_t)(q->done + s);
      p->places[at] = (int32_t)(sequence * k->lm->context + q->done + s);
      p->queries[sequence * slots + s] = (int32_t)at;
      p->answers[at] = (int32_t)(sequence * slots + s);
    }
    p->position[sequence] = share ? (int32_t)q->done : 0;
    p->length[sequence] = (int32_t)share;
  }
}

static rlx_status run_shares(packing *k, uint32_t size) {
  rlx_lm *lm = k->lm;
  lm_graph_desc d = lm_pack_desc(lm, size);
  lm_program *p;
  RLX_TRY(lm_release(lm)); /* the rows of all sequences are in `batch` */
  RLX_TRY(lm_program_get(lm, &d, &p));
  write_shares(k, p);
  RLX_TRY(lm_program_write(lm, p));
  RLX_TRY(rlx_executable_run(p->executable));
  for (uint32_t i = 0; i < k->n; i++) lm->sequences[k->v[i].sequence].done += k->v[i].share;
  return RLX_OK;
}

static rlx_status check_cancel(const packing *k) {
  if (!k->cancel || !k->cancel(k->user)) return RLX_OK;
  return RLX_FAIL(RLX_CANCELLED, "stopped with prompts of %u sequences left", (unsigned)k->n);
}

rlx_status lm_catch_up_all(rlx_lm *lm, uint32_t n, rlx_cancel_fn cancel, void *user) {
  packing k = {.lm = lm, .cancel = cancel, .user = user};
  if (!lm->pack) {
    for (uint32_t i = 0; i < n; i++) RLX_TRY(lm_catch_up(lm, i, 1, cancel, user));
    return RLX_OK;
  }
  for (find_pending(&k, n); k.n; find_pending(&k, n)) {
    uint32_t used, size = choose_size(&k, &used), most = k.v[0].n < lm->chunk ? k.v[0].n : lm->chunk;
    if (k.n == 1 || used <= most) { /* alone it computes as many tokens */
      RLX_TRY(lm_catch_up(lm, k.v[0].sequence, 1, cancel, user));
    } else {
      RLX_TRY(check_cancel(&k));
      RLX_TRY(run_shares(&k, size));
    }
  }
  return RLX_OK;
}
