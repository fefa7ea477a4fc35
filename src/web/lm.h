/* A language model as JavaScript holds it: the model and the generation in progress, if any. */
#ifndef RLX_WEB_LM_H
#define RLX_WEB_LM_H

#include "rlx/lm.h"
#include "web/web.h"

/* See lm_generate.c. */
typedef struct web_generation {
  rlx_lm_options options;
  char **stops;
  size_t n_stops;
  rlx_chat_message *messages;
  size_t n_messages;
  rlx_decoder *decoder;
  rlx_str waiting; /* text that may be the beginning of a stop text */
  rlx_lm_stats stats;
  int32_t user;
  uint64_t until_ns; /* when a step that is still reading the prompt returns */
  uint32_t n_step;   /* tokens of this step */
  uint32_t n_polls;  /* the first of a step, before any work, never pauses it */
  bool is_running, is_paused, is_stopped;
  rlx_status status; /* of a callback */
} web_generation;

typedef struct web_lm {
  rlx_lm *lm;
  web_user user;
  web_generation generation;
} web_lm;

void web_generation_end(web_generation *g);

#endif
