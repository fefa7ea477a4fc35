/* A language model on a device: the types and functions that engine.c, sequence.c, pack.c, generate.c, batch.c,
 * reply.c, embed.c, save.c and finite.c share.
 *
 * All programs (compiled graphs) of a model share its weights and states. There is one per number of tokens and kind
 * of result, compiled when first needed and kept in the session's program cache:
 *   prefill: programs of 512, 128, 32 and 8 tokens that only fill the KV cache. They have no logits, so most of the
 *   last layer is not computed.
 *   packed prefill: the same for tokens of several sequences (pack.c).
 *   step: tokens and parts of prompts of any requests, over pages of the states; logits and likeliest tokens (steps.c).
 *   decode: a program of one token that samples the next one. The last prompt token goes through it as well. It feeds
 *   itself on the device: output `token` into input `tokens`, `next` into `position`. */
#ifndef RLX_MODEL_ENGINE_H
#define RLX_MODEL_ENGINE_H

#include "base/array.h"
#include "base/budget.h"
#include "base/lock.h"
#include "ir/sampling.h"
#include "model/adapter.h"
#include "model/model.h"
#include "runtime/executable.h"

#define LM_NO_SEQUENCE UINT32_MAX
enum { LM_MAX_SPAN = 64 }; /* max tokens per span */
enum { LM_MAX_SEQUENCES = 256, LM_MIN_CHUNK = 8 };

typedef struct lm_program {
  lm_graph_desc desc;
  rlx_cached cached;
  rlx_lm *lm;
  bool is_used; /* by the call that holds the lock */
  rlx_executable *executable;
  int32_t *tokens, *position, *length;             /* inputs: [B, T], [B], [B] (NULL where T is 1) */
  int32_t *types;                                  /* of a program of LM_SCORE: [B, T] */
  int32_t *positions, *places, *queries, *answers; /* inputs of a packed program: model.h; else NULL */
  int32_t *pages, *picks;                          /* of a step program, with positions and places */
  int32_t draw;
  float
    sampling[RLX_SAMPLING_COUNT]; /* temperature, top_k, top_p, min_p: inputs, so that no setting needs a compilation */
  float penalty, penalty_window;  /* inputs if desc.is_penalised */
  float *scales;                  /* of adapters; an input if desc.adapters: [rows, adapters] */
  uint32_t logits;                /* index of the output "logits" */
} lm_program;

typedef struct lm_sequence {
  RLX_ARRAY(int32_t) ids; /* all its tokens */
  uint32_t done;          /* tokens that the states hold */
  lm_scales scales;       /* of adapters, that those tokens were computed with */
  size_t dropped;         /* messages of its conversation that the last reply left out: reply.c */
} lm_sequence;

struct rlx_lm {
  rlx_lock lock;
  rlx_budget budget; /* of the call that holds the lock */
  rlx_file *file;
  lm_model *model;
  rlx_tokenizer *tokenizer; /* NULL: the file has none that is supported */
  rlx_session *session;
  uint32_t switches; /* rlx_switch */
  bool is_dry, is_gpu;
  rlx_dtype cache;
  uint32_t context, chunk, n_sequences;
  uint32_t pack;  /* max tokens of a packed program; 0: prompts are computed one after the other */
  uint32_t ahead; /* tokens per span if the caller sets none */
  rlx_weights *weights;
  rlx_states *states; /* of one sequence: `holder` */
  rlx_states *batch;  /* of all sequences; NULL if there is only one */
  uint32_t holder;    /* the sequence whose rows are in `states` */
  lm_sequence *sequences;
  rlx_scratch *scratch;         /* shared by all programs: one runs at a time, and inputs are written before each run */
  struct lm_requests *requests; /* NULL: there were none yet; requests.h */
  RLX_ARRAY(lm_program *) programs; /* guarded by the lock of the session cache; the first is never evicted */
  RLX_ARRAY(lm_adapter) adapters;
  lm_scales scales, usual; /* of the programs that run now; of calls whose options have none */
  double load_seconds;
};

/* The implementations of lm.h. calls.c acquires the lock and calls them. */
rlx_status lm_describe(const rlx_lm *lm, rlx_lm_info *out);
const int32_t *lm_tokens(const rlx_lm *lm, uint32_t sequence, size_t *n);
rlx_status lm_truncate(rlx_lm *lm, uint32_t sequence, uint32_t tokens);
rlx_status lm_append(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n, bool all, float *logits);
rlx_status lm_generate(rlx_lm *lm, const char *prompt, size_t bytes, const rlx_lm_options *options, rlx_lm_text_fn fn,
                       void *user, rlx_lm_stats *stats);
rlx_status lm_reply(rlx_lm *lm, const char *chat_template, const rlx_chat_message *messages, size_t n,
                    const rlx_lm_options *options, rlx_lm_text_fn fn, void *user, rlx_lm_stats *stats);
rlx_status lm_generate_ids(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *options,
                           bool (*fn)(void *user, int32_t id), void *user, rlx_lm_stats *stats);
rlx_status lm_generate_batch(rlx_lm *lm, const rlx_lm_prompt *prompts, size_t n, const rlx_lm_options *options,
                             bool (*fn)(void *user, uint32_t sequence, int32_t id), void *user, rlx_lm_stats *stats);
rlx_status lm_embed(rlx_lm *lm, const char *text, size_t bytes, float *out, size_t *n_cut);
rlx_status lm_score(rlx_lm *lm, const rlx_lm_pair *pair, float *score, size_t *n_cut);
rlx_status lm_measure(rlx_lm *lm, const int32_t *ids, size_t n, rlx_importance *into);
rlx_status lm_save(rlx_lm *lm, uint32_t sequence, const char *path);
rlx_status lm_restore(rlx_lm *lm, uint32_t sequence, const char *path);

/* Finds or compiles the program for a description. With one sequence it uses `states`, with several `batch`. */
rlx_status lm_program_get(rlx_lm *lm, const lm_graph_desc *want, lm_program **out);
void lm_programs_release(rlx_lm *lm); /* the call ends: all programs but the first may be evicted */
/* adapter.c: loads an adapter; sets those of calls that name none. */
rlx_status lm_adapter_load(rlx_lm *lm, const char *path, uint32_t *number);
rlx_status lm_adapters_use(rlx_lm *lm, const rlx_lm_adapter *adapters, size_t n);
/* The scales that options ask for. */
rlx_status lm_scales_of(const rlx_lm *lm, const rlx_lm_adapter *adapters, size_t n, lm_scales *out);
bool lm_scales_any(const lm_scales *s); /* one is not 0 */
/* What runs next on a sequence has these scales: what was computed with others is computed again. */
void lm_scales_apply(rlx_lm *lm, uint32_t sequence, const lm_scales *s);
void lm_adapters_deinit(rlx_lm *lm);
/* Writes tokens, position, length, draw and sampling to the inputs of the program. */
rlx_status lm_program_write(rlx_lm *lm, lm_program *p);

/* Whether the model generates; whether a call may use this sequence, which then belongs to no request. */
rlx_status lm_check_kind(const rlx_lm *lm, const char *what);
rlx_status lm_check_sequence(rlx_lm *lm, const char *what, uint32_t sequence);
/* All sequences are empty, and no rows of the states are theirs. */
void lm_drop_sequences(rlx_lm *lm);
/* Appends tokens after checking their ids and the free context. */
rlx_status lm_push(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n);
/* Prefills until at most `left` tokens of the sequence are not in the states. */
rlx_status lm_catch_up(rlx_lm *lm, uint32_t sequence, uint32_t left, rlx_cancel_fn cancel, void *user);
/* pack.c: the same with one token left for the sequences 0 .. n - 1, several of them per program. */
rlx_status lm_catch_up_all(rlx_lm *lm, uint32_t n, rlx_cancel_fn cancel, void *user);
/* Max tokens of a packed program for this model (0: none); the description of one for so many tokens. */
uint32_t lm_pack_size(const rlx_lm *lm, uint32_t wanted);
lm_graph_desc lm_pack_desc(const rlx_lm *lm, uint32_t tokens);
/* Writes (and runs) the next n tokens of the held sequence through the program of `size` tokens for this result. */
rlx_status lm_write_tokens(rlx_lm *lm, lm_sequence *q, uint32_t size, uint32_t n, lm_result result, lm_program **out);
rlx_status lm_run_tokens(rlx_lm *lm, lm_sequence *q, uint32_t size, uint32_t n, lm_result result, lm_program **out);
/* Rewinds: at most `tokens` tokens of the sequence count as computed from now on. A recurrent state cannot be
 * rewound, so it is recomputed from the first token when needed. */
void lm_rewind(rlx_lm *lm, uint32_t sequence, uint32_t tokens);
/* lm_hold loads the rows of the sequence into `states`; lm_release writes them back to `batch`. */
rlx_status lm_hold(rlx_lm *lm, uint32_t sequence);
rlx_status lm_release(rlx_lm *lm);

/* Checks options; finds the program for their sampling settings; derives the first draw number from the seed.
 * Similar seeds start far apart in the random stream. */
rlx_status lm_check_settings(const rlx_lm *lm, const rlx_lm_options *o); /* all but the sequence */
rlx_status lm_check_options(rlx_lm *lm, const rlx_lm_options *o);
rlx_status lm_program_for(rlx_lm *lm, const rlx_lm_options *o, uint32_t sequences, lm_program **out);
int32_t lm_first_draw(uint64_t seed);
/* Checks the arguments of calls that write text; generates text from tokens. */
rlx_status lm_check_text_call(rlx_lm *lm, const char *what, const rlx_lm_options *options, bool has_fn);
rlx_status lm_generate_text(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *options, rlx_lm_text_fn fn,
                            void *user, rlx_lm_stats *stats);
/* Number of tokens to draw next, at least 1. last: tokens of the previous span (0: none yet, the first token is
 * drawn alone); token_ns: its time per token; room: upper bound. A recurrent state cannot be rewound, so its spans
 * have one token. */
uint32_t lm_span_tokens(const rlx_lm *lm, const rlx_lm_options *o, uint32_t last, uint64_t token_ns, uint32_t room);

/* penalty.c: whether options request a repetition penalty; for a program with one, sets row `row` of its state to the
 * tokens of a sequence (NULL: none). */
bool lm_has_penalty(const rlx_lm_options *o);
rlx_status lm_write_seen(rlx_lm *lm, lm_program *p, uint32_t row, const lm_sequence *q);
/* finite.c: whether all values are finite; the same for rows of logits, the first of which belongs to the token at
 * `position`; and the failure otherwise, which reports where the first non-finite value appeared. */
bool lm_is_finite(const float *v, size_t n);
rlx_status lm_check_logits(rlx_lm *lm, uint32_t sequence, uint32_t position, const float *logits, size_t n_rows);
rlx_status lm_fail_not_finite(rlx_lm *lm, uint32_t sequence, uint32_t position);
rlx_status lm_fail_embedding(lm_program *p, size_t n); /* the same for an embedding or score of n tokens */

#endif
