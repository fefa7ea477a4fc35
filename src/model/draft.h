/* Speculation: tokens that probably come next are guessed, and one program checks several of them for little more than
 * it takes to compute one. What is drawn does not depend on the guesses but by rounding: a guess only saves the work of
 * computing a token alone, and the first one that the model would not draw ends the check. */
#ifndef RLX_MODEL_DRAFT_H
#define RLX_MODEL_DRAFT_H

#include "model/engine.h"
#include "model/sampler.h"

enum { LM_MAX_DRAFT = 31 }; /* guessed at once; with the token before them they fill a program of 32 */

typedef struct lm_drafts lm_drafts;

/* Whether options ask for it; whether they fit this model. */
bool lm_drafts_wanted(const rlx_lm_options *o);
rlx_status lm_drafts_check(const rlx_lm *lm, const rlx_lm_options *o);
rlx_status lm_drafts_create(rlx_lm *lm, const rlx_lm_options *o, rlx_lm_stats *stats, lm_drafts **out);
void lm_drafts_destroy(lm_drafts *d);
/* Guesses what follows the sequence, whose last token is not computed yet, and checks it. *n tokens in `drawn`, at most
 * `room` and LM_MAX_DRAFT + 1, come next; the states hold the token before each of them. 0: nothing was guessed.
 * sampler: draws the tokens; NULL: the likeliest ones. */
rlx_status lm_drafts_draw(lm_drafts *d, lm_sequence *q, uint32_t room, lm_sampler *sampler, int32_t *drawn,
                          uint32_t *n);
/* How long a token took that was computed alone. */
void lm_drafts_note_single(lm_drafts *d, uint64_t ns);

/* The parts of it, for requests (guess.c). Which of its sequences the draft model guesses in; 0 unless set. */
void lm_drafts_use(lm_drafts *d, uint32_t sequence);
rlx_lm *lm_drafts_model(const lm_drafts *d); /* NULL: guesses come from the text */
/* At most `room` guesses of what follows ids; none while guessing pauses. They stay until the next call. */
rlx_status lm_drafts_guess(lm_drafts *d, const int32_t *ids, size_t n, uint32_t room, const int32_t **guess,
                           uint32_t *n_guess);
/* So many guesses were checked, so many right; has_paid: that took less time than without. */
void lm_drafts_learn(lm_drafts *d, uint32_t n_guess, uint32_t n_right, bool has_paid);

#endif
