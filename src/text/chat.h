/* A row of the table of chat templates: chat.c has the table, chat_write.c writes by it. */
#ifndef RLX_TEXT_CHAT_H
#define RLX_TEXT_CHAT_H

#include "base/status.h"

typedef enum system_place { OWN_TURN, FIRST_USER, LAST_USER } system_place;
enum { TRIM_SYSTEM = 1, TRIM_USER = 2, TRIM_ASSISTANT = 4, TRIM_ALL = 7 };

typedef struct chat_form {
  const char *name;
  const char *has[4], *lacks[4]; /* pieces of the template's text */
  const char *system, *user, *assistant, *reply;
  const char *fallback; /* the system's text where there is none; NULL: then it has no turn */
  const char *again;    /* before the turns of the user, but the first */
  system_place place;
  unsigned trims;
  enum { KEEP_THOUGHTS, DROP_THOUGHTS, QWEN3_THOUGHTS } thoughts;
} chat_form;

/* RLX_NOT_FOUND, and the message lists the names. */
rlx_status chat_form_find(const char *name, const chat_form **out);

#endif
