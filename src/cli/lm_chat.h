/* A conversation of rlx chat: lm_chat.c has the command and the turns, lm_chat_commands.c what begins with a slash. */
#ifndef RLX_CLI_LM_CHAT_H
#define RLX_CLI_LM_CHAT_H

#include "cli/lm_cli.h"

typedef struct chat_request {
  const cli_command *self;
  cli_common common;
  cli_list words;
  cli_lm_options lm;
  cli_sampling sampling;
  const char *system, *name, *prompt;
  bool list, parse_special;
} chat_request;

typedef struct conversation {
  rlx_chat_message *v;
  size_t n;
  char *answer;
  size_t bytes;
  uint32_t dropped;  /* messages that the last turn left out */
  size_t n_reported; /* turns already in the JSON document */
  bool is_kept;      /* the answer goes into a JSON document instead of being printed */
  bool failed;
} conversation;

/* role: one of chat_roles, whose text lives as long as the program. False: out of memory. */
bool chat_add(conversation *c, const char *role, const char *text, size_t bytes);
void chat_remove_last(conversation *c);
void chat_clear(conversation *c);
/* Asks the model; on failure the conversation is as before. */
int chat_answer(chat_request *r, rlx_lm *lm, conversation *c, const char *line, size_t bytes);

typedef enum chat_next { CHAT_GO_ON, CHAT_END } chat_next;
/* A line that begins with a slash, typed at a terminal. */
chat_next chat_command(chat_request *r, rlx_lm *lm, conversation *c, const char *line);
/* As JSON: {"messages":[{"role":..,"content":..},..]}. Both report failures. */
int chat_save(const conversation *c, const char *path);
int chat_load(conversation *c, const char *path);

#endif
