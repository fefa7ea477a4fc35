/* Chat templates that are run: chat_program.c has the public functions, chat_input.c makes a program's input. */
#ifndef RLX_TEXT_CHAT_PROGRAM_H
#define RLX_TEXT_CHAT_PROGRAM_H

#include "text/jinja.h"

/* A variable of the file's own: "bos_token". */
typedef struct chat_special {
  char *name, *text;
} chat_special;

struct rlx_chat_template {
  char *text;
  jinja_program program;
  RLX_ARRAY(chat_special) specials;
};

/* The input of a run, in its memory. JSON: an object with "messages". */
rlx_status chat_input_json(jinja_run *r, const char *json, size_t bytes, jinja_dict **out);
rlx_status chat_input_messages(jinja_run *r, const rlx_chat_message *messages, size_t n, bool reply, jinja_dict **out);
/* Adds the file's tokens and what a template may expect to be there: tools and documents (none). tok may be NULL: it
 * has the tokens that the file did not name. */
rlx_status chat_input_complete(jinja_run *r, const rlx_chat_template *t, const rlx_tokenizer *tok, jinja_dict *input);

#endif
