/* A language model on a device: what engine.c, sequence.c, generate.c, reply.c, embed.c and save.c share.
 *
 * All programs (compiled graphs) of a model share its weights and states. There is one per number of tokens and per kind of
 * result, made when it is first needed and kept in the session's cache of programs:
 *   a prompt goes through programs of 512, 128, 32, 8 tokens that only remember (no logits, so most of the last layer is not
 *   computed); its last token, like every token after it, through a program of one token that draws the next one. That one
 *   feeds itself on the device: token into tokens, next into position. */
#ifndef RLX_MODEL_ENGINE_H
#define RLX_MODEL_ENGINE_H

#include "base/array.h"
#include "base/budget.h"
#include "base/lock.h"
#include "model/model.h"
#include "runtime/executable.h"

#define LM_NO_SEQUENCE UINT32_MAX
enum { LM_MAX_SPAN = 64 }; /* tokens in a stretch */

typedef struct lm_program {
  lm_graph_desc desc;
  rlx_cached cached;
  rlx_lm *lm;
  bool is_used; /* by the call whose turn it is */
  rlx_executable *executable;
  int32_t *tokens, *position, *length; /* inputs: [B, T], [B], [B] (NULL where T is 1) */
  int32_t draw;
  float sampling[4]; /* temperature, top_k, top_p, min_p: inputs, so that no setting compiles anything */
  uint32_t logits;   /* which output they are */
} lm_program;

typedef struct lm_sequence {
  RLX_ARRAY(int32_t) ids; /* all its tokens */
  uint32_t done;          /* of them are in the states */
  size_t dropped;         /* messages of its conversation that were left out last time: reply.c */
} lm_sequence;

struct rlx_lm {
  rlx_lock lock;
  rlx_budget budget; /* of the call whose turn it is */
  rlx_file *file;
  lm_model *model;
  rlx_tokenizer *tokenizer; /* NULL: the file has none */
  rlx_session *session;
  bool exact, is_dry, is_gpu;
  rlx_dtype cache;
  uint32_t context, chunk, n_sequences;
  uint32_t ahead; /* tokens in a stretch where the caller has no wish: what pays on this device */
  rlx_weights *weights;
  rlx_states *states; /* of one sequence, which is `holder` */
  rlx_states *batch;  /* of all, where there are several */
  uint32_t holder;    /* whose rows are in `states` */
  lm_sequence *sequences;
  rlx_scratch *scratch;             /* of all programs: one runs at a time, and its inputs are written before */
  RLX_ARRAY(lm_program *) programs; /* under the lock of the session's cache; the first stays */
  double load_seconds;
};

/* The calls of lm.h, which turns.c makes in the model's turn. */
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
rlx_status lm_save(rlx_lm *lm, uint32_t sequence, const char *path);
rlx_status lm_restore(rlx_lm *lm, uint32_t sequence, const char *path);

/* The program for this, made where it is not there yet. B is 1: on `states`; more: on `batch`. */
rlx_status lm_program_get(rlx_lm *lm, const lm_graph_desc *want, lm_program **out);
void lm_programs_leave(rlx_lm *lm); /* the call ends: all but the first may make room for others */
/* Hands over what is in tokens, position, length and draw. */
rlx_status lm_program_write(rlx_lm *lm, lm_program *p);

rlx_status lm_check_sequence(const rlx_lm *lm, const char *what, uint32_t sequence);
/* Appends tokens after checking them and the room. */
rlx_status lm_push(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n);
/* Computes until at most `left` tokens of the sequence are not in the states. */
rlx_status lm_catch_up(rlx_lm *lm, uint32_t sequence, uint32_t left, rlx_cancel_fn cancel, void *user);
/* The next n tokens of a sequence that is held, through the program of `size` tokens for this result: its inputs, and the run. */
rlx_status lm_write_tokens(rlx_lm *lm, lm_sequence *q, uint32_t size, uint32_t n, lm_result result, lm_program **out);
rlx_status lm_run_tokens(rlx_lm *lm, lm_sequence *q, uint32_t size, uint32_t n, lm_result result, lm_program **out);
/* From now on at most so many tokens of the sequence count as computed. A summary cannot forget: it is made again, from the first
 * token, when it is needed. */
void lm_take_back(rlx_lm *lm, uint32_t sequence, uint32_t tokens);
/* Makes the sequence the one whose rows are in `states`; brings those rows back to where all sequences have theirs. */
rlx_status lm_hold(rlx_lm *lm, uint32_t sequence);
rlx_status lm_release(rlx_lm *lm);

/* Of options: whether they make sense, the program that draws so, and the number of the first draw. Seeds that are near each
 * other begin at places of the random stream that are not. */
rlx_status lm_check_options(const rlx_lm *lm, const rlx_lm_options *o);
rlx_status lm_program_for(rlx_lm *lm, const rlx_lm_options *o, uint32_t sequences, lm_program **out);
int32_t lm_first_draw(uint64_t seed);
/* Of calls that write text: whether options and the rest make sense; tokens in, text out. */
rlx_status lm_check_text_call(const rlx_lm *lm, const char *what, const rlx_lm_options *options, bool has_fn);
rlx_status lm_generate_text(rlx_lm *lm, const int32_t *ids, size_t n, const rlx_lm_options *options, rlx_lm_text_fn fn,
                            void *user, rlx_lm_stats *stats);
/* How many tokens to draw next, one at least, after `last` of them (0: the first is drawn alone), which took so long each, and
 * with room for so many. A summary cannot take tokens back, so there each is looked at before the next. */
uint32_t lm_span_tokens(const rlx_lm *lm, const rlx_lm_options *o, uint32_t last, uint64_t token_ns, uint32_t room);

/* finite.c: whether all numbers are finite, the same of rows of logits, the first of which is of the token at `position`, and the
 * failure where they are not, which says where that began. */
bool lm_is_finite(const float *v, size_t n);
rlx_status lm_check_logits(rlx_lm *lm, uint32_t sequence, uint32_t position, const float *logits, size_t n_rows);
rlx_status lm_fail_not_finite(rlx_lm *lm, uint32_t sequence, uint32_t position);
rlx_status lm_fail_embedding(lm_program *p, size_t n); /* the same of what p made of n tokens */

#endif
