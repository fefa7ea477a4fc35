/* Batched generation: one decode step advances several sequences of different lengths, so weights are read once per
 * step for all of them.
 *
 * Prompts are prefilled together (pack.c). A sequence that has ended, or that the caller did not request, keeps
 * its row of the step. It gets an arbitrary token at the position after its own last one, which attention never
 * reads and the next real token overwrites. While all sequences run, tokens are drawn in spans (generate.c). A
 * sequence that ends within a span ignores the rest of it.
 *
 * Settings that the program lacks, such as a grammar, are applied by the host: one step at a time, with a sampler for
 * each sequence. */
#include "base/log.h"
#include "base/mem.h"
#include "model/draft.h"
#include "model/engine.h"
#include "model/sampler.h"

typedef bool (*row_fn)(void *user, uint32_t sequence, int32_t id);

typedef struct batch {
  rlx_lm *lm;
  const rlx_lm_options *options;
  lm_program *program;
  rlx_lm_stats *stats;
  size_t n;       /* sequences that the caller requested */
  size_t running; /* of those, not ended yet */
  uint32_t *left; /* per sequence: tokens that may still be drawn */
  int32_t *drawn; /* a span: [LM_MAX_SPAN, sequences] */
  uint32_t n_drawn;
  uint64_t token_ns;
  uint32_t step;         /* counts draws, so that each step has its own number even when sequence 0 is idle */
  lm_sampler **samplers; /* n; NULL: the program draws */
  float *logits;         /* for the samplers: a row for each sequence of the model */
} batch;

static rlx_status start(batch *b, const rlx_lm_prompt *prompts, void *user) {
  rlx_lm *lm = b->lm;
  for (size_t i = 0; i < b->n; i++) {
    uint32_t sequence = (uint32_t)i;
    lm_sequence *q = &lm->sequences[i];
    const lm_scales scales = lm->scales;
    lm_scales_apply(lm, sequence, &scales);
    RLX_TRY_AT(lm_push(lm, sequence, prompts[i].ids, prompts[i].n), "sequence %u", (unsigned)sequence);
    if (!q->ids.n) return RLX_FAIL(RLX_INVALID, "sequence %u has no tokens to continue", (unsigned)sequence);
    lm_rewind(lm, sequence, (uint32_t)q->ids.n - 1);
    b->stats->n_prompt_tokens += (uint32_t)q->ids.n - q->done;
    b->left[i] = b->options->max_tokens ? b->options->max_tokens : UINT32_MAX;
  }
  b->running = b->n;
  RLX_TRY(lm_catch_up_all(lm, (uint32_t)b->n, b->options->cancel, user));
  RLX_TRY(lm_release(lm));
  for (uint32_t i = 0; i < b->n && b->samplers; i++)
    if (lm_sampler_is_over(b->samplers[i])) { /* a grammar of the empty text */
      b->left[i] = 0;
      b->running--;
    }
  for (uint32_t i = 0; i < lm->n_sequences && !b->samplers; i++)
    RLX_TRY(lm_write_seen(lm, b->program, i, i < b->n ? &lm->sequences[i] : NULL));
  return RLX_OK;
}

static void place_idle(rlx_lm *lm, lm_sequence *q) {
  if (lm_model_facts(lm->model)->is_recurrent)
    q->done = 0; /* a recurrent state absorbs the dummy token: recompute it */
  else if (q->done == lm->context) q->done--;
}

/* Number of steps to draw next. It is 1 while a sequence is idle, because idle rows advance as well. */
static uint32_t choose_steps(const batch *b) {
  uint32_t room = LM_MAX_SPAN;
  if (b->running < b->lm->n_sequences) return 1;
  for (size_t i = 0; i < b->n; i++) {
    uint32_t free_positions = b->lm->context - (uint32_t)b->lm->sequences[i].ids.n;
    if (b->left[i] < room) room = b->left[i];
    if (free_positions < room) room = free_positions;
  }
  return lm_span_tokens(b->lm, b->options, b->n_drawn, b->token_ns, room);
}

static rlx_status write_inputs(batch *b) {
  rlx_lm *lm = b->lm;
  lm_program *p = b->program;
  for (uint32_t i = 0; i < lm->n_sequences; i++) {
    lm_sequence *q = &lm->sequences[i];
    bool runs = i < b->n && b->left[i] > 0;
    if (!runs) place_idle(lm, q);
    p->tokens[i] = runs ? q->ids.v[q->done] : 0;
    p->position[i] = (int32_t)q->done;
  }
  p->draw = lm_first_draw(b->options->seed) + (int32_t)b->step - p->position[0]; /* the program adds position[0] */
  return lm_program_write(lm, p);
}

/* One step, whose tokens are chosen by the host. */
static rlx_status draw_on_host(batch *b) {
  rlx_lm *lm = b->lm;
  const size_t n_vocab = lm_model_facts(lm->model)->n_vocab;
  RLX_TRY(rlx_executable_run(b->program->executable));
  rlx_tensor rows = {.dtype = RLX_F32, .data = b->logits, .bytes = lm->n_sequences * n_vocab * sizeof *b->logits};
  RLX_TRY(rlx_executable_read(b->program->executable, "logits", &rows));
  b->n_drawn = 1;
  for (uint32_t i = 0; i < b->n; i++) {
    const lm_sequence *q = &lm->sequences[i];
    if (!b->left[i]) continue;
    float *row = b->logits + i * n_vocab;
    RLX_TRY(lm_check_logits(lm, i, q->done, row, 1));
    uint64_t number = (uint64_t)lm_first_draw(b->options->seed + i) + q->done;
    RLX_TRY_AT(lm_sampler_draw(b->samplers[i], row, q->ids.v, q->ids.n, number, &b->drawn[i]), "sequence %u",
               (unsigned)i);
    if (b->drawn[i] < 0)
      return RLX_FAIL(RLX_INVALID, "sequence %u: the settings forbid every token after token %u", (unsigned)i,
                      (unsigned)q->done);
  }
  return RLX_OK;
}

static rlx_status draw_steps(batch *b) {
  rlx_lm *lm = b->lm;
  lm_program *p = b->program;
  RLX_TRY(write_inputs(b));
  if (b->samplers) return draw_on_host(b);
  uint32_t n = choose_steps(b);
  rlx_named_tensor token = {"token", {.data = b->drawn, .bytes = n * lm->n_sequences * sizeof *b->drawn}};
  uint64_t begin = rlx_now_ns();
  RLX_TRY(rlx_executable_repeat(p->executable, n, &token, 1));
  b->token_ns = (rlx_now_ns() - begin) / n;
  b->n_drawn = n;
  return RLX_OK;
}

/* Appends a drawn token to its sequence and decides whether the sequence continues. */
static rlx_status accept_token(batch *b, uint32_t i, int32_t id, row_fn fn, void *user) {
  lm_sequence *q = &b->lm->sequences[i];
  const rlx_tokenizer *t = b->lm->tokenizer;
  if (id < 0) return lm_fail_not_finite(b->lm, i, q->done);
  q->done++;
  b->stats->n_tokens++;
  bool ends = !b->options->ignore_end && t && rlx_tokenizer_is_end(t, id);
  if (q->ids.n == b->lm->context) {
    b->left[i] = 0; /* the context has no room for this token */
  } else {
    RLX_TRY(lm_push(b->lm, i, &id, 1));
    bool is_over = ends || !fn(user, i, id) || (b->samplers && lm_sampler_is_over(b->samplers[i]));
    b->left[i] = is_over ? 0 : b->left[i] - 1;
  }
  if (!b->left[i]) b->running--;
  return RLX_OK;
}

/* Distributes the tokens of one step to their sequences. */
static rlx_status accept_step(batch *b, const int32_t *drawn, row_fn fn, void *user) {
  for (uint32_t i = 0; i < b->n; i++)
    if (b->left[i]) RLX_TRY(accept_token(b, i, drawn[i], fn, user));
  b->step++;
  if (b->running && b->options->cancel && b->options->cancel(user)) b->stats->ended = "cancelled";
  return RLX_OK;
}

static rlx_status make_samplers(batch *b) {
  rlx_lm *lm = b->lm;
  const uint32_t n_vocab = lm_model_facts(lm->model)->n_vocab;
  if (!lm_sampler_needed(b->options)) return lm_program_for(lm, b->options, lm->n_sequences, &b->program);
  b->samplers = rlx_mem_calloc(b->n, sizeof *b->samplers);
  b->logits = rlx_mem_calloc((size_t)lm->n_sequences * n_vocab, sizeof *b->logits);
  if (!b->samplers || !b->logits) return RLX_FAIL(RLX_NO_MEMORY, "%zu rows of logits", b->n);
  for (size_t i = 0; i < b->n; i++) RLX_TRY(lm_sampler_create(b->options, lm->tokenizer, n_vocab, &b->samplers[i]));
  return lm_program_get(lm, &(lm_graph_desc){.sequences = lm->n_sequences, .tokens = 1, .result = LM_LAST},
                        &b->program);
}

static void free_samplers(batch *b) {
  for (size_t i = 0; i < b->n && b->samplers; i++) lm_sampler_destroy(b->samplers[i]);
  rlx_mem_free(b->samplers);
  rlx_mem_free(b->logits);
}

static rlx_status run(batch *b, const rlx_lm_prompt *prompts, row_fn fn, void *user) {
  RLX_TRY(make_samplers(b));
  uint64_t begin = rlx_now_ns();
  RLX_TRY(start(b, prompts, user));
  b->stats->prompt_seconds = 1e-9 * (double)(rlx_now_ns() - begin);
  begin = rlx_now_ns();
  b->step = b->lm->sequences[0].done;
  while (b->running && !b->stats->ended) {
    RLX_TRY(draw_steps(b));
    for (uint32_t k = 0; k < b->n_drawn && b->running && !b->stats->ended; k++)
      RLX_TRY(accept_step(b, b->drawn + k * b->lm->n_sequences, fn, user));
    b->stats->seconds = 1e-9 * (double)(rlx_now_ns() - begin);
  }
  if (!b->stats->ended) b->stats->ended = "length";
  return RLX_OK;
}

rlx_status lm_generate_batch(rlx_lm *lm, const rlx_lm_prompt *prompts, size_t n, const rlx_lm_options *options,
                             bool (*fn)(void *user, uint32_t sequence, int32_t id), void *user, rlx_lm_stats *stats) {
  if (!options || !fn || !prompts)
    return RLX_FAIL(RLX_INVALID, "rlx_lm_generate_batch: %s is NULL", !options ? "options" : !fn ? "fn" : "prompts");
  RLX_TRY(lm_check_options(lm, options));
  if (lm_drafts_wanted(options))
    return RLX_FAIL(RLX_UNSUPPORTED, "rlx_lm_generate_batch: a batch has no lookup and no draft model");
  if (n == 0 || n > lm->n_sequences)
    return RLX_FAIL(RLX_INVALID, "%zu prompts at once: the model was loaded for 1 to %u", n, (unsigned)lm->n_sequences);
  for (size_t i = 0; i < n; i++)
    if (prompts[i].n && !prompts[i].ids) return RLX_FAIL(RLX_INVALID, "rlx_lm_generate_batch: prompt %zu is NULL", i);
  batch b = {.lm = lm, .options = options, .stats = stats, .n = n, .left = rlx_mem_calloc(n, sizeof *b.left)};
  b.drawn = rlx_mem_calloc((size_t)lm->n_sequences * LM_MAX_SPAN, sizeof *b.drawn);
  rlx_status s = b.left && b.drawn ? run(&b, prompts, fn, user) : RLX_FAIL(RLX_NO_MEMORY, "%zu sequences", n);
  free_samplers(&b);
  rlx_mem_free(b.left);
  rlx_mem_free(b.drawn);
  return s;
}
