/* A row of the chat template table: chat.c has the table, chat_write.c writes by it. */
#ifndef RLX_TEXT_CHAT_H
#define RLX_TEXT_CHAT_H

#include "base/status.h"

typedef enum system_place { OWN_TURN, FIRST_USER, LAST_USER } system_place;
enum { TRIM_SYSTEM = 1, TRIM_USER = 2, TRIM_ASSISTANT = 4, TRIM_ALL = 7 };

typedef struct chat_form {
  const char *name;
  const char *has[4], *lacks[4]; /* substrings that the template must and must not contain */
  const char *system, *user, *assistant, *reply;
  const char *fallback; /* default system text; NULL: without one there is no system turn */
  const char *again;    /* before every user turn but the first */
  system_place place;
  unsigned trims;
  enum { KEEP_THOUGHTS, DROP_THOUGHTS, QWEN3_THOUGHTS } thoughts;
} chat_form;

/* RLX_NOT_FOUND: the message lists the names. */
rlx_status chat_form_find(const char *name, const chat_form **out);

#endif
