/* Tokens to text: whole characters, passed on as soon as they are known to be none of a stop text. Text that may be the
 * beginning of one is held back until that is decided. */
#ifndef RLX_MODEL_WRITER_H
#define RLX_MODEL_WRITER_H

#include "base/str.h"
#include "rlx/lm.h"

typedef struct lm_writer {
  const rlx_lm_options *options; /* its stop texts */
  rlx_decoder *decoder;
  rlx_lm_text_fn fn;
  void *user;
  rlx_str waiting; /* may be the beginning of a stop text */
  bool stopped;    /* a stop text came */
  rlx_status status;
} lm_writer;

rlx_status lm_writer_init(lm_writer *w, const rlx_tokenizer *t, const rlx_lm_options *options, rlx_lm_text_fn fn,
                          void *user);
void lm_writer_deinit(lm_writer *w);
/* False: a stop text is complete, or an error, which lm_writer_finish returns. */
bool lm_writer_push(lm_writer *w, int32_t id);
/* Passes on what is held back; not after a stop text. */
rlx_status lm_writer_finish(lm_writer *w);

#endif
