/* Choosing a token from logits on the host: all settings of rlx_lm_options, in the order that lm.h gives. Used where a
 * setting is not one of the op `sample`, and by requests, each of which has settings of its own.
 *
 * Where the settings are those of the op, the token is the one that the op draws from the same logits. */
#ifndef RLX_MODEL_SAMPLER_H
#define RLX_MODEL_SAMPLER_H

#include "rlx/lm.h"

typedef struct lm_sampler lm_sampler;

/* Whether options ask for something that the op `sample` and the repetition penalty of programs do not have. */
bool lm_sampler_needed(const rlx_lm_options *o);
/* Checks the ranges of the settings that are applied here alone. */
rlx_status lm_sampler_check(const rlx_lm_options *o, uint32_t n_vocab);
/* Copies what it needs; `t` (may be NULL, without texts in the options) is used while this is called. */
rlx_status lm_sampler_create(const rlx_lm_options *o, const rlx_tokenizer *t, uint32_t n_vocab, lm_sampler **out);
void lm_sampler_destroy(lm_sampler *s);

/* Changes `logits`, those of the token after ids[0 .. n - 1]. *id is -1 if no token can be drawn: a logit is NaN or
 * +inf, or all are forbidden. A grammar continues with the token that is drawn; RLX_UNSUPPORTED: none of the vocabulary
 * continues it. */
rlx_status lm_sampler_draw(lm_sampler *s, float *logits, const int32_t *ids, size_t n, uint64_t draw, int32_t *id);
/* Whether the text is complete by its grammar, and no token but an end token can follow. False for NULL. */
bool lm_sampler_is_over(lm_sampler *s);

/* The natural logarithm of the probability of token `id`, and the n likeliest tokens with theirs, largest first. */
void lm_logprobs(const float *logits, size_t n_vocab, int32_t id, float *logprob, int32_t *top_ids, float *top_logprobs,
                 uint32_t n);

#endif
