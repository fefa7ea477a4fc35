/* Requests: what requests.c (the queue, the events) and steps.c (one program for all of them) share. */
#ifndef RLX_MODEL_REQUESTS_H
#define RLX_MODEL_REQUESTS_H

#include "model/draft.h"
#include "model/engine.h"
#include "model/pages.h"
#include "model/sampler.h"
#include "model/writer.h"

enum { LM_MAX_TOP = 20, LM_MAX_ROWS = 4 * LM_MAX_SEQUENCES }; /* of a step's result */

typedef struct lm_request {
  uint64_t number;
  rlx_lm_options options; /* its texts are in `texts`; what the sampler has copied is NULL */
  RLX_ARRAY(char *) texts;
  rlx_lm_event_fn fn;
  void *user;
  uint32_t n_top;
  bool wants_logprobs;
  RLX_ARRAY(int32_t) ids; /* the prompt and what was drawn */
  uint32_t n_prompt;
  lm_scales scales;          /* of adapters */
  uint32_t done;             /* tokens that its pages hold */
  RLX_ARRAY(uint32_t) pages; /* one for each `page` tokens; counted */
  lm_sampler *sampler;       /* NULL: the likeliest token, which the program computes */
  lm_drafts *drafts;         /* NULL: nothing is guessed */
  uint32_t draft_sequence;   /* of the draft model; LM_NO_SEQUENCE: none yet */
  const int32_t *guess;      /* n_guess tokens that this step checks; 0: none */
  uint32_t n_guess, n_right; /* n_right: of them, so far */
  lm_writer writer;          /* without a decoder if the model has no tokenizer */
  rlx_str text;              /* of the event to come */
  rlx_lm_stats stats;
  uint64_t begin_ns, first_ns; /* it was submitted; it had its first token */
  uint32_t step_tokens;        /* tokens that this step computes */
  uint32_t row;                /* of this step's result that is its next token; UINT32_MAX: none */
  bool has_ended;
} lm_request;

struct lm_requests {
  lm_pages *pages;
  RLX_ARRAY(lm_request *) waiting;
  RLX_ARRAY(lm_request *) running; /* in the order in which they joined */
  uint64_t last_number;
  bool in_step;  /* ended requests are removed at its end */
  float *logits; /* one row; then another, for probabilities */
  /* For guesses: the time of the last step, and of one without guesses for so many requests, smoothed; 0: unknown. */
  uint64_t step_ns, quiet_ns;
  uint32_t n_quiet;
};

/* steps.c: joins waiting requests to the running ones as sequences and pages allow. */
rlx_status lm_requests_admit(rlx_lm *lm);
/* Computes one step of the running requests. *out: the program whose outputs hold the results; NULL: there was nothing
 * to compute. Fewer pages than needed send the request that joined last back to wait; it loses no token. */
rlx_status lm_requests_compute(rlx_lm *lm, lm_program **out);
void lm_request_release_pages(struct lm_requests *q, lm_request *r);
/* Its pages hold n tokens more; full ones can be found by others. */
void lm_request_advance(struct lm_requests *q, lm_request *r, uint32_t n);
uint32_t lm_request_waiting(const lm_request *r); /* tokens that are not computed */

/* guess.c: guesses for the requests that want them, in a step without prompts; *slots: the tokens of the longest run
 * that they make (0: there are none). A request whose guessing failed has ended. */
rlx_status lm_requests_guess(rlx_lm *lm, uint32_t *slots);
/* What the step's guesses gave; `n` tokens were drawn for the requests that ran. */
void lm_requests_learn(rlx_lm *lm, uint32_t n);

/* requests.c: the number of requests that run or wait. */
uint32_t lm_requests_left(const rlx_lm *lm);
/* Ends one request with an error. */
void lm_request_fail(rlx_lm *lm, lm_request *r, rlx_status s, const char *message);
void lm_requests_forget(rlx_lm *lm); /* a sequence changes the states: no prompt's beginning is held any more */
void lm_requests_destroy(struct lm_requests *q);
rlx_status lm_submit(rlx_lm *lm, const rlx_lm_request *request, uint64_t *number);
rlx_status lm_cancel(rlx_lm *lm, uint64_t number);
rlx_status lm_step(rlx_lm *lm, uint32_t *left);

#endif
